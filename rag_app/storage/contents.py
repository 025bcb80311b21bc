"""What documents say: pages, headings, chunks, tables, and the full-text index over them.

Pages may be pictures: what is recognised becomes the text of its page, in the same transaction as
the places of its words, so a page is recognised once. Of a table its rows are kept in blocks, bytes
that others make and read. Every method is one transaction. Knows nothing of vectors, models, files,
types of columns, or of how text is recognised."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from rag_app.errors import NoText, UnknownDocument
from rag_app.scope import Scope
from rag_app.storage.database import (
    AnyDatabase,
    Connection,
    InDatabase,
    Reach,
    kept_as,
    seen,
)
from rag_app.storage.words import CHUNK, CHUNK_FROM, Choice, ChunksById, WordSearch, searched
from rag_app.types import (
    Box,
    Chunk,
    Heading,
    Page,
    Reading,
    Recognised,
    Status,
    Table,
    Word,
    chunk_id,
)

_PAGES = "SELECT number, text, label, width, height FROM pages WHERE {mine}"
_TEXT = "SELECT 1 FROM pages WHERE document_id = ? AND trim(text, ?) <> '' LIMIT 1"
SPACE = "\t\n\v\f\r \xa0"
"""Characters of which a page without text may be made."""

_THICKER = 1.5  # than its words: a box of a line that is askew would cover others, too


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


class Contents(ChunksById):
    """The text of documents, as it was read and as it is found."""

    def __init__(self, database: AnyDatabase) -> None:
        self.database = database
        super().__init__(database)
        self.reach = Reach(database)
        self.words = WordSearch(database, self.reach)
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

    def page(self, document_id: str, number: int, scope: Scope) -> Page:
        """One page. Raises UnknownDocument."""
        for row in self._of(document_id, scope, f"{_PAGES} AND number = ?", number):
            return Page(*row)
        raise UnknownDocument("That page is not in the library any more.")

    def page_label(
        self, document_id: str, number: int, scope: Scope
    ) -> tuple[str, str, int] | None:
        """A document's suffix, what it calls a page itself, and how many it has; None if gone."""
        only, given = seen(scope, "d.collection")
        row = self._row(
            "SELECT d.suffix, p.label, d.pages FROM pages p "
            "JOIN documents d ON d.id = p.document_id "
            f"WHERE p.document_id = ? AND p.number = ? AND {only}",
            (document_id, number, *given),
            scope,
        )
        return (row[0], row[1], row[2]) if row else None

    def pages(self, document_id: str, scope: Scope) -> list[Page]:
        """All pages of a document, in order; none of one that the scope does not see."""
        return [Page(*row) for row in self._of(document_id, scope, f"{_PAGES} ORDER BY number")]

    def headings(self, document_id: str, scope: Scope) -> list[Heading]:
        """All headings of a document, in order; none of one that the scope does not see."""
        sql = "SELECT page, start, level, text FROM headings WHERE {mine} ORDER BY ordinal"
        return [Heading(*row) for row in self._of(document_id, scope, sql)]

    def section(self, document_id: str, page: int, start: int, scope: Scope) -> str:
        """The heading that an offset of a page stands under; empty if there is none."""
        rows = self._of(
            *(document_id, scope),
            "SELECT text FROM headings WHERE {mine} AND (page, start) <= (?, ?) "
            "ORDER BY ordinal DESC LIMIT 1",
            *(page, start),
        )
        return rows[0][0] if rows else ""

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
            self.words.index(db, document_id)
            db.execute(
                "UPDATE documents SET status = ?, language = ?, written = ?, chunks = "
                "(SELECT count(*) FROM chunks WHERE document_id = ?) WHERE id = ?",
                (Status.SEARCHABLE, language, time.time_ns(), document_id, document_id),
            )

    def indexed(self, document_id: str, scope: Scope) -> list[Indexed]:
        """A document's chunks with the words they are found by, in order; none of one that the
        scope does not see."""
        found = f"SELECT {CHUNK}, c.context, c.words {CHUNK_FROM} WHERE {{mine}} ORDER BY c.ordinal"
        rows = self._of(document_id, scope, found, column="c.document_id")
        return [Indexed(Chunk(*row[:7]), *row[7:]) for row in rows]

    def chunk_ids(self, scope: Scope, documents: Sequence[str] | None, most: int) -> list[str]:
        """The ids of chunks that a scope sees, of these documents if they are given; `most` of them
        at most."""
        only, given = Choice.of(scope, documents).condition()
        rows = self._rows(  # from the index alone: a row lies where its text does
            "SELECT d.id, c.ordinal FROM documents d JOIN chunks c ON c.document_id = d.id "
            f"WHERE {only} LIMIT ?",
            (*given, most),
            scope,
        )
        return [chunk_id(*row) for row in rows]

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
        return self.words.search(words, phrases, limit, scope, documents, endings)


@dataclass(frozen=True, slots=True)
class Scan:
    """A page that is a picture, and how far it is."""

    page: int
    done: bool
    found: bool  # words were recognised on it
    trouble: str  # a sentence, where it could not be worked on


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What a document comes to when no page of it is left to be recognised."""

    warnings: tuple[str, ...]  # in place of those it has
    index: bool = False  # there is new text
    failure: str = ""  # why it cannot be used; empty: it can


Concluding = Callable[[Sequence[Scan]], Conclusion]


def expect(db: Connection, document_id: str, pages: Iterable[int]) -> None:
    """Note, inside a transaction, which pages of a document are to be recognised; no others are."""
    db.execute("DELETE FROM scans WHERE document_id = ?", (document_id,))
    db.executemany(
        "INSERT INTO scans (document_id, page) VALUES (?, ?)", ((document_id, n) for n in pages)
    )


class Scans(InDatabase):
    """The scanned pages of all documents. Thread-safe."""

    def waiting(self, document_id: str | None = None) -> bool:
        """Whether there are pages to be recognised, in this document or in any."""
        only, arguments = ("AND document_id = ?", [document_id]) if document_id else ("", [])
        with self._read() as db:
            query = f"SELECT 1 FROM scans WHERE words IS NULL {only} LIMIT 1"
            return db.execute(query, arguments).fetchone() is not None

    def has_text(self, document_id: str) -> bool:
        """Whether any page of a document has text, its own or recognised."""
        return self._row(_TEXT, (document_id, SPACE)) is not None

    def embedded(self, document_id: str, written: int | None = None) -> None:
        """A document's chunks are all embedded: it is ready, or `scanned` if pages are left.

        `written` is when its chunks were (Tables.written): nothing is said of later ones."""
        with self._write() as db:
            newer = "SELECT 1 FROM documents WHERE id = ? AND written <> ?"
            if written is not None and db.execute(newer, (document_id, written)).fetchone():
                return
            left = db.execute(
                "SELECT 1 FROM scans WHERE words IS NULL AND document_id = ?", (document_id,)
            ).fetchone()
            _set_status(db, document_id, Status.SCANNED if left else Status.READY)

    def of(self, document_id: str) -> list[Scan]:
        """The scanned pages of a document, in order."""
        with self._read() as db:
            return _scans(db, document_id)

    def save(
        self,
        document_id: str,
        page: int,
        found: Recognised,
        trouble: str,
        conclude: Concluding,
        *,
        index: bool,
        tables: Iterable[StoredTable] = (),
    ) -> None:
        """Keep what was recognised on a page; with `index`, the document is to be indexed anew.

        With its last page comes its conclusion."""
        with self._write() as db:
            db.execute(
                "UPDATE scans SET words = ?, trouble = ? WHERE document_id = ? AND page = ?",
                (_packed(found.words), trouble, document_id, page),
            )
            if found.words:
                db.execute(
                    "UPDATE pages SET text = ? WHERE document_id = ? AND number = ?",
                    (found.text, document_id, page),
                )
            add_tables(db, document_id, tables)
            scans = _scans(db, document_id)
            if all(scan.done for scan in scans):
                _carry_out(db, document_id, conclude(scans))
            elif index:
                _set_status(db, document_id, Status.READ)

    def leave(self, document_id: str, trouble: str, conclude: Concluding) -> None:
        """Recognise no more of a document, for the reason that `trouble` says."""
        with self._write() as db:
            db.execute(
                "UPDATE scans SET words = '[]', trouble = ? "
                "WHERE document_id = ? AND words IS NULL",
                (trouble, document_id),
            )
            _carry_out(db, document_id, conclude(_scans(db, document_id)))

    def boxes(
        self, document_id: str, page: int, start: int, end: int, scope: Scope
    ) -> tuple[Box, ...] | None:
        """Where a span of a recognised page stands, a box a line; None: it was not recognised."""
        words = self.words(document_id, page, scope)
        return None if words is None else boxes_of(words, start, end)

    def words(self, document_id: str, page: int, scope: Scope) -> list[Word] | None:
        """What was recognised on a page, in order; None: nothing was."""
        rows = self._of(
            *(document_id, scope),
            "SELECT words FROM scans WHERE {mine} AND page = ? "
            "AND words IS NOT NULL AND words <> '[]'",
            page,
        )
        return _unpacked(rows[0][0]) if rows else None


def boxes_of(words: Iterable[Word], start: int, end: int) -> tuple[Box, ...]:
    """The boxes of the words between two offsets; on a line that runs straight they are one."""
    boxes: list[Box] = []
    line, high, wide = -1, 0.0, 0.0  # of the words in the last box
    for word in words:
        if word.end <= start or word.start >= end or start >= end:
            continue
        part = _part(word, start, end)
        height, width = part.y1 - part.y0, part.x1 - part.x0
        if boxes and word.line == line:
            high, wide = max(high, height), max(wide, width)
            both = boxes[-1].union(part)
            if both.y1 - both.y0 <= _THICKER * high or both.x1 - both.x0 <= _THICKER * wide:
                boxes[-1] = both
                continue
        boxes.append(part)
        line, high, wide = word.line, height, width
    return tuple(boxes)


def _part(word: Word, start: int, end: int) -> Box:
    """What of a word's box lies between two offsets, by its characters."""
    box, count = word.box, word.end - word.start
    if (start <= word.start and word.end <= end) or box.y1 - box.y0 > box.x1 - box.x0:
        return box
    width = (box.x1 - box.x0) / count
    first, last = max(0, start - word.start), min(count, end - word.start)
    return Box(box.x0 + first * width, box.y0, box.x0 + last * width, box.y1)


def _scans(db: Connection, document_id: str) -> list[Scan]:
    rows = db.execute(
        "SELECT page, words IS NOT NULL, coalesce(words, '[]') <> '[]', trouble "
        "FROM scans WHERE document_id = ? ORDER BY page",
        (document_id,),
    ).fetchall()
    return [Scan(page, bool(done), bool(found), trouble) for page, done, found, trouble in rows]


def _carry_out(db: Connection, document_id: str, conclusion: Conclusion) -> None:
    if conclusion.failure:
        db.execute(
            "UPDATE documents SET status = ?, error = ?, error_code = ? WHERE id = ?",
            (Status.FAILED, conclusion.failure, NoText.code, document_id),
        )
        return
    db.execute(
        "UPDATE documents SET warnings = ? WHERE id = ?",
        (json.dumps(conclusion.warnings), document_id),
    )
    _set_status(db, document_id, Status.READ if conclusion.index else Status.READY)


def _set_status(db: Connection, document_id: str, status: Status) -> None:
    db.execute("UPDATE documents SET status = ? WHERE id = ?", (status, document_id))


def _packed(words: Iterable[Word]) -> str:
    rows = (
        [w.start, w.end, w.line, *(round(n, 1) for n in (w.box.x0, w.box.y0, w.box.x1, w.box.y1))]
        for w in words
    )
    return json.dumps(list(rows), separators=(",", ":"))


def _unpacked(words: str) -> list[Word]:
    return [Word(start, end, line, Box(*box)) for start, end, line, *box in json.loads(words)]


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
    columns_left_out: int = 0  # of those on the page, behind those that are kept; itself it is not


def save_tables(db: Connection, document_id: str, tables: Iterable[StoredTable]) -> None:
    """Keep the tables of a document, inside a transaction, in place of any kept before."""
    for name in ("table_blocks", "tables"):
        db.execute(f"DELETE FROM {name} WHERE document_id = ?", (document_id,))
    add_tables(db, document_id, tables)


def add_tables(db: Connection, document_id: str, tables: Iterable[StoredTable]) -> None:
    """Keep further tables of a document, inside a transaction, behind those that there are."""
    sql = "SELECT coalesce(max(ordinal) + 1, 0) FROM tables WHERE document_id = ?"
    first_free = db.execute(sql, (document_id,)).fetchone()[0]
    for ordinal, stored in enumerate(tables, start=first_free):
        about = asdict(stored.table)
        del about["ordinal"], about["document_id"]
        about["hidden_rows"] = ()  # the version before, at work on the same database, asks for it
        db.execute(
            "INSERT INTO tables VALUES (?, ?, ?)",
            (document_id, ordinal, json.dumps(about, ensure_ascii=False)),
        )
        first = 0
        for block in stored.blocks:
            row = (document_id, ordinal, first, block.rows, block.values, block.places)
            db.execute("INSERT INTO table_blocks VALUES (?, ?, ?, ?, ?, ?)", row)
            first += block.rows


class Tables(InDatabase):
    """The tables of all documents. Thread-safe; every method is one transaction."""

    def of(self, scope: Scope, documents: Sequence[str] | None = None) -> list[Table]:
        """The tables of these documents, or of all, in their order."""
        only, given = seen(scope, "d.collection")
        if documents is not None:
            only = f"t.document_id IN (SELECT value FROM json_each(?)) AND {only}"
            given = [json.dumps(list(documents)), *given]
        rows = self._rows(
            "SELECT t.document_id, t.ordinal, t.about FROM tables t "
            f"JOIN documents d ON d.id = t.document_id WHERE {only} "
            "ORDER BY d.added_at, d.rowid, t.ordinal",
            given,
            scope,
        )
        return [_table(*row) for row in rows]

    def written(self, documents: Sequence[str]) -> dict[str, int]:
        """By document: a number that grows with every writing of its contents."""
        rows = self._rows(
            "SELECT id, written FROM documents WHERE id IN (SELECT value FROM json_each(?)) "
            "ORDER BY id",
            (json.dumps(list(documents)),),
        )
        return {row[0]: row[1] for row in rows}

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
                "WHERE CAST(value AS BIGINT) >= first AND CAST(value AS BIGINT) < first + rows) "
                "ORDER BY first",
                (table.document_id, table.ordinal, wanted),
            )
            for first, *block in found:
                yield first, TableBlock(*block)


def _table(document_id: str, ordinal: int, about: str) -> Table:
    place = {"document_id": document_id, "ordinal": ordinal}
    return kept_as(Table, json.loads(about) | place)
