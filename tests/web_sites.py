"""A web site over loopback that gives what a test says, byte by byte if need be."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HTML = "text/html; charset=utf-8"
Given = Callable[["Site", BaseHTTPRequestHandler], None]


class Site:
    """What is to be had by path, and what was asked for."""

    def __init__(self) -> None:
        self.pages: dict[str, Given] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.address = ""
        self.closing = threading.Event()

    def page(self, path: str, body: str | bytes, kind: str = HTML, **headers: str) -> str:
        """Give a page at a path; its address."""
        data = body.encode() if isinstance(body, str) else body

        def give(_: Site, to: BaseHTTPRequestHandler) -> None:
            answer(to, 200, data, **{"Content-Type": kind, **_headers(headers)})

        return self.give(path, give)

    def status(self, path: str, status: int, **headers: str) -> str:
        """Answer with a status and nothing else; its address."""
        return self.give(path, lambda _, to: answer(to, status, b"no", **_headers(headers)))

    def raw(self, path: str, *pieces: bytes, pause: float = 0.0) -> str:
        """Send exactly these bytes, with a pause between them; its address."""

        def give(site: Site, to: BaseHTTPRequestHandler) -> None:
            for piece in pieces:
                to.wfile.write(piece)
                to.wfile.flush()
                if pause and site.closing.wait(pause):
                    return

        return self.give(path, give)

    def give(self, path: str, given: Given) -> str:
        """Let something happen when a path is asked for; its address."""
        self.pages[path] = given
        return f"{self.address}{path}"


def _headers(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def answer(to: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    """One whole answer."""
    to.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        to.send_header(name, value)
    to.end_headers()
    to.wfile.write(body)


class _Handler(BaseHTTPRequestHandler):
    site: Site

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def do_GET(self) -> None:
        self.close_connection = True
        self.site.asked.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
        given = self.site.pages.get(self.path)
        try:
            if given:
                given(self.site, self)
            else:
                answer(self, 404, b"<p>Nothing here")
        except OSError:
            pass  # the client has seen enough


class _Six(ThreadingHTTPServer):
    address_family = socket.AF_INET6


@contextmanager
def web_site(
    six: bool = False, wrap: Callable[[socket.socket], socket.socket] | None = None
) -> Iterator[Site]:
    """A site that runs until the block ends; `wrap` puts TLS around its socket."""
    site = Site()
    handler = type("Handler", (_Handler,), {"site": site})
    server = (_Six if six else ThreadingHTTPServer)(("::1" if six else "127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None
    if wrap:
        server.socket = wrap(server.socket)
    host = "[::1]" if six else "127.0.0.1"
    site.address = f"http{'s' if wrap else ''}://{host}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        site.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
