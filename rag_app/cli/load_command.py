"""rag-app load: a bucket or a large folder, a part of it at a time, again and again if need be."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rag_app.cli.document_commands import (
    Accepted,
    became,
    print_added,
    seen_in,
    settled,
    with_parts,
)
from rag_app.cli.serve import opened
from rag_app.errors import DiskFull, DocumentError, FilesError
from rag_app.export.json_contract import BadUse, refused_json
from rag_app.text.page_names import count

if TYPE_CHECKING:
    from rag_app.ingestion.loading import FileSource, FoundFile
    from rag_app.library import Library
    from rag_app.types import Added

_AT_ONCE = 4  # files that are fetched at the same time: a bucket answers slowly, not seldom
_AHEAD = 64  # files that are fetched or worked on: what is read is not far behind what is listed
_LOOK_EVERY = 0.2  # seconds between looks at what is done
_TOLD_EVERY = 0.5, 30.0  # seconds between words on how far it is: to a person, to a log
_MOST_TOLD = 1_000  # failures that are listed at the end


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the command is called and takes."""
    load = commands.add_parser(
        "load",
        parents=[shared],
        help="all that lies in a bucket or a large folder; again: what is new or has changed",
    )
    load.add_argument(
        "source", metavar="SOURCE", help="s3://…, gs://…, az://…, file:///…, or a folder"
    )
    load.add_argument("--collection", help="where several people share: its id or name; none: Home")
    load.add_argument("--json", action="store_true", help="one JSON object per file taken in")
    load.set_defaults(run=_load)


def _load(arguments: argparse.Namespace) -> int:
    """The status is 1 if something failed, or if not all could be listed."""
    from rag_app.ingestion.loading import source_of

    with opened(arguments) as whole:
        library = seen_in(whole, arguments.collection)
        try:
            source = source_of(arguments.source, library.settings)
        except DocumentError as error:
            raise BadUse(str(error)) from None
        with ThreadPoolExecutor(_AT_ONCE, "rag-app-load") as pool:
            load = _Load(library, source, arguments, pool)
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
    ) -> None:
        self._library, self._source, self._arguments = library, source, arguments
        self._pool = pool
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
                while len(self._fetching) + len(self._working) >= _AHEAD and not self.trouble:
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
