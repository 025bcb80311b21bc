from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.errors import ModelUnavailable
from rag_app.retrieval import HybridRetriever, fuse, query_words
from rag_app.store import Store
from rag_app.types import Passage, RetrieverKind
from tests.fakes import ListVectors, WordEmbedder
from tests.test_store import fill

PAGES = [
    "The harbour opens at six in the morning.",
    "Tickets for the ferry cost four euros.",
    "The ferry runs every twenty minutes.",
]


@pytest.fixture
def retriever(tmp_path):
    store, vectors, embedder = Store(tmp_path / "s.sqlite3"), ListVectors(), WordEmbedder()
    for number in (1, 2):
        document = fill(store, number, [f"{page} Copy {number}." for page in PAGES])
        indexed = store.indexed(document)
        vectors.upsert(
            document,
            [i.chunk.id for i in indexed],
            embedder.embed_documents([i.words for i in indexed]),
        )
    yield HybridRetriever(store=store, vectors=vectors, embedder=embedder)
    store.close()


@pytest.mark.parametrize("kind", list(RetrieverKind))
def test_every_kind_finds_the_page_that_answers(retriever, kind):
    found = retriever.model_copy(update={"kind": kind}).passages(
        "What do tickets for the ferry cost?"
    )
    assert found[0].chunk.page == 2
    assert sum(p.score for p in found) == pytest.approx(1.0)
    assert [p.score for p in found] == sorted((p.score for p in found), reverse=True)


@pytest.mark.parametrize("kind", list(RetrieverKind))
def test_a_search_keeps_to_the_chosen_documents(retriever, kind):
    chosen = "2".ljust(64, "0")
    found = retriever.model_copy(update={"kind": kind, "documents": (chosen,)}).passages("ferry")
    assert {p.chunk.document_id for p in found} == {chosen}
    assert retriever.model_copy(update={"documents": ()}).passages("ferry") == []


def test_langchain_gets_documents_that_carry_the_passage(retriever):
    [first, *_] = retriever.invoke("When does the harbour open?")
    passage = first.metadata["passage"]
    assert first.page_content == passage.chunk.text
    assert first.id == passage.chunk.id
    assert (first.metadata["page"], first.metadata["start"]) == (1, 0)


def test_passages_that_say_the_same_are_shown_once(tmp_path):
    store, vectors = Store(tmp_path / "s.sqlite3"), ListVectors()
    fill(store, 1, ["Same  words.", "same words", "Other words."])
    found = HybridRetriever(store=store, vectors=vectors, embedder=WordEmbedder()).passages("words")
    assert [p.chunk.page for p in found] == [1, 3] or [p.chunk.page for p in found] == [3, 1]
    store.close()


def test_a_document_without_vectors_is_found_by_words(tmp_path):
    store = Store(tmp_path / "s.sqlite3")
    fill(store, 1, PAGES)
    retriever = HybridRetriever(store=store, vectors=ListVectors(), embedder=WordEmbedder())
    assert retriever.passages("ferry tickets")[0].chunk.page == 2
    store.close()


def test_a_reranker_puts_what_answers_first(tmp_path):
    store, vectors = Store(tmp_path / "s.sqlite3"), ListVectors()
    fill(store, 1, PAGES)

    def backwards(question: str, found: Sequence[Passage]) -> list[float]:
        return [2.0 - p.chunk.page for p in found]

    plain = HybridRetriever(store=store, vectors=vectors, embedder=WordEmbedder(), k=1)
    first = plain.passages("the ferry")[0].chunk.page
    ranked = plain.model_copy(update={"reranker": backwards, "k": 3}).passages("the ferry")
    assert [p.chunk.page for p in ranked] == sorted(p.chunk.page for p in ranked)
    assert sum(p.score for p in ranked) == pytest.approx(1.0)
    best = plain.model_copy(update={"reranker": backwards}).passages("the ferry")
    assert best[0].chunk.page < first  # it may come from beyond the first k
    store.close()


def test_a_reranker_without_its_model_changes_nothing(tmp_path):
    store = Store(tmp_path / "s.sqlite3")
    fill(store, 1, PAGES)

    def torn(question: str, found: Sequence[Passage]) -> list[float]:
        raise ModelUnavailable("torn")

    plain = HybridRetriever(store=store, vectors=ListVectors(), embedder=WordEmbedder())
    torn_too = plain.model_copy(update={"reranker": torn})
    assert torn_too.passages("the ferry") == plain.passages("the ferry")
    store.close()


def test_words_that_say_nothing_are_not_searched_unless_there_are_no_others():
    assert query_words("What is the ferry's price?") == (["ferry's", "price"], [])
    assert query_words("What is it?")[0] == ["what", "is", "it"]
    assert query_words('find "net income" please')[1] == ["net income"]
    assert query_words("???") == ([], [])


rankings = st.lists(st.lists(st.sampled_from("abcdef"), unique=True), max_size=4)


@given(rankings)
def test_fusion_holds_exactly_what_was_ranked(rankings):
    scores = fuse(rankings)
    assert set(scores) == {item for ranking in rankings for item in ranking}
    bound = len(rankings) / 61
    assert all(0 < score <= bound + 1e-12 for score in scores.values())


@given(rankings, st.randoms())
def test_fusion_does_not_care_for_the_order_of_the_rankings(rankings, random):
    shuffled = list(rankings)
    random.shuffle(shuffled)
    assert fuse(shuffled) == pytest.approx(fuse(rankings))


@given(st.lists(st.sampled_from("abcdef"), unique=True, min_size=2))
def test_what_is_ranked_higher_everywhere_scores_higher(ranking):
    scores = fuse([ranking, ranking])
    assert sorted(scores, key=lambda i: -scores[i]) == ranking


@given(rankings, st.sampled_from("abcdef"))
def test_one_more_ranking_that_holds_an_item_never_lowers_it(rankings, item):
    assert fuse([*rankings, [item]])[item] > fuse(rankings).get(item, 0.0)
