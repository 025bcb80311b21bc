"""The days and months of queries, mended where only one thing can be meant. A small language model
guesses a year that nobody said, holds days against a year or the first of a month where it means
all of it, and numbers the months of several years alike. Knows nothing of models."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence, Set

from rag_app.retrieval.ranking import STOPWORDS
from rag_app.tables.explaining import Node, nodes, tables_read
from rag_app.tables.joining import columns_read
from rag_app.tables.querying import TableDatabase, selects
from rag_app.tables.values import Convention, date
from rag_app.text.languages import compared, month_called
from rag_app.types import Column, ColumnKind

OF_TIME = frozenset([ColumnKind.DATE, ColumnKind.TIME])
# A day, maybe of a DATE or a cast, and the sign before it of what ends before it.
_DATE = re.compile(r"(<\s*(?:\w+[\s(]\s*)?)?'(\d{4})-(\d\d-\d\d)'")
_NEW_YEAR = "01-01"
# A column that is held against the beginning of a date; as DuckDB writes a query, ~~* is ILIKE.
_PERIOD = r"""((?:"?\w+"?\.)?"?\bNAME\b"?)\s*(?:=|I?LIKE|~~\*?)\s*'(\d{4}(?:-\d\d)?)%?'"""
# A column that is held against the first day of a month, as a writer or DuckDB writes it.
_FIRST_DAY = re.compile(
    r"""(?i)((?:"?\b\w+"?\.)?"?\b\w+\b"?)\s*=\s*"""
    r"""(?:DATE\s*'(\d{4})-(\d\d)-01'|'(\d{4})-(\d\d)-01'|"""
    r"""CAST\('(\d{4})-(\d\d)-01' AS "?DATE"?\))"""
)
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_MONTHS, _DAYS = re.compile("%[mBb]"), re.compile("%[djxc]")


def within_periods(sql: str, database: TableDatabase) -> str:
    """A query that holds days against a year, or a month of one, finds those that lie in it."""
    for name, column in _columns(database.tree(sql), database).items():
        if column.kind in OF_TIME and name == column.sql_name:
            of_column = _PERIOD.replace("NAME", re.escape(name))
            sql = re.sub(of_column, r"CAST(\1 AS VARCHAR) LIKE '\2%'", sql, flags=re.IGNORECASE)
    return sql


def _columns(node: Node, database: TableDatabase) -> dict[str, Column]:
    return columns_read(tables_read(node), database.tables)


def of_named_periods(sql: str, question: str) -> str:
    """A query that holds days against the first of a month, where the question names no day, is
    about that month, or its year: whoever joined in 2026 did not join on New Year's Day."""
    figures = {int(one) for one in _FIGURE.findall(question) if one.isdigit()}
    words = compared(question)

    def period(found: re.Match[str]) -> str:
        year, number = filter(None, found.groups()[1:])
        if 1 in figures or int(year) not in figures or _may_name_day(words, int(number), sql):
            return found[0]
        names_month = int(number) in figures or any(map(month_called, words))
        return f"{found[1]} = '{year}-{number}'" if names_month else f"{found[1]} = '{year}'"

    return _FIRST_DAY.sub(period, sql)


def _may_name_day(words: Sequence[str], number: int, sql: str) -> bool:
    """Whether a word beside the name of a month may be a day of it, as in "the first of October":
    one that means something, and that the query does not speak of."""
    known = STOPWORDS | {*compared(sql)}
    for at, word in enumerate(words):
        if month_called(word) != number:
            continue
        before, after = words[:at], words[at + 1 :]
        if before and date(f"1 {before[-1]} {word} 2000", Convention()):  # "of", between the two
            before = before[:-1]
        beside = [*before[-1:], *after[:1]]
        if any(len(one) > 1 and one.isalpha() and one not in known for one in beside):
            return True
    return False


def by_months(sql: str, database: TableDatabase) -> str:
    """A query that groups by months has each month of each year by its name, as they follow: April
    of this year is not that of the last, and 4 is no month. Where more is done with the number of
    a month than to group and order by it, it stays."""
    node = database.tree(sql)
    known = _columns(node, database)
    times = {name for name, one in known.items() if one.kind in OF_TIME}
    changed = False
    for select in list(selects(node)):
        chosen, groups = select["select_list"], select.get("group_expressions") or []
        grouped = groups or select.get("aggregate_handling") == "FORCE_AGGREGATES"
        dates = {at: held for at, one in enumerate(chosen) if (held := _month_of(one, times))}
        for at, held in dates.items() if grouped else ():
            orders = [o for m in select["modifiers"] for o in m.get("orders", ())]
            own = [chosen[at], *groups, *(one["expression"] for one in orders)]
            if _is_used_besides(chosen[at], own, node, known) or _speaks_of(
                select.get("having"), held
            ):
                continue
            named, order = _named(held, database)
            for one in orders:
                if _is_for(one["expression"], at, chosen[at], times):
                    one["expression"] = order[0]["orders"][0]["expression"]
            if not orders:
                select["modifiers"] = [*order, *select["modifiers"]]
            for place, group in enumerate(groups):
                if _is_for(group, at, chosen[at], times):
                    groups[place] = named
            chosen[at] = {**named, "alias": chosen[at].get("alias") or "month"}
            changed = True
    return database.written(node) if changed else sql


def _named(held: Node, database: TableDatabase) -> tuple[Node, list[Node]]:
    """The month of a day by its name, and what puts these in order."""
    column = database.written({**database.tree("SELECT 1"), "select_list": [held]})
    column = column.removeprefix("SELECT ")
    made = database.tree(f"SELECT strftime({column}, '%B %Y') ORDER BY min({column})")
    return made["select_list"][0], made["modifiers"]


def _is_used_besides(
    chosen: Node, own: Sequence[Node], node: Node, known: Mapping[str, Column]
) -> bool:
    """Whether a query calls what it chooses by its name anywhere but in some parts of its own."""
    alias = str(chosen.get("alias") or "").lower()
    if not alias or alias in known:
        return False
    called = [each for each in nodes(node) if _name(each) == alias]
    return any(not any(each is one for one in own) for each in called)


def _speaks_of(condition: Node | None, held: Node) -> bool:
    return any(_name(each) == _name(held) for each in nodes(condition))


def _name(each: Node) -> str:
    """The column that a part of a query is; empty: it is something else."""
    return str((each.get("column_names") or [""])[-1]).lower()


def _month_of(expression: Node, times: Set[str]) -> Node | None:
    """The column of days whose month an expression is; None: it is something else."""
    name = str(expression.get("function_name", "")).lower()
    given = [one["expression"] for one in expression.get("arguments") or ()]
    text = " ".join(str((one.get("literal") or {}).get("text", "")) for one in given)
    held = [one for one in given if one.get("column_names")]
    if len(held) != 1 or _name(held[0]) not in times:
        return None
    of_part = name in ("date_part", "date_trunc") and text.strip().lower() == "month"
    of_format = name == "strftime" and not _DAYS.search(text) and bool(_MONTHS.search(text))
    return held[0] if name in ("month", "monthname") or of_part or of_format else None


def _is_for(order: Node, at: int, chosen: Node, times: Set[str]) -> bool:
    """Whether something is put in order by a column of a result that is a month."""
    names, alias = order.get("column_names") or [""], str(chosen.get("alias") or "")
    by_name = len(names) == 1 and bool(alias) and names[0].lower() == alias.lower()
    by_place = str((order.get("literal") or {}).get("text", "")) == str(at + 1)
    return by_name or by_place or order.get("type") == "STAR" or bool(_month_of(order, times))


def of_known_years(sql: str, question: str, database: TableDatabase) -> str:
    """A query whose dates all lie out of the only year of which there are any, if the question
    names none: who asks for November means that of the sheet. They are moved together, for they
    may be two ends of a time, and what ends before New Year's Day ends in the year before."""
    dates = [*_DATE.finditer(sql)]
    lie_in = [int(one[2]) - bool(one[1] and one[3] == _NEW_YEAR) for one in dates]
    named = any(str(year) in question for year in (*lie_in, *(one[2] for one in dates)))
    years = years_read(sql, database) if dates and not named else set()
    if len(years) != 1:
        return sql
    (year,) = map(int, years)
    if year in range(min(lie_in), max(lie_in) + 1):
        return sql
    moved = [f"{int(one[2]) + year - min(lie_in):04}-{one[3]}" for one in dates]
    if not all(map(_is_day, moved)):
        return sql
    days = iter(moved)
    return _DATE.sub(lambda found: f"{found[1] or ''}'{next(days)}'", sql)


def _is_day(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def years_read(sql: str, database: TableDatabase) -> set[str]:
    """The years of all dates in the tables that a query reads."""
    read = tables_read(database.tree(sql))
    found: set[str] = set()
    for opened in database.tables:
        if opened.sql_name in read:
            for column in opened.table.columns:
                if column.kind in OF_TIME:
                    name = column.sql_name
                    asked = f"SELECT DISTINCT year({name}) FROM {opened.sql_name}"
                    rows = database.fetch(f"{asked} WHERE {name} IS NOT NULL LIMIT 2").rows
                    found |= {f"{row[0]:04}" for row in rows}
    return found
