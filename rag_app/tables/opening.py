"""Large tables stay open between questions: to fill and describe a database with a million rows
takes longer than to ask it. One database is kept, for some minutes, and handed to one question at a
time; another at the same moment opens its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from rag_app.storage.contents import Tables
from rag_app.tables.describing import Described, describe
from rag_app.tables.querying import QueryLimits, TableDatabase
from rag_app.types import Table

LARGE = 20_000  # rows; fewer are opened in some milliseconds
_KEPT = 300.0  # seconds after the last question

_Key = tuple[tuple[Table, ...], tuple[tuple[str, str, int], ...]]


@dataclass(frozen=True, slots=True)
class OpenTables:
    """A database of tables, and what a model is told of them."""

    database: TableDatabase
    described: Described


class TableOpener:
    """Opens tables, and keeps the last large ones open. Thread-safe."""

    def __init__(self, large: int = LARGE, kept: float = _KEPT) -> None:
        self._large, self._seconds = large, kept
        self._lock = threading.Lock()
        self._key: _Key | None = None
        self._open: OpenTables | None = None
        self._timer: threading.Timer | None = None
        self._closed = False

    @contextmanager
    def opened(
        self, tables: Sequence[Table], titles: Mapping[str, str], store: Tables
    ) -> Iterator[OpenTables]:
        """Tables, open; `titles`: names of documents by their ids. Raises QueryError if they take
        more memory or time than they may."""
        written = store.written([table.document_id for table in tables])
        documents = [(each, titles.get(each, ""), at) for each, at in written.items()]
        key = (tuple(tables), tuple(documents))
        found = self._take(key) or _open(tables, titles, store)
        kept = False
        try:
            yield found
            kept = self._keep(key, found)
        finally:
            if not kept:
                found.database.close()

    def close(self) -> None:
        """Forget what is open; nothing is kept from now on."""
        with self._lock:
            self._closed = True
        self._forget()

    def _take(self, key: _Key) -> OpenTables | None:
        with self._lock:
            if self._key != key:
                return None
            found, self._key, self._open = self._open, None, None
            return found

    def _keep(self, key: _Key, one: OpenTables) -> bool:
        if sum(table.rows for table in key[0]) < self._large:
            return False
        self._forget()
        with self._lock:
            if self._closed or self._open is not None:
                return False
            self._key, self._open = key, one
            self._timer = threading.Timer(self._seconds, self._forget)
            self._timer.daemon = True
            self._timer.start()
            return True

    def _forget(self) -> None:
        with self._lock:
            one, self._key, self._open = self._open, None, None
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        if one is not None:
            one.database.close()


def _open(tables: Sequence[Table], titles: Mapping[str, str], store: Tables) -> OpenTables:
    with ExitStack() as begun:
        database = TableDatabase(tables, store, QueryLimits())
        begun.callback(database.close)
        made = OpenTables(database, describe(database, titles))
        begun.pop_all()
    return made
