"""Where a person puts documents: one folder each, tags, and sets that have a name.

A folder is written like a path, "Contracts/2025"; what stands in a folder inside is in it, too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rag_app.scope import Scope
from rag_app.storage.database import Database
from rag_app.storage.scoping import document_seen, seen

_LONGEST = 80  # characters of a name


@dataclass(frozen=True, slots=True)
class Shelved:
    """Where one document stands."""

    folder: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupListing:
    """Everything that documents are put under, by name; the ids in no particular order."""

    folders: Mapping[str, frozenset[str]] = field(default_factory=dict)
    tags: Mapping[str, frozenset[str]] = field(default_factory=dict)
    sets: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, document_id: str) -> Shelved:
        """Where a document stands."""
        inside = [name for name, ids in self.folders.items() if document_id in ids]
        tags = tuple(name for name, ids in self.tags.items() if document_id in ids)
        return Shelved(max(inside, key=len, default=""), tags)


class DocumentGroups:
    """What one person puts documents under, of those that they see; nobody else's is touched.

    Every method is one transaction; names that differ in case only are the same."""

    def __init__(self, database: Database, scope: Scope) -> None:
        self._read, self._write = database.read, database.write
        self._scope, self._owner = scope, scope.subject

    def all(self) -> GroupListing:
        """Folders (and those around them), tags and sets that hold something."""
        only, given = document_seen(self._scope, "g.document_id")
        mine = f"WHERE g.owner = ? AND {only}"
        whose = (self._owner, *given)
        with self._read() as db:
            folders = db.execute(
                f"SELECT g.folder, g.document_id FROM folders g {mine}", whose
            ).fetchall()
            tags = db.execute(
                f"SELECT g.tag, g.document_id FROM tags g {mine} ORDER BY g.tag", whose
            ).fetchall()
            sets = db.execute(
                "SELECT n.name, g.document_id FROM sets n LEFT JOIN in_sets g "
                f"ON g.owner = n.owner AND g.name = n.name AND {only} "
                "WHERE n.owner = ? ORDER BY n.name",
                (*given, self._owner),
            ).fetchall()
        around = [(outer, id_) for folder, id_ in folders for outer in _outer(folder)]
        return GroupListing(_by_name(sorted(around)), _by_name(tags), _by_name(sets))

    def put(self, document_id: str, folder: str) -> None:
        """Put a document into a folder, out of the one it was in; "" is none."""
        named = cleaned_folder(folder)
        with self._write() as db:
            db.execute(
                "DELETE FROM folders WHERE document_id = ? AND owner = ?",
                (document_id, self._owner),
            )
            if named:
                self._insert(db, "folders (document_id, owner, folder)", document_id, named)

    def tag(self, document_ids: Iterable[str], tag: str) -> None:
        """Give documents a tag that they may have already; an empty one is none."""
        named = cleaned(tag)
        with self._write() as db:
            known = self._as_known(db, named)
            for document_id in document_ids if named else ():
                self._insert(db, "tags (document_id, owner, tag)", document_id, known)

    def retag(self, document_id: str, tags: Sequence[str]) -> None:
        """Let a document have exactly these tags."""
        with self._write() as db:
            db.execute(
                "DELETE FROM tags WHERE document_id = ? AND owner = ?", (document_id, self._owner)
            )
        for tag in tags:
            self.tag([document_id], tag)

    def untag(self, document_ids: Iterable[str], tag: str) -> None:
        """Take a tag from documents."""
        with self._write() as db:
            db.executemany(
                "DELETE FROM tags WHERE document_id = ? AND owner = ? AND tag = ?",
                [(id_, self._owner, cleaned(tag)) for id_ in document_ids],
            )

    def collect(self, name: str, document_ids: Iterable[str]) -> str:
        """Keep a choice of documents under a name, in place of an earlier one; the name."""
        named = cleaned(name)
        if named:
            with self._write() as db:
                db.execute("DELETE FROM sets WHERE owner = ? AND name = ?", (self._owner, named))
                db.execute("INSERT INTO sets (owner, name) VALUES (?, ?)", (self._owner, named))
                for document_id in document_ids:
                    self._insert(db, "in_sets (document_id, owner, name)", document_id, named)
        return named

    def drop(self, name: str) -> None:
        """Forget a set; its documents stay."""
        with self._write() as db:
            db.execute(
                "DELETE FROM sets WHERE owner = ? AND name = ?", (self._owner, cleaned(name))
            )

    def _insert(self, db: sqlite3.Connection, into: str, document_id: str, name: str) -> None:
        """A row (document, owner, name), if the document can be seen."""
        only, given = seen(self._scope)
        db.execute(
            f"INSERT OR IGNORE INTO {into} SELECT id, ?, ? FROM documents WHERE id = ? AND {only}",
            (self._owner, name, document_id, *given),
        )

    def _as_known(self, db: sqlite3.Connection, tag: str) -> str:
        """The tag as it is written already, if it is."""
        row = db.execute(
            "SELECT tag FROM tags WHERE owner = ? AND tag = ?", (self._owner, tag)
        ).fetchone()
        return str(row[0]) if row else tag


def cleaned(name: str) -> str:
    """A name as it is kept: on one line, without a # before it, not too long."""
    printable = "".join(c if c.isprintable() else " " for c in name)
    return " ".join(printable.split()).lstrip("#").strip()[:_LONGEST].strip()


def cleaned_folder(folder: str) -> str:
    """A folder as it is kept: its parts cleaned, without empty ones and without dots."""
    parts = (cleaned(part) for part in folder.replace("\\", "/").split("/"))
    return "/".join(part for part in parts if part.strip("."))


def _outer(folder: str) -> list[str]:
    parts = folder.split("/")
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _by_name(rows: Iterable[tuple[str, str | None]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, document_id in rows:
        held = found.setdefault(name, set())
        if document_id is not None:
            held.add(document_id)
    return {name: frozenset(ids) for name, ids in found.items()}
