"""What the commands share: how one is made, its library, and what it says."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rag_app.export.json_contract import print_json
from rag_app.settings import Settings

if TYPE_CHECKING:
    from rag_app.library import Library
    from rag_app.supervision import Told
_Noun = TypeVar("_Noun")
Run = Callable[[argparse.Namespace], int]
_LAST_PORT = 65_535
_NO_LETTER = re.compile("[\ud800-\udfff]")  # how Python holds such a byte


def command(
    commands: Any,
    shared: argparse.ArgumentParser,
    name: str,
    run: Run,
    told: str,
    as_json: str = "",
) -> argparse.ArgumentParser:
    """One command, which `run` carries out; `as_json`: what --json makes of its output."""
    parser: argparse.ArgumentParser = commands.add_parser(name, parents=[shared], help=told)
    if as_json:
        parser.add_argument("--json", action="store_true", help=as_json)
    parser.set_defaults(run=run)
    return parser


def place(text: str) -> Path:
    """A file or folder that is named. Raises ArgumentTypeError for an empty name, as that of a
    variable that is not set: for Python it is the folder one is in."""
    if not text:
        raise argparse.ArgumentTypeError("the name is empty; write . for this folder")
    return Path(text)


def port_number(text: str) -> int:
    """The number of a port. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and int(text) <= _LAST_PORT):
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to {_LAST_PORT}")
    return int(text)


def in_letters(given: Any) -> Any:
    """Words from the command line; what of them are no letters (a byte of another encoding) become
    spaces, as in names of documents. Paths keep it."""
    if isinstance(given, list):
        return [in_letters(one) for one in given]
    return _NO_LETTER.sub(" ", given) if isinstance(given, str) else given


def settings_of(arguments: argparse.Namespace) -> Settings:
    """The settings, with what the command line says before the environment."""
    given = {name: getattr(arguments, name, None) for name in ("data_dir", "api", "queues")}
    return Settings.load(**given)


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Library]:
    """The library inside the block; it is imported here because that takes a second.

    What is written down inside the block, an export as well, nobody else can read."""
    from rag_app.library import Library
    from rag_app.storage.originals import made_for_me

    with made_for_me(), Library(settings_of(arguments)) as library:
        yield library


def show(
    found: Sequence[_Noun],
    as_json: bool,
    to_json: Callable[[_Noun], dict[str, Any]],
    to_line: Callable[[_Noun], str],
) -> None:
    """A list: as JSON, or a line for each."""
    if as_json:
        print_json([to_json(one) for one in found])
    else:
        for one in found:
            print(to_line(one))


@contextmanager
def percentage(of: Callable[[int], str], always: bool = False) -> Iterator[Told]:
    """How far it is, on standard error where somebody looks at it; `of` says of what."""
    begun = False

    def told(done: int, total: int) -> None:
        nonlocal begun
        if always or sys.stderr.isatty():
            begun = True
            share = min(100, 100 * done // max(1, total))
            print(f"\r{share:3} %{of(total)}", end="", file=sys.stderr, flush=True)

    try:
        yield told
    finally:
        if begun:
            print(file=sys.stderr)
