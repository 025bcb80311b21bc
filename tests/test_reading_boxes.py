from __future__ import annotations

import io
import random
from collections import Counter

import pypdfium2 as pdfium
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pdfs import HEIGHT, PARAGRAPH, WIDTH, Line, cropped, drawn, paragraph, pdf, turned
from PIL import Image

from rag_app.errors import DamagedFile
from rag_app.reading.limits import Limits
from rag_app.reading.pdf import read_pdf
from rag_app.reading.pdf_page import boxes_of_spans, render
from rag_app.text.sentences import sentences
from rag_app.types import Box

NEAR = 2.6  # points between a line's tight box and its font's


def boxes(path, number: int, start: int, end: int) -> tuple[Box, ...]:
    [found] = boxes_of_spans(path, number, [(start, end)])
    return found


def found(path, quote: str, number: int = 1) -> list[Box]:
    text = read_pdf(path, limits=Limits()).pages[number - 1].text
    start = text.index(quote)
    return list(boxes(path, number, start, start + len(quote)))


def as_shown(box: tuple[float, float, float, float], degrees: int) -> tuple[float, ...]:
    """A box of the unturned page where it is after the page was turned clockwise."""
    x0, y0, x1, y1 = box
    return {
        0: (x0, y0, x1, y1),
        90: (HEIGHT - y1, x0, HEIGHT - y0, x1),
        180: (WIDTH - x1, HEIGHT - y1, WIDTH - x0, HEIGHT - y0),
        270: (y0, WIDTH - x1, y1, WIDTH - x0),
    }[degrees]


def assert_near(box: Box, expected: tuple[float, ...]) -> None:
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx(expected, abs=NEAR)


@pytest.mark.parametrize("by_word", [False, True])
@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_a_quote_has_one_box_a_line_wherever_the_page_is_turned(file, degrees, by_word):
    path = file(turned(pdf(paragraph(), by_word=by_word), degrees))
    got = found(path, "\r\n".join(PARAGRAPH))
    assert len(got) == 3
    for box, line in zip(got, paragraph(), strict=True):
        assert_near(box, as_shown(line.box, degrees))


def test_part_of_a_line_has_a_box_of_its_own_width(file):
    before, quote = PARAGRAPH[0].split("and")
    (box,) = found(file(pdf(paragraph())), quote.strip())
    assert box.x0 == pytest.approx(Line(72, 700, before + "and ").box[2], abs=NEAR)
    assert box.x1 == pytest.approx(Line(72, 700, PARAGRAPH[0]).box[2], abs=NEAR)


def test_boxes_stay_in_their_column(file):
    left = paragraph(["Left one and", "left two. Then", "left three."])
    right = paragraph(["Right one and", "right two. Then", "right three."], x=330)
    got = found(file(pdf([*left, *right])), "left two. Then\r\nleft three.\r\nRight one and")
    assert len(got) == 3
    for box, line in zip(got, [left[1], left[2], right[0]], strict=True):
        assert_near(box, line.box)


def test_cells_of_one_row_share_a_box(file):
    row = [Line(72, 700, "Revenue"), Line(300, 700, "44,538"), Line(400, 700, "37,403")]
    (box,) = found(file(pdf(row)), "Revenue 44,538 37,403")
    assert (box.x0, box.x1) == pytest.approx((72, row[2].box[2]), abs=NEAR)


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_boxes_of_a_cropped_page_count_from_its_shown_corner(file, degrees):
    data = turned(cropped(pdf(paragraph()), 50, 600, 450, 750), degrees)
    box = found(file(data), PARAGRAPH[0])[0]
    x0, y0, x1, y1 = paragraph()[0].box
    upright = (x0 - 50, y0 - (HEIGHT - 750), x1 - 50, y1 - (HEIGHT - 750))
    width, height = 400, 150
    expected = {
        0: upright,
        90: (height - upright[3], upright[0], height - upright[1], upright[2]),
        180: (width - upright[2], height - upright[3], width - upright[0], height - upright[1]),
        270: (upright[1], width - upright[2], upright[3], width - upright[0]),
    }[degrees]
    assert_near(box, expected)


def test_what_is_off_the_page_has_no_box(file):
    path = file(pdf([Line(72, 700, "Here."), Line(72, 3_000, "Not here.")]))
    assert found(path, "Not here.") == []


@pytest.mark.parametrize(("start", "end"), [(0, 0), (5, 2), (900, 950), (-5, 0)])
def test_an_empty_span_has_no_box(file, start, end):
    assert boxes(file(pdf("Hello")), 1, start, end) == ()


def test_a_page_that_is_not_there_says_so(file):
    with pytest.raises(DamagedFile, match="Page 7"):
        boxes(file(pdf("Hello")), 7, 0, 3)


WORDS = st.text("abcdefgh ", min_size=1, max_size=30).filter(str.strip)


@given(st.lists(WORDS, min_size=1, max_size=6), st.sampled_from([0, 90, 180, 270]), st.booleans())
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_boxes_hold_the_text_of_their_span_and_lie_on_the_page(file, lines, degrees, by_word):
    path = file(
        turned(pdf(paragraph([f"{line.strip()}." for line in lines]), by_word=by_word), degrees)
    )
    page = read_pdf(path, limits=Limits()).pages[0]
    start, end = random.Random(len(lines)).choice(sentences(page.text))
    got = boxes(path, 1, start, end)
    assert got
    assert all(
        0 <= box.x0 < box.x1 <= page.width and 0 <= box.y0 < box.y1 <= page.height for box in got
    )
    with pdfium.PdfDocument(path) as document:
        shown = document[0]
        canvas = (0, 0, int(page.width), int(page.height), 0)
        back = pdfium.PdfPosConv(shown, canvas)
        text = shown.get_textpage()
        held = ""
        for box in got:
            corners = (
                back.to_page(round(box.x0), round(box.y0)),
                back.to_page(round(box.x1), round(box.y1)),
            )
            (xa, xb), (ya, yb) = map(sorted, zip(*corners, strict=True))
            held += text.get_text_bounded(xa - 1.5, ya - 1.5, xb + 1.5, yb + 1.5)
    wanted = Counter("".join(page.text[start:end].split()))
    assert not wanted - Counter(held)
    assert (Counter("".join(held.split())) - wanted).total() <= 2 * len(got)


def test_a_picture_has_the_size_of_the_displayed_page(file):
    picture = render(file(turned(pdf(paragraph()), 90)), 1, 1.5)
    assert (picture.width, picture.height) == (HEIGHT, WIDTH)
    image = Image.open(io.BytesIO(picture.webp))
    assert (image.format, image.size) == ("WEBP", (1188, 918))


@pytest.mark.parametrize("degrees", [0, 90])
def test_there_is_ink_in_the_boxes_and_none_beside(file, degrees):
    path = file(turned(pdf(paragraph(), by_word=True), degrees))
    image = Image.open(io.BytesIO(render(path, 1, 2.0).webp)).convert("L")
    for box in found(path, "\r\n".join(PARAGRAPH)):
        corners = [round(2 * value) for value in (box.x0, box.y0, box.x1, box.y1)]
        assert image.crop(corners).getextrema()[0] < 90
        image.paste(255, corners)
    assert image.getextrema()[0] > 60  # descenders' edges at most


def test_a_huge_page_is_drawn_with_fewer_pixels(file):
    def draw(canvas):
        canvas.setPageSize((14_000, 14_000))
        canvas.drawString(72, 72, "Far away")
        canvas.showPage()

    image = Image.open(io.BytesIO(render(file(drawn(draw)), 1, 3.0).webp))
    assert image.size[0] * image.size[1] <= 8_100_000
