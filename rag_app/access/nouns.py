"""People, groups, collections and grants, as they are told, and who somebody is, as
whoever signs people in says it: frozen, and knowing nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from rag_app.scope import Role


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who has signed in once; times are ISO 8601 in UTC."""

    subject: str
    name: str
    email: str
    administrator: bool
    active: bool  # False: removed
    first_seen: str
    last_seen: str

    @property
    def shown(self) -> str:
        """What they are called where others read it."""
        return self.name or self.email or self.subject


@dataclass(frozen=True, slots=True)
class PeopleGroup:
    """People who are given roles together; `claim`: what the sign-in calls the group, if it does.

    `by_claim` are those of the members whom the sign-in put there, when they last signed in."""

    id: str
    name: str
    claim: str | None = None
    members: frozenset[str] = frozenset()
    by_claim: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents that are shared together; `private_of`: the one person whose they are."""

    id: str
    name: str
    private_of: str | None
    created: str


class GranteeKind(StrEnum):
    """Who can be given a role."""

    PERSON = "person"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Grantee:
    """A person (by subject) or a group (by id)."""

    kind: GranteeKind
    id: str

    @classmethod
    def person(cls, subject: str) -> Grantee:
        """One person."""
        return cls(GranteeKind.PERSON, subject)

    @classmethod
    def group(cls, id_: str) -> Grantee:
        """Everybody in a group, whoever that is at the time."""
        return cls(GranteeKind.GROUP, id_)


@dataclass(frozen=True, slots=True)
class Grant:
    """A role that was given in a collection."""

    collection: str
    to: Grantee
    role: Role


@dataclass(frozen=True, slots=True)
class Emptying:
    """A collection that nobody may see any more; all its documents are to be removed from the
    library by the caller, who then calls `Access.emptied`."""

    collection: str
    name: str


@dataclass(frozen=True, slots=True)
class Machine:
    """Who runs commands on the machine itself: may what an administrator and every owner may.

    A type of its own, so that no subject that a sign-in could give is ever taken for it."""


MACHINE = Machine()
Actor = str | Machine
"""Who wants something: a person by subject, or the machine itself."""


def written(by: Actor) -> str:
    """As the log writes it down."""
    return by if isinstance(by, str) else ""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who somebody is, as whoever signs people in says it.

    `subject` is unique and lasting: "<issuer>|<sub>" where a provider signs people in, the value of
    the header behind a proxy, empty on one's own computer. The rest is for reading, and may change
    from one sign-in to the next. `expires`: seconds since the epoch after which it must be proved
    again; None: it need not. `issued`: when a provider signed them in; None: a proxy did."""

    subject: str
    name: str = ""
    email: str = ""
    groups: frozenset[str] = frozenset()
    expires: float | None = None
    issued: float | None = None


IsActive = Callable[[Identity], bool]
"""Whether somebody who signed in may (still) come in."""


def everybody(_identity: Identity) -> bool:
    """Lets in all who signed in."""
    return True
