# ruff: noqa: F811 - the fixtures are those of test_app
"""The document side of the page without a browser: own pages, search, folders, the queue."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from rag_app.answering.questioner import Questioner
from rag_app.text.highlighting import escape_markdown
from rag_app.types import Heading, Progress, Status
from rag_app.ui import browser, composer, conversation_list, document_list, state, texts
from rag_app.ui import texts_library as words
from rag_app.ui.document_page import map_parts
from rag_app.ui.state import Search
from tests.fakes import asking_what
from tests.test_app import FERRY, MUSEUM, Page, opened, page  # noqa: F401 - fixtures
from tests.test_app_shared import Downloads

LONG = (
    b"# Fares\n\nThe ferry to the island costs four euros. A day ticket costs $6 for everybody. "
    b"The ferry was built in 1998.\n\n# Dogs\n\nDogs travel free of charge.\n"
)


LISTS = ("about_outline", "about_summary")


def session(page: Page):
    return page.at.session_state["session"]


def rows(page: Page) -> list[str]:
    """The rows of all lists of places, as they are drawn."""
    shown = [c.proto for c in page.at.get("bidi_component")]
    lists = [json.loads(p.json) for p in shown if p.component_name.endswith("rag_app_listing")]
    return ["".join(text for text, _ in row["parts"]) for one in lists for row in one["rows"]]


def lists(page: Page) -> dict[str, list[str]]:
    """The rows of each list of places, by its key."""
    shown = [c.proto for c in page.at.get("bidi_component")]
    drawn = [p for p in shown if p.component_name.endswith("rag_app_listing")]
    named = [key for key in LISTS if any(key in p.id for p in drawn)]
    return {key: _rows(next(p for p in drawn if key in p.id)) for key in named}


def click_row(page: Page, monkeypatch, key: str, number: int) -> None:
    """Click a row of a list of places, as its listener would report it."""
    draw = browser.show_list

    def show(drawn_key, label, rows, on_open, small=False) -> None:
        draw(drawn_key, label, rows, on_open, small)
        if drawn_key == key:
            on_open(number)

    with monkeypatch.context() as clicked:
        clicked.setattr(browser, "show_list", show)
        page.run()
    page.run()


def _rows(drawn) -> list[str]:
    return ["".join(text for text, _ in row["parts"]) for row in json.loads(drawn.json)["rows"]]


def about(page: Page, name: str) -> None:
    """Open a document's page and wait until all of it is made."""
    document = page.library.document(name)
    session(page).about = document.id
    page.run()

    def made() -> bool:
        now = page.library.overviews.kept(document.id)
        return now is not None and now.complete

    page.until(made)
    page.run()


@pytest.fixture
def writer(monkeypatch):
    """What a writer would ask of a document, before the page is there."""
    asked = {"costs four euros": "How much does the ferry to the island cost?"}
    monkeypatch.setattr(Questioner, "introduce", asking_what(asked))
    monkeypatch.setattr(Questioner, "introduces", True)


@pytest.mark.usefixtures("writer")
def test_a_documents_page_says_what_it_is_and_opens_its_headings(page, monkeypatch):
    page.drop(("guide.md", LONG))
    about(page, "guide.md")
    document = page.library.document("guide.md")
    assert f"MD · {texts.facts(document)} · English · added" in page.html()
    assert lists(page)["about_outline"] == ["Fares", "Dogs"]
    assert "The ferry to the island costs four euros." in lists(page)["about_summary"]
    suggested = [b.label for b in page.at.button if (b.key or "").startswith("suggested-")]
    kept = page.library.overviews.kept(document.id).questions
    assert suggested == [escape_markdown(question) for question in kept] and kept
    assert not page.at.chat_message
    click_row(page, monkeypatch, "about_outline", 1)
    place = session(page).opened.place
    assert (place.name, place.quote.lstrip("# ")) == ("guide.md", "Dogs")
    page.click("suggested-0")
    assert not session(page).about and session(page).exchanges[-1].question == kept[0]


def test_where_no_question_is_there_to_be_tried_nothing_is_said_of_questions(page):
    page.drop(("guide.md", LONG))
    about(page, "guide.md")
    assert words.OUTLINE in page.html()
    assert words.CAN_ANSWER not in page.html()


def test_nothing_is_said_of_headings_where_a_table_has_none(page):
    page.drop(("fares.csv", b"Island,Fare\nLarge,4\nSmall,3\n"))
    about(page, "fares.csv")
    assert "fares.csv" in page.html() and words.NO_OUTLINE not in page.html()
    page.drop(("ferry.txt", FERRY))
    about(page, "ferry.txt")
    assert words.NO_OUTLINE in page.html()


def test_a_document_that_could_not_be_read_says_so_on_its_page(page):
    page.drop(("torn.pdf", b"%PDF-1.4 torn"))
    (document,) = page.library.documents()
    session(page).about = document.id
    page.run()
    assert document.error and document.error[:30] in page.html()
    assert "about_summary" not in page.buttons()


def test_a_question_brings_the_conversation_back(page):
    page.drop(("ferry.txt", FERRY))
    session(page).about = page.library.document("ferry.txt").id
    page.run()
    assert not page.at.chat_message
    assert "four euros" in page.ask("What does the ferry to the island cost?")
    assert not session(page).about


def test_a_web_page_with_many_pages_to_draw_is_made_while_one_looks_elsewhere(page, monkeypatch):
    downloads = Downloads(monkeypatch)
    monkeypatch.setattr(conversation_list, "_AT_ONCE", 0)
    page.drop(("ferry.txt", FERRY))
    page.ask("What does the ferry to the island cost?")
    downloads.given.clear()
    page.run()
    assert "export-md" in downloads.given and "export-html" not in downloads.given
    page.click("export-html")
    page.until(lambda: not session(page).exporting.running)
    page.run()
    made = downloads.take("export-html")
    assert b"four euros" in made and b"ferry.txt" in made
    page.library.remove(page.library.document("ferry.txt").id)
    assert b"four euros" not in downloads.take("export-html"), "removed means gone"
    page.run()
    assert session(page).exporting is None
    page.drop(("ferry.txt", FERRY))
    page.ask("Are dogs allowed on the ferry?")  # of what is there now another one is made
    downloads.given.clear()
    page.run()
    assert "export-html" in page.buttons() and "export-html" not in downloads.given


def test_a_removed_document_leaves_its_page(page):
    page.drop(("ferry.txt", FERRY))
    document = page.library.document("ferry.txt")
    session(page).about = document.id
    page.library.remove(document.id)
    page.run()
    assert not session(page).about


def test_plain_search_lists_hits_by_document_and_opens_them(page):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    page.click("search_open")
    assert words.SEARCH_HELP in page.html()
    page.at.text_input[0].set_value("free")
    page.run()
    assert "2 places in 2 documents" in page.html()
    assert set(rows(page)) == {"Dogs travel free of charge.", "Entry is free for children."}
    page.at.text_input[0].set_value("zeppelin")
    page.run()
    assert words.NOTHING_FOUND in page.html()
    page.click("search_back")
    assert not session(page).search.open


def test_plain_search_keeps_to_the_ticked_documents_and_says_so(page):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    session(page).unticked = {page.library.document("museum.txt").id}
    session(page).search = Search(True, "free", number=1)
    page.run()
    assert words.within(1, 2) in page.html()
    assert rows(page) == ["Dogs travel free of charge."]
    page.click("search_all")
    assert len(rows(page)) == 2


def test_a_row_number_from_the_browser_may_be_anything():
    assert [browser.row_of(value, 3) for value in (0, 2, 1.0)] == [0, 2, 1]
    for value in (-1, 3, 99, "1", None, [0], True, 0.5, float("nan"), float("inf")):
        assert browser.row_of(value, 3) is None


def test_marks_of_a_row_are_pieces_of_its_text():
    row = browser.Row("Dogs travel free", marks=[(0, 4), (12, 16)])
    assert browser._parts(row) == [("Dogs", True), (" travel ", False), ("free", True)]


def test_a_tag_ticks_exactly_its_documents(page):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    one, two = (page.library.document(name) for name in ("ferry.txt", "museum.txt"))
    page.library.shelves.tag([one.id], "boats")
    page.run()
    chips = page.at.button_group[0]
    assert chips.options == [escape_markdown("#boats 1")]
    chips.set_value(["#boats"])
    page.run()
    assert session(page).unticked == {two.id}
    assert not any(two.id in (box.key or "") for box in page.at.checkbox)
    assert one.id in str([box.key for box in page.at.checkbox])
    assert "four euros" in page.ask("What does the ferry to the island cost?")
    assert session(page).exchanges[-1].documents == [one.id]
    page.at.button_group[0].set_value([])
    page.run()
    assert not session(page).unticked
    assert any(two.id in (box.key or "") for box in page.at.checkbox)


def test_what_comes_while_a_tag_is_picked_is_seen_as_it_is_asked(page):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    ferry, museum = (page.library.document(name) for name in ("ferry.txt", "museum.txt"))
    page.library.shelves.tag([ferry.id], "boats")
    page.run()
    page.at.button_group[0].set_value(["#boats"])
    page.run()
    page.drop(("crane.txt", b"The crane lifts forty tons."))
    crane = page.library.document("crane.txt")
    ticked = {key.rpartition("-")[2] for box in page.at.checkbox if (key := box.key or "")}
    assert ticked == {ferry.id, crane.id}
    assert texts.asking(2, 3) in page.html()
    page.click("ask_all")
    assert any(museum.id in (box.key or "") for box in page.at.checkbox)


def test_the_queue_can_be_paused_and_goes_on(page):
    page.library.pause()
    page.at.file_uploader[0].upload("ferry.txt", FERRY, "text/plain")
    page.run()
    assert words.PAUSED in page.html()
    assert words.working_on(1) not in page.html()
    page.click("queue_resume")
    page.library.wait([d.id for d in page.library.documents()], timeout=30)
    page.run()
    assert words.PAUSED not in page.html() and "queue_pause" not in page.buttons()


def test_what_others_add_while_the_list_is_drawn_keeps_the_bar_in_its_bounds(page, monkeypatch):
    page.library.pause()
    for n in range(5):
        page.library.add(f"{n}.txt", f"Text {n}.".encode())
    look = page.library.progress

    def progress(*documents):  # the list was read before
        for n in range(7):
            page.library.add(f"other-{n}.txt", f"Other text {n}.".encode())
        return look(*documents)

    monkeypatch.setattr(document_list, "_working", lambda library: True)
    monkeypatch.setattr(document_list, "_state", lambda library, session: ())
    monkeypatch.setattr(page.library, "progress", progress)
    page.run()
    monkeypatch.undo()
    assert [bar.proto.text for bar in page.at.get("progress")] == [texts.overall(0, 5)]
    assert not page.at.error


def test_the_map_of_a_document_has_its_parts_and_its_title_in_the_middle():
    outline = [
        Heading(1, 0, 1, "The Fleet"),
        Heading(1, 9, 2, "Boats"), Heading(1, 19, 2, "Masts"),
        Heading(2, 0, 2, "Boats"), Heading(2, 5, 3, "Oak"), Heading(3, 0, 2, "Masts"),
    ]  # fmt: skip
    assert map_parts(outline) == (0, [(3, 5), (5, 6)]), "what contents list is there once"
    assert map_parts(outline[1:]) == (None, [(2, 4), (4, 5)])
    assert map_parts([]) == (None, [])


def test_the_first_sources_of_an_answer_are_drawn_before_they_are_opened(page, monkeypatch):
    drawn = []

    def picture(library, document_id: str, number: int, scale: float = 1.6) -> None:
        drawn.append((document_id, number))

    state.forget_pictures()
    monkeypatch.setattr(type(page.library), "picture", picture)
    page.drop(("ferry.txt", FERRY))
    assert "four euros" in page.ask("How much does the ferry to the island cost?")
    page.until(lambda: drawn)
    assert drawn[0] == (page.library.document("ferry.txt").id, 1)
    state.forget_pictures()


def test_work_on_large_files_counts_for_more_than_on_small_ones(page):
    page.drop(("ferry.txt", FERRY), ("museum.txt", MUSEUM))
    small, large = page.library.documents()
    large = replace(large, size=480_000, status=Status.SEARCHABLE)
    many = [replace(small, id=f"{n}") for n in range(4)]
    half = Progress(large.id, "embedding", 50, 100)
    worked, total = document_list.share_of_work([*many, large], {large.id: half})
    assert total == 4 * 20_000 + 480_000
    assert worked == 4 * 20_000 + 0.7 * 480_000, "it is read and found, and half embedded"


def failed(address: str, error: str) -> Any:
    return SimpleNamespace(address=address, error=error, added=None, running=False, stopping=False)


def test_of_pages_that_cannot_be_fetched_each_is_said_and_what_is_typed_stays(page):
    session = page.at.session_state["session"]
    session.web.fetching = [failed("https://a.example/1", "No such site.")]
    composer._take(page.library, session)
    assert (session.web.open, session.web.again) == (True, "https://a.example/1")
    session.web.again = ""  # as it is once the field was drawn, in which somebody goes on typing
    session.web.fetching = [
        failed("https://b.example/2", "The page is too large."),
        failed("https://c.example/3", "No such site."),
    ]
    composer._take(page.library, session)
    assert session.web.again == ""
    page.run()
    for said in ("No such site.", "b.example/2: The page is too large.", "c.example/3: No such"):
        assert said in page.html()


def test_of_several_that_can_be_replaced_the_others_stay_offered(page):
    page.drop(("a.txt", FERRY), ("b.txt", MUSEUM))
    page.drop(("a.txt", FERRY + b"New."), ("b.txt", MUSEUM + b"New."))
    page.at.session_state["session"].receipt.refused.append("“c.zip” is too large.")
    page.run()

    def offers() -> list[str]:
        return sorted(str(key) for key in page.buttons() if str(key).startswith("replace-"))

    before = offers()
    assert len(before) == 2 and "c.zip" in page.html()
    page.click(before[0])
    assert offers() == before[1:] and "c.zip" in page.html()
    page.click(before[1])
    assert not offers() and "c.zip" in page.html()
    page.click("receipt_ok")
    assert page.at.session_state["session"].receipt is None
