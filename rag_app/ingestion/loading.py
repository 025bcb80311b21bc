"""A bucket, or a large folder, to documents: what lies there and can be read is handed in like any
other file, and remembered, so that loading it again takes in only what is new or has changed.

Nothing here keeps a list of what there is: a source may hold millions of files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import url2pathname

from rag_app.addresses import checked_files_url
from rag_app.errors import DocumentError, EmptyFile
from rag_app.ingestion.service import HandsIn
from rag_app.ingestion.watching import does_not_answer, is_worth_taking
from rag_app.reading.sandbox import or_full
from rag_app.settings import Settings
from rag_app.storage.object_store import Bucket
from rag_app.storage.originals import check_size, incoming_file
from rag_app.storage.provenance import LoadedFile, LoadedFiles
from rag_app.types import Added, Status, askable

_HIDDEN = re.compile(r"(^|/)\.")  # a file, or a folder around it


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that a source lists."""

    path: str  # in the source, with "/"
    size: int  # bytes
    version: str  # as long as this stays, so does the file

    @property
    def name(self) -> str:
        """What it is called, whatever it lies in."""
        return self.path.rpartition("/")[2]


class FileSource(Protocol):
    """Where files lie."""

    url: str  # what it is known by

    def files(self) -> Iterator[FoundFile]:
        """All files that are worth taking, as they are listed. Raises FilesError."""

    def here(self, found: FoundFile) -> AbstractContextManager[Path]:
        """The file, while the block lasts. Raises DocumentError, DiskFull or FilesError."""


def source_of(text: str, settings: Settings) -> FileSource:
    """What an address or a folder's name means. Raises DocumentError or SettingsError."""
    folder = Path(text)
    if "://" in text:
        try:
            url = checked_files_url(text)
        except ValueError as error:
            raise DocumentError(f"That is no address of a bucket or folder: {error}.") from None
        if not url.startswith("file:"):
            return BucketSource(Bucket(url, settings.files_seconds), settings)
        folder = Path(url2pathname(urlsplit(url).path))
    if not folder.is_dir():
        raise DocumentError(f"There is no folder {folder}.")
    return FolderSource(folder.resolve(), settings.folder)


class FolderSource:
    """A folder, and the folders in it, but not our own data, and nowhere that links lead."""

    def __init__(self, folder: Path, own: Path) -> None:
        self.url, self._folder, self._own = folder.as_uri(), folder, own

    def files(self) -> Iterator[FoundFile]:
        """In order of name, folder by folder."""
        for inside, folders, names in os.walk(self._folder):
            folders[:] = sorted(
                name
                for name in folders
                if not name.startswith(".") and Path(inside, name) != self._own
            )
            for path in (Path(inside, name) for name in sorted(names) if is_worth_taking(name)):
                if path.is_file() and not path.is_symlink():
                    status = path.stat()
                    version = f"{status.st_size}-{status.st_mtime_ns}"
                    relative = path.relative_to(self._folder).as_posix()
                    yield FoundFile(relative, status.st_size, version)

    @contextmanager
    def here(self, found: FoundFile) -> Iterator[Path]:
        """The file itself."""
        yield self._folder / found.path


class BucketSource:
    """A bucket, or what lies under one of its prefixes. Raises DocumentError where the library's
    own originals lie in it."""

    def __init__(self, bucket: Bucket, settings: Settings) -> None:
        self.url, self._bucket, self._data = bucket.url, bucket, settings.folder
        ours = f"{settings.files_url}/"
        if settings.files_url and (
            ours.startswith(f"{self.url}/") or f"{self.url}/".startswith(ours)
        ):
            raise DocumentError(
                f"{self.url} holds the originals of this library (RAG_APP_FILES_URL). "
                "Load what lies beside them."
            )

    def files(self) -> Iterator[FoundFile]:
        """As the bucket lists them."""
        for one in self._bucket.objects():
            found = FoundFile(one.key, one.size, f"{one.size}-{one.version}")
            if is_worth_taking(found.name) and not _HIDDEN.search(one.key):
                yield found

    @contextmanager
    def here(self, found: FoundFile) -> Iterator[Path]:
        """A copy that is gone afterwards."""
        handle, path = incoming_file(self._data)
        os.close(handle)
        try:
            self._fetch(found, path)
            yield path
        finally:
            path.unlink(missing_ok=True)

    def _fetch(self, found: FoundFile, path: Path) -> None:
        try:
            with or_full():
                self._bucket.fetch(found.path, path)
        except FileNotFoundError:
            raise DocumentError(
                f"“{found.name}” is not there any more; it was when {self.url} was listed."
            ) from None


class Loading(HandsIn):
    """Takes files of sources in."""

    @property
    def _loaded(self) -> LoadedFiles:
        return LoadedFiles(self._store.database)

    def add(self, source: FileSource, found: FoundFile, collection: str = "") -> Added | None:
        """Hand a file in; None if there is nothing to do: it is here as it is, or was removed here.
        One that is still being worked on is given as a duplicate.

        What has changed takes the place of the document that it was. What was refused, or could
        not be read, is tried again. Raises DocumentError, DiskFull, FilesError or NotAllowed."""
        into = self._collection(collection)
        about = source.url, into, found.path
        before = self._loaded.of(*about)
        if before and before.version == found.version and not before.refused:
            known = self._store.documents(self._scope, [before.document_id or ""])
            if not known or known[0].status is Status.READY:
                return None
            if known[0].status is not Status.FAILED:
                return Added(known[0], True)
        older = before.document_id if before else None
        try:
            added = self._taken(source, found, into)
        except DocumentError as error:
            self._loaded.keep(*about, LoadedFile(found.version, older, str(error)))
            raise
        now = LoadedFile(found.version, added.document.id)
        if older and older != added.document.id:
            if self._may_not_answer(added, source, found):
                now = LoadedFile(found.version, older, does_not_answer(added.document))
            else:
                self._give_way(older, added, source, found)
        self._loaded.keep(*about, now)
        return added

    def _taken(self, source: FileSource, found: FoundFile, into: str) -> Added:
        check_size(found.name, found.size, self._settings.max_file_mb << 20)  # before it is fetched
        if not found.size:
            raise EmptyFile(f"“{found.name}” is empty (0 bytes). Check that it was saved whole.")
        with source.here(found) as path:
            return self._take(found.name, path, into)

    def _may_not_answer(self, added: Added, source: FileSource, found: FoundFile) -> bool:
        """Whether this is a document that was here already and may turn out unreadable, also one
        that failed and is tried again."""
        if askable(added.document):
            return False
        about = added.document.id, source.url, found.path
        return added.duplicate or self._loaded.is_elsewhere(*about)

    def _give_way(self, older: str, added: Added, source: FileSource, found: FoundFile) -> None:
        """The document that a file was before goes, unless it is another file, too."""
        if self._loaded.is_elsewhere(older, source.url, found.path):
            return
        if added.duplicate:
            self._remove(older)
        else:
            self._replace(older, added.document.id)
