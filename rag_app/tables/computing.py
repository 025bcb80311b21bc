"""What came of a query, as people read it: values in the writing of their language, the sentence
around them, the cells that they rest on. Pure but for the store that holds the cells."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from typing import Any

from rag_app.errors import QueryError
from rag_app.storage.contents import Tables
from rag_app.tables.columnar import block_values, unpack_places
from rag_app.tables.joining import OpenTable
from rag_app.tables.querying import (
    QueryLimits,
    Result,
    TableDatabase,
    UsedRows,
)
from rag_app.tables.values import in_calendar, money_word, month, year
from rag_app.text.formats import count, shown_of
from rag_app.text.languages import in_digits
from rag_app.text.sentences import one_line
from rag_app.types import (
    Cell,
    Column,
    ColumnKind,
    Computation,
    Operation,
    RowFilter,
    RowsUsed,
    Table,
)

SHOWN_ROWS = 50  # of a result
USED_ROWS = 12  # that are shown of each table
SAID_ROWS = 12  # of a result, in a sentence
_SEPARATED = 10_000  # from here on thousands are set apart: 2024 is a year more often than not
_PLACES = 2  # behind the decimal mark of what is not exact
NOTHING = "–"  # as it is written where a value or a unit would stand
_AROUND = ".,;:!?()[]'\"/"
_HOLE = re.compile(r"\{(\w+)\}")
_CLAUSE = re.compile(r"(?<=[,;)])\s+|(?<=\w)\s+(?=\()")
_RUN = re.compile(r"[1-9]\d*")
_ONE_DECIMAL = re.compile(r"\A-?[\d.,]*\d[.,]\d\Z")  # of an amount of money two are written
_ROWS = "rows"
_AVERAGE = "average"
_UNIT_OF = "Unit of {}"  # a column of ours
_PERIODS = 3  # columns that are months or years, at least
_UPRIGHT = (("month", "value"), ("year", "value"))  # the columns of what `upright` gives
_PERIODS_OF_TIME = ("year", "month", "week", "quarter")
_MONTH_OF_YEAR = re.compile(rf"(?:{'|'.join(calendar.month_name[1:])}) \d{{4}}")
_COMMA = frozenset(
    {"German", "Spanish", "French", "Italian", "Portuguese", "Dutch", "Polish", "Danish"}
)
_DATES: Mapping[str, str] = {
    "English": "{0.day} {0:%B} {0.year}",
    "German": "{0:%d.%m.%Y}",
    "Spanish": "{0:%d/%m/%Y}",
}

PageText = Callable[[int], str]
TextOfPage = Callable[[str, int], str]  # document, page


def said(value: Any, language: str) -> str:
    """A value of a result, as a person writes it."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return f"{said(value.date(), language)} {value:%H:%M}"
    if isinstance(value, dt.timedelta):
        return _clock(value)
    if isinstance(value, dt.date):
        return _DATES.get(language, "{0:%Y-%m-%d}").format(value)
    if isinstance(value, int | float | Decimal):
        return _number(value, language in _COMMA)
    if isinstance(value, list | tuple):
        return ", ".join(said(one, language) for one in value)
    return " ".join(str(value).split())


def _clock(value: dt.timedelta) -> str:
    """Hours and minutes; seconds, where there are any, and then no hours that are none."""
    minutes, seconds = divmod(round(abs(value.total_seconds())), 60)
    hours, rest = divmod(minutes, 60)
    sign = "-" if value < dt.timedelta() else ""
    if not seconds:
        return f"{sign}{hours}:{rest:02}"
    return f"{sign}{hours}:{rest:02}:{seconds:02}" if hours else f"{sign}{minutes}:{seconds:02}"


def first_said(result: Result, language: str) -> str:
    """The first value of a result, as a person writes it."""
    return said(_with_clocks(result).rows[0][0], language)


def _with_clocks(result: Result) -> Result:
    """A result as it is said: durations as such, where a database has seconds."""

    def clock(value: Any) -> Any:
        known = isinstance(value, int | float | Decimal)
        return dt.timedelta(seconds=float(value)) if known else value

    if not result.durations:
        return result
    rows = tuple(
        tuple(clock(v) if at in result.durations else v for at, v in enumerate(row))
        for row in result.rows
    )
    return replace(result, rows=rows)


def as_written(result: Result, store: Tables, text_of: TextOfPage) -> Result:
    """A result with the large numbers of its rows as they are written, where nothing was done to
    them, they are in no unit, and their cells set no thousands apart: 10115 may be a postcode, and
    612 345 678 a telephone."""
    behind = [
        (line, one.table, one.rows[0])
        for line, (row, used) in enumerate(zip(result.rows[:SHOWN_ROWS], result.used, strict=False))
        for one in used
        if len(one.rows) == 1 and any(map(_is_large, row)) and not result.operations
    ]
    found: dict[tuple[int, int], str] = {}
    for table in dict.fromkeys(table for _, table, _ in behind):
        lines = {line: row for line, own, row in behind if own is table}
        bare = [at for at in mentioned(table, list(result.named)) if _is_bare(table.columns[at])]
        there = cells(store, table, [*lines.values()], bare, _of(text_of, table.document_id))
        texts = {(cell.row, cell.value): one_line(cell.text) for cell in there}
        for line, row in lines.items():
            for at, value in enumerate(result.rows[line]):
                text = texts.get((row, value), "") if _is_large(value) else ""
                found |= {(line, at): text} if text.replace(" ", "").isdigit() else {}
    return replace(result, written=found)


def _is_large(value: Any) -> bool:
    return isinstance(value, int) and abs(value) >= _SEPARATED


def _is_bare(column: Column) -> bool:
    return column.kind is ColumnKind.INTEGER and not column.unit and not column.units


def _with_written(result: Result) -> Result:
    rows = tuple(
        tuple(result.written.get((i, j), v) if _is_large(v) else v for j, v in enumerate(row))
        for i, row in enumerate(result.rows)
    )
    return replace(result, rows=rows)


def _number(value: float | Decimal, comma: bool) -> str:
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    if isinstance(value, float):
        small = 0 < abs(exact) < 1
        exact = Decimal(f"{exact:.3g}") if small else round(exact, _PLACES)
    whole = exact == exact.to_integral_value()
    if whole:
        exact = exact.quantize(Decimal(1))
    written = f"{exact:,f}" if abs(exact) >= _SEPARATED else f"{exact:f}"
    return written.translate(str.maketrans(",.", ".,")) if comma else written


def sentence(template: str, result: Result, language: str) -> str:
    """What `_filled` gives, in English with the word that a figure is an average of several rows:
    the line of a query is not always read with it."""
    text = _filled(template, result, language)
    rows = max((used.count for row in result.used for used in row), default=0)
    is_one = result.averages and len(result.rows) == 1 and result.says_something and rows > 1
    if not is_one or language != "English" or _AVERAGE in text.lower():
        return text
    end = text[-1:] if text[-1:] in ".!" else ""
    return f"{text.removesuffix(end)} ({_AVERAGE} of {count(rows, 'row')}){end}"


def _filled(template: str, result: Result, language: str) -> str:
    """A template with what came out: {0} is the first column, {rows} all rows.

    Of several rows a column is said as a list. A clause with a column that is not there is left
    out; where that leaves nothing, the values alone are said."""
    result = _with_clocks(result)
    template = _with_known_columns(template, len(result.columns))
    template = _with_money_at_figures(template, result)
    holes = _HOLE.findall(template)
    figures, result = result, _with_written(result)
    if not result.says_something and holes != [_ROWS]:
        return _by_name(result, language)
    known = all(one == _ROWS or (one.isdigit() and int(one) < len(result.columns)) for one in holes)
    if not template or not holes or not known:
        return _listed(result, language)

    def filled(hole: re.Match[str]) -> str:
        if hole[1] == _ROWS:
            return _listed(result, language)
        of_money = _beside_money(template, hole)
        rows = (figures if of_money else result).rows[:SAID_ROWS]
        column = [said(row[int(hole[1])], language) for row in rows]
        if of_money:
            column = [_ONE_DECIMAL.sub(r"\g<0>0", one) for one in column]
        return _before(template[hole.end() :], ", ".join(dict.fromkeys(column)) + _more(result))

    numbers = {one for one in holes if one != _ROWS}
    if len(result.rows) > 1 and len(numbers) > 1:
        return _listed(result, language)  # which of them belong together must be seen
    return _HOLE.sub(filled, template)


def _before(rest: str, value: str) -> str:
    """A value without its last word where the sentence goes on with that: "the North site site"."""
    kept, _, last = value.rpartition(" ")
    follows = (
        rest.split(maxsplit=1)[0].rstrip(_AROUND) if rest.startswith(" ") and rest.strip() else ""
    )
    return kept if kept and last.lower() == follows.lower() else value


def _with_known_columns(template: str, columns: int) -> str:
    """A template up to the clause that has a column which is not there: "It grew by {0} %, from {1}
    to {2}." Unchanged where there is no such clause."""
    for hole in _HOLE.finditer(template):
        if hole[1].isdigit() and int(hole[1]) >= columns:
            kept = template[: hole.start()].rpartition(",")[0]
            return f"{kept.rstrip()}." if _HOLE.search(kept) else template
    return template


def _with_money_at_figures(template: str, result: Result) -> str:
    """A template with its two columns the other way round, if a currency stands beside the one of
    texts and none beside that of figures: "The dearest costs {0} EUR, it is {1}."."""
    holes = list(_HOLE.finditer(template))
    both = len(holes) == 2 == len(result.columns) and {one[1] for one in holes} == {"0", "1"}
    if not both or not result.rows:
        return template
    money = {one[1] for one in holes if _beside_money(template, one)}
    figures = {str(at) for at in (0, 1) if all(_figure(row[at]) is not None for row in result.rows)}
    if len(money) != 1 or len(figures) != 1 or money == figures:
        return template
    return _HOLE.sub(lambda hole: "{1}" if hole[1] == "0" else "{0}", template)


def _beside_money(template: str, hole: re.Match[str]) -> bool:
    before, after = template[: hole.start()].split(), template[hole.end() :].split()
    around = [*before[-1:], *(word.rstrip(_AROUND) for word in after[:1])]
    return any(map(money_word, around))


def _by_name(result: Result, language: str) -> str:
    """What no sentence was written for, since something is missing: values beside their columns."""
    rows = result.rows or ((None,) * len(result.columns),)
    said_of = [
        ", ".join(f"{n}: {said(v, language)}" for n, v in zip(result.columns, row, strict=True))
        for row in rows[:SAID_ROWS]
    ]
    return "; ".join(said_of) + _more(result)


def without_unknown_money(template: str, told: str) -> str:
    """A template without currencies that nobody spoke of: a bare 310 is no 310 EUR."""
    known = {money_word(word.strip(_AROUND)) for word in told.split()}
    kept = [
        word
        for word in template.split()
        if not (money := money_word(word.strip(_AROUND))) or money in known
    ]
    end = template[-1:] if template[-1:] in ".!?" else ""
    text = " ".join(kept)
    return text if text.endswith(end) else text + end


def told_alone(template: str, told: str) -> str:
    """A template without currencies and clauses with figures that nobody spoke of, as a writer's
    own sum: "{0} boats, which is 55 in all". Empty where such a figure stands beside a value."""
    template = without_unknown_money(template, told)
    known, clauses = {*_RUN.findall(in_digits(told))}, _CLAUSE.split(template)
    kept = [one for one in clauses if known.issuperset(_RUN.findall(_HOLE.sub("", one)))]
    if len(kept) == len(clauses):
        return template
    if not kept or any(_HOLE.search(one) for one in clauses if one not in kept):
        return ""
    end = template[-1:] if template[-1:] in ".!?" else ""
    return " ".join(kept).rstrip(_AROUND) + end


def _listed(result: Result, language: str) -> str:
    rows = [", ".join(said(v, language) for v in row) for row in result.rows[:SAID_ROWS]]
    apart = "; " if len(result.columns) > 1 else ", "
    return (apart.join(rows) or NOTHING) + _more(result)


def _more(result: Result) -> str:
    return ", …" if len(result.rows) > SAID_ROWS or result.cut else ""


def computation(
    sql: str,
    result: Result,
    operations: Sequence[Operation],
    used: Sequence[RowsUsed],
    language: str,
    tables: Sequence[Table],
) -> Computation:
    """A result as it is kept and shown, its columns called as the tables call them, or as the query
    does; one that is neither, but worked out, by nothing."""
    called, headed = _called(tables), _called(tables, _UNIT_OF)
    told = _with_written(_with_clocks(result))
    return Computation(
        sql,
        tuple(headed.get(n.lower()) or _as_named(n) for n in result.columns),
        tuple(tuple(said(v, language) for v in row) for row in told.rows[:SHOWN_ROWS]),
        tuple(used),
        tuple(operations),
        tuple(tuple(map(_figure, row)) for row in result.rows[:SHOWN_ROWS]),
        over_time=_over_time(result),
        cut=result.cut or len(result.rows) > SHOWN_ROWS,
        chosen_by=tuple(_as_said(each, called, language) for each in result.filters),
    )


def _called(tables: Sequence[Table], of_unit: str = "{}") -> dict[str, str]:
    """What tables call their columns, by their names in queries; those that the app has beside them
    are called after them, and so are those of units where `of_unit` says nothing else."""
    columns = [column for table in tables for column in table.columns]
    ours = {one.text_name: one.name for one in columns}
    ours |= {one.unit_name: of_unit.format(one.name) for one in columns}
    return ours | {column.sql_name: column.name for column in columns}


def _as_named(column: str) -> str:
    """What a query calls a column that it works out, as people write it; empty: it does not."""
    if not column.isidentifier():
        return ""
    name = column.strip("_").replace("_", " ")
    return name[:1].upper() + name[1:]


def _as_said(one: RowFilter, called: Mapping[str, str], language: str) -> RowFilter:
    """A filter with columns as a table calls them, and days as people write them."""
    text = called.get(one.text, one.text)
    with suppress(ValueError):
        text = said(dt.date.fromisoformat(one.text), language)
    return RowFilter(called.get(one.column, one.column), one.comparison, text)


def upright(result: Result, tables: Sequence[Table]) -> Result:
    """A single row with months or years for columns as a row for each; any other as it is."""
    called = {column.sql_name: column.name for table in tables for column in table.columns}
    names = [called.get(name.lower(), "") for name in result.columns]
    readings: Sequence[Callable[[str], int | None]] = (month, year)
    for of_period, headed in zip(readings, _UPRIGHT, strict=True):
        places = [at for at, name in enumerate(names) if of_period(name.strip())]
        periods = [names[at].strip() for at in places]
        order = in_calendar(periods) or [int(one) for one in periods if year(one)]
        if len(result.rows) != 1 or len(places) < _PERIODS or order != sorted({*order}):
            continue
        return replace(
            result,
            columns=headed,
            types=("VARCHAR", result.types[places[0]]),
            rows=tuple((names[at], result.rows[0][at]) for at in places),
            used=result.used * len(places),
            durations=frozenset({1} if result.durations.issuperset(places) else ()),
        )
    return result


def _over_time(result: Result) -> bool:
    kind = result.types[0].upper()
    named = result.columns[0].lower()
    of_time = kind.startswith(("DATE", "TIMESTAMP")) or named in _PERIODS_OF_TIME
    return of_time or all(_MONTH_OF_YEAR.fullmatch(str(row[0])) for row in result.rows)


def _figure(value: Any) -> float | None:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return float(value) if is_number else None


def rows_used(
    result: Result,
    names: Mapping[str, str],
    naming: Mapping[Table, int],
    store: Tables,
    text_of: TextOfPage,
) -> list[RowsUsed]:
    """The rows behind a result, table by table: what the query speaks of, behind what says which
    row it is; `names`: of documents, by id; `naming`: see `naming_columns`."""
    found: dict[int, RowsUsed] = {}
    for one in _together(result):
        shown = mentioned(one.table, list(result.named))
        leading = [naming[one.table]] if naming.get(one.table, shown[0]) not in shown else []
        shown = [*leading, *shown]
        rows = one.rows[: shown_of(one.count, USED_ROWS)]
        there = cells(store, one.table, rows, shown, _of(text_of, one.table.document_id))
        by_row: dict[int, list[Cell]] = {}
        for cell in there:
            by_row.setdefault(cell.row, []).append(replace(cell, value=None))
        found[id(one.table)] = RowsUsed(
            one.table.document_id,
            names.get(one.table.document_id, ""),
            one.table.name or one.table.title,
            tuple(one.table.columns[at].name for at in shown),
            one.count,
            tuple(tuple(by_row[row]) for row in rows if row in by_row),
            len(leading),
        )
    return list(found.values())


def _of(text_of: TextOfPage, document_id: str) -> PageText:
    return lambda page: text_of(document_id, page)


def _together(result: Result) -> list[UsedRows]:
    """The rows behind all rows of a result, by table; a row that several rest on counts once."""
    rows: dict[int, dict[int, None]] = {}
    counts: dict[int, int] = {}
    tables: dict[int, Table] = {}
    for one in (*(used for row in result.used for used in row), *result.read):
        key = id(one.table)
        tables[key] = one.table
        rows.setdefault(key, {}).update(dict.fromkeys(one.rows))
        counts[key] = counts.get(key, 0) + one.count
    return [
        UsedRows(tables[k], _count(held, min(counts[k], tables[k].rows)), tuple(held))
        for k, held in rows.items()
    ]


def _count(held: Mapping[int, None], counted: int) -> int:
    """How many rows there are, where only the first of many are named."""
    return counted if len(held) >= QueryLimits().used_rows else len(held)


def mentioned(table: Table, words: Sequence[str]) -> list[int]:
    """The columns of a table that a query names; all of them if it names none."""
    named = frozenset(words)

    def names(column: Column) -> bool:
        return not named.isdisjoint({column.sql_name, column.text_name, column.unit_name})

    found = [at for at, column in enumerate(table.columns) if names(column)]
    return found or list(range(len(table.columns)))


# What rows are called, where a query gives nothing but their numbers: "The biggest was 001" says
# nothing. Which column numbers the rows, and which describes them, is read from their values.

_NAMED_ROWS = 12  # of a result
_NAME = 80  # characters of a name
_LOOKED_AT = 20_000  # rows of a table
_TEXTS = 24  # columns of texts that may describe its rows: each is asked twice
_FILLED = 0.5  # of the rows that have to have a name


def names_of_rows(result: Result, database: TableDatabase) -> dict[tuple[int, int], str]:
    """By row and column of a result: what the row of a table is called whose number stands there;
    none where the result has texts of its own, or its rows are not rows of one table."""
    opened = _only_table(result, database)
    if opened is None or len(result.rows) > _NAMED_ROWS:
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
    firsts = {piece.table: piece.first for piece in reversed(opened.pieces)}
    rows = [firsts[used[0].table] + used[0].rows[0] for used in result.used]
    called = _cells(opened, name, rows, database)
    return {(line, numbers[0]): called[row] for line, row in enumerate(rows) if row in called}


def naming_columns(result: Result, database: TableDatabase) -> dict[Table, int]:
    """Of the tables behind a result, the place of the column that tells which row is which."""
    behind = {used.table for rows in (*result.used, result.read) for used in rows}
    found: dict[Table, int] = {}
    for opened in database.tables:
        parts = behind.intersection(opened.parts)
        if parts:
            with suppress(QueryError):
                column = _describing(opened, database)
                if column is not None:
                    found |= {part: _place(part, column) for part in parts}
    return found


def _place(part: Table, column: Column) -> int:
    return [c.sql_name for c in part.columns].index(column.sql_name)


def _only_table(result: Result, database: TableDatabase) -> OpenTable | None:
    """The table of which each row of a result is one row."""
    if not result.used or any(len(one) != 1 or len(one[0].rows) != 1 for one in result.used):
        return None
    tables = {one[0].table for one in result.used}
    found = [opened for opened in database.tables if tables.intersection(opened.parts)]
    return found[0] if len(found) == 1 else None


def _numbers_rows(opened: OpenTable, column: Column, database: TableDatabase) -> bool:
    """Whether a column has the numbers of the rows: no two are the same, they follow each other,
    or are words with figures in them."""
    name, table = column.sql_name, opened.sql_name
    if _is_bare(column):
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
    table = opened.table
    shown = [c for at, c in enumerate(table.columns) if at not in table.hidden_columns]
    texts = [c for c in shown if c.kind is ColumnKind.TEXT and c not in opened.made][:_TEXTS]
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
    return {r: t if len(t) <= _NAME else t[:_NAME].rstrip() + "…" for r, t in found.items()}


def with_names(result: Result, called: Mapping[tuple[int, int], str]) -> Result:
    """A result as it is said: beside the number of a row stands what the row is called."""
    rows = tuple(
        tuple(f"{v} ({called[i, j]})" if (i, j) in called else v for j, v in enumerate(row))
        for i, row in enumerate(result.rows)
    )
    return replace(result, rows=rows)


def as_headed(result: Result, tables: Sequence[Table]) -> Result:
    """A result whose columns are called as the tables call them."""
    names = _called(tables, _UNIT_OF)
    return replace(result, columns=tuple(names.get(c.lower(), c) for c in result.columns))


def cells(
    store: Tables, table: Table, rows: Sequence[int], columns: Sequence[int], text_of: PageText
) -> list[Cell]:
    """The cells of some rows and columns, row by row; `text_of` gives the text of a page."""
    wanted = sorted(set(rows))
    found: list[Cell] = []
    for first, block in store.blocks_with(table, wanted):
        pages, starts, ends = unpack_places(block.places, block.rows)
        values = {column: block_values(block.values, column) for column in columns}
        for row in wanted:
            at = row - first
            if not 0 <= at < block.rows:
                continue
            for column in columns:
                page, start, end = (int(each[at, column]) for each in (pages, starts, ends))
                text = text_of(page)[start:end] if end > start else ""
                value = values[column][at]
                if table.columns[column].kind is ColumnKind.TEXT:
                    value = text or None
                found.append(Cell(row, column, text, value, page, start, end))
    return found
