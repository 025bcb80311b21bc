"""Conversations taken away: nothing of them is lost, nothing in them can run."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app import cli
from rag_app.errors import UnknownConversation
from rag_app.export.conversation import (
    FORMATS,
    as_html,
    as_json,
    as_markdown,
    as_text,
    conversation,
    export,
    file_name,
    rated,
)
from rag_app.export.messages import sentence
from rag_app.library import Library
from rag_app.research.end_to_end import TrainingPair, read_pairs
from rag_app.settings import Settings
from rag_app.storage import Conversation, Exchange
from rag_app.types import (
    Answer,
    Basis,
    Cell,
    Chunk,
    Citation,
    Computation,
    Finished,
    Note,
    NoteKind,
    Operation,
    Passage,
    RowsUsed,
    Task,
    Timing,
)
from tests.fakes import WordEmbedder
from tests.test_app import FERRY, pdf

MEANT = Conversation("0" * 16, "What does it cost?", "2026-11-21T08:00:00", "2026-11-21T08:01:00")
FERRY_CITED = Citation(1, "f" * 64, "ferry.txt", 1, 0, 11, "Four euros.")


def answer(text: str = "Four euros. [1]", **given) -> Answer:
    values = {
        "question": "What does it cost?",
        "text": text,
        "short_answer": "",
        "abstained": False,
        "confidence": 0.9,
        "generator": "quotes",
        "citations": (FERRY_CITED,),
        "passages": (Passage(Chunk("f" * 64, 1, 0, 0, 11, "Four euros."), "ferry.txt", 1.0),),
        "seconds": Timing(0.1, 0.2),
        "basis": Basis.EXTRACTED,
    }
    return Answer(**(values | given))


def exchange(said: Answer | None = None, **given) -> Exchange:
    values = {"id": "1" * 16, "question": "What does it cost?", "asked_at": "2026-11-21T08:00:00"}
    return Exchange(**(values | {"answer": said} | given))


@pytest.fixture
def library(own_house: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAG_APP_CAUTION", "0.1")
    with Library(Settings.load(data_dir=own_house), embedder=WordEmbedder()) as opened:
        yield opened


def asked(library: Library, question: str, *files: tuple[str, bytes]) -> str:
    """The id of a conversation about some files."""
    ids = [library.add(name, data).document.id for name, data in files]
    library.wait(ids, timeout=30)
    meant = library.conversations.start(question)
    one = library.conversations.ask(meant, question)
    for event in library.ask(question):
        if isinstance(event, Finished):
            library.conversations.answer(one, event.answer)
    return meant


class Tags(HTMLParser):
    """Every tag with its attributes, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def test_an_answer_is_copied_with_its_footnotes():
    said = answer(short_answer="4 euros", citations=(FERRY_CITED, Citation(
        2, "d", "dogs.txt", 3, 0, 0, "")))  # fmt: skip
    assert as_text(said) == (
        "4 euros\n\nFour euros. [1]\n\n[1] ferry.txt: “Four euros.”\n[2] dogs.txt (source removed)"
    )


def test_markdown_has_the_questions_as_headings_and_the_sources_as_footnotes():
    text = as_markdown(MEANT, [exchange(answer()), exchange(None, error="It was too much.")])
    assert "# What does it cost?" in text
    assert "## 1. What does it cost?\n\nFour euros\\.[^1-1]" in text.replace(".[^", "\\.[^")
    assert "[^1-1]: ferry.txt: “Four euros.”" in text
    assert "*It was too much.*" in text


def test_where_nothing_answers_what_comes_nearest_is_taken_along(library):
    near = Citation(1, "f" * 64, "ferry_times.txt", 1, 0, 11, "Four euros.")
    said = answer("Not found.", abstained=True, basis=Basis.NONE, citations=(), closest=(near,))
    text = as_markdown(MEANT, [exchange(said)])
    assert "The closest I found:\n\n- ferry\\_times.txt: “Four euros.”" in text
    assert as_text(said).endswith("closest I found:\n\n[1] ferry_times.txt: “Four euros.”")
    page = as_html(library, MEANT, [exchange(said)])
    assert "Looked through the documents" in page and "<blockquote>Four euros." in page


def test_how_sure_an_answer_was_is_taken_along(library):
    said = answer(confidence=0.5)
    assert "*Not very sure.*" in as_markdown(MEANT, [exchange(said)])
    page = as_html(library, MEANT, [exchange(said), exchange(answer(task=Task.SUMMARY))])
    assert page.count("· not very sure</p>") == 1 and page.count(" sure") == 1


def test_what_the_app_says_of_itself_is_no_answer_of_the_documents():
    said = answer(
        "Hello! Write “Summarise my_notes_*.txt”.",
        task=Task.CHITCHAT,
        basis=Basis.NONE,
        citations=(),
    )
    assert "my\\_notes\\_\\*.txt" in as_markdown(MEANT, [exchange(said)])


def test_markup_of_a_document_means_nothing_in_markdown():
    text = as_markdown(MEANT, [exchange(answer("![x](http://e) <b> # 1\n2. `x` [1]"))])
    assert "!\\[x\\](http://e) \\<b\\> \\# 1\n2\\. \\`x\\`[^1-1]" in text


@pytest.fixture
def in_sydney(monkeypatch):
    monkeypatch.setenv("TZ", "Australia/Sydney")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="no time zones can be set here")
@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        ("2026-03-05T22:00:00+00:00", "2026-03-06"),
        ("2026-03-05T03:00:00+00:00", "2026-03-05"),
        ("2026-03-05", "2026-03-05"),
        ("in March", "in March"),
    ],
)
def test_a_conversation_bears_the_day_of_where_it_was_held(in_sydney, moment, shown):
    assert f"*{shown}*" in as_markdown(replace(MEANT, started_at=moment), [])


def test_a_model_keeps_its_markdown_without_pictures_links_and_markup():
    said = answer("**Four** <img src=x> ![x](y) [a](b) [1]", generator="llama", basis=Basis.WRITTEN)
    text = as_markdown(MEANT, [exchange(said)])
    assert "**Four** &lt;img src=x> \\!\\[x](y) \\[a](b)[^1-1]" in text


def test_json_says_its_version_and_what_was_removed():
    gone = answer(citations=(Citation(1, "f", "ferry.txt", 1, 0, 11, ""),))
    said = as_json(MEANT, [exchange(answer(), rating=-1, reason="wrong"), exchange(gone)])
    assert (said["format"], said["version"]) == ("rag-app conversation", 1)
    first, second = said["exchanges"]
    assert (first["rating"], first["reason"]) == (-1, "wrong")
    assert first["answer"]["citations"][0] | {"removed": False} == (first["answer"]["citations"][0])
    assert second["answer"]["citations"][0]["removed"] is True
    json.dumps(said)


def test_the_web_page_shows_the_highlighted_page_and_runs_nothing(library):
    meant = asked(
        library, "When was the lighthouse built?",
        ("two.pdf", pdf("Nothing is said here.", "The lighthouse was built in 1871.")),
    )  # fmt: skip
    page = Tags(export(library, meant, "html").decode())
    names = [tag for tag, _ in page.tags]
    assert "script" not in names and "link" not in names and "iframe" not in names
    [image] = [given for tag, given in page.tags if tag == "img"]
    assert str(image["src"]).startswith("data:image/webp;base64,")
    assert "two.pdf" in str(image["alt"])
    assert any("left:" in str(given.get("style")) for tag, given in page.tags if tag == "span")
    addresses = [given["href"] for tag, given in page.tags if "href" in given]
    ids = {given["id"] for _, given in page.tags if "id" in given}
    assert addresses and all(one[0] == "#" and one[1:] in ids for one in addresses)
    assert "default-src 'none'" in str(page.tags)


def test_a_text_and_a_table_are_shown_with_their_quotes(library):
    rows = "boat,built\nSkerry,1987\nGull,1990\n"
    meant = asked(library, "When was the Skerry built?", ("boats.csv", rows.encode()))
    [document] = library.documents()
    start = library.page(document.id, 1).text.index("Skerry")
    row = Citation(1, document.id, "boats.csv", 1, start, start + 13, "Skerry | 1987")
    one = library.conversations.exchanges(meant)[0].id
    library.conversations.answer(one, answer("In 1987. [1]", citations=(row,)))
    page = export(library, meant, "html").decode()
    assert "<th scope=col>boat</th>" in page and "<tr class='cited'>" in page
    other = asked(library, "What does the ferry to the island cost?", ("ferry.txt", FERRY))
    heard: list[tuple[int, int]] = []
    told = export(library, other, "html", lambda *how_far: heard.append(how_far)).decode()
    assert "<mark class='cited'>The ferry" in told and heard == [(0, 1)]


def test_what_was_computed_is_shown_with_its_figures_and_its_rows(library):
    meant = asked(library, "How many boats?", ("boats.csv", b"boat,kind\nSkerry,a\nGull,b\n"))
    [document] = library.documents()
    rows = tuple((Cell(n, 0, name, None, 1, 0, 4),) for n, name in enumerate(("Skerry", "Gull")))
    used = RowsUsed(document.id, "boats.csv", "", ("boat",), 9, rows)
    computed = Computation(
        "SELECT kind, count(*) FROM t1 GROUP BY kind", ("kind", ""), (("a", "5"), ("b", "4")),
        (used,), (Operation("count"),), ((None, 5.0), (None, 4.0)),
    )  # fmt: skip
    one = library.conversations.exchanges(meant)[0].id
    cited = Citation(1, document.id, "boats.csv", 1, 10, 16, "Skerry")
    given = {"basis": Basis.COMPUTED, "computation": computed, "citations": (cited,)}
    library.conversations.answer(one, answer("a, 5; b, 4. [1]", **given))
    page = export(library, meant, "html").decode()
    assert "Computed from tables" in page and "Quoted from" not in page
    assert "<th scope=col>kind</th><th scope=col>Number</th>" in page
    assert "<td>Skerry</td>" in page and "and 7 more" in page
    assert "<summary>1 cell</summary>" in page


def test_a_removed_source_is_said_in_every_format(library):
    meant = asked(library, "What does the ferry to the island cost?", ("ferry.txt", FERRY))
    library.remove(library.documents()[0].id)
    said = {form: export(library, meant, form).decode() for form in FORMATS}
    assert all("four euros" not in text for text in said.values())
    assert "(source removed)" in said["md"].replace("\\", "")
    assert "Source removed" in said["html"] and "<figure" not in said["html"]
    assert '"removed": true' in said["json"]


HOSTILE = "<script>alert(1)</script> <img src=x onerror=alert(1)> \"'> [x](javascript:1) `[1]` "


@pytest.mark.parametrize("basis", [Basis.EXTRACTED, Basis.WRITTEN])
def test_hostile_text_is_only_text_on_the_web_page(library, basis):
    meant = library.conversations.start(HOSTILE)
    one = library.conversations.ask(meant, HOSTILE)
    cited = Citation(1, "f" * 64, HOSTILE, 1, 0, 5, HOSTILE)
    library.conversations.answer(
        one,
        answer(
            HOSTILE + "[1]",
            basis=basis,
            citations=(cited,),
            notes=(Note(NoteKind.MODEL_FAILED, (HOSTILE,)),),
        ),
    )
    page = Tags(export(library, meant, "html").decode())
    assert not {"script", "img"} & {tag for tag, _ in page.tags}
    assert not any(name.startswith("on") for _, given in page.tags for name in given)
    assert not any("javascript" in str(given.get("href")) for _, given in page.tags)
    assert "alert(1)" in page.text


def test_a_conversation_is_meant_by_id_its_beginning_or_title(library):
    meant = library.conversations.start("First?")
    assert {conversation(library, one).id for one in (meant, meant[:6], "First?")} == {meant}
    with pytest.raises(UnknownConversation, match="no conversation “x”"):
        conversation(library, "x")
    library.conversations.start("First?")
    with pytest.raises(UnknownConversation, match="any of 2"):
        conversation(library, "First?")


@given(st.text())
def test_a_file_name_is_fit_for_every_system(title):
    name = file_name(title, "md")
    assert re.fullmatch(r'[^\\/:*?"<>|\x00-\x1f]{1,70}\.md', name) and name.strip(" ") == name


def test_a_long_title_is_cut_between_words_for_a_file_name():
    title = "how many days can somebody work from home per week at the moment"
    assert file_name(title, "md") == "how many days can somebody work from home per week at the.md"
    assert file_name("x" * 90, "md") == f"{'x' * 60}.md"


def test_rated_answers_can_be_learnt_from(tmp_path):
    follow_up = answer(
        "Two. [1]", question="and in 2021?", rewritten_query="What did it cost in 2021?"
    )
    good = [exchange(answer(), rating=1), exchange(follow_up, rating=1, question="and in 2021?")]
    lines = list(rated(good))
    file = tmp_path / "rated.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    assert read_pairs(file) == [
        TrainingPair("What does it cost?", "Four euros."),
        TrainingPair("What did it cost in 2021?", "Two."),
    ]  # fmt: skip
    assert lines[1]["asked"] == "and in 2021?" and lines[0]["documents"] == ["ferry.txt"]


def test_what_was_rated_bad_or_lost_its_words_is_never_learnt():
    gone = answer("(This stood in a document that has been removed.) [1]")
    [bad] = rated([exchange(answer(), rating=-1, reason="wrong"), exchange(gone, rating=1)])
    assert "answer" not in bad and (bad["rejected"], bad["reason"]) == ("Four euros.", "wrong")
    assert not list(rated([exchange(answer(abstained=True), rating=1), exchange(None, rating=1)]))


def test_what_another_paper_says_otherwise_is_named_and_quoted():
    said = sentence(Note(NoteKind.OTHERWISE, ("old terms.docx", "It costs 4 euros.")))
    assert said.startswith("“old terms.docx” says otherwise: “It costs 4 euros.”")


def test_the_command_line_lists_and_exports(library, own_house, capsysbinary, tmp_path):
    meant = asked(library, "What does the ferry to the island cost?", ("ferry.txt", FERRY))
    one = library.conversations.exchanges(meant)[0]
    library.conversations.rate(one.id, 1)
    library.close()

    def said(*arguments: str) -> bytes:
        assert cli.main(["--data-dir", str(own_house), *arguments]) == 0
        return capsysbinary.readouterr().out

    [listed] = json.loads(said("conversations", "--json"))
    assert (listed["id"], listed["title"]) == (meant, "What does the ferry to the island cost?")
    assert said("conversations", "penguin") == b""
    assert meant.encode() in said("conversations", "euros")
    assert b"[^1-1]" in said("export", meant)
    out = tmp_path / "page.html"
    assert said("export", meant, "--format", "html", "--out", str(out)) == b""
    assert out.read_text("utf-8").startswith("<!doctype html>")
    pairs = tmp_path / "rated.jsonl"
    said("export", "--rated", "--out", str(pairs))
    [pair] = read_pairs(pairs)
    assert (
        "four euros" in pair.answer and pair.question == "What does the ferry to the island cost?"
    )
    assert said("export", "--rated", "bad") == b""


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["export"], 2), (["export", "x", "--rated"], 2), (["export", "nowhere"], 1)],
)
def test_bad_use_of_export_is_one_sentence(own_house, capsys, arguments, status):
    assert cli.main(["--data-dir", str(own_house), *arguments]) == status
    assert capsys.readouterr().err.startswith("rag-app: ")


def test_a_model_cannot_make_a_link_with_a_backslash():
    from markdown_it import MarkdownIt

    from rag_app.export.conversation import _inline

    for said in (r"\[click](https://evil.example)", r"!\[a](https://evil.example)", "[a](b)"):
        html = MarkdownIt("commonmark").render(_inline(said, plain=False))
        assert "href" not in html and "<img" not in html
