"""Plain search: which chunks hold all of these words, and in which forms.

Knows nothing of sentences and of how hits are shown."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from rag_app.scope import Scope
from rag_app.storage.database import Database
from rag_app.storage.scoping import Reach, document_seen
from rag_app.storage.words import (
    Choice,
    best_of_ones_own,
    exactly,
    is_ones_own,
    matching,
)
from rag_app.types import Chunk

_FORM = re.compile("\x01(.*?)\x02", re.DOTALL)


@dataclass(frozen=True, slots=True)
class WordHit:
    """A chunk that holds the words."""

    id: str
    document_id: str
    words: str  # of the chunk, as it is indexed


class WordSearch:
    """Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._read, self._reach = database.read, Reach(database)

    def hits(
        self,
        terms: Sequence[str],
        scope: Scope,
        documents: Sequence[str] | None,
        limit: int,
        *,
        any_of_them: bool = False,
    ) -> list[WordHit]:
        """The chunks that hold every one of the words and phrases, or any of them; best first."""
        match = _match(terms, any_of_them)
        if not match:
            return []
        choice = Choice.of(self._reach.widest(scope), documents)
        with self._read() as db:
            if is_ones_own(db, choice):
                parts = [one for term in terms if (one := _match([term], any_of_them=False))]
                best = best_of_ones_own(db, parts, limit, choice, every=not any_of_them)
                return _hits(db, [place for place, _, _ in best])
            which = matching(db, match, choice)
            rows = db.execute(
                "SELECT c.id, c.document_id, c.words FROM (SELECT chunk_words.rowid AS place, "
                f"bm25(chunk_words) AS score FROM {which.source} WHERE {which.condition} "
                "ORDER BY score, chunk_words.rowid LIMIT ?) f "
                "JOIN chunks c ON c.rowid = f.place ORDER BY f.score, f.place",
                (*which.given, limit),
            ).fetchall()
        return [WordHit(*row) for row in rows]

    def forms(
        self, terms: Sequence[str], scope: Scope, ids: Sequence[str]
    ) -> dict[str, tuple[Chunk, frozenset[str]]]:
        """Of these chunks, by id: the chunk, and the words of it that were meant, as written.

        Of scripts that are not indexed as they stand, the words come as they are indexed."""
        match = _match(terms, any_of_them=True)
        if not match or not ids:
            return {}
        only, given = document_seen(self._reach.widest(scope), "c.document_id")
        with self._read() as db:
            rows = db.execute(
                "SELECT c.id, highlight(chunk_words, 1, char(1), char(2)), c.document_id, "
                'c.page, c.ordinal, c.start, c."end", '
                'substr(p.text, c.start + 1, c."end" - c.start), c.heading '
                "FROM chunk_words JOIN chunks c ON c.rowid = chunk_words.rowid "
                "JOIN pages p ON p.document_id = c.document_id AND p.number = c.page "
                "WHERE chunk_words MATCH ? AND c.id IN (SELECT value FROM json_each(?)) "
                f"AND {only}",
                (match, json.dumps(list(ids)), *given),
            ).fetchall()
        return {row[0]: (Chunk(*row[2:]), frozenset(_FORM.findall(row[1]))) for row in rows}

    def documents_with(self, term: str, scope: Scope) -> list[str]:
        """The documents that hold a word or phrase."""
        match = _match([term], any_of_them=False)
        if not match:
            return []
        with self._read() as db:
            which = matching(db, match, Choice(self._reach.widest(scope)))
            rows = db.execute(
                f"SELECT DISTINCT c.document_id FROM {which.source} "
                f"JOIN chunks c ON c.rowid = chunk_words.rowid WHERE {which.condition}",
                which.given,
            ).fetchall()
        return [str(document) for (document,) in rows]


def _hits(db: sqlite3.Connection, places: Sequence[int]) -> list[WordHit]:
    """The chunks at these places, in this order."""
    rows = db.execute(
        "SELECT c.id, c.document_id, c.words FROM json_each(?) j "
        "JOIN chunks c ON c.rowid = j.value ORDER BY j.key",
        (json.dumps(places),),
    ).fetchall()
    return [WordHit(*row) for row in rows]


def _match(terms: Sequence[str], any_of_them: bool) -> str:
    """A query in which every term is data, and only the text itself is looked at."""
    wanted = [" AND ".join(parts) for term in terms if (parts := exactly(term))]
    joined = (" OR " if any_of_them else " AND ").join(f"({one})" for one in wanted)
    return f"{{words grams}} : ({joined})" if joined else ""
