"""How much people have asked and how many windows they have open, in all processes that share a
database: by the server's clock. Of limits it knows only what it is told."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_app.storage.postgres import PostgresDatabase

_OFTEN = 20.0  # seconds within which a window that was seen is not written down again
_LEFT = (
    "greatest(0, q.level - greatest(0, extract(epoch FROM clock_timestamp() - q.at)) * :most / 60)"
)


class SharedLevels:
    """Questions of the last minute, and windows of now. Thread-safe. Raises DatabaseUnavailable."""

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
