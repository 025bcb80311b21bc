"""Files on their way from browsers: how much memory all sessions together give them, which were not
taken, and that each gets an address to be sent to.

Streamlit keeps a file in memory from its arrival until its session ends. Here it is counted from
the first byte, and let go of as soon as the library has it. Knows nothing of documents."""

from __future__ import annotations

import asyncio
import math
import re
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, partial
from weakref import WeakSet

from google.protobuf.message import DecodeError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import runtime
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile

from rag_app.observing.measures import measures
from rag_app.settings import Settings
from rag_app.storage.originals import display_name
from rag_app.ui import texts

_ADDRESS = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+/?$")
_STREAM = re.compile(r"/_stcore/stream/?$")
_UNANSWERED = 2.0  # seconds after which a request for addresses is made once more
_NAME = re.compile(rb'filename="([^"\r\n]*)"')
_HEAD = 4_096  # bytes of a body in which the file's name is looked for
_SOON = 10  # seconds after which there may be room again
_MOST_TOLD = 100  # refused files that a session is told of
_LONGEST_SILENCE = 60.0  # seconds; who sends nothing for so long gives the room back


# What Streamlit knows of uploads.


def _manager() -> MemoryUploadedFileManager | None:
    found = runtime.get_instance().uploaded_file_mgr if runtime.exists() else None
    return found if isinstance(found, MemoryUploadedFileManager) else None


def _kept() -> int:
    """Bytes of the files that have arrived and are kept for their sessions."""
    manager = _manager()
    families = manager.get_stats().values() if manager else ()
    return sum(stat.byte_length for family in families for stat in family)


def _is_open(session_id: str) -> bool:
    return runtime.exists() and runtime.get_instance().is_active_session(session_id)


def let_go(upload: UploadedFile) -> None:
    """Forget the bytes of a file that the library has."""
    context = get_script_run_ctx(suppress_warning=True)
    if context and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, upload.file_id)
    upload.close()


@dataclass(eq=False)
class Arrival:
    """One request that brings a file of a session."""

    session_id: str
    size: int = 0  # bytes that are counted for it
    name: str = ""
    arrived: int = 0  # bytes of it

    def learn(self, body: bytes) -> None:
        """Look into the beginning of the body for the name of the file."""
        if not self.name and self.arrived < _HEAD and (found := _NAME.search(body[:_HEAD])):
            self.name = display_name(found.group(1).decode("utf-8", "replace"))
        self.arrived += len(body)


class UploadMemory:
    """The bytes that uploads hold, of all sessions together: `most` at once. Thread-safe."""

    def __init__(
        self, most: int, kept: Callable[[], int] = _kept, is_open: Callable[[str], bool] = _is_open
    ) -> None:
        self.most = most
        self._kept, self._is_open = kept, is_open
        self._changing = threading.Lock()
        self._coming: dict[Arrival, int] = {}  # bytes of the requests under way
        self._arrived: dict[str, float] = {}  # when the last one did, by session
        # By the page, and not given to the library yet.
        self._taken: WeakSet[UploadedFile] = WeakSet()
        self._refused: dict[str, list[str]] = {}  # sentences, by session

    def take(self, asking: Arrival, size: int) -> bool:
        """Whether there is room for a request of so many bytes; then they are counted until
        `give_back`, in place of those that it asked for before."""
        with self._changing:
            others = sum(self._coming.values()) - self._coming.get(asking, 0)
            if others + self._kept() + self._size_of_taken() + size > self.most:
                return False
            self._coming[asking] = size
        return True

    def give_back(self, asking: Arrival) -> None:
        """A request has ended: what came of it is kept by Streamlit, or gone."""
        with self._changing:
            if self._coming.pop(asking, None) is not None:
                self._arrived = {one: at for one, at in self._arrived.items() if self._is_open(one)}
                self._arrived[asking.session_id] = time.monotonic()

    def hold(self, uploads: Iterable[UploadedFile]) -> None:
        """Count files that Streamlit handed out and keeps no more, until they are let go of."""
        with self._changing:
            self._taken.update(uploads)

    def _size_of_taken(self) -> int:
        return sum(one.size for one in self._taken if not one.closed)

    def quiet(self, session_id: str) -> float:
        """Seconds since the last file of a session arrived; 0 while one is on its way."""
        with self._changing:
            if any(one.session_id == session_id for one in self._coming):
                return 0.0
            return time.monotonic() - self._arrived.get(session_id, -math.inf)

    def refuse(self, session_id: str, sentence: str) -> None:
        """Note for a session that is open why a file was not taken."""
        with self._changing:
            self._refused = {one: said for one, said in self._refused.items() if self._is_open(one)}
            if self._is_open(session_id):
                said = self._refused.setdefault(session_id, [])
                said[:] = [*said, sentence][-_MOST_TOLD:]

    def refused(self, session_id: str) -> bool:
        """Whether there is something that a session was not told yet."""
        return session_id in self._refused

    def told(self, session_id: str) -> list[str]:
        """The sentences for a session; they are told once."""
        with self._changing:
            return self._refused.pop(session_id, [])


@cache
def shared() -> UploadMemory:
    """That of this process."""
    return UploadMemory(Settings.load().upload_mb << 20)


def _served() -> str:
    """The id of the session that is being served; empty: none is."""
    context = get_script_run_ctx(suppress_warning=True)
    return context.session_id if context else ""


def not_told() -> bool:
    """Whether a file of the session that is being served was refused, and it does not know."""
    return shared().refused(_served())


def quiet() -> float:
    """Seconds since the last file of the session that is being served arrived; 0 while one is on
    its way."""
    return shared().quiet(_served())


def told() -> list[str]:
    """Why files of the session that is being served were refused; said once."""
    return shared().told(_served())


# At the door.


class UploadLimit:
    """Middleware that turns files away for which there is no room in memory."""

    def __init__(self, app: ASGIApp, memory: UploadMemory) -> None:
        self._app, self._memory = app, memory

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, count what it brings, or answer that there is no room for it."""
        bringing = scope["type"] == "http" and scope["method"] == "PUT"
        address = _ADDRESS.search(scope["path"]) if bringing else None
        if address is None:
            await self._app(scope, receive, send)
            return
        arrival = Arrival(address.group(1), _announced(scope))
        try:
            if self._memory.take(arrival, arrival.size):
                counted = partial(self._receive, arrival, receive)
                await self._app(scope, counted, partial(self._send, arrival, send))
            else:
                arrival.learn((await receive()).get("body", b""))
                refusal = self._refuse(arrival)
                answer = PlainTextResponse(refusal.detail, refusal.status_code)
                await answer(scope, receive, send)
        finally:
            self._memory.give_back(arrival)

    async def _receive(self, arrival: Arrival, receive: Receive) -> Message:
        """The next piece of a body. Raises HTTPException where there is no room for it, or where
        none comes."""
        try:
            async with asyncio.timeout(_LONGEST_SILENCE):
                message = await receive()
        except TimeoutError:
            raise HTTPException(408, texts.UPLOAD_SILENT) from None
        arrival.learn(message.get("body", b""))
        if arrival.arrived > arrival.size:  # more than was announced
            arrival.size = arrival.arrived
            if not self._memory.take(arrival, arrival.size):
                raise self._refuse(arrival)
        return message

    async def _send(self, arrival: Arrival, send: Send, message: Message) -> None:
        """Answered it has been kept or refused: who hears that may bring the next."""
        self._memory.give_back(arrival)
        await send(message)

    def _refuse(self, arrival: Arrival) -> HTTPException:
        never = arrival.size > self._memory.most
        measures().upload_refused("too_large" if never else "no_room")
        sentence = texts.upload_refused(arrival.name, self._memory.most, never)
        self._memory.refuse(arrival.session_id, sentence)
        soon = None if never else {"Retry-After": str(_SOON)}
        return HTTPException(413 if never else 503, sentence, soon)


def _announced(scope: Scope) -> int:
    """The length of the body as its header has it, 0 if that is none."""
    said = Request(scope).headers.get("content-length", "")
    return int(said) if said.isdecimal() and said.isascii() else 0


# Where a file is to be sent.


class UploadAddresses:
    """Middleware that asks again where a file is to be sent if no answer goes out.

    A dropped file is sent when Streamlit has replied with an address for it. Its reply waits in a
    queue that is emptied where a run of the whole page begins (`ForwardMsgQueue.clear`); then
    nothing would ever be sent, and nobody would say so. A reply that comes twice is passed over by
    the page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the messages of a page's connection on."""
        if scope["type"] != "websocket" or not _STREAM.search(scope["path"]):
            await self._app(scope, receive, send)
            return
        asked = _Asked(receive)
        try:
            await self._app(scope, asked.receive, partial(asked.send, send))
        finally:
            asked.stop()


class _Asked:
    """The requests for addresses of one connection that no answer went out to."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._next: asyncio.Future[Message] | None = None
        self._open: dict[bytes, tuple[float, Message]] = {}  # when it was made last, by its id

    async def receive(self) -> Message:
        """The next message of the browser, or once more one that was not answered."""
        while True:
            if not self._open and self._next is None:  # mostly: nothing is changed
                return self._noted(await self._receive())
            self._next = self._next or asyncio.ensure_future(self._receive())
            made = min((at for at, _ in self._open.values()), default=None)
            left = None if made is None else max(0.0, made + _UNANSWERED - time.monotonic())
            if (await asyncio.wait({self._next}, timeout=left))[0]:
                message, self._next = self._next.result(), None
                return self._noted(message)
            for request, (at, message) in self._open.items():
                if time.monotonic() - at >= _UNANSWERED:
                    self._open[request] = (time.monotonic(), message)
                    return message

    def _noted(self, message: Message) -> Message:
        if request := _request_for_addresses(message):
            self._open[request] = (time.monotonic(), message)
        return message

    async def send(self, send: Send, message: Message) -> None:
        """Pass a message to the browser on."""
        await send(message)
        said = message.get("bytes") or b""
        for request in [one for one in self._open if one in said]:
            del self._open[request]

    def stop(self) -> None:
        """The connection has ended."""
        if self._next:
            self._next.cancel()


def _request_for_addresses(message: Message) -> bytes:
    """The id of the request for addresses that a message of the browser is; empty if it is none."""
    try:
        said = BackMsg.FromString(message.get("bytes") or b"")
    except DecodeError:
        return b""
    return str(said.file_urls_request.request_id).encode()
