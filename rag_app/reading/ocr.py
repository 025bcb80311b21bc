"""Pictures as documents, a page for each picture in the file, and the text of a page that is one.

Bytes of pictures come from anywhere, so their size is looked at before they are unpacked. The
engine is RapidOCR, whose models come with its package; nothing is ever fetched. It is loaded in
the child process, once. Knows the page as a picture, nothing of documents."""

from __future__ import annotations

import math
import os
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from rag_app.errors import DamagedFile, LimitReached, ModelUnavailable, NoText
from rag_app.reading import pdf_page
from rag_app.reading.limits import Limits, over_ocr_pages
from rag_app.supervision import Told, untold
from rag_app.text.formats import PICTURES
from rag_app.types import Box, Page, PagePicture, Reading, Recognised, Word

# Recognised lines put in the order they are read in. Pure.
#
# Knows nothing of how lines are recognised; boxes are in whatever unit they come in.

_SAME_ROW = 0.5  # of the lower one's height that two pieces of a row share
_WIDE = 1.2  # heights: a gap this wide stands between cells, not between words
_BESIDE = 0.25  # heights: how far left of a column the space before it is looked for
_PARAGRAPH = 0.6  # heights between lines, more than the lines themselves are apart
_COLUMN_ROWS = 3  # rows that make a column
_COLUMN_WIDTH = 0.22  # of the block: narrower ones are columns of a table
_CELL_GAP = "   "  # tells sentences.py that this is a row of a table

Place = tuple[int, int, Box]  # from, to, where
Image.MAX_IMAGE_PIXELS = None  # ours is a limit with a name, kept in `_check`

_TORN = "This picture is damaged. Ask for a fresh copy, or save it again."
_SWITCHED_OFF = (
    "This is a picture, and reading text in pictures is switched off (RAG_APP_OCR). "
    "Switch it on and try again."
)
_DAMAGE = (OSError, SyntaxError, ValueError, EOFError, IndexError, KeyError, struct.error)
_SCANNED = (100.0, 1_200.0)  # dots per inch that are meant; others are fillers, as 72 is
_ON_SCREEN = 96.0
_LONGEST = 1_200.0  # points of a page's longer side
_ORIENTATION = 0x0112
_ON_SIDE = (5, 6, 7, 8)  # its values for pictures that are shown turned by 90 degrees
_DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")  # more than 8 bits


def read_image(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The pages of a picture, without text. Raises NoText if it will not be recognised either."""
    if not limits.ocr_pages:
        raise NoText(_SWITCHED_OFF)
    with _opened(path) as image:
        count = _frames(image)
        if count > limits.max_pages:
            raise LimitReached(
                f"This picture has {count:,} pages, more than the {limits.max_pages:,} set by "
                "RAG_APP_MAX_PAGES. Split it, or raise the limit."
            )
        pages = []
        for number in range(1, count + 1):
            image.seek(number - 1)
            _check(image, limits)
            pages.append(Page(number, "", "", *_points(image)))
            on_page(number, count)
        if count == 1:
            image.load()
    numbers = tuple(range(1, count + 1))
    said = over_ocr_pages(count, limits.ocr_pages)
    return Reading(tuple(pages), warnings=said, scans=numbers[: limits.ocr_pages])


def render(path: Path, number: int, scale: float) -> PagePicture:
    """Picture `number` (from 1) with `scale` pixels per point. Raises DamagedFile."""
    image, (width, height) = _page(path, number)
    shown = _scaled(image, width, height, min(scale, pdf_page.most(width, height)))
    return pdf_page.as_picture(shown, width, height)


def for_recognition(
    path: Path, number: int, pixels: Callable[[float], float]
) -> tuple[Image.Image, tuple[float, float]]:
    """A picture, and its size in points; `pixels` gives the most of its longer side by its points.

    It is never enlarged: that adds nothing that could be recognised. Raises DamagedFile."""
    image, (width, height) = _page(path, number)
    own = max(image.width / width, image.height / height)
    longer = max(width, height)
    return _scaled(image, width, height, min(own, pixels(longer) / longer)), (width, height)


def _page(path: Path, number: int) -> tuple[Image.Image, tuple[float, float]]:
    """A picture as it is looked at: upright, on white, in colours."""
    with _opened(path) as image:
        image.seek(number - 1)
        size = _points(image)
        upright = ImageOps.exif_transpose(image)
        return _on_white(upright), size


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    try:
        with warnings.catch_warnings():  # of small faults that do not keep it from being shown
            warnings.simplefilter("ignore")
            with Image.open(path) as image:
                yield image
    except FileNotFoundError as error:
        raise DamagedFile("The file of this document is gone. Add it again.") from error
    except _DAMAGE as error:
        raise DamagedFile(_TORN) from error


def _frames(image: Image.Image) -> int:
    """How many pages there are; the pictures of an animation are not pages."""
    return int(getattr(image, "n_frames", 1)) if image.format == "TIFF" else 1


def _check(image: Image.Image, limits: Limits) -> None:
    """A few bytes can hold a picture of any size."""
    megabytes = image.width * image.height * 3 >> 20
    if megabytes > limits.max_unpacked_mb:
        raise LimitReached(
            f"This picture of {image.width:,} × {image.height:,} dots unpacks to {megabytes:,} MB, "
            f"more than the {limits.max_unpacked_mb:,} MB set by RAG_APP_MAX_UNPACKED_MB. "
            "Make it smaller, or raise the limit."
        )


def _points(image: Image.Image) -> tuple[float, float]:
    """The size of its page in points, as it is looked at."""
    given = image.info.get("dpi") or (0, 0)
    low, high = _SCANNED
    dots = [float(each) for each in given]
    if len(dots) != 2 or not all(low <= each <= high for each in dots):
        dots = [_ON_SCREEN, _ON_SCREEN]
    width, height = image.width * 72 / dots[0], image.height * 72 / dots[1]
    fits = min(1.0, _LONGEST / max(width, height))
    width, height = max(1.0, width * fits), max(1.0, height * fits)
    on_side = image.getexif().get(_ORIENTATION) in _ON_SIDE
    return (height, width) if on_side else (width, height)


def _scaled(image: Image.Image, width: float, height: float, scale: float) -> Image.Image:
    size = max(1, round(width * scale)), max(1, round(height * scale))
    if size == image.size:
        return image
    return image.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)


def _on_white(image: Image.Image) -> Image.Image:
    if image.mode in _DEEP:
        values = np.asarray(image, np.float32)
        values = values * (255 / max(255.0, float(values.max())))
        return Image.fromarray(values.clip(0, 255).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        paper = Image.new("RGBA", rgba.size, "white")
        return Image.alpha_composite(paper, rgba).convert("RGB")
    return image.convert("RGB")


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
    best: list[_Strip] = []
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
class _Strip:
    """A strip of a page: two columns, or one if `right` is empty."""

    left: list[Line]
    right: list[Line]

    @property
    def lines(self) -> list[Line]:
        return self.left + self.right


def _parts(lines: Sequence[Line], cut: float) -> list[_Strip]:
    """The strips between lines that stand across a cut down the page."""
    parts: list[_Strip] = []
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
                parts.append(_Strip(across, []))
            parts.append(_Strip(left, right))
            across = []
        else:
            across = across + strip
        across += [line] if line is not None else []
        strip = []
    return [*parts, _Strip(across, [])] if across else parts


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


# The models in the wheel of rapidocr 3.10.
_MODELS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
}

_PER_POINT = 2.0  # pixels: more win nothing (benchmarks/LOG.md)
_LEAST, _MOST = 1_700.0, 2_600.0  # pixels of the longer side, as its points may be anything
_FINEST = 6.0  # pixels per point of a small page
_SURE = 0.5  # lines that are less likely are not text
_FEWEST = 2  # letters and digits: a lone one is a shape in a picture, most often
_TALL = 1.5  # a box so many times as high as wide holds a line that runs up or down
_SLIM = 4  # times as long as wide
_MOST_THREADS = 4
_LOOKED_AT = 8  # lines that say which way up a page is
_MISSING = (
    "Text in scans and pictures is not recognised, because the package rapidocr is not installed. "
    "Install it with: pip install rapidocr"
)

Pixels = NDArray[np.uint8]
Quad = NDArray[np.float32]


def recognise(path: Path, number: int, threads: int) -> Recognised:
    """The text of page `number` (from 1), its words in points of the displayed page.

    Raises DocumentError, or ModelUnavailable if there is no engine."""
    engine = load(threads)
    draw = for_recognition if path.suffix in PICTURES else pdf_page.for_recognition
    picture, size = draw(path, number, longest_side)
    pixels = _pixels(picture)
    lines, turns = engine.lines(pixels)
    found = arrange(lines)
    if sum(map(str.isalnum, found.text)) < _FEWEST:
        return Recognised("")
    shown = _Shown(pixels, (size[0] / picture.width, size[1] / picture.height), turns)
    words = (Word(w.start, w.end, w.line, shown.box(w.box)) for w in found.words)
    return Recognised(found.text, tuple(words))


def longest_side(points: float) -> float:
    """How many pixels the longer side of a page should have."""
    return min(_MOST, _FINEST * points, max(_LEAST, _PER_POINT * points))


@cache
def load(threads: int) -> _Engine:
    """The engine, ready to work. Raises ModelUnavailable."""
    try:
        return _Engine(threads)
    except ModuleNotFoundError as error:
        raise ModelUnavailable(_MISSING) from error


def _threads() -> int:
    """More than a few win nothing on lines of text, and each takes address space of its own."""
    return min(_MOST_THREADS, os.cpu_count() or 1)


def _pixels(picture: Image.Image) -> Pixels:
    """As the engine wants them: blue first, and no narrow strip, which it would enlarge."""
    width, height = picture.size
    paper = Image.new("RGB", (max(width, height // _SLIM), max(height, width // _SLIM)), "white")
    paper.paste(picture)
    return np.ascontiguousarray(np.asarray(paper)[:, :, ::-1])


class _Shown:
    """From pixels of the upright page to points of the displayed one."""

    def __init__(self, pixels: Pixels, points: tuple[float, float], turns: int) -> None:
        self._height, self._width = pixels.shape[:2]
        self._across, self._down = points  # a pixel
        self._turns = turns % 4  # quarters anticlockwise that made it upright

    def box(self, box: Box) -> Box:
        (xa, ya), (xb, yb) = self._point(box.x0, box.y0), self._point(box.x1, box.y1)
        x0, x1 = (min(max(x, 0), self._width) * self._across for x in sorted((xa, xb)))
        y0, y1 = (min(max(y, 0), self._height) * self._down for y in sorted((ya, yb)))
        return Box(x0, y0, x1, y1)

    def _point(self, x: float, y: float) -> tuple[float, float]:
        if self._turns == 1:
            return self._width - y, x
        if self._turns == 2:
            return self._width - x, self._height - y
        return (y, self._height - x) if self._turns == 3 else (x, y)


def _models() -> Path:
    """The folder of the engine's models. Raises ModelUnavailable if one of them is missing."""
    import rapidocr

    folder = Path(rapidocr.__file__).parent / "models"
    if missing := [name for name in _MODELS.values() if not (folder / name).is_file()]:
        raise ModelUnavailable(
            f"The files of the text recognition are incomplete ({', '.join(missing)}). "
            "Install the app again with: make install"
        )
    return folder


class _Engine:
    """RapidOCR, asked step by step, because a page may lie on its side."""

    def __init__(self, threads: int) -> None:
        from rapidocr import RapidOCR
        from rapidocr.main import RapidOCRError

        models = _models()

        self._nothing_found = RapidOCRError
        self._rapid: Any = RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.return_word_box": True,
                # Named, so that it never looks for a model elsewhere when a file is torn.
                **{f"{part}.model_path": str(models / name) for part, name in _MODELS.items()},
                "EngineConfig.onnxruntime.intra_op_num_threads": threads or _threads(),
            }
        )

    def lines(self, pixels: Pixels) -> tuple[list[Line], int]:
        """The lines, in pixels of the page once it is upright, and the quarters it was turned."""
        crops, quads = self._detect(pixels)
        turns = self._quarters(crops, quads)
        if turns:
            crops, quads = self._detect(np.ascontiguousarray(np.rot90(pixels, turns)))
        if not crops:
            return [], turns
        read = self._rapid.recognize_txt(crops)
        words = self._places(crops, quads, read)
        level = _LevelLines(quads)
        found = zip(read.txts, read.scores, quads, words, strict=True)
        return [
            _line(text, level.box(quad), _bounds(quad), places)
            for text, score, quad, places in found
            if score >= _SURE and any(map(str.isalnum, text))
        ], turns

    def _detect(self, pixels: Pixels) -> tuple[list[Pixels], Sequence[Quad]]:
        """Pictures of the lines, upright, and their corners on the page."""
        record: dict[str, Any] = {}
        try:
            crops, found = self._rapid.detect_and_crop(pixels, record)
        except self._nothing_found:
            return [], ()
        quads = found.boxes.astype(np.float32)
        quads[:, :, 1] -= record["padding_1"]["top"]
        kept = [i for i, crop in enumerate(crops) if min(crop.shape[:2]) > 2]
        return [crops[i] for i in kept], [quads[i] for i in kept]

    def _quarters(self, crops: Sequence[Pixels], quads: Sequence[Quad]) -> int:
        """How many quarters anticlockwise the page has to be turned to stand upright."""
        if not crops:
            return 0
        longest = sorted(range(len(crops)), key=lambda i: -crops[i].shape[1])[:_LOOKED_AT]
        _, told = self._rapid.cls_and_rotate([crops[i].copy() for i in longest])
        votes = sum(score if label == "180" else -score for label, score in told.cls_res)
        tall = sum(_length(quad) * (1 if _is_tall(quad) else -1) for quad in quads)
        return (1 if tall > 0 else 0) + (2 if votes > 0 else 0)

    def _places(
        self, crops: Sequence[Pixels], quads: Sequence[Quad], read: Any
    ) -> Iterator[list[tuple[str, Box]]]:
        """The words of each line with their places, as far as the engine knows them."""
        found = self._rapid.cal_rec_boxes(crops, quads, read).word_results
        return ([(word, _bounds(quad)) for word, _, quad in line] for line in found)


class _LevelLines:
    """Lines as they would stand if the page were not a little askew."""

    def __init__(self, quads: Sequence[Quad]) -> None:
        level = sorted((q for q in quads if not _is_tall(q)), key=_length, reverse=True)
        angle = median(map(_angle, level[: len(level) // 2 + 1])) if level else 0.0
        cos, sin = math.cos(-angle), math.sin(-angle)
        self._turn = np.array([[cos, sin], [-sin, cos]], np.float32)

    def box(self, quad: Quad) -> Box:
        return _bounds(quad @ self._turn)


def _line(text: str, level: Box, box: Box, words: Iterable[tuple[str, Box]]) -> Line:
    """A line with its words at their offsets; where they do not fit it, it is one word."""
    places: list[Place] = []
    at = 0
    for word, place in words:
        start = text.find(word, at)
        if start < 0 or text[at:start].strip():
            places = []
            break
        at = start + len(word)
        places.append((start, at, place))
    if not places or text[at:].strip():
        places = list(_by_characters(text, box))
    return Line(text, level, tuple(places))


def _by_characters(text: str, box: Box) -> Iterator[Place]:
    """Words placed by counting the characters before them."""
    width = (box.x1 - box.x0) / len(text)
    at = 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        yield start, at, Box(box.x0 + start * width, box.y0, box.x0 + at * width, box.y1)


def _bounds(quad: Any) -> Box:
    corners = np.asarray(quad, float)
    (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
    return Box(float(x0), float(y0), float(x1), float(y1))


def _sides(quad: Quad) -> tuple[float, float]:
    """Width and height of a box that may be turned a little."""
    return float(np.linalg.norm(quad[1] - quad[0])), float(np.linalg.norm(quad[3] - quad[0]))


def _is_tall(quad: Quad) -> bool:
    width, height = _sides(quad)
    return height > _TALL * width


def _length(quad: Quad) -> float:
    return max(_sides(quad))


def _angle(quad: Quad) -> float:
    across = quad[1] - quad[0]
    return math.atan2(float(across[1]), float(across[0]))
