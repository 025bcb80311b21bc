"""Scans with the real engine. One library, filled once: recognising a page takes seconds."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pdfs import HEIGHT, PARAGRAPH, SIZE, WIDTH, Line, drawn, paragraph, pdf, turned
from PIL import Image
from scans import picture, put, saved

from rag_app.errors import ModelUnavailable
from rag_app.library import Library
from rag_app.reading import ocr
from rag_app.settings import Settings
from rag_app.types import Box, Finished, RetrieverKind, Status
from tests.fakes import WordEmbedder

pytest.importorskip("rapidocr", reason="text recognition is an extra: pip install 'rag-app[ocr]'")

FERRY = ("The ferry to Gull Island costs four euros.", "Dogs and bicycles travel free of charge.")
MUSEUM = ("The lighthouse museum is closed on Mondays.", "Entry is free for children.")
BAKERY = ("The bakery on Tar Lane opens at six.", "Its rye bread is sold out by nine.")
CHAPEL = ("The chapel bell was cast in 1742.", "It rings at noon on Sundays only.")
SKEW = 1.5  # degrees


@dataclass(frozen=True)
class Recognised:
    library: Library
    ids: dict[str, str]

    def found(self, words: str) -> str:
        """The one document and page that hold these words, as "name:page"."""
        passages = self.library.search(f'"{words}"', retriever=RetrieverKind.BM25)
        [place] = {f"{p.name}:{p.chunk.page}" for p in passages}
        return place

    def boxes(self, name: str, page: int, words: str) -> tuple[Box, ...]:
        text = self.library.page(self.ids[name], page).text
        start = text.index(words)
        return self.library.boxes(self.ids[name], page, start, start + len(words))


def mixed() -> bytes:
    """A page of text, the same kind of page scanned askew, and one scanned upside down."""

    def draw(canvas) -> None:
        for line in paragraph():
            canvas.drawString(line.x, line.y, line.text)
        canvas.showPage()
        put(canvas, picture(pdf(paragraph(FERRY)), angle=SKEW, noise=12))
        put(canvas, picture(pdf(paragraph(CHAPEL))).rotate(180))

    return drawn(draw)


@pytest.fixture(scope="session")
def recognised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recognised]:
    folder = tmp_path_factory.mktemp("scans")
    bakery = picture(pdf(paragraph(BAKERY)))
    files = {
        "mixed.pdf": mixed(),
        "museum.png": saved([picture(pdf(paragraph(MUSEUM)))], "PNG"),
        "two.tiff": saved([bakery, picture(pdf(paragraph(PARAGRAPH)))], "TIFF"),
        "side.pdf": turned(drawn(lambda canvas: put(canvas, bakery.rotate(180))), 90),
    }
    settings = Settings(data_dir=folder, ocr_seconds=300, caution=0.2)
    with Library(settings, embedder=WordEmbedder()) as library:
        ids = {name: library.add(name, data).document.id for name, data in files.items()}
        library.wait(ids.values())
        yield Recognised(library, ids)


def covers(found: tuple[Box, ...], line: Line, words: str) -> bool:
    """Whether the boxes hold the middle line of the words' true place, and little beyond."""
    x0, y0, x1, y1 = line.box
    share = (x1 - x0) / len(line.text)
    start = line.text.index(words)
    left, right = x0 + start * share, x0 + (start + len(words)) * share
    box = found[0]
    for other in found[1:]:
        box = box.union(other)
    slack = SIZE
    return (
        box.y0 <= (y0 + y1) / 2 <= box.y1
        and abs(box.x0 - left) < slack
        and abs(box.x1 - right) < slack
        and box.y0 > y0 - slack
        and box.y1 < y1 + slack
    )


def test_scans_are_found_by_their_words(recognised):
    assert recognised.found("ferry to Gull Island") == "mixed.pdf:2"
    assert recognised.found("bell was cast in 1742") == "mixed.pdf:3"
    assert recognised.found("closed on Mondays") == "museum.png:1"
    assert recognised.found("nobody pays to see them") in ("two.tiff:2", "mixed.pdf:1")


def test_every_word_of_a_clean_scan_is_right(recognised):
    text = recognised.library.page(recognised.ids["two.tiff"], 2).text
    assert text.split() == " ".join(PARAGRAPH).split()
    assert all(d.status is Status.READY for d in recognised.library.documents())


def test_an_answer_cites_the_place_on_the_scan(recognised):
    [*_, last] = recognised.library.ask("When is the lighthouse museum closed?")
    assert isinstance(last, Finished)
    citation = last.answer.citations[0]
    assert (citation.name, citation.page, citation.quote) == ("museum.png", 1, MUSEUM[0])
    assert len(citation.boxes) == 1
    assert covers(citation.boxes, paragraph(MUSEUM)[0], MUSEUM[0])


@pytest.mark.parametrize("words", [BAKERY[1], "rye bread", "sold"])
def test_boxes_cover_the_words_in_a_picture(recognised, words):
    boxes = recognised.boxes("two.tiff", 1, words)
    assert covers(boxes, paragraph(BAKERY)[1], words)


def test_boxes_follow_a_line_that_is_askew(recognised):
    boxes = recognised.boxes("mixed.pdf", 2, FERRY[0])
    assert all(box.y1 - box.y0 < 2.2 * SIZE for box in boxes)
    true = paragraph(FERRY)[0].box
    lifted = (WIDTH / 2 - true[0]) * 0.026  # by the skew, at the line's start
    assert abs(boxes[0].x0 - true[0]) < 2 * SIZE and abs(boxes[-1].x1 - true[2]) < 2 * SIZE
    assert abs((boxes[0].y0 + boxes[0].y1) / 2 - (true[1] + true[3]) / 2 - lifted) < 1.5 * SIZE


def test_a_page_scanned_upside_down_is_read_and_marked(recognised):
    assert recognised.library.page(recognised.ids["mixed.pdf"], 3).text.startswith(CHAPEL[0])
    [box] = recognised.boxes("mixed.pdf", 3, CHAPEL[0])
    x0, y0, x1, y1 = paragraph(CHAPEL)[0].box
    seen = (WIDTH - x1, HEIGHT - y1, WIDTH - x0, HEIGHT - y0)
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx(seen, abs=SIZE)


def test_a_page_shown_on_its_side_is_read_and_marked(recognised):
    page = recognised.library.page(recognised.ids["side.pdf"], 1)
    assert (page.width, page.height) == (HEIGHT, WIDTH)
    assert page.text.startswith(BAKERY[0])
    [box] = recognised.boxes("side.pdf", 1, BAKERY[0])
    x0, y0, x1, y1 = paragraph(BAKERY)[0].box
    # Upside down in the file, then shown turned clockwise by 90 degrees.
    seen = (y0, WIDTH - x1, y1, WIDTH - x0)
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx(seen, abs=SIZE)


def test_a_picture_is_shown_as_a_page(recognised):
    page = recognised.library.page(recognised.ids["museum.png"], 1)
    assert (page.width, page.height) == pytest.approx((WIDTH, HEIGHT), abs=1)
    shown = recognised.library.picture(recognised.ids["museum.png"], 1, 0.5)
    assert shown is not None
    image = Image.open(io.BytesIO(shown.webp))
    assert image.size == (306, 396) and (shown.width, shown.height) == (page.width, page.height)


def test_the_engine_makes_no_network_call(tmp_path: Path, unplugged):
    path = tmp_path / "page.png"
    path.write_bytes(saved([picture(pdf(paragraph(MUSEUM))).crop((100, 150, 800, 300))], "PNG"))
    assert ocr.recognise(path, 1, 1).text == "\n".join(MUSEUM)
    assert not unplugged.attempts


def test_an_engine_without_its_models_looks_for_them_nowhere_else(tmp_path, monkeypatch):
    import rapidocr

    monkeypatch.setattr(rapidocr, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(ModelUnavailable, match=r"incomplete .*Install the app again"):
        ocr._models()
