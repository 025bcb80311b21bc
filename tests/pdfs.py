"""Small PDFs, made in memory: text at known places, turned, locked, torn, scanned."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.generic import RectangleObject
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase.pdfmetrics import getAscent, getDescent, stringWidth
from reportlab.pdfgen.canvas import Canvas

FONT, SIZE = "Helvetica", 11.0
WIDTH, HEIGHT = 612.0, 792.0
PARAGRAPH = (
    "The harbour opened in 1931 and was widened twice.",
    "Its cranes lift forty tonnes each, and two of them",
    "are kept as a monument. Nobody pays to see them.",
)


@dataclass(frozen=True)
class Line:
    """A line of text whose baseline begins at (x, y), in points from the bottom left."""

    x: float
    y: float
    text: str

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Where it stands on the unturned page, from the top left: x0, y0, x1, y1."""
        top, bottom = getAscent(FONT, SIZE), getDescent(FONT, SIZE)
        right = self.x + stringWidth(self.text, FONT, SIZE)
        return self.x, HEIGHT - self.y - top, right, HEIGHT - self.y - bottom


def paragraph(lines: Sequence[str] = PARAGRAPH, x: float = 72, y: float = 700) -> list[Line]:
    """Lines under each other."""
    return [Line(x, y - 14 * index, text) for index, text in enumerate(lines)]


def pdf(*pages: Sequence[Line] | str, title: str = "", by_word: bool = False) -> bytes:
    """A PDF with these pages; a string is a page with one line, an empty one a blank page.

    `by_word` places every word on its own, as many programs do."""

    def draw(canvas: Canvas) -> None:
        for page in pages:
            for line in [Line(72, 700, page)] if isinstance(page, str) else page:
                _write(canvas, line, by_word)
            canvas.showPage()

    return drawn(draw, title)


def drawn(draw: Callable[[Canvas], None], title: str = "") -> bytes:
    """A PDF drawn by a function."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(WIDTH, HEIGHT), invariant=True)
    if title:
        canvas.setTitle(title)
    draw(canvas)
    canvas.save()
    return buffer.getvalue()


def _write(canvas: Canvas, line: Line, by_word: bool) -> None:
    canvas.setFont(FONT, SIZE)
    x = line.x
    for word in line.text.split(" ") if by_word else [line.text]:
        canvas.drawString(x, line.y, word)
        x += stringWidth(word + " ", FONT, SIZE)


def scan(canvas: Canvas) -> None:
    """Draw a page that is a picture and nothing else."""
    canvas.drawImage(ImageReader(Image.new("RGB", (40, 40), "grey")), 50, 50, 400, 600)
    canvas.showPage()


def changed(data: bytes, change: Callable[[PdfWriter], None]) -> bytes:
    """The PDF with something done to it by pypdf."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    change(writer)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def turned(data: bytes, degrees: int) -> bytes:
    """All pages shown turned clockwise."""

    def turn(writer: PdfWriter) -> None:
        for page in writer.pages:
            page.rotate(degrees)

    return changed(data, turn)


def cropped(data: bytes, left: float, bottom: float, right: float, top: float) -> bytes:
    """All pages with only a part shown."""

    def crop(writer: PdfWriter) -> None:
        for page in writer.pages:
            page.cropbox = RectangleObject((left, bottom, right, top))

    return changed(data, crop)


def locked(data: bytes, password: str, algorithm: str = "AES-256") -> bytes:
    """Encrypted, so that it opens with the password alone."""
    return changed(data, lambda writer: writer.encrypt(password, algorithm=algorithm))


def outlined(data: bytes, entries: Sequence[tuple[str, int, int]]) -> bytes:
    """With an outline of (title, page from 1, level from 1)."""

    def add(writer: PdfWriter) -> None:
        above: list[Any] = [None]
        for title, page, level in entries:
            item = writer.add_outline_item(
                title=title, page_number=page - 1, parent=above[level - 1]
            )
            above[level:] = [item]

    return changed(data, add)
