"""Something done in a thread of its own, to be looked at now and then, and stopped.

Knows nothing of Streamlit."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rag_app.ui.boundary import caught

Work = Callable[[Callable[[int, int], None], threading.Event], object]
"""Gets what takes how much is done, of how much, and what says that it is to stop."""


class Job:
    """At work from the start; `error` is what went wrong, in a sentence."""

    def __init__(self, name: str, work: Work) -> None:
        self.done = self.total = 0  # a total of 0 is not known
        self.error = ""
        self._stop, self._ended = threading.Event(), threading.Event()
        threading.Thread(target=self._run, args=(work,), name=name, daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return not self._ended.is_set()

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask it to stop."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it ended within the time."""
        return self._ended.wait(timeout)

    def _run(self, work: Work) -> None:
        with caught(self._fail):
            work(self._tell, self._stop)
        self._ended.set()

    def _tell(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def _fail(self, sentence: str) -> None:
        self.error = sentence
