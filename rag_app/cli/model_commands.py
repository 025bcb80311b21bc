"""The commands of rag-app that are about models: read, download, train."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.cli.serve import opened, settings_of
from rag_app.environment import quiet_dependencies
from rag_app.errors import ModelUnavailable
from rag_app.export.json_contract import print_json, read_contexts, span_json

if TYPE_CHECKING:
    from rag_app.library import Library


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
    from rag_app.models.download import download
    from rag_app.storage.originals import made_for_me

    models = settings_of(arguments).folder / "models"
    try:
        with made_for_me():
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
    from rag_app.research.end_to_end import GENERATOR, QUESTION_ENCODER, LearningConfig, train

    config = LearningConfig(marginal=arguments.marginal, steps=max(1, arguments.steps))
    with opened(arguments) as library:
        for step in train(
            library.vectors(), arguments.pairs, arguments.generator, arguments.out, config
        ):
            print(f"\rstep {step.step} of {step.steps}, loss {step.loss:.3f}", end="",
                  file=sys.stderr, flush=True)  # fmt: skip
    print(file=sys.stderr)
    print(f"Use it with RAG_APP_QUESTION_ENCODER={arguments.out / QUESTION_ENCODER}")
    print(f"        and RAG_APP_GENERATOR=rag-{arguments.marginal}:{arguments.out / GENERATOR}")
    return 0


# The command of rag-app that chooses which model finds by meaning: languages.

_LOOK = 0.3  # seconds


def add_language_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the command is called and takes."""
    chosen = commands.add_parser(
        "languages",
        parents=[shared],
        help="which model finds by meaning: for English, for many languages, or your own",
    )
    chosen.add_argument(
        "model",
        nargs="?",
        metavar="MODEL",
        help="english (comes with the app), many (fetched once, needs the internet), a folder of "
        "sentence-transformers, or OWNER/NAME of a model that was downloaded; without it: which "
        "one it is",
    )
    chosen.add_argument("--json", action="store_true", help="one JSON object (docs/json.md)")
    chosen.set_defaults(run=_languages)


def _languages(arguments: argparse.Namespace) -> int:
    from rag_app.retrieval.embedding_choice import ENGLISH, MANY

    if arguments.model == "many" and not settings_of(arguments).embedding:
        _fetch(arguments, MANY.name)
    with opened(arguments) as library:
        if arguments.model is not None:
            named = {"english": ENGLISH, "many": MANY.name}
            library.meaning.choose(named.get(arguments.model, arguments.model))
            _wait(library)
        said = _said(library, MANY.name)
    if arguments.json:
        print_json(said)
    else:
        sys.stdout.write(f"{_sentence(said)}\n")
    return 0


def _fetch(arguments: argparse.Namespace, model: str) -> None:
    from rag_app.models.download import download, folder_of
    from rag_app.storage.originals import made_for_me

    models = settings_of(arguments).folder / "models"
    if folder_of(model, models).is_dir():
        return
    try:
        with made_for_me():
            download(model, models, show_download)
    finally:
        print(file=sys.stderr)


def _wait(library: Library) -> None:
    """Until the model answers. Raises ModelUnavailable if it cannot be used after all."""
    shown = False
    while (work := library.reindexing()) is not None:
        if work.total:
            share = 100 * min(work.done, work.total) // work.total
            print(f"\r{share:3} % embedded", end="", file=sys.stderr, flush=True)
            shown = True
        time.sleep(_LOOK)
    if shown:
        print(file=sys.stderr)
    if library.meaning.notice:
        raise ModelUnavailable(library.meaning.notice)


def _said(library: Library, many: str) -> dict[str, Any]:
    """The choice as the contract has it."""
    meaning = library.meaning

    def word(choice: str) -> str:
        return {"": "english", many: "many"}.get(choice, "own")

    work = library.reindexing()
    return {
        "languages": word(meaning.choice),
        "model": meaning.choice or None,
        "answering": word(meaning.answering),
        "fixed": meaning.fixed,
        "embedded": work.done if work else None,
        "passages": sum(document.chunks for document in library.documents()),
        "error": meaning.notice or None,
    }


def _sentence(said: dict[str, Any]) -> str:
    model = said["model"] or "the built-in model, for English"
    fixed = " (set by RAG_APP_EMBEDDING)" if said["fixed"] else ""
    until = "; until it has read everything another one answers" if said["embedded"] else ""
    return " ".join(filter(None, (f"Found by meaning with {model}{fixed}{until}.", said["error"])))
