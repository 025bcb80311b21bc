"""Work on whole documents: summaries, comparisons, drafts, translations; all with citations.

A chat model reads the documents part by part and writes (map and reduce). Without one the summary
is made of the documents' own central sentences, and what cannot be done is said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag_app.answering import in_language, task_prompts
from rag_app.answering.chat import ChatGenerator
from rag_app.answering.generator import Cancelled, Generator, Piece, apart, pieces
from rag_app.answering.prompts import Message
from rag_app.answering.quotes import Candidate, candidates
from rag_app.answering.summary import representatives, tells
from rag_app.answering.support import pieces_of
from rag_app.answering.visible import finished
from rag_app.answering.wishes import Kind, Task
from rag_app.answering.writer import Room
from rag_app.embedding import Embedder
from rag_app.errors import ChatModelError
from rag_app.retrieval import HybridRetriever
from rag_app.store import Store
from rag_app.text.sentences import sentences
from rag_app.types import Chunk, Document, Draft, Passage
from rag_app.vectors import VectorIndex

_SENTENCES = 6  # of a summary
_PARTS = 14  # chunks that an extractive summary is made from
_READ = 400  # chunks of one document that a chat model reads; of more, the most central
_PER_CLAIM = 4  # passages looked up for each written sentence
ASKED_OF = 5  # documents of one task, at most
_ROUNDS = 4  # of notes on notes
_LEAST_ROOM = 200  # tokens of a part

# What an opening chapter is like, as a question to the vectors.
_OVERVIEW = "overview and introduction: who we are, what we do, main results and conclusions"

NEEDS_MODEL = (
    "{0} needs a language model, and none is chosen. Choose one under “Answers” at the top left; "
    "meanwhile here is what your documents say about it."
)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where tasks are done: the library's parts that they need."""

    store: Store
    vectors: VectorIndex
    embedder: Embedder

    def carry_out(
        self,
        task: Task,
        documents: Sequence[Document],
        generator: Generator,
        retriever: HybridRetriever,
        cancelled: Cancelled,
    ) -> tuple[list[Passage], Iterator[Piece]]:
        """What is read for the task, and the pieces of its answer."""
        chosen = list(documents)[:ASKED_OF]
        whole = task.kind in (Kind.SUMMARY, Kind.COMPARISON)
        read = self._central(chosen, cancelled) if whole else retriever.passages(task.wish)
        if isinstance(generator, ChatGenerator):
            written = self._written(task, chosen, read, generator, retriever, cancelled)
            return read, written
        return read, pieces(self._quoted(task, chosen, read))

    # Without a chat model

    def _central(self, documents: Sequence[Document], cancelled: Cancelled) -> list[Passage]:
        """Passages that stand for each document, in the order of its pages."""
        found: list[Passage] = []
        for document in documents:
            if not cancelled():
                found += self._of(document, max(4, _PARTS // len(documents)))
        return found

    def _of(self, document: Document, k: int) -> list[Passage]:
        chunks = {i.chunk.id: i.chunk for i in self.store.indexed(document.id)}
        vectors = {i: v for i, v in self.vectors.vectors(document.id).items() if i in chunks}
        if len(vectors) < len(chunks):  # still being embedded: a sample will do
            some = list(chunks.values())[:: max(1, len(chunks) // 64)]
            embedded = self.embedder.embed_documents([c.text for c in some])
            vectors = {c.id: v for c, v in zip(some, embedded, strict=True)}
        ids = list(vectors)
        weights = np.array([_prose(chunks[i]) * _early(chunks[i].ordinal, len(ids)) for i in ids])
        if ids:
            opening = np.asarray(self.embedder.embed_query(f"{document.title} {_OVERVIEW}"))
            weights = weights * np.maximum(0.05, np.array([vectors[i] for i in ids]) @ opening)
        best = representatives(np.array([vectors[i] for i in ids]), k, weights) if ids else []
        kept = sorted((chunks[ids[n]] for n in best), key=lambda c: c.ordinal)
        return [Passage(c, document.name, 1 / len(kept)) for c in kept]

    def _quoted(self, task: Task, documents: Sequence[Document], read: list[Passage]) -> Draft:
        whole = task.kind in (Kind.SUMMARY, Kind.COMPARISON)
        quoted = self._sentences(documents, read, "" if whole else task.wish)
        notes: tuple[str, ...] = ()
        if not whole:
            what = "A draft" if task.kind is Kind.DRAFT else "A translation"
            notes = (NEEDS_MODEL.format(what),)
        elif task.language:
            notes = (in_language.NEEDS_MODEL.format(task.language),)
        return Draft(
            sentences=apart([c.text for c in quoted]),
            evidence=tuple((c.span,) for c in quoted),
            confidence=1.0 if quoted else 0.0,  # quotes are what they are
            abstained=not quoted,
            notes=notes,
        )

    def _sentences(
        self, documents: Sequence[Document], read: list[Passage], wish: str
    ) -> list[Candidate]:
        """Sentences that stand for what was read, those near the wish first if there is one."""
        chosen: list[Candidate] = []
        for document in documents:
            own = [p for p in read if p.chunk.document_id == document.id]
            found = [c for c in candidates(own) if tells(c.text) > 0]
            if found:
                vectors = np.asarray(self.embedder.embed_documents([c.text for c in found]))
                weights = np.array([tells(c.text) for c in found])
                weights = weights * np.array([self._place(document, c) for c in found])
                near = vectors @ np.asarray(self.embedder.embed_query(wish or _OVERVIEW))
                weights = weights * np.maximum(near, 0.02) ** (2 if wish else 1)
                best = representatives(
                    vectors, math.ceil(_SENTENCES / len(documents)) + (len(documents) > 1), weights
                )
                chosen += [found[n] for n in sorted(best)]
        return chosen

    def _place(self, document: Document, sentence: Candidate) -> float:
        return _early(sentence.span.page, max(1, document.pages))

    # With a chat model

    def _written(
        self,
        task: Task,
        documents: Sequence[Document],
        read: list[Passage],
        generator: ChatGenerator,
        retriever: HybridRetriever,
        cancelled: Cancelled,
    ) -> Iterator[Piece]:
        found = {p.chunk.id: p for p in read}

        def messages(room: Room) -> Sequence[Message]:
            notes = self._notes(task, documents, read, generator, room, cancelled)
            return task_prompts.final(in_language.wished(task.wish, task.language), notes)

        def sources(text: str) -> list[Passage]:
            narrowed = retriever.model_copy(update={"k": _PER_CLAIM})
            for piece in pieces_of(text)[:40]:
                if piece.strip() and not cancelled():
                    found.update((p.chunk.id, p) for p in narrowed.passages(piece))
            read[:] = list(found.values())
            return read

        yield from generator.compose(
            messages, sources, lambda: pieces(self._quoted(task, documents, read)), cancelled
        )

    def _notes(
        self,
        task: Task,
        documents: Sequence[Document],
        read: Sequence[Passage],
        generator: ChatGenerator,
        room: Room,
        cancelled: Cancelled,
    ) -> list[tuple[str, str]]:
        """(document, text) to write from: the passages, or what the model noted of each part.

        Raises ChatModelError."""
        left = replace(room, tokens=room.tokens - task_prompts.AROUND)
        if left.tokens < _LEAST_ROOM:
            raise ChatModelError(
                f"The window of {generator.name} is too small to read documents with. Choose a "
                "model with a larger window, or lower RAG_APP_CHAT_TOKENS."
            )
        if task.kind in (Kind.DRAFT, Kind.TRANSLATION):
            texts = [(p.name, p.chunk.text) for p in read]
            return self._fitting(texts, left)
        texts = [
            (document.name, chunk.text) for document in documents for chunk in self._whole(document)
        ]
        for _ in range(_ROUNDS):
            groups = self._groups(texts, left)
            if len(groups) < 2 or cancelled():
                break
            texts = [
                (group[0][0], self._noted(task, group, generator, cancelled)) for group in groups
            ]
        return self._fitting(texts, left)

    def _noted(
        self,
        task: Task,
        part: Sequence[tuple[str, str]],
        generator: ChatGenerator,
        cancelled: Cancelled,
    ) -> str:
        if cancelled():
            return ""
        said = generator.writer.whole(lambda _: task_prompts.note(task.wish, part), cancelled)
        return finished(said)

    def _whole(self, document: Document) -> list[Chunk]:
        chunks = [i.chunk for i in self.store.indexed(document.id)]
        if len(chunks) <= _READ:
            return chunks
        kept = {p.chunk.id for p in self._of(document, _READ)}
        return [c for c in chunks if c.id in kept]

    def _groups(self, texts: list[tuple[str, str]], room: Room) -> list[list[tuple[str, str]]]:
        """Texts in runs that fit the window, each of one document if it is not the last round."""
        sizes = (room.count or self.embedder.count_tokens)([text for _, text in texts])
        groups: list[list[tuple[str, str]]] = []
        used = 0
        for text, size in zip(texts, sizes, strict=True):
            if not groups or used + size + 8 > room.tokens:
                groups.append([])
                used = 0
            groups[-1].append(text)
            used += size + 8
        return groups

    def _fitting(self, texts: list[tuple[str, str]], room: Room) -> list[tuple[str, str]]:
        groups = self._groups(texts, room)
        return groups[0] if groups else []


def _early(ordinal: int, chunks: int) -> float:
    """How much a place says what the whole is about: people begin with that."""
    return 0.3 + 0.7 * math.exp(-5.0 * ordinal / max(chunks, 40))


def _prose(chunk: Chunk) -> float:
    """How much of a chunk is sentences that can stand alone; never nothing."""
    cuts = sentences(chunk.text)
    good = sum(end - start for start, end in cuts if tells(chunk.text[start:end]) > 0)
    return 0.1 + 0.9 * good / max(1, len(chunk.text))
