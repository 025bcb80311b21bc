"""A PDF page as a picture, and the places of its text on that picture."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

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
from rag_app.reading.spaced_tables import PlacedWord, offsets
from rag_app.types import Box, PagePicture

# Opens PDF files with PDFium, and says in plain words why one cannot be opened.
#
# PDFium is not thread-safe: only the child process, which does one thing at a time, calls it.

TORN = (
    "This PDF is damaged: its contents cannot be found. "
    "Ask for a fresh copy, or save it again from the program that made it."
)


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
    """Write a copy that opens without a password. Raises WrongPassword; then nothing is written.
    Half a copy is left where it is: who asked takes it only after all went well."""
    with open_pdf(path, password) as document:
        document.save(target, flags=raw.FPDF_REMOVE_SECURITY)


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
_QUALITY, _METHOD = 80, 0  # measured: method 2 is a sixth smaller, and takes half as long again
_FINE = 100  # PDFium converts to whole device units; so many of them make a point


def render(path: Path, number: int, scale: float) -> PagePicture:
    """Page `number` (from 1) with `scale` pixels per point, fewer where that were too many.

    Raises DocumentError."""
    with open_pdf(path) as document, open_page(document, number) as page:
        width, height = page.get_size()
        bitmap = page.render(scale=max(0.05, min(scale, most(width, height))))
        return as_picture(bitmap.to_pil().convert("RGB"), width, height)


def most(width: float, height: float) -> float:
    """Pixels per point of a picture that is shown, at most, by its size in points."""
    return math.sqrt(_MOST_PIXELS / max(1.0, width * height))


def as_picture(image: Image.Image, width: float, height: float) -> PagePicture:
    """A picture as it is sent; its size in points."""
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=_QUALITY, method=_METHOD)
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


def boxes_of_spans(
    path: Path, number: int, spans: Iterable[tuple[int, int]]
) -> list[tuple[Box, ...]]:
    """Where the characters of each span of a page stand as it is displayed, a box a line."""
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
