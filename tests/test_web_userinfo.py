"""What a provider says at its userinfo endpoint alone, when somebody comes back from it."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from streamlit.auth_util import set_cookie_with_chunks
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from rag_app.ui.web_authentication import CALLBACK, Userinfo, signed
from tests.test_web_authentication import SECRET, by_provider

TOLD = {"sub": "4711", "is_logged_in": True, "iss": "https://id.example.org"}
ASKED = {"sub": "4711", "name": "Ada", "email": "ada@example.org", "groups": ["engines"]}
FLAGS = "; HttpOnly; Max-Age=2592000; Path=/; SameSite=lax"


@dataclass
class Provider:
    """What its userinfo endpoint says, and who asked."""

    said: Any = field(default_factory=lambda: dict(ASKED))
    bearers: list[str | None] = field(default_factory=list)
    address: str = ""
    has_one: bool = True


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/me":
                made.bearers.append(self.headers["Authorization"])
                body = made.said
            else:
                body = {"userinfo_endpoint": f"{made.address}/me"} if made.has_one else {}
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Nothing on standard error."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    made.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    server.shutdown()
    thread.join()
    server.server_close()


def sign(name: str, value: str) -> bytes:
    return create_signed_value(SECRET, name, value)


def come_back(
    provider: Provider, claims: dict[str, Any] = TOLD, path: str = CALLBACK, **tokens: str
) -> list[str]:
    """The cookies that are set when Streamlit's callback sets those of these claims."""
    headers = [(b"location", b"/")]

    def add(name: str, value: str) -> None:
        headers.append((b"set-cookie", f"{name}={sign(name, value).decode()}{FLAGS}".encode()))

    size = len(FLAGS)
    set_cookie_with_chunks(add, sign, "_streamlit_user", claims, cookie_attr_size=size)
    kept = tokens or {"access_token": "the token"}
    set_cookie_with_chunks(add, sign, "_streamlit_user_tokens", kept, cookie_attr_size=size)

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 302, "headers": headers})
        await send({"type": "http.response.body"})

    sent: list[Any] = []

    async def send(message) -> None:
        sent.append(message)

    settings = by_provider(oidc_url=provider.address)
    scope = {"type": "http", "path": path, "headers": []}
    asyncio.run(Userinfo(app, settings, SECRET)(scope, None, send))
    assert (b"location", b"/") in sent[0]["headers"] and len(sent) == 2
    return [v.decode() for k, v in sent[0]["headers"] if k == b"set-cookie"]


def remembered(cookies: list[str], name: str = "_streamlit_user") -> dict[str, Any]:
    found = SimpleCookie()
    for one in cookies:
        assert one.endswith(FLAGS)
        found.load(one)
    assert len(found) == len(cookies)  # none is set twice
    return signed({key: one.value for key, one in found.items()}, SECRET, name)


def test_name_address_and_groups_are_asked_for_where_the_token_does_not_say_them(provider):
    cookies = come_back(provider)
    assert remembered(cookies) == TOLD | {k: v for k, v in ASKED.items() if k != "sub"}
    assert remembered(cookies, "_streamlit_user_tokens") == {"access_token": "the token"}
    assert provider.bearers == ["Bearer the token"]


def test_a_token_that_says_all_of_it_is_enough(provider):
    claims = {**TOLD, **ASKED}
    assert remembered(come_back(provider, claims)) == claims
    assert provider.bearers == []


def test_what_the_token_says_counts_and_only_what_is_wanted_is_added(provider):
    provider.said |= {"name": "Eve", "exp": 9e9, "aud": "another", "picture": "https://x.example"}
    found = remembered(come_back(provider, {**TOLD, "name": "Ada", "email_verified": True}))
    assert found["name"] == "Ada" and not {"exp", "aud", "picture"} & found.keys()
    provider.said["email_verified"] = False
    found = remembered(come_back(provider, {**TOLD, "email_verified": True}))
    assert found["email_verified"] is False  # it is said of the address that comes with it


@pytest.mark.parametrize(
    "said", [{**ASKED, "sub": "another"}, {"name": "Ada"}, b"eyJhbGciOi", ["sub"], b"", {}]
)
def test_an_answer_about_somebody_else_or_about_nobody_is_not_taken(provider, said, caplog):
    provider.said = said
    assert remembered(come_back(provider)) == TOLD
    assert "userinfo" in caplog.text and "the token" not in caplog.text


def test_a_provider_without_the_endpoint_or_that_is_away_signs_in_all_the_same(provider):
    provider.has_one = False
    assert remembered(come_back(provider)) == TOLD
    provider.address = "http://127.0.0.1:9"
    assert remembered(come_back(provider)) == TOLD
    assert provider.bearers == []


def test_many_groups_go_on_in_further_cookies(provider):
    provider.said["groups"] = [random.Random(n).randbytes(16).hex() for n in range(300)]
    cookies = come_back(provider)
    assert len(cookies) > 3
    assert remembered(cookies)["groups"] == provider.said["groups"]
    claims = {**TOLD, "name": random.Random(5).randbytes(4_500).hex()}  # which were several before
    assert remembered(come_back(provider, claims))["groups"] == provider.said["groups"]


def test_other_paths_and_cookies_of_nobody_are_left_as_they_are(provider):
    assert remembered(come_back(provider, path="/")) == TOLD
    come_back(provider, {})
    assert provider.bearers == []
