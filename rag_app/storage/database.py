"""What holds a library: the contract of a database, and the one that needs no server, an SQLite
file in WAL mode, with its connections, transactions, and the schema as it grew; and what a scope
sees, as a condition of SQL, so that nothing else ever leaves the database.

Collections are named in it, never documents: it does not grow with what is in them. Of what the
tables mean it knows only that."""

from __future__ import annotations

import errno
import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import TypeAdapter

from rag_app.errors import DiskFull, LibraryClosed, LibraryDamaged
from rag_app.scope import WORKER, Scope

_Kept = TypeVar("_Kept")
_HERE = Path(__file__).parent
_OLDEST = 2  # version of a database that can be brought up to date
_CACHE = (
    16_000  # KiB of pages that a connection keeps; SQLite's own 2 MB hold no large library's index
)
VERSIONS = tuple(sorted(_HERE.glob("schema_[0-9]*.sql"), key=lambda path: int(path.stem[7:])))
"""The steps of the schema: the n-th makes version n of version n - 1."""

# What SQLite says when it cannot write more: the file itself, its log, the log's index.
FULL = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR_WRITE,
    sqlite3.SQLITE_IOERR_TRUNCATE,
    sqlite3.SQLITE_IOERR_SHMSIZE,
)


class ConstraintBroken(Exception):
    """What was to be written would break a rule of the schema; nothing was."""


class Cursor(Protocol):
    """What came of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows were written."""

    def fetchone(self) -> Any:
        """The next row, None if there is none."""

    def fetchall(self) -> list[Any]:
        """The rows that are left."""

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """What statements are given to. They are written so that every database understands them, or
    so that `postgres.py` can put them into other words: parameters are `?` or `:name`."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Cursor:
        """Run a statement."""

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Cursor:
        """Run a statement for each of these."""


class AnyDatabase(Protocol):
    """The contract of a database. Thread-safe: readers run side by side, writers one by one."""

    @property
    def shared(self) -> bool:
        """Whether other processes may write, too."""

    @property
    def commits(self) -> int:
        """Grows with every change: the same number, the same data."""

    def now(self) -> float:
        """Seconds since 1970, by one clock for all who share the library."""

    def read(self, scope: Scope = WORKER) -> AbstractContextManager[Connection]:
        """A connection; every statement is a transaction of its own. Where the database can, it
        gives nothing of what the scope does not see, whatever a statement asks for: that is a
        second lock, and no statement relies on it. Raises LibraryClosed."""

    def write(self) -> AbstractContextManager[Connection]:
        """A connection in one transaction: all of it happens, or nothing. Raises LibraryClosed,
        ConstraintBroken."""

    def rewrite(self) -> None:
        """Free what removed rows took."""

    def cut_log(self) -> None:
        """Give back the room of a log that is ours."""

    def close(self) -> None:
        """Let go of it."""


def unfinished(newest: int, version: int, where: str) -> range:
    """The steps that a schema of some version lacks. Raises LibraryDamaged."""
    if version > newest:
        raise LibraryDamaged(
            f"The library in {where} was made by a newer version of this app. "
            "Update the app, or choose another one with --data-dir or RAG_APP_DATABASE_URL."
        )
    return range(version + 1, newest + 1)


class Database:
    """A library in one SQLite file. Thread-safe: readers run side by side, writers one by one."""

    shared = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writing = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._pool = threading.Lock()
        self._closed = False
        self.commits = 0  # grows with every change of this process: the same number, the same data
        _make(path.parent)
        try:
            self._prepare()
        except DiskFull:
            self.close()
            raise
        except sqlite3.DatabaseError as error:
            self.close()
            raise LibraryDamaged(
                f"The library file {path} cannot be used: {error}. Put a copy of it back, or "
                "move it away: the app begins anew and offers to add the files in files/ again."
            ) from error

    def _prepare(self) -> None:
        with self.read() as db:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # takes effect on a new file only
            db.execute("PRAGMA journal_mode = WAL")
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if 0 < version < _OLDEST:
                raise LibraryDamaged(
                    f"The library in {self._path.parent} was made by a version of this app that "
                    f"was never released. Move {self._path.name} away: the app begins anew and "
                    "offers to add the files in files/ again."
                )
            for number in unfinished(len(VERSIONS), version, str(self._path.parent)):
                script = VERSIONS[number - 1].read_text("utf-8")
                db.executescript(f"BEGIN;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def close(self) -> None:
        """Let go of the file."""
        with self._pool:
            self._closed = True
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    @contextmanager
    def read(self, scope: Scope = WORKER) -> Iterator[sqlite3.Connection]:
        """A connection; every statement is a transaction of its own. A file has no second lock
        under scopes: who can read it reads all of it. Raises LibraryClosed."""
        with self._pool:
            if self._closed:
                raise LibraryClosed.now()
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = sqlite3.connect(
                self._path, timeout=30, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA secure_delete = ON")  # removed text is overwritten
            connection.execute(f"PRAGMA cache_size = -{_CACHE}")
        try:
            yield connection
        except sqlite3.IntegrityError as error:
            raise ConstraintBroken(str(error)) from error
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", None) in FULL:
                with suppress(sqlite3.Error):  # what could not be finished has filled the log
                    _cut_log(connection)
                raise DiskFull.now() from error
            raise
        finally:
            with self._pool:
                if self._closed:
                    connection.close()
                else:
                    self._idle.append(connection)

    def rewrite(self) -> None:
        """Write the whole file anew, without what is deleted; readers go on, writers wait.

        Overwriting what is deleted (`secure_delete`) is not enough: SQLite leaves copies of rows
        that it moved from page to page."""
        with self._writing, self.read() as db:
            self._check_room(db)
            db.execute("VACUUM")
            if _cut_log(db):  # a reader was in the way for as long as we wait
                raise sqlite3.OperationalError("the log could not be cut off")

    def _check_room(self, db: sqlite3.Connection) -> None:
        """Raise DiskFull where the file cannot be written anew, before that takes what is left."""
        size = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count"
        needed = db.execute(f"{size}, pragma_freelist_count, pragma_page_size").fetchone()[0]
        if shutil.disk_usage(self._path.parent).free < needed:
            raise DiskFull.now()

    def cut_log(self) -> None:
        """Write what the log holds to the file, and give its room back. Raises DiskFull."""
        with self._writing, self.read() as db:
            _cut_log(db)

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """A connection in one transaction: all of it happens, or nothing."""
        with self._writing, self.read() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                self.commits += 1  # whoever reads from here on may see it already
                db.execute("COMMIT")
                self.commits += 1
            finally:
                if db.in_transaction:  # it failed; a full disk makes SQLite roll back by itself
                    db.execute("ROLLBACK")


def _make(folder: Path) -> None:
    """Make a folder if need be. Raises LibraryDamaged, or DiskFull."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull.now() from error
        raise LibraryDamaged(
            f"The library folder {folder} cannot be used: {error.strerror or error}. "
            "Choose another folder with --data-dir."
        ) from error


def _cut_log(db: sqlite3.Connection) -> bool:
    """Whether somebody was in the way."""
    return bool(db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])


class InDatabase:
    """What is kept in a database, by those who know what its rows mean."""

    def __init__(self, database: AnyDatabase) -> None:
        self._read, self._write = database.read, database.write

    def _rows(self, sql: str, parameters: Any = (), scope: Scope = WORKER) -> list[Any]:
        with self._read(scope) as db:
            return db.execute(sql, parameters).fetchall()

    def _row(self, sql: str, parameters: Any = (), scope: Scope = WORKER) -> Any:
        with self._read(scope) as db:
            return db.execute(sql, parameters).fetchone()

    def _of(
        self, document_id: str, scope: Scope, sql: str, *more: Any, column: str = "document_id"
    ) -> list[Any]:
        """The rows of a document, none of one that the scope does not see: both is what `{mine}`
        says in the statement. What is given besides stands behind it."""
        only, given = document_seen(scope, column)
        mine = f"{column} = ? AND {only}"
        return self._rows(sql.format(mine=mine), (document_id, *given, *more), scope)

    def _run(self, sql: str, parameters: Any = ()) -> int:
        """How many rows were written by a transaction of one statement."""
        with self._write() as db:
            return db.execute(sql, parameters).rowcount


class AnsweringModel(InDatabase):
    """Which model's vectors answer: what the setting said of it, and its fingerprint.

    Kept, so that a change of the setting is seen at the next start."""

    def get(self) -> tuple[str, str] | None:
        """(choice, fingerprint), None if nothing was ever embedded."""
        row = self._row("SELECT choice, fingerprint FROM answering_model")
        return None if row is None else (row[0], row[1])

    def set(self, choice: str, fingerprint: str) -> None:
        """From now on this model's vectors answer."""
        self._run(
            'INSERT INTO answering_model VALUES (1, ?, ?) ON CONFLICT ("only") '
            "DO UPDATE SET choice = excluded.choice, fingerprint = excluded.fingerprint",
            (choice, fingerprint),
        )


def kept_as(kind: Callable[..., _Kept], row: Any) -> _Kept:
    """A dataclass of what `dataclasses.asdict` made of it and JSON kept. What an earlier version
    kept besides is passed over. Raises ValueError."""
    made: _Kept = _adapter(kind).validate_python(row)
    return made


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def seen(scope: Scope, column: str = "collection") -> tuple[str, list[str]]:
    """A condition that lets rows of a scope's collections through, and its arguments."""
    if scope.everything:
        return "TRUE", []
    return f"{column} IN (SELECT value FROM json_each(?))", [json.dumps(scope.collections)]


def document_seen(scope: Scope, column: str) -> tuple[str, list[str]]:
    """The same for rows that name a document in a column."""
    if scope.everything:
        return "TRUE", []
    only, given = seen(scope, "s.collection")
    return f"EXISTS (SELECT 1 FROM documents s WHERE s.id = {column} AND {only})", given


class Reach:
    """Which scopes see all that there is. Thread-safe."""

    def __init__(self, database: AnyDatabase) -> None:
        self._database = database
        self._there: tuple[int, frozenset[str]] | None = None  # collections, as of so many commits

    def widest(self, scope: Scope) -> Scope:
        """The scope, or that of the `WORKER` where it sees every document that there is: then
        nothing has to be told apart, and searches need no filter."""
        if scope.everything:
            return scope
        commits, there = self._database.commits, self._there
        if there is None or there[0] != commits:
            with self._database.read() as db:
                rows = db.execute("SELECT DISTINCT collection FROM documents").fetchall()
            there = self._there = (commits, frozenset(row[0] for row in rows))
        return WORKER if all(map(scope.sees, there[1])) else scope
