"""What a request passes before anything of it is looked at: its origin, its key, its size;
and who holds a key, and whose view of the library it opens.

On one's own computer there is one key, in a file of the data directory."""

from __future__ import annotations

import hmac
import logging
import os
import secrets
import tempfile
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qsl

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag_app import scope as scopes
from rag_app.access.keys import holds_key
from rag_app.addresses import is_at
from rag_app.errors import NotAllowed, RagAppError, SettingsError
from rag_app.scope import OWN
from rag_app.server.problems import (
    ForeignPage,
    KeyInAddress,
    KeyNeeded,
    TooLarge,
    status_of,
)

VIEW = "rag_app.scope"
"""Where in the scope of a request it stands whose view it is of."""
_STILL = "rag_app.still"  # where it stands how to look again, see `check_still`
MOST = 1 << 20  # bytes of a request that is no upload
_KEY_NAMES = (
    *("key", "apikey", "api_key", "api-key", "x-api-key", "access_key", "access_token"),
    *("token", "auth", "authorization", "bearer", "secret"),
)
_KEYS_CHECKED_AT_ONCE = 8
Refuse = Callable[[RagAppError], Response]
log = logging.getLogger(__name__)
PREFIX = "ragapp_"  # by which a key is known wherever it turns up
_NAME = "api-key"  # in the data directory
_BYTES = 32  # of chance in a key


def view_of(scope: Scope) -> scopes.Scope:
    """Whose view of the library a request is of; the gate has put it there."""
    found: scopes.Scope = scope[VIEW]
    return found


async def check_still(scope: Scope) -> None:
    """Look again what the key of a request opens, while it is being answered.

    Raises KeyNeeded if that is nothing any more, NotAllowed if it is less than when it came."""
    look: Callable[[], Awaitable[None]] = scope[_STILL]
    await look()


class Gate:
    """Lets in who has a key, but for the `open_paths`, which say nothing of the library."""

    def __init__(
        self, app: ASGIApp, holder: KeyHolder, refuse: Refuse, open_paths: Collection[str] = ()
    ) -> None:
        self._app, self._holder, self._refuse = app, holder, refuse
        self._open_paths = frozenset(open_paths)
        self._threads = anyio.CapacityLimiter(_KEYS_CHECKED_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer why not."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        try:
            _check_address(scope["path"], scope["query_string"])
            headers = Headers(scope=scope)
            _check_origin(headers)
            if scope["path"] not in self._open_paths:
                key = headers.get("authorization", "")
                scope[VIEW] = view = await self._view(key)
                scope[_STILL] = partial(self._check_still, key, view)
        except RagAppError as error:  # no key, or nobody can look now whose it is
            answer = self._refuse(error)
            if isinstance(error, KeyNeeded):
                answer.headers["WWW-Authenticate"] = 'Bearer realm="rag-app"'
            await answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _view(self, authorization: str) -> scopes.Scope:
        kind, _, secret = authorization.partition(" ")
        if kind.lower() != "bearer" or not secret.strip():
            raise KeyNeeded(
                "This needs a key, in the header “Authorization: Bearer KEY”. The command "
                "rag-app api-key shows it; where people sign in, they make theirs under “Keys”."
            )
        found = await anyio.to_thread.run_sync(
            self._holder.scope_of_key, secret.strip(), limiter=self._threads
        )
        if found is None:
            raise KeyNeeded(
                "This key opens nothing. The command rag-app api-key shows the one that does; "
                "where people sign in, they make theirs under “Keys”."
            )
        return found

    async def _check_still(self, authorization: str, view: scopes.Scope) -> None:
        now = await self._view(authorization)
        if not all(map(now.sees, view.collections)):
            raise NotAllowed("What this key opens has changed meanwhile. Ask that again.")


def _check_address(path: str, query: bytes) -> None:
    """Addresses are written down everywhere. Raises KeyInAddress."""
    given = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    named = any(name.lower() in _KEY_NAMES for name, _ in given)
    if named or any(PREFIX in text or holds_key(text) for text in (path, *chain(*given))):
        raise KeyInAddress(
            "A key never stands in the address, which programs write down. Send it in the header "
            "“Authorization: Bearer KEY”. End this one where it was made, and make a new one."
        )


def _check_origin(headers: Headers) -> None:
    """Programs say no origin, and pages of other sites have no business here.

    Raises ForeignPage."""
    origin = headers.get("origin")
    if origin is not None and not is_at(origin, headers.get("host")):
        raise ForeignPage(
            "Pages of other sites may not ask here. Ask from a program, or from a server of yours."
        )


class BodyLimit:
    """Lets no request through whose body is larger than `MOST`, but uploads (`path`), which are
    counted where they are written down."""

    def __init__(self, app: ASGIApp, refuse: Refuse, uploads: str = "") -> None:
        self._app, self._refuse, self._uploads = app, refuse, uploads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer why not."""
        if scope["type"] != "http" or scope["path"] == self._uploads:
            return await self._app(scope, receive, send)
        announced = Headers(scope=scope).get("content-length", "")
        if announced.isdecimal() and int(announced) > MOST:
            return await self._refuse(_too_large())(scope, receive, send)
        came = 0

        async def counted() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > MOST:  # the one exception that frameworks pass on while they read a body
                raise HTTPException(status_of(_too_large()), str(_too_large()))
            return message

        return await self._app(scope, counted, send)


def _too_large() -> TooLarge:
    return TooLarge(f"The request is larger than {MOST >> 20} MB. Shorten it.")


class KeyHolder(Protocol):
    """Knows keys."""

    def scope_of_key(self, secret: str) -> scopes.Scope | None:
        """The view that a key opens; None for what is no key. May take as long as a file does."""
        ...


class KeyFile:
    """The one key of a library that is one person's; a file that nobody else can read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / _NAME

    def key(self) -> str:
        """The key, made at first use. Raises SettingsError if the file cannot be used."""
        return self._read() or self.renew()

    def renew(self) -> str:
        """A new key; the one before opens nothing from now on. Raises SettingsError."""
        key = PREFIX + secrets.token_urlsafe(_BYTES)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=f"{_NAME}.")  # 0600
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(f"{key}\n")
            Path(temporary).replace(self.path)
        except OSError as error:
            raise SettingsError(
                f"The key could not be written to {self.path}: {error.strerror or error}. "
                "Choose another folder with --data-dir."
            ) from error
        return key

    def scope_of_key(self, secret: str) -> scopes.Scope | None:
        """One's own view, for the key in the file; it is read anew, so that a new one counts."""
        try:
            known = self._read()
        except SettingsError as error:
            log.warning("%s", error)
            return None
        same = hmac.compare_digest(secret.encode("utf-8", "replace"), known.encode("ascii"))
        return OWN if known and same else None

    def _read(self) -> str:
        try:
            return self.path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            raise SettingsError(
                f"The key in {self.path} cannot be read. Make a new one with: rag-app api-key --new"
            ) from error
