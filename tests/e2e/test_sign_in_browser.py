"""Signing in, in a real browser, by a real provider of OpenID Connect on loopback."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from rag_app.ui import texts
from tests.e2e.conftest import ROOT, Browser, free_port, listed, serving
from tests.e2e.test_browser import MARKER, QUOTE, ask, drop, lighthouse
from tests.providers import ADA, BOB, node_provider, provider
from tests.servers import scripted_server

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

CHAT = '[data-testid="stChatInputTextArea"]'
SIGN_IN = ".st-key-sign_in_now button"
SECRET = "only for this test, only for this test"
WHEN = "When was the Skerry lighthouse automated?"
WORDS = ["The Skerry lighthouse was automated ", "in the spring ", "of 1987."]
# Its pages are made pretty by a site that nothing leaves for.
PRETTY = ("cdn.jsdelivr.net", "ERR_BLOCKED_BY_CLIENT", "ERR_FAILED")


def signs_in(by: str, at: str) -> dict[str, str]:
    """The settings of an app at an address whose people are signed in by a provider."""
    return {
        "RAG_APP_SIGN_IN": "oidc",
        "RAG_APP_OIDC_URL": by,
        "RAG_APP_OIDC_CLIENT": "rag-app",
        "RAG_APP_OIDC_SECRET": "the secret of the app",
        "RAG_APP_COOKIE_SECRET": SECRET,
        "RAG_APP_PUBLIC_URL": at,
    }


@contextmanager
def serving_people(folder: Path, **settings: str) -> Iterator[str]:
    """An app whose people a provider of its own signs in."""
    port = free_port()
    with provider(folder, free_port()) as idp:
        asked = signs_in(idp, f"http://127.0.0.1:{port}") | settings
        with serving(folder, port=port, **asked) as address:
            yield address


@pytest.fixture(scope="module")
def idp(tmp_path_factory) -> Iterator[str]:
    """The provider."""
    with provider(tmp_path_factory.mktemp("idp"), free_port()) as address:
        yield address


@pytest.fixture(scope="module")
def served(idp, tmp_path_factory) -> Iterator[str]:
    """An app that it signs people in for."""
    port = free_port()
    asked = signs_in(idp, f"http://127.0.0.1:{port}")
    with serving(tmp_path_factory.mktemp("served"), port=port, **asked) as address:
        yield address


def visit(browser: Browser):
    """The sign-in of the app, in a browser that fetches nothing from elsewhere."""
    page = browser.open(shown=SIGN_IN)
    page.context.route("**/cdn.jsdelivr.net/**", lambda route: route.abort())
    return page


def sign_in(page, who: str = "ada", until: str = CHAT) -> None:
    page.locator(SIGN_IN).click()
    page.get_by_role("button", name=who, exact=True).click()
    page.locator(until).wait_for()


def test_who_signs_in_sees_the_page_with_their_name_and_out_again(browser, idp, served):
    page = visit(browser)
    assert texts.SIGN_IN_WHAT in page.inner_text("main")
    assert page.locator(CHAT).count() == page.get_by_test_id("stSidebar").count() == 0
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    sign_in(page)
    request = next(url for url in asked if url.startswith(f"{idp}/"))
    said = parse_qs(urlsplit(request).query)
    assert said["code_challenge_method"] == ["S256"] and said["code_challenge"]
    assert said["redirect_uri"] == [f"{served}/oauth2callback"]
    assert page.locator(".st-key-person").inner_text().split("\n")[0] == ADA["name"]
    assert page.url.rstrip("/") == served

    page.reload()
    page.locator(CHAT).wait_for()  # the cookie holds
    copied = page.context.cookies()
    page.get_by_role("button", name=texts.SIGN_OUT).click()
    page.get_by_role("button", name="End session").click()  # at the provider
    page.locator(SIGN_IN).wait_for()
    page.reload()
    page.locator(SIGN_IN).wait_for()
    assert not [c for c in page.context.cookies() if c["name"].startswith("_streamlit_user")]
    page.context.add_cookies(copied)
    page.reload()
    page.get_by_text(texts.SIGN_IN_INACTIVE).wait_for()
    sign_in(page)
    browser.forgive(*PRETTY)


def test_who_signed_in_works_with_documents_as_ever(browser, served):
    page = visit(browser)
    sign_in(page)
    listed(page)
    drop(page, "lighthouse.pdf", lighthouse())
    ask(page, WHEN)
    assert QUOTE in page.get_by_test_id("stChatMessage").last.inner_text()
    page.locator(MARKER).first.click()
    page.locator("blockquote.quoted").wait_for()
    other = browser.open(shown=SIGN_IN)  # nobody, at the same time
    assert "lighthouse" not in other.content()
    browser.forgive(*PRETTY)


def test_a_sign_in_that_has_run_out_is_asked_for_again(chromium, tmp_path):
    port = free_port()
    with (
        provider(tmp_path, free_port(), seconds=20) as idp,
        serving(tmp_path, port=port, **signs_in(idp, f"http://127.0.0.1:{port}")) as address,
    ):
        browser = Browser(chromium, address)
        page = visit(browser)
        sign_in(page)
        page.get_by_text(texts.SIGN_IN_EXPIRED).wait_for()
        assert page.locator(CHAT).count() == 0
        page.reload()  # with the same cookie
        page.get_by_text(texts.SIGN_IN_EXPIRED).wait_for()
        sign_in(page)
        browser.close()


def people(folder: Path, *given: str) -> None:
    """What is told about people at the machine itself, while the app of the folder runs."""
    main = "import sys; from rag_app.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", main, "people", *given, "--data-dir", str(folder / "data")]
    subprocess.run(command, cwd=ROOT, check=True, timeout=120, stdout=subprocess.DEVNULL)


def test_who_is_removed_is_out_and_the_answer_on_its_way_to_them_ends(chromium, idp, tmp_path):
    port = free_port()
    asked = signs_in(idp, f"http://127.0.0.1:{port}")
    asked["RAG_APP_ADMINISTRATORS"] = BOB["email"]
    with scripted_server() as (url, script):
        script.words, script.pause_before = [*WORDS, *["More. "] * 20_000], 2
        asked["RAG_APP_GENERATOR"] = f"openai:tiny@{url}"
        with serving(tmp_path, port=port, **asked) as address:
            browser = Browser(chromium, address)
            page, other = visit(browser), visit(browser)
            sign_in(page)
            sign_in(other, "bob")
            listed(page)
            drop(page, "lighthouse.pdf", lighthouse())
            page.get_by_test_id("stChatInputTextArea").fill(WHEN)
            page.keyboard.press("Enter")
            page.get_by_text("in the spring").first.wait_for()
            people(tmp_path, "--remove", ADA["email"])
            page.get_by_text(texts.SIGN_IN_INACTIVE).wait_for()
            script.hold.set()
            assert script.gone.wait(30)  # nobody listens to the model any more
            assert page.locator(CHAT).count() == 0 and "lighthouse" not in page.content()
            sign_in(page, until=f"{SIGN_IN}:visible")
            page.get_by_text(texts.SIGN_IN_INACTIVE).wait_for()
            other.reload()  # for others nothing changed
            other.locator(CHAT).wait_for()
            assert "lighthouse" not in other.content()  # it was never theirs
            browser.close()


class Balancer:
    """One address in front of several: what connects is taken to the one it is turned to."""

    def __init__(self, port: int, backends: list[int]) -> None:
        self._backends, self._chosen = backends, 0
        self._listening = socket.create_server(("127.0.0.1", port))
        self._lines: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def turn(self) -> None:
        """To the next one; what is connected to this one is cut off."""
        self._chosen = (self._chosen + 1) % len(self._backends)
        self._cut()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._cut()
        for thread in self._threads[1:]:
            thread.join()
        for line in (self._listening, *self._lines):
            line.close()

    def _cut(self) -> None:
        for line in list(self._lines):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                self._lines.append(near)
                far = socket.create_connection(("127.0.0.1", self._backends[self._chosen]))
                self._lines.append(far)
                for ends in ((near, far), (far, near)):
                    thread = threading.Thread(target=self._pass_on, args=ends)
                    self._threads.append(thread)
                    thread.start()

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for line in (source, target):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)


@contextmanager
def balancing(port: int, backends: list[int]) -> Iterator[Balancer]:
    balancer = Balancer(port, backends)
    try:
        yield balancer
    finally:
        balancer.close()


def test_two_processes_with_one_secret_take_turns_in_one_sign_in(chromium, idp, tmp_path):
    front, ports = free_port(), [free_port(), free_port()]
    asked = signs_in(idp, f"http://127.0.0.1:{front}")
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with (
        serving(folders[0], port=ports[0], **asked),
        serving(folders[1], port=ports[1], **asked),
        balancing(front, ports) as balancer,
    ):
        browser = Browser(chromium, f"http://127.0.0.1:{front}")
        page = visit(browser)
        page.locator(SIGN_IN).click()
        page.get_by_role("button", name="ada", exact=True).wait_for()
        balancer.turn()  # who sent them to the provider is not who takes them back
        page.get_by_role("button", name="ada", exact=True).click()
        page.locator(".st-key-person").get_by_text(ADA["name"]).wait_for()
        balancer.turn()
        page.reload()
        page.locator(".st-key-person").get_by_text(ADA["name"]).wait_for()
        browser.close()


def test_a_provider_to_the_letter_signs_in_and_out_in_a_browser(chromium, tmp_path):
    """npm's `oidc-provider`, where that is here: make test-oidc."""
    port = free_port()
    at = f"http://127.0.0.1:{port}"
    with node_provider(tmp_path, f"{at}/oauth2callback") as by:
        asked = signs_in(by, at) | {"RAG_APP_OIDC_SCOPES": "openid profile email groups"}
        with serving(tmp_path, port=port, **asked) as address:
            browser = Browser(chromium, address)
            page = visit(browser)
            page.locator(SIGN_IN).click()
            page.locator("[name=login]").fill("grace")
            page.locator("[name=password]").fill("any")
            page.get_by_role("button", name="Sign-in").click()
            page.get_by_role("button", name="Continue").click()
            page.locator(CHAT).wait_for()
            assert "grace" in page.locator(".st-key-person").inner_text().lower()
            page.get_by_role("button", name=texts.SIGN_OUT).click()
            page.get_by_role("button", name="Yes, sign me out").click()
            page.locator(SIGN_IN).wait_for()
            page.reload()
            page.locator(SIGN_IN).wait_for()
            browser.close()
