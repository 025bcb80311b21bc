# ruff: noqa: F811 - the fixtures are those of test_app
"""The pages about the library as a whole, without a browser: checking it, watched folders."""

from __future__ import annotations

import json

import pytest

from rag_app.addresses import is_loopback
from rag_app.answering.questioner import Questioner
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Progress
from rag_app.ui import check_panel, folder_panel, who
from rag_app.ui import texts_library as words
from rag_app.ui.state import Session
from tests.fakes import WordEmbedder, asking_what
from tests.test_app import FERRY, Page, opened, page  # noqa: F401 - fixtures
from tests.test_app_documents import click_row

TOLD = (
    b"The ferry to the island costs four euros. The ferry was built in 1998 by Harbour Works. "
    b"The island has nine lighthouses.\n"
)


ASKED = {
    "costs four euros": "How much does the ferry to the island cost?",
    "built in 1998": "When was the ferry built?",
    "nine lighthouses": "How many lighthouses does the island have?",
}


@pytest.fixture(autouse=True)
def writer(monkeypatch):
    """What a writer would ask of the document."""
    monkeypatch.setattr(Questioner, "introduce", asking_what(ASKED))


@pytest.fixture(autouse=True)
def served_at(monkeypatch):
    """The app as it is started: only this computer can reach it."""
    monkeypatch.setattr(who, "_ends", lambda: ("127.0.0.1", "localhost"))


def session(page: Page) -> Session:
    return page.at.session_state["session"]


def lists(page: Page) -> dict[str, list[str]]:
    """The lists of places as they are drawn, by what they are called."""
    shown = [c.proto for c in page.at.get("bidi_component")]
    drawn = [json.loads(p.json) for p in shown if p.component_name.endswith("rag_app_listing")]
    return {
        one["label"]: ["".join(text for text, _ in row["parts"]) for row in one["rows"]]
        for one in drawn
    }


def checked(page: Page) -> None:
    session(page).show(page="check")
    page.run()
    page.click("check_now")
    now = check_panel.of(page.library)
    assert now is not None and now.wait(60) and now.error == ""
    page.run()


def test_a_library_is_checked_and_says_so_in_plain_words(page):
    page.drop(("ferry.txt", TOLD))
    checked(page)
    said = page.html()
    assert "times the right page was among the first 5" in said
    assert "quotes stand word for word on their page" in said
    asked = [question for rows in lists(page).values() for question in rows]
    assert "When was the ferry built?" in asked
    page.click("check_back")
    assert session(page).page == "" and "<h2 class='about'>" not in page.html()


def test_another_window_sees_the_same_check_and_a_question_leads_to_its_place(
    page, opened, monkeypatch
):
    page.drop(("ferry.txt", TOLD))
    checked(page)
    other = Page(opened)
    other.at.session_state["session"].show(page="check")
    other.run()
    assert lists(other) == lists(page)
    label, rows = next((k, v) for k, v in lists(other).items() if "When was the ferry built?" in v)
    kind = next((f for f in words.FAULTS if words.faults(f, len(rows)) == label), "well")
    click_row(other, monkeypatch, f"check_{kind}", rows.index("When was the ferry built?"))
    place = other.at.session_state["session"].opened.place
    assert (place.name, place.quote[:27]) == ("ferry.txt", "The ferry was built in 1998")
    assert session(page).opened is None


def test_an_empty_library_cannot_be_checked_and_says_why(page):
    session(page).show(page="check")
    page.run()
    assert words.CHECK_NOTHING in page.html()
    assert next(b for b in page.at.button if b.key == "check_now").disabled


def test_a_check_can_be_stopped_and_what_fails_is_one_sentence(page, monkeypatch):
    page.drop(("ferry.txt", TOLD))

    def fails(*_args, **_kept):
        raise ValueError("a fault of ours")

    monkeypatch.setattr(check_panel, "check", fails)
    session(page).show(page="check")
    page.run()
    page.click("check_now")
    page.run()
    assert "Something went wrong on our side" in page.html()
    assert "check_now" in page.buttons(), "it can be tried again"


def test_a_folder_is_kept_in_step_and_left_alone(page, tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "ferry.txt").write_bytes(FERRY)
    session(page).show(page="folders")
    page.run()
    assert words.NO_FOLDERS in page.html()
    page.at.text_input(key="watch_path").set_value(str(tmp_path / "papers"))
    page.click("watch_add")
    assert [one.folder for one in page.library.watched()] == [str(tmp_path / "papers")]
    page.until(lambda: page.library.documents())
    page.until(lambda: "1 file in your library" in page.html())
    page.click("unwatch-0")
    assert not page.library.watched() and words.NO_FOLDERS in page.html()
    assert [d.name for d in page.library.documents()] == ["ferry.txt"]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("", words.FOLDER_EMPTY),
        ("Papers", words.FOLDER_RELATIVE),
        ("{tmp}/nowhere", "There is no folder {tmp}/nowhere on this computer."),
        ("{tmp}/a.txt", words.FOLDER_IS_FILE),
        ("{tmp}/library", "holds the library itself"),
    ],
)
def test_a_folder_that_cannot_be_watched_says_why(page, tmp_path, typed, said):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "library").symlink_to(page.library.folder)
    session(page).show(page="folders")
    page.run()
    page.at.text_input(key="watch_path").set_value(typed.format(tmp=tmp_path))
    page.click("watch_add")
    assert said.format(tmp=tmp_path) in page.html()
    assert not page.library.watched()


@pytest.mark.parametrize(
    "ends",
    [
        ("0.0.0.0", "localhost"),
        ("192.168.1.7", "localhost"),
        (None, "localhost"),
        ("127.0.0.1", "192.168.1.9"),
    ],
)
def test_who_sits_at_another_computer_cannot_reach_the_disk(page, tmp_path, monkeypatch, ends):
    folder = tmp_path / "kept"  # and not what the library itself lies in, which changes meanwhile
    folder.mkdir()
    session(page).show(page="folders")
    page.run()
    page.at.text_input(key="watch_path").set_value(str(folder))
    monkeypatch.setattr(who, "_ends", lambda: ends)
    page.click("watch_add")  # a field that was there before, or a browser that was tampered with
    assert not page.library.watched()
    assert words.NOT_FROM_HERE in page.html()
    assert "watch_add" not in page.buttons()
    page.library.watch(folder)
    with pytest.raises(StopIteration):
        page.click("unwatch-0")
    folder_panel._unwatch(page.library, str(folder))
    assert page.library.watched()


def test_only_loopback_is_this_computer():
    assert all(map(is_loopback, ("127.0.0.1", "localhost", "::1", "[::1]", "127.3.2.1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", None, "10.0.0.1", "example.org")))
    assert not who.is_forwarded({"Host": "localhost:8501"})
    assert not who.is_forwarded({})
    assert who.is_forwarded({"Host": "papers.example.org"})
    assert who.is_forwarded({"Host": "127.0.0.1", "X-Forwarded-For": "10.0.0.1"})
    assert not who.is_forwarded({"Host": "localhost", "Origin": "http://localhost:8501"})
    assert who.is_forwarded({"Host": "localhost", "Origin": "https://papers.example.org"})
    assert who.is_forwarded({"Host": "localhost", "Origin": "null"})


@pytest.fixture
def lost(own_house):
    """A data directory whose database is lost."""
    with Library(Settings.load(data_dir=own_house), embedder=WordEmbedder()) as library:
        for name, data in (("ferry.txt", FERRY), ("told.txt", TOLD)):
            library.wait([library.add(name, data).document.id], timeout=30)
    (own_house / "library.sqlite3").unlink()


def test_files_that_the_library_does_not_know_are_offered_and_added_again(lost, page):
    assert words.set_aside(2) in page.html() and "set_aside_add" in page.buttons()
    page.click("set_aside_add")
    page.library.wait([d.id for d in page.library.documents()], timeout=30)
    page.run()
    assert len(page.library.documents()) == 2 and "set_aside_add" not in page.buttons()
    assert words.set_aside(2) not in page.html()
    assert page.library.search('"costs four euros"')


def test_what_was_set_aside_can_be_left_or_deleted_in_two_clicks(lost, page, opened):
    page.click("set_aside_leave_aside")
    assert "set_aside_add" not in page.buttons() and len(page.library.set_aside()) == 2
    other = Page(opened)
    other.click("set_aside_ask_to_delete")
    assert words.delete_set_aside(2) in other.html() and len(page.library.set_aside()) == 2
    other.click("set_aside_delete_aside")
    assert page.library.set_aside() == [] and "set_aside_add" not in other.buttons()


def test_a_model_that_takes_over_says_how_far_it_is(page, monkeypatch):
    page.drop(("ferry.txt", FERRY))
    work = Progress("", "embedding", 17, 50, "passages")
    monkeypatch.setattr(page.library, "reindexing", lambda: work)
    page.run()
    bars = [bar.proto for bar in page.at.get("progress")]
    assert [(bar.value, "34 %" in bar.text) for bar in bars] == [(34, True)]
    monkeypatch.setattr(page.library, "reindexing", lambda: None)
    page.run()
    assert not page.at.get("progress")
