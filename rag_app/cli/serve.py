"""`rag-app` without a command: the web app."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag_app.settings import Settings

if TYPE_CHECKING:
    from rag_app.library import Library


# The settings of a command and the library it is about: the one place where it is opened.


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings, with what the command line says before the environment."""
    return Settings.load(data_dir=getattr(arguments, "data_dir", None))


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Library]:
    """The library inside the block; it is imported here because that takes a second."""
    from rag_app.library import Library

    with Library(settings_of(arguments)) as library:
        yield library


_APP = Path(__file__).resolve().parents[2] / "app.py"


def serve(arguments: argparse.Namespace) -> int:
    """Run the web app until it is told to stop."""
    settings = settings_of(arguments)
    command = [sys.executable, "-m", "rag_app.ui.start", "run", str(_APP)]
    command += ["--server.address", arguments.host, "--server.port", str(arguments.port)]
    if arguments.host in ("0.0.0.0", "::"):
        # Else Streamlit asks a server on the internet what its own address is.
        command += ["--browser.serverAddress", "localhost"]
    command += ["--", "--data-dir", str(settings.folder)]
    os.chdir(_APP.parent)  # where Streamlit looks for .streamlit/config.toml
    if os.name == "posix":
        # In place of this process, so that a signal to it stops the server and nothing is orphaned.
        os.execv(sys.executable, command)
    return subprocess.call(command)
