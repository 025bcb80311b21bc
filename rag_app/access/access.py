"""Who may what: people, their groups, the collections and the roles in them, as one whole."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any

from rag_app.access.audit import Action, AuditLog, moment
from rag_app.access.keys import ApiKeys
from rag_app.access.nouns import (
    Actor,
    Collection,
    Emptying,
    Grant,
    Grantee,
    GranteeKind,
    Identity,
    Machine,
    written,
)
from rag_app.access.people import (
    People,
    check_administrator,
    find_person,
    granted_to,
    group_there,
    manages,
    named,
    owners_left,
    person_there,
)
from rag_app.access.quotas import Quotas
from rag_app.errors import NotAllowed, UnknownCollection, UnknownGrantee
from rag_app.scope import HOME, Role, Scope
from rag_app.settings import Settings
from rag_app.storage.database import AnyDatabase, Connection

_COLLECTION = "SELECT id, name, private_of, created FROM access_collections WHERE NOT emptying"
_MOST_SAID = 10_000  # sign-ins that are remembered as noted


class Access(People):
    """People and what they may. Every method is one transaction, and what it changes is in the log
    or was not changed. Thread-safe.

    Administrators manage people, limits and collections; what is in a collection they see where
    they have a role in it, as everybody else."""

    def __init__(
        self, database: AnyDatabase, settings: Settings, clock: Callable[[], float] | None = None
    ) -> None:
        clock = clock or database.now
        log = AuditLog(
            database, days=settings.audit_days, questions=settings.audit_questions, clock=clock
        )
        super().__init__(database, log, settings.named_administrators, clock)
        self.api_keys = ApiKeys(database, log, clock)
        self.quotas = Quotas(database, log, clock=clock)
        self._arriving = threading.Lock()
        self._arrived: dict[Identity, None] = {}
        self._newest: dict[str, Identity] = {}  # by subject
        self._said: dict[str, Identity] = {}  # by session

    # Who comes in

    def admits(self, identity: Identity, session: str = "") -> bool:
        """Whether somebody who signed in may (still) come in; each sign-in is noted once.

        What a proxy says has no time. Where a `session` of a browser says something else than it
        did before, that counts from now on; what a page says that was open all along does not.
        Raises AccessError for a sign-in that does not say who it is."""
        with self._arriving:
            if not self._is_noted(identity, session):
                self.arrive(identity)
                self._newest[identity.subject] = identity
            self._arrived[identity] = None
            if session:
                self._said[session] = identity
            _forget_oldest(self._arrived)
            _forget_oldest(self._said)
        return self.is_in(identity)

    def _is_noted(self, identity: Identity, session: str) -> bool:
        if identity.expires is None and session:
            return identity in (self._newest.get(identity.subject), self._said.get(session))
        return identity in self._arrived

    # What somebody may

    def scope_of(self, subject: str) -> Scope:
        """What somebody may now: the highest of the roles that they and their groups were given,
        and OWNER in their own collection. Empty for who was removed or never signed in."""
        with self._read() as db:
            return Scope.of(subject, _roles(db, subject))

    def collections_of(self, subject: str) -> tuple[tuple[Collection, Role], ...]:
        """The collections that somebody may see, in order of name, with their role."""
        found = self._rows(
            "SELECT c.id, c.name, c.private_of, c.created, max(h.role) FROM held_roles h "
            "JOIN access_collections c ON c.id = h.collection WHERE h.person = ? "
            "GROUP BY c.id ORDER BY lower(c.name), c.id",
            (subject,),
        )
        return tuple((Collection(*row), Role(role)) for *row, role in found)

    def given_to(self, subject: str) -> frozenset[str]:
        """The collections in which somebody was given a role themselves, and not by a group: those
        that they can leave."""
        with self._read() as db:
            return frozenset(granted_to(db, Grantee.person(subject)))

    def own_collection(self, subject: str) -> str:
        """The id of somebody's own collection; empty for who never signed in."""
        row = self._row("SELECT id FROM access_collections WHERE private_of = ?", (subject,))
        return str(row[0]) if row else ""

    # Collections

    def collections(self, by: Actor) -> tuple[Collection, ...]:
        """Every collection, to be managed, in order of name. Raises NotAllowed."""
        with self._read() as db:
            check_administrator(db, by)
            found = db.execute(f"{_COLLECTION} ORDER BY lower(name), id")
            return tuple(Collection(*row) for row in found)

    def owners(self) -> dict[str, tuple[Grantee, ...]]:
        """By shared collection, who owns it; nobody who was removed, and no group without a member
        who is there."""
        found: dict[str, tuple[Grantee, ...]] = {}
        for collection, kind, who in self._rows(
            "SELECT collection, kind, who FROM grants WHERE role = ? AND CASE kind "
            "WHEN 'person' THEN EXISTS (SELECT 1 FROM people WHERE id = who AND active) "
            "ELSE EXISTS (SELECT 1 FROM people_in_groups m JOIN people p ON p.id = m.person "
            "WHERE m.group_id = who AND p.active) END ORDER BY kind, who",
            (Role.OWNER.value,),
        ):
            found[collection] = (*found.get(collection, ()), Grantee(GranteeKind(kind), who))
        return found

    def create_collection(self, by: Actor, name: str) -> Collection:
        """A new collection, owned by who makes it; made at the machine itself, by nobody yet.

        Raises UnknownGrantee for somebody who was removed."""
        called = named(name)
        made = Collection(secrets.token_hex(8), called, None, moment(self._clock()))
        with self._write() as db:
            if not isinstance(by, Machine):
                person_there(db, by)
            db.execute(
                "INSERT INTO access_collections (id, name, created) VALUES (?, ?, ?)",
                (made.id, made.name, made.created),
            )
            if not isinstance(by, Machine):
                _give(db, Grant(made.id, Grantee.person(by), Role.OWNER))
            self.log.note(db, written(by), Action.COLLECTION, made.id, f"made: {called}")
        return made

    def rename(self, by: Actor, collection: str, name: str) -> None:
        """Call a collection otherwise. Raises UnknownCollection, NotAllowed."""
        called = named(name)
        with self._write() as db:
            _check_owner(db, by, collection)
            db.execute("UPDATE access_collections SET name = ? WHERE id = ?", (called, collection))
            self.log.note(db, written(by), Action.COLLECTION, collection, f"renamed: {called}")

    def delete_collection(self, by: Actor, collection: str) -> Emptying:
        """Let nobody see a collection any more, at once and for good.

        What is in it the caller removes from the library, and says so by `emptied`; if the process
        is killed before, `to_be_emptied` lists it. Somebody's own collection can be deleted once
        the person was removed. Raises UnknownCollection, NotAllowed."""
        with self._write() as db:
            found = _check_owner(db, by, collection)
            if found.id == HOME:
                raise NotAllowed("This collection always exists. Remove what is in it instead.")
            if found.private_of is not None:
                self._check_left(db, by, found.private_of)
            db.execute("DELETE FROM grants WHERE collection = ?", (collection,))
            db.execute(
                "UPDATE access_collections SET emptying = TRUE, private_of = NULL WHERE id = ?",
                (collection,),
            )
            self.log.note(db, written(by), Action.COLLECTION, collection, "deleted")
        return Emptying(found.id, found.name)

    def to_be_emptied(self) -> tuple[Emptying, ...]:
        """The deleted collections whose documents are still to be removed from the library."""
        with self._read() as db:
            found = db.execute("SELECT id, name FROM access_collections WHERE emptying ORDER BY id")
            return tuple(Emptying(*row) for row in found)

    def emptied(self, emptying: Emptying) -> None:
        """No document of a deleted collection is left: forget it."""
        self._run(
            "DELETE FROM access_collections WHERE id = ? AND emptying", (emptying.collection,)
        )

    def hand_over(self, by: Actor, collection: str, to: str) -> None:
        """Make the own collection of somebody who was removed one that `to` owns.

        Raises NotAllowed, UnknownCollection, UnknownGrantee."""
        with self._write() as db:
            check_administrator(db, by)
            found = _find_collection(db, collection)
            if found.private_of is None:
                raise NotAllowed("This collection is nobody's own. Give somebody a role in it.")
            self._check_left(db, by, found.private_of)
            person_there(db, to)
            before = find_person(db, found.private_of)
            called = named(f"Documents of {before.shown if before else found.private_of}")
            db.execute(
                "UPDATE access_collections SET private_of = NULL, name = ? WHERE id = ?",
                (called, collection),
            )
            _give(db, Grant(collection, Grantee.person(to), Role.OWNER))
            said = f"handed over: {found.private_of} to {to}"
            self.log.note(db, written(by), Action.COLLECTION, collection, said)

    def _check_left(self, db: Connection, by: Actor, owner: str) -> None:
        """Somebody's own collection is touched by administrators only, once its owner has gone."""
        whose = find_person(db, owner)
        if whose is not None and whose.active:
            raise NotAllowed(
                "This is somebody's own collection, and stays as long as they are here. Remove "
                "single documents instead."
            )
        check_administrator(db, by)

    # Roles

    def grants(self, by: Actor, collection: str) -> tuple[Grant, ...]:
        """Who was given which role in a collection. Raises UnknownCollection, NotAllowed."""
        with self._read() as db:
            _check_owner(db, by, collection)
            found = db.execute(
                "SELECT kind, who, role FROM grants WHERE collection = ? ORDER BY kind, who",
                (collection,),
            )
            return tuple(
                Grant(collection, Grantee(GranteeKind(kind), who), Role(role))
                for kind, who, role in found
            )

    def grant(self, by: Actor, collection: str, to: Grantee, role: Role) -> None:
        """Give a person or a group a role, in place of the one they were given before.

        Raises UnknownCollection, NotAllowed, UnknownGrantee, LastOwner."""
        with self._write() as db:
            found = _check_owner(db, by, collection)
            if found.private_of is not None:
                raise NotAllowed(
                    "This collection is one person's own and cannot be shared. Make a new one, and "
                    "share that."
                )
            if to.kind is GranteeKind.GROUP:
                group_there(db, to.id)
            else:
                person_there(db, to.id)
            with owners_left(db, [collection]):
                _give(db, Grant(collection, to, role))
            said = f"{to.kind.value} {to.id}: {role.name.lower()}"
            self.log.note(db, written(by), Action.GRANT, collection, said)

    def revoke(self, by: Actor, collection: str, to: Grantee) -> None:
        """Take back the role that a person or a group was given; everybody may give up their own.

        Raises UnknownCollection, NotAllowed, UnknownGrantee, LastOwner."""
        with self._write() as db:
            if isinstance(by, Machine) or to != Grantee.person(by):
                _check_owner(db, by, collection)
            with owners_left(db, [collection]):
                gone = db.execute(
                    "DELETE FROM grants WHERE collection = ? AND kind = ? AND who = ?",
                    (collection, to.kind.value, to.id),
                )
                if not gone.rowcount:
                    raise UnknownGrantee("They were given no role in this collection.")
            self.log.note(db, written(by), Action.REVOKE, collection, f"{to.kind.value} {to.id}")


def _forget_oldest(said: dict[Any, Any]) -> None:
    while len(said) > _MOST_SAID:
        del said[next(iter(said))]


def _find_collection(db: Connection, collection: str) -> Collection:
    """A collection that is not being emptied. Raises UnknownCollection."""
    row = db.execute(f"{_COLLECTION} AND id = ?", (collection,)).fetchone()
    if row is None:
        raise _no_collection()
    return Collection(*row)


def _roles(db: Connection, subject: str) -> dict[str, Role]:
    """The highest role of a person in each collection that they may see."""
    found = db.execute(
        "SELECT collection, max(role) FROM held_roles WHERE person = ? GROUP BY collection",
        (subject,),
    )
    return {collection: Role(role) for collection, role in found}


def _check_owner(db: Connection, by: Actor, collection: str) -> Collection:
    """The collection, if somebody may say who else may see it: an owner, or an administrator.

    Raises UnknownCollection for one that they cannot see, else NotAllowed."""
    found = _find_collection(db, collection)
    if manages(db, by):
        return found
    held = None if isinstance(by, Machine) else _roles(db, by).get(collection)
    if held is None:
        raise _no_collection()
    if held < Role.OWNER:
        raise NotAllowed("Only an owner of this collection can do that. Ask one of them.")
    return found


def _no_collection() -> UnknownCollection:
    return UnknownCollection("There is no such collection, or it is not shared with you.")


def _give(db: Connection, grant: Grant) -> None:
    db.execute(
        "INSERT INTO grants VALUES (?, ?, ?, ?) ON CONFLICT (collection, kind, who) "
        "DO UPDATE SET role = excluded.role",
        (grant.collection, grant.to.kind.value, grant.to.id, grant.role.value),
    )
