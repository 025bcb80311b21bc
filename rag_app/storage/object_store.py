"""Files in a bucket of S3, Google or Azure, or in a folder that several machines see: one address,
and everything that can go wrong with it as one sentence; and the originals of a library that are
kept there.

obstore is imported when the first address is opened, and known here only. Keys for a bucket are
found by obstore where such programs find them (the environment, the machine's own role). They, and
what obstore says of an error, which may hold a signed address, get into no sentence and no log."""

from __future__ import annotations

import dataclasses
import logging
import re
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from rag_app.errors import (
    FilesDiffer,
    FilesError,
    FilesFull,
    FilesMissing,
    FilesRefused,
    FilesUnreachable,
    SettingsError,
)
from rag_app.reading.sandbox import FOLDER, or_full
from rag_app.scope import HOME
from rag_app.settings import Settings, plain_http_is_allowed
from rag_app.storage.originals import INCOMING, OURS, UNLOCKED, Incoming, Originals
from rag_app.text.formats import LOCKABLE
from rag_app.types import SetAside

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta
    from obstore.store import ClientConfig, ObjectStore, RetryConfig, S3Config

log = logging.getLogger(__name__)

PIECE = 8 << 20  # bytes that are sent, or fetched, at once
_AT_ONCE = 2  # pieces of one file
_RETRIES = 3
_LISTED = 500  # objects that are listed at once

# What the error of an object store holds, by what it means: of S3 and those that speak it, Azure,
# Google, and folders. The first that is found counts.
_MEANINGS: tuple[tuple[type[FilesError], re.Pattern[str]], ...] = (
    (FilesFull, re.compile(r"QuotaExceeded|StorageFull|status code: 507|os error (28|122)\b")),
    (
        FilesMissing,
        re.compile(r"NoSuchBucket|ContainerNotFound|bucket does not exist|canonicalize filesystem"),
    ),
    (
        FilesRefused,
        re.compile(
            # The last two are where a machine's own role is asked for: there was no key.
            r"status code: 40[13]|os error (1|13|30)\b|latest/api/token|computeMetadata"
            r"|identity/oauth2|[Cc]redential"
        ),
    ),
    (FilesUnreachable, re.compile(r"TimedOut|kind: Timeout|operation timed out")),
    (FilesUnreachable, re.compile(r"error sending request|kind: (Connect|Body)|status code: 5")),
)
_SLOW = _MEANINGS[3][1]
_BAD_NAME = re.compile(r'[Pp]ath "([^"]{1,300})"')
_CODES = re.compile(r"<Code>(\w{3,60})</Code>"), re.compile(r"status code: (\d{3})")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """A file in a bucket."""

    key: str
    size: int  # bytes
    version: str  # another one, another content; what it is differs from store to store
    changed: datetime


class Bucket:
    """The files under one address. Thread-safe. Everything raises FilesError."""

    def __init__(self, url: str, seconds: float) -> None:
        self.url, self._seconds = url, seconds
        if find_spec("obstore") is None:
            raise SettingsError(
                f"{url} needs a package that is not installed: pip install 'rag-app[cluster]'"
            )

    def size(self, key: str) -> int | None:
        """Bytes of a file; None if it is not there."""
        with suppress(FileNotFoundError):
            return self._size(key)
        return None

    def put_new(self, key: str, path: Path) -> None:
        """Keep a file under a key, whole or not at all, and only if nothing has this key; when this
        is over, it is there. Raises FileExistsError.

        A large file is sent in pieces under a name in passing, because a condition goes only with
        what is sent at once; the bucket itself gives it its name."""
        with self._said():
            if path.stat().st_size <= PIECE:
                self._store.put(key, path.read_bytes(), mode="create")
                return
        passing = f"{INCOMING}{uuid4().hex}"
        self.put(passing, path)
        try:
            with self._said():
                self._store.copy(passing, key, overwrite=False)
        finally:
            with suppress(FilesError):  # swept when it is old
                self.delete(passing)

    def put_same(self, key: str, path: Path) -> None:
        """The same, or find these very bytes there. Raises FilesDiffer if there are others."""
        for _ in range(1 + _RETRIES):  # what is there may be removed while it is looked at
            if self.size(key) is None:
                with suppress(FileExistsError):  # somebody else was faster
                    self._put_twice(key, path)
                    return
            with suppress(FileNotFoundError):
                if self._holds(key, path):
                    return
                raise FilesDiffer(
                    f"In {self.url} other bytes lie under the name {key}. They were not "
                    "overwritten: look who else writes there, and move them away."
                )
        raise FilesError(f"In {self.url} the file {key} comes and goes. Try it again.")

    def put(self, key: str, path: Path) -> None:
        """Keep a file under a key, whole or not at all, whatever was there."""
        with self._said():
            self._store.put(key, path, chunk_size=PIECE, max_concurrency=_AT_ONCE)

    def blocks(self, key: str) -> Iterator[bytes]:
        """A file's bytes, a piece a request, so that every piece has its own time. Raises
        FileNotFoundError."""
        done, size = 0, 1
        wanted: GetOptions = {}
        while done < size:
            options: GetOptions = {"range": (done, done + PIECE), **wanted}
            with self._said():
                found = self._store.get(key, options=options)
                block = bytes(found.buffer())
            size, done = found.meta["size"], done + len(block)
            if etag := found.meta["e_tag"]:
                wanted = {"if_match": etag}  # all of it is of one and the same file
            yield block

    def fetch(self, key: str, target: Path) -> None:
        """Write a file down. Raises FileNotFoundError, and OSError of who writes."""
        blocks = self.blocks(key)
        first = next(blocks)  # of nothing, nothing is written
        with target.open("wb") as file:
            file.write(first)
            for block in blocks:
                file.write(block)

    def delete(self, key: str) -> None:
        """Delete a file; one that is not there is gone."""
        with suppress(FileNotFoundError), self._said():
            self._store.delete(key)

    def objects(self) -> Iterator[StoredObject]:
        """All files, as they are listed: never all of them in memory."""
        with self._said():
            listed = iter(self._store.list(chunk_size=_LISTED))
        while True:
            with self._said():
                chunk = next(listed, None)
            if chunk is None:
                return
            yield from (_object(one) for one in chunk)

    def _size(self, key: str) -> int:
        with self._said():
            return self._store.head(key)["size"]

    def _put_twice(self, key: str, path: Path) -> None:
        """Obstore sends what has a condition once only: what became of it after a time limit nobody
        knows. It is looked at afterwards, so here it may be sent again."""
        try:
            self.put_new(key, path)
        except FilesUnreachable:
            self.put_new(key, path)

    def _holds(self, key: str, path: Path) -> bool:
        """Whether just these bytes are there. Raises FileNotFoundError if nothing is."""
        if self._size(key) != path.stat().st_size:
            return False
        with path.open("rb") as file:
            return all(file.read(len(block)) == block for block in self.blocks(key))

    @cached_property
    def _store(self) -> ObjectStore:
        """Opened when it is first used, so that a library opens while its bucket is away."""
        from obstore.store import from_url

        limit = timedelta(seconds=self._seconds)
        client: ClientConfig = {
            "timeout": limit,
            "connect_timeout": min(limit, timedelta(seconds=10)),
            "allow_http": plain_http_is_allowed(),
        }
        retry: RetryConfig = {"max_retries": _RETRIES, "retry_timeout": limit}
        if self.url.startswith("file:"):
            return from_url(self.url)
        if self.url.startswith("s3:"):
            how: S3Config = {"copy_if_not_exists": "multipart"}
            return from_url(self.url, config=how, client_options=client, retry_config=retry)
        return from_url(self.url, client_options=client, retry_config=retry)

    @contextmanager
    def _said(self) -> Iterator[None]:
        """Raises FilesError for what an object store says, but FileNotFoundError and
        FileExistsError for a file that is not there, or is."""
        from obstore.exceptions import AlreadyExistsError, BaseError

        try:
            yield
        except FileNotFoundError as error:
            if meant := self._meant(error):
                raise meant from None
            raise FileNotFoundError(self.url) from None
        except AlreadyExistsError:
            raise FileExistsError(self.url) from None
        except (BaseError, OSError, ValueError) as error:
            raise (self._meant(error) or self._unknown(error)) from None

    def _meant(self, error: Exception) -> FilesError | None:
        told = str(error)
        found = (kind for kind, words in _MEANINGS if words.search(told))
        kind = next(found, None)
        if kind is None:
            return None
        slow = kind is FilesUnreachable and _SLOW.search(told)
        code = _code(told)
        why = f" ({code})" if code else ""
        return kind((_TOO_SLOW if slow else _SENTENCES[kind]).format(
            url=self.url, why=why, seconds=f"{self._seconds:g}"
        ))  # fmt: skip

    def _unknown(self, error: Exception) -> FilesError:
        from obstore.exceptions import InvalidPathError

        name = _BAD_NAME.search(str(error))
        if name and isinstance(error, InvalidPathError):
            return FilesError(
                f"In {self.url} there is a name that no file can have here: {name[1]!r}. "
                "Rename it there, or take it away."
            )
        why = _code(str(error)) or type(error).__name__
        return FilesError(
            f"{self.url} cannot be used as it is ({why}). Check the address, and what is there."
        )


_SENTENCES: dict[type[FilesError], str] = {
    FilesFull: "There is no room left in {url}{why}. Make room there, or raise its limit: what was "
    "accepted is kept and goes on by itself.",
    FilesMissing: "There is no {url}{why}. Make the bucket or folder, or mend the address.",
    FilesRefused: "{url} does not let the app in{why}. Look whether the right key is in the "
    "environment of the app, and what it may there.",
    FilesUnreachable: "{url} cannot be reached{why}. Check the network and the address; what was "
    "accepted is kept and goes on by itself.",
}
_TOO_SLOW = (
    "{url} does not answer within the {seconds} seconds set by RAG_APP_FILES_SECONDS. "
    "Try it again, or raise the limit; what was accepted is kept and goes on by itself."
)


def _code(told: str) -> str:
    """What the server calls an error; empty if it does not."""
    return next((found[1] for each in _CODES if (found := each.search(told))), "")


def _object(one: ObjectMeta) -> StoredObject:
    version = one["e_tag"] or one["version"] or one["last_modified"].isoformat()
    return StoredObject(one["path"], one["size"], version, one["last_modified"])


# Originals in an object store (RAG_APP_FILES_URL), under the names that they have in files/.
#
# What is read is copied into the data directory first: so many bytes at most besides what is being
# read, and nothing that was not used for a while. What lies in files/ from before is found there.

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

    def refused(self, one: SetAside, incoming: Incoming) -> None:
        """What was fetched of it goes."""
        if f"{one.document_id}{one.suffix}" in self._strange:
            incoming.path.unlink(missing_ok=True)

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

    def _copy(self, key: str) -> AbstractContextManager[Path]:
        return self._copies.holding(key, lambda target: self._bucket.fetch(key, target))


def sending(bucket: Bucket, folder: Path) -> Iterator[Path]:
    """Give an object store all originals of a folder, and those that are set aside in it; each is
    named once it is there. Raises FilesError."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and OURS.fullmatch(path.name):
            (bucket.put if UNLOCKED in path.name else bucket.put_same)(path.name, path)
            yield path
