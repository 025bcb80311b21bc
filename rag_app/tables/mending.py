"""Queries that name what is not there, mended where only one thing can be meant. A small language
model calls a column of dates "date" though it is called "day", and forgets a year that somebody
said; `periods` has what it does with days and months.

Structure decides: names, kinds and values of the columns that are read. Knows nothing of models."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from copy import deepcopy
from decimal import Decimal
from itertools import pairwise

from rag_app.errors import QueryError
from rag_app.retrieval.ranking import STOPWORDS
from rag_app.tables.building import ROW_ID
from rag_app.tables.describing import alike
from rag_app.tables.explaining import (
    Node,
    at_word,
    columns,
    functions,
    nodes,
    tables_read,
    text_conditions,
)
from rag_app.tables.joining import OpenTable, called, columns_read, literal
from rag_app.tables.periods import (
    OF_TIME,
    by_months,
    of_known_years,
    of_named_periods,
    within_periods,
    years_read,
)
from rag_app.tables.querying import Result, TableDatabase
from rag_app.tables.values import month, with_months
from rag_app.text.languages import compared
from rag_app.types import Column, ColumnKind

_NAMES = [name.lower() for name in calendar.month_name[1:]]
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_NO_TABLE = "dual"  # as Oracle calls it
_LIKES = frozenset(["~~", "~~*", "!~~", "!~~*"])  # as DuckDB calls LIKE and ILIKE
_INSIDE = re.compile(r"%([^\W\d_][^%_]*)%")
_WORD, _FEW = 4, 3  # letters of what may be a word inside of a word, and of any word
_ENDS_OF_TIMES = frozenset(["since", "until", "till", "before", "after", "from", "to"])
_YEAR = 4  # figures
_SHARE = re.compile(
    r"sum\(([\w.]+)\)\s+filter\s*\(.*\)\s*/\s*(?:nullif\(\s*)?sum\(\1\)(?!\s*filter)",
    re.IGNORECASE | re.DOTALL,
)
_SHEETS = 12  # of which each has its figure beside that of all


def mended(sql: str, question: str, database: TableDatabase) -> str:
    """The query with the columns and the year that are there. Raises QueryError."""
    read = _of_named_sheet(_of_known_table(sql, database), question, database)
    titled = _without_titles(read, database)
    known = _of_known_columns(titled, database)
    named = of_named_periods(known, question)
    known = of_known_years(within_periods(named, database), question, database)
    known = _of_nothing(_of_words(known, question, database), database)
    return by_months(known, database)


def left_out(sql: str, question: str, titles: Mapping[str, str], database: TableDatabase) -> str:
    """A figure or an English month of a question that is not in its query, nor goes without saying:
    in the titles of the tables that it reads (months, if they name no other), as the only year of
    their dates, or as the number of rows that it gives. `titles`: of tables, as queries call them.
    Empty: there is none. Raises QueryError."""
    years, read = years_read(sql, database), tables_read(database.tree(sql))
    titled = " ".join(title for name, title in titles.items() if name in read)
    asked = _months(_without_verbs(question))
    for name in asked if {*asked} != {*_months(compared(titled))} else []:
        number = _NAMES.index(name) + 1
        in_query = rf"(?i)\b{name[:3]}|-{number:02}\b|\b0?{number}\b"
        if not re.search(in_query, sql):
            return calendar.month_name[number]
    held = f"{sql} {titled} {' '.join(years) if len(years) == 1 else ''}"
    for written in _FIGURE.findall(question):
        plain = re.sub(r"[.,](?=\d{3}\b)", "", written)
        plain = plain.lstrip("0") if written.isdigit() else plain
        if plain.replace(",", ".") not in held and not _gives_rows(sql, plain, database):
            return str(written)
    return ""


def _months(words: Sequence[str]) -> list[str]:
    """The English months among words, each once."""
    return [word for word in dict.fromkeys(with_months(words)) if word in _NAMES]


def of_month(sql: str, name: str, question: str, database: TableDatabase) -> str:
    """A query of one table that does not look at its days, of an English month alone, if those are
    in one column and of one year; unchanged if not, or if the month is the end of a time. Raises
    QueryError."""
    node = database.tree(sql)
    opened, spoken = _only_read(node, database), with_months(compared(question))
    days = [c for c in opened.table.columns if c.kind in OF_TIME] if opened else []
    ends = {word for before, word in pairwise(spoken) if before in _ENDS_OF_TIMES}
    if name.lower() not in _NAMES or len(days) != 1 or len(years_read(sql, database)) != 1:
        return sql
    if opened is None or days[0].sql_name in columns(node) or name.lower() in ends:
        return sql
    number = _NAMES.index(name.lower()) + 1
    return database.narrowed(sql, opened, f"month({{0}}.{days[0].sql_name}) = {number}")


def _gives_rows(sql: str, count: str, database: TableDatabase) -> bool:
    """Whether a query chooses and lists so many rows: "which of the 5", after "how many"."""
    if not count.isdigit() or int(count) < 2:
        return False
    found = database.run(sql)
    return int(count) == len(found.rows) and bool(found.filters) and not found.operations


def belongs_to(sql: str, database: TableDatabase) -> str:
    """The only table, as queries call it, that has what columns the tables of a query lack; empty:
    they lack none, or it is not one. Raises QueryError."""
    node = database.tree(sql)
    lacking = _names(node) - _read(node, database).keys() - {"rowid"}
    having = [
        one.sql_name
        for one in database.tables
        if one.sql_name not in tables_read(node)
        and lacking <= {c.sql_name for c in one.table.columns}
    ]
    return _only(having) if lacking else ""


def _of_known_table(sql: str, database: TableDatabase) -> str:
    """A query of one table reads the one that has all its columns, if another does and its own
    does not."""
    node = database.tree(sql)
    other, sources = belongs_to(sql, database), [o for o in nodes(node) if o.get("table_name")]
    has = [{c.sql_name for c in o.table.columns} for o in database.tables if o.sql_name == other]
    sources = [one for one in sources if one.get("type") == "BASE_TABLE"]
    if len(sources) != 1 or not has or not _names(node) <= has[0]:
        return sql
    return _reading(node, sources[0], other, database)


def _of_named_sheet(sql: str, question: str, database: TableDatabase) -> str:
    """A query over sheets that are joined, which chooses none of them, is about the only one that
    the question names by words that not all of them have in their names. Who names two may mean
    what lies between."""
    node = database.tree(sql)
    opened = _only_read(node, database)
    if opened is None or opened.sheet is None or opened.sheet.sql_name in columns(node):
        return sql
    names = [called(part) for part in opened.parts]
    words = {name: frozenset(with_months(compared(name))) for name in names}
    shared = frozenset.intersection(*words.values()) | STOPWORDS
    spoken = with_months(_without_verbs(question))
    held = {w for one in text_conditions(node) for w in compared(one.text)}
    meant = [
        name
        for name, own in words.items()
        if own - shared
        and (own - shared).issubset({*spoken} - held)
        and _is_said(name, own - shared, spoken)
    ]
    if len(meant) != 1:
        return sql
    return database.narrowed(sql, opened, f"{{0}}.{opened.sheet.sql_name} = {literal(meant[0])}")


def _without_verbs(question: str) -> list[str]:
    """The words of a question, but for a "may" that is likely no month: it has no capital, and
    nothing before it that goes before a month."""
    bare = re.sub(r"(?<!\bin )(?<!\bof )(?<!\bfor )(?<!\band )(?<!\bor )\bmay\b", " ", question)
    return compared(bare)


def _is_said(name: str, own: Set[str], spoken: Sequence[str]) -> bool:
    """Whether a sheet that a question has the `own` words of is named by itself: a month or a year
    of it is no end of a time, as in "since March", and a number ("Week 5") is said with what stands
    before it."""
    at = next(place for place, word in enumerate(spoken) if word in own)
    of_time = spoken[at].isdigit() or month(spoken[at])
    if at and of_time and spoken[at - 1] in _ENDS_OF_TIMES:
        return False
    words = with_months(compared(name))
    numbers = [word for word in own if word.isdigit() and len(word) != _YEAR]
    together = any([*spoken[at : at + len(words)]] == words for at in range(len(spoken)))
    return not numbers or together


def by_sheets(sql: str, database: TableDatabase) -> dict[str, str]:
    """A query over sheets that are joined, which chooses none of them, for each by its name; empty
    for any other. Raises QueryError."""
    node = database.tree(sql)
    opened = _only_read(node, database)
    if opened is None or opened.sheet is None or opened.sheet.sql_name in columns(node):
        return {}
    chosen = f"{{0}}.{opened.sheet.sql_name} = "
    names = map(called, opened.parts)
    return {one: database.narrowed(sql, opened, f"{chosen}{literal(one)}") for one in names}


def _only_read(node: Node, database: TableDatabase) -> OpenTable | None:
    """The table that a query reads, if that is one."""
    read = [one for one in database.tables if one.sql_name in tables_read(node)]
    return read[0] if len(read) == 1 else None


def _called(opened: OpenTable) -> frozenset[str]:
    """The words of what a table is called."""
    names = [opened.table.name, opened.table.title, *(part.name for part in opened.parts)]
    return frozenset(word for name in names for word in compared(name))


def unfounded(sql: str, database: TableDatabase) -> str:
    """Why what a query gives rests on no row; "" if it does. Raises QueryError."""
    node = database.tree(sql)
    if not columns(node) and "count_star" not in functions(node):
        return "Its figure is of no column: select one, or count rows."
    return "Its rows have no order: order them by a column." if _takes_any(node, database) else ""


def _takes_any(node: Node, database: TableDatabase) -> bool:
    """Whether a query takes the first of rows that have no order of their own: sheets that are
    joined, or months."""
    opened, kinds = _only_read(node, database), [m["type"] for m in node.get("modifiers", ())]
    orders = [one["expression"] for m in node.get("modifiers", ()) for one in m.get("orders", ())]
    by_row = bool(orders) and frozenset.union(*map(columns, orders)) == {ROW_ID}
    several = opened is not None and len(opened.pieces) > 1
    return several and by_row and "LIMIT_MODIFIER" in kinds


def _reading(node: Node, source: Node, other: str, database: TableDatabase) -> str:
    """A query that reads another table in the place of its only one."""
    for each in nodes(node):
        qualified = each.get("column_names") or []
        if len(qualified) > 1 and qualified[0].lower() == source["table_name"].lower():
            qualified[0] = other
    alias = f" AS {source['alias']}" if source.get("alias") else ""
    source |= database.tree(f"SELECT 1 FROM {other}{alias}")["from_table"]
    return database.written(node)


def figure_by_sheet(sql: str, result: Result, database: TableDatabase) -> dict[str, Result]:
    """The only figure of a query over several sheets for each of them: whoever asked for one of
    them sees it, too."""
    if len(result.rows) != 1 or len(result.columns) != 1 or not result.operations:
        return {}
    with suppress(QueryError):
        queries = by_sheets(sql, database)
        if len(queries) <= _SHEETS:
            found = {name: database.run(one) for name, one in queries.items()}
            return {name: each for name, each in found.items() if len(each.rows) == 1}
    return {}


def no_share(sql: str, result: Result) -> str:
    """Why a part of a sum is no share of it: amounts of both signs come together in it. Empty where
    it is one, or the query asks for none."""
    if not _SHARE.search(sql):
        return ""
    whole = 100 if "100" in sql else 1
    said = [v for row in result.rows for v in row if isinstance(v, int | float | Decimal)]
    if all(0 <= value <= whole for value in said):
        return ""
    return (
        "That is no share: amounts of both signs are added up in it. Leave out those of one sign."
    )


def in_the_filled_column(
    sql: str, question: str, database: TableDatabase
) -> tuple[str, Result, str]:
    """A query with the column of figures of which its rows have any, its result and its sentence,
    where a row has them in one of two and the question does not name the empty one: bills are
    money out. Raises QueryError."""
    asked = [word for word in compared(question) if word not in STOPWORDS]
    pair = either_or(sql, database)
    own, other = (compared(column.name) for column in pair) if pair else ([], [])
    if pair and not alike([word for word in own if word not in other], asked):
        filled = with_column(sql, *pair, database)
        result = database.run(filled)
        if result.says_something and result.operations:
            return filled, result, re.sub(r"[{}]", "", pair[1].name) + ": {0}"
    raise QueryError("No row is found by this query.")


def either_or(sql: str, database: TableDatabase) -> tuple[Column, Column] | None:
    """The only column of figures that a query of one table computes with, and the only other one of
    which a row has none then. Raises QueryError."""
    node = database.tree(sql)
    opened = _only_read(node, database)
    if opened is None:
        return None
    shown = [
        c for at, c in enumerate(opened.table.columns) if at not in opened.table.hidden_columns
    ]
    measures = [column for column in shown if column.kind.is_measure and not column.units]
    own = [column for column in measures if column.sql_name in columns(node)]
    if len(own) != 1:
        return None
    others = [c for c in measures if c is not own[0] and _never_both(own[0], c, opened, database)]
    return (own[0], others[0]) if len(others) == 1 else None


def _never_both(one: Column, other: Column, opened: OpenTable, database: TableDatabase) -> bool:
    a, b = (f"coalesce({column.sql_name}, 0) <> 0" for column in (one, other))
    asked = (
        f"SELECT count(*) FILTER ({a} AND {b}), count(*) FILTER ({a}), count(*) FILTER ({b}) "
        f"FROM {opened.sql_name}"
    )
    together, first, second = database.fetch(asked).rows[0]
    return not together and bool(first and second)


def with_column(sql: str, own: Column, other: Column, database: TableDatabase) -> str:
    """A query with another column in the place of its own. Raises QueryError."""
    return database.written(_replaced(database.tree(sql), own, other))


def with_column_beside(sql: str, own: Column, other: Column, database: TableDatabase) -> str:
    """A query that gives what it gives of its own column of another, too; empty if it chooses rows
    by its own. Raises QueryError."""
    node = database.tree(sql)
    chosen = {part: node.get(part) for part in ("where_clause", "group_expressions", "having")}
    if own.sql_name in columns(chosen) or "select_list" not in node:
        return ""
    given = [one for one in node["select_list"] if own.sql_name in columns(one)]
    beside = [_replaced({**deepcopy(one), "alias": ""}, own, other) for one in given]
    return database.written({**node, "select_list": [*node["select_list"], *beside]})


def _replaced(node: Node, own: Column, other: Column) -> Node:
    for each in nodes(node):
        names = each.get("column_names")
        if names and names[-1].lower() == own.sql_name:
            names[-1] = other.sql_name
    return node


def _without_titles(sql: str, database: TableDatabase) -> str:
    """A query of one table that holds none of its rows against what the table itself is called:
    no ticket of the sheet "Spring concert" says that it is of the spring concert."""
    node = database.tree(sql)
    read = _only_read(node, database)
    if read is None:
        return sql
    known, changed = _read(node, database), False
    for each in list(nodes(node)):
        if each.get("type") != "COMPARE_EQUAL" and each.get("function_name") not in ("~~", "~~*"):
            continue
        words = compared(" ".join(one.text for one in text_conditions(each)))
        if not words or not _called(read).issuperset(words) or any(map(str.isdigit, words)):
            continue
        if columns(each) <= known.keys() and _is_met(each, node.get("from_table"), database):
            continue
        _become(each, _expression("true", database))
        changed = True
    return database.written(node) if changed else sql


def _is_met(condition: Node, source: Node | None, database: TableDatabase) -> bool:
    """Whether any row meets a condition; also where that cannot be asked by itself."""
    with suppress(QueryError):
        asked = {**database.tree("SELECT 1 LIMIT 1"), "from_table": source}
        return bool(database.fetch(database.written({**asked, "where_clause": condition})).rows)
    return True


def _names(node: Node) -> frozenset[str]:
    """The columns of a query that it does not name itself."""
    own = {str(each["alias"]).lower() for each in nodes(node) if each.get("alias")}
    own |= {each["key"].lower() for each in nodes(node) if isinstance(each.get("key"), str)}
    return columns(node) - own


def _of_known_columns(sql: str, database: TableDatabase) -> str:
    node = database.tree(sql)
    known, unknown = _read(node, database), _names(node)
    unknown -= known.keys()
    changed = _without_no_table(node, database)
    for each in nodes(node):
        names = each.get("column_names")
        if not names or names[-1].lower() not in unknown:
            continue
        found = _meant(names[-1].lower(), known)
        if found:
            names[-1], changed = found, True
    return database.written(node) if changed else sql


def _without_no_table(node: Node, database: TableDatabase) -> bool:
    """A SELECT from what other databases call no table is one from nothing."""
    changed = False
    for each in list(nodes(node)):
        source = each.get("from_table") or {}
        if str(source.get("table_name", "")).lower() == _NO_TABLE:
            each["from_table"] = database.tree("SELECT 1")["from_table"]
            changed = True
    return changed


def _read(node: Node, database: TableDatabase) -> dict[str, Column]:
    return columns_read(tables_read(node), database.tables)


def _meant(name: str, columns: Mapping[str, Column]) -> str:
    """The column that a name is nearly, is a part of, or is the kind of; empty if that is none, or
    more than one."""
    of_value = next(
        (c for c in columns if name in (columns[c].text_name, columns[c].unit_name)), ""
    )
    if of_value:
        return of_value
    near = {column.sql_name for column in columns.values() if _nearly(name, column.sql_name)}
    if near:
        return _only([*near])
    kinds = {column.sql_name: column.kind for column in columns.values()}
    return _only([c for c, kind in kinds.items() if kind.value == name and not kind.is_measure])


def _nearly(one: str, other: str) -> bool:
    """Whether the words of one name are all among those of the other, or nearly those. Letters
    alone do not tell: the price of storing is no price of sale."""
    words, others = set(one.split("_")), set(other.split("_"))
    return len(alike([*others], [*words])) == len(words) or (
        len(alike([*words], [*others])) == len(others)
    )


def _only(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else ""


def _of_words(sql: str, question: str, database: TableDatabase) -> str:
    """A query that looks for a text inside of others finds it where a word begins with it, if any
    does: "fee" is in no "coffee". What no word begins with is looked for inside of words, as some
    languages join them, if it has letters enough to be one. A letter or two that nobody typed and
    that are no word choose nothing: "s0" of "S02"."""
    node = database.tree(sql)
    known, read = _read(node, database), tables_read(node)
    only = not any(each.get("type") == "CONJUNCTION_OR" for each in nodes(node))
    changed = False
    for each in list(nodes(node)):
        sign = str(each.get("function_name"))
        if sign not in _LIKES:
            continue
        held, text = (one["expression"] for one in each["arguments"])
        inside = _INSIDE.fullmatch(str((text.get("literal") or {}).get("text", "")))
        names = [one["column_names"][-1].lower() for one in nodes(held) if "column_names" in one]
        column = known.get(names[0]) if len(names) == 1 else None
        tables = [o.sql_name for o in database.tables if column in o.table.columns]
        table = next((name for name in tables if name in read), "")
        if not inside or column is None or not table or column.kind is not ColumnKind.TEXT:
            continue
        if only and _is_part_of_word(inside[1], question, column, table, database):
            _become(each, _expression("true", database))
            changed = True
        elif _begins_words(inside[1], column, table, database):
            pattern = literal(at_word(inside[1], any_case=sign.endswith("*")))
            not_ = "NOT " if sign.startswith("!") else ""
            made = _expression(f"{not_}regexp_matches('', {pattern})", database)
            (call,) = (one for one in nodes(made) if one.get("class") == "FUNCTION")
            call["arguments"][0]["expression"] = held
            _become(each, made)
            changed = True
    return database.written(node) if changed else sql


def _expression(sql: str, database: TableDatabase) -> Node:
    expression: Node = database.tree(f"SELECT {sql}")["select_list"][0]
    return expression


def _become(node: Node, other: Node) -> None:
    node.clear()
    node.update(other)


def _of_nothing(sql: str, database: TableDatabase) -> str:
    """A query for rows without a figure, in a column that has one everywhere, finds those with 0:
    who has paid nothing."""
    node = database.tree(sql)
    known, opened = _read(node, database), _only_read(node, database)
    if opened is None or any(each.get("type") == "JOIN" for each in nodes(node)):
        return sql
    changed = False
    for each in list(nodes(node)):
        held = columns(each) if each.get("type") == "OPERATOR_IS_NULL" else frozenset()
        column = known.get(next(iter(held))) if len(held) == 1 else None
        if column and column.kind.is_measure and _has_zeros_alone(column, opened, database):
            _become(each, {**_expression("a = 0", database), "left": each["children"][0]})
            changed = True
    return database.written(node) if changed else sql


def _has_zeros_alone(column: Column, opened: OpenTable, database: TableDatabase) -> bool:
    """Whether a column has figures in all rows, some of them 0."""
    name = column.sql_name
    counts = f"SELECT count(*) FILTER ({name} IS NULL), count(*) FILTER ({name} = 0)"
    empty, zeros = database.fetch(f"{counts} FROM {opened.sql_name}").rows[0]
    return bool(zeros and not empty)


def _is_part_of_word(
    text: str, question: str, column: Column, table: str, database: TableDatabase
) -> bool:
    """Whether a letter or two, which nobody typed, stand in words of a column, and are none."""
    if len(text) >= _FEW or text.lower() in compared(question):
        return False
    quoted = literal(text.lower())
    word = literal(rf"(^|\W){re.escape(text.lower())}(\W|$)")
    low = f"lower({column.sql_name})"
    inside, alone = database.fetch(
        f"SELECT count(*) FILTER (contains({low}, {quoted})), "
        f"count(*) FILTER (regexp_matches({low}, {word})) FROM {table}"
    ).rows[0]
    return bool(inside and not alone)


def _begins_words(text: str, column: Column, table: str, database: TableDatabase) -> bool:
    """Whether words of a column of texts begin with a text, and others have it inside; of a few
    letters, whether words have it inside alone."""
    low = f"lower({column.sql_name})"
    quoted, pattern = literal(text.lower()), literal(at_word(text.lower()))
    begun, inside = database.fetch(
        f"SELECT count(*) FILTER (regexp_matches({low}, {pattern})), "
        f"count(*) FILTER (contains({low}, {quoted})) FROM {table}"
    ).rows[0]
    return begun < inside and (begun > 0 or len(text) < _WORD)
