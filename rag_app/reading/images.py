"""Pictures as documents: a page for each picture in the file, which has no text until recognised.

Their bytes come from anywhere, so their size is looked at before they are unpacked."""

from __future__ import annotations

import io
import math
import struct
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from rag_app.errors import DamagedFile, LimitReached, NoText
from rag_app.reading.limits import Limits, over_ocr_pages
from rag_app.types import Page, PagePicture, Reading

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
_MOST_PIXELS = 8_000_000  # of a picture that is shown
_QUALITY, _METHOD = 80, 2
_ORIENTATION = 0x0112
_ON_SIDE = (5, 6, 7, 8)  # its values for pictures that are shown turned by 90 degrees
_DEEP = ("I", "F", "I;16", "I;16B", "I;16L", "I;16N")  # more than 8 bits


def read_image(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: Callable[[int, int], None] | None = None,
) -> Reading:
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
            if on_page:
                on_page(number, count)
        if count == 1:
            image.load()
    numbers = tuple(range(1, count + 1))
    said = over_ocr_pages(count, limits.ocr_pages)
    return Reading(tuple(pages), warnings=said, scans=numbers[: limits.ocr_pages])


def render(path: Path, number: int, scale: float) -> PagePicture:
    """Picture `number` (from 1) with `scale` pixels per point. Raises DamagedFile."""
    image, (width, height) = _page(path, number)
    fits = math.sqrt(_MOST_PIXELS / max(1.0, width * height))
    image = _scaled(image, width, height, min(scale, fits))
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=_QUALITY, method=_METHOD)
    return PagePicture(buffer.getvalue(), width, height)


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
