"""Reads plain text and Markdown.

A long text has no pages of its own: it is cut at headings and paragraphs into sections of about
3,000 characters. Joined, the pages are the whole text, newlines as they were."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, islice, pairwise
from pathlib import Path

from rag_app.errors import LimitReached, NoText
from rag_app.reading.encodings import decode
from rag_app.reading.limits import Limits
from rag_app.reading.spaced_tables import PlacedWord, grids
from rag_app.supervision import Told, untold
from rag_app.types import Box, Grid, Heading, Page, Reading

_SECTION = 3_000  # characters
_LEAST = _SECTION // 2
_MOST = _SECTION * 6 // 5
_WIDTH = 0.43  # of a letter, in heights of its line: one space is less than a gap, two are one
_APART = 2  # letters between two columns
_FEWEST_COLUMNED = 3  # lines that make a table
_LONGEST_COLUMNED = 200_000  # characters of a text in which tables are looked for
_COLUMNED = re.compile(r"[^\s>](?: {2,}| ?\t[ \t]*)\S[^\r\n]*")
_QUOTING = "> \t\r\n"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_PARAGRAPH = re.compile(r"(?>\r\n|\r|\n)[ \t]*(?>\r\n|\r|\n)\s*|\f")
_SPACE = re.compile(r"\s")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*\Z")
_UNDERLINE = re.compile(r" {0,3}(=+|-{2,})[ \t]*\Z")
_NO_TITLE = re.compile(r"\s*(?:[-*+>|#]|\d+[.)])|\s*\Z")


def read_text(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections of a plain text. Raises NoText or LimitReached."""
    text, encoding = load(path, limits)
    return with_tables(Reading(_pages(text, []), encoding=encoding))


def with_tables(reading: Reading) -> Reading:
    """A reading with those tables whose columns are kept apart by spaces; what is longer than
    people write by hand has none: it is a log."""
    if sum(len(page.text) for page in reading.pages) > _LONGEST_COLUMNED:
        return reading
    found = (grid for page in reading.pages for grid in _grids(page.text, page.number))
    return replace(reading, grids=(*reading.grids, *found))


def read_markdown(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections and headings of a Markdown text. Raises NoText or LimitReached."""
    text, encoding = load(path, limits)
    return with_headings(text, list(_markdown_headings(text)), encoding)


def has_columns(text: str, least: int = _FEWEST_COLUMNED) -> bool:
    """Whether a text has as many lines, as a table needs, with spaces between columns."""
    return sum(1 for _ in islice(_COLUMNED.finditer(text), least)) == least


def _grids(text: str, page: int) -> list[Grid]:
    """The tables of a plain text, whose columns are kept apart by spaces or tabs. A line without
    any below an empty one is a heading, or begins a paragraph."""
    if not has_columns(text):
        return []
    lines = text.splitlines(keepends=True)
    begins = accumulate(map(len, lines), initial=0)
    widest = _APART + max(len(one) for line in lines for one in line.split("\t"))
    parts: list[list[PlacedWord]] = [[]]
    empty = False
    for row, (at, line) in enumerate(zip(begins, lines, strict=False)):
        if empty and not has_columns(line, 1):
            parts.append([])
        parts[-1] += _set(line, at, row, widest)
        empty = not line.strip(_QUOTING)
    return [grid for part in parts for grid in grids(part, page)]


def _set(line: str, at: int, row: int, tab: int) -> Iterator[PlacedWord]:
    """The words of a line that begins at a place of its text, as they stand in letters that are all
    as wide, `tab` of them at most from one tab to the next; without the marks of what is quoted."""
    for found in re.finditer(r"\S+", line):
        start, end = found.span()
        if line[:end].strip(_QUOTING):
            left = len(line[:start].expandtabs(tab))
            box = Box(left * _WIDTH, row, (left + end - start) * _WIDTH, row + 1)
            yield PlacedWord(at + start, at + end, found.group(), box)


def with_headings(text: str, found: Sequence[tuple[int, int, str]], encoding: str) -> Reading:
    """The sections of a text in which (start, level, title) of each heading are known, in order."""
    pages = _pages(text, [start for start, _, _ in found])
    begins = list(accumulate((len(page.text) for page in pages), initial=0))
    headings = []
    for start, level, title in found:
        number = bisect_right(begins, start)
        headings.append(Heading(number, start - begins[number - 1], level, title))
    title = next((title for _, level, title in found if level == 1), "")
    return Reading(pages, title, tuple(headings), encoding=encoding)


def load(path: Path, limits: Limits) -> tuple[str, str]:
    """A file's text, and its encoding, see `decode`. Raises NoText or LimitReached."""
    text, encoding = load_any(path)
    check_length(text, limits.max_characters, "RAG_APP_MAX_CHARACTERS")
    return text, encoding


def load_any(path: Path) -> tuple[str, str]:
    """A file's text however long it is, and its encoding, see `decode`. Raises NoText."""
    text, encoding = decode(path.read_bytes())
    text = text.replace("\0", "\ufffd")
    if not text.strip():
        raise NoText("There is no text in this file: it holds only spaces and line breaks.")
    return text, encoding


def check_length(text: str, most: int, setting: str) -> None:
    """Raises LimitReached where a text is longer than a setting has it."""
    if len(text) > most:
        raise LimitReached(
            f"This text has {len(text):,} characters, more than the {most:,} "
            f"set by {setting}. Split it, or raise the limit."
        )


def _markdown_headings(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, level, title) of each heading outside code."""
    fence, before, before_start = "", "", 0
    for match in _LINE.finditer(text):
        line = match.group().rstrip("\r\n")
        mark = _FENCE.match(line)
        if fence:
            if mark and mark.group(1).startswith(fence) and not line.strip(" `~"):
                fence = ""
            continue
        if mark:
            fence = mark.group(1)
            continue
        atx, underline = _ATX.match(line), _UNDERLINE.match(line)
        if atx:
            yield match.start() + atx.start(1), len(atx.group(1)), atx.group(2)
        elif underline and before and not _NO_TITLE.match(before):
            yield before_start, 1 if underline.group(1)[0] == "=" else 2, before.strip()
        before, before_start = ("" if atx or underline else line), match.start()


def _pages(text: str, headings: list[int]) -> tuple[Page, ...]:
    cuts = pairwise(_cuts(text, headings))
    return tuple(Page(number, text[start:end]) for number, (start, end) in enumerate(cuts, 1))


def _cuts(text: str, headings: list[int]) -> list[int]:
    """Where sections begin and end: before a heading if one is near, else at a paragraph."""
    paragraphs = [match.end() for match in _PARAGRAPH.finditer(text)]
    cuts = [0]
    while len(text) - cuts[-1] > _MOST:
        least, most = cuts[-1] + _LEAST, cuts[-1] + _MOST
        cuts.append(
            _last(headings, least, most)
            or _last(paragraphs, least, most)
            or _gap(text, least, most)
        )
    return [*cuts, len(text)]


def _last(places: list[int], least: int, most: int) -> int:
    """The last of the sorted `places` in the range, 0 if there is none."""
    index = bisect_right(places, most)
    return places[index - 1] if index and places[index - 1] >= least else 0


def _gap(text: str, least: int, most: int) -> int:
    """The last line end in the range, else the last space, else its end."""
    line = max(text.rfind("\n", least, most), text.rfind("\r", least, most - 1))
    if line >= 0:
        return line + (2 if text[line : line + 2] == "\r\n" else 1)
    spaces = [match.end() for match in _SPACE.finditer(text, least, most)]
    return spaces[-1] if spaces else most - (text[most - 1] == "\r")


# Reads texts that are written to be typeset: reStructuredText, LaTeX, AsciiDoc and Org.
#
# They are read as they are written; only what they say of headings and titles is understood.

_Found = tuple[int, int, str]  # start, level, title

_LATEX = re.compile(
    r"^[^%\n]{0,200}?\\(part|chapter|section|subsection|subsubsection|paragraph)\*?"
    r"(?:\[[^\]\n]{0,200}\])?\{([^\n]{1,200}?)\}",
    re.MULTILINE,
)
_LATEX_TITLE = re.compile(
    r"^[^%\n]{0,200}?\\title(?:\[[^\]]{0,200}\])?\{([^}]{1,300})\}", re.MULTILINE
)
_LATEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_LATEX_CODE = re.compile(r"\\[a-zA-Z]+\*?|[{}~]")
_UNDERLINED = re.compile(
    r"^(\S[^\n]{0,200})\r?\n([=\-`:.'\"~^_*+#<>])\2{2,}[ \t]*\r?$", re.MULTILINE
)
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+(\S[^\n]{0,200})$", re.MULTILINE)
_ORG = re.compile(r"^(\*{1,8})[ \t]+(\S[^\n]{0,200})$", re.MULTILINE)
_ORG_TITLE = re.compile(r"^#\+title:[ \t]*(\S[^\n]{0,300})$", re.MULTILINE | re.IGNORECASE)


def read_latex(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections, title and headings of a LaTeX source. Raises NoText or LimitReached."""
    return _read(path, limits, _latex_headings, _LATEX_TITLE)


def read_rst(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections, title and headings of reStructuredText. Raises NoText or LimitReached."""
    return _read(path, limits, _rst_headings)


def read_asciidoc(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections, title and headings of an AsciiDoc text. Raises NoText or LimitReached."""
    return _read(path, limits, lambda text: _marked(_ASCIIDOC, text))


def read_org(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sections, title and headings of an Org text. Raises NoText or LimitReached."""
    return _read(path, limits, lambda text: _marked(_ORG, text), _ORG_TITLE)


def _read(
    path: Path,
    limits: Limits,
    headings: Callable[[str], Iterable[_Found]],
    title: re.Pattern[str] | None = None,
) -> Reading:
    text, encoding = load(path, limits)
    reading = with_headings(text, list(headings(text)), encoding)
    named = title.search(text) if title else None
    return replace(reading, title=_plain(named.group(1))) if named else reading


def _latex_headings(text: str) -> Iterator[_Found]:
    found = list(_LATEX.finditer(text))
    first = min((_LATEX_LEVELS.index(match.group(1)) for match in found), default=0)
    for match in found:
        level = _LATEX_LEVELS.index(match.group(1)) - first + 1
        yield match.start(1) - 1, level, _plain(match.group(2))


def _plain(title: str) -> str:
    """A title without commands."""
    return " ".join(_LATEX_CODE.sub(" ", title).split())


def _rst_headings(text: str) -> Iterator[_Found]:
    """Underlined lines; which sign stands for which level is told by the order they come in."""
    signs: list[str] = []
    for match in _UNDERLINED.finditer(text):
        title, sign = match.group(1).rstrip(), match.group(2)
        line = len(match.group().splitlines()[1].rstrip())
        if line < len(title) or not any(map(str.isalnum, title)):
            continue
        over = text[max(0, match.start() - 5) : match.start()].rstrip("\r\n").endswith(sign * 3)
        mark = sign * 2 if over else sign
        if mark not in signs:
            signs.append(mark)
        yield match.start(), signs.index(mark) + 1, title


def _marked(pattern: re.Pattern[str], text: str) -> Iterator[_Found]:
    """Headings with a sign in front for each level."""
    for match in pattern.finditer(text):
        yield match.start(), len(match.group(1)), match.group(2).strip()
