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
from rag_app.store.family import (
    Inside,
    add_part,
    going_with,
    name_after,
    rename_by_origin,
    rename_parts,
    staying_behind,
    superseded,
)
from rag_app.store.queue import UNCLEANED, Queue
from rag_app.store.recognised import Scans, expect
from rag_app.store.wording import matching, searched
from rag_app.types import Chunk, Document, Heading, Page, Reading, Status

# Words of the title and headings count less than words of the text itself.
_WEIGHTS = "0.5, 1.0, 1.0"  # of context, words, grams

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
        self.queue = Queue(self.database)
        self._listed: tuple[int, list[Document]] | None = None  # as of so many commits
        self.scans = Scans(self.database)

    def close(self) -> None:
        """Let go of the file."""
        self.database.close()

    # Documents

    def add_document(
        self, document: Document, *, handed_in: bool = True, inside: Inside | None = None
    ) -> None:
        """Keep a received document; keeping it again changes nothing.

        It was `handed_in` by a person, or came out of another, or is in a watched folder."""
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
            if inside:
                add_part(db, inside, document.id)
            elif handed_in:
                db.execute("INSERT OR IGNORE INTO handed_in VALUES (?)", (document.id,))

    def documents(self, ids: Iterable[str] | None = None) -> list[Document]:
        """All documents or those of these ids, in the order they were added."""
        if ids is not None:
            wanted = json.dumps([*ids])
            return self._selected("WHERE id IN (SELECT value FROM json_each(?))", wanted)
        # The page asks for all of them again and again, and most of the time nothing has changed.
        commits = self.database.commits
        if self._listed is None or self._listed[0] != commits:
            self._listed = (commits, self._selected(""))
        return list(self._listed[1])

    def _selected(self, only: str, *arguments: str) -> list[Document]:
        with self._read() as db:
            rows = db.execute(
                f"SELECT * FROM documents {only} ORDER BY added_at, rowid", arguments
            ).fetchall()
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
        """Forget a document's text and words, and note that its file and vectors are to go too.

        What was unpacked from it and is here for no other reason goes with it."""
        with self._write() as db:
            _remove(db, document_id)

    def want_replacement(self, newer: str, older: str) -> None:
        """Note that a document is to take the place of another as soon as it can be searched."""
        with self._write() as db:
            db.execute("UPDATE documents SET replaces = ? WHERE id = ?", (older, newer))

    def keep(self, document_id: str) -> None:
        """Nothing takes the place of this document any more."""
        with self._write() as db:
            db.execute("UPDATE documents SET replaces = NULL WHERE replaces = ?", (document_id,))

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
        """Let a document take the name of another, which is removed, in one step.

        What the other was still to replace itself goes, too, and earlier versions that wait."""
        with self._write() as db:
            going = superseded(db, newer, older)
            before = db.execute("SELECT name FROM documents WHERE id = ?", (newer,)).fetchone()
            if not going or before is None:
                return
            name = name_after(db, going)
            rivals = json.dumps(going)
            db.execute(
                "UPDATE documents SET replaces = ? "
                "WHERE replaces IN (SELECT value FROM json_each(?)) AND id != ?",
                (newer, rivals, newer),
            )
            for each in going:
                _remove(db, each)
            db.execute("UPDATE documents SET name = ?, replaces = NULL WHERE id = ?", (name, newer))
            rename_parts(db, newer, before[0], name)

    def removals(self) -> list[tuple[str, str]]:
        """(document id, suffix) of the removed whose file and vectors may still be there."""
        with self._read() as db:
            return [tuple(row) for row in db.execute("SELECT document_id, suffix FROM removals")]

    def finish_removal(self, document_id: str) -> None:
        """Its file and vectors are gone."""
        with self._write() as db:
            db.execute("DELETE FROM removals WHERE document_id = ?", (document_id,))
            _to_clean(db)

    def shred(self) -> None:
        """Make removed text unreadable on disk and give the space back."""
        with self._write() as db:
            # Merging drops the words that deleted chunks left in older segments of the index.
            db.execute("INSERT INTO chunk_words (chunk_words) VALUES ('optimize')")
        self.database.rewrite()

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
            expect(db, document_id, reading.scans)
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

    def search_words(
        self,
        words: Sequence[str],
        phrases: Sequence[str],
        limit: int,
        documents: Sequence[str] | None = None,
        endings: bool = False,
    ) -> list[tuple[str, float]]:
        """(chunk id, BM25 score) of chunks that hold any of `words`, or else all `phrases`.

        Best first. The words are data: nothing in them is query syntax. `endings`: words of Latin
        script may go on otherwise than they do here; words of other scripts always may."""
        match = matching(words, phrases, endings)
        if not match:
            return []
        only, arguments = "", [match]
        if documents is not None:
            only = "AND c.document_id IN (SELECT value FROM json_each(?))"
            arguments.append(json.dumps(list(documents)))
        with self._read() as db:
            rows = db.execute(
                f"SELECT c.id, -bm25(chunk_words, {_WEIGHTS}) AS score "
                f"FROM chunk_words JOIN chunks c ON c.rowid = chunk_words.rowid "
                f"WHERE chunk_words MATCH ? {only} ORDER BY score DESC, c.rowid LIMIT ?",
                (*arguments, limit),
            ).fetchall()
        return [(row[0], row[1]) for row in rows]


def _remove(db: sqlite3.Connection, document_id: str) -> None:
    going = going_with(db, document_id)
    staying = staying_behind(db, going)
    for each in going:
        db.execute(
            "INSERT OR IGNORE INTO removals SELECT id, suffix FROM documents WHERE id = ?", (each,)
        )
        db.execute("DELETE FROM chunks WHERE document_id = ?", (each,))
        db.execute("DELETE FROM documents WHERE id = ?", (each,))
    for each in staying:
        rename_by_origin(db, each)
    _to_clean(db)


def _to_clean(db: sqlite3.Connection) -> None:
    """Something was removed; counted, so that what comes during the cleaning is not overlooked."""
    db.execute(
        "INSERT INTO marks VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
        (UNCLEANED,),
    )


_STATUSES = {status.value: status for status in Status}


def _document(row: Any) -> Document:
    id_, name, suffix, size, status, added_at, title, pages, chunks, *rest = row
    warnings, error, code, _, language = rest
    return Document(
        id=id_,
        name=name,
        suffix=suffix,
        size=size,
        status=_STATUSES[status],
        added_at=added_at,
        pages=pages,
        chunks=chunks,
        title=title,
        warnings=tuple(json.loads(warnings)) if warnings != "[]" else (),
        error=error,
        error_code=code,
        language=language,
    )
