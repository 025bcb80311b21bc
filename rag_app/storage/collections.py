"""Where a person puts documents: one folder each, tags, and collections that have a name.

A folder is written like a path, "Contracts/2025"; what stands in a folder inside is in it, too."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rag_app.storage.database import Database

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
    collections: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, document_id: str) -> Shelved:
        """Where a document stands."""
        inside = [name for name, ids in self.folders.items() if document_id in ids]
        tags = tuple(name for name, ids in self.tags.items() if document_id in ids)
        return Shelved(max(inside, key=len, default=""), tags)


class DocumentGroups:
    """Every method is one transaction; names that differ in case only are the same."""

    def __init__(self, database: Database) -> None:
        self._read, self._write = database.read, database.write

    def all(self) -> GroupListing:
        """Folders (and those around them), tags and collections that hold something."""
        with self._read() as db:
            folders = db.execute("SELECT folder, document_id FROM folders").fetchall()
            tags = db.execute("SELECT tag, document_id FROM tags ORDER BY tag").fetchall()
            collections = db.execute(
                "SELECT n.name, c.document_id FROM collections n "
                "LEFT JOIN collected c ON c.collection = n.name ORDER BY n.name"
            ).fetchall()
        around = [(outer, id_) for folder, id_ in folders for outer in _outer(folder)]
        return GroupListing(_by_name(sorted(around)), _by_name(tags), _by_name(collections))

    def put(self, document_id: str, folder: str) -> None:
        """Put a document into a folder, out of the one it was in; "" is none."""
        named = cleaned_folder(folder)
        with self._write() as db:
            db.execute("DELETE FROM folders WHERE document_id = ?", (document_id,))
            if named:
                db.execute(
                    "INSERT INTO folders SELECT id, ? FROM documents WHERE id = ?",
                    (named, document_id),
                )

    def tag(self, document_ids: Iterable[str], tag: str) -> None:
        """Give documents a tag that they may have already; an empty one is none."""
        named = cleaned(tag)
        with self._write() as db:
            db.executemany(
                "INSERT OR IGNORE INTO tags SELECT id, ? FROM documents WHERE id = ? AND ? <> ''",
                [(_as_known(db, named), id_, named) for id_ in document_ids],
            )

    def retag(self, document_id: str, tags: Sequence[str]) -> None:
        """Let a document have exactly these tags."""
        with self._write() as db:
            db.execute("DELETE FROM tags WHERE document_id = ?", (document_id,))
        for tag in tags:
            self.tag([document_id], tag)

    def untag(self, document_ids: Iterable[str], tag: str) -> None:
        """Take a tag from documents."""
        with self._write() as db:
            db.executemany(
                "DELETE FROM tags WHERE document_id = ? AND tag = ?",
                [(id_, cleaned(tag)) for id_ in document_ids],
            )

    def collect(self, name: str, document_ids: Iterable[str]) -> str:
        """Keep a choice of documents under a name, in place of an earlier one; the name."""
        named = cleaned(name)
        if named:
            with self._write() as db:
                db.execute("DELETE FROM collections WHERE name = ?", (named,))
                db.execute("INSERT INTO collections VALUES (?)", (named,))
                db.executemany(
                    "INSERT OR IGNORE INTO collected SELECT ?, id FROM documents WHERE id = ?",
                    [(named, id_) for id_ in document_ids],
                )
        return named

    def drop(self, name: str) -> None:
        """Forget a collection; its documents stay."""
        with self._write() as db:
            db.execute("DELETE FROM collections WHERE name = ?", (cleaned(name),))


def cleaned(name: str) -> str:
    """A name as it is kept: on one line, without a # before it, not too long."""
    printable = "".join(c if c.isprintable() else " " for c in name)
    return " ".join(printable.split()).lstrip("#").strip()[:_LONGEST].strip()


def cleaned_folder(folder: str) -> str:
    """A folder as it is kept: its parts cleaned, without empty ones and without dots."""
    parts = (cleaned(part) for part in folder.replace("\\", "/").split("/"))
    return "/".join(part for part in parts if part.strip("."))


def _as_known(db: sqlite3.Connection, tag: str) -> str:
    """The tag as it is written already, if it is."""
    row = db.execute("SELECT tag FROM tags WHERE tag = ?", (tag,)).fetchone()
    return str(row[0]) if row else tag


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
