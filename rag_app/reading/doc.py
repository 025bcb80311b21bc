"""Reads Word documents of 1997 to 2003 (.doc).

The text lies in pieces all over the file; a table of pieces says where, and pages of 512 bytes say
which paragraphs are headings or ends of rows. Structures are those of [MS-DOC]."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from rag_app.errors import DamagedFile, PasswordNeeded, TooOld
from rag_app.reading.limits import Limits
from rag_app.reading.ole import LOCKED, TORN, Compound
from rag_app.reading.sections import OnPage, PageBuilder
from rag_app.types import Reading

_MAGIC, _OLDEST = 0xA5EC, 101  # of a file of Word 6 or later; 193 is Word 97
_WORD_97 = 193
_ENCRYPTED, _SECOND_TABLE = 0x0100, 0x0200
_COUNTS = struct.Struct("<8i")  # characters: text, footnotes, headers, macros, comments, endnotes…
_COUNTS_AT, _PAPX_AT, _CLX_AT = 0x4C, 154 + 13 * 8, 154 + 33 * 8
_PAGE = 512
_IN_TABLE, _END_OF_ROW = b"\x16\x24\x01", b"\x17\x24\x01"  # sprmPFInTable, sprmPFTtp, set
_FIELD = re.compile("\x13[^\x13\x14\x15]*(?:\x14([^\x13\x14\x15]*))?\x15")
_DEEPEST_FIELD = 20
_MARKS = str.maketrans(
    {"\x0b": "\n", "\x0e": "\n", "\x1e": "-", "\x1f": "\u00ad", "\xa0": " "}
    | dict.fromkeys("\x00\x01\x02\x03\x04\x05\x06\x08\x13\x14\x15", "")
)
_PARAGRAPH = re.compile("[^\r\x07\x0c]*[\r\x07\x0c]?")
_NOTES = ((1, "Footnotes"), (5, "Endnotes"), (6, "Text boxes"))
_TOO_OLD = (
    "This file is from a program before 1997, and reading it needs LibreOffice, which is not "
    "installed. Install it, or save the file as .docx or PDF."
)


@dataclass(frozen=True, slots=True)
class _CharacterRun:
    """What paragraphs from an offset of the file on are; `level` is that of a heading."""

    start: int = 0
    level: int = 0
    in_table: bool = False
    ends_row: bool = False


@dataclass(frozen=True, slots=True)
class _TextPiece:
    """Some text: its characters are `width` bytes each, from `start` of the file on."""

    text: str
    start: int
    width: int


def read_doc(compound: Compound, limits: Limits, on_page: OnPage | None) -> Reading:
    """The sections and headings of a Word document.

    Raises DamagedFile, PasswordNeeded, TooOld, NoText or LimitReached."""
    data = compound.read("WordDocument")
    try:
        magic, version, flags = struct.unpack_from("<HH6xH", data)
        if magic == _MAGIC and version < _WORD_97:
            raise TooOld(_TOO_OLD)
        if flags & _ENCRYPTED:
            raise PasswordNeeded(LOCKED)
        table = compound.read("1Table" if flags & _SECOND_TABLE else "0Table")
        counts = _COUNTS.unpack_from(data, _COUNTS_AT)
        pieces = list(_pieces(data, table))
        runs = sorted(_runs(data, table), key=lambda run: run.start)
    except (struct.error, IndexError) as error:
        raise DamagedFile(TORN) from error
    sections = PageBuilder(limits)
    _add(_cut(pieces, 0, counts[0]), runs, sections)
    for index, title in _NOTES:
        start = sum(counts[:index])
        notes = _cut(pieces, start, start + counts[index])
        if any(piece.text.strip("\r\x02\x03 ") for piece in notes):
            sections.heading(title, 1)
            _add(notes, [], sections)
    reading = sections.reading()
    if on_page:
        on_page(len(reading.pages), len(reading.pages))
    return reading


def _pieces(data: bytes, table: bytes) -> Iterator[_TextPiece]:
    """The pieces of text in their order, as the table of pieces lists them."""
    start, size = struct.unpack_from("<II", data, _CLX_AT)
    clx = table[start : start + size]
    at = 0
    while clx[at : at + 1] == b"\x01":
        at += 3 + int(struct.unpack_from("<H", clx, at + 1)[0])
    if clx[at : at + 1] != b"\x02":
        raise DamagedFile(TORN)
    plc = clx[at + 5 : at + 5 + int(struct.unpack_from("<I", clx, at + 1)[0])]
    count = (len(plc) - 4) // 12
    bounds = struct.unpack_from(f"<{count + 1}I", plc)
    left = len(data)  # pieces do not share bytes: who says more than there are lies
    for index in range(count):
        place = int(struct.unpack_from("<I", plc, 4 * (count + 1) + 8 * index + 2)[0])
        narrow, length = place & 0x40000000, max(0, bounds[index + 1] - bounds[index])
        offset, width = ((place & 0x3FFFFFFF) // 2, 1) if narrow else (place & 0x3FFFFFFF, 2)
        raw = data[offset : offset + length * width]
        left -= len(raw)
        if left < 0:
            raise DamagedFile(TORN)
        text = raw.decode("cp1252" if narrow else "utf-16-le", "replace")
        yield _TextPiece(text if narrow else _units(raw, text), offset, width)


def _units(raw: bytes, text: str) -> str:
    """A text with as many characters as two bytes each, so that offsets can be counted."""
    if 2 * len(text) == len(raw):
        return text
    return "".join(map(chr, struct.unpack(f"<{len(raw) // 2}H", raw[: len(raw) // 2 * 2])))


def _runs(data: bytes, table: bytes) -> Iterator[_CharacterRun]:
    """What the paragraphs are; styles 1 to 9 are always the headings of these levels."""
    start, size = struct.unpack_from("<II", data, _PAPX_AT)
    plc = table[start : start + size]
    count = max(0, (len(plc) - 4) // 8)
    for number in struct.unpack_from(f"<{count}I", plc, 4 * (count + 1)):
        page = data[number * _PAGE : (number + 1) * _PAGE]
        if len(page) < _PAGE:
            continue
        runs = page[_PAGE - 1]
        for index in range(runs):
            begin = int(struct.unpack_from("<I", page, 4 * index)[0])
            at = 2 * page[4 * (runs + 1) + 13 * index]
            size = 2 * page[at] - 1 if page[at] else 2 * page[at + 1] + 1
            properties = page[at + (1 if page[at] else 2) :][: max(0, size)]
            style = int.from_bytes(properties[:2], "little") if at else 0
            level = style if 1 <= style <= 9 else 0
            in_table, ends_row = _IN_TABLE in properties, _END_OF_ROW in properties
            yield _CharacterRun(begin, level, in_table, ends_row) if at else _CharacterRun(begin)


def _cut(pieces: list[_TextPiece], start: int, end: int) -> list[_TextPiece]:
    """The pieces of the characters from `start` to `end`."""
    found = []
    for piece in pieces:
        first, last = max(0, start), min(len(piece.text), end)
        if first < last:
            offset = piece.start + first * piece.width
            found.append(_TextPiece(piece.text[first:last], offset, piece.width))
        start, end = start - len(piece.text), end - len(piece.text)
    return found


def _paragraphs(
    pieces: list[_TextPiece], runs: list[_CharacterRun]
) -> Iterator[tuple[str, _CharacterRun]]:
    """(text with its mark, what it is) of each paragraph; one may go on in the next piece."""
    starts = [run.start for run in runs]
    before = ""
    for piece in pieces:
        at = piece.start
        for part in _PARAGRAPH.findall(piece.text):
            before += part
            index = bisect_right(starts, at)
            at += len(part) * piece.width
            if part[-1:] in ("\r", "\x07", "\x0c") and part:
                yield before, runs[index - 1] if index else _CharacterRun()
                before = ""
    yield before, _CharacterRun()


def _add(pieces: list[_TextPiece], runs: list[_CharacterRun], sections: PageBuilder) -> None:
    rows: list[list[str]] = []
    cells: list[str] = []
    cell = ""
    for raw, run in _paragraphs(pieces, runs):
        text = _shown(raw)
        if raw.endswith("\x07"):
            if run.ends_row or (not runs and not text):
                rows, cells = [*rows, cells], []
            else:
                cells, cell = [*cells, f"{cell} {text}"], ""
        elif run.in_table:
            cell += f" {text}"
        else:
            sections.table(rows)
            rows = []
            if run.level:
                sections.heading(text, run.level)
            else:
                sections.paragraph(text)
    sections.table([*rows, cells])


def _shown(raw: str) -> str:
    """A paragraph without its mark and the codes of its fields, of which the results are shown."""
    text = raw.rstrip("\r\x07\x0c")
    for _ in range(_DEEPEST_FIELD):
        text, changed = _FIELD.subn(lambda match: match.group(1) or "", text)
        if not changed:
            break
    return (
        text.translate(_MARKS).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )
