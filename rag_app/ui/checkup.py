"""A check of the library in a thread of its own; every window sees the same one.

Knows nothing of Streamlit."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from rag_app.evaluation.checking import check
from rag_app.library import Library
from rag_app.questions import Manner
from rag_app.ui.boundary import caught


class Checkup:
    """Checks a library until it is done or stopped; `error` is what went wrong, in a sentence."""

    def __init__(self, library: Library, manner: Manner) -> None:
        self.done = self.total = 0
        self.error = ""
        self._library, self._manner = library, manner
        self._stop, self._ended = threading.Event(), threading.Event()
        threading.Thread(target=self._run, name="rag-app-check", daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether it is still asking."""
        return not self._ended.is_set()

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask it to stop; the check before it stays."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it ended within the time."""
        return self._ended.wait(timeout)

    def _run(self) -> None:
        with caught(self._fail):
            check(self._library, manner=self._manner, progress=self._tell, stop=self._stop)
        self._ended.set()

    def _tell(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def _fail(self, sentence: str) -> None:
        self.error = sentence


_CHECKUPS: WeakKeyDictionary[Library, Checkup] = WeakKeyDictionary()
_BEGINNING = threading.Lock()


def of(library: Library) -> Checkup | None:
    """The check that runs, or the last one of this process."""
    return _CHECKUPS.get(library)


def begin(library: Library, manner: Manner) -> Checkup:
    """Check a library, unless that is being done already."""
    with _BEGINNING:
        now = _CHECKUPS.get(library)
        if now is None or not now.running:
            now = _CHECKUPS[library] = Checkup(library, manner)
        return now
