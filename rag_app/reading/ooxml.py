"""Reads Word documents (.docx) and PowerPoint presentations (.pptx) of today.

Of Word: sections under their headings, tables as rows, notes at the end. What Word shows is read:
text that was deleted with tracked changes, or is hidden, is left out. Of PowerPoint: a slide is a
page, its title a heading, notes below; its shapes are read as they stand on it, from top to
bottom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

from rag_app.errors import DamagedFile
from rag_app.reading.archive import Archive
from rag_app.reading.encodings import decode_html
from rag_app.reading.limits import Limits
from rag_app.reading.markup import (
    Stream,
    finished,
    main_part,
    outermost,
    related,
    relations,
    title_in,
    tree,
)
from rag_app.reading.sections import PageBuilder, raised
from rag_app.reading.web import add_html
from rag_app.reading.word_styles import (
    Numbers,
    Style,
    is_on,
    list_place,
    outline_level,
    property_of,
    read_lists,
    read_styles,
    whole,
)
from rag_app.supervision import Told, untold
from rag_app.types import Merged, Reading

_MOST_COLUMNS = 63  # that Word allows
_MOST_POINTS = 32_000  # of a series
LONGEST_SLIDE = 20_000  # characters; a slide that has more is a document pasted in
_TITLE = ("docProps/core.xml", "title")  # where the properties say it
_TITLES = ("title", "ctrTitle")
_SMALL_PRINT = ("sldNum", "dt", "ftr", "hdr", "sldImg")  # placeholders with nothing of the slide's
_NO_TITLES = ("", "powerpoint presentation", "slide 1", "presentation", "untitled")
_SHAPES = ("sp", "graphicFrame", "grpSp", "cxnSp")


# Words in the drawings of Office files: paragraphs in shapes, charts as tables, diagrams.

SKIP = frozenset(["Fallback", "rPr", "extLst"])


def add_drawings(archive: Archive, part: str, sections: PageBuilder) -> None:
    """Add the words of the charts (titles, then numbers) and diagrams that a part points to."""
    for kind in ("chart", "diagramData"):
        for name in related(archive, part, kind):
            with archive.open(name) as member:
                drawing = tree(member, SKIP)
            sections.paragraph("\n".join(paragraphs(drawing)))
            if kind == "chart":
                sections.table(_chart_rows(drawing))


def paragraphs(element: Element) -> Iterator[str]:
    """The paragraphs in a shape that are not empty."""
    for paragraph in element.iter("p"):
        text = _words(paragraph).strip()
        if text:
            yield text


def _words(element: Element, before: str = "") -> str:
    words = before
    for child in element:
        if child.tag == "oMath":
            words += formula(child, words)
        elif child.tag in ("t", "br"):
            words += "\n" if child.tag == "br" else child.text or ""
        else:
            words = _words(child, words)
    return words


def _chart_rows(chart: Element) -> Iterator[list[str]]:
    """The numbers that a chart shows: a row of categories, then a row for each series."""
    for number, series in enumerate(chart.iter("ser")):
        if number == 0:
            yield ["", *_points(series.find("cat"))]
        named = series.find("tx")
        called = () if named is None else (each.text or "" for each in named.iter("v"))
        yield [" ".join(called), *_points(series.find("val"))]


def _points(element: Element | None) -> list[str]:
    """The categories or values of a series, each in its place: a gap has none. A category may be
    said in several levels, the innermost first."""
    cells: list[list[str]] = []
    for point in () if element is None else element.iter("pt"):
        place = min(whole(point.get("idx", ""), len(cells)), _MOST_POINTS)
        cells += [[] for _ in range(place + 1 - len(cells))]
        cells[place] += (each.text or "" for each in point.iter("v"))
    return [" ".join(reversed(cell)) for cell in cells]


_BLOCKS = frozenset(["p", "tbl", "altChunk"])
_LEFT_OUT = ("del", "moveFrom")  # what is in them; empty ones mark the end of a paragraph as such
_SKIP = frozenset(["Fallback", "delText", "instrText", "sectPr"])
_PROPERTIES = ("pPr", "rPr", "tblPr", "tcPr", "trPr")
_BREAKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": "\u00ad"}
_BOXES = {  # and ticks, which say what was chosen
    "wingdings": {
        0x6F: "☐", 0x71: "☐", 0x78: "☒", 0xA8: "☐", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
    },
    "wingdings 2": {
        0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0xA3: "☐",
    },
}  # fmt: skip
_ENTRY_STYLES = ("toc", "tableoffigures")  # lines of a table of contents are no headings
_NOTES = (
    ("footnotes", "footnote", "Footnotes"),
    ("endnotes", "endnote", "Endnotes"),
    ("comments", "comment", "Comments"),
)
_EDGES = ("header", "footer")


def read_docx(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections, title and headings of a Word document.

    Raises DamagedFile, UnsupportedFormat, NoText or LimitReached."""
    with Archive(path, limits) as archive:
        part = main_part(archive, "word/document.xml")
        body = _Body(archive, part, PageBuilder(limits))
        with archive.open(part) as member:
            for element in _shown(member, _BLOCKS):
                body.add(element)
        body.add_rest()
        title = title_in(archive, *_TITLE) or body.title
    return finished(path, body.sections, limits, title, body.warnings)


def _shown(stream: Stream, names: Set[str]) -> Iterator[Element]:
    """The outermost elements with one of `names`, without what was deleted or moved away in them:
    only the marks that the end of a paragraph was stay."""
    for element in outermost(stream, names, _SKIP):
        if any(element.find(f".//{tag}") is not None for tag in _LEFT_OUT):
            for each in list(element.iter()):
                for child in [one for one in each if one.tag in _LEFT_OUT and len(one)]:
                    each.remove(child)
        yield element


def _is_gone(properties: Element | None) -> bool:
    """Whether the end of a paragraph is hidden, or was deleted or moved away."""
    mark = None if properties is None else properties.find("rPr")
    if mark is None:
        return False
    return is_on(mark, "vanish") or any(mark.find(tag) is not None for tag in _LEFT_OUT)


class _Body:
    """The text of one document, part by part."""

    def __init__(self, archive: Archive, part: str, sections: PageBuilder) -> None:
        self._archive, self._part = archive, part
        self.sections = sections
        self.title = ""
        self.warnings: list[str] = []
        self._caption = ""  # of the table that comes next
        self._styles: dict[str, Style] = {}
        self._numbers = Numbers()
        try:
            for styles in related(archive, part, "styles"):
                self._styles = read_styles(archive, styles)
            for numbering in related(archive, part, "numbering"):
                with archive.open(numbering) as member:
                    self._numbers = Numbers(read_lists(tree(member)))
        except DamagedFile:
            self.warnings.append("The styles of this document are damaged; headings may be missed.")

    def add(self, element: Element) -> None:
        """Add a paragraph or a table."""
        self._hide(element)
        if element.tag == "tbl":
            self._number(element)
            rows, header_rows, merged = _table(element)
            caption, self._caption = self._caption, ""
            grid = self.sections.grid(caption, header_rows=header_rows, merged=merged)
            self.sections.table(rows, grid)
            return
        if element.tag == "altChunk":
            self._add_page(element.get("r:id", ""))
            return
        style_name, style, properties = self._style(element)
        text = paragraph_text(element)
        if not text.strip():
            if not _is_gone(properties):
                self._mark(properties, style)  # Word counts it, and shows its bare number
            return
        self._caption = text.strip() if style_name.lower().startswith("caption") else ""
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
        add_edges(texts, self.sections)

    def _add_page(self, relation: str) -> None:
        """Add a web page that stands in the document; other files in it are not followed."""
        for each in relations(self._archive, self._part):
            if each.id == relation and each.target.lower().endswith((".html", ".htm", ".xhtml")):
                add_html(decode_html(self._archive.read(each.target))[0], self.sections)

    def _texts(self, part: str, tag: str) -> Iterator[str]:
        try:
            with self._archive.open(part) as member:
                for element in _shown(member, {tag}):
                    self._hide(element)
                    text = paragraph_text(element).strip()
                    if text and element.get("type", "normal") == "normal":
                        yield text
        except DamagedFile:
            self.warnings.append(f"A part of this document is damaged and was left out ({part}).")

    def _style(self, paragraph: Element) -> tuple[str, Style, Element | None]:
        name = property_of(paragraph, "pPr/pStyle")
        return name, self._styles.get(name, Style()), paragraph.find("pPr")

    def _hide(self, element: Element) -> None:
        """Say of each run whose text its style hides that it is hidden."""
        if not any(style.hides for style in self._styles.values()):
            return
        for paragraph in element.iter("p"):
            of_paragraph = self._style(paragraph)[1].hides
            for run in paragraph.iter("r"):
                own = self._styles.get(property_of(run, "rPr/rStyle"), Style()).hides
                if is_on(run, "rPr/vanish", of_paragraph or own):
                    properties = run.find("rPr")
                    if properties is None:
                        properties = Element("rPr")
                        run.insert(0, properties)
                    properties.append(Element("vanish"))

    def _number(self, table: Element) -> None:
        """Write the numbers of the paragraphs in a table before their texts; a bullet says nothing
        in a cell."""
        for paragraph in table.iter("p"):
            _, style, properties = self._style(paragraph)
            mark = self._mark(properties, style)
            if any(map(str.isalnum, mark)):
                run, text = Element("r"), Element("t")
                text.text = f"{mark} "
                run.append(text)
                paragraph.insert(0, run)

    def _mark(self, properties: Element | None, style: Style) -> str:
        list_id, level = list_place(properties)
        if list_id:
            return self._numbers.next(list_id, level)
        return self._numbers.next(style.list_id, level or style.list_level) if style.list_id else ""


def add_edges(texts: Sequence[str], sections: PageBuilder) -> None:
    """Add what stands at the head and foot of pages, each text once; numbers alone are no text."""
    worded = [text for text in dict.fromkeys(texts) if sum(map(str.isalpha, text)) > 2]
    if worded:
        sections.heading("Headers and footers", 1)
    for text in worded:
        sections.paragraph(text)


def _table(table: Element) -> tuple[list[list[str]], int, list[Merged]]:
    """The rows of a table, how many of them name its columns, and which cells are one.

    A cell that spans columns, or goes on from the row above, leaves the others empty."""
    rows: list[list[str]] = []
    header_rows = 0
    areas: dict[tuple[int, int], Merged] = {}
    going_on: dict[int, tuple[int, int]] = {}  # by column: the cell that the next row may go on
    for number, row in enumerate(_inside(table, "tr"), 1):
        before = whole(property_of(row, "trPr/gridBefore"), 0)  # columns that it leaves out
        cells = [""] * min(_MOST_COLUMNS, before)
        for cell in _inside(row, "tc"):
            column, span = len(cells), _columns(cell)
            goes_on = _goes_on(cell)
            place = going_on.get(column, (number, column)) if goes_on else (number, column)
            area = areas.get(place, Merged(*place, number, column + span - 1))
            areas[place] = replace(area, last_row=number)
            going_on[column] = place
            cells += ["" if goes_on else paragraph_text(cell), *[""] * (span - 1)]
        rows.append(cells)
        header_rows += header_rows == number - 1 and is_on(row, "trPr/tblHeader")
    return rows, header_rows, [each for each in areas.values() if each.is_several]


def _columns(cell: Element) -> int:
    return min(_MOST_COLUMNS, max(1, whole(property_of(cell, "tcPr/gridSpan"), 1)))


def _goes_on(cell: Element) -> bool:
    """Whether a cell goes on from the row above."""
    merge = cell.find("tcPr/vMerge")
    return merge is not None and merge.get("val", "continue") != "restart"


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
            above = property_of(element, "rPr/vertAlign") == "superscript"
            pieces.append(raised(child.text or "", pieces) if above else child.text or "")
        elif child.tag in _BREAKS:
            pieces.append(_BREAKS[child.tag])
        elif child.tag == "sym":
            pieces.append(_symbol(child.get("char", ""), child.get("font", "")))
        elif child.tag == "oMath":
            pieces.append(formula(child, pieces[-1] if pieces else ""))
        elif child.tag not in _PROPERTIES and not is_on(child, "rPr/vanish"):
            nested = child.tag in ("p", "tr", "txbxContent")
            if nested and pieces and not pieces[-1].endswith("\n"):
                pieces.append("\n")
            _collect(child, pieces)
            if child.tag == "tc" and pieces:
                pieces.append(" ")
            if nested:
                pieces.append("\n")


def _symbol(code: str, font: str) -> str:
    """A character of a symbol font: those of Word's private range are bullets, but for the boxes
    and ticks."""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    box = _BOXES.get(font.lower(), {}).get(number & 0xFF)
    if box:
        return box
    return "•" if not 0 <= number < 0xD800 and not 0xF900 <= number <= 0xFFFF else chr(number)


def read_pptx(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The slides of a presentation, in its order.

    Raises DamagedFile, UnsupportedFormat, NoText or LimitReached."""
    with Archive(path, limits) as archive:
        main = main_part(archive, "ppt/presentation.xml")
        slides = list(_slides(archive, main))
        sections = PageBuilder(limits, LONGEST_SLIDE)
        warnings: list[str] = []
        for number, part in enumerate(slides, 1):
            sections.new_slide(number)
            try:
                _add_slide(archive, part, sections)
            except DamagedFile:
                warnings.append(f"Slide {number} is damaged; what could be read of it is kept.")
            on_page(number, len(slides))
        if sections.is_empty and not sections.pages:
            _add_small_print(archive, slides, sections)
        title = title_in(archive, *_TITLE)
    reading = finished(path, sections, limits, title, warnings)
    if reading.title.lower() not in _NO_TITLES:
        return reading
    return replace(reading, title=reading.headings[0].text if reading.headings else "")


def _slides(archive: Archive, main: str) -> Iterator[str]:
    """The parts of the slides, as the presentation lists them."""
    targets = {each.id: each.target for each in relations(archive, main)}
    with archive.open(main) as member:
        for each in outermost(member, {"sldId"}):
            part = targets.get(each.get("r:id", ""), "")
            if part in archive:
                yield part


def _add_slide(archive: Archive, part: str, sections: PageBuilder) -> None:
    with archive.open(part) as member:
        slide = tree(member, SKIP)
    shapes = [each for each in _shapes(slide) if _placeholder(each) not in _SMALL_PRINT]
    titles = [each for each in shapes if _placeholder(each) in _TITLES]
    for title in titles:
        sections.heading(" ".join(paragraphs(title)), 1)
    for shape in sorted((each for each in shapes if each not in titles), key=_place):
        _add_shape(shape, sections)
    add_drawings(archive, part, sections)
    for notes in related(archive, part, "notesSlide"):
        _add_notes(archive, notes, sections)


def _add_small_print(archive: Archive, slides: Sequence[str], sections: PageBuilder) -> None:
    """Add the footers, which are all that slides without a text say."""
    said: dict[str, None] = {}
    for part in slides:
        with suppress(DamagedFile), archive.open(part) as member:
            for shape in _shapes(tree(member, SKIP)):
                if _placeholder(shape) != "sldNum":
                    said.update(dict.fromkeys(paragraphs(shape)))
    for text in said:
        sections.paragraph(text)


def _shapes(element: Element) -> Iterator[Element]:
    """The shapes of a slide; a group is one shape."""
    for child in element:
        if child.tag in _SHAPES:
            yield child
        elif child.tag in ("cSld", "spTree", "AlternateContent", "Choice"):
            yield from _shapes(child)


def _placeholder(shape: Element) -> str:
    """What a shape stands for in the layout: "title", "body", or nothing."""
    found = shape.find("*/nvPr/ph")
    return "" if found is None else found.get("type", "body")


def _place(shape: Element) -> tuple[int, int]:
    """Where a shape stands, top first. One without a place of its own is the body of the slide."""
    for offset in shape.iter("off"):
        try:
            return int(offset.get("y", "0")) // 100_000, int(offset.get("x", "0"))
        except ValueError:
            break
    return 0, 0


def _add_shape(shape: Element, sections: PageBuilder) -> None:
    tables = list(shape.iter("tbl"))
    for table in tables:
        sections.table(
            [" ".join(paragraphs(cell)) for cell in row.iter("tc")] for row in table.iter("tr")
        )
    if not tables:
        sections.paragraph("\n".join(paragraphs(shape)))


def _add_notes(archive: Archive, part: str, sections: PageBuilder) -> None:
    with archive.open(part) as member:
        notes = tree(member, SKIP)
    texts = [
        text
        for shape in _shapes(notes)
        if _placeholder(shape) not in _SMALL_PRINT
        for text in paragraphs(shape)
    ]
    if texts:
        sections.paragraph("Notes: " + "\n".join(texts))


# Formulas (Office MathML), written in one line as one types them: "(a+b)/2". Pure.

_FORMULA_PROPERTIES = ("rPr", "ctrlPr")
_SIGNS = {"sup": "^", "sub": "_"}  # before what is set higher or lower


def formula(element: Element, before: str = "") -> str:
    """A formula, or a part of one, behind the text `before`. What it only shows by its place is
    said with signs: a fraction, apart from a whole number before it, a power, a root, brackets."""
    if element.tag == "f":
        return f" {_fraction(element)}" if before[-1:].isdigit() else _fraction(element)
    if element.tag == "rad":
        return f"{_part(element, 'deg')}√{_one(_part(element, 'e'))}"
    if element.tag == "d":
        between = _said(element, "dPr/sepChr", "|").join(map(_inner, element.iterfind("e")))
        return f"{_said(element, 'dPr/begChr', '(')}{between}{_said(element, 'dPr/endChr', ')')}"
    if element.tag == "nary":
        return _said(element, "naryPr/chr", "∫") + _inner(element)
    if element.tag in _SIGNS:
        raised = _inner(element)
        return f"{_SIGNS[element.tag]}{_one(raised)}" if raised else ""
    return element.text or "" if element.tag == "t" else _inner(element, before)


def _inner(element: Element, before: str = "") -> str:
    line = ""
    for child in element:
        if child.tag not in _FORMULA_PROPERTIES:
            line += formula(child, line or before)
    return line


def _fraction(element: Element) -> str:
    above, below = _part(element, "num"), _part(element, "den")
    if _said(element, "fPr/type", "bar") == "noBar":  # one above the other, nothing divided
        return f"{above} {below}"
    return f"{_one(above)}/{_one(below)}"


def _part(element: Element, name: str) -> str:
    found = element.find(name)
    return "" if found is None else _inner(found)


def _one(text: str) -> str:
    """A part that is more than a name or number in brackets, as it has to be in one line."""
    is_one = not text or text.replace(".", "").replace(",", "").isalnum()
    in_brackets = text.startswith("(") and text.find(")") == len(text) - 1
    return text if is_one or in_brackets else f"({text})"


def _said(element: Element, path: str, otherwise: str) -> str:
    """The value of a property; one that is there without a value is empty."""
    found = element.find(path)
    return otherwise if found is None else found.get("val", "")
