from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rag_app.library import Library
from rag_app.scope import WORKER
from rag_app.settings import Settings
from rag_app.types import RetrieverKind, Status
from tests.fakes import WordEmbedder
from tests.killing import serials, token

KILLS = 50
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kill -9 is POSIX only")


@dataclass
class Promise:
    """What a user was told of one file, by name: words that must be there, may be, must not."""

    there: dict[str, str] = field(default_factory=dict)  # name -> serial, accepted
    unsure: dict[str, set[str | None]] = field(default_factory=dict)  # killed in the middle
    gone: set[str] = field(default_factory=set)

    def read(self, line: str) -> None:
        what, *words = line.split()
        if what in ("open", "ended"):
            self.settle()
        elif what == "removing":
            self.unsure[words[0]] = {self.there.get(words[0]), None}
        elif what == "removed":
            self.gone.add(self.there.pop(words[0], ""))
            self.unsure.pop(words[0], None)
        elif what in ("adding", "replacing"):
            self.unsure[words[0]] = {self.there.get(words[0]), words[1]}
        elif what in ("added", "replaced"):
            self.gone.add(self.there.get(words[0], ""))
            self.there[words[0]] = words[1]
            self.unsure.pop(words[0], None)

    def settle(self) -> None:
        """A kill in the middle of something: either is fine, and nobody looks further."""
        for name in self.unsure:
            self.there.pop(name, None)


def leftovers(folder: Path, words: list[str]) -> list[str]:
    """Files that hold one of these words, as they are or deflated."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found += [f"{path.name}: {word}" for word in words if word.encode() in data]
    return found


@pytest.mark.timeout(900)  # a minute on a machine that has nothing else to do
def test_whatever_was_accepted_is_there_once_after_fifty_kills(tmp_path):
    folder = tmp_path / "data"
    root = Path(__file__).parent.parent
    subprocess.run(
        [sys.executable, "-m", "tests.killing", str(folder), str(KILLS), "7"],
        cwd=root,
        check=True,
        timeout=800,
        capture_output=True,
    )
    lines = (tmp_path / "journal").read_text().splitlines()
    assert not [line for line in lines if line.startswith("ended")], lines[-5:]
    promise = Promise()
    for line in lines:
        promise.read(line)
    promise.settle()
    assert len(promise.there) > 10
    with Library(Settings.load(data_dir=folder), embedder=WordEmbedder()) as library:
        before = -1
        while before != len(documents := library.documents()):
            before = len(documents)
            library.wait([d.id for d in documents], timeout=120)
        assert library.wait_until_clean(60)
        check_files(library)
        check_index(library)
        check_words(library, promise)
        removed = [serial for serial in promise.gone if serial]
        kept = {d.name for d in library.documents()}
        assert kept >= set(promise.there)
        assert removed and leftovers(folder, [token(each) for each in removed]) == []


def check_files(library: Library) -> None:
    """Every document has its file, every file its document, and nothing else lies about."""
    folder = library.settings.data_dir
    documents = library.documents()
    # What is killed between being kept and being written down was not accepted: it is set aside.
    files = {p.name for p in (folder / "files").iterdir() if p.is_file()}
    assert files == {d.id + d.suffix for d in documents}
    unpacking = folder / "unpacking"
    assert not unpacking.exists() or not list(unpacking.iterdir())
    assert len({d.name for d in documents}) == len(documents)


def check_index(library: Library) -> None:
    """Words and vectors are complete, and no chunk is there twice."""
    store, vectors = library._store, library._opened.vectors
    for document in library.documents():
        assert document.status is Status.READY, document
        chunks = {indexed.chunk.id for indexed in store.indexed(document.id, WORKER)}
        assert vectors.ids(document.id) == chunks and len(chunks) == document.chunks > 0
    assert vectors.count() == sum(d.chunks for d in library.documents())
    with store.database.write() as db:
        db.execute("INSERT INTO chunk_words (chunk_words, rank) VALUES ('integrity-check', 1)")
    with store.database.read() as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
        assert db.execute("SELECT count(*) FROM removals").fetchone() == (0,)


def check_words(library: Library, promise: Promise) -> None:
    """What was accepted is found under its name, once; what was removed is not found."""
    for name, serial in promise.there.items():
        for each in serials(name.rpartition(".")[2], serial):
            found = library.search(f'"{token(each)}"', retriever=RetrieverKind.BM25)
            assert {p.name.partition(" › ")[0] for p in found} == {name}, (name, each)
            assert len({p.chunk.id for p in found}) == len(found)
    for serial in promise.gone - {""}:
        assert library.search(f'"{token(serial)}"', retriever=RetrieverKind.BM25) == []
