"""What waits, what is paused, and what is known of each file besides its text.

Every method is one transaction, and none looks through all documents. Knows nothing of files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NewType

from rag_app.scope import Scope
from rag_app.storage import provenance
from rag_app.storage.claims import Claims
from rag_app.storage.contents import SPACE
from rag_app.storage.database import AnyDatabase, Connection, InDatabase, seen
from rag_app.types import Document, Reading, Status

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


@dataclass(frozen=True, slots=True)
class UnpackingBudget:
    """What may still be unpacked from a document."""

    depth: int  # containers it came out of, one in the other
    parts: int  # documents that came out of the outermost of them, but not out of this one
    size: int  # and their bytes


SeenDocument = NewType("SeenDocument", Document)
"""One that who asks may read: what acts for a person takes this, and no id that nobody checked."""
EditableDocument = NewType("EditableDocument", SeenDocument)
"""One that who asks may change."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a report says of a document besides what the document itself says."""

    pages_without_text: int
    tables: int | None
    encoding: str
    duplicates: tuple[str, ...]
    parts: tuple[str, ...]
    inside: tuple[str, ...]


def to_clean(db: Connection) -> None:
    """Something was removed; counted, so that what comes during the cleaning is not overlooked."""
    db.execute(
        "INSERT INTO marks VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = marks.value + 1",
        (UNCLEANED,),
    )


class Queue(InDatabase):
    """The order of work, and the origins of documents. Thread-safe."""

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

    # Origins

    def handed_in(self, document_id: str) -> None:
        """A person handed this document in: it stays when what it came out of goes."""
        with self._write() as db:
            provenance.hand_in(db, document_id)

    def name_unclaimed(self, document_id: str, name: str) -> None:
        """Give a document that nobody handed in a name, unless another has that."""
        with self._write() as db:
            provenance.name_unclaimed(db, document_id, name)

    def came_again(self, document_id: str, name: str) -> None:
        """The same bytes came under another name."""
        self._run(
            "INSERT INTO duplicates SELECT id, ? FROM documents WHERE id = ? AND name != ? "
            "ON CONFLICT DO NOTHING",
            (name, document_id, name),
        )

    def taken_names(self, name: str, stem: str, collection: str) -> list[str]:
        """`name`, and the names that begin with "stem (", as far as documents of a collection have
        them."""
        with self._read() as db:
            return provenance.taken_names(db, name, stem, collection)

    def going_with(self, document_id: str) -> list[str]:
        """A document, and all that would be removed with it."""
        with self._read() as db:
            return provenance.going_with(db, document_id)

    def superseded(self, newer: str, older: str) -> list[str]:
        """All that goes when a document takes the place of another."""
        with self._read() as db:
            return provenance.superseded(db, newer, older)

    def to_replace(self, document_id: str) -> list[str]:
        """All that goes once a document can be searched, because it is to take its place."""
        with self._read() as db:
            row = db.execute(
                "SELECT replaces FROM documents WHERE id = ?", (document_id,)
            ).fetchone()
            return provenance.superseded(db, document_id, row[0]) if row and row[0] else []

    def parts(self, document: SeenDocument) -> list[str]:
        """The documents that came out of a document."""
        with self._read() as db:
            rows = db.execute(
                "SELECT document_id FROM parts WHERE container_id = ?", (document.id,)
            )
            return [row[0] for row in rows]

    def containers(self, document_id: str) -> list[str]:
        """All that a document came out of, nearest first."""
        with self._read() as db:
            return [each for each, _ in provenance.containers(db, document_id)]

    def room(self, document_id: str) -> UnpackingBudget:
        """How deep a document lies, and how much has come out of what it came out of."""
        with self._read() as db:
            above = provenance.containers(db, document_id)
            outermost = above[-1][0] if above else document_id
            count, size = provenance.contents(db, outermost)
            own, own_size = provenance.contents(db, document_id)  # of an earlier reading of it
        return UnpackingBudget(above[-1][1] if above else 0, count - own, size - own_size)

    def add_part(self, inside: provenance.Inside, document_id: str) -> None:
        """Note that a document that is here came out of another, too."""
        with self._write() as db:
            provenance.add_part(db, inside, document_id)

    # Reports

    def note_reading(self, document_id: str, reading: Reading) -> None:
        """How many tables a reader told, and in which encoding it had to guess a text to be."""
        self._run(
            "INSERT INTO readings (document_id, tables, encoding) "
            "SELECT id, CAST(? AS BIGINT), CAST(? AS TEXT) FROM documents WHERE id = ? "
            "ON CONFLICT (document_id) DO UPDATE "
            "SET tables = excluded.tables, encoding = excluded.encoding",
            (reading.tables, reading.encoding, document_id),
        )

    def facts(self, document: SeenDocument) -> Facts:
        """What is known of a document for its report."""
        one = (document.id,)
        with self._read() as db:
            empty = db.execute(
                "SELECT count(*) FROM pages WHERE document_id = ? AND trim(text, ?) = ''",
                (document.id, SPACE),
            ).fetchone()[0]
            told = db.execute(
                "SELECT tables, encoding FROM readings WHERE document_id = ?", one
            ).fetchone()
            duplicates = db.execute(
                "SELECT name FROM duplicates WHERE document_id = ? ORDER BY name", one
            ).fetchall()
            parts = db.execute(
                "SELECT d.name FROM parts p JOIN documents d ON d.id = p.document_id "
                "WHERE p.container_id = ? ORDER BY d.added_at, d.rowid",
                one,
            ).fetchall()
            inside = db.execute(
                "SELECT d.name FROM parts p JOIN documents d ON d.id = p.container_id "
                "WHERE p.document_id = ? ORDER BY d.added_at, d.rowid",
                one,
            ).fetchall()
        names = [tuple(row[0] for row in rows) for rows in (duplicates, parts, inside)]
        return Facts(empty, *(told or (None, "")), *names)
