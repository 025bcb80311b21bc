"""Tables that were made to look good, as rows that read well.

Pages set a sum in three cells, "$", "(1,234" and ")", under a heading that spans all three."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_WIDEST = 1_000  # columns
_BEFORE = frozenset(["$", "€", "£", "¥", "(", "$(", "($", "-$"])
_AFTER = frozenset([")", "%", ")%", "%)", "x"])


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one column of a row; `spans`: it spans others, too."""

    text: str = ""
    spans: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands in it."""
        return not self.text


def spread(text: str, columns: int) -> list[Cell]:
    """A cell that spans so many columns, as one cell for each."""
    return [Cell(text, columns > 1), *[Cell()] * (columns - 1)]


def compact(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """The rows without columns that hold nothing of their own."""
    joined = [
        _join([Cell(" ".join(cell.text.split()), cell.spans) for cell in row]) for row in rows
    ]
    width = min(_WIDEST, max(map(len, joined), default=0))
    columns = [
        [row[index] if index < len(row) else Cell() for row in joined] for index in range(width)
    ]
    kept: list[list[Cell]] = []
    for column in columns:
        if all(cell.is_empty for cell in column):
            continue
        if kept and _fit(kept[-1], column):
            kept[-1] = [b if a.is_empty else a for a, b in zip(kept[-1], column, strict=True)]
        else:
            kept.append(column)
    return [[column[index].text for column in kept] for index in range(len(joined))]


def _fit(left: list[Cell], right: list[Cell]) -> bool:
    """Whether two columns are one: headings that span both, and what they are about."""
    if any(not a.is_empty and not b.is_empty for a, b in zip(left, right, strict=True)):
        return False
    return all(cell.is_empty or cell.spans for cell in left)


def _join(row: list[Cell]) -> list[Cell]:
    """The row with signs that have a cell of their own put to the numbers they belong to."""
    cells = list(row)
    for index, cell in enumerate(row):
        if cell.text in _BEFORE:
            after = next((at for at in range(index + 1, len(cells)) if cells[at].text), 0)
            if after and cells[after].text[0].isdigit() | (cells[after].text[0] in "(–—-"):
                cells[after] = Cell(cell.text + cells[after].text)
                cells[index] = Cell()
        elif cell.text in _AFTER:
            before = next((at for at in range(index - 1, -1, -1) if cells[at].text), -1)
            if before >= 0 and any(map(str.isdigit, cells[before].text)):
                cells[before] = Cell(cells[before].text + cell.text)
                cells[index] = Cell()
    return cells
