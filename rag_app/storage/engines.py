"""Which database a library is in, and what goes with it: the one place that tells SQLite from
PostgreSQL, for words, vectors, claims and levels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rag_app.errors import BackupError, SettingsError
from rag_app.settings import Settings
from rag_app.storage.database import AnyDatabase, Database

if TYPE_CHECKING:
    from rag_app.storage.claims import Claims
    from rag_app.storage.levels import SharedLevels
    from rag_app.storage.vectors import ChunkIds, VectorIndexes
    from rag_app.storage.words import FullText


def open_database(settings: Settings) -> AnyDatabase:
    """The database that the settings name, its tables up to date.

    Raises LibraryDamaged, DatabaseUnavailable, SettingsError."""
    url = settings.database_address
    if not url:
        return Database(settings.folder / "library.sqlite3")
    try:
        from rag_app.storage.postgres import PostgresDatabase
    except ImportError as error:
        raise SettingsError(
            "RAG_APP_DATABASE_URL needs packages that are not installed: "
            'pip install "rag-app[cluster]" brings them.'
        ) from error
    return PostgresDatabase(url)


def check_backed_up_here(settings: Settings) -> None:
    """Raises BackupError where the library is not in the data directory alone."""
    if settings.database_address:
        raise BackupError(
            "This library is in PostgreSQL, which has backups of its own: make one with pg_dump "
            "and copy the folder of the originals, as docs/server.md says."
        )


def full_text_of(database: AnyDatabase) -> FullText:
    """The full-text index of a database."""
    if isinstance(database, Database):
        return full_text_of_sqlite()
    from rag_app.storage.postgres_words import TsVectors

    return TsVectors()


def full_text_of_sqlite() -> FullText:
    """That of SQLite, in a file or in memory."""
    from rag_app.storage.sqlite_words import Fts5

    return Fts5()


def vectors_of(
    database: AnyDatabase, folder: Path, built_in: str, known: ChunkIds
) -> VectorIndexes:
    """Where the vectors of a library are: in its folder, or in its database. `built_in` is the
    fingerprint of the model that comes with the app. Raises DatabaseUnavailable."""
    if isinstance(database, Database):
        from rag_app.storage.chroma import ChromaFolders

        return ChromaFolders(folder, built_in, known)
    from rag_app.storage.pgvector import PgTables

    return PgTables(database)


def claims_of(database: AnyDatabase) -> Claims:
    """Who works on which document of a library."""
    from rag_app.storage.claims import Claims, SharedClaims

    if isinstance(database, Database):
        return Claims()
    from rag_app.storage.postgres import PostgresDatabase

    assert isinstance(database, PostgresDatabase)
    return SharedClaims(database)


def levels_of(database: AnyDatabase) -> SharedLevels | None:
    """What is counted in all processes of a library; None where there is one."""
    if isinstance(database, Database):
        return None
    from rag_app.storage.levels import SharedLevels
    from rag_app.storage.postgres import PostgresDatabase

    assert isinstance(database, PostgresDatabase)
    return SharedLevels(database)
