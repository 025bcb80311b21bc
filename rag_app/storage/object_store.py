"""Files in a bucket of S3, Google or Azure, or in a folder that several machines see: one address,
and everything that can go wrong with it as one sentence.

obstore is imported when the first address is opened, and known here only. Keys for a bucket are
found by obstore where such programs find them (the environment, the machine's own role). They, and
what obstore says of an error, which may hold a signed address, get into no sentence and no log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
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
from rag_app.settings import plain_http_is_allowed
from rag_app.storage.originals import INCOMING

if TYPE_CHECKING:
    from obstore import GetOptions, ObjectMeta
    from obstore.store import ClientConfig, ObjectStore, RetryConfig, S3Config


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
