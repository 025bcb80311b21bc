"""Reads web pages: what a browser would show, without navigation, under its headings.

A table whose cells hold tables is layout, not data: it is read as if it were not there."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser, LexborNode

from rag_app.errors import NoText
from rag_app.reading.encodings import decode_html
from rag_app.reading.limits import Limits
from rag_app.reading.sections import PageBuilder, raised
from rag_app.supervision import Told, untold
from rag_app.types import Merged, Reading

# The elements of a web page: which are shown, which stand on lines of their own, one after the
# other.

Test = Callable[[LexborNode], bool]

_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
UNSEEN = frozenset(
    [
        "head", "script", "style", "noscript", "template", "svg", "math", "canvas", "iframe",
        "object", "nav", "button", "select", "textarea", "datalist", "dialog", "ix:header",
    ]
)  # fmt: skip
BLOCKS = frozenset(
    [
        "address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details",
        "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2",
        "h3", "h4", "h5", "h6", "header", "hr", "legend", "li", "menu", "ol", "optgroup", "option",
        "p", "pre", "section", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul",
    ]
)  # fmt: skip
_LABELLED = frozenset(["h1", "h2", "h3", "h4", "h5", "h6", "summary", "dt", "th"])
_NEAR = 4  # elements from a button up to what it labels
_LABEL = 0.75  # of the letters there: a button beside a heading has fewer


def _open_labels(parser: LexborHTMLParser) -> frozenset[str]:
    """Make text of the buttons that are what a heading says, as where a question opens its answer.
    The ids of what they open."""
    opened: set[str] = set()
    letters: dict[int, int] = {}  # of each heading, which may hold any number of buttons
    for button in parser.css("button"):
        around = _labelled(button)
        if around is None:
            continue
        if around.mem_id not in letters:
            letters[around.mem_id] = _letters(around)
        if _letters(button) >= _LABEL * letters[around.mem_id]:
            opened.update((button.attributes.get("aria-controls") or "").split())
            if is_shown(button):
                button.unwrap()
    return frozenset(opened)


def _labelled(button: LexborNode) -> LexborNode | None:
    around = button.parent
    for _ in range(_NEAR):
        if around is None or around.tag in _LABELLED:
            return around
        around = around.parent
    return around if around is not None and around.tag in _LABELLED else None


def _letters(node: LexborNode) -> int:
    return len("".join(node.text().split()))


def is_seen(node: LexborNode) -> bool:
    """Whether an element is of a kind that people read."""
    return node.tag not in UNSEEN


def is_shown(node: LexborNode) -> bool:
    """Whether an element says nothing against being shown."""
    attributes = node.attributes
    if not attributes:
        return True
    if "hidden" in attributes or attributes.get("aria-hidden") == "true":
        return False
    return attributes.get("role") != "navigation" and not _HIDDEN.search(
        attributes.get("style") or ""
    )


def walk(root: LexborNode, goes_in: Test) -> Iterator[tuple[LexborNode, bool]]:
    """(node, entering) in the order of the page; what is inside an element is between its two."""
    waiting: list[tuple[LexborNode, bool]] = [(root, True)]
    while waiting:
        node, entering = waiting.pop()
        yield node, entering
        if not entering or not node.is_element_node or not goes_in(node):
            continue
        waiting.append((node, False))
        child = node.last_child
        while child is not None:
            waiting.append((child, True))
            child = child.prev


# Which part of a web page is what people come for, where the page itself says so.
#
# A page names its main part (main, article …). It is taken alone if nearly all sentences of the
# page stand in it: menus are no sentences. Where that is not so, as on a page of many articles or
# of links, everything is read: nothing is guessed away.

_PARTS = "main, [role=main], article, [itemprop=articleBody]"
_MOST_PARTS = 60  # more are a list of articles, none of which is the page
_SHARE = 0.8  # of the page's sentences
_LEAST = 300  # characters of sentences: less says nothing about shares
_SENTENCE = 60  # characters, beside links, from which a block is more than a label
_MENU = 6  # links that make one
_LINKED = 0.9  # of the letters of a menu
_WIDER = 1.5  # times the text: a part may be widened so far to hold its heading and who wrote it
_CONSENT = ", ".join(
    f"[{attribute}*={word} i]"
    for word in ("cookie", "consent", "gdpr", "onetrust", "didomi")
    for attribute in ("id", "class")
)
_SMALL = 0.25  # of the page's text: a larger one is about cookies, not a question about them


@dataclass(frozen=True, slots=True)
class Chosen:
    """What of a page is to be read."""

    part: LexborNode | None = None  # None: everything
    heading: str = ""  # of the page, if it stands outside of the part
    without: Collection[int] = ()  # elements that ask something of the visitor, by `mem_id`


def main_content(parser: LexborHTMLParser) -> Chosen:
    """The main part of a page, if it is told from the rest."""
    body = parser.body
    if body is None:
        return Chosen()
    without = _questions(parser, body)
    parts = parser.css(_PARTS)
    whole = _sentences(body, without) if 0 < len(parts) <= _MOST_PARTS else 0
    if whole < _LEAST:
        return Chosen(without=without)
    held = [(_sentences(part, without), len(part.text()), part) for part in parts]
    able = [each for each in held if each[0] >= _SHARE * whole]
    if not able:
        return Chosen(without=without)
    part = min(able, key=lambda each: each[:2])[2]
    without |= _menus(part)
    headings = [node for node in parser.css("h1") if node.text().strip()]
    if len(headings) != 1 or part.css_first("h1") is not None:
        return Chosen(part, without=without)
    wider = _around(part)
    if wider is not None:
        return Chosen(wider, without=without)
    return Chosen(part, " ".join(headings[0].text().split()), without)


def _menus(part: LexborNode) -> frozenset[int]:
    """The lists of nothing but links that stand before the first sentence of a part: the other
    languages of a page, its contents, which its headings say again."""
    menus = set()
    here = 0
    for node, entering in walk(part, lambda each: each.mem_id not in menus and _is_read(each, ())):
        tag = node.tag or ""
        if entering and tag in ("ul", "ol") and _is_menu(node):
            menus.add(node.mem_id)
        elif tag == "-text":
            here += len(" ".join((node.text_content or "").split()))
        elif tag in BLOCKS:
            if here >= _SENTENCE:
                break
            here = 0
    return frozenset(menus)


def _is_menu(node: LexborNode) -> bool:
    links = node.css("a")
    return len(links) >= _MENU and sum(map(_letters, links)) >= _LINKED * _letters(node)


def _around(part: LexborNode) -> LexborNode | None:
    """The nearest element around a part that has the heading, if it has little more."""
    most = _WIDER * len(part.text())
    around = part.parent
    while around is not None and around.tag not in ("body", "html") and len(around.text()) <= most:
        if around.css_first("h1") is not None:
            return around
        around = around.parent
    return None


def _questions(parser: LexborHTMLParser, body: LexborNode) -> frozenset[int]:
    """The boxes that ask whether cookies may be set: named so, small, and no part of the text."""
    most = _SMALL * len(body.text())
    return frozenset(
        node.mem_id
        for node in parser.css(_CONSENT)
        if node.tag not in ("html", "body")
        and len(node.text()) < most
        and node.css_first(f"h1, {_PARTS}") is None
    )


def _sentences(root: LexborNode, without: Collection[int]) -> int:
    """Characters of what reads as text under an element: not of links, not of labels."""
    total = here = 0
    in_link = 0
    for node, entering in walk(root, lambda each: _is_read(each, without)):
        tag = node.tag or ""
        if tag == "-text" and not in_link:
            here += len(" ".join((node.text_content or "").split()))
        elif tag == "a":
            in_link += (1 if entering else -1) * _is_read(node, without)  # else it is not left
        elif tag in BLOCKS:
            total += here if here >= _SENTENCE else 0
            here = 0
    return total + (here if here >= _SENTENCE else 0)


def _is_read(node: LexborNode, without: Collection[int]) -> bool:
    return is_seen(node) and node.mem_id not in without and is_shown(node)


# Tables that were made to look good, as rows that read well.
#
# Pages set a sum in three cells, "$", "(1,234" and ")", under a heading that spans all three.

_TABLES_WIDEST = 1_000  # columns
_BEFORE = frozenset(["$", "€", "£", "¥", "(", "$(", "($", "-$"])
_AFTER = frozenset([")", "%", ")%", "%)", "x"])


@dataclass(frozen=True, slots=True)
class LaidOut:
    """What stands in one column of a row; `spans`: it spans others, too."""

    text: str = ""
    spans: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands in it."""
        return not self.text


def spread(text: str, columns: int) -> list[LaidOut]:
    """A cell that spans so many columns, as one cell for each."""
    return [LaidOut(text, columns > 1), *[LaidOut()] * (columns - 1)]


def compacted(rows: Sequence[Sequence[LaidOut]]) -> tuple[list[list[str]], list[int]]:
    """The rows without columns that hold nothing of their own, and for each column that there was:
    which one it is now."""
    joined = [
        _join([LaidOut(" ".join(cell.text.split()), cell.spans) for cell in row]) for row in rows
    ]
    width = min(_TABLES_WIDEST, max(map(len, joined), default=0))
    columns = [
        [row[index] if index < len(row) else LaidOut() for row in joined] for index in range(width)
    ]
    kept: list[list[LaidOut]] = []
    now: list[int] = []
    for column in columns:
        now.append(max(0, len(kept) - 1))
        if all(cell.is_empty for cell in column):
            continue
        if kept and _fit(kept[-1], column):
            kept[-1] = [b if a.is_empty else a for a, b in zip(kept[-1], column, strict=True)]
        else:
            now[-1] = len(kept)
            kept.append(column)
    return [[column[index].text for column in kept] for index in range(len(joined))], now


def _fit(left: list[LaidOut], right: list[LaidOut]) -> bool:
    """Whether two columns are one: headings that span both, and what they are about."""
    if any(not a.is_empty and not b.is_empty for a, b in zip(left, right, strict=True)):
        return False
    return all(cell.is_empty or cell.spans for cell in left)


def _join(row: list[LaidOut]) -> list[LaidOut]:
    """The row with signs that have a cell of their own put to the numbers they belong to."""
    cells = list(row)
    for index, cell in enumerate(row):
        if cell.text in _BEFORE:
            after = next((at for at in range(index + 1, len(cells)) if cells[at].text), 0)
            if after and cells[after].text[0].isdigit() | (cells[after].text[0] in "(–—-"):
                cells[after] = LaidOut(cell.text + cells[after].text)
                cells[index] = LaidOut()
        elif cell.text in _AFTER:
            before = next((at for at in range(index - 1, -1, -1) if cells[at].text), -1)
            if before >= 0 and any(map(str.isdigit, cells[before].text)):
                cells[before] = LaidOut(cells[before].text + cell.text)
                cells[index] = LaidOut()
    return cells


_XHTML = re.compile(r"\A\s*<\?xml|\sxmlns\s*=\s*[\"']http://www\.w3\.org/1999/xhtml[\"']")
_CLOSED = re.compile(  # an element with nothing in it, not where it is said by a program
    r"<([\w:.-]++)([^<>]*)/>|<(script|style)(?=[\s>]).*?(?:</\3[\s>]|\Z)|<!(?=--).*?(?:-->|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_VOID = frozenset(
    [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
        "source", "track", "wbr",
    ]
)  # fmt: skip
_AROUND = frozenset(["header", "footer", "aside"])  # what stands around a <main>
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CELLS = ("td", "th")
_HOW = "Open it in your browser, print it there to a PDF, and add that."
_NOTHING = f"There is no text on this page: it may come only when a browser shows it. {_HOW}"
_ONLY_TITLE = (
    f"Only the title of this page could be read: the rest may come only when a browser shows it. "
    f"{_HOW}"
)
_WIDEST = 50  # columns that one cell may span
_TALLEST = 10_000  # rows


def read_html(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections, title and headings of a web page. Raises NoText or LimitReached."""
    markup, encoding = decode_html(path.read_bytes())
    warnings: list[str] = []
    sections = PageBuilder(limits)
    title = add_html(markup, sections, main_content)
    if sections.is_empty and not sections.pages:
        if not title:
            raise NoText(_NOTHING)
        sections.paragraph(title)
        warnings.append(_ONLY_TITLE)
    return replace(sections.reading(title, warnings), encoding=encoding)


def _as_html(markup: str) -> str:
    """XHTML as HTML, where `<title/>` is open, and all that follows stands in the title."""
    return _CLOSED.sub(_opened_and_closed, markup)


def _opened_and_closed(tag: re.Match[str]) -> str:
    kept = tag[1] is None or tag[1].lower() in _VOID
    return tag[0] if kept else f"<{tag[1]}{tag[2]}></{tag[1]}>"


def add_html(
    markup: str,
    sections: PageBuilder,
    choose: Callable[[LexborHTMLParser], Chosen] = lambda parser: Chosen(),
    *,
    xhtml: bool = False,
) -> str:
    """Add all that a page shows, as of a message or a chapter of a book, or the part of it that is
    chosen, and give its title back; `xhtml`: it is that, whether it says so or not."""
    xhtml = xhtml or _XHTML.search(markup[:2_000]) is not None
    parser = LexborHTMLParser(_as_html(markup) if xhtml else markup)
    if parser.root is None:
        return ""
    opened = _open_labels(parser)
    page = _HtmlWalker(parser, sections, choose(parser), opened)
    page.write(parser.root)
    named = parser.css_first("head > title")
    said = " ".join(named.text().split()) if named else ""
    return said or page.title


class _HtmlWalker:
    """Goes through the elements of one page, in their order."""

    def __init__(
        self,
        parser: LexborHTMLParser,
        sections: PageBuilder,
        chosen: Chosen,
        opened: Collection[str],
    ) -> None:
        self.title = chosen.heading
        self._chosen = chosen
        self._sections = sections
        self._has_main = parser.css_first("main") is not None
        self._in_main = int(chosen.part is not None and chosen.part.css_first("main") is None)
        self._opened = opened
        self._in_item = 0
        self._pieces: list[str] = []
        self._layout: set[int] = set()

    def write(self, root: LexborNode) -> None:
        """Add everything under `root`, or the chosen part of it, to the sections."""
        self._find_layout(root)
        if self._chosen.heading:
            self._sections.heading(self._chosen.heading, 1)
        root = self._chosen.part or root
        for node, entering in walk(root, self._is_shown):
            tag = node.tag or ""
            if node.is_text_node:
                self._pieces.append(_said(node, self._pieces) if tag == "-text" else "")
            elif tag == "br":
                self._pieces.append("\n" if entering else "")
            elif tag == "table" and entering and node.mem_id not in self._layout:
                self._flush()
                _add_table(node, self._sections)
            elif tag == "main":
                self._in_main += 1 if entering else -1
                self._flush()
            elif tag in BLOCKS:
                self._block(node, tag, entering)
        self._flush()

    def _block(self, node: LexborNode, tag: str, entering: bool) -> None:
        if entering or tag not in (*_HEADINGS, "pre"):
            self._flush()
            if tag == "li":
                self._in_item += 1 if entering else -1
                self._pieces += ["- "] if entering else []
            return
        text = "".join(self._pieces)
        self._pieces = []
        if tag == "pre":
            self._sections.paragraph(text, exact=True)
        else:
            self.title = self.title or (" ".join(text.split()) if tag == "h1" else "")
            self._sections.heading(" ".join(text.split()), _HEADINGS[tag])

    def _flush(self) -> None:
        lines = [" ".join(line.split()) for line in _lines(self._pieces)]
        self._pieces = []
        if any(line.strip("- ") for line in lines):
            self._sections.paragraph("\n".join(lines), tight=self._in_item > 0)

    def _is_shown(self, node: LexborNode) -> bool:
        """Whether to go into an element."""
        tag = node.tag or ""
        if not is_seen(node) or (tag in _AROUND and self._has_main and not self._in_main):
            return False
        if node.mem_id in self._chosen.without:
            return False
        if not is_shown(node) and node.attributes.get("id") not in self._opened:
            return False
        return tag != "table" or node.mem_id in self._layout

    def _find_layout(self, root: LexborNode) -> None:
        """Note the tables that hold other tables or headings, or have only one column."""
        tables: list[LexborNode] = []
        cells: dict[int, int] = {}
        for node, entering in walk(root, is_seen):
            tag = node.tag or ""
            if tag == "table":
                if entering and tables:
                    self._layout.add(tables[-1].mem_id)
                tables = [*tables, node] if entering else tables[:-1]
            elif entering and tables and tag in _HEADINGS:
                self._layout.add(tables[-1].mem_id)
            elif entering and tables and tag in _CELLS and node.prev is not None:
                cells[tables[-1].mem_id] = cells.get(tables[-1].mem_id, 0) + _is_cell_before(node)
            if tag == "table" and not entering and not cells.get(node.mem_id):
                self._layout.add(node.mem_id)


def _is_cell_before(node: LexborNode) -> bool:
    """Whether another cell stands before this one in its row."""
    before = node.prev
    while before is not None and before.tag not in _CELLS:
        before = before.prev
    return before is not None


def _said(node: LexborNode, before: Sequence[str]) -> str:
    """A text of the page; it may stand in a link that is set above the line."""
    text, around = node.text_content or "", (node.parent, node.parent and node.parent.parent)
    return raised(text, before) if any(e is not None and e.tag == "sup" for e in around) else text


class _TableRows:
    """The cells of one table as a browser lays them out; a caption is a row of its own."""

    def __init__(self) -> None:
        self.rows: list[list[LaidOut]] = []
        self.caption = ""
        self.merged: list[Merged] = []
        self._named: list[bool] = []  # by row: all of its cells are headings
        self._covered: dict[int, int] = {}  # by column: rows that a cell above still covers

    @property
    def header_rows(self) -> int:
        """How many of the first rows name the columns."""
        after = self.caption != ""
        named = self._named[after:]
        count = named.index(False) if False in named else 0
        return count + after if count else 0

    def open_row(self) -> None:
        """Begin a row."""
        self.rows.append([])
        self._named.append(True)
        self._fill()

    def add_caption(self, text: str) -> None:
        """Add the caption as a row."""
        self.rows.append([LaidOut(text)])
        self._named.append(False)
        self.caption = self.caption or " ".join(text.split())

    def add_cell(self, node: LexborNode, text: str) -> None:
        """Add a cell, with the columns that it spans."""
        if not self.rows:
            self.open_row()
        row, column = self.rows[-1], len(self.rows[-1])
        across, down = _span(node, "colspan", _WIDEST), _span(node, "rowspan", _TALLEST)
        row += spread(text, across)
        self._named[-1] &= node.tag == "th"
        if down > 1:
            self._covered.update((column + each, down - 1) for each in range(across))
        number = len(self.rows)
        area = Merged(number, column, number + down - 1, column + across - 1)
        if area.is_several:
            self.merged.append(area)
        self._fill()

    def _fill(self) -> None:
        """Leave the columns empty that a cell of an earlier row covers."""
        row = self.rows[-1]
        while self._covered.get(len(row), 0) > 0:
            self._covered[len(row)] -= 1
            row.append(LaidOut())


def _add_table(table: LexborNode, sections: PageBuilder) -> None:
    """Add the rows of a table, and what cells of it are one."""
    laid = _TableRows()
    pieces: list[str] = []
    for node, entering in walk(table, lambda each: is_seen(each) and is_shown(each)):
        tag = node.tag or ""
        if tag == "-text":
            pieces.append(_said(node, pieces))
        elif tag == "tr" and entering:
            laid.open_row()
        elif tag == "caption" and not entering:
            laid.add_caption("".join(pieces))
            pieces = []
        elif tag in _CELLS:
            if not entering:
                laid.add_cell(node, "".join(pieces))
            pieces = []
        elif tag in BLOCKS or tag == "br":
            pieces.append(" ")
    rows, now = compacted(laid.rows)
    merged = [
        replace(area, column=now[area.column], last_column=now[min(area.last_column, len(now) - 1)])
        for area in laid.merged
        if area.column < len(now)
    ]
    grid = sections.grid(
        laid.caption,
        header_rows=laid.header_rows,
        merged=(area for area in merged if area.is_several),
    )
    sections.table(rows, grid)


def _span(cell: LexborNode, name: str, most: int) -> int:
    said = cell.attributes.get(name) or "1"
    return min(most, max(1, int(said))) if said.isascii() and said.isdigit() else 1


def _lines(pieces: list[str]) -> list[str]:
    """The pieces as lines: white space in the source is one space, only <br> ends a line."""
    return "".join("\0" if piece == "\n" else piece for piece in pieces).split("\0")
