"""Pages that are pictures: which are still to be recognised, and where the words of others stand.

What is recognised becomes the text of its page, in the same transaction as the places of its words,
so a page is recognised once. Knows nothing of how text is recognised."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rag_app.errors import NoText
from rag_app.storage.database import Database
from rag_app.types import Box, Recognised, Status, Word

_TEXT = (
    "SELECT 1 FROM pages WHERE document_id = ? "
    "AND trim(text, char(9, 10, 11, 12, 13, 32, 160)) <> '' LIMIT 1"
)
_THICKER = 1.5  # than its words: a box of a line that is askew would cover others, too


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


def expect(db: sqlite3.Connection, document_id: str, pages: Iterable[int]) -> None:
    """Note, inside a transaction, which pages of a document are to be recognised; no others are."""
    db.execute("DELETE FROM scans WHERE document_id = ?", (document_id,))
    db.executemany(
        "INSERT INTO scans (document_id, page) VALUES (?, ?)", ((document_id, n) for n in pages)
    )


class Scans:
    """The scanned pages of all documents. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._read, self._write = database.read, database.write

    def waiting(self, document_id: str | None = None) -> bool:
        """Whether there are pages to be recognised, in this document or in any."""
        only, arguments = ("AND document_id = ?", [document_id]) if document_id else ("", [])
        with self._read() as db:
            query = f"SELECT 1 FROM scans WHERE words IS NULL {only} LIMIT 1"
            return db.execute(query, arguments).fetchone() is not None

    def has_text(self, document_id: str) -> bool:
        """Whether any page of a document has text, its own or recognised."""
        with self._read() as db:
            return db.execute(_TEXT, (document_id,)).fetchone() is not None

    def embedded(self, document_id: str) -> None:
        """A document's chunks are all embedded: it is ready, or `scanned` if pages are left."""
        with self._write() as db:
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

    def boxes(self, document_id: str, page: int, start: int, end: int) -> tuple[Box, ...] | None:
        """Where a span of a recognised page stands, a box a line; None: it was not recognised."""
        words = self.words(document_id, page)
        return None if words is None else boxes_of(words, start, end)

    def words(self, document_id: str, page: int) -> list[Word] | None:
        """What was recognised on a page, in order; None: nothing was."""
        with self._read() as db:
            row = db.execute(
                "SELECT words FROM scans WHERE document_id = ? AND page = ? "
                "AND words IS NOT NULL AND words <> '[]'",
                (document_id, page),
            ).fetchone()
        return None if row is None else list(_unpacked(row[0]))


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


def _scans(db: sqlite3.Connection, document_id: str) -> list[Scan]:
    rows = db.execute(
        "SELECT page, words IS NOT NULL, coalesce(words, '[]') <> '[]', trouble "
        "FROM scans WHERE document_id = ? ORDER BY page",
        (document_id,),
    ).fetchall()
    return [Scan(page, bool(done), bool(found), trouble) for page, done, found, trouble in rows]


def _carry_out(db: sqlite3.Connection, document_id: str, conclusion: Conclusion) -> None:
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


def _set_status(db: sqlite3.Connection, document_id: str, status: Status) -> None:
    db.execute("UPDATE documents SET status = ? WHERE id = ?", (status, document_id))


def _packed(words: Iterable[Word]) -> str:
    rows = (
        [w.start, w.end, w.line, *(round(n, 1) for n in (w.box.x0, w.box.y0, w.box.x1, w.box.y1))]
        for w in words
    )
    return json.dumps(list(rows), separators=(",", ":"))


def _unpacked(words: str) -> list[Word]:
    return [Word(start, end, line, Box(*box)) for start, end, line, *box in json.loads(words)]
