"""Answers in a language that is not the question's: what asks for it, and who can do it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_app.answering.chat_generator import ChatGenerator
from rag_app.answering.extraction import QuoteGenerator, Reader
from rag_app.answering.generation import Cancelled, FollowUp, Generator, Piece, apart, pieces
from rag_app.retrieval.ranking import query_words, rarity
from rag_app.text.languages import (
    NAMES,
    STOP,
    compared,
    is_english,
    language,
    language_called,
    language_of_question,
    runs,
)
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Basis, Document, Draft, Note, NoteKind, Passage, Span

LANGUAGES = tuple(sorted(NAMES.values()))

_ASKS = r"(?:please\s+)?(?:answer|reply|respond|write)(?:\s+(?:me|it))?\s+in"
_FIRST = re.compile(rf"^\W*{_ASKS}\s+(\w+)\s*[:,.\-–—]?\s+(?=\S)", re.IGNORECASE)
_LAST = re.compile(  # where a clause begins: "do they have to write in English?" wishes for none
    rf"(?:[.?!,;:(–—\n]|\s-)[\s.?!,;(]*{_ASKS}\s+(\w+)(?:[\s,]+please)?\W*$", re.IGNORECASE
)
_OF_TASK = re.compile(
    r"\b(?:in|into|auf|ins|en|al)\s+(\w+)(?=\W*\Z|\s*[.,;:!?)]|\s+(\w+))", re.IGNORECASE
)
_INTO = re.compile(  # "in plain German"; "in der deutschen Fassung" says where something stands
    r"\b(?:into\s+the|in|into|to|auf|ins|en|al|a|vers)\s+(?:l[ae]\s+|l['’])?"
    r"(\w+)(?=(?:(?<=\w{4})\s+(\w+))?)",
    re.IGNORECASE,
)
_GOES_ON = STOP | {"please", "pls", "bitte", "por", "für", "von", "de", "para", "und", "y"}
_FIRST_WORD = re.compile(r"\w+")
_PLEASE = r"(?:please|pls|bitte|por\s+favor|s['’]il\s+(?:te|vous)\s+pla[iî]t)"
_WISH = re.compile(  # and nothing else: "Courses in French: …" is a topic
    rf"\W*(?:{_PLEASE}\W+)?(?:(?:answer|reply|respond|write|antworte|schreib|schreibe|responde|"
    r"contesta|escribe|réponds|répondez|écris|écrivez)\s+(?:(?:me|it|mir|es|moi)\s+)?)?"
    rf"(?:in|auf|en)\s+(\w+)(?:\W+{_PLEASE})?\W*",
    re.IGNORECASE,
)


def language_asked(said: str) -> tuple[str, str]:
    """(the question without the wish, the language it wishes for), the language empty if none.

    English: "Answer in German: …", "… Please reply in French."."""
    for pattern in (_FIRST, _LAST):
        found = pattern.search(said)
        if found and found.group(1).capitalize() in LANGUAGES:
            rest = said[: found.start()] + said[found.end() :]
            ended = said[found.start() : found.start() + 1]
            if pattern is _LAST and ended in ".?!":
                rest += ended
            return rest.strip(), found.group(1).capitalize()
    return said, ""


def language_before(question: str) -> tuple[str, str]:
    """The same of a question, in any language that is named with its preposition before a colon,
    where nothing else stands there: "auf Englisch bitte: wer zahlt?"."""
    head, _, rest = question.partition(": ")
    wish = _WISH.fullmatch(head)
    named = language_called(wish[1]) if wish and rest.strip() else ""
    return (rest.strip(), named) if named else (question, "")


def language_of_task(wish: str) -> str:
    """The language in which a summary or a draft is wished for, by its English name: "… in German",
    "… auf englisch"; empty if none. "In Spanish law" names none."""
    for found in reversed(list(_OF_TASK.finditer(wish))):
        if (named := language_called(found[1])) and (found[2] or "of").lower() in _GOES_ON:
            return named
    return ""


def language_into(wish: str) -> str:
    """The language into which something is to be translated, by its English name: the last one that
    the wish names as what it goes into before a text that it brings, or the one that it begins
    with ("German translation please"); empty if it names none."""
    found = reversed(_INTO.findall(wish.partition(": ")[0]))
    named = (
        language_called(word) or (language_called(after) if word.lower() not in STOP else "")
        for word, after in found
    )
    first = _FIRST_WORD.search(wish)
    return next(filter(None, named), "") or (language_called(first[0]) if first else "")


class InLanguage:
    """A generator whose answers are to be in one language, empty: the question's.

    A chat model is told so, and what was searched for beside the question; of the others, whose
    words are the documents' own, a note says that they cannot."""

    def __init__(
        self,
        generator: Generator,
        language: str,
        searched: str = "",
        follow_up: FollowUp | None = None,
    ) -> None:
        self.name = generator.name
        self._generator, self._language = generator, language
        self._searched, self._follow_up = searched, follow_up

    def warm(self) -> None:
        """Load what it needs now. Raises ModelUnavailable."""
        self._generator.warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield pieces, the last one with the draft. Raises ModelUnavailable."""
        if isinstance(self._generator, ChatGenerator):
            yield from self._generator.generate(
                question,
                passages,
                cancelled,
                self._language,
                self._searched,
                self._follow_up,
            )
            return
        if not self._language:
            yield from self._generator.generate(question, passages, cancelled)
            return
        note = Note(NoteKind.LANGUAGE_NEEDS_MODEL, (self._language,))
        for piece in self._generator.generate(question, passages, cancelled):
            draft = piece.draft
            if draft is not None and not draft.abstained:
                piece = replace(piece, draft=replace(draft, notes=(*draft.notes, note)))
            yield piece


# Answers where confidence cannot be judged: it was fitted on English questions and documents.
#
# A question in another language is answered by the sentences that hold most of its telling words,
# with even odds and a note that says so. The floors were measured (benchmarks/LOG.md).

EVEN_ODDS = 0.5
"""The confidence of what could not be judged; who asks for more gets no answer."""


_FLOOR, _FLOOR_OF_GRAMS = 0.4, 0.3  # share of the telling words that a sentence must hold
_BEGINNING = 5  # letters by which words of other languages are taken for the same
_MOST_SENTENCES, _MOST_QUOTES = 200, 3
_NEAR_THE_BEST = 0.8  # a further sentence is quoted if it holds at least this share of the best


class AnyLanguage:
    """A generator that was fitted on English, and what answers instead in other languages."""

    def __init__(self, fitted: Generator, caution: float) -> None:
        self._fitted, self._caution = fitted, caution

    @property
    def name(self) -> str:
        """Of the one that was fitted; it may have to be loaded to be told, so not before."""
        return self._fitted.name

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
    if not any(_foreign(p.chunk.text) for p in passages if any(p.chunk.holds(s) for s in spans)):
        return draft
    return replace(draft, confidence=EVEN_ODDS, notes=(*draft.notes, Note(NoteKind.NOT_ENGLISH)))


def by_words(question: str, passages: Sequence[Passage], caution: float) -> Draft:
    """The sentences that hold most of the question's telling words, or none."""
    ranked, floor = ranked_by_words(question, passages), _floor(question)
    best = ranked[0][0] if ranked else 0.0
    if best < floor or caution > EVEN_ODDS:
        return Draft(
            (), (), min(best, EVEN_ODDS), abstained=True, notes=(Note(NoteKind.FOUND_BY_WORDS),)
        )
    least = max(floor, best * _NEAR_THE_BEST)
    quoted = [(span, text) for share, span, text in ranked[:_MOST_QUOTES] if share >= least]
    return Draft(
        sentences=apart([text for _, text in quoted]),
        evidence=tuple((span,) for span, _ in quoted),
        confidence=EVEN_ODDS,
        short_answer=quoted[0][1],
        notes=(Note(NoteKind.FOUND_BY_WORDS),),
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


# A question in another language than the documents: what is said, and what to try. Pure.

_MOST_NAMED = 2  # languages
_FEWEST = 3  # words


def documents_in_other_language(
    question: str, documents: Sequence[Document], english: bool
) -> Note | None:
    """A note if a question is in English and no document is, or the other way round.

    Else none: kindred languages are taken for each other in a few words. `english`: the model that
    finds by meaning knows no other language."""
    weights = _languages(documents)
    in_english = is_english(question)
    if in_english and len(question.split()) < _FEWEST:  # so little is taken for English
        return None
    if not weights or ("en" in weights if in_english else weights.keys() != {"en"}):
        return None
    held = sorted(weights, key=lambda code: (-weights[code], code))[:_MOST_NAMED]
    asked = "en" if in_english else language(question)
    by_meaning = "" if english else "by meaning"
    return Note(NoteKind.OTHER_LANGUAGE, (asked if asked in NAMES else "", by_meaning, *held))


def _languages(documents: Sequence[Document]) -> dict[str, int]:
    """How much of the documents is in each language that is known."""
    weights: dict[str, int] = {}
    for document in documents:
        if document.language in NAMES:
            weights[document.language] = weights.get(document.language, 0) + document.chunks
    return weights


def language_to_search_in(question: str, documents: Sequence[Document]) -> str:
    """The language of most documents by its English name; empty if the question is in it."""
    weights = _languages(documents)
    asked = language_of_question(question)
    most = max(weights, key=lambda code: weights[code], default=asked)
    return "" if most == asked or len(question.split()) < _FEWEST else NAMES[most]


def said_so(draft: Draft, apart: Note | None) -> Draft:
    """An abstention that quotes nothing, with a note on what to try."""
    if not (apart and draft.abstained and draft.basis is Basis.EXTRACTED):
        return draft
    notes = tuple(note for note in draft.notes if note.kind is not NoteKind.FOUND_BY_WORDS)
    return replace(draft, notes=(*notes, apart))
