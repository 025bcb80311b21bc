"""rag-app …: the library from the command line.

`--json` is a contract that other programs rely on (docs/json.md). Errors are one sentence on
standard error; exit status 2 for bad use, 1 for a failure."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Callable, Sequence

from rag_app.cli import (
    access_commands,
    ask_commands,
    document_commands,
    model_commands,
    serve,
    server_commands,
)
from rag_app.cli.common import in_letters, place
from rag_app.environment import encoding_asked_for
from rag_app.errors import RagAppError
from rag_app.export.json_contract import BadUse
from rag_app.text.jsonl import UnfitFile

_UTF_8 = ("utf-8", "utf8")
_FAMILIES = (
    serve.add_parsers,
    document_commands.add_parsers,
    server_commands.add_load_parser,
    server_commands.add_worker_parser,
    ask_commands.add_parsers,
    ask_commands.add_conversation_parsers,
    model_commands.add_parsers,
    model_commands.add_language_parsers,
    document_commands.add_queue_parsers,
    document_commands.add_group_parsers,
    ask_commands.add_evaluate_parser,
    access_commands.add_backup_parsers,
    server_commands.add_move_parser,
    access_commands.add_parsers,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    _write_utf_8()
    given = vars(parser().parse_args(argv)).items()
    arguments = argparse.Namespace(**{name: in_letters(value) for name, value in given})
    try:
        run: Callable[[argparse.Namespace], int] = arguments.run
        status = run(arguments)
        sys.stdout.flush()  # a reader that has gone is noticed here, not at the very end
        return status
    except (BadUse, UnfitFile) as error:
        return _fail(str(error), 2)
    except RagAppError as error:
        return _fail(str(error), 1)
    except BrokenPipeError:
        _let_go_of_output()  # its reader has gone
        return 1
    except OSError as error:
        if error.strerror is None:  # raised by no system: a fault of ours
            raise
        _let_go_of_output()
        return _fail(_of_the_system(error), 1)
    except KeyboardInterrupt:
        return _fail("Stopped. What was accepted is kept and goes on at the next start.", 130)


def _write_utf_8() -> None:
    """What goes to a file or another program is UTF-8, where Python would take Windows' own
    characters, which lack most. A terminal keeps its encoding, and gets "?" for what it lacks; and
    so does who asked for another one."""
    if encoding_asked_for():
        return
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in _UTF_8:
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8", errors=stream.errors)


def _let_go_of_output() -> None:
    """What could not be written Python would try to write again at exit, and complain."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _of_the_system(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "The disk is full. Make room on it, then try again."
    where = f"{error.filename} cannot be used: " if error.filename else ""
    return f"{where}{error.strerror}. Mend that, then try again."


def _fail(message: str, status: int) -> int:
    print(f"rag-app: {message}", file=sys.stderr)
    return status


def parser() -> argparse.ArgumentParser:
    """Every command, and what it takes."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--data-dir",
        type=place,
        default=argparse.SUPPRESS,
        help="where the library is kept (or RAG_APP_DATA_DIR)",
    )
    parser = argparse.ArgumentParser(
        prog="rag-app",
        parents=[shared],
        description="Chat with your documents and see the exact lines every answer comes from. "
        "Without a command: start the web app.",
    )
    serve.add_options(parser, "127.0.0.1", 8501)
    parser.set_defaults(run=serve.serve)
    commands = parser.add_subparsers(title="commands", metavar="")
    for add in _FAMILIES:
        add(commands, shared)
    return parser
