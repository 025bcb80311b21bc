"""Columns whose figures are in several units, and queries that would take these together.

Euros and dollars make no sum, and the larger number of the two is not the larger amount. Which
column says the unit, and whether a query adds up or puts in order what is in several, is read from
the tables' values and from the query's tree. Knows nothing of questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from rag_app.errors import QueryError
from rag_app.tables.explaining import Node, columns, nodes, text_conditions
from rag_app.tables.joining import OpenTable, literal
from rag_app.tables.querying import Result, TableDatabase, selects
from rag_app.tables.values import currency
from rag_app.types import Column, ColumnKind

MOST_UNITS = 6  # that a query is asked for one by one
_CURRENCIES = 40  # different texts of a column that may be nothing but currencies
_FIRST = 1_000  # rows
_COUNTS = frozenset(["count", "count_star"])
_TOGETHER = frozenset(
    [
        *("sum", "fsum", "sumkahan", "product", "avg", "favg", "mean", "median", "mode"),
        *("min", "max", "arg_max", "arg_min", "argmax", "argmin", "max_by", "min_by"),
        *("quantile", "quantile_cont", "quantile_disc", "stddev", "stddev_pop", "stddev_samp"),
        *("variance", "var_pop", "var_samp"),
    ]
)


@dataclass(frozen=True, slots=True)
class MixedColumn:
    """A column of figures in several units, the column that says which, and what stands there for
    each unit; `None` where nothing does."""

    table: OpenTable
    column: Column
    unit_name: str
    texts: tuple[tuple[str, tuple[str | None, ...]], ...]  # unit, what it is written as

    @property
    def units(self) -> tuple[str, ...]:
        """The units, the most frequent first; empty text: none is said."""
        return tuple(unit for unit, _ in self.texts)

    def condition(self, unit: str) -> str:
        """What holds of the rows in one unit, as a query says it of a table called `{0}`."""
        of = f'{{0}}."{self.unit_name}"'
        written = dict(self.texts)[unit]
        quoted = ", ".join(literal(one) for one in written if one is not None)
        known = [f"{of} IN ({quoted})"] if quoted else []
        return " OR ".join(known + ([f"{of} IS NULL"] if None in written else []))


def mixed_columns(named: Set[str], database: TableDatabase) -> list[MixedColumn]:
    """The columns of open tables, of those that a query names, that are in several units: as their
    cells say, or a column of currencies beside them."""
    found: list[MixedColumn] = []
    for opened in database.tables:
        asked = {c for c in opened.table.columns if c.sql_name in named and c.kind.is_measure}
        if not asked:
            continue
        own = {column: column.unit_name for column in opened.table.columns if column.units}
        for column, unit_name in {**_beside_currencies(opened, database), **own}.items():
            texts = _units(opened, column, unit_name, database) if column in asked else {}
            if 1 < len(texts) <= MOST_UNITS:
                found.append(MixedColumn(opened, column, unit_name, tuple(texts.items())))
    return found


def _units(
    opened: OpenTable, column: Column, unit_name: str, database: TableDatabase
) -> dict[str, tuple[str | None, ...]]:
    """By unit: what stands beside the figures in it, "€" and "EUR" for the same."""
    sql = (
        f'SELECT any_value("{unit_name}"), count(*), min(rowid) FROM "{opened.sql_name}" '
        f'WHERE "{column.sql_name}" IS NOT NULL '
        f'GROUP BY "{unit_name}" ORDER BY 2 DESC, 3 LIMIT {_CURRENCIES}'
    )
    found: dict[str, tuple[str | None, ...]] = {}
    order: dict[str, tuple[int, int]] = {}
    for text, count, first in database.fetch(sql).rows:
        unit = "" if text is None else currency(str(text).strip()) or str(text)
        found[unit] = (*found.get(unit, ()), text)
        before, earliest = order.get(unit, (0, first))
        order[unit] = before - count, min(earliest, first)
    return {unit: found[unit] for unit in sorted(found, key=lambda unit: order[unit])}


def _beside_currencies(opened: OpenTable, database: TableDatabase) -> dict[Column, str]:
    """Figures without a unit of their own in the columns next to one that holds nothing but
    currencies, and that one: those before it, or else those behind."""
    every = opened.table.columns
    found: dict[Column, str] = {}
    for at, column in enumerate(every):
        if column.kind is ColumnKind.TEXT and _are_currencies(opened, column, database):
            before, behind = list(_figures(every[:at][::-1])), list(_figures(every[at + 1 :]))
            found |= dict.fromkeys(before or behind, column.sql_name)
    return found


def _are_currencies(opened: OpenTable, column: Column, database: TableDatabase) -> bool:
    """Whether it says nothing else; the first rows of a long table tell most columns at once."""
    first = f'SELECT "{column.sql_name}" AS said FROM "{opened.sql_name}"'
    for some in (f"{first} LIMIT {_FIRST}", first):
        asked = f"SELECT DISTINCT said FROM ({some}) WHERE said IS NOT NULL LIMIT {_CURRENCIES}"
        if not all(currency(str(text).strip()) for (text,) in database.fetch(asked).rows):
            return False
    return True


def _figures(beside: Sequence[Column]) -> Iterator[Column]:
    """The first of some columns if it is a measure without unit, and what is like it behind."""
    for place, column in enumerate(beside):
        counted = column.kind is ColumnKind.INTEGER and place  # a number of pieces, say
        if column.unit or column.units or not column.kind.is_measure or counted:
            return
        yield column


def taken_together(node: Node, mixed: Sequence[MixedColumn]) -> MixedColumn | None:
    """The first column in several units whose figures a query adds up, compares or orders without
    keeping the units apart."""
    texts = text_conditions(node)
    for one in mixed:
        chosen = {each.text.lower() for each in texts if each.column == one.unit_name}
        name = one.column.sql_name
        if len(chosen) != 1 and any(_takes(each, name, one.unit_name) for each in selects(node)):
            return one
    return None


def _takes(select: Node, name: str, unit: str) -> bool:
    """Whether a SELECT makes one figure, or one order, of a column's values in several units."""
    meant = _meant(select)
    parts = [*select["select_list"], select.get("having"), select.get("qualify")]
    orders = [o["expression"] for m in select.get("modifiers", []) for o in m.get("orders", ())]
    by = select.get("group_expressions") or []
    if select.get("aggregate_handling") == "FORCE_AGGREGATES":  # GROUP BY ALL
        by = select["select_list"]
    grouped = {held for each in by for held in _columns(each, meant)}
    for one in (one for part in [*parts, *orders] for one in nodes(part)):
        window = one.get("class") == "WINDOW"
        if not window and str(one.get("function_name", "")).lower() not in _TOGETHER:
            continue
        kept = columns({"of": one.get("partitions")}) if window else grouped
        if name in columns(one) and unit not in kept:
            return True
    ordered = [_columns(each, meant) for each in orders]
    first = next((at for at, held in enumerate(ordered) if name in held), None)
    return first is not None and not any(unit in held for held in ordered[:first])


def _meant(select: Node) -> Mapping[str, frozenset[str]]:
    """The columns behind each name and number by which a SELECT may speak of what it selects."""
    found: dict[str, frozenset[str]] = {}
    for place, chosen in enumerate(select["select_list"], start=1):
        found[str(place)] = held = _measured(chosen)
        if chosen.get("alias"):
            found[str(chosen["alias"]).lower()] = held
    return found


def _columns(expression: Node, meant: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """The columns of an expression by which rows are grouped or ordered."""
    literal = expression.get("literal") or {}
    if literal.get("text") in meant:
        return meant[literal["text"]]
    held = _measured(expression)
    return held.union(*(meant.get(name, frozenset()) for name in held))


def _measured(expression: Node) -> frozenset[str]:
    """Its columns; none of a number of rows, which is in no unit."""
    return frozenset() if expression.get("function_name") in _COUNTS else columns(expression)


@dataclass(frozen=True, slots=True)
class OfUnit:
    """What a query gives over the rows in one unit."""

    unit: str
    sql: str
    result: Result


@dataclass(frozen=True, slots=True)
class UnitsApart:
    """What a query gives over each unit of a column by itself."""

    column: MixedColumn
    parts: tuple[OfUnit, ...]

    @property
    def sql(self) -> str:
        """All queries that were run."""
        return ";\n".join(part.sql for part in self.parts)

    @property
    def result(self) -> Result:
        """All of it, the unit before the columns of each row."""
        results = [part.result for part in self.parts]
        first, of_each = results[0], [(part.unit, part.result) for part in self.parts]
        return replace(
            first,
            columns=(self.column.unit_name, *first.columns),
            types=("VARCHAR", *first.types),
            rows=tuple((unit or None, *row) for unit, found in of_each for row in found.rows),
            used=tuple(used for one in results for used in one.used),
            read=tuple(read for one in results for read in one.read),
            cut=any(one.cut for one in results),
            named=frozenset().union(*(one.named for one in results)),
        )


def units_apart(sql: str, database: TableDatabase) -> UnitsApart | None:
    """A query that takes several units together, asked of one after the other; those of which
    nothing comes are left out. None: it takes none together. Raises QueryError."""
    node = database.tree(sql)
    mixed = taken_together(node, mixed_columns(columns(node), database))
    if mixed is None:
        return None
    parts: list[OfUnit] = []
    for unit in mixed.units:
        narrowed = database.narrowed(sql, mixed.table, mixed.condition(unit))
        if narrowed == sql:
            units = ", ".join(mixed.units)
            name = mixed.column.sql_name
            raise QueryError(f"{name} is in {units}, which do not go together.")
        result = database.run(narrowed)
        parts += [OfUnit(unit, narrowed, result)] if result.says_something else []
    if not parts:
        raise QueryError("No row is found by this query.")
    return UnitsApart(mixed, tuple(parts))
