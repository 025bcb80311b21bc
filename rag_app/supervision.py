"""Work beside the rest: in threads that go on, whatever becomes of one piece of it; in processes.

The one place that catches `Exception` for the rest: a worker must not end because a disk is full
for a while, or because of a fault of ours in one document, and what is raised in one thread or
process is told in another. Knows nothing of the work."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_NICE = 10  # of 19
_HERE = Path(__file__).resolve().parents[1]  # where `rag_app` is imported from


Told = Callable[[int, int], object]
"""Hears how far long work is: how much of it is done, of how much (0: nobody knows)."""


def untold(done: int, total: int) -> None:
    """Nobody wants to hear it."""


Work = Callable[[Callable[[int, int], None], threading.Event], object]
"""Gets what takes how much is done, of how much, and what says that it is to stop."""


class LongWork:
    """In a thread of its own from the start, to be looked at now and then, and stopped."""

    def __init__(self, name: str, work: Work) -> None:
        self.done = self.total = 0  # a total of 0 is not known
        self.error = ""  # what went wrong, in a sentence, as far as the work says so
        self._stop, self._ended = threading.Event(), threading.Event()
        threading.Thread(target=self._run, args=(work,), name=name, daemon=True).start()

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return not self._ended.is_set()

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask it to stop."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it ended within the time."""
        return self._ended.wait(timeout)

    def _run(self, work: Work) -> None:
        try:
            work(self._tell, self._stop)
        finally:
            self._ended.set()

    def _tell(self, done: int, total: int) -> None:
        self.done, self.total = done, total


@dataclass(slots=True)
class Attempt:
    """What became of a piece of work."""

    error: Exception | None = None

    @property
    def failed(self) -> bool:
        """Whether something was raised."""
        return self.error is not None


@contextmanager
def held(but: tuple[type[Exception], ...] = ()) -> Iterator[Attempt]:
    """Keep what is raised inside, for whoever waits elsewhere; `but` of these, which are raised."""
    attempt = Attempt()
    try:
        yield attempt
    except but:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, somebody else is told of it
        attempt.error = error


@contextmanager
def surviving(
    log: logging.Logger, message: str, *of: object, but: tuple[type[Exception], ...] = ()
) -> Iterator[Attempt]:
    """Log what is raised inside, and go on after it; `but` of these, which are raised."""
    with held(but) as attempt:
        yield attempt
    if attempt.error is not None:  # a fault of ours, or a full disk: for the log, not the thread
        log.error(message, *of, exc_info=attempt.error)


def give_way() -> None:
    """From now on this thread, and threads that it begins, get what is left of the processor.

    On Linux only: elsewhere all threads of a process are equal."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


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
