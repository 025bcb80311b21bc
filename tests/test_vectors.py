from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_app.scope import HOME, WORKER, Role, Scope
from rag_app.storage.chroma import ChromaVectors
from rag_app.storage.pgvector import PgTables
from tests.fakes import ListVectors


class IndexContract:
    def test_the_nearest_comes_first(self, index):
        index.upsert("a", ["a-0", "a-1"], [[1.0, 0.0], [0.0, 1.0]], HOME)
        found = index.search([0.9, 0.1], 2, WORKER)
        assert [i for i, _ in found] == ["a-0", "a-1"]
        assert found[0][1] == pytest.approx(0.9939, abs=1e-3)

    def test_writing_twice_is_writing_once_and_the_last_counts(self, index):
        index.upsert("a", ["a-0"], [[1.0, 0.0]], HOME)
        index.upsert("a", ["a-0"], [[0.0, 1.0]], HOME)
        assert index.count() == 1
        assert index.search([0.0, 1.0], 1, WORKER)[0][1] == pytest.approx(1.0, abs=1e-5)

    def test_a_search_keeps_to_the_chosen_documents(self, index):
        index.upsert("a", ["a-0"], [[1.0, 0.0]], HOME)
        index.upsert("b", ["b-0"], [[0.0, 1.0]], HOME)
        assert [i for i, _ in index.search([1.0, 0.0], 5, WORKER, ["b"])] == ["b-0"]

    @pytest.mark.parametrize("documents", [None, ["a", "b", "h"]])
    def test_a_search_keeps_to_the_collections_of_the_scope(self, index, documents):
        index.upsert("a", ["a-0"], [[1.0, 0.0]], "red")
        index.upsert("b", ["b-0"], [[1.0, 0.1]], "blue")
        index.upsert("h", ["h-0"], [[1.0, 0.2]], HOME)
        seen = {
            "red": Scope.of("x", {"red": Role.READER}),
            "home and blue": Scope.of("x", {HOME: Role.READER, "blue": Role.READER}),
            "nothing": Scope.of("x", {}),
            "everything": WORKER,
        }
        found = {
            name: {i for i, _ in index.search([1.0, 0.0], 5, scope, documents)}
            for name, scope in seen.items()
        }
        assert found == {
            "red": {"a-0"},
            "home and blue": {"b-0", "h-0"},
            "nothing": set(),
            "everything": {"a-0", "b-0", "h-0"},
        }

    def test_a_deleted_document_is_not_found(self, index):
        index.upsert("a", ["a-0"], [[1.0, 0.0]], HOME)
        index.upsert("b", ["b-0"], [[0.0, 1.0]], HOME)
        index.delete("a")
        assert index.ids("a") == set()
        assert [i for i, _ in index.search([1.0, 0.0], 5, WORKER)] == ["b-0"]

    def test_an_empty_index_finds_nothing(self, index):
        assert index.search([1.0, 0.0], 3, WORKER) == []
        index.delete("nobody")


class TestListVectors(IndexContract):
    @pytest.fixture
    def index(self):
        return ListVectors()


class PgContract(IndexContract):
    @pytest.fixture
    def index(self, pgvectors):
        return pgvectors("test")

    def test_vectors_of_two_models_never_mix(self, pgvectors, postgres_library):
        one, two = pgvectors("one"), pgvectors("two")
        one.upsert("a", ["a-0"], [[1.0, 0.0]], HOME)
        assert two.count() == 0
        two.upsert("a", ["a-0"], [[1.0, 0.0, 0.0]], HOME)
        PgTables(postgres_library).keep_only(["two"])
        assert (one.count(), two.count(), pgvectors("two").ids("a")) == (0, 1, {"a-0"})

    def test_a_small_part_is_found_among_many(self, index):
        for n in range(200):
            index.upsert("a", [f"a-{n}"], [[1.0, n / 1000]], "red")
        index.upsert("b", ["b-0", "b-1"], [[-1.0, 0.1], [0.1, -1.0]], "blue")
        scope = Scope.of("x", {"blue": Role.READER})
        for documents in (None, ["a", "b"]):
            found = index.search([1.0, 0.0], 5, scope, documents)
            assert [i for i, _ in found] == ["b-1", "b-0"]


def test_two_who_begin_at_once_both_have_pgvector(postgres_library):
    meet = threading.Barrier(4)

    def begin(_: int) -> int:
        meet.wait(10)
        return PgTables(postgres_library).open("test").count()

    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            with postgres_library.write() as db:
                db.execute("DROP EXTENSION IF EXISTS vector CASCADE")
                db.execute("DELETE FROM vector_tables")
            assert list(pool.map(begin, range(4))) == [0] * 4


@pytest.fixture
def pgvectors(postgres_library):
    return PgTables(postgres_library).open


class TestPgVectors(PgContract):
    """So few that all are compared."""


class TestPgVectorsWithAGraph(PgContract):
    """As many as if there were a great many: the graph goes on until enough is found."""

    @pytest.fixture(autouse=True)
    def many(self, monkeypatch):
        for name, value in (("_GRAPH_FROM", 1), ("_LOOK_AFTER", 1), ("_COMPARED", 1)):
            monkeypatch.setattr(f"rag_app.storage.pgvector.{name}", value)

    def test_there_is_a_graph(self, index, postgres_library):
        index.upsert("a", ["a-0"], [[1.0, 0.0]], HOME)
        with postgres_library.read() as db:
            assert index._state(db) is True


class TestChromaVectors(IndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path):
        opened = ChromaVectors(tmp_path / "vectors", "test")
        yield opened
        opened.close()

    def test_vectors_are_there_after_opening_again(self, tmp_path):
        first = ChromaVectors(tmp_path / "v", "test")
        first.upsert("a", ["a-0"], [[1.0, 0.0]], HOME)
        first.close()
        second = ChromaVectors(tmp_path / "v", "test")
        assert second.ids("a") == {"a-0"}
        second.close()

    def test_vectors_of_two_models_never_mix(self, tmp_path):
        one = ChromaVectors(tmp_path / "v", "one")
        one.upsert("a", ["a-0"], [[1.0, 0.0]], HOME)
        one.close()
        two = ChromaVectors(tmp_path / "v", "two")
        assert two.count() == 0
        two.upsert("a", ["a-0"], [[1.0, 0.0, 0.0]], HOME)
        two.close()

    @pytest.mark.parametrize("damage", [b"", b"garbage" * 999])
    def test_a_torn_folder_is_begun_anew(self, tmp_path, damage):
        first = ChromaVectors(tmp_path / "v", "test")
        first.upsert("a", ["a-0"], [[1.0, 0.0]], HOME)
        first.close()
        (tmp_path / "v" / "chroma.sqlite3").write_bytes(damage)
        second = ChromaVectors(tmp_path / "v", "test")
        assert second.count() == 0
        second.upsert("a", ["a-0"], [[1.0, 0.0]], HOME)
        assert second.count() == 1
        second.close()


@pytest.mark.parametrize("documents", [None, ["a", "b", "h"]])
def test_what_is_too_much_to_be_compared_is_filtered(tmp_path, monkeypatch, documents):
    index = ChromaVectors(tmp_path / "v", "test")
    monkeypatch.setattr(index._documents, "_few", 0)
    monkeypatch.setattr(index._collections, "_few", 0)
    for n in range(20):
        index.upsert("a", [f"a-{n}"], [[1.0, n / 100]], "red")
    index.upsert("b", ["b-0"], [[0.1, 1.0]], "blue")
    index.upsert("h", ["h-0"], [[0.0, 1.0]], HOME)
    monkeypatch.setattr("rag_app.storage.vectors._WIDE", 1)
    for wider in (1, 50):  # by a filter, or out of the nearest of all
        monkeypatch.setattr("rag_app.storage.vectors._WIDER", wider)
        for collection, expected in (("blue", "b-0"), (HOME, "h-0")):
            scope = Scope.of("x", {collection: Role.READER})
            assert [i for i, _ in index.search([1.0, 0.0], 2, scope, documents)] == [expected]
    index.close()


def test_a_large_collection_is_large_also_while_vectors_are_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("rag_app.storage.chroma.LARGEST_COLLECTION", 5)
    known = [f"d-{n:02}" for n in range(20)]
    index = ChromaVectors(tmp_path / "v", "test", lambda scope, documents, most: known[:most])
    embedded = known[4:]
    index.upsert("d", embedded, [[1.0, n / 10] for n in range(len(embedded))], "red")
    found = index.search([1.0, 1.5], 5, Scope.of("x", {"red": Role.READER}))
    assert found[0][0] == embedded[-1] and len(found) == 5
    index.close()


def test_vectors_keep_their_collection_when_the_index_is_written_anew(tmp_path):
    index = ChromaVectors(tmp_path / "v", "test")
    index.upsert("a", ["a-0"], [[1.0, 0.0]], "red")
    index.upsert("h", ["h-0"], [[1.0, 0.0]], HOME)
    assert index.compact(["a", "h"], threading.Event())
    for collection, expected in (("red", "a-0"), (HOME, "h-0")):
        scope = Scope.of("x", {collection: Role.READER})
        assert [i for i, _ in index.search([1.0, 0.0], 5, scope)] == [expected]
    index.close()


def test_what_is_written_and_deleted_shows_in_the_next_search_of_a_collection(tmp_path):
    index, scope = ChromaVectors(tmp_path / "v", "test"), Scope.of("x", {"red": Role.READER})
    assert index.search([1.0, 0.0], 5, scope) == []
    for n in range(2):
        index.upsert(f"{n}", [f"{n}-0"], [[1.0, 0.0]], "red")
        assert len(index.search([1.0, 0.0], 5, scope)) == n + 1
    index.delete("0")
    assert [i for i, _ in index.search([1.0, 0.0], 5, scope)] == ["1-0"]
    index.close()


actions = st.lists(
    st.tuples(st.sampled_from(["upsert", "delete"]), st.sampled_from("abc"), st.integers(0, 3)),
    max_size=12,
)


@settings(max_examples=15)
@given(actions)
def test_chroma_holds_what_the_oracle_holds(tmp_path_factory, actions):
    chroma, oracle = ChromaVectors(tmp_path_factory.mktemp("v"), "test"), ListVectors()
    for action, document, ordinal in actions:
        for index in (chroma, oracle):
            if action == "upsert":
                index.upsert(document, [f"{document}-{ordinal}"], [[1.0 + ordinal, 1.0]], HOME)
            else:
                index.delete(document)
    assert chroma.count() == oracle.count()
    for document in "abc":
        assert chroma.ids(document) == oracle.ids(document)
    chroma.close()
