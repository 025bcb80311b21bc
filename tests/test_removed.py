"""Removed means gone: every byte of the data directory is searched for what was removed."""

from __future__ import annotations

import io
import struct
import threading
import zipfile
import zlib
from pathlib import Path

import pytest

from rag_app.ingestion.service import DocumentService
from rag_app.library import Library
from rag_app.scope import HOME
from rag_app.settings import Settings
from rag_app.storage.chroma import ChromaVectors
from rag_app.types import RetrieverKind
from tests.fakes import WordEmbedder, _vector

SECRET = "zanzibarine"  # stands in what is removed
LATER = "quixotidine"


class Dense(WordEmbedder):
    """Vectors of unit length whose bytes are found again: no number in them is common."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [_dense(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return _dense(text)


def _dense(text: str) -> list[float]:
    words = _vector(text)
    raw = [x + 0.001 * (1 + zlib.crc32(f"{n}{text}".encode()) % 997) for n, x in enumerate(words)]
    length = sum(x * x for x in raw) ** 0.5
    return [x / length for x in raw]


def open_library(folder: Path) -> Library:
    return Library(Settings.load(data_dir=folder), embedder=Dense())


def text(word: str, lines: int = 300) -> bytes:
    return "\n\n".join(
        f"{word} line {n} tells of {word}{n} at length." for n in range(lines)
    ).encode()


def forms(word: str) -> list[bytes]:
    """How a word may stand in a file."""
    return [
        word.encode(),
        word.upper().encode(),
        word.encode("utf-16-le"),
        word.encode("utf-16-be"),
    ]


def holding(folder: Path, wanted: list[bytes]) -> list[str]:
    """The files that hold one of these, also in what is deflated in them."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            inflated = b"".join(_inflated(data)) if path.suffix in (".zip", ".docx") else b""
            found += [
                f"{path.relative_to(folder)}: {w[:20]!r}" for w in wanted if w in data + inflated
            ]
    return sorted(set(found))


def _inflated(data: bytes) -> list[bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return [archive.read(name) for name in archive.namelist()]


def coordinates(vectors: dict[str, list[float]]) -> list[bytes]:
    """A stretch of every vector's bytes; Chroma may scale vectors a little, so of the middle part
    of a few of them in each form that float32 has next to it."""
    return [struct.pack("<16f", *vector[64:80]) for vector in vectors.values()]


def packed(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def add(library: Library, name: str, data: bytes, replace: bool = False) -> str:
    added = library.add(name, data, replace=replace)
    for _ in range(3):  # what comes out of an archive is added while it is read
        library.wait([d.id for d in library.documents()], timeout=120)
    return added.document.id


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("how", ["remove", "replace", "archive"])
def test_nothing_of_a_removed_text_is_left_on_disk(tmp_path, how):
    folder = tmp_path / "data"
    with open_library(folder) as library:
        add(library, "kept.txt", text("kept", 40))
        before = size(folder)
        secret = text(SECRET)
        if how == "archive":
            container = add(library, "a.zip", packed({"deep/secret.txt": secret}))
            [gone] = library.parts(container)
        else:
            gone = container = add(library, "secret.txt", secret)
        conversation = library.conversations.start(f"What of {SECRET}7?")
        exchange = library.conversations.ask(conversation, f"What of {SECRET}7?")
        for event in library.ask(f"What line tells of {SECRET}7?"):
            if hasattr(event, "answer"):
                library.conversations.answer(exchange, event.answer)
        vectors = coordinates(library._opened.vectors.vectors(gone))
        assert vectors and holding(folder, forms(SECRET)) and holding(folder, vectors)
        if how == "replace":
            add(library, "secret.txt", text(LATER, 40), replace=True)
        else:
            library.remove(container)
        library.conversations.delete(conversation)  # the question is the user's own words
        for kind in RetrieverKind:
            assert all(SECRET not in p.chunk.text for p in library.search(SECRET, retriever=kind))
        assert library.wait_until_clean(60)
        assert holding(folder, forms(SECRET)) == []
        assert holding(folder, vectors) == []
        assert holding(folder, [gone.encode(), container.encode()]) == []
        assert library.search('"kept line 7"')
        assert size(folder) < before * 1.5 + (200_000 if how == "replace" else 0)
    assert holding(folder, [*forms(SECRET), *vectors]) == []


def test_a_removal_that_was_cut_off_is_finished_at_the_next_start(tmp_path, monkeypatch):
    folder = tmp_path / "data"
    with open_library(folder) as library:
        gone = add(library, "secret.txt", text(SECRET))
        monkeypatch.setattr(library._cleaner, "wake", lambda: None)
        library.remove(gone)
    assert holding(folder, forms(SECRET))
    with open_library(folder) as library:
        assert library.wait_until_clean(60)
        assert holding(folder, forms(SECRET)) == []


def test_while_removals_are_finished_at_the_start_nothing_is_added(tmp_path, monkeypatch):
    sweep, held = DocumentService._sweep_away, []

    def seen(keeping: DocumentService) -> None:
        held.append(not keeping._adding.acquire(blocking=False))
        sweep(keeping)

    monkeypatch.setattr(DocumentService, "_sweep_away", seen)
    with open_library(tmp_path / "data"):
        pass
    assert held and all(held)


def rows(first: int, count: int) -> tuple[list[str], list[list[float]]]:
    return [f"i{n}" for n in range(first, first + count)], [_dense(f"{n}") for n in range(count)]


def test_what_is_written_while_the_index_is_compacted_is_kept(tmp_path):
    index = ChromaVectors(tmp_path / "v", "test")
    for n in range(20):
        index.upsert(f"d{n}", *rows(100 * n, 10), HOME)
    real, stop = index._exchange, threading.Event()

    def meanwhile(fresh: ChromaVectors) -> None:
        index.delete("d0")
        index.upsert("d1", *rows(5_000, 3), HOME)
        index.upsert("new", *rows(9_000, 7), HOME)
        real(fresh)

    index._exchange = meanwhile  # type: ignore[method-assign]
    assert index.compact([f"d{n}" for n in range(19)], stop)
    assert index.ids("d0") == set() and index.ids("d19") == set()
    assert len(index.ids("d1")) == 13 and len(index.ids("new")) == 7
    assert index.count() == 17 * 10 + 13 + 7
    assert [p.name for p in tmp_path.iterdir()] == ["v"]
    stop.set()
    assert not index.compact(["d1"], stop) and index.count() == 190
    index.close()


@pytest.mark.parametrize("killed", ["before", "between"])
def test_a_kill_while_the_folders_are_exchanged_loses_no_vector(tmp_path, killed):
    folder = tmp_path / "v"
    index = ChromaVectors(folder, "test")
    index.upsert("d", *rows(0, 10), HOME)
    index.close()
    if killed == "before":
        (tmp_path / "v.fresh").mkdir()
    else:
        folder.rename(tmp_path / "v.fresh")
        (tmp_path / "v.spent").mkdir()
    again = ChromaVectors(folder, "test")
    assert again.count() == 10
    assert [p.name for p in tmp_path.iterdir()] == ["v"]
    again.close()
