"""What the documents of a library are called, kept ready from one question to the next."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from rag_app.errors import UnknownDocument
from rag_app.finding.naming import Label, Marks, Names
from rag_app.store import Store
from rag_app.types import Document

_OPENING = 2_000  # characters of the first page that are kept


class Catalogue:
    """Names of documents, put together again when the documents have changed. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._marks: dict[tuple[str, str, str], Marks] = {}  # by document
        self._key: tuple[tuple[str, str, str], ...] = ()
        self._names = Names(())

    def names(self, documents: Sequence[Document]) -> Names:
        """The names of these documents, all that the library holds."""
        key = tuple((d.id, d.name, d.title) for d in documents if d.pages)
        with self._lock:
            if key != self._key:
                self._marks = {one: self._marks.get(one) or self._marked(*one) for one in key}
                self._names = Names.made_of({one[0]: m for one, m in self._marks.items()})
                self._key = key
            return self._names

    def _marked(self, document_id: str, name: str, title: str) -> Marks:
        try:
            opening = self._store.page(document_id, 1).text[:_OPENING]
        except UnknownDocument:  # removed since
            opening = ""
        return Marks.of(Label(document_id, name, title, opening))
