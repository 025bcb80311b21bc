"""Opens Office files that are locked with a password.

What comes out of a locked .docx, .xlsx or .pptx is a ZIP file, out of an older one a container."""

from __future__ import annotations

import io
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

import msoffcrypto
from msoffcrypto import exceptions

from rag_app.errors import PasswordNeeded, UnsupportedFormat, WrongPassword
from rag_app.reading.ole import LOCKED

_WRONG = "This password does not open the document. Try another one."
_UNKNOWN = (
    "This document is locked in a way that cannot be opened here. "
    "Save a copy without protection and add that."
)
# Excel locks what is only protected against changes with this password, and asks nobody for it.
_EXCELS_OWN = "VelvetSweatshop"
_BROKEN = (
    *(exceptions.DecryptionError, exceptions.FileFormatError, exceptions.ParseError),
    *(AssertionError, AttributeError, LookupError, OSError, TypeError, ValueError),
    *(ExpatError, NotImplementedError, OverflowError, struct.error),
)


def unlock(path: Path, password: str, target: Path) -> None:
    """Write a copy that opens without a password, if there is need of one.

    Raises WrongPassword or UnsupportedFormat; then nothing is written."""
    opened = _opened(path, password)
    if opened is None:
        return
    unfinished = target.with_name(target.name + ".part")
    try:
        unfinished.write_bytes(opened)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def opened_by_default(path: Path) -> Iterator[Path]:
    """A copy of a file that was locked without anybody's password, gone after the block.

    Raises PasswordNeeded if it was somebody's."""
    try:
        opened = _opened(path, _EXCELS_OWN)
    except WrongPassword:
        opened = None
    if opened is None:
        raise PasswordNeeded(LOCKED)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(opened)
        yield copy


def _opened(path: Path, password: str) -> bytes | None:
    """What is in a locked file; None if it is not locked."""
    target = io.BytesIO()
    with path.open("rb") as file:
        try:
            office = msoffcrypto.OfficeFile(file)
            if not office.is_encrypted():
                return None
            _try(office, password)
            office.decrypt(target)
        except exceptions.InvalidKeyError as error:
            raise WrongPassword(_WRONG) from error
        except _BROKEN as error:
            raise UnsupportedFormat(_UNKNOWN) from error
    return target.getvalue()


def _try(office: Any, password: str) -> None:
    """Give it the password. Raises InvalidKeyError if that is not the right one."""
    if office.format == "ooxml":
        office.load_key(password=password, verify_password=True)
    else:
        office.load_key(password=password)
