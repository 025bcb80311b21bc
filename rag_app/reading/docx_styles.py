"""What a Word document says elsewhere about its paragraphs: which are headings, and their numbers.

Automatic numbers ("3.2", "(a)") are not in a paragraph's text, but people ask for them."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from rag_app.reading.archive import Archive
from rag_app.reading.markup import outermost, tree

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_PLACE = re.compile(r"%(\d)")
_LEVELS = 9
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Style:
    """A paragraph style: `level` of a heading (0: none), and the list it numbers by."""

    level: int = 0
    is_title: bool = False
    list_id: str = ""
    list_level: int = 0


@dataclass(frozen=True, slots=True)
class _Level:
    start: int
    kind: str
    pattern: str


def read_styles(archive: Archive, part: str) -> dict[str, Style]:
    """The paragraph styles by id, each with what it takes over from the one it is based on."""
    with archive.open(part) as member:
        found = {each.get("styleId", ""): each for each in outermost(member, frozenset(["style"]))}
    styles: dict[str, Style] = {}
    for name in found:
        chain: list[str] = []
        while name in found and name not in styles and name not in chain:
            chain.append(name)
            name = _value(found[name], "basedOn")
        for each in reversed(chain):
            base = styles.get(_value(found[each], "basedOn"), Style())
            styles[each] = _style(found[each], base)
    return styles


def _style(element: Element, base: Style) -> Style:
    name = _value(element, "name")
    named = _HEADING.fullmatch(name)
    properties = element.find("pPr")
    level = int(named.group(1)) if named else outline_level(properties) or base.level
    list_id, list_level = list_place(properties)
    return Style(
        level,
        name.lower() == "title",
        list_id or base.list_id,
        list_level if list_id or list_level else base.list_level,
    )


def outline_level(properties: Element | None) -> int:
    """The level of a heading that a paragraph's properties give it, 0 if none."""
    level = _number(_value(properties, "outlineLvl"), _LEVELS)
    return level + 1 if level < _LEVELS else 0


def list_place(properties: Element | None) -> tuple[str, int]:
    """The list and the level in it that a paragraph's properties name, "" if none."""
    place = None if properties is None else properties.find("numPr")
    return _value(place, "numId"), min(_LEVELS - 1, _number(_value(place, "ilvl"), 0))


class Numbers:
    """Counts the numbered paragraphs of a document, in its order."""

    def __init__(self, numbering: Element | None = None) -> None:
        self._levels: dict[str, dict[int, _Level]] = {}
        self._abstract: dict[str, str] = {}
        self._counts: dict[str, list[int]] = defaultdict(lambda: [0] * _LEVELS)
        for each in () if numbering is None else numbering.iter("abstractNum"):
            self._levels[each.get("abstractNumId", "")] = dict(map(_level, each.iter("lvl")))
        for each in () if numbering is None else numbering.iter("num"):
            self._abstract[each.get("numId", "")] = _value(each, "abstractNumId")

    def next(self, list_id: str, level: int) -> str:
        """The mark before the next paragraph of a list: "3.2", "•", or nothing."""
        abstract = self._abstract.get(list_id, "")
        levels = self._levels.get(abstract, {})
        if level not in levels:
            return ""
        counts = self._counts[abstract]
        counts[level] = counts[level] + 1 if counts[level] else levels[level].start
        counts[level + 1 :] = [0] * (_LEVELS - level - 1)
        if levels[level].kind == "bullet":
            return "•"
        return _PLACE.sub(
            lambda match: self._shown(abstract, int(match[1]) - 1), _mark(levels, level)
        )

    def _shown(self, abstract: str, level: int) -> str:
        known = self._levels[abstract].get(level)
        if known is None:
            return ""
        return _in_kind(self._counts[abstract][level] or known.start, known.kind)


def read_numbers(archive: Archive, part: str) -> Numbers:
    """The lists that a document defines."""
    with archive.open(part) as member:
        return Numbers(tree(member))


def _mark(levels: dict[int, _Level], level: int) -> str:
    return "" if levels[level].kind == "none" else levels[level].pattern


def _level(element: Element) -> tuple[int, _Level]:
    start = max(1, _number(_value(element, "start"), 1))
    known = _Level(start, _value(element, "numFmt"), _value(element, "lvlText"))
    return _number(element.get("ilvl", ""), 0), known


def _in_kind(number: int, kind: str) -> str:
    """A number as the list writes it."""
    if kind in ("lowerLetter", "upperLetter") and number <= 26 * 20:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters.upper() if kind == "upperLetter" else letters
    if kind in ("lowerRoman", "upperRoman") and number < 4_000:
        letters = _roman(number)
        return letters.upper() if kind == "upperRoman" else letters
    return f"{number:02}" if kind == "decimalZero" else str(number)


def _roman(number: int) -> str:
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written


def _value(element: Element | None, name: str) -> str:
    """The value of a property, empty if it is not given."""
    found = None if element is None else element.find(name)
    return "" if found is None else found.get("val", "")


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else otherwise
