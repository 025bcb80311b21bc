"""Opens the containers of older Office files (.doc, .ppt, .xls, .msg) and tells them apart."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import olefile

from rag_app.errors import DamagedFile, PasswordNeeded, UnsupportedFormat
from rag_app.reading.kinds import zip_kind
from rag_app.reading.limits import Limits
from rag_app.reading.sections import OnPage
from rag_app.types import Reading

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
        from rag_app.reading.locked import opened_by_default

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
            return read_doc(compound, path, limits, on_page)
        if "PowerPoint Document" in compound:
            return read_ppt(compound, path, limits, on_page)
        is_workbook = "Workbook" in compound or "Book" in compound
    if is_workbook:
        return read_sheets(path, limits=limits, on_page=on_page)
    raise UnsupportedFormat(_OTHER)


def _read_packed(path: Path, limits: Limits, on_page: OnPage | None) -> Reading:
    """The pages of a document that came out of a locked one."""
    from rag_app.reading.formats import reader

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
