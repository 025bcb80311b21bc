"""A PDF page as a picture, the places of its text on that picture, and the tables that stand there.

Words of a line that stand close together are one cell; lines whose cells stand under each other are
a table. Ruling lines are not needed: where there are any, the words keep to them anyway. The way of
looking for white strips between columns is that of Breuel (2002), in its plainest form."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from pathlib import Path
from statistics import median

import pypdfium2 as pdfium
import pypdfium2.raw as raw
from PIL import Image

from rag_app.errors import (
    DamagedFile,
    PasswordNeeded,
    RagAppError,
    UnsupportedFormat,
    WrongPassword,
)
from rag_app.types import Box, Grid, PagePicture

# Opens PDF files with PDFium, and says in plain words why one cannot be opened.
#
# PDFium is not thread-safe: only the child process, which does one thing at a time, calls it.

TORN = (
    "This PDF is damaged: its contents cannot be found. "
    "Ask for a fresh copy, or save it again from the program that made it."
)
_GAP = 0.85  # of a line's height, between words that are two cells
_NARROW_GAP = 0.45  # the same where a table is set tightly
_APART = 2.6  # line heights between two rows of one table, at most
_LONELY = 2  # lines with one cell alone that may stand between two rows
_FAR = 9.0  # line heights between two parts of one table whose columns stand under each other
_FEWEST_ROWS = 3
_MOST_COLUMNS = 30
_WHITE = 0.12  # of the rows that may cross the white strip between two columns
_LONG = 7  # words that a cell of running text has
_WORDY = 0.3  # of the cells that may be so long
_DIGITS = 0.35  # of the cells behind the first column that hold a digit, in a table of two columns
_TORN = 0.05  # of the cells whose words do not follow each other in the text: notes set in small
_INDENT = 0.45  # of a table's width, from where on a line stands over its figures
_SHORTEST_NAME = 4  # characters; less is the mark of a note, set high
_MOST_HEADS = 6  # lines that name the columns
_VALUE = re.compile(r"(?!(?:19|20)\d\d\Z)[^A-Za-z]*\d[^A-Za-z]*|[-–—]")
_FIGURE = re.compile(r"[^\w\s]{0,3}\d")
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

    @property
    def x0(self) -> float:
        return self.words[0].box.x0

    @property
    def x1(self) -> float:
        return self.words[-1].box.x1

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    def joined(self, other: _Cell) -> _Cell:
        return replace(self, words=self.words + other.words)


@dataclass(frozen=True, slots=True)
class _Line:
    cells: tuple[_Cell, ...]
    top: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top


def grids(words: Sequence[PlacedWord], page: int) -> list[Grid]:
    """The tables of a page, from the top."""
    lines = [_line(row) for row in _rows(words)]
    blocks = (part for block in _joined_blocks(_blocks(lines)) for part in _parted(_tight(block)))
    return [grid for block in blocks if (grid := _grid(block, page)) is not None]


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
    cells = [_Cell((row[0],))]
    for word in row[1:]:
        near = word.box.x0 - cells[-1].x1 < gap * height
        if near:
            cells[-1] = _Cell((*cells[-1].words, word))
        else:
            cells.append(_Cell((word,)))
    top = min(word.box.y0 for word in row)
    return _Line(tuple(_with_signs(cells)), top, top + height)


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
            yield _Cell(tuple(words))
            yield _Cell((last,))
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
    """Runs of lines that may be a table: several cells each, seldom one alone between them."""
    block: list[_Line] = []
    alone: list[_Line] = []
    for line in lines:
        last = (alone or block)[-1:]
        apart = bool(last) and line.top - last[0].bottom > _APART * max(line.height, 1.0)
        if block and (apart or len(alone) > _LONELY):
            yield block
            block, alone = [], []
        if len(line.cells) > 1:
            block += [*alone, line] if block else [line]
            alone = []
        elif block:
            alone.append(line)
    if block:
        yield block


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
        if figures and names and aside:
            yield part
            part, figures = [], False
        part.append(line)
        figures = figures or any(map(_VALUE.fullmatch, texts))
    yield part


def _grid(block: Sequence[_Line], page: int) -> Grid | None:
    several = [line for line in block if len(line.cells) > 1]
    columns = _columns(several)
    if len(several) < _FEWEST_ROWS or not 2 <= len(columns) <= _MOST_COLUMNS:
        return None
    rows = [_placed(line, columns) for line in block]
    if not _looks_like_a_table([row for row in rows if sum(map(bool, row)) > 1]):
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
    told so."""
    values = [any(cell and _VALUE.fullmatch(cell.text) for cell in row[1:]) for row in rows]
    first = values.index(True) if any(values) else 0
    heads = [row for row in rows[: first + 1] if any(row[1:])][:-1]
    if not heads or len(heads) > _MOST_HEADS or 2 * sum(values) < len(rows) - first:
        return 0
    count = rows.index(heads[-1]) + 1
    plain = all(row[0] is None or sum(map(bool, row)) > 2 for row in rows[1 : count - 1])
    return count if plain else 0


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


def _placed(line: _Line, columns: Sequence[tuple[float, float]]) -> list[_Cell | None]:
    """The cells of a line by column; one that spans several stands in the first of them."""
    row: list[_Cell | None] = [None] * len(columns)
    for cell in line.cells:
        shared = [min(cell.x1, right) - max(cell.x0, left) for left, right in columns]
        near = max(shared)
        at = next(n for n, share in enumerate(shared) if share >= min(near, 1.0))
        held = row[at]
        row[at] = held.joined(cell) if held else cell
    return row


def _looks_like_a_table(rows: Sequence[Sequence[_Cell | None]]) -> bool:
    """Whether these are cells, and not the columns of running text."""
    cells = [cell for row in rows for cell in row if cell]
    wordy = sum(len(cell.words) >= _LONG for cell in cells)
    behind = [cell for row in rows for cell in row[1:] if cell]
    digits = sum(map(_has_digit, behind))
    if wordy > _WORDY * len(cells) or len(rows) < _FEWEST_ROWS:
        return False
    return len(rows[0]) > 2 or digits >= _DIGITS * len(behind)


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


__all__ = ["PlacedWord", "grids", "offsets"]


@contextmanager
def open_pdf(path: Path, password: str | None = None) -> Iterator[pdfium.PdfDocument]:
    """The document, closed at the end of the block.

    Raises DamagedFile, PasswordNeeded, WrongPassword or UnsupportedFormat."""
    try:
        document = pdfium.PdfDocument(path, password=password or None)
    except pdfium.PdfiumError as error:
        raise _refusal(error.err_code, password) from error
    except FileNotFoundError as error:
        raise DamagedFile("The file of this document is gone. Add it again.") from error
    with closing(document):
        yield document


def unlock(path: Path, password: str, target: Path) -> None:
    """Write a copy that opens without a password. Raises WrongPassword; then nothing is written."""
    unfinished = target.with_name(target.name + ".part")
    try:
        with open_pdf(path, password) as document:
            document.save(unfinished, flags=raw.FPDF_REMOVE_SECURITY)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _refusal(code: int | None, password: str | None) -> RagAppError:
    if code == raw.FPDF_ERR_PASSWORD:
        if password:
            return WrongPassword("This password does not open the PDF. Try another one.")
        return PasswordNeeded("This PDF is locked. Enter its password to read it.")
    if code == raw.FPDF_ERR_SECURITY:
        return UnsupportedFormat(
            "This PDF is locked in a way that cannot be opened here. "
            "Save a copy without protection and add that."
        )
    return DamagedFile(TORN)


@contextmanager
def open_page(document: pdfium.PdfDocument, number: int) -> Iterator[pdfium.PdfPage]:
    """A page by its number from 1, closed at the end of the block. Raises DamagedFile.

    What was typed into its form fields and onto it is part of it, for reading and for showing."""
    try:
        page = document[number - 1]
        if _is_filled_in(page):
            raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
            page.close()
            page = document[number - 1]
    except (pdfium.PdfiumError, IndexError) as error:
        raise DamagedFile(
            f"Page {number} of this PDF is damaged and cannot be shown. Ask for a fresh copy."
        ) from error
    with closing(page):
        yield page


def _is_filled_in(page: pdfium.PdfPage) -> bool:
    """Whether the page has form fields or typed notes."""
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        note = raw.FPDFPage_GetAnnot(page, index)
        if not note:
            continue
        kind = raw.FPDFAnnot_GetSubtype(note)
        raw.FPDFPage_CloseAnnot(note)
        if kind in (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT):
            return True
    return False


# The text of a PDF page: one character for every PDFium character index.
#
# Whoever asks for boxes opens the page's text by the same function as whoever read it, so an offset
# in the text is an index in PDFium, always.

HYPHEN = "\ufffe"  # how PDFium marks a hyphen at a line's end, which it then joins with the next

_SAMPLE = 80  # characters looked at to tell which way up a page's text stands
_LONE_BREAK = re.compile(r"(?<!\r)\n|\r(?!\n)")  # a space in fonts with strange maps
# Letters past U+FFFF take two indexes each. The letters of a run come first, and what fills its
# second half is invisible, so that a word of them stays a word.
_PAIRS = re.compile("(?:[\ud800-\udbff][\udc00-\udfff])+")
_FILLER = "\u2060"
_CLEAN = {
    **{code: " " for code in (*range(32), *range(0x7F, 0xA0), 0xFFFF) if chr(code) not in "\r\n\t"},
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
    0x02: HYPHEN,
}


@contextmanager
def open_text(page: pdfium.PdfPage) -> Iterator[pdfium.PdfTextPage]:
    """A page's text in reading order, closed at the end of the block.

    PDFium orders text as displayed. Where a page is shown turned against its text, that order is
    scrambled, so the page is turned for reading to the way that its text stands upright."""
    shown = page.get_rotation()
    text = page.get_textpage()
    turn = upright(text, 0, text.count_chars(), shown)
    if turn != shown:
        text.close()
        page.set_rotation(turn)
        try:
            text = page.get_textpage()
        finally:
            page.set_rotation(shown)
    with closing(text):
        yield text


def upright(text: pdfium.PdfTextPage, start: int, end: int, shown: int) -> int:
    """The rotation under which most of these characters stand upright; `shown` if none does."""
    turns: Counter[int] = Counter()
    for index in range(start, end, max(1, (end - start) // _SAMPLE)):
        if raw.FPDFText_IsGenerated(text, index) or raw.FPDFText_GetUnicode(text, index) <= 32:
            continue
        angle = raw.FPDFText_GetCharAngle(text, index)
        turns[round(-math.degrees(angle) / 90) % 4 * 90] += 1
    rotation, votes = turns.most_common(1)[0] if turns else (shown, 0)
    return rotation if votes * 3 > turns.total() * 2 else shown


def characters(text: pdfium.PdfTextPage) -> str:
    """The characters of an opened text, one for each PDFium index; HYPHEN where PDFium says so."""
    count = text.count_chars()
    if not count:
        return ""
    found: str = text.get_text_range()
    if len(found) != count or raw.FPDFText_GetTextIndexFromCharIndex(text, count - 1) != count - 1:
        found = "".join(_character(text, index) for index in range(count))
    found = _PAIRS.sub(_joined, found).translate(_CLEAN)
    if found.count("\n") != found.count("\r\n") or found.count("\r") != found.count("\r\n"):
        found = _LONE_BREAK.sub(" ", found)
    return found


def words(text: pdfium.PdfTextPage, found: str) -> list[PlacedWord]:
    """The words of an opened text and where they stand, the origin at the top.

    Of no use to who looks for tables is text that does not stand upright: then there are none."""
    if upright(text, 0, text.count_chars(), 0):
        return []
    placed = []
    for start, end in offsets(found):
        left, bottom, _, top = text.get_charbox(start, loose=True)
        right = text.get_charbox(end - 1, loose=True)[2]
        if right > left and top > bottom:
            placed.append(PlacedWord(start, end, found[start:end], Box(left, -top, right, -bottom)))
    return placed


def _joined(run: re.Match[str]) -> str:
    letters = run[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    return letters + _FILLER * len(letters)


def _character(text: pdfium.PdfTextPage, index: int) -> str:
    code = raw.FPDFText_GetUnicode(text, index)
    return chr(code) if 0 < code <= 0x10FFFF else " "


_MOST_PIXELS = 8_000_000
_QUALITY, _METHOD = 80, 2  # measured: a quarter of a PNG's size, and faster
_FINE = 100  # PDFium converts to whole device units; so many of them make a point


def render(path: Path, number: int, scale: float) -> PagePicture:
    """Page `number` (from 1) with `scale` pixels per point, fewer where that were too many.

    Raises DocumentError."""
    with open_pdf(path) as document, open_page(document, number) as page:
        width, height = page.get_size()
        scale = max(0.05, min(scale, math.sqrt(_MOST_PIXELS / max(1.0, width * height))))
        bitmap = page.render(scale=scale)
        buffer = io.BytesIO()
        bitmap.to_pil().convert("RGB").save(buffer, "WEBP", quality=_QUALITY, method=_METHOD)
        return PagePicture(buffer.getvalue(), width, height)


def for_recognition(
    path: Path, number: int, pixels: Callable[[float], float]
) -> tuple[Image.Image, tuple[float, float]]:
    """A page, and its size in points; `pixels` gives those of its longer side by its points.

    Raises DocumentError."""
    with open_pdf(path) as document, open_page(document, number) as page:
        width, height = page.get_size()
        longer = max(1.0, width, height)
        bitmap = page.render(scale=pixels(longer) / longer)
        return bitmap.to_pil().convert("RGB"), (width, height)


def boxes(path: Path, number: int, start: int, end: int) -> tuple[Box, ...]:
    """Where the characters `start` to `end` of a page stand as it is displayed, a box a line."""
    [found] = boxes_of_spans(path, number, [(start, end)])
    return found


def boxes_of_spans(
    path: Path, number: int, spans: Iterable[tuple[int, int]]
) -> list[tuple[Box, ...]]:
    """The same for many spans of one page."""
    with (
        open_pdf(path) as document,
        open_page(document, number) as page,
        open_text(page) as text,
    ):
        return [_boxes(page, text, *span) for span in spans]


def _boxes(page: pdfium.PdfPage, text: pdfium.PdfTextPage, start: int, end: int) -> tuple[Box, ...]:
    start, end = max(0, start), min(end, text.count_chars())
    if start >= end:
        return ()
    count = text.count_rects(start, end - start)
    rects = [text.get_rect(index) for index in range(count)]
    turn = page.get_rotation() - upright(text, start, end, page.get_rotation())
    return tuple(_lines(_displayed(page, rects), on_side=turn % 180 != 0))


def _displayed(
    page: pdfium.PdfPage, rects: Iterable[tuple[float, float, float, float]]
) -> Iterator[Box]:
    """Rectangles of PDF space on the displayed page, cut at its edges."""
    width, height = page.get_size()
    canvas = (0, 0, round(width * _FINE), round(height * _FINE), 0)
    convert = pdfium.PdfPosConv(page, canvas)
    for left, bottom, right, top in rects:
        (xa, ya), (xb, yb) = convert.to_bitmap(left, bottom), convert.to_bitmap(right, top)
        x0, x1 = (min(max(x / _FINE, 0.0), width) for x in sorted((xa, xb)))
        y0, y1 = (min(max(y / _FINE, 0.0), height) for y in sorted((ya, yb)))
        if x1 > x0 and y1 > y0:
            yield Box(x0, y0, x1, y1)


def _lines(pieces: Iterable[Box], *, on_side: bool) -> list[Box]:
    """Boxes that follow each other on one line, made one; `on_side`: lines run up or down."""
    lines: list[Box] = []
    for piece in pieces:
        if lines and _same_line(lines[-1], piece, on_side):
            piece = piece.union(lines.pop())
        lines.append(piece)
    return lines


def _same_line(a: Box, b: Box, on_side: bool) -> bool:
    return _shared(a.x0, a.x1, b.x0, b.x1) if on_side else _shared(a.y0, a.y1, b.y0, b.y1)


def _shared(a0: float, a1: float, b0: float, b1: float) -> bool:
    """Whether more than half of the smaller of two intervals lies in the other."""
    return min(a1, b1) - max(a0, b0) > min(a1 - a0, b1 - b0) / 2


# Page numbers as people write them.


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in order, runs of them shortened: "3, 7–9"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("–".join(map(str, part)) for part in parts)


def named(numbers: Sequence[int]) -> str:
    """Numbers with their noun: "page 3", "pages 3, 7–9"."""
    return f"page{'s' if len(numbers) > 1 else ''} {ranges(numbers)}"
