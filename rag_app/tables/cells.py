"""The cells of a grid by row and column: their texts, and where they stand.

Knows nothing of what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

from rag_app.types import Grid

_MOST_COVERED = 200_000  # cells of merged areas that are filled from their first

Place = tuple[int, int, int]  # page, start, end
NOWHERE: Place = (0, 0, 0)


class Cells:
    """A grid with the texts of its pages by number; rows and columns are counted from 0."""

    def __init__(self, grid: Grid, pages: Mapping[int, str]) -> None:
        self.grid = grid
        self._pages = pages
        self._first = [0, *accumulate(grid.counts)]
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

    def _covered(self) -> dict[tuple[int, int], int]:
        """By row and column: the row above that a cell goes on from."""
        index = {number: row for row, number in enumerate(self.grid.rows)}
        above: dict[tuple[int, int], int] = {}
        for area in self.grid.merged:
            first = index.get(area.row)
            if first is None or area.last_row == area.row:
                continue
            for number in range(area.row + 1, min(area.last_row, area.row + _MOST_COVERED) + 1):
                if len(above) >= _MOST_COVERED:
                    return above
                if number in index:
                    above[index[number], area.column] = first
        return above
