"""Lines of statements: what a row of a table is called, and its figure in each year.

A balance sheet or a cash flow is no table to be asked by a query: what its rows are called stands
in a column without a name, its columns are called by dates, and its totals count as much as its
other rows. Knows nothing of questions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from rag_app.storage.contents import TableBlock, Tables
from rag_app.tables.columnar import block_values, unpack_places
from rag_app.tables.rows import LARGEST
from rag_app.tables.values import written_number
from rag_app.text.sentences import one_line
from rag_app.types import ColumnKind, RowRole, SideRow, Span, Table

_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_FIGURE = re.compile(r"[^\w\s,.;:|]?\s?[^\w\s,.;:|]?\(?\d[\d.,]*\)?|(?<!\S)[—–-](?!\S)")
_LONGEST = 160  # characters of what a row is called
_PLACES = 9  # behind the decimal mark: 15 figures with so many can be rounded


@dataclass(frozen=True, slots=True)
class YearFigure:
    """The figure of a line in one year, and where it stands."""

    value: Decimal
    span: Span


@dataclass(frozen=True, slots=True)
class LineItem:
    """A line of a statement, and where it stands what the line is called."""

    table: Table
    label: str
    place: Span
    by_year: Mapping[int, YearFigure]

    @property
    def is_whole(self) -> bool:
        """Whether its figures are whole numbers, as amounts are where others are in thousands."""
        return all(one.value == one.value.to_integral_value() for one in self.by_year.values())


def years_of(table: Table) -> dict[int, int]:
    """By year: the first column of figures that is called by it, and by no other year."""
    found: dict[int, int] = {}
    for at, column in enumerate(table.columns):
        named = {int(year) for year in _YEAR.findall(column.name)}
        if len(named) == 1 and column.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER):
            found.setdefault(named.pop(), at)
    return found


def line_items(store: Tables, table: Table) -> Iterator[LineItem]:
    """The lines of a table that say what they are and have a figure in a year; totals, too."""
    years = years_of(table)
    label = next((a for a, c in enumerate(table.columns) if c.kind is ColumnKind.TEXT), None)
    if not years or label is None or table.rows > LARGEST:
        return
    for _, block in store.blocks_with(table, range(table.rows)):
        yield from _of_block(table, block, label, years)
    for side in table.side_rows:
        if side.role is RowRole.TOTAL and (total := _of_total(table, side, years)):
            yield total


def _of_block(
    table: Table, block: TableBlock, label: int, years: Mapping[int, int]
) -> Iterator[LineItem]:
    pages, starts, ends = unpack_places(block.places, block.rows)
    columns = {at: block_values(block.values, at) for at in (label, *years.values())}
    for row in range(block.rows):
        called = one_line(str(columns[label][row] or ""))
        figures = {
            year: YearFigure(
                Decimal(str(columns[at][row])),
                Span(table.document_id, *(int(one[row, at]) for one in (pages, starts, ends))),
            )
            for year, at in years.items()
            if columns[at][row] is not None
        }
        if called and len(called) <= _LONGEST and figures:
            place = Span(
                table.document_id, *(int(one[row, label]) for one in (pages, starts, ends))
            )
            yield LineItem(table, called, place, figures)


def _of_total(table: Table, side: SideRow, years: Mapping[int, int]) -> LineItem | None:
    """A total as a line: its figures are those of the columns of figures, if they are as many."""
    measures = [at for at, column in enumerate(table.columns) if column.kind.is_measure]
    found = list(_FIGURE.finditer(side.text))[-len(measures) :]
    before = side.text[: found[0].start()].rstrip(" $€£|") if found else ""
    called = one_line(before)
    if not called or len(found) != len(measures) or any(map(str.isdigit, called)):
        return None
    by_column = dict(zip(measures, found, strict=True))
    figures: dict[int, YearFigure] = {}
    for year, at in years.items():
        value = _value(by_column[at][0], table.columns[at].places)
        if value is not None:
            start, end = by_column[at].span()
            start += len(by_column[at][0]) - len(by_column[at][0].lstrip())
            place = Span(table.document_id, side.page, side.start + start, side.start + end)
            figures[year] = YearFigure(value, place)
    place = Span(table.document_id, side.page, side.start, side.start + len(before))
    return LineItem(table, called, place, figures) if figures else None


def _value(text: str, places: int) -> Decimal | None:
    """The number of a total. Of two ways to read it that which has no more places behind the
    decimal mark than its column: below whole numbers, 4.532 is in the thousands."""
    number = written_number("".join(text.split()))
    read = [value for mark in ".," if number and (value := number.value(mark)) is not None]
    fits = (value for value in read if value == round(value, min(places, _PLACES)))
    return next(fits, read[0] if read else None)
