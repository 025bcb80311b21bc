"""Signing in by a provider that follows OpenID Connect to the letter: npm's `oidc-provider`.

    make test-oidc

The pages are asked for as a browser does, by two replicas in turns with one cookie secret."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from rag_app.ui import texts
from tests.providers import node_provider
from tests.test_web_guard import Served, serving

pytestmark = pytest.mark.timeout(300)
FRONT = "127.0.0.1:8599"  # what people call the page; nothing listens there
PAGE = f"http://{FRONT}"
_FIELD = re.compile(r'name="(\w+)" value="([^"]*)"')


@pytest.fixture(scope="module")
def replicas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Served]]:
    """Two apps, each with a library of its own, behind one address."""
    folder = tmp_path_factory.mktemp("letter")
    with node_provider(folder, f"{PAGE}/oauth2callback") as address:
        told = {
            "RAG_APP_SIGN_IN": "oidc",
            "RAG_APP_OIDC_URL": address,
            "RAG_APP_OIDC_CLIENT": "rag-app",
            "RAG_APP_OIDC_SECRET": "the secret of the app",
            "RAG_APP_OIDC_SCOPES": "openid profile email groups",
            "RAG_APP_COOKIE_SECRET": "only for this test, only for this test",
            "RAG_APP_PUBLIC_URL": PAGE,
            "RAG_APP_ADMINISTRATORS": "grace@example.org",
            "NO_PROXY": "127.0.0.1",
        }
        with serving(folder / "one", **told) as one, serving(folder / "two", **told) as two:
            yield [one, two]


@dataclass
class Visitor:
    """A browser: its cookies, and what it shows."""

    line: httpx.Client
    asked: list[str] = field(default_factory=list)  # addresses, in order

    def get(self, replica: Served, address: str) -> httpx.Response:
        """What a replica answers under the address of the page."""
        parts = urlsplit(address)
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        return self.line.get(f"http://127.0.0.1:{replica.port}{path}", headers={"Host": FRONT})

    def page(self, replica: Served, press: str = "") -> str:
        """What the page shows; or where a button of it leads."""
        with self._opened(replica) as page:
            page.send(BackMsg(rerun_script=ClientState()).SerializeToString())
            shown, buttons, _ = _drawn(page)
            if not press:
                return shown
            state = ClientState()
            state.widget_states.widgets.add(id=buttons[press], trigger_value=True)
            page.send(BackMsg(rerun_script=state).SerializeToString())
            return _drawn(page)[2]

    def _opened(self, replica: Served) -> ClientConnection:
        kept = (one for one in self.line.cookies.jar if one.path == "/")  # others: the provider's
        told = "; ".join(f"{one.name}={one.value}" for one in kept)
        return connect(
            f"ws://127.0.0.1:{replica.port}/_stcore/stream",
            additional_headers={"Cookie": told} if told else {},
            subprotocols=["streamlit"],  # type: ignore[list-item]
            proxy=None,
            max_size=None,
        )

    def follow(self, answer: httpx.Response, **said: str) -> str:
        """Through the provider's pages, with what is filled in, until it leads back to ours."""
        while True:
            if answer.is_redirect:
                address = str(answer.next_request.url if answer.next_request else "")
                self.asked.append(address)
                if address.startswith(PAGE):
                    return address
                answer = self.line.get(address)
            else:
                assert answer.status_code == 200, answer.text
                fields = dict(_FIELD.findall(answer.text)) | said
                [action] = re.findall(r'<form[^>]* action="([^"]+)"', answer.text)[:1]
                answer = self.line.post(answer.url.join(action), data=fields)

    def sign_in(self, one: Served, other: Served, who: str) -> None:
        """Sent off by one replica, taken back by another."""
        answer = self.get(one, self.page(one, texts.SIGN_IN))
        back = self.follow(answer, login=who, password="any")
        assert self.get(other, back).status_code == 302


def _drawn(page: ClientConnection) -> tuple[str, dict[str, str], str]:
    """(what is shown, the ids of buttons by what stands on them, where the page leads to)."""
    shown, buttons, leads = b"", {}, ""
    while True:
        received = page.recv(timeout=120)
        assert isinstance(received, bytes)
        shown += received
        message = ForwardMsg.FromString(received)
        kind = message.WhichOneof("type")
        if kind == "delta" and message.delta.new_element.HasField("button"):
            button = message.delta.new_element.button
            buttons[button.label] = button.id
        if kind == "auth_redirect":
            leads = message.auth_redirect.url
        if kind == "script_finished" or leads:
            return shown.decode("utf-8", "replace"), buttons, leads


def commanded(replica: Served, what: str) -> str:
    """What a command says of the library of a replica."""
    command = [sys.executable, "-m", "rag_app.cli", what, "--data-dir", str(replica.data)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def visitor() -> Iterator[Visitor]:
    with httpx.Client(timeout=60, trust_env=False) as line:
        yield Visitor(line)


def test_who_somebody_is_comes_from_where_the_provider_says_it(replicas, visitor):
    one, two = replicas
    visitor.sign_in(one, two, "ada")
    began = next(url for url in visitor.asked if "/auth?" in url)
    said = parse_qs(urlsplit(began).query)
    assert said["code_challenge_method"] == ["S256"] and said["code_challenge"]
    for replica in replicas:
        shown = visitor.page(replica)
        assert "ada of the engines" in shown and "ada@example.org" in shown
        assert texts.SIGN_IN_WHAT not in shown and texts.DROP in shown


def test_groups_and_administrators_are_those_that_the_provider_names(replicas, visitor):
    one, two = replicas
    visitor.sign_in(two, one, "grace")
    visitor.page(one)  # who opens a library's page is known to it
    assert "grace@example.org  (administrator)" in commanded(one, "people")
    assert {"engines", "letters"} <= set(commanded(one, "groups").split())


def test_who_signs_out_is_signed_out_at_the_provider(replicas, visitor):
    one, two = replicas
    visitor.sign_in(one, two, "ada")
    before = len(visitor.asked)
    gone = visitor.get(two, f"{PAGE}/auth/logout")
    back = visitor.follow(gone, logout="yes")
    assert "/session/end?" in visitor.asked[before] and "id_token_hint=" in visitor.asked[before]
    assert visitor.get(one, back).status_code == 302
    for replica in replicas:
        assert texts.SIGN_IN_WHAT in visitor.page(replica)
    del visitor.asked[:]
    visitor.sign_in(one, two, "bob")  # is asked who they are again: nobody is signed in there
    assert any("/interaction/" in url for url in visitor.asked)
    assert "bob of the engines" in visitor.page(one)


def test_a_way_back_that_nobody_was_sent_on_signs_nobody_in(replicas, visitor):
    one, two = replicas
    back = visitor.follow(
        visitor.get(one, visitor.page(one, texts.SIGN_IN)), login="ada", password="x"
    )
    with httpx.Client(timeout=60, trust_env=False) as line:
        other = Visitor(line)  # another browser, with the address of this one
        assert other.get(two, back).status_code == 302
        assert texts.SIGN_IN_WHAT in other.page(two)
    assert visitor.get(one, back).status_code == 302
    assert "ada of the engines" in visitor.page(one)
    with httpx.Client(timeout=60, trust_env=False) as line:
        assert texts.SIGN_IN_WHAT in Visitor(line).page(one)
