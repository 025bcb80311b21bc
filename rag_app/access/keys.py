"""Keys with which a person's programs ask in their name.

A key is `rag_<id>_<secret>`. It is shown once; what is kept is the SHA-256 of the secret, 32 random
bytes, which is enough for what nobody can guess."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from rag_app.access.audit import Action, AuditLog, moment
from rag_app.access.nouns import Actor, written
from rag_app.access.people import manages, named, person_there
from rag_app.errors import AccessError, NotAllowed
from rag_app.storage.database import AnyDatabase, Connection, InDatabase

_SECRET_BYTES = 32
_BEGINS = re.compile(r"rag_[0-9a-f]{16}_", re.ASCII)
_KEY = re.compile(r"rag_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)
_MOST = 50  # keys of one person
_USED_EVERY = 60.0  # seconds between two times that the use of a key is written down
_NO_HASH = bytes(32)  # what a key that is not there is compared with


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """A key without its secret; times are ISO 8601 in UTC."""

    id: str
    subject: str
    name: str
    created: str
    expires: str | None  # None: never
    used: str | None  # when it was last used, to the minute; None: never


def holds_key(text: str) -> bool:
    """Whether a key stands in a text, where it has no business."""
    return _BEGINS.search(text) is not None


def is_key(text: str) -> bool:
    """Whether a text is made like a key; whether it is one, `subject_of` knows."""
    return _KEY.fullmatch(text) is not None


class ApiKeys(InDatabase):
    """Every method is one transaction. Thread-safe."""

    def __init__(
        self, database: AnyDatabase, log: AuditLog, clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(database)
        self._log, self._clock = log, clock

    def create_key(
        self, subject: str, name: str, expires_in: float | None = None, *, by: Actor | None = None
    ) -> tuple[KeyInfo, str]:
        """A new key of a person, and its secret, which is never shown again.

        `expires_in` is in seconds, None: never. `by` makes it for them: only the machine itself
        may. Raises UnknownGrantee, NotAllowed, AccessError."""
        called, now = named(name), self._clock()
        if expires_in is not None and expires_in <= 0:
            raise AccessError("The key would have expired already. Give it more time.")
        secret = secrets.token_bytes(_SECRET_BYTES)
        until = None if expires_in is None else _end(now + expires_in)
        made = KeyInfo(secrets.token_hex(8), subject, called, moment(now), until, None)
        who = subject if by is None else by
        with self._write() as db:
            person_there(db, subject)
            if isinstance(who, str) and who != subject:
                raise NotAllowed("A key is made by whoever it is for.")
            self._check_number(db, subject)
            db.execute(
                "INSERT INTO api_keys VALUES (?, ?, ?, ?, ?, ?, NULL)",
                (made.id, subject, called, _hash(secret), made.created, made.expires),
            )
            self._log.note(db, written(who), Action.KEY_MADE, made.id, f"{subject}: {called}")
        return made, f"rag_{made.id}_{_text(secret)}"

    def keys(self, subject: str) -> tuple[KeyInfo, ...]:
        """The keys of a person, expired ones as well, the newest first."""
        rows = self._rows(
            "SELECT id, person, name, created, expires, used FROM api_keys WHERE person = ? "
            "ORDER BY created DESC, id",
            (subject,),
        )
        return tuple(KeyInfo(*row) for row in rows)

    def revoke_key(self, by: Actor, key_id: str) -> None:
        """End a key, at once and for good: one's own, or anybody's as an administrator.

        Raises AccessError for one that is not there, or is somebody else's."""
        with self._write() as db:
            row = db.execute("SELECT person FROM api_keys WHERE id = ?", (key_id,)).fetchone()
            if row is None or (row[0] != by and not manages(db, by)):
                raise AccessError("There is no such key, or it has been revoked already.")
            db.execute("DELETE FROM api_keys WHERE id = ?", (key_id,))
            self._log.note(db, written(by), Action.KEY_REVOKED, key_id, str(row[0]))

    def subject_of(self, secret: str) -> str | None:
        """Whose key it is; None for one that is wrong, expired or revoked, or whose person was
        removed. The same is computed for each of these."""
        parsed = _KEY.fullmatch(secret)
        id_, given = (parsed[1], _bytes(parsed[2])) if parsed else ("", b"")
        row = self._row(
            "SELECT k.person, k.sha256, k.expires, k.used FROM api_keys k "
            "JOIN people p ON p.id = k.person WHERE k.id = ? AND p.active",
            (id_,),
        )
        person, kept, expires, used = row or ("", _NO_HASH, None, None)
        same = hmac.compare_digest(_hash(given), kept)
        now = self._clock()
        if not same or row is None or (expires is not None and expires <= moment(now)):
            return None
        if used is None or used <= moment(now - _USED_EVERY):
            self._run("UPDATE api_keys SET used = ? WHERE id = ?", (moment(now), id_))
        return str(person)

    @staticmethod
    def _check_number(db: Connection, subject: str) -> None:
        row = db.execute("SELECT count(*) FROM api_keys WHERE person = ?", (subject,)).fetchone()
        if row[0] >= _MOST:
            raise AccessError(f"There are {_MOST} keys already, which is the most. Revoke one.")


def _end(at: float) -> str:
    """When a key ends, as it is kept. Raises AccessError for what no calendar has."""
    try:
        return moment(at)
    except (ValueError, OverflowError, OSError) as error:
        raise AccessError(
            "No key lasts that long. Give it less time, or none at all: then it never ends."
        ) from error


def _hash(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


def _text(secret: bytes) -> str:
    return base64.urlsafe_b64encode(secret).rstrip(b"=").decode("ascii")


def _bytes(text: str) -> bytes:
    try:
        return base64.urlsafe_b64decode(f"{text}=")
    except binascii.Error:
        return b""
