"""Who did what: a log that is added to and never changed; entries go by age alone.

Of documents and conversations it holds ids, never their words; of questions their words only where
the settings say so. Who removes a document removes no entry."""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum

from rag_app.storage.database import AnyDatabase, Connection, InDatabase
from rag_app.text.highlighting import escape_formula

_LONGEST = 4_000  # characters of a detail
_PAGE = 1_000  # entries that are read at once for an export
_DAY = 86_400.0  # seconds
_COLUMNS = ("number", "at", "subject", "action", "about", "detail")


class Action(StrEnum):
    """What can have been done."""

    SIGN_IN = "sign-in"
    SIGN_OUT = "sign-out"
    ADD = "add"
    REMOVE = "remove"  # also of what gives way to a newer document
    ASK = "ask"
    EXPORT = "export"
    GRANT = "grant"
    REVOKE = "revoke"
    COLLECTION = "collection"  # made, renamed, deleted, handed over
    PERSON = "person"  # removed, restored, made an administrator
    GROUP = "group"  # made, renamed, deleted, joined, left
    LIMIT = "limit"
    KEY_MADE = "key made"
    KEY_REVOKED = "key revoked"


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that was done; `subject` is empty for who changed, by a command on the machine
    itself, people or what they may."""

    number: int
    at: str
    subject: str
    action: str
    about: str
    detail: str


def moment(seconds: float) -> str:
    """A time, in seconds since the epoch, as it is kept: in UTC, and in order as text."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def one_line(text: str, longest: int) -> str:
    """Text from outside as it is kept and shown: on one line, printable, not too long."""
    printable = "".join(c if c.isprintable() else " " for c in text[: longest * 4])
    return " ".join(printable.split())[:longest].strip()


class AuditLog(InDatabase):
    """Every method is one transaction. Thread-safe."""

    def __init__(
        self,
        database: AnyDatabase,
        *,
        days: int = 365,
        questions: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(database)
        self._days, self._questions, self._clock = days, questions, clock
        self._purged = float("-inf")  # when that was last done

    def record(self, subject: str, action: Action, about: str = "", detail: str = "") -> None:
        """Write down what somebody did; once a day what is too old goes by the way."""
        with self._write() as db:
            self.note(db, subject, action, about, detail)
        if self._clock() - self._purged >= _DAY:
            self.purge()

    def note(
        self, db: Connection, subject: str, action: Action, about: str = "", detail: str = ""
    ) -> None:
        """The same inside a transaction: what is done is written down, or it is not done."""
        if action is Action.ASK and not self._questions:
            detail = ""
        db.execute(
            "INSERT INTO audit_log (at, subject, action, about, detail) VALUES (?, ?, ?, ?, ?)",
            (
                moment(self._clock()),
                subject,
                action.value,
                one_line(about, _LONGEST),
                one_line(detail, _LONGEST),
            ),
        )

    def entries(
        self,
        since: str = "",
        until: str = "",
        subject: str | None = None,
        limit: int = 200,
        *,
        action: Action | None = None,
        before: int | None = None,
    ) -> tuple[AuditEntry, ...]:
        """The newest entries first, `since` (included) to `until` (not), both ISO 8601 in UTC or
        the beginning of it; `before` an entry's number, for the next page of them."""
        query = f"SELECT {', '.join(_COLUMNS)} FROM audit_log WHERE at >= ?"
        given: list[str | int] = [since]
        for condition, value in (
            ("at < ?", until or None),
            ("subject = ?", subject),
            ("action = ?", action),
            ("number < ?", before),
        ):
            if value is not None:
                query, given = f"{query} AND {condition}", [*given, value]
        rows = self._rows(f"{query} ORDER BY number DESC LIMIT ?", (*given, limit))
        return tuple(AuditEntry(*row) for row in rows)

    def every(
        self,
        since: str = "",
        until: str = "",
        subject: str | None = None,
        *,
        action: Action | None = None,
        limit: int | None = None,
    ) -> Iterator[AuditEntry]:
        """The same for an export: all of them, or the newest `limit`, however many they are."""
        left, before = sys.maxsize if limit is None else limit, None
        while left > 0:
            found = self.entries(
                since, until, subject, min(_PAGE, left), action=action, before=before
            )
            if not found:
                return
            yield from found
            left, before = left - len(found), found[-1].number

    def purge(self) -> int:
        """Let go of entries that are older than they are kept. Returns how many."""
        self._purged = self._clock()
        horizon = moment(self._purged - self._days * _DAY)
        with self._write() as db:
            db.execute("UPDATE audit_horizon SET before = ? WHERE before < ?", (horizon, horizon))
            return db.execute("DELETE FROM audit_log WHERE at < ?", (horizon,)).rowcount


def as_csv(entries: Iterator[AuditEntry]) -> Iterator[str]:
    """Lines for a spreadsheet, the columns' names first; what would be a formula is a text."""
    yield _row(_COLUMNS)
    for entry in entries:
        yield _row(tuple(str(getattr(entry, name)) for name in _COLUMNS))


def as_json_lines(entries: Iterator[AuditEntry]) -> Iterator[str]:
    """One JSON object a line."""
    for entry in entries:
        yield f"{json.dumps(asdict(entry), ensure_ascii=False)}\n"


def _row(cells: tuple[str, ...]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(map(escape_formula, cells))
    return out.getvalue()
