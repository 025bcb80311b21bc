"""Several processes on one library in PostgreSQL: each document is one's, whoever dies.

WORKER_KILLS=30 WORKER_FILES=400 python -m pytest tests/test_workers.py -s    takes a quarter of an hour"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from rag_app.errors import SettingsError
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.storage import claims
from rag_app.storage.claims import ClaimLost
from rag_app.types import RetrieverKind, Status
from tests import postgres
from tests.fakes import WordEmbedder
from tests.test_disk_full import until

pytestmark = postgres.needs_postgres


class Cluster:
    """Libraries of processes with data directories of their own, on one database and one store."""

    def __init__(self, folder: Path, url: str, held: ExitStack) -> None:
        self.folder, self.url, self._held = folder, url, held
        (folder / "originals").mkdir()

    def settings(self, name: str, **given: object) -> Settings:
        return Settings.load(
            data_dir=self.folder / name,
            database_url=self.url,
            files_url=f"file://{self.folder / 'originals'}",
            **{"generator": "quotes", "writer": "off"} | given,
        )

    def process(self, name: str, **given: object) -> Library:
        embedder = WordEmbedder()
        library = Library(self.settings(name, **given), embedder=embedder)
        self.embedders[name] = embedder
        return self._held.enter_context(library)

    embedders: dict[str, WordEmbedder]


@pytest.fixture
def cluster(tmp_path) -> Iterator[Cluster]:
    with postgres.fresh_database(template=postgres.prepared()) as url, ExitStack() as held:
        made = Cluster(tmp_path, url, held)
        made.embedders = {}
        yield made
        for embedder in made.embedders.values():
            embedder.gate.set()


def text(number: int) -> bytes:
    return f"The lighthouse beacon{number}x stands on cliff {number}.".encode()


def found(library: Library, words: str) -> list[str]:
    return [p.chunk.document_id for p in library.search(words, 20, None, RetrieverKind.BM25)]


def test_no_document_is_worked_on_twice(cluster):
    app = cluster.process("app", queues="none")
    ids = [app.add(f"{n}.txt", text(n)).document.id for n in range(30)]
    for name in ("one", "two", "three"):
        cluster.process(name)
    assert {d.status for d in app.wait(ids, timeout=120)} == {Status.READY}
    embedded = [text for e in cluster.embedders.values() for text in e.embedded]
    assert len(embedded) == len(set(embedded)) == 30
    assert cluster.embedders["app"].embedded == []
    assert app._vectors.count() == 30
    assert app.progress() == {}


def test_machines_may_be_for_some_of_the_work_only(cluster):
    reads = cluster.process("reads", queues="read")
    one = reads.add("one.txt", text(1)).document.id
    until(lambda: reads.document(one).status is Status.SEARCHABLE)
    time.sleep(2 * claims.BEAT)
    assert reads.document(one).status is Status.SEARCHABLE
    cluster.process("embeds", queues="embed")
    assert reads.wait([one], timeout=60)[0].status is Status.READY


def test_how_far_others_are_is_seen_everywhere(cluster):
    app, works = cluster.process("app", queues="none"), cluster.process("works")
    cluster.embedders["works"].gate.clear()
    one = app.add("one.txt", text(1)).document.id
    until(lambda: app.progress().get(one) and app.progress()[one].stage == "embedding")
    app.pause()
    until(lambda: works.paused)
    cluster.embedders["works"].gate.set()
    app.resume()
    assert app.wait([one], timeout=60)[0].status is Status.READY


def test_a_document_that_is_removed_while_another_process_works_on_it_leaves_nothing(cluster):
    app, works = cluster.process("app", queues="none"), cluster.process("works")
    cluster.embedders["works"].gate.clear()
    one = app.add("one.txt", text(1)).document.id
    until(lambda: app.progress().get(one) and app.progress()[one].stage == "embedding")
    app.remove(one)  # waits for nobody
    assert works.documents() == []
    cluster.embedders["works"].gate.set()
    two = app.add("two.txt", text(2)).document.id
    assert app.wait([two], timeout=60)[0].status is Status.READY
    assert len(found(app, "lighthouse")) == 1
    assert app._vectors.ids(one) == set() and app._vectors.count() == 1
    assert [*(cluster.folder / "originals").rglob(f"{one}*")] == []


def test_what_is_cancelled_is_not_read_by_others(cluster):
    app, works = cluster.process("app", queues="none"), cluster.process("works")
    app.pause()
    until(lambda: works.paused)
    ids = [app.add(f"{n}.txt", text(n)).document.id for n in range(3)]
    assert app.cancel_waiting() == 3
    app.resume()
    assert {d.status for d in app.wait(ids, timeout=60)} == {Status.FAILED}


def test_who_has_lost_a_claim_writes_nothing(cluster):
    app, other = cluster.process("app", queues="none"), cluster.process("other", queues="none")
    one = app.add("one.txt", text(1)).document.id
    mine, theirs = app._store.claims, other._store.claims
    assert mine.take(one) and not theirs.take(one)
    with mine.working(one):
        app._store.set_status(one, Status.READ)
    theirs.hold(one)
    assert not mine.take(one)
    with pytest.raises(ClaimLost), mine.working(one):
        app._store.set_status(one, Status.READY)
    assert other.document(one).status is Status.READ
    theirs.drop(one)
    assert mine.take(one)


def test_a_process_that_is_not_heard_of_loses_its_claims(cluster, monkeypatch):
    monkeypatch.setattr(claims, "LEASE", 3.0)
    app = cluster.process("app", queues="none")
    one = app.add("one.txt", text(1)).document.id
    dead = claims.SharedClaims(app._store.database)  # which never beats
    assert dead.take(one)
    cluster.process("works")
    assert app.wait([one], timeout=60)[0].status is Status.READY
    assert not dead.beat({}, "").mine


def test_what_cannot_be_embedded_is_tried_by_one_and_left_alone_by_all(cluster, monkeypatch):
    app, one = cluster.process("app", queues="none"), cluster.process("one")
    tries: list[int] = []

    def broken(texts: list[str]) -> list[list[float]]:
        tries.append(len(texts))
        raise ValueError("a fault of ours")

    monkeypatch.setattr(cluster.embedders["one"], "embed_documents", broken)
    added = app.add("one.txt", text(1)).document.id
    assert app.wait([added], timeout=60)[0].status is Status.SEARCHABLE
    cluster.process("two")
    time.sleep(2 * claims.BEAT)
    assert tries == [1] and cluster.embedders["two"].embedded == []
    monkeypatch.undo()
    app.retry(added)
    assert app.wait([added], timeout=60)[0].status is Status.READY
    assert one.progress() == {}


def test_the_same_name_at_the_same_time_in_two_processes_is_two_documents(cluster):
    libraries = [cluster.process(name, queues="none") for name in ("one", "two")]
    together = threading.Barrier(2)
    added: list[str] = []

    def add(library: Library, number: int) -> None:
        for step in range(8):
            together.wait()
            added.append(library.add(f"plan{step}.txt", text(10 * step + number)).document.id)

    threads = [threading.Thread(target=add, args=pair) for pair in zip(libraries, (1, 2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = {d.id: d.name for d in libraries[0].documents()}
    assert set(kept) == set(added) and len(set(kept.values())) == len(added) == 16


def test_a_queue_that_is_none_or_a_library_that_nobody_works_on_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="RAG_APP_QUEUES"):
        Settings.load(data_dir=tmp_path, queues="read,write")
    with pytest.raises(SettingsError, match="RAG_APP_DATABASE_URL"):
        Settings.load(data_dir=tmp_path, queues="none")
