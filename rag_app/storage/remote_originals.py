"""Originals in an object store (RAG_APP_FILES_URL), under the names that they have in files/.

What is read is copied into the data directory first: so many bytes at most besides what is being
read, and nothing that was not used for a while. What lies in files/ from before is found there."""

from __future__ import annotations

import dataclasses
import logging
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from rag_app.reading.sandbox import FOLDER, or_full
from rag_app.scope import HOME
from rag_app.settings import Settings
from rag_app.storage.object_store import Bucket, StoredObject
from rag_app.storage.originals import INCOMING, OURS, UNLOCKED, Incoming, Originals
from rag_app.text.formats import LOCKABLE
from rag_app.types import SetAside

log = logging.getLogger(__name__)

_IDLE = 300.0  # seconds that a copy stays which nobody uses
_ABANDONED = timedelta(days=1)  # longer than sending takes, and than clocks differ


def originals_of(settings: Settings) -> Originals:
    """Where the originals of a library are kept, as the settings have it. Raises SettingsError."""
    folder, most = settings.folder / "files", settings.max_file_mb << 20
    if not (bucket := bucket_of(settings)):
        return Originals(folder, most)
    copies = LocalCopies(settings.folder / FOLDER / "copies", settings.files_copies_mb << 20)
    return RemoteOriginals(folder, most, bucket, copies)


def bucket_of(settings: Settings) -> Bucket | None:
    """The object store of the originals; None if they lie in the data directory."""
    return Bucket(settings.files_url, settings.files_seconds) if settings.files_url else None


@dataclass(slots=True)
class _Copy:
    """A file that is here for a while."""

    path: Path
    used_by: int = 0
    idle_since: float = 0.0
    fetching: threading.Lock = field(default_factory=threading.Lock)

    def size(self) -> int:
        """Bytes that it takes."""
        with suppress(FileNotFoundError):
            return self.path.stat().st_size
        return 0


class LocalCopies:
    """Copies of files from elsewhere. Thread-safe."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder, self._max_bytes = folder, max_bytes
        self._copies: OrderedDict[str, _Copy] = OrderedDict()  # the one that was used last is last
        self._lock = threading.Lock()
        self._tidying: threading.Timer | None = None

    @contextmanager
    def holding(self, key: str, fetch: Callable[[Path], object]) -> Iterator[Path]:
        """A copy that stays while the block lasts, and usually longer. If there is none, `fetch`
        makes it; if that finds none either (FileNotFoundError), nothing is at the path. Raises
        DiskFull, and what `fetch` raises."""
        copy = self._taken(key)
        try:
            with copy.fetching:
                if not copy.path.is_file():
                    with suppress(FileNotFoundError), or_full():
                        self._make(copy.path, fetch)
            yield copy.path
        finally:
            self._let_go(copy)

    def take_over(self, key: str, path: Path) -> None:
        """A file that is here anyway becomes the copy."""
        copy = self._taken(key)
        try:
            with copy.fetching:
                copy.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path.replace(copy.path)
        finally:
            self._let_go(copy)

    def has(self, key: str) -> bool:
        """Whether there is a copy."""
        with self._lock:
            return key in self._copies and self._copies[key].path.is_file()

    def forget(self, key: str) -> None:
        """Delete a copy, whoever uses it."""
        with self._lock:
            copy = self._copies.pop(key, None)
        if copy:
            copy.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Delete all copies."""
        with self._lock:
            self._copies.clear()
            if self._tidying:
                self._tidying.cancel()
        shutil.rmtree(self._folder, ignore_errors=True)

    def tidy(self) -> None:
        """Delete what nobody uses, and has not used for a while, or is too much; the last one that
        was used stays for the moment, whatever its size: it may be just about to be opened."""
        now, taken = time.monotonic(), 0
        with self._lock:
            for number, (key, copy) in enumerate(reversed(list(self._copies.items()))):
                if copy.used_by:
                    continue
                taken += copy.size()
                if now - copy.idle_since >= _IDLE or (number and taken > self._max_bytes):
                    del self._copies[key]
                    copy.path.unlink(missing_ok=True)

    def _make(self, path: Path, fetch: Callable[[Path], object]) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = path.with_name(f"{path.name}.part")
        try:
            fetch(unfinished)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    def _taken(self, key: str) -> _Copy:
        with self._lock:
            copy = self._copies.setdefault(key, _Copy(self._folder / key))
            copy.used_by += 1
            self._copies.move_to_end(key)
            return copy

    def _let_go(self, copy: _Copy) -> None:
        with self._lock:
            copy.used_by -= 1
            copy.idle_since = time.monotonic()
        self.tidy()
        if self._tidying is None:
            self._tidy_later()

    def _tidy_later(self) -> None:
        with self._lock:
            self._tidying = threading.Timer(_IDLE, self._tidy_again) if self._copies else None
            if self._tidying:
                self._tidying.daemon = True
                self._tidying.start()

    def _tidy_again(self) -> None:
        self.tidy()
        self._tidy_later()


class RemoteOriginals(Originals):
    """Files kept in an object store. The folder is for what is being handed in.

    What nobody knows is not moved anywhere there: others may just be about to make a document of
    it. It is only remembered, and deleted if a person says so and it is still nobody's.

    All methods that look at it raise FilesError."""

    far = True

    def __init__(self, folder: Path, max_bytes: int, bucket: Bucket, copies: LocalCopies) -> None:
        super().__init__(folder, max_bytes)
        self._bucket, self._copies = bucket, copies
        self._strange: dict[str, StoredObject] = {}  # by key: what the library does not know
        self._closing = threading.Event()

    def send(self, incoming: Incoming, suffix: str) -> Incoming:
        """Returns when the file is there. Raises FilesDiffer, too."""
        self._bucket.put_same(f"{incoming.content_id}{suffix}", incoming.path)
        return dataclasses.replace(incoming, sent=True)

    def keep(self, incoming: Incoming, suffix: str) -> None:
        """Returns when the file is there, and known to be."""
        key = f"{incoming.content_id}{suffix}"
        if not incoming.sent or self._bucket.size(key) != incoming.size:  # removed since
            self.send(incoming, suffix)
        self._copies.take_over(key, incoming.path)

    def has(self, document_id: str, suffix: str) -> bool:
        """Here, or there."""
        key = f"{document_id}{suffix}"
        return super().has(document_id, suffix) or self._bucket.size(key) is not None

    @contextmanager
    def original(self, document_id: str, suffix: str) -> Iterator[Path]:
        """A copy of it, in the end."""
        if super().has(document_id, suffix):
            yield self.path(document_id, suffix)
            return
        with self._copy(f"{document_id}{suffix}") as path:
            yield path

    @contextmanager
    def reading(self, document_id: str, suffix: str) -> Iterator[Path]:
        """A copy of it."""
        if super().has(document_id, suffix):
            yield self.readable(document_id, suffix)
            return
        with self._copy(self._key_to_read(document_id, suffix)) as path:
            yield path

    @contextmanager
    def unlocking(self, document_id: str, suffix: str) -> Iterator[Path]:
        """Sent when the block is over."""
        if super().has(document_id, suffix):
            yield self.unlocked(document_id, suffix)
            return
        copy = self._passing(suffix)  # not made where nothing is locked
        try:
            yield copy
            if copy.is_file():
                self._bucket.put(f"{document_id}{UNLOCKED}{suffix}", copy)
        finally:
            copy.unlink(missing_ok=True)
        self._copies.forget(f"{document_id}{suffix}")  # which would be read else

    def forget(self, document_id: str, suffix: str) -> None:
        """Here and there, with copies."""
        super().forget(document_id, suffix)
        also = [key for key in list(self._strange) if key.startswith(f"{document_id}.")]
        for key in (f"{document_id}{suffix}", f"{document_id}{UNLOCKED}{suffix}", *also):
            self._copies.forget(key)
            self._bucket.delete(key)
            self._strange.pop(key, None)

    # Set aside

    def look(self, known: Collection[str]) -> bool:
        """Also deletes what was abandoned on its way, a day ago."""
        now = datetime.now(UTC)
        for one in self._bucket.objects():
            if self._closing.is_set():
                break
            match = OURS.fullmatch(one.key)
            if match and match[1] not in known:
                self._strange[one.key] = one
            elif one.key.startswith(INCOMING) and now - one.changed > _ABANDONED:
                self._bucket.delete(one.key)
        if self._strange:
            log.warning("%d files in %s are not known", len(self._strange), self._bucket.url)
        return bool(self._strange)

    def set_aside(self) -> list[SetAside]:
        """Those of the folder first."""
        found = sorted(self._strange.values(), key=lambda one: one.changed)
        matches = (OURS.fullmatch(one.key) for one in found)
        far = [SetAside(match[1], match[2]) for match in matches if match]
        return super().set_aside() + [one for one in far if not one.suffix.startswith(UNLOCKED)]

    def taken_back(self, one: SetAside) -> Incoming:
        """What lies there stays until it is known under its name."""
        key = f"{one.document_id}{one.suffix}"
        if key not in self._strange:
            return super().taken_back(one)
        path, kept = self._passing(one.suffix), False
        try:
            with or_full():
                self._bucket.fetch(key, path)
            incoming = self.adopt(one.name, path, HOME)
            kept = True
        finally:
            if not kept:
                path.unlink(missing_ok=True)
        return incoming

    def taken(self, one: SetAside, document_id: str) -> None:
        """Deletes what lies there under another name, too."""
        key = f"{one.document_id}{one.suffix}"
        if self._strange.pop(key, None) and document_id != one.document_id:
            self._bucket.delete(key)  # it is there under its new name

    def delete_set_aside(self, known: Collection[str]) -> None:
        """Those that `look` found."""
        super().delete_set_aside(known)
        for key in list(self._strange):
            match = OURS.fullmatch(key)
            if match and match[1] not in known:
                self._bucket.delete(key)
            self._strange.pop(key, None)

    def close(self) -> None:
        """Also ends `look`."""
        self._closing.set()
        self._copies.close()

    def _passing(self, suffix: str) -> Path:
        """A name that nothing has, for a file that stays for a moment."""
        return self._folder / f"{INCOMING}{uuid4().hex}{suffix}"

    def _key_to_read(self, document_id: str, suffix: str) -> str:
        """Of the unlocked copy if there is one. Where the locked one is at hand nobody asks for it:
        what another process unlocks is seen when that copy has gone."""
        key, unlocked = f"{document_id}{suffix}", f"{document_id}{UNLOCKED}{suffix}"
        if suffix not in LOCKABLE or self._copies.has(key):
            return key
        there = self._copies.has(unlocked) or self._bucket.size(unlocked) is not None
        return unlocked if there else key

    @contextmanager
    def _copy(self, key: str) -> Iterator[Path]:
        with self._copies.holding(key, lambda target: self._bucket.fetch(key, target)) as path:
            yield path


def send_all(bucket: Bucket, folder: Path) -> None:
    """Give an object store all originals of a folder, and those that are set aside in it. Each is
    gone from the folder once it is there. Raises FilesError."""
    for path in sending(bucket, folder):
        path.unlink()


def sending(bucket: Bucket, folder: Path) -> Iterator[Path]:
    """Give an object store the same files; each stays in the folder, too, and is named once it is
    there. Raises FilesError."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and OURS.fullmatch(path.name):
            (bucket.put if UNLOCKED in path.name else bucket.put_same)(path.name, path)
            yield path
