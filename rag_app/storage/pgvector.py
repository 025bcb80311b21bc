"""A `VectorIndex` in PostgreSQL by pgvector: half the precision of a vector, a graph over many, and
a table of its own for every embedding model, so that vectors of two models never meet.

What a scope sees and the documents that are chosen are conditions of the query itself. Knows
nothing of models and of text."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rag_app.errors import DatabaseUnavailable
from rag_app.scope import Scope
from rag_app.storage.database import AnyDatabase, Connection
from rag_app.storage.postgres import lock, unlocked
from rag_app.storage.vectors import Found

_INSTALLING = 0x7261675F766563  # who puts pgvector into a database holds the lock of this number
_OLDEST = 0, 8  # pgvector that goes on in its graph until enough is found
_GRAPH_FROM = 20_000  # vectors; fewer are compared one by one
_LOOK_AFTER = 1_000  # vectors more, to see whether they are that many
_WIDEST = 4_000  # dimensions that a graph takes
_GRAPH = "m = 16, ef_construction = 100"  # as ChromaVectors has it
_LOOKED_AT = 100  # of the graph, for one search, at least; 1,000 are the most
_COMPARED = 20_000  # vectors of what may be found; fewer are compared one by one
_MEMORY = "512MB"  # in which a graph is made, at least: one that does not fit takes far longer


def _table(fingerprint: str) -> str:
    return f"vectors_{hashlib.blake2b(fingerprint.encode(), digest_size=8).hexdigest()}"


def _written(vector: Sequence[float]) -> str:
    return json.dumps([float(one) for one in vector])


class PgTables:
    """The tables of vectors in a database: a `VectorIndexes`. Raises DatabaseUnavailable where the
    server has no pgvector."""

    def __init__(self, database: AnyDatabase) -> None:
        self._database = database
        _prepare(database)
        with database.read() as db:
            there = [name for (name,) in db.execute("SELECT name FROM vector_tables").fetchall()]
            open_to_all = unlocked(db, there)  # made before there was a role for scopes
        if open_to_all:
            with database.write() as db:
                lock(db, open_to_all)

    def open(self, fingerprint: str, parts: bool = False) -> PgVectors:
        """The index of a model; an empty one if there is none. `parts`: of parts of chunks."""
        return PgVectors(self._database, fingerprint)

    def keep_only(self, fingerprints: Collection[str]) -> None:
        """Drop the vectors of all other models."""
        with self._database.write() as db:
            there = db.execute("SELECT fingerprint, name FROM vector_tables").fetchall()
            for fingerprint, name in there:
                if fingerprint not in fingerprints:
                    db.execute(f"DROP TABLE IF EXISTS {name}")
                    db.execute("DELETE FROM vector_tables WHERE name = ?", (name,))


class PgVectors:
    """Vectors of one embedding model. Thread-safe, and among processes.

    They are written in a transaction of their own, since they are made after their text can be
    searched by words; who removes a document deletes them after it, as with any other index."""

    def __init__(self, database: AnyDatabase, fingerprint: str) -> None:
        self._database, self._fingerprint = database, fingerprint
        self._name = _table(fingerprint)
        self._unseen: float = _LOOK_AFTER  # vectors since it was seen whether there is a graph

    def upsert(
        self,
        document_id: str,
        ids: Sequence[str],
        vectors: Sequence[Sequence[float]],
        collection: str,
    ) -> None:
        """Write vectors of a document of a collection; writing twice is writing once.

        With so many that it pays, a graph is made."""
        if not ids:
            return
        with self._database.write() as db:
            self.put(db, document_id, ids, vectors, collection)
        self._unseen += len(ids)
        if self._unseen >= _LOOK_AFTER and len(vectors[0]) <= _WIDEST:
            self._unseen = 0
            self._make_graph()

    def put(
        self,
        db: Connection,
        document_id: str,
        ids: Sequence[str],
        vectors: Sequence[Sequence[float]],
        collection: str,
    ) -> None:
        """The same inside of somebody else's transaction, who makes the graph (`graph`), too."""
        if self._state(db) is None:
            self._begin(db, len(vectors[0]))
        db.execute(
            f"INSERT INTO {self._name} (id, document_id, collection, embedding) "
            "SELECT v.id, ?, ?, v.embedding::halfvec "
            "FROM unnest(?::text[], ?::text[]) AS v (id, embedding) "
            "ON CONFLICT (id) DO UPDATE SET document_id = excluded.document_id, "
            "collection = excluded.collection, embedding = excluded.embedding",
            (document_id, collection, list(ids), [_written(one) for one in vectors]),
        )

    def graph(self, db: Connection) -> None:
        """Make the graph inside of somebody else's transaction if there are vectors enough."""
        if self._state(db) is False and self._narrow(db) and self._enough(db):
            self._draw(db)
            db.execute("RESET maintenance_work_mem")

    def search(
        self,
        vector: Sequence[float],
        k: int,
        scope: Scope,
        documents: Sequence[str] | None = None,
    ) -> list[tuple[str, float]]:
        """The k nearest chunk ids with their cosine similarity, best first: of what the scope
        sees, and of these documents if they are given."""
        only, given = _chosen(scope, documents)
        with self._database.read() as db:  # how many there are is nobody's secret here
            graph = self._state(db)
            if graph is None:
                return []
            walks = graph and (not given or not self._few(db, only, given))
        with self._database.read(scope) as db:
            asked, found = _written(vector), Found()
            if walks:
                found = self._nearest(db, asked, k, only, given)
            # A graph that is walked for very little ends before it has found enough.
            return found if len(found) == k else self._compared(db, asked, k, only, given)

    def _few(self, db: Connection, only: str, given: Sequence[list[str]]) -> bool:
        """Whether so little may be found that all of it can be compared."""
        count = f"SELECT count(*) FROM (SELECT 1 FROM {self._name} WHERE {only} LIMIT ?) f"
        return int(db.execute(count, (*given, _COMPARED)).fetchone()[0]) < _COMPARED

    def _compared(
        self, db: Connection, asked: str, k: int, only: str, given: Sequence[list[str]]
    ) -> Found:
        return db.execute(
            "WITH part AS MATERIALIZED (SELECT id, embedding <=> ?::halfvec AS far "
            f"FROM {self._name} WHERE {only}) "
            "SELECT id, 1 - far FROM part ORDER BY far, id LIMIT ?",
            (asked, *given, k),
        ).fetchall()

    def _nearest(
        self, db: Connection, asked: str, k: int, only: str, given: Sequence[list[str]]
    ) -> Found:
        """By the graph, which goes on until enough of what may be found was met."""
        looked_at = min(1_000, max(_LOOKED_AT, k))
        db.execute(
            f"SET hnsw.ef_search = {looked_at}; SET hnsw.iterative_scan = strict_order", None
        )
        return db.execute(
            f"SELECT id, 1 - (embedding <=> ?::halfvec) FROM {self._name} WHERE {only} "
            "ORDER BY embedding <=> ?::halfvec LIMIT ?",
            (asked, *given, asked, k),
        ).fetchall()

    def ids(self, document_id: str) -> set[str]:
        """The chunk ids that a document has vectors for."""
        return {row[0] for row in self._selected("id", "document_id = ?", document_id)}

    def vectors(self, document_id: str) -> dict[str, list[float]]:
        """The vectors of a document's chunks, by chunk id."""
        rows = self._selected("id, embedding::text", "document_id = ?", document_id)
        return {row[0]: json.loads(row[1]) for row in rows}

    def of_chunks(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """The vectors of these chunks, by chunk id, as far as there are any."""
        only = "id IN (SELECT value FROM json_each(?))"
        rows = self._selected("id, embedding::text", only, json.dumps(list(ids)))
        return {row[0]: json.loads(row[1]) for row in rows}

    def delete(self, document_id: str) -> None:
        """Forget a document."""
        with self._database.write() as db:
            if self._state(db) is not None:
                db.execute(f"DELETE FROM {self._name} WHERE document_id = ?", (document_id,))

    def count(self) -> int:
        """How many vectors there are."""
        return sum(row[0] for row in self._selected("count(*)", "TRUE"))

    def _selected(self, what: str, only: str, *given: object) -> list[Any]:
        """Of all vectors; nothing where there is not a single one yet."""
        with self._database.read() as db:
            if self._state(db) is None:
                return []
            return db.execute(f"SELECT {what} FROM {self._name} WHERE {only}", given).fetchall()

    def compact(self, documents: Iterable[str], stop: threading.Event) -> bool:
        """Nothing is done here: what is deleted is found no more from that moment on, its room is
        used again after the server's VACUUM, and the bytes may be in its log, its replicas and
        backups for as long as whoever runs it keeps these (docs/server.md)."""
        return not stop.is_set()

    def close(self) -> None:
        """The database is closed by whoever opened it."""

    def _state(self, db: Connection) -> bool | None:
        """Whether there is a graph; None if there is not a single vector yet."""
        there, graph = db.execute(
            "SELECT to_regclass(?), EXISTS (SELECT 1 FROM pg_index "
            "WHERE indexrelid = to_regclass(?) AND indisvalid)",
            (self._name, f"{self._name}_graph"),
        ).fetchone()
        return None if there is None else bool(graph)

    def _begin(self, db: Connection, dimensions: int) -> None:
        db.execute(
            f"CREATE TABLE {self._name} (id STRING PRIMARY KEY, document_id STRING NOT NULL, "
            f"collection STRING NOT NULL, embedding halfvec({dimensions}) NOT NULL)"
        )
        for column in ("document_id", "collection"):
            db.execute(f"CREATE INDEX {self._name}_{column} ON {self._name} ({column})")
        db.execute(
            "INSERT INTO vector_tables VALUES (?, ?, ?)",
            (self._fingerprint, self._name, dimensions),
        )
        lock(db, [self._name])

    def _make_graph(self) -> None:
        """Make the graph if there is none and there are vectors enough. Who writes or searches
        meanwhile goes on; one process makes it, and what was broken off is made again."""
        with self._database.read() as db:
            if self._state(db) is not False or not self._enough(db):
                return
            alone = "SELECT pg_try_advisory_lock(hashtext(?))"
            if not db.execute(alone, (self._name,)).fetchone()[0]:
                return
            try:
                self._draw(db, "CONCURRENTLY")
            finally:
                db.execute("RESET maintenance_work_mem")
                db.execute("SELECT pg_advisory_unlock(hashtext(?))", (self._name,))

    def _draw(self, db: Connection, how: str = "") -> None:
        less = "pg_size_bytes(current_setting('maintenance_work_mem')) < pg_size_bytes(?)"
        raised = f"SELECT set_config('maintenance_work_mem', ?, false) WHERE {less}"
        db.execute(raised, (_MEMORY, _MEMORY))
        db.execute(f"DROP INDEX IF EXISTS {self._name}_graph")
        db.execute(
            f"CREATE INDEX {how} {self._name}_graph ON {self._name} "
            f"USING hnsw (embedding halfvec_cosine_ops) WITH ({_GRAPH})"
        )

    def _narrow(self, db: Connection) -> bool:
        row = db.execute(
            "SELECT dimensions <= ? FROM vector_tables WHERE name = ?", (_WIDEST, self._name)
        ).fetchone()
        return bool(row and row[0])

    def _enough(self, db: Connection) -> bool:
        some = f"SELECT count(*) FROM (SELECT 1 FROM {self._name} LIMIT ?) f"
        return int(db.execute(some, (_GRAPH_FROM,)).fetchone()[0]) == _GRAPH_FROM


def _chosen(scope: Scope, documents: Sequence[str] | None) -> tuple[str, list[list[str]]]:
    """What may be found, as a condition that a graph can be walked with, and its arguments."""
    only, given = [], []
    if documents is not None:
        only.append("document_id = ANY (?::text[])")
        given.append(list(documents))
    if not scope.everything:
        only.append("collection = ANY (?::text[])")
        given.append(list(scope.collections))
    return " AND ".join(only) or "TRUE", given


def _prepare(database: AnyDatabase) -> None:
    """See that the server has pgvector. Raises DatabaseUnavailable."""
    with database.read() as db:
        row = db.execute(
            "SELECT coalesce(installed_version, default_version), installed_version IS NULL "
            "FROM pg_available_extensions WHERE name = 'vector'"
        ).fetchone()
    if row is None or tuple(map(int, row[0].split(".")[:2])) < _OLDEST:
        oldest = ".".join(map(str, _OLDEST))
        raise DatabaseUnavailable(
            f"The database server has no pgvector {oldest} or newer, in which vectors are kept. "
            "Let an administrator of the server install it; see docs/server.md."
        )
    if row[1]:
        with database.write() as db:
            # IF NOT EXISTS alone fails where two begin at once: both see that there is none.
            db.execute("SELECT pg_advisory_xact_lock(?)", (_INSTALLING,))
            db.execute("CREATE EXTENSION IF NOT EXISTS vector")
