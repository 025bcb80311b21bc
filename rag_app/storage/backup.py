"""A backup: database, originals and preferences as they were at one moment, in one ZIP file.

Another process may own the data directory meanwhile: SQLite itself copies the database, and an
original never changes. Vectors and models are left out; they are made, or fetched, again."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from rag_app.errors import BackupError, DiskFull
from rag_app.scope import HOME, WORKER
from rag_app.settings import app_version
from rag_app.storage.database import FULL, VERSIONS
from rag_app.storage.documents import Store
from rag_app.storage.object_store import Bucket
from rag_app.storage.originals import ASIDE, UNLOCKED, Digest, begun_for, made_for_me
from rag_app.storage.queue import UNCLEANED
from rag_app.supervision import Told, untold
from rag_app.text.formats import LOCKABLE
from rag_app.types import SetAside

# What is in a backup, and what it says of itself.

FORMAT = 1  # of the archive and of its manifest
MANIFEST, DATABASE = "manifest.json", "library.sqlite3"
PREFERENCES = re.compile(r"preferences(-[0-9a-f]{64})?\.json")  # of the app, and of each person
KEPT = re.compile(rf"files/({ASIDE}/)?([0-9a-f]{{64}})({re.escape(UNLOCKED)})?(\.[a-z0-9]{{1,16}})")
"""The names of originals, of their unlocked copies, and of both where they are set aside."""
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class BackupMember:
    """A file in a backup."""

    sha256: str
    size: int  # bytes


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself."""

    app_version: str  # that made it
    created_at: str  # ISO 8601, UTC
    documents: int
    conversations: int
    lost: Mapping[str, str]  # originals that the library itself had lost: member, shown name
    members: Mapping[str, BackupMember]

    def as_json(self) -> bytes:
        """As it stands in the archive."""
        return json.dumps({"format": FORMAT} | asdict(self), indent=1).encode()


def content_of(name: str) -> str:
    """The content id that the name of a member promises; empty: it promises none."""
    match = KEPT.fullmatch(name)
    return match[2] if match and not match[3] else ""


# Where it is made, and checked before it is anywhere else.


@contextmanager
def workshop(beside: Path) -> Iterator[Path]:
    """An empty folder in "NAME.part" beside a file or folder, gone afterwards.

    What a killed process left in it goes, too. Raises BackupError while another one works there."""
    place = beside.with_name(f"{beside.name}.part")
    try:
        place.mkdir(mode=0o700, exist_ok=True)
    except FileExistsError as error:
        raise BackupError(f"{place} is in the way. Move it away, and try again.") from error
    lock, work = FileLock(place / "lock", mode=0o600), place / "work"
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise BackupError(
            f"Another rag-app is making or restoring a backup in {place}. Wait for it to end."
        ) from error
    try:
        if work.exists():
            shutil.rmtree(work)
        work.mkdir(mode=0o700)
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        lock.release()
        with suppress(OSError):  # somebody else's things lie in it
            (place / "lock").unlink(missing_ok=True)
            place.rmdir()


@contextmanager
def in_a_sentence(place: Path) -> Iterator[None]:
    """Raises BackupError for what keeps `place` from being written."""
    try:
        yield
    except (OSError, DiskFull) as error:
        full = isinstance(error, DiskFull) or error.errno in (errno.ENOSPC, errno.EDQUOT)
        said = getattr(error, "strerror", None) or str(error)
        why = "the disk is full. Make room on it" if full else f"{said}. Mend that"
        raise BackupError(f"{place} cannot be written: {why}, or choose another place.") from error


def sync(folder: Path) -> None:
    """See to it that the names in a folder are on the disk, where the system lets one."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_database(path: Path, what: str) -> None:
    """Raises BackupError if the copy of a database at `path` is torn, or newer than this app."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > len(VERSIONS):
                raise BackupError(
                    f"{what} was made by a newer version of this app. Update the app first."
                )
            whole = db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    except sqlite3.Error:
        whole = False
    if not whole:
        raise BackupError(
            f"{what} is damaged: its database cannot be read whole. Use an earlier backup."
        )


# Made: the database is copied, then what it names. What was removed in between leads to another
# copy; that one names other files, few of which are not there yet.

_MOST_COPIES = 200


def _digested(blocks: Iterator[bytes], digest: Digest) -> Iterator[bytes]:
    for block in blocks:
        digest.update(block)
        yield block


class _UnreadableError(Exception):
    """A file cannot be read, though it is there."""


@dataclass(frozen=True, slots=True)
class _Named:
    """A document as the copy of the database names it."""

    id: str
    suffix: str
    name: str
    size: int
    added_at: str
    collection: str

    @property
    def original(self) -> str:
        return f"files/{self.id}{self.suffix}"

    @property
    def unlocked(self) -> str:
        return f"files/{self.id}{UNLOCKED}{self.suffix}"


@contextmanager
def _read_only(folder: Path) -> Iterator[sqlite3.Connection]:
    """A second connection to the database of a library. Raises BackupError or DiskFull."""
    uri = f"{(folder / DATABASE).as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=30)) as db:
            yield db
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code in FULL:
            raise DiskFull.now() from error
        if code is not None and code & 0xFF == sqlite3.SQLITE_CANTOPEN:
            raise BackupError(
                f"There is no library in {folder} that you may read. "
                "Say with --data-dir where it is."
            ) from error
        raise BackupError(
            f"The library in {folder} cannot be read: {error}. Use an earlier backup."
        ) from error


class _ArchiveWriter:
    """A ZIP file that is being written, with sizes and hashes of all that is in it."""

    def __init__(self, file: BinaryIO, opened: zipfile.ZipFile) -> None:
        self._file, self._zip = file, opened
        self._places: dict[str, tuple[int, int]] = {}
        self.members: dict[str, BackupMember] = {}

    def add(self, name: str, blocks: Iterator[bytes], *, packed: bool = False) -> BackupMember:
        """Write a member, block by block; what `blocks` raises first leaves no trace."""
        first = next(blocks, b"")
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        info.external_attr = 0o600 << 16
        digest, size, began = hashlib.sha256(), 0, self._file.tell()
        try:
            with self._zip.open(info, "w", force_zip64=True) as member:
                for block in chain((first,), blocks):
                    digest.update(block)
                    size += len(block)
                    member.write(block)
        finally:
            self._places[name] = began, self._file.tell()
        self.members[name] = BackupMember(digest.hexdigest(), size)
        return self.members[name]

    def drop(self, name: str) -> None:
        """List a member no more, and overwrite it with zeros; a part of one as well."""
        if name not in self._places:
            return
        self._zip.filelist.remove(self._zip.NameToInfo.pop(name))
        self.members.pop(name, None)
        began, end = self._places.pop(name)
        self._file.seek(began)
        for at in range(began, end, BLOCK):
            self._file.write(bytes(min(BLOCK, end - at)))
        self._file.seek(0, os.SEEK_END)


class _Copying:
    """What is copied of a library, until everything that its database names is there."""

    def __init__(
        self,
        folder: Path,
        database: Path,
        archive: _ArchiveWriter,
        told: Told,
        bucket: Bucket | None = None,
    ) -> None:
        self._folder, self._database, self._archive = folder, database, archive
        self._bucket = bucket  # where originals lie that are not in the folder
        self._missed: set[tuple[str, str]] = set()  # (id, added at)
        self._at = ""  # when the database was copied
        self._told, self._done, self._total = told, 0, 0

    def copy(self) -> Manifest:
        """Everything, and what is to be said of it. Raises BackupError."""
        for _ in range(_MOST_COPIES):
            aside = self._aside()  # first: what is added again meanwhile is then in one of both
            named = self._moment()
            ids = {one.id for one in named}
            aside = {name: one for name, one in aside.items() if one.document_id not in ids}
            missing = [one for one in named if not self._taken(one)]
            if all([self._copied(name) for name in aside]) and not missing:
                return self._concluded(named, aside)
        raise BackupError(
            "Documents are added and removed faster than they can be copied. "
            "Try again when less is going on."
        )

    def _aside(self) -> dict[str, SetAside]:
        """The files that are set aside, unlocked copies too, by their names in the archive."""
        names = [path.name for path in (self._folder / "files" / ASIDE).glob("*")]
        if self._bucket:  # all that lies there is, until it is known which documents there are
            names += [one.key for one in self._bucket.objects()]
        found = [KEPT.fullmatch(f"files/{ASIDE}/{name}") for name in names]
        return {match[0]: SetAside(match[2], match[4]) for match in found if match}

    def _moment(self) -> list[_Named]:
        """What the database names at this moment, of which there is a copy now."""
        self._at = datetime.now(UTC).isoformat(timespec="seconds")
        self._database.unlink(missing_ok=True)
        with _read_only(self._folder) as ours, closing(sqlite3.connect(self._database)) as db:
            ours.backup(db)  # in one step, so it is one moment
            rows = db.execute("SELECT id, suffix, name, size, added_at, collection FROM documents")
            named = [_Named(*row) for row in rows]
        self._total = sum(one.size for one in named) + self._database.stat().st_size
        return named

    def _taken(self, one: _Named) -> bool:
        """Copy the files of a document; False if they went since the database was copied."""
        there = True
        if one.suffix in LOCKABLE and not self._copied(one.unlocked):
            # A removal deletes the original first: while that lies there, there is no such copy.
            there = self._is_there(one.original)
        if there and self._copied(one.original, one.collection):
            return True
        if (one.id, one.added_at) in self._missed:  # and was here all the while: it is lost
            return True
        self._missed.add((one.id, one.added_at))
        return False

    def _copied(self, name: str, collection: str | None = None) -> bool:
        """Copy a file, unless it is there already; False if there is none.

        One that cannot be read is left out, and so is an original of a `collection` that is not
        what its name says."""
        archive = self._archive
        if name in archive.members:
            return True
        digest = begun_for(collection or HOME)
        try:
            archive.add(name, _digested(self._blocks(self._folder / name), digest))
        except FileNotFoundError:
            archive.drop(name)  # removed in the middle of it, from a bucket
            return False
        except _UnreadableError:
            archive.drop(name)
        else:
            if collection and content_of(name) != digest.hexdigest():
                archive.drop(name)
        return True

    def _is_there(self, name: str) -> bool:
        path = self._folder / name
        return path.exists() or bool(self._bucket and self._bucket.size(path.name) is not None)

    def _blocks(self, path: Path) -> Iterator[bytes]:
        """Raises FileNotFoundError or _UnreadableError; who writes raises OSError."""
        try:
            with path.open("rb") as file:
                while block := file.read(BLOCK):
                    yield self._counted(block)
        except FileNotFoundError:
            if self._bucket is None:
                raise
            yield from map(self._counted, self._bucket.blocks(path.name))
        except OSError as error:
            raise _UnreadableError from error

    def _counted(self, block: bytes) -> bytes:
        self._done += len(block)
        self._told(self._done, self._total)
        return block

    def _concluded(self, named: list[_Named], aside: Mapping[str, SetAside]) -> Manifest:
        """What was copied for an earlier moment goes; preferences and the database come."""
        archive = self._archive
        shown = {name: one.name for name, one in aside.items()}
        shown |= {name: one.name for one in named for name in (one.original, one.unlocked)}
        for name in archive.members.keys() - shown.keys():
            archive.drop(name)
        left = shown.keys() - archive.members.keys()
        lost = {name: shown[name] for name in sorted(left) if content_of(name)}
        for path in sorted(self._folder.glob("preferences*.json")):
            if PREFERENCES.fullmatch(path.name):
                self._copied(path.name)
        check_database(self._database, f"The library in {self._folder}")
        documents, conversations = self._cleaned()
        archive.add(DATABASE, self._blocks(self._database), packed=True)
        return Manifest(
            app_version(), self._at, documents, conversations, lost, dict(archive.members)
        )

    def _cleaned(self) -> tuple[int, int]:
        """How many documents and conversations the copy of the database has.

        What was removed just before is not left in it unlisted."""
        store = Store(self._database)
        try:
            if store.queue.marked(UNCLEANED):
                store.shred()
            with store.database.read() as db:  # everybody's, which nobody may list
                [[conversations]] = db.execute("SELECT count(*) FROM conversations").fetchall()
            return len(store.documents(WORKER)), int(conversations)
        finally:
            store.close()


def back_up(
    folder: Path,
    target: Path,
    *,
    replace: bool = False,
    told: Told = untold,
    bucket: Bucket | None = None,
) -> tuple[Path, Manifest]:
    """Write a backup of the data directory `folder`, and of the originals in a bucket if they lie
    there, all of it or nothing.

    Returns where it is, and what it says of itself. Raises BackupError or FilesError."""
    target = target.expanduser().resolve()
    with in_a_sentence(target), made_for_me():
        _check_place(folder, target, replace)
        with workshop(target) as work:
            archive = work / "archive"
            with archive.open("xb") as file:
                with zipfile.ZipFile(file, "w") as opened:
                    writer = _ArchiveWriter(file, opened)
                    manifest = _Copying(folder, work / DATABASE, writer, told, bucket).copy()
                    writer.add(MANIFEST, iter((manifest.as_json(),)), packed=True)
                file.flush()
                os.fsync(file.fileno())
            _check_place(folder, target, replace)
            archive.replace(target)
            sync(target.parent)
    return target, manifest


def _check_place(folder: Path, target: Path, replace: bool) -> None:
    """Raises BackupError where a backup cannot be, or would come into the library itself."""
    with _read_only(folder) as db:
        watched = [Path(row[0]) for row in db.execute("SELECT folder FROM watched")]
    for own in (folder, *watched):
        if target.is_relative_to(own):
            raise BackupError(
                f"{target} lies in {own}, which the library keeps or watches. "
                "Choose a place outside of it."
            )
    if target.is_dir():
        raise BackupError(f"{target} is a folder. Name a file in it: {target / 'library.zip'}")
    if target.exists() and not (replace and target.is_file()):
        force = ", or give --force to overwrite it" if target.is_file() else ""
        raise BackupError(f"{target} is there already. Choose another name{force}.")
