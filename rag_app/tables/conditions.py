"""What a question over a table may choose rows by: the texts, numbers, days and columns that it
names, and the few states that a column has. Pure but for the query that reads the table."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations, permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_app.retrieval.ranking import STOPWORDS
from rag_app.tables.describing import alike
from rag_app.tables.explaining import at_word
from rag_app.tables.joining import OpenTable, literal
from rag_app.tables.querying import TableDatabase
from rag_app.tables.values import Convention, DateOrder, date, month, written_number
from rag_app.text.languages import compared, month_called
from rag_app.types import Column, ColumnKind

_FEWEST_NUMBERED = 5  # rows that count from one to the next, to be numbers of rows
MOST_ROWS = 20_000  # of a table that is asked so
_SINGLES, _PAIRED, _PAIRS, _EITHER = 18, 12, 10, 6  # conditions that are tried alone, together
_FEW = 4  # different texts of a column, of which each may be meant without being named
_OF_COLUMN = 4  # texts of a column that are tried, of those that are named
_NOT = 2  # of them that all others are tried of, too
_WORDS = 3  # of a column of texts that are tried
_PHRASES, _TOGETHER = 3, 60  # of words that come together; texts that are compared for that
_UP_TO = frozenset(["to", "until", "till", "through", "bis"])
_YEARS = 3  # of a column, of which months without a year may be
_LEAST_BEGUN = 4  # letters that all forms of a word begin with
_LOOKED_AT, _HELD = 2_000, 400  # texts of a column that are compared, and that words are taken of
_EPOCH = dt.datetime(1970, 1, 1)

_Scored = tuple[float, frozenset[int], str]
"""How much of a text a question says, where, and the text."""

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.float64]


class ConditionKind(StrEnum):
    """How rows are chosen by a column."""

    IS = "="  # a text that the question names, by how much of it
    HAS = "has"  # a word of it
    ONE_OF_FEW = "few"  # a text that it does not name, of few
    EITHER = "or"  # of two
    IS_NOT = "not"  # any other text than the one that is named
    EQUAL = "n="
    MORE = "n>"
    LESS = "n<"
    AT_LEAST = "n>="
    AT_MOST = "n<="
    NEGATIVE = "neg"
    ZERO = "zero"
    GAP = "gap"
    BELOW = "c<"  # another column
    YEAR = "y="
    AFTER_YEAR = "y>"
    BEFORE_YEAR = "y<"
    FROM_YEAR = "y>="
    TO_YEAR = "y<="
    MONTH = "m="
    MONTH_OF_YEAR = "my="
    DAY = "d="
    AFTER_DAY = "d>"
    BEFORE_DAY = "d<"
    FROM_DAY = "d>="
    TO_DAY = "d<="
    BETWEEN = "between"


@dataclass(frozen=True, eq=False)
class Field:
    """A column with its values, as questions are held against it."""

    column: Column
    place: int
    words: tuple[str, ...]
    written: tuple[str | None, ...] = ()  # of a column of text
    texts: tuple[str | None, ...] = ()  # the same in lower case
    numbers: Numbers | None = None  # of all others; days since 1970 of dates; nan is a gap
    years: npt.NDArray[np.int64] | None = None  # of dates; 0 is a gap
    months: npt.NDArray[np.int64] | None = None

    def as_written(self, text: str) -> str:
        """A text of the column as it first stands there; any other as it is."""
        return self.written[self.texts.index(text)] or text if text in self.texts else text

    @property
    def name(self) -> str:
        """In queries."""
        return self.column.sql_name

    @cached_property
    def gaps(self) -> Mask:
        """The rows that say nothing."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        return np.array([text is None for text in self.texts], bool)

    @cached_property
    def different(self) -> int:
        """How many different texts it has."""
        return len({text for text in self.texts if text is not None})

    @property
    def is_text(self) -> bool:
        """Whether it holds words."""
        return self.numbers is None

    @property
    def is_time(self) -> bool:
        """Whether it holds days."""
        return self.years is not None

    @property
    def is_measure(self) -> bool:
        """Whether it makes sense to add it up."""
        return self.column.kind.is_measure and not self._numbers_rows

    @cached_property
    def _numbers_rows(self) -> bool:
        """Whether it counts the rows one after the other, as numbers of orders or jobs do."""
        if self.numbers is None or len(self.numbers) < _FEWEST_NUMBERED:
            return False
        return bool((np.diff(self.numbers) == 1).all())


@dataclass(frozen=True, eq=False)
class Condition:
    """A choice of rows: `sql` says it, `mask` marks them; `named`: how much of it the question
    says, from 0; `used`: the words of the question that say it, by place."""

    kind: ConditionKind
    field: Field
    sql: str
    mask: Mask
    named: float
    used: frozenset[int] = frozenset()
    said: str = ""  # the text that is looked for
    other: Field | None = None  # that the column is held against

    @property
    def is_span(self) -> bool:
        """Whether it names both ends of a time, which may be all that a table is about."""
        return self.kind is ConditionKind.BETWEEN


def fields_of(database: TableDatabase, opened: OpenTable) -> tuple[Field, ...]:
    """The columns of an open table, with their values. Raises QueryError."""
    names = ", ".join(column.sql_name for column in opened.table.columns)
    rows = database.fetch(f"SELECT {names} FROM {opened.sql_name} ORDER BY rowid", MOST_ROWS).rows
    columns = zip(*rows, strict=True) if rows else ((),) * len(opened.table.columns)
    hidden = frozenset(opened.table.hidden_columns)
    return tuple(
        _field(column, at, values)
        for at, (column, values) in enumerate(zip(opened.table.columns, columns, strict=True))
        if at not in hidden
    )


def figures(database: TableDatabase) -> frozenset[str]:
    """The names of all columns that it makes sense to add up. Raises QueryError."""
    fields = (field for one in database.tables for field in fields_of(database, one))
    return frozenset(field.name for field in fields if field.is_measure)


def _field(column: Column, place: int, values: Sequence[Any]) -> Field:
    words = tuple(compared(column.name))
    if column.kind is ColumnKind.TEXT:
        written = tuple(None if one is None else str(one) for one in values)
        texts = tuple(None if one is None else one.lower() for one in written)
        return Field(column, place, words, written, texts)
    if column.kind not in (ColumnKind.DATE, ColumnKind.TIME):
        numbers = np.array([math.nan if one is None else float(one) for one in values])
        return Field(column, place, words, numbers=numbers)
    days = np.array([math.nan if one is None else _days(one) for one in values])
    years = np.array([0 if one is None else one.year for one in values], np.int64)
    months = np.array([0 if one is None else one.month for one in values], np.int64)
    return Field(column, place, words, numbers=days, years=years, months=months)


def _days(one: dt.date) -> float:
    at = one if isinstance(one, dt.datetime) else dt.datetime(one.year, one.month, one.day)
    return (at.replace(tzinfo=None) - _EPOCH).total_seconds() / 86_400


class ParsedQuestion:
    """A question over the columns of a table, and what it may choose rows by."""

    def __init__(self, question: str, fields: tuple[Field, ...]) -> None:
        self.text, self._low = question, question.lower()
        self.words = tuple(compared(question))
        self.fields = fields
        self.rows = len(fields[0].gaps) if fields else 0
        self._alike: dict[str, frozenset[int]] = {}
        self.numbers = tuple(_numbers(self._low))
        found = [one for field in fields for one in self._of(field)]
        found = [one for one in found if one.mask.any() and (one.is_span or not one.mask.all())]
        found += [one for one in self._columns_compared() if one.mask.any()]
        found = self._between_months(found)
        self.conditions = (*found, *self._of_two(found))

    def said_at(self, word: str) -> frozenset[int]:
        """Where the question says a word, or nearly."""
        if word not in self._alike:
            near = alike([word], self.words)
            self._alike[word] = frozenset(i for i, w in enumerate(self.words) if w in near)
        return self._alike[word]

    def places(self, field: Field) -> frozenset[int]:
        """Where the question says words of a column's name, or of what its figures are in."""
        words = (*field.words, *compared(field.column.unit))
        return frozenset().union(*(self.said_at(word) for word in words))

    # What rows may be chosen by.

    def _of(self, field: Field) -> Iterator[Condition]:
        if field.is_text:
            yield from self._texts(field)
        elif field.is_time:
            yield from self._periods(field)
            yield from self._spans(field)
        else:
            yield from self._figures(field)
            yield from self._signs(field)
        if field.gaps.any():
            sql = f"{field.name} IS NULL"
            yield Condition(ConditionKind.GAP, field, sql, field.gaps, 0.0)

    def _texts(self, field: Field) -> Iterator[Condition]:
        different = list(dict.fromkeys(text for text in field.texts if text is not None))
        scored = sorted(
            (one for text in different[:_LOOKED_AT] if (one := self._said(text)) is not None),
            key=lambda one: (-one[0] * min(3, len(one[1])), len(one[2])),
        )
        named = scored[:_OF_COLUMN]
        for share, used, text in named:
            yield _is(ConditionKind.IS, field, text, share, used)
        for share, used, text in named[:_NOT]:
            yield _is_not(field, text, share, used)
        yield from self._of_words(field, scored[:_HELD])
        if len(different) <= _FEW:
            for text in different:
                if text not in [one[2] for one in named]:
                    yield _is(ConditionKind.ONE_OF_FEW, field, text, 0.0, frozenset())

    def _of_words(self, field: Field, scored: Sequence[_Scored]) -> Iterator[Condition]:
        """Rows whose texts have words of the question, wherever they stand: single words, and those
        that come together in several texts."""
        forms: dict[int, set[str]] = {}  # how the texts write what the question says at a place
        for _, _, text in scored:
            for word in compared(text):
                for place in self.said_at(word):
                    forms.setdefault(place, set()).add(word)
        telling = frozenset(
            p for p in forms if len(self.words[p]) > 2 and self.words[p] not in STOPWORDS
        )
        places = dict.fromkeys(p for _, used, _ in scored for p in sorted(used))
        for place in list(places)[:_WORDS]:
            if place in telling:
                yield self._has(field, [place], forms)
        shared = Counter(
            both
            for (_, a, _), (_, b, _) in combinations(scored[:_TOGETHER], 2)
            if len(both := a & b & telling) > 1
        )
        for both in sorted(shared, key=lambda one: (-len(one), -shared[one]))[:_PHRASES]:
            yield self._has(field, sorted(both), forms)

    def _has(self, field: Field, places: Sequence[int], forms: Mapping[int, set[str]]) -> Condition:
        parts = list(dict.fromkeys(_begun(forms[place]) for place in places))
        found = [_with_word(field, part) for part in parts]
        mask = np.logical_and.reduce([one for one, _ in found])
        sql = " AND ".join(one for _, one in found)
        said, named = " ".join(self.words[place] for place in places), 0.3 + 0.3 * len(places)
        return Condition(ConditionKind.HAS, field, sql, mask, named, frozenset(places), said)

    def _said(self, text: str) -> _Scored | None:
        """How much of a text the question says, and where."""
        words = compared(text)
        said = [word for word in words if self.said_at(word)]
        if not any(word not in STOPWORDS and len(word) > 1 for word in said):
            return None
        share = sum(map(len, said)) / sum(map(len, words))
        return share, frozenset().union(*(self.said_at(word) for word in said)), text

    def _figures(self, field: Field) -> Iterator[Condition]:
        numbers = field.numbers
        assert numbers is not None
        for number, used in self.numbers:
            places = frozenset(i for i, w in enumerate(self.words) if w in used)
            within = not np.isnan(numbers).all() and (
                np.nanmin(numbers) <= number <= np.nanmax(numbers)
            )
            for kind, sign, mask in _compared(numbers, number):
                if within or kind is ConditionKind.EQUAL:
                    sql = f"{field.name} {sign} {number:.15g}"
                    yield Condition(kind, field, sql, mask, 0.8, places)

    def _signs(self, field: Field) -> Iterator[Condition]:
        if not field.is_measure or field.numbers is None:
            return
        below, zero = field.numbers < 0, field.numbers == 0
        yield Condition(ConditionKind.NEGATIVE, field, f"{field.name} < 0", below, 0.0)
        yield Condition(ConditionKind.ZERO, field, f"{field.name} = 0", zero, 0.0)

    def _periods(self, field: Field) -> Iterator[Condition]:
        years, months = field.years, field.months
        assert years is not None and months is not None
        there = years > 0
        said = [int(n) for n, _ in self.numbers if 1_000 < n < 2_200 and n == int(n)]
        for year in said:
            used = self.said_at(str(year))
            for kind, (_, sign, mask) in zip(_OF_YEARS, _compared(years, year), strict=True):
                sql = f"year({field.name}) {sign} {year}"
                yield Condition(kind, field, sql, mask & there, 0.9, used)
        for place, number in self.months():
            mask, used = months == number, frozenset([place])
            sql = f"month({field.name}) = {number}"
            yield Condition(ConditionKind.MONTH, field, sql, mask, 0.9, used)
            for year in said:
                both = f"{sql} AND year({field.name}) = {year}"
                of_year = mask & (years == year)
                at = used | self.said_at(str(year))
                yield Condition(ConditionKind.MONTH_OF_YEAR, field, both, of_year, 1.2, at)

    def months(self) -> list[tuple[int, int]]:
        """The months that the question names: where, and which."""
        named = ((place, month_called(word)) for place, word in enumerate(self.words))
        return [(place, number) for place, number in named if number]

    def _spans(self, field: Field) -> Iterator[Condition]:
        days = sorted(self._days(_usual_years(field)[0]))
        assert field.numbers is not None
        for day, used in days:
            number = _days(day)
            for kind, (_, sign, mask) in zip(
                _OF_DAYS, _compared(np.floor(field.numbers), number), strict=True
            ):
                sql = f"CAST({field.name} AS DATE) {sign} DATE '{day}'"
                yield Condition(kind, field, sql, mask, 1.0, used)
        for (first, a), (last, b) in (*combinations(days[:3], 2), *self._of_months(field)):
            numbers = np.floor(field.numbers)
            mask = (numbers >= _days(first)) & (numbers <= _days(last))
            sql = f"CAST({field.name} AS DATE) BETWEEN DATE '{first}' AND DATE '{last}'"
            yield Condition(ConditionKind.BETWEEN, field, sql, mask, 1.5, a | b)

    def _days(self, usual: int) -> Iterator[tuple[dt.date, frozenset[int]]]:
        """The days that the question names; of the usual year, if it names none. Of 3/4/2025 it is
        the rows that say which day is meant."""
        for found in _FIGURES.finditer(self._low):
            at = frozenset().union(*(self.said_at(word) for word in compared(found[0])))
            orders = (Convention(order=order) for order in DateOrder)
            for read in dict.fromkeys(date(found[0], order) for order in orders):
                if read:
                    yield read.date(), at
        for found in (*_DAY.finditer(self._low), *_DAY_LAST.finditer(self._low)):
            day, name, year = found["day"], found["month"], found["year"]
            if not (number_of := month(name) or month_called(name)):
                continue
            used = frozenset().union(*(self.said_at(w) for w in (day, name, year) if w))
            for number in (found["from"], day):
                if number and (made := _date(int(year or usual), number_of, int(number))):
                    yield made, used

    def _of_months(self, field: Field) -> Iterator[tuple[tuple[dt.date, frozenset[int]], ...]]:
        """From the first day of a month to the last of another, where two are named; of any years
        that the column has, if the question names none: October to March is of two."""
        named = self.months()
        if len(named) != 2:
            return
        (a, first), (b, last) = named
        said = [int(n) for n, _ in self.numbers if 1_000 < n < 2_200 and n == int(n)][:2]
        used = frozenset([a, b]).union(*(self.said_at(str(year)) for year in said))
        over = last < first and self._says_span([a, b])
        years = [(year, year + over) for year in _usual_years(field)]
        for one, other in [(said[0], said[-1])] if said else years:
            start, after = _date(one, first, 1), _date(other + last // 12, last % 12 + 1, 1)
            if start and after and start < after:
                yield (start, used), (after - dt.timedelta(1), used)

    def _between_months(self, found: list[Condition]) -> list[Condition]:
        """Where a question says "from one month to another", it means neither of the two alone."""
        named = [place for place, _ in self.months()]
        if not self._says_span(named):
            return found
        spanned = {one.field for one in found if one.is_span and {*named} <= one.used}
        return [
            one
            for one in found
            if one.is_span or one.field not in spanned or not {*named} & one.used
        ]

    def _says_span(self, months: Sequence[int]) -> bool:
        """Whether a question says that a time goes from one month to another, and which."""
        return len(months) == 2 and (
            self.words[months[1] - 1] in _UP_TO or months[1] - months[0] == 1
        )

    def _columns_compared(self) -> Iterator[Condition]:
        measures = [field for field in self.fields if field.is_measure][:8]
        for one, other in permutations(measures, 2):
            used = self.places(one) | self.places(other)
            if not used or one.column.kind is not other.column.kind:
                continue
            assert one.numbers is not None and other.numbers is not None
            mask = one.numbers < other.numbers
            sql = f"{one.name} < {other.name}"
            yield Condition(ConditionKind.BELOW, one, sql, mask, 0.3, used, other=other)

    def _of_two(self, found: Sequence[Condition]) -> list[Condition]:
        """Rows that meet one of two conditions on the same column."""
        able = (ConditionKind.IS, ConditionKind.EQUAL, ConditionKind.YEAR, ConditionKind.MONTH)
        likely = [c for c in self._likely(found) if c.kind in able][:_EITHER]
        return [
            Condition(
                ConditionKind.EITHER,
                a.field,
                f"({a.sql} OR {b.sql})",
                a.mask | b.mask,
                min(a.named, b.named),
                a.used | b.used,
            )
            for a, b in combinations(likely, 2)
            if a.field is b.field and not a.used & b.used and not (a.mask | b.mask).all()
        ]

    def _likely(self, conditions: Sequence[Condition]) -> list[Condition]:
        return sorted(conditions, key=lambda one: -self._prior(one))

    def _prior(self, one: Condition) -> float:
        letters = sum(len(self.words[place]) for place in one.used)
        named = sum(word in self.words for word in one.field.words)
        weight = _PRIOR.get(one.kind, _USUAL)
        return weight * (0.3 + one.named) + 0.25 * named + 0.1 * letters

    def choices(self) -> Iterator[tuple[tuple[Condition, ...], Mask]]:
        """All rows, then the likely choices by one condition, then by two."""
        yield (), np.ones(self.rows, bool)
        ranked = self._likely(self.conditions)
        for one in ranked[:_SINGLES]:
            yield (one,), one.mask
        pairs = [
            (self._prior(a) + self._prior(b), (a, b), a.mask & b.mask)
            for a, b in combinations(ranked[:_PAIRED], 2)
            if (a.field is not b.field or (a.kind.startswith("n") and b.kind.startswith("n")))
            and not a.used & b.used
        ]
        narrow = [
            (score, (a, b), mask)
            for score, (a, b), mask in pairs
            if mask.any()
            and (mask.sum() < min(a.mask.sum(), b.mask.sum()) or a.is_span or b.is_span)
        ]
        narrow.sort(key=lambda one: -one[0])
        for _, both, mask in narrow[:_PAIRS]:
            yield both, mask


_PRIOR: Mapping[ConditionKind, float] = {  # only for which are tried at all
    ConditionKind.IS: 2.0,
    ConditionKind.HAS: 1.2,
    ConditionKind.BETWEEN: 3.0,
    ConditionKind.MONTH_OF_YEAR: 2.5,
    ConditionKind.MONTH: 1.8,
    ConditionKind.BELOW: 0.4,
    ConditionKind.EITHER: 1.6,
    ConditionKind.IS_NOT: 0.6,
    ConditionKind.ONE_OF_FEW: 0.3,
    ConditionKind.GAP: 0.15,
    ConditionKind.NEGATIVE: 0.3,
    ConditionKind.ZERO: 0.35,
}
_USUAL = 1.3
_OF_NUMBERS = (
    ConditionKind.EQUAL,
    ConditionKind.MORE,
    ConditionKind.LESS,
    ConditionKind.AT_LEAST,
    ConditionKind.AT_MOST,
)
_OF_YEARS = (
    ConditionKind.YEAR,
    ConditionKind.AFTER_YEAR,
    ConditionKind.BEFORE_YEAR,
    ConditionKind.FROM_YEAR,
    ConditionKind.TO_YEAR,
)
_OF_DAYS = (
    ConditionKind.DAY,
    ConditionKind.AFTER_DAY,
    ConditionKind.BEFORE_DAY,
    ConditionKind.FROM_DAY,
    ConditionKind.TO_DAY,
)
_SIGNS = ("=", ">", "<", ">=", "<=")
_NUMBER = re.compile(r"(?<![\w.,])\d(?:[\d.,]*\d)?(?!\w|[.,]\d)", re.ASCII)
_NAME = r"[^\W\d_]{3,10}"
_FIGURES = re.compile(r"(?<![\w.,/-])(?:\d{4}-\d\d-\d\d|\d{1,2}([./-])\d{1,2}\1\d{2,4})(?![\w/-])")
_DAY = re.compile(  # "4 June 2025", "15 to 31 may"
    rf"(?:(?P<from>\d{{1,2}})\W+\w{{1,5}}\W+)?(?<!\d)(?P<day>\d{{1,2}})(?:[a-z]{{2}}|\.)?\s+"
    rf"(?:[a-z]{{2}}\s)?(?P<month>{_NAME})\b(?:\.?,?\s(?:de\s)?(?P<year>\d{{4}}))?"
)
_DAY_LAST = re.compile(  # "June 4th, 2025"
    rf"\b(?P<month>{_NAME})\.?\s(?P<from>)(?P<day>\d{{1,2}})(?:[a-z]{{2}})?(?![\w-])"
    r"(?!\.?\s+[^\W\d_])(?:,?\s(?P<year>\d{4}))?"
)


def _numbers(text: str) -> Iterator[tuple[float, frozenset[str]]]:
    """The numbers of a text, and the words that they are of: with a point before their decimals, or
    with a comma, if they cannot be read so."""
    for written in dict.fromkeys(_NUMBER.findall(text)):
        read = written_number(written)
        values = [read.value(mark) for mark in ".,"] if read else []
        number = next((one for one in values if one is not None), None)
        if number is not None:
            yield float(number), frozenset(compared(written))


def _compared(
    values: Numbers | npt.NDArray[np.int64], number: float
) -> Iterator[tuple[ConditionKind, str, Mask]]:
    masks = (
        values == number,
        values > number,
        values < number,
        values >= number,
        values <= number,
    )
    yield from zip(_OF_NUMBERS, _SIGNS, masks, strict=True)


def _with_word(field: Field, begun: str) -> tuple[Mask, str]:
    """The rows in which a word begins with a text, and how a query says that."""
    inside = np.array([begun in (text or "") for text in field.texts], bool)
    word = re.compile(rf"(?<![^\W_]){re.escape(begun)}")
    mask = inside & [bool(word.search(text or "")) for text in field.texts]
    if (mask == inside).all():
        return mask, f"lower({field.name}) LIKE {literal(f'%{begun}%')}"
    return mask, f"regexp_matches(lower({field.name}), {literal(at_word(begun))})"


def _begun(forms: set[str]) -> str:
    """What several forms of a word begin with: "ticket" of "ticket" and "tickets"."""
    shortest = begun = min(forms, key=lambda one: (len(one), one))
    while not all(one.startswith(begun) for one in forms):
        begun = begun[:-1]
    return begun if len(begun) >= _LEAST_BEGUN else shortest


def _is(
    kind: ConditionKind, field: Field, text: str, named: float, used: frozenset[int]
) -> Condition:
    mask = np.array([one == text for one in field.texts], bool)
    sql = f"{as_compared(field)} = {literal(text)}"
    return Condition(kind, field, sql, mask, named, used, text)


def _is_not(field: Field, text: str, named: float, used: frozenset[int]) -> Condition:
    mask = np.array([one is not None and one != text for one in field.texts], bool)
    sql = f"{as_compared(field)} <> {literal(text)}"
    return Condition(ConditionKind.IS_NOT, field, sql, mask, named, used, text)


def as_compared(field: Field) -> str:
    """A column in a query, without regard to capitals."""
    return f"lower({field.name})" if field.is_text else field.name


def _date(year: int, month_: int, day: int) -> dt.date | None:
    try:
        return dt.date(year, month_, day)
    except ValueError:
        return None


def _usual_years(field: Field) -> list[int]:
    """The years of most days of a column, that of the most first; this one, if it has none."""
    assert field.years is not None
    found = Counter(int(year) for year in field.years if year > 0).most_common(_YEARS)
    return [year for year, _ in found] or [dt.date.today().year]
