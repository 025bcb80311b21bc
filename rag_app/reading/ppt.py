"""Reads PowerPoint presentations of 1997 to 2003 (.ppt): a slide is a page, notes below.

The file is a tree of records: version and instance, type, length. What a slide says stands in two
places, the outline of the presentation and the slide's own drawing. See [MS-PPT]."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rag_app.errors import DamagedFile, PasswordNeeded
from rag_app.reading.limits import MAX_DEPTH, Limits
from rag_app.reading.ole import LOCKED, TORN, Compound
from rag_app.reading.pptx import LONGEST_SLIDE
from rag_app.reading.sections import OnPage, PageBuilder
from rag_app.types import Reading

_HEADER = struct.Struct("<HHI")
_ENCRYPTED_USER = 0xF3D1C4DF
_NOTES_ATOM = 1009
_PERSIST, _TEXT_HEADER, _CHARS, _BYTES = 1011, 3999, 4000, 4008
_LIST, _EDIT, _DIRECTORY = 4080, 4085, 6002
_TITLES = (0, 6)  # kinds of text
_SLIDES, _NOTES_PAGES = 0, 2  # instances of a list
_MARKS = str.maketrans({"\r": "\n", "\x0b": "\n", "\x00": ""})
_MOST_EDITS = 1_000
_PLACEHOLDER = "*"  # stands where the number of the slide or the date is put in


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


def read_ppt(compound: Compound, path: Path, limits: Limits, on_page: OnPage | None) -> Reading:
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
        same = sections.pages + (not sections.is_empty) == number - 1
        sections.new_page("" if same else f"slide {number}")
        for is_title, text in slide.texts:
            if is_title:
                sections.heading(text, 1)
            else:
                sections.paragraph(text)
        if notes.get(slide.id):
            sections.paragraph("Notes: " + "\n".join(notes[slide.id]))
        if on_page:
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
        text = text.translate(_MARKS).strip()
        return "" if text == _PLACEHOLDER else text

    def _slide_of(self, notes: _Record | None) -> int:
        for record in self._children(notes):
            if record.kind == _NOTES_ATOM:
                return self._number(record)
        return -1

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
