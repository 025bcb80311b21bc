"""A library goes from its data directory, SQLite and Chroma, to an empty PostgreSQL database.

It arrives in one transaction: all of it, counted, or nothing, so whoever is killed begins again.
What it comes from is only read, and nobody else writes there meanwhile. Which tables and columns
there are is asked of SQLite itself, so that a table of a later schema is not forgotten. Words and
vectors are no rows of tables there: words are made anew of the passages, vectors are taken along,
since to make them again may take days."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from graphlib import TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.errors import MoveError
from rag_app.settings import Settings
from rag_app.storage.backup import DATABASE
from rag_app.storage.database import ConstraintBroken, Database
from rag_app.storage.engines import full_text_of, open_database
from rag_app.storage.object_store import bucket_of, sending
from rag_app.storage.originals import made_for_me, own
from rag_app.storage.queue import LEASE
from rag_app.supervision import Told, untold

if TYPE_CHECKING:
    from rag_app.storage.postgres import PostgresConnection, PostgresDatabase

# Tables in which something stands as soon as there is a library: that gives way to what comes.
_BEGUN = ("access_collections", "answering_model", "audit_horizon", "marks")
_KEPT_ROW = "audit_horizon"  # its one row is changed, and never deleted
_OF_WORDS = "chunk_words"  # the full-text index, and the tables that SQLite keeps it in
_AT_ONCE = 1_000  # vectors
_TOLD_EVERY = 500  # rows


@dataclass(frozen=True, slots=True)
class MovedLibrary:
    """What is in a database now, counted there, and as much as there was before."""

    database: str  # which one, for people
    rows: Mapping[str, int]  # by table
    vectors: int
    originals: int  # that went to the object store


def move(settings: Settings, heard: Told = untold) -> MovedLibrary:
    """Move the library of the data directory to the database that the settings name, and its
    originals to their object store if they name one.

    Database and vectors of the data directory stay as they are. Raises MoveError, LibraryInUse,
    LibraryDamaged, DatabaseUnavailable, FilesError or DiskFull."""
    if not settings.database_address:
        raise MoveError(
            "Say where the library is to go: set RAG_APP_DATABASE_URL to an empty PostgreSQL "
            "database, as docs/server.md has it, and try again."
        )
    with made_for_me(), _taken(settings.folder) as source:
        target = _postgres(settings)
        with closing(target):
            return _Move(settings, source, target, heard).all()


@contextmanager
def _taken(folder: Path) -> Iterator[Database]:
    """The library of a data directory that no app has open. Raises MoveError, LibraryInUse."""
    if not (folder / DATABASE).is_file():
        raise MoveError(
            f"There is no library in {folder} to be moved. Say with --data-dir where it is."
        )
    lock = own(folder)
    try:
        with closing(Database(folder / DATABASE)) as source:
            yield source
    finally:
        lock.release()


def _postgres(settings: Settings) -> PostgresDatabase:
    database = open_database(settings)
    from rag_app.storage.postgres import PostgresDatabase

    assert isinstance(database, PostgresDatabase)
    return database


def _tables(db: sqlite3.Connection) -> list[str]:
    """The tables of a library, those that others refer to before these."""
    found = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    names = [name for (name,) in found if not name.startswith(("sqlite_", _OF_WORDS))]
    refers = 'SELECT DISTINCT "table" FROM pragma_foreign_key_list(?)'
    before = {name: {row[0] for row in db.execute(refers, (name,))} - {name} for name in names}
    return list(TopologicalSorter(before).static_order())


class _Move:
    """What has come over, and how far it is."""

    def __init__(
        self, settings: Settings, source: Database, target: PostgresDatabase, heard: Told
    ) -> None:
        from rag_app.storage.pgvector import PgTables

        self._settings, self._source, self._target = settings, source, target
        self._heard, self._done, self._total = heard, 0, 0
        self._indexes = PgTables(target)  # first: it says so where the server has no pgvector
        self._words = full_text_of(target)
        self._moved: dict[str, int] = {}  # vectors by the model's fingerprint

    def all(self) -> MovedLibrary:
        """Everything; the originals first, since they are looked for as soon as it is there."""
        with self._source.read() as ours:
            tables = _tables(ours)
        with self._target.read() as theirs:
            self._check_empty(theirs, tables)
        sent = self._send()
        try:
            with self._source.write() as ours, self._target.write() as theirs:
                self._check_empty(theirs, tables)  # nobody else writes from here on
                self._begin(ours, tables)
                rows = {table: self._copy(ours, theirs, table) for table in tables}
                self._index(ours, theirs)
                self._check_counts(theirs, rows)
                theirs.execute("ANALYZE")  # how frequent words are is known from the first search
        except ConstraintBroken as error:
            raise MoveError(
                f"The library does not fit into {self._target.where}, and nothing was moved: "
                f"{str(error).partition(chr(10))[0]}. Report this: it is a fault of the app."
            ) from error
        for path in sent:
            path.unlink(missing_ok=True)
        return MovedLibrary(self._target.where, rows, sum(self._moved.values()), len(sent))

    def _send(self) -> list[Path]:
        """The originals that are in the object store now, and still here."""
        bucket = bucket_of(self._settings)
        return list(sending(bucket, self._settings.folder / "files")) if bucket else []

    def _check_empty(self, theirs: PostgresConnection, tables: list[str]) -> None:
        seen = "SELECT 1 FROM workers WHERE seen > now() - make_interval(secs => ?) LIMIT 1"
        if theirs.execute(seen, (LEASE,)).fetchone():
            raise MoveError(
                f"A rag-app works on {self._target.where}, or did so a moment ago. Stop it "
                "everywhere, wait half a minute, and try again."
            )
        asked = [f'SELECT 1 FROM "{table}"' for table in tables if table not in _BEGUN]
        asked += ["SELECT 1 FROM access_collections WHERE id <> 'home'"]
        for one in asked:
            if theirs.execute(f"{one} LIMIT 1").fetchone():
                raise MoveError(
                    f"There is a library in {self._target.where} already, and one is moved into "
                    "an empty database only. Make another with CREATE DATABASE, name it in "
                    "RAG_APP_DATABASE_URL, and try again."
                )

    def _begin(self, ours: sqlite3.Connection, tables: list[str]) -> None:
        counted = [ours.execute(f'SELECT count(*) FROM "{one}"').fetchone()[0] for one in tables]
        passages = ours.execute("SELECT count(*) FROM chunks").fetchone()[0]
        self._total = sum(counted) + passages  # whose words and vectors are as much work again

    def _copy(self, ours: sqlite3.Connection, theirs: PostgresConnection, table: str) -> int:
        """Take a table over. How many rows it has."""
        about = ours.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        names = [name for (name,) in about]
        if table == _KEPT_ROW:
            row = ours.execute(f'SELECT before FROM "{table}"').fetchone()
            theirs.execute(f'UPDATE "{table}" SET before = ?', row)
            return 1
        if table in _BEGUN:
            theirs.execute(f'DELETE FROM "{table}"')
        if "rowid" in theirs.columns(table) and "rowid" not in names:
            names.append("rowid")  # the order in which things came
        listed = ", ".join(f'"{name}"' for name in names)
        rows = ours.execute(f'SELECT {listed} FROM "{table}"')
        theirs.take_in(table, names, self._counted(rows))
        return int(ours.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0])

    def _counted(self, rows: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
        for row in rows:
            self._tell(1)
            yield row

    def _tell(self, more: int) -> None:
        before, self._done = self._done, self._done + more
        if before // _TOLD_EVERY != self._done // _TOLD_EVERY:
            self._heard(min(self._done, self._total), self._total)

    # What is found by words and by meaning

    def _index(self, ours: sqlite3.Connection, theirs: PostgresConnection) -> None:
        from rag_app.storage.chroma import kept_in

        for document_id, _, ids in _passages(ours):
            self._words.index(theirs, document_id)
            self._tell(len(ids))
        for fingerprint, kept in kept_in(self._settings.folder):
            index = self._indexes.open(fingerprint)
            for document_id, collection, ids in _passages(ours):
                for first in range(0, len(ids), _AT_ONCE):
                    found = kept.of_chunks(ids[first : first + _AT_ONCE])
                    if found:
                        index.put(theirs, document_id, [*found], [*found.values()], collection)
                    self._moved[fingerprint] = self._moved.get(fingerprint, 0) + len(found)
            index.graph(theirs)

    def _check_counts(self, theirs: PostgresConnection, rows: Mapping[str, int]) -> None:
        """Raises MoveError unless there is as much there as here."""
        wanted = dict(rows) | {_OF_WORDS: rows["chunks"]}
        for fingerprint, name in theirs.execute("SELECT fingerprint, name FROM vector_tables"):
            wanted[name] = self._moved.get(fingerprint, 0)
        for table, count in wanted.items():
            [(found,)] = theirs.execute(f'SELECT count(*) FROM "{table}"').fetchall()
            if found != count:
                raise MoveError(
                    f"{self._target.where} has {found:,} rows of {table} where the library has "
                    f"{count:,}, so nothing was moved. Try again, and report it if that is no help."
                )


def _passages(db: sqlite3.Connection) -> Iterator[tuple[str, str, list[str]]]:
    """(document, its collection, the ids of its passages), in the order in which they came."""
    documents = db.execute(
        "SELECT d.id, d.collection FROM documents d WHERE EXISTS "
        "(SELECT 1 FROM chunks c WHERE c.document_id = d.id) ORDER BY d.rowid"
    )
    for document_id, collection in documents:
        rows = db.execute(
            "SELECT id FROM chunks WHERE document_id = ? ORDER BY ordinal", (document_id,)
        )
        yield document_id, collection, [chunk_id for (chunk_id,) in rows]
