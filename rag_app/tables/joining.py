"""Tables as queries read them: each by itself, or the sheets of a file that have the same columns
as one, with a column more that says of which sheet a row is. Who keeps a sheet for each site, or
each month, asks about all of them, or names one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_app.text.sentences import one_line
from rag_app.types import Column, ColumnKind, Table

_SHEET = Column("Sheet", "sheet", ColumnKind.TEXT)
_MOST = 60  # sheets that are joined
_WIDER = {ColumnKind.INTEGER: ColumnKind.NUMBER}  # a month of whole euros, and one with cents


@dataclass(frozen=True, slots=True)
class OpenTable:
    """A table, and what it is called in queries; `parts`: the sheets that are joined in it."""

    table: Table
    sql_name: str
    parts: tuple[Table, ...] = ()

    @property
    def sheet(self) -> Column | None:
        """The column that says of which sheet a row is; None: it is of one."""
        return self.table.columns[-1] if self.parts else None

    @property
    def placed(self) -> dict[Table, int]:
        """The tables of the document that are in it, with the number that their first row has."""
        found, first = {}, 0
        for part in self.parts or (self.table,):
            found[part] = first
            first += part.rows
        return found


def named(tables: Sequence[Table]) -> list[OpenTable]:
    """Tables with their names in queries: t1, t2, …; what they are called is said beside them.

    A name of few letters is written rightly by a small language model."""
    groups: dict[object, list[Table]] = {}
    for table in tables:
        groups.setdefault(_likeness(table), []).append(table)
    found: list[OpenTable] = []
    for group in groups.values():
        names = {called(one) for one in group}
        apart = len(names) < len(group) or "" in names or len(group) > _MOST
        for parts in [[one] for one in group] if apart else [group]:
            whole = parts[0] if len(parts) == 1 else _joined(parts)
            held = () if len(parts) == 1 else tuple(parts)
            found.append(OpenTable(whole, f"t{len(found) + 1}", held))
    return found


def with_likes(chosen: Sequence[Table], every: Sequence[Table]) -> list[Table]:
    """Tables, and the sheets of the same files with the same columns."""
    likes = {_likeness(table) for table in chosen}
    return [*chosen, *(one for one in every if one not in chosen and _likeness(one) in likes)]


def called(part: Table) -> str:
    """What the rows of a sheet have in the column that says so."""
    return one_line(part.name)


def _likeness(table: Table) -> object:
    """The same for sheets that can be joined."""
    columns = tuple(
        (c.sql_name, _WIDER.get(c.kind, c.kind), c.unit, c.units, c.has_text) for c in table.columns
    )
    taken = any(c.sql_name == _SHEET.sql_name for c in table.columns)
    return table if taken else (table.document_id, columns, table.hidden_columns)


def _joined(parts: Sequence[Table]) -> Table:
    """Sheets as one table: numbers of two kinds are of the one that holds both."""
    columns = [
        next((c for c in same if c.kind is not ColumnKind.INTEGER), same[0])
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
        hidden_rows=(),
    )
