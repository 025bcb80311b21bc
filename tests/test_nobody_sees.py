"""Random people, roles, documents and questions against a model of who may see what: nothing leaks,
from the library, over HTTP or by MCP.

    SCOPE_STEPS=10000 python -m pytest tests/test_nobody_sees.py     takes half an hour

The same bytes and the same names are in several collections on purpose."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable
from pathlib import Path

import httpx
import pytest

from rag_app.access.nouns import Grantee
from rag_app.errors import NotAllowed, QuestionError, RagAppError, UnknownDocument
from rag_app.library import Library
from rag_app.scope import WORKER as EVERYBODY
from rag_app.scope import Role
from rag_app.settings import Settings
from rag_app.types import Finished, RetrieverKind, Sources
from rag_app.ui import web_guard
from tests import asked_by_programs
from tests.api_servers import api_server
from tests.fakes import WordEmbedder
from tests.who_may_see import NAMES, PEOPLE, TEXTS, Known, Step, World, content, place, secret

STEPS = int(os.environ.get("SCOPE_STEPS", "250"))


def change_role(world: World, person: str) -> None:
    grantee = Grantee.person(person)
    if person in world.gone or world.chance.random() < 0.3:
        grantee = Grantee.group(world.chance.choice([*world.groups]))
    world.give(grantee, world.chance.choice(world.shared), world.chance.choice([None, *Role]))


def change_people(world: World, person: str) -> None:
    what = world.chance.random()
    if what < 0.7:
        world.join_or_leave(world.chance.choice([*world.groups]), person)
    elif what < 0.9 or person in world.gone:
        world.remove_or_restore(person)
    else:
        world.exchange_collection()


def add(world: World, person: str) -> None:
    collection, name = world.chance.choice(world.collections), world.chance.choice(NAMES)
    number = world.chance.randrange(TEXTS)
    data = content(name, number)
    view, replace = world.view(person), world.chance.random() < 0.3
    if not world.scope(person).may(Role.EDITOR, collection):
        with pytest.raises(NotAllowed) as error:
            view.add(name, data, collection=collection)
        world.check(person, str(error.value))
        return
    before = world.of_collection(collection)
    added = view.add(name, data, collection=collection, replace=replace)
    world.check(person, added)
    assert added.duplicate == (added.document.id in before)  # whatever others have
    kept = Known(added.document.id, collection, number, name)
    world.settle(person, kept.id, kept, replace)


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
        world.forget(document_id)


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


WEIGHTS: dict[Step, int] = {
    change_role: 10, change_people: 5, add: 9, remove: 4, list_documents: 12, search: 20, plain: 10,
    ask: 12, look_inside: 10, look_at_tables: 4, look_at_what_is_made: 2, look_at_conversations: 8,
    put_under: 4, **asked_by_programs.WEIGHTS,
}  # fmt: skip


@pytest.mark.timeout(60 + STEPS)
def test_nobody_sees_what_is_not_shared_with_them(tmp_path: Path, monkeypatch):
    settings = Settings.load(data_dir=tmp_path / "data", caution=0.0, generator="quotes")
    chance = random.Random(int(os.environ.get("SCOPE_SEED", "4")))
    done = []
    with Library(settings, embedder=WordEmbedder()) as library:
        monkeypatch.setattr(web_guard, "library", lambda: library)
        with (
            api_server(library, holder=web_guard.PeopleKeys()) as served,
            served.client(None) as line,
        ):
            line.timeout = httpx.Timeout(300)  # a busy machine is no leak
            world = World.of(library, chance, line)
            for number in range(STEPS):
                [step] = chance.choices([*WEIGHTS], [*WEIGHTS.values()])
                person = chance.choice(PEOPLE)
                done.append((number, step.__name__, person))
                try:
                    step(world, person)
                except (AssertionError, RagAppError) as error:
                    raise AssertionError(f"step {done[-1]}: {error!r}") from error
    assert len({name for _, name, _ in done}) == len(WEIGHTS)
