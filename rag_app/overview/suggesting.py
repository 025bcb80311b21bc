"""Questions that a document may be able to answer, made of its own sentences and headings. Pure.

Whether it really answers them has to be tried by asking; each comes with the place where the answer
should be found."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rag_app.overview.question_forms import question_of
from rag_app.overview.report_forms import reported
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Chunk, Heading, Span

_LOOKED_AT = 1_200  # chunks; of a longer document every n-th
_OF_A_KIND = 6
_SMALL = re.compile(r"(?<=[a-z,] )[a-z]{3,}\b")
_NAMED = re.compile(r"(?<=[a-z,] )[A-Z][\w’'&.-]*")
_TITLE = re.compile(
    r"(?!(?:In|On|At|By|For|From|To|With|How|What|Why|When|Where|Who)\b)"
    r"[A-Z][A-Za-z’'-]+(?: [A-Za-z’'-]+){1,6}"
)
_EMPTY_TITLE = re.compile(
    r"(?i)\b(?:contents|introduction|conclusion|summary|appendix|part|item|note|index|preface|"
    r"references|bibliography|section|chapter|page|table|figure|exhibit|schedule|signatures?)\b"
)
DRY = "subject"  # the kind that is good to check with; nobody would ask like that
# Which kinds of questions people like best; the first that can be answered are shown.
_ORDER = (
    "cost", "count", "date", "how often", "reason", "how long", "sum", "who", "change", "where",
    "what", DRY, "heading",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A question, and the place that should answer it."""

    question: str
    kind: str
    place: Span


def suggestions(chunks: Sequence[Chunk], headings: Sequence[Heading]) -> list[Suggestion]:
    """Questions of all kinds, the most promising first, no two of a kind in a row if it can be."""
    read = chunks[:: max(1, -(-len(chunks) // _LOOKED_AT))]
    by_kind: dict[str, list[Suggestion]] = defaultdict(list)
    seen: set[str] = set()
    for one in (*_of_sentences(read), *_of_headings(chunks, headings)):
        if one.question not in seen and len(by_kind[one.kind]) < _OF_A_KIND:
            seen.add(one.question)
            by_kind[one.kind].append(one)
    rounds = range(max(map(len, by_kind.values()), default=0))
    return [by_kind[k][n] for n in rounds for k in _ORDER if n < len(by_kind.get(k, ()))]


def _of_sentences(chunks: Sequence[Chunk]) -> Iterator[Suggestion]:
    whole = [one_line(chunk.text) for chunk in chunks]
    small = _all(_SMALL, whole)
    names = _all(_NAMED, whole)
    for chunk in chunks:
        for start, end in sentences(chunk.text):
            said = one_line(chunk.text[start:end])
            form = question_of(said, small, names) or reported(said, small, names)
            if form:
                place = Span(chunk.document_id, chunk.page, chunk.start + start, chunk.start + end)
                yield Suggestion(form.question, form.kind, place)


def _all(pattern: re.Pattern[str], texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in pattern.findall(text)}


def _of_headings(chunks: Sequence[Chunk], headings: Sequence[Heading]) -> Iterator[Suggestion]:
    """What does it say about this section? Answered by any sentence of it."""
    whole = [one_line(chunk.text) for chunk in chunks[:200]]
    small, names = _all(_SMALL, whole), _all(_NAMED, whole)
    for heading in headings:
        title = " ".join(heading.text.split())
        if not _TITLE.fullmatch(title) or _EMPTY_TITLE.search(title):
            continue
        own = [c for c in chunks if c.page == heading.page and c.end > heading.start]
        if own:
            place = Span(own[0].document_id, heading.page, heading.start, own[-1].end)
            yield Suggestion(
                f"What does it say about {_inside(title, small, names)}?", "heading", place
            )


def _inside(title: str, small: set[str], names: set[str]) -> str:
    """A title inside a sentence: words that the document writes small are small."""
    first, *others = title.split()
    calm = first if first in names or first.isupper() else first.lower()
    return " ".join([calm, *(word.lower() if word.lower() in small else word for word in others)])
