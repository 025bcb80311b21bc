"""The tables of a page of a PDF, of a picture or of a plain text, found by how its words stand.

Words of a line that stand close together are one cell; lines whose cells stand under each other are
a table. Ruling lines are not needed: where there are any, the words keep to them anyway. The way of
looking for white strips between columns is that of Breuel (2002), in its plainest form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from statistics import median

from rag_app.types import Box, Grid, Recognised

_GAP = 0.85  # of a line's height, between words that are two cells
_NARROW_GAP = 0.45  # the same where a table is set tightly
_APART = 2.6  # line heights between two rows of one table, at most
_LONELY = 2  # lines with one cell alone that may stand between two rows
_FAR = 9.0  # line heights between two parts of one table whose columns stand under each other
_FEWEST_ROWS = 3
_FEWEST_LABELS = 3  # lines: fewer of two cells may be names of columns
_MOST_COLUMNS = 30
_FEWEST_SURE = 2  # rows that are written cell by cell, over several lines: running text never is
_WHITE = 0.12  # of the rows that may cross the white strip between two columns
_LONG = 7  # words that a cell of running text has
_WORDY = 0.3  # of the cells that may be so long
_DIGITS = 0.35  # of the cells behind the first column that hold a digit, in a table of two columns
_TORN = 0.05  # of the cells whose words do not follow each other in the text: notes set in small
_INDENT = 0.45  # of a table's width, from where on a line stands over its figures
_SHORTEST_NAME = 4  # characters; less is the mark of a note, set high
_MOST_HEADS = 6  # lines that name the columns
_MOST_LINES = 6  # of a row
_FLUSH = 0.2  # of a line's height
_LARGER = 1.08  # than the letters of a table, in which a heading is set
_WIDER, _NEARER = 1.5, 0.6  # than most gaps between its lines: between two tables, within a row
_FEWEST_APART = 2  # lines of each of two tables that stand below each other
_BETWEEN = 4  # characters between two words that follow each other, and less
_VALUE = re.compile(r"(?!(?:19|20)\d\d\Z)[^A-Za-z]*\d[^A-Za-z]*|[-–—]")
_MONEY = re.compile(r"[$€£¥]\s?[1-9]")
_FIGURE = re.compile(r"[^\w\s]{0,3}\d")
_UNIT = r"[^\W\d]+\d*"
_QUANTITY = re.compile(
    rf"[^\w\s]{{0,2}}\d[\d.,/]*(?:\s?{_UNIT}(?:[/ ](?:[\d.]+\s?)?{_UNIT}){{0,3}})?"
)
_SIGN_BEFORE = re.compile(r"[$€£¥(]{1,2}\Z")
_SIGN_AFTER = re.compile(r"[%)]{1,2}\Z")


@dataclass(frozen=True, slots=True)
class PlacedWord:
    """A word of a page, `text[start:end]`, and where it stands."""

    start: int
    end: int
    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class _Cell:
    words: tuple[PlacedWord, ...]
    x0: float
    x1: float

    @classmethod
    def of(cls, words: Iterable[PlacedWord]) -> _Cell:
        own = tuple(words)
        return cls(own, min(one.box.x0 for one in own), max(one.box.x1 for one in own))

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def lines(self) -> list[list[PlacedWord]]:
        """Its words by the lines in which they stand."""
        lines = [[self.words[0]]]
        for before, word in pairwise(self.words):
            if word.box.y0 + word.box.y1 > 2 * before.box.y1:
                lines.append([])
            lines[-1].append(word)
        return lines

    def joined(self, other: _Cell) -> _Cell:
        return _Cell.of(self.words + other.words)


_Row = list[_Cell | None]


@dataclass(frozen=True, slots=True)
class _Line:
    """Cells that stand beside each other; of a row that was put together, from its first line to
    its last."""

    cells: tuple[_Cell, ...]
    top: float
    bottom: float
    height: float  # of its letters
    cell_by_cell: bool = False  # its lines were put together as they are written


def grids(words: Sequence[PlacedWord], page: int) -> list[Grid]:
    """The tables of a page, from the top."""
    lines = [_line(row) for row in _rows(words)]
    rows = (_whole(_tight(block)) for block in _joined_blocks(_blocks(lines)))
    parts = (part for row in rows for table in _by_strips(row) for part in _parted(table))
    alone = map(_without_text_beside, parts)
    return [grid for part in alone if (grid := _grid(part, page)) is not None]


def grids_of_scan(page: int, found: Recognised) -> list[Grid]:
    """The tables of a page that is a picture."""
    words = [
        PlacedWord(word.start, word.end, found.text[word.start : word.end], word.box)
        for word in found.words
    ]
    return grids(words, page)


def _rows(words: Sequence[PlacedWord]) -> Iterator[list[PlacedWord]]:
    """Words that stand beside each other, from the top; each row from the left."""
    row: list[PlacedWord] = []
    for word in sorted(words, key=lambda w: (w.box.y0 + w.box.y1, w.box.x0)):
        middle = (word.box.y0 + word.box.y1) / 2
        if row and not row[0].box.y0 < middle < row[0].box.y1:
            yield sorted(row, key=lambda w: w.box.x0)
            row = []
        row.append(word)
    if row:
        yield sorted(row, key=lambda w: w.box.x0)


def _line(row: Sequence[PlacedWord], gap: float = _GAP) -> _Line:
    height = median(word.box.y1 - word.box.y0 for word in row)
    parts = [[row[0]]]
    for before, word in pairwise(row):
        if word.box.x0 - before.box.x1 < gap * height:
            parts[-1].append(word)
        else:
            parts.append([word])
    cells = [_Cell.of(part) for part in parts]
    top = min(word.box.y0 for word in row)
    return _Line(tuple(_with_signs(cells)), top, top + height, height)


def _with_signs(cells: Sequence[_Cell]) -> Iterator[_Cell]:
    """Cells with the signs that are set apart from their figures: "$   1,234", "(56   )".

    In a line that ends with a sign, signs stand behind their figures: "48   €"."""
    behind = _SIGN_BEFORE.fullmatch(cells[-1].words[-1].text) is not None
    waiting: _Cell | None = None
    made: list[_Cell] = []
    for cell in cells if behind else _signs_apart(cells):
        if waiting is not None:
            cell, waiting = waiting.joined(cell), None
        sign = _SIGN_BEFORE.fullmatch(cell.text)
        if sign and not behind:
            waiting = cell
        elif made and (sign or _SIGN_AFTER.fullmatch(cell.text)):
            made[-1] = made[-1].joined(cell)
        else:
            made.append(cell)
    yield from made
    if waiting is not None:
        yield waiting


def _signs_apart(cells: Sequence[_Cell]) -> Iterator[_Cell]:
    """Cells, and by itself each sign at an end that belongs to the figure behind it: "18 % $"."""
    for cell, after in zip_longest(cells, cells[1:]):
        *words, last = cell.words
        figures = after is not None and not after.text[0].isalpha()
        if words and figures and _SIGN_BEFORE.fullmatch(last.text) and _has_digit(cell):
            yield _Cell.of(words)
            yield _Cell.of([last])
        else:
            yield cell


def _has_digit(cell: _Cell) -> bool:
    return any(character.isdigit() for character in cell.text)


def _tight(block: Sequence[_Line]) -> list[_Line]:
    """A block whose cells stand closer to each other, if more of them begin with a figure so."""
    words = [[word for cell in line.cells for word in cell.words] for line in block]
    narrow = [_line(row, _NARROW_GAP) for row in words]
    wide, close = (
        sum(_FIGURE.match(cell.text) is not None for line in lines for cell in line.cells)
        for lines in (block, narrow)
    )
    return narrow if close > wide else list(block)


def _blocks(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Runs of lines that may be a table: several cells each, seldom one alone between them. One
    alone in larger letters is a heading; so is, below labels and what each is, one alone above
    lines with more cells."""
    block: list[_Line] = []
    alone: list[_Line] = []
    for line, after in zip_longest(lines, lines[1:]):
        last = (alone or block)[-1:]
        apart = bool(last) and line.top - last[0].bottom > _APART * max(line.height, 1.0)
        labels = len(block) >= _FEWEST_LABELS and max(len(one.cells) for one in block) == 2
        widens = labels and bool(alone) and len(line.cells) > 2
        heading = len(line.cells) == 1 and _is_larger(line, block, after)
        if block and (apart or widens or heading or len(alone) > _LONELY):
            yield block
            block, alone = [], []
        if len(line.cells) > 1 or (not alone and _continues(line, block)):
            block += [*alone, line] if block else [line]
            alone = []
        elif block:
            alone.append(line)
    if block:
        yield block


def _is_larger(line: _Line, above: Sequence[_Line], below: _Line | None) -> bool:
    """Whether a line is set in larger letters than the rows below which it stands, and than what
    is below it."""
    if len(_with_labels(above)) < _FEWEST_APART:
        return False
    heights = [median(one.height for one in above), below.height if below else 0.0]
    return line.height >= _LARGER * max(heights)


def _with_labels(lines: Sequence[_Line]) -> list[_Line]:
    """Those that are rows for sure: with a label, and something with a digit beside it."""
    left = min((line.cells[0].x0 for line in lines), default=0.0)
    return [
        line
        for line in lines
        if line.cells[0].x0 - left < line.height and any(map(_has_digit, line.cells[1:]))
    ]


def _joined_blocks(blocks: Iterable[list[_Line]]) -> Iterator[list[_Line]]:
    """Blocks, those in one that empty lines or headings part from the rest of their table."""
    whole: list[_Line] = []
    for block in blocks:
        if whole and not _goes_on(whole, block):
            yield whole
            whole = []
        whole = [*whole, *block]
    if whole:
        yield whole


def _goes_on(above: Sequence[_Line], below: Sequence[_Line]) -> bool:
    """Whether a block is the next part of the one above it: it stands near, and its columns end
    where those end. It begins with figures, not with names."""
    near = below[0].top - above[-1].bottom <= _FAR * max(below[0].height, 1.0)
    upper, lower = (_columns([o for o in part if len(o.cells) > 1]) for part in (above, below))
    begins = [cell.text for cell in below[0].cells[1:]]
    figures = bool(begins) and not any(c.isalpha() for text in begins for c in text)
    if not near or len(upper) != len(lower) or len(upper) < 2 or not figures:
        return False
    heads = zip(upper[1:], lower[1:], strict=True)
    return all(min(a[1], b[1]) > max(a[0], b[0]) for a, b in heads)


def _whole(lines: Sequence[_Line]) -> list[_Line]:
    """The rows that lines make."""
    gaps = sorted(below.top - above.bottom for above, below in pairwise(lines))
    usual = gaps[3 * len(gaps) // 4] if gaps else 0.0
    whole: list[_Line] = []
    at = 0
    while at < len(lines):
        # All lines together are a table that is written column by column.
        most = min(_MOST_LINES, len(lines) - max(at, 1))
        most = most if _may_go_on(lines[at], lines[at + 1 : at + 3]) else 1
        some = ((n, _together(lines[at : at + n], usual)) for n in range(most, 1, -1))
        count, row = next(((n, row) for n, row in some if row), (1, lines[at]))
        whole.append(row)
        at += count
    return whole


def _may_go_on(line: _Line, below: Sequence[_Line]) -> bool:
    """Whether a cell below one of a line, or below the next one, follows it in the text."""
    cells = [*line.cells, *(cell for one in below[:1] for cell in one.cells)]
    return any(
        lower.x0 < cell.x1 and cell.x0 < lower.x1 and _follow([cell.words[-1], lower.words[0]])
        for one in below
        for lower in one.cells
        for cell in cells
    )


def _together(lines: Sequence[_Line], usual: float) -> _Line | None:
    """Lines as one row; None if they are several. A page is written cell by cell: what stands below
    a cell and follows it in the text, before the cell beside it does, goes on there. Where a first
    cell alone goes on that cannot be told, but lines of one row stand nearer than `usual`."""
    columns = _beside(lines)
    words = [word for cells in columns for cell in cells for word in cell.words]
    own = all(len({cell.words[0].box.y0 for cell in cells}) == len(cells) for cells in columns)
    if len(columns) < 2 or not own or not _follow(words):
        return None
    by_line = [word for line in lines for cell in line.cells for word in cell.words]
    near = all(b.top - a.bottom < _NEARER * usual for a, b in pairwise(lines))
    cells = tuple(_Cell.of(w for c in cells for w in c.words) for cells in columns)
    sure = not _follow(by_line)
    row = _Line(cells, lines[0].top, lines[-1].bottom, lines[0].height, sure)
    full = len(lines[0].cells) == len(columns)
    return row if full or ((near or sure) and _is_level(row)) else None


def _is_level(row: _Line) -> bool:
    """Whether the cells of a row end at one height, or have their middle there."""
    tops = [min(word.box.y0 for word in cell.words) for cell in row.cells]
    ends = [max(word.box.y1 for word in cell.words) for cell in row.cells]
    middles = [(top + end) / 2 for top, end in zip(tops, ends, strict=True)]
    return any(max(one) - min(one) < row.height / 2 for one in (ends, middles))


def _beside(lines: Sequence[_Line]) -> list[list[_Cell]]:
    """The cells of lines by the strips in which they stand, from the left."""
    strips: list[list[_Cell]] = []
    edge = 0.0
    for cell in sorted((cell for line in lines for cell in line.cells), key=lambda c: c.x0):
        if strips and cell.x0 < edge:
            strips[-1].append(cell)
        else:
            strips.append([cell])
        edge = max(edge, cell.x1) if len(strips[-1]) > 1 else cell.x1
    return [sorted(one, key=lambda c: c.words[0].box.y0) for one in strips]


def _follow(words: Sequence[PlacedWord]) -> bool:
    """Whether words follow each other in the text."""
    return all(b.start - a.end in range(_BETWEEN) for a, b in pairwise(words))


def _by_strips(block: Sequence[_Line]) -> Iterator[list[_Line]]:
    """The tables of a block: what stands further below than its lines do from each other, and in
    other columns, is another one."""
    gaps = [below.top - above.bottom for above, below in pairwise(block)]
    wide = max(median(gaps), 0.0) * _WIDER if gaps else 0.0
    part: list[_Line] = []
    for lines in _cut(block, [gap > wide for gap in gaps]):
        if part and _are_others(part, lines):
            yield part
            part = []
        part = [*part, *lines]
    if part:
        yield part


def _cut(block: Sequence[_Line], wide: Sequence[bool]) -> Iterator[list[_Line]]:
    """The lines of a block up to each wide gap."""
    begins = [0, *(at for at, gap in enumerate(wide, start=1) if gap), len(block)]
    return (list(block[begin:end]) for begin, end in pairwise(begins))


def _are_others(above: Sequence[_Line], below: Sequence[_Line]) -> bool:
    """Whether lines below the rows of a table name other columns than those: a cell of the one
    lies across two columns of the other."""
    several = [line for line in below if len(line.cells) > 1]
    if min(len(_with_labels(above)), len(several)) < _FEWEST_APART:
        return False
    if any(map(_has_digit, several[0].cells)):
        return False
    ours = [line for line in above if len(line.cells) > 1]
    return any(
        sum(min(cell.x1, right) > max(cell.x0, left) for left, right in columns) > 1
        for lines, columns in ((ours, _columns(several)), (several, _columns(ours)))
        for line in lines
        for cell in line.cells
    )


def _parted(block: Sequence[_Line]) -> Iterator[list[_Line]]:
    """The tables of a block: names that stand over columns of figures begin another one."""
    left = min(line.cells[0].x0 for line in block)
    middle = left + _INDENT * (max(line.cells[-1].x1 for line in block) - left)
    labels = max((right for _, right in _columns(block)[:1]), default=left)
    part: list[_Line] = []
    figures = False
    for line in block:
        texts = [cell.text for cell in line.cells]
        names = not any(map(_VALUE.fullmatch, texts)) and max(map(len, texts)) >= _SHORTEST_NAME
        below_white = bool(part) and line.top - part[-1].bottom > line.height and len(texts) > 1
        aside = line.cells[0].x0 > (labels if below_white else middle)
        if figures and names and aside and not _continues(line, part):
            yield part
            part, figures = [], False
        part.append(line)
        figures = figures or any(map(_VALUE.fullmatch, texts))
    yield part


def _continues(line: _Line, above: Sequence[_Line]) -> bool:
    """Whether a line is the next one of a cell of the row above it: alone, flush with it, and
    behind it in the text."""
    [cell, *others] = line.cells
    if others or not above:
        return False
    between = len(above[-1].cells) > 1  # other cells, the middle of which is at its height
    return any(
        abs(one.x0 - cell.x0) < _FLUSH * line.height and _follow([one.words[-1], cell.words[0]])
        for near in above[-1 - between :]
        for one in near.cells
    )


def _without_text_beside(block: list[_Line]) -> list[_Line]:
    """A block without the lines of running text that stand beside it, as on a page of two columns:
    from line to line their text goes on."""
    columns = _columns([line for line in block if len(line.cells) > 1])
    placed = [_placed(line, columns) for line in block]
    texts = {n for n in range(len(columns)) if _runs([row[n] for row in placed])}
    if not texts or len(texts) == len(columns):
        return block
    kept = [tuple(c for n, c in enumerate(row) if c and n not in texts) for row in placed]
    return [replace(line, cells=cells) for line, cells in zip(block, kept, strict=True) if cells]


def _runs(column: Sequence[_Cell | None]) -> bool:
    """Whether the cells of a column are lines of running text."""
    cells = [cell for cell in column if cell]
    pairs = ((a.words[-1], b.words[0]) for a, b in pairwise(cells))
    return len(cells) > _FEWEST_ROWS and all(map(_follow, pairs))


def _grid(block: Sequence[_Line], page: int) -> Grid | None:
    several = [line for line in block if len(line.cells) > 1]
    columns = _columns(several)
    if not several or not 2 <= len(columns) <= _MOST_COLUMNS:
        return None
    named = _last_above_figures(block)
    rows = [_placed(_by_columns(n, columns) if n is named else n, columns) for n in block]
    if not _looks_like_a_table([row for row in rows if sum(map(bool, row)) > 1], block):
        return None
    grid, torn = Grid(header_rows=_heads(rows)), 0
    for number, row in enumerate(rows, start=1):
        grid.rows.append(number)
        grid.counts.append(len(columns))
        for cell in row:
            start, end = _span(cell)
            torn += cell is not None and end != cell.words[-1].end
            grid.pages.append(page)
            grid.starts.append(start)
            grid.ends.append(end)
    filled = sum(cell is not None for row in rows for cell in row)
    return grid if torn <= _TORN * filled else None


def _heads(rows: Sequence[Sequence[_Cell | None]]) -> int:
    """How many lines name the columns: those above the first figure, where the first column is
    empty but for the first and the last of them, or several others are filled; 0: that cannot be
    told so, as of rows of labels, or with numbers before them."""
    if _names_all(rows):
        return 1
    values = [any(cell and _says_value(cell.text) for cell in row[1:]) for row in rows]
    first = values.index(True) if any(values) else 0
    heads = [row for row in rows[: first + 1] if any(row[1:])][:-1]
    if not heads or len(heads) > _MOST_HEADS or 2 * sum(values) < len(rows) - first:
        return 0
    count = rows.index(heads[-1]) + 1
    plain = all(row[0] is None or sum(map(bool, row)) > 2 for row in rows[1 : count - 1])
    labels = [row[0] for row in heads if row[0]]
    rows_of_labels = len(rows[0]) == 2 and len(labels) > 1
    numbered = any(_VALUE.fullmatch(label.text) for label in labels)
    return count if plain and not rows_of_labels and not numbered else 0


def _names_all(rows: Sequence[Sequence[_Cell | None]]) -> bool:
    """Whether the first line surely names the columns, and no other does: it has a name for each,
    its corner may be empty, and what stands under them are quantities."""
    (corner, *names), *below = rows
    if not below or not all(names) or (corner is None and not all(row[0] for row in below)):
        return False
    texts = [cell.text for cell in names if cell]
    quantities = [cell is not None and bool(_QUANTITY.fullmatch(cell.text)) for cell in below[0]]
    return all(quantities[1:]) and not any(map(_FIGURE.match, texts))


def _says_value(text: str) -> bool:
    """Whether a cell holds a figure, or begins with a sum of money: "£250 (damage only)"."""
    return bool(_VALUE.fullmatch(text) or _MONEY.match(text))


def _columns(lines: Sequence[_Line]) -> list[tuple[float, float]]:
    """Where columns stand: strips between which hardly a row has anything."""
    lines = _with_figures(lines)
    edges = sorted({x for line in lines for cell in line.cells for x in (cell.x0, cell.x1)})
    most = max(1.0, _WHITE * len(lines))
    found: list[tuple[float, float]] = []
    begin: float | None = None
    for left, right in pairwise(edges):
        middle = (left + right) / 2
        held = sum(any(c.x0 < middle < c.x1 for c in line.cells) for line in lines)
        if held >= most and begin is None:
            begin = left
        elif held < most and begin is not None:
            found.append((begin, left))
            begin = None
    if begin is not None:
        found.append((begin, edges[-1]))
    return found


def _with_figures(lines: Sequence[_Line]) -> Sequence[_Line]:
    """The lines that hold figures, if most below the first of them do: headings and notes, which
    go across several columns, say nothing of where these part. Else all lines."""
    held = [any(_VALUE.fullmatch(cell.text) for cell in line.cells[1:]) for line in lines]
    if sum(held) < 2 or 2 * sum(held) < len(lines) - held.index(True):
        return lines
    return [line for line, holds in zip(lines, held, strict=True) if holds]


def _placed(line: _Line, columns: Sequence[tuple[float, float]]) -> _Row:
    """The cells of a line by column; one that spans several stands in the first of them."""
    row: _Row = [None] * len(columns)
    for cell in line.cells:
        shared = [min(cell.x1, right) - max(cell.x0, left) for left, right in columns]
        near = max(shared)
        at = next(n for n, share in enumerate(shared) if share >= min(near, 1.0))
        held = row[at]
        row[at] = held.joined(cell) if held else cell
    return row


def _last_above_figures(block: Sequence[_Line]) -> _Line | None:
    """The line that names columns one by one; those above it may name several together."""
    held = [any(_VALUE.fullmatch(cell.text) for cell in line.cells[1:]) for line in block]
    first = held.index(True) if any(held) else 0
    return block[first - 1] if first else None


def _by_columns(line: _Line, columns: Sequence[tuple[float, float]]) -> _Line:
    """A line with the names of narrow columns apart, which stand as close as words do."""
    return replace(line, cells=tuple(c for cell in line.cells for c in _names(cell, columns)))


def _names(cell: _Cell, columns: Sequence[tuple[float, float]]) -> Sequence[_Cell]:
    """The words of a cell each by itself, if each stands over a column of its own."""
    over = [c for c in columns if min(cell.x1, c[1]) > max(cell.x0, c[0])]
    alone = len(cell.words) == len(over) > 1 and not any(map(str.isdigit, cell.text))
    if not alone or not all(
        min(word.box.x1, right) > max(word.box.x0, left)
        for word, (left, right) in zip(cell.words, over, strict=True)
    ):
        return [cell]
    return [_Cell.of([word]) for word in cell.words]


def _looks_like_a_table(rows: Sequence[Sequence[_Cell | None]], block: Sequence[_Line]) -> bool:
    """Whether these are cells, and not the columns of running text."""
    if len(rows) < _FEWEST_ROWS:
        return len(rows) == len(block) == 2 and _is_named_row(*rows)
    if sum(line.cell_by_cell for line in block) >= _FEWEST_SURE:
        return True
    lines = [line for row in rows for cell in row if cell for line in cell.lines]
    wordy = sum(len(line) >= _LONG for line in lines)
    behind = [cell for row in rows for cell in row[1:] if cell]
    digits = sum(map(_has_digit, behind))
    return wordy <= _WORDY * len(lines) and (len(rows[0]) > 2 or digits >= _DIGITS * len(behind))


def _is_named_row(names: Sequence[_Cell | None], row: Sequence[_Cell | None]) -> bool:
    """Whether two lines are names, three at least, and what is so called: quantities."""
    texts = [(name.text, cell.text) for name, cell in zip(names, row, strict=True) if name and cell]
    worded = all(any(map(str.isalpha, name)) for name, _ in texts)
    quantities = all(_QUANTITY.fullmatch(t) or _VALUE.fullmatch(t) for _, t in texts[1:])
    return len(texts) == len(row) > 2 and worded and quantities


def _span(cell: _Cell | None) -> tuple[int, int]:
    """A cell's offsets, as far as its words follow each other in the text."""
    if cell is None:
        return 0, 0
    start, end, length = cell.words[0].start, cell.words[0].end, len(cell.words[0].text)
    for count, word in enumerate(cell.words[1:], start=2):
        length += len(word.text)
        if word.start < end or word.end - start > length + 8 * count:
            break
        end = word.end
    return start, end


def offsets(text: str) -> Iterable[tuple[int, int]]:
    """Where the words of a page's text stand in it."""
    return (found.span() for found in re.finditer(r"\S+", text))
