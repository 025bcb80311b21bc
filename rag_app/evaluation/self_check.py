"""“Check my library”: questions made of a user's own documents, asked, and what came of each.

Beside them are questions that nothing in the library answers. Knows nothing of words for people and
nothing of the page; keeps no text of a document beside the questions that were made of it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from rag_app.answering.ask_options import DEFAULT_OPTIONS, AskOptions
from rag_app.errors import QuestionError, UnknownDocument
from rag_app.evaluation.made_questions import Made, answerable, unanswerable
from rag_app.evaluation.metrics import quantile
from rag_app.evaluation.runner import is_verbatim
from rag_app.library import Library
from rag_app.types import Answer, Citation, Finished, Passage, Span, askable

FIRST = 5  # pages that a person looks at
_MADE = 24  # questions that the documents answer
_EMPTY = 8  # questions that nothing answers
_LOOKED_THROUGH = 30  # passages, when the document alone is searched

Progress = Callable[[int, int], None]
"""Questions done, of how many; 0 of 0 while they are being made."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One question and what came of it.

    `place` is where the answer stands, None if nowhere. `rank`: of its page among the pages found,
    from 1; `rank_alone`: the same when only its document was searched, looked at for a miss."""

    question: str
    about: str | None  # id of the document it was made of
    ticked: bool  # asked of that document alone, because others could be meant
    place: Span | None
    rank: int | None
    rank_alone: int | None
    answered: bool
    right: bool  # a quote from the place; or silence where nothing is to be said
    quoted: Span | None  # the first quote of the answer
    seconds: float

    @property
    def found(self) -> bool:
        """Whether its page was among the first that a person looks at."""
        return self.rank is not None and self.rank <= FIRST

    @property
    def found_alone(self) -> bool:
        """Whether ticking its document would have helped."""
        return not self.found and self.rank_alone is not None and self.rank_alone <= FIRST


@dataclass(frozen=True, slots=True)
class Check:
    """How a library did."""

    tried: tuple[Tried, ...] = ()
    quotes: int = 0
    verbatim: int = 0
    documents: int = 0  # that could be asked
    at: str = ""  # ISO 8601, UTC
    seconds: float = 0.0  # all of it
    generator: str = ""  # who answered

    @property
    def known(self) -> list[Tried]:
        """Questions that the documents answer."""
        return [one for one in self.tried if one.place is not None]

    @property
    def empty(self) -> list[Tried]:
        """Questions that nothing answers."""
        return [one for one in self.tried if one.place is None]

    @property
    def missed(self) -> list[Tried]:
        """What did not go well, for a person to look at."""
        return [one for one in self.tried if not one.right]

    @property
    def usual_seconds(self) -> float:
        """How long an answer took, as a rule."""
        return quantile([one.seconds for one in self.tried], 0.5) or 0.0


def check(
    library: Library,
    made: int = _MADE,
    empty: int = _EMPTY,
    manner: AskOptions = DEFAULT_OPTIONS,
    progress: Progress = lambda *_: None,
    stop: threading.Event | None = None,
) -> Check | None:
    """Ask `made` questions that the documents answer and `empty` that nothing answers, and keep
    what came of it in the library; None if it was stopped."""
    stop, began = stop or threading.Event(), time.monotonic()
    documents = [document for document in library.documents() if askable(document)]
    progress(0, 0)
    asked = answerable(library, documents, made, stop.is_set)
    asked += unanswerable(library, asked, empty) if asked else []
    tried: list[Tried] = []
    quotes: list[Citation] = []
    for done, one in enumerate(asked):
        progress(done, len(asked))
        answer = None if stop.is_set() else _answer(library, one, manner, stop)
        if answer is not None:
            tried.append(_tried(library, one, answer))
            quotes += answer.citations
    if stop.is_set():
        return None
    found = Check(
        tuple(tried),
        len(quotes),
        sum(is_verbatim(library, citation) for citation in quotes),
        len(documents),
        datetime.now(UTC).isoformat(timespec="seconds"),
        time.monotonic() - began,
        manner.generator or library.settings.answers_by,
    )
    keep(library, found)
    return found


def keep(library: Library, found: Check) -> None:
    """Keep a check in place of the one before."""
    about = asdict(replace(found, tried=()))
    rows = [(one.about, json.dumps(asdict(one), ensure_ascii=False)) for one in found.tried]
    library.checks.save(json.dumps(about), rows)


def last(library: Library) -> Check | None:
    """The check that was kept, without what was asked of documents that are gone."""
    kept = library.checks.get()
    if kept is None:
        return None
    about = json.loads(kept[0])
    return Check(**(about | {"tried": tuple(_read(json.loads(row)) for row in kept[1])}))


def _read(row: dict[str, Any]) -> Tried:
    for name in ("place", "quoted"):
        row[name] = Span(**row[name]) if row[name] else None
    return Tried(**row)


def _answer(
    library: Library, one: Made, manner: AskOptions, stop: threading.Event
) -> Answer | None:
    """None if it was stopped, or the document has been removed meanwhile."""
    try:
        for event in library.ask(
            one.question,
            [one.only] if one.only else None,
            stop,
            manner.generator,
            caution=manner.caution,
            top_k=manner.top_k,
        ):
            if isinstance(event, Finished):
                return event.answer
    except (QuestionError, UnknownDocument):
        return None
    return None


def _tried(library: Library, one: Made, answer: Answer) -> Tried:
    place = one.place
    rank = _rank(answer.passages, place) if place else None
    alone = None
    if place and one.only is None and (rank is None or rank > FIRST):
        found = library.search(one.question, _LOOKED_THROUGH, [place.document_id])
        alone = _rank(found, place)
    if place is None:
        right = answer.abstained
    else:
        right = not answer.abstained and any(_touches(c, place) for c in answer.citations)
    first = None if answer.abstained else next(iter(answer.citations), None)
    return Tried(
        question=one.question,
        about=one.about,
        ticked=one.only is not None,
        place=place,
        rank=rank,
        rank_alone=alone,
        answered=not answer.abstained,
        right=right,
        quoted=Span(first.document_id, first.page, first.start, first.end) if first else None,
        seconds=answer.seconds.retrieve + answer.seconds.answer,
    )


def _rank(passages: Sequence[Passage], place: Span) -> int | None:
    pages = list(dict.fromkeys((p.chunk.document_id, p.chunk.page) for p in passages))
    here = (place.document_id, place.page)
    return pages.index(here) + 1 if here in pages else None


def _touches(citation: Citation, place: Span) -> bool:
    same = (citation.document_id, citation.page) == (place.document_id, place.page)
    return same and citation.start < place.end and place.start < citation.end
