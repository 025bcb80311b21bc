from __future__ import annotations

import errno
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rag_app.ingestion.worker import context
from rag_app.library import Library
from rag_app.reading.sandbox import ReaderKilled, Sandbox
from rag_app.scope import WORKER
from rag_app.settings import Settings
from rag_app.types import Chunk, Document, Reading, RetrieverKind, Status
from tests.fakes import WordEmbedder

pytestmark = pytest.mark.usefixtures("either_database")

PARAGRAPHS = "\n\n".join(
    f"Paragraph {n} tells of lighthouse number {n}, which was built long ago on a cliff by the sea "
    f"and shines every {n % 7 + 3} seconds into the night." * 3
    for n in range(200)
)

# A process of its own, slow at the step that is to be killed.
VICTIM = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    sys.path.insert(0, sys.argv[3])
    from tests.fakes import WordEmbedder
    from rag_app import library as module
    from rag_app.settings import Settings

    class Slow(WordEmbedder):
        def embed_documents(self, texts):
            if self.embedded:
                print("half embedded", flush=True)
            time.sleep(0.2)
            return super().embed_documents(texts)

    library = module.Library(Settings.load(data_dir=Path(sys.argv[1])), embedder=Slow())
    library.add("long.txt", Path(sys.argv[2]))
    print("accepted", flush=True)
    time.sleep(60)
""")


def status(folder: Path) -> str | None:
    if url := os.environ.get("RAG_APP_DATABASE_URL"):
        import psycopg

        with psycopg.connect(url) as server:
            kept = server.execute("SELECT status FROM documents").fetchone()
        return kept[0] if kept else None
    try:
        with sqlite3.connect(f"file:{folder}/library.sqlite3?mode=ro", uri=True) as db:
            row = db.execute("SELECT status FROM documents").fetchone()
        db.close()
    except sqlite3.OperationalError:  # not made yet
        return None
    return row[0] if row else None


@pytest.mark.parametrize("killed_at", ["received", "searchable", "half embedded"])
def test_a_killed_worker_goes_on_and_the_document_appears_once(tmp_path, killed_at):
    file, data = tmp_path / "long.txt", tmp_path / "data"
    file.write_text(PARAGRAPHS)
    root = str(Path(__file__).parent.parent)
    victim = subprocess.Popen(
        [sys.executable, "-c", VICTIM, str(data), str(file), root], stdout=subprocess.PIPE, cwd=root
    )
    assert victim.stdout is not None
    assert victim.stdout.readline().strip() == b"accepted"
    if killed_at != "received":
        while status(data) != "searchable":
            time.sleep(0.01)
    if killed_at == "half embedded":
        assert victim.stdout.readline().strip() == b"half embedded"
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    victim.stdout.close()

    with Library(Settings.load(data_dir=data), embedder=WordEmbedder()) as library:
        [document] = library.wait([d.id for d in library.documents()], timeout=60)
        assert (document.status, document.name) == (Status.READY, "long.txt")
        found = library.search('"lighthouse number 199"', retriever=RetrieverKind.BM25)
        assert "lighthouse number 199" in found[0].chunk.text
        assert len({p.chunk.id for p in found}) == len(found)
        assert library._opened.vectors.count() == document.chunks > 50


def test_a_document_that_is_read_again_is_embedded_again(tmp_path):
    embedder = WordEmbedder()
    with Library(Settings.load(data_dir=tmp_path), embedder=embedder) as library:
        added = library.add("long.txt", PARAGRAPHS.encode())
        [document] = library.wait([added.document.id], timeout=60)
        library.retry(added.document.id)
        library.wait([added.document.id], timeout=60)
        chunks = [text for text in embedder.embedded if text.startswith("long")]  # the title
        assert len(chunks) == 2 * document.chunks == 2 * library._opened.vectors.count()


class BrokenEmbedder(WordEmbedder):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if any("poison" in text for text in texts):
            raise ZeroDivisionError
        return super().embed_documents(texts)


def test_of_a_very_long_table_all_rows_are_data_and_the_first_are_passages(tmp_path):
    rows = "id,name,remark\n" + "".join(f"{n},name {n},some remark\n" for n in range(2_000))
    settings = Settings.load(data_dir=tmp_path, max_characters=20_000)
    with Library(settings, embedder=WordEmbedder()) as library:
        added = library.add("rows.csv", rows.encode()).document
        library.wait([added.id])
        (document,) = library.documents()
        assert document.status is Status.READY and len(document.warnings) == 1
        found = library.search("name", 1_000)
        assert 0 < max(passage.chunk.page for passage in found) < document.pages
        (table,) = library._store.tables.of(WORKER)
        assert table.rows == 2_000 and table.last_page == document.pages


def test_a_fault_in_one_file_does_not_stop_the_others(tmp_path):
    with Library(Settings.load(data_dir=tmp_path), embedder=BrokenEmbedder()) as library:
        ids = [
            library.add(f"{n}.txt", text).document.id
            for n, text in enumerate([b"one good file", b"the poison file", b"another good file"])
        ]
        done = {d.id: d for d in library.wait(ids, timeout=60)}
        assert [done[i].status for i in ids] == [Status.READY, Status.SEARCHABLE, Status.READY]
        assert library.progress() == {}
        found = library.search("poison", retriever=RetrieverKind.BM25)
        assert found[0].chunk.document_id == ids[1]  # words still find it


@pytest.mark.parametrize(
    "shortage", [OSError(errno.EAGAIN, "no more processes"), ReaderKilled("The memory ran out.")]
)
@pytest.mark.parametrize(("times", "status"), [(1, Status.READY), (2, Status.FAILED)])
def test_what_a_machine_lacks_for_a_moment_costs_no_file(
    tmp_path, monkeypatch, shortage, times, status
):
    tries, real = itertools.count(1), Sandbox.read

    def read(*asked: Any, **more: Any) -> Reading:
        if next(tries) <= times:
            raise shortage
        return real(*asked, **more)

    with Library(Settings.load(data_dir=tmp_path), embedder=WordEmbedder()) as library:
        monkeypatch.setattr(Sandbox, "read", read)
        monkeypatch.setattr("rag_app.ingestion.worker._PAUSE", 0.01)
        added = library.add("a.txt", b"one good file").document.id
        assert library.wait([added], timeout=60)[0].status is status
        assert next(tries) == 3
        library.retry(added)  # and a person may try it again, as often as they like
        assert library.wait([added], timeout=60)[0].status is Status.READY


def test_a_full_disk_stops_nothing_for_good(tmp_path, monkeypatch):
    with Library(Settings.load(data_dir=tmp_path), embedder=WordEmbedder()) as library:
        store, left = library._store, [3]
        real = store.save_reading

        def full(*_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        def full_for_a_while(document_id: str, reading: Reading, tables: object) -> None:
            left[0] -= 1
            (full if left[0] >= 0 else real)(document_id, reading, tables)

        monkeypatch.setattr(store, "save_reading", full_for_a_while)
        monkeypatch.setattr(store, "set_failed", full)
        monkeypatch.setattr("rag_app.ingestion.worker._PAUSE", 0.01)
        added = library.add("a.txt", b"one good file")
        [document] = library.wait([added.document.id], timeout=60)
        assert document.status is Status.READY


def test_a_look_for_work_that_fails_once_is_made_again(tmp_path, monkeypatch):
    with Library(Settings.load(data_dir=tmp_path), embedder=WordEmbedder()) as library:
        monkeypatch.setattr("rag_app.ingestion.job_queue._PAUSE", 0.01)
        real, failed = library._store.queue.first_of_each, []

        def look(*wanted: Any) -> Any:
            worker = threading.current_thread().name
            if worker.startswith("rag-app-") and worker not in failed:
                failed.append(worker)
                raise sqlite3.OperationalError("disk I/O error")
            return real(*wanted)

        monkeypatch.setattr(library._store.queue, "first_of_each", look)
        added = library.add("a.txt", b"one good file")
        [document] = library.wait([added.document.id], timeout=60)
        assert document.status is Status.READY and "rag-app-embed" in failed


def test_two_hundred_files_in_one_drop_are_all_there(tmp_path):
    with Library(Settings.load(data_dir=tmp_path), embedder=WordEmbedder()) as library:
        ids = [
            library.add(f"{n}.txt", f"This is note number {n}.".encode()).document.id
            for n in range(200)
        ]
        done = library.wait(ids, timeout=120)
        assert [d.status for d in done] == [Status.READY] * 200
        found = library.search('"note number 137"', retriever=RetrieverKind.BM25)
        assert found[0].name == "137.txt"


def test_a_chunk_is_embedded_with_its_title_and_heading():
    document = Document("d", "ACME_2018_10K.pdf", ".pdf", 1, Status.READ, "now")
    chunk = Chunk("d", 1, 0, 0, 4, "text", "Part I > Item 1")
    assert context(document, chunk) == "ACME 2018 10K > Part I > Item 1"
