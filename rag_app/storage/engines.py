"""Which database a library is in, and what goes with it: the one place that tells SQLite from
PostgreSQL, for words, vectors, claims and levels."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from rag_app.errors import BackupError, SettingsError
from rag_app.settings import Settings
from rag_app.storage.database import AnyDatabase, Database

if TYPE_CHECKING:
    from rag_app.storage.postgres import PostgresDatabase
    from rag_app.storage.queue import Claims
    from rag_app.storage.vectors import ChunkIds, VectorIndexes
    from rag_app.storage.words import FullText

_OFTEN = 20.0  # seconds within which a window that was seen is not written down again
_LEFT = (
    "greatest(0, q.level - greatest(0, extract(epoch FROM clock_timestamp() - q.at)) * :most / 60)"
)


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
        from rag_app.storage.words import Fts5

        return Fts5()
    from rag_app.storage.postgres_words import TsVectors

    return TsVectors()


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
    from rag_app.storage.queue import Claims, SharedClaims

    if isinstance(database, Database):
        return Claims()
    from rag_app.storage.postgres import PostgresDatabase

    assert isinstance(database, PostgresDatabase)
    return SharedClaims(database)


def levels_of(database: AnyDatabase) -> SharedLevels | None:
    """What is counted in all processes of a library; None where there is one."""
    if isinstance(database, Database):
        return None
    from rag_app.storage.postgres import PostgresDatabase

    assert isinstance(database, PostgresDatabase)
    return SharedLevels(database)


class SharedLevels:
    """Questions of the last minute and windows of now, in all processes that share a database, by
    its clock; of limits it knows what it is told. Thread-safe. Raises DatabaseUnavailable."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._seen: dict[tuple[str, str], float] = {}

    def pour(self, subject: str, most: int) -> float:
        """Count a question, of `most` (1 at least) a minute; 0, or the seconds to wait for it."""
        told = {"subject": subject, "most": float(most)}
        with self._database.aside() as db:
            counted = db.execute(
                "INSERT INTO quota_levels AS q VALUES (:subject, 1, clock_timestamp()) "
                f"ON CONFLICT (subject) DO UPDATE SET level = {_LEFT} + 1, at = clock_timestamp() "
                f"WHERE {_LEFT} + 1 <= :most + 1e-9",
                told,
            ).rowcount
            if counted:
                return 0.0
            (level,) = db.execute(
                f"SELECT {_LEFT} FROM quota_levels q WHERE subject = :subject", told
            ).fetchall()[0]
        return max(0.0, (float(level) + 1 - most) * 60 / most)

    def use(self, subject: str, session: str, most: int, idle: float) -> float:
        """Count a window, of `most` at once; 0, or the seconds until one that was not used for so
        long (`idle`) counts no more."""
        now = time.monotonic()
        if now - self._seen.get((subject, session), float("-inf")) < _OFTEN:
            return 0.0
        with self._database.aside() as db:
            db.execute("SELECT pg_advisory_xact_lock(hashtext(?))", (f"windows {subject}",))
            db.execute(
                "DELETE FROM quota_sessions WHERE subject = ? "
                "AND seen < clock_timestamp() - make_interval(secs => ?)",
                (subject, idle),
            )
            others, oldest = db.execute(
                "SELECT count(*), extract(epoch FROM clock_timestamp() - min(seen)) "
                "FROM quota_sessions WHERE subject = ? AND session <> ?",
                (subject, session),
            ).fetchall()[0]
            known = db.execute(
                "SELECT 1 FROM quota_sessions WHERE subject = ? AND session = ?",
                (subject, session),
            ).fetchone()
            if known is None and others >= most:
                return max(1.0, idle - float(oldest))
            db.execute(
                "INSERT INTO quota_sessions VALUES (?, ?, clock_timestamp()) "
                "ON CONFLICT (subject, session) DO UPDATE SET seen = excluded.seen",
                (subject, session),
            )
        self._seen = {key: at for key, at in self._seen.items() if now - at < _OFTEN}
        self._seen[subject, session] = now
        return 0.0

    def end(self, subject: str, session: str) -> None:
        """A window was closed."""
        self._seen.pop((subject, session), None)
        with self._database.aside() as db:
            db.execute(
                "DELETE FROM quota_sessions WHERE subject = ? AND session = ?", (subject, session)
            )
