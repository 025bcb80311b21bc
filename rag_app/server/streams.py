"""An answer sent while it is made, as server-sent events.

Its head is sent with the first event: what cannot be answered at all gets a status of its own."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any, Protocol

import anyio
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_app.errors import RagAppError
from rag_app.server.desk import Ask, Desk, Take
from rag_app.server.gate import check_still, view_of
from rag_app.supervision import held
from rag_app.types import Answer, Event, Finished

log = logging.getLogger(__name__)

_PATIENCE = 60.0  # seconds that a client may take nothing
_LOOK_EVERY = 1.0  # seconds between two looks whether who asks may still see what they are told
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


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


_GONE = "rag_app.gone"


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


class EventStream(Response):
    """An answer on its way."""

    media_type = "text/event-stream"

    def __init__(self, desk: Desk, ask: Ask, frames: Frames) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._desk, self._ask, self._frames = desk, ask, frames

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, until its end or until nobody reads it any more."""
        begun = False

        async def out(body: bytes, more: bool = True) -> None:
            with anyio.fail_after(_PATIENCE):
                await send({"type": "http.response.body", "body": body, "more_body": more})

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
