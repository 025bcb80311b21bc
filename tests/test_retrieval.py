from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rag_app.errors import ModelUnavailable
from rag_app.retrieval.ranking import query_words
from rag_app.retrieval.retriever import HybridRetriever
from rag_app.scope import HOME, OWN, WORKER, Scope
from rag_app.storage import Store
from rag_app.types import Passage, RetrieverKind
from tests.fakes import ListVectors, WordEmbedder
from tests.test_store import document, fill

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
        indexed = store.indexed(document, WORKER)
        vectors.upsert(
            document,
            [i.chunk.id for i in indexed],
            embedder.embed_documents([i.words for i in indexed]),
            HOME,
        )
    yield HybridRetriever(store=store, vectors=vectors, embedder=embedder, scope=OWN)
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
    found = HybridRetriever(
        store=store, vectors=vectors, embedder=WordEmbedder(), scope=OWN
    ).passages("words")
    assert [p.chunk.page for p in found] == [1, 3] or [p.chunk.page for p in found] == [3, 1]
    store.close()


def test_a_document_without_vectors_is_found_by_words(tmp_path):
    store = Store(tmp_path / "s.sqlite3")
    fill(store, 1, PAGES)
    retriever = HybridRetriever(
        store=store, vectors=ListVectors(), embedder=WordEmbedder(), scope=OWN
    )
    assert retriever.passages("ferry tickets")[0].chunk.page == 2
    store.close()


def test_a_reranker_puts_what_answers_first(tmp_path):
    store, vectors = Store(tmp_path / "s.sqlite3"), ListVectors()
    fill(store, 1, PAGES)

    def backwards(question: str, found: Sequence[Passage]) -> list[float]:
        return [60.0 * (2 - p.chunk.page) for p in found]

    plain = HybridRetriever(store=store, vectors=vectors, embedder=WordEmbedder(), k=1, scope=OWN)
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

    plain = HybridRetriever(store=store, vectors=ListVectors(), embedder=WordEmbedder(), scope=OWN)
    torn_too = plain.model_copy(update={"reranker": torn})
    assert torn_too.passages("the ferry") == plain.passages("the ferry")
    store.close()


def test_a_reranker_is_not_asked_in_a_language_that_it_does_not_know(tmp_path):
    store = Store(tmp_path / "s.sqlite3")
    fill(store, 1, PAGES)
    asked = []

    def listening(question: str, found: Sequence[Passage]) -> list[float]:
        asked.append(question)
        return [0.0] * len(found)

    plain = HybridRetriever(store=store, vectors=ListVectors(), embedder=WordEmbedder(), scope=OWN)
    ranking = plain.model_copy(update={"reranker": listening})
    ranking.read(["Was kostet die Fähre?", "What does the ferry cost?"], plain.passages("ferry"))
    assert asked == ["What does the ferry cost?"]
    store.close()


@pytest.mark.parametrize(
    ("question", "spelt"),
    [
        ("When does the harbuor open?", "When does the harbour open?"),
        ("what do TIKETS for the ferrry cost", "what do tickets for the ferry cost"),
        ("when does the marina open?", ""),  # nothing is near
        ("what do tickets cost", ""),
        ("what do the buses cost", ""),
    ],
)
def test_a_word_that_no_document_holds_is_spelt_as_the_nearest_that_one_does(
    retriever, question, spelt
):
    assert retriever.respelled(question) == spelt


def test_spelling_keeps_to_what_may_be_seen(retriever):
    stranger = retriever.model_copy(update={"scope": Scope.of("somebody", {})})
    assert stranger.respelled("When does the harbuor open?") == ""


def test_words_that_say_nothing_are_not_searched_unless_there_are_no_others():
    assert query_words("What is the ferry's price?") == (["ferry's", "price"], [])
    assert query_words("What is it?")[0] == ["what", "is", "it"]
    assert query_words('find "net income" please')[1] == ["net income"]
    assert query_words("???") == ([], [])


def names_in(found: Sequence[Passage]) -> list[str]:
    return [passage.chunk.document_id[:1] for passage in found]


REPORT = ["The fleet earned {} thousand euros.", "Repairs of the fleet cost {} thousand euros."]


@pytest.fixture
def reports(tmp_path):
    """The same pages in three documents, which only their names tell apart."""
    store, vectors, embedder = Store(tmp_path / "s.sqlite3"), ListVectors(), WordEmbedder()
    for number, name in enumerate(("Brightwater 2018.pdf", "Brightwater 2019.pdf", "Colne.pdf"), 1):
        store.add_document(replace(document(number), name=name))
        report = fill(store, number, [page.format(number) for page in REPORT])
        indexed = store.indexed(report, WORKER)
        vectors.upsert(
            report,
            [i.chunk.id for i in indexed],
            embedder.embed_documents([i.words for i in indexed]),
            HOME,
        )
    yield HybridRetriever(store=store, vectors=vectors, embedder=embedder, scope=OWN)
    store.close()


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did the fleet of Brightwater earn in 2018?", "1"),
        ("What did the fleet of Brightwater earn in FY19?", "2"),
        ("What did the fleet of Colne earn?", "3"),
        ("What did the fleet of brightwater earn, says the latest report?", "2"),
    ],
)
def test_a_document_that_is_named_comes_first(reports, question, first):
    assert names_in(reports.passages(question))[0] == first


def test_a_question_that_names_nothing_is_answered_by_all_documents(reports):
    found = reports.passages("What did the fleet earn?")
    assert len(set(names_in(found[:3]))) == 3


def test_a_name_does_not_reach_beyond_the_chosen_documents(reports):
    chosen = reports.model_copy(update={"documents": ("3".ljust(64, "0"),)})
    assert set(names_in(chosen.passages("What did Brightwater earn in 2018?"))) == {"3"}


def test_the_same_question_is_answered_the_same_twice(reports):
    question = "What did the fleet earn?"
    assert reports.passages(question) == reports.passages(question)


def test_words_that_stand_together_come_before_the_same_words_apart(tmp_path):
    store, vectors, embedder = Store(tmp_path / "s.sqlite3"), ListVectors(), WordEmbedder()
    apart = "The harbour pays a fee for every master, and one for the boats."
    joined = "For the boats, and for every one, the harbour master pays a fee."
    fill(store, 1, [apart, joined])
    retriever = HybridRetriever(store=store, vectors=vectors, embedder=embedder, scope=OWN)
    found = retriever.passages("the harbour master")
    assert [p.chunk.page for p in found] == [2, 1]
    store.close()


def test_a_page_of_figures_comes_first_where_an_amount_is_asked_for(tmp_path):
    store, vectors, embedder = Store(tmp_path / "s.sqlite3"), ListVectors(), WordEmbedder()
    told = "The board of the harbour reviews turnover and the inventory every spring."
    table = "Inventory 2019 2018\nBoats 12 14\nRopes 300 280\nTurnover 4.1 3.9"
    report = fill(store, 1, [told, table])
    indexed = store.indexed(report, WORKER)
    vectors.upsert(
        report,
        [i.chunk.id for i in indexed],
        embedder.embed_documents([i.words for i in indexed]),
        HOME,
    )
    retriever = HybridRetriever(store=store, vectors=vectors, embedder=embedder, scope=OWN)
    assert retriever.passages("How much is the inventory turnover?")[0].chunk.page == 2
    assert retriever.passages("Who reviews the inventory of the harbour?")[0].chunk.page == 1
    store.close()
