"""Queries that a question over one table may mean: every choice of rows by what the question names,
with every figure, list and look-up over them. Which of them is meant is decided elsewhere.

A floating grammar as in Pasupat and Liang 2015, "Compositional Semantic Parsing on Semi-Structured
Tables" (aclanthology.org/P15-1142), that says SQL. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, permutations

from rag_app.tables.conditions import (
    Condition,
    ConditionKind,
    Field,
    Mask,
    ParsedQuestion,
    as_compared,
)
from rag_app.tables.joining import OpenTable
from rag_app.types import ColumnKind

_COLUMNS, _MEASURES, _ORDERS, _TEXTS, _YEARS = 8, 5, 5, 4, 12  # that are tried
_PAIRED = 3  # of which two are held against each other
_LIST = 25  # rows that are listed
_NEXT_TO = 3  # rows beside which another is looked for
_TOP = 3  # of how many, where no number is said
_MOST_TOP = 20


class Operator(StrEnum):
    """What is asked of the chosen rows."""

    COUNT = "count"
    DIFFERENT = "different"  # how many different texts
    SUM = "sum"
    MEAN = "avg"
    MOST = "max"
    LEAST = "min"
    SPREAD = "spread"  # most less least
    PRODUCT = "product"  # the sum of one column times another
    LIST = "list"
    FIRST = "first"
    LAST = "last"
    NEXT = "next"  # the row below
    BEFORE = "before"
    SAME = "same"  # the other rows that are equal to the chosen by a column
    OF_MOST = "argmax"
    OF_LEAST = "argmin"
    TOP = "top"
    BOTTOM = "bottom"
    GROUP_OF_MOST = "group most"  # by number of rows, or by the sum of a column
    GROUP_OF_LEAST = "group least"
    TOP_GROUPS = "top groups"
    GROUPS = "groups"
    MEANS_OF_GROUPS = "means of groups"
    SHARE = "share"  # in percent
    DIFFERENCE = "difference"  # of two choices of rows
    OVER_YEARS = "over years"  # the sum of columns that are years
    MEAN_OF_YEARS = "mean of years"
    YEAR_OF_MOST = "year of most"
    YEAR_OF_LEAST = "year of least"
    BETWEEN_COLUMNS = "between columns"  # the difference of two of them
    DAYS = "days"  # from a date to another of the row
    MEAN_DAYS = "mean days"
    PLUS = "plus"  # the sum of two columns together
    PER = "per"  # the sum of one column by that of another
    OFTEN = "often"  # what is there so many times at least
    MORE_OFTEN = "more often"

    @property
    def counts(self) -> bool:
        """Whether what comes out is of no column."""
        return self in (
            Operator.COUNT,
            Operator.DIFFERENT,
            Operator.SHARE,
            Operator.YEAR_OF_MOST,
            Operator.YEAR_OF_LEAST,
        )


GROUPED = (  # in the order of the weights that were taught
    Operator.GROUPS,
    Operator.MEANS_OF_GROUPS,
    Operator.GROUP_OF_MOST,
    Operator.GROUP_OF_LEAST,
    Operator.TOP_GROUPS,
)


@dataclass(frozen=True, eq=False)
class CandidateQuery:
    """A query that may be meant. `mask`: the rows it is about."""

    operator: Operator
    sql: str
    mask: Mask
    conditions: tuple[Condition, ...] = ()
    field: Field | None = None
    by: Field | None = None
    number: int = 0  # how many are asked for, of the first of something
    takes_number: bool = False  # the question says how many
    whole: Condition | None = None  # of which a share is a part; None: of all rows


@dataclass(frozen=True, eq=False)
class TableQuestion:
    """A question over a table, and the queries that it may mean."""

    parsed: ParsedQuestion
    candidates: tuple[CandidateQuery, ...]


def candidates(text: str, opened: OpenTable, fields: tuple[Field, ...]) -> TableQuestion:
    """The queries that a question may mean over a table; `fields`: see `fields_of`."""
    asked = ParsedQuestion(text, fields)
    return TableQuestion(asked, tuple(_candidates(asked, opened.sql_name)) if asked.rows else ())


def _candidates(asked: ParsedQuestion, table: str) -> Iterator[CandidateQuery]:
    chosen = list(asked.choices())
    columns = sorted(asked.fields, key=lambda f: (-_share_named(asked, f), f.place))[:_COLUMNS]
    texts = [field for field in asked.fields if field.is_text]
    if texts and texts[0] not in columns:
        columns.append(texts[0])  # what the rows are called, as a rule
    columns += [f for f in asked.fields if f.is_measure and f not in columns][:_MEASURES]
    named = [field for field in columns if asked.places(field)]
    for conditions, mask in chosen:
        over = _Over(table, conditions, mask, columns, _tops(asked))
        yield from over.figures()
        yield from over.rows()
        yield from over.equal(named)
        yield from over.groups()
        yield from over.years(asked.fields)
    alone = [(one[0], mask) for one, mask in chosen if len(one) == 1]
    yield from _shares(table, chosen, columns)
    yield from _differences(table, alone, columns)


def _share_named(asked: ParsedQuestion, field: Field) -> float:
    letters = sum(map(len, field.words)) or 1
    return sum(len(word) for word in field.words if asked.said_at(word)) / letters


def _tops(asked: ParsedQuestion) -> list[tuple[int, bool]]:
    """How many a list may be long, and whether the question says so."""
    said = [int(n) for n, _ in asked.numbers if 1 < n <= _MOST_TOP and n == int(n)]
    return [(n, True) for n in said[:2]] or [(_TOP, False)]


def _where(conditions: Sequence[Condition]) -> str:
    return " WHERE " + " AND ".join(one.sql for one in conditions) if conditions else ""


class _Over:
    """Queries over one choice of rows."""

    def __init__(
        self,
        table: str,
        conditions: tuple[Condition, ...],
        mask: Mask,
        columns: Sequence[Field],
        tops: Sequence[tuple[int, bool]],
    ) -> None:
        self._from = f"FROM {table}{_where(conditions)}"
        self._and = f"{self._from}{' AND' if conditions else ' WHERE'}"
        self._table, self._conditions, self._mask = table, conditions, mask
        self._columns, self._tops = columns, tops
        # Of two texts of a column it may be asked which of them.
        self._chosen = {c.field for c in conditions if c.kind is not ConditionKind.EITHER}
        self._count = int(mask.sum())
        self._orders = [f for f in columns if not f.is_text][:_ORDERS]
        self._measures = [f for f in columns if f.is_measure][:_MEASURES]
        self._texts = [f for f in columns if f.is_text][:_TEXTS]

    def _made(
        self,
        operator: Operator,
        sql: str,
        field: Field | None = None,
        by: Field | None = None,
        top: tuple[int, bool] = (0, False),
    ) -> CandidateQuery:
        return CandidateQuery(operator, sql, self._mask, self._conditions, field, by, *top)

    def figures(self) -> Iterator[CandidateQuery]:
        yield self._made(Operator.COUNT, f"SELECT count(*) {self._from}")
        for field in self._texts:
            sql = f"SELECT count(DISTINCT {field.name}) {self._from}"
            yield self._made(Operator.DIFFERENT, sql, field)
        for field in self._orders:
            least, most = f"min({field.name})", f"max({field.name})"
            yield self._made(Operator.MOST, f"SELECT {most} {self._from}", field)
            yield self._made(Operator.LEAST, f"SELECT {least} {self._from}", field)
            if field.is_measure or field.column.kind is ColumnKind.YEAR:
                sql = f"SELECT {most} - {least} {self._from}"
                yield self._made(Operator.SPREAD, sql, field)
        for field in self._measures:
            for operator in (Operator.SUM, Operator.MEAN):
                sql = f"SELECT {operator}({field.name}) {self._from}"
                yield self._made(operator, sql, field)
        if len(self._conditions) < 2:
            for one, other in combinations(self._measures, 2):
                sql = f"SELECT sum({one.name} * {other.name}) {self._from}"
                yield self._made(Operator.PRODUCT, sql, one, other)
        yield from self._of_two_columns()

    def _of_two_columns(self) -> Iterator[CandidateQuery]:
        for one, other in combinations(self._measures[:_PAIRED], 2):
            sql = f"SELECT sum(coalesce({one.name}, 0) + coalesce({other.name}, 0)) {self._from}"
            yield self._made(Operator.PLUS, sql, one, other)
        if len(self._conditions) < 2:
            for one, other in permutations(self._measures[:_PAIRED], 2):
                sql = f"SELECT sum({one.name}) / nullif(sum({other.name}), 0) {self._from}"
                yield self._made(Operator.PER, sql, one, other)
        dates = sorted((f for f in self._orders if f.is_time), key=lambda f: f.place)
        for one, other in combinations(dates[:_PAIRED], 2):
            days = f"abs(date_diff('day', {one.name}, {other.name}))"
            yield self._made(Operator.MEAN_DAYS, f"SELECT avg({days}) {self._from}", one, other)
            if self._conditions and self._count <= _LIST:
                yield self._made(Operator.DAYS, f"SELECT {days} {self._from}", one, other)

    def rows(self) -> Iterator[CandidateQuery]:
        for field in self._columns:
            name = field.name
            if self._conditions and field not in self._chosen and self._count <= _LIST:
                yield self._made(Operator.LIST, f"SELECT {name} {self._from}", field)
            if self._count > 1 and len(self._conditions) < 2:
                first = f"SELECT {name} {self._from} ORDER BY rowid"
                yield self._made(Operator.FIRST, f"{first} LIMIT 1", field)
                yield self._made(Operator.LAST, f"{first} DESC LIMIT 1", field)
            if self._is_one_place:
                for operator, row in (
                    (Operator.NEXT, "max(rowid) + 1"),
                    (Operator.BEFORE, "min(rowid) - 1"),
                ):
                    there = f"(SELECT {row} {self._from})"
                    sql = f"SELECT {name} FROM {self._table} WHERE rowid = {there}"
                    yield self._made(operator, sql, field)
            if self._count > 1 and field not in self._chosen and not field.is_measure:
                yield from self._extremes(field)

    @property
    def _is_one_place(self) -> bool:
        """Whether it makes sense to ask what stands beside the rows, or is like them."""
        return len(self._conditions) == 1 and self._count <= _NEXT_TO

    def equal(self, named: Sequence[Field]) -> Iterator[CandidateQuery]:
        """Who has the same, in a column that the question names."""
        if not self._is_one_place:
            return
        (condition,) = self._conditions
        for by in named:
            if by in self._chosen:
                continue
            held = as_compared(by)
            there = f"(SELECT min({held}) {self._from})"
            others = f"NOT coalesce({condition.sql}, false)"
            sql = f"FROM {self._table} WHERE {held} = {there} AND {others}"
            for field in self._texts:
                if field is not by:
                    yield self._made(Operator.SAME, f"SELECT {field.name} {sql}", field, by)

    def _extremes(self, field: Field) -> Iterator[CandidateQuery]:
        for by in self._orders:
            if by is field:
                continue
            for operator, most in ((Operator.OF_MOST, "max"), (Operator.OF_LEAST, "min")):
                there = f"(SELECT {most}({by.name}) {self._from})"
                sql = f"SELECT {field.name} {self._and} {by.name} = {there}"
                yield self._made(operator, sql, field, by)
            for number, said in self._tops if field.is_text else ():
                for operator, down in ((Operator.TOP, " DESC"), (Operator.BOTTOM, "")):
                    order = f"IS NOT NULL ORDER BY {by.name}{down} LIMIT {number}"
                    sql = f"SELECT {field.name} {self._and} {by.name} {order}"
                    yield self._made(operator, sql, field, by, (number, said))

    def groups(self) -> Iterator[CandidateQuery]:
        if self._count < 2:
            return
        for field in self._columns:
            is_year = field.column.kind is ColumnKind.YEAR
            if field in self._chosen or not (field.is_text or field.is_time or is_year):
                continue
            if field.is_text and field.different == len(field.texts):
                continue
            if field.is_text:
                yield from self._often(field)
            label = f"strftime({field.name}, '%B %Y')" if field.is_time else field.name
            for by in (None, *self._measures[:3]):
                yield from self._grouped(field, by, label)

    def _often(self, field: Field) -> Iterator[CandidateQuery]:
        held = f"{self._and} {field.name} IS NOT NULL GROUP BY {field.name} HAVING count(*)"
        for number, said in self._tops:
            if said:
                top = (number, said)
                least = f"SELECT {field.name} {held} >= {number}"
                yield self._made(Operator.OFTEN, least, field, top=top)
                more = f"SELECT {field.name} {held} > {number}"
                yield self._made(Operator.MORE_OFTEN, more, field, top=top)

    def _grouped(self, field: Field, by: Field | None, label: str) -> Iterator[CandidateQuery]:
        held = "".join(f" AND {one.name} IS NOT NULL" for one in (field, by) if one)
        groups = f"{self._and}{held.removeprefix(' AND')} GROUP BY {label} ORDER BY"
        figure = f"sum({by.name})" if by else "count(*)"
        order = f"min({field.name})" if field.is_time else "2 DESC"
        sql = f"SELECT {label}, {figure} {groups} {order}"
        yield self._made(Operator.GROUPS, sql, field, by)
        if by:
            sql = f"SELECT {label}, avg({by.name}) {groups} {order}"
            yield self._made(Operator.MEANS_OF_GROUPS, sql, field, by)
        named = f"SELECT {label} {groups} {figure}"
        for operator, down in ((Operator.GROUP_OF_MOST, " DESC"), (Operator.GROUP_OF_LEAST, "")):
            yield self._made(operator, f"{named}{down} LIMIT 1", field, by)
        for number, said in self._tops:
            top = f"{named} DESC LIMIT {number}"
            yield self._made(Operator.TOP_GROUPS, top, field, by, (number, said))

    def years(self, fields: Sequence[Field]) -> Iterator[CandidateQuery]:
        """Over columns that are called after years, of a single row."""
        of_years = [f for f in fields if f.is_measure and _is_year(f.column.name)][:_YEARS]
        if len(of_years) < 2 or self._count != 1:
            return
        names = [field.name for field in of_years]
        added = " + ".join(f"coalesce({name}, 0)" for name in names)
        mean = f"list_avg([{', '.join(names)}])"
        yield self._made(Operator.OVER_YEARS, f"SELECT {added} {self._from}", of_years[0])
        yield self._made(Operator.MEAN_OF_YEARS, f"SELECT {mean} {self._from}", of_years[0])
        for operator, most in (
            (Operator.YEAR_OF_MOST, "greatest"),
            (Operator.YEAR_OF_LEAST, "least"),
        ):
            best = f"{most}({', '.join(names)})"
            cases = " ".join(f"WHEN {f.name} THEN {f.column.name.strip()}" for f in of_years)
            sql = f"SELECT CASE {best} {cases} END {self._from}"
            yield self._made(operator, sql, of_years[0])
        named = [field for field in of_years if field in self._columns]
        for one, other in combinations(named, 2):
            sql = f"SELECT abs({one.name} - {other.name}) {self._from}"
            yield self._made(Operator.BETWEEN_COLUMNS, sql, one, other)


def _is_year(name: str) -> bool:
    return re.fullmatch(r"(?:19|20)\d\d", name.strip()) is not None


def _shares(
    table: str, chosen: Sequence[tuple[tuple[Condition, ...], Mask]], columns: Sequence[Field]
) -> Iterator[CandidateQuery]:
    """What part of the rows, or of a sum, a choice is, in percent; with two conditions the part
    that the first is of the second, and the other way round."""
    measures = [field for field in columns if field.is_measure][:3]
    for conditions, mask in chosen:
        if not conditions:
            continue
        for place, part in enumerate(conditions):
            rest = tuple(one for at, one in enumerate(conditions) if at != place)
            for field in (None, *measures):
                figure = f"sum({field.name})" if field else "count(*)"
                held = f"{figure} FILTER (WHERE {part.sql})"
                sql = f"SELECT 100.0 * {held} / nullif({figure}, 0) FROM {table}{_where(rest)}"
                whole = rest[0] if rest else None
                yield CandidateQuery(Operator.SHARE, sql, mask, conditions, field, whole=whole)


def _differences(
    table: str, alone: Sequence[tuple[Condition, Mask]], columns: Sequence[Field]
) -> Iterator[CandidateQuery]:
    """How far apart two choices of rows are by the same column."""
    numbers = [field for field in columns if not field.is_text and not field.is_time][:_MEASURES]
    able = [
        (one, mask)
        for one, mask in alone
        if one.named and one.kind.endswith("=") and one.kind not in ("n>=", "n<=", "y>=", "y<=")
    ]
    for (a, first), (b, second) in combinations(able[:10], 2):
        if a.field is not b.field or a.used == b.used:
            continue
        for field in (None, *numbers):
            figure = f"sum({field.name})" if field else "count(*)"
            held = [f"{figure} FILTER (WHERE {one.sql})" for one in (a, b)]
            sql = f"SELECT abs({held[0]} - {held[1]}) FROM {table} WHERE {a.sql} OR {b.sql}"
            yield CandidateQuery(Operator.DIFFERENCE, sql, first | second, (a, b), field)
