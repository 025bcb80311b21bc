"""What a request passes before Streamlit sees it, and what every response says to the browser.

Streamlit's `App` takes middleware of Starlette, which it is made of: this is ours."""

from __future__ import annotations

import argparse
import base64
import hashlib
import logging
import re
import sys
import time
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager, nullcontext
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import net_util

from rag_app import scope as scopes
from rag_app.access.keys import is_key
from rag_app.addresses import is_at
from rag_app.errors import SettingsError
from rag_app.library import Library
from rag_app.observing import logs, traces
from rag_app.settings import Settings
from rag_app.storage.originals import only_mine
from rag_app.ui import health, texts, uploads, web_authentication
from rag_app.ui.uploads import UploadAddresses, UploadLimit

if TYPE_CHECKING:
    from rag_app.server.mount import Mounted

log = logging.getLogger(__name__)

_HEALTH, _METRICS = "/_stcore/health", "/_stcore/metrics"
_REQUEST_ID = "X-Request-ID"
_PLACES = (  # where requests go, as the log says it
    *("/_stcore/health", "/_stcore/stream", "/_stcore/upload_file", "/_stcore", "/static"),
    *("/media", "/component", "/health/live", "/health/ready", "/metrics", "/oauth2callback"),
    *("/api/v1/documents", "/api/v1/search", "/api/v1/ask", "/api/v1", "/v1", "/mcp"),
)
_PROBED = ("/_stcore/health", "/health/live", "/health/ready", "/metrics")  # every few seconds
_STARTS = ("http.response.start", "websocket.http.response.start", "websocket.accept")


# The process that serves: what has to be settled in it before the first browser comes.


def options() -> dict[str, Any]:
    """What `App` is made with; the API is there only where it is wanted. Raises SettingsError."""
    chosen = settings()
    if reason := chosen.exposed_on(st.get_option("server.address")):
        raise SettingsError(reason)
    logs.set_up(chosen)
    traces.set_up(chosen)

    api = _api(chosen) if chosen.api else None

    @asynccontextmanager
    async def serving(_app: object) -> AsyncIterator[None]:
        """What the server makes is the user's alone, and it asks nobody who it is."""
        only_mine()
        # For the origin of a WebSocket Streamlit asks a service on the internet for this machine's
        # address, and holds the whole server up for it. It has no option for that: these two
        # functions of a module that it does not document are looked up at every such request.
        for name in ("get_internal_ip", "get_external_ip"):
            setattr(net_util, name, lambda: None)
        logs.set_up(chosen)  # loggers have come since that write by themselves
        health.standing().stop_gently(chosen.drain_seconds)
        async with api.running() if api else nullcontext():
            yield

    return {
        "lifespan": serving,
        "routes": [*health.routes(chosen), *(api.routes if api else ())],
        "middleware": middleware(chosen),
        "exception_handlers": {Exception: failed},
        **web_authentication.options(chosen),
    }


def middleware(chosen: Settings) -> list[Middleware]:
    """For `App`: headers on every response, also on those of the guards behind them."""
    return [
        Middleware(RequestIds),
        Middleware(SecurityHeaders, headers=security_headers(chosen.frame_ancestors)),
        Middleware(Guard, metrics=chosen.metrics.get_secret_value() if chosen.metrics else ""),
        *web_authentication.middleware(chosen),
        Middleware(UploadLimit, memory=uploads.shared()),
        Middleware(UploadAddresses),
    ]


def failed(_request: Request, _error: Exception) -> Response:
    """For `App`: what is said where a request fails. It is made outside of all middleware."""
    headers = security_headers(Settings.load().frame_ancestors)
    return PlainTextResponse(texts.REQUEST_FAILED, 500, headers)


# What the browser is told.


def security_headers(frame_ancestors: str = "") -> dict[str, str]:
    """Headers for every response; `frame_ancestors` are the sites that may show it in a frame."""
    sites = frame_ancestors.replace(",", " ").split()
    headers = {
        "Content-Security-Policy": content_security_policy(sites),
        "X-Content-Type-Options": "nosniff",
        # The address of the page names a conversation: no other site is told.
        "Referrer-Policy": "same-origin",
    }
    return headers if sites else {**headers, "X-Frame-Options": "DENY"}


def content_security_policy(frame_ancestors: Collection[str]) -> str:
    """What the page may load, run and reach: itself.

    Streamlit runs the JavaScript of components like ours from blobs, writes its styles while it
    runs, and has WebAssembly in it; charts are drawn without `eval`."""
    allowed = {
        "default-src": ["'none'"],
        "script-src": ["'self'", "blob:", "'wasm-unsafe-eval'", *_inline_scripts()],
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:", "blob:"],
        "font-src": ["'self'", "data:"],
        "media-src": ["'self'", "data:", "blob:"],
        "connect-src": ["'self'"],
        "worker-src": ["'self'", "blob:"],
        "manifest-src": ["'self'"],
        "base-uri": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": list(frame_ancestors) or ["'none'"],
    }
    return "; ".join(" ".join([name, *sources]) for name, sources in allowed.items())


def _inline_scripts() -> list[str]:
    """The hashes of the scripts that stand in Streamlit's page itself."""
    page = (files("streamlit") / "static" / "index.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()) for one in scripts]
    return [f"'sha256-{one.decode()}'" for one in digests]


class SecurityHeaders:
    """Puts headers on whatever the app behind it answers."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self._app, self._headers = app, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and the answer back with the headers."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] in _STARTS:
                message.setdefault("headers", [])
                MutableHeaders(scope=message).update(self._headers)
            await send(message)

        await self._app(scope, receive, send_with_headers)


# What is let in.


class Guard:
    """Turns away who calls the app by a name that is not its own, and pages of other sites."""

    def __init__(self, app: ASGIApp, metrics: str) -> None:
        self._app, self._token = app, metrics.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer why not."""
        refused = self._refused(HTTPConnection(scope)) if "headers" in scope else None
        # Before a WebSocket is accepted, it can be answered like any other request.
        await (refused or self._app)(scope, receive, send)

    def _refused(self, request: HTTPConnection) -> Response | None:
        path = request.scope["path"].rstrip("/")
        if path.endswith(_METRICS) or path == health.METRICS:
            return health.figures_refused(request, self._token)
        # Who looks after servers calls them by their addresses.
        if path.endswith(_HEALTH) or path in (health.LIVE, health.READY):
            return None
        host = request.headers.get("host", "")
        if not is_own_name(host, st.get_option("server.allowedHosts")):
            return PlainTextResponse(texts.OTHER_NAME, 400)
        origin = request.headers.get("origin")
        if request.scope["type"] == "websocket" and not _is_own_page(origin, host):
            log.warning(
                "A page was refused whose address is not the Host that came with it: a page of "
                "another site, or a proxy in front does not pass Host on as it is, port included."
            )
            return PlainTextResponse(texts.OTHER_SITE, 403)
        return None


class RequestIds:
    """Gives every request an id, which its answer and the lines of the log about it have, too: that
    of the proxy in front (X-Request-ID) if it can be written down, else a new one."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with its id in place of what was given."""
        if "headers" not in scope:
            await self._app(scope, receive, send)
            return
        named = {**scope, "headers": [*scope["headers"]]}
        headers = MutableHeaders(scope=named)
        headers[_REQUEST_ID] = made = logs.request_id(headers.get(_REQUEST_ID, ""))
        began, status = time.perf_counter(), 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] in _STARTS:
                status = message.get("status", 101)
                message.setdefault("headers", [])
                MutableHeaders(scope=message)[_REQUEST_ID] = made
            await send(message)

        with logs.about(request=made):
            try:
                await self._app(named, receive, send_with_id)
            finally:
                facts = {"method": scope.get("method", "WS"), "path": _place(scope["path"])}
                facts |= {"status": status, "seconds": round(time.perf_counter() - began, 3)}
                level = logging.DEBUG if facts["path"] in _PROBED else logging.INFO
                log.log(level, "request", extra={"facts": facts})


def _place(path: str) -> str:
    """Where a request went, without what tells sessions, files and documents from each other."""
    known = next((one for one in _PLACES if path == one or path.startswith(f"{one}/")), "")
    return known or ("/" if path == "/" else "other")


def is_own_name(host: str, names: Collection[str]) -> bool:
    """Whether a Host header has one of the names, as Streamlit understands them; none: any."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    return not names or any(_fits(name, one.strip().lower().rstrip(".")) for one in names)


def _fits(name: str, pattern: str) -> bool:
    return pattern in ("*", name) or (pattern.startswith("*.") and name.endswith(pattern[1:]))


def _is_own_page(origin: str | None, host: str) -> bool:
    """Whether a WebSocket comes from our page, or from no page at all.

    Streamlit would also take those of every other port of this computer."""
    if origin is None or not st.get_option("server.enableCORS"):
        return True
    listed: list[Any] = st.get_option("server.corsAllowedOrigins")
    return is_at(origin, host) or origin in listed


# The settings of the served page: they are the same for the server and for what it draws.


def settings() -> Settings:
    """Settings from the environment, and what was given after `--` before them.

    The top level of .streamlit/secrets.toml counts as environment: that is where keys may stand."""
    st.secrets.load_if_toml_exists()
    return Settings.load(**_given())


def _given() -> dict[str, Any]:
    """Settings by name; None: not given."""
    parser = argparse.ArgumentParser(prog="rag-app", add_help=False, allow_abbrev=False)
    parser.add_argument("--data-dir")
    parser.add_argument("--api", action="store_true", default=None)
    known, _ = parser.parse_known_args(sys.argv[1:])
    return vars(known)


# The API beside the page: the same process, the same open library.


def _api(chosen: Settings) -> Mounted:
    """The API over the library of this process: for the key in its data directory, or, where people
    sign in, for the keys that they have made."""
    from rag_app.server.gate import KeyFile  # where it is not wanted, its packages may be missing
    from rag_app.server.mount import mounted

    if chosen.sign_in != "none":
        return mounted(library, PeopleKeys(), chosen)
    own = KeyFile(chosen.folder)
    own.key()
    return mounted(library, own, chosen)


class PeopleKeys:
    """The keys of people who sign in; each opens what its owner may see, now.

    At the first sight of somebody what their first search would wait for is loaded, as it is when
    they open the page."""

    def __init__(self) -> None:
        self._seen: set[str] = set()  # subjects

    def scope_of_key(self, secret: str) -> scopes.Scope | None:
        """The view of whose key it is; None for what is no key, or nobody's any more. For what is
        not even made like one the library is not opened."""
        if not is_key(secret):
            return None
        opened = library()
        subject = opened.access.api_keys.subject_of(secret)
        if subject is None:
            return None
        scope = opened.access.scope_of(subject)
        if subject not in self._seen and opened.warm_state == "ready":
            self._seen.add(subject)
            opened.scoped(scope).prepare()
        return scope


def library() -> Library:
    """The library of this process, opened if it is not open yet."""
    # Streamlit can keep what this module marks once it serves, and not before.
    from rag_app.ui import app_entry

    return app_entry.open_library(_settings_now())


_settings_now = cache(settings)
