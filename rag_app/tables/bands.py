"""Bands: rows or sentences one after the other, each of which holds for a range of one quantity, as
in "under 5 years | 23, 5 to 9 years | 25, 10 years and more | 27". Pure.

Which of them holds for "after six years" is arithmetic, which small models get wrong. A band is
told by the numbers of its neighbours: two numbers are its ends, and what has one, before the first
or behind the last of those, is open on the side where the others are not. No words for "under" or
"more than" are known. Units are called as CLDR has it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from rag_app.tables.values import money_word
from rag_app.text.languages import UNITS, in_digits, month_called, unit_called

_IN_DAYS = {
    "duration-hour": 1 / 24,
    "duration-day": 1.0,
    "duration-week": 7.0,
    "duration-month": 365 / 12,
    "duration-year": 365.0,
}
_SIGN = r"[^\w\s.,:;()<>+/|–—-]"
_NUMBER = re.compile(
    rf"""(?<![\w.,:/])
    (?P<sign>{_SIGN}?)\s?
    (?P<figures>\d+(?:[.,]\d{{3}})*(?:[.,]\d\d?)?)(?![\d:/]|[.,]\d)
    (?:(?P<link>\s?(?:[^\W\d_]{{1,3}}|[-–—])\s?(?={_SIGN}?\s?\d))  # a short word, or a dash
    |[\s-]?(?P<unit>[^\W\d_]+|{_SIGN})(?:[\s-](?P<more>[^\W\d_]+))?)?""",
    re.VERBOSE,
)
_CELLS = re.compile(r"; | \| ")
_NUMBERING = re.compile(r"\W*(?:\d{1,2}(?:\.\d{1,2})+\.?|\d{1,2}[.)])\s+(?=\D)")
_LONGEST = 200  # characters of a cell or sentence that may be a band
_MOST_CELLS = 12
_DECIMALS = 3  # characters of a mark and two decimals
_A_PART = 4  # letters of a unit that tell it: "kilo"
_YEARS = range(1900, 2101)
_RANGES = re.compile("S*P+S*")  # single numbers stand at the ends alone


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and what it counts: a unit of CLDR, a currency, or a word; "": nothing is said."""

    value: float
    unit: str
    word: str = ""  # as it is written

    def __str__(self) -> str:
        before = self.word and not self.word[0].isalnum()
        written = (self.word, "") if before else ("", f" {self.word}")
        return f"{self.value:g}".join(written).strip()


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


def choices(question: str, lines: Sequence[str]) -> list[FoundBands]:
    """Which of the bands among lines that stand one after the other hold for a quantity that a
    question names. A line is a sentence, or a row as "name: cell; name: cell" or "cell | cell"."""
    asked = _asked(question)
    if not asked:
        return []
    alone = len({one.unit for one in asked}) == 1
    cells = [_cells(line) for line in lines]
    found = []
    for column in range(min(_MOST_CELLS, max(map(len, cells), default=0))):
        for unit, bands in _bands(cells, column):
            values = {one: _in(one, unit, alone) for one in asked}
            inside = {
                b.line: one
                for one, value in values.items()
                for b in bands
                if value is not None and b.low <= value <= b.high
            }
            if inside:
                every = frozenset(b.line for b in bands)
                said = ", ".join(dict.fromkeys(map(str, inside.values())))
                found.append(FoundBands(frozenset(inside), every - {*inside}, said))
    return found


def _asked(question: str) -> list[Quantity]:
    """The quantities that a question names, but for years and days of a month."""
    return [
        one
        for one in quantities(in_digits(question))
        if not month_called(one.unit) and (one.unit or one.value not in _YEARS)
    ]


def quantities(text: str) -> list[Quantity]:
    """The quantities of a text in order. What is joined to the next by a dash or a short
    word is measured in the same."""
    found: list[Quantity] = []
    linked = False
    for one in _NUMBER.finditer(text):
        value = _value(one["figures"])
        made = Quantity(value, *_unit(one["sign"], one["unit"] or "", one["more"] or ""))
        if linked and (not found[-1].unit or not made.unit):
            unit, word = (made.unit, made.word) if made.unit else (found[-1].unit, found[-1].word)
            found[-1], made = Quantity(found[-1].value, unit, word), Quantity(value, unit, word)
        found.append(made)
        linked = bool(one["link"])
    return found


def _value(figures: str) -> float:
    """A number with a point or a comma before one or two decimals, and either between thousands."""
    whole, decimals = figures, ""
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
        if unit := unit_called(each):
            return unit, each
    return _stem(word.lower()), word.lower()


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
    bare = _NUMBERING.sub("", line) if _NUMBERING.match(line) else line
    return [part for cell in _CELLS.split(bare) for part in cell.split(": ", 1)]


def _bands(rows: Sequence[Sequence[str]], column: int) -> Iterator[tuple[str, list[Band]]]:
    """The runs of bands in one column, each with its unit."""
    read = _alike([_ends(row[column]) if column < len(row) else None for row in rows])
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
    """The unit of a cell and its one or two numbers in order; None if it has none or more."""
    if len(cell) > _LONGEST:
        return None
    found = [one for one in quantities(cell) if not month_called(one.unit)]
    units = {one.unit for one in found}
    values = tuple(sorted({one.value for one in found}))
    return (found[0].unit, values) if len(units) == 1 and len(values) in (1, 2) else None


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
