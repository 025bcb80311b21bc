"""Who sends a request, said before Streamlit sees it, and asked again at every message.

A connection's identity comes from the cookie that Streamlit's sign-in has set, or from the headers
of a proxy that is believed. It is handed to the page in one header of ours, which nobody outside
can send. Every message of a connection is checked: Streamlit runs the callbacks of a click before
the page is drawn, and so before the page could look."""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config
from streamlit.auth_util import get_cookie_with_chunks, set_cookie_with_chunks
from streamlit.web.server.starlette.starlette_app_utils import (
    create_signed_value,
    decode_signed_value,
)
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from rag_app.access import proof
from rag_app.access.nouns import Identity, IsActive, everybody
from rag_app.access.proof import IDENTITY_HEADER
from rag_app.environment import knows_its_callers
from rag_app.errors import SettingsError
from rag_app.settings import Settings
from rag_app.storage.originals import made_for_me
from rag_app.ui import texts

log = logging.getLogger(__name__)

REFUSAL_HEADER = "X-Rag-App-Refusal"
_CONTENT = ("/media/", "/_stcore/upload_file/")  # where Streamlit serves and takes files
_SECRET_FILE = "cookie-secret"  # in the data directory
_POLICY_VIOLATION = 1008  # the code that a WebSocket is closed with

Prove = Callable[[HTTPConnection], Identity | None]
"""Who a request is from; None: nobody is signed in."""


class Refusal(StrEnum):
    """Why somebody who proved who they are is not let in."""

    EXPIRED = "expired"
    INACTIVE = "inactive"


class Doorkeeper:
    """What the server and the page know of each other.

    `posted`: whether requests are checked in this process; without that, what they say of who they
    are from is not to be believed. `is_active`: as the page last said; until it is drawn, and the
    library is open, there is nothing to be kept from anybody."""

    def __init__(self) -> None:
        self.posted = False
        self.is_active: IsActive = everybody

    def refusal(self, identity: Identity) -> Refusal | None:
        """Why somebody may not come in (any more)."""
        if identity.expires is not None and identity.expires <= time.time():
            return Refusal.EXPIRED
        return None if self.is_active(identity) else Refusal.INACTIVE


DOORKEEPER = Doorkeeper()


# What the server is made with.


def options(settings: Settings) -> dict[str, Any]:
    """What Streamlit's `App` needs so that a provider can sign people in."""
    if settings.sign_in != "oidc":
        return {}
    secret = cookie_secret(settings)
    # With it Streamlit signs what it remembers until somebody comes back from the provider. It
    # reads that before the secrets below, and the option cannot stand on a command line.
    config.set_option("server.cookieSecret", secret)
    client_secret = settings.oidc_secret.get_secret_value() if settings.oidc_secret else ""
    auth = {
        "redirect_uri": settings.public_url + CALLBACK,
        "cookie_secret": secret,
        "client_id": settings.oidc_client,
        "client_secret": client_secret,
        "server_metadata_url": settings.metadata_url,
        "client_kwargs": {
            "scope": settings.oidc_scopes,
            # Proof Key for Code Exchange (RFC 7636), also where the provider does not offer it.
            "code_challenge_method": "S256",
            # Without it Streamlit asks to choose an account, which some refuse; a list of none is
            # left out of the address, and nothing (None) is refused among secrets.
            "prompt": settings.oidc_prompt or [],
        },
    }
    return {"secrets": {"auth": auth}}


def cookie_secret(settings: Settings) -> str:
    """What signs cookies: the one that is set, else that of the data directory."""
    if settings.cookie_secret and settings.cookie_secret.get_secret_value():
        return settings.cookie_secret.get_secret_value()
    path = settings.folder / _SECRET_FILE
    with made_for_me():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or not path.read_text("ascii"):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as file:
                file.write(secrets.token_hex(32))
    return path.read_text("ascii")


def middleware(settings: Settings) -> list[Middleware]:
    """For `App`: nothing where nobody signs in. Raises SettingsError."""
    if settings.sign_in == "none":
        return []
    DOORKEEPER.posted = True
    secure = urlsplit(settings.public_url).scheme == "https"
    if settings.sign_in == "oidc":
        completed = Middleware(Userinfo, settings=settings, secret=cookie_secret(settings))
        return [Middleware(Authentication, prove=_by_cookie(settings), secure=secure), completed]
    if not knows_its_callers():
        raise SettingsError("With RAG_APP_SIGN_IN=headers the app is started by `rag-app`.")
    names = _names(settings)
    checked = Middleware(Authentication, prove=_by_proxy(settings), secure=secure, names=names.used)
    # Behind it nothing is decided by addresses but who sits at this computer.
    proxies = [str(network) for network in _proxies(settings)]
    return [checked, Middleware(ProxyHeadersMiddleware, trusted_hosts=proxies)]


# Who a request is from.


def _by_cookie(settings: Settings) -> Prove:
    """From the cookie that Streamlit sets once a provider has signed somebody in."""
    secret = cookie_secret(settings)
    issuer = proof.TokenIssuer(settings.issuer, settings.oidc_client, settings.groups_claim)
    parts = urlsplit(settings.public_url)
    origin = f"{parts.scheme}://{parts.netloc}"

    def prove(request: HTTPConnection) -> Identity | None:
        claims = signed(request.cookies, secret)
        ours = claims.get("origin") == request.headers.get("origin", origin) == origin
        if not ours or claims.get("is_logged_in") is not True:
            return None
        return proof.from_claims(claims, issuer)

    return prove


def _by_proxy(settings: Settings) -> Prove:
    """From headers, if the connection itself comes from a proxy that is believed."""
    proxies, names = _proxies(settings), _names(settings)

    def prove(request: HTTPConnection) -> Identity | None:
        client = request.client
        if client is None or not _is_among(client.host, proxies):
            return None
        return proof.from_headers(request.headers.raw, names)

    return prove


def _proxies(settings: Settings) -> list[Any]:
    given = (one.strip() for one in settings.proxies.split(","))
    return [ip_network(one, strict=False) for one in given if one]


def _names(settings: Settings) -> proof.HeaderNames:
    given = (settings.user_header, settings.email_header, settings.groups_header)
    return proof.HeaderNames(*(name.lower() for name in given))


def _is_among(host: str, networks: list[Any]) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return False
    # A socket that listens for both calls an old address by a new one: ::ffff:10.0.0.1
    plain = getattr(address, "ipv4_mapped", None) or address
    return any(plain in network for network in networks)


# What is let through.


class Authentication:
    """Tells the page who asks, and lets nobody reach files or go on who is not signed in.

    `names`: further headers that are for nobody behind this. `secure`: whether cookies are for
    encrypted connections only, which Streamlit does not say of its own."""

    def __init__(
        self, app: ASGIApp, prove: Prove, secure: bool = False, names: frozenset[str] = frozenset()
    ) -> None:
        self._app, self._prove, self._secure = app, prove, secure
        ours = {IDENTITY_HEADER.lower(), REFUSAL_HEADER.lower()}
        self._hidden = {name.encode("ascii") for name in names | ours}
        base = st.get_option("server.baseUrlPath").strip("/")
        self._content = tuple(f"/{base}{path}" if base else path for path in _CONTENT)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with what is known of who sends it, or answer why not."""
        if "headers" not in scope:
            await self._app(scope, receive, send)
            return
        is_socket = scope["type"] == "websocket"
        is_content = scope["path"].startswith(self._content)
        identity: Identity | None = None
        refusal: Refusal | None = None
        if is_socket or is_content:
            identity = self._prove(HTTPConnection(scope))
            refusal = await _refusal(identity)
        headers = [pair for pair in scope["headers"] if pair[0].lower() not in self._hidden]
        scope = {**scope, "headers": headers}
        send = self._with_secure_cookies(send)
        if is_socket:
            known = None if refusal else identity
            scope["headers"] = _introduced(headers, known, refusal)
            await self._app(scope, *_checked(known, receive, send))
        elif is_content and (refusal or not identity):
            await PlainTextResponse(texts.SIGN_IN_FIRST, 401)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _with_secure_cookies(self, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.accept"):
                message["headers"] = [
                    (name, value + b"; Secure" if _is_open_cookie(name, value) else value)
                    for name, value in message.get("headers", ())
                ]
            await send(message)

        return sending if self._secure else send


def _is_open_cookie(name: bytes, value: bytes) -> bool:
    """Whether a header sets a cookie that unencrypted connections would carry as well."""
    return name.lower() == b"set-cookie" and b"; secure" not in value.lower()


async def _refusal(identity: Identity | None) -> Refusal | None:
    # In a thread: who is active may stand in a database.
    return await run_in_threadpool(DOORKEEPER.refusal, identity) if identity else None


def _introduced(
    headers: list[tuple[bytes, bytes]], identity: Identity | None, refusal: Refusal | None
) -> list[tuple[bytes, bytes]]:
    """The headers of a connection, and whose it is. One that is nobody's brings nothing along: no
    cookie that Streamlit would believe, no earlier session of the page to be gone on with."""
    told = MutableHeaders(raw=list(headers))
    if identity:
        told[IDENTITY_HEADER] = proof.written(identity)
        return told.raw
    if refusal:
        told[REFUSAL_HEADER] = refusal.value
    if cookies := told.get("cookie"):
        kept = (one for one in cookies.split(";") if not one.strip().startswith(COOKIE))
        told["cookie"] = ";".join(kept)
    if protocols := told.get("sec-websocket-protocol"):
        told["sec-websocket-protocol"] = ",".join(protocols.split(",")[:2])
    return told.raw


def _checked(identity: Identity | None, receive: Receive, send: Send) -> tuple[Receive, Send]:
    """The messages of one connection; it is ended at the first that may no longer be sent."""
    ended = False

    async def heard() -> Message:
        nonlocal ended
        message = await receive()
        if message["type"] != "websocket.receive" or not await _refusal(identity):
            return message
        # The browser connects again, as nobody, and is shown the sign-in.
        ended = True
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        return {"type": "websocket.disconnect", "code": _POLICY_VIOLATION}

    async def say(message: Message) -> None:
        if not ended:
            await send(message)

    return heard, say


# What a provider says of somebody at its userinfo endpoint alone, kept with their sign-in.
#
# An ID token that comes with an access token need not say more than who it is about (OpenID Connect
# Core 1.0, 5.4), and some providers' do not: name, e-mail address and groups are asked for there,
# once for every sign-in, while the access token holds.

CALLBACK = "/oauth2callback"
COOKIE = "_streamlit_user"  # Streamlit's; a long one goes on in others whose names begin like it
_TOKENS = f"{COOKIE}_tokens"
_SECONDS = 10.0  # for the provider to answer
_SET_COOKIE = b"set-cookie"

Headers = list[tuple[bytes, bytes]]


def signed(cookies: Mapping[str, str], secret: str, name: str = COOKIE) -> dict[str, Any]:
    """What a cookie says, if it was signed with this secret; else nothing."""

    def part(name: str) -> bytes | None:
        value = cookies.get(name, "").encode("latin-1", "replace")
        return decode_signed_value(secret, name, value)

    try:
        said = json.loads(get_cookie_with_chunks(part, name) or b"{}")
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


class Userinfo:
    """Completes the cookie that Streamlit sets when somebody comes back from their provider."""

    def __init__(self, app: ASGIApp, settings: Settings, secret: str) -> None:
        self._app, self._metadata, self._secret = app, settings.metadata_url, secret
        self._wanted = ("name", "preferred_username", "email", settings.groups_claim)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; what answers the way back from the provider is completed."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = await self._completed(list(message.get("headers", ())))
            await send(message)

        back = scope["type"] == "http" and scope["path"].endswith(CALLBACK)
        await self._app(scope, receive, sending if back else send)

    async def _completed(self, headers: Headers) -> Headers:
        set_now = _cookies(headers)
        claims = signed(set_now, self._secret)
        if not claims or {"name", "email", self._wanted[-1]} <= claims.keys():
            return headers
        token = signed(set_now, self._secret, _TOKENS).get("access_token", "")
        said = await self._asked(str(token), claims.get("sub"))
        more = {name: said[name] for name in self._wanted if name in said and name not in claims}
        if "email" in more and "email_verified" in said:
            more["email_verified"] = said["email_verified"]
        return self._with(headers, claims | more) if more else headers

    async def _asked(self, token: str, subject: object) -> dict[str, Any]:
        """What the provider says of who this access token was given for."""
        import httpx

        try:
            async with httpx.AsyncClient(timeout=_SECONDS) as line:
                described = (await line.get(self._metadata)).raise_for_status().json()
                where = described.get("userinfo_endpoint")
                if not where or not token:
                    return {}
                bearer = {"Authorization": f"Bearer {token}"}
                said = (await line.get(where, headers=bearer)).raise_for_status().json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            log.warning("the provider's userinfo endpoint does not answer as it should: %s", error)
            return {}
        if not isinstance(said, dict) or said.get("sub") != subject:  # see 5.3.2
            log.warning("the provider's userinfo endpoint answered about somebody else")
            return {}
        return said

    def _with(self, headers: Headers, claims: dict[str, Any]) -> Headers:
        """The same headers, with these claims in the cookie, which is set as it was."""
        mine = [pair for pair in headers if _is_part(pair)]
        attributes = mine[0][1].decode("latin-1").partition(";")[2]
        kept = [pair for pair in headers if pair not in mine]

        def sign(name: str, value: str) -> bytes:
            return create_signed_value(self._secret, name, value)

        def add(name: str, value: str) -> None:
            whole = f"{name}={sign(name, value).decode('latin-1')};{attributes}"
            kept.append((_SET_COOKIE, whole.encode("latin-1")))

        size = len(attributes) + 1
        set_cookie_with_chunks(add, sign, COOKIE, claims, cookie_attr_size=size)
        return kept


def _cookies(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The cookies that a response sets."""
    found: SimpleCookie = SimpleCookie()
    for name, value in headers:
        if name.lower() == _SET_COOKIE:
            try:
                found.load(value.decode("latin-1"))
            except CookieError:  # not one of Streamlit's
                continue
    return {name: one.value for name, one in found.items()}


def _is_part(header: tuple[bytes, bytes]) -> bool:
    """Whether a header sets the cookie of who signed in, or one in which it goes on."""
    if header[0].lower() != _SET_COOKIE:
        return False
    name = header[1].decode("latin-1").partition("=")[0].strip()
    return name == COOKIE or name.removeprefix(f"{COOKIE}_").isdigit()
