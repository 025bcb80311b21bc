"""The server as people run it, worked over HTTP and killed with -9 at random moments.

Every start has another embedding model, so that it is killed while passages are embedded again,
too; scans are among the files, so that it is killed while text is recognised. What was promised is
written down as `tests/killing.py` does."""

from __future__ import annotations

import os
import random
import re
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from rag_app.server.gate import KeyFile
from rag_app.types import Status
from tests import scans
from tests.killing import KINDS, content
from tests.pdfs import paragraph, pdf

ROOT = Path(__file__).parent.parent
SCAN = "pdf"
SCANNED = "Lighthouse"  # on every scan
_UP = 300.0  # seconds that a start may take on a busy machine
_AT_WORK = 4.0  # seconds, at most, from the first request to the kill
_PATIENCE = 30.0  # seconds that are waited for something to be half done
_HALF_DONE = {Status.READ, Status.SCANNED, Status.SEARCHABLE}


def scan(serial: str) -> bytes:
    """A picture of a page, with enough on it to be recognised."""
    told = [f"{SCANNED} number {serial} stands on the cliff above the harbour." for _ in range(6)]
    return scans.saved([scans.picture(pdf(paragraph(told)))], "PDF")


def _newest(name: str, there: dict[str, str]) -> str:
    """The id of what is to have a name: a version that has come in has another until it can be
    searched, and the older ones may give way to it at any moment, or go with it."""
    stem, _, kind = name.rpartition(".")
    versions = [one for one in there if re.fullmatch(rf"{stem} \(\d+\)\.{kind}", one)]
    return there[max(versions, key=lambda one: (len(one), one), default=name)]


@dataclass
class Victim:
    """A data directory, the server that is killed over it, and what was promised."""

    folder: Path
    models: list[Path]  # of embedding
    chance: random.Random
    journal: list[str] = field(default_factory=list)
    found: Counter[str] = field(default_factory=Counter)  # what was under way at the kills
    orphans: list[str] = field(default_factory=list)  # processes that outlived their server

    def kill(self, number: int) -> None:
        """Start the server, work, and kill it: mostly at work, now and then while it starts."""
        with self._started(self.models[number % len(self.models)]) as (server, line):
            self.journal.append(f"open {number}")
            if number % 5 == 4:
                time.sleep(self.chance.uniform(0.5, 6))
            else:
                self._until_up(server, line)
                self._work(line, number, time.monotonic() + self.chance.uniform(0.05, _AT_WORK))
                if number % 2:
                    self._until_half_done(line, embedding=number % 4 == 3)
            children = psutil.Process(server.pid).children(recursive=True)
            server.kill()
            server.wait()
        self._look(children)

    @contextmanager
    def _started(self, model: Path) -> Iterator[tuple[subprocess.Popen[bytes], httpx.Client]]:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        told = {
            "PYTHONPATH": str(ROOT), "RAG_APP_WRITER": "off", "RAG_APP_GENERATOR": "quotes",
            "RAG_APP_EMBEDDING": str(model), "RAG_APP_RERANK": "0",
        }  # fmt: skip
        command = [sys.executable, "-m", "rag_app.cli", "serve", "--api", "--port", str(port)]
        command += ["--data-dir", str(self.folder)]
        with self.folder.with_name("server.log").open("ab") as log:
            server = subprocess.Popen(
                command, cwd=self.folder.parent, env=os.environ | told, stdout=log, stderr=log
            )
        key = {"Authorization": f"Bearer {KeyFile(self.folder).key()}"}
        url = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=url, headers=key, timeout=60, trust_env=False) as line:
            try:
                yield server, line
            finally:
                server.kill()
                server.wait()

    def _until_up(self, server: subprocess.Popen[bytes], line: httpx.Client) -> None:
        end = time.monotonic() + _UP
        while time.monotonic() < end:
            assert server.poll() is None, "the server did not start"
            try:
                if line.get("/api/v1/health").json() == {"status": "ok"}:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError("the server did not come up")

    def _until_half_done(self, line: httpx.Client, embedding: bool) -> None:
        """Until the vectors of two models are there or, if it need not be that, a document is
        between two stages."""
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end and len([*self.folder.glob("vectors*")]) < 2:
            listed = line.get("/api/v1/documents?limit=200").json()["documents"]
            if not embedding and _HALF_DONE & {document["status"] for document in listed}:
                return
            time.sleep(0.02)

    def _work(self, line: httpx.Client, number: int, until: float) -> None:
        """Hand in, replace and remove, as fast as answers come."""
        step = 0
        while time.monotonic() < until:
            listed = line.get("/api/v1/documents?limit=200").json()["documents"]
            self._do(line, f"{number}q{step}", {d["name"]: d["document_id"] for d in listed})
            step += 1
            time.sleep(min(self.chance.uniform(0, 0.3), max(0.0, until - time.monotonic())))

    def _do(self, line: httpx.Client, serial: str, there: dict[str, str]) -> None:
        mine = sorted(name for name in there if "›" not in name and "(" not in name)
        what, name = self.chance.random(), self.chance.choice(mine) if mine else ""
        if name and what < 0.2:
            self.journal.append(f"removing {name}")
            said = line.delete(f"/api/v1/documents/{_newest(name, there)}")
            assert said.status_code == 204, said.text
            self.journal.append(f"removed {name}")
        elif name and what < 0.45:
            self.journal.append(f"replacing {name} {serial}")
            self._hand_in(line, name, serial, {"replace": "true"})
            self.journal.append(f"replaced {name} {serial}")
        else:
            kind = SCAN if what > 0.85 else self.chance.choice(KINDS)
            name = f"file{serial}.{kind}"
            self.journal.append(f"adding {name} {serial}")
            self._hand_in(line, name, serial, {})
            self.journal.append(f"added {name} {serial}")

    def _hand_in(self, line: httpx.Client, name: str, serial: str, form: dict[str, str]) -> None:
        kind = name.rpartition(".")[2]
        data = scan(serial) if kind == SCAN else content(kind, serial)
        said = line.post("/api/v1/documents", files={"file": (name, data)}, data=form)
        assert said.status_code == 201, said.text

    def _look(self, children: list[psutil.Process]) -> None:
        """What was under way, as the database has it; whether anybody outlived the server."""
        _, alive = psutil.wait_procs(children, timeout=20)
        self.orphans += [" ".join(one.cmdline()) for one in alive if one.is_running()]
        database = self.folder / "library.sqlite3"
        if database.is_file():
            with closing(sqlite3.connect(database)) as db:
                for [status] in db.execute("SELECT DISTINCT status FROM documents"):
                    self.found[status] += 1
                if db.execute("SELECT count(*) FROM removals").fetchone()[0]:
                    self.found["removing"] += 1
                if db.execute("SELECT 1 FROM documents WHERE replaces IS NOT NULL").fetchone():
                    self.found["replacing"] += 1
        if len([*self.folder.glob("vectors*")]) > 1:
            self.found["embedding again"] += 1
