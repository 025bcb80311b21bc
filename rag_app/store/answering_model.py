"""Which model's vectors answer: kept, so that a change of the setting is seen at the next start."""

from __future__ import annotations

from rag_app.store.database import Database


class AnsweringModel:
    """What the setting said of the model, and its fingerprint."""

    def __init__(self, database: Database) -> None:
        self._read, self._write = database.read, database.write

    def get(self) -> tuple[str, str] | None:
        """(choice, fingerprint), None if nothing was ever embedded."""
        with self._read() as db:
            row = db.execute("SELECT choice, fingerprint FROM answering_model").fetchone()
        return None if row is None else (row[0], row[1])

    def set(self, choice: str, fingerprint: str) -> None:
        """From now on this model's vectors answer."""
        with self._write() as db:
            db.execute(
                "INSERT INTO answering_model VALUES (1, ?, ?) ON CONFLICT (only) "
                "DO UPDATE SET choice = excluded.choice, fingerprint = excluded.fingerprint",
                (choice, fingerprint),
            )
