"""XML from strangers: streamed, shallow, and without entities, which can be bombs or spies.

Tags and attributes have their local names, since one format uses several namespaces for the same
("p"); attributes that point to other parts keep an "r:" in front ("r:id" beside "id"). Also what
Office files of today have in common: documents that were put into them, and pictures where they
hold no text of their own."""

from __future__ import annotations

import dataclasses
import io
import posixpath
import re
import struct
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import olefile

from rag_app.errors import DamagedFile, DocumentError
from rag_app.reading.archive import TORN, Archive, ArchiveEntry
from rag_app.reading.limits import MAX_DEPTH, Limits, Unpacking
from rag_app.reading.sections import PageBuilder
from rag_app.text.formats import PICTURES
from rag_app.types import Reading

BROKEN = (expat.ExpatError, LookupError, ValueError)  # the last two: an encoding expat lacks

_BLOCK = 65_536
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


class Stream(Protocol):
    """What can be read in pieces."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, empty at the end."""


def outermost(
    stream: Stream,
    names: Set[str] | None,
    skip: Set[str] = frozenset(),
    encoding: str | None = None,
) -> Iterator[Element]:
    """Every element with one of `names` that is not inside another one, when it is complete; None:
    the root.

    Elements in `skip` are left out with all that is in them; `encoding` goes before the one that
    the XML names. Raises DamagedFile."""
    collector = _Collector(names, skip, encoding)
    try:
        for block in iter(lambda: stream.read(_BLOCK), b""):
            collector.parser.Parse(block, False)
            yield from collector.take()
        collector.parser.Parse(b"", True)
    except BROKEN as error:
        raise DamagedFile(
            f"The XML in this file is broken ({error}). "
            "Copy or download it again, or save it again from the program that made it."
        ) from error
    yield from collector.take()


def tree(stream: Stream, skip: Set[str] = frozenset(), encoding: str | None = None) -> Element:
    """The root element with all that is in it. Raises DamagedFile."""
    for root in outermost(stream, None, skip, encoding):
        return root
    raise DamagedFile("There is no XML in this file where it should be. Save it again.")


class _Collector:
    """Builds the elements that are asked for, and forgets the rest."""

    def __init__(self, names: Set[str] | None, skip: Set[str], encoding: str | None) -> None:
        self._names, self._skip = names, skip
        self._depth = self._inside = self._skipped = 0
        self._builder = TreeBuilder()
        self._done: list[Element] = []
        self.parser = expat.ParserCreate(encoding, namespace_separator="}")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.EntityDeclHandler = refuse_entity

    def take(self) -> Iterator[Element]:
        """What has become complete since the last time."""
        done, self._done = self._done, []
        yield from done

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise DamagedFile(
                f"More than {MAX_DEPTH} elements stand inside each other in this file, more than "
                "is followed. Save it again from the program that made it."
            )
        tag = name.rpartition("}")[2]
        if self._skipped or tag in self._skip:
            self._skipped += 1
        elif self._inside or self._names is None or tag in self._names:
            self._inside += 1
            self._builder.start(tag, {_local(key): value for key, value in attributes.items()})

    def _end(self, name: str) -> None:
        self._depth -= 1
        if self._skipped:
            self._skipped -= 1
        elif self._inside:
            self._inside -= 1
            self._builder.end(name.rpartition("}")[2])
            if not self._inside:
                self._done.append(self._builder.close())
                self._builder = TreeBuilder()

    def _text(self, text: str) -> None:
        if self._inside and not self._skipped:
            self._builder.data(text)


def _local(name: str) -> str:
    space, _, local = name.rpartition("}")
    return f"r:{local}" if space.endswith("/relationships") else local


def refuse_entity(*_: object) -> NoReturn:
    """What is called for an entity that is declared. Raises DamagedFile."""
    raise DamagedFile(
        "This file declares XML entities, which are refused because they can be bombs. "
        "Save it again from the program that made it, or print it to a PDF."
    )


# What Word and PowerPoint files have in common: parts that point to parts, and a title.


@dataclass(frozen=True, slots=True)
class Relation:
    """Another part that a part points to; `kind` is the last word of its type."""

    id: str
    kind: str
    target: str


def relations(archive: Archive, part: str) -> list[Relation]:
    """Where a part points to inside the file; part "" is the file itself."""
    folder, name = posixpath.split(part)
    path = posixpath.join(folder, "_rels", f"{name}.rels")
    if path not in archive:
        return []
    with archive.open(path) as member:
        return [
            Relation(
                each.get("Id", ""),
                each.get("Type", "").rpartition("/")[2],
                posixpath.normpath(posixpath.join("/", folder, each.get("Target", ""))).lstrip("/"),
            )
            for each in outermost(member, {"Relationship"})
            if each.get("TargetMode") != "External"
        ]


def main_part(archive: Archive, usual: str) -> str:
    """The part that everything hangs on. Raises DamagedFile if there is none."""
    for each in relations(archive, ""):
        if each.kind == "officeDocument" and each.target in archive:
            return each.target
    if usual in archive:
        return usual
    raise DamagedFile(TORN)


def related(archive: Archive, part: str, kind: str) -> list[str]:
    """The parts of one kind that a part points to, if they are there."""
    return [
        each.target
        for each in relations(archive, part)
        if each.kind == kind and each.target in archive
    ]


def title_in(archive: Archive, part: str, path: str) -> str:
    """The title in a part of an archive, empty if there is none or it cannot be read."""
    if part not in archive:
        return ""
    try:
        with archive.open(part) as member:
            return (tree(member).findtext(path) or "").strip()
    except DamagedFile:
        return ""


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
