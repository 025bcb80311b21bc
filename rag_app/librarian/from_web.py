"""Pages of the web become documents: fetched when a person asks for one, and at no other time."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from rag_app.intake.fetching import fetch
from rag_app.intake.one_request import Wish
from rag_app.librarian.keeping import Keeping
from rag_app.settings import Settings
from rag_app.store import Store
from rag_app.store.fetched import Origin
from rag_app.types import Added, Document

_CHANGED = "This page has changed since you added it last; the version of then is still here."


class FromWeb:
    """Fetches pages and hands them in."""

    def __init__(self, store: Store, keeping: Keeping, settings: Settings) -> None:
        self._store, self._keeping, self._settings = store, keeping, settings

    def add(
        self,
        address: str,
        *,
        replace: bool = False,
        told: Callable[[int, int], object] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Added:
        """Fetch the page or file at an address, keep it, and begin to work on it.

        With `replace`, the version that was fetched earlier gives way. `told` hears of bytes that
        came, of how many (0: not known). Raises DocumentError."""
        page = fetch(address, Wish.from_settings(self._settings, told, cancelled))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        added = self._keeping.add(page.name, page.data, password=None, replace=False)
        self._store.fetched.note(added.document.id, Origin(page.asked, page.address, now))
        earlier = self.earlier(added.document.id)
        if added.duplicate or earlier is None:
            return added
        if replace:
            return Added(self._keeping.replace(earlier.id, added.document.id))
        return dataclasses.replace(added, warnings=(_CHANGED,))

    def origins(self, document_ids: Iterable[str]) -> dict[str, Origin]:
        """Where those of these documents came from that were fetched, by id."""
        return self._store.fetched.all(document_ids)

    def earlier(self, document_id: str) -> Document | None:
        """The version of a page that was fetched before this one, if it is still there."""
        older = self._store.fetched.earlier(document_id)
        return next(iter(self._store.documents([older])), None) if older else None
