"""`rag-app` without a command: the web app."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from rag_app.settings import Settings

if TYPE_CHECKING:
    from rag_app.library import Library


# The settings of a command and the library it is about: the one place where it is opened.


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings, with what the command line says before the environment."""
    return Settings.load(data_dir=getattr(arguments, "data_dir", None))


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Library]:
    """The library inside the block; it is imported here because that takes a second.

    What is written down inside the block, an export as well, nobody else can read."""
    from rag_app.library import Library
    from rag_app.storage.permissions import made_for_me

    with made_for_me(), Library(settings_of(arguments)) as library:
        yield library


_APP = Path(__file__).resolve().parents[1] / "ui" / "served" / "app.py"
_CONFIG = Path(".streamlit/config.toml")  # beside the app, and in the folder one is in
_EVERYWHERE = ("0.0.0.0", "::")  # to listen on
_HOSTS = "server.allowedHosts"


def serve(arguments: argparse.Namespace) -> int:
    """Run the web app until it is told to stop."""
    settings = settings_of(arguments)
    command = [sys.executable, "-m", "rag_app.ui.start", "run", str(_APP), *_changed_options()]
    command += ["--server.address", arguments.host, "--server.port", str(arguments.port)]
    if arguments.host in _EVERYWHERE:
        # Else Streamlit asks a server on the internet what its own address is.
        command += ["--browser.serverAddress", "localhost"]
    names = allowed_hosts(arguments.host, settings.allowed_hosts)
    command += [f"--server.allowedHosts={name}" for name in names]
    command += ["--", "--data-dir", str(settings.folder)]
    if os.name == "posix":
        # In place of this process, so that a signal to it stops the server and nothing is orphaned.
        os.execv(sys.executable, command)
    return subprocess.call(command)


def allowed_hosts(listening: str, further: str) -> list[str]:
    """The names by which browsers may call the page: of the configuration, of this computer as far
    as it listens, and further ones, separated by commas.

    A page that a stranger's name leads to (DNS rebinding) has none of them."""
    listed = _arguments(_given().get(_HOSTS) or _ours()[_HOSTS])
    more = [one.strip() for one in further.split(",") if one.strip()]
    return list(dict.fromkeys([*listed, *_names_of(listening), *more]))


def _names_of(listening: str) -> list[str]:
    """What browsers that reach this address call it."""
    if listening == "localhost" or _is_loopback(listening):
        return [listening]
    name = socket.gethostname()
    addresses = _own_addresses() if listening in _EVERYWHERE else [listening]
    return [name, name if "." in name else f"{name}.local", *addresses]


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False  # a name


def _own_addresses() -> list[str]:
    """The addresses of this computer, as its network cards have them now."""
    cards = psutil.net_if_addrs().values()
    return [
        one.address.partition("%")[0]
        for card in cards
        for one in card
        if one.family in (socket.AF_INET, socket.AF_INET6)
    ]


def _changed_options() -> list[str]:
    """What the configuration of the folder one is in says otherwise than the one beside the app.

    Streamlit reads that of the app last; options on its command line are stronger than both. Who
    may call the page is said apart."""
    ours = _ours()
    changed = {name: one for name, one in _given().items() if ours.get(name, one) != one}
    changed.pop(_HOSTS, None)
    return [f"--{name}={one}" for name, value in changed.items() for one in _arguments(value)]


def _ours() -> dict[str, Any]:
    """The options of the configuration beside the app."""
    return dict(_options(tomllib.loads((_APP.parent / _CONFIG).read_text(encoding="utf-8"))))


def _given() -> dict[str, Any]:
    """The options of the configuration of the folder one is in."""
    try:
        return dict(_options(tomllib.loads(_CONFIG.read_text(encoding="utf-8"))))
    except (OSError, ValueError):
        return {}  # Streamlit reads it, too, and says what is wrong with it


def _arguments(value: object) -> list[str]:
    """An option's value for the command line: words are given one by one, numbers as one list."""
    if isinstance(value, list):
        return value if all(isinstance(one, str) for one in value) else [json.dumps(value)]
    return [str(value)]


def _options(section: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """The options of a configuration as Streamlit calls them: theme.light.textColor."""
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _options(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value
