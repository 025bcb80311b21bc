"""The settings of a command and the library it is about: the one place where it is opened."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_app.settings import Settings

if TYPE_CHECKING:
    from rag_app.library import Library


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings, with what the command line says before the environment."""
    return Settings.load(data_dir=getattr(arguments, "data_dir", None))


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Library]:
    """The library inside the block; it is imported here because that takes a second."""
    from rag_app.library import Library

    with Library(settings_of(arguments)) as library:
        yield library
