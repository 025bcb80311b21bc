"""Who may see what, as a model: people, groups, roles and documents, beside the real ones.

The model is sets and dictionaries; what the app gives somebody is held against it. Every text has a
word of its own, so that whatever is given can be searched for words that must not be in it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

from rag_app.access.nouns import MACHINE, Grantee, Identity
from rag_app.errors import UnknownGrantee
from rag_app.library import Library
from rag_app.scope import HOME, Role, Scope
from tests.pdfs import pdf

PEOPLE = ["anna", "ben", "chloe", "dev"]  # Dev is an administrator, who sees no more than others
KEEPER = "keeper"  # owns what is shared, so that everybody else may come and go
GROUPS = ["crew", "guests"]
SHARED = ["red", "green", "blue", "grey"]
NAMES = ["letter.txt", "report.txt", "list.csv", "plan.pdf"]
TEXTS = 14
NOWHERE = "0" * 64


def place(number: int) -> str:
    return f"harbour{number}"


def secret(number: int) -> str:
    return f"beacon{number}x"


def content(name: str, number: int) -> bytes:
    """The same bytes for the same name and number, whoever adds them."""
    where, who = place(number), secret(number)
    if name.endswith(".csv"):
        return f"lighthouse,keeper,boats\n{where},{who},{number}\n".encode()
    keeps = f"The keeper of the lighthouse at {where} is called {who}."
    if name.endswith(".pdf"):
        return pdf(keeps)
    return f"{keeps}\n\n{who} keeps a boat at {where} and rows it every morning.\n".encode()


@dataclass(frozen=True)
class Known:
    """A document as the model knows it."""

    id: str
    collection: str
    number: int  # of its text
    name: str


@dataclass
class World:
    """Who may see what, and the library that is held to it; `line` leads to its API."""

    library: Library
    chance: random.Random
    line: httpx.Client
    given: dict[Grantee, dict[str, Role]] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)  # by id: who is in it
    gone: set[str] = field(default_factory=set)  # who was removed
    own: dict[str, str] = field(default_factory=dict)  # by person: their own collection
    shared: list[str] = field(default_factory=list)
    keys: dict[str, str] = field(default_factory=dict)
    documents: dict[str, Known] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    conversations: dict[str, str] = field(default_factory=dict)  # id: owner
    exchanges: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, library: Library, chance: random.Random, line: httpx.Client) -> World:
        """A world in which everybody has come, and owns one collection besides their own."""
        made, access = cls(library, chance, line), library.access
        access.arrive(Identity(KEEPER, "Keeper"))
        for person in PEOPLE:
            access.arrive(Identity(person, person.title(), f"{person}@example.org"))
            made.own[person] = access.own_collection(person)
            made.keys[person] = access.api_keys.create_key(person, "test")[1]
        access.set_administrator(MACHINE, PEOPLE[-1], True)
        made.groups = {access.make_group(MACHINE, name).id: set() for name in GROUPS}
        made.shared = [HOME, *(access.create_collection(KEEPER, name).id for name in SHARED)]
        made.give(Grantee.person(KEEPER), HOME, Role.OWNER)
        for person in PEOPLE:
            made.give(Grantee.person(person), chance.choice(made.shared), Role.OWNER)
        return made

    # What people may, and how that changes

    def roles(self, person: str) -> dict[str, Role]:
        if person in self.gone:
            return {}
        mine = [Grantee.group(one) for one, members in self.groups.items() if person in members]
        held = {self.own[person]: Role.OWNER}
        for grantee in [Grantee.person(person), *mine]:
            for collection, role in self.given.get(grantee, {}).items():
                held[collection] = max(role, held.get(collection, role))
        return held

    def scope(self, person: str) -> Scope:
        """What `Access` says, which is what the model says."""
        found = self.library.access.scope_of(person)
        assert found == Scope.of(person, self.roles(person))
        return found

    def view(self, person: str) -> Library:
        return self.library.scoped(self.scope(person))

    def give(self, grantee: Grantee, collection: str, role: Role | None) -> None:
        held = self.given.setdefault(grantee, {})
        if role is not None:
            self.library.access.grant(MACHINE, collection, grantee, role)
            held[collection] = role
        elif held.pop(collection, None):
            self.library.access.revoke(MACHINE, collection, grantee)

    def remove_or_restore(self, person: str) -> None:
        if person in self.gone:
            self.library.access.restore_person(MACHINE, person)
            self.gone.discard(person)
            self.keys[person] = self.library.access.api_keys.create_key(person, "again")[1]
        else:
            self.library.access.remove_person(MACHINE, person)
            self.gone.add(person)

    def join_or_leave(self, group: str, person: str) -> None:
        members, access = self.groups[group], self.library.access
        if person in members:
            access.leave(MACHINE, group, person)
            members.discard(person)
            return
        try:
            access.join(MACHINE, group, person)
            members.add(person)
        except UnknownGrantee:
            assert person in self.gone

    def exchange_collection(self) -> None:
        """Delete a shared collection with all that is in it, and make another."""
        access, going = self.library.access, self.chance.choice(self.shared[1:])
        access.delete_collection(KEEPER, going)
        self.shared.remove(going)
        for held in self.given.values():
            held.pop(going, None)
        for document in [d for d in self.documents.values() if d.collection == going]:
            self.forget(document.id)
        if self.chance.random() < 0.5:  # else at the next chance: nobody sees them meanwhile
            self.library.empty_deleted()
        self.shared.append(access.create_collection(KEEPER, self.chance.choice(SHARED)).id)

    # What there is

    @property
    def collections(self) -> list[str]:
        return [*self.shared, *self.own.values()]

    def seen(self, person: str) -> dict[str, Known]:
        held = self.roles(person)
        return {d.id: d for d in self.documents.values() if d.collection in held}

    def of_collection(self, collection: str) -> dict[str, Known]:
        return {d.id: d for d in self.documents.values() if d.collection == collection}

    def forget(self, document_id: str) -> None:
        self.documents.pop(document_id, None)
        self.removed.append(document_id)

    def settle(self, person: str, document_id: str, kept: Known | None, replace: bool) -> None:
        """Something was added: it is read, and what it took the place of is gone."""
        view = self.view(person)
        view.wait([document_id], timeout=60)
        now = view.document(document_id)
        before = self.of_collection(now.collection)
        for left in before.keys() - {d.id for d in view.documents()}:
            assert replace and document_id not in before
            self.forget(left)
        if kept is not None:
            known = Known(now.id, now.collection, kept.number, now.name)
            self.documents[now.id] = known

    def any_id(self) -> str:
        return self.chance.choice([*self.documents, *self.removed, NOWHERE])

    def hidden_id(self, person: str) -> str:
        """Of what somebody does not see, if there is any."""
        return self.chance.choice([*(self.documents.keys() - self.seen(person).keys()), NOWHERE])

    def hidden_collection(self, person: str) -> str:
        """Of those that somebody does not see, if there is any; what Home is called is a word."""
        hidden = set(self.collections) - self.roles(person).keys() - {HOME}
        return self.chance.choice([*sorted(hidden), NOWHERE])

    def some_collections(self, person: str) -> list[str]:
        """Of those that somebody sees, one at least, if there is any."""
        seen = sorted(self.roles(person))
        return self.chance.sample(seen, self.chance.randint(1, len(seen))) if seen else []

    def question(self) -> str:
        """About something that somebody may have."""
        return f"Who is the keeper of the lighthouse at {place(self.chance.randrange(TEXTS))}?"

    # What may not be said

    def check(
        self, person: str, given: object, ids: bool = True, within: list[str] | None = None
    ) -> None:
        """Nothing that somebody is given says a word of what they do not see, or of what is not in
        the collections that they asked `within`."""
        seen = self.seen(person)
        if within is not None:
            seen = {d.id: d for d in seen.values() if d.collection in within}
        said = given if isinstance(given, str) else repr(given)
        for number in set(range(TEXTS)) - {d.number for d in seen.values()}:
            assert secret(number) not in said, (person, number)
        if ids:
            for hidden in self.documents.keys() - seen.keys():
                assert hidden[:16] not in said, (person, hidden)
            for collection in set(self.collections) - self.roles(person).keys() - {HOME}:
                assert collection not in said, (person, collection)


Step = Callable[[World, str], None]
