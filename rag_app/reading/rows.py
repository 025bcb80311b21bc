"""Pages of long tables: as many rows as fill a page, under the row that names the columns.

Knows nothing of files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rag_app.reading.sections import SECTION, row_text

Row = tuple[int, Sequence[str]]  # its number in the sheet, from 1, and its cells

LOOKED_AT = 10  # rows in which the names of the columns are looked for


def row_pages(rows: Iterable[Row]) -> Iterator[tuple[int, int, list[str]]]:
    """(first row, last row, lines) of each page; the names of the columns begin every page.

    Rows without text are left out."""
    header = ""
    before: list[str] = []
    page: list[str] = []
    first = last = size = 0
    for number, line in _with_header(rows):
        if number < 0:  # the names of the columns
            number, header = -number, line
        if page and size + len(line) > SECTION and line != header:
            yield first, last, [*before, *page]
            before, page, size = [header] if header else [], [], len(header)
        first, last = first if page else number, number
        page.append(line)
        size += len(line) + 1
    if page:
        yield first, last, [*before, *page]


def _with_header(rows: Iterable[Row]) -> Iterator[tuple[int, str]]:
    """(number, line) of each row with text; the number of the one with the names is below 0."""
    waiting: list[tuple[int, str, int]] = []
    decided = False
    for number, cells in rows:
        line = row_text(cells)
        if not line:
            continue
        if decided:
            yield number, line
            continue
        waiting.append((number, line, sum(1 for cell in cells if cell.strip())))
        if len(waiting) == LOOKED_AT:
            yield from _decide(waiting)
            decided = True
    if not decided:
        yield from _decide(waiting)


def _decide(waiting: list[tuple[int, str, int]]) -> Iterator[tuple[int, str]]:
    """The first rows: the names stand in the first that has most of the columns filled."""
    most = max((filled for _, _, filled in waiting), default=0)
    found = False
    for number, line, filled in waiting:
        fits = names_columns(filled, most) and len(line) < SECTION / 3
        is_header = fits and not found
        found = found or is_header
        yield (-number if is_header else number), line


def names_columns(filled: int, most: int) -> bool:
    """Whether a row with so many cells filled may name the columns; `most`: of the rows beside."""
    return filled >= 2 and filled * 3 >= most * 2


def rows_label(first: int, last: int) -> str:
    """What a page of rows is called."""
    return f"row {first}" if first == last else f"rows {first}–{last}"
