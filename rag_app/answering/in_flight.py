"""Answers that are being made, in whatever threads: they end before the library is closed.

Who asks takes one event after the other; between two of them nothing of the library is in use."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Generator as EventGenerator
from contextlib import closing, contextmanager

from rag_app.errors import LibraryClosed, ModelAway, RagAppError
from rag_app.types import Event, Finished


class InFlightRequests:
    """Knows what is being answered and searched for now."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0  # threads that use the library right now
        self._stops: list[threading.Event] = []  # of the answers that are not finished
        self._broken_off: list[threading.Event] = []
        self._closed = False
        self._asked = -math.inf  # when the last question was asked, or answered

    def asked_within(self, seconds: float) -> bool:
        """Whether somebody is waiting for an answer, or was so many seconds ago."""
        with self._changed:
            return bool(self._stops) or time.monotonic() < self._asked + seconds

    @property
    def answering(self) -> int:
        """How many answers are being made."""
        return len(self._stops)

    def events(
        self, made: EventGenerator[Event, None, None], stop: threading.Event
    ) -> Iterator[Event]:
        """The same events. Raises LibraryClosed if it was closed before the answer was there."""
        finished = False
        with closing(made), self._counted(stop):
            while True:
                with self.using():
                    event = next(made, None)
                if event is None:
                    break
                finished |= isinstance(event, Finished)
                yield event
            if not finished and stop in self._broken_off:
                raise LibraryClosed.now()

    @contextmanager
    def using(self) -> Iterator[None]:
        """The library is not closed inside the block. Raises LibraryClosed if it is already."""
        with self._changed:
            if self._closed:
                raise LibraryClosed.now()
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def _counted(self, stop: threading.Event) -> Iterator[None]:
        with self._changed:
            self._stops.append(stop)
        try:
            yield
        finally:
            with self._changed:
                self._stops.remove(stop)
                self._asked = time.monotonic()

    def close(self, seconds: float) -> bool:
        """Break off what is being answered, and wait for it. False if the time ran out before."""
        with self._changed:
            self._closed = True
            self._broken_off = [stop for stop in self._stops if not stop.is_set()]
            for stop in self._broken_off:
                stop.set()
            return self._changed.wait_for(lambda: not self._inside, seconds)


# Loads the models in the background, so that the first question need not wait for them.


class ModelWarmUp:
    """Calls each of `loads` once, in a thread; `notice` may be a sentence on what they lack."""

    def __init__(self, loads: Sequence[Callable[[], object]], notice: Callable[[], str]) -> None:
        self._loads, self._notice = loads, notice
        self._beginning = threading.Lock()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self.state = "cold"  # or "warming" or "ready", or a sentence that says what failed

    def start(self, after: float = 0.0) -> None:
        """Begin after so many seconds, if it has not been begun."""
        with self._beginning:
            if self._thread is None:
                self.state = "warming"
                self._thread = threading.Thread(
                    target=self._run, args=(after,), name="rag-app-warm", daemon=True
                )
                self._thread.start()

    def wait(self) -> None:
        """Until it is done, if it was begun."""
        self._hurry.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, after: float) -> None:
        self._hurry.wait(after)
        failed = ""
        for load in self._loads:  # one that fails holds up none of the others
            try:
                load()
            except ModelAway:  # said with every answer until it is back
                continue
            except RagAppError as error:
                failed = failed or str(error)
        self.state = failed or self._notice() or "ready"
