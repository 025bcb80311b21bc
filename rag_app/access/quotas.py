"""How much a person may: bytes and pages kept, files a day, questions a minute, sessions at once.

A limit is everybody's, or one person's in its place. Where none is set, nothing is looked at."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from rag_app.access.audit import Action, AuditLog
from rag_app.access.nouns import Actor, written
from rag_app.access.people import check_administrator, find_person, person_there
from rag_app.errors import AccessError, QuotaReached
from rag_app.storage.database import AnyDatabase, InDatabase
from rag_app.storage.engines import levels_of
from rag_app.text.formats import count
from rag_app.text.formats import size as size_of

_EVERYBODY = ""
_LOOK_EVERY = 5.0  # seconds after which a limit that another process set is heard of
_SESSION_IDLE = 900.0  # seconds after which a session that was not used is none
_MINUTE = 60.0
_MANY = 1_000  # buckets from which empty ones are looked for


class Limited(StrEnum):
    """What can be limited."""

    BYTES = "bytes"
    PAGES = "pages"
    FILES = "files"  # a day
    QUESTIONS = "questions"  # a minute
    SESSIONS = "sessions"


@dataclass(frozen=True, slots=True)
class Quota:
    """The most that somebody may, None without a limit."""

    bytes: int | None = None
    pages: int | None = None
    files: int | None = None  # a day, in UTC
    questions: int | None = None  # a minute
    sessions: int | None = None  # at once


NO_QUOTA = Quota()


@dataclass(frozen=True, slots=True)
class Usage:
    """What is kept of the documents that a person added."""

    bytes: int = 0
    pages: int = 0


class LeakyBucket:
    """As many at once as a minute may have, and then one after another as room comes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}  # by subject: level, and when it was

    def pour(self, subject: str, most: int) -> float:
        """Take one more of `most` (1 at least) a minute; 0, or the seconds to wait for it."""
        now = self._clock()
        level = self._level(subject, most, now)
        if level + 1 > most + 1e-9:
            return (level + 1 - most) * _MINUTE / most
        self._levels[subject] = (level + 1, now)
        self._forget_empty(now)
        return 0.0

    def _level(self, subject: str, most: int, now: float) -> float:
        level, at = self._levels.get(subject, (0.0, now))
        return max(0.0, level - max(0.0, now - at) * most / _MINUTE)

    def _forget_empty(self, now: float) -> None:
        """Every bucket is empty after a minute; those of people who left take no room."""
        if len(self._levels) > _MANY:
            kept = {one: held for one, held in self._levels.items() if now - held[1] < _MINUTE}
            self._levels = kept


class Quotas(InDatabase):
    """Sets limits and holds people to them. Thread-safe.

    `used` tells what is kept of what a person added; it is asked only where that is limited. Files
    that come at the very same time can go over bytes and pages by what they hold themselves."""

    def __init__(
        self,
        database: AnyDatabase,
        log: AuditLog,
        *,
        clock: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(database)
        self._log, self._clock, self._elapsed = log, clock, elapsed
        self.used: Callable[[str], Usage] = lambda subject: Usage()
        self._shared = levels_of(database)  # else questions and sessions are counted here
        self._lock = threading.Lock()
        self._bucket = LeakyBucket(elapsed)
        self._sessions: dict[str, dict[str, float]] = {}  # by subject: when each was last seen
        self._known: dict[str, dict[str, int | None]] | None = None  # as it was last looked at
        self._looked = float("-inf")

    # Setting them

    def set_limit(
        self, by: Actor, what: Limited, most: int | None, subject: str | None = None
    ) -> None:
        """Let everybody, or one person in place of that, have this much; None is no limit.

        Raises NotAllowed, UnknownGrantee, AccessError for less than nothing."""
        if most is not None and not 0 <= most < 1 << 62:
            raise AccessError("A limit is a whole number, 0 or more.")
        with self._write() as db:
            check_administrator(db, by)
            if subject is not None:
                person_there(db, subject)
            db.execute(
                "INSERT INTO quotas VALUES (?, ?, ?) ON CONFLICT (subject, what) "
                "DO UPDATE SET most = excluded.most",
                (subject or _EVERYBODY, what.value, most),
            )
            said = f"{what}: {'no limit' if most is None else most}"
            self._log.note(db, written(by), Action.LIMIT, subject or "everybody", said)
        self._known = None

    def unset_limit(self, by: Actor, what: Limited, subject: str | None = None) -> None:
        """Let a person have what everybody has; let everybody have no limit. Raises NotAllowed."""
        with self._write() as db:
            check_administrator(db, by)
            db.execute(
                "DELETE FROM quotas WHERE subject = ? AND what = ?",
                (subject or _EVERYBODY, what.value),
            )
            self._log.note(db, written(by), Action.LIMIT, subject or "everybody", f"{what}: unset")
        self._known = None

    def for_everybody(self) -> Quota:
        """What everybody may who has no limits of their own."""
        return Quota(**self._set().get(_EVERYBODY, {}))

    def own_limits(self, subject: str) -> Mapping[Limited, int | None]:
        """What was set for one person in place of what everybody has."""
        return {Limited(what): most for what, most in self._set().get(subject, {}).items()}

    def quota_of(self, subject: str) -> Quota:
        """What a person may."""
        known = self._set()
        if not known:
            return NO_QUOTA
        return Quota(**{**known.get(_EVERYBODY, {}), **known.get(subject, {})})

    def _set(self) -> dict[str, dict[str, int | None]]:
        """Every limit that is set; what another process set counts a few seconds later."""
        known, now = self._known, self._elapsed()
        if known is None or now - self._looked >= _LOOK_EVERY:
            known = {}
            for subject, what, most in self._rows("SELECT subject, what, most FROM quotas"):
                known.setdefault(subject, {})[what] = most
            self._known, self._looked = known, now
        return known

    # Holding people to them

    def check_upload(self, subject: str, size: int) -> None:
        """A person hands in a file of so many bytes, which counts from now on.

        Raises QuotaReached for more than they may keep or hand in today."""
        quota = self.quota_of(subject)
        if quota.bytes is not None or quota.pages is not None:
            self._check_kept(quota, self.used(subject), size)
        if quota.files is not None:
            _refuse_none(quota.files, "add no files")
            self._count_file(subject, quota.files)

    def check_reading(self, subject: str, more: Usage) -> None:
        """So many more pages are in a document that a person added, and so many bytes come out of
        it. Of what was added by nobody who signed in nothing is counted.

        Raises QuotaReached for more than they may keep."""
        quota = self.quota_of(subject)
        if quota.bytes is None and quota.pages is None:
            return
        with self._read() as db:
            if find_person(db, subject) is None:
                return
        used = self.used(subject)
        again = "Remove documents that you added, then try this one again."
        if quota.bytes is not None and more.bytes > max(0, quota.bytes - used.bytes):
            raise QuotaReached(
                f"You may keep {size_of(quota.bytes)}, {size_of(used.bytes)} are taken, and what "
                f"is packed in this file takes {size_of(more.bytes)} more. {again}"
            )
        if quota.pages is not None and more.pages > max(0, quota.pages - used.pages):
            raise QuotaReached(
                f"You may keep {count(quota.pages, 'page')}, {used.pages:,} are taken, and this "
                f"document has {count(more.pages, 'page')} more. {again}"
            )

    def _check_kept(self, quota: Quota, used: Usage, size: int) -> None:
        if quota.bytes is not None and used.bytes + size > quota.bytes:
            raise QuotaReached(
                f"You may keep {size_of(quota.bytes)}, {size_of(used.bytes)} are taken, and this "
                f"file has {size_of(size)}. Remove documents that you added, then add it again."
            )
        if quota.pages is not None and used.pages >= quota.pages:
            raise QuotaReached(
                f"You may keep {quota.pages:,} pages, and {used.pages:,} are taken. Remove "
                "documents that you added, then add this one again."
            )

    def _count_file(self, subject: str, most: int) -> None:
        now = datetime.fromtimestamp(self._clock(), UTC)
        today = now.date().isoformat()
        with self._write() as db:
            row = db.execute(
                "SELECT files FROM quota_files WHERE subject = ? AND day = ?", (subject, today)
            ).fetchone()
            files = row[0] if row else 0
            if files >= most:
                tomorrow = now.replace(hour=0, minute=0, second=0, microsecond=0)
                wait = (tomorrow + timedelta(days=1) - now).total_seconds()
                raise QuotaReached(
                    f"You may add {count(most, 'file')} a day. You can add more in "
                    f"{_duration(wait)}.",
                    wait,
                )
            db.execute(
                "INSERT INTO quota_files VALUES (?, ?, ?) ON CONFLICT (subject) "
                "DO UPDATE SET day = excluded.day, files = excluded.files",
                (subject, today, files + 1),
            )

    def check_question(self, subject: str) -> None:
        """A person asks a question, which counts from now on.

        Raises QuotaReached, with the seconds to wait, for more of them than they may ask."""
        most = self.quota_of(subject).questions
        if most is None:
            return
        _refuse_none(most, "ask no questions")
        if self._shared:
            wait = self._shared.pour(subject, most)
        else:
            with self._lock:
                wait = self._bucket.pour(subject, most)
        if wait:
            raise QuotaReached(
                f"You may ask {count(most, 'question')} a minute. You can ask again in "
                f"{_duration(wait)}.",
                wait,
            )

    def check_session(self, subject: str, session: str) -> None:
        """One of a person's sessions is used: to be called whenever it is.

        Raises QuotaReached for one more than they may have at once."""
        most = self.quota_of(subject).sessions
        if most is None:
            return
        _refuse_none(most, "use no window")
        if self._shared:
            wait = self._shared.use(subject, session, most, _SESSION_IDLE)
        else:
            with self._lock:
                wait = self._use(subject, session, most)
        if wait:
            minutes = f"{_SESSION_IDLE / _MINUTE:.0f} minutes"
            raise QuotaReached(
                f"You may use this in {count(most, 'window')} at once. Go on in one that is "
                f"open; one counts no more once it was not used for {minutes}.",
                wait,
            )

    def _use(self, subject: str, session: str, most: int) -> float:
        """0, or the seconds until a session that is not used counts no more."""
        now = self._elapsed()
        seen = self._sessions.get(subject, {})
        seen = {one: at for one, at in seen.items() if now - at < _SESSION_IDLE}
        self._sessions[subject] = seen
        if session not in seen and len(seen) >= most:
            return _SESSION_IDLE - (now - min(seen.values()))
        seen[session] = now
        return 0.0

    def end_session(self, subject: str, session: str) -> None:
        """One of a person's sessions has ended."""
        if self._shared:
            self._shared.end(subject, session)
        with self._lock:
            self._sessions.get(subject, {}).pop(session, None)


def _refuse_none(most: int, what: str) -> None:
    """Where nothing may be had there is nothing to wait for. Raises QuotaReached."""
    if not most:
        raise QuotaReached(f"You may {what} here. Ask an administrator, who can change that.")


def _duration(seconds: float) -> str:
    """Whole seconds, minutes or hours, never less than it takes."""
    for unit, name in ((3_600, "hour"), (60, "minute")):
        if seconds > unit:
            return count(-int(-seconds // unit), name)
    return count(max(1, -int(-seconds // 1)), "second")
