"""The folder of one reading process: a file comes in as a link, and what is made of it goes out.

The process may read the one half of it and write to the other, and sees no file besides. After
every request both are empty, so that nothing stays of a document that is removed."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rag_app.errors import DiskFull

FOLDER = "reading"  # of the data directory: a link needs the disk that the originals are on
_PART = re.compile(r"\d{1,9}")
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Workspace:
    """A folder of its own under `within`, or among the system's temporary ones.

    Gone with this object, or when the next library is opened."""

    def __init__(self, within: Path | None) -> None:
        self.folder = _made(within)
        self.inbox, self.outbox = self.folder / "in", self.folder / "out"
        with _or_full():
            self.inbox.mkdir()
            self.outbox.mkdir()
        self.remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._count = 0

    @property
    def is_there(self) -> bool:
        """Whether it can be used: people and systems tidy up temporary files."""
        return self.inbox.is_dir() and self.outbox.is_dir()

    @contextmanager
    def holding(self, path: Path) -> Iterator[Path]:
        """The file as the process sees it, inside the block; after it, the workspace is empty.

        A file that is not there is not there for the process either. Raises DiskFull."""
        self._count += 1
        shown = self.inbox / f"{self._count}{path.suffix}"
        try:
            with _or_full(), suppress(FileNotFoundError):
                _link(path.resolve(), shown)
            yield shown
        finally:
            _clear(self.inbox)
            _clear(self.outbox)

    def hand_over_parts(self, folder: Path) -> None:
        """Move the files that were unpacked to another folder. Raises DiskFull."""
        for path in list(self.outbox.iterdir()):
            if _PART.fullmatch(path.name):
                _move(path, folder / path.name)

    def hand_over(self, name: str, target: Path) -> None:
        """Move a file that may have been made. Raises DiskFull."""
        _move(self.outbox / name, target)


def swept(data_dir: Path) -> Path:
    """The folder of workspaces of a library, without what a killed process left there."""
    folder = data_dir / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _made(within: Path | None) -> Path:
    """A new folder. Where there is no room for it the system may have some elsewhere."""
    if within is not None:
        with suppress(OSError):
            within.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(dir=within)).resolve()
    with _or_full():
        return Path(tempfile.mkdtemp(prefix="rag-app-")).resolve()


def _link(path: Path, target: Path) -> None:
    """A second name for a file, or a copy where the file system knows no such thing."""
    try:
        os.link(path, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(path, target)


def _move(path: Path, target: Path) -> None:
    """Move a file; nothing else that a process could have put in its place."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return
    except FileNotFoundError:
        return
    with _or_full():
        try:
            path.replace(target)
        except OSError:  # another disk
            unfinished = target.with_name(f"{target.name}.part")
            try:
                shutil.copyfile(path, unfinished, follow_symlinks=False)
                unfinished.replace(target)
            finally:
                unfinished.unlink(missing_ok=True)


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):  # still open, on Windows; it goes with the folder
                path.unlink()


@contextmanager
def _or_full() -> Iterator[None]:
    """Raises DiskFull for an OSError that means that."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DiskFull.now() from error
        raise
