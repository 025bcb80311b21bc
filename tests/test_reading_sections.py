from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.errors import LimitReached, NoText
from rag_app.reading.limits import Limits
from rag_app.reading.sections import PageBuilder, placed, row_words, tidy
from rag_app.types import Grid

WORDS = st.lists(st.sampled_from(["word", "Ende.", "x" * 90, "漢字", "a\tb"]), max_size=160)
TEXT = WORDS.map(" ".join)
BLOCKS = st.lists(
    st.one_of(
        st.tuples(st.just("heading"), TEXT.map(lambda text: text[:400]), st.integers(1, 6)),
        st.tuples(st.just("paragraph"), TEXT, st.booleans()),
        st.tuples(st.just("exact"), TEXT, st.just(0)),
        st.tuples(st.just("table"), st.lists(st.lists(TEXT, max_size=3), max_size=9), st.just(0)),
        st.tuples(st.just("page"), st.just("label"), st.just(0)),
    ),
    max_size=25,
)


def build(blocks) -> PageBuilder:
    sections = PageBuilder(Limits())
    for kind, what, more in blocks:
        if kind == "heading":
            sections.heading(what, more)
        elif kind == "table":
            sections.table(what)
        elif kind == "page":
            sections.new_page(what)
        else:
            sections.paragraph(what, exact=kind == "exact", tight=bool(more))
    return sections


@given(BLOCKS)
def test_nothing_is_lost_and_headings_stand_where_they_are_said_to(blocks):
    sections = build(blocks)
    if not any(kind != "page" and "".join(map("".join, what)).strip() for kind, what, _ in blocks):
        with pytest.raises(NoText):
            sections.reading()
        return
    reading = sections.reading()
    assert [page.number for page in reading.pages] == list(range(1, len(reading.pages) + 1))
    assert all(page.text.strip() and len(page.text) < 5_000 for page in reading.pages)
    for each in reading.headings:
        text = reading.pages[each.page - 1].text
        assert text[each.start : each.start + len(each.text)] == each.text
    everything = "".join("".join(page.text.split()) for page in reading.pages)
    for kind, what, _ in blocks:
        for cells in what if kind == "table" else [] if kind == "page" else [[what]]:
            for cell in cells:
                for word in cell.split():
                    assert word in everything


@given(BLOCKS)
def test_headings_come_in_the_order_of_the_document(blocks):
    sections = build([*blocks, ("paragraph", "The end.", 0)])
    places = [(each.page, each.start) for each in sections.reading().headings]
    assert places == sorted(places)


def test_headings_without_text_fill_pages_of_their_own():
    reading = build([("heading", f"Part {n}", 1) for n in range(5_000)]).reading()
    assert len(reading.headings) == 5_000
    assert all(len(page.text) < 5_000 for page in reading.pages)


def test_a_long_paragraph_is_cut_after_a_sentence():
    sections = PageBuilder(Limits())
    sections.paragraph("A sentence of some words. " * 400)
    pages = sections.reading().pages
    assert len(pages) > 2
    assert all(page.text.startswith("A ") and page.text.endswith(".") for page in pages)


def test_a_label_stays_on_all_pages_of_its_part():
    sections = PageBuilder(Limits())
    for part in ("one", "two"):
        sections.new_page(part)
        sections.paragraph("A sentence of some words. " * 200)
    assert {page.label for page in sections.reading().pages} == {"one", "two"}


def test_more_pages_than_allowed_name_the_limit():
    sections = PageBuilder(Limits(max_pages=1))
    sections.paragraph("one")
    sections.new_page()
    sections.paragraph("two")
    with pytest.raises(LimitReached, match="RAG_APP_MAX_PAGES"):
        sections.reading()


def test_white_space_is_tidied():
    assert tidy(" a\u00a0 b \n\n\n\n c\0 ") == "a b\n\nc"
    text, _ = placed(row_words(["a\nb", "", "c ", "", " "]), Grid(), 1)
    assert text == "a b |  | c"
