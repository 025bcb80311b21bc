"""Which database a library is in: a file of the data directory, or one that a server keeps."""

from __future__ import annotations

from rag_app.errors import BackupError, SettingsError
from rag_app.settings import Settings
from rag_app.storage.database import AnyDatabase, Database


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
