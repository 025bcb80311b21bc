"""rag-app move: the library of a data directory goes to a PostgreSQL database."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.cli.serve import settings_of
from rag_app.export.json_contract import moved_json, print_json
from rag_app.text.page_names import count

if TYPE_CHECKING:
    from rag_app.storage.moving import Heard, MovedLibrary

_STAYS = (
    "{folder} still has library.sqlite3 and its folders of vectors, as they were. Look at the "
    "library, and then delete these: they keep the text of what is removed from now on, too."
)


def add_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the command is called and takes."""
    move = commands.add_parser(
        "move",
        parents=[shared],
        help="the library of the data directory goes to an empty PostgreSQL database",
    )
    move.add_argument("--json", action="store_true", help="a JSON object")
    move.set_defaults(run=_move)


def _move(arguments: argparse.Namespace) -> int:
    from rag_app.storage.moving import move

    settings = settings_of(arguments)
    try:
        with _progress() as heard:
            moved = move(settings, heard)
    except KeyboardInterrupt:
        print("rag-app: Stopped. Nothing was moved, and nothing has changed.", file=sys.stderr)
        return 130
    _say(arguments, moved, settings.folder)
    return 0


def _say(arguments: argparse.Namespace, moved: MovedLibrary, folder: Path) -> None:
    if arguments.json:
        print_json(moved_json(moved, folder))
    else:
        rows = moved.rows
        told = [
            count(rows["documents"], "document"),
            count(rows["pages"], "page"),
            f"{count(rows['chunks'], 'passage')} ({count(moved.vectors, 'vector')})",
            count(rows["tables"], "table"),
            count(rows["conversations"], "conversation"),
            f"{rows['people']:,} people",
        ]
        print(f"moved  {', '.join(told)} to {moved.database}")
        if moved.originals:
            print(f"moved  {count(moved.originals, 'original')} to the object store")
    print(_STAYS.format(folder=folder), file=sys.stderr)


@contextmanager
def _progress() -> Iterator[Heard]:
    """How far it is, on standard error where somebody looks at it."""
    seen = sys.stderr.isatty()

    def heard(done: int, total: int) -> None:
        if seen:
            print(f"\r{100 * done // max(1, total):3} %", end="", file=sys.stderr, flush=True)

    try:
        yield heard
    finally:
        if seen:
            print(file=sys.stderr)
