"""What lies in a folder of a person's: the files worth adding, each with its size and time.

Hidden files, links, files that programs are still writing and our own data are left alone. Only
looks; knows nothing of documents."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from rag_app.reading import NAMES

_MOST = 50_000  # files; a folder with more is none of documents
_UNFINISHED = (".part", ".crdownload", ".partial", ".download", ".tmp", ".swp")
_LOCK_FILES = ("~$", ".~")  # of Office programs, beside the file that is open


@dataclass(frozen=True, slots=True)
class Stamp:
    """A file's size and time of change: while they stay, so does the file."""

    size: int
    changed: int  # nanoseconds


@dataclass(slots=True)
class Found:
    """What a look at a folder found."""

    files: dict[str, Stamp] = field(default_factory=dict)  # by path in the folder, with "/"
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


def look(folder: Path, own: Path) -> Found:
    """The files in a folder and in the folders in it, but not in `own`. Raises OSError."""
    found = Found()
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


def _enter(entry: os.DirEntry[str], path: str, own: Path, found: Found, waiting: list[str]) -> None:
    name = entry.name
    if name.startswith((".", *_LOCK_FILES)) or entry.is_symlink() or not _is_text(path):
        return
    if entry.is_dir(follow_symlinks=False):
        if Path(entry.path) != own:
            waiting.append(f"{path}/")
        return
    suffix = Path(name).suffix.lower()
    if suffix in NAMES and suffix not in _UNFINISHED and entry.is_file(follow_symlinks=False):
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # gone since
            return
        found.files[path] = Stamp(status.st_size, status.st_mtime_ns)


def _is_text(path: str) -> bool:
    """Whether a name can be written down: those of other encodings cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in path)
