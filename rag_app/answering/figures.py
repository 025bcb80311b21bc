"""The numbers of a text by their value, and the months and days that it names. Pure.

What a model writes may be punctuated otherwise than what it read: "1.250" for "1,250", "14:05" for
"2.05 pm", "3" for "three". A number that can be read in more than one way has all those values."""

from __future__ import annotations

import re
from collections.abc import Set
from decimal import Decimal

_NUMBER = re.compile(r"\d+(?:[.,:'’\u00a0\u202f]\d+)*")
_APART = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d])")  # 12 500
_GROUPED = re.compile(r"\d{1,3}(?:([.,'’\u00a0\u202f])\d{3})(?:\1\d{3})*")
_ENGLISH = "two three four five six seven eight nine ten eleven twelve"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ABROAD = (
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "deux trois quatre cinq six sept huit neuf dix onze douze",
)
_IN_WORDS = {word: at for at, word in enumerate(_ENGLISH.split(), start=2)} | {
    word: 10 * at for at, word in enumerate(_TENS.split(), start=2)
}
# For what stands in a source only: "once" and "sept" are English words, too.
_IN_FOREIGN_WORDS = {
    word: at for words in _ABROAD for at, word in enumerate(words.split(), start=2)
}
_TIMES = re.compile(
    r"\b(January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Mon(?=day)|Tues(?=day)|Wednes(?=day)|Thurs(?=day)|Fri(?=day)|Satur(?=day)|Sun(?=day))"
)
_PERCENT = re.compile(rf"({_NUMBER.pattern})\s?%")
_WORD = re.compile(r"[^\W\d_]+")


def numbers(text: str) -> list[frozenset[str]]:
    """The numbers in digits of a text in order, each with all the values it may have."""
    return [frozenset(_values(number)) for number in _NUMBER.findall(text)]


def figures(text: str) -> list[frozenset[str]]:
    """The same, with numbers in words, and months and days of the week."""
    found = numbers(text)
    words = _WORD.findall(text.lower())
    found += [frozenset({str(_IN_WORDS[word])}) for word in words if word in _IN_WORDS]
    return found + [frozenset({name}) for name in _TIMES.findall(text)]


def known_figures(text: str) -> set[str]:
    """All values that stand in a text, parts of dates and times of day among them."""
    known = {value for one in figures(text) for value in one}
    known |= {number.replace(" ", "") for number in _APART.findall(text)}
    words = _WORD.findall(text.lower())
    known |= {str(_IN_FOREIGN_WORDS[word]) for word in words if word in _IN_FOREIGN_WORDS}
    for number in _NUMBER.findall(text):
        parts = re.split(r"\D", number)
        if _is_time_or_date(parts):
            if ":" in number or len(parts) == 3:
                known |= {_plain(part) for part in parts}
            if len(parts) == 2 and int(parts[0]) > 12:
                known |= _values(f"{int(parts[0]) - 12}:{parts[1]}")
    return known


def percentages(text: str) -> set[str]:
    """The values of numbers that stand as percentages, and nowhere in the text as anything else."""
    found = {value for number in _PERCENT.findall(text) for value in _values(number)}
    other = _NUMBER.findall(_PERCENT.sub(" ", text))
    return found - {value for number in other for value in _values(number)}


def missing(claim: str, known: Set[str]) -> list[frozenset[str]]:
    """The figures of a claim that are not among those known."""
    return [values for values in figures(_joined(claim, known)) if not values & known]


def invented(claim: str, known: Set[str]) -> bool:
    """Whether a claim has a number in digits that is not known.

    A word may count what the claim itself lists: "There are two ways"."""
    return any(not values & known for values in numbers(_joined(claim, known)))


def _joined(claim: str, known: Set[str]) -> str:
    """The claim with "12 500" as one number, if that is the one that is known."""

    def joined(found: re.Match[str]) -> str:
        whole = found.group().replace(" ", "")
        return whole if whole in known else found.group()

    return _APART.sub(joined, claim)


def levelled(text: str) -> str:
    """The text with each number in one writing, so that the same ones are the same words."""
    return _NUMBER.sub(lambda one: min(_values(one.group())).replace(".", "point"), text)


def _is_time_or_date(parts: list[str]) -> bool:
    if len(parts) == 3:
        return all(len(part) in (1, 2, 4) for part in parts)
    return len(parts) == 2 and len(parts[1]) == 2 and int(parts[0]) < 24 and int(parts[1]) < 60


def _values(number: str) -> set[str]:
    """The values a number may have, written as digits without groups and trailing zeros."""
    parts = re.split(r"\D", number)
    if len(parts) == 1:
        return {_plain(number)}
    values = set()
    whole = _GROUPED.fullmatch(number)
    if whole:
        values.add(_plain("".join(parts)))
    head = number[: -len(parts[-1]) - 1]
    if len(parts) == 2 or (_GROUPED.fullmatch(head) and number[len(head)] != head[len(parts[0])]):
        values.add(_plain(f"{''.join(parts[:-1])}.{parts[-1]}"))
    return values or {".".join(map(_plain, parts))}


def _plain(number: str) -> str:
    value = Decimal(number)
    return (
        str(value.to_integral_value())
        if value == value.to_integral_value()
        else str(value.normalize())
    )
