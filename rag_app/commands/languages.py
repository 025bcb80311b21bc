"""The command of rag-app that chooses which model finds by meaning: languages."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any

from rag_app.commands.opening import opened, settings_of
from rag_app.contract import print_json
from rag_app.errors import ModelUnavailable

if TYPE_CHECKING:
    from rag_app.library import Library

_LOOK = 0.3  # seconds


def add_parsers(commands: Any, shared: argparse.ArgumentParser) -> None:
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
    from rag_app.encoders.meaning import ENGLISH, MANY

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
    from rag_app.commands.models import show_download
    from rag_app.downloads.downloading import download, folder_of

    models = settings_of(arguments).folder / "models"
    if folder_of(model, models).is_dir():
        return
    try:
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
