"""Tables as queries read them: each by itself, or the sheets of a file that have the same columns
as one, with a column more that says of which sheet a row is; and where a table has a column for
each month, a row for each. Who keeps a sheet for each site, or a column for each month, asks about
all of them, or names one. Pure."""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from rag_app.tables.building import sql_names
from rag_app.tables.values import with_months
from rag_app.text.sentences import one_line
from rag_app.types import Column, ColumnKind, Table

_SHEET = Column("Sheet", "sheet", ColumnKind.TEXT)
_MONTH, _VALUE = ("Month", "month"), ("Value", "value")  # as people and queries call them
_NAMES = tuple(name.lower() for name in calendar.month_name)
_SEVERAL = 3  # columns that are months, at least
_LARGEST = 5_000  # rows of a table with such columns
_CENT = 0.011  # by which a sum may be another
_MOST, _LONGEST = 60, 100_000  # sheets that are joined, and rows of all of them
_WIDER = {  # a month of whole euros, and one with cents; one whose figures may all be years
    ColumnKind.YEAR: ColumnKind.NUMBER,
    ColumnKind.INTEGER: ColumnKind.NUMBER,
}


@dataclass(frozen=True, slots=True)
class TablePiece:
    """Rows of an open table that are those of a table of a document, from the first of them on;
    `month`: of which column."""

    table: Table
    first: int
    month: Column | None = None


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table, and what it is called in queries; `parts`: the tables of the document that it is
    made of; `months`: the columns of which it has a row for each."""

    table: Table
    sql_name: str
    parts: tuple[Table, ...]
    months: tuple[Column, ...] = ()

    @property
    def sheet(self) -> Column | None:
        """The column that says of which sheet a row is; None: it is of one."""
        return self.table.columns[-1] if len(self.parts) > 1 else None

    @property
    def made(self) -> tuple[Column, ...]:
        """The columns that stand in no table of a document."""
        sheet = (self.sheet,) if self.sheet else ()
        return (*self.table.columns[-2 - len(sheet) :][:2], *sheet) if self.months else sheet

    @property
    def pieces(self) -> list[TablePiece]:
        """What it is made of, in the order of its rows."""
        found, first = [], 0
        for part in self.parts:
            for month in self.months or (None,):
                found.append(TablePiece(part, first, month))
                first += part.rows
        return found


def columns_read(read: Set[str], tables: Iterable[OpenTable]) -> dict[str, Column]:
    """The columns of tables that are read, by what queries call them; `read`: what these call the
    tables."""
    found: dict[str, Column] = {}
    for opened in tables:
        if opened.sql_name in read:
            for column in opened.table.columns:
                found[column.sql_name] = column
                found |= {column.text_name: column} if column.has_text else {}
                found |= {column.unit_name: column} if column.units else {}
    return found


def named(tables: Sequence[Table]) -> list[OpenTable]:
    """Tables with their names in queries: t1, t2, …; what they are called is said beside them.

    A name of few letters is written rightly by a small language model."""
    found: list[OpenTable] = []
    for group in _groups(tables):
        for parts in [group] if _can_be_joined(group) else [[one] for one in group]:
            whole = parts[0] if len(parts) == 1 else _joined(parts)
            found.append(OpenTable(whole, f"t{len(found) + 1}", tuple(parts)))
    return found


def with_likes(chosen: Sequence[Table], every: Sequence[Table]) -> list[Table]:
    """Tables, and those that are joined with them: the sheets of the same files with the same
    columns."""
    documents = {table.document_id for table in chosen}
    found = list(chosen)
    for group in _groups([one for one in every if one.document_id in documents]):
        if _can_be_joined(group) and any(one in found for one in group):
            found += [one for one in group if one not in found]
    return found


def _groups(tables: Sequence[Table]) -> list[list[Table]]:
    """Tables with those like them, in the order of their document."""
    groups: dict[object, list[list[Table]]] = {}
    for table in tables:
        like = groups.setdefault(_likeness(table), [])
        group = next((one for one in like if _in_one_unit([*one, table])), None)
        if group is None:
            like.append([table])
        else:
            group.append(table)
    found = [group for like in groups.values() for group in like]
    return [sorted(group, key=lambda one: one.ordinal) for group in found]


def _in_one_unit(group: Sequence[Table]) -> bool:
    """Whether no column has another unit in one sheet than in the others; where a sheet says none,
    it is that of the others."""
    return all(
        len({column.unit for column in same} - {""}) < 2
        for same in zip(*(table.columns for table in group), strict=True)
    )


def _can_be_joined(group: Sequence[Table]) -> bool:
    """Whether tables that are alike are few, of no great length, and each is called otherwise."""
    names = [called(one) for one in group]
    alike = {sql_names([name])[0] for name in names}  # queries know no capitals and accents
    apart = len(alike) == len(group) > 1 and all(names)
    return apart and len(group) <= _MOST and sum(one.rows for one in group) <= _LONGEST


def called(part: Table) -> str:
    """What the rows of a sheet have in the column that says so."""
    return one_line(part.name)


def _likeness(table: Table) -> object:
    """The same for sheets that can be joined."""
    columns = tuple((c.sql_name, _WIDER.get(c.kind, c.kind), c.units) for c in table.columns)
    taken = any(c.sql_name == _SHEET.sql_name for c in table.columns)
    alone = (table.document_id, table.ordinal)
    return alone if taken else (table.document_id, columns, table.hidden_columns)


def _width(column: Column) -> tuple[bool, bool]:
    return column.kind is not ColumnKind.YEAR, column.kind is not ColumnKind.INTEGER


def _joined(parts: Sequence[Table]) -> Table:
    """Sheets as one table: numbers of two kinds are of the one that holds both; what is beside the
    values of one sheet, is beside those of all."""
    columns = [
        replace(
            max(same, key=_width),
            unit=next(filter(None, (c.unit for c in same)), ""),
            places=max(c.places for c in same),
            has_text=any(c.has_text for c in same),
        )
        for same in zip(*(part.columns for part in parts), strict=True)
    ]
    titles = {part.title for part in parts}
    return replace(
        parts[0],
        name="",
        title=parts[0].title if len(titles) == 1 else "",
        columns=(*columns, _SHEET),
        rows=sum(part.rows for part in parts),
        last_page=max(part.last_page for part in parts),
        side_rows=tuple(row for part in parts for row in part.side_rows),
    )


def unfolded(opened: OpenTable, rows: Sequence[Mapping[str, Any]]) -> OpenTable:
    """A table with a row for each of its columns that are months; unchanged if these are few, or
    if it has other figures than the sums of them. `rows`: by the names that queries know."""
    months = months_of(opened.table)
    columns = opened.table.columns
    hidden = {columns[at] for at in opened.table.hidden_columns}
    others = [c for c in columns if c not in months and c not in hidden and c is not opened.sheet]
    figures = [c for c in others if c.kind.is_measure]
    kept = [c for c in others if c not in figures]
    taken = {column.sql_name for column in kept} & {_MONTH[1], _VALUE[1]}
    if not months or taken or not all(_adds_up(one, months, rows) for one in figures):
        return opened
    like = next((c for c in months if c.kind is not ColumnKind.INTEGER), months[0])
    value = replace(like, name=_VALUE[0], sql_name=_VALUE[1], has_text=False)
    sheet = (opened.sheet,) if opened.sheet else ()
    table = replace(
        opened.table,
        columns=(*kept, Column(*_MONTH, ColumnKind.TEXT), value, *sheet),
        rows=len(months) * opened.table.rows,
        hidden_columns=(),
    )
    return replace(opened, table=table, months=months)


def month_called(column: Column) -> str:
    """What the rows of a column that is a month have in the column that says so."""
    return with_months([one_line(column.name).lower()])[0].capitalize()


def months_of(table: Table) -> tuple[Column, ...]:
    """The columns of figures that are months, where these are several, and the table is no long
    one."""
    shown = [c for at, c in enumerate(table.columns) if at not in table.hidden_columns]
    found = [c for c in shown if month_called(c).lower() in _NAMES[1:] and not c.units]
    alike = {(c.unit, _WIDER.get(c.kind, c.kind)) for c in found}
    figures = all(c.kind in (ColumnKind.INTEGER, ColumnKind.NUMBER) for c in found)
    names = {month_called(column) for column in found}
    many = _SEVERAL <= len(found) == len(names) and table.rows <= _LARGEST
    return tuple(found) if many and figures and len(alike) == 1 else ()


def _adds_up(total: Column, months: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a column has the sum of the months, in every row."""
    names = [column.sql_name for column in months]
    apart = [
        float(row[total.sql_name] or 0) - sum(float(row[name] or 0) for name in names)
        for row in rows
    ]
    return bool(apart) and all(abs(one) < _CENT for one in apart)


def selected(opened: OpenTable, piece: TablePiece) -> str:
    """What a piece adds to an open table, of the table of the document under its ordinal."""
    kept = [c for c in opened.table.columns if c not in opened.made]
    with_text = {c.sql_name for c in piece.table.columns if c.has_text}
    names = [name for column in kept for name in _names(column, column.sql_name in with_text)]
    chosen, sheet = ", ".join(names), ""
    if piece.month:
        month, value = opened.made[:2]
        told = f"{literal(month_called(piece.month))} AS {month.sql_name}"
        chosen = ", ".join([*names, told, f'"{piece.month.sql_name}" AS {value.sql_name}'])
    if opened.sheet:
        sheet = f", {literal(called(piece.table))} AS {opened.sheet.sql_name}"
    return f'SELECT {chosen}{sheet} FROM "_{piece.table.ordinal}"'


def _names(column: Column, with_text: bool) -> list[str]:
    """A column as queries call it, with those that go with it; `with_text`: this sheet has what is
    written beside its values."""
    text = f'"{column.text_name}"'
    texts = [text if with_text else f"NULL::VARCHAR AS {text}"] if column.has_text else []
    unit = [f'"{column.unit_name}"'] if len(column.units) > 1 else []
    return [f'"{column.sql_name}"', *texts, *unit]


def literal(text: str) -> str:
    """A text as it stands in a query."""
    return "'" + text.replace("'", "''") + "'"
