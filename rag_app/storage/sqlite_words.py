"""Chunks by their words in SQLite: a `FullText` of FTS5."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from rag_app.storage.database import Connection
from rag_app.storage.words import COMMON, LARGE, Choice, Place

# Words of the title and headings count less than words of the text itself.
_WEIGHTS = "0.5, 1.0, 1.0"  # of context, words, grams
_SAMPLES, _SAMPLED = 20, 20  # stretches of the library, and the share of each that is counted
_APART = 2_000  # documents that are searched one by one; among more, all that matches is passed


@dataclass(frozen=True, slots=True)
class Matching:
    """What follows FROM and WHERE to find the chunks of a choice that match, and what goes before
    the statement, each with its arguments."""

    source: str
    condition: str
    given: tuple[str | int | None, ...]  # the query first
    before: str = ""
    before_given: tuple[str | int | None, ...] = ()

    @property
    def sql(self) -> str:
        """What it is found in, as it stands in a statement."""
        return f"FROM {self.source} WHERE {self.condition}"

    @property
    def everything_given(self) -> tuple[str | int | None, ...]:
        """The arguments of a statement with what goes before it."""
        return (*self.before_given, *self.given)


def matching(db: Connection, match: str, choice: Choice) -> Matching:
    """How the chunks of a choice that match a query are found."""
    if choice.everything:
        return Matching("chunk_words", "chunk_words MATCH ?", (match,))
    only, given = choice.condition()
    rows = f"FROM documents d JOIN chunks c ON c.document_id = d.id WHERE {only}"
    few = f"SELECT count(*) FROM (SELECT 1 FROM documents d WHERE {only} LIMIT ?)"
    if db.execute(few, (*given, _APART + 1)).fetchone()[0] <= _APART:
        # A document's chunks follow each other, so the index jumps from document to document.
        places = f"SELECT min(c.rowid), max(c.rowid) {rows} GROUP BY d.id"
        return Matching(
            "places CROSS JOIN chunk_words",
            "chunk_words MATCH ? AND chunk_words.rowid BETWEEN first AND last",
            (match,),
            f"WITH places (first, last) AS MATERIALIZED ({places}) ",
            tuple(given),
        )
    first, last = db.execute(f"SELECT min(c.rowid), max(c.rowid) {rows}", given).fetchone()
    # The index jumps to the first; the plus keeps it from being asked once for every chunk.
    return Matching(
        "chunk_words",
        "chunk_words MATCH ? AND chunk_words.rowid BETWEEN ? AND ? "
        f"AND +chunk_words.rowid IN (SELECT c.rowid {rows})",
        (match, first, last, *given),
    )


class Fts5:
    """The full-text index in SQLite. Triggers of the schema keep it in step with the chunks."""

    def best(self, db: Connection, match: str, limit: int, choice: Choice) -> list[Place]:
        """See `FullText.best`. Only what is kept is looked up beside the index."""
        which = matching(db, match, choice)
        return db.execute(
            f"{which.before}SELECT f.place, c.id, f.score FROM (SELECT chunk_words.rowid AS place, "
            f"-bm25(chunk_words, {_WEIGHTS}) AS score {which.sql} "
            "ORDER BY score DESC, chunk_words.rowid LIMIT ?) f "
            "JOIN chunks c ON c.rowid = f.place ORDER BY f.score DESC, f.place",
            (*which.everything_given, limit),
        ).fetchall()

    def count(self, db: Connection, part: str, chunks: int) -> int:
        """See `FullText.count`."""
        count = _estimated(db, part, chunks) if chunks > LARGE else 0
        return count if count >= COMMON else _counted(db, part, 0, chunks)

    def documents(self, db: Connection, match: str, choice: Choice) -> list[str]:
        """See `FullText.documents`."""
        which = matching(db, match, choice)
        rows = db.execute(
            f"{which.before}SELECT DISTINCT c.document_id FROM {which.source} "
            f"JOIN chunks c ON c.rowid = chunk_words.rowid WHERE {which.condition}",
            which.everything_given,
        ).fetchall()
        return [str(document) for (document,) in rows]

    def marked(self, db: Connection, match: str, ids: Sequence[str]) -> dict[str, str]:
        """See `FullText.marked`."""
        rows = db.execute(
            "SELECT c.id, highlight(chunk_words, 1, char(1), char(2)) "
            "FROM chunk_words JOIN chunks c ON c.rowid = chunk_words.rowid "
            "WHERE chunk_words MATCH ? AND c.id IN (SELECT value FROM json_each(?))",
            (match, json.dumps(list(ids))),
        ).fetchall()
        return dict(rows)

    def index(self, db: Connection, document_id: str) -> None:
        """They have been indexed as they came."""

    def tidy(self, db: Connection) -> None:
        """Merge: that drops the words that deleted chunks left in older segments of the index."""
        db.execute("INSERT INTO chunk_words (chunk_words) VALUES ('optimize')")


def _estimated(db: Connection, part: str, chunks: int) -> int:
    """The same, from a twentieth of the chunks: reading a whole list takes 10 ms a million."""
    step = chunks // _SAMPLES
    width = max(1, step // _SAMPLED)
    seen = sum(_counted(db, part, n * step, n * step + width) for n in range(_SAMPLES))
    return seen * step // width


def _counted(db: Connection, part: str, after: int, last: int) -> int:
    count: int = db.execute(
        "SELECT count(*) FROM chunk_words WHERE chunk_words MATCH ? AND rowid > ? AND rowid <= ?",
        (part, after, last),
    ).fetchone()[0]
    return count
