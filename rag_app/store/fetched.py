"""Which documents came from the web: the address that was asked for, where it led, and when.

Every method is one transaction. Knows nothing of the network."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from rag_app.store.database import Database


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a document was fetched from."""

    asked: str  # the address as a person gave it
    address: str  # where that led to
    at: str  # when it was fetched last, ISO 8601, UTC


class Fetched:
    """The addresses of documents. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._read, self._write = database.read, database.write

    def note(self, document_id: str, origin: Origin) -> None:
        """A document was fetched, perhaps again; of two addresses it keeps the first."""
        with self._write() as db:
            db.execute(
                "INSERT INTO fetched SELECT id, ?, ?, ? FROM documents WHERE id = ? "
                "ON CONFLICT (document_id) DO UPDATE SET fetched_at = excluded.fetched_at "
                "WHERE asked = excluded.asked OR address = excluded.address",
                (origin.asked, origin.address, origin.at, document_id),
            )

    def of(self, document_id: str) -> Origin | None:
        """Where a document was fetched from; None if it was not."""
        return self.all([document_id]).get(document_id)

    def all(self, document_ids: Iterable[str]) -> dict[str, Origin]:
        """Where those of these documents came from that were fetched, by id."""
        with self._read() as db:
            rows = db.execute(
                "SELECT document_id, asked, address, fetched_at FROM fetched "
                "WHERE document_id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(document_ids)),),
            ).fetchall()
        return {row[0]: Origin(*row[1:]) for row in rows}

    def earlier(self, document_id: str) -> str | None:
        """The latest of the other documents that came from the same address, if there is one."""
        with self._read() as db:
            row = db.execute(
                "SELECT o.document_id FROM fetched n JOIN fetched o "
                "ON o.document_id != n.document_id "
                "AND (o.asked IN (n.asked, n.address) OR o.address IN (n.asked, n.address)) "
                "JOIN documents d ON d.id = o.document_id JOIN documents m ON m.id = n.document_id "
                "WHERE n.document_id = ? AND d.added_at < m.added_at "
                "ORDER BY d.added_at DESC LIMIT 1",
                (document_id,),
            ).fetchone()
        return str(row[0]) if row else None
