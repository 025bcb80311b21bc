"""Tables of plain texts and e-mails: columns that are kept apart by spaces."""

from __future__ import annotations

import pytest

from rag_app.reading.limits import Limits
from rag_app.reading.mail import read_eml
from rag_app.reading.plain_text import read_text
from rag_app.retrieval.chunking import chunk_pages
from rag_app.types import Reading

TIMES = """Dear parents,

please keep this.

Day        Time           Subject             Teacher
Monday     09:00-12:15    Workshop practice   Mr Sadiq
Monday     13:15-15:30    Maths               Dr Lowndes

Tuesday    10:45-12:15    Principles          Ms Carragher

What it costs

kit                         £12.00
trip to the quarry          £30.00
paid in May                 £42.00
"""
CELLS = [line.split("  ") for line in TIMES.splitlines() if "  " in line]
ROWS = [[cell.strip() for cell in row if cell.strip()] for row in CELLS]


def tables(reading: Reading) -> list[list[list[str]]]:
    text = {page.number: page.text for page in reading.pages}
    found = []
    for grid in reading.grids:
        cells = iter(zip(grid.pages, grid.starts, grid.ends, strict=True))
        rows = [[next(cells) for _ in range(count)] for count in grid.counts]
        found.append([[text[page][start:end] for page, start, end in row] for row in rows])
    return found


@pytest.mark.parametrize("change", [str, lambda text: text.replace("\n", "\r\n")])
def test_columns_of_a_text_are_a_table_and_what_stands_alone_below_an_empty_line_ends_it(
    tmp_path, change
):
    place = tmp_path / "a.txt"
    place.write_bytes(change(TIMES).encode())
    reading = read_text(place, limits=Limits())
    assert tables(reading) == [ROWS[:4], ROWS[4:]]
    assert "".join(page.text for page in reading.pages) == change(TIMES)


def test_tabs_keep_columns_apart_as_well(tmp_path):
    place = tmp_path / "a.txt"
    place.write_text("Item\tCount\tPrice\nBolt\t3\t£2.50\nLong washer\t4\t£1.25\n")
    assert tables(read_text(place, limits=Limits())) == [
        [["Item", "Count", "Price"], ["Bolt", "3", "£2.50"], ["Long washer", "4", "£1.25"]]
    ]


@pytest.mark.parametrize(
    "text",
    [
        "First sentence of it.  Second one here.\nThird of them.  A fourth one.\nAnd  so on.\n" * 3,
        "\n".join(f"    indented line {n} of a list" for n in range(9)),
        "a  b\nc  d\n",
    ],
)
def test_two_spaces_between_sentences_make_no_table(tmp_path, text):
    place = tmp_path / "a.txt"
    place.write_text(text)
    assert read_text(place, limits=Limits()).grids == ()


@pytest.mark.parametrize("mark", ["", "> "])
def test_columns_of_an_e_mail_keep_their_spaces(tmp_path, mark):
    place = tmp_path / "a.eml"
    body = "".join(f"{mark}{line}\n" for line in TIMES.splitlines())
    place.write_text(f"From: a@b.example\nSubject: Times\n\n{body}\0")
    reading = read_eml(place, limits=Limits())
    assert tables(reading) == [ROWS[:4], ROWS[4:]]
    text = reading.pages[0].text
    assert "Monday     09:00-12:15    Workshop practice" in text and "\0" not in text


def test_numbers_before_rows_and_labels_are_no_names_of_columns(tmp_path):
    place = tmp_path / "a.txt"
    rows = [
        "1  Ann Lee    small bag    -",
        "2  Bo Park    hold bag     20 kg",
        "3  Cy Orr     -    12",
    ]
    place.write_text("\n".join(rows))
    (grid,) = read_text(place, limits=Limits()).grids
    assert grid.header_rows == 0
    place.write_text("Plan    SIM Only\nTerm    30 days, rolling\nCharge  £9.00\nCap     £5.00\n")
    (grid,) = read_text(place, limits=Limits()).grids
    assert grid.header_rows == 0


def test_no_tables_are_looked_for_in_a_log(tmp_path):
    place = tmp_path / "a.txt"
    place.write_text("10:15  started   worker 3\n" * 10_000)
    assert read_text(place, limits=Limits()).grids == ()


BOOKED = """PASSENGERS
 7  Ms Ebony Clarke      small bag     -
 8  Ms Kayleigh Frost    small bag     -

WHAT YOU PAID
 Seats (not chosen)             0.00
 TOTAL                    GBP 990.50

BAGS
- Everyone may bring one small bag of up to 40 x 30 x 20 cm that fits under the seat in front.
- Cabin Plus adds a trolley case of up to 55 x 40 x 23 cm and 10 kg, and boarding first.
"""


def test_a_row_of_columns_is_no_heading(tmp_path):
    place = tmp_path / "a.txt"
    place.write_text(BOOKED)
    pages = read_text(place, limits=Limits()).pages
    headings = [chunk.heading for chunk in chunk_pages("a" * 64, pages, max_tokens=30)]
    assert set(headings) == {"", "WHAT YOU PAID"}
