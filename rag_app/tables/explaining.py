"""What a query does, read from its tree: columns, figures, and the texts that rows must have. Pure.

The tree is what DuckDB's json_serialize_sql gives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag_app.types import Column, ColumnKind, Operation

Node = dict[str, Any]
_FIGURES = {"count_star": "count", "mean": "avg"}
_AGGREGATES = frozenset(["sum", "avg", "count", "min", "max"])
_ANY_AGGREGATE = _AGGREGATES | {"count_star", "mean", "median"}
_LEAVE_SECONDS = frozenset(["sum", "avg", "mean", "min", "max", "median", "abs", "round", "+", "-"])
_LIKE = frozenset(["~~", "~~*"])


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
        if one.get("type") in ("COMPARE_EQUAL", "COMPARE_IN") or name in _LIKE:
            sides = _sides(one)
            texts = [said for side in sides for said in _texts(side)]
            held = {name for side in sides for name in columns({"of": side})}
            if len(held) == 1:
                for text in texts:
                    yield TextCondition(next(iter(held)), text, name in _LIKE)


def _sides(one: Node) -> list[Node]:
    if "left" in one:
        return [one["left"], one["right"]]
    return [*one.get("children", []), *(each["expression"] for each in one.get("arguments", []))]


def _texts(side: Node) -> Iterator[str]:
    literal = side.get("literal") or {}
    if side.get("class") == "CONSTANT" and literal.get("kind") == "STRING":
        yield str(literal["text"])


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


def of_texts(sql: str, condition: TextCondition, texts: Sequence[str]) -> str:
    """A query that has a column be one of several texts, in lower case, where it is one now."""
    text = re.escape(condition.text.replace("'", "''"))
    column = rf'((?:"?\b\w+\b"?\.)?"?\b{re.escape(condition.column)}\b"?)'
    is_text = rf"(?:\blower\(\s*{column}\s*\)|{column})\s*=\s*'{text}'"
    any_of = ", ".join("'" + one.replace("'", "''") + "'" for one in texts)
    return re.sub(
        is_text,
        lambda found: f"lower({found[1] or found[2]}) IN ({any_of})",
        sql,
        flags=re.IGNORECASE,
    )
