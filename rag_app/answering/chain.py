"""The LangChain chain: question -> sources -> pieces of an answer, as typed events.

Sources arrive before the first word of the answer, and whatever generator is used, citations are
checked in one place."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.documents import Document as LangChainDocument
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough

from rag_app.answering.generation import Cancelled, FollowUp, Generator, Piece
from rag_app.errors import ModelUnavailable
from rag_app.observing import traces
from rag_app.retrieval.ranking import fused
from rag_app.retrieval.retriever import HybridRetriever
from rag_app.types import (
    Answer,
    Basis,
    Citation,
    Closest,
    Computation,
    Delta,
    Draft,
    Event,
    Finished,
    Note,
    NoteKind,
    Passage,
    Sources,
    Span,
    Task,
    Timing,
)

# A draft and the passages it was made from -> text with [n] markers and checked citations.
#
# Pure. A citation is a verbatim slice of a passage, or it is dropped.

MARKER = re.compile(r" ?\[([1-9]\d{0,2})\]")
"""[n] in the text of an answer, with the space before it."""
_LIKE_A_MARKER = re.compile(r"\[(?=\d+\])")


def cite(draft: Draft, passages: Sequence[Passage]) -> tuple[str, tuple[Citation, ...]]:
    """The draft's text with a marker after each supported sentence, and the citations, from 1.

    Evidence that lies in none of the passages is dropped. The same span is cited once."""
    citations: dict[Span, Citation] = {}
    parts = []
    for sentence, evidence in zip(draft.sentences, draft.evidence, strict=True):
        markers = ""
        for span in evidence:
            if span not in citations:
                made = _citation(span, len(citations) + 1, passages, draft.shares)
                if made is None:
                    continue
                citations[span] = made
            markers += f"[{citations[span].number}]"
        said = _without_markers(sentence)
        body = said.rstrip()
        parts.append(f"{body} {markers}{said[len(body) :]}" if markers else said)
    return "".join(parts).strip(), tuple(citations.values())


def _without_markers(sentence: str) -> str:
    """A quoted "[1]" must not pass for one of our markers: an invisible joiner tells them apart."""
    return _LIKE_A_MARKER.sub("[\u2060", sentence)


def _citation(
    span: Span, number: int, passages: Sequence[Passage], shares: Sequence[float]
) -> Citation | None:
    for index, passage in enumerate(passages):
        chunk = passage.chunk
        if chunk.holds(span):
            quote = chunk.text[span.start - chunk.start : span.end - chunk.start]
            return Citation(
                number,
                span.document_id,
                passage.name,
                span.page,
                span.start,
                span.end,
                quote,
                share=shares[index] if index < len(shares) else None,
            )
    return None


_CELLS = 60  # of a computed answer that are cited


def cite_cells(computed: Computation) -> tuple[Citation, ...]:
    """The cells that a computed answer rests on, from 1: the first of them."""
    cells = [(used, c) for used in computed.used for row in used.rows for c in row[used.leading :]]
    found = [(used, cell) for used, cell in cells if cell.text]
    return tuple(
        Citation(number, used.document_id, used.name, cell.page, cell.start, cell.end, cell.text)
        for number, (used, cell) in enumerate(found[:_CELLS], start=1)
    )


WHICH = "Which documents do you mean? Name up to five of them."
NOT_FOUND = "I could not find an answer to this in your documents."
APP = "app"
"""The generator of what the app says of itself, about no document."""

_AS_TYPED = 0.3  # what is found as it was typed, of what is found written out, or spelt right
Locate = Callable[[Citation], Citation]
"""Gives a citation the boxes where its quote stands on the picture of its page."""

Likeliest = Callable[[Sequence[Passage]], Span | None]
"""Of what was found, the sentence that most likely holds the answer."""

Nearest = Callable[[Sequence[Passage]], tuple[Span, ...]]
"""Of what was found, the sentences that come nearest to an answer, the nearest first."""


@dataclass(frozen=True, slots=True)
class AskContext:
    """What is known of a question besides its answer; `finalize` puts both together."""

    question: str  # as it was typed
    task: Task = Task.QUESTION
    rewritten_query: str = ""  # empty: it was searched for as it was typed
    translated_query: str = ""  # in the documents' language, if the question is in another
    respelled_query: str = ""  # in the documents' spelling, if the question has words of none
    follow_up: FollowUp | None = None  # as it was typed, if it leans on the turn before it
    generator: str = ""  # the name of what was asked to answer
    remarks: Callable[[Draft], tuple[Note, ...]] = lambda draft: draft.notes
    locate: Locate = lambda citation: citation
    likeliest: Likeliest = lambda passages: None  # shown while the answer is being written
    nearest: Nearest = lambda passages: ()  # shown where there is none, unless a writer said more

    @property
    def query(self) -> str:
        """What is answered."""
        return self.rewritten_query or self.question

    def closest(self, passages: Sequence[Passage]) -> Citation | None:
        """The likeliest sentence of what was found, to be shown at once and so without boxes."""
        span = self.likeliest(passages)
        return _citation(span, 1, passages, ()) if span else None

    @property
    def wordings(self) -> dict[str, float]:
        """What is searched for, and what each finding counts: what was typed is always searched."""
        found = {self.query: 1.0}
        if self.respelled_query:
            found = {self.query: _AS_TYPED, self.respelled_query: 1.0}
        if self.translated_query:
            found[self.translated_query] = 1.0
        if self.follow_up:
            found[self.follow_up.text] = 1.0
        return {self.question: _AS_TYPED} | found


def finalize(
    draft: Draft, passages: Sequence[Passage], seconds: Timing, context: AskContext
) -> Answer:
    """The answer that a draft makes: its citations checked against the passages and placed.

    The only place where an answer is put together."""
    text, citations = cite(draft, passages)
    if draft.computation:
        citations = cite_cells(draft.computation)
        text += " [1]" if citations else ""
    abstained = draft.abstained or not text
    near = enumerate(draft.closest if abstained else (), start=1)
    closest = (_citation(span, number, passages, ()) for number, span in near)
    return Answer(
        question=context.question,
        text=NOT_FOUND if abstained else text,
        short_answer="" if abstained else draft.short_answer,
        abstained=abstained,
        confidence=draft.confidence,
        generator=draft.generator or context.generator,
        citations=() if abstained else tuple(map(context.locate, citations)),
        passages=tuple(passages),
        seconds=seconds,
        task=Task.COMPUTATION if draft.computation else context.task,
        basis=Basis.NONE if abstained else draft.basis,
        rewritten_query=context.rewritten_query,
        notes=context.remarks(draft),
        closest=tuple(map(context.locate, filter(None, closest))),
        computation=None if abstained else draft.computation,
        stressed="" if abstained else draft.stressed,
    )


def build_chain(
    retriever: HybridRetriever, generator: Generator, cancelled: Cancelled
) -> Runnable[dict[str, Any], dict[str, Any]]:
    """{"question", "wordings"} -> {…, "passages", "answer"}; streams the keys in that order."""

    def write(found: dict[str, Any]) -> Iterator[Piece]:
        pieces = generator.generate(found["question"], found["passages"], cancelled)
        yield from traces.over("writing", pieces)

    def find(given: dict[str, Any]) -> list[Passage]:
        wordings: Mapping[str, float] = given.get("wordings") or {given["question"]: 1.0}
        with traces.span("search", wordings=len(wordings)):
            found = list(map(_passages, retriever.unread.batch(list(wordings))))
            best = fused(found, list(wordings.values()), retriever.unread.k)
        with traces.span("ranking", passages=len(best)):
            return retriever.read([one for one, weight in wordings.items() if weight >= 1.0], best)

    sources = RunnableLambda(find)
    return RunnablePassthrough.assign(passages=sources) | RunnablePassthrough.assign(
        answer=RunnableLambda(write)
    )


def ask(
    context: AskContext, retriever: HybridRetriever, generator: Generator, cancelled: Cancelled
) -> Iterator[Event]:
    """Sources, perhaps Closest, Deltas, then Finished; after a cancellation no Finished.

    A generator whose model cannot be loaded abstains, with a note that says why."""
    began = time.perf_counter()
    passages: tuple[Passage, ...] = ()
    found_at = began
    written = Piece()
    try:
        for part in build_chain(retriever, generator, cancelled).stream(
            {"question": context.query, "wordings": context.wordings}
        ):
            if "passages" in part:
                passages, found_at = tuple(part["passages"]), time.perf_counter()
                yield Sources(passages)
                if near := context.closest(passages):
                    yield Closest(near)
            if "answer" in part:
                written += part["answer"]
                if part["answer"].text:
                    yield Delta(part["answer"].text)
            if cancelled() and written.draft is None:
                return
    except ModelUnavailable as error:  # what was found speaks for itself
        failed = (Note(NoteKind.MODEL_FAILED, (str(error),)),)
        written = Piece(draft=Draft((), (), 0.0, abstained=True, notes=failed))
    if cancelled() and written.draft is None:  # it may have stopped between two pieces
        return
    draft = written.draft or Draft((), (), 0.0, abstained=True)
    if draft.abstained or not draft.sentences:
        draft = replace(draft, closest=context.nearest(passages) or draft.closest)
    seconds = Timing(found_at - began, time.perf_counter() - found_at)
    yield Finished(finalize(draft, passages, seconds, context))


def carry_out(
    context: AskContext,
    begin: Callable[[], tuple[Sequence[Passage], Iterator[Piece]]],
    cancelled: Cancelled,
) -> Iterator[Event]:
    """The same events for a task on documents; `begin` gives what is read, and the pieces.

    What was read may grow until the pieces are at their end."""
    began = time.perf_counter()
    read, pieces = begin()
    yield Sources(tuple(read))
    found_at = time.perf_counter()
    written = Piece()
    for piece in pieces:
        written += piece
        if piece.text:
            yield Delta(piece.text)
        if cancelled():
            return
    if cancelled() and written.draft is None:  # it may have stopped between two pieces
        return
    seconds = Timing(found_at - began, time.perf_counter() - found_at)
    draft = written.draft or Draft((), (), 0.0, abstained=True)
    yield Finished(finalize(draft, read, seconds, context))


def ask_back(context: AskContext, documents: Sequence[str]) -> Iterator[Event]:
    """The same events where it is not clear what a task is about; `documents`: names of some that
    could be meant."""
    yield Sources(())
    yield Finished(
        Answer(
            *(context.question, WHICH, "", True, 0.0, APP, (), (), Timing(0.0, 0.0)),
            context.task,
            notes=(Note(NoteKind.WHICH_DOCUMENTS, tuple(documents)),),
        )
    )


def say(question: str, sentence: str) -> Iterator[Event]:
    """The same events for what the app itself says, where no document is to be asked."""
    yield Sources(())
    nothing = Timing(0.0, 0.0)
    yield Finished(Answer(question, sentence, "", True, 0.0, APP, (), (), nothing, Task.CHITCHAT))


def _passages(found: list[LangChainDocument]) -> list[Passage]:
    return [document.metadata["passage"] for document in found]
