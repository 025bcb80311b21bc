"""What whoever looks after the server asks it: over real connections, and while it stops."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from rag_app import cli
from rag_app.cli import server_commands
from rag_app.environment import shared_environment
from rag_app.errors import LibraryInUse, SettingsError
from rag_app.observing.measures import LibraryFigures
from rag_app.settings import Settings
from rag_app.ui import health, texts, web_guard
from rag_app.ui.health import Standing
from tests.test_web_guard import Served, serving

TOKEN = "t" * 40


class Opened:
    """As much of a library as is asked."""

    def __init__(self) -> None:
        self.warm_state, self.answering, self.broken = "cold", 0, False

    def warm(self, after: float = 0.0) -> None:
        if self.warm_state == "cold":
            self.warm_state = "warming"

    def figures(self) -> LibraryFigures:
        if self.broken:
            raise OSError("the disk is gone")
        return LibraryFigures({}, self.answering)


def test_it_is_ready_when_the_database_opens_and_the_models_are_loaded():
    library = Opened()
    standing = Standing(lambda: library)
    assert standing.ready() == {
        "ready": False, "database": "open", "models": "warming", "draining": False
    }  # fmt: skip
    library.warm_state = "ready"
    assert standing.ready()["ready"] is True
    library.warm_state = "The embedding model could not be loaded."
    assert standing.ready() | {"models": "limited"} == standing.ready()
    assert standing.ready()["ready"] is True
    library.broken = True
    assert standing.ready()["database"] == "failed" and not standing.ready()["ready"]
    library.broken, standing.draining = False, True
    assert not standing.ready()["ready"]


def test_a_library_that_cannot_be_opened_is_tried_again_and_nobody_waits_for_another():
    tries: list[int] = []
    going, go = threading.Event(), threading.Event()

    def opening():
        tries.append(1)
        going.set()
        assert go.wait(10)
        if len(tries) == 1:
            raise LibraryInUse("another process has it")
        return Opened()

    standing = Standing(opening)
    assert standing.figures() is None
    first: list[object] = []
    asking = threading.Thread(target=lambda: first.append(standing.ready()["database"]))
    asking.start()
    assert going.wait(10)
    assert standing.ready()["database"] == "opening"
    go.set()
    asking.join(10)
    assert first == ["failed"]
    assert standing.ready()["database"] == "open"


def test_of_two_who_ask_an_open_library_at_once_both_hear_how_it_stands():
    looking, go = threading.Event(), threading.Event()

    class Slow(Opened):
        def figures(self) -> LibraryFigures:
            looking.set()
            assert go.wait(10)
            return super().figures()

    library = Slow()
    library.warm_state = "ready"
    standing = Standing(lambda: library)
    standing.library = library
    first: list[object] = []
    asking = threading.Thread(target=lambda: first.append(standing.ready()["ready"]))
    asking.start()
    assert looking.wait(10)
    threading.Timer(0.1, go.set).start()
    assert standing.ready()["ready"] is True
    asking.join(10)
    assert first == [True]


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_a_signal_drains_first_and_a_second_one_does_not_wait(monkeypatch):
    monkeypatch.setattr(health, "_NOTICED", 0.3)
    stopped: list[float] = []
    library = Opened()
    library.answering = 1

    async def run(seconds: float, signals: int) -> Standing:
        standing = Standing(lambda: library)
        standing.library = library
        standing.stop_gently(seconds)
        began = time.monotonic()
        for _ in range(signals):
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(0.1)
        assert standing.draining
        while not stopped:
            await asyncio.sleep(0.02)
            if time.monotonic() > began + 1 and signals == 1:
                library.answering = 0
        stopped[:] = [stopped[0] - began]
        return standing

    before = signal.signal(signal.SIGTERM, lambda *_: stopped.append(time.monotonic()))
    try:
        asyncio.run(run(30, 1))
        assert 1 <= stopped.pop() < 20  # when the answer was there
        stopped.clear()
        library.answering = 1
        asyncio.run(run(30, 2))
        assert stopped.pop() < 10
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_id_is_that_of_the_proxy_and_where_it_went_tells_nothing_apart():
    assert web_guard._place("/api/v1/documents/abc/pages/2") == "/api/v1/documents"
    assert web_guard._place("/_stcore/upload_file/session/file") == "/_stcore/upload_file"
    assert web_guard._place("/media/0123.png") == "/media"
    assert web_guard._place("/") == "/" and web_guard._place("/nobody/knows") == "other"


def read(served: Served, path: str, **headers: str):
    import http.client

    line = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    try:
        line.request("GET", path, headers={"Host": "10.0.0.7", **headers})
        answer = line.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        line.close()


@pytest.mark.timeout(300)
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_a_server_says_how_it_stands_to_who_may_know(tmp_path: Path):
    told = {"RAG_APP_METRICS": TOKEN, "RAG_APP_LOG": "json", "RAG_APP_DRAIN_SECONDS": "20"}
    folder = tmp_path / "in"
    with serving(folder, **told) as served:
        assert read(served, "/health/live")[::2] == (200, b"alive")
        deadline = time.monotonic() + 200
        while (answer := read(served, "/health/ready"))[0] != 200 and time.monotonic() < deadline:
            assert answer[0] == 503 and not json.loads(answer[2])["ready"]
            time.sleep(0.5)
        assert json.loads(answer[2])["ready"] is True
        assert read(served, "/metrics")[0] == 401
        assert read(served, "/metrics", Authorization="Bearer no")[0] == 401
        for path in ("/metrics", "/_stcore/metrics"):
            status, _, figures = read(served, path, Authorization=f"Bearer {TOKEN}")
            assert status == 200 and figures.startswith(b"# ")
            if path == "/metrics":
                assert b"rag_app_questions" in figures and b"process_cpu_seconds" in figures
        named = {"X-Request-ID": "trace-7", "Host": "localhost"}
        given = read(served, "/media/0123.png?secret=1", **named)[1]["X-Request-ID"]
        assert given == "trace-7"
        made = read(served, "/health/live", **{"X-Request-ID": "no good"})[1]["X-Request-ID"]
        assert len(made) == 16
        [server] = [p for p in psutil.Process().children() if str(served.port) in p.cmdline()]
        server.terminate()
        deadline = time.monotonic() + 60
        while (answer := read(served, "/health/ready"))[0] == 200 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert answer[0] == 503 and json.loads(answer[2])["draining"] is True
        assert read(served, "/health/live")[0] == 200
    lines = [json.loads(one) for one in (folder / "server.log").read_text().splitlines()
             if one.startswith("{")]  # fmt: skip
    assert not [one for one in lines if "secret" in json.dumps(one)]
    asked = [one for one in lines if one["request"] == "trace-7"]
    assert [(one["event"], one["path"], one["status"]) for one in asked] == [
        ("request", "/media", 404)
    ]


@pytest.mark.parametrize("path", ["/metrics", "/metrics/"])
def test_figures_are_shown_to_nobody_unless_it_is_set(path):
    guard = web_guard.Guard(None, "")  # type: ignore[arg-type]
    from starlette.requests import HTTPConnection

    scope = {"type": "http", "path": path, "headers": [(b"authorization", b"Bearer ")]}
    refused = guard._refused(HTTPConnection(scope))
    assert refused is not None and refused.status_code == 404
    assert refused.body == texts.NO_METRICS.encode()


def test_a_token_that_is_short_or_true_is_refused():
    from rag_app.errors import SettingsError

    for given in ("true", "x" * 31):
        with pytest.raises(SettingsError, match="RAG_APP_METRICS must have 32 characters"):
            Settings.load(metrics=given)


def test_settings_may_stand_in_files(tmp_path, monkeypatch):
    (tmp_path / "rag_app_cookie_secret").write_text(f"{TOKEN}\n")
    (tmp_path / "rag_app_top_k").write_text("3")
    monkeypatch.setenv("RAG_APP_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("RAG_APP_TOP_K", "5")
    found = Settings.load()
    assert found.cookie_secret and found.cookie_secret.get_secret_value() == TOKEN
    assert found.top_k == 5
    monkeypatch.setenv("RAG_APP_SECRETS_DIR", str(tmp_path / "none"))
    from rag_app.errors import SettingsError

    with pytest.raises(SettingsError, match="RAG_APP_SECRETS_DIR cannot be"):
        Settings.load()
    (tmp_path / "rag_app_cookie_secret").write_bytes(b"\xff" * 32)
    monkeypatch.setenv("RAG_APP_SECRETS_DIR", str(tmp_path))
    with pytest.raises(SettingsError, match=r"A setting cannot be read: .*cookie_secret"):
        Settings.load()


ENDS_WHILE_MODELS_COMPUTE = """
import runpy, signal, threading, torch
import streamlit.web.cli as streamlit

def compute():
    one = torch.ones(9)
    while True:
        one + one

def main(**_):
    for _ in range(4):
        threading.Thread(target=compute, daemon=True).start()
    [each.join() for each in threading.enumerate() if each.name == "rag-app-ahead"]
    signal.raise_signal(signal.SIGTERM)

streamlit.main = main
runpy.run_module("rag_app.ui.start", run_name="__main__")
"""


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_an_end_while_models_compute_is_no_failure():
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_WHILE_MODELS_COMPUTE], capture_output=True, timeout=120
    )
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_port_that_another_program_has_is_said_and_nothing_begins():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(SettingsError, match=f"port {port} of 127.0.0.1: "),
            health.serving(Settings.load(), Standing(Opened), "127.0.0.1", port),
        ):
            pytest.fail("it began")


def test_secrets_in_files_go_to_workers_on_other_machines(tmp_path, monkeypatch):
    monkeypatch.setenv("RAG_APP_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("RAG_APP_METRICS", "of the environment")
    (tmp_path / "rag_app_database_url").write_text("postgresql://one@db/library\n")
    (tmp_path / "rag_app_metrics").write_text("of the file")
    (tmp_path / "other").write_text("not ours")
    shared = shared_environment()
    assert shared["RAG_APP_DATABASE_URL"] == "postgresql://one@db/library"
    assert shared["RAG_APP_METRICS"] == "of the environment"
    assert not {"RAG_APP_SECRETS_DIR", "OTHER"} & {*shared}


@pytest.mark.parametrize(
    ("told", "option", "works_on"),
    [
        ("none", None, {"read", "embed", "recognise"}),
        ("embed", None, {"embed"}),
        ("embed", "read", {"read"}),
        ("none", "read", {"read"}),
    ],
)
def test_a_worker_takes_from_the_queues_that_it_is_told(monkeypatch, told, option, works_on):
    monkeypatch.setenv("RAG_APP_DATABASE_URL", "postgresql://one@db/library")
    monkeypatch.setenv("RAG_APP_QUEUES", told)
    asked = cli.parser().parse_args(["worker", *(["--queues", option] if option else [])])
    assert server_commands._settings_to_work(asked).works_on == works_on
