"""Every test runs unplugged and in a house of its own: loopback only, no setting from outside."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from rag_app.answering.span_model import FOLDER
from rag_app.environment import quiet_dependencies
from tests import order
from tests.databases import database, databases, either_database, postgres_library
from tests.postgres import postgres_url

# fixtures for every test
__all__ = ["database", "databases", "either_database", "postgres_library", "postgres_url"]

quiet_dependencies()  # before any test imports torch, as the app does it
# pytest rewrites what it knows as a plugin when it is imported, and Python 3.11 fails at that
# ("AST constructor recursion depth mismatch") if another thread parses something meanwhile. The
# chain imports this one, in a thread.
import_module("langsmith.run_helpers")
os.environ["RAG_APP_WRITER"] = "off"  # a test that wants the language model says so

settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest; the order within a file stays."""
    items.sort(key=lambda item: order.place(item.path.name))


# "0.0.0.0" and "::" are what a server listens on; connecting to them reaches this machine only.
_LOCAL_NAMES = {None, "", "localhost", "0.0.0.0", "::"}


class NetworkBlocked(RuntimeError):
    """A test tried to leave this machine. Not an OSError, which code may take for a bad line."""


def _is_local(host: Any) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    if name in _LOCAL_NAMES:
        return True
    try:
        return ip_address(str(name).partition("%")[0]).is_loopback
    except ValueError:
        return False


class Guard:
    """Lets calls to this machine through and notes every other, even if its error is swallowed."""

    def __init__(self) -> None:
        self.attempts: list[str] = []

    def check(self, call: str, host: Any) -> None:
        if not _is_local(host):
            self.attempts.append(f"{call}({host!r})")
            raise NetworkBlocked(f"A test called {call} for {host!r}; only loopback is open.")

    def method(self, name: str, position: int) -> Any:
        """The method `name` of a socket, checked; the address is its argument at `position`."""
        real = getattr(socket.socket, name)

        def checked(sock: socket.socket, *args: Any) -> Any:
            if sock.family in (socket.AF_INET, socket.AF_INET6):
                self.check(name, args[position][0])
            return real(sock, *args)

        return checked

    def function(self, name: str) -> Any:
        """The name look-up `name` of the socket module, checked."""
        real = getattr(socket, name)

        def checked(host: Any, *args: Any, **options: Any) -> Any:
            self.check(name, host)
            return real(host, *args, **options)

        return checked


@pytest.fixture(autouse=True)
def unplugged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    """Block the network in this process; who tries to use it fails, even if the test carries on."""
    guard = Guard()
    for name, position in (("connect", 0), ("connect_ex", 0), ("sendto", -1)):
        monkeypatch.setattr(socket.socket, name, guard.method(name, position))
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        monkeypatch.setattr(socket, name, guard.function(name))
    yield guard
    assert not guard.attempts, f"this test tried to use the network: {guard.attempts}"


@pytest.fixture(autouse=True)
def own_house(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No setting from outside, and a data directory of the test's own; children inherit both."""
    for name in [name for name in os.environ if name.startswith("RAG_APP_")]:
        monkeypatch.delenv(name)
    data_dir = tmp_path / "data"
    monkeypatch.setenv("RAG_APP_DATA_DIR", str(data_dir))
    monkeypatch.setenv("RAG_APP_MODELS_DIR", str(tmp_path / "models"))
    monkeypatch.setenv("RAG_APP_WRITER", "off")  # those who want it say so
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    return data_dir


@pytest.fixture
def file(tmp_path: Path) -> Callable[[bytes], Path]:
    """Writes bytes to a file as the library keeps them, under a name that says nothing."""

    def write(data: bytes) -> Path:
        path = tmp_path / "stored.pdf"
        path.write_bytes(data)
        return path

    return write


@pytest.fixture(scope="session")
def weights() -> Path:
    """The folder of the reader's weights, which training/ makes."""
    return FOLDER
