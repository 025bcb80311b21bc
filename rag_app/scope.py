"""Who asks, and so which collections may be read and changed.

A document belongs to one collection. On one's own computer there is one, `HOME`, and nobody signs
in; where people share a library, everybody has a scope of their own, and what is not in it cannot
be told from what does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

HOME = "home"  # the collection of a library that is one person's


class Role(IntEnum):
    """What somebody may do in a collection; each may do what those before it may."""

    READER = 1  # search, ask, open
    EDITOR = 2  # add, replace and remove documents
    OWNER = 3  # say who else may


@dataclass(frozen=True, slots=True)
class Scope:
    """One person's view: the collections that they may read, each with their role in it."""

    subject: str  # who asks, see `Identity.subject`; empty on one's own computer
    grants: frozenset[tuple[str, Role]] = frozenset()
    everything: bool = False  # the app itself at work on its queue; never a person

    @classmethod
    def of(cls, subject: str, roles: Mapping[str, Role]) -> Scope:
        """The scope of somebody with these roles, by collection."""
        return cls(subject, frozenset(roles.items()))

    @property
    def collections(self) -> tuple[str, ...]:
        """What may be read, in order."""
        return tuple(sorted(collection for collection, _ in self.grants))

    def role(self, collection: str) -> Role | None:
        """The role in a collection; None in one that cannot be seen."""
        if self.everything:
            return Role.OWNER
        return dict(self.grants).get(collection)

    def may(self, role: Role, collection: str) -> bool:
        """Whether this much may be done in a collection."""
        held = self.role(collection)
        return held is not None and held >= role

    def able(self, role: Role) -> Scope:
        """The same person, looking only where they may do this much."""
        if self.everything:
            return self
        return Scope(self.subject, frozenset(g for g in self.grants if g[1] >= role))

    def sees(self, collection: str) -> bool:
        """Whether a collection may be read."""
        return self.role(collection) is not None

    @property
    def runs_the_app(self) -> bool:
        """Whether this is whoever the app itself obeys: who sits at the computer, and nobody who
        signed in. What concerns all collections at once is theirs to say."""
        return self.everything or self == OWN

    def within(self, collections: Iterable[str]) -> Scope:
        """The same person, looking at these collections only, of those that they may read."""
        chosen = frozenset(collections)
        kept = frozenset(grant for grant in self.grants if grant[0] in chosen)
        return Scope(self.subject, kept)


def readers_of(collection: str) -> Scope:
    """What everybody sees who may read a collection, and nothing else: for what is made once for
    all of them."""
    return Scope.of("", {collection: Role.READER})


OWN = Scope.of("", {HOME: Role.OWNER})  # one's own computer
WORKER = Scope("", everything=True)  # what works on documents, whoever's they are
