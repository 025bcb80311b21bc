"""One process owns a data directory: a lock file says so, and goes with the process."""

from __future__ import annotations

from pathlib import Path

from filelock import FileLock, Timeout

from rag_app.errors import LibraryInUse


def own(folder: Path) -> FileLock:
    """Make the folder if need be, and take it; release the lock to let go.

    Raises LibraryInUse if another process has it or it cannot be used at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock")
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
    return lock
