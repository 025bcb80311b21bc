"""Word files from before 1997, which only LibreOffice can open, as a copy in a newer format.

It is used where it is installed. The process that reads other people's files starts no programs, so
the app does this; on Linux LibreOffice gets no network, and sees of a person's files this one only.
None of the user's macros are run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

from rag_app.environment import child_environment
from rag_app.errors import DamagedFile, LimitReached
from rag_app.reading.confinement import Allowed, Confinement, apart_from, available
from rag_app.supervision import python

SUFFIX = ".docx"  # of the copy
_PROGRAMS = ("soffice", "libreoffice")
_SHARE = 0.8  # of the time for the file; what is left is for reading the copy
_POLL = 0.05  # seconds between looks at `cancelled`
_FAILED = (
    "LibreOffice cannot open this file. "
    "Save it again from the program that made it, or print it to a PDF."
)
_SYSTEM = (
    *("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/nix/store", "/gnu/store", "/etc"),
    *("/var/lib/libreoffice", "/var/cache/fontconfig", "/proc", "/sys", "/dev/urandom"),
)
_DEVICES = ("/dev/zero",)
_SOCKETS = ("/tmp", "/var/tmp")  # where it listens for another of itself, and nowhere else


def converter() -> str | None:
    """LibreOffice, if it is installed."""
    return next(filter(None, map(shutil.which, _PROGRAMS)), None)


@contextmanager
def converted(
    program: str, path: Path, seconds: float, check: Callable[[], None]
) -> Iterator[Path]:
    """A copy of a file in the format SUFFIX, gone after the block, made in a share of `seconds`.

    `check` is called now and then, and may raise. Raises DamagedFile or LimitReached."""
    with tempfile.TemporaryDirectory(prefix="rag-app-") as name:
        folder = Path(name).resolve()
        original = folder / f"original{path.suffix}"
        shutil.copyfile(path, original)
        _run(_command(program, original, path.parent), folder, seconds, check)
        copy = folder / f"{original.stem}{SUFFIX}"
        if not copy.is_file() or copy.is_symlink():
            raise DamagedFile(_FAILED)
        yield copy


def _command(program: str, path: Path, private: Path) -> list[str]:
    """What converts a file in a folder of its own; it sees nothing of the `private` one."""
    folder = path.parent
    command = [
        *(program, f"-env:UserInstallation={(folder / 'profile').as_uri()}"),
        *("--headless", "--norestore", "--convert-to", SUFFIX.removeprefix(".")),
        *("--outdir", str(folder), str(path)),
    ]
    if available() == Confinement(network=False, files=False):
        return command
    installed = apart_from(private, [str(Path(program).resolve().parents[1])])
    writable = (str(folder), *_DEVICES)
    reach = Allowed((*_SYSTEM, *installed), writable, programs=True, sockets=_SOCKETS)
    module = "rag_app.reading.confinement"
    return python(module, json.dumps(asdict(reach)), *command, site=False)


def _run(command: list[str], folder: Path, seconds: float, check: Callable[[], None]) -> None:
    """Until it has ended well. Its own processes end with it, whatever happens."""
    until = time.monotonic() + seconds * _SHARE
    temporary = dict.fromkeys(("HOME", "TMPDIR", "TEMP", "TMP"), str(folder))
    silent = subprocess.DEVNULL
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=child_environment(**temporary),
            stdin=silent,
            stdout=silent,
            stderr=silent,
            start_new_session=True,
        )
    except OSError as error:
        raise DamagedFile(_FAILED) from error
    try:
        while process.poll() is None:
            check()
            if time.monotonic() > until:
                raise LimitReached(
                    f"LibreOffice takes more than {seconds * _SHARE:g} of the {seconds:g} seconds "
                    "set by RAG_APP_READ_SECONDS to open this file. Split it, or raise the limit."
                )
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL)
    finally:
        _end(process)
    if process.returncode:
        raise DamagedFile(_FAILED)


def _end(process: subprocess.Popen[bytes]) -> None:
    if os.name == "posix":
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
