"""What is asked of the tables of people, groups and collections inside a transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rag_app.access.nouns import (
    Actor,
    Collection,
    Grant,
    Grantee,
    GranteeKind,
    Identity,
    Machine,
    PeopleGroup,
    Person,
)
from rag_app.errors import LastOwner, NotAllowed, UnknownCollection, UnknownGrantee
from rag_app.scope import Role
from rag_app.storage.database import Connection

_PERSON = "SELECT id, name, email, administrator, active, first_seen, last_seen FROM people"
_GROUP = "SELECT id, name, claim FROM people_groups"
_COLLECTION = "SELECT id, name, private_of, created FROM access_collections WHERE NOT emptying"


def find_person(db: Connection, subject: str) -> Person | None:
    """A person, removed or not; None: has never signed in."""
    row = db.execute(f"{_PERSON} WHERE id = ?", (subject,)).fetchone()
    return None if row is None else _person(row)


def has_signed_out(db: Connection, identity: Identity) -> bool:
    """Whether somebody has ended this sign-in, or one that was issued later."""
    if identity.issued is None:  # by a proxy, whose matter that is
        return False
    row = db.execute("SELECT signed_out FROM people WHERE id = ?", (identity.subject,)).fetchone()
    return row is not None and float(row[0]) >= identity.issued


def all_people(db: Connection) -> tuple[Person, ...]:
    """Everybody, removed or not, in order of name."""
    return tuple(map(_person, db.execute(f"{_PERSON} ORDER BY lower(name), id")))


def person_there(db: Connection, subject: str) -> Person:
    """A person who was not removed. Raises UnknownGrantee."""
    found = find_person(db, subject)
    if found is None or not found.active:
        raise UnknownGrantee(
            "There is nobody of that name here. Only who has signed in once, and was not removed, "
            "can be chosen."
        )
    return found


def all_groups(db: Connection) -> tuple[PeopleGroup, ...]:
    """Every group with its members, in order of name."""
    members: dict[str, set[str]] = {}
    by_claim: dict[str, set[str]] = {}
    for group, person, claimed in db.execute(
        "SELECT group_id, person, by_claim FROM people_in_groups"
    ):
        members.setdefault(group, set()).add(person)
        if claimed:
            by_claim.setdefault(group, set()).add(person)
    return tuple(
        PeopleGroup(
            id_, name, claim, frozenset(members.get(id_, ())), frozenset(by_claim.get(id_, ()))
        )
        for id_, name, claim in db.execute(f"{_GROUP} ORDER BY lower(name)")
    )


def group_there(db: Connection, group_id: str) -> str:
    """The name of a group. Raises UnknownGrantee."""
    row = db.execute("SELECT name FROM people_groups WHERE id = ?", (group_id,)).fetchone()
    if row is None:
        raise UnknownGrantee("There is no such group. Choose one of those that are listed.")
    return str(row[0])


def grantee_there(db: Connection, to: Grantee) -> str:
    """What a person or a group is called. Raises UnknownGrantee."""
    if to.kind is GranteeKind.GROUP:
        return group_there(db, to.id)
    return person_there(db, to.id).shown


def find_collection(db: Connection, collection: str) -> Collection:
    """A collection that is not being emptied. Raises UnknownCollection."""
    row = db.execute(f"{_COLLECTION} AND id = ?", (collection,)).fetchone()
    if row is None:
        raise _no_collection()
    return Collection(*row)


def all_collections(db: Connection) -> tuple[Collection, ...]:
    """Every collection that is not being emptied, in order of name."""
    return tuple(Collection(*row) for row in db.execute(f"{_COLLECTION} ORDER BY lower(name), id"))


def roles(db: Connection, subject: str) -> dict[str, Role]:
    """The highest role of a person in each collection that they may see."""
    found = db.execute(
        "SELECT collection, max(role) FROM held_roles WHERE person = ? GROUP BY collection",
        (subject,),
    )
    return {collection: Role(role) for collection, role in found}


def held_collections(db: Connection, subject: str) -> tuple[tuple[Collection, Role], ...]:
    """The collections that a person may see, in order of name, with their highest role."""
    found = db.execute(
        "SELECT c.id, c.name, c.private_of, c.created, max(h.role) FROM held_roles h "
        "JOIN access_collections c ON c.id = h.collection WHERE h.person = ? "
        "GROUP BY c.id ORDER BY lower(c.name), c.id",
        (subject,),
    )
    return tuple((Collection(*row), Role(role)) for *row, role in found)


def grants_of(db: Connection, collection: str) -> tuple[Grant, ...]:
    """The roles that were given in a collection, whoever they reach."""
    found = db.execute(
        "SELECT kind, who, role FROM grants WHERE collection = ? ORDER BY kind, who", (collection,)
    )
    return tuple(
        Grant(collection, Grantee(GranteeKind(kind), who), Role(role)) for kind, who, role in found
    )


def granted_to(db: Connection, to: Grantee) -> list[str]:
    """The collections in which somebody was given a role."""
    found = db.execute(
        "SELECT collection FROM grants WHERE kind = ? AND who = ?", (to.kind.value, to.id)
    )
    return [str(collection) for (collection,) in found]


@contextmanager
def owners_left(db: Connection, collections: Iterable[str]) -> Iterator[None]:
    """Let no collection lose its last owner by what is done inside. Raises LastOwner."""
    owned = [one for one in collections if _has_owner(db, one)]
    yield
    if not all(_has_owner(db, one) for one in owned):
        raise LastOwner(
            "Nobody would be left who owns this collection. Make somebody else its owner first."
        )


def owners(db: Connection) -> dict[str, tuple[Grantee, ...]]:
    """By shared collection, the people and groups who own it and are there."""
    found: dict[str, tuple[Grantee, ...]] = {}
    for collection, kind, who in db.execute(
        "SELECT collection, kind, who FROM grants WHERE role = ? AND CASE kind "
        "WHEN 'person' THEN EXISTS (SELECT 1 FROM people WHERE id = who AND active) "
        "ELSE EXISTS (SELECT 1 FROM people_in_groups m JOIN people p ON p.id = m.person "
        "WHERE m.group_id = who AND p.active) END ORDER BY kind, who",
        (Role.OWNER.value,),
    ):
        found[collection] = (*found.get(collection, ()), Grantee(GranteeKind(kind), who))
    return found


def is_managed(db: Connection) -> bool:
    """Whether there is an administrator."""
    row = db.execute("SELECT EXISTS (SELECT 1 FROM people WHERE administrator AND active)")
    return bool(row.fetchone()[0])


def is_anybody(db: Connection) -> bool:
    """Whether somebody ever signed in."""
    return bool(db.execute("SELECT EXISTS (SELECT 1 FROM people)").fetchone()[0])


def _has_owner(db: Connection, collection: str) -> bool:
    found = db.execute(
        "SELECT 1 FROM held_roles WHERE collection = ? AND role = ? LIMIT 1",
        (collection, Role.OWNER.value),
    )
    return found.fetchone() is not None


# Who may


def check_administrator(db: Connection, by: Actor) -> None:
    """Raises NotAllowed unless it is an administrator, or the machine itself."""
    if not manages(db, by):
        raise NotAllowed("Only an administrator can do that. Ask one of them.")


def check_owner(db: Connection, by: Actor, collection: str) -> Collection:
    """The collection, if somebody may say who else may see it: an owner, or an administrator.

    Raises UnknownCollection for one that they cannot see, else NotAllowed."""
    found = find_collection(db, collection)
    if manages(db, by):
        return found
    held = None if isinstance(by, Machine) else roles(db, by).get(collection)
    if held is None:
        raise _no_collection()
    if held < Role.OWNER:
        raise NotAllowed("Only an owner of this collection can do that. Ask one of them.")
    return found


def manages(db: Connection, by: Actor) -> bool:
    """Whether it is an administrator, or the machine itself."""
    if isinstance(by, Machine):
        return True
    found = find_person(db, by)
    return found is not None and found.active and found.administrator


def _no_collection() -> UnknownCollection:
    return UnknownCollection("There is no such collection, or it is not shared with you.")


def _person(row: tuple[str, str, str, int, int, str, str]) -> Person:
    subject, name, email, administrator, active, first, last = row
    return Person(subject, name, email, bool(administrator), bool(active), first, last)
