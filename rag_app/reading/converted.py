"""Reads what only LibreOffice can: it is asked for a copy in a newer format, which is then read.

It is used where it is installed, for files that are too old for the readers here."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from rag_app.errors import DamagedFile, LimitReached, UnsupportedFormat
from rag_app.reading.limits import Limits
from rag_app.reading.sections import OnPage
from rag_app.types import Reading

_PROGRAMS = ("soffice", "libreoffice")
_SHARE = 0.8  # of the time for the file; what is left is for reading the copy


def read_converted(path: Path, suffix: str, limits: Limits, on_page: OnPage | None) -> Reading:
    """The pages of a copy in the format `suffix`.

    Raises UnsupportedFormat where there is no LibreOffice, DamagedFile or LimitReached."""
    from rag_app.reading.formats import reader

    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise UnsupportedFormat(
            "This file is from a program before 1997, and reading it needs LibreOffice, which is "
            f"not installed. Install it, or save the file as {suffix} or PDF."
        )
    with tempfile.TemporaryDirectory() as folder:
        copy = _convert(program, path, suffix, Path(folder), limits)
        return reader(suffix)(copy, limits=limits, password=None, on_page=on_page)


def _convert(program: str, path: Path, suffix: str, folder: Path, limits: Limits) -> Path:
    """A copy of the file, made with a profile of its own: none of the user's macros are run."""
    command = [
        program,
        f"-env:UserInstallation={(folder / 'profile').as_uri()}",
        "--headless",
        "--norestore",
        "--convert-to",
        suffix.removeprefix("."),
        "--outdir",
        str(folder),
        str(path),
    ]
    try:
        subprocess.run(
            command,
            check=True,
            timeout=limits.seconds * _SHARE,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise LimitReached(
            f"LibreOffice takes more than {limits.seconds * _SHARE:g} of the {limits.seconds:g} "
            "seconds set by RAG_APP_READ_SECONDS to open this file. Split it, or raise the limit."
        ) from error
    except (subprocess.CalledProcessError, OSError) as error:
        raise DamagedFile(_FAILED) from error
    copy = folder / f"{path.stem}{suffix}"
    if not copy.is_file():
        raise DamagedFile(_FAILED)
    return copy


_FAILED = (
    "LibreOffice cannot open this file. "
    "Save it again from the program that made it, or print it to a PDF."
)
