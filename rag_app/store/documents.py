"""The truth: documents, pages, chunks and the full-text index.

Every method is one transaction. Knows nothing of vectors, models or files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_app.errors import UnknownDocument
from rag_app.store.database import Database
from rag_app.types import Chunk, Document, Heading, Page, Reading, Status

# Words of the title and headings count less than words of the text itself.
_CONTEXT_WEIGHT, _WORDS_WEIGHT = 0.5, 1.0

_CHUNK = """c.document_id, c.page, c.ordinal, c.start, c."end",
  substr(p.text, c.start + 1, c."end" - c.start), c.heading"""
_CHUNK_FROM = "FROM chunks c JOIN pages p ON p.document_id = c.document_id AND p.number = c.page"


@dataclass(frozen=True, slots=True)
class Indexed:
    """A chunk with the words it is to be found by: its own, healed, and those of its context."""

    chunk: Chunk
    context: str  # title of the document and section path
    words: str

    @property
    def for_embedding(self) -> str:
        """What is embedded: "revenue in 2018" means nothing without the company's name."""
        return f"{self.context}\n{self.words}" if self.context else self.words


class Store:
    """What is known of documents. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self.database = Database(path)
        self._read, self._write = self.database.read, self.database.write

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()

    # Documents

    def add_document(self, document: Document) -> None:
        """Keep a received document; keeping it again changes nothing."""
        with self._write() as db:
            db.execute(
                "INSERT OR IGNORE INTO documents (id, name, suffix, size, status, added_at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    document.id,
                    document.name,
                    document.suffix,
                    document.size,
                    document.status,
                    document.added_at,
                ),
            )
            # The same file may come back before the old one is fully swept away.
            db.execute("DELETE FROM removals WHERE document_id = ?", (document.id,))

    def documents(self) -> list[Document]:
        """All documents, in the order they were added."""
        with self._read() as db:
            rows = db.execute("SELECT * FROM documents ORDER BY added_at, rowid").fetchall()
        return [_document(row) for row in rows]

    def document(self, document_id: str) -> Document:
        """The document with this id. Raises UnknownDocument."""
        with self._read() as db:
            row = db.execute("SELECT * FROM documents WHERE id = ?", (document_id,)).fetchone()
        if row is None:
            raise UnknownDocument("That document is not in the library any more.")
        return _document(row)

    def document_named(self, name: str) -> Document | None:
        """The document with this name, if there is one."""
        with self._read() as db:
            row = db.execute("SELECT * FROM documents WHERE name = ?", (name,)).fetchone()
        return _document(row) if row else None

    def set_status(self, document_id: str, status: Status) -> None:
        """Move a document on; a failure it had is forgotten."""
        with self._write() as db:
            db.execute(
                "UPDATE documents SET status = ?, error = NULL, error_code = NULL WHERE id = ?",
                (status, document_id),
            )

    def set_failed(self, document_id: str, message: str, code: str) -> None:
        """Record why a document cannot be read."""
        with self._write() as db:
            db.execute(
                "UPDATE documents SET status = ?, error = ?, error_code = ? WHERE id = ?",
                (Status.FAILED, message, code, document_id),
            )

    def remove(self, document_id: str) -> None:
        """Forget a document's text and words, and note that its file and vectors are to go too."""
        with self._write() as db:
            _remove(db, document_id)

    def want_replacement(self, newer: str, older: str) -> None:
        """Note that a document is to take the place of another as soon as it can be searched."""
        with self._write() as db:
            db.execute("UPDATE documents SET replaces = ? WHERE id = ?", (older, newer))

    def replacements(self) -> list[tuple[str, str]]:
        """(newer id, older id) of the replacements that can be carried out now."""
        with self._read() as db:
            rows = db.execute(
                "SELECT n.id, o.id FROM documents n JOIN documents o ON o.id = n.replaces "
                "WHERE n.status IN (?, ?)",
                (Status.SEARCHABLE, Status.READY),
            )
            return [tuple(row) for row in rows]

    def replace(self, newer: str, older: str) -> None:
        """Let a document take the name of another, which is removed, in one step."""
        with self._write() as db:
            row = db.execute("SELECT name FROM documents WHERE id = ?", (older,)).fetchone()
            if row is not None:
                _remove(db, older)
                db.execute(
                    "UPDATE documents SET name = ?, replaces = NULL WHERE id = ?", (row[0], newer)
                )

    def removals(self) -> list[tuple[str, str]]:
        """(document id, suffix) of the removed whose file and vectors may still be there."""
        with self._read() as db:
            return [tuple(row) for row in db.execute("SELECT document_id, suffix FROM removals")]

    def finish_removal(self, document_id: str) -> None:
        """Its file and vectors are gone."""
        with self._write() as db:
            db.execute("DELETE FROM removals WHERE document_id = ?", (document_id,))

    def shred(self) -> None:
        """Make removed text unreadable on disk and give the space back."""
        with self._write() as db:
            # Merging drops the words that deleted chunks left in older segments of the index.
            db.execute("INSERT INTO chunk_words (chunk_words) VALUES ('optimize')")
        with self._write() as db:
            db.execute("PRAGMA incremental_vacuum").fetchall()
        with self._read() as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    # Pages

    def save_reading(self, document_id: str, reading: Reading) -> None:
        """Keep what a reader found, in place of anything kept before; the document is `read`."""
        with self._write() as db:
            for table in ("chunks", "pages", "headings"):
                db.execute(f"DELETE FROM {table} WHERE document_id = ?", (document_id,))
            db.executemany(
                "INSERT INTO pages VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (document_id, page.number, page.text, page.label, page.width, page.height)
                    for page in reading.pages
                ),
            )
            db.executemany(
                "INSERT INTO headings VALUES (?, ?, ?, ?, ?, ?)",
                (
                    (document_id, ordinal, h.page, h.start, h.level, h.text)
                    for ordinal, h in enumerate(reading.headings)
                ),
            )
            db.execute(
                "UPDATE documents SET status = ?, pages = ?, title = ?, warnings = ?, "
                "error = NULL, error_code = NULL WHERE id = ?",
                (
                    Status.READ,
                    len(reading.pages),
                    reading.title,
                    json.dumps(reading.warnings),
                    document_id,
                ),
            )

    def page(self, document_id: str, number: int) -> Page:
        """One page. Raises UnknownDocument."""
        with self._read() as db:
            row = db.execute(
                "SELECT number, text, label, width, height FROM pages "
                "WHERE document_id = ? AND number = ?",
                (document_id, number),
            ).fetchone()
        if row is None:
            raise UnknownDocument("That page is not in the library any more.")
        return Page(*row)

    def pages(self, document_id: str) -> list[Page]:
        """All pages of a document, in order."""
        with self._read() as db:
            rows = db.execute(
                "SELECT number, text, label, width, height FROM pages "
                "WHERE document_id = ? ORDER BY number",
                (document_id,),
            ).fetchall()
        return [Page(*row) for row in rows]

    def headings(self, document_id: str) -> list[Heading]:
        """All headings of a document, in order."""
        with self._read() as db:
            rows = db.execute(
                "SELECT page, start, level, text FROM headings "
                "WHERE document_id = ? ORDER BY ordinal",
                (document_id,),
            ).fetchall()
        return [Heading(*row) for row in rows]

    # Chunks

    def save_chunks(self, document_id: str, chunks: Iterable[Indexed]) -> None:
        """Keep a document's chunks, in place of any kept before; the document is `searchable`."""
        with self._write() as db:
            db.execute("DELETE FROM chunks WHERE document_id = ?", (document_id,))
            db.executemany(
                'INSERT INTO chunks (id, document_id, ordinal, page, start, "end", heading, '
                "context, words) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        *(i.chunk.id, document_id, i.chunk.ordinal, i.chunk.page),
                        *(i.chunk.start, i.chunk.end, i.chunk.heading, i.context, i.words),
                    )
                    for i in chunks
                ),
            )
            db.execute(
                "UPDATE documents SET status = ?, chunks = "
                "(SELECT count(*) FROM chunks WHERE document_id = ?) WHERE id = ?",
                (Status.SEARCHABLE, document_id, document_id),
            )

    def indexed(self, document_id: str) -> list[Indexed]:
        """A document's chunks with the words they are found by, in order."""
        with self._read() as db:
            rows = db.execute(
                f"SELECT {_CHUNK}, c.context, c.words {_CHUNK_FROM} "
                "WHERE c.document_id = ? ORDER BY c.ordinal",
                (document_id,),
            ).fetchall()
        return [Indexed(Chunk(*row[:7]), *row[7:]) for row in rows]

    def chunks(self, ids: Sequence[str]) -> dict[str, Chunk]:
        """The chunks that are there of those asked for, by id."""
        with self._read() as db:
            rows = db.execute(
                f"SELECT c.id, {_CHUNK} {_CHUNK_FROM} "
                "WHERE c.id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(ids)),),
            ).fetchall()
        return {row[0]: Chunk(*row[1:]) for row in rows}

    def search_words(
        self,
        words: Sequence[str],
        phrases: Sequence[str],
        limit: int,
        documents: Sequence[str] | None = None,
    ) -> list[tuple[str, float]]:
        """(chunk id, BM25 score) of chunks that hold any of `words` and every one of `phrases`.

        Best first. The words are data: nothing in them is query syntax."""
        match = _match(words, phrases)
        if not match:
            return []
        only, arguments = "", [match]
        if documents is not None:
            only = "AND c.document_id IN (SELECT value FROM json_each(?))"
            arguments.append(json.dumps(list(documents)))
        with self._read() as db:
            rows = db.execute(
                f"SELECT c.id, -bm25(chunk_words, {_CONTEXT_WEIGHT}, {_WORDS_WEIGHT}) AS score "
                f"FROM chunk_words JOIN chunks c ON c.rowid = chunk_words.rowid "
                f"WHERE chunk_words MATCH ? {only} ORDER BY score DESC, c.rowid LIMIT ?",
                (*arguments, limit),
            ).fetchall()
        return [(row[0], row[1]) for row in rows]


def _remove(db: sqlite3.Connection, document_id: str) -> None:
    db.execute(
        "INSERT OR IGNORE INTO removals SELECT id, suffix FROM documents WHERE id = ?",
        (document_id,),
    )
    db.execute("DELETE FROM chunks WHERE document_id = ?", (document_id,))
    db.execute("DELETE FROM documents WHERE id = ?", (document_id,))


def _match(words: Sequence[str], phrases: Sequence[str]) -> str:
    """FTS5 query syntax: every string quoted, so that user text stays data."""
    parts = [_quoted(phrase) for phrase in phrases]
    if words and not phrases:
        parts.append("(" + " OR ".join(_quoted(word) for word in words) + ")")
    return " AND ".join(parts)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""').replace("\x00", " ") + '"'


def _document(row: Any) -> Document:
    id_, name, suffix, size, status, added_at, title, pages, chunks, *rest = row
    warnings, error, code, _ = rest
    return Document(
        id=id_,
        name=name,
        suffix=suffix,
        size=size,
        status=Status(status),
        added_at=added_at,
        pages=pages,
        chunks=chunks,
        title=title,
        warnings=tuple(json.loads(warnings)),
        error=error,
        error_code=code,
    )
