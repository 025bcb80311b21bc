"""A bucket on this machine (moto's server, in memory), and a way to it that can be shut."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

import httpx

if TYPE_CHECKING:
    from obstore.store import ObjectStore

KEY, SECRET = "AKIAOFTHETESTS", "a-secret-of-the-tests"
_ERROR = "<Error><Code>{code}</Code><Message>{secret}</Message></Error>"
_FORWARDED = ("authorization", "content-type", "if-none-match", "if-match", "range")


@contextmanager
def moto_server() -> Iterator[str]:
    """The address of a server that speaks S3."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        yield "http://{}:{}".format(*server.get_host_and_port())
    finally:
        server.stop()


def make_bucket(server: str, name: str) -> None:
    """An empty bucket."""
    httpx.post(f"{server}/moto-api/reset").raise_for_status()
    httpx.put(f"{server}/{name}").raise_for_status()


def keys(server: str, name: str) -> list[str]:
    """What is in a bucket, straight from the server."""
    listed = httpx.get(f"{server}/{name}?list-type=2").text
    return [part.partition("</Key>")[0] for part in listed.split("<Key>")[1:]]


def straight_to(server: str, name: str) -> ObjectStore:
    """A bucket without the way to it."""
    from obstore.store import S3Store

    given = {"access_key_id": KEY, "secret_access_key": SECRET, "region": "us-east-1"}
    return S3Store(name, endpoint=server, client_options={"allow_http": True}, **given)


class Way(BaseHTTPRequestHandler):
    """To the server behind, unless `mode` says otherwise; counts what it lets through."""

    behind: ClassVar[str] = ""
    mode: ClassVar[str] = ""  # refuse, full, stall, vanish, or nothing
    only: ClassVar[str] = ""  # the method that the mode is for; empty: all
    passed: ClassVar[list[str]] = []
    released: ClassVar[threading.Event] = threading.Event()
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        mode = self.mode if self.only in ("", self.command) else ""
        if mode == "stall":
            self.released.wait(30)
        if mode in ("stall", "vanish"):
            self.rfile.read(min(1_000, int(self.headers.get("content-length", 0))))
            self.close_connection = True
            self.connection.close()
            return
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if mode in ("refuse", "full"):
            code = {"refuse": "AccessDenied", "full": "QuotaExceeded"}[mode]
            self._give(403, {}, _ERROR.format(code=code, secret=SECRET).encode())
            return
        self.passed.append(f"{self.command} {self.path}")
        there = http.client.HTTPConnection(urlsplit(self.behind).netloc)
        sent = {
            name: value
            for name, value in self.headers.items()
            if name.lower() in _FORWARDED or name.lower().startswith("x-amz")
        }
        there.request(self.command, self.path, body, sent)
        answer = there.getresponse()
        self._give(answer.status, dict(answer.getheaders()), answer.read())
        there.close()

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _answer

    def _give(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        hop = ("connection", "transfer-encoding", "date", "server")
        for name, value in headers.items():
            if name.lower() not in (*hop, "content-length"):
                self.send_header(name, value)
        size = headers.get("Content-Length") if self.command == "HEAD" else None
        self.send_header("Content-Length", size or str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def way_to(server: str) -> Iterator[type[Way]]:
    """A way to a server, and its address as `address`."""

    class Mine(Way):
        behind = server
        passed: ClassVar[list[str]] = []
        released = threading.Event()
        address: ClassVar[str] = ""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Mine)
    listening.daemon_threads = True
    Mine.address = f"http://127.0.0.1:{listening.server_address[1]}"
    serving = threading.Thread(target=listening.serve_forever, daemon=True)
    serving.start()
    try:
        yield Mine
    finally:
        Mine.released.set()
        listening.shutdown()
        listening.server_close()
        serving.join()
