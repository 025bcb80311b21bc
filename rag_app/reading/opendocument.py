"""Reads OpenDocument texts (.odt) and presentations (.odp); spreadsheets are read by sheets.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from rag_app.errors import UnsupportedFormat
from rag_app.reading.archive import PROTECTED, Archive
from rag_app.reading.limits import Limits
from rag_app.reading.markup import outermost, title_in
from rag_app.reading.ooxml import LONGEST_SLIDE
from rag_app.reading.sections import PageBuilder
from rag_app.supervision import Told, untold
from rag_app.types import Merged, Reading

_CONTENT = "content.xml"
_MANIFEST = "META-INF/manifest.xml"
_TITLE = ("meta.xml", "meta/title")
_TEXTS = frozenset(["h", "p", "list", "table", "frame", "custom-shape", "table-of-content"])
_SKIP = frozenset(["tracked-changes", "annotation", "binary-data", "shape-index"])
_CELLS = ("table-cell", "covered-table-cell")
_SPANS = 10_000  # rows or columns that one cell may cover
_SPACES = 100  # written as one element
_FOOTERS = ("page-number", "date-time", "footer", "header")


def read_odt(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections, title and headings of a text document.

    Raises DamagedFile, UnsupportedFormat, NoText or LimitReached."""
    with Archive(path, limits) as archive:
        _refuse_locked(archive)
        sections = PageBuilder(limits)
        with archive.open(_CONTENT) as member:
            for element in outermost(member, _TEXTS, _SKIP):
                _add(element, sections)
        return sections.reading(title_in(archive, *_TITLE))


def read_odp(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The slides of a presentation with their notes.

    Raises DamagedFile, UnsupportedFormat, NoText or LimitReached."""
    with Archive(path, limits) as archive:
        _refuse_locked(archive)
        sections = PageBuilder(limits, LONGEST_SLIDE)
        with archive.open(_CONTENT) as member:
            for number, slide in enumerate(outermost(member, {"page"}, _SKIP), 1):
                sections.new_slide(number)
                _add_slide(slide, sections)
                on_page(number, number)
        return sections.reading(title_in(archive, *_TITLE))


def _refuse_locked(archive: Archive) -> None:
    if _MANIFEST in archive:
        with archive.open(_MANIFEST) as member:
            for _ in outermost(member, {"encryption-data"}):
                raise UnsupportedFormat(PROTECTED)


def _add(element: Element, sections: PageBuilder) -> None:
    """Add one element of a text, with what is in it."""
    if element.tag == "h":
        level = element.get("outline-level", "1")
        sections.heading(_text(element), int(level) if level.isdecimal() else 1)
        _add_inside(element, sections)
    elif element.tag == "p":
        if element.get("style-name") == "Title":
            sections.heading(_text(element), 1)
        else:
            sections.paragraph(_text(element))
        _add_inside(element, sections)
    elif element.tag == "list":
        for line in _items(element):
            sections.paragraph(line, tight=True)
    elif element.tag == "table":
        _add_table(element, sections)
    else:
        _add_inside(element, sections)


def _add_inside(element: Element, sections: PageBuilder) -> None:
    """Add the texts in an element: of a paragraph those of its shapes, but not its notes."""
    for child in element:
        if child.tag in _TEXTS:
            _add(child, sections)
        elif child.tag != "note":
            _add_inside(child, sections)


def _items(element: Element, depth: int = 0) -> Iterator[str]:
    """The lines of a list; lists inside are set in."""
    for item in element:
        mark = "" if item.tag == "list-header" else "- "
        for child in item:
            if child.tag == "list":
                yield from _items(child, depth + 1)
            elif child.tag in ("p", "h"):
                for line in _lines([child]):
                    yield f"{mark}{line}"
                    mark = ""


def _add_table(table: Element, sections: PageBuilder) -> None:
    rows = list(_inside(table, "table-row"))
    heads = {id(row) for each in table.iter("table-header-rows") for row in each}
    header_rows = sum(id(row) in heads for row in rows)
    grid = sections.grid(header_rows=header_rows, merged=_merged(rows))
    sections.table(map(_texts_of, rows), grid)


def _texts_of(row: Element) -> list[str]:
    """The cells of a row. What is said to repeat is read once: only empty cells repeat much."""
    return [
        " ".join(_lines(cell)) if cell.tag == "table-cell" else ""
        for cell in row
        if cell.tag in _CELLS
    ]


def _merged(rows: Iterable[Element]) -> Iterator[Merged]:
    for number, row in enumerate(rows, 1):
        for column, cell in enumerate(each for each in row if each.tag in _CELLS):
            down, across = (
                min(_SPANS, int(said)) if said.isascii() and said.isdigit() else 1
                for said in (
                    cell.get("number-rows-spanned", "1"),
                    cell.get("number-columns-spanned", "1"),
                )
            )
            area = Merged(number, column, number + max(1, down) - 1, column + max(1, across) - 1)
            if area.is_several:
                yield area


def _inside(element: Element, tag: str) -> Iterator[Element]:
    """The nearest descendants with a tag: rows may be grouped."""
    for child in element:
        if child.tag == tag:
            yield child
        elif child.tag != "table":
            yield from _inside(child, tag)


def _text(element: Element) -> str:
    """The text of one paragraph; that of shapes in it is left to others, notes are in brackets."""
    pieces = [element.text or ""]
    for child in element:
        if child.tag == "s":
            count = child.get("c", "1")
            pieces.append(" " * (min(_SPACES, int(count)) if count.isdecimal() else 1))
        elif child.tag in ("tab", "line-break"):
            pieces.append("\t" if child.tag == "tab" else "\n")
        elif child.tag == "note":
            body = child.find("note-body")
            words = "" if body is None else " ".join(_lines(body))
            pieces.append(f" [{words}]")
        elif child.tag not in _TEXTS:
            pieces.append(_text(child))
        pieces.append(child.tail or "")
    return "".join(pieces)


def _add_slide(slide: Element, sections: PageBuilder) -> None:
    """Add a slide: its title first, then its shapes, then its notes."""
    shapes = [child for child in slide if child.tag != "notes"]
    for shape in shapes:
        if shape.get("class") == "title":
            sections.heading(" ".join(_lines(shape)), 1)
    for shape in shapes:
        if shape.get("class") in ("title", *_FOOTERS):
            continue
        for table in shape.iter("table"):
            _add_table(table, sections)
        if shape.find(".//table") is None:
            sections.paragraph("\n".join(_lines(shape)))
    notes = [
        line
        for each in slide.iterfind("notes/*")
        if each.get("class") not in _FOOTERS
        for line in _lines(each)
    ]
    if notes:
        sections.paragraph("Notes: " + "\n".join(notes))


def _lines(elements: Iterable[Element]) -> Iterator[str]:
    """The paragraphs in elements that are not empty, each with its notes; those in its shapes are
    lines of their own."""
    for each in elements:
        if each.tag in ("p", "h"):
            text = _text(each).strip()
            if text:
                yield text
        if each.tag != "note":
            yield from _lines(each)
