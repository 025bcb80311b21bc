"""The commands of rag-app that keep a library safe: backup, restore."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.cli.serve import settings_of
from rag_app.export.json_contract import backup_json, print_json
from rag_app.text.page_names import count, size

if TYPE_CHECKING:
    from rag_app.storage.backup import Manifest, Told


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    backup = commands.add_parser(
        "backup", parents=[shared], help="the whole library as one file, also while the app runs"
    )
    backup.add_argument("file", type=Path, metavar="FILE")
    backup.add_argument("--force", action="store_true", help="overwrite FILE if it is there")
    backup.add_argument("--json", action="store_true", help="a JSON object")
    backup.set_defaults(run=_backup)
    restore = commands.add_parser(
        "restore", parents=[shared], help="a backup becomes the library, in an empty data directory"
    )
    restore.add_argument("file", type=Path, metavar="FILE", help="that rag-app backup wrote")
    restore.add_argument("--json", action="store_true", help="a JSON object")
    restore.set_defaults(run=_restore)


def _backup(arguments: argparse.Namespace) -> int:
    """The status is 1 if the library had lost originals: they are in no backup."""
    from rag_app.storage.backup import back_up

    folder = settings_of(arguments).folder
    with _progress() as told:
        target, manifest = back_up(folder, arguments.file, replace=arguments.force, told=told)
    _say(arguments, "backed up", manifest, target, folder)
    return 1 if manifest.lost else 0


def _restore(arguments: argparse.Namespace) -> int:
    from rag_app.storage.restoring import restore

    folder = settings_of(arguments).folder
    source = arguments.file.expanduser().resolve()
    with _progress() as told:
        manifest = restore(source, folder, told=told)
    _say(arguments, "restored", manifest, source, folder)
    return 0


def _say(
    arguments: argparse.Namespace, done: str, manifest: Manifest, file: Path, folder: Path
) -> None:
    if arguments.json:
        print_json(backup_json(manifest, file, folder))
    else:
        documents = count(manifest.documents, "document")
        conversations = count(manifest.conversations, "conversation")
        at = manifest.created_at[:16].replace("T", " ")
        print(f"{done}  {documents}, {conversations}, as of {at} UTC, {size(file.stat().st_size)}")
    for name in manifest.lost.values():
        print(f"The original of “{name}” was missing or damaged in the library and is not "
              "in the backup; what was read of it is.", file=sys.stderr)  # fmt: skip


@contextmanager
def _progress() -> Iterator[Told]:
    """How far it is, on standard error where somebody looks at it."""
    seen = sys.stderr.isatty()

    def told(done: int, total: int) -> None:
        if seen:
            share = min(100, 100 * done // max(1, total))
            print(f"\r{share:3} % of {size(total)}", end="", file=sys.stderr, flush=True)

    try:
        yield told
    finally:
        if seen:
            print(file=sys.stderr)
