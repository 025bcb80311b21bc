"""A server of embeddings over loopback that gives what it is told to give."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.fakes import WordEmbedder


class ServedScript:
    """What the next answers are, and what was asked."""

    def __init__(self) -> None:
        self.statuses: list[int] = []  # of the next answers; then 200
        self.headers: dict[str, str] = {}  # of answers that are no vectors
        self.status = 200  # of all others
        self.dimensions: int | None = None  # so many numbers of each vector
        self.longest: int | None = None  # characters of a text; longer ones are refused
        self.most: int | None = None  # texts of a request
        self.sign = 1.0  # another model is this one with -1
        self.raw: bytes | None = None
        self.slowly = 0.0  # seconds before each byte of `raw`
        self.asked: list[dict[str, Any]] = []
        self.seen: list[dict[str, str]] = []  # headers
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    @property
    def texts(self) -> list[str]:
        """All texts that were embedded."""
        return [text for one in self.asked for text in one["input"]]

    def answer(self, texts: list[str]) -> tuple[int, bytes]:
        """(status, body) for texts."""
        if self.statuses:
            return self.statuses.pop(0), b'{"error": {"message": "sk-123 is busy"}}'
        if self.status != 200:
            return self.status, b'{"error": {"message": "sk-123 is wrong"}}'
        if self.longest is not None and max(map(len, texts)) > self.longest:
            return 413, b"{}"
        if self.most is not None and len(texts) > self.most:
            return 422, b"{}"
        if self.raw is not None:
            return 200, self.raw
        made = WordEmbedder().embed_documents(texts)
        vectors = [
            [3 * self.sign * x for x in 2 * one][: self.dimensions or len(one)] for one in made
        ]
        rows = [{"index": n, "embedding": one} for n, one in enumerate(vectors)]
        return 200, json.dumps({"object": "list", "data": rows[::-1]}).encode()


class _Handler(BaseHTTPRequestHandler):
    script: ServedScript

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def do_POST(self) -> None:
        script = self.script
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with script.lock:
            script.asked.append(asked)
            script.seen.append({k.lower(): v for k, v in self.headers.items()})
            script.at_once += 1
            script.most_at_once = max(script.most_at_once, script.at_once)
            status, body = script.answer(asked["input"])
        self.send_response(status)
        for name, value in (script.headers if status != 200 else {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self._send(body)
        except OSError:
            self.close_connection = True  # whoever asked did not wait
        with script.lock:
            script.at_once -= 1

    def _send(self, body: bytes) -> None:
        if not self.script.slowly:
            self.wfile.write(body)
            return
        for byte in body:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            threading.Event().wait(self.script.slowly)


@contextmanager
def embedding_server(
    port: int = 0, script: ServedScript | None = None
) -> Iterator[tuple[str, ServedScript]]:
    """(address, script) of a server that runs until the block ends."""
    script = script or ServedScript()
    handler = type("Handler", (_Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
