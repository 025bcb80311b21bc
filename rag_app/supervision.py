"""Work in the background goes on, whatever becomes of one piece of it.

The one place where a thread of ours catches `Exception`: a worker must not end because a disk is
full for a while, or because of a fault of ours in one document. Knows nothing of the work."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


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
