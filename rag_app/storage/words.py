"""Chunks by their words: BM25 over the full-text index, in libraries of any size, and plain search,
which wants all of the words, in their forms; SQLite's index for both, FTS5, and one of its own for
each small scope.

Scoring every chunk that holds any word of a question grows with the library, since small words
stand in most of them. So the rarer words say which chunks are scored, and the others take part in
the scores of these: the order is that of the whole query among them (benchmarks/LOG.md)."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from rag_app.scope import WORKER, Scope
from rag_app.storage.database import AnyDatabase, Connection, InDatabase, Reach, document_seen, seen
from rag_app.storage.engines import full_text_of
from rag_app.text.languages import NOT_LATIN, RUN, folded, grams, runs, spaced
from rag_app.types import Chunk, of_documents

CHUNK = """c.document_id, c.page, c.ordinal, c.start, c."end",
  substr(p.text, c.start + 1, c."end" - c.start), c.heading"""
CHUNK_FROM = "FROM chunks c JOIN pages p ON p.document_id = c.document_id AND p.number = c.page"

# Words and phrases as SQLite's full-text index holds them, and as it is asked for them: quoted, so
# that what a user wrote stays data.

# Words of languages that change their endings are also found by their first letters; how many was
# measured, with Snowball's stems beside it (benchmarks/LOG.md).
_BEGINNING = 5
_ELISION = re.compile("['’]")
_DIGIT = re.compile(r"\d")
_FORM = re.compile("\x01(.*?)\x02", re.DOTALL)


def searched(context: str, words: str) -> tuple[str | None, str | None, str]:
    """(context, words, grams) as the index has them; None for what it has as it stands."""
    found = folded(context), folded(words)
    here, there = (spaced(text) for text in found)
    cut = " ".join(filter(None, map(grams, found)))
    return None if here == context else here, None if there == words else there, cut


def any_of(words: Sequence[str], endings: bool = False) -> list[str]:
    """Queries of which a text has to answer one to hold any of `words`.

    `endings`: words of Latin script may end otherwise, too; those of other scripts always may."""
    found = (part for word in words for part in _loosely(folded(word), endings))
    return list(dict.fromkeys(found))


def exactly(phrase: str) -> list[str]:
    """What a text must hold to hold a phrase: its words, its grams, or both."""
    phrase = folded(phrase)
    around = spaced(phrase)
    told = [_quoted(around)] if any(c.isalnum() for c in around) else []
    cut = runs(phrase)
    if not cut:
        return told
    held = [gram for run in cut[:-1] for gram in (*run.grams, *run.tail)]
    return [*told, _in_order([*held, *cut[-1].grams], cut[-1].open)]


def _loosely(word: str, endings: bool) -> list[str]:
    found = []
    for part in spaced(word).split(RUN):
        if any(c.isalnum() for c in part):
            found += _forms(part.strip(), endings or NOT_LATIN.search(part) is not None)
    for run in runs(word):
        if len(run.grams) == 1:
            found.append(_in_order(run.grams, run.open))
        else:
            found += map(_quoted, run.grams)
    return found


def _forms(word: str, endings: bool) -> list[str]:
    """A word, and its beginning if it may go on otherwise; an elided article stands alone."""
    if not endings:
        return [_quoted(word)]
    parts = [part for part in _ELISION.split(word) if len(part) > 1] or [word]
    beginnings = [p[:_BEGINNING] for p in parts if len(p) > _BEGINNING and not _DIGIT.search(p)]
    return [*map(_quoted, parts), *(_in_order([part], is_open=True) for part in beginnings)]


def _in_order(held: Sequence[str], is_open: bool) -> str:
    return _quoted(" ".join(held)) + (" *" if is_open else "")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""').replace("\x00", " ") + '"'


_SMALL = 20_000  # chunks; a library with fewer is searched by every word
LARGE = 50_000  # chunks; rare words alone are looked up only if they are missed
_FEW = 64  # documents; more are picked out of what is found in all
_WIDE, _WIDER = 5, 50  # times as many as are asked for, to be picked from
_SCORED = 5_000  # chunks that are scored one by one (benchmarks/LOG.md)
_LEAST = 1_000  # chunks that the rarer words have to stand in, all together
_EVERYWHERE = 2  # a word in more than every second chunk adds nothing to BM25
COMMON = 20_000  # chunks that a word is in; more of them may be estimated
GROWN = 1.2  # times as many chunks as when a word was counted: it is counted again

Found = list[tuple[str, float]]
Place = tuple[int, str, float]
"""Where a chunk stands in the index, its id, and its BM25."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What may be found: what a scope sees, of these documents only if they are given."""

    scope: Scope
    documents: tuple[str, ...] | None = None

    @classmethod
    def of(cls, scope: Scope, documents: Sequence[str] | None) -> Choice:
        """The choice of these documents, or of all in the scope."""
        return cls(scope, None if documents is None else tuple(documents))

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return self.scope.everything and self.documents is None

    def condition(self) -> tuple[str, list[str]]:
        """For documents `d`, and its arguments."""
        only, given = seen(self.scope, "d.collection")
        if self.documents is None:
            return only, given
        which = "d.id IN (SELECT value FROM json_each(?))"
        return f"{which} AND {only}", [json.dumps(self.documents), *given]


class FullText(Protocol):
    """The full-text index of a database. A query is one of FTS5: quoted texts (their words as one
    phrase; with a star, the last one only begun), AND, OR, brackets, `{words grams} :` before all.

    What is indexed comes and goes in the transactions of those who write it."""

    def best(self, db: Connection, match: str, limit: int, choice: Choice) -> list[Place]:
        """The best chunks of a choice that match, by BM25 in the whole library."""

    def count(self, db: Connection, part: str, chunks: int) -> int:
        """How many chunks match, of so many; `COMMON` and more may be estimated."""

    def documents(self, db: Connection, match: str, choice: Choice) -> list[str]:
        """The documents of a choice that have chunks that match."""

    def marked(self, db: Connection, match: str, ids: Sequence[str]) -> dict[str, str]:
        """The words of these chunks, of those that match, each match between characters 1 and 2."""

    def index(self, db: Connection, document_id: str) -> None:
        """Let the chunks of a document be found that were just written."""

    def tidy(self, db: Connection) -> None:
        """Let go of what is left of words that went."""


@dataclass(frozen=True, slots=True)
class WordHit:
    """A chunk that holds the words."""

    id: str
    document_id: str
    words: str  # of the chunk, as it is indexed


@dataclass(frozen=True, slots=True)
class _Index:
    """A full-text index, the database that it is in, and what of it may be found."""

    text: FullText
    db: Connection
    chunks: int  # at least as many as there are
    choice: Choice

    def best(self, match: str, limit: int) -> Found:
        """(chunk id, BM25) of the best chunks that match."""
        found = self.text.best(self.db, match, limit, self.choice)
        return [(chunk, score) for _, chunk, score in found]


class ChunksById(InDatabase):
    """Chunks with their text, as it stands on their pages."""

    def chunks(self, ids: Sequence[str], scope: Scope) -> dict[str, Chunk]:
        """The chunks that are there of those asked for, and that the scope sees, by id."""
        only, given = document_seen(scope, "c.document_id")
        rows = self._rows(
            f"SELECT c.id, {CHUNK} {CHUNK_FROM} "
            f"WHERE c.id IN (SELECT value FROM json_each(?)) AND {only}",
            (json.dumps(list(ids)), *given),
            scope,
        )
        return {row[0]: Chunk(*row[1:]) for row in rows}


class WordSearch(ChunksById):
    """Chunks by their words. Thread-safe."""

    def __init__(self, database: AnyDatabase, reach: Reach) -> None:
        super().__init__(database)
        self._reach = reach
        self._text, self._part = full_text_of(database), Fts5()
        self._parts = ScopedIndexes(database)
        self.index, self.tidy = self._text.index, self._text.tidy
        self._counted: dict[str, tuple[int, int]] = {}  # chunks a word is in, of how many

    @contextmanager
    def _index(self, scope: Scope, documents: Sequence[str] | None = None) -> Iterator[_Index]:
        """Where the chunks of a scope are looked for."""
        choice = Choice.of(self._reach.widest(scope), documents)
        with self._read() as db:
            small = not choice.scope.everything and _held(db, Choice(choice.scope)) <= _SMALL
            if not small:
                yield _Index(self._text, db, _chunks(db), choice)
                return
        with self._parts.open(choice.scope) as own:
            yield _Index(self._part, own.db, own.chunks, Choice.of(WORKER, documents))

    def search(
        self,
        words: Sequence[str],
        phrases: Sequence[str],
        limit: int,
        scope: Scope,
        documents: Sequence[str] | None = None,
        endings: bool = False,
    ) -> Found:
        """(chunk id, BM25 score) of chunks that hold any of `words`, or else all `phrases`."""
        exact = [part for phrase in phrases for part in exactly(phrase)]
        parts = [] if exact else any_of(words, endings)
        if not exact and not parts:
            return []
        with self._index(scope, documents) as index:
            if exact:
                return index.best(" AND ".join(exact), limit)
            if _is_wide(index):
                among = self._among(index, parts, limit)
                if among is not None:
                    return among
            return self._best_of(index, parts, limit)

    def _among(self, index: _Index, parts: list[str], limit: int) -> Found | None:
        """The best chunks of a wide choice; None if the best of all are of others. A million rows
        that may be found take a second to be listed."""
        everything = replace(index, choice=Choice(WORKER))
        for wide in (_WIDE * limit, _WIDER * limit):
            found = self._best_of(everything, parts, wide)
            kept = _chosen(index, found)
            if len(kept) >= limit:
                return kept[:limit]
            if len(found) < wide:  # common words alone may be in those that are chosen
                break
        return None

    def _best_of(self, index: _Index, parts: list[str], limit: int) -> Found:
        first, others = self._told_apart(index, parts)
        found: dict[str, float] = {}
        if others:  # scores of both queries can be compared: BM25 is a sum over the words
            found = dict(index.best(f"{_any(first)} AND {_any(others)}", limit))
        if len(found) < limit or index.chunks <= LARGE:
            found = dict(index.best(_any(first), limit)) | found
        return sorted(found.items(), key=lambda one: -one[1])[:limit]

    def _told_apart(self, index: _Index, parts: list[str]) -> tuple[list[str], list[str]]:
        """Words of which a chunk has to hold one, and others that make it better."""
        chunks, narrow = index.chunks, index.choice.everything
        if chunks <= _SMALL:
            return parts, []
        counts = {part: self._count(index.db, part, chunks) for part in parts}
        ordered = sorted(parts, key=lambda part: counts[part])
        telling = [part for part in ordered if counts[part] * _EVERYWHERE <= chunks]
        first: list[str] = []
        total = 0
        for part in ordered:
            enough = part not in telling or (narrow and total + counts[part] > _SCORED)
            if total >= _LEAST and enough:
                break
            first.append(part)
            total += counts[part]
        return first, telling[len(first) :]

    def _count(self, db: Connection, part: str, chunks: int) -> int:
        """How many chunks hold a word: counted once, and again when the library has grown."""
        count, of = self._counted.get(part, (0, 0))
        if not of <= chunks <= of * GROWN:
            count = self._text.count(db, part, chunks)
            self._counted[part] = count, chunks
        return count

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
        with self._index(scope, documents) as index:
            found = index.best(match, limit)
        rows = self._rows(
            "SELECT c.id, c.document_id, c.words FROM json_each(?) j "
            "JOIN chunks c ON c.id = j.value ORDER BY j.key",
            (json.dumps([chunk for chunk, _ in found]),),
            self._reach.widest(scope),
        )
        return [WordHit(*row) for row in rows]

    def forms(
        self, terms: Sequence[str], scope: Scope, ids: Sequence[str]
    ) -> dict[str, tuple[Chunk, frozenset[str]]]:
        """Of these chunks, by id: the chunk, and the words of it that were meant, as written.

        Of scripts that are not indexed as they stand, the words come as they are indexed."""
        match = _match(terms, any_of_them=True)
        if not match or not ids:
            return {}
        chunks = self.chunks(ids, self._reach.widest(scope))
        with self._index(scope) as index:
            marked = index.text.marked(index.db, match, list(chunks))
        return {one: (chunks[one], frozenset(_FORM.findall(marked[one]))) for one in marked}

    def documents_with(self, term: str, scope: Scope) -> list[str]:
        """The documents that hold a word or phrase."""
        match = _match([term], any_of_them=False)
        if not match:
            return []
        with self._index(scope) as index:
            return index.text.documents(index.db, match, index.choice)


def _is_wide(index: _Index) -> bool:
    """Whether the best chunks of all are likely to be in a choice."""
    choice = index.choice
    if choice.everything:
        return False
    if choice.documents is not None:
        return len(choice.documents) > _FEW
    return _held(index.db, choice) * _WIDER > index.chunks


def _held(db: Connection, choice: Choice) -> int:
    """How many chunks a scope sees."""
    if choice.scope.everything:
        return _chunks(db)
    only, given = choice.condition()
    held = f"SELECT coalesce(sum(d.chunks), 0) FROM documents d WHERE {only}"
    return int(db.execute(held, given).fetchone()[0])


def _chosen(index: _Index, found: Found) -> Found:
    """Of what was found, what is in a choice."""
    choice = index.choice
    if choice.scope.everything:
        inside = of_documents(choice.documents or ())
        return [one for one in found if inside(one[0])]
    only, given = choice.condition()
    rows = index.db.execute(
        "SELECT c.id FROM json_each(?) j JOIN chunks c ON c.id = j.value "
        f"JOIN documents d ON d.id = c.document_id WHERE {only}",
        (json.dumps([chunk for chunk, _ in found]), *given),
    ).fetchall()
    kept = {row[0] for row in rows}
    return [one for one in found if one[0] in kept]


def _chunks(db: Connection) -> int:
    return int(db.execute("SELECT coalesce(max(rowid), 0) FROM chunks").fetchone()[0])


def _any(parts: Sequence[str]) -> str:
    return "(" + " OR ".join(parts) + ")"


def _match(terms: Sequence[str], any_of_them: bool) -> str:
    """A query in which every term is data, and only the text itself is looked at."""
    wanted = [" AND ".join(parts) for term in terms if (parts := exactly(term))]
    joined = (" OR " if any_of_them else " AND ").join(f"({one})" for one in wanted)
    return f"{{words grams}} : ({joined})" if joined else ""


# SQLite's own index, FTS5.

# Words of the title and headings count less than words of the text itself.
_WEIGHTS = "0.5, 1.0, 1.0"  # of context, words, grams
_SAMPLES, _SAMPLED = 20, 20  # stretches of the library, and the share of each that is counted
_APART = 2_000  # documents that are searched one by one; among more, all that matches is passed


@dataclass(frozen=True, slots=True)
class Matching:
    """What goes before a statement that finds the chunks of a choice that match, what follows FROM
    and WHERE in it, and the arguments of all three, in this order."""

    source: str
    condition: str
    given: tuple[str | int | None, ...]
    before: str = ""


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
            (*given, match),
            f"WITH places (first, last) AS MATERIALIZED ({places}) ",
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
            f"-bm25(chunk_words, {_WEIGHTS}) AS score FROM {which.source} WHERE {which.condition} "
            "ORDER BY score DESC, chunk_words.rowid LIMIT ?) f "
            "JOIN chunks c ON c.rowid = f.place ORDER BY f.score DESC, f.place",
            (*which.given, limit),
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
            which.given,
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
    among = "chunk_words WHERE chunk_words MATCH ? AND rowid > ? AND rowid <= ?"
    return int(db.execute(f"SELECT count(*) FROM {among}", (part, after, last)).fetchone()[0])


# Full-text indexes of what small scopes see, in memory, beside the one of the whole library.
#
# FTS5 weighs a word by how many chunks of its index hold it, and reads all of them. Of an index of
# everybody's texts, whoever sees a part of it could add two texts, compare their scores, and learn
# which words stand in texts of others; and answers would take the longer, the more of others' texts
# hold a word. An index of their own knows nothing of the rest, whichever database has it.

TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* M* N* Co'"  # as in schema_1.sql
_KEPT = 100_000  # chunks in all indexes together, at 1.4 KB each
_SCHEMA = f"""
CREATE TABLE documents (id TEXT PRIMARY KEY, written INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE chunks (
  rowid INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, document_id TEXT NOT NULL);
CREATE INDEX chunk_by_document ON chunks (document_id);
CREATE VIRTUAL TABLE chunk_words USING fts5 (context, words, grams, tokenize = "{TOKENIZER}");
"""


class ScopedIndex:
    """The index of one scope: a database of `documents`, `chunks` and `chunk_words`, as the library
    has them, and how many chunks there are. For one thread at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.chunks = self._last = 0
        self.db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.db.executescript(_SCHEMA)
        self._commits = -1

    def __del__(self) -> None:
        self.db.close()  # once nobody searches it any more

    def catch_up(self, database: AnyDatabase, scope: Scope) -> None:
        """Take in what has changed in the library."""
        commits = database.commits  # first: what changes meanwhile is taken in the next time
        if commits == self._commits:
            return
        only, given = seen(scope, "d.collection")
        with database.read(scope) as db:
            there = dict(
                db.execute(
                    f"SELECT d.id, d.written FROM documents d WHERE d.chunks > 0 AND {only}", given
                ).fetchall()
            )
            held = dict(self.db.execute("SELECT id, written FROM documents").fetchall())
            self.db.execute("BEGIN")
            with self.db:  # all of it, or nothing
                self._forget([one for one in held if held[one] != there.get(one)])
                self._take_in(db, {d: at for d, at in there.items() if held.get(d) != at})
        [self.chunks] = self.db.execute("SELECT count(*) FROM chunks").fetchone()
        self._commits = commits

    def _forget(self, documents: list[str]) -> None:
        which = "IN (SELECT value FROM json_each(?))"
        ids = (json.dumps(documents),)
        gone = f"(SELECT rowid FROM chunks WHERE document_id {which})"
        self.db.execute(f"DELETE FROM chunk_words WHERE rowid IN {gone}", ids)
        self.db.execute(f"DELETE FROM chunks WHERE document_id {which}", ids)
        self.db.execute(f"DELETE FROM documents WHERE id {which}", ids)

    def _take_in(self, db: Connection, documents: dict[str, int]) -> None:
        rows = db.execute(
            "SELECT c.id, c.document_id, coalesce(c.found_context, c.context), "
            "coalesce(c.found_words, c.words), c.grams FROM chunks c "
            "WHERE c.document_id IN (SELECT value FROM json_each(?)) ORDER BY c.rowid",
            (json.dumps([*documents]),),
        ).fetchall()
        placed = list(enumerate(rows, start=self._last + 1))
        self._last += len(rows)
        self.db.executemany("INSERT INTO documents VALUES (?, ?)", documents.items())
        self.db.executemany("INSERT INTO chunks VALUES (?, ?, ?)", [(n, *r[:2]) for n, r in placed])
        self.db.executemany(
            "INSERT INTO chunk_words (rowid, context, words, grams) VALUES (?, ?, ?, ?)",
            [(n, *r[2:]) for n, r in placed],
        )


class ScopedIndexes:
    """The indexes of the scopes that were searched last. Thread-safe."""

    def __init__(self, database: AnyDatabase) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._parts: OrderedDict[tuple[str, ...], ScopedIndex] = OrderedDict()

    @contextmanager
    def open(self, scope: Scope) -> Iterator[ScopedIndex]:
        """The index of what a scope sees, as it is now; other threads wait."""
        with self._lock:
            part = self._parts.get(scope.collections) or ScopedIndex()
            self._parts[scope.collections] = part
            self._parts.move_to_end(scope.collections)
        with part.lock:
            part.catch_up(self._database, scope)
            with self._lock:
                while len(self._parts) > 1 and sum(p.chunks for p in self._parts.values()) > _KEPT:
                    self._parts.popitem(last=False)
            yield part
