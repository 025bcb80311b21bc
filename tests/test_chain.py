from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rag_app.answering import chain
from rag_app.answering.chain import AskContext
from rag_app.answering.generation import Cancelled, FollowUp, Piece
from rag_app.errors import ModelUnavailable
from rag_app.retrieval.retriever import HybridRetriever
from rag_app.scope import OWN
from rag_app.storage import Store
from rag_app.types import Closest, Delta, Draft, Finished, Note, NoteKind, Passage, Sources, Span
from tests.fakes import ListVectors, WordEmbedder
from tests.test_store import fill

CATS = AskContext("cats?", generator="scripted")


class ScriptedGenerator:
    """Says what it is told, and cites the first passage."""

    name = "scripted"

    def __init__(self, *texts: str, evidence: bool = True) -> None:
        self.texts, self.evidence = texts, evidence

    def warm(self) -> None:
        """Nothing to load."""

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        for text in self.texts:
            if cancelled():
                return
            yield Piece(text)
        chunk = passages[0].chunk
        span = Span(chunk.document_id, chunk.page, chunk.start, chunk.end)
        evidence = ((span,) if self.evidence else (),) * len(self.texts)
        yield Piece(draft=Draft(self.texts, evidence, 0.8, "short"))


@pytest.fixture
def retriever(tmp_path: Path):
    store = Store(tmp_path / "s.sqlite3")
    fill(store, 1, ["Cats purr at night.", "Dogs bark."])
    yield HybridRetriever(store=store, vectors=ListVectors(), embedder=WordEmbedder(), scope=OWN)
    store.close()


def test_sources_come_before_the_answer_and_the_answer_last(retriever):
    events = list(
        chain.ask(
            CATS,
            retriever,
            ScriptedGenerator("A. ", "B."),
            lambda: False,
        )
    )
    assert [type(e) for e in events] == [Sources, Delta, Delta, Finished]
    answer = events[-1].answer
    assert answer.passages == events[0].passages
    assert answer.text == "A. [1] B. [1]"
    assert answer.citations[0].quote == "Cats purr at night."
    assert (answer.generator, answer.short_answer, answer.confidence) == ("scripted", "short", 0.8)
    assert answer.seconds.retrieve > 0 and answer.seconds.answer > 0


def test_the_sentence_that_most_likely_answers_stands_there_before_a_word(retriever):
    def likeliest(passages: Sequence[Passage]) -> Span:
        chunk = passages[0].chunk
        return Span(chunk.document_id, chunk.page, chunk.start + 5, chunk.end)

    context = AskContext("cats?", likeliest=likeliest)
    events = list(chain.ask(context, retriever, ScriptedGenerator("A. "), lambda: False))
    assert [type(e) for e in events] == [Sources, Closest, Delta, Finished]
    assert events[1].citation.quote == "purr at night."


def test_the_chain_is_a_langchain_runnable(retriever):
    built = chain.build_chain(retriever, ScriptedGenerator("A."), lambda: False)
    whole = built.invoke({"question": "cats?"})
    assert list(whole) == ["question", "passages", "answer"]
    assert whole["answer"].text == "A." and whole["answer"].draft.short_answer == "short"


def test_a_stop_ends_the_events_without_an_answer(retriever):
    said: list[object] = []
    for event in chain.ask(
        CATS,
        retriever,
        ScriptedGenerator("A.", "B."),
        lambda: len(said) > 1,
    ):
        said.append(event)
    assert [type(e) for e in said] == [Sources, Delta]


def test_a_generator_that_says_nothing_counts_as_not_knowing(retriever):
    [_, finished] = chain.ask(CATS, retriever, ScriptedGenerator(), lambda: False)
    assert finished.answer.abstained
    assert finished.answer.text == chain.NOT_FOUND
    assert finished.answer.citations == ()
    assert finished.answer.passages


def test_what_comes_nearest_stands_where_nothing_answers_and_nowhere_else(retriever):
    def nearest(passages: Sequence[Passage]) -> tuple[Span, ...]:
        chunk = passages[0].chunk
        return (Span(chunk.document_id, chunk.page, chunk.start, chunk.start + 4),)

    context = replace(CATS, nearest=nearest)
    [*_, finished] = chain.ask(context, retriever, ScriptedGenerator(), lambda: False)
    assert [near.quote for near in finished.answer.closest] == ["Cats"]
    [*_, finished] = chain.ask(context, retriever, ScriptedGenerator("A."), lambda: False)
    assert finished.answer.closest == ()


class TornGenerator(ScriptedGenerator):
    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        yield Piece("The answer beg")
        raise ModelUnavailable("The reader's files cannot be used.")


def test_a_generator_without_its_model_leaves_the_passages_and_says_why(retriever):
    [*_, finished] = chain.ask(CATS, retriever, TornGenerator(), lambda: False)
    answer = finished.answer
    assert answer.abstained and answer.text == chain.NOT_FOUND
    assert answer.notes == (Note(NoteKind.MODEL_FAILED, ("The reader's files cannot be used.",)),)
    assert answer.passages[0].chunk.text == "Cats purr at night."


class StoppedGenerator(ScriptedGenerator):
    """Stopped while it waits for its next word: it ends without a draft."""

    stopped = False

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        yield Piece("The answer beg")
        self.stopped = True


def test_who_is_stopped_between_two_words_does_not_claim_that_nothing_was_found(retriever):
    generator = StoppedGenerator()
    said = list(
        chain.ask(
            CATS,
            retriever,
            generator,
            lambda: generator.stopped,
        )
    )
    assert [type(event).__name__ for event in said] == ["Sources", "Delta"]


class LateStopped(ScriptedGenerator):
    """Stopped when all is written, before the draft is handed over."""

    stopped = False

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        *written, draft = super().generate(question, passages, lambda: False)
        yield from written
        self.stopped = True
        yield draft


def test_an_answer_that_is_whole_is_kept_although_it_was_stopped_then(retriever):
    generator = LateStopped("A.")
    [*_, finished] = chain.ask(CATS, retriever, generator, lambda: generator.stopped)
    assert finished.answer.text == "A. [1]"


def test_passages_are_put_in_order_by_the_wordings_that_count_in_full(retriever):
    read: list[str] = []

    def dogs_first(question: str, found: Sequence[Passage]) -> list[float]:
        read.append(question)
        return [30.0 * ("Dogs" in p.chunk.text) for p in found]

    context = AskContext(
        "and they?",
        rewritten_query="cats or dogs?",
        follow_up=FollowUp("cats?", "and dogs?", ""),
        generator="x",
    )
    asked = retriever.model_copy(update={"reranker": dogs_first, "k": 1})
    events = list(chain.ask(context, asked, ScriptedGenerator("A."), lambda: False))
    assert read == ["cats or dogs?", "cats? and dogs?"]  # not as it was typed, which counts little
    [passage] = events[0].passages
    assert passage.chunk.text == "Dogs bark." and passage.score == pytest.approx(1.0)


def test_a_misspelt_question_counts_less_than_the_same_spelt_right():
    context = AskContext("catts?", respelled_query="cats?", generator="x")
    assert context.query == "catts?"
    weights = context.wordings
    assert weights["catts?"] < weights["cats?"] == 1.0


def test_a_reranker_that_makes_no_sense_puts_nothing_first(retriever):
    def broken(question: str, found: Sequence[Passage]) -> list[float]:
        return [float("nan") if "Dogs" in p.chunk.text else 0.0 for p in found]

    asked = retriever.model_copy(update={"reranker": broken})
    assert [p.chunk.text for p in asked.passages("dogs")][-1] == "Dogs bark."
    assert asked.read([], asked.unread.passages("dogs"))
