from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_app.storage.chroma import ChromaVectors
from tests.fakes import ListVectors


class IndexContract:
    def test_the_nearest_comes_first(self, index):
        index.upsert("a", ["a-0", "a-1"], [[1.0, 0.0], [0.0, 1.0]])
        found = index.search([0.9, 0.1], 2)
        assert [i for i, _ in found] == ["a-0", "a-1"]
        assert found[0][1] == pytest.approx(0.9939, abs=1e-3)

    def test_writing_twice_is_writing_once_and_the_last_counts(self, index):
        index.upsert("a", ["a-0"], [[1.0, 0.0]])
        index.upsert("a", ["a-0"], [[0.0, 1.0]])
        assert index.count() == 1
        assert index.search([0.0, 1.0], 1)[0][1] == pytest.approx(1.0, abs=1e-5)

    def test_a_search_keeps_to_the_chosen_documents(self, index):
        index.upsert("a", ["a-0"], [[1.0, 0.0]])
        index.upsert("b", ["b-0"], [[0.0, 1.0]])
        assert [i for i, _ in index.search([1.0, 0.0], 5, ["b"])] == ["b-0"]

    def test_a_deleted_document_is_not_found(self, index):
        index.upsert("a", ["a-0"], [[1.0, 0.0]])
        index.upsert("b", ["b-0"], [[0.0, 1.0]])
        index.delete("a")
        assert index.ids("a") == set()
        assert [i for i, _ in index.search([1.0, 0.0], 5)] == ["b-0"]

    def test_an_empty_index_finds_nothing(self, index):
        assert index.search([1.0, 0.0], 3) == []
        index.delete("nobody")


class TestListVectors(IndexContract):
    @pytest.fixture
    def index(self):
        return ListVectors()


class TestChromaVectors(IndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path):
        opened = ChromaVectors(tmp_path / "vectors", "test")
        yield opened
        opened.close()

    def test_vectors_are_there_after_opening_again(self, tmp_path):
        first = ChromaVectors(tmp_path / "v", "test")
        first.upsert("a", ["a-0"], [[1.0, 0.0]])
        first.close()
        second = ChromaVectors(tmp_path / "v", "test")
        assert second.ids("a") == {"a-0"}
        second.close()

    def test_vectors_of_two_models_never_mix(self, tmp_path):
        one = ChromaVectors(tmp_path / "v", "one")
        one.upsert("a", ["a-0"], [[1.0, 0.0]])
        one.close()
        two = ChromaVectors(tmp_path / "v", "two")
        assert two.count() == 0
        two.upsert("a", ["a-0"], [[1.0, 0.0, 0.0]])
        two.close()

    @pytest.mark.parametrize("damage", [b"", b"garbage" * 999])
    def test_a_torn_folder_is_begun_anew(self, tmp_path, damage):
        first = ChromaVectors(tmp_path / "v", "test")
        first.upsert("a", ["a-0"], [[1.0, 0.0]])
        first.close()
        (tmp_path / "v" / "chroma.sqlite3").write_bytes(damage)
        second = ChromaVectors(tmp_path / "v", "test")
        assert second.count() == 0
        second.upsert("a", ["a-0"], [[1.0, 0.0]])
        assert second.count() == 1
        second.close()


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
                index.upsert(document, [f"{document}-{ordinal}"], [[1.0 + ordinal, 1.0]])
            else:
                index.delete(document)
    assert chroma.count() == oracle.count()
    for document in "abc":
        assert chroma.ids(document) == oracle.ids(document)
    chroma.close()
