"""What rows are called, where a query gives nothing but their numbers.

"The biggest was 001" says nothing: which column numbers the rows, and which describes them, is read
from their values. Knows nothing of questions."""

from __future__ import annotations

from rag_app.errors import QueryError
from rag_app.tables.querying import OpenTable, Result, TableDatabase
from rag_app.text.sentences import one_line
from rag_app.types import Column, ColumnKind

_MOST_ROWS = 12  # of a result
_LONGEST = 80  # characters of a name
_LOOKED_AT = 20_000  # rows of a table
_FILLED = 0.5  # of the rows that have to have a name


def names_of_rows(result: Result, database: TableDatabase) -> dict[tuple[int, int], str]:
    """By row and column of a result: what the row of a table is called whose number stands there;
    none where the result has texts of its own, or its rows are not rows of one table."""
    opened = _only_table(result, database)
    if opened is None or len(result.rows) > _MOST_ROWS:
        return {}
    known = {column.sql_name: column for column in opened.table.columns}
    shown = {at: known.get(name.lower()) for at, name in enumerate(result.columns)}
    try:
        numbers = [at for at, c in shown.items() if c and _numbers_rows(opened, c, database)]
        texts = [at for at, c in shown.items() if c and c.kind is ColumnKind.TEXT]
        name = _describing(opened, database)
    except QueryError:
        return {}
    if len(numbers) != 1 or name is None or {*texts} - {*numbers}:
        return {}
    rows = [used[0].rows[0] for used in result.used]
    called = _cells(opened, name, rows, database)
    return {(line, numbers[0]): called[row] for line, row in enumerate(rows) if row in called}


def _only_table(result: Result, database: TableDatabase) -> OpenTable | None:
    """The table of which each row of a result is one row."""
    if not result.used or any(len(one) != 1 or len(one[0].rows) != 1 for one in result.used):
        return None
    tables = {id(one[0].table) for one in result.used}
    found = [opened for opened in database.tables if id(opened.table) in tables]
    return found[0] if len(found) == 1 == len(tables) else None


def _numbers_rows(opened: OpenTable, column: Column, database: TableDatabase) -> bool:
    """Whether a column has the numbers of the rows: no two are the same, they follow each other,
    or are words with figures in them."""
    name, table = column.sql_name, opened.sql_name
    if column.kind is ColumnKind.INTEGER and not column.unit and not column.units:
        follow = f"max({name}) - min({name}) + 1 = count(*)"
    elif column.kind is ColumnKind.TEXT:
        follow = f"bool_and(regexp_matches({name}, '[0-9]') AND NOT contains(trim({name}), ' '))"
    else:
        return False
    asked = f"SELECT count(DISTINCT {name}) = count(*) AND {follow} FROM {_first(table)}"
    return bool(database.fetch(asked).rows[0][0])


def _first(table: str) -> str:
    """The rows of a table that are looked at: what a column is, the first of a million tell."""
    return f"(SELECT * FROM {table} LIMIT {_LOOKED_AT})"


def _describing(opened: OpenTable, database: TableDatabase) -> Column | None:
    """The column of the longest texts that most rows have, and few share."""
    texts = [c for c in opened.table.columns if c.kind is ColumnKind.TEXT]
    best: tuple[float, Column] | None = None
    for column in texts:
        name = column.sql_name
        asked = (
            f"SELECT count({name}) / count(*), count(DISTINCT {name}) / count(*), "
            f"coalesce(avg(length({name})), 0) FROM {_first(opened.sql_name)}"
        )
        filled, different, length = map(float, database.fetch(asked).rows[0])
        if filled < _FILLED or _numbers_rows(opened, column, database):
            continue
        score = filled * different * length
        best = max(best or (0.0, column), (score, column), key=lambda one: one[0])
    return best[1] if best else None


def _cells(
    opened: OpenTable, column: Column, rows: list[int], database: TableDatabase
) -> dict[int, str]:
    """By number of row what stands in a column."""
    asked = (
        f"SELECT rowid, {column.sql_name} FROM {opened.sql_name} "
        f"WHERE rowid IN ({', '.join(map(str, rows))}) AND {column.sql_name} IS NOT NULL"
    )
    found = {row: one_line(str(text)) for row, text in database.fetch(asked).rows}
    return {r: t if len(t) <= _LONGEST else t[:_LONGEST].rstrip() + "…" for r, t in found.items()}
