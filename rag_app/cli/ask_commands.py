"""rag-app search and ask; conversations and export; evaluate."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.cli.common import command, opened, show
from rag_app.cli.document_commands import within
from rag_app.errors import RagAppError
from rag_app.evaluation.metrics import DEPTHS, Evaluation, as_figure
from rag_app.export.json_contract import (
    BadUse,
    answer_json,
    passage_json,
    print_json,
    read_questions,
)
from rag_app.export.messages import CLOSEST
from rag_app.text.formats import beside, page_name
from rag_app.types import Finished, RetrieverKind

if TYPE_CHECKING:
    from rag_app.library import Library
    from rag_app.storage.conversations import Conversation
_BRIEFLY, _PATIENCE = 20.0, 300.0  # seconds for the vectors of sentences that lack one
_SHOWN = 3  # passages, where there is no answer
_SHOWN_CHARACTERS = 200
_FORMATS = ("md", "html", "json")


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    search = command(commands, shared, "search", _search, "find passages", "JSON")
    search.add_argument("query", nargs="?")
    search.add_argument("-k", type=int, default=None, help="how many passages")
    search.add_argument(
        "--retriever", choices=[kind.value for kind in RetrieverKind], default="hybrid"
    )
    told = "answer a question, with citations"
    ask = command(commands, shared, "ask", _ask, told, "JSON")
    ask.add_argument("query", nargs="?", metavar="question")
    ask.add_argument(
        "--generator", help="what answers instead of the one in the settings, as they write it"
    )
    ask.add_argument(
        "--language", default="", help="that a language model is to answer in (English name)"
    )
    for each in (search, ask):
        each.add_argument(
            "--documents", nargs="+", metavar="DOCUMENT", help="only these (ids or names)"
        )
        each.add_argument("--tag", help="only documents with this tag")
        each.add_argument(
            "--questions", type=Path, metavar="FILE.jsonl", help='lines of {"id", "question"}'
        )


def _search(arguments: argparse.Namespace) -> int:
    if arguments.k is not None and arguments.k < 1:
        raise BadUse("-k must be at least 1.")

    def search(library: Library, query: str, documents: list[str] | None) -> Any:
        kind = RetrieverKind(arguments.retriever)
        return [passage_json(p) for p in library.search(query, arguments.k, documents, kind)]

    return _answer_all(arguments, search, _show_passages, lambda found: {"results": found})


def _show_passages(found: Any) -> None:
    for p in found:
        print(f"{_place(p)} ({p['score']:.3f})\n{p['text']}\n")


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
        print(f"[{c['number']}] {_place(c)}: “{c['quote']}”")
    for note in answer["notes"]:
        print(note)
    if answer["closest"]:
        print(CLOSEST)
        for near in answer["closest"]:
            print(f"  {_place(near)}: “{' '.join(near['quote'].split())}”")
    elif answer["abstained"] and answer["passages"]:
        print("The closest passages:")
        for p in answer["passages"][:_SHOWN]:
            text = " ".join(p["text"].split())[:_SHOWN_CHARACTERS]
            print(f"  {_place(p)}: {text}")


def _place(found: Any) -> str:
    """Where a passage or a quote stands: "prices.xlsx, sheet 2"."""
    return beside(found["name"], page_name(found["name"], found["page"]))


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
            library.wait_for_sentences(_BRIEFLY)
            result = answer(library, arguments.query, ids)
            (print_json if arguments.json else show)(result)
            return 0
        failed = False
        library.wait_for_sentences(_PATIENCE)
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


def add_conversation_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    told = "list what was asked, or what holds some words"
    listed = command(commands, shared, "conversations", _conversations, told, "a JSON list")
    listed.add_argument("words", nargs="*", metavar="WORD", help="only those that hold all of them")
    told = "a conversation as a file, or rated answers to learn from"
    export = command(commands, shared, "export", _export, told)
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


def _conversations(arguments: argparse.Namespace) -> int:
    with opened(arguments) as library:
        listed = library.conversations.listed(" ".join(arguments.words))
    show(listed, arguments.json, dataclasses.asdict, _conversation_line)
    return 0


def _conversation_line(one: Conversation) -> str:
    return f"{one.id}  {one.changed_at[:16].replace('T', ' ')}  {one.title}"


def _export(arguments: argparse.Namespace) -> int:
    if (arguments.conversation is None) == (arguments.rated is None):
        raise BadUse("Give either a conversation or --rated.")
    from rag_app.export.conversation import export

    with opened(arguments) as library:
        if arguments.rated:
            data = _rated(library, arguments.rated)
        else:
            data = export(library, arguments.conversation, arguments.format)
    if arguments.out is not None:
        _write(arguments.out, data)
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    return 0


def _write(path: Path, data: bytes) -> None:
    """Raises BadUse."""
    try:
        path.write_bytes(data)
    except OSError as error:
        raise BadUse(f"{path} cannot be written: {error.strerror}.") from error


def _rated(library: Library, how: str) -> bytes:
    from rag_app.export.conversation import rated

    lines = rated(library.conversations.rated(1 if how == "good" else -1))
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def add_evaluate_parser(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the command is called and takes."""
    told = "measure finding and answering on questions of yours"
    evaluate = command(commands, shared, "evaluate", _evaluate, told, "one JSON object")
    evaluate.add_argument(
        "questions",
        type=Path,
        metavar="FILE.jsonl",
        help='lines of {"question", "answers"?, "pages"?: [{"document", "page"}], "documents"?, '
        '"unanswerable"?}',
    )
    evaluate.add_argument(
        "--retrievers",
        nargs="+",
        metavar="NAME",
        help="which to compare: tf-idf, bm25, dense, hybrid, hybrid+rerank (default: the first "
        "four)",
    )
    evaluate.add_argument("--no-answers", action="store_true", help="measure finding only")
    evaluate.add_argument("--html", type=Path, metavar="FILE", help="write a report with plots")


def _evaluate(arguments: argparse.Namespace) -> int:
    from rag_app.evaluation.metrics import read_asked
    from rag_app.evaluation.runner import DEFAULT, RETRIEVERS, evaluate, html

    retrievers = arguments.retrievers or DEFAULT
    for name in retrievers:
        if name not in RETRIEVERS:
            raise BadUse(f"There is no retriever {name!r}; there are: {', '.join(RETRIEVERS)}.")
    asked = read_asked(arguments.questions)
    if arguments.html and not arguments.html.parent.is_dir():
        raise BadUse(f"There is no folder {arguments.html.parent} to write the report to.")
    with opened(arguments) as library:
        library.wait_for_sentences(_PATIENCE)
        found = evaluate(library, asked, retrievers, not arguments.no_answers, _progress)
    if arguments.html:
        page = html(found, f"Evaluation: {arguments.questions.name}")
        _write(arguments.html, page.encode())
    if arguments.json:
        print_json(found.as_json())
    else:
        sys.stdout.write(as_text(found))
    return 0


def _progress(what: str, done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{what}: {done + 1} of {total}\033[K" + "\n" * (done + 1 == total))
        sys.stderr.flush()


def as_text(found: Evaluation) -> str:
    """The figures as lines for people."""
    lines = [f"{found.questions} questions, {found.documents} documents, {found.pages:,} pages"]
    if found.findings:
        depths = "".join(f"{f'@{k}':>7}" for k in DEPTHS)
        lines.append(f"\n{'pages among the first':<22}{depths}    MRR  nDCG@10  median   p95")
    for one in found.findings:
        shares = "".join(f"{one.page_recall[k]:7.3f}" for k in DEPTHS)
        times = f"{1000 * one.seconds.median:5.0f} ms{1000 * one.seconds.p95:5.0f} ms"
        lines.append(f"{one.retriever:<22}{shares}{one.mrr:7.3f}{one.ndcg10:9.3f}{times}")
    if found.findings:
        lines.append("\ndocuments among the first")
    for one in found.findings:
        shares = "".join(f"{one.document_recall[k]:7.3f}" for k in DEPTHS)
        lines.append(f"{one.retriever:<22}{shares}")
    if said := found.answering:
        lines += [
            f"\nanswered {said.answered} of {said.questions}",
            f"exact match {as_figure(said.exact_match)}, F1 {as_figure(said.f1)}",
            f"silence: precision {as_figure(said.abstention_precision)}, "
            f"recall {as_figure(said.abstention_recall)}, AUROC {as_figure(said.auroc)}",
            f"quotes {said.quotes}: verbatim {as_figure(said.verbatim)}, "
            f"holding a wanted answer or page {as_figure(said.supporting)}",
            f"finding {1000 * said.retrieve.median:.0f} ms (p95 {1000 * said.retrieve.p95:.0f}), "
            f"answering {1000 * said.answer.median:.0f} ms (p95 {1000 * said.answer.p95:.0f})",
        ]
    return "\n".join(lines) + "\n"
