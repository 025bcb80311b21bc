"""The commands of rag-app that take questions: search and ask."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.cli.queue_commands import within
from rag_app.cli.serve import opened
from rag_app.errors import RagAppError
from rag_app.export.json_contract import (
    BadUse,
    answer_json,
    passage_json,
    print_json,
    read_questions,
)
from rag_app.types import Finished, RetrieverKind

if TYPE_CHECKING:
    from rag_app.library import Library

_SHOWN = 3  # passages, where there is no answer
_SHOWN_CHARACTERS = 200


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
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


def _search(arguments: argparse.Namespace) -> int:
    if arguments.k is not None and arguments.k < 1:
        raise BadUse("-k must be at least 1.")

    def search(library: Library, query: str, documents: list[str] | None) -> Any:
        kind = RetrieverKind(arguments.retriever)
        return [passage_json(p) for p in library.search(query, arguments.k, documents, kind)]

    return _answer_all(arguments, search, _show_passages, lambda found: {"results": found})


def _show_passages(found: Any) -> None:
    for p in found:
        print(f"{p['name']}, page {p['page']} ({p['score']:.3f})\n{p['text']}\n")


def _ask(arguments: argparse.Namespace) -> int:
    from rag_app.answering.answer_language import LANGUAGES

    language = arguments.language.strip().capitalize()
    if language and language not in LANGUAGES:
        raise BadUse(f"--language must be one of: {', '.join(LANGUAGES)}.")

    def ask(library: Library, query: str, documents: list[str] | None) -> Any:
        events = library.ask(query, documents, generator=arguments.generator, language=language)
        *_, last = (event for event in events if isinstance(event, Finished))
        return answer_json(last.answer)

    return _answer_all(arguments, ask, _show_answer, lambda answer: answer)


def _show_answer(answer: Any) -> None:
    if answer["short_answer"] and answer["short_answer"] != answer["answer"]:
        print(f"{answer['short_answer']}\n")
    print(f"{answer['answer']}\n")
    for c in answer["citations"]:
        print(f"[{c['number']}] {c['name']}, page {c['page']}: “{c['quote']}”")
    for note in answer["notes"]:
        print(note)
    if answer["abstained"] and answer["passages"]:
        print("The closest passages:")
        for p in answer["passages"][:_SHOWN]:
            text = " ".join(p["text"].split())[:_SHOWN_CHARACTERS]
            print(f"  {p['name']}, page {p['page']}: {text}")


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
    with opened(arguments) as library:
        if questions is None:
            ids = _ids(library, arguments.documents, arguments.tag)
            result = answer(library, arguments.query, ids)
            (print_json if arguments.json else show)(result)
            return 0
        failed = False
        for asked in questions:
            said: dict[str, Any] = {"id": asked["id"], "question": asked["question"]}
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
    return within(library, ids, tag)
