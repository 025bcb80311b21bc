"""What a query does, read from its tree: columns, figures, and the texts that rows must have. Pure.

The tree is what DuckDB's json_serialize_sql gives."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_app.types import Column, ColumnKind, Operation, RowFilter

Node = dict[str, Any]
_FIGURES = {"count_star": "count", "mean": "avg"}
_AGGREGATES = frozenset(["sum", "avg", "count", "min", "max"])
_ANY_AGGREGATE = _AGGREGATES | {"count_star", "mean", "median"}
_LEAVE_SECONDS = frozenset(["sum", "avg", "mean", "min", "max", "median", "abs", "round", "+", "-"])
_DIVIDE = frozenset(["/", "//", "%", "divide", "mod", "fmod"])
_LIKE = frozenset(["~~", "~~*"])
_MATCHES = "regexp_matches"
_AT_WORD = r"(^|[^\pL\pN])"  # before the first letter of a word, in RE2's writing
_COMPARISONS: Mapping[object, str] = {
    "COMPARE_EQUAL": "=",
    "COMPARE_IN": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_NOT_IN": "<>",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "OPERATOR_IS_NULL": "empty",
    "~~": "like",
    "~~*": "like",
    "!~~": "not like",
    "!~~*": "not like",
    _MATCHES: "like",
}
_OPPOSITES = [("=", "<>"), (">", "<="), ("<", ">="), ("like", "not like")]
_NOT = {a: b for one, other in _OPPOSITES for a, b in ((one, other), (other, one))}
_TURNED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}  # where the value stands on the left
_SAME_VALUE = frozenset(["lower", "upper", "trim", "coalesce", "year", "month", "strftime"])


@dataclass(frozen=True, slots=True)
class TextCondition:
    """A text that a column is held against; `pattern`: with % for anything."""

    column: str  # as the query calls it
    text: str
    pattern: bool


def columns(node: Node) -> frozenset[str]:
    """The names of all columns that a query speaks of, in lower case."""
    return frozenset(
        str(one["column_names"][-1]).lower() for one in nodes(node) if one.get("column_names")
    )


def functions(node: Node) -> frozenset[str]:
    """The names of all functions that a query calls, in lower case."""
    names = (one.get("function_name") for one in nodes(node))
    return frozenset(str(name).lower() for name in names if name)


def no_number(node: Node) -> str:
    """Why a figure of a query has no end: whoever divides may do so by zero."""
    if _DIVIDE & functions(node):
        return "The query divides by zero, or a figure in it is too large."
    return "A figure of the query is too large."


def tables_read(node: Node) -> frozenset[str]:
    """The names of all tables that a query reads, in lower case."""
    return frozenset(str(o["table_name"]).lower() for o in nodes(node) if o.get("table_name"))


def operations(node: Node, known: Mapping[str, Column]) -> tuple[Operation, ...]:
    """What the figures of a query are; `known`: columns by their names in queries."""
    found: list[Operation] = []
    for chosen in node.get("select_list", []):
        for one in nodes(chosen):
            name = str(one.get("function_name", "")).lower()
            name = _FIGURES.get(name, name)
            if name not in _AGGREGATES or one.get("class") != "FUNCTION":
                continue
            named = [known[c] for c in columns({"of": one.get("arguments")}) if c in known]
            column = named[0] if len(named) == 1 else None
            made = Operation(name, column.name if column else "", column.unit if column else "")
            if made not in found:
                found.append(made)
    return tuple(found)


def is_average(node: Node) -> bool:
    """Whether the only figure of a query is an average, be it rounded, and nothing more."""
    chosen = node.get("select_list", [])
    figure = chosen[0] if len(chosen) == 1 else {}
    if figure.get("function_name") == "round":
        figure = figure["arguments"][0]["expression"]
    return figure.get("function_name") in ("avg", "mean")


def aggregates(node: Node) -> list[Node]:
    """The figures of a SELECT that are made of many rows; none where a part of it is a query by
    itself, whose rows are others."""
    parts = [one for chosen in node.get("select_list", []) for one in nodes(chosen)]
    if any(one.get("class") == "SUBQUERY" for one in parts):
        return []
    return [
        one
        for one in parts
        if one.get("class") == "FUNCTION"
        and str(one.get("function_name", "")).lower() in _ANY_AGGREGATE
    ]


def durations(node: Node, known: Mapping[str, Column]) -> frozenset[int]:
    """Which columns of a result are durations: what is said of such columns and of nothing else,
    with nothing done that would leave something other than seconds."""
    found = set()
    for at, chosen in enumerate(node.get("select_list", [])):
        named = columns({"of": chosen})
        kinds = {known[name].kind if name in known else None for name in named}
        done = {str(one.get("function_name", "")).lower() for one in nodes(chosen)} - {""}
        if kinds == {ColumnKind.DURATION} and done <= _LEAVE_SECONDS:
            found.add(at)
    return frozenset(found)


def text_conditions(node: Node) -> list[TextCondition]:
    """The texts that rows are chosen by."""
    return list(dict.fromkeys(_conditions(node)))


def _conditions(node: Node) -> Iterator[TextCondition]:
    for one in nodes(node):
        name = one.get("function_name", "")
        if one.get("type") in ("COMPARE_EQUAL", "COMPARE_IN") or name in _LIKE | {_MATCHES}:
            sides = _sides(one)
            texts = [said for side in sides for said in _texts(side)]
            held = {name for side in sides for name in columns({"of": side})}
            if len(held) == 1:
                for text in texts:
                    yield TextCondition(next(iter(held)), _as_like(text), pattern=bool(name))


def _sides(one: Node) -> list[Node]:
    if "left" in one:
        return [one["left"], one["right"]]
    return [*one.get("children", []), *(each["expression"] for each in one.get("arguments", []))]


def _texts(side: Node) -> Iterator[str]:
    literal = side.get("literal") or {}
    if side.get("class") == "CONSTANT" and literal.get("kind") == "STRING":
        yield str(literal["text"])


def at_word(text: str, any_case: bool = False) -> str:
    """The regular expression of what has a word that begins with a text."""
    return ("(?i)" if any_case else "") + _AT_WORD + re.escape(text)


def _as_like(text: str) -> str:
    """What `at_word` gives, as LIKE would have it; any other text as it is."""
    pattern = text.removeprefix("(?i)")
    if not pattern.startswith(_AT_WORD):
        return text
    begun = re.sub(r"\\(.)", r"\1", pattern.removeprefix(_AT_WORD))
    return f"%{begun}%"


def row_filters(node: Node) -> tuple[RowFilter, ...]:
    """What a query holds the rows of its columns against, as it calls these; what it holds figures
    of many rows or other queries against is left out."""
    return tuple(dict.fromkeys(_row_filters(node, negated=False)))


def _row_filters(node: Any, negated: bool) -> Iterator[RowFilter]:
    if isinstance(node, dict):
        kind = node.get("type")
        negated ^= kind == "OPERATOR_NOT"
        if kind == "COMPARE_BETWEEN" and not negated:
            for comparison, end in ((">=", "lower"), ("<=", "upper")):
                yield from _row_filter([node["input"], node[end]], comparison)
        said = _COMPARISONS.get(kind) or _COMPARISONS.get(node.get("function_name")) or ""
        if said:
            yield from _row_filter(_sides(node), _NOT.get(said, "") if negated else said)
        node = list(node.values())
    for each in node if isinstance(node, list) else ():
        yield from _row_filters(each, negated)


def _row_filter(sides: Sequence[Node], comparison: str) -> Iterator[RowFilter]:
    values = [_value(side) for side in sides]
    of_columns = [_column(side) for side in sides]
    if values[0] is not None:
        comparison = _TURNED.get(comparison, comparison)
    known = [column for column in of_columns if column]
    said = [value for value in values if value is not None]
    if comparison == "empty" and known:
        yield RowFilter(known[0], comparison)
    elif len(known) == 2 and not said:
        yield RowFilter(known[0], comparison, known[1])
    elif len(known) == 1 and comparison and len(said) == len(sides) - 1:
        of_months = any(_is_month(side) for side in sides)
        for text in said:
            number = int(text) if of_months and text.isdigit() else 0
            named = calendar.month_name[number] if 0 < number < 13 else _as_like(text)
            yield RowFilter(known[0], comparison, named)


def _value(side: Node) -> str | None:
    """The constant that a side of a comparison is, maybe cast or in small letters."""
    while side.get("class") == "CAST" or side.get("function_name") == "lower":
        side = side["child"] if "child" in side else side["arguments"][0]["expression"]
    literal = side.get("literal") or {}
    return str(literal["text"]) if side.get("class") == "CONSTANT" and "text" in literal else None


def _column(side: Node) -> str:
    """The column whose own value a side of a comparison is, or a part of its date."""
    found = columns(side)
    functions = {str(one["function_name"]).lower() for one in nodes(side) if "function_name" in one}
    of_others = any(one.get("class") in ("SUBQUERY", "CASE", "WINDOW") for one in nodes(side))
    alone = len(found) == 1 and functions <= _SAME_VALUE and not of_others
    return next(iter(found)) if alone else ""


def _is_month(side: Node) -> bool:
    is_month = side.get("function_name") == "month"
    return is_month or (side.get("function_name") == "strftime" and "%m" in list(_texts_in(side)))


def _texts_in(side: Node) -> Iterator[str]:
    return (text for one in nodes(side) for text in _texts(one))


def nodes(node: Any) -> Iterator[Node]:
    """Every part of a tree."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            yield each
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each


def of_column(sql: str, condition: TextCondition, column: str) -> str:
    """A query that holds another column against a text."""
    text = re.escape(condition.text.replace("'", "''"))
    held = rf"\b{re.escape(condition.column)}\b(?=\s*\)?\s*(?:=|(?:I?LIKE)|IN)\s*\(?\s*'{text}')"
    return re.sub(held, column, sql, flags=re.IGNORECASE)
