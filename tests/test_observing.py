"""Figures, lines of the log and traces: what they say, what they never say; and they are off."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import anyio
import pytest

from rag_app.environment import child_environment
from rag_app.errors import LimitReached, QuestionError, SettingsError
from rag_app.library import Library
from rag_app.observing import logs, measures, traces
from rag_app.observing.measures import PrometheusMeasures, observed
from rag_app.scope import OWN
from rag_app.server.desk import Desk
from rag_app.settings import Settings
from rag_app.types import Answer, Basis, Delta, Finished, Sources, Status, Timing
from tests.fakes import WordEmbedder

SECRET = "a" * 32


@pytest.fixture
def counting() -> Iterator[PrometheusMeasures]:
    before = measures.measures()
    standing = measures.LibraryFigures({"ready": 3, "received": 1}, 2)
    made = PrometheusMeasures(lambda: standing)
    measures.count_by(made)
    yield made
    measures.count_by(before)


def figures(counting: PrometheusMeasures) -> dict[str, float]:
    lines = [one for one in counting.written().decode().splitlines() if not one.startswith("#")]
    return {name: float(value) for name, _, value in (one.rpartition(" ") for one in lines)}


def an_answer(abstained: bool = False) -> Answer:
    basis = Basis.NONE if abstained else Basis.EXTRACTED
    return Answer("q", "a", "", abstained, 0.5, "reader", (), (), Timing(0, 0), basis=basis)


def test_questions_are_counted_by_how_they_end_and_timed(counting):
    list(observed(iter([Sources(()), Delta("a"), Finished(an_answer())]), ""))
    list(observed(iter([Sources(()), Finished(an_answer(abstained=True))]), ""))
    stopped = observed(iter([Sources(()), Delta("a")]), "")
    next(stopped)
    stopped.close()

    def failing(error: Exception):
        yield Sources(())
        raise error

    for error in (QuestionError("empty"), LimitReached("long")):
        with pytest.raises(type(error)):
            list(observed(failing(error), ""))
    found = figures(counting)
    ended = {o: found[f'rag_app_questions_total{{outcome="{o}"}}'] for o in
             ("extracted", "not_found", "stopped", "refused", "failed")}  # fmt: skip
    assert set(ended.values()) == {1.0}
    assert found["rag_app_sources_seconds_count"] == 5
    assert found["rag_app_first_word_seconds_count"] == 1
    assert found["rag_app_end_seconds_count"] == 2
    assert found[f'rag_app_errors_total{{type="{LimitReached.code}",where="question"}}'] == 1


def test_the_library_the_process_and_all_else_are_figures(counting):
    counting.embedded(256, 2.0)
    counting.upload_refused("quota")
    found = figures(counting)
    assert found['rag_app_documents{state="ready"}'] == 3
    assert found["rag_app_answering"] == 2
    assert found["rag_app_embedded_texts_total"] == 256
    assert found["rag_app_embedding_seconds_total"] == 2
    assert found['rag_app_uploads_refused_total{why="quota"}'] == 1
    assert sys.platform != "linux" or found["process_resident_memory_bytes"] > 0


def test_a_library_counts_what_it_does_and_names_nobody(counting, tmp_path):
    settings = Settings.load(data_dir=tmp_path / "data", max_file_mb=1, generator="quotes")
    with Library(settings, embedder=WordEmbedder()) as library:
        added = library.add("Zebrafish.txt", b"The ferry costs four euros.").document
        library.wait([added.id], 60)
        with pytest.raises(LimitReached):
            library.add("Okapi.txt", b"x" * (2 << 20))
        list(library.ask("What does the ferry cost?"))
        assert library.figures() == measures.LibraryFigures({str(Status.READY): 1}, 0)
        said = counting.written().decode()
    found = figures(counting)
    assert found["rag_app_embedded_texts_total"] == 1
    assert found[f'rag_app_uploads_refused_total{{why="{LimitReached.code}"}}'] == 1
    assert sum(v for k, v in found.items() if k.startswith("rag_app_questions_total")) == 1
    assert not [word for word in ("Zebrafish", "Okapi", "ferry", added.id) if word in said]


@pytest.fixture
def lines(monkeypatch):
    """A logger that writes as JSON, and a function that reads what was written."""
    stream, ours = io.StringIO(), logging.getLogger("rag_app")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonLines())
    monkeypatch.setattr(ours, "handlers", [handler])
    monkeypatch.setattr(ours, "propagate", False)
    before = ours.level
    ours.setLevel(logging.INFO)  # forgets what it knew of levels
    yield (
        logging.getLogger("rag_app.tests"),
        lambda: [json.loads(one) for one in stream.getvalue().splitlines()],
    )
    ours.setLevel(before)


def test_a_line_is_one_object_whatever_is_in_it(lines):
    logger, written = lines
    with logs.about(request="abc", subject=logs.opaque("ann@example.org")):
        logger.warning("torn\n\u2028“%s”", "x")
        try:
            raise ValueError("two\nlines")
        except ValueError:
            logger.exception("it failed", extra={"facts": {"seconds": 1.5}})
    logger.info("afterwards")
    first, second, third = written()
    assert first["event"] == "torn\n\u2028“x”"
    assert first["request"] == "abc" and first["level"] == "warning"
    assert first["subject"] and "ann" not in json.dumps(first)
    assert first["time"].endswith("Z")
    assert "ValueError: two\nlines" in second["trace"] and second["seconds"] == 1.5
    torn = logging.LogRecord("a", logging.INFO, "", 1, "\udc80", (), None)
    assert logs.JsonLines().format(torn).isascii()
    assert third["request"] is None and third["subject"] is None


def test_a_subject_is_the_same_word_in_all_processes_with_the_same_secret():
    before = logs._key[0]
    try:
        logs.set_up(Settings.load(cookie_secret=SECRET))
        one = logs.opaque("ann")
        logs._key[0] = b"other"
        assert logs.opaque("ann") != one != logs.opaque("bob")
        logs.set_up(Settings.load(cookie_secret=SECRET))
        assert logs.opaque("ann") == one and logs.opaque("") == ""
    finally:
        logs._key[0] = before


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "a\nb", "é", '{"'])
def test_an_id_that_cannot_be_written_down_is_replaced(given):
    assert logs.request_id(given) != given and len(logs.request_id(given)) == 16
    assert logs.request_id("01-abc.DEF_9:x") == "01-abc.DEF_9:x"


def test_the_lines_of_a_question_have_its_request_and_whom_it_is_of(lines):
    _, written = lines
    with logs.about(request="r1"):
        list(observed(iter([Finished(an_answer())]), "ann"))
    [line] = written()
    assert line["event"] == "question" and line["outcome"] == "extracted"
    assert line["request"] == "r1" and line["subject"] == logs.opaque("ann")


def test_an_answer_of_the_page_has_an_id_that_begins_with_its_connections(lines):
    from rag_app.ui.live_answer import Generation

    logger, written = lines

    def events(_stop: threading.Event, _told):
        logger.info("inside")
        yield Sources(())

    with logs.about(request="page1"):
        assert Generation(events).wait(10)
    assert written()[0]["request"].startswith("page1-")


def test_an_answer_of_the_api_has_the_id_of_its_request(lines):
    logger, written = lines

    class AnyLibrary:
        def scoped(self, _scope: object) -> AnyLibrary:
            return self

    def ask(_library: object, _stop: threading.Event) -> Iterator[object]:
        logger.info("begun")
        yield Sources(())
        logger.info("ended")

    async def take(_event: object) -> None:
        """Nothing to do with it."""

    async def request() -> None:
        with logs.about(request="api-1"):
            await Desk(AnyLibrary).answer(OWN, ask, take)

    anyio.run(request)
    assert [(one["event"], one["request"]) for one in written()] == [
        ("begun", "api-1"),
        ("ended", "api-1"),
    ]


def test_the_steps_of_a_document_and_of_a_question_are_spans_without_a_word_of_theirs(
    tmp_path, monkeypatch
):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    kept, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    monkeypatch.setattr(traces, "_tracers", [provider.get_tracer("tests")])
    settings = Settings.load(data_dir=tmp_path / "data", generator="quotes")
    with Library(settings, embedder=WordEmbedder()) as library:
        added = library.add("Zebrafish.txt", b"The ferry costs four euros.").document
        library.wait([added.id], 60)
        list(library.ask("What does the ferry cost?"))
    spans = kept.get_finished_spans()
    parents = {one.context.span_id: one.name for one in spans}
    found = {(parents.get(one.parent.span_id) if one.parent else "", one.name) for one in spans}
    assert found == {
        *(("", "document"), ("document", "read"), ("document", "chunk"), ("document", "embed")),
        *(("", "question"), ("question", "search"), ("question", "ranking")),
        ("question", "writing"),
    }
    said = " ".join(one.to_json() for one in spans)
    assert added.id in said and "Zebrafish" not in said and "ferry" not in said


class _Collector(BaseHTTPRequestHandler):
    got: list[bytes]

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def do_POST(self) -> None:
        self.got.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


TRACED = """
import gzip, sys
from rag_app.settings import Settings
from rag_app.observing import traces
traces.set_up(Settings.load(traces="otlp"))
def pieces():
    with traces.span("search", wordings=1):
        pass
    yield 1
    raise ValueError("okapi")
try:
    list(traces.over("question", pieces()))
except ValueError:
    pass
"""


def test_spans_are_sent_where_opentelemetrys_environment_says():
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    got: list[bytes] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("C", (_Collector,), {"got": got}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        told = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.server_port}"}
        told |= {"OTEL_SERVICE_NAME": "papers", "OTEL_EXPORTER_OTLP_COMPRESSION": "none"}
        subprocess.run(
            [sys.executable, "-c", TRACED], env=child_environment(**told), check=True, timeout=120
        )
    finally:
        server.shutdown()
        server.server_close()
    sent = ExportTraceServiceRequest.FromString(b"".join(got))
    [resource] = sent.resource_spans
    named = {one.key: one.value.string_value for one in resource.resource.attributes}
    assert named["service.name"] == "papers"
    spans = {span.name: span for scope in resource.scope_spans for span in scope.spans}
    assert spans["search"].parent_span_id == spans["question"].span_id
    assert spans["question"].status.code == 2  # it failed
    assert b"okapi" not in b"".join(got)


def test_nothing_of_them_is_imported_where_they_are_off():
    code = (
        "import sys; from rag_app.settings import Settings; "
        "from rag_app.observing import logs, measures, traces; "
        "chosen = Settings.load(); logs.set_up(chosen); traces.set_up(chosen); "
        "list(traces.over('x', iter([1]))); "
        "print([n for n in sys.modules if n.startswith(('opentelemetry', 'prometheus_client'))])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env=child_environment(), check=True, capture_output=True,
        timeout=120,
    )  # fmt: skip
    assert ran.stdout.strip() == b"[]"


@pytest.mark.parametrize("module", ["prometheus_client", "opentelemetry"])
def test_where_a_package_is_missing_it_is_said_in_a_sentence(monkeypatch, module):
    monkeypatch.setattr("rag_app.observing.measures.find_spec", lambda _: None)
    monkeypatch.setattr("rag_app.observing.traces.find_spec", lambda _: None)
    monkeypatch.setattr(traces, "_tracers", [])
    with pytest.raises(SettingsError, match=r"rag-app\[cluster\]"):
        if module == "opentelemetry":
            traces.set_up(Settings.load(traces="otlp"))
        else:
            PrometheusMeasures(lambda: None)
