"""Room on the disk that is kept for when there is none left, because removing takes room, too."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SIZE = 2 << 20


class Reserve:
    """A file that stands for nothing but its room."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._take()

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """The room is free inside the block, and taken again afterwards if it is still there."""
        self._path.unlink(missing_ok=True)
        try:
            yield
        finally:
            self._take()

    def _take(self) -> None:
        if self._path.is_file() and self._path.stat().st_size == _SIZE:
            return
        try:
            # Of random bytes: file systems that compress give no room to zeros.
            self._path.write_bytes(os.urandom(_SIZE))
        except OSError:
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)
