"""An OpenAI-compatible server over loopback that says what it is told to say."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Script:
    """What the next answers are, and what was asked."""

    def __init__(self) -> None:
        self.words: list[str] = ["Hello."]
        self.status = 200
        self.raw: bytes | None = None  # sent instead of a stream
        self.elsewhere = ""  # an address that is sent on to
        self.break_after: int | None = None  # words until the line is cut
        self.hold = threading.Event()  # while it is cleared, nothing is sent
        self.hold.set()
        self.pause_before: int | None = None  # the word that waits until `hold` is set again
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.sent = 0
        self.gone = threading.Event()  # the client hung up

    @property
    def prompt(self) -> str:
        """All that was said to the model last."""
        return "\n".join(message["content"] for message in self.asked[-1]["messages"])


class _Handler(BaseHTTPRequestHandler):
    script: Script

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def do_GET(self) -> None:
        body = json.dumps({"object": "list", "data": [{"id": "scripted"}]}).encode()
        self._head(200, "application/json")
        self.wfile.write(body)

    def do_POST(self) -> None:
        script = self.script
        length = int(self.headers["Content-Length"])
        script.asked.append(json.loads(self.rfile.read(length)))
        script.headers.append({k.lower(): v for k, v in self.headers.items()})
        if script.elsewhere:
            self.send_response(307)
            self.send_header("Location", f"{script.elsewhere}/chat/completions")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif script.status != 200:
            self._head(script.status, "application/json")
            self.wfile.write(b'{"error": {"message": "the secret sk-123 is wrong"}}')
        elif script.raw is not None:
            self._head(200, "text/event-stream")
            self.wfile.write(script.raw)
        elif script.asked[-1].get("stream"):
            self._stream()
        else:
            self._head(200, "application/json")
            self.wfile.write(json.dumps(_whole("".join(script.words))).encode())

    def _head(self, status: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def _stream(self) -> None:
        self._head(200, "text/event-stream")
        try:
            for number, word in enumerate(self.script.words):
                if number == self.script.pause_before:
                    self.script.pause_before = None
                    self.script.hold.clear()
                self.script.hold.wait(120)
                if number == self.script.break_after:
                    self.connection.close()
                    return
                self.wfile.write(f"data: {json.dumps(_chunk(word))}\n\n".encode())
                self.wfile.flush()
                self.script.sent += 1
            self.wfile.write(f"data: {json.dumps(_chunk('', 'stop'))}\n\ndata: [DONE]\n\n".encode())
        except OSError:
            self.script.gone.set()


def _chunk(word: str, reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", "content": word}, "finish_reason": reason}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
            "choices": [choice]}  # fmt: skip


def _whole(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted",
            "choices": [choice]}  # fmt: skip


@contextmanager
def scripted_server() -> Iterator[tuple[str, Script]]:
    """(address, script) of a server that runs until the block ends."""
    script = Script()
    handler = type("Handler", (_Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", script
    finally:
        script.hold.set()
        server.shutdown()
        thread.join()
        server.server_close()
