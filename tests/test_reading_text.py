from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag_app.errors import LimitReached, NoText
from rag_app.reading.limits import Limits
from rag_app.reading.plain_text import read_markdown, read_text


@pytest.fixture
def read(tmp_path):
    def run(text: str | bytes, reader=read_text, limits: Limits | None = None):
        path = tmp_path / "stored"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return reader(path, limits=limits or Limits())

    return run


PIECES = st.sampled_from(
    ["word " * 90, "x" * 700, "\r\n", "\n\n", "\r\n \r\n", "# Head\n", "```\n", "\f", "\r", "é"]
)


@given(st.lists(PIECES, max_size=60).map("".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_pages_joined_are_the_whole_text(read, text):
    if not text.strip():
        return
    for reader in (read_text, read_markdown):
        reading = read(text, reader)
        assert "".join(page.text for page in reading.pages) == text
        assert [page.number for page in reading.pages] == list(range(1, len(reading.pages) + 1))
        assert all(len(page.text) <= 3_600 for page in reading.pages)
        assert not any(
            page.text.endswith("\r") and after.text.startswith("\n")
            for page, after in zip(reading.pages, reading.pages[1:], strict=False)
        )


def test_a_long_text_is_cut_at_paragraphs(read):
    paragraph = "One sentence of a paragraph. " * 20 + "\n\n"
    pages = read(paragraph * 20).pages
    assert len(pages) > 2
    assert all(page.text.endswith("\n\n") for page in pages)


def test_a_short_text_is_one_page(read):
    assert [page.text for page in read("Hello\nworld").pages] == ["Hello\nworld"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_text_that_says_its_encoding_is_read_without_a_warning(read, encoding):
    reading = read(("Grüße an alle. " * 9).encode(encoding))
    assert reading.pages[0].text == "Grüße an alle. " * 9
    assert reading.warnings == ()


def test_a_guessed_encoding_is_told(read):
    text = "Schöne Grüße aus der Küche und über die Straße. " * 9
    reading = read(text.encode("cp1252"))
    assert reading.pages[0].text == text
    assert reading.encoding and reading.warnings == ()  # which is said where it is read, see child


def test_a_nul_is_replaced(read):
    assert read("one\0two").pages[0].text == "one\ufffdtwo"


def test_markdown_headings_are_found_outside_code(read):
    text = "# Pumps #\ntext\n```sh\n# no heading\n```\n## Old\ntext\n\nUnder\n=====\n"
    text += "- item\n---\n#nospace\n"
    reading = read(text, read_markdown)
    assert [(h.level, h.text) for h in reading.headings] == [(1, "Pumps"), (2, "Old"), (1, "Under")]
    assert reading.title == "Pumps"
    for heading in reading.headings:
        page = reading.pages[heading.page - 1]
        assert heading.text in page.text[heading.start :].splitlines()[0]


def test_headings_of_a_long_text_stand_on_their_page(read):
    reading = read(
        "".join(f"# Part {n}\n\n{'Some words here. ' * 60}\n\n" for n in range(30)), read_markdown
    )
    assert len(reading.pages) > 5
    for heading in reading.headings:
        assert (
            reading.pages[heading.page - 1].text[heading.start :].startswith(f"# {heading.text}\n")
        )


def test_plain_text_has_no_headings(read):
    assert read("# Not a heading\n").headings == ()


def test_only_white_space_is_no_text(read):
    with pytest.raises(NoText):
        read(" \r\n\t")


def test_too_long_a_text_names_the_limit(read):
    with pytest.raises(LimitReached, match="RAG_APP_MAX_CHARACTERS"):
        read("word " * 100, limits=Limits(max_characters=100))
