"""The cells of a grid by row and column, and the tables on it: where one ends and the next begins,
by empty rows and columns.

A sheet is often several tables. An empty row inside a table parts nothing: what comes after it goes
on if it looks like what came before."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rag_app.tables.values import Convention, date, duration, is_empty, rank, written_number, year
from rag_app.types import Grid

_LOOKED_AT = 200  # rows that say what a column holds
_MOSTLY = 0.7
_HEADS = 6  # rows among which those are that name the columns
_MOST_COVERED = 200_000  # cells of merged areas that are filled from their first
_ANY_YEAR = Convention(year=2000)  # of days without one; it has all of them
TOTAL = re.compile(
    r"(?:grand |sub[- ]?|net )?(?:totals?|sums?|gesamt\w{0,8}|summen?|insgesamt|totaal|totale"
    r"|totaux|somme|suma|soma|итого|всего|summa|razem|(?:合计|合計|总计|小计|計)\w{0,8})\b.{0,40}",
    re.IGNORECASE,
)
_NAMED_TOTAL = re.compile(rf"\W*{TOTAL.pattern}", re.IGNORECASE)  # not to search by: it rescans
Place = tuple[int, int, int]  # page, start, end
NOWHERE: Place = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a grid that is one table: its rows, in order, and its columns."""

    rows: Sequence[int]
    first_column: int
    last_column: int

    @property
    def columns(self) -> range:
        """The columns, the last one included."""
        return range(self.first_column, self.last_column + 1)

    @property
    def width(self) -> int:
        """How many columns it has."""
        return self.last_column - self.first_column + 1


def shape(text: str) -> str:
    """What a cell may be: "n" a value, "y" a year, "t" a text, "" nothing."""
    if is_empty(text):
        return ""
    if year(text):
        return "y"
    usual = Convention()
    if written_number(text) or rank(text) or date(text, usual) or duration(text, usual):
        return "n"
    return "t"


def named_total(texts: Sequence[str]) -> bool:
    """Whether a row is called by the word for a total."""
    return any(_NAMED_TOTAL.fullmatch(text) and shape(text) == "t" for text in texts[:3])


def shapes(cells: Cells, rows: Sequence[int], columns: Sequence[int]) -> dict[int, str]:
    """What most cells of each column are, in the first of these rows; "" where they differ."""
    return {
        column: _mostly(Counter(shape(cells.text(row, column)) for row in rows[:_LOOKED_AT]))
        for column in columns
    }


def _mostly(counts: Counter[str]) -> str:
    """What most cells of a column are, by how many are what; "" where they differ."""
    filled = counts.total() - counts[""]
    if filled and counts["y"] >= _MOSTLY * filled:
        return "y"
    if filled and counts["n"] + counts["y"] >= _MOSTLY * filled:
        return "n"
    return "t" if filled else ""


def regions(cells: Cells) -> list[Region]:
    """The tables of a grid, from top to bottom and from left to right."""
    found: list[Region] = []
    for block in _joined(cells, list(_blocks(cells))):
        found += _side_by_side(cells, block)
    return found


def _blocks(cells: Cells) -> Iterator[Region]:
    """Rows that follow each other without an empty row between them."""
    numbers = cells.grid.rows
    rows: list[int] = []
    for row, number in enumerate(numbers):
        if rows and number > numbers[rows[-1]] + 1:
            yield _region(cells, rows)
            rows = []
        rows.append(row)
    if rows:
        yield _region(cells, rows)


def _region(cells: Cells, rows: list[int]) -> Region:
    last = max(cells.width(row) for row in rows) - 1
    first = last
    for row in rows:
        if first == 0:
            break
        for column, text in enumerate(cells.texts(row)[: first + 1]):
            if text:
                first = min(first, column)
                break
    return Region(rows, first, last)


def _joined(cells: Cells, blocks: list[Region]) -> Iterator[Region]:
    """Blocks that are one table, put together; single lines go to the block that they stand at."""
    above: _Growing | None = None
    beside: list[Region] = []  # what stands between the blocks of a table and is none of it
    for block in blocks:
        if above is None:
            above = _Growing(cells, block)
        elif _is_line(cells, above.region):
            above = _Growing(cells, _together(above.region, block))
        elif not _goes_on(cells, above, block):
            yield from (above.region, *beside)
            above, beside = _Growing(cells, block), []
        elif _lacks_days(cells, above, block):
            beside.append(block)
        else:
            above.add(block)
    if above is not None:
        yield from (above.region, *beside)


def _together(above: Region, below: Region) -> Region:
    return Region(
        [*above.rows, *below.rows],
        min(above.first_column, below.first_column),
        max(above.last_column, below.last_column),
    )


class _Growing:
    """A table to which blocks are added that have no other columns, and what its last rows hold:
    looked at once, not anew for each block."""

    def __init__(self, cells: Cells, region: Region) -> None:
        self._cells = cells
        self._rows = list(region.rows)
        self.region = Region(self._rows, region.first_column, region.last_column)
        self._seen = 1  # rows; the first may have the names
        self._last: deque[list[str]] = deque()
        self._counts = [Counter[str]() for _ in region.columns]
        self._days: deque[bool] = deque(maxlen=_LOOKED_AT)

    def add(self, block: Region) -> None:
        """Put a block below it."""
        self._rows += block.rows

    def kinds(self) -> dict[int, str]:
        """What most cells of each column are, in its last rows."""
        if len(self._rows) == 1:
            return shapes(self._cells, self._rows, self.region.columns)
        self._look()
        return dict(zip(self.region.columns, map(_mostly, self._counts), strict=True))

    def begins_with_days(self) -> bool:
        """Whether more than half of its last rows, and more than one, begin with a day."""
        self._look()
        return sum(self._days) > max(1, len(self._days) // 2)

    def _look(self) -> None:
        for row in self._rows[max(self._seen, len(self._rows) - _LOOKED_AT) :]:
            texts = [self._cells.text(row, column) for column in self.region.columns]
            self._days.append(_is_day(texts[0]))
            self._last.append([shape(text) for text in texts])
            gone = self._last.popleft() if len(self._last) > _LOOKED_AT else []
            for counts, kind in zip(self._counts, self._last[-1], strict=True):
                counts[kind] += 1
            for counts, kind in zip(self._counts, gone, strict=False):
                counts[kind] -= 1
        self._seen = len(self._rows)


def _is_day(text: str) -> bool:
    return date(text, _ANY_YEAR) is not None


def _lacks_days(cells: Cells, above: _Growing, block: Region) -> bool:
    """Whether the rows of a block are no entries of the table above, though its columns fit: those
    begins with days, of these none, and they are neither lines between entries nor their totals.

    One row that leaves the day empty is what stands below ("Bank balance"); of several each may be
    an entry of the day above, and a sum would miss them."""
    column = above.region.first_column
    rows = [row for row in block.rows if _filled(cells, row) > 1]
    if not rows or any(_is_day(cells.text(row, column)) for row in block.rows):
        return False
    entries = [row for row in rows if not named_total(cells.texts(row)[column:])]
    if len(entries) > 1 and all(is_empty(cells.text(row, column)) for row in entries):
        return False
    return bool(entries) and above.begins_with_days()


def _is_line(cells: Cells, block: Region) -> bool:
    """Whether a block is a title: one row, in which one cell is filled."""
    return len(block.rows) <= 3 and all(_filled(cells, row) <= 1 for row in block.rows)


def _filled(cells: Cells, row: int) -> int:
    return sum(map(bool, cells.texts(row)))


def _goes_on(cells: Cells, table: _Growing, block: Region) -> bool:
    """Whether a block has the columns of the one above, and begins with its data."""
    above = table.region
    if block.last_column > above.last_column or block.first_column < above.first_column:
        return False
    if _is_line(cells, block):
        return len(block.rows) == 1 or block.width <= above.width
    if _names_again(cells, block.rows[0], above.rows[:_HEADS]):
        return len(block.rows) > 1
    typed = [column for column, kind in table.kinds().items() if kind in ("n", "y")]
    begins = next((row for row in block.rows if _filled(cells, row) > 1), block.rows[0])
    first = {column: shape(cells.text(begins, column)) for column in above.columns}
    if typed and begins != block.rows[0]:  # under a line of its own, which may head another table
        return all(first[column] in ("n", "y", "") for column in typed) and any(first.values())
    if typed:
        return any(first[column] in ("n", "y") for column in typed)
    names = {cells.text(above.rows[0], column) for column in above.columns} - {""}
    again = {cells.text(block.rows[0], column) for column in above.columns} - {""}
    return block.width == above.width and not names & again


def _names_again(cells: Cells, row: int, above: Sequence[int]) -> bool:
    """Whether a row says the names of columns once more that one of the rows above says."""
    said = cells.texts(row)
    filled = list(filter(None, said))
    named = len(filled) > 1 and all(shape(text) == "t" for text in filled)
    return named and any(cells.texts(one) == said for one in above)


def _side_by_side(cells: Cells, block: Region) -> list[Region]:
    """A block cut at empty columns, where what stands on each side is a table of its own."""
    if len(block.rows) < 2 or block.width < 5:
        return [block]
    used = bytearray(block.last_column + 1)
    for row in block.rows:
        for column, text in enumerate(cells.texts(row)):
            if text and not used[column]:
                used[column] = 1
        if all(used[block.first_column :]):
            return [block]
    parts = list(_runs(used, block))
    body = block.rows[1:]
    if len(parts) < 2 or not all(_stands_alone(cells, block.rows[0], body, part) for part in parts):
        return [block]
    return [
        Region([r for r in block.rows if any(map(bool, _cut(cells, r, part)))], part[0], part[-1])
        for part in parts
    ]


def _cut(cells: Cells, row: int, part: range) -> list[str]:
    return cells.texts(row)[part[0] : part[-1] + 1]


def _runs(used: bytearray, block: Region) -> Iterator[range]:
    begin = None
    for column in [*block.columns, block.last_column + 1]:
        filled = column <= block.last_column and used[column]
        if filled and begin is None:
            begin = column
        elif not filled and begin is not None:
            yield range(begin, column)
            begin = None


def _stands_alone(cells: Cells, top: int, body: Sequence[int], part: range) -> bool:
    """Whether a part has two columns, names above all of them, and a first column of texts."""
    named = all(shape(text) == "t" for text in _cut(cells, top, part)) and len(
        _cut(cells, top, part)
    ) == len(part)
    return len(part) > 1 and named and shapes(cells, body, [part[0]])[part[0]] == "t"


class Cells:
    """A grid with the texts of its pages by number; rows and columns are counted from 0."""

    def __init__(self, grid: Grid, pages: Mapping[int, str]) -> None:
        self.grid = grid
        self._pages = pages
        self._first = [0, *accumulate(grid.counts)]
        self._above: dict[tuple[int, int], int] = {}
        self._above = self._covered()

    def __len__(self) -> int:
        return len(self.grid.rows)

    def width(self, row: int) -> int:
        """How many cells a row has."""
        return self.grid.counts[row]

    def place(self, row: int, column: int) -> Place:
        """Where a cell stands; one that is merged with the cell above stands there."""
        row = self._above.get((row, column), row)
        if column >= self.grid.counts[row]:
            return NOWHERE
        at = self._first[row] + column
        grid = self.grid
        return grid.pages[at], grid.starts[at], grid.ends[at]

    def text(self, row: int, column: int) -> str:
        """What a cell says, "" if it is empty or not there."""
        page, start, end = self.place(row, column)
        return self._pages[page][start:end] if end > start else ""

    def texts(self, row: int) -> list[str]:
        """The cells of a row; what is merged with a cell above is empty."""
        grid, found = self.grid, []
        for at in range(self._first[row], self._first[row + 1]):
            found.append(self._pages[grid.pages[at]][grid.starts[at] : grid.ends[at]])
        return found

    def line(self, row: int) -> Place:
        """From where to where the cells of a row stand, on the page of the first."""
        first, last = self._first[row], self._first[row + 1]
        grid = self.grid
        page = grid.pages[first]
        ends = [grid.ends[at] for at in range(first, last) if grid.pages[at] == page]
        filled = [
            grid.starts[at]
            for at in range(first, last)
            if grid.pages[at] == page and grid.ends[at] > grid.starts[at]
        ]
        return page, min(filled, default=grid.starts[first]), max(ends)

    def on_page(self, place: Place) -> str:
        """The text of a place."""
        page, start, end = place
        return self._pages[page][start:end]

    def covered(
        self, rows: Sequence[int], columns: Sequence[int]
    ) -> Iterator[tuple[int, int, int]]:
        """(its place in `rows`, in `columns`, its row) of each cell that goes on from above."""
        if not self._above:
            return
        lines = {row: line for line, row in enumerate(rows)}
        places = {column: place for place, column in enumerate(columns)}
        for row, column in self._above:
            if row in lines and column in places:
                yield lines[row], places[column], row

    def _is_amount(self, row: int, column: int) -> bool:
        """Whether a cell holds a number that stands behind another: what several rows come to. A
        name, a year, a day, and the number that rows begin with, are true of each of them."""
        text = self.text(row, column)
        named = any(self.texts(row)[:column])
        return named and written_number(text) is not None and year(text) is None

    def _covered(self) -> dict[tuple[int, int], int]:
        """By row and column: the row above that a cell goes on from."""
        index = {number: row for row, number in enumerate(self.grid.rows)}
        above: dict[tuple[int, int], int] = {}
        for area in self.grid.merged:
            first = index.get(area.row)
            if first is None or area.last_row == area.row or self._is_amount(first, area.column):
                continue
            for number in range(area.row + 1, min(area.last_row, area.row + _MOST_COVERED) + 1):
                if len(above) >= _MOST_COVERED:
                    return above
                if number in index:
                    above[index[number], area.column] = first
        return above
