"""rag-app load, worker and move: a library on a server, filled, worked on and brought there.

Workers of one load may be actors of Ray, on the machines of its cluster or on this one: they do
what `rag-app worker` does, from the same queue and with the same functions. Ray says where they
run, and starts one anew that died; nothing of a document goes through it."""

from __future__ import annotations

import argparse
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.cli.common import command, opened, percentage, place, port_number, settings_of
from rag_app.cli.document_commands import (
    Accepted,
    became,
    print_added,
    seen_in,
    settled,
    with_parts,
)
from rag_app.environment import cluster_of_ray, shared_environment, take_on
from rag_app.errors import DiskFull, DocumentError, FilesError, SettingsError
from rag_app.export.json_contract import BadUse, moved_json, print_json, refused_json
from rag_app.observing import logs, traces
from rag_app.settings import QUEUES, Settings, app_version
from rag_app.text.formats import count

if TYPE_CHECKING:
    from rag_app.ingestion.loading import FileSource, FoundFile
    from rag_app.library import Library
    from rag_app.storage.moving import MovedLibrary
    from rag_app.types import Added

_AT_ONCE = 4  # files that are fetched at the same time: a bucket answers slowly, not seldom
_AHEAD = 64  # files that are fetched or worked on: what is read is not far behind what is listed
_EACH = 16  # the same for each of many workers
_LOOK_EVERY = 0.2  # seconds between looks at what is done
_TOLD_EVERY = 0.5, 30.0  # seconds between words on how far it is: to a person, to a log
_MOST_TOLD = 1_000  # failures that are listed at the end
_STAYS = (
    "{folder} still has library.sqlite3 and its folders of vectors, as they were. Look at the "
    "library, and then delete these: they keep the text of what is removed from now on, too."
)
_STARTING = 300.0  # seconds until the first of Ray's workers has to be there
_ENDING = 60.0  # seconds that these may take to put down what they have begun
_ANSWERING = 10.0  # seconds until somebody has to listen at the address of the cluster
_LEAST_MEMORY = 80 * 1024 * 1024  # bytes for Ray's own store, in which nothing of ours lies


def add_load_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """rag-app load: a bucket or a large folder, a part of it at a time, again and again."""
    told = "all that lies in a bucket or a large folder; again: what is new or has changed"
    load = command(commands, shared, "load", _load, told, "one JSON object per file taken in")
    load.add_argument(
        "source",
        type=_given,
        metavar="SOURCE",
        help="s3://…, gs://…, az://…, file:///…, or a folder",
    )
    load.add_argument("--collection", help="where several people share: its id or name; none: Home")
    load.add_argument(
        "--on", choices=["here", "ray"], default="here", help="who works on them; ray: its cluster"
    )


def _given(text: str) -> Path | str:
    """A folder, or an address as it is."""
    return text if "://" in text else place(text)


def _load(arguments: argparse.Namespace) -> int:
    """The status is 1 if something failed, or if not all could be listed."""
    from rag_app.ingestion.loading import source_of

    with ExitStack() as held:
        ahead = _AHEAD
        if arguments.on == "ray":
            ahead = max(_AHEAD, _EACH * held.enter_context(ray_workers(settings_of(arguments))))
            arguments.queues = "none"
        library = seen_in(held.enter_context(opened(arguments)), arguments.collection)
        try:
            source = source_of(str(arguments.source), library.settings)
        except DocumentError as error:
            raise BadUse(str(error)) from None
        with ThreadPoolExecutor(_AT_ONCE, "rag-app-load") as pool:
            load = _Load(library, source, arguments, pool, ahead)
            try:
                load.all()
            finally:
                pool.shutdown(cancel_futures=True)
        load.conclude()
    return 1 if load.failed or load.trouble else 0


class _Load:
    """What is under way, and what came of it."""

    def __init__(
        self,
        library: Library,
        source: FileSource,
        arguments: argparse.Namespace,
        pool: ThreadPoolExecutor,
        ahead: int,
    ) -> None:
        self._library, self._source, self._arguments = library, source, arguments
        self._pool, self._ahead = pool, ahead
        self._fetching: dict[Future[Added | None], tuple[FoundFile, float]] = {}
        self._working: list[Accepted] = []
        self._told = _Told(source)
        self.loaded = self.there = self.pages = self.failed = 0
        self.failures: list[dict[str, Any]] = []
        self.trouble = ""  # why it ends before its end

    def all(self) -> None:
        """Take all files in; a source that cannot be used any more ends it, and so does a full
        disk. What was accepted is still worked on."""
        try:
            for found in self._source.files():
                while len(self._fetching) + len(self._working) >= self._ahead and not self.trouble:
                    self._look()
                if self.trouble:
                    break
                task = self._pool.submit(self._library.loading.add, self._source, found)
                self._fetching[task] = found, time.perf_counter()
                if len(self._fetching) >= 2 * _AT_ONCE:
                    self._look()
        except FilesError as error:
            self.trouble = str(error)
        while self._fetching or self._working:
            self._look()

    def conclude(self) -> None:
        """Say what came of all, and what failed."""
        self._told.end()
        if not self._arguments.json:
            for one in self.failures:
                print_added(self._arguments, one)
            if self.failed > len(self.failures):
                print(f"           and {count(self.failed - len(self.failures), 'more')}")
            print(
                f"loaded  {count(self.loaded, 'file')}, {count(self.pages, 'page')}; "
                f"{self.there:,} were here already; {self.failed:,} failed"
            )
        if self.trouble:
            print(
                f"rag-app: {self.trouble} Load it again: it goes on where it ended.",
                file=sys.stderr,
            )

    def _look(self) -> None:
        """Wait a moment for something that is done, and note what came of it."""
        if self._fetching:
            done, _ = wait_for(self._fetching, _LOOK_EVERY, FIRST_COMPLETED)
            for task in done:
                self._note_fetched(task, *self._fetching.pop(task))
        elif self._working:
            first = self._working[0][2].document.id
            self._library.wait(with_parts(self._library, [first]), _LOOK_EVERY)
        finished, self._working = settled(self._library, self._working)
        for path, began, added in finished:
            self._note(became(self._library, path, began, added))
        self._told.tell(self.loaded + self.there + self.failed, self.pages)

    def _note_fetched(self, task: Future[Added | None], found: FoundFile, began: float) -> None:
        where = f"{self._source.url}/{found.path}"
        try:
            added = task.result()
        except DocumentError as error:
            self._note(refused_json(where, str(error), time.perf_counter() - began))
        except (DiskFull, FilesError) as error:
            self.trouble = self.trouble or str(error)
        else:
            if added is None:
                self.there += 1
            else:
                self._working.append((where, began, added))

    def _note(self, one: dict[str, Any]) -> None:
        if one["status"] == "failed":
            self.failed += 1
            if len(self.failures) < _MOST_TOLD:
                self.failures.append(one)
        else:
            self.loaded += 1
            self.pages += one["pages"]
        if self._arguments.json:
            print_added(self._arguments, one)


class _Told:
    """How far it is, on standard error: on one line where somebody looks at it, else now and then.

    How many files there are is counted beside the work, as slowly as the source lists them."""

    def __init__(self, source: FileSource) -> None:
        from rag_app.ui.jobs import Pace

        self._source, self._pace, self._total = source, Pace(), 0
        self._seen = sys.stderr.isatty()
        self._began = self._last = time.monotonic()
        self._ended = threading.Event()
        threading.Thread(target=self._count, name="rag-app-count", daemon=True).start()

    def tell(self, done: int, pages: int) -> None:
        """Say it if it is time to."""
        now = time.monotonic()
        if now - self._last < _TOLD_EVERY[not self._seen]:
            return
        self._last = now
        begin, end = ("\r\033[K", "") if self._seen else ("", "\n")
        print(f"{begin}{self._said(done, pages, now)}", end=end, file=sys.stderr, flush=True)

    def end(self) -> None:
        """No more words on it."""
        self._ended.set()
        if self._seen:
            print(file=sys.stderr)

    def _said(self, done: int, pages: int, now: float) -> str:
        from rag_app.ui.texts import left

        of = f" of {self._total:,}" if self._total else ""
        rate = done / max(now - self._began, 1.0) * 60
        said = f"{done:,}{of} files, {count(pages, 'page')}, {rate:,.0f} files a minute"
        return left(said, self._pace.left("load", done, self._total) if self._total else None)

    def _count(self) -> None:
        found = 0
        with suppress(FilesError):  # said where the files are taken in
            for _ in self._source.files():
                found += 1
                if self._ended.is_set():
                    return
            self._total = found


def add_worker_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """rag-app worker: works on documents, and shows no page."""
    told = "works on the documents of a library in PostgreSQL, without a page; any number may"
    worker = command(commands, shared, "worker", _work, told)
    worker.add_argument(
        "--queues",
        help=f"what this machine is for, of {', '.join(QUEUES)}, separated by commas; without it: "
        "what RAG_APP_QUEUES says, or all",
    )
    worker.add_argument("--host", default="127.0.0.1", help="address to listen on")
    worker.add_argument(
        "--port",
        type=port_number,
        help="port that answers /health/live, /health/ready and /metrics",
    )


def _work(arguments: argparse.Namespace) -> int:
    """Work until told to stop. Raises SettingsError."""
    settings = _settings_to_work(arguments)
    if not settings.database_address:
        raise SettingsError(
            "A worker shares its library with others, and a file can have one process only: set "
            "RAG_APP_DATABASE_URL to the library's PostgreSQL database."
        )
    _check_model(settings)
    logs.set_up(settings)
    traces.set_up(settings)
    from rag_app.library import Library
    from rag_app.storage.originals import made_for_me
    from rag_app.ui.health import Standing, serving

    host, port = arguments.host, arguments.port
    asked = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked.set())
    with made_for_me(), Library(settings) as library:
        standing = Standing(lambda: library, answers=False)
        with nullcontext() if port is None else serving(settings, standing, host, port):
            print(f"Works on: {', '.join(sorted(settings.works_on))}.", file=sys.stderr, flush=True)
            asked.wait()
            standing.draining = True
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)  # a second one does not wait
            library.wind_down(settings.drain_seconds)
    return 0


def _settings_to_work(arguments: argparse.Namespace) -> Settings:
    """The settings of a worker, which takes from all queues where none is named: that the apps
    beside it take from none may stand in the same environment."""
    settings = settings_of(arguments)
    if not settings.works_on:
        settings = Settings.load(data_dir=settings.data_dir, queues=",".join(QUEUES))
    # No writer: what models say of documents is made where people look at them.
    return Settings.load(
        data_dir=settings.data_dir, queues=settings.queues, writer="off", generator="quotes"
    )


def _check_model(settings: Settings) -> None:
    """A worker with another model would have all embedded anew, and then the others again. Raises
    SettingsError."""
    from rag_app.storage.database import AnsweringModel
    from rag_app.storage.engines import open_database

    database = open_database(settings)
    try:
        answering = AnsweringModel(database).get()
    finally:
        database.close()
    if answering and answering[0] != settings.embedding:
        raise SettingsError(
            f"The vectors of this library are made by the model “{answering[0] or 'built-in'}”, "
            f"and this worker is set to “{settings.embedding or 'built-in'}”. Set "
            "RAG_APP_EMBEDDING to the same in all processes."
        )


def add_move_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """rag-app move: the library of a data directory goes to a PostgreSQL database."""
    told = "the library of the data directory goes to an empty PostgreSQL database"
    command(commands, shared, "move", _move, told, "a JSON object")


def _move(arguments: argparse.Namespace) -> int:
    from rag_app.storage.moving import move

    settings = settings_of(arguments)
    try:
        with percentage(lambda _: "") as heard:
            moved = move(settings, heard)
    except KeyboardInterrupt:
        print("rag-app: Stopped. Nothing was moved, and nothing has changed.", file=sys.stderr)
        return 130
    _say_moved(arguments, moved, settings.folder)
    return 0


def _say_moved(arguments: argparse.Namespace, moved: MovedLibrary, folder: Path) -> None:
    if arguments.json:
        print_json(moved_json(moved, folder))
    else:
        rows = moved.rows
        told = [
            count(rows["documents"], "document"),
            count(rows["pages"], "page"),
            f"{count(rows['chunks'], 'passage')} ({count(moved.vectors, 'vector')})",
            count(rows["tables"], "table"),
            count(rows["conversations"], "conversation"),
            f"{rows['people']:,} people",
        ]
        print(f"moved  {', '.join(told)} to {moved.database}")
        if moved.originals:
            print(f"moved  {count(moved.originals, 'original')} to the object store")
    print(_STAYS.format(folder=folder), file=sys.stderr)


class RayWorker:
    """A process that works on documents until it is told to end."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        take_on(environment)
        from rag_app.library import Library

        self._held = ExitStack()
        folder = self._held.enter_context(tempfile.TemporaryDirectory(prefix="rag-app-"))
        settings = Settings.load(
            data_dir=folder, queues=",".join(QUEUES), writer="off", generator="quotes", threads=1
        )
        self._library = self._held.enter_context(Library(settings))

    def version(self) -> str:
        """Of the app, on the machine it runs on."""
        return app_version()

    def end(self) -> None:
        """Finish what is begun, and let go of everything."""
        self._library.wind_down(_ENDING / 2)
        self._held.close()


@contextmanager
def ray_workers(settings: Settings) -> Iterator[int]:
    """How many workers there are while the block lasts: one for each processor that Ray has free.

    Of the cluster that RAY_ADDRESS names, or else of a Ray that is started here. Raises
    SettingsError."""
    if not (settings.database_address and settings.files_url):
        raise SettingsError(
            "Workers on Ray share the library and its originals with others: set "
            "RAG_APP_DATABASE_URL and RAG_APP_FILES_URL to places that every machine reaches."
        )
    address = cluster_of_ray()
    try:
        import ray
    except ImportError as error:
        raise SettingsError(
            'Ray is not installed: pip install "rag-app[bulk]" brings it.'
        ) from error
    with _joined(ray, address):
        running = _started(ray)
        try:
            yield len(running)
        finally:
            ending = [one.end.remote() for one in running]
            ray.wait(ending, num_returns=len(ending), timeout=_ENDING)


@contextmanager
def _joined(ray: Any, address: str) -> Iterator[None]:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    here = {"address": "local", "include_dashboard": False, "object_store_memory": _LEAST_MEMORY}
    try:
        _look_at(address)
        ray.init(**quiet, **({} if address else here))
    except (OSError, RuntimeError, ValueError) as error:
        raise SettingsError(
            "No cluster of Ray can be joined. Look whether RAY_ADDRESS is right, or unset it to "
            "have one started here."
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _look_at(address: str) -> None:
    """Ray itself waits for minutes for what is not there. Raises OSError."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), _ANSWERING).close()


def _started(ray: Any) -> list[Any]:
    """The workers, one of which has begun; the others follow. Raises SettingsError."""
    environment = shared_environment()
    number = max(1, int(ray.available_resources().get("CPU", 1)))
    actor = ray.remote(num_cpus=1, max_restarts=-1)(RayWorker)
    running = [actor.remote(environment) for _ in range(number)]
    ready, _ = ray.wait([one.version.remote() for one in running], timeout=_STARTING)
    if not ready:
        raise SettingsError(f"Ray has started no worker within {_STARTING:.0f} seconds.")
    try:
        there = ray.get(ready[0])
    except ray.exceptions.RayError as error:
        raise SettingsError(f"A worker on Ray could not begin: {_reason(error)}") from error
    if there != app_version():
        raise SettingsError(
            f"The machines of Ray have version {there} of the app, this one has {app_version()}."
        )
    return running


def _reason(error: Exception) -> str:
    """The last line of what happened there: before it are other people's files and lines."""
    return (str(error).strip().splitlines() or ["no reason was given."])[-1]
