"""The data directory is its user's alone, whatever the system gives to new files.

Where the system has no such permissions (Windows) the folder of the user's account protects it."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

log = logging.getLogger(__name__)

_OTHERS = stat.S_IRWXG | stat.S_IRWXO  # what the group and everybody else may do
# What a data directory may hold of ours: nothing else in the folder somebody chose is touched.
_OURS = (
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
        for pattern in _OURS:
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
