"""One page of the web being fetched in a thread of its own, so that nothing waits for it.

Knows nothing of Streamlit."""

from __future__ import annotations

import threading
from urllib.parse import urlsplit

from rag_app.library import Library
from rag_app.types import Added
from rag_app.ui.boundary import caught


class Fetching:
    """Fetches until it is done or stopped; then `added` is what came of it, or `error` why not."""

    def __init__(self, library: Library, address: str) -> None:
        self.address = address
        self.done = self.total = 0  # bytes; a total of 0 is not known
        self.added: Added | None = None
        self.error = ""
        self._library = library
        self._stop, self._ended = threading.Event(), threading.Event()
        threading.Thread(target=self._run, name="rag-app-fetch", daemon=True).start()

    @property
    def site(self) -> str:
        """Whom it is fetched from, as far as the address says."""
        given = self.address.strip()
        try:
            named = urlsplit(given if "://" in given else f"//{given}").hostname or given
        except ValueError:
            named = given
        return named.removeprefix("www.")[:60]

    @property
    def running(self) -> bool:
        """Whether it is still under way; one that was stopped is not waited for."""
        return not self._ended.is_set() and not self._stop.is_set()

    @property
    def stopped(self) -> bool:
        """Whether nobody wants it any longer."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Nobody wants it any longer."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it ended within the time."""
        return self._ended.wait(timeout)

    def _run(self) -> None:
        with caught(self._fail):
            self.added = self._library.web.add(self.address, told=self._tell, cancelled=self._stop)
        self._ended.set()

    def _tell(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def _fail(self, sentence: str) -> None:
        self.error = sentence
