"""Figures as Prometheus reads them. Its package is imported only where they are wanted.

Labels are words of ours alone: outcomes, codes of errors, states. They never grow with documents,
people or questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from rag_app.errors import SettingsError
from rag_app.observing.measures import LibraryFigures, Measures

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
