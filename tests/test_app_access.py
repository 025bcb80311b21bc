# ruff: noqa: F811 - the fixtures are those of test_app
"""Sharing, keys and the administrator's page, without a browser."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rag_app.access.access import Access
from rag_app.access.nouns import Grantee, Identity
from rag_app.access.quotas import Limited, Quota
from rag_app.errors import AccessError
from rag_app.library import Library
from rag_app.scope import HOME, Role
from rag_app.ui import administration, who
from rag_app.ui import texts_access as words
from rag_app.ui.administration import QueuedWork, _exported
from rag_app.ui.who import Visitor, widget_key
from tests.test_app import FERRY, Page, opened, page  # noqa: F401 - fixtures

ANNA = Identity("https://id|anna", "Anna <b>", "anna@example.org")
BEN = Identity("https://id|ben", "Ben", "ben@example.org", frozenset({"sales"}))


@pytest.fixture
def enter(opened, monkeypatch) -> Callable[[Identity], Page]:
    """The page as somebody sees it who has signed in; Anna is the administrator."""
    now: list[Identity] = [ANNA]

    def visitor(library: Library) -> Visitor:
        return Visitor(library.access, now[0])

    def page_of(identity: Identity) -> Page:
        now[0] = identity
        monkeypatch.setattr(who, "visitor", visitor)
        if not opened:
            Page(opened)  # opens the library
            for one in (ANNA, BEN):
                opened[-1].access.arrive(one)
        return Page(opened).run()

    return page_of


def pick(page: Page, key: str, value: object) -> None:
    page.at.selectbox(key=key).set_value(value)
    page.run()


def write(page: Page, key: str, text: str) -> None:
    page.at.text_input(key=key).set_value(text)
    page.run()


def show(page: Page, tab: str) -> Page:
    if "administration_back" not in page.buttons():
        page.click("administration")
    page.at.button_group(key="administration_tab").set_value(tab)
    return page.run()


def access_of(page: Page) -> Access:
    return page.library.access


# Who sees it


def test_on_one_s_own_computer_there_is_nothing_of_it(page):
    assert not {"share", "keys", "administration"} & page.buttons()
    page.at.session_state["session"].show(page="administration")
    page.run()
    assert "administration_back" not in page.buttons()
    assert page.at.session_state["session"].talking


def test_who_is_no_administrator_has_no_administration(enter):
    page = enter(BEN)
    assert {"share", "keys"} <= page.buttons() and "administration" not in page.buttons()
    page.at.session_state["session"].show(page="administration")
    page.run()
    assert "administration_back" not in page.buttons()


def test_an_administrator_goes_there_and_back(enter):
    page = enter(ANNA)
    page.click("administration")
    assert "ben@example.org" in page.html() and "Anna &lt;b&gt;" in page.html()
    assert page.at.chat_message == [] or not page.at.session_state["session"].talking
    page.click("administration_back")
    assert page.at.session_state["session"].talking


def test_who_is_lowered_while_the_page_is_open_does_nothing_any_more(enter):
    page = show(enter(ANNA), "people")
    pick(page, "people_chosen", BEN.subject)
    access = access_of(page)
    access.set_administrator(ANNA.subject, BEN.subject, True)
    access.set_administrator(BEN.subject, ANNA.subject, False)
    page.click("person_remove")
    assert access.is_in(BEN) and "administration_back" not in page.buttons()


# People


def test_a_person_is_removed_in_two_clicks_and_let_back_in(enter):
    page = show(enter(ANNA), "people")
    pick(page, "people_chosen", BEN.subject)
    page.click("person_remove")
    assert words.REMOVE_SURE in page.html() and access_of(page).is_in(BEN)
    page.click("person_keep")
    page.click("person_remove")
    page.click("remove-person")
    assert not access_of(page).is_in(BEN)
    assert words.OWN_LEFT in page.html()
    page.click("person_restore")
    assert access_of(page).is_in(BEN)


def test_a_person_is_signed_out_everywhere(enter, monkeypatch):
    page = show(enter(ANNA), "people")
    pick(page, "people_chosen", BEN.subject)
    assert "person_sign_out" not in page.buttons()  # nobody signs in here
    real = administration.draw

    def by_provider(library, visitor):
        told = library.settings.model_copy(update={"sign_in": "oidc"})
        real(SimpleNamespace(settings=told, meaning=library.meaning), visitor)

    monkeypatch.setattr(administration, "draw", by_provider)
    page.run()
    page.click("person_sign_out")
    before = replace(BEN, issued=time.time() - 1)
    assert not access_of(page).is_in(before) and access_of(page).is_in(BEN)


def test_what_a_removed_person_left_is_handed_over(enter):
    page = enter(ANNA)
    access = access_of(page)
    [own] = access.scope_of(BEN.subject).collections
    access.remove_person(ANNA.subject, BEN.subject)
    show(page, "people")
    pick(page, "people_chosen", BEN.subject)
    pick(page, "hand_over_to", ANNA.subject)
    page.click("hand_over")
    assert access.scope_of(ANNA.subject).role(own) is Role.OWNER
    assert words.OWN_LEFT not in page.html()


def test_what_a_removed_person_left_is_deleted_in_two_clicks(enter):
    page = enter(ANNA)
    access = access_of(page)
    [own] = access.scope_of(BEN.subject).collections
    access.remove_person(ANNA.subject, BEN.subject)
    show(page, "people")
    pick(page, "people_chosen", BEN.subject)
    page.click(widget_key("deleting", own))
    assert not access.to_be_emptied()
    page.click(widget_key("delete", own))
    assert [one.collection for one in access.to_be_emptied()] == [own]


def test_what_is_refused_is_said_on_the_page_once(enter):
    page = show(enter(ANNA), "people")
    pick(page, "people_chosen", ANNA.subject)
    page.click("person_administrator")
    assert "Make somebody else an administrator first" in page.html()
    page.run()
    assert "Make somebody else an administrator first" not in page.html()


def test_people_are_filtered(enter):
    page = show(enter(ANNA), "people")
    write(page, "people_filter", "BEN@")
    assert "ben@example.org" in page.html() and "anna@example.org" not in page.html()


def test_people_are_called_in_fields_as_they_are_called(enter):
    page = show(enter(ANNA), "people")
    assert page.at.selectbox(key="people_chosen").options == [
        "Anna <b> (anna@example.org)", "Ben (ben@example.org)"
    ]  # fmt: skip


# Groups


def test_a_group_is_made_filled_renamed_and_deleted(enter):
    page = show(enter(ANNA), "groups")
    assert "sales" in page.html() and words.BY_SIGN_IN in page.html()
    page.at.text_input(key="new_group").set_value("Board")
    page.click("make_group_now")
    [board] = [one for one in access_of(page).groups() if one.name == "Board"]
    pick(page, widget_key("member", board.id), BEN.subject)
    page.click("member_change")
    assert "1 person" in page.html() and BEN.subject in members(page, "Board")
    page.click("member_change")
    assert not members(page, "Board")
    write(page, widget_key("group_name", board.id, "Board"), "The board")
    page.click("group_rename")
    assert not members(page, "The board")
    page.click("group_delete")
    assert [one.name for one in access_of(page).groups()] == ["sales"]


def members(page: Page, name: str) -> frozenset[str]:
    return next(one.members for one in access_of(page).groups() if one.name == name)


# Collections and sharing


def test_an_administrator_gives_roles_in_collections_and_reads_none(enter):
    page = enter(ANNA)
    access = access_of(page)
    access.create_collection(BEN.subject, "Ben's <i>")
    show(page, "collections")
    said = page.html()
    assert "Ben&#x27;s &lt;i&gt;" in said and "Ben (ben@example.org), alone" in said
    assert "<td>Ben&#x27;s &lt;i&gt;</td><td>Ben (ben@example.org)</td>" in said
    assert words.NO_OWNER in said and words.MANAGED_NOT_READ in said  # home
    pick(page, "administered_collection", HOME)
    give(page, HOME, Grantee.person(BEN.subject), Role.OWNER)
    assert access.scope_of(BEN.subject).role(HOME) is Role.OWNER
    assert access.scope_of(ANNA.subject).role(HOME) is None


def give(page: Page, collection: str, to: Grantee, role: Role) -> None:
    page.at.selectbox(key=widget_key("give_to", collection)).set_value(to)
    page.at.selectbox(key=widget_key("give", collection)).set_value(role)
    page.click(widget_key("give_now", collection))


def test_an_owner_shares_changes_and_takes_back(enter):
    page = enter(BEN)
    access = access_of(page)
    page.click("share")
    assert words.NO_COLLECTIONS in page.html()
    page.at.text_input(key="new_collection").set_value("Team")
    page.click("make_collection_now")
    [team] = [one for one, _ in access.collections_of(BEN.subject) if one.name == "Team"]
    anna, sales = Grantee.person(ANNA.subject), Grantee.group(access.groups()[0].id)
    give(page, team.id, anna, Role.READER)
    give(page, team.id, sales, Role.EDITOR)
    assert access.scope_of(ANNA.subject).role(team.id) is Role.READER
    labels = [one.label for one in page.at.selectbox]
    assert any("Anna" in one and "anna" in one for one in labels)
    role = widget_key("role", team.id, "person", ANNA.subject)
    pick(page, role, Role.OWNER)
    assert access.scope_of(ANNA.subject).role(team.id) is Role.OWNER
    page.click(widget_key("revoke", team.id, "person", ANNA.subject))
    assert access.scope_of(ANNA.subject).role(team.id) is None
    assert (
        page.at.selectbox(key=widget_key("role", team.id, "group", sales.id)).value is Role.EDITOR
    )


def test_the_last_owner_is_told_why_nothing_changed(enter):
    page = enter(BEN)
    access = access_of(page)
    team = access.create_collection(BEN.subject, "Team")
    page.click("share")
    pick(page, "share_collection", team.id)
    role = widget_key("role", team.id, "person", BEN.subject)
    pick(page, role, Role.READER)
    assert "somebody else its owner first" in page.html()
    assert page.at.selectbox(key=role).value is Role.OWNER
    assert access.scope_of(BEN.subject).role(team.id) is Role.OWNER


def test_an_owner_renames_and_deletes(enter):
    page = enter(BEN)
    access = access_of(page)
    team = access.create_collection(BEN.subject, "Team")
    page.click("share")
    pick(page, "share_collection", team.id)
    write(page, widget_key("rename", team.id, "Team"), "The team")
    page.click(widget_key("rename_now", team.id))
    assert "The team" in {one.name for one, _ in access.collections_of(BEN.subject)}
    page.click(widget_key("deleting", team.id))
    page.click(widget_key("keep", team.id))
    page.click(widget_key("deleting", team.id))
    page.click(widget_key("delete", team.id))
    assert access.scope_of(BEN.subject).role(team.id) is None
    assert words.NO_COLLECTIONS in page.html()


def test_who_a_collection_is_shared_with_may_leave_and_change_nothing(enter):
    page = enter(BEN)
    access = access_of(page)
    team = access.create_collection(ANNA.subject, "Anna's team")
    access.grant(ANNA.subject, team.id, Grantee.person(BEN.subject), Role.EDITOR)
    page.click("share")
    assert words.NO_COLLECTIONS in page.html() and words.YOURS_TO_READ in page.html()
    page.click(widget_key("leave", team.id))
    assert access.scope_of(BEN.subject).role(team.id) is None


def test_somebody_s_own_collection_is_not_offered_to_be_shared(enter):
    page = enter(BEN)
    page.click("share")
    assert "share_collection" not in {one.key for one in page.at.selectbox}


# Keys


def test_a_key_is_shown_once_and_ends_when_it_is_revoked(enter):
    page = enter(BEN)
    keys = access_of(page).api_keys
    page.click("keys")
    assert words.NO_KEYS in page.html()
    page.at.text_input(key="key_name").set_value("My <script>")
    page.click("key_make")
    [secret] = [one.value for one in page.at.code]
    assert keys.subject_of(secret) == BEN.subject
    [info] = keys.keys(BEN.subject)
    assert info.expires is not None and "My &lt;script&gt;" in page.html()
    page.click("key_copied")
    assert not page.at.code and secret not in page.html()
    page.click(f"key_revoke-{info.id}")
    assert keys.subject_of(secret) is None


def test_a_key_that_was_not_copied_is_not_shown_again(enter):
    page = enter(BEN)
    page.click("keys")
    page.at.text_input(key="key_name").set_value("x")
    page.click("key_make")
    page.at.session_state["session"].dialog = ""
    page.run()
    page.click("keys")
    assert not page.at.code and "key_make" in page.buttons()


def test_a_key_without_a_name_is_refused_in_a_sentence(enter):
    page = enter(BEN)
    page.click("keys")
    page.click("key_make")
    assert "The name is empty" in page.html()


# Limits


def test_limits_are_set_for_everybody_and_for_one_person(enter):
    page = show(enter(ANNA), "limits")
    quotas = access_of(page).quotas
    page.at.text_input(key=widget_key("limit-bytes", "")).set_value("500")
    page.at.text_input(key=widget_key("limit-files", "")).set_value("1,000")
    page.click(widget_key("limits_save", ""))
    assert quotas.for_everybody() == Quota(bytes=500_000_000, files=1_000)
    pick(page, "limits_chosen", BEN.subject)
    page.at.text_input(key=widget_key("limit-files", BEN.subject)).set_value("None")
    page.click(widget_key("limits_save", BEN.subject))
    assert quotas.quota_of(BEN.subject) == Quota(bytes=500_000_000)
    page.at.text_input(key=widget_key("limit-files", BEN.subject)).set_value("")
    page.click(widget_key("limits_save", BEN.subject))
    assert quotas.own_limits(BEN.subject) == {}


@pytest.mark.parametrize("typed", ["-1", "many", "1.5", "9" * 13, "²"])
def test_a_limit_that_is_none_changes_nothing(enter, typed):
    page = show(enter(ANNA), "limits")
    page.at.text_input(key=widget_key("limit-pages", "")).set_value("10")
    page.at.text_input(key=widget_key("limit-sessions", "")).set_value(typed)
    page.click(widget_key("limits_save", ""))
    assert words.NO_NUMBER in page.html()
    assert access_of(page).quotas.for_everybody() == Quota()


@pytest.mark.parametrize("most", [1, 1_500_000, 999_999_500_000, 1_000_000_000_000])
def test_a_limit_of_bytes_is_read_as_it_is_shown(most):
    shown = administration._as_typed(Limited.BYTES, most)
    assert administration._limit(Limited.BYTES, shown) == most


@pytest.mark.parametrize(
    ("typed", "most"), [("1,000", 1_000), ("1,234,567.5", 1_234_567.5), ("12 000", 12_000)]
)
def test_commas_that_group_thousands_say_nothing(typed, most):
    assert administration._limit(Limited.BYTES, typed) == most * 1_000_000


@pytest.mark.parametrize("typed", ["1,5", "0,500", "10,00", "1000,000", "1,000,5", "1,000.000,5"])
def test_any_other_comma_is_asked_about(typed):
    with pytest.raises(AccessError, match="is a whole number"):
        administration._limit(Limited.BYTES, typed)


def test_what_was_not_changed_is_not_set_again(enter):
    page = enter(ANNA)
    access = access_of(page)
    access.quotas.set_limit(ANNA.subject, Limited.PAGES, 7)
    show(page, "limits")
    before = access.log.entries()
    page.click(widget_key("limits_save", ""))
    assert access.log.entries() == before


# Work, models, the log


def test_the_queue_says_whose_and_no_names_that_are_not_shared(enter, monkeypatch):
    page = enter(ANNA)
    [own] = access_of(page).scope_of(ANNA.subject).collections
    queued = [
        QueuedWork(BEN.subject, "secret", "payroll.xlsx", "Reading"),
        QueuedWork(ANNA.subject, own, "mine.pdf", "Waiting"),
    ]
    monkeypatch.setattr(administration, "work_of", lambda _: queued)
    said = show(page, "work").html()
    assert "payroll" not in said and words.SOMEBODY_S in said
    assert "mine.pdf" in said and "Ben" in said


def test_an_empty_queue_says_so_and_documents_that_wait_are_in_it(enter):
    page = enter(ANNA)
    assert words.NO_WORK in show(page, "work").html()
    page.library.pause()
    page.library.add("ferry.txt", FERRY)
    assert [one.name for one in administration.work_of(page.library)] == [
        f"TXT, {len(FERRY)} bytes"
    ]
    assert words.NOBODY in page.run().html()


def test_the_models_that_the_settings_allow_are_listed(enter, monkeypatch):
    monkeypatch.setenv("RAG_APP_CHAT_SERVERS", "https://ai.example.com")
    said = show(enter(ANNA), "models").html()
    assert "https://ai.example.com" in said and "reader" in said


def test_the_log_is_shown_filtered_and_taken_away(enter):
    page = enter(ANNA)
    access = access_of(page)
    access.grant(ANNA.subject, HOME, Grantee.person(BEN.subject), Role.READER)
    said = show(page, "log").html()
    assert "sign-in" in said and "<td>Home</td><td>person Ben: reader</td>" in said
    pick(page, "log_action", "grant")
    assert rows(page) == 1
    pick(page, "log_person", BEN.subject)
    assert words.LOG_EMPTY in page.html()
    visitor = Visitor(access, ANNA)
    lines = _exported(visitor, access.log.every, "jsonl").decode().splitlines()
    assert json.loads(lines[0])["action"] == "export"
    table = list(
        csv.reader(io.StringIO(_exported(visitor, access.log.every, "csv").decode("utf-8-sig")))
    )
    assert table[0][0] == "number" and len(table) == len(lines) + 2


def rows(page: Page) -> int:
    return len(re.findall("<tr><td>", page.html()))
