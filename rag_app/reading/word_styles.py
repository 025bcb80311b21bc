"""What a Word document says elsewhere about its paragraphs: which are headings, and their numbers.

Automatic numbers ("3.2", "(a)") are not in a paragraph's text, but people ask for them."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from rag_app.reading.archive import Archive
from rag_app.reading.markup import outermost

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_PLACE = re.compile(r"%(\d)")
LEVELS = 9
_UNUSED = -1  # count of a level that has had no paragraph: a list may begin with 0
_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Style:
    """A style: `level` of a heading (0: none), the list it numbers by, and whether it hides what
    is written in it."""

    level: int = 0
    is_title: bool = False
    list_id: str = ""
    list_level: int = 0
    hides: bool = False


@dataclass(frozen=True, slots=True)
class NumberingLevel:
    """How a level of a list is numbered; `pattern` has %1 for the number of the first level."""

    start: int
    kind: str
    pattern: str


def read_styles(archive: Archive, part: str) -> dict[str, Style]:
    """The styles by id, each with what it takes over from the one it is based on."""
    with archive.open(part) as member:
        found = {each.get("styleId", ""): each for each in outermost(member, {"style"})}
    styles: dict[str, Style] = {}
    for name in found:
        chain: list[str] = []
        while name in found and name not in styles and name not in chain:
            chain.append(name)
            name = property_of(found[name], "basedOn")
        for each in reversed(chain):
            base = styles.get(property_of(found[each], "basedOn"), Style())
            styles[each] = _style(found[each], base)
    return styles


def _style(element: Element, base: Style) -> Style:
    name = property_of(element, "name")
    named = _HEADING.fullmatch(name)
    properties = element.find("pPr")
    level = int(named.group(1)) if named else outline_level(properties) or base.level
    list_id, list_level = list_place(properties)
    return Style(
        level,
        name.lower() == "title",
        list_id or base.list_id,
        list_level if list_id or list_level else base.list_level,
        is_on(element, "rPr/vanish", base.hides),
    )


def outline_level(properties: Element | None) -> int:
    """The level of a heading that a paragraph's properties give it, 0 if none."""
    level = whole(property_of(properties, "outlineLvl"), LEVELS)
    return level + 1 if level < LEVELS else 0


def list_place(properties: Element | None) -> tuple[str, int]:
    """The list and the level in it that a paragraph's properties name, "" if none."""
    level = whole(property_of(properties, "numPr/ilvl"), 0)
    return property_of(properties, "numPr/numId"), min(LEVELS - 1, level)


@dataclass(frozen=True, slots=True)
class NumberedList:
    """The levels of a list; `counter`: lists that have the same one go on counting in each other.

    At a level in `restarts`, which is not used yet, it begins again."""

    counter: str
    levels: dict[int, NumberingLevel]
    restarts: set[int]


class Numbers:
    """Counts the numbered paragraphs of a document, in its order; `lists` by id may be added to."""

    def __init__(self, lists: dict[str, NumberedList] | None = None) -> None:
        self._counts: dict[str, list[int]] = defaultdict(lambda: [_UNUSED] * LEVELS)
        self.lists = lists or {}

    def begin(self, list_id: str, level: int, number: int) -> None:
        """Have the next paragraph of a list take a number."""
        if list_id in self.lists:
            self._counts[self.lists[list_id].counter][level] = number - 1

    def next(self, list_id: str, level: int) -> str:
        """The mark before the next paragraph of a list: "3.2", "•", or nothing."""
        known = self.lists.get(list_id)
        if known is None or level not in known.levels:
            return ""
        counts = self._counts[known.counter]
        goes_on = counts[level] != _UNUSED and level not in known.restarts
        counts[level] = counts[level] + 1 if goes_on else known.levels[level].start
        counts[level + 1 :] = [_UNUSED] * (LEVELS - level - 1)
        known.restarts.discard(level)
        if known.levels[level].kind == "bullet":
            return "•"
        return _PLACE.sub(
            lambda match: _shown(known.levels, counts, int(match[1]) - 1),
            _mark(known.levels, level),
        )


def read_lists(numbering: Element) -> dict[str, NumberedList]:
    """The lists by id: the levels of the abstract list that each is based on, or of the style that
    this one links to, and what the list overrides of them."""
    abstract = {each.get("abstractNumId", ""): each for each in numbering.iter("abstractNum")}
    of_styles = {property_of(each, "styleLink"): each for each in abstract.values()}
    lists: dict[str, NumberedList] = {}
    for each in numbering.iter("num"):
        counter = property_of(each, "abstractNumId")
        based = abstract.get(counter)
        style = property_of(based, "numStyleLink")
        based = of_styles.get(style, based) if style else based
        levels = {} if based is None else dict(map(_level, based.iter("lvl")))
        levels.update(map(_level, each.iterfind("lvlOverride/lvl")))
        lists[each.get("numId", "")] = NumberedList(counter, levels, _restarted(each, levels))
    return lists


def _restarted(element: Element, levels: dict[int, NumberingLevel]) -> set[int]:
    """The levels at which a list begins again, and in `levels` the number that each begins with."""
    restarts: set[int] = set()
    for override in element.iterfind("lvlOverride"):
        level = whole(override.get("ilvl", ""), 0)
        if level in levels and override.find("startOverride") is not None:
            start = whole(property_of(override, "startOverride"), 1)
            levels[level] = replace(levels[level], start=start)
            restarts.add(level)
    return restarts


def _shown(levels: dict[int, NumberingLevel], counts: list[int], level: int) -> str:
    known = levels.get(level)
    if known is None:
        return ""
    return _in_kind(known.start if counts[level] == _UNUSED else counts[level], known.kind)


def _mark(levels: dict[int, NumberingLevel], level: int) -> str:
    return "" if levels[level].kind == "none" else levels[level].pattern


def _level(element: Element) -> tuple[int, NumberingLevel]:
    start = whole(property_of(element, "start"), 1)
    known = NumberingLevel(start, property_of(element, "numFmt"), property_of(element, "lvlText"))
    return whole(element.get("ilvl", ""), 0), known


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


def is_on(element: Element, name: str, otherwise: bool = False) -> bool:
    """Whether an element has a property that is there or not, and is not switched off; `otherwise`:
    where it says nothing of it."""
    said = element.find(name)
    return otherwise if said is None else said.get("val", "true") not in ("0", "false", "off")


def property_of(element: Element | None, name: str) -> str:
    """The value of a property, empty if it is not given."""
    found = None if element is None else element.find(name)
    return "" if found is None else found.get("val", "")


def whole(text: str, otherwise: int) -> int:
    """A whole number of up to six digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else otherwise
