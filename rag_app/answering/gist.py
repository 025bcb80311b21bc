"""What stands for a document: its own passages and sentences, without any model that writes.

First the passages that stand for it, by the vectors that are there anyway; then the sentences that
stand for these. Centrality, place, headings and words speak together (answering/worth.py)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag_app.answering.quotes import Candidate, candidates
from rag_app.answering.summary import representatives
from rag_app.answering.words import telling
from rag_app.answering.worth import speaks_of, stands_under, tells
from rag_app.embedding import Embedder
from rag_app.store import Store
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Chunk, Document, Passage
from rag_app.vectors import VectorIndex

_SAMPLE = 64  # chunks that are embedded of a document that has no vectors yet
_LONG = 12  # chunks or pages from which on a document is taken in stretches
_STRETCHES = 4
_NEARLY = 0.5
_ABOUT = 0.3  # of the best sentence's nearness, squared, that a sentence about a wish has
_RANKED = 12  # times as many as are wanted, to choose from
_OPENING = 5  # chunks with which a long document opens
_BEST = 2  # sentences by which a chunk is judged
_DIGITS = re.compile(r"\d+|_")


@dataclass(frozen=True, slots=True)
class Gist:
    """Finds what stands for documents."""

    store: Store
    vectors: VectorIndex
    embedder: Embedder

    def passages(self, document: Document, k: int) -> list[Passage]:
        """The k passages that stand for a document, in the order of its pages."""
        chunks, vectors = self._embedded(document)
        if not chunks:
            return []
        title = _title(document)
        weights = np.array([_weight(chunk, len(chunks), title) for chunk in chunks])
        ranked = representatives(vectors, _RANKED * k, weights)
        best = sorted(_spread(ranked, [c.ordinal for c in chunks], weights, k))
        return [Passage(chunks[n], document.name, 1 / len(best)) for n in best]

    def _embedded(self, document: Document) -> tuple[list[Chunk], np.ndarray]:
        """Chunks that have a vector, and these; a sample while a document is being embedded."""
        chunks = [indexed.chunk for indexed in self.store.indexed(document.id)]
        known = self.vectors.vectors(document.id)
        if any(chunk.id not in known for chunk in chunks):
            chunks = chunks[:: max(1, len(chunks) // _SAMPLE)]
            made = self.embedder.embed_documents([chunk.text for chunk in chunks])
            known = {c.id: v for c, v in zip(chunks, made, strict=True)}
        return chunks, np.array([known[chunk.id] for chunk in chunks])

    def sentences(
        self, document: Document, read: Sequence[Passage], k: int, near: Sequence[str] = ()
    ) -> list[Candidate]:
        """The k sentences that stand for passages of a document; those `near` one of some texts.

        With one such text, fewer where no more are about it."""
        found, under = _found(
            [p for p in read if p.chunk.document_id == document.id], document.chunks
        )
        if not found:
            return []
        title = _title(document)
        worth = [
            tells(one.text) * speaks_of(one.text, title) * place
            for one, place in zip(found, under, strict=True)
        ]
        good = [n for n, each in enumerate(worth) if each > 0]
        if not good:  # a note, a list: better its words than none
            good, worth = list(range(len(found))), [1.0] * len(found)
        vectors = np.asarray(self.embedder.embed_documents([found[n].text for n in good]))
        places = [found[n].span.page - 1 for n in good]
        weights = np.array(
            [worth[n] * _early(at, document.pages) for n, at in zip(good, places, strict=True)]
        )
        ranked = representatives(vectors, _RANKED * k, weights * self._nearness(vectors, near))
        if not near:
            return [found[good[n]] for n in sorted(_spread(ranked, places, weights, k))]
        about = self._nearness(vectors, near)
        least = _ABOUT * about.max() if len(near) == 1 else 0.0
        return [found[good[n]] for n in sorted(n for n in ranked[:k] if about[n] >= least)]

    def _nearness(self, vectors: np.ndarray, texts: Sequence[str]) -> np.ndarray:
        """How near each of the vectors is to one of the texts."""
        if not texts:
            return np.ones(len(vectors))
        cosines = vectors @ np.asarray(self.embedder.embed_documents(list(texts))).T
        nearest: np.ndarray = np.maximum(cosines.max(axis=1), 0.02) ** (2 if len(texts) == 1 else 1)
        return nearest


def _found(read: Sequence[Passage], chunks: int) -> tuple[list[Candidate], list[float]]:
    """The sentences of passages, each once, and what the place of each is worth."""
    under: dict[str, tuple[Candidate, float]] = {}
    for passage in read:
        place = _place(passage.chunk, chunks)
        for one in candidates([passage]):
            under.setdefault(one.text, (one, place))
    return [one for one, _ in under.values()], [place for _, place in under.values()]


def _title(document: Document) -> set[str]:
    return telling(document.title or _DIGITS.sub(" ", document.name.rsplit(".", 1)[0]))


def _place(chunk: Chunk, chunks: int) -> float:
    """What standing where it does is worth; a text opens with what it is about."""
    under = stands_under(chunk.heading, chunk.text)
    return 1.3 if under == 1.0 and chunk.ordinal < min(_OPENING, chunks // 20) else under


def _weight(chunk: Chunk, chunks: int, title: set[str]) -> float:
    """What a chunk is worth: its best sentences, where it stands, and under what."""
    texts = [one_line(chunk.text[a:b]) for a, b in sentences(chunk.text)]
    best = sorted((tells(text) * speaks_of(text, title) for text in texts), reverse=True)[:_BEST]
    return (0.05 + sum(best)) * _early(chunk.ordinal, chunks) * _place(chunk, chunks)


def _spread(ranked: Sequence[int], places: Sequence[int], weights: np.ndarray, k: int) -> list[int]:
    """The first k of the ranking, of a long text no more than two thirds out of one stretch.

    What is worth much less than those that it would replace is not taken for its place."""
    end = max(places) + 1
    left = Counter(dict.fromkeys(range(_STRETCHES), k if end < _LONG else -(-2 * k // 3)))
    least = _NEARLY * min(weights[n] for n in ranked[:k])
    best: list[int] = []
    for n in ranked:
        stretch = places[n] * _STRETCHES // end
        if left[stretch] and len(best) < k and weights[n] >= least:
            left[stretch] -= 1
            best.append(n)
    return (best + [n for n in ranked if n not in best])[:k]


def _early(place: int, places: int) -> float:
    """How much a place says what the whole is about: people begin with that."""
    return 0.3 + 0.7 * math.exp(-5.0 * place / max(places, 40))
