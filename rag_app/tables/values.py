"""What a cell says: numbers, dates, durations and ranks, as people write them.

A cell alone is often ambiguous ("1.234", "3/4/2021"); what is undecided is a `Convention`, which a
column decides. Knows nothing of columns, tables or documents."""

from __future__ import annotations

import calendar
import datetime as dt
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from functools import cache

from rag_app.text.highlighting import WRITTEN_DAY, WRITTEN_MONTH
from rag_app.text.languages import magnitude, month_called, month_named

_LONGEST = 80  # characters of a cell that can be a value
_DIGITS = 15  # more are the number of an account, and no float holds them

# Marks that point to a note, and remarks: the value stands before them.
_REMARK = re.compile(
    r"(?:\s*(?:\[[^\[\]]{1,12}\]|[*†‡§#]|(?<=\d)[⁰¹²³⁴-⁹]+)|\s+\((?!\s*[\d.,]+\s*\)\Z)[^()]*\)|(?<=\d)\s\(\d+\))+\Z"
)
_DASHES = frozenset(["", "-", "–", "—", "−", "--", "---", "…", "..", "."])
_MISSING = frozenset(["n/a", "#n/a", "n.a.", "nan", "null"])  # as programs write it, see pandas


def is_dash(text: str) -> bool:
    """Whether a cell has no text, or a dash for none."""
    return text in _DASHES


def is_empty(text: str) -> bool:
    """Whether a cell says nothing: it has no text, a dash, or what programs write for a gap."""
    return is_dash(text) or text.lower() in _MISSING


_PLAIN = {".": str.maketrans("", "", ", '"), ",": str.maketrans(",", ".", ". '")}


class DateOrder(StrEnum):
    """In which order a date of three numbers is written."""

    DAY_FIRST = "dmy"
    MONTH_FIRST = "mdy"


@dataclass(frozen=True, slots=True)
class Convention:
    """How the cells of a column are to be read where a cell alone leaves a doubt."""

    decimal: str = "."
    order: DateOrder = DateOrder.DAY_FIRST
    short_is_hours: bool = True  # "5:30" is hours and minutes, not minutes and seconds
    months: bool = False  # "Nov 24" is a month of a year, not a day
    year: int | None = None  # of days that are written without one


@dataclass(frozen=True, slots=True)
class WrittenNumber:
    """A number as it is written: its figures, with separators of any convention, and its unit."""

    figures: str
    negative: bool = False
    unit: str = ""
    money: bool = False
    remark: bool = False  # more stands beside it
    scale: int = 0  # the power of ten by which its figures are multiplied

    def value(self, decimal: str) -> Decimal | None:
        """The number, None if it is not written with this decimal mark."""
        if not _grouped(decimal).fullmatch(self.figures):
            return None
        number = Decimal(self.figures.translate(_PLAIN[decimal]))
        number = Decimal(f"{number.scaleb(self.scale):f}")
        return -number if self.negative else number


def _is(character: str) -> bool:
    return character.isascii() and character.isdigit()


@cache
def _grouped(decimal: str) -> re.Pattern[str]:
    """Figures with this decimal mark: plain, by thousands, or by lakhs and crores."""
    point = re.escape(decimal)
    other = "." if decimal == "," else ","
    groups = "|".join(rf"[1-9]\d{{0,2}}(?:{each}\d{{3}})+" for each in (re.escape(other), "[ ']"))
    lakhs = rf"\d{{1,2}}(?:{re.escape(other)}\d{{2}})+{re.escape(other)}\d{{3}}"
    return re.compile(rf"(?:\d+|{groups}|{lakhs})(?:{point}\d+)?|{point}\d+", re.ASCII)


_FIGURES = re.compile(r"[.,]?\d(?:[\d.,' ]*\d)?", re.ASCII)
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2009": " ", "’": "'", "−": "-", "–": "-"})
_UNIT = re.compile(r"[^\W\d_][^\d|;:!?()\[\]]{0,15}|[%‰°\"″′']\w{0,2}", re.UNICODE)
_HALF_DAY = re.compile(r"[ap]\.?\s?m\.?", re.IGNORECASE)
_CURRENCIES = """
    AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW
    MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN RON RSD RUB SAR SEK SGD THB TND TRY TWD UAH USD UYU VND
    ZAR
"""
_CODES = frozenset(_CURRENCIES.split())
_SIGNS = {"€": "EUR", "£": "GBP", "US$": "USD", "zł": "PLN", "Kč": "CZK", "₹": "INR", "₽": "RUB"}
_IN_WORDS = {
    "EUR": ("euro", "euros"),
    "GBP": ("pound", "pounds", "quid", "pfund", "libra", "libras"),
    "USD": ("dollar", "dollars", "dólar", "dólares"),
    "CHF": ("franken", "franc", "francs", "franco", "francos"),
}
_OF_WORDS = {word: code for code, words in _IN_WORDS.items() for word in words}


_PARTS = {"p": ("GBP",), "ct": ("EUR",), "¢": ("USD",), "c": ("EUR", "USD")}


def in_whole(number: WrittenNumber, units: Collection[str]) -> WrittenNumber:
    """A number of pence or cents as one of the only currency among `units` that has these: "62p" is
    £0.62 where other cells are in pounds; "1.2k" is 1,200 where that is no unit of the column. Any
    other as it is."""
    if number.unit not in units and (scale := magnitude(number.unit)):
        return replace(number, unit="", scale=scale)
    whole = [unit for unit in units if unit in _PARTS.get(number.unit, ())]
    return replace(number, unit=whole[0], scale=-2) if len(whole) == 1 else number


def money_word(text: str) -> str:
    """The currency that a word of a sentence means, be it a name or as `currency` has it."""
    return currency(text) or _OF_WORDS.get(text.lower(), "")


def currency(text: str) -> str:
    """The currency that a sign or a code means, empty if it is none."""
    if text in _SIGNS:
        return _SIGNS[text]
    sign = len(text) in (1, 2, 3) and unicodedata.category(text[-1]) == "Sc"
    return text if text in _CODES or (sign and (text[:-1].isupper() or not text[:-1])) else ""


def without_remark(text: str) -> str:
    """A cell without the marks of notes and the remarks at its end."""
    return _REMARK.sub("", text) if len(text) <= _LONGEST else text


def written_number(text: str) -> WrittenNumber | None:
    """The number that a cell holds, None if it holds none, or more than one."""
    if len(text) > _LONGEST or not any(map(_is, text)):
        return None
    bare = without_remark(text)
    remark = bare != text
    line = bare.translate(_SPACES).strip()
    found = _FIGURES.search(line)
    if not found or sum(map(_is, found[0])) > _DIGITS:
        return None
    before, after = line[: found.start()], line[found.end() :]
    signed = _signs(before, after)
    if signed is None:
        return None
    before, after, negative = signed
    money = currency(before) or currency(after)
    if (before and not currency(before)) or (before and after and after != "%"):
        return None
    if after and not money and not _UNIT.fullmatch(after):
        return None
    attached = line[found.end() :][:1].isupper() and len(after) == 1
    if after and not money and (attached or month(after) or _HALF_DAY.fullmatch(after)):
        return None  # "12A" is a name, "4 July" a day, "9 am" a time of it
    return WrittenNumber(found[0], negative, money or after, bool(money), remark)


def _signs(before: str, after: str) -> tuple[str, str, bool] | None:
    """What stands around the figures without signs, and whether those say less than nothing."""
    brackets = "(" in before and ")" in after
    if brackets:
        before, after = before.replace("(", "", 1), after.replace(")", "", 1)
    behind = after.startswith("-") and (after[1:2] in ("", " ") or bool(currency(after[1:])))
    minus = before.count("-") + behind + brackets
    before = before.replace("-", "", 1).replace("+", "", 1)
    after = after[1:] if behind else after
    if minus > 1 or set("()-+") & set(before + after.lstrip()[:1]):
        return None
    return before.strip(), after.strip(), bool(minus)


_RANK = re.compile(r"[#=]?\s*(\d{1,6})(?:st|nd|rd|th|er|re|e|ème|te|ter|[.ºª°])=?", re.ASCII | re.I)


def rank(text: str) -> int | None:
    """The number of "1st", "2.", "3e"."""
    found = _RANK.fullmatch(without_remark(text))
    return int(found[1]) if found else None


_CLOCK = re.compile(r"([+-]?)\s*(\d{1,4}):(\d{2})(?::(\d{2}))?(?:[.,](\d{1,6}))?", re.ASCII)
_ROUND = 5  # minutes
_MARKED = re.compile(
    r"([+-]?)\s*(?:(\d+)\s*d)?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*(?:min|m|['′]))?"
    r"\s*(?:(\d+(?:[.,]\d+)?)\s*(?:sec|s|\"|″|''|′′))?",
    re.ASCII,
)


def duration(text: str, convention: Convention) -> Decimal | None:
    """Seconds of "1:02:03", "4:12.5", "5h 29'", "3 min 20 s"."""
    line = without_remark(text).translate(_SPACES).replace("’", "'").strip()
    clock = _CLOCK.fullmatch(line)
    if clock:
        return _clock(clock, convention)
    marked = _MARKED.fullmatch(line)
    if not marked or sum(part is not None for part in marked.groups()[1:]) < 2:
        return None  # a single one is a number with a unit
    days, hours, minutes = (int(part or 0) for part in marked.groups()[1:4])
    seconds = Decimal((marked[5] or "0").replace(",", "."))
    total = 86_400 * days + 3_600 * hours + 60 * minutes + seconds
    return -total if marked[1] == "-" else total


def _clock(found: re.Match[str], convention: Convention) -> Decimal | None:
    first, second = int(found[2]), int(found[3])
    if second > 59 or int(found[4] or 0) > 59:
        return None
    if found[4] is not None:
        total = Decimal(3_600 * first + 60 * second + int(found[4]))
    elif convention.short_is_hours and found[5] is None:
        total = Decimal(3_600 * first + 60 * second)
    else:
        total = Decimal(60 * first + second)
    total += Decimal(f"0.{found[5] or 0}")
    return -total if found[1] == "-" else total


def has_seconds(text: str) -> bool:
    """Whether a clock says seconds. One of 24 and more does, but the hours of a week or a month are
    written to five minutes as a rule: 37:30."""
    found = _CLOCK.fullmatch(without_remark(text).translate(_SPACES).strip())
    if not found:
        return False
    return bool(found[4] or found[5]) or (int(found[2]) > 23 and int(found[3]) % _ROUND > 0)


_TIME = re.compile(
    r"[T\s,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:\s*([ap])\.?m\.?|Z)?\Z", re.I
)
_THREE = re.compile(r"(\d{1,4})\s*([./-])\s*(\d{1,2})\s*\2\s*(\d{1,4})", re.ASCII)
_DAY_OF_MONTH = re.compile(r"\d{1,2}/\d{1,2}", re.ASCII)
_MONTH_OF_YEAR = re.compile(r"(\d{1,2})\s*[./-]\s*((?:19|20|21)\d\d)", re.ASCII)
_YEAR_AND_MONTH = re.compile(r"((?:19|20|21)\d\d)-(0[1-9]|1[0-2])", re.ASCII)
_PIECES = re.compile(r"[^\W\d_]+|\d+|[^\w\s]", re.UNICODE)
_A_WORD = re.compile(r"([^\W\d_]+)[\W\d_]*", re.UNICODE)
_LONGEST_DATE = 40


def date(text: str, convention: Convention) -> dt.datetime | None:
    """The day that a cell names, with its time if it says one."""
    if len(text) > _LONGEST:
        return None
    line = without_remark(text).strip()
    time = _TIME.search(line)
    day = _day(line[: time.start()] if time else line, convention)
    if day is None:
        return None
    return _at(day, time) if time else day


def has_time(text: str) -> bool:
    """Whether a date says a time of the day, too."""
    return _TIME.search(without_remark(text).strip()) is not None


def _at(day: dt.datetime, time: re.Match[str]) -> dt.datetime | None:
    hour, half = int(time[1]), (time[4] or "").lower()
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    try:
        return day.replace(hour=hour, minute=int(time[2]), second=int(time[3] or 0))
    except ValueError:
        return None


def _day(line: str, convention: Convention) -> dt.datetime | None:
    found = _THREE.fullmatch(line.rstrip("."))
    if found:
        first, second, third = found[1], found[3], found[4]
        if len(first) == 4:
            return _made(first, second, third)
        if len(first) == 3 or len(third) not in (2, 4):
            return None
        if convention.order is DateOrder.MONTH_FIRST:
            return _made(third, first, second)
        return _made(third, second, first)
    if found := _MONTH_OF_YEAR.fullmatch(line):
        return _made(found[2], found[1], "1")
    if found := _YEAR_AND_MONTH.fullmatch(line):
        return _made(found[1], found[2], "1")
    if convention.year and (found := _DAY_OF_MONTH.fullmatch(line)):
        return _day(f"{found[0]}/{convention.year}", convention)
    return _named(line, convention)


def is_season(text: str) -> bool:
    """Whether a year and what may be a month may as well be two years: 2011-12."""
    found = _YEAR_AND_MONTH.fullmatch(without_remark(text).strip())
    return found is not None and int(found[2]) == int(found[1]) % 100 + 1


def is_month(text: str) -> bool:
    """Whether a date names no day."""
    line = without_remark(text).strip()
    numbers = re.findall(r"\d+", line)
    if _MONTH_OF_YEAR.fullmatch(line) or _YEAR_AND_MONTH.fullmatch(line):
        return True
    return [len(each) for each in numbers] == [4]


def _named(line: str, convention: Convention) -> dt.datetime | None:
    """A date with the name of its month; a day of the week may stand before it, the year behind
    the month if it has two figures: "16-20 July" is no day. Beside a day and a year the month may
    be misspelt, beside a day alone it is not what may be a word: "Set 1" is no day either."""
    if len(line) > _LONGEST_DATE or not any(map(_is, line)):
        return None
    pieces = [each for each in _PIECES.findall(line) if each not in ",.-/"]
    words = [each for each in pieces if not each[0].isdigit()]
    numbers = [each for each in pieces if each[0].isdigit()]
    whole = len(numbers) == 2 and any(len(each) == 4 for each in numbers)
    known = {each: month(each) or (month_called(each) if whole else 0) for each in words}
    found = [known[each] for each in words if known[each]]
    others = [each for each in words if not known[each] and each.lower() not in _OF_DATES]
    if len(found) != 1 or not 1 <= len(numbers) <= 2:
        return None
    if len(others) > (1 if not pieces[0][0].isdigit() else 0):
        return None
    if len(numbers) == 1:
        (number,) = numbers
        if len(number) == 4 or (convention.months and len(number) == 2):
            return _made(number, str(found[0]), "1")
        if not convention.year or not any(map(month_called, words)):
            return None
        return _made(str(convention.year), str(found[0]), number)
    first, second = numbers
    year, day = (first, second) if len(first) == 4 else (second, first)
    behind = pieces[-1] == year and len(year) == 2
    return _made(year, str(found[0]), day) if len(year) == 4 or behind else None


_OF_DATES = frozenset(["st", "nd", "rd", "th", "de", "of"])


def month(text: str) -> int:
    """The number of the month that a text names, be it with a year; 0 if it is none."""
    found = _A_WORD.fullmatch(text)
    return month_named(found[1]) if found else 0


def in_calendar(texts: Sequence[str]) -> list[int]:
    """Numbers by which texts that all name months follow each other: days, where all say a year,
    else those of the months. Empty: one is no month."""
    months = [month(text) for text in texts]
    days = [date(text, Convention(months=True)) for text in texts]
    if not all(months):
        return []
    return [day.toordinal() for day in days if day] if all(days) else months


def with_months(words: Iterable[str]) -> list[str]:
    """Words, those of them that are short for an English month, as "jul", written out."""
    numbers = ((word, month_called(word) if month(word) else 0) for word in words)
    named = [(word, calendar.month_name[number].lower()) for word, number in numbers]
    return [name if name.startswith(word.lower()) else word for word, name in named]


def _made(year: str, month_: str, day: str) -> dt.datetime | None:
    number = int(year)
    if len(year) == 2:
        number += 1900 if number > 69 else 2000
    try:
        return dt.datetime(number, int(month_), int(day))
    except ValueError:
        return None


def year(text: str) -> int | None:
    """The year that four figures alone may name."""
    if len(text) != 4 or not (text.isascii() and text.isdigit()):
        return None
    return int(text) if 1_000 <= int(text) < 2_200 else None


# Days in running text, not only in cells: whole dates, and months of a year with an English name.

_IN_TEXT = re.compile(
    rf"(?<![\w./-])(?:{WRITTEN_DAY}|{WRITTEN_MONTH}\s\d{{4}}|\d{{4}}-\d\d-\d\d"
    r"|\d{1,2}([./-])\d{1,2}\1\d{4})(?![\w/-]|[.,]\d)"
)
_ENGLISH = re.compile(WRITTEN_MONTH)
_WORD = re.compile(r"[^\W\d_]{3,}")


@dataclass(frozen=True, slots=True)
class DayInText:
    """A day that a text names: `text[start:end]`; of a month its first."""

    day: dt.date
    start: int
    end: int


def days_in(texts: Sequence[str]) -> list[list[DayInText]]:
    """The days that the texts of one document name, text by text.

    What can be read in two ways is left out: 3/4/2026 where no other figure says whether days or
    months come first, and words that only begin like a month ("3 Marketing 2026")."""
    found = [[(one[0], one.start(), one.end()) for one in _IN_TEXT.finditer(t)] for t in texts]
    order = _order_of(said for each in found for said, _, _ in each)
    words = {word for each in found for said, _, _ in each for word in _WORD.findall(said)}
    months = {word for word in words if month(word) and _is_month_in(word, texts)}
    return [
        [
            DayInText(day.date(), start, end)
            for said, start, end in each
            if (day := _in_text(said, order, months))
        ]
        for each in found
    ]


def _in_text(said: str, order: DateOrder | None, months: set[str]) -> dt.datetime | None:
    words = [word for word in _WORD.findall(said) if month(word)]
    if not months.issuperset(words) or (not words and said[4:5] != "-" and order is None):
        return None
    return date(" ".join(said.split()), Convention(order=order or DateOrder.DAY_FIRST))


def _order_of(dates: Iterable[str]) -> DateOrder | None:
    """What comes first in dates of figures, if all that say it say the same."""
    orders = set()
    for found in filter(None, map(_THREE.fullmatch, dates)):
        first, second = int(found[1]), int(found[3])
        if len(found[1]) < 4 and max(first, second) > 12:
            orders.add(DateOrder.DAY_FIRST if first > 12 else DateOrder.MONTH_FIRST)
    return orders.pop() if len(orders) == 1 else None


def _is_month_in(word: str, texts: Sequence[str]) -> bool:
    """Whether a word that begins like a month stands in dates where it stands at all."""
    if _ENGLISH.fullmatch(word):
        return True
    dated = re.compile(
        rf"\d\S{{0,2}}\s(?:[a-z]{{2}}\s)?{word}\b|\b{word}\s(?:[a-z]{{2}}\s)?\d{{4}}"
    )
    alone = re.compile(rf"\b{word}\b")
    in_dates = sum(len(dated.findall(text)) for text in texts)
    return 2 * in_dates > sum(len(alone.findall(text)) for text in texts)
