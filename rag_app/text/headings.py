"""Headings of a document: guessed from lines that look like one, and the path a place stands under.

Knows pages and sentences, nothing of files or chunks."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from rag_app.types import Heading, Page

Spans = Sequence[tuple[int, int]]

_LONGEST = 90  # characters of a line that can be a heading
_LONGEST_PATH = 160
_OFTEN = 3  # a line on more pages than this is a running title
_MARKDOWN = re.compile(r"(#{1,6})\s+(.*?)[\s#]*\Z")
_NAMED = re.compile(
    r"(?:(part)\s+(?:\d{1,2}|[ivx]{1,5})|(item|chapter|article)\s+\d{1,3}[a-z]?"
    r"|(note|section|appendix|exhibit|schedule)\s+(?:\d{1,3}|[a-z]))\b(?!,)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})[.)]?\s+[^\W\d_]")
_OF_TABLES = re.compile(r"[$€£¥%☐☒☑]|\d{3,}(?!\d).*\s\S*\d|\s\d+\Z")  # sums, ticks, page numbers
_JOINS = frozenset(["and", "or", "of", "by", "with", "from"])
_SMALL = frozenset(
    ["and", "or", "of", "the", "a", "an", "to", "in", "for", "by", "with", "from", "on", "at", "as"]
)


class Sections:
    """The section path at every place of a document."""

    def __init__(self, headings: Sequence[Heading]) -> None:
        self._places: list[tuple[int, int]] = []
        self._paths: list[str] = []
        above: list[Heading] = []
        for heading in sorted(headings, key=lambda each: (each.page, each.start)):
            while above and above[-1].level >= heading.level:
                above.pop()
            above.append(heading)
            self._places.append((heading.page, heading.start))
            self._paths.append(_path([each.text for each in above]))

    def path(self, page: int, end: int) -> str:
        """The path of the last heading that begins before offset `end` of a page."""
        index = bisect_left(self._places, (page, end))
        return self._paths[index - 1] if index else ""


def _path(titles: list[str]) -> str:
    """Titles joined, the outermost dropped while the path is too long to be read."""
    named = [" ".join(title.split()) for title in titles if title.strip()]
    while len(named) > 1 and len(" > ".join(named)) > _LONGEST_PATH:
        named.pop(0)
    return " > ".join(named)[:_LONGEST_PATH]


def guess_headings(pages: Sequence[Page], spans: Sequence[Spans]) -> list[Heading]:
    """The lines that look like headings; `spans` are the sentences of each page."""
    found = [
        heading
        for page, units in zip(pages, spans, strict=True)
        for heading in _on_page(page, units)
    ]
    seen = Counter(_shape(text) for text in {(each.page, each.text) for each in found})
    return [each for each in found if seen[_shape((each.page, each.text))] <= _OFTEN]


def _shape(found: tuple[int, str]) -> str:
    """A heading's text without digits, so that page numbers do not hide a running title."""
    return re.sub(r"\d+|continued|[\s().]+", "", found[1].lower())


def _on_page(page: Page, units: Spans) -> Iterator[Heading]:
    for index, (start, end) in enumerate(units):
        if end - start > _LONGEST:
            continue
        line = page.text[start:end]
        level = _level(line)
        if level and (level < 5 or _opens_prose(page.text, units[index + 1 : index + 2])):
            marked = _MARKDOWN.match(line)
            yield Heading(page.number, start, level, marked.group(2) if marked else line)


def _opens_prose(text: str, following: Spans) -> bool:
    """Whether running text comes next: in title case a heading and a table's cell look alike."""
    return any(end - start > 60 and text[end - 1] in ".:;" for start, end in following)


def _level(line: str) -> int:
    """How deep a heading this line is, 0 if none. Only a guess, so few levels."""
    marked = _MARKDOWN.match(line)
    if marked:
        return len(marked.group(1))
    if line[-1] in ".,;:?!" or line[0].islower() or sum(map(str.isalpha, line)) < 3:
        return 0
    words = line.split()
    if len(words) > 14 or words[0].lower() in _JOINS or ";" in line or _OF_TABLES.search(line):
        return 0
    named = _NAMED.match(line)
    if named and _is_title(words):
        return 1 if named.group(1) else 2 if named.group(2) else 3
    numbered = _NUMBERED.match(line)
    if numbered and _is_title(words[1:2]):
        return min(4, 3 + numbered.group(1).count("."))
    if line.isupper() and len(words) > 1:
        return 4
    return 5 if len(words) > 1 and _is_title(words) else 0


def _is_title(words: list[str]) -> bool:
    """Whether every word of weight begins with a capital."""
    heavy = [word for word in words if word.lower() not in _SMALL and word[0].isalpha()]
    return bool(heavy) and all(word[0].isupper() for word in heavy)
