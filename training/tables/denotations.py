"""What candidates give, without a database: thousands of them in a second.

The same as their SQL does, which a test holds against it; only for teaching."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from rag_app.tables.candidates import GROUPED, CandidateQuery, Operator
from rag_app.tables.conditions import Field

Rows = list[tuple[Any, ...]]


def denotation(one: CandidateQuery, columns: Sequence[Sequence[Any]]) -> Rows:
    """The rows that a candidate gives, [] for none; `columns`: the values of the table's columns,
    by their place."""
    rows = np.flatnonzero(one.mask)
    if one.operator in _OF_FIGURES:
        return _only(_figure(one, rows))
    if one.operator in (Operator.SHARE, Operator.DIFFERENCE):
        return _only(_of_two(one))
    if one.operator in GROUPED:
        return _groups(one, rows, columns)
    assert one.field is not None
    if one.operator in OF_COLUMNS:
        return []  # asked of the database
    if one.operator in _OF_PAIRS:
        return _of_pairs(one, rows)
    values = columns[one.field.place]
    if one.operator in (Operator.OFTEN, Operator.MORE_OFTEN):
        return _often(one, [values[row] for row in rows if values[row] is not None])
    if one.operator is Operator.SAME:
        return [(values[row],) for row in _equal(one, rows)]
    return [(values[row],) for row in _rows(one, rows, len(values))]


_OF_FIGURES = frozenset(
    [
        Operator.COUNT,
        Operator.DIFFERENT,
        Operator.SUM,
        Operator.MEAN,
        Operator.MOST,
        Operator.LEAST,
        Operator.SPREAD,
        Operator.PRODUCT,
    ]
)
OF_COLUMNS = frozenset(
    [
        Operator.OVER_YEARS,
        Operator.MEAN_OF_YEARS,
        Operator.YEAR_OF_MOST,
        Operator.YEAR_OF_LEAST,
        Operator.BETWEEN_COLUMNS,
    ]
)


_OF_PAIRS = frozenset([Operator.DAYS, Operator.MEAN_DAYS, Operator.PLUS, Operator.PER])


def _of_pairs(one: CandidateQuery, rows: np.ndarray) -> Rows:
    assert one.field is not None and one.field.numbers is not None
    assert one.by is not None and one.by.numbers is not None
    first, second = one.field.numbers[rows], one.by.numbers[rows]
    if one.operator is Operator.PLUS:
        return [(float(np.nansum(first) + np.nansum(second)),)] if len(rows) else []
    if one.operator is Operator.PER:
        whole = float(np.nansum(second))
        return [] if np.isnan(first).all() or not whole else [(float(np.nansum(first)) / whole,)]
    days = np.abs(np.floor(first) - np.floor(second))
    if one.operator is Operator.DAYS:
        return [(None if np.isnan(day) else float(day),) for day in days]
    days = days[~np.isnan(days)]
    return [(float(days.mean()),)] if len(days) else []


def _often(one: CandidateQuery, values: Sequence[Any]) -> Rows:
    counts = Counter(str(value).lower() for value in values)
    least = one.number + (one.operator is Operator.MORE_OFTEN)
    names = {str(value).lower(): value for value in reversed(values)}
    return [(names[key],) for key, count in counts.items() if count >= least]


def _only(value: Any) -> Rows:
    return [] if value is None else [(value,)]


def _figure(one: CandidateQuery, rows: np.ndarray) -> Any:
    if one.operator is Operator.COUNT:
        return len(rows)
    field = one.field
    assert field is not None
    if one.operator is Operator.DIFFERENT:
        return len({field.texts[row] for row in rows} - {None})
    assert field.numbers is not None
    numbers = field.numbers[rows]
    if one.by is not None and one.by.numbers is not None:
        numbers = numbers * one.by.numbers[rows]
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return None
    found = float(_FIGURE[one.operator](numbers))
    if field.is_time and one.operator is not Operator.SPREAD:
        return dt.datetime(1970, 1, 1) + dt.timedelta(found)
    return found


_FIGURE: Any = {
    Operator.SUM: np.sum,
    Operator.PRODUCT: np.sum,
    Operator.MEAN: np.mean,
    Operator.MOST: np.max,
    Operator.LEAST: np.min,
    Operator.SPREAD: np.ptp,
}


def _added(field: Field | None, mask: np.ndarray) -> float | None:
    if field is None:
        return float(mask.sum())
    assert field.numbers is not None
    numbers = field.numbers[mask]
    return None if np.isnan(numbers).all() else float(np.nansum(numbers))


def _of_two(one: CandidateQuery) -> float | None:
    first, *rest = one.conditions
    if one.operator is Operator.DIFFERENCE:
        a, b = _added(one.field, first.mask), _added(one.field, rest[0].mask)
        return None if a is None or b is None else abs(a - b)
    whole = np.ones_like(one.mask) if one.whole is None else one.whole.mask
    part, all_ = _added(one.field, one.mask), _added(one.field, whole)
    return 100.0 * part / all_ if part is not None and all_ else None


def _rows(one: CandidateQuery, rows: np.ndarray, count: int) -> list[int]:
    if one.operator is Operator.LIST:
        return list(rows)
    if one.operator in (Operator.FIRST, Operator.LAST):
        return list(rows[:1] if one.operator is Operator.FIRST else rows[-1:])
    if one.operator in (Operator.NEXT, Operator.BEFORE):
        row = rows[-1] + 1 if one.operator is Operator.NEXT else rows[0] - 1
        return [row] if 0 <= row < count else []
    assert one.by is not None and one.by.numbers is not None
    numbers = one.by.numbers[rows]
    there = rows[~np.isnan(numbers)]
    numbers = one.by.numbers[there]
    if not len(there):
        return []
    down = one.operator in (Operator.OF_MOST, Operator.TOP)
    if one.operator in (Operator.OF_MOST, Operator.OF_LEAST):
        return list(there[numbers == (numbers.max() if down else numbers.min())])
    return list(there[np.argsort(-numbers if down else numbers, kind="stable")][: one.number])


def _equal(one: CandidateQuery, rows: np.ndarray) -> list[int]:
    assert one.by is not None
    by = one.by.texts if one.by.numbers is None else one.by.numbers
    held = [by[row] for row in rows if not one.by.gaps[row]]
    if not held:
        return []
    least = min(held)
    return [row for row, mine in enumerate(one.mask) if not mine and by[row] == least]


def _groups(one: CandidateQuery, rows: np.ndarray, columns: Sequence[Sequence[Any]]) -> Rows:
    assert one.field is not None
    groups: dict[str, list[float]] = {}
    names: dict[str, Any] = {}
    for row in rows:
        value = columns[one.field.place][row]
        if value is None:
            continue
        name = f"{value:%B %Y}" if one.field.is_time else value
        number = 1.0 if one.by is None or one.by.numbers is None else one.by.numbers[row]
        groups.setdefault(str(name).lower(), []).append(number)
        names.setdefault(str(name).lower(), name)
    mean = one.operator is Operator.MEANS_OF_GROUPS
    found = [
        (names[key], float(np.nanmean(held) if mean else np.nansum(held)))
        for key, held in groups.items()
        if not np.isnan(held).all()
    ]
    if one.operator in (Operator.GROUPS, Operator.MEANS_OF_GROUPS):
        return found
    least = one.operator is Operator.GROUP_OF_LEAST
    found.sort(key=lambda pair: pair[1] if least else -pair[1])
    most = one.number if one.operator is Operator.TOP_GROUPS else 1
    return [(name,) for name, _ in found[:most]]
