"""One page of the web being fetched in a thread of its own, so that nothing waits for it.

Knows nothing of Streamlit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from urllib.parse import urlsplit

from rag_app.library import Library
from rag_app.types import Added
from rag_app.ui.job import Job


class Fetching(Job):
    """Fetches until it is done or stopped; then `added` is what came of it, or `error` why not.

    What is told of it is in bytes."""

    def __init__(self, library: Library, address: str) -> None:
        self.address = address
        self.added: Added | None = None
        self._library = library
        super().__init__("rag-app-fetch", self._fetch)

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
        return super().running and not self.stopping

    def _fetch(self, tell: Callable[[int, int], None], stop: threading.Event) -> None:
        self.added = self._library.web.add(self.address, told=tell, cancelled=stop)
