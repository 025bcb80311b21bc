"""Plain questions to a query without a language model, where their words leave no doubt.

A question is read against one table: which of its words are cells, names of columns, dates and
figures. What is left says what is to be done with them, as labelled examples have it
(plain_examples.jsonl: questions with a mark for each thing named). A word that neither the table nor
an example explains makes the question one for somebody who understands it."""

from __future__ import annotations

import calendar
import datetime as dt
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from rag_app.tables.describing import Described
from rag_app.tables.querying import OpenTable
from rag_app.tables.values import month
from rag_app.text.scripts import compared
from rag_app.types import Column, ColumnKind

EXAMPLES = Path(__file__).with_name("plain_examples.jsonl")
_NEAR = 0.55  # cosine to the nearest example that asks for the same
_AHEAD = 0.1  # of the nearest that asks for something that gives another figure
_USUAL = 4  # lots of sheets that are asked about with a word, for it to be no name
_LONGEST = 6  # words of a name
_ENDINGS = ("s", "es", "n", "en", "e")
_DATES = frozenset({ColumnKind.DATE, ColumnKind.TIME})
VALUE, MEASURE, LABEL, WHEN = "<value>", "<measure>", "<label>", "<when>"
DATE, FIGURE = "<date>", "<n>"
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Mention:
    """What some words of a question name: a column, one of its values, a day, month or year, or a
    figure; `mark` stands for it in an example."""

    start: int
    end: int
    mark: str
    column: Column | None = None
    value: str = ""
    days: tuple[dt.date, dt.date] | None = None  # the last one is outside
    figure: int = 0


@dataclass(frozen=True, slots=True)
class Masked:
    """A question with marks for what it names in a table."""

    words: tuple[str, ...]
    mentions: tuple[Mention, ...]

    def of(self, *marks: str) -> list[Mention]:
        """What is named, of some kinds."""
        return [one for one in self.mentions if one.mark in marks]


@dataclass(frozen=True, slots=True)
class PlainQuery:
    """A query that a question's words give by themselves, and its result's name."""

    table: OpenTable
    sql: str
    say: str


@dataclass(frozen=True, slots=True)
class Example:
    """A masked question, and what it asks for: any of these gives its answer."""

    words: tuple[str, ...]
    asks: frozenset[str]


@cache
def examples() -> tuple[Example, ...]:
    """All labelled examples."""
    rows = [json.loads(line) for line in EXAMPLES.read_text(encoding="utf-8").splitlines()]
    return tuple(Example(tuple(row["q"].split()), frozenset(row["asks"])) for row in rows)


def masked(question: str, table: OpenTable, described: Described) -> Masked:
    """A question with its mentions of a table's cells and columns, the longest first."""
    words = compared(question)
    found: list[Mention] = []
    taken: set[int] = set()
    candidates = [*_dates(words), *_values(words, table, described), *_columns(words, table)]
    for one in sorted(candidates, key=lambda m: (m.start - m.end, m.mark == DATE, m.mark != VALUE)):
        if taken.isdisjoint(range(one.start, one.end)):
            found.append(one)
            taken |= set(range(one.start, one.end))
    found += [
        Mention(at, at + 1, FIGURE, figure=int(word))
        for at, word in enumerate(words)
        if at not in taken and word.isascii() and word.isdigit() and len(word) < 7
    ]
    found.sort(key=lambda one: one.start)
    return Masked(tuple(_with_marks(words, found)), tuple(found))


def _with_marks(words: Sequence[str], found: Sequence[Mention]) -> Iterator[str]:
    begins = {one.start: one for one in found}
    inside = {at for one in found for at in range(one.start, one.end)}
    for at, word in enumerate(words):
        if at in begins:
            yield begins[at].mark
        elif at not in inside:
            yield word


def _dates(words: Sequence[str]) -> Iterator[Mention]:
    """Days, months and years; a day or month without its year is of the year of the table."""
    for at, word in enumerate(words):
        number = month(word) if len(word) > 2 and word.isalpha() and _is_month(word) else 0
        after = words[at + 1] if at + 1 < len(words) else ""
        if number and re.fullmatch(r"(19|20)\d\d", after):
            yield _day_or_month(words, at, number, int(after), at + 2)
        elif number:
            yield _day_or_month(words, at, number, 0, at + 1)
        elif re.fullmatch(r"(19|20)\d\d", word):
            days = dt.date(int(word), 1, 1), dt.date(int(word) + 1, 1, 1)
            yield Mention(at, at + 1, DATE, days=days)


def _is_month(word: str) -> bool:
    names = _month_names()
    return word in names


@cache
def _month_names() -> frozenset[str]:
    spelt = """january february march april may june july august september october november december
    januar februar märz mai juni juli oktober dezember enero febrero marzo abril mayo junio julio
    agosto septiembre octubre noviembre diciembre"""
    return frozenset(spelt.split())


def _day_or_month(words: Sequence[str], at: int, number: int, year: int, end: int) -> Mention:
    before = re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", words[at - 1]) if at else None
    first = dt.date(year or 1, number, 1)
    if before and 1 <= int(before[1]) <= calendar.monthrange(year or 2024, number)[1]:
        day = first.replace(day=min(int(before[1]), 28)) + dt.timedelta(
            days=max(0, int(before[1]) - 28)
        )
        return Mention(at - 1, end, DATE, days=(day, day + dt.timedelta(days=1)))
    last = dt.date(first.year + number // 12, number % 12 + 1, 1)
    return Mention(at, end, DATE, days=(first, last))


def _values(words: Sequence[str], table: OpenTable, described: Described) -> Iterator[Mention]:
    """Cells that words name: all of a cell, or a word that only one cell of a column has."""
    runs: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + _LONGEST) + 1):
            runs[tuple(words[start:end])].append((start, end))
    for (of, column), values in described.values.items():
        if of is not table:
            continue
        holding: dict[str, set[str]] = defaultdict(set)
        for value in values:
            parts = tuple(compared(value))
            for start, end in runs.get(parts, ()):
                yield Mention(start, end, VALUE, column, value)
            for part in parts:
                holding[part].add(value.lower())
        for at, word in enumerate(words):
            if len(word) > 2 and len(holding.get(word, ())) == 1 and not word.isdigit():
                (value,) = holding[word]
                yield Mention(at, at + 1, VALUE, column, value)


def _columns(words: Sequence[str], table: OpenTable) -> Iterator[Mention]:
    """Columns that words name: all of a name, or a word that only one name has."""
    hidden = frozenset(table.table.hidden_columns)
    shown = [c for at, c in enumerate(table.table.columns) if at not in hidden]
    names = {column.sql_name: _name(column) for column in shown}
    held = Counter(word for name in names.values() for word in set(name))
    for column in shown:
        name = names[column.sql_name]
        for start in range(len(words)):
            run = words[start : start + len(name)]
            if name and len(run) == len(name) and all(map(_same, run, name)):
                yield Mention(start, start + len(name), _mark(column), column)
            for part in name:
                if held[part] == 1 and len(part) > 3 and _same(words[start], part):
                    yield Mention(start, start + 1, _mark(column), column)


def _name(column: Column) -> list[str]:
    """The words of a column's name without its unit."""
    bare = re.sub(r"[(\[][^)\]]*[)\]]", " ", column.name)
    return compared(bare) or compared(column.name)


def _same(word: str, other: str) -> bool:
    """Whether two words are the same but for an ending."""
    short, long = sorted((word, other), key=len)
    return long == short or (
        len(short) > 2 and long.startswith(short) and long[len(short) :] in _ENDINGS
    )


def _mark(column: Column) -> str:
    if column.kind.is_measure:
        return MEASURE
    return WHEN if column.kind in _DATES else LABEL


def queries(asked: Masked, table: OpenTable) -> Mapping[str, str]:
    """Everything that may be asked for with what is named, each as a query."""
    where = _conditions(asked, table)
    if where is None:
        return {}
    name, rows = table.sql_name, f" WHERE {' AND '.join(where)}" if where else ""
    measures, labels = _named_columns(asked, MEASURE), _named_columns(asked, LABEL, WHEN)
    figures = [one.figure for one in asked.of(FIGURE)]
    made: dict[str, str] = {}
    if not figures and not measures and not labels:
        made["count"] = f"SELECT count(*) FROM {name}{rows}"
    if not figures and not measures and len(labels) == 1:
        made |= _of_label(labels[0], name, rows, where)
    if not figures and len(measures) == 1 and not labels:
        made |= _of_measure(measures[0], name, rows, where)
    if not figures and len(measures) == 1 and len(labels) == 1:
        made |= _by_label(measures[0], labels[0], name, rows)
    return made


def _named_columns(asked: Masked, *marks: str) -> list[Column]:
    found = {one.column.sql_name: one.column for one in asked.of(*marks) if one.column}
    return list(found.values())


def _of_label(label: Column, name: str, rows: str, where: Sequence[str]) -> dict[str, str]:
    held = label.sql_name
    made = {
        "count": f"SELECT count(*) FROM {name}{rows}",
        "different": f"SELECT count(DISTINCT {held}) FROM {name}{rows}",
        "counts": f"SELECT {held}, count(*) AS n FROM {name}{_and(rows, held)} "
        "GROUP BY 1 ORDER BY 2 DESC, 1",
    }
    made["commonest"] = f"{made['counts']} LIMIT 1"
    if where:
        made["list"] = f"SELECT DISTINCT {held} FROM {name}{_and(rows, held)} ORDER BY 1"
    return made


def _of_measure(of: Column, name: str, rows: str, where: Sequence[str]) -> dict[str, str]:
    made = {
        each: f"SELECT {each}({of.sql_name}) FROM {name}{rows}"
        for each in ("sum", "avg", "max", "min")
        if not of.units
    }
    if where:
        made["list"] = f"SELECT {of.sql_name} FROM {name}{_and(rows, of.sql_name)}"
    return made


def _by_label(of: Column, label: Column, name: str, rows: str) -> dict[str, str]:
    said, by = of.sql_name, label.sql_name
    filled = _and(_and(rows, said), by)
    made: dict[str, str] = {}
    for each in () if of.units else ("sum", "avg"):
        made[f"{each}s"] = (
            f"SELECT {by}, {each}({said}) AS {said} FROM {name}{filled} GROUP BY 1 ORDER BY 2 DESC"
        )
        made[f"most {each}"] = f"{made[f'{each}s']} LIMIT 1"
        made[f"least {each}"] = (
            f"SELECT {by}, {each}({said}) AS {said} FROM {name}{filled} GROUP BY 1 ORDER BY 2 LIMIT 1"
        )
    made["most"] = f"SELECT {by}, {said} FROM {name}{filled} ORDER BY 2 DESC LIMIT 1"
    made["least"] = f"SELECT {by}, {said} FROM {name}{filled} ORDER BY 2 LIMIT 1"
    return made


def _and(rows: str, column: str) -> str:
    return f"{rows} {'AND' if rows else 'WHERE'} {column} IS NOT NULL"


def _conditions(asked: Masked, table: OpenTable) -> list[str] | None:
    """What rows must have; None: a date is named, and it cannot be told of what."""
    by: dict[str, list[str]] = defaultdict(list)
    for one in asked.of(VALUE):
        if one.column:
            by[one.column.sql_name].append("'" + one.value.lower().replace("'", "''") + "'")
    found = [
        f"{column} IN ({', '.join(texts)})" if len(texts) > 1 else f"lower({column}) = {texts[0]}"
        for column, texts in by.items()
    ]
    days = [one.days for one in asked.of(DATE) if one.days]
    if not days:
        return found
    dated = [column for column in table.table.columns if column.kind in _DATES]
    if len(dated) != 1 or len(days) > 2 or any(first.year == 1 for first, _ in days):
        return None
    first, last = min(day for day, _ in days), max(day for _, day in days)
    return [
        *found,
        f"{dated[0].sql_name} >= DATE '{first}'",
        f"{dated[0].sql_name} < DATE '{last}'",
    ]
