"""Models from the hub, fetched when a person asks for one: the app's only way to the internet.

A child process does it, since the app itself runs with the hub switched off. What was fetched is
kept if the line breaks, and the folder gets its name only when it is whole."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rag_app.environment import bytes_in, online_environment
from rag_app.errors import ChatModelError, RagAppError
from rag_app.supervision import LongWork, Told, untold

_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
_LOOK = 0.3  # seconds between two looks at how much has arrived

Bring = Callable[[Told, Callable[[], bool]], Path]
"""Fetches a model, tells how far it is, stops when it is asked to; gives the model's folder."""


def is_hub_id(text: str) -> bool:
    """Whether a text can be the name of a model on the hub: "owner/name"."""
    return _HUB_ID.fullmatch(text) is not None and ".." not in text and "--" not in text


def folder_of(model: str, models: Path) -> Path:
    """Where a model of the hub lies, or would lie, under the folder `models`."""
    return models / model.replace("/", "--")


def arrived(model: str, models: Path) -> int:
    """Bytes that are there of a model whose download was broken off or stopped."""
    return bytes_in(_part_of(folder_of(model, models)))


def discard(model: str, models: Path) -> None:
    """Remove a model that was fetched and is damaged, so that it can be fetched again."""
    folder = folder_of(model, models)
    if is_hub_id(model) and folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)


def _part_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.part")


def local_folder(model: str, models: Path) -> Path:
    """The folder that a person means by a path or the name of a model on the hub."""
    path = Path(model).expanduser()
    if not path.exists() and is_hub_id(model):
        return folder_of(model, models)
    return path


def download(
    model: str,
    models: Path,
    on_progress: Told = untold,
    cancelled: Callable[[], bool] = lambda: False,
) -> Path:
    """Fetch a model; its folder. Raises ChatModelError; after a cancellation, too.

    Only weights in safetensors and the small files beside them are fetched."""
    if not is_hub_id(model):
        raise ChatModelError(f"“{model[:80]}” is no name of a model. Write it like owner/name.")
    folder = folder_of(model, models)
    if folder.is_dir():
        return folder
    part = _part_of(folder)
    part.mkdir(parents=True, exist_ok=True)
    child = subprocess.Popen(
        [sys.executable, "-m", "rag_app.models.download_child", model, str(part)],
        env=online_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        _watch(child, part, on_progress, cancelled)
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()
        if child.stdout:
            child.stdout.close()
    part.rename(folder)
    return folder


@dataclass(slots=True)
class _Said:
    """What the child has said so far."""

    total: int = 0
    error: str = ""
    done: bool = False


def hub_download(model: str, models: Path) -> Bring:
    """What fetches a model of the hub into the folder of models."""
    return lambda on_progress, cancelled: download(model, models, on_progress, cancelled)


class Fetch(LongWork):
    """A download; what has arrived when it is stopped is kept.

    `bring` fetches the model and gives its folder; `then` is called with that. Both may raise
    RagAppError."""

    def __init__(
        self, model: str, bring: Bring, then: Callable[[Path], object] = lambda folder: None
    ) -> None:
        self.model = model
        self._bring, self._then = bring, then
        super().__init__("rag-app-download", self._fetch)

    def end(self) -> None:
        """Stop it, and wait for that."""
        self.stop()
        self.wait()

    def _fetch(self, tell: Told, stop: threading.Event) -> None:
        try:
            folder = self._bring(tell, stop.is_set)
            if not stop.is_set():
                self._then(folder)
        except RagAppError as error:
            self.error = str(error)
        except OSError:
            self.error = "The model could not be written to the disk. Make room, then try again."


def _watch(
    child: subprocess.Popen[str],
    part: Path,
    on_progress: Told,
    cancelled: Callable[[], bool],
) -> None:
    said = _Said()
    listener = threading.Thread(target=_listen, args=(child, said), daemon=True)
    listener.start()
    while listener.is_alive():
        listener.join(_LOOK)
        if cancelled():
            raise ChatModelError("The download was stopped. What has arrived is kept.")
        if said.total:
            on_progress(min(bytes_in(part), said.total), said.total)
    if said.error or not said.done:
        raise ChatModelError(said.error or "The download broke off. Try again; it goes on.")
    on_progress(said.total, said.total)


def _listen(child: subprocess.Popen[str], said: _Said) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        try:
            message = json.loads(line)
        except ValueError:
            continue  # something that a library printed
        if isinstance(message, dict):
            said.total = int(message.get("total", said.total))
            said.error = str(message.get("error", said.error))
            said.done = bool(message.get("done", said.done))
