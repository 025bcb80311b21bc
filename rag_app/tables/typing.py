"""What the cells of a column are: the kind that fits nearly all of them, and how they are written.

A doubt that one cell leaves is settled by all of them together: of the ways to read them the one
that fits the most. Knows nothing of rows, documents or SQL."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice

from rag_app.tables.values import (
    Convention,
    DateOrder,
    WrittenNumber,
    currency,
    date,
    duration,
    has_seconds,
    has_time,
    in_whole,
    is_dash,
    is_empty,
    is_month,
    is_season,
    rank,
    written_number,
    year,
)
from rag_app.types import CellValue, ColumnKind

MOST_TEXTS = 5_000  # different ones of a column that are looked at
_FIRST_TEXTS = 200  # that tell whether it is worth it
_HOPELESS = 0.3  # of these are values of any kind
_FITS = 0.7  # of the cells that say something, for a column to be more than text
_SAME_UNIT = 0.5  # of the numbers with a word behind them, for the word to be a unit
_RARE = 0.02  # share of a unit that is rather a slip
_MOST_UNITS = 12
_SHORT = 2  # letters that the words of a unit may be shortened to: "Sq Ft"
_LETTERS = "abcdef"  # by which classes, flats and versions are told apart
_MONTH_FIRST = re.compile(r"[^\W\d_]+\W+(\d{1,2})")
_LIKELY_YEARS = range(1900, 2101)
_LEAP = 2000  # has every day that one without a year may be
_DAYS = 3  # different numbers behind months, from which on they are days
_NINES = str.maketrans("012345678", "9" * 9)
_THOUSANDS = re.compile(r"[1-9]\d{0,2}([.,])\d{3}", re.ASCII)
_PLACES = 9  # behind the decimal mark; more are kept as floating point
WIDTH = 18  # figures of an exact number

Texts = Mapping[str, int]  # the different texts of a column, and how often each stands in it


@dataclass(frozen=True, slots=True)
class Typed:
    """A value, its unit, and whether its text says more than both."""

    value: CellValue
    unit: str = ""
    plain: bool = True


_NOTHING = Typed(None)
_TEXT_ONLY = Typed(None, plain=False)


@dataclass(frozen=True, slots=True)
class ColumnRule:
    """How the cells of a column are read."""

    kind: ColumnKind = ColumnKind.TEXT
    convention: Convention = field(default_factory=Convention)
    units: tuple[str, ...] = ()  # the most frequent first
    places: int = 0  # behind the decimal mark; above `_PLACES`: not exact
    has_signs: bool = False  # a dash is a minus beside a plus
    # Whether its numbers are of several things: 4 weeks, 1 month. The number alone says what is in
    # none of them.
    counts_several: bool = field(init=False)

    def __post_init__(self) -> None:
        several = sum(not currency(unit) for unit in self.units) > 1
        object.__setattr__(self, "counts_several", several)

    @property
    def is_exact(self) -> bool:
        """Whether its numbers are kept to the last figure."""
        return self.places <= _PLACES

    def typed(self, text: str) -> Typed:
        """A cell as a value of this kind."""
        if self.kind is ColumnKind.TEXT:
            return Typed(None if is_dash(text) and not self.has_signs else text or None)
        if is_empty(text):
            return _NOTHING
        return _TYPED[self.kind](self, text) or _TEXT_ONLY


def _number(rule: ColumnRule, text: str) -> Typed | None:
    found = written_number(text)
    written = in_whole(found, rule.units) if found else None
    if written is None or (written.unit and written.unit not in rule.units):
        return None
    value = written.value(rule.convention.decimal)
    if value is None:  # a slip of the hand: the other mark, where it can be nothing else
        value = written.value("," if rule.convention.decimal == "." else ".")
    if value is None:
        return None
    plain = not (written.remark or rule.counts_several)
    if rule.kind is not ColumnKind.NUMBER:
        fits = value == int(value)  # not every cell was looked at when the kind was chosen
        return Typed(int(value), written.unit, plain) if fits else None
    if not rule.is_exact:
        return Typed(float(value), written.unit, plain)
    if -_exponent(value) > rule.places or abs(value) >= 10 ** (WIDTH - rule.places):
        return None
    return Typed(value, written.unit, plain)


def _year(rule: ColumnRule, text: str) -> Typed | None:
    found = year(text)
    return None if found is None else Typed(found)


def _rank(rule: ColumnRule, text: str) -> Typed | None:
    found = rank(text)
    return None if found is None else Typed(found)


def _duration(rule: ColumnRule, text: str) -> Typed | None:
    found = duration(text, rule.convention)
    return None if found is None else Typed(float(found))


def _date(rule: ColumnRule, text: str) -> Typed | None:
    found = date(text, rule.convention)
    if found is None:
        return None
    return Typed(found if rule.kind is ColumnKind.TIME else found.date())


_TYPED: dict[ColumnKind, Callable[[ColumnRule, str], Typed | None]] = {
    ColumnKind.INTEGER: _number,
    ColumnKind.NUMBER: _number,
    ColumnKind.YEAR: _year,
    ColumnKind.RANK: _rank,
    ColumnKind.DURATION: _duration,
    ColumnKind.DATE: _date,
    ColumnKind.TIME: _date,
}


def count_texts(cells: Iterable[str]) -> Counter[str]:
    """The different texts of a column, up to so many; numbers beyond with a nine for each figure:
    how many figures they have, and which unit, tells how all of them can be kept."""
    counts: Counter[str] = Counter()
    beyond: Counter[str] = Counter()
    for text in cells:
        if text in counts or len(counts) < MOST_TEXTS:
            counts[text] += 1
        elif (written := text.translate(_NINES)) in beyond or len(beyond) < MOST_TEXTS:
            beyond[written] += 1
    counts.update({each: count for each, count in beyond.items() if _is_number(each)})
    return counts


def _is_number(text: str) -> bool:
    found = written_number(text)
    return found is not None and any(found.value(mark) is not None for mark in ".,")


def rules(columns: Iterable[Texts], year_said: int | None = None) -> list[ColumnRule]:
    """How each column of a table is read.

    Where a column's own cells leave a doubt about its decimal mark or the order of its dates, the
    other columns settle it: a table is written in one country. So with the year of days without
    one, which may be that of what the table is called."""
    known = list(columns)
    texts = [each if _may_be_values(each) else {} for each in known]
    years: set[int] = set()
    marks: Counter[str] = Counter()
    orders: Counter[DateOrder] = Counter()
    for each in texts:
        numbers = _numbers(each)
        if sum(numbers.values()) >= _FITS * _filled(each):
            marks.update(_sure_marks(numbers))
        order = _order(each)
        orders.update([order] if order else [])
        years |= _years(each)
        dotted = any(t.count(".") == 2 and date(t, Convention()) for t in list(each)[:50])
        marks.update([","] if dotted else [])
    usual = Convention(
        "," if marks[","] > marks["."] else ".",
        DateOrder.MONTH_FIRST
        if orders[DateOrder.MONTH_FIRST] > orders[DateOrder.DAY_FIRST]
        else DateOrder.DAY_FIRST,
        year=_only(years) or year_said,
    )
    found = [rule_of(each, usual) for each in texts]
    return [replace(r, has_signs="+" in own) for r, own in zip(found, known, strict=True)]


def _may_be_values(texts: Texts) -> bool:
    """Whether a column is more than text at first sight."""
    usual = Convention(year=_LEAP)
    first = [text for text in islice(texts, _FIRST_TEXTS) if not is_empty(text)]
    values = sum(
        bool(written_number(text) or rank(text) or date(text, usual) or _other(text, usual))
        for text in first
    )
    return values >= _HOPELESS * len(first)


def _other(text: str, usual: Convention) -> bool:
    american = replace(usual, order=DateOrder.MONTH_FIRST)
    return duration(text, usual) is not None or date(text, american) is not None


def rule_of(texts: Texts, usual: Convention | None = None) -> ColumnRule:
    """How one column is read; `usual` settles what its cells leave open."""
    usual = usual or Convention()
    filled = _filled(texts)
    if not filled or _are_codes(texts):
        return ColumnRule()
    candidates = [_date_rule(texts, usual), _clock_rule(texts, usual), _rank_rule(usual)]
    candidates.append(_number_rule(texts, usual))
    shares = [
        (_fitting(rule, texts) / filled, -place, rule)
        for place, rule in enumerate(candidates)
        if rule is not None
    ]
    share, _, best = max(shares, key=lambda each: each[:2])
    return best if share >= _FITS else ColumnRule()


def _filled(texts: Texts) -> int:
    return sum(count for text, count in texts.items() if not is_empty(text))


def _fitting(rule: ColumnRule, texts: Texts) -> int:
    return sum(n for text, n in texts.items() if rule.typed(text).value is not None)


def _are_codes(texts: Texts) -> bool:
    """Whether it holds names made of figures: "007" is no seven."""
    return any(
        len(text) > 1 and text[0] == "0" and text.isascii() and text.isdigit() for text in texts
    )


def _numbers(texts: Texts) -> dict[WrittenNumber, int]:
    found: Counter[WrittenNumber] = Counter()
    for text, count in texts.items():
        written = written_number(text)
        if written:
            found[written] += count
    return found


def _sure_marks(numbers: Mapping[WrittenNumber, int]) -> list[str]:
    """The decimal mark, if it is the only one with which the most numbers can be read.

    Money of whole amounts and of three figures behind a mark ("800 €", "1.250 €") is in thousands;
    beside no whole amount "1.789 €" may be the price of a litre."""
    whole = any(number.money and number.figures.isdigit() for number in numbers)
    fits = {mark: _readable(numbers, mark, whole) for mark in ".,"}
    if fits["."] == fits[","]:
        return []
    return ["." if fits["."] > fits[","] else ","]


def _readable(numbers: Mapping[WrittenNumber, int], mark: str, whole: bool) -> int:
    return sum(
        count
        for number, count in numbers.items()
        if number.value(mark) is not None and not (whole and _may_be_thousands(number, mark))
    )


def _may_be_thousands(number: WrittenNumber, mark: str) -> bool:
    found = _THOUSANDS.fullmatch(number.figures) if number.money else None
    return found is not None and found[1] == mark


def _number_rule(texts: Texts, usual: Convention) -> ColumnRule | None:
    found = _numbers(texts)
    if not found:
        return None
    named = {number.unit for number in found if number.money}
    alone = {number.unit for number in found}  # all in millions: a unit; some: as many times more
    named |= alone if len(alone) == 1 else set()
    numbers: Counter[WrittenNumber] = Counter()
    for number, count in found.items():
        numbers[in_whole(number, named)] += count
    mark = (_sure_marks(numbers) or [usual.decimal])[0]
    convention = replace(usual, decimal=mark)
    units = _units(numbers)
    values = [
        value
        for number in numbers
        if (not number.unit or number.unit in units) and (value := number.value(mark)) is not None
    ]
    if not values:
        return None
    if not units and all(_is_likely_year(text) for text in texts if not is_empty(text)):
        return ColumnRule(ColumnKind.YEAR, convention)
    places = max(max(0, -_exponent(value)) for value in values)
    whole = max(len(str(int(abs(value)))) for value in values)
    if places == 0:
        return ColumnRule(ColumnKind.INTEGER, convention, units)
    exact = places <= _PLACES and whole + places <= WIDTH
    return ColumnRule(ColumnKind.NUMBER, convention, units, places if exact else _PLACES + 1)


def _is_likely_year(text: str) -> bool:
    """Whether four figures are rather a year than an amount: 1200 is a rent."""
    named = year(text)
    return named is not None and named in _LIKELY_YEARS


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _units(numbers: Mapping[WrittenNumber, int]) -> tuple[str, ...]:
    """The units of a column: any currency, and words that most of its numbers with a word have."""
    counts: Counter[str] = Counter()
    money: set[str] = set()
    for number, count in numbers.items():
        if number.unit:
            counts[number.unit] += count
            money |= {number.unit} if number.money else set()
    names = money | _streets(counts) | _street(numbers)
    worded = {unit: count for unit, count in counts.items() if unit not in names}
    most, total = max(worded.values(), default=0), sum(worded.values())
    few = len(worded) <= _MOST_UNITS and most >= _SAME_UNIT * total and not _are_letters(worded)
    kept = money | {u for u, n in worded.items() if few and n >= max(_RARE * total, 1)}
    return tuple(unit for unit, _ in counts.most_common() if unit in kept)


def _streets(units: Collection[str]) -> set[str]:
    """Those that are rather the streets of addresses: names of several words that begin otherwise
    ("12 Mill Lane", "8 High Street"), not as one thing and several do ("1 Working Day")."""
    named = {unit for unit in units if " " in unit and unit.istitle()}
    return named if len({unit.split()[0] for unit in named}) > 1 else set()


def _street(numbers: Mapping[WrittenNumber, int]) -> set[str]:
    """The only name that is rather the street of all addresses ("12 Mill Lane", "14 Mill Lane"):
    one is not several of it, and no house stands twice or is in thousands."""
    named = {number.unit for number in numbers if " " in number.unit and number.unit.istitle()}
    houses = {number: count for number, count in numbers.items() if number.unit in named}
    alone = len(named) == 1 and len(houses) > 1
    if not alone or any(n > 1 or not one.figures.isdigit() for one, n in houses.items()):
        return set()
    short = all(len(word) <= _SHORT for unit in named for word in unit.split())
    return set() if short or any(unit.endswith("s") for unit in named) else named


def _are_letters(units: Collection[str]) -> bool:
    """Whether they number things rather than measure them: the classes 5a, 5b and "6ºC"."""
    bare = {unit.strip("ºª").lower() for unit in units}
    return len(bare) > 1 and all(len(one) == 1 and one in _LETTERS for one in bare)


def _rank_rule(usual: Convention) -> ColumnRule:
    return ColumnRule(ColumnKind.RANK, usual)


def _clock_rule(texts: Texts, usual: Convention) -> ColumnRule:
    minutes = any(map(has_seconds, texts))
    return ColumnRule(ColumnKind.DURATION, replace(usual, short_is_hours=not minutes))


def _order(texts: Texts) -> DateOrder | None:
    """The order in which its dates can be read, None if both do."""
    fits = {
        order: sum(count for text, count in texts.items() if date(text, Convention(order=order)))
        for order in DateOrder
    }
    if fits[DateOrder.DAY_FIRST] == fits[DateOrder.MONTH_FIRST]:
        return None
    return max(DateOrder, key=lambda order: fits[order])


def _years(texts: Texts) -> set[int]:
    """The years that its dates name."""
    return {day.year for text in texts if (day := date(text, Convention()))}


def _only(years: Collection[int]) -> int | None:
    return next(iter(years)) if len(years) == 1 else None


def _may_be_months(texts: Texts) -> bool:
    """Whether what stands behind its months may be years: "Jan 24", "Feb 24"."""
    behind = {found[1] for text in texts if (found := _MONTH_FIRST.fullmatch(text.strip()))}
    return 0 < len(behind) < _DAYS


def _date_rule(texts: Texts, usual: Convention) -> ColumnRule | None:
    order = _order(texts) or usual.order
    years = _years(texts)
    year = None if _may_be_months(texts) else _only(years) if years else usual.year
    convention = replace(usual, order=order, year=year)
    dates = [text for text in texts if date(text, convention)]
    if all(map(is_season, dates)):
        return None
    kind = ColumnKind.TIME if any(map(has_time, dates)) else ColumnKind.DATE
    months = all(is_month(text) or _is_first(date(text, convention)) for text in dates)
    return ColumnRule(kind, replace(convention, months=months))


def _is_first(day: dt.datetime | None) -> bool:
    return day is not None and day.day == 1
