"""What the documents of a library are called, kept ready from one question to the next."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from rag_app.errors import UnknownDocument
from rag_app.finding.naming import Label, Names
from rag_app.store import Store
from rag_app.types import Document

_OPENING = 2_000  # characters of the first page that are kept


class Catalogue:
    """Names of documents, made again when the documents have changed. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._openings: dict[str, str] = {}
        self._key: tuple[tuple[str, str, str], ...] = ()
        self._names = Names(())

    def names(self, documents: Sequence[Document]) -> Names:
        """The names of these documents, all that the library holds."""
        key = tuple((d.id, d.name, d.title) for d in documents if d.pages)
        with self._lock:
            if key != self._key:
                openings = {i: self._opening(i) for i, _, _ in key}
                self._names = Names([Label(*one, openings[one[0]]) for one in key])
                self._key, self._openings = key, openings
            return self._names

    def _opening(self, document_id: str) -> str:
        if document_id not in self._openings:
            try:
                return self._store.page(document_id, 1).text[:_OPENING]
            except UnknownDocument:  # removed since
                return ""
        return self._openings[document_id]
