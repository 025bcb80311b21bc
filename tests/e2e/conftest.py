"""The real app in a process of its own, and a real Chromium to look at it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WAIT = 60  # seconds; a cold start on a busy machine imports a lot


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app, started as a user starts it, on an empty data directory.

    One for each file: whichever was run before has left nothing in it."""
    with serving(tmp_path_factory.mktemp("browser")) as address:
        yield address


START = ("-c", "import sys; from rag_app.cli import main; sys.exit(main())", "--port")


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(
    folder: Path,
    start: Sequence[str] = START,
    own: Sequence[str] = (),
    port: int = 0,
    **settings: str,
) -> Iterator[str]:
    """The app with its data in a folder, and its address; `settings` as RAG_APP_… are called.

    Python is given `start`, the port, what is the app's `own`, and the folder."""
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium on this machine (Debian: apt install chromium)")
    port = port or free_port()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("RAG_APP_")}
    environment |= {"RAG_APP_WRITER": "off"} | settings  # it takes 3 GB a server
    command = [sys.executable, *start, str(port), *own, "--data-dir"]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [*command, str(folder / "data")],
            cwd=ROOT,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        _until_it_answers(address, server)
        yield address
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _until_it_answers(address: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        assert server.poll() is None, "the app ended by itself"
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    pytest.fail("the app did not start in time")


def _is_complaint(message) -> bool:
    """Whether a line on the console is an error, or a warning that is not about the machine."""
    if message.type == "warning":
        return not any(word in message.text for word in ("WebGL", "GPU", "gl-"))
    return message.type == "error"


class Browser:
    """A Chromium that notes every complaint on the console and every request that leaves."""

    def __init__(self, chromium, address: str) -> None:
        self._chromium = chromium
        self._address = address
        self._contexts: list = []
        self.complaints: list[str] = []

    def open(
        self,
        width: int = 1440,
        height: int = 900,
        scheme: str = "light",
        shown: str = '[data-testid="stChatInputTextArea"]',
    ):
        """A fresh session, as another visitor would have, once it shows what is to be there."""
        context = self._chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        self._contexts.append(context)
        context.set_default_timeout(WAIT * 1000)
        # On the context, so that a second tab is listened to as well.
        context.on("console", lambda m: self._note(_is_complaint(m), f"console: {m.text}"))
        context.on("weberror", lambda error: self._note(True, f"page: {error.error}"))
        context.on("request", lambda r: self._note(not self._local(r.url), f"request: {r.url}"))
        page = context.new_page()
        page.goto(self._address)
        page.locator(shown).wait_for()
        return page

    def close(self) -> None:
        """Send every visitor away."""
        for context in self._contexts:
            context.close()

    def forgive(self, *words: str) -> None:
        """Forget complaints that hold one of these words: they were provoked."""
        self.complaints[:] = [c for c in self.complaints if not any(w in c for w in words)]

    def _note(self, bad: bool, what: str) -> None:
        if bad:
            self.complaints.append(what)

    def _local(self, url: str) -> bool:
        parts = urlsplit(url)
        return parts.scheme in ("data", "blob", "file") or parts.hostname == "127.0.0.1"


def eventually(page, holds: Callable[[], object], seconds: float = WAIT) -> None:
    """Wait until something holds; on a busy machine what is drawn arrives piece by piece."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            pytest.fail(f"it never came true; the page says: {page.inner_text('body')[:4000]}")
        page.wait_for_timeout(150)


def listed(page) -> None:
    """Wait until the documents are there with their names; rows arrive before what is in them."""
    rows = page.locator('[class*="st-key-doc-"]')
    rows.or_(page.get_by_text("Nothing here yet")).first.wait_for(state="attached")
    page.locator('[data-test-script-state="notRunning"]').wait_for(state="attached")


@pytest.fixture(scope="module")
def chromium() -> Iterator[object]:
    """One Chromium for the tests of a module: visitors are kept apart by their contexts."""
    playwright = pytest.importorskip("playwright.sync_api")
    if shutil.which("chromium") is None:
        pytest.skip("there is no chromium on this machine (Debian: apt install chromium)")
    with playwright.sync_playwright() as started:
        path = shutil.which("chromium")
        launched = started.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield launched
        launched.close()


@pytest.fixture
def browser(chromium: object, served: str) -> Iterator[Browser]:
    """A browser; at the end it must have had nothing to complain about."""
    opened = Browser(chromium, served)
    yield opened
    opened.close()
    assert opened.complaints == []
