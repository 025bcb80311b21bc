"""What is passed on to the page of who asks, and what is not: with an app that notes it."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit import config
from streamlit.auth_util import set_cookie_with_chunks
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value

from rag_app.access import proof
from rag_app.access.access import Access
from rag_app.access.nouns import everybody
from rag_app.errors import SettingsError
from rag_app.settings import Settings
from rag_app.ui import texts, web_authentication, web_guard
from rag_app.ui.web_authentication import DOORKEEPER, REFUSAL_HEADER

SECRET = "a secret that is long enough for it"
ORIGIN = "https://docs.example.org"
CLAIMS = {
    "origin": ORIGIN,
    "is_logged_in": True,
    "provider": "default",
    "iss": "https://id.example.org",
    "aud": "rag-app",
    "sub": "4711",
    "name": "Ada",
}
HTTP, SOCKET = "http", "websocket"


@pytest.fixture(autouse=True)
def doorkeeper(monkeypatch):
    """As it is when a server starts."""
    monkeypatch.setattr(DOORKEEPER, "posted", False)
    monkeypatch.setattr(DOORKEEPER, "is_active", everybody)


def by_provider(**changed: Any) -> Settings:
    given = {
        "sign_in": "oidc",
        "oidc_url": "https://id.example.org",
        "oidc_client": "rag-app",
        "oidc_secret": "hush",
        "public_url": ORIGIN,
        "cookie_secret": SECRET,
    }
    return Settings.load(**{**given, **changed})


@dataclass
class Served:
    """An app behind the middleware of some settings: what it was told, and what came back."""

    settings: Settings
    headers: dict[str, str] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)
    sent: list[dict] = field(default_factory=list)
    peer: tuple[str, int] | None = None
    reached: bool = False

    def ask(
        self,
        kind: str = SOCKET,
        path: str = "/_stcore/stream",
        headers: dict[str, str] | list[tuple[str, str]] = (),
        client: tuple[str, int] | None = ("192.0.2.7", 5000),
        messages: tuple[bytes, ...] = (),
        between=lambda number: None,
    ) -> Served:
        """Send a request; `between` is called before each of its messages."""
        pairs = headers.items() if isinstance(headers, dict) else headers
        scope = {
            "type": kind,
            "path": path,
            "headers": [(k.lower().encode(), v.encode()) for k, v in pairs],
            "client": client,
        }
        incoming = [{"type": "websocket.connect"}]
        incoming += [{"type": "websocket.receive", "bytes": one} for one in messages]
        incoming += [{"type": "websocket.disconnect", "code": 1000}]
        given = iter(enumerate(incoming))

        async def receive():
            number, message = next(given)
            between(number)
            return message

        async def send(message):
            self.sent.append(message)

        app: Any = self._app
        for each in reversed(web_authentication.middleware(self.settings)):
            app = each.cls(app, *each.args, **each.kwargs)
        asyncio.run(app(scope, receive, send))
        return self

    async def _app(self, scope, receive, send) -> None:
        self.reached, self.peer = True, scope["client"]
        self.headers = {k.decode(): v.decode() for k, v in scope["headers"]}
        if scope["type"] == HTTP:
            cookie = (b"set-cookie", b"a=b; Path=/")
            await send({"type": "http.response.start", "status": 200, "headers": [cookie]})
            await send({"type": "http.response.body", "body": b"content"})
            return
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] != "websocket.disconnect":
            self.heard.append(message.get("bytes", b"").decode())
        await send({"type": "websocket.send", "bytes": b"too late"})

    @property
    def who(self) -> str:
        """Who the page was told it is; empty: nobody."""
        said = self.headers.get(proof.IDENTITY_HEADER.lower())
        return proof.read(said).subject if said else ""

    @property
    def refusal(self) -> str | None:
        return self.headers.get(REFUSAL_HEADER.lower())

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def closed(self) -> list[int]:
        return [m["code"] for m in self.sent if m["type"] == "websocket.close"]


def cookie(secret: str = SECRET, **changed: object) -> str:
    """The cookies of somebody that the provider signed in."""
    claims = {"iat": int(time.time()), "exp": time.time() + 600, **CLAIMS, **changed}
    parts = {}
    set_cookie_with_chunks(
        parts.__setitem__,
        lambda name, value: create_signed_value(secret, name, value),
        "_streamlit_user",
        claims,
        cookie_attr_size=60,
    )
    pairs = {k: create_signed_value(secret, k, v).decode() for k, v in parts.items()}
    return "; ".join([*(f"{k}={v}" for k, v in pairs.items()), "_streamlit_xsrf=2|x"])


def test_the_page_is_told_who_the_provider_signed_in():
    served = Served(by_provider()).ask(headers={"Cookie": cookie(), "Origin": ORIGIN})
    assert served.who == "https://id.example.org|4711"
    assert "_streamlit_user=" in served.headers["cookie"]
    assert served.headers["origin"] == ORIGIN


def test_a_cookie_of_many_groups_comes_in_parts_and_is_read():
    many = [f"group {number:04}" for number in range(1500)]
    value = cookie(groups=many)
    assert "_streamlit_user_2=" in value
    served = Served(by_provider()).ask(headers={"Cookie": value})
    told = proof.read(served.headers[proof.IDENTITY_HEADER.lower()])
    assert told.groups == set(many)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "_streamlit_user=eyJzdWIiOiAiYWRhIn0.x.y",
        cookie("another secret, as long as that one"),
        cookie(iss="https://evil.example"),
        cookie(aud="other", azp="rag-app"),
        cookie(origin="https://other.example.org"),
        cookie(is_logged_in=False),
        cookie(exp=None),
        cookie(sub="a\x00b"),
    ],
)
def test_what_does_not_prove_who_it_is_is_nobody_and_brings_nothing_along(value):
    told = {
        "Cookie": value,
        proof.IDENTITY_HEADER: proof.written(proof.Identity("forged")),
        REFUSAL_HEADER: "inactive",
        "Sec-WebSocket-Protocol": "streamlit, token, an-earlier-session",
    }
    served = Served(by_provider()).ask(headers=told)
    assert served.reached and served.who == "" and served.refusal is None
    assert "_streamlit_user" not in served.headers.get("cookie", "")
    assert served.headers["sec-websocket-protocol"] == "streamlit, token"


@pytest.mark.parametrize("origin", ["https://other.example.org", "http://docs.example.org", "null"])
def test_a_page_of_another_site_has_nobody_behind_it(origin):
    served = Served(by_provider()).ask(headers={"Cookie": cookie(), "Origin": origin})
    assert served.who == ""


def test_who_is_signed_in_goes_on_with_their_session():
    told = {"Cookie": cookie(), "Sec-WebSocket-Protocol": "streamlit, token, session"}
    served = Served(by_provider()).ask(headers=told)
    assert served.headers["sec-websocket-protocol"] == "streamlit, token, session"


def test_a_sign_in_that_ran_out_is_nobodys_and_the_page_says_so():
    served = Served(by_provider()).ask(headers={"Cookie": cookie(exp=time.time() - 1)})
    assert (served.who, served.refusal) == ("", "expired")
    assert "_streamlit_user" not in served.headers["cookie"]


def test_who_was_removed_is_nobody_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(DOORKEEPER, "is_active", lambda who: who.name != "Ada")
    served = Served(by_provider()).ask(headers={"Cookie": cookie()})
    assert (served.who, served.refusal) == ("", "inactive")
    assert Served(by_provider()).ask(headers={"Cookie": cookie(name="Bob")}).who


def test_the_next_click_of_who_was_removed_is_not_passed_on(monkeypatch):
    def between(number: int) -> None:
        if number == 2:
            monkeypatch.setattr(DOORKEEPER, "is_active", lambda who: False)

    served = Served(by_provider())
    served.ask(headers={"Cookie": cookie()}, messages=(b"one", b"two", b"three"), between=between)
    assert served.heard == ["", "one"]  # the first is that it connects
    assert served.closed == [1008]
    assert not [m for m in served.sent if m["type"] == "websocket.send"]


def test_a_cookie_that_was_copied_opens_nothing_after_its_owner_signed_out(monkeypatch, database):
    access = Access(database, Settings.load())
    monkeypatch.setattr(DOORKEEPER, "is_active", access.admits)
    copied, later = cookie(iat=1_000), cookie(iat=1_001)
    served = Served(by_provider()).ask(headers={"Cookie": copied})
    told = proof.read(served.headers[proof.IDENTITY_HEADER.lower()])

    def between(number: int) -> None:
        if number == 2:
            access.sign_out(told)

    open_page = Served(by_provider())
    open_page.ask(headers={"Cookie": copied}, messages=(b"one", b"two"), between=between)
    assert open_page.heard == ["", "one"] and open_page.closed == [1008]
    for again in (access, Access(database, Settings.load())):  # of another process, too
        monkeypatch.setattr(DOORKEEPER, "is_active", again.admits)
        assert not Served(by_provider()).ask(headers={"Cookie": copied}).who
        assert Served(by_provider()).ask(HTTP, "/media/x.png", {"Cookie": copied}).status == 401
    assert Served(by_provider()).ask(headers={"Cookie": later}).who


def test_the_next_click_after_a_sign_in_ran_out_is_not_passed_on(monkeypatch):
    served, ends = Served(by_provider()), time.time() + 600

    def between(number: int) -> None:
        if number == 2:
            monkeypatch.setattr(web_authentication.time, "time", lambda: ends)

    told = {"Cookie": cookie(exp=ends)}
    served.ask(headers=told, messages=(b"one", b"two"), between=between)
    assert served.heard == ["", "one"] and served.closed == [1008]


def test_nobody_is_asked_for_a_list_when_nobody_is_signed_in(monkeypatch):
    monkeypatch.setattr(DOORKEEPER, "is_active", lambda who: pytest.fail("asked"))
    served = Served(by_provider()).ask(messages=(b"sign me in",))
    assert served.heard == ["", "sign me in"] and not served.closed


@pytest.mark.parametrize("path", ["/media/1f.png", "/_stcore/upload_file/session/file"])
def test_files_are_for_who_is_signed_in(path, monkeypatch):
    nobody = Served(by_provider()).ask(HTTP, path)
    assert nobody.status == 401 and not nobody.reached
    assert nobody.sent[1]["body"] == texts.SIGN_IN_FIRST.encode()
    assert Served(by_provider()).ask(HTTP, path, {"Cookie": cookie()}).status == 200
    gone = {"Cookie": cookie(exp=time.time() - 1)}
    assert Served(by_provider()).ask(HTTP, path, gone).status == 401
    monkeypatch.setattr(DOORKEEPER, "is_active", lambda who: False)
    assert Served(by_provider()).ask(HTTP, path, {"Cookie": cookie()}).status == 401


def test_files_are_found_below_the_path_that_the_app_has(monkeypatch):
    monkeypatch.setattr(st, "get_option", lambda name: "/docs/")
    assert Served(by_provider()).ask(HTTP, "/docs/media/1f.png").status == 401


@pytest.mark.parametrize(
    "path", ["/", "/static/media/letters.woff2", "/auth/login", "/_stcore/health"]
)
def test_the_sign_in_itself_is_for_everybody(path):
    served = Served(by_provider()).ask(HTTP, path, {proof.IDENTITY_HEADER: "x"})
    assert served.status == 200 and proof.IDENTITY_HEADER.lower() not in served.headers


def test_cookies_are_for_encrypted_connections_where_the_page_is():
    [header] = Served(by_provider()).ask(HTTP, "/").sent[0]["headers"]
    assert header == (b"set-cookie", b"a=b; Path=/; Secure")
    own = by_provider(public_url="http://127.0.0.1:8501")
    [header] = Served(own).ask(HTTP, "/").sent[0]["headers"]
    assert header == (b"set-cookie", b"a=b; Path=/")


# Behind a proxy.

ADA = {"X-Forwarded-User": "ada", "X-Forwarded-Email": "ada@example.org"}


@pytest.fixture
def by_proxy(monkeypatch) -> Settings:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "")
    return Settings.load(sign_in="headers", proxies="10.0.0.2, 192.168.7.0/24, fd00::/64")


@pytest.mark.parametrize("peer", ["10.0.0.2", "192.168.7.9", "fd00::1", "::ffff:10.0.0.2"])
def test_a_proxy_that_is_believed_says_who_it_is(by_proxy, peer):
    served = Served(by_proxy).ask(headers=ADA, client=(peer, 1))
    assert served.who == "ada"
    assert not {name for name in served.headers if name.startswith("x-forwarded")}


@pytest.mark.parametrize(
    "peer", ["10.0.0.3", "127.0.0.1", "::1", "::ffff:10.0.0.3", "10.0.0.2.evil.example", ""]
)
def test_headers_from_elsewhere_are_nobodys_and_nobody_sees_them(by_proxy, peer):
    for lie in ({}, {"X-Forwarded-For": "10.0.0.2"}, {"Forwarded": "for=10.0.0.2"}):
        served = Served(by_proxy).ask(headers={**ADA, **lie}, client=(peer, 1))
        assert served.who == ""
        assert not {
            name for name in served.headers if name in ("x-forwarded-user", "x-forwarded-email")
        }
        assert Served(by_proxy).ask(HTTP, "/media/x", ADA, (peer, 1)).status == 401


def test_a_connection_from_no_address_is_nobodys(by_proxy):
    assert Served(by_proxy).ask(headers=ADA, client=None).who == ""


def test_two_headers_that_disagree_name_nobody(by_proxy):
    twice = [*ADA.items(), ("x-forwarded-user", "bob")]
    assert Served(by_proxy).ask(headers=twice, client=("10.0.0.2", 1)).who == ""


def test_behind_it_the_address_is_the_browsers(by_proxy):
    told = {**ADA, "X-Forwarded-For": "198.51.100.4, 192.168.7.9"}
    assert Served(by_proxy).ask(headers=told, client=("10.0.0.2", 1)).peer[0] == "198.51.100.4"
    assert Served(by_proxy).ask(headers=told, client=("10.0.0.3", 1)).peer[0] == "10.0.0.3"


def test_where_a_header_could_change_the_address_it_does_not_start(monkeypatch):
    for said in ("*", "127.0.0.1", None):
        monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
        if said is not None:
            monkeypatch.setenv("FORWARDED_ALLOW_IPS", said)
        with pytest.raises(SettingsError, match="started by `rag-app`"):
            web_authentication.middleware(Settings.load(sign_in="headers"))


# What the server is made with.


def test_where_nobody_signs_in_nothing_is_put_before_the_page():
    assert web_authentication.middleware(Settings.load()) == []
    assert web_authentication.options(Settings.load()) == {}
    assert not DOORKEEPER.posted


def test_streamlit_is_given_the_provider_and_proves_who_asked(monkeypatch):
    chosen = {}
    monkeypatch.setattr(config, "set_option", chosen.__setitem__)
    auth = web_authentication.options(by_provider(oidc_scopes="openid groups"))["secrets"]["auth"]
    assert auth == {
        "redirect_uri": f"{ORIGIN}/oauth2callback",
        "cookie_secret": SECRET,
        "client_id": "rag-app",
        "client_secret": "hush",
        "server_metadata_url": "https://id.example.org/.well-known/openid-configuration",
        "client_kwargs": {
            "scope": "openid groups",
            "code_challenge_method": "S256",
            "prompt": [],  # else Streamlit asks for `select_account`
        },
    }
    auth = web_authentication.options(by_provider(oidc_prompt="login"))["secrets"]["auth"]
    assert auth["client_kwargs"]["prompt"] == "login"
    assert chosen == {"server.cookieSecret": SECRET}


@pytest.mark.skipif(os.name != "posix", reason="these permissions are POSIX")
def test_a_secret_that_is_made_is_kept_and_is_the_users_alone(own_house):
    settings = by_provider(cookie_secret=None)
    before = os.umask(0)
    try:
        made = web_authentication.cookie_secret(settings)
    finally:
        os.umask(before)
    assert len(made) == 64 and web_authentication.cookie_secret(settings) == made
    path = own_house / "cookie-secret"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(own_house.stat().st_mode) == 0o700
    path.write_text("")  # torn
    assert len(web_authentication.cookie_secret(settings)) == 64
    assert web_authentication.cookie_secret(by_provider()) == SECRET


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.168.1.5", None])
def test_a_server_that_others_reach_is_not_made_without_a_sign_in(address, monkeypatch):
    monkeypatch.setattr(st, "get_option", lambda name: address)
    with pytest.raises(SettingsError, match="RAG_APP_SIGN_IN"):
        web_guard.options()


def test_where_nobody_signs_in_what_signs_people_in_is_not_even_imported():
    code = (
        "import sys; import rag_app.ui.app_entry, rag_app.ui.web_guard as guard; guard.options();"
        "sys.exit('authlib' in sys.modules or 'joserfc' in sys.modules)"
    )
    root = Path(__file__).resolve().parent.parent
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_secrets_are_not_shown():
    shown = (
        repr(by_provider()) + str(by_provider()) + json.dumps(by_provider().model_dump(mode="json"))
    )
    assert "hush" not in shown and SECRET not in shown
