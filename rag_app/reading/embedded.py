"""Files inside Office files: documents that were put into them, and pictures where they hold no
text of their own."""

from __future__ import annotations

import dataclasses
import io
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import olefile

from rag_app.errors import DocumentError
from rag_app.reading.archive import Archive, ArchiveEntry
from rag_app.reading.detection import PICTURES
from rag_app.reading.limits import Limits
from rag_app.reading.markup import relations
from rag_app.reading.sections import PageBuilder
from rag_app.reading.unpacking import Unpacking
from rag_app.types import Reading

_EMBEDDED = re.compile(r"(?:word|ppt|xl)/embeddings/[^/]+", re.I)
_PICTURE = re.compile(
    rf"(?:word|ppt|xl)/media/[^/]+(?:{'|'.join(map(re.escape, PICTURES))}|\.jpeg|\.tif)", re.I
)
_CHART = re.compile(r"(?:word|ppt|xl)/(?:charts|diagrams)/[^/]+\.xml", re.I)
_SMALLEST = 1_000  # bytes of a picture that may hold words
_NATIVE, _PACKAGE, _CONTENTS = "\x01Ole10Native", "Package", "CONTENTS"
_WHOLE = {"WordDocument": ".doc", "Workbook": ".xls", "Book": ".xls", "PowerPoint Document": ".ppt"}
_BROKEN = (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error)
_LISTED = "Files in this document:"


def finished(
    path: Path, sections: PageBuilder, limits: Limits, title: str, warnings: Sequence[str] = ()
) -> Reading:
    """The reading of a packed Office file, and the files inside it. Raises NoText."""
    unpacking = Unpacking(limits)
    is_blank = sections.is_empty and not sections.pages
    if unpacking.wanted:
        try:
            with Archive(path, limits) as archive:
                _take(archive, unpacking, pictures=is_blank and limits.ocr_pages > 0)
        except DocumentError:  # what was taken so far is kept
            warnings = [*warnings, "Some of the files inside this document were left out."]
    if is_blank and unpacking.parts:
        sections.row(_LISTED)
        for part in unpacking.parts:
            sections.row(part.name)
    reading = sections.reading(title, [*warnings, *unpacking.warnings()])
    return dataclasses.replace(reading, parts=unpacking.parts)


def _take(archive: Archive, unpacking: Unpacking, *, pictures: bool) -> None:
    of_charts = {
        each.target.lower()
        for name in archive.names
        if _CHART.fullmatch(name)
        for each in relations(archive, name)
    }
    for number, entry in enumerate(archive.entries(), 1):
        if _EMBEDDED.fullmatch(entry.name) and entry.name.lower() not in of_charts:
            for name, data in _opened(archive, entry, number):
                unpacking.take(name, iter((data,)))
        elif pictures and _PICTURE.fullmatch(entry.name) and entry.size >= _SMALLEST:
            unpacking.take(_name(entry), iter((archive.read(entry.name),)))


def _opened(archive: Archive, entry: ArchiveEntry, number: int) -> Iterator[tuple[str, bytes]]:
    """A file that was put in, taken out of the container that it may be in: at most one."""
    data = archive.read(entry.name)
    if not entry.name.lower().endswith(".bin"):
        yield _name(entry), data
        return
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as container:
            yield from _inside(container, data, number)
    except _BROKEN:
        return


def _inside(container: olefile.OleFileIO, data: bytes, number: int) -> Iterator[tuple[str, bytes]]:
    for stream, suffix in _WHOLE.items():
        if container.exists(stream):
            yield f"embedded {number}{suffix}", data
            return
    if container.exists(_NATIVE):
        yield _native(container.openstream(_NATIVE).read(), number)
    elif container.exists(_PACKAGE):
        yield f"embedded {number}", container.openstream(_PACKAGE).read()
    elif container.exists(_CONTENTS):
        contents = container.openstream(_CONTENTS).read()
        if contents.startswith(b"%PDF"):
            yield f"embedded {number}.pdf", contents


def _native(data: bytes, number: int) -> tuple[str, bytes]:
    """A file as Windows packs it: its name, where it lay twice, and its bytes."""
    label_end = data.index(b"\0", 6)
    path_end = data.index(b"\0", label_end + 1)
    (length,) = struct.unpack_from("<I", data, path_end + 5)
    at = path_end + 9 + length
    (size,) = struct.unpack_from("<I", data, at)
    name = data[6:label_end].decode("utf-8", "replace")
    return name or f"embedded {number}", data[at + 4 : at + 4 + size]


def _name(entry: ArchiveEntry) -> str:
    return entry.name.rpartition("/")[2]
