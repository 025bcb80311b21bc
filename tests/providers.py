"""Providers that sign people in by OpenID Connect, on loopback: `oidc-provider-mock`, and npm's
`oidc-provider`."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ADA = {
    "sub": "ada",
    "name": "Ada Lovelace",
    "email": "ada@example.org",
    "email_verified": True,
    "groups": ["engines", "letters"],
}
BOB = {"sub": "bob", "name": "Bob", "email": "bob@example.org"}


def needs_provider() -> None:
    """Skip the test where what signs people in is not installed."""
    for package in ("authlib", "oidc_provider_mock"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed (make install-dev)")


@contextmanager
def provider(folder: Path, port: int, seconds: int = 3600) -> Iterator[str]:
    """The address of a provider that knows two people; its tokens hold for so many seconds."""
    needs_provider()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    command += ["--token-max-age", str(seconds)]
    for person in (ADA, BOB):
        command += ["--user-claims", json.dumps(person)]
    with (folder / "provider.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ)
    address = f"http://127.0.0.1:{port}"
    try:
        _until_it_answers(f"{address}/.well-known/openid-configuration", server)
        yield address
    finally:
        server.terminate()
        server.wait(30)


@contextmanager
def node_provider(folder: Path, redirect: str) -> Iterator[str]:
    """The address of npm's `oidc-provider`, which signs in anybody, for one app."""
    node, modules = shutil.which("node"), os.environ.get("OIDC_PROVIDER", "")
    if node is None or not modules:
        pytest.skip("node and npm's oidc-provider are not here (make test-oidc)")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    script = str(Path(__file__).with_name("oidc_provider.mjs"))
    with (folder / "provider.log").open("wb") as log:
        server = subprocess.Popen(
            [node, script, modules, str(port), redirect], stdout=log, stderr=log
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _until_it_answers(f"{address}/.well-known/openid-configuration", server)
        yield address
    finally:
        server.terminate()
        server.wait(30)


def _until_it_answers(address: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert server.poll() is None, "the provider ended by itself"
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail("the provider did not start in time")
