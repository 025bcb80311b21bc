"""A model hub over loopback: just enough of its protocol to fetch one model."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "a" * 40


class _Handler(BaseHTTPRequestHandler):
    models: Mapping[str, Mapping[str, bytes]]
    asked: list[str]
    pause: threading.Event

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        self.asked.append(path)
        for model, files in self.models.items():
            if path.startswith(f"/api/models/{model}"):
                return self._listing(model, files, tree="/tree/" in path)
            if path.startswith(f"/{model}/resolve/"):
                return self._file(files.get(path.split("/", 5)[5]), with_body)
        self._send(404, b'{"error": "Repository not found"}', {"X-Error-Code": "RepoNotFound"})
        return None

    def _listing(self, model: str, files: Mapping[str, bytes], *, tree: bool) -> None:
        siblings = [{"rfilename": name, "size": len(data)} for name, data in files.items()]
        entries = [
            {"type": "file", "path": name, "size": len(data), "oid": "0" * 40}
            for name, data in files.items()
        ]
        about = {"id": model, "modelId": model, "sha": COMMIT, "private": False,
                 "siblings": siblings, "tags": [], "downloads": 0}  # fmt: skip
        self._send(200, json.dumps(entries if tree else about).encode(), {})

    def _file(self, data: bytes | None, with_body: bool) -> None:
        if data is None:
            return self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
        if with_body:
            self.pause.wait(10)
        about = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha1(data).hexdigest()}"'}
        return self._send(200, data, about, with_body=with_body)

    def _send(
        self, status: int, body: bytes, headers: Mapping[str, str], *, with_body: bool = True
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body:
            self.wfile.write(body)


class Hub:
    """Its address, what was asked of it, and a pause before files are sent."""

    def __init__(self, url: str, asked: list[str], pause: threading.Event) -> None:
        self.url, self.asked, self.pause = url, asked, pause


@contextmanager
def hub(models: Mapping[str, Mapping[str, bytes]]) -> Iterator[Hub]:
    """A hub that offers `models`: name to files."""
    pause = threading.Event()
    pause.set()
    asked: list[str] = []
    handler = type("Handler", (_Handler,), {"models": models, "asked": asked, "pause": pause})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Hub(f"http://127.0.0.1:{server.server_port}", asked, pause)
    finally:
        pause.set()
        server.shutdown()
        thread.join()
        server.server_close()
