"""Who may what: people, their groups, the collections and the roles in them, as one whole."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any

from rag_app.access import records
from rag_app.access.audit import Action, AuditLog, moment
from rag_app.access.keys import ApiKeys
from rag_app.access.nouns import (
    Actor,
    Collection,
    Emptying,
    Grant,
    Grantee,
    Identity,
    Machine,
    written,
)
from rag_app.access.people import People, named
from rag_app.access.quotas import Quotas
from rag_app.errors import NotAllowed, UnknownGrantee
from rag_app.scope import HOME, Role, Scope
from rag_app.settings import Settings
from rag_app.storage.database import AnyDatabase, Connection

_MOST_SAID = 10_000  # sign-ins that are remembered as noted


class Access(People):
    """People and what they may. Every method is one transaction, and what it changes is in the log
    or was not changed. Thread-safe.

    Administrators manage people, limits and collections; what is in a collection they see where
    they have a role in it, as everybody else."""

    def __init__(
        self,
        database: AnyDatabase,
        settings: Settings,
        clock: Callable[[], float] | None = None,
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
            return Scope.of(subject, records.roles(db, subject))

    def collections_of(self, subject: str) -> tuple[tuple[Collection, Role], ...]:
        """The collections that somebody may see, in order of name, with their role."""
        with self._read() as db:
            return records.held_collections(db, subject)

    def given_to(self, subject: str) -> frozenset[str]:
        """The collections in which somebody was given a role themselves, and not by a group: those
        that they can leave."""
        with self._read() as db:
            return frozenset(records.granted_to(db, Grantee.person(subject)))

    def own_collection(self, subject: str) -> str:
        """The id of somebody's own collection; empty for who never signed in."""
        row = self._row("SELECT id FROM access_collections WHERE private_of = ?", (subject,))
        return str(row[0]) if row else ""

    # Collections

    def collections(self, by: Actor) -> tuple[Collection, ...]:
        """Every collection, to be managed, in order of name. Raises NotAllowed."""
        with self._read() as db:
            records.check_administrator(db, by)
            return records.all_collections(db)

    def owners(self) -> dict[str, tuple[Grantee, ...]]:
        """By shared collection, who owns it; nobody who was removed, and no group without a member
        who is there."""
        with self._read() as db:
            return records.owners(db)

    def create_collection(self, by: Actor, name: str) -> Collection:
        """A new collection, owned by who makes it; made at the machine itself, by nobody yet.

        Raises UnknownGrantee for somebody who was removed."""
        called = named(name)
        made = Collection(secrets.token_hex(8), called, None, moment(self._clock()))
        with self._write() as db:
            if not isinstance(by, Machine):
                records.person_there(db, by)
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
            records.check_owner(db, by, collection)
            db.execute("UPDATE access_collections SET name = ? WHERE id = ?", (called, collection))
            self.log.note(db, written(by), Action.COLLECTION, collection, f"renamed: {called}")

    def delete_collection(self, by: Actor, collection: str) -> Emptying:
        """Let nobody see a collection any more, at once and for good.

        What is in it the caller removes from the library, and says so by `emptied`; if the process
        is killed before, `to_be_emptied` lists it. Somebody's own collection can be deleted once
        the person was removed. Raises UnknownCollection, NotAllowed."""
        with self._write() as db:
            found = records.check_owner(db, by, collection)
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
            records.check_administrator(db, by)
            found = records.find_collection(db, collection)
            if found.private_of is None:
                raise NotAllowed("This collection is nobody's own. Give somebody a role in it.")
            self._check_left(db, by, found.private_of)
            records.person_there(db, to)
            before = records.find_person(db, found.private_of)
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
        whose = records.find_person(db, owner)
        if whose is not None and whose.active:
            raise NotAllowed(
                "This is somebody's own collection, and stays as long as they are here. Remove "
                "single documents instead."
            )
        records.check_administrator(db, by)

    # Roles

    def grants(self, by: Actor, collection: str) -> tuple[Grant, ...]:
        """Who was given which role in a collection. Raises UnknownCollection, NotAllowed."""
        with self._read() as db:
            records.check_owner(db, by, collection)
            return records.grants_of(db, collection)

    def grant(self, by: Actor, collection: str, to: Grantee, role: Role) -> None:
        """Give a person or a group a role, in place of the one they were given before.

        Raises UnknownCollection, NotAllowed, UnknownGrantee, LastOwner."""
        with self._write() as db:
            found = records.check_owner(db, by, collection)
            if found.private_of is not None:
                raise NotAllowed(
                    "This collection is one person's own and cannot be shared. Make a new one, and "
                    "share that."
                )
            records.grantee_there(db, to)
            with records.owners_left(db, [collection]):
                _give(db, Grant(collection, to, role))
            said = f"{to.kind.value} {to.id}: {role.name.lower()}"
            self.log.note(db, written(by), Action.GRANT, collection, said)

    def revoke(self, by: Actor, collection: str, to: Grantee) -> None:
        """Take back the role that a person or a group was given; everybody may give up their own.

        Raises UnknownCollection, NotAllowed, UnknownGrantee, LastOwner."""
        with self._write() as db:
            if isinstance(by, Machine) or to != Grantee.person(by):
                records.check_owner(db, by, collection)
            with records.owners_left(db, [collection]):
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


def _give(db: Connection, grant: Grant) -> None:
    db.execute(
        "INSERT INTO grants VALUES (?, ?, ?, ?) ON CONFLICT (collection, kind, who) "
        "DO UPDATE SET role = excluded.role",
        (grant.collection, grant.to.kind.value, grant.to.id, grant.role.value),
    )
