"""Queries that name what is not there, mended where only one thing can be meant. A small language
model calls a column of dates "date" though it is called "day", guesses a year that nobody said, and
forgets one that somebody did.

Structure decides: names, kinds and values of the columns that are read. Knows nothing of models."""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Mapping, Sequence

from rag_app.tables.describing import alike
from rag_app.tables.explaining import Node, nodes
from rag_app.tables.querying import TableDatabase
from rag_app.types import Column, ColumnKind

_DATE = re.compile(r"'(\d{4})(-\d\d-\d\d)'")
# A column that is held against the beginning of a date; as DuckDB writes a query, ~~* is ILIKE.
_PERIOD = r"""((?:"?\w+"?\.)?"?\bNAME\b"?)\s*(?:=|I?LIKE|~~\*?)\s*'(\d{4}(?:-\d\d)?)%?'"""
_VERBS = ("March", "May")  # which are months where they begin with a capital
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_NO_TABLE = "dual"  # as Oracle calls it
_OF_TIME = frozenset([ColumnKind.DATE, ColumnKind.TIME])


def mended(sql: str, question: str, database: TableDatabase) -> str:
    """The query with the columns and the year that are there. Raises QueryError."""
    known = _within_periods(_of_known_columns(sql, database), database)
    return _of_known_years(known, question, database)


def left_out(sql: str, question: str, titles: str, database: TableDatabase) -> str:
    """A figure or an English month of a question that is not in its query, nor goes without saying:
    in the titles of the tables, or as the only year of their dates. Empty: there is none. Raises
    QueryError."""
    years = _years(sql, database)
    held = f"{sql} {titles} {' '.join(years) if len(years) == 1 else ''}"
    for number, month in enumerate(calendar.month_name[1:], start=1):
        named = month if month in _VERBS else f"(?i:{month})"
        in_query = rf"(?i)\b{month[:3]}|-{number:02}\b|\b0?{number}\b"
        if re.search(rf"\b{named}\b", question) and not re.search(in_query, held):
            return month
    for written in _FIGURE.findall(question):
        plain = (
            written.lstrip("0") if written.isdigit() else re.sub(r"[.,](?=\d{3}\b)", "", written)
        )
        if plain.replace(",", ".") not in held:
            return str(written)
    return ""


def _of_known_columns(sql: str, database: TableDatabase) -> str:
    node = database.tree(sql)
    columns = _read(node, database)
    own = {str(each["alias"]).lower() for each in nodes(node) if each.get("alias")}
    own |= {each["key"].lower() for each in nodes(node) if isinstance(each.get("key"), str)}
    changed = _without_no_table(node, database)
    for each in nodes(node):
        names = each.get("column_names")
        if not names or names[-1].lower() in columns.keys() | own:
            continue
        found = _meant(names[-1].lower(), columns)
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
    """The columns of the tables that a query reads, by what queries call them."""
    read = {str(each.get("table_name", "")).lower() for each in nodes(node)}
    found: dict[str, Column] = {}
    for opened in database.tables:
        if opened.sql_name in read:
            for column in opened.table.columns:
                found[column.sql_name] = column
                found |= {column.text_name: column} if column.has_text else {}
                found |= {column.unit_name: column} if column.units else {}
    return found


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


def _within_periods(sql: str, database: TableDatabase) -> str:
    """A query that holds days against a year, or a month of one, finds those that lie in it."""
    for name, column in _read(database.tree(sql), database).items():
        if column.kind in _OF_TIME and name == column.sql_name:
            of_column = _PERIOD.replace("NAME", re.escape(name))
            sql = re.sub(of_column, r"CAST(\1 AS VARCHAR) LIKE '\2%'", sql, flags=re.IGNORECASE)
    return sql


def _of_known_years(sql: str, question: str, database: TableDatabase) -> str:
    """A query whose dates lie in the only year of which there are any, if the question names none:
    who asks for November means that of the sheet."""
    guessed = {year for year, _ in _DATE.findall(sql) if year not in question}
    years = _years(sql, database) if guessed else set()
    if len(years) != 1 or guessed <= years:
        return sql
    (year,) = years

    def moved(found: re.Match[str]) -> str:
        day = f"{year}{found[2]}"
        return f"'{day}'" if found[1] in guessed and _is_day(day) else found[0]

    return _DATE.sub(moved, sql)


def _is_day(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _years(sql: str, database: TableDatabase) -> set[str]:
    """The years of all dates in the tables that a query reads."""
    node = database.tree(sql)
    read = {str(each.get("table_name", "")).lower() for each in nodes(node)}
    found: set[str] = set()
    for opened in database.tables:
        if opened.sql_name in read:
            for column in opened.table.columns:
                if column.kind in _OF_TIME:
                    name = column.sql_name
                    asked = f"SELECT DISTINCT year({name}) FROM {opened.sql_name}"
                    rows = database.fetch(f"{asked} WHERE {name} IS NOT NULL LIMIT 2").rows
                    found |= {f"{row[0]:04}" for row in rows}
    return found
