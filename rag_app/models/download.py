"""Models from the hub, fetched when a person asks for one: the app's only way to the internet.

A child process does it, since the app itself runs with the hub switched off: this module again,
`python -m rag_app.models.download MODEL FOLDER`, which may be killed at any moment and says how far
it is as JSON lines. What was fetched is kept if the line breaks (the hub's own client begins a file
that was broken off anew, so half of one is kept here), and the folder gets its name only when it is
whole."""

from __future__ import annotations

import errno
import hashlib
import json
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, BinaryIO

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
    try:
        part.mkdir(parents=True, exist_ok=True)
        _bring(model, part, on_progress, cancelled)
        part.rename(folder)
    except OSError as error:
        if said := _of_the_disk(error):
            raise ChatModelError(said) from error
        raise
    return folder


def _bring(model: str, part: Path, on_progress: Told, cancelled: Callable[[], bool]) -> None:
    """Let the child process fetch a model. Raises ChatModelError."""
    child = subprocess.Popen(
        [sys.executable, "-m", "rag_app.models.download", model, str(part)],
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
        except OSError:  # of what is done with it then
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


# The child process

HALVES = ".halves"  # the folder of files that are not whole yet
# Nothing that could run code: no pickles, no Python files; and nothing for other runtimes.
WANTED = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
_OTHERS = ("onnx", "openvino")
_ROOM = 64 << 20  # bytes that are to stay free on the disk
_STEP = 1 << 16  # bytes that are written at once: less than that is lost when it is broken off
_TRIES = 5  # times that a line may break with nothing new
_SILENCE = 10.0  # seconds
_REST_OF_IT = 206  # the status of an answer that begins where it was asked to


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file of a model at the hub."""

    name: str
    size: int
    sha256: str  # empty: the hub does not say


class Refused(Exception):
    """It cannot be fetched; the message says why."""


def say(**message: Any) -> None:
    """One line for the parent."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main(model: str, folder: str) -> int:
    """Fetch; the exit status."""
    try:
        _fetch(model, Path(folder))
    except Refused as refused:
        say(error=str(refused))
        return 1
    say(done=True)
    return 0


def _fetch(model: str, folder: Path) -> None:
    from huggingface_hub import HfApi, hf_hub_url

    about = HfApi().model_info(model, files_metadata=True)
    files = wanted_of(about.siblings or ())
    if not any(one.name.endswith(".safetensors") for one in files):
        raise Refused(f"{model} has no weights in the safetensors format. Choose another model.")
    missing = [one for one in files if not _is_there(folder / one.name, one)]
    say(total=sum(one.size for one in files))
    _check_room(folder, missing)
    for one in missing:
        half = folder / HALVES / hashlib.sha256(f"{about.sha} {one.name}".encode()).hexdigest()
        _fetch_one(hf_hub_url(model, one.name, revision=about.sha), half, one)
        target = folder / one.name
        target.parent.mkdir(parents=True, exist_ok=True)
        half.replace(target)
    shutil.rmtree(folder / HALVES, ignore_errors=True)


def wanted_of(siblings: Sequence[Any]) -> list[Wanted]:
    """The files to fetch of those that a model has, the small ones first."""
    files = []
    for one in siblings:
        path = PurePosixPath(one.rfilename)
        inside = not path.is_absolute() and ".." not in path.parts and path.parts[0] != HALVES
        if inside and path.parts[0] not in _OTHERS and any(fnmatch(path.name, w) for w in WANTED):
            files.append(Wanted(one.rfilename, one.size or 0, one.lfs.sha256 if one.lfs else ""))
    return sorted(files, key=lambda one: (one.size, one.name))


def _fetch_one(url: str, half: Path, one: Wanted) -> None:
    """Fetch a file, or the rest of it, and check it."""
    from httpx2 import TransportError  # of the hub's own sessions

    half.parent.mkdir(parents=True, exist_ok=True)
    tries = _TRIES
    with half.open("ab") as file:
        if file.tell() > one.size:
            file.truncate(0)
        while (begun := file.tell()) < one.size:
            try:
                _go_on(url, file)
            except TransportError:
                tries = _TRIES if file.tell() > begun else tries - 1
                if not tries:
                    raise
                time.sleep(1)
    if half.stat().st_size > one.size or (one.sha256 and _sha256(half) != one.sha256):
        half.unlink()
        raise Refused("What was fetched is not what the hub has. Try again.")


def _go_on(url: str, file: BinaryIO) -> None:
    """Fetch what comes after the bytes that are there."""
    from huggingface_hub import get_session, hf_raise_for_status
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    begun = file.tell()
    headers = build_hf_headers() | {"Accept-Encoding": "identity"}  # else it cannot be gone on with
    if begun:
        headers["Range"] = f"bytes={begun}-"
    answer = get_session().stream(
        "GET", url, headers=headers, follow_redirects=True, timeout=_SILENCE
    )
    with answer as response:
        hf_raise_for_status(response)
        if begun and response.status_code != _REST_OF_IT:
            file.truncate(0)
        for piece in response.iter_bytes(_STEP):
            file.write(piece)
            file.flush()


def _is_there(path: Path, one: Wanted) -> bool:
    """Files get their names when they are whole, but it may be another version's. Small ones, of
    which the hub does not say what they are, are fetched anew."""
    there = path.is_file() and path.stat().st_size == one.size
    return there and bool(one.sha256) and _sha256(path) == one.sha256


def _check_room(folder: Path, missing: Sequence[Wanted]) -> None:
    needed = sum(one.size for one in missing) - bytes_in(folder / HALVES) + _ROOM
    if missing and shutil.disk_usage(folder).free < needed:
        raise OSError(errno.ENOSPC, "no room")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _of_the_disk(error: OSError) -> str:
    """One sentence on why a model could not be written; empty where something else is the matter:
    an error that names a file is of the disk, those of the line name none."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "The disk is full. Make room, then try again; what has arrived is kept."
    if error.errno is None or error.filename is None:
        return ""
    return (
        f"The model cannot be written to {error.filename} ({error.strerror}): see to it that you "
        "may write there, or choose another folder with --data-dir."
    )


def explain(error: BaseException, model: str) -> str:
    """One sentence on why a model could not be fetched."""
    names: set[str] = set()
    cause: BaseException | None = error
    while cause is not None and len(names) < 60:  # the hub's own error lies under a general one
        names |= {cls.__name__ for cls in type(cause).__mro__}
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, OSError) and (said := _of_the_disk(error)):
        return said
    if "GatedRepoError" in names:
        return f"{model} must be asked for at the hub first. Choose a model that is free for all."
    if names & {"RepositoryNotFoundError", "RevisionNotFoundError"}:
        return f"There is no model {model} at the hub, or it is private. Check its name."
    if "HfHubHTTPError" in names:
        return "The hub refused the download. Try again later."
    return (
        "The hub of models could not be reached. Check the connection to the internet, then try "
        "again; what has arrived is kept."
    )


def _tell(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Whatever ends this process, the parent gets one sentence."""
    say(error=explain(error, sys.argv[1]))


if __name__ == "__main__":
    sys.excepthook = _tell
    sys.exit(main(sys.argv[1], sys.argv[2]))
