"""The pictures of the sample document: its cover, its figures as tiles, and a chart of the year."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reportlab.lib.colors import Color, HexColor, white
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable

WIDTH, HEIGHT = 170 * mm, 240 * mm  # small enough to be read beside a chat
NAVY, TEAL, SAND, INK = (HexColor(c) for c in ("#12355b", "#1f8a8a", "#f4efe6", "#22303c"))
PALE = HexColor("#dcebea")
SUN = HexColor("#f2b544")


def wave(canvas: Canvas, base: float, height: float, shift: float, colour: Color) -> None:
    """A sea from edge to edge, its surface around `base`."""
    path = canvas.beginPath()
    path.moveTo(0, 0)
    for step in range(61):
        x = WIDTH * step / 60
        path.lineTo(x, base + height * math.sin(shift + step / 60 * 3 * math.pi))
    path.lineTo(WIDTH, 0)
    path.close()
    canvas.setFillColor(colour)
    canvas.drawPath(path, stroke=0, fill=1)


def bicycle(canvas: Canvas, x: float, y: float, size: float) -> None:
    """A bicycle in lines; `x`, `y` is the hub of its back wheel, `size` the radius of a wheel."""
    canvas.saveState()
    canvas.translate(x, y)
    canvas.scale(size, size)
    canvas.setStrokeColor(white)
    canvas.setLineCap(1)
    canvas.setLineJoin(1)
    canvas.setLineWidth(0.09)
    for hub in (0.0, 2.6):
        canvas.circle(hub, 0, 1)
        canvas.circle(hub, 0, 0.08)
    pedal, seat, head, fork = (1.15, -0.05), (0.75, 1.45), (2.15, 1.5), (2.6, 0)
    for start, end in (
        ((0, 0), pedal),
        (pedal, seat),
        (seat, (0, 0)),
        ((0.8, 1.25), (2.18, 1.3)),
        (pedal, (2.2, 1.2)),
        (head, fork),
        ((0.5, 1.47), (1.0, 1.47)),
        (head, (2.05, 1.8)),
        ((2.05, 1.8), (2.45, 1.85)),
    ):
        canvas.line(*start, *end)
    canvas.setFillColor(TEAL)
    canvas.rect(2.5, 1.0, 0.75, 0.5, stroke=1, fill=1)
    canvas.restoreState()


def cover(canvas: Canvas, title: Sequence[str], lines: Sequence[str]) -> None:
    """The first page: `title` in large letters, `lines` below, a bicycle by the sea."""
    canvas.setFillColor(NAVY)
    canvas.rect(0, 0, WIDTH, HEIGHT, stroke=0, fill=1)
    canvas.setFillColor(SUN)
    canvas.circle(WIDTH - 46 * mm, 98 * mm, 19 * mm, stroke=0, fill=1)
    wave(canvas, 88 * mm, 3 * mm, 0.4, HexColor("#1d4e79"))
    wave(canvas, 70 * mm, 3.5 * mm, 2.2, HexColor("#1b6d86"))
    wave(canvas, 50 * mm, 2.5 * mm, 4.0, TEAL)
    canvas.setFillColor(HexColor("#0c2440"))
    canvas.rect(0, 0, WIDTH, 32 * mm, stroke=0, fill=1)
    bicycle(canvas, 38 * mm, 46 * mm, 14 * mm)
    canvas.setFillColor(white)
    for number, line in enumerate(title):
        canvas.setFont("Helvetica-Bold", 46)
        canvas.drawString(18 * mm, HEIGHT - (48 + 19 * number) * mm, line)
    canvas.setFont("Helvetica", 15)
    for number, line in enumerate(lines):
        canvas.drawString(18 * mm, HEIGHT - (87 + 8 * number) * mm, line)


class Tiles(Flowable):
    """Four figures in a row, each large over what it counts."""

    def __init__(self, tiles: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self.tiles = tiles

    def wrap(self, width: float, _height: float) -> tuple[float, float]:
        """Full width, one row."""
        self.width = width
        return width, 31 * mm

    def draw(self) -> None:
        """Draw at the origin."""
        gap = 3 * mm
        side = (self.width - gap * (len(self.tiles) - 1)) / len(self.tiles)
        for number, (figure, what) in enumerate(self.tiles):
            x = number * (side + gap)
            self.canv.setFillColor(TEAL if number % 2 else NAVY)
            self.canv.roundRect(x, 5 * mm, side, 25 * mm, 2 * mm, stroke=0, fill=1)
            self.canv.setFillColor(white)
            self.canv.setFont("Helvetica-Bold", 18)
            self.canv.drawCentredString(x + side / 2, 18 * mm, figure)
            self.canv.setFont("Helvetica", 7.2)
            self.canv.drawCentredString(x + side / 2, 10.5 * mm, what)


class Bars(Flowable):
    """Two bars for each quarter: this year's and the year before's, with their figures."""

    def __init__(self, quarters: Sequence[tuple[str, int, int]], years: tuple[str, str]) -> None:
        super().__init__()
        self.quarters = quarters
        self.years = years

    def wrap(self, width: float, _height: float) -> tuple[float, float]:
        """Full width."""
        self.width = width
        return width, 62 * mm

    def draw(self) -> None:
        """Draw at the origin."""
        scale = 40 * mm / max(max(now, before) for _, now, before in self.quarters)
        step = self.width / len(self.quarters)
        for number, (label, now, before) in enumerate(self.quarters):
            x = number * step + step / 2
            self._bar(x - 14 * mm, before * scale, PALE, before)
            self._bar(x + 1 * mm, now * scale, TEAL, now)
            self.canv.setFont("Helvetica-Bold", 10)
            self.canv.drawCentredString(x, 5 * mm, label)
        self.canv.setStrokeColor(NAVY)
        self.canv.line(0, 10 * mm, self.width, 10 * mm)
        for number, (year, colour) in enumerate(zip(self.years, (TEAL, PALE), strict=True)):
            self.canv.setFillColor(colour)
            self.canv.rect(number * 22 * mm, 56 * mm, 4 * mm, 4 * mm, stroke=0, fill=1)
            self.canv.setFillColor(INK)
            self.canv.setFont("Helvetica", 9)
            self.canv.drawString(number * 22 * mm + 6 * mm, 56.8 * mm, year)

    def _bar(self, x: float, height: float, colour: Color, value: int) -> None:
        self.canv.setFillColor(colour)
        self.canv.rect(x, 10 * mm, 13 * mm, height, stroke=0, fill=1)
        self.canv.setFillColor(INK)
        self.canv.setFont("Helvetica", 8.5)
        self.canv.drawCentredString(x + 6.5 * mm, 11.5 * mm + height, f"{value:,}")
