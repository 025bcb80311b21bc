from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from rag_app.errors import QuestionError
from rag_app.library import Library
from rag_app.scope import HOME
from rag_app.settings import Settings
from rag_app.storage import Store
from rag_app.storage.engines import open_database
from rag_app.types import Document, Reading, Status
from tests.fakes import WordEmbedder

pytestmark = pytest.mark.usefixtures("either_database")


def open_library(folder: Path, embedder: WordEmbedder | None = None) -> Library:
    return Library(Settings.load(data_dir=folder), embedder=embedder or WordEmbedder())


@pytest.fixture
def library(tmp_path):
    with open_library(tmp_path / "data") as opened:
        yield opened


def add(library: Library, *names: str) -> list[str]:
    return [library.add(n, f"The words of {n} shine.".encode()).document.id for n in names]


def test_a_paused_queue_stays_paused_over_a_restart_and_goes_on_when_told(tmp_path):
    with open_library(tmp_path) as library:
        library.pause()
        [first] = add(library, "a.txt")
        assert library.wait([first], timeout=0.3)[0].status is Status.RECEIVED
    with open_library(tmp_path) as library:
        assert library.paused and [*library.progress()] == [first]
        with pytest.raises(QuestionError):
            library.search("words")
        library.resume()
        assert library.wait([first], timeout=60)[0].status is Status.READY
        assert not library.paused and library.progress() == {}


def test_a_pause_lets_go_of_embedding_and_loses_nothing_of_it(tmp_path):
    class Slow(WordEmbedder):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            time.sleep(0.2)
            return super().embed_documents(texts)

    text = "\n\n".join(f"Paragraph {n} tells of lighthouse {n} at length. " * 9 for n in range(600))
    with open_library(tmp_path, slow := Slow()) as library:
        added = library.add("long.txt", text.encode()).document.id
        while library.document(added).status is not Status.SEARCHABLE or not slow.embedded:
            time.sleep(0.01)
        library.pause()
        while any(p.stage == "embedding" for p in library.progress().values()):
            time.sleep(0.01)
        done = library._opened.vectors.count()
        library.resume()
        [document] = library.wait([added], timeout=60)
        assert document.status is Status.READY and 0 < done < document.chunks
        assert library._opened.vectors.count() == document.chunks
        assert len(slow.embedded) < 2 * document.chunks  # not all over again


def test_what_waits_can_be_cancelled_and_tried_again(library):
    library.pause()
    ids = add(library, "a.txt", "b.txt", "c.txt")
    assert library.cancel(ids[0])
    cancelled = library.document(ids[0])
    assert (cancelled.status, cancelled.error_code) == (Status.FAILED, "cancelled")
    assert "try it again" in str(cancelled.error)
    assert library.cancel_waiting() == 2 and library.progress() == {}
    library.resume()
    library.retry(ids[1])
    assert library.wait([ids[1]], timeout=60)[0].status is Status.READY
    assert not library.cancel(ids[1])  # it has been read
    assert library.document(ids[1]).status is Status.READY
    assert add(library, "c.txt") == [ids[2]]  # handing it in again reads it, too
    assert library.wait([ids[2]], timeout=60)[0].status is Status.READY


def test_what_is_being_read_can_be_cancelled(library, monkeypatch):
    reading, go = threading.Event(), threading.Event()
    real = library._store.save_reading

    def slow(document_id: str, found: Reading, tables: object) -> None:
        reading.set()
        go.wait(30)
        real(document_id, found, tables)

    monkeypatch.setattr(library._store, "save_reading", slow)
    ids = add(library, "a.txt", "b.txt")
    reading.wait(30)
    canceller = threading.Thread(target=library.cancel_waiting)
    canceller.start()
    while not library._queue._letting_go:  # it has begun
        time.sleep(0.01)
    go.set()
    canceller.join(30)
    library.wait(ids, timeout=30)
    assert [library.document(i).error_code for i in ids][1] == "cancelled"
    assert library.progress() == {}


def test_a_report_says_what_became_of_a_document(library):
    page = (
        "<h1>Prices</h1><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    )
    html = library.add("page.html", page.encode()).document.id
    old = library.add("old.txt", "Grüße aus Österreich, schöne Städte".encode("cp1252"))
    library.add("again.html", page.encode())
    library.wait([html, old.document.id], timeout=60)
    report = library.report(html)
    assert (report.document.pages, report.pages_without_text, report.tables) == (1, 0, 1)
    assert report.duplicates == ("again.html",) and report.parts == report.inside == ()
    assert library.report(old.document.id).encoding == "windows-1252"
    (said,) = library.document(old.document.id).warnings
    assert said == "This file does not say its encoding; it was read as windows-1252."
    assert report.encoding == ""


def document(n: int) -> Document:
    return Document(f"{n:064x}", f"{n}.txt", ".txt", 1, Status.RECEIVED, f"{n:08d}")


def test_five_thousand_documents_do_not_slow_the_queue(either_database):
    """Every pick, wait and look at one document costs the same however many there are."""
    store = Store(open_database(Settings.load()))
    with store.database.write() as db:
        db.executemany(
            "INSERT INTO documents (id, name, suffix, size, status, added_at) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                (d.id, d.name, d.suffix, d.size, Status.READY if n % 2 else d.status, d.added_at)
                for n in range(5_000)
                for d in [document(n)]
            ),
        )
    began = time.perf_counter()
    for n in range(0, 200, 2):
        [first] = store.queue.first_of_each([Status.RECEIVED], [])
        assert first.document_id == document(n).id
        assert store.queue.is_waiting([document(n).id], [Status.RECEIVED], [])
        assert store.provenance.taken_names(f"{n}.txt", str(n), HOME) == [f"{n}.txt"]
        store.set_status(document(n).id, Status.READY)
    assert time.perf_counter() - began < 10  # a look through all of them each time takes longer
    plan = (
        "EXPLAIN QUERY PLAN SELECT id FROM documents WHERE collection = 'home' "
        "AND (name = '' OR (name >= '' AND name < ''))"
    )
    if either_database == "sqlite":
        with store.database.read() as db:
            assert "SCAN documents" not in repr(db.execute(plan).fetchall())
    store.close()


def test_versions_that_follow_each_other_fast_leave_the_last(library):
    library.pause()
    [first] = add(library, "a.txt")
    library.resume()
    library.wait([first], timeout=60)
    library.pause()
    newer = [library.add("a.txt", f"Version {n}.".encode(), replace=True) for n in range(3)]
    library.resume()
    ids = [added.document.id for added in newer]
    library.wait(ids, timeout=60)
    library.wait(ids, timeout=60)
    assert [(d.id, d.name) for d in library.documents()] == [(ids[-1], "a.txt")]


def test_a_document_that_is_handed_in_again_is_not_replaced_after_all(library):
    older = library.add("price.txt", b"The price is four euros.").document
    library.wait([older.id], timeout=30)
    library.pause()
    newer = library.add("price.txt", b"The price is five euros.").document
    library.replace(older.id, newer.id)
    assert library.add("price.txt", b"The price is four euros.").duplicate
    library.resume()
    library.wait([newer.id], timeout=30)
    assert {d.id for d in library.documents()} == {older.id, newer.id}
