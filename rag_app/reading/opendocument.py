"""Reads OpenDocument texts (.odt) and presentations (.odp); spreadsheets are read by sheets.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from rag_app.errors import DamagedFile, UnsupportedFormat
from rag_app.reading.archive import PROTECTED, Archive
from rag_app.reading.limits import Limits
from rag_app.reading.markup import outermost, title_in
from rag_app.reading.ooxml import LONGEST_SLIDE, add_edges
from rag_app.reading.sections import PageBuilder
from rag_app.reading.word_styles import LEVELS, NumberedList, NumberingLevel, Numbers, whole
from rag_app.supervision import Told, untold
from rag_app.types import Merged, Reading

_CONTENT, _STYLES = "content.xml", "styles.xml"
_MANIFEST = "META-INF/manifest.xml"
_TITLE = ("meta.xml", "meta/title")
_TEXTS = frozenset(["h", "p", "list", "table", "frame", "custom-shape", "table-of-content"])
_SKIP = frozenset(["tracked-changes", "annotation", "binary-data", "shape-index"])
_EDGES = frozenset(
    f"{edge}{of_pages}" for edge in ("header", "footer") for of_pages in ("", "-first", "-left")
)
_CELLS = ("table-cell", "covered-table-cell")
_SPANS = 10_000  # rows or columns that one cell may cover
_SPACES = 100  # written as one element
_FOOTERS = ("page-number", "date-time", "footer", "header")


def read_odt(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections, title and headings of a text document.

    Raises DamagedFile, UnsupportedFormat, NoText or LimitReached."""
    with Archive(path, limits) as archive:
        _refuse_locked(archive)
        text = _Text(PageBuilder(limits))
        text.read_styles(archive)
        with archive.open(_CONTENT) as member:
            for element in outermost(member, _TEXTS | LIST_STYLES, _SKIP):
                text.add(element)
        text.add_edges()
        return text.sections.reading(title_in(archive, *_TITLE), text.warnings)


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


class _Text:
    """The text of one document, element by element."""

    def __init__(self, sections: PageBuilder) -> None:
        self.sections = sections
        self.warnings: list[str] = []
        self._numbers = ListNumbers()
        self._edges: list[str] = []  # of its pages

    def read_styles(self, archive: Archive) -> None:
        """Take in what stands with the styles: how lists are numbered, heads and feet of pages."""
        if _STYLES not in archive:
            return
        try:
            with archive.open(_STYLES) as member:
                for element in outermost(member, LIST_STYLES | _EDGES, _SKIP):
                    if element.tag in LIST_STYLES:
                        self._numbers.learn(element)
                    elif element.get("display") != "false":
                        self._edges += _lines(element)
        except DamagedFile:
            self.warnings.append("The styles of this document are damaged; numbers may be missed.")

    def add(self, element: Element) -> None:
        """Add one element of a text, with what is in it."""
        if element.tag in LIST_STYLES:
            self._numbers.learn(element)
        elif element.tag == "h":
            said = element.get("outline-level", "1")
            level = int(said) if said.isdecimal() else 1
            number = self._numbers.heading(level, element)
            text = _text(element)
            self.sections.heading(f"{number} {text}" if text.strip() else "", level)
            self._add_inside(element)
        elif element.tag == "p":
            if element.get("style-name") == "Title":
                self.sections.heading(_text(element), 1)
            else:
                self.sections.paragraph(_text(element))
            self._add_inside(element)
        elif element.tag == "list":
            for line in self._items(element, self._numbers.opened(element)):
                self.sections.paragraph(line, tight=True)
        elif element.tag == "table":
            _add_table(element, self.sections)
        else:
            self._add_inside(element)

    def add_edges(self) -> None:
        """Add the heads and feet of pages."""
        add_edges(self._edges, self.sections)

    def _add_inside(self, element: Element) -> None:
        """Add the texts in an element: of a paragraph those of its shapes, but not its notes."""
        for child in element:
            if child.tag in _TEXTS:
                self.add(child)
            elif child.tag != "note":
                self._add_inside(child)

    def _items(self, element: Element, list_id: str, depth: int = 0) -> Iterator[str]:
        """The lines of a list; those of lists inside, too. An empty item has its number, too."""
        for item in element:
            mark = ""
            is_first = item.tag != "list-header"
            for child in item:
                if child.tag == "list":
                    inner = self._numbers.opened(child, list_id)
                    yield from self._items(child, inner, depth + 1)
                elif child.tag in ("p", "h"):
                    mark = self._numbers.mark(list_id, depth, item) if is_first else mark
                    is_first = False
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


# The numbers of lists and headings.

LIST_STYLES = frozenset(["list-style", "outline-style"])
_HEADINGS = "outline"  # the list of a text's headings
_ITEM = "- "
_KINDS = {
    "1": "decimal", "01": "decimalZero",
    "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman",
}  # fmt: skip


class ListNumbers:
    """Counts the items of a text's lists and its headings, in its order."""

    def __init__(self) -> None:
        self._numbers = Numbers()
        self._styles: dict[str, dict[int, NumberingLevel]] = {}
        self._style_of: dict[str, str] = {}  # by list
        self._last_of: dict[str, str] = {}  # by style: what the last list counts in
        self._counter_of: dict[str, str] = {}  # by what a list is called in the file

    def learn(self, style: Element) -> None:
        """Take in a style of lists, or that of headings."""
        levels = _levels(style)
        if style.tag == "outline-style":
            self._numbers.lists[_HEADINGS] = NumberedList(_HEADINGS, levels, set())
        else:
            self._styles[style.get("name", "")] = levels

    def opened(self, element: Element, outer: str = "") -> str:
        """The list that an element begins: a new one, or the one around it (`outer`), whose next
        level it is."""
        style = element.get("style-name", "")
        if outer and style in ("", self._style_of[outer]):
            return outer
        made = str(len(self._style_of))
        counter = self._counter_of.get(element.get("continue-list", ""), "")
        if element.get("continue-numbering") == "true":
            counter = counter or self._last_of.get(style, "")
        counter = counter or made
        self._style_of[made], self._last_of[style] = style, counter
        self._counter_of[element.get("id", "")] = counter
        self._numbers.lists[made] = NumberedList(counter, self._styles.get(style, {}), set())
        return made

    def mark(self, list_id: str, level: int, item: Element) -> str:
        """What stands before the next item of a list: its number, or a dash."""
        number = self._next(list_id, level, item)
        return f"{number} " if any(map(str.isalnum, number)) else _ITEM

    def heading(self, level: int, heading: Element) -> str:
        """The number before the next heading; empty: it has none."""
        if heading.get("is-list-header") == "true":
            return ""
        return self._next(_HEADINGS, level - 1, heading)

    def _next(self, list_id: str, level: int, element: Element) -> str:
        level = max(0, min(LEVELS - 1, level))
        if start := element.get("start-value"):
            self._numbers.begin(list_id, level, whole(start, 1))
        return self._numbers.next(list_id, level)


def _levels(style: Element) -> dict[int, NumberingLevel]:
    """The levels of a style from 0, each with the numbers of those above that it shows."""
    levels: dict[int, NumberingLevel] = {}
    for each in style:
        level = whole(each.get("level", ""), 1) - 1
        kind = _kind(each)
        shown = whole(each.get("display-levels", ""), 1)
        above = [n for n in range(max(0, level + 1 - shown), level) if _counts(levels.get(n))]
        places = ".".join(f"%{number + 1}" for number in (*above, level))
        pattern = f"{each.get('num-prefix', '')}{places}{each.get('num-suffix', '')}"
        levels[level] = NumberingLevel(whole(each.get("start-value", ""), 1), kind, pattern)
    return levels


def _kind(level: Element) -> str:
    if level.tag not in ("list-level-style-number", "outline-level-style"):
        return "bullet"
    form = level.get("num-format", "")
    return _KINDS.get(form, "decimal") if form else "none"


def _counts(level: NumberingLevel | None) -> bool:
    return level is not None and level.kind not in ("bullet", "none")
