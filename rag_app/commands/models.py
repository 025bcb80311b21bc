"""The commands of rag-app that are about models: read, download, train."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from rag_app.commands.opening import opened, settings_of
from rag_app.contract import print_json, read_contexts, span_json
from rag_app.settings import quiet_dependencies

_READ_AT_ONCE = 256  # questions to the reader between two writes


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    read = commands.add_parser(
        "read", parents=[shared], help="the reader alone: what a text answers, without a library"
    )
    read.add_argument(
        "--questions",
        type=Path,
        metavar="FILE.jsonl",
        required=True,
        help='lines of {"id", "question", "context"}',
    )
    read.set_defaults(run=_read)
    fetch = commands.add_parser(
        "download", parents=[shared], help="fetch a model from the hub (needs the internet)"
    )
    fetch.add_argument("model", metavar="OWNER/NAME")
    fetch.set_defaults(run=_download)
    train = commands.add_parser(
        "train", parents=[shared], help="question encoder and generator learn from answers"
    )
    train.add_argument("pairs", type=Path, metavar="FILE.jsonl", help='{"question", "answer"}')
    train.add_argument(
        "--generator", type=Path, required=True, help="folder of the seq2seq model to begin with"
    )
    train.add_argument("--out", type=Path, required=True, help="new folder for what was learnt")
    train.add_argument("--marginal", choices=["sequence", "token"], default="sequence")
    train.add_argument("--steps", type=int, default=1_000)
    train.set_defaults(run=_train)


def _read(arguments: argparse.Namespace) -> int:
    from rag_app.answering.span_model import SpanModel

    quiet_dependencies()
    asked = read_contexts(arguments.questions)
    model = SpanModel()
    for first in range(0, len(asked), _READ_AT_ONCE):
        part = asked[first : first + _READ_AT_ONCE]
        found = model.read_pairs([(one["question"], one["context"]) for one in part])
        for one, spans in zip(part, found, strict=True):
            print_json(span_json(one, spans, model.calibration.of_passage(spans.margin)))
    return 0


def _download(arguments: argparse.Namespace) -> int:
    from rag_app.downloads.downloading import download

    models = settings_of(arguments).folder / "models"
    try:
        download(arguments.model, models, show_download)
    finally:
        print(file=sys.stderr)
    print(
        f"{arguments.model} is here. A chat model is asked with --generator local:"
        f"{arguments.model}; an embedding model is used with: rag-app languages {arguments.model}"
    )
    return 0


def show_download(done: int, total: int) -> None:
    """How far a download is, on standard error."""
    share = 100 * done // max(1, total)
    print(f"\r{share:3} % of {total / 1e6:,.0f} MB", end="", file=sys.stderr, flush=True)


def _train(arguments: argparse.Namespace) -> int:
    from rag_app.learning.learner import GENERATOR, QUESTION_ENCODER, LearningConfig
    from rag_app.learning.run import train

    config = LearningConfig(marginal=arguments.marginal, steps=max(1, arguments.steps))
    with opened(arguments) as library:
        for step in train(library, arguments.pairs, arguments.generator, arguments.out, config):
            print(f"\rstep {step.step} of {step.steps}, loss {step.loss:.3f}", end="",
                  file=sys.stderr, flush=True)  # fmt: skip
    print(file=sys.stderr)
    print(f"Use it with RAG_APP_QUESTION_ENCODER={arguments.out / QUESTION_ENCODER}")
    print(f"        and RAG_APP_GENERATOR=rag-{arguments.marginal}:{arguments.out / GENERATOR}")
    return 0
