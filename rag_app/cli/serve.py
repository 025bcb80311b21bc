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
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from rag_app.access.proof import IDENTITY_HEADER
from rag_app.addresses import is_loopback
from rag_app.cli.common import command, port_number, settings_of
from rag_app.environment import server_environment
from rag_app.errors import SettingsError
from rag_app.export.json_contract import BadUse
from rag_app.reading.confinement import available
from rag_app.settings import Settings

_APP = Path(__file__).resolve().parents[1] / "ui" / "served" / "app.py"
_CONFIG = Path(".streamlit/config.toml")  # beside the app, and in the folder one is in
_EVERYWHERE = ("0.0.0.0", "::")  # to listen on
_HOSTS = "server.allowedHosts"


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    told = "the web app, as without a command; with --api, the API too"
    serving = command(commands, shared, "serve", serve, told)
    add_options(serving, argparse.SUPPRESS, argparse.SUPPRESS)
    told = "the key that the API is asked with"
    key = command(commands, shared, "api-key", _show_key, told)
    key.add_argument("--new", action="store_true", help="make a new one; the old opens nothing")


def add_options(parser: argparse.ArgumentParser, host: str, port: int | str) -> None:
    """Where it listens, and what for; both forms of the command have the same."""
    parser.add_argument("--host", default=host, help="address to listen on")
    parser.add_argument("--port", type=port_number, default=port, help="port to listen on")
    parser.add_argument(
        "--api",
        action="store_true",
        default=argparse.SUPPRESS,
        help="programs with a key may ask, too (or RAG_APP_API); see docs/api.md",
    )


def _show_key(arguments: argparse.Namespace) -> int:
    from rag_app.server.gate import KeyFile

    keys = KeyFile(settings_of(arguments).folder)
    print(keys.renew() if arguments.new else keys.key())
    return 0


_NO_API = "The API needs packages that are missing. Install: pip install 'rag-app[server]'"


def _prepare_api(settings: Settings) -> None:
    """Have the key made, and say where it is. Raises SettingsError if packages are missing.

    Where people sign in, there is none: each has keys of their own.

    What is written down by whoever starts it, as logs are, never holds the key."""
    if not all(map(find_spec, ("fastapi", "mcp", "python_multipart"))):
        raise SettingsError(_NO_API)
    if settings.sign_in != "none":
        print("API: /api/v1, /v1 and /mcp on the port of the page, for keys of people.", flush=True)
        return
    from rag_app.server.gate import KeyFile

    key = KeyFile(settings.folder).key()
    shown = key if sys.stdout.isatty() else "rag-app api-key shows it"
    print(f"API: /api/v1, /v1 and /mcp on the port of the page. Key: {shown}", flush=True)


def serve(arguments: argparse.Namespace) -> int:
    """Run the web app until it is told to stop. Raises BadUse and SettingsError."""
    settings = settings_of(arguments)
    if reason := settings.exposed_on(arguments.host):
        raise BadUse(reason)
    print(available().in_words(), file=sys.stderr, flush=True)
    if settings.api:
        _prepare_api(settings)
    line = [sys.executable, "-m", "rag_app.ui.start", "run", str(_APP), *_changed_options()]
    line += ["--server.address", arguments.host, "--server.port", str(arguments.port)]
    if arguments.host in _EVERYWHERE:
        # Else Streamlit asks a server on the internet what its own address is.
        line += ["--browser.serverAddress", "localhost"]
    further = f"{settings.allowed_hosts},{urlsplit(settings.public_url).hostname or ''}"
    names = allowed_hosts(arguments.host, further)
    line += [f"--server.allowedHosts={name}" for name in names]
    line += [*_signing_in(settings), "--", "--data-dir", str(settings.folder)]
    line += ["--api"] if settings.api else []
    environment = server_environment(settings.sign_in)
    if os.name == "posix":
        # In place of this process, so that a signal to it stops the server and nothing is orphaned.
        os.execve(sys.executable, line, environment)
    return subprocess.call(line, env=environment)


def _signing_in(settings: Settings) -> list[str]:
    """What Streamlit is told where people sign in. Raises SettingsError."""
    if settings.sign_in == "none":
        return []
    if settings.sign_in == "oidc" and find_spec("authlib") is None:
        raise SettingsError(
            "RAG_APP_SIGN_IN=oidc needs a package that is not installed: "
            "pip install 'rag-app[server]'"
        )
    for name in ("public_url", "oidc_url"):
        parts = urlsplit(getattr(settings, name))
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            said = "is not https: who listens in on the network can sign in as somebody else."
            print(f"rag-app: RAG_APP_{name.upper()} {said}", file=sys.stderr)
    # A session of the page is only gone on with by whom it was begun.
    return ["--server.trustedUserHeaders", json.dumps({IDENTITY_HEADER: "identity"})]


def allowed_hosts(listening: str, further: str) -> list[str]:
    """The names by which browsers may call the page: of the configuration, of this computer as far
    as it listens, and further ones, separated by commas.

    A page that a stranger's name leads to (DNS rebinding) has none of them."""
    listed = _arguments(_given().get(_HOSTS) or _ours()[_HOSTS])
    more = [one.strip() for one in further.split(",") if one.strip()]
    return list(dict.fromkeys([*listed, *_names_of(listening), *more]))


def _names_of(listening: str) -> list[str]:
    """What browsers that reach this address call it."""
    if is_loopback(listening):
        return [listening]
    name = socket.gethostname()
    addresses = _own_addresses() if listening in _EVERYWHERE else [listening]
    return [name, name if "." in name else f"{name}.local", *addresses]


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
