"""Opens the containers of older Office files (.doc, .ppt, .xls, .msg) and tells them apart."""

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
import olefile
from msoffcrypto import exceptions

from rag_app.errors import DamagedFile, PasswordNeeded, UnsupportedFormat, WrongPassword
from rag_app.reading.detection import zip_kind
from rag_app.reading.limits import Limits
from rag_app.reading.sections import OnPage
from rag_app.types import Reading

# Opens Office files that are locked with a password.
#
# What comes out of a locked .docx, .xlsx or .pptx is a ZIP file, out of an older one a container.

_WRONG = "This password does not open the document. Try another one."
_UNKNOWN = (
    "This document is locked in a way that cannot be opened here. "
    "Save a copy without protection and add that."
)
# Excel locks what is only protected against changes with this password, and asks nobody for it.
_EXCELS_OWN = "VelvetSweatshop"
_LOCKED_BROKEN = (
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
        except _LOCKED_BROKEN as error:
            raise UnsupportedFormat(_UNKNOWN) from error
    return target.getvalue()


def _try(office: Any, password: str) -> None:
    """Give it the password. Raises InvalidKeyError if that is not the right one."""
    if office.format == "ooxml":
        office.load_key(password=password, verify_password=True)
    else:
        office.load_key(password=password)


TORN = (
    "This file is damaged and cannot be opened. "
    "Copy or download it again, or save it again from the program that made it."
)
LOCKED = "This document is locked. Enter its password to read it."
_BROKEN = (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError, RecursionError)
_OTHER = (
    "This is an older Office file of a kind that cannot be read here. "
    "Save it as .docx, .xlsx, .pptx or PDF from the program that made it."
)
_LOCK, _KEY = "EncryptedPackage", "EncryptionInfo"
_RIGHTS = ("\tdrmcontent", "\x06dataspaces")
_ZIP = b"PK\x03\x04"


class Compound:
    """An open container; names are paths of streams in it, without regard to case."""

    def __init__(self, file: olefile.OleFileIO) -> None:
        self._file = file
        self.names = ["/".join(entry) for entry in file.listdir()]
        self._known = {name.lower() for name in self.names}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._known

    def read(self, name: str) -> bytes:
        """A stream's bytes, none if it is not there. Raises DamagedFile."""
        if name not in self:
            return b""
        try:
            with self._file.openstream(name) as stream:
                return bytes(stream.read())
        except (*_BROKEN, struct.error) as error:
            raise DamagedFile(TORN) from error


@contextmanager
def open_compound(path: Path) -> Iterator[Compound]:
    """The container at `path`, closed at the end of the block. Raises DamagedFile."""
    try:
        file = olefile.OleFileIO(path)
        compound = Compound(file)
    except (*_BROKEN, struct.error) as error:
        raise DamagedFile(TORN) from error
    with file:
        yield compound


def read_ole(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """The pages of an older Office file, by what is in it and not by its name.

    It may also hold a newer one that is locked, or be what came out of that.
    Raises DamagedFile, PasswordNeeded, UnsupportedFormat, NoText or LimitReached."""
    try:
        return _read(path, limits, on_page)
    except PasswordNeeded:
        with opened_by_default(path) as copy:
            return _read(copy, limits, on_page)


def _read(path: Path, limits: Limits, on_page: OnPage | None) -> Reading:
    with path.open("rb") as file:
        if file.read(len(_ZIP)) == _ZIP:
            return _read_packed(path, limits, on_page)
    from rag_app.reading.doc import read_doc
    from rag_app.reading.msg import read_msg
    from rag_app.reading.ppt import read_ppt
    from rag_app.reading.sheets import read_sheets

    with open_compound(path) as compound:
        _refuse_locked(compound)
        if "__properties_version1.0" in compound:
            return read_msg(compound, limits, on_page)
        if "WordDocument" in compound:
            return read_doc(compound, limits, on_page)
        if "PowerPoint Document" in compound:
            return read_ppt(compound, path, limits, on_page)
        is_workbook = "Workbook" in compound or "Book" in compound
    if is_workbook:
        return read_sheets(path, limits=limits, on_page=on_page)
    raise UnsupportedFormat(_OTHER)


def _read_packed(path: Path, limits: Limits, on_page: OnPage | None) -> Reading:
    """The pages of a document that came out of a locked one."""
    from rag_app.reading.detection import reader

    suffix = zip_kind(path)
    if not suffix:
        raise UnsupportedFormat(_OTHER)
    return reader(suffix)(path, limits=limits, password=None, on_page=on_page)


def _refuse_locked(compound: Compound) -> None:
    if _LOCK in compound and _KEY in compound:
        raise PasswordNeeded(LOCKED)
    if _LOCK in compound or any(name.lower().startswith(_RIGHTS) for name in compound.names):
        raise UnsupportedFormat(
            "This document is locked by its owner's rights management, which only the program that "
            "made it can open. Save a copy without protection, or print it to a PDF."
        )
