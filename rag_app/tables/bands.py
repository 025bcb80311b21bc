"""Bands: rows or sentences one after the other, each of which holds for a range of one quantity, as
in "under 5 years | 23, 5 to 9 years | 25, 10 years and more | 27"; or rows for stretches of the
year or of the week. Pure.

Which of them holds for "after six years" is arithmetic, which small models get wrong. A band is
told by the numbers of its neighbours: two numbers are its ends, and what has one, before the first
or behind the last of those, is open on the side where the others are not. No words for "under" or
"more than" are known. Units, months and days of the week are called as CLDR has it."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from rag_app.tables.values import money_word
from rag_app.text.languages import (
    STOP,
    UNITS,
    in_digits,
    magnitude,
    month_called,
    unit_called,
    weekday_called,
    words_for_and,
)

_IN_DAYS = {
    "duration-hour": 1 / 24,
    "duration-day": 1.0,
    "duration-week": 7.0,
    "duration-month": 365 / 12,
    "duration-year": 365.0,
}
_SIGN = r"[^\w\s.,:;()<>+/|–—\-?!\"'“”‘’*#&=…]"
_NUMBER = re.compile(
    rf"""(?<![\w.,:/])
    (?P<sign>{_SIGN}?)\s?
    (?P<figures>\d{{1,2}}:[0-5]\d|\d+(?:[.,]\d{{3}})*(?:[.,]\d\d?)?)(?![\d:/]|[.,]\d)
    (?:(?P<link>\s?(?:[^\W\d_]{{1,3}}|[-–—])\s?(?={_SIGN}?\s?\d))  # a short word, or a dash
    |[\s-]?(?P<unit>[^\W\d_]+|{_SIGN})(?:[\s-](?P<more>[^\W\d_]+))?)?""",
    re.VERBOSE,
)
_NAMED_CELLS = re.compile("; ")
_CELLS = re.compile(r"; | \| ")
_NUMBERING = re.compile(  # of a clause, "2.5 Members may", and no "2.5 kg"; of a list, "1) "
    r"\W{0,9}(?:\d{1,2}(?:\.\d{1,2})+\.?\s+(?=[\"'(“]?[^\W\d_a-z])|\d{1,2}[.)]\s+(?=\D))"
)
_LONGEST, _LONGEST_NAME = 200, 3  # characters of what may be a band; words
_MOST_CELLS, _MOST = 12, 1e9
_DECIMALS = 3  # characters of a mark and two decimals
_A_PART = 4  # letters of a unit that tell it: "kilo"
_NOON = 12.0
_FIGURES = re.compile(r"\d[\d.,:]*")
_FAR, _HOURS = 4, 6  # times a bound below _MOST, and from a time of day (benchmarks/LOG.md)
_HALVES = {"am": 0.0, "pm": _NOON}
_YEARS = range(1900, 2101)
_FEWEST_SENTENCES = 3  # that are bands; of rows it is two
_RANGES = re.compile("S*P+S*")  # single numbers stand at the ends alone


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and what it counts: a unit of CLDR, a currency, or a word; "": nothing is said."""

    value: float
    unit: str
    word: str = ""
    said: str = ""  # as it is written


@dataclass(frozen=True, slots=True)
class Band:
    """One of several lines, by its number, and the range for which it holds, its ends included."""

    line: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class FoundBands:
    """Lines that are bands of one quantity: those that hold for what is asked, and the others."""

    inside: frozenset[int]
    outside: frozenset[int]
    asked: str  # what they hold for, "3 weeks"


@dataclass(frozen=True, slots=True)
class AskedValues:
    """What a question names that bands may be of, each as it is written."""

    quantities: tuple[Quantity, ...]
    days: tuple[tuple[Stretch, str], ...]
    weekdays: tuple[tuple[int, str], ...]
    words: frozenset[str] = frozenset()  # of the question

    def __bool__(self) -> bool:
        return bool(self.quantities or self.days or self.weekdays)

    def among(self, cells: Sequence[str]) -> Iterator[FoundBands]:
        """Which of the bands among some cells hold for it."""
        if self.quantities:
            yield from _of_quantities(self.quantities, cells)
        if self.days:
            yield from _of_stretches(self.days, [_stretch(cell) for cell in cells])
        if self.weekdays:
            yield from _of_weekdays(self.weekdays, [_weekdays(cell) for cell in cells])


def asked_for(question: str) -> AskedValues:
    """What a question names: quantities, days, days of the week."""
    named = _asked(question), _asked_days(question), _asked_weekdays(question)
    return AskedValues(*named, _telling(question))


def _telling(text: str) -> frozenset[str]:
    """The longer words of a text that are no days, months or units."""
    words = (_stem(word) for word in _WORD.findall(text.lower()) if len(word) > _SHORT)
    named = (weekday_called, month_called, unit_called)
    return frozenset(word for word in words if word not in STOP and not any(f(word) for f in named))


def choices(asked: AskedValues, lines: Sequence[str]) -> list[FoundBands]:
    """Which of the bands among lines that stand one after the other hold for what is asked. A line
    is a sentence, or a row as "name: cell; name: cell" or "cell | cell"."""
    if not asked:
        return []
    cells = [_cells(line) for line in lines]
    columns = range(min(_MOST_CELLS, max(map(len, cells), default=0)))
    by_column = [[row[at] if at < len(row) else "" for row in cells] for at in columns]
    return [_with_named(asked, found, cells) for each in by_column for found in asked.among(each)]


def _with_named(asked: AskedValues, found: FoundBands, rows: Sequence[Sequence[str]]) -> FoundBands:
    """The same, but that what the question calls by its name is not outside: "is Christmas dearer
    than August?"."""
    named = {
        line: asked.words & frozenset(word for cell in rows[line] for word in _name(cell))
        for line in found.inside | found.outside
    }
    common = frozenset.intersection(*named.values())
    said = common.union(*(named[line] for line in found.inside))
    return replace(found, outside=frozenset(at for at in found.outside if named[at] <= said))


def _name(cell: str) -> frozenset[str]:
    """The telling words of a cell that may be a name; none of a longer one."""
    return _telling(cell) if len(cell.split()) <= _LONGEST_NAME else frozenset()


def narrowed(asked: AskedValues, line: str) -> str:
    """A row without the cells whose columns are called by other bands than the one that holds: "up
    to 2 kg: £4; 2 to 5 kg: £7; more: £9"."""
    cells = _NAMED_CELLS.split(line) if asked else []
    names = [cell.partition(": ")[0] if ": " in cell else "" for cell in cells]
    left_out = {at for found in asked.among(names) for at in found.outside} if any(names) else set()
    return "; ".join(cell for at, cell in enumerate(cells) if at not in left_out) or line


@dataclass(frozen=True, slots=True)
class Bounded:
    """A question whose quantity a text sets a bound to: on which side of it the quantity is, and
    the same question far below and far above it."""

    is_above: bool
    below: str
    above: str


def bounded(question: str, text: str) -> Bounded | None:
    """A question like "may I borrow 3 items" where a text says 4; None unless it sets one bound to
    one quantity of the question, which is not the bound itself."""
    said = in_digits(question)
    bounds = quantities(_without_days(in_digits(_without_numbering(text))))
    asked = quantities(_without_days(said))
    alone = len(asked) == len(bounds) == 1 and asked[0].value != 1
    met = [
        (one, bound.value, value)
        for one in asked
        for bound in bounds
        for unit in [bound.unit if bound.unit == one.unit or _is_known(bound.unit) else ""]
        if (value := _in(one, unit, alone)) is not None
    ]
    if len(met) != 1 or met[0][1] == met[0][2] or ":" in met[0][0].said:
        return None
    one, bound, value = met[0]
    if not (0 < bound < _MOST and 0 < value < _MOST):
        return None
    before, _, after = re.split(rf"((?<![\w.,:]){re.escape(one.said)}(?!\d))", said, maxsplit=1)
    below, above = _far(one, bound, bound * one.value / value)
    return Bounded(value > bound, f"{before}{below}{after}", f"{before}{above}{after}")


def _far(one: Quantity, bound: float, as_said: float) -> tuple[str, str]:
    """A quantity far below and far above a bound, as it would be said; `as_said`: the bound in the
    unit of the quantity."""
    if one.word in _HALVES:
        hours = max(1.0, bound - _HOURS), min(2 * _NOON - 1, bound + _HOURS)
        low, high = (f"{(h - 1) % _NOON + 1:g} {'am' if h < _NOON else 'pm'}" for h in hours)
        return low, high
    counted = one.value.is_integer()
    far = as_said / _FAR, as_said * _FAR
    below, above = (f"{max(1, round(each)) if counted else each:.12g}" for each in far)
    return _FIGURES.sub(below, one.said, count=1), _FIGURES.sub(above, one.said, count=1)


def _of_quantities(asked: Sequence[Quantity], cells: Sequence[str]) -> Iterator[FoundBands]:
    alone = len({one.unit for one in asked}) == 1
    for unit, bands in _bands(cells):
        plain = all(_is_about(cells[band.line], unit_called) for band in bands)
        if not plain and len(bands) < _FEWEST_SENTENCES:
            continue
        own = {one.unit for band in bands for one in quantities(_without_days(cells[band.line]))}
        values = {one: _in(_as_of(one, unit, own), unit, alone and plain) for one in asked}
        held = [
            (b.line, one.said)
            for one, value in values.items()
            for b in bands
            if value is not None and b.low <= value <= b.high
        ]
        yield from _chosen([band.line for band in bands], held)


def _as_of(one: Quantity, unit: str, own: Set[str]) -> Quantity:
    """A number without a unit in years, as people say how old somebody is, if the bands are."""
    bare = not one.unit and unit in _IN_DAYS
    return replace(one, unit="duration-year") if bare and own <= {"duration-year", ""} else one


def _chosen(lines: Sequence[int], held: Sequence[tuple[int, str]]) -> Iterator[FoundBands]:
    """The lines that hold for something, each with what for, among all; nothing where none does."""
    inside = frozenset(line for line, _ in held)
    if inside:
        said = ", ".join(dict.fromkeys(asked for _, asked in held))
        yield FoundBands(inside, frozenset(lines) - inside, said)


def _asked(question: str) -> tuple[Quantity, ...]:
    """The quantities that a question names, but for years and days of a month."""
    found = quantities(_without_days(in_digits(question)))
    return tuple(
        one
        for one in found
        if _is_known(one.unit) or not (one.value == 1 or one.value in _YEARS)  # "one of them"
    )


def quantities(text: str) -> list[Quantity]:
    """The quantities of a text in order. What is joined to the next by a dash or a short
    word is measured in the same."""
    found: list[Quantity] = []
    linked = False
    for one in _NUMBER.finditer(text):
        behind = one["unit"] or ""
        power = magnitude(behind)  # "£15k"
        unit, word = _unit(one["sign"], "" if power else behind, one["more"] or "")
        said = text[one.start() : one.end("unit") if one["unit"] else one.end("figures")].strip()
        made, added = _by_the_clock(Quantity(_value(one["figures"]) * 10**power, unit, word, said))
        if linked and not (found[-1].unit and made.unit):
            before = found.pop()
            unit = before.unit or made.unit
            early = before.value + added if before.value + added <= made.value else before.value
            found.append(replace(before, value=early, unit=unit))
            made = replace(made, unit=unit)
        found.append(made)
        linked = bool(one["link"])
    return found


def _by_the_clock(one: Quantity) -> tuple[Quantity, float]:
    """A time of day as counted to 24, and what that added to its hours."""
    if one.unit not in _HALVES or not 1 <= one.value < _NOON + 1:
        return one, 0.0
    hours = one.value - _NOON if one.value >= _NOON else one.value
    return replace(one, value=hours + _HALVES[one.unit], unit=""), _HALVES[one.unit]


def _value(figures: str) -> float:
    """A number with a point or a comma before one or two decimals, and either between thousands."""
    whole, decimals = figures.replace(":", "."), ""
    figures = whole
    if (at := max(figures.rfind("."), figures.rfind(","))) > 0 and len(figures) - at <= _DECIMALS:
        whole, decimals = figures[:at], figures[at + 1 :]
    return float(f"{whole.replace(',', '').replace('.', '')}.{decimals}")


def _unit(sign: str, word: str, more: str) -> tuple[str, str]:
    """What a number is measured in, and how that is written: a sign before it, the word behind it,
    or the next, as in "5 working days"."""
    for each in filter(None, (sign, word)):
        if money := money_word(each):
            return money, each
    for each in (word.lower(), more.lower()):
        if each not in STOP and (unit := unit_called(each)):  # "in" is no inch
            return unit, each
    said = "" if word.lower() in STOP else word.lower()  # "at 11 on Sunday"
    return _stem(said), said


def _stem(word: str) -> str:
    return word[:-1] if word.endswith("s") and len(word) > _A_PART else word


def _in(one: Quantity, unit: str, alone: bool) -> float | None:
    """A quantity in another unit; None if it is none of that. A number without a unit, or of what
    has another name, counts where it stands `alone`."""
    if one.unit == unit:
        return one.value
    if one.unit in _IN_DAYS and unit in _IN_DAYS:
        return one.value * _IN_DAYS[one.unit] / _IN_DAYS[unit]
    if len(one.word) >= _A_PART and unit_called(one.word, unit):  # "15 kilo"
        return one.value
    vague = not one.unit or not unit or not (_is_known(one.unit) or _is_known(unit))
    return one.value if alone and vague and one.unit != "%" else None


def _is_known(unit: str) -> bool:
    return unit in UNITS or unit == "%" or bool(money_word(unit))


def _cells(line: str) -> list[str]:
    """The cells of a row, each behind what it is called; a sentence as one. Where a table has no
    names the first cell is what the second is called."""
    bare = _without_numbering(line)
    return [part for cell in _CELLS.split(bare) for part in cell.split(": ", 1)]


def _without_numbering(line: str) -> str:
    """A line without the number of its clause or in its list; "1. Mai" has none."""
    found = _NUMBERING.match(line)
    first = _WORD.match(line, found.end()) if found else None
    if found is None or (first and (month_called(first[0]) or unit_called(first[0]))):
        return line
    return line[found.end() :]


def _bands(cells: Sequence[str]) -> Iterator[tuple[str, list[Band]]]:
    """The runs of bands in one column, each with its unit."""
    read = _alike([_ends(cell) for cell in cells])
    for unit, run in groupby(enumerate(read), key=lambda one: one[1][0] if one[1] else None):
        held = [(line, ends[1]) for line, ends in run if ends]
        shape = "".join("SP"[len(ends) - 1] for _, ends in held)
        for found in _RANGES.finditer(shape):
            bands = _in_order(held[found.start() : found.end()])
            if unit is not None and len(bands) > 1:
                yield unit, bands


_Ends = tuple[str, tuple[float, ...]]


def _alike(read: Sequence[_Ends | None]) -> list[_Ends | None]:
    """The same with the commonest unit in place of a word that stands in one line alone: no unit,
    as in "16 and over"."""
    counted = Counter(one[0] for one in read if one)
    usual = counted.most_common(1)[0][0] if counted else ""
    return [
        (usual, one[1]) if one and counted[one[0]] == 1 and not _is_known(one[0]) else one
        for one in read
    ]


def _ends(cell: str) -> _Ends | None:
    """The unit of a cell and its one or two numbers in order; None if it has none or more. All
    times are in days: "6 months to 2 years"; in "3 and up to 7 miles" both are miles."""
    if len(cell) > _LONGEST:
        return None
    found = quantities(_without_days(cell))
    last = found[-1].unit if found else ""
    found = [_in_days(one if one.unit else replace(one, unit=last)) for one in found]
    values = tuple(sorted({one.value for one in found}))
    alike = len({one.unit for one in found}) == 1 and len(values) in (1, 2)
    return (found[0].unit, values) if alike else None


def _in_days(one: Quantity) -> Quantity:
    days = _IN_DAYS.get(one.unit)
    return one if days is None else replace(one, value=one.value * days, unit="duration-day")


def _in_order(held: Sequence[tuple[int, tuple[float, ...]]]) -> list[Band]:
    """Bands of lines that stand in order; none if they do not, or lie in each other."""
    pairs = [at for at, (_, ends) in enumerate(held) if len(ends) > 1]
    first, last = pairs[0], pairs[-1] + 1
    bands = [Band(line, *ends) for line, ends in held[first:last]]
    before, behind = _open(held[:first][::-1], bands[0]), _open(held[last:], bands[-1])
    bands = [*before[::-1], *bands, *behind]
    steps = {_step(a, b) for a, b in pairwise(bands)}
    return bands if len(steps) == 1 and 0 not in steps else []


def _step(first: Band, second: Band) -> int:
    """Whether the second lies above the first (1) or below (-1), or neither."""
    if second.low >= first.high:
        return 1
    return -1 if second.high <= first.low else 0


def _open(singles: Sequence[tuple[int, tuple[float, ...]]], beside: Band) -> list[Band]:
    """The bands with one number each, the next to one with two first: each ends where the next one
    begins. None if they do not lie on one side of it."""
    ends = [end for _, (end,) in singles]
    lines = [line for line, _ in singles]
    if ends and ends[0] >= beside.high and ends == sorted(ends):
        return [Band(*one) for one in zip(lines, ends, [*ends[1:], math.inf], strict=True)]
    if ends and ends[0] <= beside.low and ends == sorted(ends, reverse=True):
        return [Band(*one) for one in zip(lines, [*ends[1:], -math.inf], ends, strict=True)]
    return []


# Days of the year and of the week.

_DAY = re.compile(
    r"""(?<!\d)(?:(?P<from>\d{1,2})\.?\s?[-–—]\s?)?
    (?P<day>\d{1,2})(?:\.|[a-zºª]{1,2}\b)?\s?(?:[a-z]{2}\s)?
    (?P<month>[^\W\d_]{3,10})(?:[,.]?\s(?:[a-z]{2}\s)?(?P<year>(?:19|20)\d\d))?
    |(?P<month_first>[^\W\d_]{3,10})\s(?P<day_behind>\d{1,2})(?:[a-z]{2}\b)?(?!\d)
    (?:,?\s(?P<year_behind>(?:19|20)\d\d))?
    |(?<![\d.])(?P<day_dotted>\d{1,2})\.(?P<month_dotted>\d{1,2})\.(?P<year_dotted>(?:19|20)\d\d)?
    |(?P<year_iso>(?:19|20)\d\d)-(?P<month_iso>\d\d)-(?P<day_iso>\d\d)""",
    re.VERBOSE | re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+")
_GOES_ON = re.compile(r"\s[^\W\d_]")
_SHORT = 3  # letters of words that join days
_BESIDE = 1  # longer words beside them in a cell that is about days or quantities
_OF_A_YEAR = 10_000  # days are counted as 20260718, without a year as 718
_LAST, _WEEK = 31, 7
_OF_A_MONTH = 3  # days after the first, so many that a month is meant
_APART = frozenset(",&/+")  # between days of the week that are no stretch


@dataclass(frozen=True, slots=True)
class Stretch:
    """From one day to another, both included, as numbers like 20260718 or, of any year, 718."""

    first: int
    last: int

    def meets(self, other: Stretch) -> bool:
        """Whether they have a day in common, of a month that is asked for some days; without years
        where one of them has none."""
        least = _OF_A_MONTH if self.last > self.first else 0
        if min(self.first, self.last, other.first, other.last) > _OF_A_YEAR:
            return min(self.last, other.last) - max(self.first, other.first) >= least
        years = [(ours, other_) for ours in self._in_a_year() for other_ in other._in_a_year()]
        return any(min(b, d) - max(a, c) >= least for (a, b), (c, d) in years)

    def _in_a_year(self) -> list[tuple[int, int]]:
        """The same without years; over the turn of a year it is two."""
        first, last = self.first % _OF_A_YEAR, self.last % _OF_A_YEAR
        return [(first, last)] if first <= last else [(first, _OF_A_YEAR), (0, last)]


def _day(found: re.Match[str]) -> int | None:
    """A day that was found, as a number; None if it is none."""
    parts = found.groupdict()
    named = parts["month"] or parts["month_first"]
    counts = _GOES_ON.match(found.string, found.end())  # "may 3 people share a room"
    if counts and not parts["month"] and (parts["month_first"] or "").lower() in STOP:
        return None
    figures = parts["month_dotted"] or parts["month_iso"]
    month = month_called(named) if named else int(figures)
    day = int(next(parts[p] for p in ("day", "day_behind", "day_dotted", "day_iso") if parts[p]))
    years = ("year", "year_behind", "year_dotted", "year_iso")
    year = int(next((parts[p] for p in years if parts[p]), 0))
    return year * _OF_A_YEAR + 100 * month + day if 0 < month <= 12 and 0 < day <= _LAST else None


def _found_days(text: str) -> Iterator[tuple[int, re.Match[str]]]:
    """The days of a text in order, each with its place."""
    at = 0
    while found := _DAY.search(text, at):
        day = _day(found)
        at = found.start() + 1 if day is None else found.end()
        if day is not None:
            yield day, found


def _without_days(text: str) -> str:
    for _, found in reversed([*_found_days(text)]):
        text = f"{text[: found.start()]} {text[found.end() :]}"
    return text


def _days(text: str) -> list[int]:
    """The days of a text in order: "20 – 24 July" has two."""
    found: list[int] = []
    for day, one in _found_days(text):
        found += [day - day % 100 + int(one["from"]), day] if one["from"] else [day]
    return found


def _asked_days(question: str) -> tuple[tuple[Stretch, str], ...]:
    """The days that a question names, and months, each as it is written."""
    asked = [(Stretch(day, day), one[0]) for day, one in _found_days(question)]
    bare = _without_days(question)
    for word in _WORD.finditer(bare):
        ends = not bare[word.end() :].lstrip()[:1].isalnum()  # "in May?", but "may I"
        said = ends or word[0].lower() not in STOP
        month = month_called(word[0]) if said and len(word[0]) >= _SHORT else 0
        asked += [(_of_months(month, month), word[0])] if month else []
    if len(asked) == len("ab"):  # "from January to March": what is between them, too
        (first, word_first), (last, word_last) = asked
        asked = [(Stretch(first.first, last.last), f"{word_first}, {word_last}")]
    return tuple(asked)


def _of_months(first: int, last: int) -> Stretch:
    return Stretch(100 * first + 1, 100 * last + _LAST)


def _stretch(cell: str) -> Stretch | None:
    """From when to when a cell says that something holds, by two days or by months; None if it
    says something else."""
    if not _is_about(cell, month_called):
        return None
    days = _days(cell)
    if not days:
        months = [month for word in _WORD.findall(cell) if (month := month_called(word))]
        return _of_months(months[0], months[-1]) if months else None
    if len(days) != len("ab"):
        return None
    first, last = days
    if last > _OF_A_YEAR > first:  # "1 September to 22 October 2026"
        year = last // _OF_A_YEAR - (first > last % _OF_A_YEAR)
        first += year * _OF_A_YEAR
    return Stretch(first, last)


def _is_about(cell: str, known: Callable[[str], object]) -> bool:
    """Whether hardly any word of a cell is another than those known, or short."""
    if len(cell) > _LONGEST:
        return False
    longer = (word for word in _WORD.findall(cell.lower()) if len(word) > _SHORT)
    return sum(not known(word) and not weekday_called(word) for word in longer) <= _BESIDE


def _of_stretches(
    asked: Sequence[tuple[Stretch, str]], stretches: Sequence[Stretch | None]
) -> Iterator[FoundBands]:
    for known, run in groupby(enumerate(stretches), key=lambda one: one[1] is not None):
        bands = [(line, one) for line, one in run if one]
        if known and len(bands) > 1:
            held = [(line, said) for day, said in asked for line, one in bands if day.meets(one)]
            yield from _chosen([line for line, _ in bands], held)


def _asked_weekdays(question: str) -> tuple[tuple[int, str], ...]:
    """The days of the week that a question names, those of its days among them."""
    named = [
        (day, word)
        for word in _WORD.findall(question)
        if (day := weekday_called(word)) and (len(word) > _SHORT or word[:1].isupper())  # "sat"
    ]
    if len(named) == len("ab"):  # "Monday to Thursday": those between them, too
        (first, said), (last, said_last) = named
        through = range(first, last + 1 + (_WEEK if last < first else 0))
        named = [((each - 1) % _WEEK + 1, f"{said}, {said_last}") for each in through]
    for day, one in _found_days(question):
        if day > _OF_A_YEAR:
            with suppress(ValueError):  # 31 June
                when = dt.date(day // _OF_A_YEAR, day // 100 % 100, day % 100)
                named.append((when.isoweekday(), f"{one[0]} ({when:%A})"))
    return tuple(named)


def _weekdays(cell: str) -> frozenset[int]:
    """The days of the week for which a cell says that something holds: "Monday to Thursday" has
    four; none where it is about more."""
    if not _is_about(cell, weekday_called) or _days(cell):
        return frozenset()
    found: list[int] = []
    end = 0
    for word in _WORD.finditer(cell):
        if day := weekday_called(word[0]):
            between = cell[end : word.start()].strip()
            apart = not found or between in {"", *_APART, *words_for_and()}
            first = day if apart else found[-1]
            last = day if first <= day else day + _WEEK
            found += [(each - 1) % _WEEK + 1 for each in range(first, last + 1)]
            end = word.end()
    return frozenset(found)


def _of_weekdays(
    asked: Sequence[tuple[int, str]], cells: Sequence[frozenset[int]]
) -> Iterator[FoundBands]:
    for known, run in groupby(enumerate(cells), key=lambda one: bool(one[1])):
        bands = list(run)
        if known and len(bands) > 1:
            held = [(line, said) for day, said in asked for line, days in bands if day in days]
            yield from _chosen([line for line, _ in bands], held)
