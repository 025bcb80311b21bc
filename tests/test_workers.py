"""Several processes on one library in PostgreSQL: each document is one's, whoever dies.

WORKER_KILLS=30 WORKER_FILES=400 python -m pytest tests/test_workers.py     takes an hour"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from rag_app.access.quotas import Quota
from rag_app.cli import server_commands
from rag_app.errors import QuotaReached, SettingsError
from rag_app.library import Library
from rag_app.scope import WORKER
from rag_app.settings import Settings
from rag_app.storage import queue
from rag_app.storage.queue import ClaimLost
from rag_app.types import RetrieverKind, Status
from tests import postgres, sentence_models
from tests.fakes import WordEmbedder
from tests.killing import KINDS, content, serials, token
from tests.test_disk_full import until

ROOT = Path(__file__).parent.parent
KILLS = int(os.environ.get("WORKER_KILLS", "1"))
FILES = int(os.environ.get("WORKER_FILES", "12"))
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
    with postgres.empty_library() as url, ExitStack() as held:
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
    assert app._opened.vectors.count() == 30
    assert app.progress() == {}


def test_machines_may_be_for_some_of_the_work_only(cluster):
    reads = cluster.process("reads", queues="read")
    one = reads.add("one.txt", text(1)).document.id
    until(lambda: reads.document(one).status is Status.SEARCHABLE)
    time.sleep(2 * queue.BEAT)
    assert reads.document(one).status is Status.SEARCHABLE
    cluster.process("embeds", queues="embed")
    assert reads.wait([one], timeout=60)[0].status is Status.READY


def test_work_that_is_given_to_two_at_once_is_done_once(cluster, monkeypatch):
    monkeypatch.setattr(queue, "_OTHERS", "TRUE")  # what somebody works on is everybody's
    monkeypatch.setattr(queue.SharedClaims, "free", "TRUE")
    app = cluster.process("app", queues="none")
    with app._store.database.write() as db:
        db.execute("DROP INDEX claimed_once")  # which alone would refuse it
    app.pause()  # until all are there
    ids = {n: app.add(f"{n}.txt", text(n)).document.id for n in range(20)}
    for name in ("one", "two", "three"):
        cluster.process(name)
        cluster.embedders[name].gate.clear()
    app.resume()

    def at_once() -> list[object]:
        twice = "SELECT document_id FROM claims GROUP BY document_id HAVING count(*) > 1"
        with app._store.database.read() as db:
            return list(db.execute(twice).fetchall())

    until(at_once)
    for embedder in cluster.embedders.values():
        embedder.gate.set()
    until(lambda: {d.status for d in app.documents()} == {Status.READY} and not app.progress())
    # One may be read anew just now: its vectors are gone before it is said to wait for them.
    until(lambda: app._opened.vectors.count() == 20)
    embedded = [text for e in cluster.embedders.values() for text in e.embedded]
    assert len(set(embedded)) == 20 < len(embedded)
    assert sum(d.chunks for d in app.documents()) == 20
    assert all(found(app, f"beacon{n}x") == [id_] for n, id_ in ids.items())


def test_a_worker_with_another_model_than_the_library_s_does_not_begin(cluster, monkeypatch):
    cluster.process("app", queues="none")
    given = cluster.settings("worker", embedding="another@http://127.0.0.1:1/v1")
    monkeypatch.setattr(Settings, "load", classmethod(lambda *_, **__: given))
    with pytest.raises(SettingsError, match="RAG_APP_EMBEDDING to the same in all processes"):
        server_commands._work(Namespace(queues="embed", host="127.0.0.1", port=None))


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
    assert app._opened.vectors.ids(one) == set() and app._opened.vectors.count() == 1
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
    monkeypatch.setattr(queue, "LEASE", 3.0)
    app = cluster.process("app", queues="none")
    one = app.add("one.txt", text(1)).document.id
    dead = queue.SharedClaims(app._store.database)  # which never beats
    assert dead.take(one)
    cluster.process("works")
    assert app.wait([one], timeout=60)[0].status is Status.READY
    assert not dead.beat({}, "").mine


def test_what_cannot_be_embedded_is_tried_twice_by_one_and_left_alone_by_all(cluster, monkeypatch):
    app, one = cluster.process("app", queues="none"), cluster.process("one")
    tries: list[int] = []

    def broken(texts: list[str]) -> list[list[float]]:
        tries.append(len(texts))
        raise ValueError("a fault of ours")

    monkeypatch.setattr(cluster.embedders["one"], "embed_documents", broken)
    added = app.add("one.txt", text(1)).document.id
    assert app.wait([added], timeout=60)[0].status is Status.SEARCHABLE
    cluster.process("two")
    time.sleep(2 * queue.BEAT)
    assert tries == [1, 1] and cluster.embedders["two"].embedded == []
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

    threads = [
        threading.Thread(target=add, args=pair) for pair in zip(libraries, (1, 2), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = {d.id: d.name for d in libraries[0].documents()}
    assert set(kept) == set(added) and len(set(kept.values())) == len(added) == 16


def test_questions_and_windows_count_wherever_they_are(cluster):
    one, two = (cluster.process(name, queues="none").access for name in ("one", "two"))
    for quotas in (one.quotas, two.quotas):
        quotas.quota_of = lambda subject: Quota(questions=3, sessions=2)
    one.quotas.check_question("anna")
    two.quotas.check_question("anna")
    one.quotas.check_question("anna")
    for quotas in (one.quotas, two.quotas):
        with pytest.raises(QuotaReached) as refused:
            quotas.check_question("anna")
        assert 0 < refused.value.retry_after <= 20
        quotas.check_question("ben")
    one.quotas.check_session("anna", "a")
    two.quotas.check_session("anna", "b")
    two.quotas.check_session("anna", "a")
    with pytest.raises(QuotaReached, match="2 windows"):
        one.quotas.check_session("anna", "c")
    two.quotas.end_session("anna", "a")
    one.quotas.check_session("anna", "c")


def test_what_another_process_wrote_into_a_conversation_is_looked_for(cluster):
    one, two = (cluster.process(name, queues="none").conversations for name in ("one", "two"))
    conversation = one.start("How high is it?")
    exchange = one.ask(conversation, "How high is it?")
    before = two.changes(conversation)  # as a page has it that was opened at another replica
    assert two.exchanges(conversation)[0].answer is None
    one.fail(exchange, "It was broken off.")
    assert two.changes(conversation) > before and two.changes(exchange) > before
    assert two.ask(conversation, "How old is it?")
    assert [e.question for e in one.exchanges(conversation)] == [
        "How high is it?",
        "How old is it?",
    ]


def test_a_queue_that_is_none_or_a_library_that_nobody_works_on_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="RAG_APP_QUEUES"):
        Settings.load(data_dir=tmp_path, queues="read,write")
    with pytest.raises(SettingsError, match="RAG_APP_DATABASE_URL"):
        Settings.load(data_dir=tmp_path, queues="none")


# Real processes: started as people start them, and killed.


def environment(cluster: Cluster, model: Path, name: str) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": str(ROOT),
        "RAG_APP_DATABASE_URL": cluster.url,
        "RAG_APP_FILES_URL": f"file://{cluster.folder / 'originals'}",
        "RAG_APP_DATA_DIR": str(cluster.folder / name),
        "RAG_APP_EMBEDDING": str(model),
        "RAG_APP_QUEUES": "none",  # of the processes that show pages; a worker has its own
        "RAG_APP_DRAIN_SECONDS": "20",
    }


def worker(
    cluster: Cluster, model: Path, name: str, *options: str
) -> contextlib.AbstractContextManager[subprocess.Popen[bytes]]:
    """A worker as it is started by hand; killed in the end, if it still runs."""
    log = (cluster.folder / "workers.log").open("ab")
    process = subprocess.Popen(
        [sys.executable, "-m", "rag_app.cli", "worker", *options],
        cwd=cluster.folder,
        env=environment(cluster, model, name),
        stderr=log,
    )

    @contextlib.contextmanager
    def killed() -> Iterator[subprocess.Popen[bytes]]:
        with log:
            try:
                yield process
            finally:
                process.kill()
                process.wait()

    return killed()


@pytest.fixture
def model(tmp_path) -> Path:
    return sentence_models.write(tmp_path / "model", 1)


@pytest.mark.timeout(300)
def test_a_worker_says_that_it_is_ready_and_ends_what_it_has_begun_when_it_is_told_to_stop(
    cluster, model, monkeypatch
):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    library = Library(cluster.settings("app", queues="none", embedding=str(model)))
    monkeypatch.setenv("RAG_APP_METRICS", "t" * 40)
    with library, worker(cluster, model, "w", "--port", str(port)) as process:
        ids = [library.add(f"{n}.txt", text(n)).document.id for n in range(5)]
        finished = library.wait(ids, timeout=200)
        log = (cluster.folder / "workers.log").read_text()
        assert {(d.status, d.error) for d in finished} == {(Status.READY, None)}, log
        said = httpx.get(f"http://127.0.0.1:{port}/health/ready", trust_env=False).json()
        assert said == {"ready": True, "database": "open", "models": "off", "draining": False}
        figures = f"http://127.0.0.1:{port}/metrics"
        assert httpx.get(figures, trust_env=False).status_code == 401
        known = {"Authorization": f"Bearer {'t' * 40}"}
        assert "rag_app_documents" in httpx.get(figures, headers=known, trust_env=False).text
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        with library._store.database.read() as db:
            assert db.execute("SELECT count(*) FROM workers").fetchall() == [(1,)]


@pytest.mark.timeout(300 + 60 * KILLS)
def test_nothing_is_lost_doubled_or_stuck_whoever_of_three_workers_is_killed(cluster, model):
    chance = random.Random(int(os.environ.get("WORKER_SEED", "5")))
    library = Library(cluster.settings("app", queues="none", embedding=str(model)))
    with library, ExitStack() as held:
        names = itertools.count()

        def another() -> subprocess.Popen[bytes]:
            return held.enter_context(worker(cluster, model, f"w{next(names)}"))

        workers = [another() for _ in range(3)]
        kinds = {f"f{n}": chance.choice(KINDS) for n in range(FILES)}
        ids = {s: library.add(f"{s}.{k}", content(k, s)).document.id for s, k in kinds.items()}
        gone = chance.sample(sorted(ids), FILES // 6)
        for number in range(KILLS):
            for serial in gone[number::KILLS]:
                library.remove(ids.pop(serial))
            until(lambda: any(p.stage != "waiting" for p in library.progress().values()), 120)
            time.sleep(chance.uniform(0, 2))
            victim = workers.pop(chance.randrange(3))
            victim.kill()
            victim.wait()
            workers.append(another())
        settle(library)
        check(library, {s: kinds[s] for s in ids}, {s: kinds[s] for s in gone})


def settle(library: Library) -> None:
    """Until nothing is left to do; what is stuck never comes to that."""
    before = -1
    while before != len(documents := library.documents()):
        before = len(documents)
        library.wait([d.id for d in documents], timeout=200)
    assert library.progress() == {} and library._store.removals() == []


def check(library: Library, there: dict[str, str], gone: dict[str, str]) -> None:
    """All of it is there once, and what was removed is not."""
    for document in library.documents():
        assert document.status is Status.READY, document
        chunks = {indexed.chunk.id for indexed in library._store.indexed(document.id, WORKER)}
        assert library._opened.vectors.ids(document.id) == chunks
        assert len(chunks) == document.chunks > 0
    assert library._opened.vectors.count() == sum(d.chunks for d in library.documents())
    for serial, kind in there.items():
        for each in serials(kind, serial):
            passages = library.search(f'"{token(each)}"', 20, None, RetrieverKind.BM25)
            assert {p.name.partition(" › ")[0] for p in passages} == {f"{serial}.{kind}"}
            assert len({p.chunk.id for p in passages}) == len(passages)
    for serial in gone:
        assert library.search(f'"{token(serial)}"', 20, None, RetrieverKind.BM25) == []
