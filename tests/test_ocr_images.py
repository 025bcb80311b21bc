"""Pictures as documents: told apart by content, measured before they are unpacked, shown."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from rag_app.errors import DamagedFile, LimitReached, NoText, UnsupportedFormat
from rag_app.reading.detection import NAMES, detect
from rag_app.reading.limits import Limits
from rag_app.reading.ocr import for_recognition, longest_side, read_image, render

WANTED = Limits(ocr_pages=10)


def drawing(width: int = 80, height: int = 60, mode: str = "RGB") -> Image.Image:
    """White, with a black square in the upper left corner."""
    image = Image.new(mode, (width, height), "white" if mode != "I;16" else 65535)
    ImageDraw.Draw(image).rectangle(
        (0, 0, width // 4, height // 4), "black" if mode != "I;16" else 0
    )
    return image


def saved(image: Image.Image, kind: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


@pytest.fixture
def file(tmp_path: Path):
    def write(data: bytes, name: str = "stored.png") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def corner(path: Path) -> list[tuple[int, ...]]:
    """The colours in the middle of the upper left, upper right and lower left of what is shown."""
    picture = render(path, 1, 2.0)
    image = Image.open(io.BytesIO(picture.webp)).convert("L")
    width, height = image.size
    points = ((width // 10, height // 10), (width * 9 // 10, height // 10), (5, height * 9 // 10))
    return [0 if image.getpixel(point) < 60 else 255 for point in points]


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        ("PNG", ".png"),
        ("JPEG", ".jpg"),
        ("TIFF", ".tiff"),
        ("GIF", ".gif"),
        ("BMP", ".bmp"),
        ("WEBP", ".webp"),
    ],
)
def test_a_picture_is_told_by_its_content_and_shown(file, kind, suffix):
    path = file(saved(drawing(), kind))
    for name in (f"scan{suffix}", "scan.pdf", "scan", "scan.txt"):
        assert detect(path, name) == suffix
    reading = read_image(path, limits=WANTED)
    assert reading.scans == (1,) and reading.pages[0].text == ""
    assert corner(path) == [0, 255, 255]


def test_pictures_are_offered_under_all_their_names():
    assert {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif"} <= set(NAMES)


def test_text_that_begins_like_a_bitmap_is_text(file):
    assert detect(file(b"BMW builds cars and motorcycles in Munich.\n"), "a.txt") == ".txt"


def test_a_photo_of_a_phone_says_what_to_do(file):
    path = file(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 99)
    with pytest.raises(UnsupportedFormat, match=r"a photo \(HEIC\).*JPEG or PNG"):
        detect(path, "IMG_0001.HEIC")


def test_every_page_of_a_tiff_is_a_page(file):
    pages = [drawing(), drawing(60, 80), drawing()]
    path = file(saved(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    reading = read_image(path, limits=WANTED)
    assert reading.scans == (1, 2, 3)
    sizes = [(page.width, page.height) for page in reading.pages]
    assert sizes == [(60.0, 45.0), (45.0, 60.0), (60.0, 45.0)]
    assert for_recognition(path, 2, longest_side)[0].size == (60, 80)


def test_an_animation_is_its_first_picture(file):
    frames = [Image.new("L", (40, 40), shade) for shade in (0, 200)]
    path = file(saved(frames[0], "GIF", save_all=True, append_images=frames[1:]))
    assert len(read_image(path, limits=WANTED).pages) == 1
    assert corner(path) == [0, 0, 0]


def test_more_pages_than_are_recognised_are_named(file):
    pages = [drawing()] * 4
    path = file(saved(pages[0], "TIFF", save_all=True, append_images=pages[1:]))
    reading = read_image(path, limits=Limits(ocr_pages=3))
    assert reading.scans == (1, 2, 3) and len(reading.pages) == 4
    [warning] = reading.warnings
    assert "first 3 of 4" in warning and "RAG_APP_OCR_PAGES" in warning
    with pytest.raises(LimitReached, match="RAG_APP_MAX_PAGES"):
        read_image(path, limits=Limits(ocr_pages=3, max_pages=3))


def png(width: int, height: int, rows: int) -> bytes:
    """A PNG that says it has this size; its rows are black and pack to next to nothing."""

    def part(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    body = zlib.compress(bytes(rows * (1 + (width + 7) // 8)))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", body) + part(b"IEND", b"")


def test_a_bomb_is_refused_by_a_named_limit(file):
    path = file(png(60_000, 60_000, 10))
    with pytest.raises(LimitReached, match=r"60,000 × 60,000.*RAG_APP_MAX_UNPACKED_MB"):
        read_image(path, limits=WANTED)


@pytest.mark.parametrize("cut", [40, 100, 300])
def test_a_torn_picture_says_so(file, cut):
    noise = Image.effect_noise((90, 90), 90)
    for kind in ("PNG", "JPEG", "TIFF", "BMP"):
        path = file(saved(noise, kind)[:cut])
        with pytest.raises(DamagedFile, match="damaged"):
            read_image(path, limits=WANTED)


def test_where_nothing_is_recognised_a_picture_has_no_text(file):
    with pytest.raises(NoText, match="RAG_APP_OCR"):
        read_image(file(saved(drawing(), "PNG")), limits=Limits())


@pytest.mark.parametrize(
    ("dots", "points"),
    [(None, (750, 375)), (72, (750, 375)), (200, (360, 180)), (5_000, (750, 375))],
)
def test_dots_an_inch_that_make_sense_give_the_size_of_the_page(file, dots, points):
    options = {"dpi": (dots, dots)} if dots else {}
    path = file(saved(drawing(1000, 500), "PNG", **options))
    [page] = read_image(path, limits=WANTED).pages
    assert (page.width, page.height) == pytest.approx(points, abs=0.1)


def test_a_fax_with_two_densities_is_shown_in_its_true_shape(file):
    path = file(saved(drawing(1_700, 1_100, "L"), "TIFF", dpi=(200, 100)), "fax.tiff")
    [page] = read_image(path, limits=WANTED).pages
    assert (page.width, page.height) == pytest.approx((612, 792))
    image, size = for_recognition(path, 1, longest_side)
    assert size == (page.width, page.height)
    assert image.width / image.height == pytest.approx(612 / 792, abs=0.01)


def test_a_large_picture_is_recognised_and_shown_smaller(file):
    path = file(saved(drawing(4_000, 3_000), "JPEG"))
    assert for_recognition(path, 1, longest_side)[0].size == (2_400, 1_800)
    picture = render(path, 1, 1.6)
    assert (picture.width, picture.height) == (1_200, 900)


def test_a_picture_that_lies_on_its_side_is_shown_upright(file):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown turned clockwise
    path = file(saved(drawing(), "JPEG", exif=exif))
    [page] = read_image(path, limits=WANTED).pages
    assert (page.width, page.height) == (45.0, 60.0)
    assert corner(path) == [255, 0, 255]


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGBA", "CMYK", "I;16"])
def test_pictures_of_every_make_are_shown(file, mode):
    image = drawing(mode=mode) if mode == "I;16" else drawing().convert(mode)
    path = file(saved(image, "TIFF"), "stored.tiff")
    assert corner(path) == [0, 255, 255]


def test_what_is_transparent_is_paper(file):
    image = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
    ImageDraw.Draw(image).rectangle((0, 0, 10, 10), (0, 0, 0, 255))
    assert corner(file(saved(image, "PNG"))) == [0, 255, 255]
