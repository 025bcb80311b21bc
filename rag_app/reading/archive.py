"""Opens ZIP files that may be torn or bombs: .docx, .xlsx, .epub and their kin.

What is in them is counted while it is unpacked: the sizes that a ZIP file states may be lies."""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from rag_app.errors import DamagedFile, LimitReached, NoText, UnsupportedFormat
from rag_app.reading.limits import (
    LINK,
    LOCKED,
    MAX_MEMBERS,
    TOO_DEEP,
    Limits,
    Unpacking,
    inner_name,
)
from rag_app.reading.sections import PageBuilder
from rag_app.supervision import Told, untold
from rag_app.text.formats import size
from rag_app.types import Reading

TORN = (
    "This file is damaged: what is packed in it cannot be opened. "
    "Copy or download it again, or save it again from the program that made it."
)
PROTECTED = (
    "This file is protected with a password, and of such files only PDFs and those of Microsoft "
    "Office can be opened here. Save a copy without a password, or print it to a PDF."
)
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_BLOCK = 65_536
_MIB = 1 << 20
_LEAST_ENTRY, _ENTRY = 46, 400  # bytes of an entry of the list: never fewer, on average fewer
_SMALL = 8 * _MIB  # a part under this size may be packed as tightly as it likes
_RATIO = 500  # DEFLATE ends at 1,032; real text stays under 100
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, struct.error, ValueError, OSError)


def count_members(path: Path) -> int:
    """How many files can be packed in a ZIP file, -1 if its end is torn; reads only the end.

    The list of them is read by its size: who states a smaller number than it holds is found out."""
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        start = max(0, size - _BLOCK - _END.size - 20)
        file.seek(start)
        tail = file.read()
        at = tail.rfind(b"PK\x05\x06")
        if at < 0 or len(tail) - at < _END.size:
            return -1
        _, _, _, _, count, listed, _, _ = _END.unpack_from(tail, at)
        locator = tail[at - 20 : at] if at >= 20 else b""
        if locator.startswith(b"PK\x06\x07"):
            file.seek(min(size, struct.unpack_from("<Q", locator, 8)[0]))
            end = file.read(_END_64.size)
            if len(end) < _END_64.size or not end.startswith(b"PK\x06\x06"):
                return -1
            _, _, _, _, _, _, _, count, listed, _ = _END_64.unpack(end)
    if listed > size or count * _LEAST_ENTRY > size:
        return -1
    return max(int(count), int(listed) // _ENTRY)


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A packed file as its archive lists it; all of it may be lies."""

    name: str
    size: int
    is_locked: bool
    is_link: bool
    info: zipfile.ZipInfo


class Archive:
    """An open ZIP file; names are matched without regard to case, "/" first or not.

    Raises DamagedFile, UnsupportedFormat or LimitReached."""

    def __init__(self, path: Path, limits: Limits) -> None:
        count = count_members(path)
        if count < 0:
            raise DamagedFile(TORN)
        if count > MAX_MEMBERS:
            raise LimitReached(
                f"There are {count:,} files packed in this file, more than the {MAX_MEMBERS:,} "
                "that are opened. Unpack it, and add what you need."
            )
        try:
            self._zip = zipfile.ZipFile(path)
        except (*_BROKEN, NotImplementedError) as error:
            raise DamagedFile(TORN) from error
        self._members = {_key(info.filename): info for info in self._zip.infolist()}
        self._most = limits.max_unpacked_mb
        self._left = limits.max_unpacked_mb * _MIB

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return _key(name) in self._members

    @property
    def names(self) -> list[str]:
        """The names of all that is packed, in lower case."""
        return list(self._members)

    def entries(self) -> Iterator[ArchiveEntry]:
        """All that is packed but folders, in order; two may have one name."""
        for info in self._zip.infolist():
            if not info.filename.endswith("/"):
                is_link = stat.S_ISLNK(info.external_attr >> 16)
                yield ArchiveEntry(
                    _name(info), info.file_size, bool(info.flag_bits & 1), is_link, info
                )

    @contextmanager
    def open(self, name: str) -> Iterator[Member]:
        """One packed file as a stream. Raises DamagedFile if it is not there."""
        info = self._members.get(_key(name))
        if info is None:
            raise DamagedFile(TORN)
        with self._open(info) as member:
            yield member

    @contextmanager
    def stream(self, entry: ArchiveEntry) -> Iterator[Member]:
        """One packed file as a stream whose bytes the caller counts: only its ratio is limited."""
        with self._open(entry.info, counted=False) as member:
            yield member

    @contextmanager
    def _open(self, info: zipfile.ZipInfo, counted: bool = True) -> Iterator[Member]:
        if info.flag_bits & 1:
            raise UnsupportedFormat(PROTECTED)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamagedFile(TORN)
        self._check(info, counted)
        try:
            raw = self._zip.open(info)
        except (*_BROKEN, NotImplementedError, RuntimeError) as error:
            raise DamagedFile(TORN) from error
        with raw:
            yield Member(self if counted else None, raw)

    def read(self, name: str) -> bytes:
        """All of one packed file. Raises DamagedFile if it is not there."""
        with self.open(name) as member:
            return member.read()

    def verify(self) -> None:
        """Unpack everything once, for a library that will do it without counting."""
        for name, info in self._members.items():
            if not info.filename.endswith("/"):
                with self.open(name) as member:
                    while member.read(_BLOCK):
                        pass

    def spend(self, size: int) -> None:
        """Count unpacked bytes. Raises LimitReached."""
        self._left -= size
        if self._left < 0:
            raise self._too_big()

    def _check(self, info: zipfile.ZipInfo, counted: bool) -> None:
        ratio = info.file_size / max(1, info.compress_size)
        over = counted and info.file_size > self._left
        if over or (info.file_size > _SMALL and ratio > _RATIO):
            raise self._too_big()

    def _too_big(self) -> LimitReached:
        return LimitReached(
            f"This file unpacks to more than {self._most:,} MB, or to more than {_RATIO} times its "
            "size; that is more than is opened. Split it, or save it without what it embeds."
        )


class Member:
    """A packed file, read in pieces that are counted."""

    def __init__(self, archive: Archive | None, raw: IO[bytes]) -> None:
        self._archive = archive  # None: somebody else counts
        self._raw = raw

    def read(self, size: int = -1) -> bytes:
        """The next `size` bytes, all that is left if it is below 0."""
        if size >= 0:
            return self._piece(size)
        return b"".join(iter(lambda: self._piece(_BLOCK), b""))

    def _piece(self, size: int) -> bytes:
        try:
            data = self._raw.read(size)
        except _BROKEN as error:
            raise DamagedFile(TORN) from error
        if self._archive:
            self._archive.spend(len(data))
        return data


def _name(info: zipfile.ZipInfo) -> str:
    """The name as it was meant: many programs write UTF-8 and do not say so."""
    if info.flag_bits & 0x800:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


def _key(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


# Reads ZIP archives: a page that lists the files, and the files themselves for whoever wants them.
#
# Links, the leavings of operating systems and what goes over a limit stay inside.

_LEAVINGS = re.compile(r"(^|/)(__MACOSX/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)", re.I)


def read_zip(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """A list of what is packed, and the files. Raises DamagedFile, NoText or LimitReached."""
    sections, unpacking = PageBuilder(limits), Unpacking(limits)
    with Archive(path, limits) as archive:
        entries = [each for each in archive.entries() if not _LEAVINGS.search(each.name)]
        if not entries:
            raise NoText("There are no files in this archive.")
        sections.heading("Files in this archive", 1)
        for done, entry in enumerate(entries, 1):
            sections.row(f"{inner_name(entry.name)} ({size(entry.size)})")
            if unpacking.wanted:
                _take(archive, entry, unpacking)
            else:
                unpacking.leave(entry.name, TOO_DEEP)
            on_page(done, len(entries))
    return replace(sections.reading("", unpacking.warnings()), parts=unpacking.parts)


def _take(archive: Archive, entry: ArchiveEntry, unpacking: Unpacking) -> None:
    if entry.is_link:
        unpacking.leave(entry.name, LINK)
    elif entry.is_locked:
        unpacking.leave(entry.name, LOCKED)
    else:
        unpacking.take(entry.name, _pieces(archive, entry))


def _pieces(archive: Archive, entry: ArchiveEntry) -> Iterator[bytes]:
    with archive.stream(entry) as member:
        while piece := member.read(_BLOCK):
            yield piece
