"""Full-text indexes of what small scopes see, in memory, beside the one of the whole library.

FTS5 weighs a word by how many chunks of its index hold it, and reads all of them. Of an index of
everybody's texts, whoever sees a part of it could add two texts, compare their scores, and learn
which words stand in texts of others; and answers would take the longer, the more of others' texts
hold a word. An index of their own knows nothing of the rest, whichever database has it."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from rag_app.scope import Scope
from rag_app.storage.database import AnyDatabase, Connection, seen

TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* M* N* Co'"  # as in schema_1.sql
_KEPT = 100_000  # chunks in all indexes together, at 1.4 KB each
_SCHEMA = f"""
CREATE TABLE documents (id TEXT PRIMARY KEY, written INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE chunks (
  rowid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, document_id TEXT NOT NULL);
CREATE INDEX chunk_by_document ON chunks (document_id);
CREATE VIRTUAL TABLE chunk_words USING fts5 (context, words, grams, tokenize = "{TOKENIZER}");
"""


class ScopedIndex:
    """The index of one scope: a database of `documents`, `chunks` and `chunk_words`, as the library
    has them, and how many chunks there are. For one thread at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.chunks = self._last = 0
        self.db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.db.executescript(_SCHEMA)
        self._commits = -1

    def __del__(self) -> None:
        self.db.close()  # once nobody searches it any more

    def catch_up(self, database: AnyDatabase, scope: Scope) -> None:
        """Take in what has changed in the library."""
        commits = database.commits  # first: what changes meanwhile is taken in the next time
        if commits == self._commits:
            return
        only, given = seen(scope, "d.collection")
        with database.read(scope) as db:
            there = dict(
                db.execute(
                    f"SELECT d.id, d.written FROM documents d WHERE d.chunks > 0 AND {only}", given
                ).fetchall()
            )
            held = dict(self.db.execute("SELECT id, written FROM documents").fetchall())
            self.db.execute("BEGIN")
            with self.db:  # all of it, or nothing
                self._forget([one for one in held if held[one] != there.get(one)])
                self._take_in(db, {d: at for d, at in there.items() if held.get(d) != at})
        [self.chunks] = self.db.execute("SELECT count(*) FROM chunks").fetchone()
        self._commits = commits

    def _forget(self, documents: list[str]) -> None:
        which = "IN (SELECT value FROM json_each(?))"
        ids = (json.dumps(documents),)
        self.db.execute(
            "DELETE FROM chunk_words WHERE rowid IN "
            f"(SELECT rowid FROM chunks WHERE document_id {which})",
            ids,
        )
        self.db.execute(f"DELETE FROM chunks WHERE document_id {which}", ids)
        self.db.execute(f"DELETE FROM documents WHERE id {which}", ids)

    def _take_in(self, db: Connection, documents: dict[str, int]) -> None:
        rows = db.execute(
            "SELECT c.id, c.document_id, coalesce(c.found_context, c.context), "
            "coalesce(c.found_words, c.words), c.grams FROM chunks c "
            "WHERE c.document_id IN (SELECT value FROM json_each(?)) ORDER BY c.rowid",
            (json.dumps([*documents]),),
        ).fetchall()
        placed = list(enumerate(rows, start=self._last + 1))
        self._last += len(rows)
        self.db.executemany("INSERT INTO documents VALUES (?, ?)", documents.items())
        self.db.executemany("INSERT INTO chunks VALUES (?, ?, ?)", [(n, *r[:2]) for n, r in placed])
        self.db.executemany(
            "INSERT INTO chunk_words (rowid, context, words, grams) VALUES (?, ?, ?, ?)",
            [(n, *r[2:]) for n, r in placed],
        )


class ScopedIndexes:
    """The indexes of the scopes that were searched last. Thread-safe."""

    def __init__(self, database: AnyDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._parts: OrderedDict[tuple[str, ...], ScopedIndex] = OrderedDict()

    @contextmanager
    def open(self, scope: Scope) -> Iterator[ScopedIndex]:
        """The index of what a scope sees, as it is now; other threads wait."""
        with self._lock:
            part = self._parts.get(scope.collections) or ScopedIndex()
            self._parts[scope.collections] = part
            self._parts.move_to_end(scope.collections)
        with part.lock:
            part.catch_up(self._database, scope)
            self._let_go()
            yield part

    def _let_go(self) -> None:
        """Keep what was searched last."""
        with self._lock:
            while len(self._parts) > 1 and sum(p.chunks for p in self._parts.values()) > _KEPT:
                self._parts.popitem(last=False)
