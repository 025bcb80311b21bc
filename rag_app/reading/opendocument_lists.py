"""The numbers that OpenDocument texts give to their lists and headings, which are in styles.

Knows nothing of pages."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from rag_app.reading.word_styles import LEVELS, NumberedList, NumberingLevel, Numbers, whole

LIST_STYLES = frozenset(["list-style", "outline-style"])
_HEADINGS = "outline"  # the list of a text's headings
_ITEM = "- "
_KINDS = {
    "1": "decimal", "01": "decimalZero",
    "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman",
}  # fmt: skip


class ListNumbers:
    """Counts the items of a text's lists and its headings, in its order."""

    def __init__(self) -> None:
        self._numbers = Numbers()
        self._styles: dict[str, dict[int, NumberingLevel]] = {}
        self._style_of: dict[str, str] = {}  # by list
        self._last_of: dict[str, str] = {}  # by style: what the last list counts in
        self._counter_of: dict[str, str] = {}  # by what a list is called in the file

    def learn(self, style: Element) -> None:
        """Take in a style of lists, or that of headings."""
        levels = _levels(style)
        if style.tag == "outline-style":
            self._numbers.lists[_HEADINGS] = NumberedList(_HEADINGS, levels, set())
        else:
            self._styles[style.get("name", "")] = levels

    def opened(self, element: Element, outer: str = "") -> str:
        """The list that an element begins: a new one, or the one around it (`outer`), whose next
        level it is."""
        style = element.get("style-name", "")
        if outer and style in ("", self._style_of[outer]):
            return outer
        made = str(len(self._style_of))
        counter = self._counter_of.get(element.get("continue-list", ""), "")
        if element.get("continue-numbering") == "true":
            counter = counter or self._last_of.get(style, "")
        counter = counter or made
        self._style_of[made], self._last_of[style] = style, counter
        self._counter_of[element.get("id", "")] = counter
        self._numbers.lists[made] = NumberedList(counter, self._styles.get(style, {}), set())
        return made

    def mark(self, list_id: str, level: int, item: Element) -> str:
        """What stands before the next item of a list: its number, or a dash."""
        number = self._next(list_id, level, item)
        return f"{number} " if any(map(str.isalnum, number)) else _ITEM

    def heading(self, level: int, heading: Element) -> str:
        """The number before the next heading; empty: it has none."""
        if heading.get("is-list-header") == "true":
            return ""
        return self._next(_HEADINGS, level - 1, heading)

    def _next(self, list_id: str, level: int, element: Element) -> str:
        level = max(0, min(LEVELS - 1, level))
        if start := element.get("start-value"):
            self._numbers.begin(list_id, level, whole(start, 1))
        return self._numbers.next(list_id, level)


def _levels(style: Element) -> dict[int, NumberingLevel]:
    """The levels of a style from 0, each with the numbers of those above that it shows."""
    levels: dict[int, NumberingLevel] = {}
    for each in style:
        level = whole(each.get("level", ""), 1) - 1
        kind = _kind(each)
        shown = whole(each.get("display-levels", ""), 1)
        above = [n for n in range(max(0, level + 1 - shown), level) if _counts(levels.get(n))]
        places = ".".join(f"%{number + 1}" for number in (*above, level))
        pattern = f"{each.get('num-prefix', '')}{places}{each.get('num-suffix', '')}"
        levels[level] = NumberingLevel(whole(each.get("start-value", ""), 1), kind, pattern)
    return levels


def _kind(level: Element) -> str:
    if level.tag not in ("list-level-style-number", "outline-level-style"):
        return "bullet"
    form = level.get("num-format", "")
    return _KINDS.get(form, "decimal") if form else "none"


def _counts(level: NumberingLevel | None) -> bool:
    return level is not None and level.kind not in ("bullet", "none")
