"""The commands of rag-app that are about conversations: list them, take them away."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.cli.serve import opened
from rag_app.export.json_contract import BadUse, print_json

if TYPE_CHECKING:
    from rag_app.library import Library

_FORMATS = ("md", "html", "json")


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    listed = commands.add_parser(
        "conversations", parents=[shared], help="list what was asked, or what holds some words"
    )
    listed.add_argument("words", nargs="*", metavar="WORD", help="only those that hold all of them")
    listed.add_argument("--json", action="store_true", help="a JSON list")
    listed.set_defaults(run=_conversations)
    export = commands.add_parser(
        "export", parents=[shared], help="a conversation as a file, or rated answers to learn from"
    )
    export.add_argument("conversation", nargs="?", metavar="CONVERSATION", help="an id or a title")
    export.add_argument("--format", choices=_FORMATS, default="md")
    export.add_argument(
        "--rated",
        nargs="?",
        choices=("good", "bad"),
        const="good",
        help='instead: lines of {"question", "answer"} for rag-app train, of answers rated good',
    )
    export.add_argument("--out", type=Path, metavar="FILE", help="instead of standard output")
    export.set_defaults(run=_export)


def _conversations(arguments: argparse.Namespace) -> int:
    with opened(arguments) as library:
        listed = library.conversations.listed(" ".join(arguments.words))
    if arguments.json:
        print_json([dataclasses.asdict(one) for one in listed])
    else:
        for one in listed:
            sys.stdout.write(f"{one.id}  {one.changed_at[:16].replace('T', ' ')}  {one.title}\n")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    if (arguments.conversation is None) == (arguments.rated is None):
        raise BadUse("Give either a conversation or --rated.")
    with opened(arguments) as library:
        data = _rated(library, arguments.rated) if arguments.rated else _whole(library, arguments)
    if arguments.out is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return 0
    try:
        arguments.out.write_bytes(data)
    except OSError as error:
        raise BadUse(f"{arguments.out} cannot be written: {error.strerror}.") from error
    return 0


def _whole(library: Library, arguments: argparse.Namespace) -> bytes:
    from rag_app.export.conversation import export

    return export(library, arguments.conversation, arguments.format)


def _rated(library: Library, how: str) -> bytes:
    from rag_app.export.conversation import rated

    lines = rated(library.conversations.rated(1 if how == "good" else -1))
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()
