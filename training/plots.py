"""Plain line plots as PNG, drawn with Pillow: the one imaging package that is there anyway."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw

SIZE = (900, 520)
MARGIN = 60
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e")


@dataclass(frozen=True, slots=True)
class Line:
    """A named series of points."""

    name: str
    points: Sequence[tuple[float, float]]


def draw(file: Path, title: str, lines: Sequence[Line], diagonal: bool = False) -> None:
    """Draw lines on common axes."""
    points = [point for line in lines for point in line.points]
    if not points:
        return
    picture = Image.new("RGB", SIZE, "white")
    pen = ImageDraw.Draw(picture)
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    low, high = (min(xs), min(*ys, 0.0)), (max(xs), max(ys))

    def at(x: float, y: float) -> tuple[float, float]:
        across = (x - low[0]) / ((high[0] - low[0]) or 1)
        up = (y - low[1]) / ((high[1] - low[1]) or 1)
        width, height = SIZE[0] - 2 * MARGIN, SIZE[1] - 2 * MARGIN
        return MARGIN + across * width, SIZE[1] - MARGIN - up * height

    pen.rectangle([at(low[0], high[1]), at(high[0], low[1])], outline="#888888")
    pen.text((MARGIN, 15), title, fill="black")
    for value in (low[1], (low[1] + high[1]) / 2, high[1]):
        pen.text((8, at(low[0], value)[1] - 6), f"{value:.3g}", fill="black")
    for value in (low[0], (low[0] + high[0]) / 2, high[0]):
        pen.text((at(value, low[1])[0] - 10, SIZE[1] - MARGIN + 8), f"{value:.3g}", fill="black")
    if diagonal:
        pen.line([at(low[0], low[0]), at(high[0], high[0])], fill="#bbbbbb")
    for index, line in enumerate(lines):
        colour = COLOURS[index % len(COLOURS)]
        pen.line([at(*point) for point in line.points], fill=colour, width=2)
        pen.text((MARGIN + 10 + 170 * index, 35), line.name, fill=colour)
    picture.save(file)


def training_curve(log: Path, file: Path) -> None:
    """Loss and dev figures over rounds, from a run's log."""
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    loss = [(row["progress"], row["loss"]) for row in rows if "loss" in row]
    looks = [(row["progress"], row["dev"]) for row in rows if "dev" in row]
    lines = [Line("loss", loss)]
    for name in ("squad_f1", "squad_auroc", "nq_f1", "cuad_f1"):
        scale = 1.0 if name.endswith("auroc") else 0.01
        lines.append(Line(name, [(x, dev[name] * scale) for x, dev in looks if name in dev]))
    draw(
        file, "loss and dev sample (F1 / 100) over rounds", [line for line in lines if line.points]
    )
