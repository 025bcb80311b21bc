"""Reads Office files of 1997 to 2003: Word (.doc) and PowerPoint (.ppt).

They are containers like those of Excel (.xls) and Outlook (.msg), which are told apart here. The
text of Word lies in pieces all over the file; a table of pieces says where, and pages of 512 bytes
say which paragraphs are headings or ends of rows, see [MS-DOC]. A slide is a page, notes below; a
presentation is a tree of records: version and instance, type, length. What a slide says stands in
two places, the outline of the presentation and the slide's own drawing, see [MS-PPT]."""

from __future__ import annotations

import io
import re
import struct
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers.expat import ExpatError

import msoffcrypto
import olefile
from msoffcrypto import exceptions

from rag_app.errors import DamagedFile, PasswordNeeded, TooOld, UnsupportedFormat, WrongPassword
from rag_app.reading.detection import zip_kind
from rag_app.reading.limits import MAX_DEPTH, Limits
from rag_app.reading.ooxml import LONGEST_SLIDE
from rag_app.reading.sections import PageBuilder
from rag_app.supervision import Told, untold
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
_MAGIC = 0xA5EC  # of a file of Word 6 or later
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
_HEADER = struct.Struct("<HHI")
_ENCRYPTED_USER = 0xF3D1C4DF
_NOTES_ATOM = 1009
_PERSIST, _TEXT_HEADER, _CHARS, _BYTES = 1011, 3999, 4000, 4008
_LIST, _EDIT, _DIRECTORY = 4080, 4085, 6002
_TITLES = (0, 6)  # kinds of text
_SLIDES, _NOTES_PAGES = 0, 2  # instances of a list
_RECORD_MARKS = str.maketrans({"\r": "\n", "\x0b": "\n", "\x00": ""})
_MOST_EDITS = 1_000
_PLACEHOLDER = "*"  # stands where the number of the slide or the date is put in


def unlock(path: Path, password: str, target: Path) -> None:
    """Write a copy that opens without a password, if there is need of one.

    Raises WrongPassword or UnsupportedFormat; then nothing is written."""
    opened = _opened(path, password)
    if opened is not None:
        target.write_bytes(opened)


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
            # Only of those of today can be told whether the password is the right one.
            checked = {"verify_password": True} if office.format == "ooxml" else {}
            office.load_key(password=password, **checked)
            office.decrypt(target)
        except exceptions.InvalidKeyError as error:
            raise WrongPassword(_WRONG) from error
        except _LOCKED_BROKEN as error:
            raise UnsupportedFormat(_UNKNOWN) from error
    return target.getvalue()


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


def read_ole(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The pages of an older Office file, by what is in it and not by its name.

    It may also hold a newer one that is locked, or be what came out of that.
    Raises DamagedFile, PasswordNeeded, UnsupportedFormat, NoText or LimitReached."""
    try:
        return _read(path, limits, on_page)
    except PasswordNeeded:
        with opened_by_default(path) as copy:
            return _read(copy, limits, on_page)


def _read(path: Path, limits: Limits, on_page: Told) -> Reading:
    with path.open("rb") as file:
        if file.read(len(_ZIP)) == _ZIP:
            return _read_packed(path, limits, on_page)
    from rag_app.reading.mail import read_msg
    from rag_app.reading.sheets import read_sheets

    with open_compound(path) as compound:
        _refuse_locked(compound)
        if "__properties_version1.0" in compound:
            return read_msg(compound, limits)
        if "WordDocument" in compound:
            return read_doc(compound, limits)
        if "PowerPoint Document" in compound:
            return read_ppt(compound, limits, on_page)
        is_workbook = "Workbook" in compound or "Book" in compound
    if is_workbook:
        return read_sheets(path, limits=limits, on_page=on_page)
    raise UnsupportedFormat(_OTHER)


def _read_packed(path: Path, limits: Limits, on_page: Told) -> Reading:
    """The pages of a document that came out of a locked one."""
    from rag_app.reading.detection import reader

    suffix = zip_kind(path)
    if not suffix:
        raise UnsupportedFormat(_OTHER)
    return reader(suffix)(path, limits=limits, on_page=on_page)


def _refuse_locked(compound: Compound) -> None:
    if _LOCK in compound and _KEY in compound:
        raise PasswordNeeded(LOCKED)
    if _LOCK in compound or any(name.lower().startswith(_RIGHTS) for name in compound.names):
        raise UnsupportedFormat(
            "This document is locked by its owner's rights management, which only the program that "
            "made it can open. Save a copy without protection, or print it to a PDF."
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


def read_doc(compound: Compound, limits: Limits) -> Reading:
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
    return sections.reading()


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


@dataclass(frozen=True, slots=True)
class _Record:
    kind: int
    instance: int
    container: bool
    start: int  # of what is in it
    end: int


@dataclass(slots=True)
class _Slide:
    """What is known of a slide: `texts` are (is a title, text)."""

    place: int
    id: int
    texts: list[tuple[bool, str]] = field(default_factory=list)


def read_ppt(compound: Compound, limits: Limits, on_page: Told) -> Reading:
    """The slides of a presentation in its order.

    Raises DamagedFile, PasswordNeeded, NoText or LimitReached."""
    user, data = compound.read("Current User"), compound.read("PowerPoint Document")
    try:
        token, edit = struct.unpack_from("<II", user, 12)
        if token == _ENCRYPTED_USER:
            raise PasswordNeeded(LOCKED)
        file = _File(data, edit)
        slides, notes = file.slides()
    except (struct.error, IndexError) as error:
        raise DamagedFile(TORN) from error
    sections = PageBuilder(limits, LONGEST_SLIDE)
    for number, slide in enumerate(slides, 1):
        sections.new_slide(number)
        for is_title, text in slide.texts:
            if is_title:
                sections.heading(text, 1)
            else:
                sections.paragraph(text)
        if notes.get(slide.id):
            sections.paragraph("Notes: " + "\n".join(notes[slide.id]))
        on_page(number, len(slides))
    return sections.reading()


class _File:
    """The records of one presentation."""

    def __init__(self, data: bytes, edit: int) -> None:
        self._data = data
        self._places, document = self._directory(edit)
        self._document = self._record(self._places[document]) if document in self._places else None

    def slides(self) -> tuple[list[_Slide], dict[int, list[str]]]:
        """The slides in their order, and the notes by the id of their slide."""
        slides: list[_Slide] = []
        notes: dict[int, list[str]] = {}
        for record in self._children(self._document):
            if record.kind != _LIST:
                continue
            listed = self._listed(record)
            if record.instance == _SLIDES:
                slides = listed
            elif record.instance == _NOTES_PAGES:
                for each in listed:
                    page = self._record(each.place)
                    notes[self._slide_of(page)] = [text for _, text in self._texts(page)]
        for slide in slides:
            slide.texts += self._texts(self._record(slide.place))
            slide.texts.sort(key=lambda text: not text[0])
        return slides, notes

    def _directory(self, edit: int) -> tuple[dict[int, int], int]:
        """Where each part lies, and which one is the document; newer edits go before older."""
        places: dict[int, int] = {}
        document = -1
        for _ in range(_MOST_EDITS):
            record = self._record(edit)
            if record is None or record.kind != _EDIT:
                break
            before, at, number = struct.unpack_from("<III", self._data, record.start + 8)
            document = number if document < 0 else document
            for part, place in self._listed_places(self._record(at)):
                places.setdefault(part, place)
            if before == 0 or before >= edit:
                break
            edit = before
        return places, document

    def _listed_places(self, record: _Record | None) -> Iterator[tuple[int, int]]:
        if record is None or record.kind != _DIRECTORY:
            return
        at = record.start
        while at + 4 <= record.end:
            head = int(struct.unpack_from("<I", self._data, at)[0])
            first, count = head & 0xFFFFF, min(head >> 20, (record.end - at - 4) // 4)
            places = struct.unpack_from(f"<{count}I", self._data, at + 4)
            yield from enumerate(places, first)
            at += 4 + 4 * count

    def _listed(self, listing: _Record) -> list[_Slide]:
        """The slides of a list, with the texts that the outline has of each."""
        found: list[_Slide] = []
        is_title = False
        for record in self._children(listing):
            if record.kind == _PERSIST:
                part, _, _, number = struct.unpack_from("<IIII", self._data, record.start)
                found.append(_Slide(self._places.get(part, -1), number))
            elif record.kind == _TEXT_HEADER:
                is_title = self._number(record) in _TITLES
            elif found and (text := self._text(record)):
                found[-1].texts.append((is_title, text))
        return found

    def _texts(self, record: _Record | None) -> list[tuple[bool, str]]:
        """The texts in a slide's own drawing."""
        found: list[tuple[bool, str]] = []
        is_title = False
        waiting = [iter([record] if record else [])]
        while waiting:
            each = next(waiting[-1], None)
            if each is None:
                waiting.pop()
            elif each.kind == _TEXT_HEADER:
                is_title = self._number(each) in _TITLES
            elif each.container and len(waiting) < MAX_DEPTH:
                waiting.append(iter(list(self._children(each))))
            elif text := self._text(each):
                found.append((is_title, text))
        return found

    def _text(self, record: _Record) -> str:
        """The text of a record, empty if it is of another kind."""
        if record.kind not in (_CHARS, _BYTES):
            return ""
        raw = self._data[record.start : record.end]
        text = raw.decode("utf-16-le" if record.kind == _CHARS else "latin-1", "replace")
        text = text.translate(_RECORD_MARKS).strip()
        return "" if text == _PLACEHOLDER else text

    def _slide_of(self, notes: _Record | None) -> int:
        atoms = (one for one in self._children(notes) if one.kind == _NOTES_ATOM)
        return next(map(self._number, atoms), -1)

    def _number(self, record: _Record) -> int:
        return int(struct.unpack_from("<I", self._data, record.start)[0])

    def _children(self, record: _Record | None) -> Iterator[_Record]:
        at = record.start if record else 0
        while record and at + _HEADER.size <= record.end:
            child = self._record(at)
            if child is None:
                return
            yield child
            at = child.end

    def _record(self, at: int) -> _Record | None:
        if at < 0 or at + _HEADER.size > len(self._data):
            return None
        head, kind, length = _HEADER.unpack_from(self._data, at)
        start = at + _HEADER.size
        end = min(len(self._data), start + length)
        return _Record(kind, head >> 4, head & 15 == 15, start, end)
