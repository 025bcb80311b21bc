"""The full-text index of a small scope is in step with the library, whatever happens to it."""

from __future__ import annotations

import random
import threading

import pytest

from rag_app.scope import WORKER, Role, Scope
from rag_app.storage import Indexed, Store, words
from rag_app.types import Chunk, Document, Page, Reading, Status
from tests.databases import make_collections

WORDS = ["ferry", "pier", "lighthouse", "harbour", "keeper", "winter"]
PEOPLE = ["anna", "ben", "club"]
ANNA = Scope.of("anna", {"anna": Role.OWNER, "club": Role.READER})
BEN = Scope.of("ben", {"ben": Role.OWNER})


def id_of(number: int) -> str:
    """A document's id; chunks are told by its first characters."""
    return f"{number:064x}"[::-1]


def write(store: Store, number: int, collection: str, words: list[str]) -> None:
    """A document of a chunk for every word, written anew if it is there."""
    document = id_of(number)
    make_collections(store.database, collection)
    store.add_document(
        Document(document, f"{number}.txt", ".txt", 1, Status.RECEIVED, "", collection=collection)
    )
    store.save_reading(document, Reading((Page(1, " ".join(words)),)))
    store.save_chunks(
        document,
        [Indexed(Chunk(document, 1, n, 0, len(word), word), "", word)
         for n, word in enumerate(words)],
    )  # fmt: skip


@pytest.fixture
def store(database):
    made = Store(database)
    yield made
    made.close()


def found(store: Store, word: str, scope: Scope) -> dict[str, int]:
    """How many chunks of each document hold a word."""
    counts: dict[str, int] = {}
    best = [chunk for chunk, _ in store.search_words([word], [], 500, scope)]
    for chunk in store.chunks(best, WORKER).values():  # one that went meanwhile is not there
        document = chunk.document_id
        counts[document] = counts.get(document, 0) + 1
    return counts


def test_it_holds_what_the_library_holds_after_any_change(store):
    chance = random.Random(5)
    held: dict[int, tuple[str, list[str]]] = {}
    for _ in range(60):
        number = chance.randrange(8)
        if number in held and chance.random() < 0.4:
            store.remove(id_of(number))
            del held[number]
        else:
            collection = held[number][0] if number in held else chance.choice(PEOPLE)
            held[number] = collection, chance.choices(WORDS, k=chance.randrange(1, 5))
            write(store, number, *held[number])
        word = chance.choice(WORDS)
        for scope in (ANNA, BEN):
            assert found(store, word, scope) == {
                id_of(n): words.count(word)
                for n, (where, words) in held.items()
                if word in words and scope.sees(where)
            }


def test_only_what_changed_is_read_again(store, monkeypatch):
    for number in range(3):
        write(store, number, "ben", ["ferry"])
    write(store, 9, "anna", ["ferry"])
    read: list[list[str]] = []
    real = words.ScopedIndex._take_in
    monkeypatch.setattr(
        words.ScopedIndex, "_take_in",
        lambda self, db, documents: (read.append([*documents]), real(self, db, documents))[1],
    )  # fmt: skip
    assert len(found(store, "ferry", BEN)) == 3
    write(store, 1, "ben", ["ferry", "pier"])
    assert len(found(store, "ferry", BEN)) == 3
    assert [len(one) for one in read if one] == [3, 1]


def test_what_fails_half_way_is_done_again(store, monkeypatch):
    write(store, 1, "ben", ["ferry"])
    write(store, 2, "anna", ["ferry"])
    real = words.ScopedIndex._take_in
    with monkeypatch.context() as patched:

        def broken(self, db, documents):
            real(self, db, documents)
            raise MemoryError

        patched.setattr(words.ScopedIndex, "_take_in", broken)
        with pytest.raises(MemoryError):
            store.search_words(["ferry"], [], 5, BEN)
    assert len(found(store, "ferry", BEN)) == 1


def test_of_many_scopes_those_searched_last_are_kept(store, monkeypatch):
    monkeypatch.setattr(words, "_KEPT", 4)
    for number, who in enumerate(["anna", "ben", "club", "dora"]):
        write(store, number, who, ["ferry", "pier"])
    kept = store.words._parts._parts
    for who in ["anna", "ben", "anna", "club"]:
        assert len(found(store, "ferry", Scope.of(who, {who: Role.READER}))) == 1
    assert [*kept] == [("anna",), ("club",)]
    write(store, 9, "club", ["pier"] * 9)  # more than all may be, and still searched
    assert len(found(store, "pier", Scope.of("club", {"club": Role.READER}))) == 2
    assert [*kept] == [("club",)]


def test_several_may_search_while_documents_change(store):
    write(store, 0, "anna", ["pier"])
    write(store, 1, "ben", ["ferry"])
    wrong: list[object] = []

    def search() -> None:
        for _ in range(40):
            try:
                got = found(store, "ferry", BEN)
                wrong.extend([got] if id_of(1) not in got or id_of(0) in got else [])
            except Exception as error:  # noqa: BLE001
                wrong.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(2, 20):
        write(store, number, "ben", ["ferry", "pier"])
        if number % 3 == 0:
            store.remove(id_of(number))
    for thread in threads:
        thread.join()
    assert wrong == [] and len(found(store, "ferry", BEN)) == 13
