"""What is counted while the app runs, questions above all. Where nobody asked for figures, nothing
is counted; a question is traced and logged at its end all the same.

Those who have something to count call `measures()`, and know nothing of who counts, nor of how it
is shown."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rag_app.errors import QuestionError, QuotaReached, RagAppError, SettingsError
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


# Figures as Prometheus reads them. Its package is imported only where they are wanted.
#
# Labels are words of ours alone: outcomes, codes of errors, states. They never grow with documents,
# people or questions.

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Histogram
    from prometheus_client.core import Metric

_MISSING = "RAG_APP_METRICS needs a package that is not installed: pip install 'rag-app[cluster]'"
_ANSWERS = (0.1, 0.25, 0.5, 1, 2, 3, 5, 8, 13, 20, 30, 60, 120)  # seconds
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class PrometheusMeasures(Measures):
    """Counts, in a registry of its own; `library` gives how that stands, None while none is open.

    Raises SettingsError where the package is not there."""

    def __init__(self, library: Callable[[], LibraryFigures | None]) -> None:
        if find_spec("prometheus_client") is None:
            raise SettingsError(_MISSING)
        from prometheus_client import (
            CollectorRegistry,
            Counter,
            GCCollector,
            PlatformCollector,
            ProcessCollector,
        )

        self._registry = registry = CollectorRegistry()
        for collector in (GCCollector, PlatformCollector, ProcessCollector):
            collector(registry=registry)
        self._questions = Counter(
            "rag_app_questions", "Questions by how they ended", ["outcome"], registry=registry
        )
        self._waits = self._until(registry)
        self._texts = Counter(
            "rag_app_embedded_texts", "Passages that got their vectors", registry=registry
        )
        self._embedding = Counter(
            "rag_app_embedding_seconds", "Seconds that took", registry=registry
        )
        self._errors = Counter(
            "rag_app_errors", "Failures by where and by code", ["where", "type"], registry=registry
        )
        self._refused = Counter(
            "rag_app_uploads_refused", "Files not taken, by code", ["why"], registry=registry
        )
        registry.register(_Standing(library))

    @staticmethod
    def _until(registry: CollectorRegistry) -> dict[str, Histogram]:
        """By what a question waits for: how long."""
        from prometheus_client import Histogram

        return {
            until: Histogram(
                f"rag_app_{until}_seconds", f"Seconds from a question to {said}",
                buckets=_ANSWERS, registry=registry,
            )
            for until, said in (
                ("sources", "its sources"),
                ("first_word", "the first word of its answer"),
                ("end", "the end of its answer"),
            )
        }  # fmt: skip

    def question(self, outcome: str) -> None:
        """One more."""
        self._questions.labels(outcome).inc()

    def seconds(self, until: str, seconds: float) -> None:
        """One more wait."""
        self._waits[until].observe(seconds)

    def embedded(self, texts: int, seconds: float) -> None:
        """So many more."""
        self._texts.inc(texts)
        self._embedding.inc(seconds)

    def failed(self, where: str, kind: str) -> None:
        """One more."""
        self._errors.labels(where, kind).inc()

    def upload_refused(self, why: str) -> None:
        """One more."""
        self._refused.labels(why).inc()

    def written(self) -> bytes:
        """All figures, as text."""
        from prometheus_client import generate_latest

        return generate_latest(self._registry)


class _Standing:
    """How the library stands when it is asked: a collector of prometheus_client."""

    def __init__(self, library: Callable[[], LibraryFigures | None]) -> None:
        self._library = library

    def collect(self) -> Iterator[Metric]:
        """What there is to say of it; nothing while it is not open."""
        from prometheus_client.core import GaugeMetricFamily

        now = self._library()
        if now is None:
            return
        states = GaugeMetricFamily(
            "rag_app_documents", "Documents by state; all but ready and failed wait for work",
            labels=["state"],
        )  # fmt: skip
        for state, number in now.documents.items():
            states.add_metric([state], number)
        yield states
        yield GaugeMetricFamily(
            "rag_app_answering", "Questions that are being answered", value=now.answering
        )

    def describe(self) -> list[Metric]:
        """Nothing beforehand: the library is opened by nobody's looking at figures."""
        return []
