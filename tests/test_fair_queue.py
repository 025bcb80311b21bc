"""Nobody waits for another's long file: through the library, with the real reading processes."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from pdfs import drawn, paragraph, scan
from PIL import Image
from scans import saved

from rag_app.errors import LibraryDamaged
from rag_app.ingestion.worker import _steps
from rag_app.library import Library
from rag_app.reading.sandbox import Sandbox
from rag_app.retrieval.chunking import Placing
from rag_app.settings import Settings
from rag_app.storage import Indexed
from rag_app.storage.database import VERSIONS
from rag_app.types import Recognised, RetrieverKind, Status
from tests.fakes import WordEmbedder
from tests.offices import packed
from tests.test_ocr_stage import until

pytestmark = pytest.mark.usefixtures("either_database")

SHEET = "month,rent\n" + "\n".join(f"2025-{n:02d},{900 + n}" for n in range(1, 13))


def open_library(folder: Path) -> Library:
    return Library(Settings.load(data_dir=folder), embedder=WordEmbedder())


@pytest.fixture
def library(tmp_path):
    with open_library(tmp_path / "data") as opened:
        yield opened


def long_pdf(pages: int) -> bytes:
    """A PDF of text."""

    def draw(canvas) -> None:
        for number in range(pages):
            canvas.drawString(72, 720, f"Page {number} of a long report.")
            for line in paragraph():
                canvas.drawString(line.x, line.y, line.text)
            canvas.showPage()

    return drawn(draw)


@pytest.fixture
def small(monkeypatch) -> Callable[[int], None]:
    """Sets of how many bytes a small file is, in libraries opened from then on."""
    return lambda size: monkeypatch.setattr("rag_app.ingestion.worker._SMALL", size)


def found(library: Library, words: str) -> set[str]:
    passages = library.search(f'"{words}"', retriever=RetrieverKind.BM25)
    return {passage.chunk.document_id for passage in passages}


@pytest.mark.skipif(os.name != "posix", reason="a process is halted by a signal")
def test_a_small_sheet_is_searchable_while_a_long_pdf_is_being_read(tmp_path, small):
    small(len(SHEET))
    with open_library(tmp_path / "data") as library:
        pdf = library.add("report.pdf", long_pdf(400), added_by="anna").document.id
        until(lambda: library.progress()[pdf].done)
        [reader] = [s.child_pid for s in library._keeping._readers if s.child_pid]
        os.kill(reader, signal.SIGSTOP)  # however fast the machine is, the sheet is done before
        try:
            assert library.document(pdf).status is Status.RECEIVED
            # only now: of two that wait the smaller is read first
            other = library.add("other.pdf", long_pdf(20), added_by="anna").document.id
            sheet = library.add("rent.csv", SHEET.encode(), added_by="anna").document.id
            assert library.wait([sheet], timeout=60)[0].status is Status.READY
            assert found(library, "2025-07") == {sheet}
            assert [library.document(one).status for one in (pdf, other)] == [Status.RECEIVED] * 2
        finally:
            with suppress(psutil.NoSuchProcess):
                os.kill(reader, signal.SIGCONT)
        assert {d.status for d in library.wait([pdf, other], timeout=120)} == {Status.READY}


class Steps:
    """Notes of which document each step of embedding is, and lets it begin when told."""

    def __init__(self) -> None:
        self.leave = threading.Semaphore(0)
        self.begun: list[str] = []
        self.chunks: list[str] = []

    def __call__(self, step: Sequence[Indexed]) -> None:
        self.begun.append(step[0].chunk.document_id)
        self.leave.acquire(timeout=60)
        self.chunks += [one.chunk.id for one in step]


def essay(name: str) -> bytes:
    return "\n\n".join(
        f"{name} {n} tells of lighthouses at length. " * 15 for n in range(60)
    ).encode()


@pytest.fixture
def steps(monkeypatch):
    """Embedding goes ten texts a step, and waits before each."""
    steps, real = Steps(), Placing.embed

    def embed(placing: Placing, step: Sequence[Indexed]) -> list[list[float]]:
        steps(step)
        return real(placing, step)

    monkeypatch.setattr("rag_app.ingestion.worker._TEXTS_PER_STEP", 10)
    monkeypatch.setattr(Placing, "embed", embed)
    return steps


def until_searchable(library: Library, *ids: str) -> None:
    until(lambda: all(library.document(i).status is Status.SEARCHABLE for i in ids))


def test_a_long_text_gives_way_to_a_short_one_after_the_step_it_is_in(library, steps):
    long = library.add("long.txt", essay("Long")).document.id
    steps.leave.release()
    until(lambda: len(steps.begun) == 2)
    short = library.add("short.txt", b"A short note on the ferry.").document.id
    until_searchable(library, short)
    steps.leave.release(2)
    assert library.wait([short], timeout=60)[0].status is Status.READY
    until(lambda: len(steps.begun) == 4)
    assert steps.begun == [long, long, short, long]
    assert library.document(long).status is Status.SEARCHABLE
    steps.leave.release(1_000)
    [document] = library.wait([long], timeout=60)
    assert document.status is Status.READY
    assert len(steps.chunks) == len(set(steps.chunks)) == document.chunks + 1  # nothing twice


def test_long_texts_of_two_people_are_embedded_by_turns(library, steps):
    first = library.add("first.txt", essay("First"), added_by="anna").document.id
    until(lambda: steps.begun)
    second = library.add("second.txt", 2 * essay("Second"), added_by="ben").document.id
    until_searchable(library, first, second)
    steps.leave.release(5)
    until(lambda: len(steps.begun) == 6)
    assert steps.begun == [first, second] * 3
    steps.leave.release(1_000)
    done = library.wait([first, second], timeout=60)
    assert {d.status for d in done} == {Status.READY}
    assert len(steps.chunks) == sum(d.chunks for d in done)


def test_a_long_scan_gives_way_to_a_picture_after_the_page_it_is_at(library, monkeypatch):
    pages: list[tuple[str, int]] = []
    leave = threading.Semaphore(0)

    def recognise(sandbox, path, number, *rest, **given) -> Recognised:
        leave.acquire(timeout=60)
        pages.append((path.stem, number))
        return Recognised("")

    monkeypatch.setattr(Sandbox, "recognise", recognise)
    scans = drawn(lambda canvas: [scan(canvas) for _ in range(5)])
    album = library.add("album.pdf", scans, added_by="anna").document.id
    until(lambda: library.document(album).status is Status.SCANNED)
    picture = saved([Image.new("L", (400, 200), 255)], "png")
    photo = library.add("photo.png", picture, added_by="ben").document.id
    until(lambda: library.document(photo).status is Status.SCANNED)
    leave.release(100)
    library.wait([album, photo], timeout=60)
    assert pages.index((photo, 1)) <= 1
    assert [number for stem, number in pages if stem == album] == [1, 2, 3, 4, 5]


def order_read(library: Library, monkeypatch) -> list[str]:
    """Names of documents as they are read, from now on."""
    names: list[str] = []
    real = library._store.save_reading

    def save(document_id, *rest) -> None:
        names.append(library.document(document_id).name)
        real(document_id, *rest)

    monkeypatch.setattr(library._store, "save_reading", save)
    return names


def test_people_are_served_in_turns_and_small_files_first(tmp_path, monkeypatch, small):
    small(0)  # all are read by one process, one after the other
    added = [("anna", 300), ("anna", 2), ("anna", 30), ("anna", 3_000), ("ben", 9_000), ("ben", 40)]
    with open_library(tmp_path / "data") as library:
        library.pause()
        names = order_read(library, monkeypatch)
        ids = [
            library.add(f"{who}-{size}.txt", b"word " * size, added_by=who).document.id
            for who, size in added
        ]
        library.resume()
        library.wait(ids, timeout=60)
    turns = ["anna-2", "ben-40", "anna-30", "ben-9000", "anna-300", "anna-3000"]
    assert names == [f"{name}.txt" for name in turns]


def test_what_comes_out_of_an_archive_waits_with_what_its_owner_added(library):
    inside = packed({"a.txt": b"The ferry leaves at noon.", "b.txt": b"The boat is blue."})
    archive = library.add("bundle.zip", inside, added_by="anna").document.id
    until(lambda: len(library.parts(archive)) == 2)
    with library._store.database.read() as db:
        rows = db.execute("SELECT DISTINCT added_by FROM documents").fetchall()
    assert rows == [("anna",)]


def test_who_added_it_is_never_shown(library):
    added = library.add("a.txt", b"The ferry leaves at noon.", added_by="someone").document
    [shown] = library.wait([added.id], timeout=60)
    assert "someone" not in repr((shown, library.report(added.id), library.progress()))


def test_a_library_of_a_version_that_was_never_released_is_left_as_it_is(tmp_path, monkeypatch):
    monkeypatch.delenv("RAG_APP_DATABASE_URL", raising=False)
    whole = tmp_path / "data" / "library.sqlite3"
    whole.parent.mkdir()
    with sqlite3.connect(whole) as db:
        db.executescript(VERSIONS[0].read_text("utf-8") + "PRAGMA user_version = 1;")
    db.close()
    with pytest.raises(LibraryDamaged, match="never released"):
        open_library(tmp_path / "data")
    with sqlite3.connect(whole) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()


def test_the_first_step_of_a_long_text_is_short_and_says_how_long_the_rest_takes():
    steps = list(_steps(list(range(1_000))))
    assert [len(step) for step in steps] == [32, 64, 128, 256, 256, 256, 8]
    assert [one for step in steps for one in step] == list(range(1_000))
