"""A library on several processes of one machine, some of which are killed all the time.

    python -m benchmarks.cluster [--files 3000] [--every 20] [--people 20] [--seconds 120]
    python -m benchmarks.cluster --load [--files 3000]

PostgreSQL with pgvector, an object store (moto's, which forgets), workers, two apps behind a
balancer that sends every connection to either: all of it is started here and thrown away. First
the same files go through one process that nobody kills, and then through 1, 2, 3 workers of which
one is killed (kill -9) so often; then people ask two apps while one of them is killed and documents
are removed. Processor seconds are those of the processes that work, their starts included, without
the database's."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil

from rag_app.library import Library
from rag_app.server.gate import KeyFile
from rag_app.settings import Settings
from rag_app.types import RetrieverKind, Status
from tests import object_stores, postgres
from tests.killing import token

ROOT = Path(__file__).parent.parent
SENTENCES = 12  # of a file: one passage or two
BUCKET = "originals"


def content(number: int) -> bytes:
    """A file whose words nothing else has."""
    said = f"The lighthouse {token(str(number))} shines over harbour {number} at night."
    more = (f"Lamp {number * SENTENCES + n} burns oil of rapeseed." for n in range(SENTENCES))
    return f"{said} {' '.join(more)}\n".encode()


def free_port() -> int:
    """One that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@dataclass
class Cluster:
    """What all processes share, and those that were started."""

    folder: Path
    url: str
    bucket: str
    log: Path
    seconds: dict[int, float] = field(default_factory=dict)  # of the processor, by process
    names: Iterator[int] = field(default_factory=itertools.count)

    def environment(self, **given: str) -> dict[str, str]:
        """What a process is told."""
        return os.environ | {
            "PYTHONPATH": str(ROOT),
            "RAG_APP_DATABASE_URL": self.url,
            "RAG_APP_FILES_URL": f"s3://{BUCKET}",
            "AWS_ENDPOINT_URL": self.bucket,
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": object_stores.KEY,
            "AWS_SECRET_ACCESS_KEY": object_stores.SECRET,
            "RAG_APP_WRITER": "off",
            "RAG_APP_GENERATOR": "quotes",
            "RAG_APP_RERANK": "0",
            "RAG_APP_THREADS": "1",
            **given,
        }

    def start(self, *command: str, **given: str) -> subprocess.Popen[bytes]:
        """A process of the app, with a data directory of its own if it was given none."""
        own = {"RAG_APP_DATA_DIR": str(self.folder / f"p{next(self.names)}"), **given}
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "rag_app.cli", *command],
                cwd=self.folder,
                env=self.environment(**own),
                stdout=log,
                stderr=log,
            )

    def count(self, process: subprocess.Popen[bytes]) -> None:
        """Note what a process and its children have taken of the processor by now."""
        with suppress(psutil.NoSuchProcess):
            there = psutil.Process(process.pid)
            for one in [there, *there.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):
                    took = one.cpu_times()
                    self.seconds[one.pid] = took.user + took.system

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """-9."""
        self.count(process)
        process.kill()
        process.wait()


@contextmanager
def cluster() -> Iterator[Cluster]:
    """An empty library on a database and a bucket of its own."""
    with ExitStack() as held:
        folder = Path(held.enter_context(tempfile.TemporaryDirectory(prefix="cluster")))
        port = free_port()
        store = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-p", str(port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        held.callback(store.wait)
        held.callback(store.kill)
        bucket = f"http://127.0.0.1:{port}"
        until(lambda: listening(port), 120)
        httpx.put(f"{bucket}/{BUCKET}", timeout=120, trust_env=False).raise_for_status()
        url = held.enter_context(postgres.fresh_database(template=postgres.prepared()))
        yield Cluster(folder, url, bucket, folder / "log")


def until(true: object, seconds: float) -> None:
    """Wait for it. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not true():  # type: ignore[operator]
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.2)


def listening(port: int) -> bool:
    """Whether somebody takes connections."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def watching(of: Cluster) -> Iterator[Library]:
    """The library as a process has it that works on nothing."""
    before = dict(os.environ)
    os.environ.update(of.environment())
    try:
        settings = Settings.load(data_dir=of.folder / "watching", queues="none")
        with Library(settings) as library:
            yield library
    finally:
        os.environ.clear()
        os.environ.update(before)


# Files through workers


def through_workers(files: int, workers: int, every: float) -> dict[str, object]:
    """So many files through so many workers, of which one is killed every so many seconds; 0
    workers: through one process that nobody kills."""
    chance = random.Random(workers)
    with cluster() as made, watching(made) as library, ExitStack() as held:
        library.pause()
        ids = [library.add(f"{n}.txt", content(n)).document.id for n in range(files)]
        library.resume()
        began, kills = time.monotonic(), 0
        running = [made.start("worker") for _ in range(workers or 1)]
        held.callback(lambda: [made.kill(process) for process in running])
        last = began
        while library.progress():
            time.sleep(1)
            for process in running:
                made.count(process)
            if workers and time.monotonic() - last > every:
                last, kills = time.monotonic(), kills + 1
                made.kill(running.pop(chance.randrange(len(running))))
                running.append(made.start("worker"))
        took = time.monotonic() - began
        for process in running:
            made.kill(process)
        return {
            "workers": workers or "one, not killed",
            "files": files,
            "kills": kills,
            "seconds": round(took, 1),
            "processor": round(sum(made.seconds.values()), 1),
            **state_of(library, ids),
        }


def state_of(library: Library, ids: list[str]) -> dict[str, int]:
    """What is lost, there twice, or stuck."""
    documents = {d.id: d for d in library.documents()}
    found = Counter(
        passage.chunk.document_id
        for number in range(len(ids))
        for passage in library.search(f'"{token(str(number))}"', 5, None, RetrieverKind.BM25)
    )
    vectors, chunks = library._vectors.count(), sum(d.chunks for d in documents.values())
    return {
        "lost": len(set(ids) - set(found)),
        "doubled": sum(n > 1 for n in found.values()) + abs(vectors - chunks),
        "stuck": sum(d.status is not Status.READY for d in documents.values()),
    }


def loaded(files: int, on: str) -> dict[str, object]:
    """So many files of a folder by `rag-app load`, worked on by itself, by workers of the queue, as
    many as Ray has here, or by those of Ray."""
    with cluster() as made, watching(made) as library, ExitStack() as held:
        folder = made.folder / "in"
        folder.mkdir()
        for number in range(files):
            (folder / f"{number}.txt").write_bytes(content(number))
        began = time.monotonic()
        number = (os.cpu_count() or 1) if on == "queue" else 0
        workers = [made.start("worker") for _ in range(number)]
        held.callback(lambda: [made.kill(process) for process in workers])
        told = {"RAG_APP_QUEUES": "none"} if workers else {}
        running = made.start("load", str(folder), "--on", "ray" if on == "ray" else "here", **told)
        while running.poll() is None:
            for process in (running, *workers):
                made.count(process)
            time.sleep(0.5)
        documents = [document.id for document in library.documents()]
        return {
            "load": on,
            "files": files,
            "seconds": round(time.monotonic() - began, 1),
            "processor": round(sum(made.seconds.values()), 1),
            "missing": files - len(documents),
            "status": running.returncode,
            **state_of(library, documents),
        }


# People and replicas


class Balancer:
    """Sends every connection to a replica by chance, to another where that does not answer."""

    def __init__(self, replicas: list[int]) -> None:
        self._replicas, self.port = replicas, free_port()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        serving = asyncio.start_server(self._take, "127.0.0.1", self.port)
        self._loop.run_until_complete(serving)
        self._loop.run_forever()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for port in random.sample(self._replicas, len(self._replicas)):
            with suppress(OSError):
                there = await asyncio.open_connection("127.0.0.1", port)
                await asyncio.gather(_pass(reader, there[1]), _pass(there[0], writer))
                return
        writer.close()


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(65_536):
            sink.write(data)
            await sink.drain()
    sink.close()


@dataclass
class Told:
    """What people were told."""

    asked: int = 0
    again: int = 0  # once more, because the replica was killed
    lost: int = 0
    after_removal: int = 0
    removed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def with_people(files: int, people: int, seconds: float, every: float) -> dict[str, object]:
    """People ask two replicas, one of which is killed every so often, and documents are removed."""
    with cluster() as made, watching(made) as library, ExitStack() as held:
        worker = made.start("worker")
        held.callback(made.kill, worker)
        ids = [library.add(f"{n}.txt", content(n)).document.id for n in range(files)]
        library.wait(ids, timeout=1_200)
        key = KeyFile(made.folder / "a").key()
        (made.folder / "b").mkdir()
        KeyFile(made.folder / "b").path.write_text(f"{key}\n")
        ports = [free_port(), free_port()]

        def app(which: int) -> subprocess.Popen[bytes]:
            where = {"RAG_APP_DATA_DIR": str(made.folder / "ab"[which]), "RAG_APP_QUEUES": "none"}
            return made.start("serve", "--api", "--port", str(ports[which]), **where)

        apps = [app(0), app(1)]
        for port in ports:
            until(lambda port=port: ready(port), 400)
        told, end = Told(), time.monotonic() + seconds
        at = f"http://127.0.0.1:{Balancer(ports).port}"
        threads = [
            threading.Thread(target=ask_all_the_time, args=(at, key, files, told, end, n))
            for n in range(people)
        ]
        threads.append(threading.Thread(target=remove, args=(at, key, ids, told, end)))
        for thread in threads:
            thread.start()
        kills = 0
        while time.monotonic() < end:
            time.sleep(every)
            which = kills % 2
            if ready(ports[1 - which]):  # the other has come back
                made.kill(apps[which])
                apps[which], kills = app(which), kills + 1
        for thread in threads:
            thread.join()
        for process in apps:
            made.kill(process)
        said = {name: value for name, value in vars(told).items() if name != "lock"}
        return {"people": people, "kills": kills, **said}


def ready(port: int) -> bool:
    """Whether a replica says that it is to be sent people."""
    with suppress(httpx.HTTPError):
        asked = httpx.get(f"http://127.0.0.1:{port}/health/ready", timeout=20, trust_env=False)
        return asked.status_code == 200
    return False


def asked(at: str, key: str, question: str, tries: int) -> tuple[dict[str, object] | None, int]:
    """The answer, and how often it was asked; a connection is never used twice."""
    for number in range(1, tries + 1):
        with suppress(httpx.HTTPError):
            said = httpx.post(
                f"{at}/api/v1/ask",
                headers={"Authorization": f"Bearer {key}", "Connection": "close"},
                json={"question": question},
                timeout=120,
                trust_env=False,
            )
            if said.status_code == 200:
                return dict(said.json()), number
        time.sleep(0.5)
    return None, tries


def ask_all_the_time(at: str, key: str, files: int, told: Told, end: float, seed: int) -> None:
    """One person: a question after the other, twenty times where a replica has gone."""
    chance = random.Random(seed)
    while time.monotonic() < end:
        number = chance.randrange(files // 2)  # the other half is removed by and by
        answer, tries = asked(at, key, f"What does {token(str(number))} shine over?", 20)
        there = answer is not None and token(str(number)) in json.dumps(answer)
        with told.lock:
            told.asked += 1
            told.again += tries > 1
            told.lost += not there
        time.sleep(chance.uniform(0.5, 2))


def remove(at: str, key: str, ids: list[str], told: Told, end: float) -> None:
    """Remove documents, and ask for each at once, of either replica by chance."""
    header = {"Authorization": f"Bearer {key}", "Connection": "close"}
    for number in range(len(ids) // 2, len(ids)):
        if time.monotonic() > end:
            return
        with suppress(httpx.HTTPError):
            address = f"{at}/api/v1/documents/{ids[number]}"
            gone = httpx.delete(address, headers=header, timeout=120, trust_env=False)
            if gone.status_code != 204:
                continue
            for _ in range(4):
                answer, _ = asked(at, key, f"What does {token(str(number))} shine over?", 20)
                quotes = json.dumps([answer.get("citations")] if answer else [])
                told.after_removal += token(str(number)) in quotes
            told.removed += 1


def main() -> None:
    """Run it and print one JSON object for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=3_000)
    parser.add_argument("--every", type=float, default=20, help="seconds between two kills")
    parser.add_argument("--workers", default="0,1,2,3", help="0: one process, never killed")
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=120, help="that people ask; 0: nobody")
    parser.add_argument("--load", action="store_true", help="only `rag-app load`, in three ways")
    given = parser.parse_args()
    if given.load:
        for files in (10, given.files):  # with ten, what all of it costs to start
            for on in ("here", "queue", "ray"):
                print(json.dumps(loaded(files, on)), flush=True)
        return
    for workers in filter(None, given.workers.split(",")):
        print(json.dumps(through_workers(given.files, int(workers), given.every)), flush=True)
    if given.seconds:
        files = min(given.files, 200)
        said = with_people(files, given.people, given.seconds, given.every)
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
