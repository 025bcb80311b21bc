"""Answer by quoting: the sentences of the passages that best support an answer.

Each sentence is scored by how near it is to the question in meaning and how many of the question's
telling words it holds. Nothing is written that does not stand in a document. When even the best
sentence is unlikely to answer, it abstains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rag_app.answering.generation import Cancelled, Piece, apart, pieces
from rag_app.answering.term_weights import TOKEN, rarity, stem, stems, telling
from rag_app.retrieval.embedding import Embedder
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Draft, Passage, Span

__all__ = [
    "TOKEN",
    "Candidate",
    "QuoteGenerator",
    "candidates",
    "rarity",
    "stem",
    "stems",
    "telling",
]

_LOOKED_AT = 120  # looked at for one question
_MOST_QUOTES = 3
_NEAR_THE_BEST = (
    0.93  # a further sentence is quoted if its score is at least this share of the best
)
_FEWEST_WORDS = 3  # a sentence with fewer says too little to be quoted

# Logistic regression on the best sentence's features; fitted by benchmarks/fit_quotes.py.
_BIAS, _MEANING, _WORDS = -6.587, 8.371, 3.864


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of a passage and how well it fits the question."""

    span: Span
    text: str
    meaning: float = 0.0  # cosine of sentence and question
    words: float = 0.0  # share of the question's telling words in it, rare ones counting more

    @property
    def score(self) -> float:
        """Log-odds that it answers the question."""
        return _BIAS + _MEANING * self.meaning + _WORDS * self.words


class QuoteGenerator:
    """The generator that needs nothing but the embedding model."""

    name = "quotes"

    def __init__(self, embedder: Embedder, caution: float) -> None:
        self._embedder = embedder
        self._caution = caution

    def warm(self) -> None:
        """Load the embedding model now. Raises ModelUnavailable."""
        self._embedder.warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield the answer's sentences, then the draft. Raises ModelUnavailable."""
        ranked = self.rank(question, passages)
        if cancelled():
            return
        draft = self._draft(ranked)
        yield from pieces(draft)

    def rank(self, question: str, passages: Sequence[Passage]) -> list[Candidate]:
        """All sentences of the passages, the best first."""
        found = candidates(passages)
        if not found:
            return []
        meaning = self._meaning(question, found)
        words = word_overlap(question, passages, found)
        scored = [
            Candidate(c.span, c.text, float(m), w)
            for c, m, w in zip(found, meaning, words, strict=True)
        ]
        return sorted(scored, key=lambda c: c.score, reverse=True)

    def _meaning(self, question: str, found: Sequence[Candidate]) -> np.ndarray:
        vectors = np.asarray(self._embedder.embed_documents([c.text for c in found]))
        similarity: np.ndarray = vectors @ np.asarray(self._embedder.embed_query(question))
        return similarity

    def _draft(self, ranked: Sequence[Candidate]) -> Draft:
        if not ranked:
            return Draft((), (), 0.0, abstained=True)
        confidence = 1.0 / (1.0 + math.exp(-ranked[0].score))
        if confidence < self._caution:
            return Draft((), (), confidence, abstained=True)
        least = ranked[0].score + math.log(_NEAR_THE_BEST)
        quoted = [c for c in ranked[:_MOST_QUOTES] if c.score >= least]
        return Draft(
            sentences=apart([c.text for c in quoted]),
            evidence=tuple((c.span,) for c in quoted),
            confidence=confidence,
            short_answer=quoted[0].text,
        )


def candidates(passages: Sequence[Passage]) -> list[Candidate]:
    """The sentences of the passages, each once, in the passages' order."""
    found: dict[str, Candidate] = {}
    for passage in passages:
        chunk = passage.chunk
        for start, end in sentences(chunk.text):
            text = one_line(chunk.text[start:end])
            if len(TOKEN.findall(text)) >= _FEWEST_WORDS and text not in found:
                span = Span(chunk.document_id, chunk.page, chunk.start + start, chunk.start + end)
                found[text] = Candidate(span, text)
    return list(found.values())[:_LOOKED_AT]


def word_overlap(
    question: str, passages: Sequence[Passage], found: Sequence[Candidate]
) -> list[float]:
    """For each sentence the share of the question's telling words that it holds, by rarity.

    A word that only stands in the heading or the document's name counts half: it says what the
    sentence is about."""
    held = [stems(c.text) for c in found]
    about = _context_words(passages)
    weight = rarity(telling(question), held)
    total = sum(weight.values())
    if not total:
        return [0.0] * len(found)
    return [
        sum(
            weight[w] * (1.0 if w in words else 0.5)
            for w in weight
            if w in words or w in about.get((c.span.document_id, c.span.page), ())
        )
        / total
        for c, words in zip(found, held, strict=True)
    ]


def _context_words(passages: Sequence[Passage]) -> dict[tuple[str, int], set[str]]:
    about: dict[tuple[str, int], set[str]] = {}
    for passage in passages:
        said = f"{passage.name} {passage.chunk.heading}"
        key = (passage.chunk.document_id, passage.chunk.page)
        about.setdefault(key, set()).update(stems(said))
    return about
