"""Reads Word documents (.docx): sections under their headings, tables as rows, notes at the end.

What Word shows is read: text that was deleted with tracked changes is left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from rag_app.errors import DamagedFile
from rag_app.reading.archive import Archive
from rag_app.reading.docx_styles import (
    Numbers,
    Style,
    list_place,
    outline_level,
    read_numbers,
    read_styles,
)
from rag_app.reading.drawings import add_drawings
from rag_app.reading.embedded import finished
from rag_app.reading.limits import Limits
from rag_app.reading.markup import outermost
from rag_app.reading.office import core_title, main_part, related, relations
from rag_app.reading.sections import OnPage, Sections
from rag_app.reading.web import add_html, decode_html
from rag_app.types import Reading

_BLOCKS = frozenset(["p", "tbl", "altChunk"])
_SKIP = frozenset(["Fallback", "del", "moveFrom", "delText", "instrText", "sectPr", "rPr"])
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": "\u00ad"}
_ENTRY_STYLES = ("toc", "tableoffigures")  # lines of a table of contents are no headings
_NOTES = (
    ("footnotes", "footnote", "Footnotes"),
    ("endnotes", "endnote", "Endnotes"),
    ("comments", "comment", "Comments"),
)
_EDGES = ("header", "footer")


def read_docx(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """The sections, title and headings of a Word document.

    Raises DamagedFile, UnsupportedFormat, NoText or LimitReached."""
    with Archive(path, limits) as archive:
        part = main_part(archive, "word/document.xml")
        body = _Body(archive, part, Sections(limits))
        with archive.open(part) as member:
            for element in outermost(member, _BLOCKS, _SKIP):
                body.add(element)
        body.add_rest()
        title = core_title(archive) or body.title
    reading = finished(path, body.sections, limits, title, body.warnings)
    if on_page:
        on_page(len(reading.pages), len(reading.pages))
    return reading


class _Body:
    """The text of one document, part by part."""

    def __init__(self, archive: Archive, part: str, sections: Sections) -> None:
        self._archive, self._part = archive, part
        self.sections = sections
        self.title = ""
        self.warnings: list[str] = []
        self._styles: dict[str, Style] = {}
        self._numbers = Numbers()
        try:
            for styles in related(archive, part, "styles"):
                self._styles = read_styles(archive, styles)
            for numbering in related(archive, part, "numbering"):
                self._numbers = read_numbers(archive, numbering)
        except DamagedFile:
            self.warnings.append("The styles of this document are damaged; headings may be missed.")

    def add(self, element: Element) -> None:
        """Add a paragraph or a table."""
        if element.tag == "tbl":
            self.sections.table(self._rows(element))
            return
        if element.tag == "altChunk":
            self._add_page(element.get("r:id", ""))
            return
        style_name, style, properties = self._style(element)
        text = paragraph_text(element)
        if not text.strip():
            return
        mark = self._mark(properties, style)
        line = f"{mark} {text.strip()}" if mark else text
        level = outline_level(properties) or style.level
        if style.is_title:
            self.title = self.title or text.strip()
        if (level or style.is_title) and not style_name.lower().startswith(_ENTRY_STYLES):
            self.sections.heading(line, level or 1)
        else:
            self.sections.paragraph(line, tight=bool(mark))

    def add_rest(self) -> None:
        """Add what stands in parts of its own: charts, notes, headers and footers."""
        try:
            add_drawings(self._archive, self._part, self.sections)
        except DamagedFile:
            self.warnings.append("A chart of this document is damaged and was left out.")
        self._add_notes()
        self._add_edges()

    def _add_notes(self) -> None:
        for kind, tag, title in _NOTES:
            texts = [
                text for part in related(self._archive, self._part, kind)
                for text in self._texts(part, tag)
            ]  # fmt: skip
            if texts:
                self.sections.heading(title, 1)
            for number, text in enumerate(texts, 1):
                self.sections.paragraph(f"[{number}] {text}")

    def _add_edges(self) -> None:
        texts = [
            text
            for kind in _EDGES
            for part in related(self._archive, self._part, kind)
            for text in self._texts(part, "p")
        ]
        worded = [text for text in dict.fromkeys(texts) if sum(map(str.isalpha, text)) > 2]
        if worded:
            self.sections.heading("Headers and footers", 1)
        for text in worded:
            self.sections.paragraph(text)

    def _add_page(self, relation: str) -> None:
        """Add a web page that stands in the document; other files in it are not followed."""
        for each in relations(self._archive, self._part):
            if each.id == relation and each.target.lower().endswith((".html", ".htm", ".xhtml")):
                add_html(decode_html(self._archive.read(each.target))[0], self.sections)

    def _texts(self, part: str, tag: str) -> Iterator[str]:
        try:
            with self._archive.open(part) as member:
                for element in outermost(member, frozenset([tag]), _SKIP):
                    text = paragraph_text(element).strip()
                    if text and element.get("type", "normal") == "normal":
                        yield text
        except DamagedFile:
            self.warnings.append(f"A part of this document is damaged and was left out ({part}).")

    def _style(self, paragraph: Element) -> tuple[str, Style, Element | None]:
        properties = paragraph.find("pPr")
        chosen = None if properties is None else properties.find("pStyle")
        name = "" if chosen is None else chosen.get("val", "")
        return name, self._styles.get(name, Style()), properties

    def _mark(self, properties: Element | None, style: Style) -> str:
        list_id, level = list_place(properties)
        if list_id:
            return self._numbers.next(list_id, level)
        return self._numbers.next(style.list_id, level or style.list_level) if style.list_id else ""

    def _rows(self, table: Element) -> Iterator[list[str]]:
        for row in _inside(table, "tr"):
            yield [paragraph_text(cell) for cell in _inside(row, "tc")]


def _inside(element: Element, tag: str) -> Iterator[Element]:
    """The nearest descendants with a tag: content controls may stand between a table and a row."""
    for child in element:
        if child.tag == tag:
            yield child
        elif child.tag not in ("tbl", "tr", "tc"):
            yield from _inside(child, tag)


def paragraph_text(element: Element) -> str:
    """The text of all runs, with a line end after each paragraph that is inside."""
    pieces: list[str] = []
    _collect(element, pieces)
    return "".join(pieces)


def _collect(element: Element, pieces: list[str]) -> None:
    for child in element:
        if child.tag == "t":
            pieces.append(child.text or "")
        elif child.tag in _BREAKS:
            pieces.append(_BREAKS[child.tag])
        elif child.tag == "sym":
            pieces.append(_symbol(child.get("char", "")))
        elif child.tag not in ("pPr", "tblPr", "tcPr", "trPr"):
            nested = child.tag in ("p", "tr", "txbxContent")
            if nested and pieces and not pieces[-1].endswith("\n"):
                pieces.append("\n")
            _collect(child, pieces)
            if child.tag == "tc" and pieces:
                pieces.append(" ")
            if nested:
                pieces.append("\n")


def _symbol(code: str) -> str:
    """A character of a symbol font: those of Word's private range are only bullets and ticks."""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    return "•" if 0xE000 <= number <= 0xF8FF or number > 0xFFFF else chr(number)
