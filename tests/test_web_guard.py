"""The web app as a browser, another site and a stranger meet it: over real connections."""

from __future__ import annotations

import asyncio
import http.client
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import InvalidStatus
from websockets.http11 import Response
from websockets.sync.client import connect

from rag_app.cli import serve
from rag_app.errors import SettingsError
from rag_app.settings import Settings
from rag_app.ui import texts, web_guard
from tests.test_cli import wait_for

ROOT = Path(__file__).resolve().parent.parent
FRIEND = "https://friend.example"
PAGES = ("/", "/favicon.png", "/_stcore/health", "/_stcore/host-config", "/media/none.png")


@dataclass(frozen=True)
class Served:
    """A running app, and what it asked the internet for."""

    port: int
    data: Path
    asked: list[str]

    def get(self, path: str, host: str = "localhost", method: str = "GET"):
        """(status, headers, body) of what is answered to who calls the app by a name."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            line.request(method, path, headers={"Host": f"{host}:{self.port}"})
            answer = line.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            line.close()

    def shake_hands(self, origin: str | None, host: str = "localhost") -> Response:
        """What is answered to a WebSocket of a page of `origin`."""
        line = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        address = f"ws://{host}:{self.port}/_stcore/stream"
        try:
            with connect(address, sock=line, origin=origin, proxy=None) as opened:
                return opened.response
        except InvalidStatus as refused:
            return refused.response

    @property
    def own(self) -> str:
        """The origin of the app's page."""
        return f"http://localhost:{self.port}"


@contextmanager
def internet() -> Iterator[tuple[str, list[str]]]:
    """(address of a proxy, what it was asked for): nothing is reached through it."""
    asked: list[str] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(502)

        do_CONNECT = do_GET

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@contextmanager
def serving(folder: Path, **environment: str) -> Iterator[Served]:
    """The app, started as a user starts it, with a folder of its own and an internet of ours."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "rag_app.cli", "--port", str(port), "--data-dir", "data"]
    with internet() as (proxy, asked):
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), proxy)
        told = {"PYTHONPATH": str(ROOT), "RAG_APP_WRITER": "off", **proxies, **environment}
        with (folder / "server.log").open("wb") as log:
            server = subprocess.Popen(
                command, cwd=folder, env=os.environ | told, stdout=log, stderr=log
            )
        try:
            wait_for(f"http://127.0.0.1:{port}/_stcore/health")
            yield Served(port, folder / "data", asked)
        finally:
            server.terminate()
            ended = server.wait(timeout=30)
        assert os.name != "posix" or ended == 0


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The app as it comes, but that it has a friend and a name, and a user whose own Streamlit has
    the agent API on."""
    home = tmp_path_factory.mktemp("home")
    (home / ".streamlit").mkdir()
    (home / ".streamlit" / "config.toml").write_text("[server]\nenableAgentApi = true\n")
    with serving(
        tmp_path_factory.mktemp("served"),
        HOME=str(home),
        RAG_APP_ALLOWED_HOSTS="docs.example.org",
        STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS=FRIEND,
    ) as running:
        yield running


def is_guarded(headers) -> bool:
    policy = headers["Content-Security-Policy"] or ""
    return (
        "frame-ancestors 'none'" in policy
        and policy.startswith("default-src 'none'; script-src 'self' ")
        and headers["X-Frame-Options"] == "DENY"
        and headers["X-Content-Type-Options"] == "nosniff"
        and headers["Referrer-Policy"] == "same-origin"
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize("path", PAGES)
def test_every_response_tells_the_browser_what_the_page_may_do(served, path):
    status, headers, _ = served.get(path)
    assert status == (404 if path.startswith("/media") else 200)
    assert is_guarded(headers)
    assert len(headers.get_all("Content-Security-Policy")) == 1


def test_refusals_and_handshakes_tell_it_too(served):
    assert is_guarded(served.get("/", host="evil.example")[1])
    assert is_guarded(served.get("/", method="DELETE")[1])
    assert is_guarded(served.shake_hands(served.own).headers)
    assert is_guarded(served.shake_hands("https://evil.example").headers)


def test_every_script_of_the_page_is_one_that_its_policy_lets_run(served):
    _, headers, page = served.get("/")
    policy = headers["Content-Security-Policy"]
    scripts = page.decode().split("<script")[1:]
    assert scripts
    assert len(scripts) == policy.count("'sha256-") + page.decode().count('src="./static/js/')


def test_a_foreign_page_gets_no_socket_and_nobody_is_asked_who_we_are(served):
    for origin in ("https://evil.example", "http://localhost:1", "http://127.0.0.1:1", "null"):
        refused = served.shake_hands(origin)
        assert refused.status_code == 403 and refused.body == texts.OTHER_SITE.encode()
    assert served.asked == []


def test_the_log_says_what_a_proxy_that_changes_the_host_has_to_pass_on(caplog):
    headers = [(b"host", b"localhost"), (b"origin", b"http://localhost:8080")]
    asked = {"type": "websocket", "path": "/_stcore/stream", "headers": headers}
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(web_guard.Guard(None, "")(asked, None, send))
    assert sent[0]["status"] == 403 and "pass Host on" in caplog.text
    assert "8080" not in caplog.text  # an address of a stranger's


def test_our_page_and_who_was_let_in_get_one_and_nobody_is_asked_either(served):
    for origin in (served.own, FRIEND, None):
        assert served.shake_hands(origin).status_code == 101
    assert served.asked == []


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "docs.example.org"])
def test_the_app_answers_to_its_names(served, name):
    for written in (name, name.upper(), f"{name}."):
        assert served.get("/", host=written)[0] == 200
    assert served.shake_hands(f"http://{name}:{served.port}", host=name).status_code == 101


@pytest.mark.parametrize("name", ["evil.example", "docs.example.org.evil.example", "[::1", "a@b"])
def test_who_calls_it_by_another_name_reads_what_to_do(served, name):
    status, _, said = served.get("/", host=name)
    assert (status, said) == (400, texts.OTHER_NAME.encode())
    assert served.get("/_stcore/health", host=name)[0] == 200  # asked by whoever looks after it


@pytest.mark.parametrize("path", ["/_stcore/agent/interact", "/_stcore/agent/mcp"])
def test_nobody_drives_the_page_without_a_browser(served, path):
    status, _, said = served.get(path, method="POST")
    assert status >= 400 and b"does not serve the agent API" in said


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/metrics/", "/_stcore//metrics"])
def test_figures_of_the_server_are_not_shown(served, path):
    status, _, said = served.get(path)
    assert b"active_sessions" not in said and b"cache_memory" not in said
    assert status in (301, 404) or b"<!DOCTYPE html>" in said


@pytest.mark.timeout(300)
@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX")
def test_who_wants_it_embeds_the_page_and_figures_take_a_token(tmp_path):
    sites = "https://intranet.example.org, https://*.example.com"
    wanted = {"RAG_APP_FRAME_ANCESTORS": sites, "RAG_APP_METRICS": "t" * 40}
    with serving(tmp_path / "in", **wanted) as served:
        _, headers, _ = served.get("/")
        policy = headers["Content-Security-Policy"]
        assert policy.endswith("frame-ancestors https://intranet.example.org https://*.example.com")
        assert headers["X-Frame-Options"] is None
        status, headers, figures = served.get("/_stcore/metrics")
        assert status == 401 and b"active_sessions" not in figures


# What one's own library keeps: no key, no secret and no settings, for nobody signs in.
_DATABASE = {f"library.sqlite3{more}" for more in ("", "-wal", "-shm")}
ON_ONE_COMPUTER = {*_DATABASE, "files", "lock", "reserve", "vectors"}


@pytest.mark.timeout(300)
@pytest.mark.skipif(os.name != "posix", reason="signals and these permissions are POSIX")
def test_a_page_is_drawn_and_what_it_keeps_is_the_users_alone(tmp_path):
    before = os.umask(0o022)
    # The socket is closed last: an open page does not keep the app from ending.
    with ExitStack() as pages, serving(tmp_path / "in") as served:
        os.umask(before)
        address = f"ws://127.0.0.1:{served.port}/_stcore/stream"
        page = pages.enter_context(connect(address, proxy=None, max_size=None))
        page.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        drawn, kind = b"", None
        while kind != "script_finished":
            drawn += (received := page.recv(timeout=60))
            kind = ForwardMsg.FromString(received).WhichOneof("type")
        assert texts.APP.encode() in drawn
        kept = list(served.data.rglob("*"))
        names = {path.name for path in served.data.iterdir()}
        assert names == ON_ONE_COMPUTER
        assert not [path for path in (served.data, *kept) if path.stat().st_mode & 0o077]


def test_listening_everywhere_it_goes_by_the_names_of_this_computer(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket, "gethostname", lambda: "Attic")
    card = type("Address", (), {"family": socket.AF_INET6, "address": "fe80::1%eth0"})
    other = type("Address", (), {"family": socket.AF_INET, "address": "192.168.1.5"})
    hardware = type("Address", (), {"family": psutil.AF_LINK, "address": "00:11:22:33:44:55"})
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"eth0": [card, other, hardware]})
    usual = ["localhost", "127.0.0.1"]
    assert serve.allowed_hosts("127.0.0.1", "") == usual
    assert serve.allowed_hosts("::1", " a.example, ") == [*usual, "::1", "a.example"]
    assert serve.allowed_hosts("192.168.1.5", "") == [*usual, "Attic", "Attic.local", "192.168.1.5"]
    everywhere = serve.allowed_hosts("0.0.0.0", "")
    assert everywhere == [*usual, "Attic", "Attic.local", "fe80::1", "192.168.1.5"]
    called = ("attic:8501", "attic.local", "192.168.1.5:8501", "[fe80::1]:8501")
    assert all(web_guard.is_own_name(host, everywhere) for host in called)
    assert not web_guard.is_own_name("evil.example:8501", everywhere)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("frame_ancestors", "intranet.example.org"),
        ("frame_ancestors", "https://a.example; script-src *"),
        ("frame_ancestors", "*"),
        ("allowed_hosts", "https://docs.example.org"),
        ("allowed_hosts", "docs.example.org:80"),
        ("allowed_hosts", "a b"),
    ],
)
def test_a_name_that_would_open_more_than_it_says_is_refused(name, value):
    with pytest.raises(SettingsError, match=f"RAG_APP_{name.upper()} cannot be"):
        Settings.load(**{name: value})


@pytest.mark.parametrize("origin", ["http://[", "https://[::1", "null"])
def test_a_page_whose_origin_cannot_be_read_is_not_ours(origin):
    assert not web_guard._is_own_page(origin, "localhost:8501")
    assert web_guard._is_own_page("http://localhost:8501", "localhost:8501")


def test_a_request_that_fails_is_guarded_as_well():
    answer = web_guard.failed(None, RuntimeError("what nobody is told"))
    assert answer.status_code == 500 and is_guarded(answer.headers | {})
    assert answer.body == texts.REQUEST_FAILED.encode()
