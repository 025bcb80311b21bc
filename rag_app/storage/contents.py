"""What documents say: pages, headings, chunks, and the full-text index over them.

Every method is one transaction. Knows nothing of vectors, models or files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_app.errors import UnknownDocument
from rag_app.scope import Scope
from rag_app.storage.database import Database
from rag_app.storage.scans import expect
from rag_app.storage.scoping import Reach
from rag_app.storage.tables import StoredTable, Tables, save_tables
from rag_app.storage.words import Choice, RankedWords, searched
from rag_app.types import Chunk, Heading, Page, Reading, Status

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


class Contents:
    """The text of documents, as it was read and as it is found."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._read, self._write = database.read, database.write
        self.reach = Reach(database)
        self._ranked = RankedWords(database, self.reach)
        self.tables = Tables(database)

    # Pages

    def save_reading(
        self, document_id: str, reading: Reading, tables: Iterable[StoredTable] = ()
    ) -> None:
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
            expect(db, document_id, reading.scans)
            save_tables(db, document_id, tables)
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

    def page_label(self, document_id: str, number: int) -> tuple[str, str, int] | None:
        """A document's suffix, what it calls a page itself, and how many it has; None if gone."""
        with self._read() as db:
            row = db.execute(
                "SELECT d.suffix, p.label, d.pages FROM pages p "
                "JOIN documents d ON d.id = p.document_id "
                "WHERE p.document_id = ? AND p.number = ?",
                (document_id, number),
            ).fetchone()
        return (row[0], row[1], row[2]) if row else None

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

    def save_chunks(self, document_id: str, chunks: Iterable[Indexed], language: str = "") -> None:
        """Keep a document's chunks, in place of any kept before; the document is `searchable`."""
        with self._write() as db:
            db.execute("DELETE FROM chunks WHERE document_id = ?", (document_id,))
            db.executemany(
                'INSERT INTO chunks (id, document_id, ordinal, page, start, "end", heading, '
                "context, words, found_context, found_words, grams) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        *(i.chunk.id, document_id, i.chunk.ordinal, i.chunk.page),
                        *(i.chunk.start, i.chunk.end, i.chunk.heading, i.context, i.words),
                        *searched(i.context, i.words),
                    )
                    for i in chunks
                ),
            )
            db.execute(
                "UPDATE documents SET status = ?, chunks = "
                "(SELECT count(*) FROM chunks WHERE document_id = ?), language = ? WHERE id = ?",
                (Status.SEARCHABLE, document_id, language, document_id),
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

    def chunk_ids(self, scope: Scope, documents: Sequence[str] | None, most: int) -> list[str]:
        """The ids of chunks that a scope sees, of these documents if they are given; `most` of them
        at most."""
        only, given = Choice.of(scope, documents).condition()
        with self._read() as db:
            rows = db.execute(
                "SELECT c.id FROM documents d JOIN chunks c ON c.document_id = d.id "
                f"WHERE {only} LIMIT ?",
                (*given, most),
            ).fetchall()
        return [row[0] for row in rows]

    def search_words(
        self,
        words: Sequence[str],
        phrases: Sequence[str],
        limit: int,
        scope: Scope,
        documents: Sequence[str] | None = None,
        endings: bool = False,
    ) -> list[tuple[str, float]]:
        """(chunk id, BM25 score) of chunks that hold any of `words`, or else all `phrases`.

        Best first; of what the scope sees, and of these documents if they are given. The words are
        data: nothing in them is query syntax. `endings`: words of Latin script may go on otherwise
        than they do here; words of other scripts always may."""
        return self._ranked.search(words, phrases, limit, scope, documents, endings)
