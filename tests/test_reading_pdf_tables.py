"""Tables of PDFs: found without ruling lines, every cell a slice of its page."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import SimpleDocTemplate, Table

from rag_app.reading.limits import Limits
from rag_app.reading.pdf import read_pdf
from rag_app.tables.building import typed_tables
from rag_app.types import ColumnKind, Reading

ID = "a" * 64
PROSE = (
    "The committee met in March and agreed that the harbour wall has to be mended before the "
    "winter, because two of the stones on its northern side have come loose since the storm."
)


def drawn(path, rows, at=(60, 260, 340, 420), intro=True, right=False) -> Reading:
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842), invariant=1)
    canvas.setFont("Helvetica", 10)
    if intro:
        for line in range(3):
            canvas.drawString(60, 780 - 14 * line, PROSE[: 50 + line])
    for number, row in enumerate(rows):
        for x, cell in zip(at, row, strict=False):
            draw = canvas.drawRightString if right and x != at[0] else canvas.drawString
            draw(x, 700 - 16 * number, cell)
    canvas.save()
    path.write_bytes(data.getvalue())
    return read_pdf(path, limits=Limits())


def cells(reading: Reading) -> list[list[str]]:
    (grid,) = reading.grids
    text = {page.number: page.text for page in reading.pages}
    found, at = [], 0
    for count in grid.counts:
        places = zip(grid.pages, grid.starts, grid.ends, strict=True)
        row = list(places)[at : at + count]
        found.append([" ".join(text[page][start:end].split()) for page, start, end in row])
        at += count
    return found


ROWS = [
    ["In thousands", "2025", "2024", "Change"],
    ["Sales of bicycles", "$ 1,234", "$ 1,100", "12 %"],
    ["Repairs", "(56)", "78", "(172) %"],
    ["Rent of the hall", "", "9", ""],
    ["Total", "1,178", "1,187", "(1) %"],
]


def test_a_table_without_lines_is_found_cell_by_cell(tmp_path):
    reading = drawn(tmp_path / "a.pdf", ROWS)
    assert cells(reading) == ROWS


def test_its_columns_are_typed_and_its_total_is_told_from_its_rows(tmp_path):
    reading = drawn(tmp_path / "a.pdf", ROWS, right=True)
    (stored,) = typed_tables(ID, reading)
    table = stored.table
    assert [c.name for c in table.columns] == ["In thousands", "2025", "2024", "Change"]
    kinds = [c.kind for c in table.columns]
    assert kinds[:2] == [ColumnKind.TEXT, ColumnKind.INTEGER] and table.rows == 3


@pytest.mark.parametrize("columns", [1, 2])
def test_running_text_is_no_table(tmp_path, columns):
    line = PROSE[:45]
    rows = [[line] * columns for _ in range(12)]
    assert drawn(tmp_path / "a.pdf", rows, at=(50, 320)).grids == ()


def test_a_table_of_words_needs_three_columns(tmp_path):
    rows = [["Day", "Who", "Where"], ["Monday", "Ann", "hall"], ["Friday", "Ben", "yard"]]
    assert cells(drawn(tmp_path / "a.pdf", rows)) == rows


_CELL = st.from_regex(r"[A-Za-z]{2,8}( [A-Za-z]{2,8})?|[0-9]{1,6}(\.[0-9]{2})?", fullmatch=True)
_TABLE = st.integers(3, 4).flatmap(
    lambda width: st.lists(st.lists(_CELL, min_size=width, max_size=width), min_size=4, max_size=9)
)


@settings(max_examples=25, deadline=None)
@given(_TABLE)
def test_whatever_stands_in_a_grid_is_read_in_its_row_and_column(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("t") / "a.pdf"
    reading = drawn(path, rows, at=(30, 170, 310, 450), intro=False)
    assert cells(reading) == rows


def test_a_table_goes_on_below_a_gap_where_its_columns_stand_under_each_other(tmp_path):
    gap = [[], [], [], []]
    rows = [*ROWS[:4], *gap, ["Loans", "10", "20", "2 %"], ["Own money", "30", "40", "3 %"]]
    found = cells(drawn(tmp_path / "a.pdf", rows))
    assert found[0] == ROWS[0] and found[-1] == ["Own money", "30", "40", "3 %"]


def test_heads_of_three_lines_name_their_columns(tmp_path):
    heads = [
        ["", "Three months", "", "Year"],
        ["", "Pre", "After", ""],
        ["In euros", "tax", "tax", "2024"],
    ]
    rows = [*heads, *ROWS[1:3], ["Rent", "1", "9", "4"], ["Wages", "7", "8", "9"]]
    reading = drawn(tmp_path / "a.pdf", rows)
    (table,) = typed_tables(ID, reading)
    names = [column.name for column in table.table.columns]
    assert names == ["In euros", "Three months Pre tax", "Three months After tax", "Year 2024"]


def test_a_row_with_words_behind_its_sums_of_money_is_no_head(tmp_path):
    rows = [
        ["Section", "Limit", "Excess"],
        ["Liability", "£5,000 an event", "£250 (damage only)"],
        ["Equipment", "£9,500", "£200"],
        ["Stock", "£800", "£75"],
        ["Tools", "£400", "£50"],
    ]
    (found,) = typed_tables(ID, drawn(tmp_path / "a.pdf", rows))
    assert [column.name for column in found.table.columns] == rows[0] and found.table.rows == 4


def test_names_over_figures_begin_another_table(tmp_path):
    first = [ROWS[0], *ROWS[1:3], ["Rent", "1", "9", "4"]]
    second = [["", "Cash", "Loans", "Both"], ["Ann", "1", "2", "3"], ["Ben", "4", "5", "9"]]
    reading = drawn(tmp_path / "a.pdf", [*first, *second, ["Cid", "7", "7", "14"]])
    names = [[c.name for c in one.table.columns] for one in typed_tables(ID, reading)]
    assert [one[1:] for one in names] == [["2025", "2024", "Change"], ["Cash", "Loans", "Both"]]


def test_a_sign_of_money_belongs_to_the_figure_behind_it(tmp_path):
    rows = [
        ["Line", "Up", "2024"],
        *([each, "18 % $", "1,234"] for each in ("A", "B", "C", "D")),
    ]
    found = cells(drawn(tmp_path / "a.pdf", rows, at=(60, 260, 320)))
    assert found[1:] == [[each, "18 %", "$ 1,234"] for each in ("A", "B", "C", "D")]


def test_a_heading_over_several_columns_does_not_close_the_gap_between_them(tmp_path):
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842), invariant=1)
    canvas.setFont("Helvetica", 10)
    canvas.drawCentredString(350, 716, "Three Months Ended in June of the")
    for number, row in enumerate([["", "2025", "2024"], *(r[:3] for r in ROWS[1:3]), ROWS[4][:3]]):
        canvas.drawString(60, 700 - 16 * number, row[0])
        for x, cell in zip((340, 400), row[1:], strict=True):
            canvas.drawRightString(x, 700 - 16 * number, cell)
    canvas.drawString(60, 625, "(1)")
    canvas.drawString(100, 625, "What is said here in small letters goes under all of the columns")
    canvas.save()
    (tmp_path / "a.pdf").write_bytes(data.getvalue())
    found = cells(read_pdf(tmp_path / "a.pdf", limits=Limits()))
    assert ["Repairs", "(56)", "78"] in found


def test_heads_that_begin_under_a_gap_begin_another_table(tmp_path):
    heads = [
        ["", "Gains", "Fair", "All the"],
        ["As of", "and", "value", "other"],
        ["June", "losses", "so far", "income"],
    ]
    first = [*heads, ["Begin", "1", "2", "3"], ["Net", "4", "5", "6"], ["End", "5", "7", "9"]]
    rows = [*first, [], *first]
    names = [
        [column.name for column in one.table.columns]
        for one in typed_tables(ID, drawn(tmp_path / "a.pdf", rows))
    ]
    assert (
        names
        == [["As of June", "Gains and losses", "Fair value so far", "All the other income"]] * 2
    )


def test_cells_that_stand_close_to_each_other_are_cells(tmp_path):
    rows = [
        ["Stop", "Early", "Late"],
        ["Church Street", "6:14", "9:44"],
        ["Mill", "6:17", "9:47"],
        ["Port", "6:20", "9:50"],
    ]
    assert cells(drawn(tmp_path / "a.pdf", rows, at=(60, 128, 158), intro=False)) == rows


def test_a_sign_of_money_may_stand_behind_each_figure(tmp_path):
    rows = [
        ["Room", "Week", "Month"],
        ["Single", "48 €", "290 €"],
        ["Double", "79 €", "480 €"],
        ["Dog", "free", "30 €"],
    ]
    assert cells(drawn(tmp_path / "a.pdf", rows, at=(60, 260, 340))) == rows


def test_names_of_narrow_columns_that_stand_as_close_as_words_are_names(tmp_path):
    heads = [["Drug", "Morn. Noon Even."]]
    rows = [["Ramelin", "1", "0", "2"], ["Dortane", "0", "1", "0"], ["Fulvex", "3", "1", "0"]]
    at = (60, 200, 229, 253)
    reading = drawn(tmp_path / "a.pdf", [*heads, *rows], at)
    (table,) = typed_tables(ID, reading)
    assert [column.name for column in table.table.columns] == ["Drug", "Morn.", "Noon", "Even."]


def test_a_cell_of_several_lines_is_one_cell(tmp_path):
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842), invariant=1)
    canvas.setFont("Helvetica", 10)
    y = 780
    stays = [
        [["Place"], ["Nights"], ["Board"]],
        [["Harbour View,", "Quay 4"], ["3"], ["breakfast,", "supper on", "Sundays"]],
        [["Old Mill"], ["2", "(May)"], ["none"]],
        [["Seven Oaks,", "Lake Road"], ["5"], ["half board"]],
    ]
    for row in stays:
        for x, lines in zip((60, 200, 300), row, strict=True):
            for number, line in enumerate(lines):
                canvas.drawString(x, y - 12 * number, line)
        y -= 12 * max(map(len, row)) + 6
    canvas.save()
    (tmp_path / "a.pdf").write_bytes(data.getvalue())
    found = cells(read_pdf(tmp_path / "a.pdf", limits=Limits()))
    assert found == [[" ".join(lines) for lines in row] for row in stays]


def test_columns_that_are_written_one_after_the_other_keep_their_rows(tmp_path):
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842), invariant=1)
    canvas.setFont("Helvetica", 10)
    for column, x in enumerate((60, 260, 340, 420)):
        for number, row in enumerate(ROWS):
            canvas.drawString(x, 700 - 16 * number, row[column])
    canvas.save()
    (tmp_path / "a.pdf").write_bytes(data.getvalue())
    for grid in read_pdf(tmp_path / "a.pdf", limits=Limits()).grids:
        assert len(grid.rows) == len(ROWS)


def test_below_labels_a_line_alone_is_the_heading_of_a_table_with_more_columns(tmp_path):
    labels = [
        ["Policyholder", "Cropwick Allotment and Hall Society"],
        ["Number", "HM 604"],
        ["Since", "1 April 2026"],
        ["Contact", "Gillian Frome, 01632 960 530"],
    ]
    wide = [
        ["Section", "Cover", "Limit", "Excess"],
        ["1", "Hall", "£685,000", "£250"],
        ["2", "Water", "£24,000", "£350"],
        ["3", "Money", "£750", "£50"],
    ]
    reading = drawn(tmp_path / "a.pdf", [*labels, ["What is insured"], *wide], (60, 170, 340, 420))
    names = [[c.name for c in one.table.columns] for one in typed_tables(ID, reading)]
    assert names == [["Column 1", "Column 2"], ["Section", "Cover", "Limit", "Excess"]]


def test_a_long_second_cell_names_no_column(tmp_path):
    rows = [
        ["Policyholder", "Cropwick Allotment and Hall Society"],
        ["Number", "HM 604"],
        ["Since", "1 April 2026"],
        ["Contact", "Gillian Frome, 01632 960 530"],
    ]
    reading = drawn(tmp_path / "a.pdf", rows)
    (one,) = typed_tables(ID, reading)
    assert [column.name for column in one.table.columns] == ["Column 1", "Column 2"]


def names_of(reading: Reading) -> list[list[str]]:
    return [[column.name for column in one.table.columns] for one in typed_tables(ID, reading)]


def written(canvas: Canvas, x: float, y: float, lines: list[str], apart: float = 12) -> None:
    for number, line in enumerate(lines):
        canvas.drawString(x, y - apart * number, line)


TESTS = [["Test", "Today", "Before"], ["Sugar", "71 mmol", "64 mmol"], ["Weight", "81 kg", "83 kg"]]
PILLS = [["Medicine", "Dose", "Change"], ["Metformin", "two", "none"], ["Ramipril", "one", "more"]]


def test_a_heading_in_larger_letters_parts_two_tables(tmp_path):
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842), invariant=1)
    y = 780
    for heading, rows in (("Results", TESTS), ("What to take", PILLS)):
        canvas.setFont("Helvetica", 13)
        canvas.drawString(60, y, heading)
        canvas.setFont("Helvetica", 10)
        for number, row in enumerate(rows, start=1):
            for x, cell in zip((60, 200, 340), row, strict=True):
                canvas.drawString(x, y - 18 * number, cell)
        y -= 18 * len(rows) + 24
    canvas.save()
    (tmp_path / "a.pdf").write_bytes(data.getvalue())
    assert names_of(read_pdf(tmp_path / "a.pdf", limits=Limits())) == [TESTS[0], PILLS[0]]


def test_names_in_other_columns_below_a_gap_begin_another_table(tmp_path):
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842), invariant=1)
    canvas.setFont("Helvetica", 10)
    fees = [["What you pay of each claim", "Amount"], *(["Fire, theft", f"£{n}"] for n in (50, 75))]
    for top, at, rows in ((700, (60, 150), [*LABELS]), (618, (60, 420), fees)):
        for number, row in enumerate(rows):
            for x, cell in zip(at, row, strict=True):
                canvas.drawString(x, top - 17 * number, cell)
    canvas.save()
    (tmp_path / "a.pdf").write_bytes(data.getvalue())
    first, second = read_pdf(tmp_path / "a.pdf", limits=Limits()).grids
    assert list(first.counts) == [2] * 4 and list(second.counts) == [2] * 3


LABELS = [
    ["Number", "HM 604"],
    ["Since", "1 April 2026"],
    ["Premises", "Cropwick Hall, and the land behind it, 12 acres"],
    ["Contact", "Gillian Frome, 01632 960 530"],
]


@pytest.mark.parametrize("aligned", ["TOP", "MIDDLE", "BOTTOM"])
def test_cells_of_a_row_may_begin_at_one_height_or_end_there(tmp_path, aligned):
    rows = [
        ["Code", "Meaning", "What to do"],
        ["E1", "Sensor broken\nor unplugged", "Half the power is left.\nCall us"],
        ["E2", "Valve stuck", "Tap it lightly, and\npress RESET;\nelse call us"],
        ["E3 and all\nabove", "Leak", "Close the red tap"],
    ]
    place = tmp_path / "a.pdf"
    style = [("VALIGN", (0, 0), (-1, -1), aligned)]
    SimpleDocTemplate(str(place)).build([Table(rows, colWidths=(90, 160, 160), style=style)])
    found = cells(read_pdf(place, limits=Limits()))
    assert found == [[" ".join(cell.split()) for cell in row] for row in rows]


def test_text_that_stands_beside_a_table_is_none_of_its_cells(tmp_path):
    text = ["Use ordinary water only.", "Do not use boiled water:", "the sensor needs more", "salt"]
    rows = [["Part", "Warranty"], ["Heater bar", "2 years"], ["Tank", "12 months"], ["Pads", "0"]]
    data = io.BytesIO()
    canvas = Canvas(data, pagesize=(595, 842), invariant=1)
    canvas.setFont("Helvetica", 10)
    written(canvas, 60, 700, text)
    for number, row in enumerate(rows):
        for x, cell in zip((320, 430), row, strict=True):
            canvas.drawString(x, 700 - 12 * number, cell)
    canvas.save()
    (tmp_path / "a.pdf").write_bytes(data.getvalue())
    assert cells(read_pdf(tmp_path / "a.pdf", limits=Limits())) == rows


@pytest.mark.parametrize("corner", ["", "Figures"])
def test_the_first_line_names_columns_of_quantities(tmp_path, corner):
    rows = [
        [corner, "Arco 42", "Arco 52"],
        ["Motor", "85 kW", "100 kW"],
        ["Tyres", "wide ones", "195/60 R16"],
        ["Range", "160 miles", "205 miles"],
    ]
    (table,) = typed_tables(ID, drawn(tmp_path / "a.pdf", rows))
    assert [column.name for column in table.table.columns][1:] == ["Arco 42", "Arco 52"]
    assert table.table.rows == 3


@pytest.mark.parametrize(
    "rows, found",
    [
        ([["Votes for", "Against", "Missing"], ["75,612,318", "1,854", "84,193"]], True),
        (
            [["Charging", "Arco 42", "Arco 52"], ["At 10 A", "19 hours 30 minutes", "24 hours"]],
            True,
        ),
        ([["Votes for", "Against"], ["75,612,318", "1,854"]], False),
        ([["Harbour Mutual", "Page", "of"], ["Wednesday", "1", "two or three"]], False),
    ],
)
def test_one_row_is_a_table_if_it_has_quantities_and_each_has_a_name(tmp_path, rows, found):
    reading = drawn(tmp_path / "a.pdf", rows, at=(60, 180, 340))
    assert [cells(reading)] == [rows] if found else not reading.grids


def test_long_cells_are_those_of_a_table_where_rows_are_written_cell_by_cell(tmp_path):
    long = "Have the second fridge repaired or replaced, so that\nit holds eight degrees or less"
    rows = [["What has to be done", "By when"], [long, "Before the\nnext market"]]
    rows += [[long.replace("second", word), "At once,\nor at noon"] for word in ("third", "old")]
    place = tmp_path / "a.pdf"
    style = [("VALIGN", (0, 0), (-1, -1), "TOP")]
    SimpleDocTemplate(str(place)).build([Table(rows, colWidths=(300, 100), style=style)])
    found = cells(read_pdf(place, limits=Limits()))
    assert found == [[" ".join(cell.split()) for cell in row] for row in rows]
