"""Work beside the rest: in threads that go on, whatever becomes of one piece of it; in processes.

The one place where a thread of ours catches `Exception`: a worker must not end because a disk is
full for a while, or because of a fault of ours in one document. Knows nothing of the work."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).resolve().parents[2]


@dataclass(slots=True)
class Attempt:
    """What became of a piece of work."""

    failed: bool = False


@contextmanager
def surviving(
    log: logging.Logger, message: str, *of: object, but: tuple[type[Exception], ...] = ()
) -> Iterator[Attempt]:
    """Log what is raised inside, and go on after it; `but` of these, which are raised."""
    attempt = Attempt()
    try:
        yield attempt
    except but:
        raise
    except Exception:  # a fault of ours, or a full disk: both are for the log, not for the thread
        log.exception(message, *of)
        attempt.failed = True


def search_path() -> list[str]:
    """Where this process finds modules, and this package, which an editable install keeps off."""
    return [str(Path(entry).resolve()) for entry in [*sys.path, str(_HERE)]]


def python(module: str, *arguments: str, site: bool = True) -> list[str]:
    """The command that calls `main(*arguments)` of a module.

    This process's search path is handed on, so that the child finds the same packages; without
    `site` it starts in half the time."""
    start = (
        "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "
        f"from {module} import main; sys.exit(main(*sys.argv[1:]))"
    )
    options = ["-P"] if site else ["-P", "-S"]
    return [sys.executable, *options, "-c", start, json.dumps(search_path()), *arguments]
