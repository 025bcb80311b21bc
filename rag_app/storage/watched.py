"""Watched folders, and their files as they were when they were last taken in.

Every method is one transaction. Looks at no disk."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from rag_app.storage.database import Database
from rag_app.storage.provenance import has_other_origin


@dataclass(frozen=True, slots=True)
class Known:
    """A file of a watched folder as it was last taken in, or refused."""

    size: int
    changed: int  # when, in nanoseconds
    document_id: str | None = None  # None: refused, or removed here
    refused: str = ""


class Folders:
    """Which folders are watched. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._read, self._write = database.read, database.write

    def add(self, folder: str, identity: str) -> None:
        """Watch a folder; watching it twice is watching it once."""
        now = datetime.now(UTC).isoformat()
        with self._write() as db:
            db.execute("INSERT OR IGNORE INTO watched VALUES (?, ?, ?)", (folder, identity, now))

    def recognise(self, folder: str, identity: str) -> None:
        """The folder is the same, though the system calls it by another number now."""
        with self._write() as db:
            db.execute("UPDATE watched SET identity = ? WHERE folder = ?", (identity, folder))

    def remove(self, folder: str) -> None:
        """Watch a folder no more; its documents stay, as if a person had handed them in."""
        with self._write() as db:
            db.execute(
                "INSERT OR IGNORE INTO handed_in "
                "SELECT document_id FROM watched_files WHERE folder = ? AND document_id NOT NULL",
                (folder,),
            )
            db.execute("DELETE FROM watched WHERE folder = ?", (folder,))

    def all(self) -> list[tuple[str, str]]:
        """(folder, identity) of the watched folders, the longest watched first."""
        with self._read() as db:
            return db.execute("SELECT folder, identity FROM watched ORDER BY since").fetchall()

    def files(self, folder: str) -> dict[str, Known]:
        """What is known of a folder's files, by their paths in it."""
        with self._read() as db:
            rows = db.execute(
                "SELECT path, size, changed, document_id, refused FROM watched_files "
                "WHERE folder = ?",
                (folder,),
            )
            return {path: Known(*rest) for path, *rest in rows}

    def keep(self, folder: str, path: str, known: Known) -> None:
        """Write down what became of a file."""
        with self._write() as db:
            db.execute(
                "INSERT OR REPLACE INTO watched_files "
                "SELECT folder, ?, ?, ?, (SELECT id FROM documents WHERE id = ?), ? "
                "FROM watched WHERE folder = ?",
                (path, known.size, known.changed, known.document_id, known.refused, folder),
            )

    def forget(self, folder: str, path: str) -> None:
        """The file is gone."""
        with self._write() as db:
            db.execute("DELETE FROM watched_files WHERE folder = ? AND path = ?", (folder, path))

    def is_elsewhere(self, document_id: str, folder: str, path: str) -> bool:
        """Whether a document is here for another reason than this file."""
        with self._read() as db:
            row = db.execute(
                "SELECT 1 FROM watched_files WHERE document_id = ? "
                "AND NOT (folder = ? AND path = ?)",
                (document_id, folder, path),
            ).fetchone()
            return row is not None or has_other_origin(db, document_id)
