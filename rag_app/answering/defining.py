"""What is said of a thing by name, where the reader finds no answer. Pure; English.

"What is the technology acceptance model?", or "warranty" alone, asks for no few words that could be
marked: it is answered by sentences that are about the thing, which name it before their verb."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rag_app.answering.generator import apart
from rag_app.answering.words import TOKEN, stem, telling
from rag_app.answering.worth import tells
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Draft, Passage, Span

SAID_OF_IT = "No sentence says it in so many words; this is what is said of it."

_OF_ONE = re.compile(
    r"\W*(?:please\s+)?(?:(?:what|who)(?:['’]s|\s+is|\s+are)|define|explain|describe)\s+"
    r"(?:(?:an?|the|our|your)\s+)?(?P<thing>[\w'’& -]+?)\W*",
    re.IGNORECASE,
)
_WORD_ALONE = re.compile(r"\W*(?:(?:an?|the)\s+)?(?P<thing>[\w'’& -]+?)[\s.!?]*", re.IGNORECASE)
_NO_NAME = re.compile(
    r"\b(?:of|in|on|at|for|to|from|by|with|about|than|and|or|that|which|who|what|why|when|where|how|is|are|was"
    r"|were|do|does|did|has|have|had|can|could|will|would|should|called|used|made|known|it|its|this"
    r"|these|those|they|their|he|she|his|her|you|your|i|my|we|our|one|first|last|most|\w+est)\b"
    r"|['’]s\b",
    re.IGNORECASE,
)
_LONGEST = 120  # characters
_MOST_WORDS = 4  # of the thing
_MOST_QUOTES = 2


def thing(question: str) -> str:
    """The thing that a question is only the name of; empty if it asks for more."""
    if len(question) > _LONGEST:
        return ""
    found = _OF_ONE.fullmatch(question) or _WORD_ALONE.fullmatch(question)
    named = found["thing"] if found else ""
    plain = named and not _NO_NAME.search(named) and len(named.split()) <= _MOST_WORDS
    return named if plain and telling(named) else ""


def said_of(question: str, passages: Sequence[Passage], confidence: float) -> Draft | None:
    """The sentences that are about the thing a question names; None if there are none."""
    named = thing(question)
    wanted = {stem(word) for word in TOKEN.findall(named.lower())}
    found: dict[str, Span] = {}
    for passage in passages if named else ():
        chunk = passage.chunk
        for start, end in sentences(chunk.text):
            text = one_line(chunk.text[start:end])
            if len(found) < _MOST_QUOTES and tells(text) == 1.0 and _is_about(text, wanted):
                span = Span(chunk.document_id, chunk.page, chunk.start + start, chunk.start + end)
                found.setdefault(text, span)
    if not found:
        return None
    return Draft(
        sentences=apart(list(found)),
        evidence=tuple((span,) for span in found.values()),
        confidence=confidence,
        notes=(SAID_OF_IT,),
    )


def _is_about(sentence: str, wanted: set[str]) -> bool:
    """Whether a sentence begins with the thing: its words, and one more at most."""
    opening = TOKEN.findall(sentence.lower())[: len(wanted) + 1]
    return wanted <= set(map(stem, opening))
