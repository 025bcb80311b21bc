"""Chunks by their words in PostgreSQL: a `FullText` of `tsvector`, with BM25 made in the query.

The words are ours: SQLite's tokenizer, in memory, takes them out of a text, folds and stems them,
so that both databases hold the same ones whatever the server's locale. The ranks of PostgreSQL know
nothing of how rare a word is; one of them tells how often it stands in a chunk, and that is all
that is asked of it. Queries come as SQLite's index takes them."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from rag_app.storage.database import Connection
from rag_app.storage.words import COMMON, GROWN, LARGE, TOKENIZER, Choice, Place

# Words of texts, and queries, in PostgreSQL's writing.

_LONGEST = 500  # characters of a word; a lexeme has 2,046 bytes at most
_NOTHING = "' '"  # no text has this word
_LABELS = {"words": "A", "grams": "B", "context": ""}  # in the order in which they stand
_INSIDE = "AB"  # labels of the text itself
_QUERY = re.compile(r'"((?:[^"]|"")*)"( \*)?|(\{words grams\} :)|(AND)|(OR)|([()])')

Text = tuple[str, str, str]  # context, words, grams


@contextmanager
def _tokenized(texts: Sequence[Text]) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(":memory:")
    try:
        db.execute(
            "CREATE VIRTUAL TABLE texts USING fts5 "
            f'(context, words, grams, tokenize = "{TOKENIZER}")'
        )
        db.execute("CREATE VIRTUAL TABLE terms USING fts5vocab (texts, instance)")
        rows = ((number, *text) for number, text in enumerate(texts))
        db.executemany("INSERT INTO texts (rowid, context, words, grams) VALUES (?, ?, ?, ?)", rows)
        yield db
    finally:
        db.close()


def vectors(texts: Sequence[Text]) -> list[tuple[str, int]]:
    """(its words, as a `tsvector` is written; how many there are) of each text."""
    held: dict[int, dict[str, dict[int, str]]] = defaultdict(lambda: defaultdict(dict))
    with _tokenized(texts) as db:
        for number, column, place, term in db.execute("SELECT doc, col, offset, term FROM terms"):
            held[number][column][place] = term[:_LONGEST]
    return [_vector(held[number]) for number in range(len(texts))]


def _vector(columns: dict[str, dict[int, str]]) -> tuple[str, int]:
    """No phrase goes on from one column into the next: there is a place between them."""
    sizes = [len(columns[name]) for name in _LABELS]
    before = accumulate((size + 1 for size in sizes), initial=1)
    places: dict[str, list[str]] = defaultdict(list)
    for (name, label), first in zip(_LABELS.items(), before, strict=False):
        for place, term in sorted(columns[name].items()):
            places[term].append(f"{first + place}{label}")
    return " ".join(f"'{term}':{','.join(at)}" for term, at in places.items()), sum(sizes)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A word, a phrase, or the beginning of a word."""

    terms: tuple[str, ...]
    is_open: bool

    def written(self, labels: str = "") -> str:
        """As a `tsquery`, in words that are labelled so."""
        if not self.terms:
            return _NOTHING
        ends = ["" for _ in self.terms[:-1]] + ["*" * self.is_open]
        marks = (f":{end}{labels}" if end + labels else "" for end in ends)
        return " <-> ".join(f"'{term}'{mark}" for term, mark in zip(self.terms, marks, strict=True))


@dataclass(frozen=True, slots=True)
class Query:
    """A query of SQLite's full-text index, as a `tsquery`."""

    written: str
    leaves: tuple[Leaf, ...]
    labels: str


@lru_cache(maxsize=4096)
def query_of(match: str) -> Query:
    """The same query for PostgreSQL."""
    quoted = [
        found[1].replace('""', '"') for found in _QUERY.finditer(match) if found[1] is not None
    ]
    terms = iter(_terms(quoted))
    labels, parts, leaves = "", [], []
    for found in _QUERY.finditer(match):
        _, is_open, inside, and_, or_, _ = found.groups()
        if found[1] is not None:
            leaf = Leaf(next(terms), bool(is_open))
            leaves.append(leaf)
            parts.append(f"({leaf.written(labels)})")
        elif inside:
            labels = _INSIDE
        else:
            parts.append("&" if and_ else "|" if or_ else found[0])
    return Query(" ".join(parts), tuple(leaves), labels)


def _terms(texts: Sequence[str]) -> list[tuple[str, ...]]:
    held: dict[int, dict[int, str]] = defaultdict(dict)
    with _tokenized([("", text, "") for text in texts]) as db:
        for number, place, term in db.execute("SELECT doc, offset, term FROM terms"):
            held[number][place] = term[:_LONGEST]
    return [tuple(term for _, term in sorted(held[n].items())) for n in range(len(texts))]


# BM25 as SQLite has it, and how often a word stands in a chunk: `ts_rank` of one word that stands n
# times is (1 + 1/4 + ... + 1/n²) / (π²/6), from which n can be told; of the beginning of a word the
# sums of all words that begin so are added up. That is ten times as fast as to look at the places
# of all words, which phrases need (benchmarks/LOG.md). Words of the context, which stand last,
# count half.

_WHOLE = math.pi**2 / 6
_SUMS = list(accumulate(1 / n**2 for n in range(1, 65)))
_BETWEEN = [(a + b) / 2 / _WHOLE for a, b in zip([0.0, *_SUMS], _SUMS, strict=False)]
_TIMES = f"'{{{','.join(f'{one:.9f}' for one in _BETWEEN)}}}'::float8[]"
_ALL, _TEXT = "'{1,1,1,1}'", "'{0,1,1,1}'"  # what a word weighs by its label: none, C, B, A
_LEAST_IDF = 1e-6
_SAMPLED = 5_000  # chunks, whose average length is that of all


_OF_A_PHRASE = """CASE WHEN w.found @@ ?::tsquery THEN (
  SELECT sum(weight) FROM (
    SELECT place.at - term.number AS first,
      max(CASE place.label WHEN 'D' THEN 0.5 ELSE 1 END) AS weight
    FROM unnest(w.found) AS word
    JOIN unnest(?::text[]) WITH ORDINALITY AS term (lexeme, number) ON word.lexeme = term.lexeme
      OR (term.number = ? AND starts_with(word.lexeme, term.lexeme))
    CROSS JOIN unnest(word.positions, word.weights) AS place (at, label)
    WHERE place.label <> ? GROUP BY 1 HAVING count(DISTINCT term.number) = ?) begun) ELSE 0 END"""


def _times(leaf: Leaf, labels: str) -> tuple[str, list[object]]:
    """How often a leaf stands in a chunk `w`, in SQL, and its arguments."""
    written, size = leaf.written(), len(leaf.terms)
    if size != 1:
        last = size if leaf.is_open else 0
        left_out = "D" if labels else ""
        return _OF_A_PHRASE, [leaf.written(labels), list(leaf.terms), last, left_out, size]

    def counted(weights: str) -> tuple[str, list[object]]:
        rank = f"ts_rank({weights}, w.found, ?::tsquery)::float8"
        times = f"width_bucket({rank}, {_TIMES})"
        if not leaf.is_open:
            return times, [written]
        return f"CASE WHEN {rank} < 1 THEN {times} ELSE {rank} * {_WHOLE} END", [written] * 3

    text, given = counted(_TEXT)
    if labels:
        return text, given
    everywhere, also = counted(_ALL)
    return f"0.5 * (({text}) + ({everywhere}))", [*given, *also]


def _chosen(choice: Choice) -> tuple[str, list[str]]:
    """A condition for chunks `w` of a choice, and its arguments."""
    if choice.everything:
        return "TRUE", []
    only, given = choice.condition()
    return f"w.document_id IN (SELECT d.id FROM documents d WHERE {only})", given


class TsVectors:
    """The full-text index in PostgreSQL. Thread-safe.

    How rare words are and how long chunks are on the average is looked up again when the library
    has changed, a large one when it has grown by a fifth: a matter of ranks only."""

    def __init__(self) -> None:
        self._counted: dict[str, tuple[int, int]] = {}  # chunks a query matches, of how many
        self._average = 1.0, -1  # words of a chunk, and of how many chunks that is
        self._frequent: dict[str, float] = {}  # words, and the share of chunks that hold them

    # Keeping

    def index(self, db: Connection, document_id: str) -> None:
        """Let the chunks of a document be found that were just written."""
        rows = db.execute(
            "SELECT rowid, coalesce(found_context, context), coalesce(found_words, words), grams "
            "FROM chunks WHERE document_id = ? ORDER BY rowid",
            (document_id,),
        ).fetchall()
        made = vectors([(row[1], row[2], row[3]) for row in rows])
        db.execute(
            "INSERT INTO chunk_words (place, document_id, length, found) "
            "SELECT v.place, ?, v.length, v.found::tsvector "
            "FROM unnest(?::bigint[], ?::bigint[], ?::text[]) AS v (place, length, found)",
            (document_id, [r[0] for r in rows], [n for _, n in made], [text for text, _ in made]),
        )

    def tidy(self, db: Connection) -> None:
        """What was added last goes where the rest is; what is gone goes with the next VACUUM."""
        db.execute("SELECT gin_clean_pending_list('chunk_words_found')")

    # Finding

    def best(self, db: Connection, match: str, limit: int, choice: Choice) -> list[Place]:
        """See `FullText.best`."""
        query, (rows, average) = query_of(match), self._measures(db)
        held = self._held(db, [leaf.written(query.labels) for leaf in query.leaves], rows)
        rarities = [max(math.log((max(0, rows - n) + 0.5) / (n + 0.5)), _LEAST_IDF) for n in held]
        inner, given = self._scored(query, rarities, choice, average)
        return db.execute(
            f"SELECT f.place, c.id, f.score FROM ({inner} ORDER BY score DESC, place LIMIT ?) f "
            "JOIN chunks c ON c.rowid = f.place ORDER BY f.score DESC, f.place",
            (*given, limit),
        ).fetchall()

    def _scored(
        self, query: Query, rarities: Sequence[float], choice: Choice, average: float
    ) -> tuple[str, list[object]]:
        """(place, score) of every chunk of a choice that matches, in SQL, and its arguments."""
        counted = [_times(leaf, query.labels) for leaf in query.leaves]
        times = ", ".join(f"{text} AS f{n}" for n, (text, _) in enumerate(counted))
        score = " + ".join(
            f"{rarity!r}::float8 * 2.2 * f{n} / (f{n} + norm)" for n, rarity in enumerate(rarities)
        )
        only, chosen = _chosen(choice)
        # OFFSET 0: so that nothing is counted twice.
        sql = (
            f"SELECT place, {score} AS score FROM (SELECT w.place, {times}, "
            "1.2 * (0.25 + 0.75 * w.length / ?::float8) AS norm FROM chunk_words w "
            f"WHERE w.found @@ ?::tsquery AND {only} OFFSET 0) counted"
        )
        given = [one for _, those in counted for one in those]
        return sql, [*given, average, query.written, *chosen]

    def count(self, db: Connection, part: str, chunks: int) -> int:
        """See `FullText.count`."""
        return self._held(db, [query_of(part).written], chunks)[0]

    def documents(self, db: Connection, match: str, choice: Choice) -> list[str]:
        """See `FullText.documents`."""
        only, given = _chosen(choice)
        rows = db.execute(
            "SELECT DISTINCT w.document_id FROM chunk_words w "
            f"WHERE w.found @@ ?::tsquery AND {only}",
            (query_of(match).written, *given),
        ).fetchall()
        return [str(row[0]) for row in rows]

    def marked(self, db: Connection, match: str, ids: Sequence[str]) -> dict[str, str]:
        """See `FullText.marked`: SQLite marks them, as its own."""
        rows = db.execute(
            "SELECT id, coalesce(found_context, context), coalesce(found_words, words), grams "
            "FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        ).fetchall()
        with _tokenized([(row[1], row[2], row[3]) for row in rows]) as own:
            found = own.execute(
                "SELECT rowid, highlight(texts, 1, char(1), char(2)) FROM texts "
                "WHERE texts MATCH ?",
                (match,),
            ).fetchall()
        return {rows[number][0]: text for number, text in found}

    # How rare words are

    def _held(self, db: Connection, queries: Sequence[str], rows: int) -> list[int]:
        """How many chunks each query matches; from `COMMON` on, in a large library, about."""
        for query in queries:  # frequent words need no counting
            share = self._frequent.get(query.strip("'()"), 0.0)
            if share * rows >= COMMON and not self._known(query, rows):
                self._counted[query] = int(share * rows), rows
        asked = list(dict.fromkeys(one for one in queries if not self._known(one, rows)))
        if asked:
            most = rows if rows <= LARGE else COMMON
            count = (
                "(SELECT count(*) FROM (SELECT 1 FROM chunk_words "
                f"WHERE found @@ ?::tsquery LIMIT {most}) f)"
            )
            found = db.execute(f"SELECT {', '.join([count] * len(asked))}", asked).fetchone()
            self._counted |= {one: (held, rows) for one, held in zip(asked, found, strict=True)}
        return [self._counted[query][0] for query in queries]

    def _known(self, query: str, rows: int) -> bool:
        return _still(self._counted.get(query, (0, -1))[1], rows)

    def _measures(self, db: Connection) -> tuple[int, float]:
        """How many chunks there are, in a large library about, and how many words they have."""
        rows: int = db.execute(
            "SELECT CASE WHEN reltuples > ? THEN reltuples::bigint ELSE "
            "(SELECT coalesce(sum(chunks), 0)::bigint FROM documents) END "
            "FROM pg_class WHERE oid = 'chunk_words'::regclass",
            (LARGE,),
        ).fetchone()[0]
        average, of = self._average
        if not _still(of, rows):
            percent = min(100.0, 100.0 * _SAMPLED / max(rows, 1)) if rows > LARGE else 100.0
            average = db.execute(
                f"SELECT coalesce(avg(length), 1)::float8 FROM chunk_words "
                f"TABLESAMPLE SYSTEM ({percent:.6f})"
            ).fetchone()[0]
            self._average = average, rows
            self._frequent = _frequent(db) if rows > LARGE else {}
        return rows, average


def _still(of: int, rows: int) -> bool:
    """Whether what was so of this many chunks is still so."""
    return of == rows or (rows > LARGE and of <= rows <= of * GROWN)


def _frequent(db: Connection) -> dict[str, float]:
    """The words that most chunks hold, as the server's own statistics have them."""
    row = db.execute(
        "SELECT most_common_elems::text::text[], most_common_elem_freqs FROM pg_stats "
        "WHERE schemaname = current_schema() AND tablename = 'chunk_words' AND attname = 'found'"
    ).fetchone()
    return {} if row is None or row[0] is None else dict(zip(row[0], row[1], strict=False))
