"""The commands of rag-app that are about models: read, download, train."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.cli.common import command, opened, percentage, settings_of
from rag_app.environment import quiet_dependencies
from rag_app.errors import ModelUnavailable
from rag_app.export.json_contract import print_json, read_contexts, span_json
from rag_app.text.formats import size

if TYPE_CHECKING:
    from rag_app.library import Library


_READ_AT_ONCE = 256  # questions to the reader between two writes


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
    """What the commands are called and take."""
    told = "the reader alone: what a text answers, without a library"
    read = command(commands, shared, "read", _read, told)
    read.add_argument(
        "--questions",
        type=Path,
        metavar="FILE.jsonl",
        required=True,
        help='lines of {"id", "question", "context"}',
    )
    told = "fetch a model from the hub (needs the internet)"
    fetch = command(commands, shared, "download", _download, told)
    fetch.add_argument("model", metavar="OWNER/NAME")
    told = "question encoder and generator learn from answers"
    train = command(commands, shared, "train", _train, told)
    train.add_argument("pairs", type=Path, metavar="FILE.jsonl", help='{"question", "answer"}')
    train.add_argument(
        "--generator", type=Path, required=True, help="folder of the seq2seq model to begin with"
    )
    train.add_argument("--out", type=Path, required=True, help="new folder for what was learnt")
    train.add_argument("--marginal", choices=["sequence", "token"], default="sequence")
    train.add_argument("--steps", type=int, default=1_000)


def _read(arguments: argparse.Namespace) -> int:
    from rag_app.answering.span_model import SpanModel

    quiet_dependencies()
    asked = read_contexts(arguments.questions)
    model = SpanModel(threads=settings_of(arguments).threads)
    for first in range(0, len(asked), _READ_AT_ONCE):
        part = asked[first : first + _READ_AT_ONCE]
        found = model.read_pairs([(one["question"], one["context"]) for one in part])
        for one, spans in zip(part, found, strict=True):
            print_json(span_json(one, spans, model.calibration.of_passage(spans.margin)))
    return 0


def _download(arguments: argparse.Namespace) -> int:
    _fetch(arguments, arguments.model)
    print(
        f"{arguments.model} is here. A chat model is asked with --generator local:"
        f"{arguments.model}; an embedding model is used with: rag-app languages {arguments.model}"
    )
    return 0


def _fetch(arguments: argparse.Namespace, model: str) -> None:
    from rag_app.models.download import download
    from rag_app.storage.originals import made_for_me

    models = settings_of(arguments).folder / "models"
    with made_for_me(), percentage(lambda total: f" of {size(total)}", True) as told:
        download(model, models, told)


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
    told = "which model finds by meaning: for English, for many languages, or your own"
    to_json = "one JSON object (docs/json.md)"
    chosen = command(commands, shared, "languages", _languages, told, to_json)
    chosen.add_argument(
        "model",
        nargs="?",
        metavar="MODEL",
        help="english (comes with the app), many (fetched once, needs the internet), a folder of "
        "sentence-transformers, or OWNER/NAME of a model that was downloaded; without it: which "
        "one it is",
    )


def _languages(arguments: argparse.Namespace) -> int:
    from rag_app.models.download import folder_of
    from rag_app.retrieval.embedding_choice import ENGLISH, MANY

    settings = settings_of(arguments)
    here = folder_of(MANY.name, settings.folder / "models").is_dir()
    if arguments.model == "many" and not settings.embedding and not here:
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


def _wait(library: Library) -> None:
    """Until the model answers. Raises ModelUnavailable if it cannot be used after all."""
    with percentage(lambda _: " embedded", True) as told:
        while (work := library.reindexing()) is not None:
            if work.total:
                told(work.done, work.total)
            time.sleep(_LOOK)
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
