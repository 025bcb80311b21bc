"""Who people are and what they may: `Access` over a real database."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Barrier

import pytest

from rag_app.access.access import Access
from rag_app.access.audit import Action
from rag_app.access.nouns import MACHINE, Emptying, Grantee, Identity, PeopleGroup, Person
from rag_app.errors import (
    AccessError,
    LastAdministrator,
    LastOwner,
    NameTaken,
    NotAllowed,
    UnknownCollection,
    UnknownGrantee,
)
from rag_app.scope import HOME, Role, Scope
from rag_app.settings import Settings

ANNA, BEN, CARA = (
    Identity(one, one.title(), f"{one}@example.org") for one in ("anna", "ben", "cara")
)


@pytest.fixture
def access(database) -> Access:
    """Anna came first and is the administrator; Ben and Cara came after her."""
    made = Access(database, Settings.load())
    for one in (ANNA, BEN, CARA):
        made.arrive(one)
    return made


def own(access: Access, subject: str) -> str:
    return next(c.id for c in access.collections(MACHINE) if c.private_of == subject)


def group(access: Access, name: str) -> PeopleGroup:
    return next(one for one in access.groups() if one.name == name)


# People


def test_at_first_sight_a_person_has_a_collection_of_their_own(access):
    scope = access.scope_of("ben")
    assert scope == Scope.of("ben", {own(access, "ben"): Role.OWNER})
    assert access.arrive(BEN).first_seen and access.scope_of("ben") == scope


def test_the_first_person_ever_is_the_administrator(access):
    assert [one.subject for one in access.people() if one.administrator] == ["anna"]


def test_whom_the_settings_name_is_administrator_and_then_the_first_is_not(database):
    settings = Settings.load(administrators="CARA@example.org, somebody")
    access = Access(database, settings)
    assert not access.arrive(ANNA).administrator
    assert access.arrive(CARA).administrator
    assert access.arrive(Identity("somebody")).administrator
    assert not access.arrive(Identity("nobody")).administrator


def test_no_email_is_nobody_s(database):
    assert not Access(database, Settings.load(administrators=" , x,")).arrive(ANNA).administrator


@pytest.mark.parametrize("subject", ["", "  ", "x" * 501])
def test_a_sign_in_that_says_nobody_is_refused(access, subject):
    with pytest.raises(AccessError, match="does not say who you are"):
        access.arrive(Identity(subject))


def test_names_from_outside_are_kept_on_one_short_line(access):
    person = access.arrive(Identity("dora", "Do\nra\u202e" + "a" * 500, " d@x "))
    assert person.name.startswith("Do ra") and len(person.name) <= 120
    assert person.email == "d@x"


def test_a_new_name_is_taken_over_at_the_next_sign_in(access):
    access.arrive(replace(BEN, name="Benjamin"))
    assert "Benjamin" in {one.name for one in access.people()}
    assert access.arrive(Identity("dora")).shown == "dora"


def sign_ins(access: Access, subject: str) -> int:
    return len(access.log.entries(subject=subject, action=Action.SIGN_IN))


def test_who_signed_in_is_let_in_and_it_is_noted_once(database):
    access = Access(database, Settings.load())
    dan = Identity("dan", expires=100.0)
    with ThreadPoolExecutor(8) as many:
        assert all(many.map(lambda _: access.admits(dan), range(32)))
    assert sign_ins(access, "dan") == 1
    assert access.admits(replace(dan, expires=200.0)) and sign_ins(access, "dan") == 2
    assert access.admits(dan, "a window") and sign_ins(access, "dan") == 2
    assert Access(database, Settings.load()).admits(dan)  # of another process, it is not known
    assert sign_ins(access, "dan") == 3


def test_who_was_removed_is_let_in_no_more_whatever_is_remembered(access):
    assert access.admits(BEN)
    access.remove_person("anna", "ben")
    assert not access.admits(BEN) and not access.admits(BEN, "another window")


def test_a_group_that_a_proxy_says_no_more_is_left_at_the_next_page(access):
    plain, sales = Identity("ben"), Identity("ben", groups=frozenset({"sales"}))

    def groups() -> list[str]:
        return [one.name for one in access.groups() if "ben" in one.members]

    for said, window in ((plain, "one"), (sales, "two")):
        assert access.admits(said) and access.admits(said, window)
    assert groups() == ["sales"]
    assert access.admits(plain, "one")  # a page that was open all along
    assert groups() == ["sales"]
    assert access.admits(plain) and access.admits(plain, "three")
    assert groups() == []
    assert access.admits(sales, "two") and groups() == []
    assert access.admits(sales, "four") and groups() == ["sales"]


def test_what_is_remembered_of_sign_ins_does_not_grow_without_end(access, monkeypatch):
    monkeypatch.setattr("rag_app.access.access._MOST_SAID", 5)
    for number in range(20):
        access.admits(ANNA, f"window {number}")
    assert len(access._said) == 5
    assert sign_ins(access, "anna") == 2  # when the fixture made her, and now


def test_collections_that_were_given_to_a_person_themselves_are_told_apart(access):
    access.arrive(replace(BEN, groups=frozenset({"sales"})))
    one, other = (access.create_collection("anna", name).id for name in ("One", "Other"))
    access.grant("anna", one, Grantee.person("ben"), Role.READER)
    access.grant("anna", other, Grantee.group(group(access, "sales").id), Role.READER)
    assert access.given_to("ben") == {one}


def test_who_never_came_may_nothing(access):
    assert access.scope_of("stranger") == Scope("stranger")
    assert not access.is_in(Identity("stranger")) and not access.is_administrator("stranger")


def test_who_was_removed_sees_nothing_and_cannot_come_back_by_signing_in(access):
    access.grant(MACHINE, HOME, Grantee.person("ben"), Role.EDITOR)
    before = access.scope_of("ben")
    access.remove_person("anna", "ben")
    assert access.scope_of("ben") == Scope("ben") and not access.is_in(Identity("ben"))
    assert not access.arrive(BEN).active and access.scope_of("ben") == Scope("ben")
    access.restore_person("anna", "ben")
    assert access.scope_of("ben") == before and access.is_in(Identity("ben"))


def test_who_signs_out_ends_that_sign_in_and_those_before_it(access):
    first, second = (replace(BEN, issued=at) for at in (100.0, 200.0))
    other = replace(CARA, issued=100.0)
    assert all(map(access.admits, (first, second, other)))
    access.sign_out(first)
    assert not access.admits(first) and access.admits(second) and access.admits(other)
    access.sign_out(second)
    access.sign_out(first)  # by a copy: nothing that has ended begins anew
    assert not access.admits(second) and access.admits(replace(BEN, issued=201.0))
    assert len(access.log.entries(subject="ben", action=Action.SIGN_OUT)) == 3
    access.sign_out(BEN)  # who came by a proxy ends it there
    assert access.admits(BEN)


def test_a_sign_in_that_has_ended_changes_nothing_about_its_person(access):
    access.sign_out(replace(BEN, issued=100.0))
    access.arrive(replace(BEN, issued=99.0, name="Benny", groups=frozenset({"sales"})))
    assert "Benny" not in {one.name for one in access.people()} and not access.groups()
    [newest, *_] = access.log.entries(subject="ben")
    assert newest.detail == "refused: has signed out"


def test_an_administrator_signs_somebody_out_everywhere(database):
    now = 1_000.5
    access = Access(database, Settings.load(), lambda: now)
    anna, ben = (replace(one, issued=1_000.0) for one in (ANNA, BEN))
    assert access.admits(anna) and access.admits(ben)
    key = access.api_keys.create_key("ben", "script")[1]
    with pytest.raises(NotAllowed):
        access.sign_out_everywhere("ben", "anna")
    with pytest.raises(UnknownGrantee):
        access.sign_out_everywhere("anna", "nobody")
    access.sign_out_everywhere("anna", "ben")
    assert not access.admits(ben) and access.admits(anna)
    assert access.admits(replace(BEN, issued=1_001.0))
    assert access.api_keys.subject_of(key) == "ben"


def test_an_administrator_who_was_removed_manages_nothing(access):
    access.set_administrator("anna", "ben", True)
    access.remove_person("ben", "anna")
    with pytest.raises(NotAllowed):
        access.restore_person("anna", "anna")
    assert not access.is_administrator("anna")


@pytest.mark.parametrize("by", ["ben", "stranger", ""])
def test_only_an_administrator_manages(access, by):
    made = access.make_group("anna", "sales")
    for wanted in (
        lambda: access.remove_person(by, "cara"),
        lambda: access.restore_person(by, "cara"),
        lambda: access.set_administrator(by, "cara", True),
        lambda: access.make_group(by, "mine"),
        lambda: access.rename_group(by, made.id, "mine"),
        lambda: access.delete_group(by, made.id),
        lambda: access.join(by, made.id, "cara"),
        lambda: access.leave(by, made.id, "cara"),
        lambda: access.collections(by),
        lambda: access.hand_over(by, own(access, "cara"), "anna"),
    ):
        with pytest.raises(NotAllowed, match="Only an administrator"):
            wanted()


def test_somebody_is_left_to_manage_people(access):
    for wanted in (
        lambda: access.set_administrator("anna", "anna", False),
        lambda: access.remove_person(MACHINE, "anna"),
    ):
        with pytest.raises(LastAdministrator, match="first"):
            wanted()
    assert access.is_administrator("anna")


def test_two_administrators_at_once_cannot_lower_each_other(access):
    access.set_administrator("anna", "ben", True)
    together = Barrier(2)

    def lower(by: str, whom: str) -> bool:
        together.wait()
        try:
            access.set_administrator(by, whom, False)
        except (LastAdministrator, NotAllowed):
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lower, ("anna", "ben"), ("ben", "anna")))
    assert sorted(done) == [False, True]
    assert sum(one.administrator for one in access.people()) == 1


def test_many_who_come_at_once_have_one_administrator_and_one_collection_each(database):
    access = Access(database, Settings.load())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(access.arrive, [Identity(f"p{n % 5}") for n in range(40)]))
    assert sum(one.administrator for one in access.people()) == 1
    private = [c.private_of for c in access.collections(MACHINE) if c.private_of]
    assert sorted(private) == [f"p{n}" for n in range(5)]


# Groups


def test_a_group_gives_its_members_its_role_and_the_highest_wins(access):
    team = access.create_collection("ben", "Team")
    sales = access.make_group("anna", "sales")
    access.grant("ben", team.id, Grantee.group(sales.id), Role.EDITOR)
    assert access.scope_of("cara").role(team.id) is None
    access.join("anna", sales.id, "cara")
    assert access.scope_of("cara").role(team.id) is Role.EDITOR
    access.grant("ben", team.id, Grantee.person("cara"), Role.READER)
    assert access.scope_of("cara").role(team.id) is Role.EDITOR
    access.leave("cara", sales.id, "cara")
    assert access.scope_of("cara").role(team.id) is Role.READER


def test_a_group_renamed_keeps_members_roles_and_its_name_at_the_sign_in(access):
    access.arrive(replace(BEN, groups=frozenset({"sales"})))
    sales = group(access, "sales")
    access.grant(MACHINE, HOME, Grantee.group(sales.id), Role.READER)
    access.rename_group("anna", sales.id, "Sales Europe")
    access.arrive(replace(BEN, groups=frozenset({"sales"})))
    renamed = group(access, "Sales Europe")
    assert (renamed.id, renamed.claim, renamed.members) == (sales.id, "sales", {"ben"})
    assert len(access.groups()) == 1
    assert access.scope_of("ben").role(HOME) is Role.READER


def test_groups_of_the_sign_in_replace_those_it_told_before_and_no_others(access):
    made = access.make_group("anna", "readers")
    access.join("anna", made.id, "ben")
    access.arrive(replace(BEN, groups=frozenset({"a", "b"})))
    access.arrive(replace(BEN, groups=frozenset({"b", "c"})))
    inside = {one.name for one in access.groups() if "ben" in one.members}
    assert inside == {"readers", "b", "c"}
    access.arrive(BEN)
    assert {one.name for one in access.groups() if "ben" in one.members} == {"readers"}


def test_the_sign_in_puts_nobody_into_a_group_made_by_hand(access):
    board = access.make_group("anna", "Board")
    access.arrive(replace(BEN, groups=frozenset({"board", " ", "x" * 501})))
    assert group(access, "Board").members == frozenset() and board.claim is None
    assert group(access, "board (2)").by_claim == {"ben"}
    assert len(access.groups()) == 2


def test_who_is_in_a_group_by_the_sign_in_and_by_hand_stays_by_either(access):
    access.arrive(replace(BEN, groups=frozenset({"sales"})))
    sales = group(access, "sales")
    access.join("anna", sales.id, "ben")
    with pytest.raises(AccessError, match="sign-in puts them"):
        access.leave("anna", sales.id, "ben")
    assert group(access, "sales").members == {"ben"}
    access.join("anna", sales.id, "ben")
    access.arrive(BEN)
    assert group(access, "sales").members == {"ben"} and not group(access, "sales").by_claim
    access.leave("anna", sales.id, "ben")
    assert not group(access, "sales").members


def test_names_of_groups_are_their_own(access):
    sales = access.make_group("anna", " Sales ")
    with pytest.raises(NameTaken, match="sales"):
        access.make_group("anna", "sales")
    other = access.make_group("anna", "Other")
    with pytest.raises(NameTaken):
        access.rename_group("anna", other.id, "SALES")
    access.rename_group("anna", sales.id, "SALES")
    with pytest.raises(AccessError, match="empty"):
        access.make_group("anna", " \n ")


def test_what_is_not_there_can_neither_be_joined_nor_given_anything(access):
    sales = access.make_group("anna", "sales")
    team = access.create_collection("ben", "Team")
    access.remove_person("anna", "cara")
    for wanted in (
        lambda: access.join("anna", "none", "ben"),
        lambda: access.join("anna", sales.id, "stranger"),
        lambda: access.join("anna", sales.id, "cara"),
        lambda: access.grant("ben", team.id, Grantee.person(""), Role.READER),
        lambda: access.grant("ben", team.id, Grantee.person("stranger"), Role.READER),
        lambda: access.grant("ben", team.id, Grantee.person("cara"), Role.READER),
        lambda: access.grant("ben", team.id, Grantee.group("none"), Role.READER),
        lambda: access.revoke("ben", team.id, Grantee.person("anna")),
        lambda: access.restore_person("anna", "stranger"),
        lambda: access.create_collection("cara", "Mine"),
    ):
        with pytest.raises(UnknownGrantee):
            wanted()


# Collections


def test_an_administrator_reads_nothing_without_a_role(access):
    team = access.create_collection("ben", "Team")
    assert team in access.collections("anna")
    assert access.scope_of("anna").role(team.id) is None
    assert access.scope_of("anna").role(own(access, "ben")) is None


def test_owners_are_told_by_collection(access):
    team = access.create_collection("ben", "Team")
    sales = access.make_group("anna", "sales")
    access.grant("ben", team.id, Grantee.group(sales.id), Role.OWNER)
    assert access.owners() == {team.id: (Grantee.person("ben"),)}
    access.join("anna", sales.id, "cara")
    access.remove_person("anna", "ben")
    assert access.owners() == {team.id: (Grantee.group(sales.id),)}
    access.remove_person("anna", "cara")
    assert access.owners() == {}


def test_home_is_always_there_and_nobody_s_at_first(access):
    assert all(access.scope_of(one).role(HOME) is None for one in ("anna", "ben"))
    with pytest.raises(NotAllowed, match="always exists"):
        access.delete_collection(MACHINE, HOME)


def test_what_somebody_cannot_see_is_not_told_from_what_is_not_there(access):
    team = access.create_collection("ben", "Team")
    for collection in (team.id, own(access, "ben"), "none"):
        for wanted in (
            lambda c=collection: access.grants("cara", c),
            lambda c=collection: access.grant("cara", c, Grantee.person("cara"), Role.OWNER),
            lambda c=collection: access.revoke("cara", c, Grantee.person("ben")),
            lambda c=collection: access.rename("cara", c, "Mine"),
            lambda c=collection: access.delete_collection("cara", c),
        ):
            with pytest.raises(UnknownCollection, match="or it is not shared with you"):
                wanted()


@pytest.mark.parametrize("role", [Role.READER, Role.EDITOR])
def test_only_owners_share(access, role):
    team = access.create_collection("ben", "Team")
    access.grant("ben", team.id, Grantee.person("cara"), role)
    with pytest.raises(NotAllowed, match="owner"):
        access.grant("cara", team.id, Grantee.person("anna"), Role.READER)
    with pytest.raises(NotAllowed):
        access.delete_collection("cara", team.id)
    access.revoke("cara", team.id, Grantee.person("cara"))  # giving up one's own
    assert access.scope_of("cara").role(team.id) is None


def test_the_last_owner_can_neither_leave_nor_be_lowered(access):
    team = access.create_collection("ben", "Team")
    for wanted in (
        lambda: access.grant("ben", team.id, Grantee.person("ben"), Role.EDITOR),
        lambda: access.revoke("ben", team.id, Grantee.person("ben")),
        lambda: access.revoke("anna", team.id, Grantee.person("ben")),
        lambda: access.revoke(MACHINE, team.id, Grantee.person("ben")),
    ):
        with pytest.raises(LastOwner, match="somebody else its owner first"):
            wanted()
    assert access.scope_of("ben").role(team.id) is Role.OWNER
    access.grant("ben", team.id, Grantee.person("cara"), Role.OWNER)
    access.revoke("ben", team.id, Grantee.person("ben"))
    assert access.scope_of("ben").role(team.id) is None


def test_a_group_may_be_the_owner_and_its_last_member_cannot_leave(access):
    team = access.create_collection("ben", "Team")
    sales = access.make_group("anna", "sales")
    access.grant("ben", team.id, Grantee.group(sales.id), Role.OWNER)
    with pytest.raises(LastOwner):  # nobody is in it
        access.revoke("ben", team.id, Grantee.person("ben"))
    access.join("anna", sales.id, "cara")
    access.revoke("ben", team.id, Grantee.person("ben"))
    with pytest.raises(LastOwner):
        access.leave("cara", sales.id, "cara")
    with pytest.raises(LastOwner):
        access.delete_group("anna", sales.id)
    assert access.scope_of("cara").role(team.id) is Role.OWNER
    access.grant("anna", team.id, Grantee.person("ben"), Role.OWNER)
    access.delete_group("anna", sales.id)
    assert access.scope_of("cara").role(team.id) is None


def test_an_owner_who_is_removed_leaves_a_collection_that_an_administrator_gives_anew(access):
    team = access.create_collection("ben", "Team")
    access.remove_person("anna", "ben")
    access.grant("anna", team.id, Grantee.person("cara"), Role.OWNER)
    assert access.scope_of("cara").role(team.id) is Role.OWNER


def test_two_owners_at_once_cannot_both_leave(access):
    team = access.create_collection("ben", "Team")
    access.grant("ben", team.id, Grantee.person("cara"), Role.OWNER)
    together = Barrier(2)

    def leave(who: str) -> bool:
        together.wait()
        try:
            access.revoke(who, team.id, Grantee.person(who))
        except LastOwner:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(leave, ("ben", "cara"))) == [False, True]


def test_one_s_own_collection_is_shared_with_nobody_not_even_by_an_administrator(access):
    for by in ("ben", "anna", MACHINE):
        with pytest.raises(NotAllowed, match="cannot be shared"):
            access.grant(by, own(access, "ben"), Grantee.person("cara"), Role.READER)
        with pytest.raises(NotAllowed, match="as long as they are here"):
            access.delete_collection(by, own(access, "ben"))
    with pytest.raises(NotAllowed):
        access.hand_over("anna", own(access, "ben"), "anna")


def test_the_own_collection_of_who_was_removed_is_kept_and_can_be_handed_over(access):
    kept = own(access, "ben")
    access.remove_person("anna", "ben")
    assert all(access.scope_of(one).role(kept) is None for one in ("anna", "ben", "cara"))
    access.hand_over("anna", kept, "cara")
    assert access.scope_of("cara").role(kept) is Role.OWNER
    assert dict(access.collections_of("cara")).keys() and "Documents of Ben" in {
        c.name for c, _ in access.collections_of("cara")
    }
    access.restore_person("anna", "ben")
    assert access.scope_of("ben").collections == (own(access, "ben"),) != (kept,)
    with pytest.raises(NotAllowed, match="nobody's own"):
        access.hand_over("anna", kept, "anna")


def test_the_own_collection_of_who_was_removed_can_be_deleted(access):
    kept = own(access, "ben")
    access.remove_person("anna", "ben")
    assert access.delete_collection("anna", kept).collection == kept
    access.restore_person("anna", "ben")
    assert access.scope_of("ben").collections == (own(access, "ben"),) != (kept,)


def test_a_deleted_collection_is_seen_by_nobody_and_waits_to_be_emptied(access):
    team = access.create_collection("ben", "Team")
    access.grant("ben", team.id, Grantee.person("cara"), Role.READER)
    emptying = access.delete_collection("ben", team.id)
    assert emptying == Emptying(team.id, "Team")
    assert all(access.scope_of(one).role(team.id) is None for one in ("ben", "cara"))
    with pytest.raises(UnknownCollection):
        access.grant(MACHINE, team.id, Grantee.person("ben"), Role.READER)
    assert access.to_be_emptied() == (emptying,)
    access.emptied(emptying)
    access.emptied(Emptying(HOME, "Home"))  # is not being emptied
    assert access.to_be_emptied() == () and HOME in {c.id for c in access.collections("anna")}


def test_a_collection_is_renamed_by_its_owner(access):
    team = access.create_collection("ben", "Team")
    access.rename("ben", team.id, "  The\nteam ")
    assert [c.name for c, _ in access.collections_of("ben")] == ["My documents", "The team"]


def test_who_is_removed_while_asking_may_nothing_from_then_on(access):
    asking = Barrier(2)

    def ask() -> tuple[Scope, Scope]:
        before = access.scope_of("ben")
        asking.wait()  # is removed
        asking.wait()
        return before, access.scope_of("ben")

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        asking.wait()
        access.remove_person("anna", "ben")
        asking.wait()
        before, after = asked.result()
    assert before.collections and not after.collections


def test_every_change_is_in_the_log_with_who_did_it(access):
    team = access.create_collection("ben", "Team")
    access.grant("ben", team.id, Grantee.person("cara"), Role.READER)
    access.revoke("anna", team.id, Grantee.person("cara"))
    access.remove_person(MACHINE, "cara")
    said = [(e.subject, e.action, e.about, e.detail) for e in access.log.entries(limit=4)]
    assert said == [
        ("", Action.PERSON, "cara", "removed"),
        ("anna", Action.REVOKE, team.id, "person cara"),
        ("ben", Action.GRANT, team.id, "person cara: reader"),
        ("ben", Action.COLLECTION, team.id, "made: Team"),
    ]


def test_what_was_refused_changed_nothing_and_is_not_in_the_log(access):
    team = access.create_collection("ben", "Team")
    known = access.log.entries()
    with pytest.raises(LastOwner):
        access.revoke("ben", team.id, Grantee.person("ben"))
    assert access.log.entries() == known


# A model of it all


@dataclass
class Model:
    """What `Access` promises, in sets."""

    active: set[str] = field(default_factory=set)
    people: set[str] = field(default_factory=set)
    own: dict[str, str] = field(default_factory=dict)
    by_hand: dict[str, set[str]] = field(default_factory=dict)  # by group
    claimed: dict[str, set[str]] = field(default_factory=dict)
    roles: dict[tuple[str, Grantee], Role] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)

    def members(self, group_id: str) -> set[str]:
        return self.by_hand.get(group_id, set()) | self.claimed.get(group_id, set())

    def scope(self, subject: str) -> dict[str, Role]:
        if subject not in self.active:
            return {}
        found = {self.own[subject]: Role.OWNER}
        for (collection, to), role in self.roles.items():
            if to == Grantee.person(subject) or (
                to.kind == "group" and subject in self.members(to.id)
            ):
                found[collection] = max(role, found.get(collection, role))
        return found

    def owned(self) -> set[str]:
        return {c for p in self.active for c, r in self.scope(p).items() if r is Role.OWNER}


class Walk:
    """Random steps that are taken by `Access` and by the model alike."""

    def __init__(self, access: Access, chance: random.Random) -> None:
        self.access, self.chance, self.model = access, chance, Model(shared={HOME})
        self.subjects = [f"p{n}" for n in range(6)]
        self.ids: dict[str, str] = {}  # of groups, by claim
        self.steps: tuple[Callable[[], None], ...] = (
            self.arrive, self.remove, self.restore, self.make, self.delete, self.grant, self.grant,
            self.grant, self.revoke, self.revoke, self.group, self.join, self.leave, self.dissolve,
        )  # fmt: skip

    def pick(self, what: object) -> str:
        return self.chance.choice(sorted(what) or ["none"])  # type: ignore[call-overload]

    def arrive(self) -> None:
        subject = self.chance.choice(self.subjects)
        claims = {c for c in ("x", "y", "z") if self.chance.random() < 0.4}
        self.access.arrive(Identity(subject, groups=frozenset(claims)))
        model = self.model
        if subject in model.people - model.active:
            return
        if subject not in model.people:
            model.people.add(subject)
            model.active.add(subject)
        model.own[subject] = own(self.access, subject)
        for one in self.access.groups():
            if one.claim:
                self.ids[one.claim] = one.id
                held = model.claimed.setdefault(one.id, set())
                (held.add if one.claim in claims else held.discard)(subject)

    def remove(self) -> None:
        subject = self.pick(self.model.people)
        if self.chance.random() < 0.5 and self.changed(
            lambda: self.access.remove_person(MACHINE, subject)
        ):
            self.model.active.discard(subject)

    def restore(self) -> None:
        subject = self.pick(self.model.people)
        if self.changed(lambda: self.access.restore_person(MACHINE, subject)):
            self.model.active.add(subject)
            self.model.own[subject] = own(self.access, subject)

    def make(self) -> None:
        if len(self.model.shared) < 5 and self.model.active:
            by = self.pick(self.model.active)
            made = self.access.create_collection(by, "c")
            self.model.shared.add(made.id)
            self.model.roles[made.id, Grantee.person(by)] = Role.OWNER

    def delete(self) -> None:
        gone = self.pick(self.model.shared)
        if self.chance.random() < 0.2 and self.changed(
            lambda: self.access.delete_collection(MACHINE, gone)
        ):
            self.model.shared.discard(gone)
            self.model.roles = {k: v for k, v in self.model.roles.items() if k[0] != gone}

    def grantee(self) -> Grantee:
        if self.chance.random() < 0.4:
            return Grantee.group(self.pick({*self.model.by_hand, *self.model.claimed}))
        return Grantee.person(self.chance.choice(self.subjects))

    def grant(self) -> None:
        collection, to = self.pick(self.model.shared), self.grantee()
        role, before = self.chance.choice(list(Role)), self.model.roles.get((collection, to))
        owned = collection in self.model.owned()
        done = self.changed(lambda: self.access.grant(MACHINE, collection, to, role))
        there = (
            to.id in self.model.active
            if to.kind == "person"
            else to.id in {*self.model.by_hand, *self.model.claimed}
        )
        self.model.roles[collection, to] = role
        allowed = there and not (owned and collection not in self.model.owned())
        assert done == allowed
        if not allowed:
            self.undo(collection, to, before)

    def revoke(self) -> None:
        if not self.model.roles:
            return
        collection, to = self.chance.choice(sorted(self.model.roles, key=str))
        before, owned = self.model.roles[collection, to], collection in self.model.owned()
        done = self.changed(lambda: self.access.revoke(MACHINE, collection, to))
        del self.model.roles[collection, to]
        assert done != (owned and collection not in self.model.owned())
        if not done:
            self.undo(collection, to, before)

    def undo(self, collection: str, to: Grantee, before: Role | None) -> None:
        if before is None:
            del self.model.roles[collection, to]
        else:
            self.model.roles[collection, to] = before

    def group(self) -> None:
        if len(self.model.by_hand) < 3:
            name = f"g{self.chance.random()}"
            self.model.by_hand[self.access.make_group(MACHINE, name).id] = set()

    def join(self) -> None:
        group_id = self.pick({*self.model.by_hand, *self.model.claimed})
        subject = self.pick(self.model.people)
        if self.changed(lambda: self.access.join(MACHINE, group_id, subject)):
            self.model.by_hand.setdefault(group_id, set()).add(subject)

    def leave(self) -> None:
        group_id = self.pick({*self.model.by_hand, *self.model.claimed})
        subject = self.pick(self.model.members(group_id))
        if self.changed(lambda: self.access.leave(MACHINE, group_id, subject)):
            self.model.by_hand.get(group_id, set()).discard(subject)

    def dissolve(self) -> None:
        group_id = self.pick({*self.model.by_hand, *self.model.claimed})
        if self.chance.random() < 0.3 and self.changed(
            lambda: self.access.delete_group(MACHINE, group_id)
        ):
            self.model.by_hand.pop(group_id, None)
            self.model.claimed.pop(group_id, None)
            gone = Grantee.group(group_id)
            self.model.roles = {k: v for k, v in self.model.roles.items() if k[1] != gone}

    @staticmethod
    def changed(step: Callable[[], object]) -> bool:
        try:
            step()
        except (AccessError, NotAllowed):
            return False
        return True

    def compare(self) -> None:
        for subject in self.subjects:
            expected = self.model.scope(subject)
            assert self.access.scope_of(subject) == Scope.of(subject, expected)
            told = {one.id: role for one, role in self.access.collections_of(subject)}
            assert told == expected


@pytest.mark.parametrize("seed", range(3))
def test_after_every_one_of_many_steps_everybody_may_what_the_model_says(database, seed):
    walk = Walk(Access(database, Settings.load()), random.Random(seed))
    for _ in range(1_000):
        walk.chance.choice(walk.steps)()
        walk.compare()
    assert walk.model.roles and walk.model.active


def test_a_person_is_shown_by_what_there_is_of_them():
    nobody = Person("s", "", "", False, True, "", "")
    assert (nobody.shown, replace(nobody, email="e@x").shown) == ("s", "e@x")
    assert replace(nobody, email="e@x", name="E").shown == "E"
