"""A few documents are searched exactly, and never as they were before."""

from __future__ import annotations

import random

import pytest

from rag_app.scope import HOME, OWN, WORKER, Role, Scope
from rag_app.storage import vectors as vectors_module
from rag_app.storage.chroma import ChromaVectors
from rag_app.storage.vectors import FEW, LARGEST, LARGEST_COLLECTION, ExactIndex, Loaded
from tests.fakes import ListVectors

chance = random.Random(2)


def vectors(count):
    return [[chance.gauss(0, 1) for _ in range(8)] for _ in range(count)]


@pytest.fixture
def chroma(tmp_path):
    made = ChromaVectors(tmp_path / "vectors", "small")
    yield made
    made.close()


def test_it_finds_what_an_exact_search_finds(chroma):
    oracle = ListVectors()
    for document in "abcdefgh":
        ids, made = [f"{document}-{n}" for n in range(12)], vectors(12)
        chroma.upsert(document, ids, made, HOME)
        oracle.upsert(document, ids, made, HOME)
    for chosen in (["a"], ["b", "c", "a"], ["h", "h"], list("abcdefgh"), ["nowhere"], []):
        asked = vectors(1)[0]
        found, expected = (one.search(asked, 5, WORKER, chosen) for one in (chroma, oracle))
        assert [i for i, _ in found] == [i for i, _ in expected]
        assert [s for _, s in found] == pytest.approx([s for _, s in expected], abs=1e-5)


def test_what_is_known_is_fetched_by_its_ids_and_found_as_with_a_filter(tmp_path):
    asked_for = []
    held = {"red": ["a-0", "a-1", "b-0", "gone-0"], HOME: []}

    def known(scope, documents, most):
        asked_for.append((scope.collections, documents, most))
        if documents is None:
            return held[scope.collections[0]][:most]
        return [i for i in held["red"] if i.partition("-")[0] in documents]

    index, oracle = ChromaVectors(tmp_path / "vectors", "small", known), ListVectors()
    for document, count, collection in (("a", 2, "red"), ("b", 1, "red"), ("c", 3, "blue")):
        ids, made = [f"{document}-{n}" for n in range(count)], vectors(count)
        for one in (index, oracle):
            one.upsert(document, ids, made, collection)
    reader, asked = Scope.of("x", {"red": Role.READER}), vectors(1)[0]
    for documents in (None, ["a"], ["b", "a"]):
        found, expected = (one.search(asked, 5, reader, documents) for one in (index, oracle))
        assert [i for i, _ in found] == [i for i, _ in expected]
    assert index.search(asked, 5, reader, ["c"]) == []  # of a collection that is not seen
    assert index.search(asked, 5, OWN) == []  # nothing is known there: not all that there is
    assert (("red",), None, LARGEST_COLLECTION + 1) in asked_for
    index.upsert("a", ["a-2"], vectors(1), "red")
    held["red"].append("a-2")
    assert {i for i, _ in index.search(asked, 9, reader)} == {"a-0", "a-1", "a-2", "b-0"}
    index.close()


def test_what_is_written_and_deleted_shows_in_the_next_search(chroma):
    first, second, asked = vectors(3)
    chroma.upsert("a", ["a-0"], [first], HOME)
    assert [i for i, _ in chroma.search(asked, 5, WORKER, ["a"])] == ["a-0"]
    chroma.upsert("a", ["a-1"], [second], HOME)
    assert {i for i, _ in chroma.search(asked, 5, WORKER, ["a"])} == {"a-0", "a-1"}
    chroma.delete("a")
    assert chroma.search(asked, 5, WORKER, ["a"]) == []


def test_what_changes_while_it_is_fetched_is_not_kept():
    small = ExactIndex(LARGEST, FEW)

    def load(document):
        small.forget(document)
        return Loaded(["old"], [[1.0, 0.0]], HOME)

    assert small.search([1.0, 0.0], 1, OWN, ["a"], load) == [("old", 1.0)]
    new = Loaded(["new"], [[1.0, 0.0]], HOME)
    assert small.search([1.0, 0.0], 1, OWN, ["a"], lambda _: new)[0][0] == "new"


def test_large_documents_and_many_are_left_to_the_index():
    small = ExactIndex(LARGEST, FEW)
    many = Loaded([str(n) for n in range(LARGEST + 1)], [[1.0]] * (LARGEST + 1), HOME)
    assert small.search([1.0], 1, OWN, ["a"], lambda _: many) is None
    names = [str(n) for n in range(FEW + 1)]
    assert small.search([1.0], 1, OWN, names, lambda _: Loaded([], [], HOME)) is None


def test_what_is_fetched_for_one_search_is_bounded_and_the_next_goes_on(monkeypatch):
    monkeypatch.setattr(vectors_module, "_FETCHED", 4)
    small = ExactIndex(LARGEST, FEW)

    def load(document):
        return Loaded([f"{document}-{n}" for n in range(2)], [[1.0], [0.5]], HOME)

    assert small.search([1.0], 9, OWN, list("abcd"), load) is None
    assert len(small.search([1.0], 9, OWN, list("abcd"), load)) == 8


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_of_many_documents_the_chosen_are_found(chroma, share, monkeypatch):
    monkeypatch.setattr(chroma._documents, "_few", 0)
    oracle = ListVectors()
    for document in range(400):
        ids, made = [f"{document}-0"], vectors(1)
        chroma.upsert(str(document), ids, made, HOME)
        oracle.upsert(str(document), ids, made, HOME)
    chosen = [str(n) for n in chance.sample(range(400), round(400 * share))]
    asked = vectors(1)[0]
    found, expected = (one.search(asked, 5, WORKER, chosen) for one in (chroma, oracle))
    assert len({i for i, _ in found} & {i for i, _ in expected}) >= 4


def test_no_more_is_kept_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(vectors_module, "_KEPT", 5)
    small, fetched = ExactIndex(LARGEST, FEW), []

    def load(document):
        fetched.append(document)
        return Loaded([f"{document}-{n}" for n in range(2)], [[1.0], [0.5]], HOME)

    for document in ("a", "b", "c", "c", "a"):
        small.search([1.0], 1, OWN, [document], load)
    assert fetched == ["a", "b", "c", "a"]
