"""What waits, what is paused, and what came of each file besides its text; and which process
works on which document, where several share a database.

Every method of the queue is one transaction, and none looks through all documents. Knows nothing of
files."""

from __future__ import annotations

import dataclasses
import json
import logging
import secrets
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NewType, Protocol

from rag_app.errors import DatabaseUnavailable, LibraryClosed
from rag_app.scope import Scope
from rag_app.storage.contents import SPACE
from rag_app.storage.database import AnyDatabase, Connection, ConstraintBroken, InDatabase, seen
from rag_app.types import Document, Progress, Reading, Report, Status

if TYPE_CHECKING:
    from rag_app.storage.postgres import PostgresDatabase

log = logging.getLogger(__name__)

# Whoever works on a document has a claim on it, a row, and there is one at most. Every transaction
# in which work is written begins by looking whether the claim is still there (`working`): so one
# whose process was away for longer than a lease, or that somebody took away to remove the document,
# writes nothing any more. Processes say that they are there at every beat, and one that does not
# loses its claims after a lease. All times are the server's: clocks of machines may be wrong.
#
# Why these rows, and not a queue of jobs beside the documents, docs/architecture.md says.

BEAT = 1.0  # seconds
LEASE = 20.0  # seconds without a beat after which a process is taken for dead
_LEFT_ALONE = "1 hour"
_CLAIMING = 0x7261675F636C6D  # who takes or takes away a claim holds the lock of this number
_OTHERS = (
    "NOT EXISTS (SELECT 1 FROM claims c WHERE c.document_id = f.id AND c.worker <> :worker) "
    "AND NOT EXISTS (SELECT 1 FROM left_alone l WHERE l.document_id = f.id AND l.until > now())"
)


class ClaimLost(Exception):
    """A document is somebody else's now: what was to be written about it was not."""


@dataclass(frozen=True, slots=True)
class Beat:
    """What is so at a beat: `mine` are the documents that may still be worked on here."""

    mine: frozenset[str] = frozenset()
    elsewhere: Mapping[str, Progress] = field(default_factory=dict)  # by document
    left_alone: frozenset[str] = frozenset()
    troubles: tuple[str, ...] = ()  # of others


class Lock(AbstractContextManager[bool, None], Protocol):
    """A lock as `threading` has it."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Whether it is held now."""

    def release(self) -> None:
        """Let others have it."""


class Claims:
    """Those of the one process that a library in a file has: there is nobody to agree with."""

    shared = False
    free: str = "TRUE"
    """A condition of SQL: no other process works on the document `f`, holds it, or gave it up."""
    me = ""

    def take(self, document_id: str) -> bool:
        """Whether this process may work on a document now."""
        return True

    def drop(self, document_id: str) -> None:
        """Neither work on a document any more nor hold it. Raises nothing."""

    def hold(self, document_id: str) -> None:
        """Whoever works on a document writes nothing more of it, and nobody begins."""

    def leave(self, document_id: str) -> None:
        """Nobody is to take it for a while, until it is held once."""

    def revoke(self, scope: Scope) -> None:
        """Others write nothing more of a scope's documents that they are reading."""

    def working(self, document_id: str) -> AbstractContextManager[None]:
        """What this thread writes inside the block is only written while the claim lasts: else
        ClaimLost is raised."""
        return nullcontext()

    def beat(self, told: Mapping[str, Progress], trouble: str) -> Beat:
        """Say that this process is there, how far it is, and what is wrong; hear of the others."""
        return Beat()

    def lock(self, name: str) -> Lock:
        """One that is held once at a time, in all processes together."""
        return threading.Lock()

    def close(self) -> None:
        """Others may take what this process worked on."""


class SharedClaims(Claims):
    """Claims in a PostgreSQL database. Thread-safe. Raises DatabaseUnavailable."""

    shared = True
    free = _OTHERS

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self.me = secrets.token_hex(8)
        self._lock = threading.Lock()
        self._undropped: set[str] = set()  # the database was away
        self._known = False  # to the others
        self._steady = 0.0  # since when beat came after beat
        self._beaten = float("-inf")

    @contextmanager
    def _claiming(self) -> Iterator[Connection]:
        """A transaction in which claims change; all others wait."""
        with self._lock, self._database.aside() as db:
            _introduce(db, self.me)  # it may have been taken for dead
            self._known = True
            db.execute("SELECT pg_advisory_xact_lock(?)", (_CLAIMING,))
            yield db

    def take(self, document_id: str) -> bool:
        """Whether this process may work on a document now."""
        try:
            with self._claiming() as db:
                taken = db.execute(
                    "INSERT INTO claims (document_id, worker, held) SELECT f.id, :worker, FALSE "
                    f"FROM documents f WHERE f.id = :id AND {_OTHERS} "
                    "ON CONFLICT (document_id, worker) DO UPDATE SET held = FALSE, progress = ''",
                    {"worker": self.me, "id": document_id},
                ).rowcount
        except ConstraintBroken:  # it was removed just now
            return False
        self._undropped.discard(document_id)
        return bool(taken)

    def drop(self, document_id: str) -> None:
        """Neither work on a document any more nor hold it. Raises nothing."""
        try:
            with self._lock, self._database.aside() as db:
                db.execute(
                    "DELETE FROM claims WHERE document_id = ? AND worker = ?",
                    (document_id, self.me),
                )
        except (DatabaseUnavailable, LibraryClosed):
            self._undropped.add(document_id)  # at a later beat

    def hold(self, document_id: str) -> None:
        """Whoever works on a document writes nothing more of it, and nobody begins."""
        with self._claiming() as db:
            db.execute("DELETE FROM claims WHERE document_id = ? AND NOT held", (document_id,))
            db.execute("DELETE FROM left_alone WHERE document_id = ?", (document_id,))
            self._undropped.discard(document_id)
            db.execute(
                "INSERT INTO claims (document_id, worker, held) SELECT id, ?, TRUE FROM documents "
                "WHERE id = ? ON CONFLICT (document_id, worker) DO NOTHING",
                (self.me, document_id),
            )

    def leave(self, document_id: str) -> None:
        """Nobody is to take it for a while, until it is held once."""
        with self._database.aside() as db:
            db.execute(
                f"INSERT INTO left_alone SELECT id, now() + interval '{_LEFT_ALONE}' "
                "FROM documents WHERE id = ? "
                "ON CONFLICT (document_id) DO UPDATE SET until = excluded.until",
                (document_id,),
            )

    def revoke(self, scope: Scope) -> None:
        """Others write nothing more of a scope's documents that they are reading."""
        only, given = seen(scope, "d.collection")
        unread = json.dumps([Status.RECEIVED, Status.READ, Status.FAILED])
        with self._claiming() as db:
            db.execute(
                "DELETE FROM claims c USING documents d WHERE d.id = c.document_id AND NOT c.held "
                "AND c.worker <> ? AND d.status IN (SELECT value FROM json_each(?)) "
                f"AND {only}",
                (self.me, unread, *given),
            )

    @contextmanager
    def working(self, document_id: str) -> Iterator[None]:
        """What this thread writes inside the block is only written while the claim lasts."""

        def check(db: Connection) -> None:
            # Who takes the claim away waits for the end of this transaction.
            claim = "SELECT 1 FROM claims WHERE document_id = ? AND worker = ? AND NOT held"
            if not db.execute(f"{claim} FOR KEY SHARE", (document_id, self.me)).fetchone():
                raise ClaimLost(document_id)

        with self._database.guarded(check):
            yield

    def beat(self, told: Mapping[str, Progress], trouble: str) -> Beat:
        """Say that this process is there, how far it is, and what is wrong; hear of the others."""
        for document_id in self._undropped - told.keys():
            self._undropped.discard(document_id)
            self.drop(document_id)
        now = time.monotonic()
        if now - self._beaten > LEASE / 2:
            self._steady = now  # whoever was cut off like us is to come back before it is judged
        self._beaten = now
        with self._database.aside() as db:
            self._database.clock_is(_introduce(db, self.me))
            db.execute("UPDATE workers SET trouble = ? WHERE id = ?", (trouble, self.me))
            _tell(db, self.me, told)
            if now - self._steady > LEASE / 2:
                _bury(db)
        self._known = True
        with self._database.read() as db:
            return _heard(db, self.me)

    def lock(self, name: str) -> Lock:
        """One that is held once at a time, in all processes together."""
        return _SharedLock(self._database, name)

    def close(self) -> None:
        """Others may take what this process worked on."""
        if not self._known:
            return
        with suppress(DatabaseUnavailable, LibraryClosed), self._database.aside() as db:
            db.execute("DELETE FROM workers WHERE id = ?", (self.me,))


def _introduce(db: Connection, me: str) -> float:
    """Say that a process is there. What the server's clock says."""
    [[now]] = db.execute(
        "INSERT INTO workers (id, seen) VALUES (?, clock_timestamp()) "
        "ON CONFLICT (id) DO UPDATE SET seen = excluded.seen "
        "RETURNING extract(epoch FROM seen)::float8",
        (me,),
    ).fetchall()
    return float(now)


def _tell(db: Connection, me: str, told: Mapping[str, Progress]) -> None:
    for document_id, progress in sorted(told.items()):
        db.execute(
            "UPDATE claims SET progress = ? WHERE document_id = ? AND worker = ? AND NOT held",
            (json.dumps(dataclasses.asdict(progress)), document_id, me),
        )


def _bury(db: Connection) -> None:
    """Forget processes that were not seen for a lease: their claims go with them."""
    dead = db.execute(
        f"DELETE FROM workers WHERE seen < clock_timestamp() - interval '{LEASE} s' RETURNING id"
    ).fetchall()
    for (id_,) in dead:
        log.warning("process %s is not seen any more; others take over what it worked on", id_)


def _heard(db: Connection, me: str) -> Beat:
    mine, elsewhere = set[str](), dict[str, Progress]()
    rows = db.execute("SELECT document_id, worker, progress FROM claims WHERE NOT held")
    for document_id, worker, progress in rows:
        if worker == me:
            mine.add(document_id)
        elif progress:
            elsewhere[document_id] = Progress(**json.loads(progress))
    left = db.execute("SELECT document_id FROM left_alone WHERE until > now()").fetchall()
    troubles = db.execute(
        "SELECT trouble FROM workers WHERE id <> ? AND trouble <> '' ORDER BY id", (me,)
    ).fetchall()
    return Beat(
        frozenset(mine),
        elsewhere,
        frozenset(row[0] for row in left),
        tuple(row[0] for row in troubles),
    )


class _SharedLock:
    """A lock of a session of the server: it is free again when its process has gone."""

    def __init__(self, database: PostgresDatabase, name: str) -> None:
        self._database, self._name = database, name
        self._here = threading.Lock()  # one connection waits for it, not one for every thread
        self._held = ExitStack()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Whether it is held now. Raises DatabaseUnavailable."""
        if not self._here.acquire(blocking, timeout):
            return False
        with ExitStack() as undone:
            undone.callback(self._here.release)
            db = undone.enter_context(self._database.read())
            wait = blocking and timeout < 0
            asked = "pg_advisory_lock" if wait else "pg_try_advisory_lock"
            # As long as it takes, though a writer is waited for a minute only: who holds it may be
            # sending a large file. For this schema alone: several libraries may be in a database.
            [[_, said]] = db.execute(
                "SELECT set_config('lock_timeout', '0', TRUE), "  # for this statement
                f"{asked}(hashtext(current_schema() || ?))::text",
                (self._name,),
            ).fetchall()
            if said != "false":
                undone.callback(self._unlock, db)
                self._held = undone.pop_all()
                return True
        if timeout > 0:
            time.sleep(timeout)
        return False

    def _unlock(self, db: Connection) -> None:
        db.execute("SELECT pg_advisory_unlock(hashtext(current_schema() || ?))", (self._name,))

    def release(self) -> None:
        """Let others have it."""
        held, self._held = self._held, ExitStack()
        with suppress(DatabaseUnavailable):  # then it is free already
            held.close()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


PAUSED, UNCLEANED = "paused", "uncleaned"

# People are found by leaps from one to the next, each with one look into the index.
_FIRST_OF_EACH = """
  WITH RECURSIVE people (status, who) AS (
    SELECT s.value, (SELECT min(d.added_by) FROM documents d WHERE d.status = s.value)
    FROM json_each(:statuses) s
    UNION ALL
    SELECT status, (
      SELECT min(d.added_by) FROM documents d
      WHERE d.status = people.status AND d.added_by > people.who)
    FROM people WHERE who IS NOT NULL)
  SELECT d.id, d.added_by, d.place FROM people JOIN documents d ON d.rowid = (
    SELECT f.rowid FROM documents f
    WHERE f.status = people.status AND f.added_by = people.who
      AND (CAST(:largest AS BIGINT) IS NULL OR f.size <= :largest)
      AND f.id NOT IN (SELECT value FROM json_each(:without)) AND {free}
    ORDER BY f.place, f.rowid LIMIT 1)"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A document that waits for a turn."""

    document_id: str
    added_by: str  # who handed it in
    place: float  # among what they handed in, the least first


SeenDocument = NewType("SeenDocument", Document)
"""One that who asks may read: what acts for a person takes this, and no id that nobody checked."""
EditableDocument = NewType("EditableDocument", SeenDocument)
"""One that who asks may change."""


_NAMES = (  # of duplicates, parts, and what it is inside of
    "SELECT name FROM duplicates WHERE document_id = ? ORDER BY name",
    "SELECT d.name FROM parts p JOIN documents d ON d.id = p.document_id "
    "WHERE p.container_id = ? ORDER BY d.added_at, d.rowid",
    "SELECT d.name FROM parts p JOIN documents d ON d.id = p.container_id "
    "WHERE p.document_id = ? ORDER BY d.added_at, d.rowid",
)


def to_clean(db: Connection) -> None:
    """Something was removed; counted, so that what comes during the cleaning is not overlooked."""
    db.execute(
        "INSERT INTO marks VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = marks.value + 1",
        (UNCLEANED,),
    )


class Queue(InDatabase):
    """The order of work, and what came of it. Thread-safe."""

    def __init__(self, database: AnyDatabase, claims: Claims) -> None:
        super().__init__(database)
        self._claims = claims

    # Waiting

    def first_of_each(
        self, statuses: Sequence[Status], without: Iterable[str], largest: int | None = None
    ) -> list[Waiting]:
        """Of everybody who has documents in one of `statuses`: the one that has the first place.

        Not those in `without`, nor those of more bytes than `largest`, nor what other processes
        work on."""
        with self._read() as db:
            rows = db.execute(
                _FIRST_OF_EACH.format(free=self._claims.free),
                {
                    "statuses": json.dumps(list(statuses)),
                    "without": json.dumps(list(without)),
                    "largest": largest,
                    "worker": self._claims.me,
                },
            )
            return [Waiting(*row) for row in rows]

    def waiting(self, statuses: Sequence[Status], scope: Scope) -> list[tuple[str, int]]:
        """(id, pages) of the documents in one of `statuses`, first come first."""
        only, given = seen(scope)
        return self._rows(
            "SELECT id, pages FROM documents WHERE status IN (SELECT value FROM json_each(?)) "
            f"AND {only} ORDER BY added_at, rowid",
            (json.dumps(list(statuses)), *given),
            scope,
        )

    def is_waiting(
        self, ids: Sequence[str], statuses: Sequence[Status], without: Iterable[str]
    ) -> bool:
        """Whether one of these documents is in one of `statuses` and not in `without`."""
        row = self._row(
            "SELECT 1 FROM json_each(?) j JOIN documents d ON d.id = j.value "
            "WHERE d.status IN (SELECT value FROM json_each(?)) "
            "AND d.id NOT IN (SELECT value FROM json_each(?)) LIMIT 1",
            (json.dumps(list(ids)), json.dumps(list(statuses)), json.dumps(list(without))),
        )
        return row is not None

    def cancel(self, document_id: str | None, scope: Scope, message: str, code: str) -> int:
        """Let documents fail that have not been read: this one, or with None all that the scope
        sees. How many.

        One that waits to be indexed again has been read: it has chunks, or recognised pages."""
        only, arguments = seen(scope)
        if document_id:
            only, arguments = f"{only} AND id = ?", [*arguments, document_id]
        return self._run(
            f"UPDATE documents SET status = ?, error = ?, error_code = ? "
            f"WHERE status IN (?, ?) AND chunks = 0 AND NOT EXISTS (SELECT 1 FROM scans s "
            f"WHERE s.document_id = documents.id AND s.words IS NOT NULL) AND {only}",
            (Status.FAILED, message, code, Status.RECEIVED, Status.READ, *arguments),
        )

    # Marks

    def mark(self, name: str, value: int) -> None:
        """Set a mark that outlives the process; 0 takes it away."""
        self._run(
            "INSERT INTO marks VALUES (?, ?) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            (name, value),
        )

    def mark_uncleaned(self) -> None:
        """Something that was removed was written all the same, and is to be overwritten."""
        with self._write() as db:
            to_clean(db)

    def unmark(self, name: str, value: int) -> None:
        """Take so much off a mark; at 0 it is gone."""
        with self._write() as db:
            db.execute("UPDATE marks SET value = value - ? WHERE name = ?", (value, name))
            db.execute("DELETE FROM marks WHERE name = ? AND value <= 0", (name,))

    def marked(self, name: str) -> int:
        """A mark, 0 if it is not set."""
        row = self._row("SELECT value FROM marks WHERE name = ?", (name,))
        return int(row[0]) if row else 0

    # Reports

    def parts(self, document: SeenDocument) -> list[str]:
        """The documents that came out of a document."""
        with self._read() as db:
            rows = db.execute(
                "SELECT document_id FROM parts WHERE container_id = ?", (document.id,)
            )
            return [row[0] for row in rows]

    def note_reading(self, document_id: str, reading: Reading) -> None:
        """How many tables a reader told, and in which encoding it had to guess a text to be."""
        self._run(
            "INSERT INTO readings (document_id, tables, encoding) "
            "SELECT id, CAST(? AS BIGINT), CAST(? AS TEXT) FROM documents WHERE id = ? "
            "ON CONFLICT (document_id) DO UPDATE "
            "SET tables = excluded.tables, encoding = excluded.encoding",
            (reading.tables, reading.encoding, document_id),
        )

    def report(self, document: SeenDocument) -> Report:
        """What became of a document, but for where it was fetched."""
        one = (document.id,)
        with self._read() as db:
            empty = db.execute(
                "SELECT count(*) FROM pages WHERE document_id = ? AND trim(text, ?) = ''",
                (document.id, SPACE),
            ).fetchone()[0]
            told = db.execute(
                "SELECT tables, encoding FROM readings WHERE document_id = ?", one
            ).fetchone()
            names = [tuple(row[0] for row in db.execute(asked, one)) for asked in _NAMES]
        return Report(document, empty, *(told or (None, "")), *names)
