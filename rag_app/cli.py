"""rag-app …: the library from the command line.

`--json` is a contract that other programs rely on (README, "The command line"). Errors are one
sentence on standard error; exit status 2 for bad use, 1 for a failure."""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.commands import conversations as cli_conversations
from rag_app.commands import evaluate as cli_evaluate
from rag_app.commands import models as cli_models
from rag_app.commands import queue as cli_queue
from rag_app.commands import shelves as cli_shelves
from rag_app.contract import BadUse, answer_json, passage_json, print_json, read_questions
from rag_app.errors import RagAppError
from rag_app.settings import Settings
from rag_app.types import Added, Finished, Report, RetrieverKind, Status

if TYPE_CHECKING:
    from rag_app.library import Library

_CLEAN_SECONDS = 300.0  # waited for the index to be written anew after a removal
_APP = Path(__file__).resolve().parent.parent / "app.py"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    arguments = _parser().parse_args(argv)
    try:
        run: Callable[[argparse.Namespace], int] = arguments.run
        return run(arguments)
    except BadUse as error:
        return _fail(str(error), 2)
    except RagAppError as error:
        return _fail(str(error), 1)
    except BrokenPipeError:
        # The reader of our output has gone; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _fail("Stopped. What was accepted is kept and goes on at the next start.", 130)


def _fail(message: str, status: int) -> int:
    print(f"rag-app: {message}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--data-dir",
        type=Path,
        default=argparse.SUPPRESS,
        help="where the library is kept (or RAG_APP_DATA_DIR)",
    )
    parser = argparse.ArgumentParser(
        prog="rag-app",
        parents=[shared],
        description="Chat with your documents and see the exact lines every answer comes from. "
        "Without a command: start the web app.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8501, help="port to listen on")
    parser.set_defaults(run=_serve)
    commands = parser.add_subparsers(title="commands", metavar="")
    _add_parsers(commands, shared)
    _ask_parsers(commands, shared)
    cli_conversations.add_parsers(commands, shared)
    cli_models.add_parsers(commands, shared)
    cli_queue.add_parsers(commands, shared)
    cli_shelves.add_parsers(commands, shared)
    cli_evaluate.add_parsers(commands, shared)
    return parser


def _add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    add = commands.add_parser("add", parents=[shared], help="add files or folders")
    add.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    add.add_argument("--password", help="opens encrypted files; it is not kept")
    add.add_argument(
        "--replace", action="store_true", help="documents of the same name give way to the new"
    )
    add.add_argument(
        "--watch", action="store_true", help="keep folders in step: also what changes later"
    )
    add.add_argument("--json", action="store_true", help="one JSON object per file")
    add.set_defaults(run=_add)
    documents = commands.add_parser("documents", parents=[shared], help="list what is there")
    documents.add_argument("--json", action="store_true", help="a JSON list")
    documents.set_defaults(run=_documents)
    remove = commands.add_parser("remove", parents=[shared], help="forget documents")
    remove.add_argument("documents", nargs="+", metavar="DOCUMENT", help="an id or a name")
    remove.set_defaults(run=_remove)


def _ask_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    search = commands.add_parser("search", parents=[shared], help="find passages")
    search.add_argument("query", nargs="?")
    search.add_argument("-k", type=int, default=None, help="how many passages")
    search.add_argument(
        "--retriever", choices=[kind.value for kind in RetrieverKind], default="hybrid"
    )
    search.set_defaults(run=_search)
    ask = commands.add_parser("ask", parents=[shared], help="answer a question, with citations")
    ask.add_argument("query", nargs="?", metavar="question")
    ask.add_argument(
        "--generator", help="what answers instead of the one in the settings, as they write it"
    )
    ask.add_argument(
        "--language", default="", help="that a language model is to answer in (English name)"
    )
    ask.set_defaults(run=_ask)
    for command in (search, ask):
        command.add_argument(
            "--documents", nargs="+", metavar="DOCUMENT", help="only these (ids or names)"
        )
        command.add_argument("--tag", help="only documents with this tag")
        command.add_argument(
            "--questions", type=Path, metavar="FILE.jsonl", help='lines of {"id", "question"}'
        )
        command.add_argument("--json", action="store_true", help="JSON")


def _settings(arguments: argparse.Namespace) -> Settings:
    return Settings.load(data_dir=getattr(arguments, "data_dir", None))


@contextlib.contextmanager
def _library(arguments: argparse.Namespace) -> Iterator[Library]:
    from rag_app.library import Library

    with Library(_settings(arguments)) as library:
        yield library


def _serve(arguments: argparse.Namespace) -> int:
    settings = _settings(arguments)
    command = [sys.executable, "-m", "streamlit", "run", str(_APP)]
    command += ["--server.address", arguments.host, "--server.port", str(arguments.port)]
    if arguments.host in ("0.0.0.0", "::"):
        # Else Streamlit asks a server on the internet what its own address is.
        command += ["--browser.serverAddress", "localhost"]
    command += ["--", "--data-dir", str(settings.data_dir.expanduser().resolve())]
    os.chdir(_APP.parent)  # where Streamlit looks for .streamlit/config.toml
    if os.name == "posix":
        # In place of this process, so that a signal to it stops the server and nothing is orphaned.
        os.execv(sys.executable, command)
    return subprocess.call(command)


# Documents


def _add(arguments: argparse.Namespace) -> int:
    if arguments.watch:
        return cli_queue.watch(arguments)
    files = list(_files(arguments.paths))
    failed = False
    with _library(arguments) as library:
        waiting: list[tuple[Path, float, Added]] = []
        for path in files:
            began = time.perf_counter()
            try:
                added = library.add(
                    path.name, path, password=arguments.password, replace=arguments.replace
                )
            except RagAppError as error:
                failed = True
                _print_added(arguments, _refused(path, str(error), time.perf_counter() - began))
            else:
                waiting.append((path, began, added))
        for path, began, added in waiting:
            documents = cli_queue.wait_for_all(library, [added.document.id])
            seconds = time.perf_counter() - began
            if documents:
                report = _report(path, library.report(added.document.id), added, seconds)
                if report["status"] == "ready" and added.document.id in library.progress():
                    report["status"] = "waiting"  # while the queue is paused
            else:
                report = _refused(path, "A later file of the same name took its place.", seconds)
            failed |= report["status"] == "failed"
            _print_added(arguments, report)
    return 1 if failed else 0


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files themselves, and of folders those that can be read, in order of name."""
    from rag_app.reading import NAMES

    for path in paths:
        if path.is_dir():
            yield from (
                p for p in sorted(path.rglob("*")) if p.is_file() and p.suffix.lower() in NAMES
            )
        elif path.is_file():
            yield path
        else:
            raise BadUse(f"There is no file or folder {path}.")


def _report(path: Path, report: Report, added: Added, seconds: float) -> dict[str, Any]:
    document = report.document
    status = "failed" if document.status is Status.FAILED else "ready"
    return {
        "path": str(path),
        "document_id": document.id,
        "name": document.name,
        "status": "duplicate" if added.duplicate and status == "ready" else status,
        "pages": document.pages,
        "chunks": document.chunks,
        "warnings": [*added.warnings, *document.warnings],
        "error": document.error,
        "seconds": round(seconds, 3),
        **cli_queue.report_json(report),
    }


def _refused(path: Path, error: str, seconds: float) -> dict[str, Any]:
    return {
        "path": str(path),
        "document_id": None,
        "name": path.name,
        "status": "failed",
        "pages": 0,
        "chunks": 0,
        "warnings": [],
        "error": error,
        "seconds": round(seconds, 3),
        **cli_queue.NO_REPORT,
    }


def _print_added(arguments: argparse.Namespace, report: dict[str, Any]) -> None:
    if arguments.json:
        return print_json(report)
    said = report["error"] or f"{report['pages']} pages, {report['chunks']} passages"
    print(f"{report['status']:>9}  {report['name']}: {said}", flush=True)
    for warning in report["warnings"]:
        print(f"           {warning}", flush=True)
    return None


def _documents(arguments: argparse.Namespace) -> int:
    with _library(arguments) as library:
        documents = library.documents()
        reports = [library.report(d.id) for d in documents] if arguments.json else []
        shelves = [cli_shelves.shelved_json(library, r.document.id) for r in reports]
        ends = [cli_shelves.line(library, d.id) for d in documents]
    if arguments.json:
        told = map(cli_queue.document_json, reports)
        print_json([one | shelf for one, shelf in zip(told, shelves, strict=True)])
    else:
        for d, end in zip(documents, ends, strict=True):
            print(f"{d.id[:12]}  {d.status:<10}  {d.pages:>5} pages  {d.name}{end}")
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    with _library(arguments) as library:
        for document in [library.document(one) for one in arguments.documents]:
            library.remove(document.id)
            print(f"removed  {document.name}")
        if not library.wait_until_clean(_CLEAN_SECONDS):
            print("What is left of it in the index is overwritten at the next start.")
    return 0


# Questions


def _search(arguments: argparse.Namespace) -> int:
    if arguments.k is not None and arguments.k < 1:
        raise BadUse("-k must be at least 1.")

    def search(library: Library, query: str, documents: list[str] | None) -> Any:
        kind = RetrieverKind(arguments.retriever)
        return [passage_json(p) for p in library.search(query, arguments.k, documents, kind)]

    def show(found: Any) -> None:
        for p in found:
            print(f"{p['name']}, page {p['page']} ({p['score']:.3f})\n{p['text']}\n")

    return _answer_all(arguments, search, show, lambda found: {"results": found})


def _ask(arguments: argparse.Namespace) -> int:
    from rag_app.answering.in_language import LANGUAGES

    language = arguments.language.strip().capitalize()
    if language and language not in LANGUAGES:
        raise BadUse(f"--language must be one of: {', '.join(LANGUAGES)}.")

    def ask(library: Library, query: str, documents: list[str] | None) -> Any:
        finished = [
            e
            for e in library.ask(query, documents, generator=arguments.generator, language=language)
            if isinstance(e, Finished)
        ]
        return answer_json(finished[-1].answer)

    def show(answer: Any) -> None:
        if answer["short_answer"] and answer["short_answer"] != answer["answer"]:
            print(f"{answer['short_answer']}\n")
        print(f"{answer['answer']}\n")
        for c in answer["citations"]:
            print(f"[{c['number']}] {c['name']}, page {c['page']}: “{c['quote']}”")
        for note in answer["notes"]:
            print(note)
        if answer["abstained"]:
            print("The closest passages:")
            for p in answer["passages"][:3]:
                print(f"  {p['name']}, page {p['page']}: {' '.join(p['text'].split())[:200]}")

    return _answer_all(arguments, ask, show, lambda answer: answer)


def _answer_all(
    arguments: argparse.Namespace,
    answer: Callable[[Library, str, list[str] | None], Any],
    show: Callable[[Any], None],
    line: Callable[[Any], dict[str, Any]],
) -> int:
    """One query from the command line, or a file of them with the models loaded once."""
    if (arguments.query is None) == (arguments.questions is None):
        raise BadUse("Give either a question or --questions FILE.jsonl.")
    questions = read_questions(arguments.questions) if arguments.questions else None
    with _library(arguments) as library:
        if questions is None:
            ids = _ids(library, arguments.documents, arguments.tag)
            result = answer(library, arguments.query, ids)
            if arguments.json:
                print_json(result)
            else:
                show(result)
            return 0
        failed = False
        for asked in questions:
            said: dict[str, Any] = {"id": asked.get("id"), "question": asked["question"]}
            try:
                ids = _ids(library, asked.get("documents", arguments.documents), arguments.tag)
                said |= line(answer(library, asked["question"], ids))
            except RagAppError as error:
                failed = True
                said["error"] = str(error)
            print_json(said)
        return 1 if failed else 0


def _ids(library: Library, documents: Sequence[str] | None, tag: str | None) -> list[str] | None:
    ids = None if documents is None else [library.document(one).id for one in documents]
    return cli_shelves.within(library, ids, tag)


if __name__ == "__main__":
    sys.exit(main())
