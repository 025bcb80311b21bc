"""Tables of documents: what they are, and blocks of their rows.

A block is bytes that others make and read. Knows nothing of types of columns, or of queries."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag_app.scope import Scope
from rag_app.storage.database import Database
from rag_app.storage.scoping import seen
from rag_app.types import Column, ColumnKind, RowRole, SideRow, Table


@dataclass(frozen=True, slots=True)
class TableBlock:
    """So many rows of a table, one after the other: their values, and where their cells stand."""

    rows: int
    values: bytes
    places: bytes


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table as it is kept."""

    table: Table
    blocks: tuple[TableBlock, ...]


def save_tables(db: sqlite3.Connection, document_id: str, tables: Iterable[StoredTable]) -> None:
    """Keep the tables of a document, inside a transaction, in place of any kept before."""
    for name in ("table_blocks", "tables"):
        db.execute(f"DELETE FROM {name} WHERE document_id = ?", (document_id,))
    for stored in tables:
        about = asdict(stored.table)
        ordinal = about.pop("ordinal")
        about.pop("document_id")
        db.execute(
            "INSERT INTO tables VALUES (?, ?, ?)",
            (document_id, ordinal, json.dumps(about, ensure_ascii=False)),
        )
        first = 0
        for block in stored.blocks:
            row = (document_id, ordinal, first, block.rows, block.values, block.places)
            db.execute("INSERT INTO table_blocks VALUES (?, ?, ?, ?, ?, ?)", row)
            first += block.rows


class Tables:
    """The tables of all documents. Thread-safe; every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._read = database.read

    def of(self, scope: Scope, documents: Sequence[str] | None = None) -> list[Table]:
        """The tables of these documents, or of all, in their order."""
        only, given = seen(scope, "d.collection")
        if documents is not None:
            only = f"t.document_id IN (SELECT value FROM json_each(?)) AND {only}"
            given = [json.dumps(list(documents)), *given]
        with self._read() as db:
            rows = db.execute(
                "SELECT t.document_id, t.ordinal, t.about FROM tables t "
                f"JOIN documents d ON d.id = t.document_id WHERE {only} "
                "ORDER BY d.added_at, d.rowid, t.ordinal",
                given,
            ).fetchall()
        return [_table(*row) for row in rows]

    def values(self, table: Table) -> Iterator[bytes]:
        """The values of a table's blocks, in order."""
        with self._read() as db:
            rows = db.execute(
                'SELECT "values" FROM table_blocks WHERE document_id = ? AND ordinal = ? '
                "ORDER BY first",
                (table.document_id, table.ordinal),
            )
            for (values,) in rows:
                yield values

    def blocks_with(self, table: Table, rows: Iterable[int]) -> Iterator[tuple[int, TableBlock]]:
        """(its first row, the block) of each block that holds one of these rows."""
        wanted = json.dumps(sorted(set(rows)))
        with self._read() as db:
            found = db.execute(
                'SELECT first, rows, "values", places FROM table_blocks '
                "WHERE document_id = ? AND ordinal = ? AND EXISTS (SELECT 1 FROM json_each(?) "
                "WHERE value >= first AND value < first + rows) ORDER BY first",
                (table.document_id, table.ordinal, wanted),
            )
            for first, *block in found:
                yield first, TableBlock(*block)


def _table(document_id: str, ordinal: int, about: str) -> Table:
    said: dict[str, Any] = json.loads(about)
    said["columns"] = tuple(_column(each) for each in said["columns"])
    said["side_rows"] = tuple(
        SideRow(**{**each, "role": RowRole(each["role"])}) for each in said["side_rows"]
    )
    said["hidden_rows"] = tuple(said["hidden_rows"])
    said["hidden_columns"] = tuple(said["hidden_columns"])
    return Table(document_id, ordinal, **said)


def _column(said: dict[str, Any]) -> Column:
    return Column(**{**said, "kind": ColumnKind(said["kind"]), "units": tuple(said["units"])})
