"""The headings of a PDF without an outline, by how they are set: larger than most of its text, or
bold where that is not."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from rag_app.reading.spaced_tables import PlacedWord
from rag_app.types import Grid, Heading

_LARGER = 1.12  # than most of the text, in heights of letters
_BOLD = 600  # weight of letters from which they are
_LONGEST = 120  # characters of a heading, over all its lines
_APART = 1.5  # heights between two words of a line that belong to two columns
_MOST = 0.25  # of the text that is set so, beyond which it tells nothing
_SAME = 4  # points between the places of a running title on two pages, at most
_FEWEST = 2  # headings that make a structure, and one for each page
_DEEPEST = 6
_LINE_END = 3  # characters between two lines that follow each other, at most
_NAME = 128  # bytes of a font's name
SHORT = 60
"""Pages of a document of which it is known what they are worth (benchmarks/LOG.md)."""

_NUMBER = re.compile(r"\W?(?:\d[\d.]*|[^\W\d_]|[ivxIVX]{1,5})[.):]?")  # before a heading


@dataclass(frozen=True, slots=True)
class SetLine:
    """A line of a page, `start` to `end` in its text, and how it is set: the height of its letters
    in half points, whether they are bold, and how far up it stands, in steps of `_SAME` points."""

    page: int
    start: int
    end: int
    text: str
    height: int
    bold: bool
    up: int


def set_lines(
    text: pdfium.PdfTextPage,
    found: str,
    placed: Sequence[PlacedWord],
    tables: Sequence[Grid],
    number: int,
) -> tuple[SetLine, ...]:
    """The lines of an opened text and how they are set, but those of tables; `found`: its
    characters, `placed`: its words."""
    cells = {
        start
        for grid in tables
        for start, end in zip(grid.starts, grid.ends, strict=True)
        if end > start
    }
    breaks = [0, *(one.end() for one in re.finditer(r"[\r\n]+", found)), len(found)]
    words = iter([*placed, None])
    word = next(words)
    lines: list[SetLine] = []
    for _, end in pairwise(breaks):
        own: list[PlacedWord] = []
        while word is not None and word.start < end:
            own.append(word)
            word = next(words)
        if own and own[0].start not in cells and not _is_parted(own):
            start, stop = own[0].start, own[-1].end
            bold = all(_is_bold(text, one.start) for one in (own[0], own[-1]))
            height, up = min(_height(one) for one in own), round(own[0].box.y1 / _SAME)
            lines.append(SetLine(number, start, stop, found[start:stop], height, bold, up))
    return tuple(lines)


def _height(word: PlacedWord) -> int:
    return round(2 * (word.box.y1 - word.box.y0))


def _is_parted(words: Sequence[PlacedWord]) -> bool:
    """Whether the words of a line, without its number, stand as far apart as two columns."""
    bare = words[1:] if _NUMBER.fullmatch(words[0].text) else words
    return any(2 * (b.box.x0 - a.box.x1) > _APART * _height(a) for a, b in pairwise(bare))


def _is_bold(text: pdfium.PdfTextPage, index: int) -> bool:
    if raw.FPDFText_GetFontWeight(text, index) >= _BOLD:
        return True
    name = ctypes.create_string_buffer(_NAME)
    raw.FPDFText_GetFontInfo(text, index, name, _NAME, ctypes.c_int())
    return b"bold" in name.value.lower()


def headings(lines: Sequence[SetLine], pages: int) -> tuple[Heading, ...]:
    """The headings among the lines of a document of so many pages, outermost the largest; none if
    they are too few, or too many, to be its structure."""
    sizes, bold = Counter[int](), 0
    for line in lines:
        sizes[line.height] += len(line.text)
        bold += len(line.text) * line.bold
    total = sizes.total()
    if not total:
        return ()
    usual = sizes.most_common(1)[0][0]
    tells = 2 * bold < total
    standing_out = [
        line
        for line in lines
        if line.height >= _LARGER * usual or (tells and line.bold and line.height >= usual)
    ]
    if sum(len(line.text) for line in standing_out) > _MOST * total:
        return ()
    found = _without_running(list(_whole(standing_out)))
    if len(found) < max(_FEWEST, pages):
        return ()
    looks = sorted({(-line.height, not line.bold) for line in found})
    return tuple(
        Heading(
            line.page,
            line.start,
            min(_DEEPEST, looks.index((-line.height, not line.bold)) + 1),
            " ".join(line.text.split()),
        )
        for line in found
    )


def _whole(standing_out: Sequence[SetLine]) -> Iterator[SetLine]:
    """Those that can be headings, one over several lines as one."""
    runs: list[list[SetLine]] = []
    for line in standing_out:
        if runs and _goes_on(runs[-1][-1], line):
            runs[-1].append(line)
        else:
            runs.append([line])
    for run in runs:
        whole = replace(run[0], end=run[-1].end, text="\n".join(line.text for line in run))
        lettered = sum(map(str.isalpha, whole.text)) > 2
        if lettered and len(whole.text) <= _LONGEST and whole.text[-1] not in ".,;:":
            yield whole


def _goes_on(above: SetLine, line: SetLine) -> bool:
    """Whether a line is set as the one right above it."""
    alike = (above.page, above.height, above.bold) == (line.page, line.height, line.bold)
    return alike and line.start - above.end <= _LINE_END


def _without_running(found: Sequence[SetLine]) -> list[SetLine]:
    """Each that stands at the same place of several pages once, whatever its numbers."""
    seen = dict[tuple[str, int], SetLine]()
    for line in found:
        seen.setdefault((re.sub(r"[\d\W]+", "", line.text.lower()), line.up), line)
    return list(seen.values())
