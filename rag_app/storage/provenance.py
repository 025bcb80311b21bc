"""Where documents came from: a person, another document, a watched folder; and the watched folders,
with their files as they were when they were last taken in.

A document goes with the last of its origins. Functions stand inside the caller's transaction; every
method is one of its own. Looks at no disk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rag_app.scope import WORKER, Scope
from rag_app.storage.database import Connection, InDatabase, document_seen
from rag_app.storage.originals import display_name, inside_name

_DEEPEST = 20  # a chain of containers longer than this is a circle

_ORPHANS = """
  SELECT DISTINCT p.document_id FROM parts p
  WHERE p.container_id IN (SELECT value FROM json_each(:going))
    AND p.document_id NOT IN (SELECT value FROM json_each(:going))
    AND NOT EXISTS (SELECT 1 FROM handed_in h WHERE h.document_id = p.document_id)
    AND NOT EXISTS (SELECT 1 FROM watched_files w WHERE w.document_id = p.document_id)
    AND NOT EXISTS (
      SELECT 1 FROM parts q WHERE q.document_id = p.document_id
      AND q.container_id NOT IN (SELECT value FROM json_each(:going)))"""


@dataclass(frozen=True, slots=True)
class Inside:
    """Where a file came out of."""

    container: str  # the id of the document
    name: str  # what it is called in there


def hand_in(db: Connection, document_id: str) -> None:
    """Note that a person handed a document in; noting it twice is noting it once."""
    db.execute("INSERT INTO handed_in VALUES (?) ON CONFLICT DO NOTHING", (document_id,))


def add_part(db: Connection, inside: Inside, document_id: str) -> None:
    """Note that a document came out of another; noting it twice is noting it once."""
    db.execute(
        "INSERT INTO parts SELECT ?, id, ? FROM documents WHERE id = ? ON CONFLICT DO NOTHING",
        (inside.container, inside.name, document_id),
    )


def going_with(db: Connection, document_id: str) -> list[str]:
    """A document, and all that is here only because it is: what was unpacked from it."""
    going = [document_id]
    while found := db.execute(_ORPHANS, {"going": json.dumps(going)}).fetchall():
        going += [row[0] for row in found]
    return going


def superseded(db: Connection, newer: str, older: str) -> list[str]:
    """What goes when a document takes the place of another: the other, what that was to replace
    itself, and what was to replace it and came before the newer."""
    found: list[str] = []
    waiting = [older]
    while waiting:
        each = waiting.pop(0)
        row = db.execute("SELECT replaces FROM documents WHERE id = ?", (each,)).fetchone()
        if row is None or each in (newer, *found) or newer in going_with(db, each):
            continue
        found.append(each)
        waiting += [row[0]] if row[0] else []
        waiting += [
            rival[0]
            for rival in db.execute(
                "SELECT r.id FROM documents r JOIN documents n ON n.id = ? "
                "WHERE r.replaces = ? AND r.rowid < n.rowid",  # clocks of machines may be wrong
                (newer, each),
            )
        ]
    return found


def name_after(db: Connection, going: Sequence[str]) -> str:
    """The name that is free when these documents go: of the one that replaces no other."""
    row = db.execute(
        "SELECT name FROM documents WHERE id IN (SELECT value FROM json_each(:going)) "
        "ORDER BY coalesce(replaces, '') IN (SELECT id FROM documents), rowid LIMIT 1",
        {"going": json.dumps(list(going))},
    ).fetchone()
    return str(row[0])


def staying_behind(db: Connection, going: Sequence[str]) -> list[str]:
    """What came out of documents that go and stays, and is called after one of them; that it also
    came under the name of one of them is forgotten."""
    rows = db.execute(
        "SELECT d.id, d.name, c.name, p.name FROM parts p "
        "JOIN documents d ON d.id = p.document_id JOIN documents c ON c.id = p.container_id "
        "WHERE p.container_id IN (SELECT value FROM json_each(:going)) "
        "AND p.document_id NOT IN (SELECT value FROM json_each(:going))",
        {"going": json.dumps(list(going))},
    )
    named = [(id_, name, inside_name(*inside)) for id_, name, *inside in rows]
    for document_id, _, inner in named:
        _forget_name(db, document_id, inner)
    return [document_id for document_id, name, inner in named if name == inner]


def rename_by_origin(db: Connection, document_id: str) -> None:
    """Call a document after where it still comes from, unless another has that name."""
    row = db.execute(
        "SELECT c.name, p.name FROM parts p JOIN documents c ON c.id = p.container_id "
        "WHERE p.document_id = ? ORDER BY c.added_at, c.rowid LIMIT 1",
        (document_id,),
    ).fetchone()
    if row is None:
        row = db.execute(
            "SELECT name FROM duplicates WHERE document_id = ? ORDER BY name", (document_id,)
        ).fetchone()
    if row is not None:
        name = inside_name(*row) if len(row) == 2 else row[0]
        _rename(db, document_id, name)


def _rename(db: Connection, document_id: str, name: str) -> bool:
    """Give a document a name, unless another of its collection has that; whether it has it now."""
    renamed = db.execute(
        "UPDATE documents SET name = ? WHERE id = ? AND NOT EXISTS (SELECT 1 FROM documents o "
        "WHERE o.collection = documents.collection AND o.name = ?)",
        (name, document_id, name),
    )
    return bool(renamed.rowcount)


def rename_parts(db: Connection, container_id: str, before: str, after: str) -> None:
    """Give what came out of a document names that begin with its new one, also where that is not
    what it is called."""
    rows = db.execute(
        "SELECT d.id, d.name, p.name FROM documents d JOIN parts p ON p.document_id = d.id "
        "WHERE p.container_id = ?",
        (container_id,),
    ).fetchall()
    for document_id, name, inner in rows:
        if name.startswith(before):
            _rename(db, document_id, after + name[len(before) :])
        if _forget_name(db, document_id, inside_name(before, inner)):
            _note_name(db, document_id, inside_name(after, inner))


def _note_name(db: Connection, document_id: str, name: str) -> None:
    """The same bytes came under another name."""
    db.execute(
        "INSERT INTO duplicates SELECT id, ? FROM documents WHERE id = ? AND name != ? "
        "ON CONFLICT DO NOTHING",
        (name, document_id, name),
    )


def _forget_name(db: Connection, document_id: str, name: str) -> bool:
    """Nothing is called so any more; whether the same bytes had come under this name."""
    gone = db.execute(
        "DELETE FROM duplicates WHERE document_id = ? AND name = ?", (document_id, name)
    )
    return bool(gone.rowcount)


@dataclass(frozen=True, slots=True)
class UnpackingBudget:
    """What may still be unpacked from a document."""

    depth: int  # containers it came out of, one in the other
    parts: int  # documents that came out of the outermost of them, but not out of this one
    size: int  # and their bytes


class Provenance(InDatabase):
    """Why documents are here, and what they are called for it. Thread-safe; every method is one
    transaction."""

    def handed_in(self, document_id: str) -> None:
        """A person handed this document in: it stays when what it came out of goes."""
        with self._write() as db:
            hand_in(db, document_id)

    def add_part(self, inside: Inside, document_id: str) -> None:
        """Note that a document that is here came out of another, too."""
        with self._write() as db:
            add_part(db, inside, document_id)

    def name_unclaimed(self, document_id: str, name: str) -> None:
        """Give a document that nobody handed in a name, unless another has that: it was added again
        from a file without one, and comes now with its own."""
        with self._write() as db:
            before = db.execute(
                "SELECT name FROM documents d WHERE id = ? AND name != ? "
                "AND NOT EXISTS (SELECT 1 FROM handed_in WHERE document_id = d.id) "
                "AND NOT EXISTS (SELECT 1 FROM parts WHERE document_id = d.id) "
                "AND NOT EXISTS (SELECT 1 FROM watched_files WHERE document_id = d.id) "
                "AND NOT EXISTS (SELECT 1 FROM documents o "
                "WHERE o.collection = d.collection AND o.name = ?)",
                (document_id, name, name),
            ).fetchone()
            if before is not None:
                db.execute("UPDATE documents SET name = ? WHERE id = ?", (name, document_id))
                rename_parts(db, document_id, before[0], name)

    def came_again(self, document_id: str, name: str) -> None:
        """The same bytes came under another name."""
        with self._write() as db:
            _note_name(db, document_id, name)

    def taken_names(self, name: str, stem: str, collection: str) -> list[str]:
        """`name`, and the names that begin with "stem (", as far as documents of a collection have
        them."""
        rows = self._rows(
            "SELECT name FROM documents "
            "WHERE collection = ? AND (name = ? OR (name >= ? AND name < ?))",
            (collection, name, f"{stem} (", f"{stem} )"),
        )
        return [row[0] for row in rows]

    def going_with(self, document_id: str) -> list[str]:
        """A document, and all that would be removed with it."""
        with self._read() as db:
            return going_with(db, document_id)

    def superseded(self, newer: str, older: str) -> list[str]:
        """All that goes when a document takes the place of another."""
        with self._read() as db:
            return superseded(db, newer, older)

    def to_replace(self, document_id: str) -> list[str]:
        """All that goes once a document can be searched, because it is to take its place."""
        with self._read() as db:
            row = db.execute(
                "SELECT replaces FROM documents WHERE id = ?", (document_id,)
            ).fetchone()
            return superseded(db, document_id, row[0]) if row and row[0] else []

    def containers(self, document_id: str) -> list[tuple[str, int]]:
        """(id, steps up) of all that a document came out of, nearest first."""
        return self._rows(
            "WITH RECURSIVE up (id, steps) AS ("
            "SELECT container_id, 1 FROM parts WHERE document_id = ? UNION "
            "SELECT p.container_id, up.steps + 1 FROM up JOIN parts p ON p.document_id = up.id "
            "WHERE up.steps < ?) "
            "SELECT id, min(steps) FROM up GROUP BY id ORDER BY 2",
            (document_id, _DEEPEST),
        )

    def room(self, document_id: str) -> UnpackingBudget:
        """How deep a document lies, and how much has come out of what it came out of."""
        outermost, depth = [(document_id, 0), *self.containers(document_id)][-1]
        count, size = self._contents(outermost)
        own, own_size = self._contents(document_id)  # of an earlier reading of it
        return UnpackingBudget(depth, count - own, size - own_size)

    def _contents(self, document_id: str) -> tuple[int, int]:
        """How many documents came out of a document, whatever their depth, and their bytes."""
        row = self._row(
            "WITH RECURSIVE down (id) AS ("
            "SELECT document_id FROM parts WHERE container_id = ? UNION "
            "SELECT p.document_id FROM down JOIN parts p ON p.container_id = down.id) "
            "SELECT count(*), coalesce(sum(d.size), 0) FROM down "
            "JOIN documents d ON d.id = down.id WHERE d.id != ?",
            (document_id, document_id),
        )
        return row[0], row[1]


# Which documents came from the web: the address that was asked for, where it led, and when.
#
# Every method is one transaction. Knows nothing of the network.


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a document was fetched from."""

    asked: str  # the address as a person gave it
    address: str  # where that led to
    at: str  # when it was fetched last, ISO 8601, UTC


class Fetched(InDatabase):
    """The addresses of documents. Thread-safe."""

    def note(self, document_id: str, origin: Origin) -> None:
        """A document was fetched, perhaps again; of two addresses it keeps the first."""
        self._run(
            "INSERT INTO fetched SELECT id, ?, ?, ? FROM documents WHERE id = ? "
            "ON CONFLICT (document_id) DO UPDATE SET fetched_at = excluded.fetched_at "
            "WHERE fetched.asked = excluded.asked OR fetched.address = excluded.address",
            (origin.asked, origin.address, origin.at, document_id),
        )

    def of(self, document_id: str) -> Origin | None:
        """Where a document was fetched from; None if it was not."""
        return self.all([document_id], WORKER).get(document_id)

    def all(self, document_ids: Iterable[str], scope: Scope) -> dict[str, Origin]:
        """Where those of these documents came from that were fetched, by id."""
        only, given = document_seen(scope, "document_id")
        rows = self._rows(
            "SELECT document_id, asked, address, fetched_at FROM fetched "
            f"WHERE document_id IN (SELECT value FROM json_each(?)) AND {only}",
            (json.dumps(list(document_ids)), *given),
        )
        return {row[0]: Origin(*row[1:]) for row in rows}

    def earlier(self, document_id: str) -> str | None:
        """The latest of the other documents that came from the same address, if there is one."""
        row = self._row(
            "SELECT o.document_id FROM fetched n JOIN fetched o "
            "ON o.document_id != n.document_id "
            "AND (o.asked IN (n.asked, n.address) OR o.address IN (n.asked, n.address)) "
            "JOIN documents m ON m.id = n.document_id "
            "JOIN documents d ON d.id = o.document_id AND d.collection = m.collection "
            "WHERE n.document_id = ? AND d.rowid < m.rowid ORDER BY d.rowid DESC LIMIT 1",
            (document_id,),
        )
        return str(row[0]) if row else None


@dataclass(frozen=True, slots=True)
class Known:
    """A file of a watched folder as it is, or as it was last taken in, or refused; while size and
    time stay, so does the file."""

    size: int
    changed: int  # when, in nanoseconds
    document_id: str | None = None  # None: refused, or removed here
    refused: str = ""


def _watched_as(db: Connection, folder: str, path: str) -> str | None:
    """The document that a file of a watched folder is."""
    row = db.execute(
        "SELECT document_id FROM watched_files WHERE folder = ? AND path = ?", (folder, path)
    ).fetchone()
    return row[0] if row else None


def _rename_by_file(db: Connection, document_id: str | None) -> None:
    """Call a document that is here for files of watched folders alone, and is called as none of
    them is, after one of them, unless another has that name or it gives way to another."""
    rows = db.execute(
        "SELECT d.name, w.path FROM documents d JOIN watched_files w ON w.document_id = d.id "
        "WHERE d.id = ? AND d.replaces IS NULL "
        "AND NOT EXISTS (SELECT 1 FROM handed_in WHERE document_id = d.id) "
        "AND NOT EXISTS (SELECT 1 FROM parts WHERE document_id = d.id) "
        "AND NOT EXISTS (SELECT 1 FROM documents n WHERE n.replaces = d.id) "
        "ORDER BY w.folder, w.path",
        (document_id,),
    ).fetchall()
    files = [display_name(path) for _, path in rows]
    if not files or rows[0][0] in files or not _rename(db, document_id or "", files[0]):
        return
    _forget_name(db, document_id or "", files[0])
    rename_parts(db, document_id or "", rows[0][0], files[0])


class Folders(InDatabase):
    """Which folders are watched. Thread-safe."""

    def add(self, folder: str, identity: str) -> None:
        """Watch a folder; watching it twice is watching it once."""
        now = datetime.now(UTC).isoformat()
        self._run(
            "INSERT INTO watched VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (folder, identity, now)
        )

    def recognise(self, folder: str, identity: str) -> None:
        """The folder is the same, though the system calls it by another number now."""
        self._run("UPDATE watched SET identity = ? WHERE folder = ?", (identity, folder))

    def remove(self, folder: str) -> None:
        """Watch a folder no more; its documents stay, as if a person had handed them in."""
        with self._write() as db:
            db.execute(
                "INSERT INTO handed_in SELECT document_id FROM watched_files "
                "WHERE folder = ? AND document_id IS NOT NULL ON CONFLICT DO NOTHING",
                (folder,),
            )
            db.execute("DELETE FROM watched WHERE folder = ?", (folder,))

    def all(self) -> list[tuple[str, str]]:
        """(folder, identity) of the watched folders, the longest watched first."""
        return self._rows("SELECT folder, identity FROM watched ORDER BY since")

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
        """Write down what became of a file. What it was before and stays is called after the files
        that it still is."""
        with self._write() as db:
            before = _watched_as(db, folder, path)
            db.execute(
                "INSERT INTO watched_files SELECT folder, ?, CAST(? AS BIGINT), "
                "CAST(? AS BIGINT), (SELECT id FROM documents WHERE id = ?), ? FROM watched "
                "WHERE folder = ? ON CONFLICT (folder, path) DO UPDATE SET size = excluded.size, "
                "changed = excluded.changed, document_id = excluded.document_id, "
                "refused = excluded.refused",
                (path, known.size, known.changed, known.document_id, known.refused, folder),
            )
            if before != known.document_id:
                for each in (before, known.document_id):  # whose name the first has perhaps
                    _rename_by_file(db, each)

    def forget(self, folder: str, path: str) -> None:
        """The file is gone; if its document stays, it is called after the files that it still
        is."""
        with self._write() as db:
            before = _watched_as(db, folder, path)
            db.execute("DELETE FROM watched_files WHERE folder = ? AND path = ?", (folder, path))
            _rename_by_file(db, before)

    def is_elsewhere(self, document_id: str, folder: str, path: str) -> bool:
        """Whether a document is here for another reason than this file."""
        row = self._row(
            "SELECT EXISTS (SELECT 1 FROM watched_files WHERE document_id = :id "
            "AND NOT (folder = :folder AND path = :path)) "
            "OR EXISTS (SELECT 1 FROM handed_in WHERE document_id = :id) "
            "OR EXISTS (SELECT 1 FROM parts WHERE document_id = :id)",
            {"id": document_id, "folder": folder, "path": path},
        )
        return bool(row[0])


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """A file of a bucket or folder as it was when it was last loaded, or refused."""

    version: str
    document_id: str | None = None  # None: refused, or removed here
    refused: str = ""


class LoadedFiles(InDatabase):
    """Which files were loaded. Thread-safe."""

    def of(self, source: str, collection: str, path: str) -> LoadedFile | None:
        """What is known of a file; None if it was never loaded."""
        row = self._row(
            "SELECT version, document_id, refused FROM loaded "
            "WHERE source = ? AND collection = ? AND path = ?",
            (source, collection, path),
        )
        return LoadedFile(*row) if row else None

    def keep(self, source: str, collection: str, path: str, loaded: LoadedFile) -> None:
        """Write down what became of a file."""
        self._run(
            "INSERT INTO loaded "
            "VALUES (?, ?, ?, ?, (SELECT id FROM documents WHERE id = ?), ?) "
            "ON CONFLICT (source, collection, path) DO UPDATE SET version = excluded.version, "
            "document_id = excluded.document_id, refused = excluded.refused",
            (source, collection, path, loaded.version, loaded.document_id, loaded.refused),
        )

    def is_elsewhere(self, document_id: str, source: str, path: str) -> bool:
        """Whether a document is another file that was loaded, lies in a watched folder, or came out
        of another document, too."""
        row = self._row(
            "SELECT 1 FROM loaded WHERE document_id = :id "
            "AND NOT (source = :source AND path = :path) "
            "UNION ALL SELECT 1 FROM watched_files WHERE document_id = :id "
            "UNION ALL SELECT 1 FROM parts WHERE document_id = :id LIMIT 1",
            {"id": document_id, "source": source, "path": path},
        )
        return row is not None
