"""Reads web pages: what a browser would show, without navigation, under its headings.

A table whose cells hold tables is layout, not data: it is read as if it were not there."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser, LexborNode

from rag_app.errors import NoText
from rag_app.reading.elements import BLOCKS, UNSEEN, is_shown, walk
from rag_app.reading.limits import Limits
from rag_app.reading.main_content import Chosen, everything, main_content
from rag_app.reading.sections import OnPage, Sections
from rag_app.reading.tables import Cell, compact, spread
from rag_app.reading.text import decode
from rag_app.types import Reading

_CHARSET = re.compile(
    rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]+)|<\?xml[^>]{0,100}encoding\s*=\s*[\"']([\w.-]+)",
    re.IGNORECASE,
)
_AROUND = frozenset(["header", "footer", "aside"])  # what stands around a <main>
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CELLS = ("td", "th")
_WESTERN = ("ascii", "iso8859-1")  # browsers read both as windows-1252
_HOW = "Open it in your browser, print it there to a PDF, and add that."
_NOTHING = f"There is no text on this page: it may come only when a browser shows it. {_HOW}"
_ONLY_TITLE = (
    f"Only the title of this page could be read: the rest may come only when a browser shows it. "
    f"{_HOW}"
)
_WIDEST = 50  # columns that one cell may span


def read_html(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """The sections, title and headings of a web page. Raises NoText or LimitReached."""
    markup, warnings = decode_html(path.read_bytes())
    sections = Sections(limits)
    title = add_html(markup, sections, main_content)
    if sections.is_empty and not sections.pages:
        if not title:
            raise NoText(_NOTHING)
        sections.paragraph(title)
        warnings = (*warnings, _ONLY_TITLE)
    reading = sections.reading(title, warnings)
    if on_page:
        on_page(len(reading.pages), len(reading.pages))
    return reading


def decode_html(data: bytes, charset: str = "") -> tuple[str, tuple[str, ...]]:
    """The text of a page in `charset`, else in the one it names, else in one that is guessed."""
    if data.startswith(codecs.BOM_UTF8):  # goes before whatever is said of it
        return decode(data)
    named = _CHARSET.search(data[:4_096])
    for name in (charset, *((each or b"").decode() for each in (named.groups() if named else ()))):
        try:
            codec = codecs.lookup(name).name if name else ""
            if codec and not codec.startswith("utf-16"):
                return data.decode("cp1252" if codec in _WESTERN else codec, _errors(codec)), ()
        except (LookupError, UnicodeDecodeError):
            continue
    return decode(data)


def _errors(codec: str) -> str:
    """A page that is not in the UTF-8 it names is in something else; other codecs have gaps."""
    return "strict" if codec.startswith("utf-8") else "replace"


def add_html(
    markup: str, sections: Sections, choose: Callable[[LexborHTMLParser], Chosen] = everything
) -> str:
    """Add what a page shows, or the part of it that is chosen, and give its title back."""
    parser = LexborHTMLParser(markup)
    if parser.root is None:
        return ""
    page = _Page(parser, sections, choose(parser))
    page.write(parser.root)
    named = parser.css_first("head > title")
    said = " ".join(named.text().split()) if named else ""
    return said or page.title


class _Page:
    """Goes through the elements of one page, in their order."""

    def __init__(self, parser: LexborHTMLParser, sections: Sections, chosen: Chosen) -> None:
        self.title = chosen.heading
        self._chosen = chosen
        self._sections = sections
        self._has_main = parser.css_first("main") is not None
        self._in_main = int(chosen.part is not None and chosen.part.css_first("main") is None)
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
                self._pieces.append(node.text_content or "" if tag == "-text" else "")
            elif tag == "br":
                self._pieces.append("\n" if entering else "")
            elif tag == "table" and entering and node.mem_id not in self._layout:
                self._flush()
                self._sections.table(_rows(node))
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
        if tag in UNSEEN or (tag in _AROUND and self._has_main and not self._in_main):
            return False
        if node.mem_id in self._chosen.without or not is_shown(node):
            return False
        return tag != "table" or node.mem_id in self._layout

    def _find_layout(self, root: LexborNode) -> None:
        """Note the tables that hold other tables or headings, or have only one column."""
        tables: list[LexborNode] = []
        cells: dict[int, int] = {}
        for node, entering in walk(root, lambda each: each.tag not in UNSEEN):
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


def _rows(table: LexborNode) -> list[list[str]]:
    """The cells of a table; a caption is a row of its own."""
    rows: list[list[Cell]] = []
    pieces: list[str] = []
    for node, entering in walk(table, lambda each: each.tag not in UNSEEN and is_shown(each)):
        tag = node.tag or ""
        if tag == "-text":
            pieces.append(node.text_content or "")
        elif tag == "tr" and entering:
            rows.append([])
        elif tag == "caption" and not entering:
            rows.append([Cell("".join(pieces))])
            pieces = []
        elif tag in _CELLS:
            if not entering:
                rows = rows or [[]]
                rows[-1] += spread("".join(pieces), _span(node))
            pieces = []
        elif tag in BLOCKS or tag == "br":
            pieces.append(" ")
    return compact(rows)


def _span(cell: LexborNode) -> int:
    said = cell.attributes.get("colspan") or "1"
    return min(_WIDEST, max(1, int(said))) if said.isascii() and said.isdigit() else 1


def _lines(pieces: list[str]) -> list[str]:
    """The pieces as lines: white space in the source is one space, only <br> ends a line."""
    lines = [""]
    for piece in pieces:
        if piece == "\n":
            lines.append("")
        else:
            lines[-1] += piece
    return lines
