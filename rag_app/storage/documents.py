"""The truth: which documents there are, how far they have come, which give way and which go; and
where a person puts them: one folder each, tags, and sets that have a name.

A folder is written like a path, "Contracts/2025"; what stands in a folder inside is in it, too.
Every method is one transaction. Knows nothing of vectors, models or files."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from rag_app.errors import CollectionGone, UnknownDocument
from rag_app.scope import Scope
from rag_app.storage.contents import Contents, Scans
from rag_app.storage.database import (
    AnyDatabase,
    Connection,
    Database,
    InDatabase,
    document_seen,
    seen,
)
from rag_app.storage.engines import claims_of
from rag_app.storage.provenance import (
    Fetched,
    Inside,
    Provenance,
    add_part,
    going_with,
    hand_in,
    name_after,
    rename_by_origin,
    rename_parts,
    staying_behind,
    superseded,
)
from rag_app.storage.queue import Queue, to_clean
from rag_app.types import Document, Status

_LISTINGS = 64  # that are kept, one for each scope that was looked through last
_GIVEN_WAY_TO = Status.SEARCHABLE, Status.READY  # of what takes the place of an older document
_LONGEST = 80  # characters of a name


class Store(Contents):
    """What is known of documents, and what they say. Thread-safe.

    What lists or finds takes the scope of who asks; work on the documents themselves is done by
    the `WORKER`, who sees them all."""

    def __init__(self, where: Path | AnyDatabase) -> None:
        super().__init__(Database(where) if isinstance(where, Path) else where)
        self.claims = claims_of(self.database)
        self.queue = Queue(self.database, self.claims)
        self.provenance = Provenance(self.database)
        self.fetched = Fetched(self.database)
        self._listing = threading.Lock()
        # By collections (None: all): the documents as of so many commits.
        self._listed: OrderedDict[tuple[str, ...] | None, tuple[int, list[Document]]] = (
            OrderedDict()
        )
        self.scans = Scans(self.database)

    def close(self) -> None:
        """Let go of the database, and of what was claimed in it."""
        self.claims.close()
        self.database.close()

    def add_document(
        self,
        document: Document,
        *,
        handed_in: bool = True,
        inside: Inside | None = None,
        added_by: str = "",
        place: float = 0.0,
    ) -> None:
        """Keep a received document; keeping it again changes nothing.

        It was `handed_in` by a person, or came out of another, or is in a watched folder. `place`
        is that among what the same person added; what came out of another is theirs who added
        that. Raises CollectionGone."""
        with self._write() as db:
            _check_collection(db, document)
            db.execute(
                "INSERT INTO documents "
                "(id, name, suffix, size, status, added_at, collection, place, added_by) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, "
                "coalesce((SELECT added_by FROM documents WHERE id = ?), ?)) "
                "ON CONFLICT DO NOTHING",
                (
                    *(document.id, document.name, document.suffix, document.size),
                    *(document.status, document.added_at, document.collection, place),
                    *(inside.container if inside else None, added_by),
                ),
            )
            # The same file may come back before the old one is fully swept away.
            db.execute("DELETE FROM removals WHERE document_id = ?", (document.id,))
            if inside:
                add_part(db, inside, document.id)
            elif handed_in:
                hand_in(db, document.id)

    def documents(self, scope: Scope, ids: Iterable[str] | None = None) -> list[Document]:
        """All documents or those of these ids, in the order they were added."""
        if ids is not None:
            wanted = json.dumps([*ids])
            return self._selected(scope, "id IN (SELECT value FROM json_each(?))", wanted)
        # The page asks for all of them again and again, and most of the time nothing has changed.
        commits = self.database.commits  # first: what is added meanwhile makes the list outdated
        widest = self.reach.widest(scope)
        key = None if widest.everything else widest.collections
        with self._listing:
            known = self._listed.get(key)
        if known is None or known[0] != commits:
            known = (commits, self._selected(scope, "TRUE"))
        with self._listing:
            self._listed[key] = known
            self._listed.move_to_end(key)
            if len(self._listed) > _LISTINGS:
                self._listed.popitem(last=False)
        return list(known[1])

    def _selected(self, scope: Scope, which: str, *arguments: str) -> list[Document]:
        only, given = seen(scope)
        rows = self._rows(
            f"SELECT {_COLUMNS} FROM documents WHERE {which} AND {only} ORDER BY added_at, rowid",
            (*arguments, *given),
            scope,
        )
        return [_document(row) for row in rows]

    def document(self, document_id: str, scope: Scope) -> Document:
        """The document with this id. Raises UnknownDocument, for one that is not in the scope in
        the same words as for one that does not exist."""
        for document in self._selected(scope, "id = ?", document_id):
            return document
        raise UnknownDocument("That document is not in the library any more.")

    def named(self, name: str, scope: Scope) -> Document | None:
        """The document with this name, if there is one; of several collections', the first."""
        return next(iter(self._selected(scope, "name = ?", name)), None)

    def kept_of(self, added_by: str) -> tuple[int, int]:
        """(bytes, pages) of the documents that somebody added."""
        found = self._row(
            "SELECT coalesce(sum(size), 0), coalesce(sum(pages), 0) FROM documents "
            "WHERE added_by = ?",
            (added_by,),
        )
        return int(found[0]), int(found[1])

    def counted(self) -> dict[str, int]:
        """How many documents there are in each state."""
        rows = self._rows("SELECT status, count(*) FROM documents GROUP BY status")
        return {row[0]: int(row[1]) for row in rows}

    def added_by(self, scope: Scope) -> dict[str, str]:
        """Who added each of the documents that are seen, by its id; empty: nobody who signed in."""
        only, given = seen(scope)
        rows = self._rows(f"SELECT id, added_by FROM documents WHERE {only}", given, scope)
        return {row[0]: row[1] for row in rows}

    def who_added(self, document_id: str) -> str:
        """Who added a document; empty: nobody who signed in."""
        row = self._row("SELECT added_by FROM documents WHERE id = ?", (document_id,))
        return str(row[0]) if row else ""

    def set_status(self, document_id: str, status: Status) -> None:
        """Move a document on; a failure it had is forgotten."""
        self._run(
            "UPDATE documents SET status = ?, error = NULL, error_code = NULL WHERE id = ?",
            (status, document_id),
        )

    def set_failed(self, document_id: str, message: str, code: str) -> None:
        """Record why a document cannot be read."""
        self._run(
            "UPDATE documents SET status = ?, error = ?, error_code = ? WHERE id = ?",
            (Status.FAILED, message, code, document_id),
        )

    def remove(self, *document_ids: str) -> None:
        """Forget documents' text and words, and note that their files and vectors are to go too.

        What was unpacked from them and is here for no other reason goes with them."""
        with self._write() as db:
            for document_id in document_ids:
                _remove(db, document_id)

    def want_replacement(self, newer: str, older: str) -> None:
        """Note that a document is to take the place of another as soon as it can be searched."""
        self._run("UPDATE documents SET replaces = ? WHERE id = ?", (older, newer))

    def keep(self, document_id: str) -> None:
        """Nothing takes the place of this document any more."""
        self._run("UPDATE documents SET replaces = NULL WHERE replaces = ?", (document_id,))

    def replacements(self) -> list[tuple[str, str]]:
        """(newer id, older id) of the replacements that can be carried out now."""
        with self._read() as db:
            rows = db.execute(
                "SELECT n.id, o.id FROM documents n JOIN documents o ON o.id = n.replaces "
                "WHERE n.status IN (?, ?)",
                _GIVEN_WAY_TO,
            )
            return [tuple(row) for row in rows]

    def replace(self, newer: str, older: str) -> None:
        """Let a document take the name of another, which is removed, in one step; nothing happens
        unless that is still wanted, and can be carried out, see `replacements`.

        What the other was still to replace itself goes, too, and earlier versions that wait."""
        with self._write() as db:
            going = superseded(db, newer, older)
            before = db.execute(  # the older may have been handed in again meanwhile
                "SELECT name FROM documents WHERE id = ? AND replaces = ? AND status IN (?, ?)",
                (newer, older, *_GIVEN_WAY_TO),
            ).fetchone()
            if not going or before is None:
                return
            name = name_after(db, going)
            rivals = json.dumps(going)
            db.execute(
                "UPDATE documents SET replaces = ? "
                "WHERE replaces IN (SELECT value FROM json_each(?)) AND id != ?",
                (newer, rivals, newer),
            )
            staying = [one for each in going for one in _take_out(db, each) if one != newer]
            # First, or one of those that stay takes the name that has just become free.
            db.execute("UPDATE documents SET name = ?, replaces = NULL WHERE id = ?", (name, newer))
            for each in staying:
                rename_by_origin(db, each)
            rename_parts(db, newer, before[0], name)

    def removals(self) -> list[tuple[str, str]]:
        """(document id, suffix) of the removed whose file and vectors may still be there."""
        return [tuple(row) for row in self._rows("SELECT document_id, suffix FROM removals")]

    def finish_removal(self, document_id: str) -> None:
        """Its file and vectors are gone."""
        with self._write() as db:
            db.execute("DELETE FROM removals WHERE document_id = ?", (document_id,))
            to_clean(db)

    def shred(self) -> None:
        """Make removed text unreadable on disk and give the space back."""
        with self._write() as db:
            self.words.tidy(db)
        self.database.rewrite()


def _check_collection(db: Connection, document: Document) -> None:
    """Raises CollectionGone where nobody would ever see a document, or remove it."""
    there = "SELECT 1 FROM access_collections WHERE id = ? AND NOT emptying"
    if db.execute(there, (document.collection,)).fetchone() is None:
        raise CollectionGone(
            f"The collection that “{document.name}” was to be in has been deleted. "
            "Add it to another one."
        )


def _remove(db: Connection, document_id: str) -> None:
    for each in _take_out(db, document_id):
        rename_by_origin(db, each)


def _take_out(db: Connection, document_id: str) -> list[str]:
    """Forget a document and what goes with it; what stays and is still called after it."""
    going = going_with(db, document_id)
    staying = staying_behind(db, going)
    for each in going:
        db.execute(
            "INSERT INTO removals SELECT id, suffix FROM documents WHERE id = ? "
            "ON CONFLICT DO NOTHING",
            (each,),
        )
        db.execute("DELETE FROM chunks WHERE document_id = ?", (each,))
        db.execute("DELETE FROM documents WHERE id = ?", (each,))
    to_clean(db)
    return staying


_COLUMNS = (  # as `Document` has them
    "id, name, suffix, size, status, added_at, pages, chunks, title, "
    "warnings, error, error_code, language, collection"
)
_STATUSES = {status.value: status for status in Status}


def _document(row: Any) -> Document:
    id_, name, suffix, size, status, added_at, pages, chunks, title, warnings, *rest = row
    state, told = _STATUSES[status], tuple(json.loads(warnings)) if warnings != "[]" else ()
    return Document(id_, name, suffix, size, state, added_at, pages, chunks, title, told, *rest)


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


class DocumentGroups(InDatabase):
    """What one person puts documents under, of those that they see; nobody else's is touched.

    Every method is one transaction; names that differ in case only are the same."""

    def __init__(self, database: AnyDatabase, scope: Scope) -> None:
        super().__init__(database)
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
                f"SELECT g.tag, g.document_id FROM tags g {mine} ORDER BY lower(g.tag)", whose
            ).fetchall()
            sets = db.execute(
                "SELECT n.name, g.document_id FROM sets n LEFT JOIN in_sets g "
                f"ON g.owner = n.owner AND g.name = n.name AND {only} "
                "WHERE n.owner = ? ORDER BY lower(n.name)",
                (*given, self._owner),
            ).fetchall()
        around = [
            (outer, id_)
            for folder, id_ in folders
            for outer in accumulate(folder.split("/"), "{}/{}".format)
        ]
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
        self._run(
            "DELETE FROM tags WHERE document_id = ? AND owner = ?", (document_id, self._owner)
        )
        for tag in tags:
            self.tag([document_id], tag)

    def untag(self, document_ids: Iterable[str], tag: str) -> None:
        """Take a tag from documents."""
        with self._write() as db:
            db.executemany(
                "DELETE FROM tags WHERE document_id = ? AND owner = ? AND lower(tag) = lower(?)",
                [(id_, self._owner, cleaned(tag)) for id_ in document_ids],
            )

    def collect(self, name: str, document_ids: Iterable[str]) -> str:
        """Keep a choice of documents under a name, in place of an earlier one; the name."""
        named = cleaned(name)
        if named:
            with self._write() as db:
                self._drop(db, named)
                db.execute("INSERT INTO sets (owner, name) VALUES (?, ?)", (self._owner, named))
                for document_id in document_ids:
                    self._insert(db, "in_sets (document_id, owner, name)", document_id, named)
        return named

    def drop(self, name: str) -> None:
        """Forget a set; its documents stay."""
        with self._write() as db:
            self._drop(db, cleaned(name))

    def _drop(self, db: Connection, name: str) -> None:
        db.execute(
            "DELETE FROM sets WHERE owner = ? AND lower(name) = lower(?)", (self._owner, name)
        )

    def _insert(self, db: Connection, into: str, document_id: str, name: str) -> None:
        """A row (document, owner, name), if the document can be seen."""
        only, given = seen(self._scope)
        db.execute(
            f"INSERT INTO {into} SELECT id, ?, ? FROM documents WHERE id = ? AND {only} "
            "ON CONFLICT DO NOTHING",
            (self._owner, name, document_id, *given),
        )

    def _as_known(self, db: Connection, tag: str) -> str:
        """The tag as it is written already, if it is."""
        row = db.execute(
            "SELECT tag FROM tags WHERE owner = ? AND lower(tag) = lower(?)", (self._owner, tag)
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


def _by_name(rows: Iterable[tuple[str, str | None]]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for name, document_id in rows:
        held = found.setdefault(name, set())
        if document_id is not None:
            held.add(document_id)
    return {name: frozenset(ids) for name, ids in found.items()}
