# ruff: noqa: F811 - the fixtures are those of test_app
"""Who comes in, as the page and the command line have it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rag_app import cli
from rag_app.access import proof
from rag_app.access.nouns import Identity
from rag_app.cli import serve
from rag_app.ui import app_entry, live_answer, texts, who
from rag_app.ui.web_authentication import DOORKEEPER, REFUSAL_HEADER
from tests.servers import scripted_server
from tests.test_app import FERRY, Page, opened, page  # noqa: F401 - fixtures
from tests.test_web_authentication import doorkeeper  # noqa: F401 - a fixture for all of these

ADA = Identity("https://id.example.org|4711", "Ada <b>Lovelace</b>", "ada@example.org")


@pytest.fixture
def said(monkeypatch) -> dict[str, str]:
    """A provider signs people in; what is in here the server says of the connection."""
    for name, value in {
        "SIGN_IN": "oidc",
        "OIDC_URL": "https://id.example.org",
        "OIDC_CLIENT": "rag-app",
        "OIDC_SECRET": "hush",
        "PUBLIC_URL": "https://docs.example.org",
    }.items():
        monkeypatch.setenv(f"RAG_APP_{name}", value)
    headers: dict[str, str] = {}
    monkeypatch.setattr(DOORKEEPER, "posted", True)
    monkeypatch.setattr(who, "_headers", lambda: headers)
    return headers


def open_as(said: dict[str, str], who: Identity, libraries: list) -> Page:
    said[proof.IDENTITY_HEADER] = proof.written(who)
    return Page(libraries)


def test_where_nobody_signs_in_the_page_is_as_ever(page, monkeypatch):
    assert texts.EMPTY in page.html()
    assert "sign_out" not in page.buttons() and texts.SIGN_IN not in page.html()
    assert page.at.session_state["identity"] == Identity("")


def test_nobody_sees_the_sign_in_and_nothing_else(said, opened):
    nobody = Page(opened)
    assert nobody.buttons() == {"sign_in_now"}
    assert texts.SIGN_IN_WHAT in nobody.html()
    assert not opened  # the library is not even opened
    assert not nobody.at.chat_input and not nobody.at.sidebar.children
    assert nobody.at.session_state["identity"] is None


def test_who_signed_in_sees_the_page_their_name_and_the_way_out(said, opened):
    ada = open_as(said, ADA, opened)
    assert texts.EMPTY in ada.html()
    assert "Ada &lt;b&gt;Lovelace&lt;/b&gt;" in ada.html() and "<b>Lovelace" not in ada.html()
    assert "sign_out" in ada.buttons()
    assert ada.at.session_state["identity"] == ADA


@pytest.mark.parametrize(
    ("who", "shown"),
    [
        (Identity("https://id.example.org|4711", email="a@example.org"), ">a@example.org<"),
        (Identity("https://id.example.org|4711"), ">4711<"),
    ],
)
def test_who_has_no_name_is_called_something_all_the_same(said, opened, who, shown):
    assert shown in open_as(said, who, opened).html()


def test_a_sign_in_that_runs_out_is_asked_for_at_the_next_run(said, opened):
    ends = time.time() + 3600
    page = open_as(said, Identity("a|b", "Ada", expires=ends), opened)
    assert "sign_out" in page.buttons()
    said[proof.IDENTITY_HEADER] = proof.written(Identity("a|b", "Ada", expires=time.time() - 1))
    page.run()
    assert page.buttons() == {"sign_in_now"} and texts.SIGN_IN_EXPIRED in page.html()


@pytest.mark.parametrize(
    ("why", "sentence"),
    [("expired", texts.SIGN_IN_EXPIRED), ("inactive", texts.SIGN_IN_INACTIVE)],
)
def test_the_sign_in_says_why_it_is_asked_for(said, opened, why, sentence):
    said[REFUSAL_HEADER] = why
    assert sentence in Page(opened).html()


def test_who_signs_out_ends_the_sign_in_itself(said, opened):
    before = time.time() - 1
    ada = open_as(said, replace(ADA, issued=before), opened)
    ada.click("sign_out")
    assert not opened[-1].access.is_in(replace(ADA, issued=before - 0.5))
    assert ada.buttons() == {"sign_in_now"}  # by the same cookie


def test_what_no_server_checked_is_not_believed(monkeypatch):
    connection = SimpleNamespace(headers={proof.IDENTITY_HEADER: proof.written(ADA)})
    monkeypatch.setattr(who, "st", SimpleNamespace(context=connection))
    assert who._headers() == {}
    monkeypatch.setattr(DOORKEEPER, "posted", True)
    assert who._headers() == connection.headers


def test_who_is_removed_is_out_at_the_next_run_and_their_answers_end(said, opened, monkeypatch):
    inside = {ADA.subject}
    real = app_entry.run
    monkeypatch.setattr(app_entry, "run", lambda: real(lambda who: who.subject in inside))
    with scripted_server() as (url, script):
        script.words, script.pause_before = ["One. ", "Two. ", *["More. "] * 20_000], 1
        monkeypatch.setenv("RAG_APP_GENERATOR", f"openai:tiny@{url}")
        page = open_as(said, ADA, opened)
        page.drop(("ferry.txt", FERRY))
        page.at.chat_input[0].set_value("What does the ferry cost?")
        page.run()
        page.until(lambda: live_answer.running())
        [answer] = [each for each in live_answer._alive() if each.subject == ADA.subject]
        live_answer.end_of("somebody else")
        assert not answer.stopping
        inside.clear()
        page.run()
        assert page.buttons() == {"sign_in_now"} and texts.SIGN_IN_INACTIVE in page.html()
        assert answer.stopping
        script.hold.set()
        assert answer.wait(30) and answer.now().answer is None
        assert not DOORKEEPER.is_active(ADA)  # as the server asks at every message


def test_who_is_known_wherever_the_page_asks(monkeypatch):
    monkeypatch.setattr(who, "st", SimpleNamespace(session_state={"identity": ADA}))
    assert who.signed_in() == ADA and who.subject() == ADA.subject
    ended = Identity("a", expires=time.time() - 1)
    for nobody in ({}, {"identity": None}, {"identity": ended}):
        monkeypatch.setattr(who, "st", SimpleNamespace(session_state=nobody))
        assert who.signed_in() is None and who.subject() == ""


def test_nobody_who_signs_in_sits_at_the_apps_computer():
    assert who.is_forwarded({"Host": "localhost:8501", proof.IDENTITY_HEADER: "x"})


def test_behind_a_proxy_there_is_no_button_but_a_sentence(opened, monkeypatch):
    monkeypatch.setenv("RAG_APP_SIGN_IN", "headers")
    nobody = Page(opened)
    assert nobody.buttons() == set() and texts.SIGN_IN_ELSEWHERE in nobody.html()
    monkeypatch.setattr(DOORKEEPER, "posted", True)
    said = {proof.IDENTITY_HEADER: proof.written(Identity("ada"))}
    monkeypatch.setattr(who, "_headers", lambda: said)
    ada = Page(opened)
    assert ">ada<" in ada.html() and "sign_out" not in ada.buttons()


# The command line.


@pytest.fixture
def started(monkeypatch) -> Iterator[list[tuple[list[str], dict[str, str]]]]:
    """The servers that would have been started: their commands and environments."""
    calls: list[tuple[list[str], dict[str, str]]] = []

    def start(_program: str, command: list[str], environment: dict[str, str]) -> None:
        calls.append((command, environment))

    monkeypatch.setattr(serve.os, "name", "posix")
    monkeypatch.setattr(serve.os, "execve", start)
    monkeypatch.setattr(serve.subprocess, "call", lambda *_, **__: 0)
    yield calls


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "attic.local"])
def test_an_address_that_others_reach_is_not_listened_on_without_a_sign_in(
    host, started, capsys, monkeypatch
):
    assert cli.main(["--host", host]) == 2
    said = capsys.readouterr().err
    assert said.startswith("rag-app: Nobody signs in") and said.count("\n") == 1
    monkeypatch.setenv("RAG_APP_OPEN_TO_ALL", "yes")
    assert cli.main(["--host", host]) == 2
    assert not started
    monkeypatch.setenv("RAG_APP_SIGN_IN", "none")
    cli.main(["--host", host])
    assert len(started) == 1


def test_ones_own_computer_is_served_as_ever(started):
    cli.main([])
    [(command, environment)] = started
    assert environment == dict(os.environ)
    assert not [word for word in command if "trustedUserHeaders" in word]


def test_the_page_answers_to_the_name_that_it_is_asked_to_listen_on(started, monkeypatch):
    monkeypatch.setenv("RAG_APP_SIGN_IN", "none")
    monkeypatch.setenv("RAG_APP_OPEN_TO_ALL", "yes")
    monkeypatch.setattr(serve, "allowed_hosts", lambda host, further: [f"names-of-{host}", further])
    cli.main(["--host", "192.168.1.5"])
    [(command, _)] = started
    assert "--server.allowedHosts=names-of-192.168.1.5" in command
    assert command[command.index("--server.address") + 1] == "192.168.1.5"


def test_behind_a_proxy_nobody_changes_the_address_of_a_connection(started, monkeypatch):
    monkeypatch.setenv("RAG_APP_SIGN_IN", "headers")
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    cli.main(["--host", "0.0.0.0"])
    [(command, environment)] = started
    assert environment["FORWARDED_ALLOW_IPS"] == ""
    mapped = command[command.index("--server.trustedUserHeaders") + 1]
    assert json.loads(mapped) == {proof.IDENTITY_HEADER: "identity"}


def test_the_page_goes_by_the_name_that_browsers_reach_it_by(said, started, monkeypatch):
    monkeypatch.setattr(serve, "find_spec", lambda name: object())
    cli.main([])
    [(command, _)] = started
    assert "--server.allowedHosts=docs.example.org" in command


def test_without_the_package_it_says_how_to_get_it(said, started, monkeypatch, capsys):
    monkeypatch.setattr(serve, "find_spec", lambda name: None)
    assert cli.main([]) == 1
    assert "pip install 'rag-app[server]'" in capsys.readouterr().err
    assert not started


@pytest.mark.parametrize(
    ("name", "value", "warned"),
    [
        ("PUBLIC_URL", "http://docs.example.org", True),
        ("OIDC_URL", "http://id.example.org", True),
        ("PUBLIC_URL", "http://127.0.0.1:8501", False),
    ],
)
def test_what_is_not_encrypted_is_said(said, started, monkeypatch, capsys, name, value, warned):
    monkeypatch.setattr(serve, "find_spec", lambda name: object())
    monkeypatch.setenv(f"RAG_APP_{name}", value)
    cli.main([])
    assert (f"RAG_APP_{name} is not https" in capsys.readouterr().err) is warned
    assert started
