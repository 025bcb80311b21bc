# ruff: noqa: F811 - the fixtures are those of test_app and test_sign_in
"""The page of people who share a library: what is not theirs to do or to see is not there."""

from __future__ import annotations

import csv
import io
import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest
import streamlit as st

from rag_app.access import proof
from rag_app.access.audit import Action
from rag_app.access.nouns import MACHINE, Grantee, Identity
from rag_app.access.quotas import Limited
from rag_app.answering.ask_options import AskOptions
from rag_app.errors import UnknownDocument
from rag_app.library import Library
from rag_app.scope import Role
from rag_app.types import Answer, Basis, Computation, Note, NoteKind, RowsUsed, Timing
from rag_app.ui import answers, check_panel, texts, texts_access, texts_library
from rag_app.ui.live_answer import FinishedGeneration
from rag_app.ui.state import ShownExchange, _LiveView
from rag_app.ui.who import widget_key
from tests.test_app import FERRY, MUSEUM, Page, opened  # noqa: F401 - a fixture
from tests.test_sign_in import said  # noqa: F401 - a fixture
from tests.test_web_authentication import doorkeeper  # noqa: F401 - a fixture for all of these

ANNA = Identity("https://id|anna", "Anna", "anna@example.org")
BEN = Identity("https://id|ben", "Ben", "ben@example.org", frozenset({"sales"}))


class People:
    """Anna, who is the administrator, and Ben, each on a page of their own of one library."""

    def __init__(self, said: dict[str, str], opened: list[Library]) -> None:
        self._said, self._opened = said, opened
        self.pages = {ANNA: self.another(ANNA)}
        self.library = opened[-1]
        self.access = self.library.access
        self.pages[BEN] = self.another(BEN)
        self.team = self.access.create_collection(ANNA.subject, "Team").id

    def _says(self, who: Identity) -> None:
        self._said[proof.IDENTITY_HEADER] = proof.written(who)

    def another(self, who: Identity) -> Page:
        """A further page of theirs."""
        self._says(who)
        return Page(self._opened)

    def page(self, who: Identity, run: bool = True) -> Page:
        """Their page, drawn anew; without `run` as they have had it before them since then."""
        self._says(who)
        return self.pages[who].run() if run else self.pages[who]

    def view(self, who: Identity) -> Library:
        return self.library.scoped(self.access.scope_of(who.subject))

    def share(self, role: Role) -> None:
        self.access.grant(ANNA.subject, self.team, Grantee.person(BEN.subject), role)

    def take_back(self) -> None:
        self.access.revoke(ANNA.subject, self.team, Grantee.person(BEN.subject))

    def add(self, who: Identity, name: str, data: bytes, collection: str = "") -> str:
        view = self.view(who)
        added = view.add(name, data, collection=collection)
        view.wait([added.document.id], timeout=60)
        return added.document.id

    def logged(self, who: Identity, action: Action) -> list[tuple[str, str]]:
        found = self.access.log.entries(subject=who.subject, action=action)
        return [(one.about, one.detail) for one in reversed(found)]


@pytest.fixture
def people(said, opened) -> People:
    return People(said, opened)


def menu(page: Page, key: str) -> list[str]:
    """What the menu of a key offers."""
    return next([*m.proto.options] for m in page.at.get("menu_button") if m.key == key)


# What raises for who signed in is not offered to them


def test_pausing_is_not_offered_to_who_signed_in_and_the_pause_is_told(people):
    people.library.pause()
    for name in ("a.txt", "b.txt"):
        people.view(BEN).add(name, FERRY + name.encode())
    page = people.page(BEN)
    assert texts_library.PAUSED in page.html()
    assert "queue_cancel" in page.buttons()  # what is theirs
    assert not {"queue_pause", "queue_resume"} & page.buttons()


def test_what_waits_and_is_others_is_not_theirs_to_cancel_or_to_try_again(people):
    people.share(Role.READER)
    people.library.pause()
    for name in ("a.txt", "b.txt"):
        people.view(ANNA).add(name, FERRY + name.encode(), collection=people.team)
    assert "queue_cancel" not in people.page(BEN).buttons()
    assert "queue_cancel" in people.page(ANNA).buttons()


def test_folders_of_the_computer_are_not_offered_to_who_signed_in(people, monkeypatch):
    monkeypatch.setattr("rag_app.ui.who.same_computer", lambda: True)  # as if
    assert texts_library.FOLDERS_MENU not in menu(people.page(BEN), "menu-documents")


def test_the_settings_of_all_are_not_in_one_persons_settings(people):
    page = people.page(BEN)
    page.click("settings")
    assert "settings_caution" in {one.key for one in page.at.radio}
    assert "settings_languages" not in {one.key for one in page.at.radio}
    assert str(people.library.folder) not in page.html()
    page.click("clear")
    assert texts.DELETE_MINE_SURE in page.html() and texts.DELETE_SURE not in page.html()


def test_models_for_everybody_are_fetched_by_administrators(said, opened, monkeypatch):
    monkeypatch.setenv("RAG_APP_GENERATOR", "local:somebody/tiny")
    people = People(said, opened)
    fetched: list[str] = []
    monkeypatch.setattr(
        type(people.library.models), "fetch", lambda _, model: fetched.append(model)
    )
    page = people.page(BEN)
    assert "who_download" not in page.buttons() and texts.NOT_FETCHED in page.html()
    people.page(ANNA).click("who_download")
    assert fetched == ["somebody/tiny"]


def test_a_button_that_was_there_before_fetches_nothing_any_more(said, opened, monkeypatch):
    monkeypatch.setenv("RAG_APP_GENERATOR", "local:somebody/tiny")
    people = People(said, opened)
    people.access.set_administrator(MACHINE, BEN.subject, True)
    people.page(BEN)
    people.access.set_administrator(MACHINE, BEN.subject, False)
    monkeypatch.setattr(type(people.library.models), "fetch", lambda *_: pytest.fail("it fetched"))
    people.page(BEN, run=False).click("who_download")


def test_who_may_only_read_is_not_offered_to_change(people):
    people.share(Role.READER)
    ferry = people.add(ANNA, "ferry.txt", FERRY, people.team)
    broken = people.add(ANNA, "broken.pdf", b"%PDF-1.4 no more", people.team)
    may_not = {texts.REMOVE, texts.RETRY, texts.CANCEL, texts_library.CANCEL_READING}
    page = people.page(BEN)
    assert texts.OPEN in menu(page, f"menu-{ferry}")
    assert not may_not & {*menu(page, f"menu-{ferry}"), *menu(page, f"menu-{broken}")}
    page = people.page(ANNA)
    assert texts.REMOVE in menu(page, f"menu-{ferry}")
    assert texts.RETRY in menu(page, f"menu-{broken}")


def test_a_name_that_is_taken_elsewhere_is_not_offered_to_be_replaced(people):
    people.share(Role.READER)
    people.add(ANNA, "ferry.txt", FERRY, people.team)
    page = people.page(BEN)
    page.drop(("ferry.txt", MUSEUM))
    assert not [key for key in page.buttons() if str(key).startswith("replace-")]
    assert [d.name for d in people.view(BEN).documents()] == ["ferry.txt", "ferry.txt"]


def test_a_collection_that_is_shared_by_a_group_is_left_with_the_group(people):
    [sales] = people.access.groups()
    people.access.grant(ANNA.subject, people.team, Grantee.group(sales.id), Role.READER)
    page = people.page(BEN)
    page.click("share")
    leave = widget_key("leave", people.team)
    assert leave not in page.buttons() and texts_access.BY_GROUP in page.html()
    people.share(Role.READER)
    assert leave in page.run().buttons()


# A check is one's own, and one at a time


def test_a_check_that_runs_is_seen_by_every_window_of_who_began_it_and_by_nobody_else(
    people, monkeypatch
):
    begun, let_go = [], threading.Event()

    def checks(library: Library, **_: Any) -> None:
        begun.append(library)
        let_go.wait(30)

    def of(who: Identity) -> Any:  # as each run of a page has it
        return _LiveView(people.library, who.subject, "")

    monkeypatch.setattr(check_panel, "check", checks)
    try:
        now = check_panel.begin(of(BEN), AskOptions("quotes"))
        assert check_panel.of(of(BEN)) is now and check_panel.of(of(ANNA)) is None
        assert check_panel.begin(of(BEN), AskOptions("quotes")) is now
        assert check_panel.stage(of(BEN)) == "running"
    finally:
        let_go.set()
    assert now.wait(30) and len(begun) == 1


# Two documents of one name are two


def test_of_two_documents_of_one_name_each_is_offered_with_its_collection(people, monkeypatch):
    people.share(Role.READER)
    lease = [
        people.add(ANNA, "lease.txt", FERRY, people.team),
        people.add(BEN, "lease.txt", MUSEUM),
        people.add(BEN, "ferry.txt", FERRY),
    ]
    offered: list[tuple[str, str]] = []
    monkeypatch.setattr(answers, "button", lambda name, *of: offered.append((name, of[-1])))
    note = Note(NoteKind.WHICH_DOCUMENTS, ("lease.txt", "lease.txt", "ferry.txt"))
    asked = Answer(
        "Summarise it", "Which?", "", True, 0.0, "app", (), (), Timing(0, 0), notes=(note,)
    )
    held: Any = _LiveView(people.library, BEN.subject, "")
    answers._offered(held, ShownExchange("Summarise it"), asked, NoteKind.WHICH_DOCUMENTS)
    assert {one for _, one in offered} == {*lease} and len(offered) == 3
    names = dict((one, name.replace("\\", "")) for name, one in offered)
    assert names[lease[0]] == "lease.txt · Team" and names[lease[2]] == "ferry.txt"
    assert names[lease[1]].startswith("lease.txt · ") and names[lease[1]] != names[lease[0]]


# What is taken back is gone at the next click


def test_a_view_of_the_page_knows_what_is_taken_back(people):
    people.share(Role.EDITOR)
    ferry = people.add(ANNA, "ferry.txt", FERRY, people.team)
    held: Any = _LiveView(people.library, BEN.subject, "")
    assert held.document(ferry).name == "ferry.txt" and held.search("ferry")
    people.take_back()
    assert held.documents() == []
    for call in (held.original, held.remove, held.report):
        with pytest.raises(UnknownDocument):
            call(ferry)


def test_the_click_after_a_role_was_taken_back_changes_nothing(people):
    people.share(Role.EDITOR)
    ferry = people.add(ANNA, "ferry.txt", FERRY, people.team)
    page = people.page(BEN)
    page.at.session_state["session"].removing = ferry
    page.run()
    assert f"remove-{ferry}" in page.buttons()
    people.take_back()
    people.page(BEN, run=False).click(f"remove-{ferry}")
    assert people.view(ANNA).document(ferry)
    assert "ferry.txt" not in page.html()


def test_what_was_computed_from_a_sheet_leaves_the_open_page_with_the_role(people):
    people.share(Role.READER)
    fees = people.add(ANNA, "fees.csv", b"year,fee\n2019,10\n2020,20\n", people.team)
    used = RowsUsed(fees, "fees.csv", "", ("fee",), 2, ())
    computed = Computation("SELECT 1", ("fee",), (("4711",),), (used,), numbers=((4711.0,),))
    answer = Answer(
        "Fees?", "The fees are 4711.", "4711", False, 0.9, "writer", (), (), Timing(0, 0),
        basis=Basis.COMPUTED, computation=computed,
    )  # fmt: skip
    page = people.page(BEN)
    memory = page.at.session_state["session"]
    memory.exchanges.append(ShownExchange("Fees?", generation=FinishedGeneration(answer, None)))
    assert "4711" in "".join(m.value for m in page.run().at.markdown)
    people.take_back()
    page = people.page(BEN)
    assert "4711" not in page.html() + "".join(m.value for m in page.at.markdown)
    assert "4711" not in repr(memory.exchanges[0].generation.now())


# What leaves as a file is in the log


class Downloads:
    """What the buttons of a page would give, by key."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.given: dict[str, Any] = {}
        draw = st.download_button

        def noted(*of: Any, **more: Any) -> Any:
            self.given[more["key"]] = more.get("data", of[1] if len(of) > 1 else None)
            return draw(*of, **more)

        monkeypatch.setattr(st, "download_button", noted)

    def take(self, key: str) -> bytes:
        """Press one."""
        [data] = [data for known, data in self.given.items() if known.startswith(key)]
        made: bytes = data()
        return made


def test_what_is_taken_from_the_page_is_written_down(people, monkeypatch):
    downloads = Downloads(monkeypatch)
    prices = people.add(BEN, "prices.csv", b"year,fee\n2019,10\n2020,20\n2021,30\n")
    page = people.page(BEN)
    page.click(f"name-{prices}")
    assert downloads.take("source_download").startswith(b"year,fee")
    conversations = people.view(BEN).conversations
    conversation = conversations.start("What is the fee?")
    conversations.ask(conversation, "What is the fee?")
    page.at.session_state["session"].conversation = conversation
    page.run()
    assert b"What is the fee?" in downloads.take("export-md")
    assert people.logged(BEN, Action.ADD) == [(prices, "")]
    assert people.logged(BEN, Action.EXPORT) == [(prices, "original"), (conversation, "md")]


def test_a_result_is_written_down_and_gone_with_what_it_rests_on(people, monkeypatch):
    downloads = Downloads(monkeypatch)
    people.share(Role.READER)
    fees = people.add(ANNA, "fees.csv", b"year,fee\n2019,10\n2020,20\n", people.team)
    used = RowsUsed(fees, "fees.csv", "", ("fee",), 2, ())
    rows = (("2019", "10"), ("2020", "20"))
    computed = Computation(
        "SELECT 1", ("year", "fee"), rows, (used,), numbers=((2019.0, 10.0),) * 2
    )
    held: Any = _LiveView(people.library, BEN.subject, "")
    monkeypatch.setattr(answers, "_chart", lambda computed: None)
    monkeypatch.setattr(answers, "_rows_behind", lambda *of: "rows")
    answers._computed(held, "e1", cast(Any, SimpleNamespace(question="Fees?")), computed)
    assert b"2020,20" in downloads.take("result-e1")
    assert people.logged(BEN, Action.EXPORT) == [("e1", "csv")]
    people.take_back()
    with pytest.raises(UnknownDocument):
        downloads.take("result-e1")
    assert people.logged(BEN, Action.EXPORT) == [("e1", "csv")]


def test_no_cell_of_a_result_is_a_formula_in_a_spreadsheet_and_figures_stay_figures():
    evil = ["-2+3+cmd|' /C calc'!A0", "\t=1+1", "\r=1", "=1+1", "+1+1", "@SUM(A1)"]
    plain = ["-1,234.50", "-7", "12 %", "-5%", "ferry"]
    computed = Computation("SELECT 1", ("what",), tuple((one,) for one in evil + plain), ())
    written = io.StringIO(answers._csv(computed).decode("utf-8-sig"), newline="")
    _, *rows = csv.reader(written)
    assert [cell for (cell,) in rows] == [f"'{one}" for one in evil] + plain


def test_on_ones_own_computer_nothing_is_written_down(opened, monkeypatch):
    downloads = Downloads(monkeypatch)
    page = Page(opened)
    page.drop(("ferry.txt", FERRY))
    page.click(f"name-{page.library.documents()[0].id}")
    assert downloads.take("source_download") == FERRY
    assert page.library.access.log.entries() == ()


# Limits


def test_a_window_more_than_somebody_may_have_is_told_so_and_shows_nothing(people):
    people.access.quotas.set_limit(ANNA.subject, Limited.SESSIONS, 1)
    assert people.page(BEN).at.chat_input
    other = people.another(BEN)
    assert "You may use this in 1 window at once" in other.at.error[0].value
    assert not other.at.chat_input and not other.buttons() - {"sign_out"}
    assert people.page(BEN).at.chat_input and people.page(ANNA).at.chat_input


def test_a_question_more_than_somebody_may_ask_is_told_so_in_its_place(people):
    people.add(BEN, "ferry.txt", FERRY)
    people.access.quotas.set_limit(ANNA.subject, Limited.QUESTIONS, 1)
    page = people.page(BEN)
    assert "four euros" in page.ask("What does the ferry cost?")
    assert "You may ask 1 question a minute." in page.ask("What do dogs cost?")


def test_a_limit_in_the_middle_of_a_drop_keeps_what_came_before_and_says_what_did_not(people):
    people.access.quotas.set_limit(ANNA.subject, Limited.FILES, 2)
    page = people.page(BEN)
    page.drop(*((f"{name}.txt", FERRY + name.encode()) for name in "abcd"))
    assert sorted(d.name for d in people.view(BEN).documents()) == ["a.txt", "b.txt"]
    assert page.html().count("You may add 2 files a day.") == 2
    files = people.library.folder / "files"
    assert not [*files.glob("incoming-*")] and len([*files.glob("*.txt")]) == 2
