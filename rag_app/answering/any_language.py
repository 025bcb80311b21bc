"""Answers where confidence cannot be judged: it was fitted on English questions and documents.

A question in another language is answered by the sentences that hold most of its telling words,
with even odds and a note that says so. The floors were measured (benchmarks/LOG.md). So is the mere
name of a thing in English, where the fitted generator finds nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_app.answering.defining import said_of
from rag_app.answering.generator import Cancelled, Generator, Piece, apart, pieces
from rag_app.answering.quotes import QuoteGenerator
from rag_app.answering.reader import Reader
from rag_app.answering.words import rarity
from rag_app.retrieval import query_words
from rag_app.text.any_script import compared, runs
from rag_app.text.languages import is_english, language
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Draft, Passage, Span

EVEN_ODDS = 0.5
"""The confidence of what could not be judged; who asks for more gets no answer."""

BY_WORDS = "Found by words: I cannot judge answers in this language."
OTHER_SOURCE = "What is quoted is not in English: I cannot judge how well it answers."

_FLOOR, _FLOOR_OF_GRAMS = 0.4, 0.3  # share of the telling words that a sentence must hold
_BEGINNING = 5  # letters by which words of other languages are taken for the same
_MOST_SENTENCES, _MOST_QUOTES = 200, 3
_NEAR_THE_BEST = 0.8  # a further sentence is quoted if it holds at least this share of the best


class AnyLanguage:
    """A generator that was fitted on English, and what answers instead in other languages."""

    def __init__(self, fitted: Generator, caution: float) -> None:
        self.name = fitted.name
        self._fitted, self._caution = fitted, caution

    def warm(self) -> None:
        """Load what it needs now. Raises ModelUnavailable."""
        self._fitted.warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield pieces, the last one with the draft. Raises ModelUnavailable."""
        if not is_english(question):
            yield from pieces(by_words(question, passages, self._caution))
            return
        for piece in self._fitted.generate(question, passages, cancelled):
            if piece.draft and piece.draft.abstained and self._caution <= EVEN_ODDS:
                said = said_of(question, passages, EVEN_ODDS)
                yield from pieces(said or piece.draft)
            else:
                yield Piece(piece.text, piece.draft and judged(piece.draft, passages))


def in_any_language(generator: Generator, caution: float) -> Generator:
    """The generator; with what answers in other languages if it was fitted on English."""
    if isinstance(generator, QuoteGenerator | Reader):
        return AnyLanguage(generator, caution)
    return generator


def judged(draft: Draft, passages: Sequence[Passage]) -> Draft:
    """The draft, with even odds at most if what it rests on is not in English."""
    if draft.abstained or draft.confidence <= EVEN_ODDS:
        return draft
    spans = [span for evidence in draft.evidence for span in evidence]
    if not any(_foreign(p.chunk.text) for p in passages if any(_holds(p, s) for s in spans)):
        return draft
    return replace(draft, confidence=EVEN_ODDS, notes=(*draft.notes, OTHER_SOURCE))


def by_words(question: str, passages: Sequence[Passage], caution: float) -> Draft:
    """The sentences that hold most of the question's telling words, or none."""
    ranked, floor = ranked_by_words(question, passages), _floor(question)
    best = ranked[0][0] if ranked else 0.0
    if best < floor or caution > EVEN_ODDS:
        return Draft((), (), min(best, EVEN_ODDS), abstained=True, notes=(BY_WORDS,))
    least = max(floor, best * _NEAR_THE_BEST)
    quoted = [(span, text) for share, span, text in ranked[:_MOST_QUOTES] if share >= least]
    return Draft(
        sentences=apart([text for _, text in quoted]),
        evidence=tuple((span,) for span, _ in quoted),
        confidence=EVEN_ODDS,
        short_answer=quoted[0][1],
        notes=(BY_WORDS,),
    )


def ranked_by_words(question: str, passages: Sequence[Passage]) -> list[tuple[float, Span, str]]:
    """(share of the telling words, place, text) of every sentence, the best first."""
    found = _sentences(passages)
    held = [_keys(text) for _, text in found]
    weight = rarity(_keys(" ".join(query_words(question)[0])), held)
    total = sum(weight.values())
    shares = [sum(w for key, w in weight.items() if key in keys) for keys in held]
    scored = [(s / total, *one) for s, one in zip(shares, found, strict=True)] if total else []
    return sorted(scored, key=lambda one: -one[0])


def _sentences(passages: Sequence[Passage]) -> list[tuple[Span, str]]:
    found: dict[str, Span] = {}
    for passage in passages:
        chunk = passage.chunk
        for start, end in sentences(chunk.text):
            text = one_line(chunk.text[start:end])
            if len(compared(text)) > 1:
                span = Span(chunk.document_id, chunk.page, chunk.start + start, chunk.start + end)
                found.setdefault(text, span)
    return [(span, text) for text, span in found.items()][:_MOST_SENTENCES]


def _keys(text: str) -> set[str]:
    return {word[:_BEGINNING] for word in compared(text)}


def _floor(question: str) -> float:
    """Pairs of characters are found by chance less often than words are."""
    cut = sum(len(run.grams) for run in runs(question) if not run.open)
    return _FLOOR_OF_GRAMS if 2 * cut > len(compared(question)) else _FLOOR


def _foreign(text: str) -> bool:
    return not is_english(text) and language(text) not in ("", "en")


def _holds(passage: Passage, span: Span) -> bool:
    chunk = passage.chunk
    same = (chunk.document_id, chunk.page) == (span.document_id, span.page)
    return same and chunk.start <= span.start and span.end <= chunk.end
