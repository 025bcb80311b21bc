"""Removed means gone: what removed documents left in the files of the index goes, too.

It is done in the background. That it is to be done stands in the store, so that a kill only puts
it off."""

from __future__ import annotations

import logging
import threading
import time

from rag_app.scope import WORKER
from rag_app.storage import Store
from rag_app.storage.queue import UNCLEANED
from rag_app.storage.vectors import VectorIndex
from rag_app.supervision import surviving

log = logging.getLogger(__name__)

_SETTLE = 15.0  # seconds without waiting: removals that follow each other are cleaned up together
_REST = 10.0  # times as long as it took: a large library is not written anew all the time
_AGAIN = 60.0  # seconds until what failed, of a full disk say, is tried again


class Cleaner:
    """One thread that makes removed text and vectors unreadable, and gives their room back."""

    def __init__(self, store: Store, vectors: VectorIndex) -> None:
        self._store, self._vectors = store, vectors
        self._wanted, self._stopping = threading.Event(), threading.Event()
        self._hurried = threading.Event()  # somebody waits for it
        self._took = 0.0  # seconds, the last time
        self._thread = threading.Thread(target=self._run, name="rag-app-clean", daemon=True)

    def start(self) -> None:
        """Begin; what an earlier process did not come to is done first."""
        self._wanted.set()
        self._thread.start()

    def wake(self) -> None:
        """Something was removed."""
        self._wanted.set()

    def stop(self) -> None:
        """Let go of the work; it is begun again at the next start."""
        self._stopping.set()
        self._hurried.set()
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join()

    def wait(self, timeout: float | None = None) -> bool:
        """Until nothing is left to clean; False if the time ran out before."""
        until = None if timeout is None else time.monotonic() + timeout
        self._hurried.set()
        while self._store.queue.marked(UNCLEANED) or self._store.removals():
            if self._stopping.is_set() or (until is not None and time.monotonic() > until):
                return False
            self._stopping.wait(0.02)
        return True

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            if self._stopping.is_set():
                return
            self._wanted.clear()
            with surviving(log, "could not clean up after removals") as attempt:
                self._clean()
            if attempt.failed:
                self._stopping.wait(_AGAIN)
                self._wanted.set()

    def _clean(self) -> None:
        removed = self._store.queue.marked(UNCLEANED)
        if not removed:
            return
        self._hurried.wait(max(_SETTLE, _REST * self._took))
        self._hurried.clear()
        if self._stopping.is_set():
            return
        removed = self._store.queue.marked(UNCLEANED)
        began = time.monotonic()
        self._store.shred()
        ids = [document.id for document in self._store.documents(WORKER)]
        if self._vectors.compact(ids, self._stopping):
            self._took = time.monotonic() - began
            self._store.queue.unmark(UNCLEANED, removed)
            self._wanted.set()  # what was removed meanwhile
