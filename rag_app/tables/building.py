"""From the grids of a reading to typed tables that can be kept.

What a row is for (title, names of columns, data, totals, notes), its structure decides: what the
cells below hold, what is empty, and whether a row is the sum of those above it; only where that
cannot tell, the word for a total does. Blocks are made one after the other, so that a table of a
million rows needs little more room than its text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rag_app.storage.contents import StoredTable, TableBlock
from rag_app.tables.columnar import ColumnWriter, Numbers, pack_places, pack_values
from rag_app.tables.regions import Cells, Region, regions, shape
from rag_app.tables.totals import rows_of_totals, texts_of
from rag_app.tables.typing import ColumnRule, count_texts, rules
from rag_app.tables.values import currency, is_empty, month, year
from rag_app.text.languages import magnitude
from rag_app.types import Column, ColumnKind, Grid, Reading, RowRole, SideRow, Table

MOST_COLUMNS = 2_000
_BLOCK = 500_000  # cells
_LONGEST_BLOCK = 65_536  # rows
_MOST_SIDE_ROWS = 500
_LONGEST_KEY = 40
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
ROW_ID = "rowid"  # DuckDB's own name for the number of a row, which `*` leaves out
_WORDS = re.compile(r"\W+")
_DEEPEST = 2  # rows that name the columns
_LOOKED_AT = 200
_LONGEST_NAME = 80  # characters
_LONG_NOTE = 40
_IN_BRACKETS = re.compile(r"(?:\s\(|\[)\s*(?:in\s)?\s*([^()\[\]]{1,20}?)\s*[)\]]\s*\Z")
_SAYS = re.compile(r"[\d,;!“”„«»]|\.\s")  # no name of a column does: it is what one holds
_NAME_WORDS = 4  # of a name of a column, at most, beside one other
_NAMED_WITH = re.compile(r"\(.*\)|(?<!\d)(?:19|20)\d\d(?!\d)")  # what a name may have
_UNIT = re.compile(r"[^\W\d_]{1,4}[²³23]?(?:/[^\W\d_]{1,4}[²³]?)?|%|°[CF]?")


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
    table = _table(document_id, ordinal, cells, layout, described)
    return StoredTable(table, tuple(blocks), layout.region.width - len(columns))


def wider_than_kept(tables: Iterable[StoredTable]) -> Iterator[str]:
    """What is to be said of tables whose columns are more than can be computed with."""
    for stored in tables:
        if stored.columns_left_out:
            kept = len(stored.table.columns)
            of = f"“{stored.table.name}”" if stored.table.name else "a table"
            yield (
                f"Figures are computed from the first {kept:,} of the "
                f"{kept + stored.columns_left_out:,} columns of {of}; the others are found by "
                "their words."
            )


def _rules(cells: Cells, layout: Layout, columns: Sequence[int]) -> list[ColumnRule]:
    texts = (count_texts(cells.text(row, column) for row in layout.data) for column in columns)
    said_years = {int(one) for one in _YEARS.findall(f"{cells.grid.name} {layout.title}")}
    found = rules(texts, next(iter(said_years)) if len(said_years) == 1 else None)
    said = cells.grid.units
    units = [
        unit_in_name(name) or (_money(said[column]) if column < len(said) else "")
        for name, column in zip(layout.names, columns, strict=False)
    ]
    of_years = [_without_years(*each) for each in zip(found, layout.names, units, strict=False)]
    return [with_unit(rule, unit) for rule, unit in zip(of_years, units, strict=True)]


def _without_years(rule: ColumnRule, name: str, unit: str) -> ColumnRule:
    """A rule for amounts where a name says a unit, or the year or month of which they are."""
    amounts = rule.kind is ColumnKind.YEAR and (unit or year(name) or month(name))
    return replace(rule, kind=ColumnKind.INTEGER) if amounts else rule


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
        tuple(
            column - region.first_column
            for column in grid.hidden_columns
            if 0 <= column - region.first_column < len(columns)
        ),
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


def sql_names(names: Iterable[str]) -> list[str]:
    """Names for columns that can be written in a query as they are; each is there once.

    They have letters, figures and underscores only, whatever the document says, and no accents: a
    small language model leaves those out."""
    taken = {ROW_ID}
    return [_free(_safe(name), taken) for name in names]


def _safe(name: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    letters = unicodedata.normalize("NFKC", bare).lower().replace("%", " percent ")
    plain = _WORDS.sub("_", letters).strip("_")[:_LONGEST_KEY].strip("_")
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


@dataclass(frozen=True, slots=True)
class Layout:
    """Which rows of a region are what; `names` are those of its columns."""

    region: Region
    title: str
    names: tuple[str, ...]
    header: tuple[int, ...]
    data: tuple[int, ...]
    aside: tuple[tuple[int, RowRole], ...]  # rows of any other role, in order


def lay_out(cells: Cells, region: Region) -> Layout:
    """What each row of a region is for."""
    rows = list(region.rows)
    titles = _titles(cells, region)
    rows = rows[len(titles) :]
    depth = _depth(cells, region, rows, len(titles))
    header, body = rows[:depth], rows[depth:]
    again = _again(cells, header, body)
    body = [row for row in body if row not in again]
    aside = [(row, RowRole.TITLE) for row in titles]
    aside += [(row, RowRole.HEADER) for row in (*header, *again)]
    notes = _notes(cells, region, header, body)
    data = [row for row in body if row not in notes]
    aside += notes.items()
    totals = rows_of_totals(cells, region, data) if depth or len(data) > 2 else set()
    data = [row for row in data if row not in totals]
    aside += [(row, RowRole.TOTAL) for row in totals]
    title = " – ".join(filter(None, (" ".join(filter(None, cells.texts(r))) for r in titles)))
    return Layout(
        region, title, _names(cells, region, header), tuple(header), tuple(data),
        tuple(sorted(aside)),
    )  # fmt: skip


def _again(cells: Cells, header: Sequence[int], body: Sequence[int]) -> set[int]:
    """The rows that say the names of the columns once more: on each page, above each month."""
    said = [texts for row in header if sum(map(bool, texts := cells.texts(row))) > 1]
    return {row for row in body if cells.texts(row) in said} if said else set()


def _count(cells: Cells, region: Region, row: int) -> int:
    return sum(map(bool, texts_of(cells, region, row)))


def _titles(cells: Cells, region: Region) -> list[int]:
    """The rows above the names: one cell is filled, where the table has several columns."""
    found: list[int] = []
    for row in region.rows[:-1]:
        if region.width < 2 or _count(cells, region, row) > 1 or len(found) == 5:
            break
        found.append(row)
    if len(found) == len(region.rows) - 1 and region.width == 2:
        return []
    return found


def _depth(cells: Cells, region: Region, rows: Sequence[int], titles: int) -> int:
    """How many rows name the columns."""
    said = cells.grid.header_rows - titles
    if region.rows and region.rows[0] == 0 and 0 < said < len(rows):
        return said
    if len(rows) < 2:
        return 0
    sample = rows[2 : 2 + _LOOKED_AT] or rows[1:]
    columns = list(region.columns)
    typed = rules(count_texts(cells.text(row, column) for row in sample) for column in columns)
    below = {c: r for c, r in zip(columns, typed, strict=True) if r.kind is not ColumnKind.TEXT}
    if not below:
        return int(_names_texts(cells, region, rows))
    depth = 0
    while depth < min(_DEEPEST, len(rows) - 1) and _names_values(cells, rows[depth], below, depth):
        depth += 1
    if depth == _DEEPEST and not _is_two_deep(cells, region, rows):
        return 1
    return depth


def _names_values(cells: Cells, row: int, below: Mapping[int, ColumnRule], depth: int) -> bool:
    """Whether a row has names where the rows below have values. A year names a column, too."""
    named = 0
    years = depth == 0 and _are_years_in_order(cells.texts(row))
    for column, rule in below.items():
        text = cells.text(row, column)
        names_a_year = year(text) is not None and (years or rule.kind is not ColumnKind.YEAR)
        if not names_a_year and rule.typed(text).value is not None:
            return False
        named += not is_empty(text)
    return named >= (len(below) + 1) // 2 if depth else named > 0 or bool(cells.texts(row)[0])


def _are_years_in_order(texts: Sequence[str]) -> bool:
    """Whether years that follow each other stand behind a text: the names of their columns."""
    years = [year(text) for text in texts[1:]]
    steps = {b - a if a and b else 0 for a, b in pairwise(years)}
    return year(texts[0]) is None and steps in ({1}, {-1})


def _is_two_deep(cells: Cells, region: Region, rows: Sequence[int]) -> bool:
    """Whether the second row goes on naming: the first leaves gaps that the second fills."""
    top, below = ([cells.text(row, column) for column in region.columns] for row in rows[:2])
    gaps = sum(not a and bool(b) for a, b in zip(top, below, strict=True))
    short = all(len(text) <= _LONGEST_NAME for text in below)
    spans = gaps > 1 or not below[0] or not top[0]  # a row of data fills its first column
    return short and len(rows) > _DEEPEST and spans


def _names_texts(cells: Cells, region: Region, rows: Sequence[int]) -> bool:
    """Whether the first row of a table of texts names its columns: it says nothing twice."""
    first = [cells.text(rows[0], column) for column in region.columns]
    filled = [text for text in first if text]
    if len(filled) * 3 < len(first) * 2 or len(set(filled)) * 3 < len(filled) * 2:
        return False
    if any(len(text) > _LONGEST_NAME for text in filled):
        return False
    if 2 * sum(shape(text) == "t" for text in filled) < len(filled):
        return False
    said = _NAMED_WITH.sub("", filled[-1])
    if len(filled) <= 2 and (_SAYS.search(said) or len(said.split()) > _NAME_WORDS):
        return False  # a label, and what it is
    return not any(
        text and text == cells.text(row, column)
        for row in rows[1:_LOOKED_AT]
        for text, column in zip(first, region.columns, strict=True)
    )


def _names(cells: Cells, region: Region, header: Sequence[int]) -> tuple[str, ...]:
    """What the columns are called: of two rows the upper goes on over what it leaves empty."""
    if not header:
        return tuple(f"Column {number}" for number in range(1, region.width + 1))
    lines = [[cells.text(row, column) for column in region.columns] for row in header]
    top, last = list(lines[0]), lines[-1]
    if len(header) > 1:
        for column in range(1, len(top)):
            if not top[column] and last[column]:
                top[column] = top[column - 1] if last[column - 1] else ""
    names = [
        " ".join(dict.fromkeys(filter(None, parts))) or f"Column {number}"
        for number, parts in enumerate(zip(top, *lines[1:], strict=True), 1)
    ]
    return tuple(_unique(name[: 2 * _LONGEST_NAME] for name in names))


def _unique(names: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return found


def _notes(
    cells: Cells, region: Region, header: Sequence[int], body: Sequence[int]
) -> dict[int, RowRole]:
    """The rows of a body that are no data: the names said again, and lines of one cell.

    In a table of two columns such a line may well be a row without its value."""
    found: dict[int, RowRole] = {}
    named = [texts_of(cells, region, row) for row in header]
    for row in body:
        texts = texts_of(cells, region, row)
        if texts in named:
            found[row] = RowRole.HEADER
            continue
        filled = [text for text in texts if text]
        if len(filled) > 1 or region.width < 2:
            continue
        if not filled or region.width > 2 or len(filled[0]) > _LONG_NOTE:
            found[row] = RowRole.NOTE
    if len(found) == len(body):
        return {}
    return found


_MILLIONS = ("m", "mn")  # behind a currency


def unit_in_name(name: str) -> str:
    """The unit that the name of a column says: "Amount (EUR)", "Weight [kg]", "Revenue EUR m"."""
    words = [word.strip("()[],") for word in name.split()]
    for money, scale in zip(map(currency, words), [*words[1:], ""], strict=True):
        if money:
            return f"{money} {scale}" if magnitude(scale) or scale in _MILLIONS else money
    found = _IN_BRACKETS.search(name)
    if not found:
        return ""
    return found[1] if _UNIT.fullmatch(found[1]) else ""


def with_unit(rule: ColumnRule, unit: str) -> ColumnRule:
    """A rule whose numbers have this unit where they say none."""
    fits = rule.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER) and not rule.units
    return replace(rule, units=(unit,)) if fits and unit else rule
