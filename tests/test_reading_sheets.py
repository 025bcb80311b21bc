from __future__ import annotations

import datetime as dt
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offices import opendocument, xlsx
from old_offices import compound

from rag_app.errors import DamagedFile, LimitReached, NoText
from rag_app.reading.limits import Limits, pages_searched
from rag_app.reading.ole import read_ole
from rag_app.reading.sheets import cell_text, read_delimited, read_sheets, row_pages, sniff


@pytest.fixture
def read(file):
    return lambda data, limits=None: read_sheets(file(data), limits=limits or Limits())


@pytest.fixture
def read_csv(file):
    return lambda text, limits=None: read_delimited(
        file(text if isinstance(text, bytes) else text.encode()), limits=limits or Limits()
    )


def test_a_sheet_is_a_page_that_says_which_rows_it_has(read):
    reading = read(
        xlsx(Prices=[["Item", "Price"], ["Bolt", 2.5], ["Nut", 3]], Staff=[["Ann", "Ed"]])
    )
    assert [page.label for page in reading.pages] == ["Prices, rows 1–3", "Staff, row 1"]
    assert reading.pages[0].text == "Prices\n\nItem | Price\nBolt | 2.5\nNut | 3"
    assert [(h.page, h.text) for h in reading.headings] == [(1, "Prices"), (2, "Staff")]


def test_a_long_sheet_repeats_the_names_of_its_columns(read):
    rows = [["Stock at the end of May"], ["Item", "Shelf", "Count"]]
    rows += [[f"article number {n}", "somewhere", n] for n in range(400)]
    pages = read(xlsx(Stock=rows)).pages
    assert len(pages) > 3
    assert all("Item | Shelf | Count\n" in page.text for page in pages)
    assert "Stock at the end of May" in pages[0].text
    assert "Stock at the end of May" not in pages[1].text
    found = next(page for page in pages if "article number 321 | somewhere | 321" in page.text)
    first, last = found.label.removeprefix("Stock, rows ").split("–")
    assert int(first) <= 324 <= int(last)


@given(st.lists(st.lists(st.text("ab ", max_size=900), max_size=4), max_size=40))
def test_every_row_with_text_is_on_one_page(rows):
    numbered = list(enumerate(rows, 1))
    pages = list(row_pages(numbered))
    filled = [number for number, cells in numbered if any(cell.strip() for cell in cells)]
    for number in filled:
        assert sum(first <= number <= last for first, last, _ in pages) == 1
    assert bool(pages) == bool(filled)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        (3.0, "3"),
        (0.1 + 0.2, "0.3"),
        (-2.5e-9, "-0.0000000025"),
        (0.0, "0"),
        (12_345_678_901.23, "12345678901.23"),
        (1_234_567_890_123.45, "1234567890123.45"),
        (0.000_012_34, "0.00001234"),
        (2.5e-99, "2.5e-99"),
        (1e15, "1000000000000000"),
        (dt.timedelta(hours=30), "30:00:00"),
        (dt.timedelta(hours=-5, minutes=-7.5), "-5:07:30"),
        (dt.timedelta(seconds=61.5), "0:01:01.500000"),
        (True, "yes"),
        (dt.datetime(2025, 5, 1), "2025-05-01"),
        (dt.datetime(2025, 5, 1, 9, 30), "2025-05-01 09:30:00"),
        (dt.date(2025, 5, 1), "2025-05-01"),
        ("text", "text"),
    ],
)
def test_a_cell_reads_as_people_write_it(cell, shown):
    assert cell_text(cell) == shown


def test_a_sheet_of_opendocument_is_read(read):
    def row(*cells):
        inside = "".join(
            '<table:table-cell office:value-type="string">'
            f"<text:p>{cell}</text:p></table:table-cell>"
            for cell in cells
        )
        return f"<table:table-row>{inside}</table:table-row>"

    body = f'<table:table table:name="May">{row("Day", "Rain")}{row("1", "12 mm")}</table:table>'
    reading = read(opendocument("spreadsheet", body))
    assert reading.pages[0].text == "May\n\nDay | Rain\n1 | 12 mm"


def test_a_workbook_of_1997_is_read(file):
    def record(kind, *fields):
        data = b"".join(fields)
        return struct.pack("<HH", kind, len(data)) + data

    def label(row, column, text):
        return record(0x0204, struct.pack("<HHHHB", row, column, 0, len(text), 0), text)

    begins = struct.pack("<HHHII", 0x0600, 5, 0, 0, 0), struct.pack("<HHHII", 0x0600, 16, 0, 0, 0)
    name = struct.pack("<BB", 5, 0) + b"Stock"
    start = len(record(0x0809, begins[0])) + 4 + 6 + len(name) + len(record(10))
    book = record(0x0809, begins[0]) + record(0x85, struct.pack("<IBB", start, 0, 0), name)
    book += record(10) + record(0x0809, begins[1])
    book += record(0x0200, struct.pack("<IIHHH", 0, 2, 0, 2, 0))
    book += label(0, 0, b"Item") + label(0, 1, b"Count") + label(1, 0, b"Bolt")
    book += record(0x0203, struct.pack("<HHHd", 1, 1, 0, 12.0)) + record(10)
    reading = read_ole(file(compound({"Workbook": book})), limits=Limits())
    assert reading.pages[0].text == "Stock\n\nItem | Count\nBolt | 12"
    assert reading.pages[0].label == "Stock, rows 1–2"


def test_a_torn_workbook_says_so(read):
    with pytest.raises(DamagedFile, match="damaged"):
        read(xlsx(A=[["word"]])[:300])


def test_an_empty_workbook_has_no_text(read):
    with pytest.raises(NoText):
        read(xlsx(A=[[""]]))


def test_too_large_a_workbook_names_the_limit(read):
    with pytest.raises(LimitReached, match="RAG_APP_MAX_CHARACTERS"):
        read(xlsx(A=[["word " * 50]] * 60), Limits(max_characters=5_000))


LONG = "id,name,remark\n" + "".join(f"{n},name {n},some remark\n" for n in range(2_000))


def test_a_long_table_is_read_whole_and_says_up_to_where_it_is_searched(file):
    reading = read_delimited(file(LONG.encode()), limits=Limits(max_characters=20_000))
    (grid,) = reading.grids
    assert len(grid.rows) == 2_001
    searched = pages_searched(reading.pages, 20_000)
    assert 1 < searched < len(reading.pages)
    assert sum(len(page.text) for page in reading.pages[:searched]) <= 20_000
    (said,) = reading.warnings
    assert reading.pages[searched - 1].label in said and "RAG_APP_MAX_CHARACTERS" in said


def test_a_table_within_the_limit_says_nothing(file):
    assert read_delimited(file(LONG.encode()), limits=Limits()).warnings == ()


def test_too_long_a_table_names_the_limit_of_tables(file):
    with pytest.raises(LimitReached, match="RAG_APP_MAX_TABLE_CHARACTERS"):
        read_delimited(file(LONG.encode()), limits=Limits(max_table_characters=20_000))


def test_what_is_no_table_has_the_limit_of_texts(file):
    with pytest.raises(LimitReached, match="RAG_APP_MAX_CHARACTERS"):
        read_delimited(file(b"word " * 100), limits=Limits(max_characters=100))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_what_stands_between_cells_is_found(read_csv, delimiter):
    rows = [["Name", "Town", "Age"], ["Ann", "Bath, Avon", "41"], ["Ed", "York", "39"]]
    written = "\r\n".join(delimiter.join(f'"{cell}"' for cell in row) for row in rows)
    reading = read_csv(written)
    assert reading.pages[0].text == "Name | Town | Age\nAnn | Bath, Avon | 41\nEd | York | 39"
    assert reading.pages[0].label == "rows 1–3"


@pytest.mark.parametrize("wish", ["sep=;\r\n", '"sep=;"\n'])
def test_what_a_table_wishes_to_stand_between_its_cells_is_no_row(read_csv, wish):
    page = read_csv(f"{wish}Part;Price, net\nBolt;2,50\n").pages[0]
    assert (page.text, page.label) == ("Part | Price, net\nBolt | 2,50", "rows 1–2")


def test_a_long_table_of_text_repeats_the_names_of_its_columns(read_csv):
    text = "id,name,remark\n" + "".join(f"{n},name {n},some remark\n" for n in range(500))
    pages = read_csv(text).pages
    assert len(pages) > 3
    assert all(page.text.startswith("id | name | remark\n") for page in pages)
    assert any("321 | name 321 | some remark" in page.text for page in pages)


def test_a_table_that_is_none_is_text(read_csv):
    reading = read_csv("Just some words.\nAnd some more.\n")
    assert reading.pages[0].text == "Just some words.\nAnd some more.\n"


def test_the_encoding_of_a_table_is_told(read_csv):
    rows = "Straße;Größe;Müller\n" + "Königsallee;übergroß;Jürgen Schäfer\n" * 30
    reading = read_csv(rows.encode("cp1252"))
    assert "Königsallee | übergroß | Jürgen Schäfer" in reading.pages[0].text
    assert (reading.encoding, reading.warnings) == ("windows-1252", ())


def test_commas_in_prose_make_no_table():
    assert sniff("Dear all, we met.\nYes, we did, and so on, and on.\nBye.\nThe end.\n") == ""


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("x;y;z\n" + "0,5;0,25;0,75\n" * 4, ";"),
        ("id;address\n" + "1;Main St 1, Berlin, Germany\n" * 4, ";"),
        ("a,b,c\n" + "1,x;y,2\n" * 4, ","),
        ("a,b\n" + "1,2\n" * 4 + "\nTotal\n", ","),
    ],
)
def test_what_cuts_all_lines_alike_goes_before_what_cuts_into_more(text, delimiter):
    assert sniff(text) == delimiter
