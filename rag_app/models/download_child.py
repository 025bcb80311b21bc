"""Fetches one model of the hub into a folder; says how far it is as JSON lines.

Run by `download.py` in a process of its own, which may be killed at any moment:
`python -m rag_app.models.download_child MODEL FOLDER`.
The hub's own client begins a file that was broken off anew, so half of one is kept here."""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, BinaryIO

from rag_app.environment import bytes_in

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
    """Files get their names when they are whole; another size is another version's."""
    return path.is_file() and path.stat().st_size == one.size


def _check_room(folder: Path, missing: Sequence[Wanted]) -> None:
    needed = sum(one.size for one in missing) - bytes_in(folder / HALVES) + _ROOM
    if missing and shutil.disk_usage(folder).free < needed:
        raise OSError(errno.ENOSPC, "no room")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def explain(error: BaseException, model: str) -> str:
    """One sentence on why a model could not be fetched."""
    names: set[str] = set()
    cause: BaseException | None = error
    while cause is not None and len(names) < 60:  # the hub's own error lies under a general one
        names |= {cls.__name__ for cls in type(cause).__mro__}
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "The disk is full. Make room, then try again; what has arrived is kept."
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
