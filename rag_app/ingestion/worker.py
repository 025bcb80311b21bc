"""The worker: received -> read -> searchable -> ready, resumable at every step.

Four threads, so that every file can soon be searched by words while meaning is still being
computed and scanned pages are recognised, and small files pass a large one that is being read. What
takes long gives way to others after every step (job_queue.py). What there is to do stands in the
store, so a worker that was killed goes on where it stopped.

After reading, scanned pages and pictures are recognised page by page. Each is kept before the next
is begun, so a worker that was killed goes on with the page it was at. What comes in between is
indexed in growing steps."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path

from rag_app.errors import (
    DatabaseUnavailable,
    DiskFull,
    DocumentError,
    FilesError,
    ModelAway,
    ModelUnavailable,
    RagAppError,
)
from rag_app.ingestion.attachments import Parts
from rag_app.ingestion.job_queue import STAGES, JobQueue, Lane, RunningJob
from rag_app.observing import traces
from rag_app.observing.measures import measures
from rag_app.reading.limits import pages_searched
from rag_app.reading.pdf_page import named
from rag_app.reading.sandbox import Cancelled, ReaderKilled, Sandbox
from rag_app.reading.spaced_tables import grids_of_scan
from rag_app.retrieval.chunking import Placing, chunk_pages, search_text
from rag_app.retrieval.embedding import Embedder
from rag_app.scope import WORKER
from rag_app.settings import QUEUES, Settings
from rag_app.storage import Indexed, Store
from rag_app.storage.contents import Conclusion, Scan, Scans, StoredTable
from rag_app.storage.queue import ClaimLost
from rag_app.storage.vectors import VectorIndex
from rag_app.supervision import give_way, surviving
from rag_app.tables.building import typed_tables, wider_than_kept
from rag_app.text.formats import readable_name
from rag_app.text.languages import language_of
from rag_app.types import Chunk, Document, Page, Reading, Recognised, Status

# Work that nobody waits for gives way to work that somebody does.

_FIRST_STEP = 4  # pages that are worth being searchable before the others are recognised
_NOTHING = Recognised("")
_SWITCHED_OFF = "Recognising text in scans and pictures is switched off (RAG_APP_OCR)."


class Recognition:
    """Works on the scanned pages of one document at a time; `file_of` gives its file, while a block
    lasts."""

    def __init__(
        self,
        scans: Scans,
        sandbox: Sandbox,
        file_of: Callable[[Document], AbstractContextManager[Path]],
        settings: Settings,
    ) -> None:
        self._scans, self._sandbox, self._file_of = scans, sandbox, file_of
        self._wanted, self._seconds = settings.ocr, settings.ocr_seconds
        self._threads = settings.threads

    def close(self) -> None:
        """End the process that recognises; work goes on in another one."""
        self._sandbox.close()

    def work(
        self,
        document: Document,
        report: Callable[[int, int], None],
        cancelled: threading.Event,
        overtaken: Callable[[], bool] = lambda: False,
    ) -> None:
        """Recognise pages until all are done, or so many that they are to be indexed first, or
        until it is the turn of another document.

        Raises Cancelled soon after the event is set."""
        blank = not self._scans.has_text(document.id)

        def conclude(scans: Sequence[Scan]) -> Conclusion:
            return conclusion(document, scans, blank)

        if not self._wanted:
            self._scans.leave(document.id, _SWITCHED_OFF, conclude)
            return
        try:
            self._pages(document, report, cancelled, overtaken, conclude)
        except ModelUnavailable as error:
            self._scans.leave(document.id, str(error), conclude)
        finally:
            if not self._scans.waiting():
                self._sandbox.close()  # it holds the models in memory

    def _pages(
        self,
        document: Document,
        report: Callable[[int, int], None],
        cancelled: threading.Event,
        overtaken: Callable[[], bool],
        conclude: Callable[[Sequence[Scan]], Conclusion],
    ) -> None:
        scans = self._scans.of(document.id)
        done, found = sum(scan.done for scan in scans), sum(scan.found for scan in scans)
        written = document.pages - len(scans)  # pages with text of their own
        if done == len(scans):
            self._scans.embedded(document.id)  # that it waits is stale
            return
        report(done, len(scans))
        with self._file_of(document) as path:
            for scan in scans:
                if scan.done:
                    continue
                recognised, trouble = self._page(path, scan.page, cancelled)
                done, found = done + 1, found + bool(recognised.words)
                index = bool(recognised.words) and _is_step(found, written)
                tables = _tables(document, partial(_read_scan, scan.page, recognised))
                self._scans.save(
                    *(document.id, scan.page, recognised, trouble, conclude),
                    index=index,
                    tables=tables,
                )
                report(done, len(scans))
                if index or (done < len(scans) and overtaken()):
                    return

    def _page(self, path: Path, number: int, cancelled: threading.Event) -> tuple[Recognised, str]:
        """What is on a page, or why that cannot be said."""
        try:
            found = self._sandbox.recognise(
                path, number, self._seconds, threads=self._threads, cancelled=cancelled
            )
        except DocumentError as error:
            return _NOTHING, str(error)
        return found, ""


def _is_step(found: int, written: int) -> bool:
    """Whether to index now: at 4, 8, 16 … pages, where that is more than what is indexed already.

    Every step indexes the whole document anew, so all steps together cost as much as two."""
    return found >= _FIRST_STEP and found > written and found & (found - 1) == 0


def conclusion(document: Document, scans: Sequence[Scan], blank: bool) -> Conclusion:
    """What is said of a document when its scanned pages are done; `blank`: it has no other text."""
    if any(scan.found for scan in scans) or not blank:
        warnings = (*document.warnings, *_warnings(scans))
        return Conclusion(warnings, index=any(scan.found for scan in scans))
    pages = named([scan.page for scan in scans])
    what = "PDF" if document.suffix == ".pdf" else "picture"
    trouble = next((scan.trouble for scan in scans if scan.trouble), "")
    if trouble:
        why = f"{pages} may be scanned, a picture of text. {trouble}"
    else:
        why = (
            f"nothing could be recognised on {pages}. If something is written there, "
            "scan it again, larger and sharper."
        )
    return Conclusion((), failure=f"There is no text in this {what}: {why}")


def _warnings(scans: Sequence[Scan]) -> list[str]:
    """A sentence for every reason why pages have no text."""
    silent = [scan for scan in scans if not scan.found]
    said = []
    for trouble in dict.fromkeys(scan.trouble for scan in silent):
        pages = [scan.page for scan in silent if scan.trouble == trouble]
        what = "they may be scans" if len(pages) > 1 else "it may be a scan"
        said.append(
            f"No text on {named(pages)} ({what}). {trouble}"
            if trouble
            else f"No text could be recognised on {named(pages)}."
        )
    return said


log = logging.getLogger(__name__)

_FIRST_TEXTS = 32  # embedded, then twice as many each time
_TEXTS_PER_STEP = 256  # embedded and written at once: a kill loses at most these, others wait
_SMALL = 1 << 20  # bytes of a file that does not wait for a larger one to be read
_PAUSE = 1.0  # seconds before what could not be written down is tried again
_LONGEST_PAUSE = 30.0  # it doubles while the disk stays full
_OUR_FAULT = (
    "Something went wrong inside the app while working on this file. "
    "The other files are not affected; you can try this one again."
)


class Ingestion(JobQueue):
    """Works through the documents that the store says are not finished.

    `small_sandbox` reads small files while `sandbox` reads any. `file_of` gives the file to read
    of a document, while a block lasts; `after_step` is called, with nothing held, after every step
    of work on one."""

    def __init__(
        self,
        store: Store,
        vectors: VectorIndex,
        embedder: Embedder,
        sandbox: Sandbox,
        small_sandbox: Sandbox,
        file_of: Callable[[Document], AbstractContextManager[Path]],
        chunk_tokens: int,
        most_searched: int,
        parts: Parts,
        recognition: Recognition,
        after_step: Callable[[], None] = lambda: None,
        queues: Collection[str] = QUEUES,
    ) -> None:
        self._after_step, self._parts, self._recognition = after_step, parts, recognition
        self._vectors, self._embedder = vectors, embedder
        self._file_of, self._chunk_tokens = file_of, chunk_tokens
        self._most_searched = most_searched  # characters of a document that make passages
        super().__init__(store)
        self._failed_once = set[str]()  # documents: of nobody's fault that is known
        self._embedding = Lane((Status.SEARCHABLE,))
        self._recognising = Lane((Status.SCANNED,))
        reading = Status.RECEIVED, Status.READ
        lanes = (
            ("read", "", Lane(reading), partial(self._read, sandbox)),
            ("read", "-small", Lane(reading, _SMALL), partial(self._read, small_sandbox)),
            ("embed", "", self._embedding, self._embed),
            ("recognise", "", self._recognising, self._recognise),
        )
        self._threads = [
            _thread(f"{queue}{which}", self._run, lane, step)
            for queue, which, lane, step in lanes
            if queue in queues
        ]
        if store.claims.shared:
            self._threads.append(_thread("beat", self.keep_in_touch, self._tell))

    def start(self, before_embedding: Callable[[], None] = lambda: None) -> None:
        """Begin, or go on with, what the store says is to be done.

        `before_embedding` is called in the thread that embeds, before it writes a vector."""
        self._before_embedding = before_embedding
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let go of the work; it is taken up again at the next start."""
        self.let_go()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def _stepped(
        self, document: Document, task: RunningJob, step: Callable[[Document, RunningJob], None]
    ) -> bool:
        """Take a step; whether the next need not wait: it was taken, or the document given up."""
        about = log, "could not work on document %s", document.id
        with surviving(*about, but=(Cancelled, ClaimLost, RagAppError)) as attempt:
            with (
                traces.span("document", id=document.id, stage=task.stage),
                self._store.claims.working(document.id),
            ):
                step(document, task)
            self.is_well()
        if not attempt.failed:
            self._failed_once.discard(document.id)
        elif self._may_pass(document):
            return False
        else:
            self._give_up(document, _OUR_FAULT, RagAppError.code)
        return True

    def _run(self, lane: Lane, step: Callable[[Document, RunningJob], None]) -> None:
        if lane is self._embedding:
            give_way()
            self._before_embedding()
        pause = 0.0
        while (picked := self.pick(lane, pause)) is not None:
            document, task = picked
            pause = min(2 * pause or _PAUSE, _LONGEST_PAUSE)
            try:
                if self._stepped(document, task, step):
                    pause = 0.0
            except (Cancelled, ClaimLost):
                pause = 0.0
            except (DatabaseUnavailable, DiskFull, FilesError) as error:
                # No fault of the document: it goes on when there is room, or the server is back.
                log.error("work waits: %s", error)
                self.is_stuck(str(error))
                continue
            except ModelAway as error:  # the same, when its server is back
                log.warning("embedding waits: %s", error)
                self.is_stuck(str(error))
                continue
            except ModelUnavailable as error:
                # No fault of the document: it can still be searched by words.
                log.error("documents are searched by words only: %s", error)
                self.leave(Status.SEARCHABLE)
                return
            except RagAppError as error:
                if isinstance(error, ReaderKilled) and self._may_pass(document):
                    log.warning("document %s is read once more: %s", document.id, error)
                    continue
                pause = 0.0
                self._give_up(document, str(error), error.code)
            finally:
                self.done(document.id)
            self._tell()

    def _tell(self) -> None:
        with surviving(log, "could not finish what was to follow"):  # called again after the next
            self._after_step()

    def _may_pass(self, document: Document) -> bool:
        """Whether what went wrong is to be tried once more, as memory, processes and handles that a
        machine lacks for a moment come back; the second time it is the document's."""
        again = document.id in self._failed_once
        (self._failed_once.discard if again else self._failed_once.add)(document.id)
        return not again

    def _give_up(self, document: Document, message: str, code: str) -> None:
        """Record a failure; a document that can be searched by words stays so."""
        measures().failed("document", code)
        searched = document.status is Status.SCANNED and document.chunks
        if document.status is Status.SEARCHABLE or searched:
            self.give_up(document.id)
            return
        writing = self._store.claims.working(document.id)
        with surviving(log, "could not record a failure") as attempt, writing:
            self._store.set_failed(document.id, message, code)
        if attempt.failed:  # a full disk, say: try again by and by
            self.rest(_PAUSE)

    def _read(self, sandbox: Sandbox, document: Document, task: RunningJob) -> None:
        if document.status is Status.RECEIVED:
            unpacking, file = self._parts.unpacking(document), self._file_of(document)
            with unpacking as limits, file as path, traces.span("read"):
                reading = sandbox.read(
                    path,
                    document.suffix,
                    on_page=task.report,
                    cancelled=task.cancelled,
                    limits=limits,
                )
                reading = self._parts.take_in(document, reading, limits, task.cancelled)
            self._store.queue.note_reading(document.id, reading)
            tables = _tables(document, lambda: reading)
            said = (*reading.warnings, *wider_than_kept(tables))
            self._store.save_reading(document.id, replace(reading, warnings=said), tables)
            if reading.parts:
                self.wake()
        task.stage = STAGES[Status.READ]
        document = self._store.document(document.id, WORKER)
        pages = self._store.pages(document.id, WORKER)
        reading = Reading(
            tuple(pages[: pages_searched(pages, self._most_searched)]),
            document.title,
            tuple(self._store.headings(document.id, WORKER)),
        )
        if task.cancelled.is_set():
            raise Cancelled
        with traces.span("chunk"):
            chunks = index(document, reading.pages, reading, self._chunk_tokens)
        if not chunks and self._store.scans.waiting(document.id):
            self._store.set_status(document.id, Status.SCANNED)
            return
        if self._vectors.ids(document.id):  # of an earlier reading, whose texts may differ
            self._vectors.delete(document.id)
        self._store.save_chunks(document.id, chunks, language_of(reading.pages))

    def _embed(self, document: Document, task: RunningJob) -> None:
        written = self._store.tables.written([document.id]).get(document.id)
        indexed = self._store.indexed(document.id, WORKER)
        there = self._vectors.ids(document.id)
        missing = [i for i in indexed if i.chunk.id not in there]
        task.report(len(indexed) - len(missing), len(indexed))
        placing = Placing(self._embedder, self._store.pages(document.id, WORKER), indexed)
        for step in _steps(missing):
            if task.cancelled.is_set():
                raise Cancelled
            if step[0] is not missing[0] and self.overtaken(self._embedding, document.id):
                return
            began = time.perf_counter()
            with traces.span("embed", passages=len(step)):
                made = placing.embed(step)
            measures().embedded(len(step), time.perf_counter() - began)
            self._vectors.upsert(document.id, [i.chunk.id for i in step], made, document.collection)
            task.report(task.done + len(step), task.total)
        self._store.scans.embedded(document.id, written)

    def _recognise(self, document: Document, task: RunningJob) -> None:
        def give_way() -> bool:
            return self.overtaken(self._recognising, document.id)

        self._recognition.work(document, task.report, task.cancelled, give_way)


def _steps(missing: Sequence[Indexed]) -> Iterator[Sequence[Indexed]]:
    """The first step is short: it says how long the rest will take."""
    first, size = 0, min(_FIRST_TEXTS, _TEXTS_PER_STEP)
    while first < len(missing):
        yield missing[first : first + size]
        first, size = first + size, min(2 * size, _TEXTS_PER_STEP)


def index(
    document: Document, pages: Iterable[Page], reading: Reading, chunk_tokens: int
) -> list[Indexed]:
    """A document's chunks with the words they are to be found by."""
    chunks = chunk_pages(document.id, list(pages), reading.headings, max_tokens=chunk_tokens)
    return [Indexed(c, context(document, c), search_text(c.text)) for c in chunks]


def context(document: Document, chunk: Chunk) -> str:
    """What a chunk is about: its document's title, or its name made readable, and its heading."""
    title = document.title or readable_name(document.name)
    return f"{title} > {chunk.heading}" if chunk.heading else title


def _read_scan(page: int, found: Recognised) -> Reading:
    """A page that is a picture, as if it had been read."""
    return Reading((Page(page, found.text),), grids=tuple(grids_of_scan(page, found)))


def _tables(document: Document, read: Callable[[], Reading]) -> list[StoredTable]:
    """The typed tables of a reading; one that cannot be typed is still text."""
    tables: list[StoredTable] = []
    with surviving(log, "could not type the tables of document %s", document.id):
        tables += typed_tables(document.id, read())
    return tables


def _thread(name: str, work: Callable[..., object], *given: object) -> threading.Thread:
    return threading.Thread(target=work, args=given, name=f"rag-app-{name}", daemon=True)
