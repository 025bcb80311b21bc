"""Loads the models in the background, so that the first question need not wait for them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from rag_app.errors import RagAppError


class Warming:
    """Calls each of `loads` once, in a thread; `notice` may be a sentence on what they lack."""

    def __init__(self, loads: Sequence[Callable[[], object]], notice: Callable[[], str]) -> None:
        self._loads, self._notice = loads, notice
        self._beginning = threading.Lock()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self.state = "cold"  # or "warming" or "ready", or a sentence that says what failed

    def start(self, after: float = 0.0) -> None:
        """Begin after so many seconds, if it has not been begun."""
        with self._beginning:
            if self._thread is None:
                self.state = "warming"
                self._thread = threading.Thread(
                    target=self._run, args=(after,), name="rag-app-warm", daemon=True
                )
                self._thread.start()

    def wait(self) -> None:
        """Until it is done, if it was begun."""
        self._hurry.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, after: float) -> None:
        self._hurry.wait(after)
        try:
            for load in self._loads:
                load()
        except RagAppError as error:
            self.state = str(error)
        else:
            self.state = self._notice() or "ready"
