"""What a provider says of somebody at its userinfo endpoint alone, kept with their sign-in.

An ID token that comes with an access token need not say more than who it is about (OpenID Connect
Core 1.0, 5.4), and some providers' do not: name, e-mail address and groups are asked for there,
once for every sign-in, while the access token holds."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.auth_util import get_cookie_with_chunks, set_cookie_with_chunks
from streamlit.web.server.starlette.starlette_app_utils import (
    create_signed_value,
    decode_signed_value,
)

from rag_app.settings import Settings

log = logging.getLogger(__name__)

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
