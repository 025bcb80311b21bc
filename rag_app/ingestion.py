"""The worker: received -> read -> searchable -> ready, resumable at every step.

Two threads, so that every file can soon be searched by words while meaning is still being computed.
What there is to do stands in the store, so a worker that was killed goes on where it stopped."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rag_app.chunking import chunk_pages, search_text
from rag_app.embedding import Embedder
from rag_app.errors import ModelUnavailable, RagAppError
from rag_app.reading.sandbox import Cancelled, Sandbox
from rag_app.store import Indexed, Store
from rag_app.types import Chunk, Document, Page, Progress, Reading, Status
from rag_app.vectors import VectorIndex

log = logging.getLogger(__name__)

_TEXTS_PER_STEP = 128  # embedded and written at once: a kill loses at most these
_PAUSE = 1.0  # seconds before what could not be written down is tried again
_OUR_FAULT = (
    "Something went wrong inside the app while working on this file. "
    "The other files are not affected; you can try this one again."
)
_STAGES: dict[Status, str] = {
    Status.RECEIVED: "reading",
    Status.READ: "indexing",
    Status.SEARCHABLE: "embedding",
}


@dataclass
class _Task:
    """What one thread is doing now."""

    document_id: str
    stage: str
    cancelled: threading.Event = field(default_factory=threading.Event)
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    total: int = 0

    def report(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def progress(self) -> Progress:
        seconds = time.monotonic() - self.began
        left = seconds / self.done * (self.total - self.done) if self.done and seconds > 1 else None
        unit = "passages" if self.stage == "embedding" else "pages"
        return Progress(self.document_id, self.stage, self.done, self.total, unit, left)


class Ingestion:
    """Works through the documents that the store says are not finished.

    `file_of` gives the file to read for a document; `after_step` is called, with nothing held,
    after every step of work on a document."""

    def __init__(
        self,
        store: Store,
        vectors: VectorIndex,
        embedder: Embedder,
        sandbox: Sandbox,
        file_of: Callable[[Document], Path],
        chunk_tokens: int,
        after_step: Callable[[], None] = lambda: None,
    ) -> None:
        self._after_step = after_step
        self._store, self._vectors, self._embedder = store, vectors, embedder
        self._sandbox, self._file_of, self._chunk_tokens = sandbox, file_of, chunk_tokens
        self._changed = threading.Condition()
        self._tasks: dict[str, _Task] = {}
        self._held = Counter[str]()  # being removed or read anew: not to be picked up
        self._given_up: set[str] = set()  # failed to be embedded: searched by words until a retry
        self._to_do = dict(_STAGES)  # states that work is done on
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._run, args=(statuses, step), name=name, daemon=True)
            for name, statuses, step in (
                ("rag-app-read", (Status.RECEIVED, Status.READ), self._read),
                ("rag-app-embed", (Status.SEARCHABLE,), self._embed),
            )
        ]

    def start(self) -> None:
        """Begin, or go on with, what the store says is to be done."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Let go of the work; it is taken up again at the next start."""
        with self._changed:
            self._stopping = True
            for task in self._tasks.values():
                task.cancelled.set()
            self._changed.notify_all()
        for thread in self._threads:
            if thread.is_alive():
                thread.join()

    def wake(self) -> None:
        """There is something new to do."""
        with self._changed:
            self._changed.notify_all()

    @contextmanager
    def hold(self, document_id: str) -> Iterator[None]:
        """Nothing works on this document inside the block; work under way is cancelled."""
        with self._changed:
            self._held[document_id] += 1
            self._given_up.discard(document_id)
            if task := self._tasks.get(document_id):
                task.cancelled.set()
            self._changed.wait_for(lambda: document_id not in self._tasks)
        try:
            yield
        finally:
            with self._changed:
                self._held[document_id] -= 1
                self._changed.notify_all()

    def progress(self) -> dict[str, Progress]:
        """By document id: what is being worked on or waits for it."""
        with self._changed:
            running = {task.document_id: task.progress() for task in self._tasks.values()}
        return {
            d.id: running.get(d.id) or Progress(d.id, "waiting", 0, d.pages)
            for d in self._store.documents()
            if self._unfinished(d)
        }

    def wait(self, ids: Iterable[str], timeout: float | None = None) -> bool:
        """Until none of these documents has work left; False if the time ran out before."""
        wanted = set(ids)

        def finished() -> bool:
            return self._stopping or not any(
                d.id in wanted and self._unfinished(d) for d in self._store.documents()
            )

        with self._changed:
            return self._changed.wait_for(finished, timeout)

    def _run(self, statuses: tuple[Status, ...], step: Callable[[Document, _Task], None]) -> None:
        while (picked := self._pick(statuses)) is not None:
            document, task = picked
            try:
                step(document, task)
            except Cancelled:
                pass
            except ModelUnavailable as error:
                # No fault of the document: it can still be searched by words.
                log.error("documents are searched by words only: %s", error)
                self._to_do.pop(Status.SEARCHABLE, None)
                return
            except RagAppError as error:
                self._give_up(document, str(error), error.code)
            except Exception:  # a fault of ours in one file must not stop the others
                log.exception("could not work on document %s", document.id)
                self._give_up(document, _OUR_FAULT, RagAppError.code)
            finally:
                with self._changed:
                    del self._tasks[document.id]
                    self._changed.notify_all()
            self._tell()

    def _tell(self) -> None:
        try:
            self._after_step()
        except Exception:  # a full disk, say: it is called again after the next document
            log.exception("could not finish what was to follow")

    def _give_up(self, document: Document, message: str, code: str) -> None:
        """Record a failure; a document that can be searched by words stays so."""
        if document.status is Status.SEARCHABLE:
            self._given_up.add(document.id)
            return
        try:
            self._store.set_failed(document.id, message, code)
        except Exception:  # a full disk: nothing can be written down, so try again by and by
            log.exception("could not record a failure")
            with self._changed:
                self._changed.wait(_PAUSE)

    def _unfinished(self, document: Document) -> bool:
        return document.status in self._to_do and document.id not in self._given_up

    def _pick(self, statuses: tuple[Status, ...]) -> tuple[Document, _Task] | None:
        """The next document in one of `statuses`; None when stopping."""
        with self._changed:
            while not self._stopping:
                try:
                    documents = self._store.documents()
                except Exception:  # a full disk, say: a worker must not end because of it
                    log.exception("could not look for work")
                    self._changed.wait(_PAUSE)
                    continue
                for document in documents:
                    busy = document.id in self._tasks or self._held[document.id]
                    if document.status in statuses and self._unfinished(document) and not busy:
                        task = _Task(document.id, _STAGES[document.status])
                        self._tasks[document.id] = task
                        return document, task
                self._changed.wait()
        return None

    def _read(self, document: Document, task: _Task) -> None:
        if document.status is Status.RECEIVED:
            reading = self._sandbox.read(
                self._file_of(document),
                document.suffix,
                on_page=task.report,
                cancelled=task.cancelled,
            )
            self._store.save_reading(document.id, reading)
        task.stage = _STAGES[Status.READ]
        document = self._store.document(document.id)
        reading = Reading(
            tuple(self._store.pages(document.id)),
            document.title,
            tuple(self._store.headings(document.id)),
        )
        if task.cancelled.is_set():
            raise Cancelled
        chunks = index(document, reading.pages, reading, self._chunk_tokens)
        if self._vectors.ids(document.id):  # of an earlier reading, whose texts may differ
            self._vectors.delete(document.id)
        self._store.save_chunks(document.id, chunks)

    def _embed(self, document: Document, task: _Task) -> None:
        indexed = self._store.indexed(document.id)
        there = self._vectors.ids(document.id)
        missing = [i for i in indexed if i.chunk.id not in there]
        task.report(len(indexed) - len(missing), len(indexed))
        for first in range(0, len(missing), _TEXTS_PER_STEP):
            if task.cancelled.is_set():
                raise Cancelled
            step = missing[first : first + _TEXTS_PER_STEP]
            vectors = self._embedder.embed_documents([i.for_embedding for i in step])
            self._vectors.upsert(document.id, [i.chunk.id for i in step], vectors)
            task.report(task.done + len(step), task.total)
        self._store.set_status(document.id, Status.READY)


def index(
    document: Document, pages: Iterable[Page], reading: Reading, chunk_tokens: int
) -> list[Indexed]:
    """A document's chunks with the words they are to be found by."""
    chunks = chunk_pages(document.id, list(pages), reading.headings, max_tokens=chunk_tokens)
    return [Indexed(c, context(document, c), search_text(c.text)) for c in chunks]


def context(document: Document, chunk: Chunk) -> str:
    """What a chunk is about: its document's title, or its name made readable, and its heading."""
    title = document.title or Path(document.name).stem.replace("_", " ")
    return f"{title} > {chunk.heading}" if chunk.heading else title
