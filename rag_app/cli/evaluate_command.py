"""rag-app evaluate: how well this library finds and answers the questions of a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from rag_app.cli.serve import opened
from rag_app.evaluation.metrics import DEPTHS, Evaluation, as_figure
from rag_app.export.json_contract import BadUse, print_json


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the command is called and takes."""
    evaluate = commands.add_parser(
        "evaluate", parents=[shared], help="measure finding and answering on questions of yours"
    )
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
    evaluate.add_argument("--json", action="store_true", help="one JSON object")
    evaluate.set_defaults(run=_evaluate)


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
        found = evaluate(library, asked, retrievers, not arguments.no_answers, _progress)
    if arguments.html:
        page = html(found, f"Evaluation: {arguments.questions.name}")
        try:
            arguments.html.write_text(page, encoding="utf-8")
        except OSError as error:
            raise BadUse(f"{arguments.html} cannot be written: {error.strerror}.") from error
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
