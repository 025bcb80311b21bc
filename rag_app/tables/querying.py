"""Chosen tables in a database of their own, in memory, that is asked in SQL and cannot do anything
else: one SELECT at a time, no files, no network, no settings, so much time and memory.

A result says which rows of the tables it rests on. Knows nothing of questions."""

from __future__ import annotations

import datetime as dt
import json
import math
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

from rag_app.errors import QueryError, QueryRefused, QueryStopped
from rag_app.storage.contents import Tables
from rag_app.tables.building import ROW_ID
from rag_app.tables.columnar import unpack_values
from rag_app.tables.explaining import (
    Node,
    TextCondition,
    aggregates,
    columns,
    durations,
    is_average,
    no_number,
    nodes,
    operations,
    row_filters,
    text_conditions,
)
from rag_app.tables.joining import (
    OpenTable,
    months_of,
    named,
    selected,
    unfolded,
)
from rag_app.tables.naming import write_alike
from rag_app.tables.values import in_calendar
from rag_app.types import Column, ColumnKind, Operation, RowFilter, Table

if TYPE_CHECKING:
    import duckdb

_TABLE_FUNCTIONS = frozenset(["unnest", "range", "generate_series"])
# One call of these may make gigabytes out of a number, and is not stopped before it has.
_GROWING = frozenset(
    [
        *("repeat", "lpad", "rpad", "printf", "format", "bar", "range", "generate_series"),
        *("list_resize", "array_resize"),
    ]
)
_SOURCES = frozenset(
    ["BASE_TABLE", "JOIN", "SUBQUERY", "EMPTY", "TABLE_FUNCTION", "EXPRESSION_LIST"]
)
_LONGEST_QUERY = 20_000  # characters
_LONGEST_REASON = 300
_FIRST = {"max": "DESC", "min": "ASC"}  # which rows come first behind such a figure
_FOLLOWS = (int, float, Decimal, dt.date, dt.time)  # whose values come one after the other
_SETTINGS = (
    "enable_external_access = false",
    "autoload_known_extensions = false",
    "autoinstall_known_extensions = false",
    "allow_community_extensions = false",
    "ieee_floating_point_ops = false",
    "max_temp_directory_size = '0B'",
    "default_collation = 'NOCASE.NOACCENT'",  # as people type names
    "lock_configuration = true",
)


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """How much one query may cost."""

    seconds: float = 5.0
    memory_mb: int = 1_024  # the tables themselves are in it
    threads: int = 2
    rows: int = 1_000  # of a result
    used_rows: int = 500  # that are named for each row of a result, of each table


@dataclass(frozen=True, slots=True)
class UsedRows:
    """Rows of one table that a result rests on: how many, and the first of them, from 0."""

    table: Table
    count: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """What a query gives.

    `used[i]` are the rows that the i-th row of the result was made of; where that cannot be told
    row by row it is empty, and `read` says which rows went into all of it."""

    columns: tuple[str, ...]
    types: tuple[str, ...]  # DuckDB's
    rows: tuple[tuple[Any, ...], ...]
    used: tuple[tuple[UsedRows, ...], ...] = ()
    read: tuple[UsedRows, ...] = ()
    cut: bool = False  # there are more rows
    named: frozenset[str] = frozenset()  # columns that the query speaks of, as it calls them
    operations: tuple[Operation, ...] = ()
    conditions: tuple[TextCondition, ...] = ()
    filters: tuple[RowFilter, ...] = ()  # by columns as it calls them
    durations: frozenset[int] = frozenset()  # columns of it that are in seconds
    averages: bool = False  # it is one figure, the average of rows
    written: Mapping[tuple[int, int], str] = field(default_factory=dict)  # see `as_written`

    @property
    def says_something(self) -> bool:
        """Whether anything came out: a row without a gap, or several of which some have values."""
        if len(self.rows) == 1:
            return all(value is not None for value in self.rows[0])
        return any(value is not None for row in self.rows for value in row)

    @property
    def documents(self) -> set[str]:
        """Those whose rows it was made of, by their ids."""
        rows = [*(one for row in self.used for one in row), *self.read]
        return {one.table.document_id for one in rows}

    @property
    def decides(self) -> bool:
        """Whether it says yes or no at least: no row is there, of those that were looked for, or
        one is of which not everything is known."""
        looked_for = not self.rows and bool(self.named) and not self.operations
        return looked_for or any(value is not None for row in self.rows for value in row)


def run(
    sql: str, tables: Sequence[Table], store: Tables, limits: QueryLimits | None = None
) -> Result:
    """The result of one query over tables. Raises QueryError.

    Who asks the same tables more than once opens them once, as a `TableDatabase`."""
    with TableDatabase(tables, store, limits) as database:
        return database.run(sql)


class TableDatabase:
    """Tables that are open to queries, until it is closed. Not for two threads at once."""

    def __init__(
        self, tables: Sequence[Table], store: Tables, limits: QueryLimits | None = None
    ) -> None:
        """Raises QueryStopped if the tables alone take more memory than there may be."""
        import duckdb

        self.tables = tuple(named(tables))
        self._limits = limits or QueryLimits()
        self._connection = duckdb.connect(
            ":memory:",
            config={
                "threads": str(self._limits.threads),
                "memory_limit": f"{self._limits.memory_mb}MB",
                "python_enable_replacements": "false",
            },
        )
        self._by_name: dict[str, OpenTable] = {}
        with ExitStack() as opened:
            opened.callback(self.close)
            with self._errors():
                self._fill(store)
            opened.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the tables."""
        self._connection.close()

    def _fill(self, store: Tables) -> None:
        filled = []
        for opened in self.tables:
            each = opened
            values = [unpack_values(store.values(part), part.columns) for part in each.parts]
            if months_of(each.table):
                each = unfolded(each, [row for of_part in values for row in of_part.to_pylist()])
            filled.append(each)
            for part, of_part in zip(each.parts, values, strict=True):
                self._connection.register(f"_{part.ordinal}", of_part)
            query = " UNION ALL ".join(selected(each, piece) for piece in each.pieces)
            self._connection.execute(f'CREATE TABLE "{each.sql_name}" AS {query}')
            for part in each.parts:
                self._connection.unregister(f"_{part.ordinal}")
            for column in each.table.columns:
                if column.kind is ColumnKind.TEXT and column not in each.made:
                    write_alike(self._connection, each.sql_name, column.sql_name, each.table.rows)
        self.tables = tuple(filled)
        self._by_name = {each.sql_name: each for each in self.tables}
        for setting in _SETTINGS:
            self._connection.execute(f"SET {setting}")

    def run(self, sql: str) -> Result:
        """The result of one query, with the rows that it rests on. Raises QueryError."""
        with self._errors(), self._in_time():
            node = self._node(sql)
            check(node, frozenset(self._by_name))
            result = self._result(sql, node)
            return replace(
                _in_order(result, node),
                named=columns(node) | result.named,
                operations=operations(node, self._columns),
                conditions=tuple(text_conditions(node)),
                filters=row_filters(node),
                durations=durations(node, self._columns),
                averages=is_average(node),
            )

    def of_named_groups(self, sql: str) -> str:
        """The query without the groups that have no name, if it asks for the first of several: who
        paid most is not nobody. Raises QueryError."""
        with self._errors():
            node = self._node(sql)
            names = [one.get("column_names", [""])[-1] for one in node.get("group_expressions", ())]
            limited = any(m["type"] == "LIMIT_MODIFIER" for m in node.get("modifiers", ()))
            if not limited or not all(names) or not names or node.get("having"):
                return sql
            held = " AND ".join(f'"{name}" IS NOT NULL' for name in names)
            node["having"] = self._node(f"SELECT count(*) HAVING {held}")["having"]
            return self._written(node)

    def tree(self, sql: str) -> Node:
        """What a query is made of. Raises QueryError."""
        with self._errors():
            return self._node(sql)

    def written(self, node: Node) -> str:
        """The query that a tree is of. Raises QueryError."""
        with self._errors():
            return self._written(node)

    def narrowed(self, sql: str, opened: OpenTable, condition: str) -> str:
        """The query over those rows of a table for which a condition holds, `{0}` in which is what
        the query calls the table; unchanged if it does not read it. Raises QueryError."""
        with self._errors():
            node = self._node(sql)
            changed = False
            for select in list(selects(node)):
                for name, source in self._sources(select).items():
                    if source is not opened:
                        continue
                    quoted = name.replace('"', '""')
                    held = condition.replace("{0}", f'"{quoted}"')
                    asked = self._node(f'SELECT 1 FROM "{quoted}" WHERE (1 = 1) AND ({held})')
                    bare = asked["where_clause"]
                    if select.get("where_clause"):
                        bare["children"][0] = select["where_clause"]
                    select["where_clause"], changed = bare, True
            return self._written(node) if changed else sql

    def _result(self, sql: str, node: Node) -> Result:
        sources = self._sources(node)
        if sources and not _is_distinct(node):
            for query in self._with_rows(node, sources):
                with suppress(*_binding_errors()):
                    return self._row_by_row(query, sources)
        return replace(self._fetch(sql), read=self._read_by(node))

    @property
    def _columns(self) -> dict[str, Column]:
        """The columns of all tables by their names in queries."""
        return {c.sql_name: c for each in reversed(self.tables) for c in each.table.columns}

    def fetch(self, sql: str, most: int = 0) -> Result:
        """The result of a query of our own, without the rows behind it; `most` rows of it, if more
        than any other result has. Raises QueryError."""
        with self._errors(), self._in_time():
            return self._fetch(sql, most)

    def _node(self, sql: str) -> Node:
        if len(sql) > _LONGEST_QUERY:
            raise QueryRefused("The query is too long to be run.")
        text = self._value("SELECT json_serialize_sql(?)", sql.rstrip().rstrip(";"))
        tree: Node = json.loads(text)
        if tree["error"] and tree.get("error_type") == "parser":
            raise QueryError(f"The query is no SQL: {_reason(tree['error_message'])}.")
        if tree["error"] or len(tree["statements"]) != 1:
            raise QueryRefused("Only one SELECT over the chosen tables can be run.")
        node: Node = tree["statements"][0]["node"]
        return node

    def _written(self, node: Node) -> str:
        whole = {"error": False, "statements": [{"node": node, "named_param_map": []}]}
        return self._value("SELECT json_deserialize_sql(?)", json.dumps(whole))

    def _value(self, sql: str, argument: str) -> str:
        row = self._connection.execute(sql, [argument]).fetchone()
        return str(row[0]) if row else ""

    def _sources(self, node: Node) -> dict[str, OpenTable]:
        """The tables that a SELECT reads, by the names it calls them; empty if it reads others."""
        found: dict[str, OpenTable] = {}
        waiting = [node.get("from_table") or {}]
        if node.get("type") != "SELECT_NODE":
            return {}
        while waiting:
            source = waiting.pop()
            if source.get("type") == "JOIN":
                waiting += [source["left"], source["right"]]
                continue
            table = self._by_name.get(_lower(source.get("table_name")))
            if source.get("type") != "BASE_TABLE" or table is None:
                return {}
            found[source.get("alias") or source["table_name"]] = table
        ours = {_lower(each["key"]) for each in node.get("cte_map", {}).get("map", [])}
        return {} if ours & {_lower(name) for name in found} else found

    def _with_rows(self, node: Node, sources: dict[str, OpenTable]) -> Iterator[str]:
        """The query with the numbers of the rows behind its columns: of one, or of a group."""
        whole = _has_groups(node)
        many = self._many_rows(sources, node)
        for expressions in ([] if whole else [_one_row(sources)], [many]):
            for each in expressions:
                added = self._node(f"SELECT {each}")["select_list"]
                yield self._written({**node, "select_list": node["select_list"] + added})

    def _many_rows(self, sources: dict[str, OpenTable], node: Node | None = None) -> str:
        first, held = self._contributing(node) if node else ("", "")
        several, most = len(sources) > 1, self._limits.used_rows
        only = f" FILTER (WHERE {held})" if held else ""
        found = []
        for name, opened in sources.items():
            row = _row_id(name)
            once = f"DISTINCT {row}" if several else row
            order = "" if several else first or f" ORDER BY {row}"
            rows = f"list({once}{order}){only}"
            rows = f"list_sort({rows})" if several else rows
            # those of several sheets are told apart here, and counted
            found.append(f"list_slice({rows}, 1, {most})" if len(opened.pieces) == 1 else rows)
            found.append(f"count({once}){only}")
        return ", ".join(found)

    def _contributing(self, node: Node) -> tuple[str, str]:
        """What puts the rows first that decide a largest or a least, and what leaves those out that
        no figure of a SELECT is made of: they are filtered, or hold nothing where it looks."""
        found = aggregates(node)
        each: list[str] = []
        for one in found:
            arguments = [self._text(argument["expression"]) for argument in one["arguments"]]
            held = [f"({argument}) IS NOT NULL" for argument in arguments]
            held += [self._text(one["filter"])] if one.get("filter") else []
            if not held:  # all rows are counted
                return "", ""
            each.append(f"({' AND '.join(held)})")
        if not each:
            return "", ""
        first = ""
        if len(found) == 1 and (order := _FIRST.get(_lower(found[0]["function_name"]))):
            first = f" ORDER BY {self._text(found[0]['arguments'][0]['expression'])} {order}"
        return first, f"({' OR '.join(dict.fromkeys(each))})"

    def _text(self, expression: Node) -> str:
        """An expression as it is written in a query."""
        asked = {**self._node("SELECT 1"), "select_list": [expression]}
        return self._written(asked).removeprefix("SELECT ")

    def _row_by_row(self, query: str, sources: dict[str, OpenTable]) -> Result:
        result = self._fetch(query)
        width = len(result.columns) - 2 * len(sources)
        behind = [self._used_by(sources, row[width:]) for row in result.rows]
        nothing = () if behind else tuple(UsedRows(t.parts[0], 0, ()) for t in sources.values())
        return replace(
            result,
            columns=result.columns[:width],
            types=result.types[:width],
            rows=tuple(row[:width] for row in result.rows),
            used=tuple(used for used, _ in behind),
            read=nothing,
            named=frozenset(month for _, months in behind for month in months),
        )

    def _used_by(
        self, sources: Mapping[str, OpenTable], numbers: Sequence[Any]
    ) -> tuple[tuple[UsedRows, ...], set[str]]:
        """The rows of the document's tables, and the columns that are months of which they are,
        from what a query gives of each source: the numbers of its rows, and how many."""
        found: list[UsedRows] = []
        months: set[str] = set()
        for place, opened in enumerate(sources.values()):
            rows, count = numbers[2 * place : 2 * place + 2]
            pieces = opened.pieces
            if len(pieces) == 1:
                found.append(_used(opened.table, rows, count))
                continue
            firsts = [piece.first for piece in pieces]
            by_part: dict[int, dict[int, None]] = {}
            for row in _used(opened.table, rows, count).rows:
                piece = pieces[bisect_right(firsts, row) - 1]
                by_part.setdefault(id(piece.table), {})[row - piece.first] = None
                months |= {piece.month.sql_name} if piece.month else set()
            for part in opened.parts if by_part else ():
                held = [*by_part.get(id(part), ())]
                kept = tuple(held[: self._limits.used_rows])
                found += [UsedRows(part, len(held), kept)] if held else []
            found += [] if by_part else [UsedRows(opened.parts[0], 0, ())]
        return tuple(found), months

    def _read_by(self, node: Node) -> tuple[UsedRows, ...]:
        """The rows that every SELECT of a query reads which reads tables itself."""
        found: dict[int, UsedRows] = {}
        for each in selects(node):
            sources = self._sources(each)
            if not sources:
                continue
            bare = self._node(f"SELECT {self._many_rows(sources)}")
            for part in ("from_table", "where_clause"):
                if part in each:
                    bare[part] = each[part]
            with suppress(*_binding_errors()):
                row = self._fetch(self._written(bare)).rows[0]
                for used in self._used_by(sources, row)[0]:
                    found[id(used.table)] = _most(found.get(id(used.table)), used)
        return tuple(found.values())

    def _fetch(self, query: str, most: int = 0) -> Result:
        asked = self._connection.execute(query)
        most = max(most, self._limits.rows)
        described = asked.description or []
        rows = asked.fetchmany(most + 1)
        if any(isinstance(v, float) and not math.isfinite(v) for row in rows for v in row):
            raise QueryError(no_number(self._node(query)))
        return Result(
            tuple(each[0] for each in described),
            tuple(str(each[1]) for each in described),
            tuple(map(tuple, rows[:most])),
            cut=len(rows) > most,
        )

    @contextmanager
    def _in_time(self) -> Iterator[None]:
        timer = threading.Timer(self._limits.seconds, self._connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """What DuckDB raises, as an error in one sentence."""
        import duckdb

        try:
            yield
        except duckdb.InterruptException as error:
            raise QueryStopped(
                f"The query takes more than the {self._limits.seconds:g} seconds it may."
            ) from error
        except (duckdb.OutOfMemoryException, MemoryError) as error:
            raise QueryStopped(
                f"The query takes more than the {self._limits.memory_mb:,} MB of memory it may."
            ) from error
        except duckdb.PermissionException as error:
            raise QueryRefused("A query may read the chosen tables and nothing else.") from error
        except duckdb.Error as error:
            if "division by zero" in str(error).lower():
                raise QueryError("The query divides by zero.") from error
            said = _reason_of(error, self._columns)
            raise QueryError(f"The query cannot be run: {said}.") from error


def _has_groups(node: Node) -> bool:
    return bool(
        node.get("group_expressions") or node.get("aggregate_handling") == "FORCE_AGGREGATES"
    )


def _figure_first(node: Node) -> bool:
    return bool(aggregates({**node, "select_list": node["select_list"][:1]}))


def _in_order(result: Result, node: Node) -> Result:
    """Groups that no order was asked for: days, years and months as they follow, others from the
    largest figure to the least; equal ones as the table has them."""
    if not _has_groups(node) or node.get("modifiers") or result.cut or not result.used:
        return result
    firsts = [row[0] for row in result.rows]
    keys: list[tuple[Any, Any]]
    if all(isinstance(one, str) for one in firsts) and (places_in_time := in_calendar(firsts)):
        keys = [(0, at) for at in places_in_time]
    elif any(isinstance(one, _FOLLOWS) for one in firsts) and not _figure_first(node):
        keys = [(one is None, one) for one in firsts]
    elif all(isinstance(row[-1], int | float | Decimal) for row in result.rows):
        keys = [(0, -row[-1]) for row in result.rows]
    else:
        return result
    places = [min((used.rows[0] for used in each if used.rows), default=0) for each in result.used]
    order = sorted(range(len(firsts)), key=lambda at: (*keys[at], places[at]))
    rows, used = (tuple(held[at] for at in order) for held in (result.rows, result.used))
    return replace(result, rows=rows, used=used)


def _binding_errors() -> tuple[type[duckdb.Error], ...]:
    """What says that the numbers of rows cannot be asked for in this way."""
    import duckdb

    return (duckdb.BinderException, duckdb.NotImplementedException, duckdb.CatalogException)


def check(node: Node, tables: frozenset[str]) -> None:
    """Whether a query reads these tables and nothing else. Raises QueryRefused."""
    known = tables | {_lower(each["key"]) for each in nodes(node) if "key" in each}
    sources = [each["function"] for each in nodes(node) if each.get("type") == "TABLE_FUNCTION"]
    for each in nodes(node):
        if isinstance(each.get("from_table"), dict):
            _check_source(each["from_table"], known)
    for each in nodes(node):
        if each.get("type") == "BASE_TABLE":
            _check_source(each, known)
        name = _lower(each.get("function_name"))
        if name in _GROWING and not any(each is one for one in sources):
            raise QueryRefused(f"A query may not call {name}: what it makes has no bounds.")
        if each.get("type") == "TABLE_FUNCTION" and "function" in each:
            _check_source(each, known)


def _check_source(source: Node, known: frozenset[str]) -> None:
    kind = source.get("type")
    if kind not in _SOURCES:
        raise QueryRefused("A query may read the chosen tables and nothing else.")
    if kind == "BASE_TABLE":
        apart = source.get("schema_name") or source.get("catalog_name")
        if apart or _lower(source.get("table_name")) not in known:
            raise QueryRefused(f"There is no table called “{source.get('table_name')}” here.")
    name = source.get("function", {}).get("function_name")
    if kind == "TABLE_FUNCTION" and name not in _TABLE_FUNCTIONS:
        raise QueryRefused(f"A query may not call {name}: it reads the chosen tables only.")


def selects(node: Node) -> Iterator[Node]:
    """The SELECTs in a query."""
    return (each for each in nodes(node) if each.get("type") == "SELECT_NODE")


def _is_distinct(node: Node) -> bool:
    kinds = [each.get("type") for each in node.get("modifiers", [])]
    return "DISTINCT_MODIFIER" in kinds


def _lower(name: object) -> str:
    return str(name or "").lower()


def _row_id(name: str) -> str:
    quoted = name.replace('"', '""')
    return f'"{quoted}".{ROW_ID}'


def _one_row(sources: Mapping[str, OpenTable]) -> str:
    return ", ".join(f"{_row_id(name)}, 1" for name in sources)


def _used(table: Table, rows: int | list[int] | None, count: int) -> UsedRows:
    listed = [] if rows is None else [rows] if isinstance(rows, int) else rows
    kept = tuple(row for row in listed if row is not None)
    return UsedRows(table, count if kept else 0, kept)


def _most(one: UsedRows | None, other: UsedRows) -> UsedRows:
    """Both together; where rows are many, about as many as the larger has."""
    if one is None:
        return other
    rows = tuple(sorted({*one.rows, *other.rows}))
    return UsedRows(one.table, max(one.count, other.count, len(rows)), rows)


def _reason_of(error: duckdb.Error, columns: Iterable[str]) -> str:
    """What is wrong with a query. Of what went wrong with a cell only the kind and the column: a
    writer is told it, and what the cell says would be an instruction."""
    import duckdb

    if isinstance(error, (*_binding_errors(), duckdb.SyntaxException, duckdb.ParserException)):
        return _reason(str(error))
    kind = type(error).__name__.removesuffix("Exception")
    named = (name for name in columns if f"casting from source column {name}\n" in str(error))
    return f"{kind} error" + next((f" in the column {name}" for name in named), "")


def _reason(message: str) -> str:
    """The first line of what DuckDB says, without the name of the error."""
    first = message.strip().split("\n", 1)[0]
    said = first.partition("Error: ")[2] or first
    return said[:_LONGEST_REASON].rstrip(" .!")
