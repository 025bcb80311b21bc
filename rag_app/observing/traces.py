"""Spans of OpenTelemetry, where they are wanted: what a question or a document spends its time on.

Without `RAG_APP_TRACES=otlp` nothing of OpenTelemetry is imported here, and a span is nothing. No
span holds a name, a text or a message of an error: ids, counts and codes only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from rag_app.errors import SettingsError
from rag_app.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_MISSING = (
    "RAG_APP_TRACES=otlp needs packages that are not installed: pip install 'rag-app[cluster]'"
)
_NAMES = "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"
_tracers: list[Tracer] = []  # the one, if there is one
_END = object()

T = TypeVar("T")


def set_up(settings: Settings) -> None:
    """Send spans where OpenTelemetry's own environment says (OTEL_EXPORTER_OTLP_ENDPOINT …), if
    the settings want them; twice is once. Raises SettingsError if packages are missing."""
    if settings.traces == "off" or _tracers:
        return
    try:
        missing = not all(map(find_spec, _NAMES))
    except ModuleNotFoundError:  # a package above it is not there
        missing = True
    if missing:
        raise SettingsError(_MISSING)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = Resource({"service.name": "rag-app"}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=named)  # it sends what is left when the process ends
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _tracers.append(provider.get_tracer("rag_app"))


@contextmanager
def span(name: str, **facts: str | int) -> Iterator[None]:
    """What is done inside is a span, under the one that is open in this thread."""
    if not _tracers:
        yield
        return
    made = _tracers[0].start_span(name, attributes=facts)
    try:
        with _inside(made):
            yield
    finally:
        made.end()


def over(name: str, made: Iterator[T]) -> Iterator[T]:
    """The same items; making them is a span. Each may be made in another thread."""
    if not _tracers:
        yield from made
        return
    opened = _tracers[0].start_span(name)
    try:
        while True:
            with _inside(opened):
                item = next(made, _END)
            if item is _END:
                return
            yield item  # type: ignore[misc]  # it is no end
    finally:
        close = getattr(made, "close", None)
        if close is not None:
            close()
        opened.end()


@contextmanager
def _inside(made: Span) -> Iterator[None]:
    """What goes wrong inside marks the span, by its kind alone: messages name documents."""
    from opentelemetry.trace import StatusCode, use_span

    well = False
    try:
        with use_span(made, record_exception=False, set_status_on_exception=False):
            yield
        well = True
    finally:
        if not well:
            made.set_status(StatusCode.ERROR)
