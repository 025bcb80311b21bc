"""The files as they were handed in, kept as files/<content id><suffix>, in a data directory that is
its user's alone, whatever the system gives to new files. In an object store: object_store.py.

Those that the library does not know lie in files/set-aside: nothing but a removal deletes a file.
A user's file name is only ever shown, never used as a path. Where the system has no permissions
(Windows) the folder of the user's account protects them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from filelock import FileLock, Timeout

from rag_app.errors import DiskFull, DocumentError, EmptyFile, LibraryInUse, LimitReached
from rag_app.scope import HOME
from rag_app.text.formats import LOCKABLE
from rag_app.types import SetAside

log = logging.getLogger(__name__)

_BLOCK = 1 << 20
_LONGEST_NAME = 160
UNLOCKED = ".unlocked"  # before the suffix of a copy that opens without a password
INCOMING = "incoming-"  # before the names of files on their way to their own
ASIDE = "set-aside"  # in the folder of the originals, so that to move there is to rename
OURS = re.compile(r"([0-9a-f]{64})(\..+)")
INSIDE = " › "  # between a document and what came out of it
_OTHERS = stat.S_IRWXG | stat.S_IRWXO  # what the group and everybody else may do
# What a data directory may hold of ours: nothing else in the folder somebody chose is touched.
_OWNED = (
    *("library.sqlite3*", "preferences*.json*", "lock", "reserve", "cookie-secret", "api-key*"),
    *("files", "vectors*", "models", "unpacking", "reading"),
)


def only_mine() -> None:
    """From now on, what this process and its children make is the user's alone."""
    os.umask(_OTHERS)


@contextmanager
def made_for_me() -> Iterator[None]:
    """What is made inside the block is the user's alone."""
    before = os.umask(_OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def close_to_others(folder: Path) -> None:
    """Take from others what they may do with a data directory that was made before, or elsewhere.

    The folder comes first: behind it nobody reaches the rest any more."""
    if os.name != "posix":
        return
    try:
        _close(folder)
        for pattern in _OWNED:
            for path in folder.glob(pattern):
                _close_all(path)
    except OSError as error:
        log.warning("others may be able to read %s: %s", folder, error)


def _close_all(path: Path) -> None:
    _close(path)
    for inside, folders, files in os.walk(path):  # does not go where links lead
        for name in (*folders, *files):
            _close(Path(inside, name))


def _close(path: Path) -> None:
    try:
        now = path.lstat()
        # Changing a link's permissions would change what it leads to.
        if now.st_mode & _OTHERS and now.st_uid == os.geteuid() and not stat.S_ISLNK(now.st_mode):
            path.chmod(stat.S_IMODE(now.st_mode) & ~_OTHERS)
    except FileNotFoundError:
        return  # gone since it was listed


@dataclass(frozen=True, slots=True)
class Incoming:
    """A file that is written down under a temporary name, not yet accepted."""

    path: Path
    content_id: str
    size: int
    sent: bool = False  # it is where it will be kept


class Originals:
    """A folder of kept files."""

    far = False  # whether to look at all of them takes long

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder, self._aside = folder, folder / ASIDE
        self._max_bytes = max_bytes
        folder.mkdir(parents=True, exist_ok=True)

    def receive(self, name: str, data: bytes | Path, collection: str) -> Incoming:
        """Write the bytes down. Raises DocumentError or DiskFull; then nothing is left behind."""
        handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=INCOMING)
        path = Path(temporary)
        digest, size, kept = begun_for(collection), 0, False
        try:
            with os.fdopen(handle, "wb") as file:
                for block in _blocks(name, data):
                    size += len(block)
                    check_size(name, size, self._max_bytes)
                    digest.update(block)
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
            if not size:
                raise EmptyFile(
                    f"“{name}” is empty (0 bytes). Check that it was saved or copied completely."
                )
            kept = True
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise DiskFull.now() from error
            raise LimitReached(
                f"“{name}” could not be kept: {error.strerror or error}. "
                "Make room on the disk and add it again."
            ) from error
        finally:
            if not kept:
                path.unlink(missing_ok=True)
        return Incoming(path, digest.hexdigest(), size)

    def adopt(self, name: str, path: Path, collection: str) -> Incoming:
        """Take a file over that lies on the same disk and is ours already, where it is.

        Raises DocumentError."""
        digest, size = begun_for(collection), 0
        for block in _blocks(name, path):
            size += len(block)
            check_size(name, size, self._max_bytes)
            digest.update(block)
        with path.open("rb+") as file:
            os.fsync(file.fileno())
        return Incoming(path, digest.hexdigest(), size)

    def send(self, incoming: Incoming, suffix: str) -> Incoming:
        """What takes long of `keep`, which may then be waited for with a lock held."""
        return incoming

    def keep(self, incoming: Incoming, suffix: str) -> None:
        """Give a received file its lasting name."""
        incoming.path.replace(self.path(incoming.content_id, suffix))

    def has(self, document_id: str, suffix: str) -> bool:
        """Whether the original of a document is there."""
        return self.path(document_id, suffix).is_file()

    @contextmanager
    def original(self, document_id: str, suffix: str) -> Iterator[Path]:
        """The original of a document, as a file while the block lasts."""
        yield self.path(document_id, suffix)

    @contextmanager
    def reading(self, document_id: str, suffix: str) -> Iterator[Path]:
        """The file to read, see `readable`, while the block lasts."""
        yield self.readable(document_id, suffix)

    @contextmanager
    def unlocking(self, document_id: str, suffix: str) -> Iterator[Path]:
        """Where to put the copy that opens without a password; it is kept after the block."""
        yield self.unlocked(document_id, suffix)

    def path(self, document_id: str, suffix: str) -> Path:
        """Where the original of a document lies."""
        return self._folder / f"{document_id}{suffix}"

    def unlocked(self, document_id: str, suffix: str) -> Path:
        """Where the copy lies that opens without a password, if one was made."""
        return self._folder / f"{document_id}{UNLOCKED}{suffix}"

    def readable(self, document_id: str, suffix: str) -> Path:
        """The file to read: the unlocked copy if there is one, else the original."""
        unlocked = self.unlocked(document_id, suffix)
        return unlocked if unlocked.is_file() else self.path(document_id, suffix)

    def forget(self, document_id: str, suffix: str) -> None:
        """Delete the original and its unlocked copy, finished or not, wherever they lie."""
        # By name: to look through a folder of all originals for each of them takes long.
        copies = [self.unlocked(document_id, each) for each in {suffix, *LOCKABLE}]
        parts = [copy.with_name(f"{copy.name}.part") for copy in copies]
        aside = self._aside.glob(f"{document_id}.*")  # where there seldom is anything
        for path in [self.path(document_id, suffix), *copies, *parts, *aside]:
            path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Delete what a killed process left half done; nothing else, whoever put it here."""
        for path in [*self._folder.glob(f"{INCOMING}*"), *self._folder.glob("*.part")]:
            path.unlink(missing_ok=True)

    # Set aside

    def sort_out(self, known: Collection[str]) -> bool:
        """Set aside what is not `known` by its id, and take back what is; whether there was any.

        A killed process leaves one such file; who puts an older copy of the library's database
        back, or begins with an empty one, has as many as were added since. None is deleted but an
        unlocked copy without its original: the document was removed while it was unlocked."""
        strange = [(path, id_) for path, id_, _ in _ours(self._folder) if id_ not in known]
        for path, _ in strange:
            self._aside.mkdir(exist_ok=True)
            path.replace(self._aside / path.name)
        for path, document_id, suffix in _ours(self._aside):
            locked = self._aside / f"{document_id}{suffix.removeprefix(UNLOCKED)}"
            if document_id not in known and not locked.exists():
                path.unlink()
            elif document_id in known and (self._folder / path.name).exists():
                path.unlink()  # it has been handed in again
            elif document_id in known:
                path.replace(self._folder / path.name)
        if strange:
            log.warning("%d files that the library does not know are set aside", len(strange))
        return bool(strange)

    def look(self, known: Collection[str]) -> bool:
        """The same where that takes long; whether there was any."""
        return False

    def set_aside(self) -> list[SetAside]:
        """The originals that were set aside, in the order in which they were kept."""
        found = [
            (_kept_at(path), SetAside(document_id, suffix))
            for path, document_id, suffix in _ours(self._aside)
            if not suffix.startswith(UNLOCKED)
        ]
        return [one for _, one in sorted(found, key=lambda pair: pair[0])]

    def taken_back(self, one: SetAside) -> Incoming:
        """A file that was set aside, to be accepted once more; its unlocked copy is in its place.

        Whose it was went with the database: it comes back to `HOME`.

        Raises DocumentError."""
        incoming = self.adopt(one.name, self._aside / f"{one.document_id}{one.suffix}", HOME)
        for suffix in {one.suffix, *LOCKABLE}:
            with contextlib.suppress(FileNotFoundError):
                copy = self._aside / f"{one.document_id}{UNLOCKED}{suffix}"
                copy.replace(self.unlocked(incoming.content_id, suffix))
        return incoming

    def taken(self, one: SetAside, document_id: str) -> None:
        """What was set aside is a document again; that it has another id is so if it was of another
        collection."""

    def refused(self, one: SetAside, incoming: Incoming) -> None:
        """What was to be taken back stays set aside."""

    def delete_set_aside(self, known: Collection[str]) -> None:
        """Delete what was set aside, for good, but no original of the `known` documents."""
        for path, _, _ in _ours(self._aside):  # those of the known lie elsewhere
            path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of everything."""


def check_size(name: str, size: int, max_bytes: int) -> None:
    """Raises LimitReached for a file that is too large."""
    if size > max_bytes:
        raise LimitReached(
            f"“{name}” is larger than {max_bytes >> 20} MB, the limit set by "
            "RAG_APP_MAX_FILE_MB. Split it, or raise the limit."
        )


class Digest(Protocol):
    """What is made block by block of a file's bytes."""

    def update(self, data: bytes, /) -> None:
        """Take these bytes in, too."""

    def hexdigest(self) -> str:
        """What was made of all so far."""


def begun_for(collection: str) -> Digest:
    """What makes the content id of a file: the SHA-256 of its bytes at `HOME`, and elsewhere a
    keyed hash of another kind.

    So the same bytes are another document in every collection, and there is no file whose id in
    one collection is that of a file in another: nobody can ask by adding one what others have."""
    if collection == HOME:
        return hashlib.sha256()
    return hashlib.blake2b(digest_size=32, key=hashlib.sha256(collection.encode()).digest())


def incoming_file(folder: Path) -> tuple[int, Path]:
    """A new empty file (its handle, its path) in a data directory, for what is being handed in.

    Whoever makes it deletes it; what a killed process leaves is deleted at the next start."""
    handle, path = tempfile.mkstemp(dir=folder / "files", prefix=INCOMING)
    return handle, Path(path)


def display_name(name: str) -> str:
    """A file name as it is shown: without folders and control characters, of sensible length."""
    last = re.split(r"[\\/]", name)[-1]
    clean = "".join(c if c.isprintable() else " " for c in last).strip()
    if len(clean) > _LONGEST_NAME:
        stem, dot, suffix = clean.rpartition(".")
        keep = _LONGEST_NAME - len(suffix) - 2
        clean = f"{stem[:keep]}…{dot}{suffix}" if dot and keep > 0 else clean[:_LONGEST_NAME]
    return clean if clean.strip(".") else "document"


def inside_name(container: str, inner: str) -> str:
    """How a file inside a file is shown: "archive.zip › plans/roof.pdf"."""
    longest = _LONGEST_NAME * 2 - len(container) - len(INSIDE)
    return f"{container}{INSIDE}{inner if len(inner) <= longest else '…' + inner[-longest:]}"


def split_name(name: str) -> tuple[str, str]:
    """A name before and after the last dot of the file's own; the second begins with the dot."""
    own = max(name.rfind("/"), name.rfind(INSIDE))
    dot = name.rfind(".")
    return (name[:dot], name[dot:]) if dot > own else (name, "")


def free_name(name: str, taken: Iterable[str]) -> str:
    """`name`, or "name (2)" and so on if it is taken."""
    used = set(taken)
    stem, suffix = split_name(name)
    free, number = name, 2
    while free in used:
        free = f"{stem} ({number}){suffix}"
        number += 1
    return free


def _kept_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:  # somebody takes it back just now
        return 0


def _ours(folder: Path) -> list[tuple[Path, str, str]]:
    """The files in a folder that have names as we give them, with the id and what follows it."""
    if not folder.is_dir():
        return []
    matches = [(path, OURS.fullmatch(path.name)) for path in folder.iterdir()]
    return [(path, match[1], match[2]) for path, match in matches if match]


def _blocks(name: str, data: bytes | Path) -> Iterator[bytes]:
    """The bytes of a file, piece by piece. Raises DocumentError if it cannot be read."""
    if isinstance(data, bytes):
        if data:
            yield data
        return
    try:
        _check_kind(name, data.stat().st_mode)
        with data.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block
    except OSError as error:
        raise DocumentError(
            f"“{name}” could not be read: {error.strerror or error}. "
            "Check that it is there and that you may open it, then add it again."
        ) from error


def _check_kind(name: str, mode: int) -> None:
    """Only files have an end: who opens a pipe waits for whoever may write to it one day.

    Raises DocumentError."""
    if stat.S_ISDIR(mode):
        raise DocumentError(
            f"“{name}” is a folder. Add the files in it, or have the folder kept in step."
        )
    if not stat.S_ISREG(mode):
        raise DocumentError(
            f"“{name}” is a pipe, a socket or a device. Only files can be added: "
            "save what it gives to a file, and add that."
        )


# One process owns a data directory: a lock file says so, and goes with the process.


def own(folder: Path) -> FileLock:
    """Make the folder if need be, take it, and close it to others; release the lock to let go.

    Raises LibraryInUse if another process has it or it cannot be used at all."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(folder / "lock", mode=0o600)
        lock.acquire(blocking=False)
    except Timeout as error:
        raise LibraryInUse(
            f"The library in {folder} is open in another rag-app. "
            "Close that one first, or choose another folder with --data-dir."
        ) from error
    except OSError as error:
        raise LibraryInUse(
            f"The library folder {folder} cannot be used: {error.strerror or error}. "
            "Choose another folder with --data-dir."
        ) from error
    close_to_others(folder)
    return lock


# Room on the disk that is kept for when there is none left, because removing takes room, too.

_SIZE = 2 << 20
_PIECE = 64 << 10  # of it; where one finds no room, those before it keep theirs


class Reserve:
    """A file that stands for nothing but its room."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.needed = False  # for opening the library

    def make_room(self) -> None:
        """Give the room up if the disk has no more than that: a library that is opened takes room
        before anything can be removed from it. Whoever calls this takes it again with `take`."""
        self.needed = shutil.disk_usage(self._path.parent).free < _SIZE
        if self.needed:
            self._path.unlink(missing_ok=True)

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """The room is free inside the block, and taken again afterwards if it is still there."""
        self._path.unlink(missing_ok=True)
        try:
            yield
        finally:
            self.take()

    def take(self) -> None:
        """Take the room, or what there is of it: on a full disk something is better than nothing,
        as long as nobody else can have it."""
        with contextlib.suppress(OSError), self._path.open("ab", buffering=0) as file:
            # Of random bytes: file systems that compress give no room to zeros.
            while (missing := _SIZE - file.tell()) > 0:
                file.write(os.urandom(min(missing, _PIECE)))
