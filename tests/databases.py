"""Both kinds of databases, so that one test holds each of them to the same contract."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from rag_app.storage.database import AnyDatabase, Database
from tests import postgres

KINDS = ("sqlite", "postgres")


class Databases:
    """Opens libraries of one kind by name; the same name is the same library. Closes them all."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self._folder = kind, folder
        self._held = ExitStack()
        self._addresses: dict[str, str] = {}
        self._numbers = count(1)

    def open(self, name: str = "library") -> AnyDatabase:
        """A library, opened once more."""
        if self.kind == "sqlite":
            opened: AnyDatabase = Database(self._folder / f"{name}.sqlite3")
        else:
            from rag_app.storage.postgres import PostgresDatabase

            opened = PostgresDatabase(self.address(name))
        self._held.callback(opened.close)
        return opened

    def new(self) -> AnyDatabase:
        """A library that nothing is in."""
        return self.open(f"new{next(self._numbers)}")

    def address(self, name: str = "library") -> str:
        """Where a library in PostgreSQL is."""
        if name not in self._addresses:
            self._addresses[name] = self._held.enter_context(postgres.empty_library())
        return self._addresses[name]

    def files(self) -> Path:
        """The folder of the libraries' files; skips a test that is about these."""
        if self.kind != "sqlite":
            pytest.skip("this is about SQLite's file")
        return self._folder

    def close(self) -> None:
        """Let go of all of them."""
        self._held.close()


@pytest.fixture(params=[KINDS[0], pytest.param(KINDS[1], marks=postgres.needs_postgres)])
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Databases]:
    """Libraries in SQLite, and then the same test with libraries in PostgreSQL."""
    made = Databases(request.param, tmp_path)
    yield made
    made.close()


@pytest.fixture
def database(databases: Databases) -> AnyDatabase:
    """An empty library."""
    return databases.open()


@pytest.fixture(params=[KINDS[0], pytest.param(KINDS[1], marks=postgres.needs_postgres)])
def either_database(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Every library that the test opens is in SQLite, and then all of it again in PostgreSQL."""
    if request.param == "sqlite":
        yield request.param
        return
    with postgres.empty_library() as url:
        monkeypatch.setenv("RAG_APP_DATABASE_URL", url)
        yield request.param


@pytest.fixture
def postgres_library(tmp_path: Path) -> Iterator[AnyDatabase]:
    """An empty library in PostgreSQL; a test of what is its own is skipped where there is none."""
    if postgres.MISSING:
        pytest.skip(postgres.MISSING)
    made = Databases("postgres", tmp_path)
    yield made.open()
    made.close()


def make_collections(database: AnyDatabase, *ids: str) -> None:
    """Collections of these ids, which are their names and of nobody."""
    with database.write() as db:
        db.executemany(
            "INSERT INTO access_collections (id, name, created) VALUES (?, ?, '') "
            "ON CONFLICT DO NOTHING",
            [(one, one) for one in ids],
        )
