"""A PDF page as a picture, and the places of its text on that picture."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pypdfium2 as pdfium
from PIL import Image

from rag_app.reading.pdf_file import open_page, open_pdf
from rag_app.reading.pdf_text import open_text, upright
from rag_app.types import Box, PagePicture

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
    with open_pdf(path) as document, open_page(document, number) as page:
        with open_text(page) as text:
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
