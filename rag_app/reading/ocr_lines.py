"""Recognised lines put in the order they are read in. Pure.

Knows nothing of how lines are recognised; boxes are in whatever unit they come in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from rag_app.types import Box, Recognised, Word

_SAME_ROW = 0.5  # of the lower one's height that two pieces of a row share
_WIDE = 1.2  # heights: a gap this wide stands between cells, not between words
_BESIDE = 0.25  # heights: how far left of a column the space before it is looked for
_PARAGRAPH = 0.6  # heights between lines, more than the lines themselves are apart
_COLUMN_ROWS = 3  # rows that make a column
_COLUMN_WIDTH = 0.22  # of the block: narrower ones are columns of a table
_CELL_GAP = "   "  # tells sentences.py that this is a row of a table

Place = tuple[int, int, Box]  # from, to, where


@dataclass(frozen=True, slots=True)
class Line:
    """A line that was recognised: its level box, and the true places of its words."""

    text: str
    box: Box
    words: tuple[Place, ...]


def arrange(lines: Sequence[Line]) -> Recognised:
    """The page's text, top to bottom and column by column, with the places of its words."""
    if not lines:
        return Recognised("")
    height = median(_height(line) for line in lines)
    parts: list[str] = []
    words: list[Word] = []
    length, number = 0, 0
    for block in _blocks(list(lines), height):
        for row, gap in _spaced(_rows(block)):
            start = "" if not parts else "\n\n" if gap is None or gap > _PARAGRAPH else "\n"
            before: Line | None = None
            for line in row:
                joint = start if before is None else _joint(before, line)
                parts.append(joint + line.text)
                length += len(joint)
                words += [Word(length + a, length + b, number, box) for a, b, box in line.words]
                length += len(line.text)
                number += 1
                before = line
    return Recognised("".join(parts), tuple(words))


def _joint(before: Line, line: Line) -> str:
    gap = line.box.x0 - before.box.x1
    return _CELL_GAP if gap > _WIDE * min(_height(before), _height(line)) else " "


def _height(line: Line) -> float:
    return max(0.1, line.box.y1 - line.box.y0)


def _blocks(lines: list[Line], height: float) -> list[list[Line]]:
    """Lines in groups that are read one after the other: columns, and what stands across them."""
    best: list[_Part] = []
    most = 0
    for cut in sorted({round(line.box.x0 / height * 4) for line in lines}):
        parts = _parts(lines, (cut / 4 - _BESIDE) * height)
        in_columns = sum(len(part.lines) for part in parts if part.right)
        if in_columns > most:
            best, most = parts, in_columns
    if not best:
        return [lines]
    blocks: list[list[Line]] = []
    for part in best:
        if part.right:
            blocks += [*_blocks(part.left, height), *_blocks(part.right, height)]
        else:
            blocks.append(part.left)
    return blocks


@dataclass(frozen=True, slots=True)
class _Part:
    """A strip of a page: two columns, or one if `right` is empty."""

    left: list[Line]
    right: list[Line]

    @property
    def lines(self) -> list[Line]:
        return self.left + self.right


def _parts(lines: Sequence[Line], cut: float) -> list[_Part]:
    """The strips between lines that stand across a cut down the page."""
    parts: list[_Part] = []
    across: list[Line] = []
    strip: list[Line] = []
    width = max(line.box.x1 for line in lines) - min(line.box.x0 for line in lines)
    for line in [*sorted(lines, key=lambda each: each.box.y0 + each.box.y1), None]:
        if line is not None and not line.box.x0 < cut < line.box.x1:
            strip.append(line)
            continue
        left = [each for each in strip if each.box.x1 <= cut]
        right = [each for each in strip if each.box.x0 >= cut]
        if _are_columns(left, right, width):
            if across:
                parts.append(_Part(across, []))
            parts.append(_Part(left, right))
            across = []
        else:
            across = across + strip
        across += [line] if line is not None else []
        strip = []
    return [*parts, _Part(across, [])] if across else parts


def _are_columns(left: Sequence[Line], right: Sequence[Line], width: float) -> bool:
    """Whether both sides are columns to be read down, not cells of a table or a margin."""
    for side in (left, right):
        if len(side) < _COLUMN_ROWS:
            return False
        if median(line.box.x1 - line.box.x0 for line in side) < _COLUMN_WIDTH * width:
            return False
    tops = [min(line.box.y0 for line in side) for side in (left, right)]
    ends = [max(line.box.y1 for line in side) for side in (left, right)]
    shorter = min(end - top for top, end in zip(tops, ends, strict=True))
    return min(ends) - max(tops) > shorter / 2


def _rows(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines that stand beside each other together, left to right; rows top to bottom."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda each: each.box.y0 + each.box.y1):
        if rows and _beside(rows[-1], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.box.x0) for row in rows]


def _beside(row: Sequence[Line], line: Line) -> bool:
    """Whether a line belongs to a row: it shares its height and stands over none of its pieces."""
    for other in row:
        shared = min(other.box.y1, line.box.y1) - max(other.box.y0, line.box.y0)
        if shared < _SAME_ROW * min(_height(other), _height(line)):
            return False
        across = min(other.box.x1, line.box.x1) - max(other.box.x0, line.box.x0)
        if across > 0.5 * min(other.box.x1 - other.box.x0, line.box.x1 - line.box.x0):
            return False
    return True


def _spaced(rows: Sequence[list[Line]]) -> list[tuple[list[Line], float | None]]:
    """Rows with the space above them, in heights, beyond what is usual here; None: the first."""
    gaps = [
        (min(line.box.y0 for line in row) - max(line.box.y1 for line in above))
        / median(_height(line) for line in row)
        for above, row in pairwise(rows)
    ]
    usual = min(max(median(gaps), -0.5), 1.0) if gaps else 0.0
    return list(zip(rows, [None, *(gap - usual for gap in gaps)], strict=True))
