"""What is counted while the app runs, questions above all. Where nobody asked for figures, nothing
is counted; a question is traced and logged at its end all the same.

Who counts, and how it is shown, is in `prometheus.py`; those who have something to count call
`measures()` and know nothing of that."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rag_app.errors import QuestionError, QuotaReached, RagAppError
from rag_app.observing import logs, traces
from rag_app.types import Delta, Event, Finished, Sources

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LibraryFigures:
    """How a library stands now."""

    documents: dict[str, int] = field(default_factory=dict)  # how many, by `Status`
    answering: int = 0  # questions that are being answered


class Measures:
    """Counts nothing."""

    def question(self, outcome: str) -> None:
        """A question has ended: what its answer rests on, or `refused`, `failed`, `stopped`."""

    def seconds(self, until: str, seconds: float) -> None:
        """How long somebody waited for `sources`, the `first_word` or the `end` of an answer."""

    def embedded(self, texts: int, seconds: float) -> None:
        """So many passages got their vectors."""

    def failed(self, where: str, kind: str) -> None:
        """Something failed; `kind` is the code of an error."""

    def upload_refused(self, why: str) -> None:
        """A file was not taken; `why` is a code."""


_counting = Measures()


def measures() -> Measures:
    """Who counts in this process."""
    return _counting


def count_by(made: Measures) -> None:
    """From now on this one counts."""
    global _counting
    _counting = made


def observed(events: Iterator[Event], subject: str) -> Iterator[Event]:
    """The same events of a question that somebody asked."""
    watched = _Watched()
    whose = logs.opaque(subject)
    made = traces.over("question", events)
    try:
        while True:
            with logs.about(subject=whose), watched.making():
                event = next(made, None)
            if event is None:
                return
            watched.see(event)
            yield event
    finally:
        with logs.about(subject=whose):
            made.close()  # type: ignore[attr-defined]  # it is a generator
            watched.end()


class _Watched:
    """How far one question is."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._outcome = "stopped"
        self._told: set[str] = set()

    @contextmanager
    def making(self) -> Iterator[None]:
        """The next event is made inside."""
        before, self._outcome = self._outcome, "failed"
        try:
            yield
        except (QuestionError, QuotaReached):
            self._outcome = "refused"
            raise
        except RagAppError as error:
            measures().failed("question", error.code)
            raise
        self._outcome = before

    def see(self, event: Event) -> None:
        """It is given out."""
        match event:
            case Sources():
                self._tell("sources")
            case Delta():
                self._tell("first_word")
            case Finished(answer):
                self._tell("end")
                self._outcome = "not_found" if answer.abstained else str(answer.basis)

    def end(self) -> None:
        """No more events are made."""
        measures().question(self._outcome)
        took = round(time.perf_counter() - self._began, 3)
        log.info("question", extra={"facts": {"outcome": self._outcome, "seconds": took}})

    def _tell(self, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            measures().seconds(what, time.perf_counter() - self._began)
