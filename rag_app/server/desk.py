"""Where requests and the library meet: its calls block, so they are made in threads, a few at once.

A client that goes away ends its answer; one that reads slowly holds no thread. A program chooses
among what the library offers, under names that say nothing of servers and folders: it makes nobody
call a server or load a folder."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Generic, TypeVar

import anyio
from anyio import to_thread

from rag_app.answering.model_spec import QUOTING, WRITER, ModelSpec, parse
from rag_app.library import Library
from rag_app.scope import Scope
from rag_app.server.problems import UnknownModel
from rag_app.supervision import held
from rag_app.types import Event

_AT_ONCE = 8  # calls, and besides as many answers

T = TypeVar("T")
Ask = Callable[[Library, threading.Event], Iterator[Event]]
Take = Callable[[Event], Awaitable[None]]


class Desk:
    """Makes calls of the library that `opening` opens, or has opened."""

    def __init__(self, opening: Callable[[], Library]) -> None:
        self._opening = opening
        self._calls, self._answers = _Threads(_AT_ONCE), _Threads(_AT_ONCE)
        self.opened = False  # whether it has been, once

    async def open(self) -> None:
        """Have the library open. Raises RagAppError if it cannot be."""
        await self._calls.run(self._library)

    def _library(self) -> Library:
        library = self._opening()
        self.opened = True
        return library

    async def call(self, scope: Scope, do: Callable[[Library], T]) -> T:
        """What `do` gives for a view of the library; somebody who goes away does not stop it."""
        return await self._calls.run(lambda: do(self._library().scoped(scope)))

    async def answer(self, scope: Scope, ask: Ask, take: Take) -> None:
        """Give `take` every event of an answer. Whoever cancels this ends the answer.

        While an event is being taken, no thread is held."""
        stop, context = threading.Event(), contextvars.copy_context()

        def begin() -> Iterator[Event]:
            return ask(self._library().scoped(scope), stop)

        made = await self._answers.run(begin, stop)
        try:
            while event := await self._answers.run(lambda: context.run(next, made, None), stop):
                await take(event)
        finally:
            stop.set()
            with anyio.CancelScope(shield=True):
                await self._answers.run(lambda: context.run(_close, made))


def _close(made: Iterator[Event]) -> None:
    close = getattr(made, "close", None)
    if close is not None:
        close()


class _Threads:
    """At most so many threads at once; whoever comes later waits, and may go."""

    def __init__(self, most: int) -> None:
        self._turn = anyio.Semaphore(most)
        self._limiter = anyio.CapacityLimiter(most)

    async def run(self, do: Callable[[], T], stop: threading.Event | None = None) -> T:
        """What `do` gives. Who is cancelled meanwhile sets `stop`, and waits until it has ended."""
        async with self._turn:
            outcome: _Outcome[T] = _Outcome()

            async def work() -> None:
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(outcome.take, do, limiter=self._limiter)
                done.set()

            done = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(work)
                try:
                    await done.wait()
                except anyio.get_cancelled_exc_class():
                    if stop is not None:
                        stop.set()
                    raise
            return outcome.given()


class _Outcome(Generic[T]):
    """What a call gave or raised: carried by hand, for a task group would wrap what is raised."""

    def __init__(self) -> None:
        self._values: list[T] = []
        self._error: Exception | None = None

    def take(self, do: Callable[[], T]) -> None:
        """Make the call."""
        with held() as attempt:  # raised again where it is awaited
            self._values.append(do())
        self._error = attempt.error

    def given(self) -> T:
        """What it gave. Raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._values[0]


def offered(library: Library) -> dict[str, str]:
    """By name what answers, written on one line; the one of the settings comes first."""
    here = [one for one in library.models.writers() if not library.models.missing(one)]
    lines = dict.fromkeys([library.settings.answers_by, *here, *sorted(QUOTING)])
    names: dict[str, str] = {}
    for line in lines:
        names.setdefault(_name(parse(line)), line)
    return names


def _name(spec: ModelSpec) -> str:
    if spec.kind in QUOTING:
        return spec.kind
    return f"{spec.kind}:{spec.model if spec.kind == WRITER else spec.name}"


def generator_of(library: Library, model: str | None) -> str | None:
    """What is asked for by a name; None: what the settings say. Raises UnknownModel."""
    if model is None:
        return None
    known = offered(library)
    if model not in known:
        raise UnknownModel(
            f"No model of this name is offered here. Choose one of: {', '.join(known)}."
        )
    line = known[model]
    return None if line == library.settings.answers_by else line
