"""Headings of PDFs without an outline: told by how they are set."""

from __future__ import annotations

import pytest
from pdfs import drawn

from rag_app.reading.limits import Limits
from rag_app.reading.pdf import read_pdf

PLAIN, BOLD = "Helvetica", "Helvetica-Bold"
PROSE = ("The harbour opened in 1931 and was widened twice.", "Nobody pays to see its cranes.")


def _read(tmp_path, *pages):
    """The headings of a PDF; each page: lines as (text, font, size)."""

    def draw(canvas):
        for page in pages:
            for number, (text, font, size) in enumerate(page):
                canvas.setFont(font, size)
                for cell, words in enumerate(text.split("\t")):
                    canvas.drawString(72 + 150 * cell, 700 - 24 * number, words)
            canvas.showPage()

    (tmp_path / "a.pdf").write_bytes(drawn(draw))
    reading = read_pdf(tmp_path / "a.pdf", limits=Limits())
    return [(h.page, h.level, h.text) for h in reading.headings], reading


def _prose(times=1):
    return [(text, PLAIN, 11) for text in PROSE * times]


def test_what_is_larger_than_the_text_is_a_heading_and_the_largest_is_outermost(tmp_path):
    page = [("Harbour", PLAIN, 20), ("Afterwards", PLAIN, 14), *_prose(3)]
    found, reading = _read(tmp_path, page, [("Cranes", PLAIN, 14), *_prose(3)])
    assert found == [(1, 1, "Harbour"), (1, 2, "Afterwards"), (2, 2, "Cranes")]
    for heading in reading.headings:
        assert reading.pages[heading.page - 1].text[heading.start :].startswith(heading.text)


def test_what_is_bold_among_what_is_not_is_a_heading(tmp_path):
    page = [("Harbour", BOLD, 11), *_prose(3), ("Cranes", BOLD, 11), *_prose(3)]
    assert _read(tmp_path, page)[0] == [(1, 1, "Harbour"), (1, 1, "Cranes")]


def test_a_heading_over_two_lines_is_one(tmp_path):
    page = [("Harbour of the", BOLD, 16), ("town", BOLD, 16), *_prose(2), ("Cranes", BOLD, 16)]
    found, _ = _read(tmp_path, [*page, *_prose(3)])
    assert found == [(1, 1, "Harbour of the town"), (1, 1, "Cranes")]


TWO = [("Harbour", BOLD, 16), *_prose(3), ("Cranes", BOLD, 16), *_prose(3)]


@pytest.mark.parametrize(
    "line",
    [
        ("Dues\tCrane\tNight", BOLD, 11),  # names of columns
        ("Nobody may swim here, whatever the hour.", BOLD, 11),  # a sentence
        ("2026", BOLD, 16),
    ],
)
def test_what_is_no_heading_is_none_however_it_is_set(tmp_path, line):
    found, _ = _read(tmp_path, [*TWO, line, *_prose(2)])
    assert [text for _, _, text in found] == ["Harbour", "Cranes"]


def test_what_stands_at_the_same_place_of_every_page_is_a_heading_once(tmp_path):
    running = ("The Port, page", BOLD, 16)
    pages = [[running, (f"Part {letter}", BOLD, 14), *_prose(3)] for letter in "ABCDE"]
    found = [text for _, _, text in _read(tmp_path, *pages)[0]]
    assert found == ["The Port, page", *(f"Part {n}" for n in "ABCDE")]


def test_numbered_headings_are_all_kept(tmp_path):
    pages = [[*_prose(n), (f"Article {n}", BOLD, 14), *_prose(3)] for n in range(1, 7)]
    assert [text for _, _, text in _read(tmp_path, *pages)[0]] == [
        f"Article {n}" for n in range(1, 7)
    ]


def test_a_number_set_apart_belongs_to_its_heading(tmp_path):
    page = [("1.\tHarbour", BOLD, 14), *_prose(3), ("2.\tCranes", BOLD, 14), *_prose(3)]
    assert [text for _, _, text in _read(tmp_path, page)[0]] == ["1. Harbour", "2. Cranes"]


def test_hyphens_at_line_ends_and_empty_cells_lose_no_heading(tmp_path):
    rows = [("Dues\tCrane\tNight", PLAIN, 11), ("Boat\t£4.00\t£9.00", PLAIN, 11)]
    rows += [("Ship\t\t£12.00", PLAIN, 11), ("Raft\t£2.00\t£3.00", PLAIN, 11)]
    torn = [("This is the infor-", PLAIN, 11), ("mation about the port.", PLAIN, 11)]
    page = [("Harbour", BOLD, 14), *rows, *torn, ("Cranes", BOLD, 14), *_prose(3)]
    assert [text for _, _, text in _read(tmp_path, page)[0]] == ["Harbour", "Cranes"]


@pytest.mark.parametrize(
    "pages",
    [
        [_prose(3)],  # nothing stands out
        [[("Harbour", BOLD, 16), *_prose(3)]],  # one is a title
        [TWO, _prose(4), _prose(4)],  # too few to be its structure
        [[(text, BOLD, 16) for text in PROSE], _prose(2)],  # as much large as small
        [[("Harbour", BOLD, 11), *[(text, BOLD, 11) for text in PROSE * 2]]],  # all of it is bold
        [[(f"Part {n}", BOLD, 14), *_prose(2 + n % 3)] for n in range(61)],  # it is long
    ],
)
def test_type_that_tells_nothing_makes_no_headings(tmp_path, pages):
    assert _read(tmp_path, *pages)[0] == []
