"""From the grids of a reading to typed tables that can be kept.

Blocks are made one after the other, so that a table of a million rows needs little more room than
its text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rag_app.storage.contents import StoredTable, TableBlock
from rag_app.tables.cells import Cells
from rag_app.tables.columnar import ColumnWriter, Numbers, pack_places, pack_values
from rag_app.tables.headers import Layout, lay_out, unit_in_name, with_unit
from rag_app.tables.regions import regions
from rag_app.tables.typing import ColumnRule, count_texts, rules
from rag_app.tables.values import currency
from rag_app.types import Column, ColumnKind, Grid, Reading, SideRow, Table

MOST_COLUMNS = 2_000
_BLOCK = 500_000  # cells
_LONGEST_BLOCK = 65_536  # rows
_MOST_SIDE_ROWS = 500
_LONGEST_NAME = 40
_YEARS = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
# What a query cannot call a column without quotes.
_RESERVED_WORDS = """
    all analyse analyze and anti any array as asc asof asymmetric at authorization between
    bigint binary bit boolean both by case cast char character check coalesce collate
    collation column columns concurrently constraint create cross dec decimal default
    deferrable desc describe distinct do else end except exists extract false fetch float
    for foreign freeze from full generated glob group grouping grouping_id having ilike in
    initially inner inout int integer intersect interval into is isnull join lambda lateral
    leading left like limit map national natural nchar none not notnull null nullif numeric
    offset on only or order out outer overlaps overlay pivot pivot_longer pivot_wider
    placing position positional precision primary qualify real references returning right
    row select semi setof show similar smallint some struct substring summarize symmetric
    table tablesample then time timestamp to trailing treat trim true try_cast tuple union
    unique unpack unpivot using values varchar variadic verbose when where window with
"""
_RESERVED = frozenset(_RESERVED_WORDS.split())


def typed_tables(document_id: str, reading: Reading) -> Iterator[StoredTable]:
    """The tables of a document, in its order. A grid without two rows of text has none."""
    pages = {page.number: page.text for page in reading.pages}
    ordinal = 0
    for grid in reading.grids:
        cells = Cells(grid, pages)
        for region in regions(cells):
            layout = lay_out(cells, region)
            if region.width > 1 and len(layout.data) + len(layout.header) > 1 and layout.data:
                yield _stored(document_id, ordinal, cells, layout)
                ordinal += 1


def _stored(document_id: str, ordinal: int, cells: Cells, layout: Layout) -> StoredTable:
    columns = list(layout.region.columns)[:MOST_COLUMNS]
    typed = _rules(cells, layout, columns)
    named = zip(layout.names, sql_names(layout.names[: len(columns)]), typed, strict=False)
    described = [_column(name, sql_name, rule) for name, sql_name, rule in named]
    writers = [ColumnWriter(c, rule) for c, rule in zip(described, typed, strict=True)]
    places = _Places(cells, columns)
    blocks = []
    size = max(1, min(_LONGEST_BLOCK, _BLOCK // len(columns)))
    for first in range(0, len(layout.data), size):
        rows = layout.data[first : first + size]
        texts = ([cells.text(row, column) for row in rows] for column in columns)
        blocks.append(
            TableBlock(len(rows), pack_values(writers, texts), pack_places(*places.of(rows)))
        )
    described = [
        replace(c, has_text=writer.has_text) for c, writer in zip(described, writers, strict=True)
    ]
    return StoredTable(_table(document_id, ordinal, cells, layout, described), tuple(blocks))


def _rules(cells: Cells, layout: Layout, columns: Sequence[int]) -> list[ColumnRule]:
    texts = (count_texts(cells.text(row, column) for row in layout.data) for column in columns)
    said_years = {int(one) for one in _YEARS.findall(f"{cells.grid.name} {layout.title}")}
    found = rules(texts, next(iter(said_years)) if len(said_years) == 1 else None)
    said = cells.grid.units
    units = [
        unit_in_name(name) or (_money(said[column]) if column < len(said) else "")
        for name, column in zip(layout.names, columns, strict=False)
    ]
    return [with_unit(rule, unit) for rule, unit in zip(found, units, strict=True)]


def _money(sign: str) -> str:
    return currency(sign) or sign


def _column(name: str, sql_name: str, rule: ColumnRule) -> Column:
    several = len(rule.units) > 1
    return Column(
        name,
        sql_name,
        rule.kind,
        unit="" if several else next(iter(rule.units), ""),
        units=rule.units if several else (),
        places=(rule.places if rule.is_exact else 18) if rule.kind is ColumnKind.NUMBER else 0,
    )


def _table(
    document_id: str, ordinal: int, cells: Cells, layout: Layout, columns: Sequence[Column]
) -> Table:
    grid, region = cells.grid, layout.region
    hidden = frozenset(grid.hidden_rows)
    side_rows = [
        SideRow(role, *cells.line(row), text=cells.on_page(cells.line(row)))
        for row, role in layout.aside[:_MOST_SIDE_ROWS]
    ]
    lines = [cells.line(layout.data[at])[0] for at in (0, -1)]
    return Table(
        document_id,
        ordinal,
        grid.name,
        layout.title,
        tuple(columns),
        len(layout.data),
        min(lines[0], *(row.page for row in side_rows)) if side_rows else lines[0],
        lines[1],
        tuple(side_rows),
        tuple(at for at, row in enumerate(layout.data) if grid.rows[row] in hidden)
        if hidden
        else (),
        tuple(
            column - region.first_column
            for column in grid.hidden_columns
            if 0 <= column - region.first_column < len(columns)
        ),
        region.width - len(columns),
    )


class _Places:
    """Where the cells of rows stand, for many rows at once."""

    def __init__(self, cells: Cells, columns: Sequence[int]) -> None:
        self._cells, self._columns = cells, columns
        self._counts = _numbers(cells.grid, "counts")
        self._first = np.concatenate([[0], np.cumsum(self._counts, dtype=np.int64)])[:-1]
        self._of = {name: _numbers(cells.grid, name) for name in ("pages", "starts", "ends")}

    def of(self, rows: Sequence[int]) -> tuple[Numbers, Numbers, Numbers]:
        """Pages, starts and ends by row and column; an empty cell stands where the last one ends.

        So the distances between them stay small, and an empty cell keeps its page."""
        index = np.asarray(rows)
        shape = (len(rows), len(self._columns))
        pages, starts, ends = (np.zeros(shape, dtype=np.uint32) for _ in range(3))
        for place, column in enumerate(self._columns):
            there = self._counts[index] > column
            at = self._first[index[there]] + column
            for found, name in ((pages, "pages"), (starts, "starts"), (ends, "ends")):
                found[there, place] = self._of[name][at]
            before = max(0, place - 1)
            for found, last in ((pages, pages), (starts, ends), (ends, ends)):
                found[~there, place] = last[~there, before]
        self._merge(rows, pages, starts, ends)
        return pages, starts, ends

    def _merge(self, rows: Sequence[int], *found: Numbers) -> None:
        for line, place, row in self._cells.covered(rows, self._columns):
            for each, number in zip(
                found, self._cells.place(row, self._columns[place]), strict=True
            ):
                each[line, place] = number


def _numbers(grid: Grid, name: str) -> NDArray[np.uint32]:
    return np.frombuffer(getattr(grid, name), dtype=np.uint32)


ROW_ID = "rowid"  # DuckDB's own name for the number of a row, which `*` leaves out
_WORDS = re.compile(r"\W+")


def sql_names(names: Iterable[str]) -> list[str]:
    """Names for columns that can be written in a query as they are; each is there once.

    They have letters, figures and underscores only, whatever the document says, and no accents: a
    small language model leaves those out."""
    taken = {ROW_ID}
    return [_free(_safe(name), taken) for name in names]


def _safe(name: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    letters = unicodedata.normalize("NFKC", bare).lower().replace("%", " percent ")
    plain = _WORDS.sub("_", letters).strip("_")[:_LONGEST_NAME].strip("_")
    if not plain or plain[0].isdecimal() or plain in _RESERVED:
        return f"c_{plain}".rstrip("_") if plain else "c"
    return plain


def _free(name: str, taken: set[str]) -> str:
    found, number = name, 1
    while {found, f"{found}_text", f"{found}_unit"} & taken:
        number += 1
        found = f"{name}_{number}"
    taken |= {found, f"{found}_text", f"{found}_unit"}
    return found
