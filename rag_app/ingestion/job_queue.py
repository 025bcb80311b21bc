"""Whose turn it is: which document a thread may work on, and which must be left alone.

People take turns, and of what one of them handed in the small files come first. Nobody starves: who
waits is served before anybody is served twice, and a file is overtaken only by smaller ones that
come within hours of it. Pausing, cancelling and removing happen here, while others work. Where
several processes share a library they agree by claims (storage/queue.py), and turns are taken in
each of them. Knows nothing of the work."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from rag_app.errors import DatabaseUnavailable, LibraryClosed, UnknownDocument
from rag_app.scope import WORKER, Scope
from rag_app.storage import Store
from rag_app.storage.queue import BEAT, PAUSED, Beat, EditableDocument, Waiting
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
_A_DOUBLING = 600.0  # seconds
"""How much later a file half as large may come and still go first. 8 kB beside 8 MB are ten
doublings: for an hour and a half small files come before that large one, and then it has waited
long enough."""


def place(arrived: float, size: int) -> float:
    """The place of a file among those of whoever handed it in, the least first: `arrived` in
    seconds since whenever, `size` in bytes."""
    return arrived + _A_DOUBLING * math.log2(1 + size)


class Turns:
    """Who has waited how long for a turn. Not for two threads at once."""

    def __init__(self) -> None:
        self._taken = 0  # turns so far
        # How many had been taken when somebody began to wait, and whether the last was theirs: who
        # was just served stands behind those who come now.
        self._since: dict[str, tuple[int, bool]] = {}

    def choose(self, waiting: Iterable[Waiting]) -> Waiting | None:
        """Whose turn it is of those that wait, None if nobody does.

        Of each person it needs to know only what has the first place."""
        there = list(waiting)
        people = {one.added_by for one in there}
        self._since = {who: self._since.get(who, (self._taken, False)) for who in people}
        return min(there, key=self._order, default=None)

    def take(self, chosen: Waiting) -> None:
        """The turn was taken: now it is the others' before it is this person's again."""
        self._taken += 1
        self._since[chosen.added_by] = self._taken, True

    def _order(self, one: Waiting) -> tuple[tuple[int, bool], float, str]:
        return self._since[one.added_by], one.place, one.document_id


@dataclass(frozen=True, slots=True)
class Lane:
    """Work of a kind that one thread does: on documents in one of `statuses`, and of no more bytes
    than `largest` (None: of any size)."""

    statuses: tuple[Status, ...]
    largest: int | None = None
    turns: Turns = field(default_factory=Turns)


@dataclass
class RunningJob:
    """What one thread is doing now."""

    document_id: str
    stage: str
    collection: str
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
    """Gives out documents to work on, to people in turns, each to one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store, self._claims = store, store.claims
        self._changed = threading.Condition()
        self._beat = Beat()  # what the other processes said last
        self._tasks: dict[str, RunningJob] = {}
        self._held = Counter[str]()  # being removed or read anew: not to be picked up
        self._given_up: set[str] = set()  # failed to be embedded: searched by words until a retry
        self._to_do = dict(STAGES)  # states that work is done on
        self._stopping = self._winding_down = False
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

    def wind_down(self, seconds: float) -> bool:
        """No more turns; False if what is under way takes longer than so many seconds."""
        with self._changed:
            self._winding_down = True
            return self._changed.wait_for(lambda: not self._tasks, seconds)

    def leave(self, status: Status) -> None:
        """Documents in this state are left as they are: nobody can work on them."""
        with self._changed:
            self._to_do.pop(status, None)
            self._changed.notify_all()

    def give_up(self, document_id: str) -> None:
        """Leave a document as it is until it is tried again."""
        self._given_up.add(document_id)
        self._claims.leave(document_id)

    def rest(self, seconds: float) -> None:
        """Wait for a while, or until something changes."""
        with self._changed:
            self._changed.wait(seconds)

    def done(self, document_id: str) -> None:
        """The turn is over."""
        with self._changed:
            self._claims.drop(document_id)
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
            self._claims.hold(document_id)
            yield
        finally:
            with self._changed:
                self._held[document_id] -= 1
                if not self._held[document_id]:
                    del self._held[document_id]
                    self._claims.drop(document_id)
                self._changed.notify_all()

    @property
    def trouble(self) -> str:
        """One sentence while work cannot go on, here or elsewhere; empty if it can."""
        return next(iter([*self._troubles.values(), *self._beat.troubles]), "")

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

    def cancel(self, document: EditableDocument) -> bool:
        """Do not read a document: it fails as cancelled, and can be tried again.

        False if it has been read already."""
        with self.hold(document.id):
            return bool(self._store.queue.cancel(document.id, WORKER, _CANCELLED, CANCELLED))

    def cancel_all(self, scope: Scope) -> int:
        """Read none of a scope's documents that wait or are being read. Returns how many."""
        with self._changed:
            self._letting_go += 1
            for task in self._reading(scope):
                task.cancelled.set()
            self._changed.wait_for(lambda: not self._reading(scope))
        try:
            self._claims.revoke(scope)
            cancelled = self._store.queue.cancel(None, scope, _CANCELLED, CANCELLED)
            self._claims.revoke(scope)  # what was begun meanwhile
            return cancelled
        finally:
            with self._changed:
                self._letting_go -= 1
                self._changed.notify_all()

    def _reading(self, scope: Scope) -> list[RunningJob]:
        tasks = self._tasks.values()
        return [t for t in tasks if t.stage in _UNREAD and scope.sees(t.collection)]

    def progress(
        self, scope: Scope, documents: Iterable[Document] | None = None
    ) -> dict[str, Progress]:
        """By document id: what is being worked on or waits for it, of what a scope sees.

        Of these documents alone, as they were when they were listed, or of all."""
        with self._changed:
            here = {task.document_id: task.progress() for task in self._tasks.values()}
            running = {**self._beat.elsewhere, **here}
            if documents is None:
                waiting = self._store.queue.waiting([*self._to_do], scope)
            else:
                given = [d for d in documents if scope.sees(d.collection)]
                waiting = [(d.id, d.pages) for d in given if d.status in self._to_do]
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

    def pick(self, lane: Lane, pause: float) -> tuple[Document, RunningJob] | None:
        """The next document of a lane, after a pause; None when stopping."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, pause or 0)
            while not self._stopping:
                document = None
                with surviving(log, "could not look for work") as attempt:
                    document = self._next(lane)
                if attempt.failed:
                    self._changed.wait(_PAUSE)
                    continue
                if document:
                    task = RunningJob(document.id, STAGES[document.status], document.collection)
                    self._tasks[document.id] = task
                    return document, task
                self._troubles.pop(threading.get_ident(), None)
                self._changed.wait()
        return None

    def overtaken(self, lane: Lane, document_id: str) -> bool:
        """Whether the turn of a document that is being worked on is another's now.

        Who gives it back after a step finds it again where that left it."""
        with self._changed:
            first = self._first(lane, but=document_id)
        return first is not None and first.document_id != document_id

    def _next(self, lane: Lane) -> Document | None:
        """The document that may be worked on now, if there is one."""
        if self._paused or self._winding_down:
            return None
        if self._letting_go and Status.RECEIVED in lane.statuses:
            return None
        while first := self._first(lane):
            if not self._claims.take(first.document_id):  # another process was faster
                continue
            with suppress(UnknownDocument):  # removed since
                document = self._store.document(first.document_id, WORKER)
                if document.status in lane.statuses:  # else somebody moved it on since
                    lane.turns.take(first)
                    return document
            self._claims.drop(first.document_id)
        return None

    def _first(self, lane: Lane, but: str = "") -> Waiting | None:
        """Whose turn it is of those that nobody works on, and of one that somebody does."""
        wanted = [status for status in lane.statuses if status in self._to_do]
        taken = {*self._tasks, *self._held, *self._given_up} - {but}
        return lane.turns.choose(self._store.queue.first_of_each(wanted, taken, lane.largest))

    # The other processes

    def keep_in_touch(self, changed: Callable[[], object]) -> None:
        """Beat until let go; `changed` is called after somebody changed something."""
        away, commits = False, -1
        while not self._stopping:
            about = log, "what the other processes say was not understood"
            try:
                with surviving(*about, but=(DatabaseUnavailable, LibraryClosed)):
                    self._say_and_hear()
                    away = False
                    if commits != (commits := self._store.database.commits):
                        changed()
            except (DatabaseUnavailable, LibraryClosed) as error:
                if not away:
                    log.warning("the other processes cannot be asked: %s", error)
                away = True
            with self._changed:
                self._changed.wait_for(lambda: self._stopping, BEAT)

    def _say_and_hear(self) -> None:
        with self._changed:
            tasks = dict(self._tasks)
            told = {id_: task.progress() for id_, task in tasks.items()}
            trouble = next(iter(self._troubles.values()), "")
        beat = self._claims.beat(told, trouble)
        with self._changed:
            paused = bool(self._store.queue.marked(PAUSED))
            self._beat, self._paused, self._given_up = beat, paused, set(beat.left_alone)
            for task in tasks.values():
                if task.document_id not in beat.mine or (paused and task.stage not in _UNREAD):
                    task.cancelled.set()
            self._changed.notify_all()  # there may be work, or what was waited for is done
