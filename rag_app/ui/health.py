"""Whether this process lives, and whether it should be sent people: for who looks after servers.

`/health/live` says that it answers at all. `/health/ready` says whether its database opens, its
models are loaded (or said to be off), and it is not about to stop; who asks that has the library
opened, so that a process which nobody visits becomes ready. Both tell nothing of what is in it.

On SIGTERM, where there is a time to drain, ready says no first, and answers that are being made are
let finish; then the server stops as it always does."""

from __future__ import annotations

import asyncio
import hmac
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial

import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from rag_app.errors import SettingsError
from rag_app.library import Library
from rag_app.observing.measures import CONTENT_TYPE, LibraryFigures, PrometheusMeasures, count_by
from rag_app.settings import Settings
from rag_app.supervision import surviving
from rag_app.ui import live_answer, texts, texts_access

log = logging.getLogger(__name__)

LIVE, READY, METRICS = "/health/live", "/health/ready", "/metrics"
_NOTICED = 4.0  # seconds of draining, at least: balancers have to ask before they know
_LOOK = 0.1
_IN_TURN = 1.0  # seconds that who asks waits for who asks already
_WARNS = "streamlit.runtime.scriptrunner_utils.script_run_context"
_LOADING = ("cold", "warming")


class Standing:
    """How this process stands. `opening` opens the library, or gives the one that is open; a
    process that does not answer (`answers`) needs no models before it is sent work."""

    def __init__(self, opening: Callable[[], Library], *, answers: bool = True) -> None:
        self._opening, self._answers = opening, answers
        self._opens = threading.Lock()
        self.library: Library | None = None  # once it is open
        self.draining = False
        self._drain: asyncio.Task[None] | None = None

    def ready(self) -> dict[str, str | bool]:
        """What has to be so, and whether all of it is."""
        said: dict[str, str | bool] = {"database": self._database(), "models": "cold"}
        if not self._answers:
            said["models"] = "off"
        elif self.library is not None:
            state = self.library.warm_state
            # What failed is said on the page, and words still find.
            said["models"] = state if state in (*_LOADING, "ready") else "limited"
        well = said["database"] == "open" and said["models"] not in _LOADING
        return {"ready": well and not self.draining, **said, "draining": self.draining}

    def _database(self) -> str:
        # Opening may take long, and nobody waits for it; looking takes a moment.
        if not self._opens.acquire(timeout=0 if self.library is None else _IN_TURN):
            return "opening"
        try:
            with surviving(log, "the library cannot be asked") as attempt:
                if self.library is None:
                    self.library = self._opening()
                if self._answers:
                    self.library.warm()
                self.library.figures()
        finally:
            self._opens.release()
        return "failed" if attempt.failed else "open"

    def figures(self) -> LibraryFigures | None:
        """How the library stands; None while it is not open."""
        return self.library.figures() if self.library is not None else None

    def busy(self) -> bool:
        """Whether answers are being made."""
        asked = self.library is not None and self.library.figures().answering
        return bool(asked) or live_answer.running() > 0

    # The end

    def stop_gently(self, seconds: float) -> None:
        """From now on SIGTERM drains for so many seconds at most, and a second one does not. To be
        called in the event loop that serves, in the main thread."""
        if not seconds or threading.current_thread() is not threading.main_thread():
            return
        stop, loop = signal.getsignal(signal.SIGTERM), asyncio.get_running_loop()
        if not callable(stop):
            return

        def asked(number: int, _frame: object) -> None:
            signal.signal(signal.SIGTERM, stop)
            loop.call_soon_threadsafe(begin)

        def begin() -> None:
            self.draining = True
            self._drain = loop.create_task(self._finish(seconds, partial(stop, signal.SIGTERM)))

        signal.signal(signal.SIGTERM, asked)

    async def _finish(self, seconds: float, stop: Callable[[None], object]) -> None:
        clock = asyncio.get_running_loop().time
        began, noticed = clock(), min(_NOTICED, seconds)
        while (gone := clock() - began) < seconds and (gone < noticed or self.busy()):
            await asyncio.sleep(_LOOK)
        stop(None)


@cache
def standing() -> Standing:
    """That of this process."""
    return Standing(_open)


def _open() -> Library:
    from rag_app.ui import web_guard

    return web_guard.library()


def routes(settings: Settings, of: Standing | None = None) -> list[BaseRoute]:
    """For `App`, on how this process stands, or `of` another standing. Raises SettingsError if
    figures are wanted and their package is not there."""
    asked = of or standing()
    # Streamlit warns of a spinner that nobody sees, where the library is opened without a page.
    logging.getLogger(_WARNS).addFilter(
        lambda record: not (record.threadName or "").startswith("AnyIO")
    )
    made: list[BaseRoute] = [Route(LIVE, _live), Route(READY, partial(_ready, asked))]
    if settings.metrics and (token := settings.metrics.get_secret_value()):
        counting = PrometheusMeasures(asked.figures)
        count_by(counting)
        made.append(Route(METRICS, partial(_metrics, counting, token.encode())))
    return made


@contextmanager
def serving(settings: Settings, of: Standing, host: str, port: int) -> Iterator[None]:
    """Inside the block a process without a page answers these questions on a port. Raises
    SettingsError where it cannot listen there."""
    listening = _listening(host, port)
    app = Starlette(routes=routes(settings, of))
    told = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, lifespan="off"
    )
    server = uvicorn.Server(told)
    thread = threading.Thread(
        target=server.run, args=([listening],), name="rag-app-health", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:  # which names the address once more, in Python's words
        why = (error.strerror or str(error)).partition(" (")[0]
        raise SettingsError(texts_access.cannot_listen(port, host, why)) from None


async def _live(_request: Request) -> Response:
    return PlainTextResponse("alive")


def _ready(asked: Standing, _request: Request) -> Response:
    said = asked.ready()
    return JSONResponse(said, 200 if said["ready"] else 503, {"Cache-Control": "no-store"})


def figures_refused(request: HTTPConnection, token: bytes) -> Response | None:
    """Why figures are not shown: nobody may see them, or not who asks."""
    if not token:
        return PlainTextResponse(texts.NO_METRICS, 404)
    given = request.headers.get("authorization", "").encode()
    if hmac.compare_digest(given, b"Bearer " + token):
        return None
    return PlainTextResponse(texts.METRICS_TOKEN, 401, {"WWW-Authenticate": "Bearer"})


def _metrics(counting: PrometheusMeasures, token: bytes, request: Request) -> Response:
    return figures_refused(request, token) or Response(
        counting.written(), headers={"Content-Type": CONTENT_TYPE}
    )
