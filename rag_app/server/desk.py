"""Where requests and the library meet: its calls block, so they are made in threads, a few at once.

A client that goes away ends its answer; one that reads slowly holds no thread. A program chooses
among what the library offers, under names that say nothing of servers and folders: it makes nobody
call a server or load a folder."""

from __future__ import annotations

import contextvars
import json
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Protocol, TypeVar

import anyio
from anyio import to_thread
from starlette.responses import FileResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_app import scope as scopes
from rag_app.answering.model_spec import QUOTING, WRITER, ModelSpec, parse
from rag_app.errors import RagAppError
from rag_app.library import Library
from rag_app.server.gate import check_still, view_of
from rag_app.server.problems import UnknownModel
from rag_app.supervision import held
from rag_app.types import Answer, Event, Finished

log = logging.getLogger(__name__)

_AT_ONCE = 8  # calls, and besides as many answers
_PATIENCE = 60.0  # seconds that a client may take nothing
_LOOK_EVERY = 1.0  # seconds between two looks whether who asks may still see what they are told
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_GONE = "rag_app.gone"

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

    async def call(self, scope: scopes.Scope, do: Callable[[Library], T]) -> T:
        """What `do` gives for a view of the library; somebody who goes away does not stop it."""
        return await self._calls.run(lambda: do(self._library().scoped(scope)))

    async def answer(self, scope: scopes.Scope, ask: Ask, take: Take) -> None:
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
        given: list[T] = []
        failed: list[Exception] = []  # carried by hand: a task group would wrap what is raised

        def call() -> None:
            with held() as attempt:
                given.append(do())
            failed.extend([attempt.error] if attempt.error else [])

        async def work() -> None:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(call, limiter=self._limiter)
            done.set()

        async with self._turn:
            done = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(work)
                try:
                    await done.wait()
                except anyio.get_cancelled_exc_class():
                    if stop is not None:
                        stop.set()
                    raise
        if failed:
            raise failed[0]
        return given[0]


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


# An answer sent while it is made, as server-sent events. Its head is sent with the first event:
# what cannot be answered at all gets a status of its own.


class Frames(Protocol):
    """How the events of an answer are written."""

    def of(self, event: Event) -> Iterable[bytes]:
        """What is sent for an event."""
        ...

    def failed(self, error: RagAppError | None) -> bytes:
        """What is sent where it fails in the middle; None: by our fault, which is not explained."""
        ...

    def refused(self, error: RagAppError) -> Response:
        """What is answered where it fails at once."""
        ...


def frame(data: object, event: str = "") -> bytes:
    """One server-sent event; JSON has no line breaks in it."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


async def until_gone(receive: Receive, desk: Desk, scope: Scope, ask: Ask, take: Take) -> bool:
    """Give `take` every event of an answer; False if the client went away, which ends it.

    So does that their key opens less than when they came: raises KeyNeeded or NotAllowed."""
    looked = anyio.current_time()

    async def told(event: Event) -> None:
        nonlocal looked
        if isinstance(event, Finished) or anyio.current_time() - looked >= _LOOK_EVERY:
            await check_still(scope)
            looked = anyio.current_time()
        await take(event)

    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        ended = False
        with held() as attempt:  # raised again without the group around it
            await desk.answer(view_of(scope), ask, told)
            ended = True
        tasks.cancel_scope.cancel()
    if attempt.error is not None:
        raise attempt.error
    return ended


async def whole_answer(receive: Receive, desk: Desk, scope: Scope, ask: Ask) -> Answer | None:
    """The answer at its end; None if the client went away, which ends it."""
    answers: list[Answer] = []

    async def take(event: Event) -> None:
        if isinstance(event, Finished):
            answers.append(event.answer)

    await until_gone(receive, desk, scope, ask, take)
    return answers[-1] if answers else None


class Presence:
    """Notices when a client goes away, for an app that does not look for it while it works."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; `gone_from` tells what has become of who sent it."""
        whole, gone = anyio.Event(), anyio.Event()

        async def received() -> Message:
            if whole.is_set():
                await gone.wait()
                return {"type": "http.disconnect"}
            message = await receive()
            if not message.get("more_body", False):
                whole.set()
            return message

        async def watch() -> None:
            await whole.wait()
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        scope[_GONE] = gone
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await self._app(scope, received, send)
            tasks.cancel_scope.cancel()


def gone_from(scope: Scope) -> Receive:
    """Waits until the client of a request has gone away; `Presence` looks for it."""

    async def receive() -> Message:
        await scope[_GONE].wait()
        return {"type": "http.disconnect"}

    return receive


def patiently(send: Send) -> Send:
    """What sends, and raises TimeoutError where nothing was taken for too long."""

    async def out(message: Message) -> None:
        with anyio.fail_after(_PATIENCE):
            await send(message)

    return out


class Download(FileResponse):
    """A file, until its end or until nobody takes it any more."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        with suppress(TimeoutError):
            await super().__call__(scope, receive, patiently(send))


class EventStream(Response):
    """An answer on its way."""

    media_type = "text/event-stream"

    def __init__(self, desk: Desk, ask: Ask, frames: Frames) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._desk, self._ask, self._frames = desk, ask, frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, until its end or until nobody reads it any more."""
        begun, patient = False, patiently(send)

        async def out(body: bytes, more: bool = True) -> None:
            await patient({"type": "http.response.body", "body": body, "more_body": more})

        async def take(event: Event) -> None:
            nonlocal begun
            if not begun:
                begun = True
                head: dict[str, Any] = {"status": self.status_code, "headers": self.raw_headers}
                await send({"type": "http.response.start", **head})
            for body in self._frames.of(event):
                await out(body)

        try:
            if not await until_gone(receive, self._desk, scope, self._ask, take):
                return
        except (TimeoutError, OSError):
            return  # whoever asked takes nothing any more
        except Exception as error:
            known = error if isinstance(error, RagAppError) else None
            if not begun:
                if known is None:
                    raise
                await self._frames.refused(known)(scope, receive, send)
                return
            if known is None:
                log.exception("an answer failed while it was sent")
            await out(self._frames.failed(known))
        await out(b"", more=False)
