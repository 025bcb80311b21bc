"""A library in a PostgreSQL database, 16 to 18: connections, transactions, the schema, and the
statements of this house, which are SQLite's, put into PostgreSQL's words.

What differs mechanically is translated here; everything else is written so that both understand
it. Imported only where such a database is named (`RAG_APP_DATABASE_URL`)."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg import conninfo, errors, sql
from psycopg.abc import Buffer
from psycopg.adapt import Loader
from psycopg.pq import TransactionStatus
from psycopg.types.string import StrDumper
from psycopg_pool import ConnectionPool, PoolClosed

from rag_app.errors import (
    DatabaseUnavailable,
    DiskFull,
    LibraryClosed,
    LibraryDamaged,
    SettingsError,
)
from rag_app.scope import WORKER, Scope
from rag_app.storage.database import ConstraintBroken, unfinished
from rag_app.storage.row_security import TELL, lock

_HERE = Path(__file__).parent
VERSIONS = tuple(
    sorted(_HERE.glob("schema_postgres_*.sql"), key=lambda path: int(path.stem.rpartition("_")[2]))
)
"""The steps of the schema: the n-th makes version n of version n - 1."""

_OLDEST_SERVER = 16
_CONNECTIONS = 20  # of one process, at most; as many again for scoped reads
_PATIENCE = 10.0  # seconds to wait for a connection
# A write waits a minute for the writer before it. A writer whose machine is gone, or who does
# nothing for long, holds up the others no longer than that takes to be seen.
_SESSION = (
    b"SET lock_timeout = '60s'; SET idle_in_transaction_session_timeout = '5min'; "
    b"SET tcp_keepalives_idle = 20; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4; "
    b"SET row_security = off"  # whom it would hold up, as no owner is, is told so and sees no less
)
_CLOCK = b"SELECT extract(epoch FROM clock_timestamp())::float8"
_MIGRATING = 0x7261675F617070  # whoever makes the tables holds the lock of this number

_ASKED: dict[str, Any] = {  # of every connection
    "autocommit": True,
    "connect_timeout": 10,
    "application_name": "rag-app",
    "client_encoding": "UTF8",
    "keepalives_idle": 30,
}
_IN_TRANSACTION = (TransactionStatus.INTRANS, TransactionStatus.INERROR)

# A string, a quoted name, or what may have to be said otherwise outside of these.
_PARTS = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|json_each\((\?|:\w+)\)|json_group_array\(([\w.]+)\)"""
    r"""|json_extract\(([\w.]+),\s*'\$\.(\w+)'\)|\blower\(\?\)|\bLIKE\b|(?<!:):(\w+)|\?|%"""
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement in PostgreSQL's words, and which of its arguments are lists written as JSON."""

    text: bytes
    lists: frozenset[int | str] = frozenset()

    def given(self, arguments: Sequence[Any] | Mapping[str, Any] | None) -> Any:
        """The arguments as they are sent."""
        if not self.lists or arguments is None:
            return arguments
        if isinstance(arguments, Mapping):
            return {k: _texts(v) if k in self.lists else v for k, v in arguments.items()}
        return [_texts(v) if n in self.lists else v for n, v in enumerate(arguments)]


def _texts(values: str) -> list[str]:
    return [str(value) for value in json.loads(values)]


@lru_cache(maxsize=1024)
def translated(sql: str) -> Statement:
    """A statement that was written for SQLite.

    `?` and `:name` become parameters; a list written as JSON becomes an array; LIKE looks past
    case, as SQLite's does."""
    lists: set[int | str] = set()
    count = 0

    def placed(token: str) -> str:
        nonlocal count
        if token == "?":
            count += 1
            return "%s"
        return f"%({token[1:]})s"

    def said(found: re.Match[str]) -> str:
        token = found.group()
        listed, grouped, column, key, name = found.groups()
        if listed:
            lists.add(count if listed == "?" else listed[1:])
            return (
                "(SELECT each.value, each.key - 1 AS key FROM "
                f"unnest({placed(listed)}::text[]) WITH ORDINALITY AS each (value, key))"
            )
        if grouped:
            return f"coalesce(json_agg({grouped}), '[]')::text"
        if column:
            return f"({column}::json ->> '{key}')"
        if token == "lower(?)":  # of a–z only, as that of a column is
            return f'lower({placed("?")} COLLATE "C")'
        if token.upper() == "LIKE":
            return "ILIKE"
        if token == "?" or name:
            return placed(token)
        return token.replace("%", "%%")  # in a string, too

    text = _PARTS.sub(said, sql)
    return Statement(text.encode(), frozenset(lists))


# What is sent and what comes back


class _TextDumper(StrDumper):
    """PostgreSQL's texts hold no NUL; as many characters stay, so that offsets stand."""

    def dump(self, obj: str) -> Buffer | None:
        return super().dump(obj.replace("\x00", "\ufffd") if "\x00" in obj else obj)


class _WholeLoader(Loader):
    """Sums of whole numbers come as numerics."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else float(text)


class PostgresConnection:
    """A connection that takes the statements of this house.

    `again` gives another where this one is broken and a statement is a transaction of its own."""

    def __init__(
        self,
        connection: psycopg.Connection[Any],
        again: Callable[[], psycopg.Connection[Any]] | None = None,
    ) -> None:
        self.raw, self._again = connection, again

    def execute(
        self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] | None = (), /
    ) -> psycopg.Cursor[Any]:
        """Run a statement; its rows are tuples. Without parameters (None) it may be several."""
        statement = translated(sql)
        given = statement.given(parameters)
        try:
            return self.raw.execute(statement.text, given)
        except psycopg.OperationalError:
            if self._again is None or not self.raw.broken:
                raise
            self.raw, self._again = self._again(), None
            return self.raw.execute(statement.text, given)

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> psycopg.Cursor[Any]:
        """Run a statement for each of these."""
        statement = translated(sql)
        cursor = self.raw.cursor()
        cursor.executemany(statement.text, map(statement.given, parameters))
        return cursor

    def take_in(self, table: str, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Write rows of a table as they are, with what was numbered elsewhere as it was there;
        what is numbered here from now on goes on behind it."""
        columns = sql.SQL(", ").join(map(sql.Identifier, names))
        into = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), columns)
        with self.raw.cursor() as cursor:
            with cursor.copy(into) as copy:
                for row in rows:
                    copy.write_row(row)
            numbered = cursor.execute(
                "SELECT column_name FROM information_schema.columns WHERE is_identity = 'YES' "
                "AND table_schema = current_schema() AND table_name = %s",
                (table,),
            ).fetchall()
            for (name,) in numbered:
                cursor.execute(
                    sql.SQL(
                        "SELECT setval(pg_get_serial_sequence({}, {}), max({})) FROM {}"
                    ).format(table, name, sql.Identifier(name), sql.Identifier(table))
                )

    def columns(self, table: str) -> set[str]:
        """What the columns of a table are called."""
        found = self.raw.execute(
            "SELECT column_name FROM information_schema.columns "
            "WHERE table_schema = current_schema() AND table_name = %s",
            (table,),
        ).fetchall()
        return {str(name) for (name,) in found}


class PostgresDatabase:
    """The contract of `Database`, kept by a server that several processes may share."""

    shared = True

    def __init__(self, url: str) -> None:
        self.where = described(url)  # for people
        self._guarded = threading.local()  # `check`: of what this thread writes
        self._ahead = 0.0  # seconds that the server's clock is ahead of this machine's
        self.reader = ""  # the role of scoped reads, if there is one
        self._pool = _pool(url, 1, _configure)
        # Scoped reads have connections of their own: one that takes on the role and lets go of it
        # again and again makes the plans of its statements anew each time.
        self._scoped = _pool(url, 0, self._configure_scoped)
        self._told: WeakKeyDictionary[psycopg.Connection[Any], str] = WeakKeyDictionary()
        self._prepare(url)
        self._pool.open()
        if self.reader:
            self._scoped.open()

    @property
    def commits(self) -> int:
        """Grows with every change, whichever process makes it: the same number, the same data."""
        with self.read() as db:
            (number,) = db.execute("SELECT number FROM commits").fetchall()[0]
            return int(number)

    def now(self) -> float:
        """Seconds since 1970 by the server's clock: those of machines may be wrong."""
        return time.time() + self._ahead

    def clock_is(self, seconds: float) -> None:
        """Note what the server's clock says at this moment."""
        self._ahead = seconds - time.time()

    def close(self) -> None:
        """Let go of the server."""
        self._pool.close()
        self._scoped.close()

    @contextmanager
    def read(self, scope: Scope = WORKER) -> Iterator[PostgresConnection]:
        """A connection; every statement is a transaction of its own, and is tried once more where
        the server has gone and come back. What a scope does not see it does not give, where there
        is a role for that (row_security.py). Raises LibraryClosed, DatabaseUnavailable."""
        limited = bool(self.reader) and not scope.everything
        with self._in_our_words(), self._lent(scope if limited else None) as db:
            yield db

    @contextmanager
    def write(self) -> Iterator[PostgresConnection]:
        """A connection in one transaction: all of it happens, or nothing; one writer at a time,
        among all processes. Raises LibraryClosed, DatabaseUnavailable, ConstraintBroken."""
        # Whoever changes the number first is the one writer until the end.
        with self._transaction("BEGIN; UPDATE commits SET number = number + 1") as db:
            if check := getattr(self._guarded, "check", None):
                check(db)
            yield db

    @contextmanager
    def aside(self) -> Iterator[PostgresConnection]:
        """The same for what is no part of the library: `commits` stays as it is, and nobody who
        writes is waited for."""
        with self._transaction("BEGIN") as db:
            yield db

    @contextmanager
    def guarded(self, check: Callable[[PostgresConnection], None]) -> Iterator[None]:
        """What this thread writes inside the block begins with `check`, which may raise."""
        self._guarded.check = check
        try:
            yield
        finally:
            self._guarded.check = None

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[PostgresConnection]:
        with self._in_our_words(), self._lent() as db:
            db.execute(begin, None)
            writing = PostgresConnection(db.raw)
            try:
                yield writing
                writing.execute("COMMIT")
            finally:
                if db.raw.info.transaction_status in _IN_TRANSACTION:
                    writing.execute("ROLLBACK")

    def rewrite(self) -> None:
        """Free what removed rows took. The server's log, replicas and backups are its own."""
        with self.read() as db:
            (ours,) = db.execute(
                "SELECT string_agg(quote_ident(relname), ', ') FROM pg_class "
                "WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace "
                "AND pg_has_role(relowner, 'MEMBER')"
            ).fetchall()[0]
            db.execute(f"VACUUM {ours}")

    def cut_log(self) -> None:
        """The log is the server's."""

    @contextmanager
    def _lent(self, scope: Scope | None = None) -> Iterator[PostgresConnection]:
        """A connection of the app's own; with a scope, one that gives what that sees."""
        pool = self._pool if scope is None else self._scoped
        held = [pool.getconn()]

        def another() -> psycopg.Connection[Any]:
            pool.putconn(held.pop())
            pool.check()  # the others are likely to be broken, too
            held.append(pool.getconn())
            if scope is not None:
                self._tell(PostgresConnection(held[0]), scope)
            return held[0]

        try:
            lent = PostgresConnection(held[0], another)
            if scope is not None:
                self._tell(lent, scope)
            yield lent
        finally:
            for connection in held:
                pool.putconn(connection)

    def _tell(self, lent: PostgresConnection, scope: Scope) -> None:
        """Let a connection know its collections; most have just been used for the same ones."""
        seen = json.dumps(scope.collections)
        if self._told.get(lent.raw) != seen:
            self._told.pop(lent.raw, None)  # until it is done
            lent.execute(TELL, (seen,))
            self._told[lent.raw] = seen

    def _configure_scoped(self, connection: psycopg.Connection[Any]) -> None:
        _configure(connection)
        limited = sql.SQL("SET ROLE {}; SET row_security = on")
        connection.execute(limited.format(sql.Identifier(self.reader)))

    def _prepare(self, url: str) -> None:
        """Look at the server, and make the tables or bring them up to date."""
        with self._in_our_words(), psycopg.connect(url, **_ASKED) as connection:
            self._check_server(connection)
            self.clock_is(connection.execute(_CLOCK).fetchall()[0][0])
            try:
                _migrate(connection, self.where)
                with connection.transaction():
                    self.reader = lock(PostgresConnection(connection))
            except errors.InsufficientPrivilege as error:
                raise LibraryDamaged(
                    f"The user “{connection.info.user}” may not make the library's tables in "
                    f"{self.where}. Let an administrator of the server run: GRANT CREATE ON "
                    f'SCHEMA public TO "{connection.info.user}"; see docs/server.md.'
                ) from error

    def _check_server(self, connection: psycopg.Connection[Any]) -> None:
        server = connection.info.server_version // 10_000
        if server < _OLDEST_SERVER:
            raise LibraryDamaged(
                f"The server of {self.where} is PostgreSQL {server}, and {_OLDEST_SERVER} is the "
                "oldest that a library can be in. Update the server, or name another."
            )
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise LibraryDamaged(
                f"The texts of {self.where} are kept as {encoding}, and documents have letters "
                "that it has not. Make a database with ENCODING 'UTF8', and name that."
            )

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        """What the driver raises, as errors of ours."""
        try:
            yield
        except PoolClosed as error:
            raise LibraryClosed.now() from error
        except errors.DiskFull as error:
            raise DiskFull(
                f"The disk of {self.where} is full. Make room on it: what was accepted is kept "
                "and goes on by itself, and what was refused can be added again."
            ) from error
        except psycopg.IntegrityError as error:
            raise ConstraintBroken(str(error)) from error
        except errors.InsufficientPrivilege as error:
            raise DatabaseUnavailable(
                f"The app's user may not do what is needed in {self.where}: {_told(error)} Tell "
                "whoever runs it; see docs/server.md."
            ) from error
        except errors.ReadOnlySqlTransaction as error:
            raise DatabaseUnavailable(
                f"Nothing can be written to {self.where}: {_told(error)} Tell whoever runs it, "
                "and try again."
            ) from error
        except psycopg.OperationalError as error:  # away, closing, too busy, or out of patience
            raise DatabaseUnavailable(
                f"{self.where[0].upper()}{self.where[1:]} cannot be used at the moment: "
                f"{_told(error)} Try again in a minute."
            ) from error


def _pool(
    url: str, least: int, configure: Callable[[psycopg.Connection[Any]], None]
) -> ConnectionPool[psycopg.Connection[Any]]:
    return ConnectionPool(
        url,
        kwargs=_ASKED,
        min_size=least,
        max_size=_CONNECTIONS,
        timeout=_PATIENCE,
        reconnect_timeout=_PATIENCE,  # it waits ever longer between two tries else
        configure=configure,
        open=False,
    )


def _configure(connection: psycopg.Connection[Any]) -> None:
    connection.adapters.register_dumper(str, _TextDumper)
    connection.adapters.register_loader("numeric", _WholeLoader)
    connection.execute(_SESSION)


def _migrate(connection: psycopg.Connection[Any], where: str) -> None:
    """Make the steps of the schema that are missing, all or none; others who start wait."""
    if _version(connection) == len(VERSIONS):  # who may not make tables can still use them
        return
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
        for number, script in unfinished(VERSIONS, _version(connection), where):
            connection.execute(script.encode())
            connection.execute("UPDATE rag_app_schema SET version = %s", (number,))


def _version(connection: psycopg.Connection[Any]) -> int:
    """The version of the library's tables, 0 if there are none."""
    if connection.execute("SELECT to_regclass('rag_app_schema')").fetchall() == [(None,)]:
        return 0
    return int(connection.execute("SELECT version FROM rag_app_schema").fetchall()[0][0])


def described(url: str) -> str:
    """Which database an address names, without its password. Raises SettingsError."""
    try:
        said = conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:  # which repeats the address
        raise SettingsError(
            "RAG_APP_DATABASE_URL cannot be read. Write it like "
            "postgresql://USER:PASSWORD@HOST/NAME; of the password, what is neither a letter nor a "
            "digit is written as %XX."
        ) from None
    host, port = said.get("host") or "this computer", said.get("port")
    return f"the database “{said.get('dbname') or ''}” on {host}{f':{port}' if port else ''}"


def _told(error: psycopg.Error) -> str:
    """The first line of what the server or the driver says, as a sentence."""
    said = str(error).strip().partition("\n")[0]
    return f"{said.rstrip('.')}."
