"""The last check of the library, row by row, as JSON; what was made of a document goes with it.

Knows nothing of what a row means."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from rag_app.store.database import Database


class KeptCheck:
    """Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._read, self._write = database.read, database.write

    def save(self, about: str, rows: Iterable[tuple[str | None, str]]) -> None:
        """Keep a check in place of the one before: (id of the document or None, row).

        A row of a document that is gone by now is left out."""
        with self._write() as db:
            _forget(db)
            db.execute("INSERT INTO checks VALUES (1, ?)", (about,))
            for document_id, row in rows:
                db.execute(
                    "INSERT INTO checked (document_id, tried) SELECT ?1, ?2 "
                    "WHERE ?1 IS NULL OR EXISTS (SELECT 1 FROM documents WHERE id = ?1)",
                    (document_id, row),
                )

    def get(self) -> tuple[str, list[str]] | None:
        """(about the check, its rows), None if there was none."""
        with self._read() as db:
            about = db.execute("SELECT about FROM checks").fetchone()
            rows = db.execute("SELECT tried FROM checked ORDER BY number").fetchall()
        return (about[0], [row[0] for row in rows]) if about else None

    def clear(self) -> None:
        """Forget it."""
        with self._write() as db:
            _forget(db)


def _forget(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM checks")
    db.execute("DELETE FROM checked")
