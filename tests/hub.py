"""A model hub over loopback: just enough of its protocol to fetch one model."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "a" * 40


class _Handler(BaseHTTPRequestHandler):
    models: Mapping[str, Mapping[str, bytes]]
    hub: Hub

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        if self.hub.down:
            self.close_connection = True
            return None
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(path)
        for model, files in self.models.items():
            if path.startswith(f"/api/models/{model}"):
                return self._listing(model, files, tree="/tree/" in path)
            if path.startswith(f"/{model}/resolve/"):  # as the real one, it keeps files elsewhere
                return self._send(302, b"", {"Location": f"/files{self.path}"})
            if path.startswith(f"/files/{model}/resolve/"):
                return self._file(files.get(path.split("/", 6)[6]), with_body)
        self._send(404, b'{"error": "Repository not found"}', {"X-Error-Code": "RepoNotFound"})
        return None

    def _listing(self, model: str, files: Mapping[str, bytes], *, tree: bool) -> None:
        siblings = [{"rfilename": name, "size": len(data)} for name, data in files.items()]
        entries = [
            {"type": "file", "path": name, "size": len(data), "oid": "0" * 40}
            for name, data in files.items()
        ]
        for one in siblings:
            if one["rfilename"].endswith(".safetensors"):
                sha256 = hashlib.sha256(files[one["rfilename"]]).hexdigest()
                one["lfs"] = {"sha256": sha256, "size": one["size"], "pointerSize": 134}
        about = {"id": model, "modelId": model, "sha": COMMIT, "private": False,
                 "siblings": siblings, "tags": [], "downloads": 0}  # fmt: skip
        self._send(200, json.dumps(entries if tree else about).encode(), {})

    def _file(self, data: bytes | None, with_body: bool) -> None:
        if data is None:
            return self._send(404, b"", {"X-Error-Code": "EntryNotFound"})
        if with_body:
            self.hub.pause.wait(10)
        about = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha1(data).hexdigest()}"'}
        begins = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if begins is None:
            return self._send(200, data, about, with_body=with_body)
        first = int(begins[1])
        self.hub.resumed.append(first)
        about["Content-Range"] = f"bytes {first}-{len(data) - 1}/{len(data)}"
        return self._send(206, data[first:], about, with_body=with_body)

    def _send(
        self, status: int, body: bytes, headers: Mapping[str, str], *, with_body: bool = True
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not with_body:
            return
        first = self.hub.stops_after or len(body)
        try:
            self.wfile.write(body[:first])
            if body[first:]:
                self.wfile.flush()
                self.hub.stopped.set()
                self.hub.go_on.wait(10)
                self.wfile.write(body[first:])
        except OSError:  # who asked has gone
            self.close_connection = True


class Hub:
    """Its address, what was asked of it, and what holds it up.

    With `stops_after`, that many bytes of a longer file are sent, `stopped` is set, and the rest
    follows once `go_on` is set. `resumed`: from which bytes on files were asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[str] = []
        self.resumed: list[int] = []
        self.stops_after = 0
        self.down = False  # whoever asks gets no answer
        self.pause, self.stopped, self.go_on = (threading.Event() for _ in range(3))
        self.pause.set()


@contextmanager
def hub(models: Mapping[str, Mapping[str, bytes]]) -> Iterator[Hub]:
    """A hub that offers `models`: name to files."""
    running = Hub()
    handler = type("Handler", (_Handler,), {"models": models, "hub": running})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    running.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield running
    finally:
        running.pause.set()
        running.go_on.set()
        server.shutdown()
        thread.join()
        server.server_close()
