"""Whose turn it is: which document a thread may work on, and which must be left alone.

Pausing, cancelling and removing happen here, while others work. Knows nothing of the work."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rag_app.errors import UnknownDocument
from rag_app.storage import Store
from rag_app.storage.queue import PAUSED
from rag_app.supervision import surviving
from rag_app.types import Document, Progress, Status

log = logging.getLogger(__name__)

_PAUSE = 1.0  # seconds before it is looked for work again, where that failed
CANCELLED = "cancelled"  # the `error_code` of a document that nobody wants read
_CANCELLED = "Cancelled before it was read. The file is kept: try it again, or remove it."
STAGES: dict[Status, str] = {
    Status.RECEIVED: "reading",
    Status.READ: "indexing",
    Status.SEARCHABLE: "embedding",
    Status.SCANNED: "recognising",
}
_UNREAD = (STAGES[Status.RECEIVED], STAGES[Status.READ])


@dataclass
class RunningJob:
    """What one thread is doing now."""

    document_id: str
    stage: str
    cancelled: threading.Event = field(default_factory=threading.Event)
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    total: int = 0
    before: int | None = None  # what was done when it began

    def report(self, done: int, total: int) -> None:
        """So much of it is done."""
        self.done, self.total = done, total
        if self.before is None:
            self.before = done

    def progress(self) -> Progress:
        """How far it is, and how long the rest will take at this pace."""
        seconds = time.monotonic() - self.began
        done = self.done - (self.before or 0)
        left = seconds / done * (self.total - self.done) if done and seconds > 1 else None
        unit = "passages" if self.stage == "embedding" else "pages"
        return Progress(self.document_id, self.stage, self.done, self.total, unit, left)


class JobQueue:
    """Gives out documents to work on, first come first, each to one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed = threading.Condition()
        self._tasks: dict[str, RunningJob] = {}
        self._held = Counter[str]()  # being removed or read anew: not to be picked up
        self._given_up: set[str] = set()  # failed to be embedded: searched by words until a retry
        self._to_do = dict(STAGES)  # states that work is done on
        self._stopping = False
        self._paused = bool(store.queue.marked(PAUSED))
        self._letting_go = 0  # callers that need all waiting documents to be left alone
        self._troubles: dict[int, str] = {}  # by thread: why it cannot go on

    def let_go(self) -> None:
        """No more turns; what is under way is cancelled."""
        with self._changed:
            self._stopping = True
            for task in self._tasks.values():
                task.cancelled.set()
            self._changed.notify_all()

    def leave(self, status: Status) -> None:
        """Documents in this state are left as they are: nobody can work on them."""
        with self._changed:
            self._to_do.pop(status, None)
            self._changed.notify_all()

    def give_up(self, document_id: str) -> None:
        """Leave a document as it is until it is tried again."""
        self._given_up.add(document_id)

    def rest(self, seconds: float) -> None:
        """Wait for a while, or until something changes."""
        with self._changed:
            self._changed.wait(seconds)

    def done(self, document_id: str) -> None:
        """The turn is over."""
        with self._changed:
            del self._tasks[document_id]
            self._changed.notify_all()

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
                if not self._held[document_id]:
                    del self._held[document_id]
                self._changed.notify_all()

    @property
    def trouble(self) -> str:
        """One sentence while work cannot go on; empty if it can."""
        return next(iter(list(self._troubles.values())), "")

    def is_stuck(self, trouble: str) -> None:
        """The thread that calls this cannot go on for now."""
        self._troubles[threading.get_ident()] = trouble

    def is_well(self) -> None:
        """The thread that calls this goes on."""
        self._troubles.pop(threading.get_ident(), None)

    @property
    def paused(self) -> bool:
        """Whether nothing new is begun until it is resumed."""
        return self._paused

    def pause(self, paused: bool) -> None:
        """Begin nothing new, also after a restart; or go on.

        A file that is being read is read to its end; embedding stops after the step it is at."""
        with self._changed:
            self._store.queue.mark(PAUSED, int(paused))
            self._paused = paused
            for task in self._tasks.values():
                if paused and task.stage not in _UNREAD:
                    task.cancelled.set()
            self._changed.notify_all()

    def cancel(self, document_id: str) -> bool:
        """Do not read a document: it fails as cancelled, and can be tried again.

        False if it has been read already."""
        with self.hold(document_id):
            return bool(self._store.queue.cancel(document_id, _CANCELLED, CANCELLED))

    def cancel_all(self) -> int:
        """Read none of the documents that wait or are being read. Returns how many."""
        with self._changed:
            self._letting_go += 1
            for task in self._reading():
                task.cancelled.set()
            self._changed.wait_for(lambda: not self._reading())
        try:
            return self._store.queue.cancel(None, _CANCELLED, CANCELLED)
        finally:
            with self._changed:
                self._letting_go -= 1
                self._changed.notify_all()

    def _reading(self) -> list[RunningJob]:
        return [t for t in self._tasks.values() if t.stage in _UNREAD]

    def progress(self, documents: Iterable[Document] | None = None) -> dict[str, Progress]:
        """By document id: what is being worked on or waits for it.

        Of these documents alone, as they were when they were listed, or of all."""
        with self._changed:
            running = {task.document_id: task.progress() for task in self._tasks.values()}
            if documents is None:
                waiting = self._store.queue.waiting([*self._to_do])
            else:
                waiting = [(d.id, d.pages) for d in documents if d.status in self._to_do]
            given_up = set(self._given_up)
        return {
            id_: running.get(id_) or Progress(id_, "waiting", 0, pages)
            for id_, pages in waiting
            if id_ not in given_up
        }

    def wait(self, ids: Iterable[str], timeout: float | None = None) -> bool:
        """Until none of these documents has work left; False if the time ran out before.

        While work is paused, this does not wait."""
        wanted = list(ids)

        def finished() -> bool:
            return (
                self._stopping
                or self._paused
                or not self._store.queue.is_waiting(wanted, [*self._to_do], self._given_up)
            )

        with self._changed:
            return self._changed.wait_for(finished, timeout)

    def pick(
        self, statuses: tuple[Status, ...], pause: float
    ) -> tuple[Document, RunningJob] | None:
        """The next document in one of `statuses`, after a pause; None when stopping."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, pause or 0)
            while not self._stopping:
                document = None
                with surviving(log, "could not look for work") as attempt:
                    document = self._next(statuses)
                if attempt.failed:
                    self._changed.wait(_PAUSE)
                    continue
                if document:
                    task = RunningJob(document.id, STAGES[document.status])
                    self._tasks[document.id] = task
                    return document, task
                self._troubles.pop(threading.get_ident(), None)
                self._changed.wait()
        return None

    def _next(self, statuses: tuple[Status, ...]) -> Document | None:
        """The first document that may be worked on now."""
        if self._paused or (self._letting_go and Status.RECEIVED in statuses):
            return None
        wanted = [status for status in statuses if status in self._to_do]
        found = self._store.queue.next(wanted, [*self._tasks, *self._held, *self._given_up])
        try:
            document = self._store.document(found) if found else None
        except UnknownDocument:  # removed since
            return self._next(statuses)
        if document and document.status not in wanted:  # somebody else moved it on since
            return self._next(statuses)
        return document
