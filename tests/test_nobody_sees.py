"""Random people, collections and roles against a model of who may see what: nothing leaks.

    SCOPE_STEPS=10000 python -m pytest tests/test_nobody_sees.py     takes a quarter of an hour

The same bytes and the same names are in several collections on purpose; every text has a word of
its own, so that whatever a view gives can be searched for words that it must not know."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rag_app.errors import NotAllowed, QuestionError, RagAppError, UnknownDocument
from rag_app.library import Library
from rag_app.scope import HOME, Role, Scope
from rag_app.settings import Settings
from rag_app.types import Finished, RetrieverKind, Sources
from tests.fakes import WordEmbedder

STEPS = int(os.environ.get("SCOPE_STEPS", "150"))
PEOPLE = ["anna", "ben", "chloe", "dev"]
COLLECTIONS = [HOME, "red", "green", "blue", "grey"]
NAMES = ["letter.txt", "report.txt", "list.csv"]
TEXTS = 14
NOWHERE = "0" * 64


def place(number: int) -> str:
    return f"harbour{number}"


def secret(number: int) -> str:
    return f"beacon{number}x"


def text(number: int) -> bytes:
    where, who = place(number), secret(number)
    return (
        f"The keeper of the lighthouse at {where} is called {who}.\n\n"
        f"{who} keeps a boat at {where} and rows it every morning.\n"
    ).encode()


def table(number: int) -> bytes:
    return f"lighthouse,keeper,boats\n{place(number)},{secret(number)},{number}\n".encode()


@dataclass(frozen=True)
class Known:
    """A document as the model knows it."""

    id: str
    collection: str
    number: int  # of its text
    name: str


@dataclass
class World:
    """Who may see what."""

    library: Library
    chance: random.Random
    roles: dict[str, dict[str, Role]] = field(default_factory=dict)
    documents: dict[str, Known] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    conversations: dict[str, str] = field(default_factory=dict)  # id: owner
    exchanges: dict[str, str] = field(default_factory=dict)

    def scope(self, person: str) -> Scope:
        return Scope.of(person, self.roles.get(person, {}))

    def view(self, person: str) -> Library:
        return self.library.scoped(self.scope(person))

    def seen(self, person: str) -> dict[str, Known]:
        held = self.roles.get(person, {})
        return {d.id: d for d in self.documents.values() if d.collection in held}

    def check(self, person: str, given: object, ids: bool = True) -> None:
        """Nothing that a view gives says a word of what it does not see."""
        seen = self.seen(person)
        said = given if isinstance(given, str) else repr(given)
        for number in set(range(TEXTS)) - {d.number for d in seen.values()}:
            assert secret(number) not in said, (person, number)
        if ids:
            for hidden in self.documents.keys() - seen.keys():
                assert hidden[:16] not in said, (person, hidden)

    def any_id(self) -> str:
        return self.chance.choice([*self.documents, *self.removed, NOWHERE])


Step = Callable[[World, str], None]


def change_role(world: World, person: str) -> None:
    collection = world.chance.choice(COLLECTIONS)
    roles = world.roles.setdefault(person, {})
    role = world.chance.choice([None, *Role])
    if role is None:
        roles.pop(collection, None)
    else:
        roles[collection] = role


def add(world: World, person: str) -> None:
    collection, name = world.chance.choice(COLLECTIONS), world.chance.choice(NAMES)
    number = world.chance.randrange(TEXTS)
    data = table(number) if name.endswith(".csv") else text(number)
    view, replace = world.view(person), world.chance.random() < 0.3
    if not world.scope(person).may(Role.EDITOR, collection):
        with pytest.raises(NotAllowed):
            view.add(name, data, collection=collection)
        return
    before = {d.id: d for d in world.documents.values() if d.collection == collection}
    added = view.add(name, data, collection=collection, replace=replace)
    world.check(person, added)
    assert added.duplicate == (added.document.id in before)  # whatever others have
    view.wait([added.document.id], timeout=60)
    for left in set(before) - {d.id for d in view.documents()}:
        assert replace and not added.duplicate
        gone(world, left)
    now = view.document(added.document.id)
    world.documents[now.id] = Known(now.id, collection, number, now.name)


def gone(world: World, document_id: str) -> None:
    world.documents.pop(document_id, None)
    world.removed.append(document_id)


def remove(world: World, person: str) -> None:
    document_id = world.any_id()
    known = world.documents.get(document_id)
    view = world.view(person)
    if known is None or known.id not in world.seen(person):
        with pytest.raises(UnknownDocument):
            view.remove(document_id)
    elif not world.scope(person).may(Role.EDITOR, known.collection):
        with pytest.raises(NotAllowed):
            view.remove(document_id)
    else:
        view.remove(document_id)
        gone(world, document_id)


def list_documents(world: World, person: str) -> None:
    view, seen = world.view(person), world.seen(person)
    listed = view.documents()
    assert {d.id for d in listed} == set(seen)
    assert set(view.progress()) <= set(seen)
    assert view.size_on_disk() == sum(d.size for d in listed)
    name = world.chance.choice(NAMES)
    if any(d.name == name for d in listed):
        assert view.document(name).id in seen
    else:
        with pytest.raises(UnknownDocument):
            view.document(name)


def search(world: World, person: str) -> None:
    view, seen = world.view(person), world.seen(person)
    number, kind = world.chance.randrange(TEXTS), world.chance.choice([*RetrieverKind])
    wanted = [world.any_id(), world.any_id()] if world.chance.random() < 0.3 else None
    try:
        found = view.search(f"keeper at {place(number)}", 20, wanted, kind)
    except QuestionError:
        assert not (set(seen) if wanted is None else set(seen) & set(wanted))
        return
    world.check(person, found)
    inside = {p.chunk.document_id for p in found}
    assert inside <= set(seen) and (wanted is None or inside <= set(wanted))
    if wanted is None and kind is RetrieverKind.BM25 and len(seen) <= 10:
        holding = {d.number for d in seen.values()} & {number}
        assert {seen[i].number for i in inside} >= holding  # what may be seen is found


def plain(world: World, person: str) -> None:
    view, seen = world.view(person), world.seen(person)
    number = world.chance.randrange(TEXTS)
    found = view.plain.find(secret(number))
    expected = {d.id for d in seen.values() if d.number == number}
    assert {document for document, _ in found.groups} == expected
    # The chunks of others are not shown either, whoever names them.
    ids = [f"{d[:16]}-{n}" for d in world.documents for n in range(3)]
    world.check(person, view.plain.places(found, ids).__repr__().replace(secret(number), ""))
    assert {h.document_id for h in view.plain.places(found, ids)} <= set(seen)


def ask(world: World, person: str) -> None:
    view, number = world.view(person), world.chance.randrange(TEXTS)
    question = f"Who is the keeper of the lighthouse at {place(number)}?"
    if world.chance.random() < 0.2:
        question = world.chance.choice(["Summarise the letter", "Compare the reports", "hello"])
    conversation = view.conversations.start(question)
    exchange = view.conversations.ask(conversation, question)
    world.conversations[conversation] = world.exchanges[exchange] = person
    try:
        events = list(view.ask(question))
    except QuestionError as error:
        view.conversations.fail(exchange, str(error))
        return
    world.check(person, [e for e in events if isinstance(e, Sources | Finished)])
    assert isinstance(events[-1], Finished)
    view.conversations.answer(exchange, events[-1].answer)
    view.conversations.rate(exchange, 1)


def look_inside(world: World, person: str) -> None:
    view, document_id = world.view(person), world.any_id()
    calls: Iterable[Callable[[], object]] = (
        lambda: view.page(document_id, 1),
        lambda: view.report(document_id),
        lambda: view.chunks(document_id),
        lambda: view.headings(document_id),
        lambda: view.parts(document_id),
        lambda: view.original(document_id).read_bytes(),
        lambda: view.picture(document_id, 1),
        lambda: view.boxes(document_id, 1, 0, 3),
        lambda: view.to_replace(document_id),
    )
    for call in calls:
        if document_id in world.seen(person):
            world.check(person, call())
        else:
            with pytest.raises(UnknownDocument) as error:
                call()
            world.check(person, str(error.value))


def look_at_tables(world: World, person: str) -> None:
    scope = world.scope(person)
    found = world.library._store.tables.of(scope)
    assert {t.document_id for t in found} <= set(world.seen(person))
    world.check(person, found)


def look_at_what_is_made(world: World, person: str) -> None:
    document_id = world.any_id()
    if document_id in world.documents:
        world.library._opened.overviews.make(world.library._store.document(document_id, EVERYBODY))
    view = world.view(person)
    kept = view.overviews.kept(document_id)
    world.check(person, kept)
    assert kept is None or document_id in world.seen(person)
    world.check(person, view.vectors())


def look_at_conversations(world: World, person: str) -> None:
    view = world.view(person)
    mine = {c for c, owner in world.conversations.items() if owner == person}
    assert {c.id for c in view.conversations.listed()} == mine
    assert {c.id for c in view.conversations.listed("lighthouse")} <= mine
    hidden = {d.number for d in world.documents.values()} - {
        d.number for d in world.seen(person).values()
    }
    for number in hidden:
        assert view.conversations.listed(secret(number)) == []
    world.check(person, view.conversations.rated(), ids=False)
    if world.exchanges:
        exchange = world.chance.choice([*world.exchanges])
        found = view.conversations.exchange(exchange)
        assert (found is not None) == (world.exchanges[exchange] == person)
        world.check(person, found, ids=False)
        view.conversations.rate(exchange, 1)


def put_under(world: World, person: str) -> None:
    view, document_id = world.view(person), world.any_id()
    view.shelves.tag([document_id], person)
    view.shelves.put(document_id, person)
    view.shelves.collect(person, [document_id, world.any_id()])
    shelf = view.shelves.all()
    world.check(person, shelf)
    assert set(shelf.tags) <= {person} and set(shelf.sets) <= {person}
    view.checks.save("{}", [(document_id, f"row of {document_id}")])
    world.check(person, view.checks.get())


EVERYBODY = Scope("", everything=True)
WEIGHTS: dict[Step, int] = {
    change_role: 10, add: 9, remove: 4, list_documents: 12, search: 20, plain: 10, ask: 12,
    look_inside: 10, look_at_tables: 4, look_at_what_is_made: 2, look_at_conversations: 8,
    put_under: 4,
}  # fmt: skip


def test_nobody_sees_what_is_not_shared_with_them(tmp_path: Path):
    settings = Settings.load(data_dir=tmp_path / "data", caution=0.0, generator="quotes")
    chance = random.Random(int(os.environ.get("SCOPE_SEED", "4")))
    done = []
    with Library(settings, embedder=WordEmbedder()) as library:
        world = World(library, chance)
        for person in PEOPLE:
            world.roles[person] = {chance.choice(COLLECTIONS): Role.OWNER}
        for number in range(STEPS):
            step, person = chance.choices([*WEIGHTS], [*WEIGHTS.values()])[0], chance.choice(PEOPLE)
            done.append((number, step.__name__, person))
            try:
                step(world, person)
            except (AssertionError, RagAppError) as error:
                raise AssertionError(f"step {done[-1]}: {error!r}") from error
    assert len({name for _, name, _ in done}) == len(WEIGHTS)
