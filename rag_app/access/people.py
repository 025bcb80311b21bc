"""Who there is: people as they sign in, are removed and restored, and the groups they are in."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rag_app.access.audit import Action, AuditLog, moment, one_line
from rag_app.access.nouns import Actor, Grantee, Identity, Machine, PeopleGroup, Person, written
from rag_app.errors import (
    AccessError,
    LastAdministrator,
    LastOwner,
    NameTaken,
    NotAllowed,
    UnknownGrantee,
)
from rag_app.scope import Role
from rag_app.storage.database import AnyDatabase, Connection, InDatabase

PRIVATE = "My documents"  # what everybody's own collection is called at first
_LONGEST_NAME = 120  # characters
_LONGEST_SUBJECT = 500
_PERSON = "SELECT id, name, email, administrator, active, first_seen, last_seen FROM people"
_MOST_CLAIMS = 200  # groups of one person that a sign-in may name


class People(InDatabase):
    """Every method is one transaction. Thread-safe."""

    def __init__(
        self,
        database: AnyDatabase,
        log: AuditLog,
        administrators: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(database)
        self.log, self._clock = log, clock
        self._named = frozenset(one.casefold() for one in administrators)

    # People

    def arrive(self, identity: Identity) -> Person:
        """Somebody has signed in; to be called once for every time that they do.

        At first sight the person is made, with a collection of their own. Whom the settings name as
        administrator is one; where they name nobody, the first person ever. The groups that the
        sign-in tells replace those that it told before. Who was removed stays removed, see
        `Person.active`. Raises AccessError for a sign-in that does not say who it is."""
        subject = identity.subject
        if not subject.strip() or len(subject) > _LONGEST_SUBJECT:
            raise AccessError("The sign-in does not say who you are. Tell whoever runs it.")
        with self._write() as db:
            known = find_person(db, subject)
            if known is not None and not known.active:
                self.log.note(db, subject, Action.SIGN_IN, detail="refused: was removed")
                return known
            if known is not None and has_signed_out(db, identity):
                self.log.note(db, subject, Action.SIGN_IN, detail="refused: has signed out")
                return known
            self._keep(db, identity, known)
            _own_collection(db, subject, moment(self._clock()))
            _claim_groups(db, subject, identity.groups)
            self.log.note(db, subject, Action.SIGN_IN)
            return person_there(db, subject)

    def _keep(self, db: Connection, identity: Identity, known: Person | None) -> None:
        now = moment(self._clock())
        administrator = self._is_named(identity) or (
            known.administrator if known else not self._named and not _is_any(db, "TRUE")
        )
        db.execute(
            "INSERT INTO people "
            "(id, name, email, administrator, active, first_seen, last_seen) "
            "VALUES (?, ?, ?, ?, TRUE, ?, ?) ON CONFLICT (id) DO UPDATE SET "
            "name = excluded.name, email = excluded.email, administrator = excluded.administrator, "
            "last_seen = excluded.last_seen",
            (
                identity.subject,
                one_line(identity.name, _LONGEST_NAME),
                one_line(identity.email, _LONGEST_NAME),
                administrator,
                now,
                now,
            ),
        )

    def _is_named(self, identity: Identity) -> bool:
        return bool(self._named & {identity.subject.casefold(), identity.email.casefold()} - {""})

    def is_in(self, identity: Identity) -> bool:
        """Whether a sign-in still opens the page: its person was not removed, and has not signed
        out since."""
        with self._read() as db:
            found = find_person(db, identity.subject)
            out = has_signed_out(db, identity)
        return found is not None and found.active and not out

    def sign_out(self, identity: Identity) -> None:
        """Let a sign-in open nothing any more, wherever its cookie is, nor those before it. How
        long one by a proxy holds is the proxy's matter."""
        if identity.issued is None:
            return
        with self._write() as db:
            _end_sign_ins(db, identity.subject, identity.issued)
            self.log.note(db, identity.subject, Action.SIGN_OUT)

    def sign_out_everywhere(self, by: Actor, subject: str) -> None:
        """Let every sign-in that somebody has open nothing any more; they may sign in again, and
        their keys stay. Raises NotAllowed, UnknownGrantee."""
        with self._write() as db:
            check_administrator(db, by)
            person_there(db, subject)
            _end_sign_ins(db, subject, self._clock())
            self.log.note(db, written(by), Action.SIGN_OUT, subject, "everywhere")

    def is_administrator(self, subject: str) -> bool:
        """Whether somebody manages people, limits and collections; that lets them read nothing."""
        with self._read() as db:
            found = find_person(db, subject)
        return found is not None and found.active and found.administrator

    def people(self) -> tuple[Person, ...]:
        """Everybody who ever signed in, in order of name."""
        return tuple(map(_person, self._rows(f"{_PERSON} ORDER BY lower(name), id")))

    def set_administrator(self, by: Actor, subject: str, administrator: bool) -> None:
        """Let somebody manage people, or no longer. Whom the settings name is one again when they
        sign in. Raises NotAllowed, UnknownGrantee, LastAdministrator."""
        with self._write() as db:
            check_administrator(db, by)
            person_there(db, subject)
            db.execute("UPDATE people SET administrator = ? WHERE id = ?", (administrator, subject))
            _check_managed(db)
            said = "administrator" if administrator else "no administrator"
            self.log.note(db, written(by), Action.PERSON, subject, said)

    def remove_person(self, by: Actor, subject: str) -> None:
        """Let somebody see nothing any more, from the next thing that they do on; their keys end.

        What they added to collections of others stays there. Their own collection is kept, and
        nobody can see it, until an administrator deletes it or hands it over; their roles are kept
        in case that they are restored. Raises NotAllowed, UnknownGrantee, LastAdministrator."""
        with self._write() as db:
            check_administrator(db, by)
            person_there(db, subject)
            db.execute("UPDATE people SET active = FALSE WHERE id = ?", (subject,))
            db.execute("DELETE FROM api_keys WHERE person = ?", (subject,))
            _check_managed(db)
            self.log.note(db, written(by), Action.PERSON, subject, "removed")

    def restore_person(self, by: Actor, subject: str) -> None:
        """Let somebody back in, with the roles that they had; keys have to be made anew.

        Raises NotAllowed, UnknownGrantee for somebody who never signed in."""
        with self._write() as db:
            check_administrator(db, by)
            if find_person(db, subject) is None:
                raise UnknownGrantee("Nobody of that name ever signed in here.")
            db.execute("UPDATE people SET active = TRUE WHERE id = ?", (subject,))
            _own_collection(db, subject, moment(self._clock()))
            self.log.note(db, written(by), Action.PERSON, subject, "restored")

    # Groups

    def groups(self) -> tuple[PeopleGroup, ...]:
        """Every group, in order of name."""
        members: dict[str, set[str]] = {}
        by_claim: dict[str, set[str]] = {}
        with self._read() as db:
            for group, person, claimed in db.execute(
                "SELECT group_id, person, by_claim FROM people_in_groups"
            ):
                members.setdefault(group, set()).add(person)
                if claimed:
                    by_claim.setdefault(group, set()).add(person)
            found = db.execute("SELECT id, name, claim FROM people_groups ORDER BY lower(name)")
            return tuple(
                PeopleGroup(
                    id_,
                    name,
                    claim,
                    frozenset(members.get(id_, ())),
                    frozenset(by_claim.get(id_, ())),
                )
                for id_, name, claim in found
            )

    def make_group(self, by: Actor, name: str) -> PeopleGroup:
        """A new group without members. Raises NotAllowed, NameTaken.

        The sign-in puts nobody into it, whatever it calls its own groups."""
        called = named(name)
        with self._write() as db:
            check_administrator(db, by)
            _check_free(db, called)
            id_ = secrets.token_hex(8)
            db.execute("INSERT INTO people_groups VALUES (?, ?, NULL)", (id_, called))
            self.log.note(db, written(by), Action.GROUP, id_, f"made: {called}")
        return PeopleGroup(id_, called)

    def rename_group(self, by: Actor, group_id: str, name: str) -> None:
        """Call a group otherwise; its members, its roles and what the sign-in calls it stay.

        Raises NotAllowed, UnknownGrantee, NameTaken."""
        called = named(name)
        with self._write() as db:
            check_administrator(db, by)
            group_there(db, group_id)
            _check_free(db, called, but=group_id)
            db.execute("UPDATE people_groups SET name = ? WHERE id = ?", (called, group_id))
            self.log.note(db, written(by), Action.GROUP, group_id, f"renamed: {called}")

    def delete_group(self, by: Actor, group_id: str) -> None:
        """Dissolve a group, and its roles with it. One of the sign-in's is there again, without its
        roles, when a member signs in. Raises NotAllowed, UnknownGrantee, LastOwner."""
        whom = Grantee.group(group_id)
        with self._write() as db:
            check_administrator(db, by)
            group_there(db, group_id)
            with owners_left(db, granted_to(db, whom)):
                db.execute(
                    "DELETE FROM grants WHERE kind = ? AND who = ?", (whom.kind.value, group_id)
                )
                db.execute("DELETE FROM people_groups WHERE id = ?", (group_id,))
            self.log.note(db, written(by), Action.GROUP, group_id, "deleted")

    def join(self, by: Actor, group_id: str, subject: str) -> None:
        """Put somebody into a group. Raises NotAllowed, UnknownGrantee."""
        with self._write() as db:
            check_administrator(db, by)
            group_there(db, group_id)
            person_there(db, subject)
            db.execute(
                "INSERT INTO people_in_groups VALUES (?, ?, FALSE) ON CONFLICT DO NOTHING",
                (group_id, subject),
            )
            self.log.note(db, written(by), Action.GROUP, group_id, f"joined: {subject}")

    def leave(self, by: Actor, group_id: str, subject: str) -> None:
        """Take somebody out of a group; everybody may take out themselves.

        Raises NotAllowed, UnknownGrantee, LastOwner; AccessError where the sign-in put them
        there: it would do so again."""
        with self._write() as db:
            if by != subject:
                check_administrator(db, by)
            group_there(db, group_id)
            with owners_left(db, granted_to(db, Grantee.group(group_id))):
                db.execute(
                    "DELETE FROM people_in_groups "
                    "WHERE group_id = ? AND person = ? AND NOT by_claim",
                    (group_id, subject),
                )
            if _is_in(db, group_id, subject):
                raise AccessError(
                    "The sign-in puts them into this group. Change it there; it counts here from "
                    "their next sign-in on."
                )
            self.log.note(db, written(by), Action.GROUP, group_id, f"left: {subject}")


# What is asked of the tables inside a transaction.


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


def person_there(db: Connection, subject: str) -> Person:
    """A person who was not removed. Raises UnknownGrantee."""
    found = find_person(db, subject)
    if found is None or not found.active:
        raise UnknownGrantee(
            "There is nobody of that name here. Only who has signed in once, and was not removed, "
            "can be chosen."
        )
    return found


def group_there(db: Connection, group_id: str) -> str:
    """The name of a group. Raises UnknownGrantee."""
    row = db.execute("SELECT name FROM people_groups WHERE id = ?", (group_id,)).fetchone()
    if row is None:
        raise UnknownGrantee("There is no such group. Choose one of those that are listed.")
    return str(row[0])


def check_administrator(db: Connection, by: Actor) -> None:
    """Raises NotAllowed unless it is an administrator, or the machine itself."""
    if not manages(db, by):
        raise NotAllowed("Only an administrator can do that. Ask one of them.")


def manages(db: Connection, by: Actor) -> bool:
    """Whether it is an administrator, or the machine itself."""
    if isinstance(by, Machine):
        return True
    found = find_person(db, by)
    return found is not None and found.active and found.administrator


def _person(row: tuple[str, str, str, int, int, str, str]) -> Person:
    subject, name, email, administrator, active, first, last = row
    return Person(subject, name, email, bool(administrator), bool(active), first, last)


def _is_any(db: Connection, condition: str) -> bool:
    """Whether somebody of whom this is true ever signed in."""
    row = db.execute(f"SELECT EXISTS (SELECT 1 FROM people WHERE {condition})")
    return bool(row.fetchone()[0])


@contextmanager
def owners_left(db: Connection, collections: Iterable[str]) -> Iterator[None]:
    """Let no collection lose its last owner by what is done inside. Raises LastOwner."""
    owned = [one for one in collections if _has_owner(db, one)]
    yield
    if not all(_has_owner(db, one) for one in owned):
        raise LastOwner(
            "Nobody would be left who owns this collection. Make somebody else its owner first."
        )


def _has_owner(db: Connection, collection: str) -> bool:
    found = db.execute(
        "SELECT 1 FROM held_roles WHERE collection = ? AND role = ? LIMIT 1",
        (collection, Role.OWNER.value),
    )
    return found.fetchone() is not None


def granted_to(db: Connection, to: Grantee) -> list[str]:
    """The collections in which somebody was given a role."""
    found = db.execute(
        "SELECT collection FROM grants WHERE kind = ? AND who = ?", (to.kind.value, to.id)
    )
    return [str(collection) for (collection,) in found]


def _end_sign_ins(db: Connection, subject: str, until: float) -> None:
    db.execute(
        "UPDATE people SET signed_out = ? WHERE id = ? AND signed_out < ?", (until, subject, until)
    )


def _own_collection(db: Connection, subject: str, now: str) -> None:
    db.execute(
        "INSERT INTO access_collections (id, name, private_of, created) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (private_of) DO NOTHING",
        (secrets.token_hex(8), PRIVATE, subject, now),
    )


def _claim_groups(db: Connection, subject: str, claims: Iterable[str]) -> None:
    """Let somebody be in the groups that the sign-in tells, and in no other by its word."""
    db.execute("DELETE FROM people_in_groups WHERE person = ? AND by_claim", (subject,))
    told = sorted(one for one in claims if one.strip() and len(one) <= _LONGEST_SUBJECT)
    for claim in told[:_MOST_CLAIMS]:
        row = db.execute("SELECT id FROM people_groups WHERE claim = ?", (claim,)).fetchone()
        id_ = str(row[0]) if row else secrets.token_hex(8)
        if row is None:
            db.execute(
                "INSERT INTO people_groups VALUES (?, ?, ?)", (id_, _free_name(db, claim), claim)
            )
        db.execute("INSERT INTO people_in_groups VALUES (?, ?, TRUE)", (id_, subject))


def _free_name(db: Connection, claim: str) -> str:
    """What a group of the sign-in is called here: one made by hand is never taken for it."""
    base = one_line(claim, _LONGEST_NAME) or "Group"
    name, number = base, 2
    while _group_named(db, name):
        name, number = f"{base} ({number})", number + 1
    return name


def named(name: str) -> str:
    """A name as it is kept. Raises AccessError for none."""
    kept = one_line(name, _LONGEST_NAME)
    if not kept:
        raise AccessError("The name is empty. Write one.")
    return kept


def _check_free(db: Connection, name: str, but: str = "") -> None:
    if _group_named(db, name) not in ("", but):
        raise NameTaken(f"There is a group “{name}” already. Choose another name.")


def _group_named(db: Connection, name: str) -> str:
    """The id of the group of this name; empty: there is none."""
    row = db.execute(
        "SELECT id FROM people_groups WHERE lower(name) = lower(?)", (name,)
    ).fetchone()
    return str(row[0]) if row else ""


def _is_in(db: Connection, group_id: str, subject: str) -> bool:
    found = db.execute(
        "SELECT 1 FROM people_in_groups WHERE group_id = ? AND person = ?", (group_id, subject)
    )
    return found.fetchone() is not None


def _check_managed(db: Connection) -> None:
    if not _is_any(db, "administrator AND active"):
        raise LastAdministrator(
            "Nobody would be left who manages people. Make somebody else an administrator first."
        )
