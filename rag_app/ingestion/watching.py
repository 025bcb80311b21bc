"""Keeps folders in step: files added, changed and removed there are added, replaced, removed here.

The system tells that something changed; what changed is found by looking, which is also done from
time to time. What was last taken in stands in the store. Knows nothing of the library but the three
things it asks of it."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.errors import (
    DatabaseUnavailable,
    DiskFull,
    DocumentError,
    FilesError,
    RagAppError,
)
from rag_app.reading import NAMES
from rag_app.storage.provenance import Folders, Known
from rag_app.supervision import surviving
from rag_app.types import Added, Document, Status, Watched, askable

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent


# What lies in a folder of a person's: the files worth adding, each with its size and time.
#
# Hidden files, links, files that programs are still writing and our own data are left alone. Only
# looks; knows nothing of documents.

_MOST = 50_000  # files; a folder with more is none of documents
_UNFINISHED = (".part", ".crdownload", ".partial", ".download", ".tmp", ".swp")
_NOT_OURS = (".", "~$", ".~")  # hidden, or of Office programs beside the file that is open


@dataclass(slots=True)
class FolderListing:
    """What a look at a folder found."""

    files: dict[str, Known] = field(default_factory=dict)  # by path in the folder, with "/"
    unseen: list[str] = field(default_factory=list)  # folders in it that could not be looked at
    too_many: bool = False

    def hides(self, path: str) -> bool:
        """Whether a file may be there that was not seen."""
        return self.too_many or any(path.startswith(f"{each}/") for each in self.unseen)


def identity(folder: Path) -> str:
    """What tells a folder from another at the same place, as where a disk was unplugged.

    Raises OSError."""
    status = folder.stat()
    return f"{status.st_dev}:{status.st_ino}"


def look(folder: Path, own: Path) -> FolderListing:
    """The files in a folder and in the folders in it, but not in `own`. Raises OSError."""
    found = FolderListing()
    waiting = [""]
    while waiting:
        inside = waiting.pop()
        try:
            with os.scandir(folder / inside) as entries:
                for entry in entries:
                    _enter(entry, f"{inside}{entry.name}", own, found, waiting)
        except OSError:
            if not inside:
                raise
            found.unseen.append(inside.rstrip("/"))
        if len(found.files) > _MOST:
            found.too_many = True
            break
    return found


def _enter(
    entry: os.DirEntry[str], path: str, own: Path, found: FolderListing, waiting: list[str]
) -> None:
    name = entry.name
    if name.startswith(_NOT_OURS) or entry.is_symlink() or not _is_text(path):
        return
    if entry.is_dir(follow_symlinks=False):
        if Path(entry.path) != own:
            waiting.append(f"{path}/")
        return
    if is_worth_taking(name) and entry.is_file(follow_symlinks=False):
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # gone since
            return
        found.files[path] = Known(status.st_size, status.st_mtime_ns)


def is_worth_taking(name: str) -> bool:
    """Whether a file of this name can be read, and is neither hidden nor unfinished."""
    suffix = Path(name).suffix.lower()
    return (
        suffix in NAMES
        and suffix not in _UNFINISHED
        and not name.startswith(_NOT_OURS)
        and _is_text(name)
    )


def _is_text(path: str) -> bool:
    """Whether a name can be written down: those of other encodings cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in path)


log = logging.getLogger(__name__)

SETTLE = 2.0  # seconds a file has to stay as it is before it is taken: it may still be written
RESCAN = 30.0  # seconds between looks when the system tells nothing
_SELDOM = 3600.0  # seconds at most between tries of a file that is refused
_CALM = 0.2  # seconds: changes come in flocks
_CHANGES = ("created", "modified", "moved", "deleted", "closed")
_MISSING = (
    "The folder {folder} cannot be found; perhaps its disk is not plugged in. "
    "Its documents stay as they are."
)
_ANOTHER = (
    "The folder {folder} is empty and not the one it was; perhaps its disk is not plugged in. "
    "Its documents stay as they are."
)
_TOO_MANY = "The folder {folder} holds too many files; only the first 50,000 are looked at."


def does_not_answer(known: Document) -> str:
    """Why a document stays in place of one that its file became, and that is here already."""
    why = f"cannot be read: {known.error}" if known.status is Status.FAILED else "is still read."
    return f"What is in it now is here as “{known.name}”, which {why} What it was before stays."


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """What is asked of the library."""

    take: Callable[[str, Path], Added]  # a file that nobody handed in
    replace: Callable[[str, str], object]  # older id, newer id
    remove: Callable[[str], object]


class Watching:
    """One thread that looks at the watched folders."""

    def __init__(self, folders: Folders, asked: WatchRequest, own: Path) -> None:
        self._folders, self._asked, self._own = folders, asked, own
        self._looking = threading.Lock()
        self._wanted, self._stopping = threading.Event(), threading.Event()
        self._since: dict[tuple[str, str], tuple[Known | None, float]] = {}  # of what may change
        # By file that was refused: when it is tried again, and how long it then waits.
        self._again: dict[tuple[str, str], tuple[float, float]] = {}
        self._troubles: dict[str, str] = {}
        self._thread: threading.Thread | None = None
        self._observer: Any = None
        self._observed: dict[str, Any] = {}

    def start(self) -> None:
        """Begin, if a folder is watched."""
        if self._thread is None and self._folders.all():
            self._thread = threading.Thread(target=self._run, name="rag-app-watch", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Let go; at the next start it is looked at what changed meanwhile."""
        self._stopping.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()

    def watch(self, folder: Path) -> Watched:
        """Keep a folder in step from now on. Raises DocumentError."""
        path = folder.expanduser().resolve()
        if not path.is_dir():
            raise DocumentError(f"There is no folder {folder} to watch.")
        if path == self._own or self._own in path.parents:
            raise DocumentError(f"{folder} holds the library itself. Choose another folder.")
        self._folders.add(str(path), identity(path))
        self.start()
        self._wanted.set()
        return self._watched(str(path))

    def unwatch(self, folder: Path) -> None:
        """Leave a folder alone from now on; its documents stay. Raises DocumentError."""
        path = str(folder.expanduser().resolve())
        if path not in dict(self._folders.all()):
            raise DocumentError(f"{folder} is not watched.")
        with self._looking:
            self._folders.remove(path)
        self._troubles.pop(path, None)
        self._leave_alone(path)

    def watched(self) -> list[Watched]:
        """The folders that are kept in step."""
        return [self._watched(folder) for folder, _ in self._folders.all()]

    def _watched(self, folder: str) -> Watched:
        known = self._folders.files(folder)
        return Watched(
            folder,
            sum(each.document_id is not None for each in known.values()),
            tuple((path, each.refused) for path, each in known.items() if each.refused),
            self._troubles.get(folder, ""),
        )

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wanted.clear()
            pending = False
            with surviving(log, "could not look at the watched folders"):
                self._observe()
                pending = self.look()
            self._wanted.wait(SETTLE / 2 if pending else RESCAN)
            self._stopping.wait(_CALM)

    def _observe(self) -> None:
        """Have the system tell of changes, where it can."""
        from watchdog.events import FileSystemEventHandler
        from watchdog.observers import Observer

        wanted = self._wanted

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                if event.event_type in _CHANGES:
                    wanted.set()

        if self._observer is None:
            self._observer = Observer()
            self._observer.start()
        for folder, _ in self._folders.all():
            if folder not in self._observed and Path(folder).is_dir():
                try:
                    self._observed[folder] = self._observer.schedule(
                        Handler(), folder, recursive=True
                    )
                except OSError as error:  # too many of them, say: then we look by ourselves
                    log.warning("changes in %s are not told: %s", folder, error)
                    self._observed[folder] = None

    def _leave_alone(self, folder: str) -> None:
        if observed := self._observed.pop(folder, None):
            with contextlib.suppress(KeyError):  # it ended with the folder
                self._observer.unschedule(observed)

    def look(self) -> bool:
        """Look at every folder once, and do what is to be done. Whether a file may still change."""
        pending = False
        with self._looking:
            for folder, known_as in self._folders.all():
                if self._stopping.is_set():
                    return False
                try:
                    pending |= self._look(folder, known_as)
                except (DatabaseUnavailable, DiskFull, FilesError) as error:
                    self._troubles[folder] = str(error)
        return pending

    def _look(self, folder: str, known_as: str) -> bool:
        known = self._folders.files(folder)
        try:
            now, found = identity(Path(folder)), look(Path(folder), self._own)
        except OSError:
            self._troubles[folder] = _MISSING.format(folder=folder)
            self._leave_alone(folder)
            return False
        if now != known_as:
            if known and not known.keys() & found.files.keys():
                self._troubles[folder] = _ANOTHER.format(folder=folder)
                return False
            self._folders.recognise(folder, now)
        self._troubles[folder] = _TOO_MANY.format(folder=folder) if found.too_many else ""
        return self._keep_up(folder, known, found)

    def _keep_up(self, folder: str, known: dict[str, Known], found: FolderListing) -> bool:
        pending = False
        there = {(before.size, before.changed) for before in known.values()}
        # What moved first, so that its document is known to stay when its old place has another.
        new = sorted(
            found.files.items(),
            key=lambda one: one[0] in known or (one[1].size, one[1].changed) not in there,
        )
        for path, stamp in new:
            before = known.get(path)
            if self._stopping.is_set():
                return False
            if before and (before.size, before.changed) == (stamp.size, stamp.changed):
                self._since.pop((folder, path), None)
                if before.refused and self._is_to_be_tried(folder, path):
                    self._take(folder, path, stamp, before)
            elif self._has_settled(folder, path, stamp):
                self._take(folder, path, stamp, before)
            else:
                pending = True
        # Last, so that a file that moved is known under its new name before the old one goes.
        for path, before in known.items():
            if path not in found.files and not found.hides(path):
                if self._has_settled(folder, path, None):
                    self._withdraw(folder, path, before.document_id)
                    self._folders.forget(folder, path)
                else:
                    pending = True
        return pending

    def _has_settled(self, folder: str, path: str, stamp: Known | None) -> bool:
        """Whether a file has been as it is (None: not there) for long enough."""
        seen, since = self._since.get((folder, path), (None, 0.0))
        now = time.monotonic()
        if (folder, path) not in self._since or seen != stamp:
            self._since[folder, path] = (stamp, now)
            return False
        if now - since < SETTLE + (stamp is None) * _CALM:
            return False
        del self._since[folder, path]
        return True

    def _is_to_be_tried(self, folder: str, path: str) -> bool:
        """Whether a file that was refused, and is as it was, is to be tried again: why it was may
        have passed (who may open it, a share that was away, a limit), which is not told. At the
        first look in any case, then ever more seldom."""
        due, pause = self._again.get((folder, path), (0.0, RESCAN))
        now = time.monotonic()
        if now < due:
            return False
        self._again[folder, path] = (now + pause, min(2 * pause, _SELDOM))
        return True

    def _refuse(self, folder: str, path: str, stamp: Known, before: Known | None, why: str) -> None:
        """Note that a file is not taken as it is; what it was before stays."""
        if before is None or not before.refused:
            self._again[folder, path] = (time.monotonic() + RESCAN, 2 * RESCAN)
        stays = before.document_id if before else None
        now = replace(stamp, document_id=stays, refused=why)
        if now != before:
            self._folders.keep(folder, path, now)

    def _take(self, folder: str, path: str, stamp: Known, before: Known | None) -> None:
        """Take a new or changed file in; what it was before gives way once this can be searched."""
        file = Path(folder, path)
        try:
            added = self._asked.take(file.name, file)
        except (DatabaseUnavailable, DiskFull, FilesError):  # no fault of the file
            raise
        except (RagAppError, OSError) as error:
            if not file.exists():  # gone since: the next look sees it
                return
            self._refuse(folder, path, stamp, before, str(error))
            return
        # Written to meanwhile? The next look sees another stamp, and what was taken gives way.
        older, newer = before.document_id if before else None, added.document.id
        if older and older != newer:
            if added.duplicate and not askable(added.document):
                self._refuse(folder, path, stamp, before, does_not_answer(added.document))
                return
            if added.duplicate:
                self._withdraw(folder, path, older)
            elif not self._folders.is_elsewhere(older, folder, path):
                self._asked.replace(older, newer)
        self._folders.keep(folder, path, replace(stamp, document_id=newer))

    def _withdraw(self, folder: str, path: str, document_id: str | None) -> None:
        """Remove a document unless something else keeps it here."""
        if document_id and not self._folders.is_elsewhere(document_id, folder, path):
            try:
                self._asked.remove(document_id)
            except RagAppError as error:  # removed by somebody else meanwhile
                log.info("nothing to remove: %s", error)
