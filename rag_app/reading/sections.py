"""Builds the pages of documents that have none: headings, paragraphs and rows, cut near 3,000
characters, where a heading or a paragraph begins.

A table that goes on over a cut has its first row repeated. Knows nothing of formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rag_app.errors import LimitReached, NoText
from rag_app.reading.limits import Limits
from rag_app.types import Grid, Heading, Merged, Page, Reading

SECTION = 3_000  # characters
_LEAST = SECTION // 2
_MOST = SECTION * 6 // 5
_LONGEST_HEADING = 300  # characters; what is longer is a paragraph in a large font
_SPACES = re.compile(r"[^\S\n]+")
_LINE_ENDS = re.compile(r" *\n *")
_GAPS = re.compile(r"\n{3,}")
_ENDS = re.compile(r"(?<=[.!?…。！？])\s|\n")


_BETWEEN = " | "  # the cells of a row
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def raised(text: str, before: Sequence[str]) -> str:
    """What is set above the line, behind these pieces: figures behind figures, a note's or a power,
    are no part of the number, and written so."""
    apart = text.strip().isdecimal() and before and before[-1][-1:].isdigit()
    return text.strip().translate(_RAISED) if apart else text


@dataclass(frozen=True, slots=True)
class GridRow:
    """A row of a grid, and where its cells stand in the block that it is written as.

    A row that was too long for one block goes on in others, which `continue` it."""

    grid: Grid
    number: int
    cells: Sequence[tuple[int, int]]
    continues: bool = False

    def place(self, page: int, start: int) -> None:
        """Note in the grid that the block begins at this offset of a page."""
        grid = self.grid
        if self.continues:
            grid.counts[-1] += len(self.cells)
        else:
            grid.rows.append(self.number)
            grid.counts.append(len(self.cells))
        for first, last in self.cells:
            grid.pages.append(page)
            grid.starts.append(start + first)
            grid.ends.append(start + last)


@dataclass(frozen=True, slots=True)
class _Block:
    """A heading (`level` above 0), a paragraph, or (`tight`) an item of a list or a table."""

    text: str
    level: int = 0
    tight: bool = False
    row: GridRow | None = None


class PageBuilder:
    """Collects blocks into pages."""

    def __init__(self, limits: Limits, most: int = _MOST) -> None:
        """A page is cut where it would have more than `most` characters."""
        self._limits = limits
        self._most = most
        self._pages: list[Page] = []
        self._headings: list[Heading] = []
        self._blocks: list[_Block] = []
        self._size = 0
        self._waiting = 0  # headings at the end of the page, for what is below them
        self._label = ""
        self._left = limits.max_characters
        self._tables = 0
        self._grids: list[Grid] = []
        self._under = ""  # the last heading

    @property
    def pages(self) -> int:
        """How many pages are complete."""
        return len(self._pages)

    @property
    def is_empty(self) -> bool:
        """Whether the page that is being built has nothing on it yet."""
        return not self._blocks

    def heading(self, text: str, level: int) -> None:
        """Add a heading; level 1 is the outermost."""
        line = tidy(text).replace("\n", " ")
        if len(line) > _LONGEST_HEADING:
            self.paragraph(line)
        elif line:
            self._under = line
            if self._size >= min(_LEAST, self._most // 2):
                self._cut()
            self._add(_Block(line, level))

    def paragraph(self, text: str, *, exact: bool = False, tight: bool = False) -> None:
        """Add a paragraph; white space is tidied unless it has to stay exactly as it is.

        There is no empty line between two that are `tight`: items of a list, rows of a table."""
        rest = text.replace("\0", "").strip("\n").rstrip() if exact else tidy(text)
        while len(rest) > self._most:
            at = _gap(rest, self._most)
            self._add(_Block(rest[:at].rstrip()))
            rest = rest[at:] if exact else rest[at:].lstrip()
        if rest:
            self._add(_Block(rest, tight=tight))

    def grid(
        self,
        name: str = "",
        *,
        header_rows: int = 0,
        merged: Iterable[Merged] = (),
        hidden_columns: Iterable[int] = (),
        units: Iterable[str] = (),
    ) -> Grid:
        """Begin a grid; rows that are placed in it fill it when their page is complete."""
        grid = Grid(
            name or self._under,
            header_rows=header_rows,
            merged=tuple(merged),
            hidden_columns=tuple(hidden_columns),
            units=tuple(units),
        )
        self._grids.append(grid)
        return grid

    def table(self, rows: Iterable[Sequence[str]], grid: Grid | None = None) -> None:
        """Add the rows of a table, the first of which names the columns."""
        header: _Block | None = None
        self._tables += 1
        grid = grid or self.grid()
        for number, cells in enumerate(rows, 1):
            words = row_words(cells)
            line = _BETWEEN.join(words)
            if not line:
                continue
            if len(line) > self._most:
                self._long_row(line, GridRow(grid, number, _spans(words)))
                continue
            block = _Block(line, tight=True, row=GridRow(grid, number, _spans(words)))
            if header and self._is_full(block):
                self._cut()
                self._add(header)
            self._add(block)
            if header is None:
                short = len(line) <= self._most // 4
                header = _Block(line if short else "", tight=True)

    def _long_row(self, line: str, row: GridRow) -> None:
        """Add a row that is too long for a page, in pieces; a cell that is cut ends with one."""
        at, rest = 0, list(row.cells)
        continues = False
        while at < len(line):
            end = _gap(line[at:], self._most) + at if len(line) - at > self._most else len(line)
            piece = line[at:end].rstrip()
            cells = [
                (max(0, first - at), max(0, first - at, min(last - at, len(piece))))
                for first, last in rest
                if first - at < len(piece) or end == len(line)
            ]
            if piece:
                self._add(_Block(piece, row=GridRow(row.grid, row.number, cells, continues)))
                rest, continues = rest[len(cells) :], True
            at = end + len(line[end:]) - len(line[end:].lstrip())

    def row(self, line: str, row: GridRow | None = None) -> None:
        """Add a row of a table that stands on this page whatever its size."""
        self._add(_Block(line, tight=True, row=row))

    def new_page(self, label: str = "") -> None:
        """Whatever comes next stands on a new page; `label` is what the document calls it."""
        self._flush()
        self._label = label

    def new_slide(self, number: int) -> None:
        """The same for a slide, which has its number said where its page has another one."""
        same = self.pages + (not self.is_empty) == number - 1
        self.new_page("" if same else f"slide {number}")

    def reading(self, title: str = "", warnings: Iterable[str] = ()) -> Reading:
        """All that was collected. Raises NoText or LimitReached."""
        self._flush()
        if not self._pages:
            raise NoText(
                "There is no text in this file. "
                "If it holds pictures of text, add the pictures, or print it to a PDF."
            )
        shown = tidy(title).replace("\n", " ")[:_LONGEST_HEADING]
        return Reading(
            tuple(self._pages),
            shown,
            tuple(self._headings),
            tuple(warnings),
            tables=self._tables or None,
            grids=tuple(grid for grid in self._grids if grid.rows),
        )

    def _is_full(self, block: _Block) -> bool:
        return self._size > 0 and self._size + len(block.text) > self._most

    def _add(self, block: _Block) -> None:
        if not block.text:
            return
        self._left -= len(block.text)
        if self._left < 0:
            raise LimitReached(
                f"The text of this file has more than the {self._limits.max_characters:,} "
                "characters set by RAG_APP_MAX_CHARACTERS. Split it, or raise the limit."
            )
        if self._is_full(block):
            self._cut()
        self._blocks.append(block)
        self._waiting = self._waiting + 1 if block.level else 0
        self._size += len(block.text) + 2

    def _cut(self) -> None:
        """End the page; headings that would stand at its end go to the next one, unless they fill
        one by themselves."""
        keep = len(self._blocks) - self._waiting
        if not keep:
            if self._size >= self._most:
                self._flush()
            return
        carried, label = self._blocks[keep:], self._label
        del self._blocks[keep:]
        self._flush()
        self._blocks, self._label, self._waiting = carried, label, len(carried)
        self._size = sum(len(block.text) + 2 for block in carried)

    def _flush(self) -> None:
        if not self._blocks:
            return
        number = len(self._pages) + 1
        if number > self._limits.max_pages:
            raise LimitReached(
                f"This file has more than the {self._limits.max_pages:,} pages set by "
                "RAG_APP_MAX_PAGES. Split it, or raise the limit."
            )
        pieces: list[str] = []
        start = 0
        for before, block in zip([None, *self._blocks], self._blocks, strict=False):
            if before:
                joint = "\n" if before.tight and block.tight else "\n\n"
                pieces.append(joint)
                start += len(joint)
            if block.level:
                self._headings.append(Heading(number, start, block.level, block.text))
            if block.row:
                block.row.place(number, start)
            pieces.append(block.text)
            start += len(block.text)
        self._pages.append(Page(number, "".join(pieces), self._label))
        self._blocks, self._size, self._waiting = [], 0, 0


def tidy(text: str) -> str:
    """A text with single spaces, and no more than one empty line together."""
    single = _LINE_ENDS.sub("\n", _SPACES.sub(" ", text.replace("\0", "")))
    return _GAPS.sub("\n\n", single).strip()


def row_words(cells: Sequence[str]) -> list[str]:
    """The texts of a row's cells, each on one line, without the empty ones at its end."""
    words = [" ".join(cell.replace("\0", "").split()) for cell in cells]
    while words and not words[-1]:
        words.pop()
    return words


def placed(words: Sequence[str], grid: Grid, number: int) -> tuple[str, GridRow]:
    """A row as "a | b | c", empty if it has no words, and where its cells are then."""
    return _BETWEEN.join(words), GridRow(grid, number, _spans(words))


def _spans(words: Sequence[str]) -> list[tuple[int, int]]:
    starts = accumulate((len(word) + len(_BETWEEN) for word in words), initial=0)
    return [(at, at + len(word)) for at, word in zip(starts, words, strict=False)]


def _gap(text: str, most: int) -> int:
    """Where to cut a text that is too long: after a sentence, else at a space, else anywhere."""
    ends = [match.end() for match in _ENDS.finditer(text, most // 2, most)]
    return ends[-1] if ends else text.rfind(" ", most // 2, most) + 1 or most
