"""The words about people and what they may."""

from __future__ import annotations

import pytest

from rag_app.access.audit import Action, AuditEntry
from rag_app.access.nouns import Person
from rag_app.access.quotas import Limited
from rag_app.scope import Role
from rag_app.ui import administration
from rag_app.ui import texts_access as words

AT = "2026-11-22T12:00:00+00:00"
NAMES = {"c1": "Team", "https://id|ben: x": "Ben", "g1": "Sales"}


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ("person https://id|ben: x: reader", "person Ben: reader"),
        ("group g1: owner", "group Sales: owner"),
        ("group g1", "group Sales"),
        ("joined: https://id|ben: x", "joined: Ben"),
        ("left: somebody", "left: somebody"),
        ("made: c1", "made: c1"),
        ("", ""),
    ],
)
def test_the_log_names_people_groups_and_collections(detail, said):
    entry = AuditEntry(1, AT, "", Action.GRANT.value, "c1", detail)
    assert words.log_row(entry, NAMES)[1:] == (words.THE_MACHINE, "grant", "Team", said)


@pytest.mark.parametrize(
    ("by", "action", "detail", "said"),
    [
        ("https://id|ben: x", Action.KEY_MADE, "https://id|ben: x: script: 2", "script: 2"),
        ("", Action.KEY_MADE, "https://id|ben: x: script", "Ben: script"),
        ("https://id|ben: x", Action.KEY_REVOKED, "https://id|ben: x", ""),
        ("boss", Action.KEY_REVOKED, "https://id|ben: x", "Ben"),
        ("boss", Action.KEY_REVOKED, "nobody known", "nobody known"),
    ],
)
def test_the_log_says_whose_a_key_was_by_name(by, action, detail, said):
    entry = AuditEntry(1, AT, by, action.value, "k1", detail)
    assert words.log_row(entry, NAMES)[3:] == ("k1", said)


def test_a_person_who_was_removed_says_so_even_if_they_managed():
    person = Person("s", "Anna", "a@x", True, True, AT, AT)
    assert words.person_row(person)[3] == "administrator"
    assert words.person_label(person) == "Anna (a@x)"
    gone = Person("s", "", "a@x", True, False, AT, AT)
    assert words.person_row(gone)[3] == "removed" and words.person_label(gone) == "a@x, removed"


def test_few_owners_are_named():
    assert words.owned_by(["p0", "p1"]) == "p0, p1"
    assert words.owned_by([f"p{n}" for n in range(5)]) == "p0, p1, p2 and 2 others"
    assert words.owned_by([]) == words.NO_OWNER


def test_every_role_and_every_limit_has_words():
    assert set(words.ROLES) == set(Role) and set(words.LIMITED) == set(Limited)


def test_cells_are_anybody_s_words(monkeypatch):
    drawn = []
    monkeypatch.setattr(administration.st, "html", drawn.append)
    administration._table(("a",), [("<img>",)])
    assert "<td>&lt;img&gt;</td>" in drawn[0]
