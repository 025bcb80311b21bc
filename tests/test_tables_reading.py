"""Readers give the grid of every table; the place of each cell is its text on the page."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from offices import docx, opendocument, paragraph, pptx, table, workbook, xlsx

from rag_app.reading.frames import pack, unpack
from rag_app.reading.limits import Limits
from rag_app.reading.ooxml import read_docx, read_pptx
from rag_app.reading.opendocument import read_odt
from rag_app.reading.sandbox import Sandbox
from rag_app.reading.sections import PageBuilder, row_words
from rag_app.reading.sheets import read_delimited, read_sheets
from rag_app.reading.web import read_html
from rag_app.reading.workbook import sheet_facts, unit_of_format
from rag_app.storage.contents import StoredTable
from rag_app.tables.building import typed_tables
from rag_app.tables.columnar import block_values
from rag_app.tables.regions import Cells
from rag_app.types import ColumnKind, Merged, Reading

LIMITS = Limits()


def grids(reading: Reading) -> list[list[list[str]]]:
    pages = {page.number: page.text for page in reading.pages}
    return [
        [cells.texts(row) for row in range(len(cells))]
        for cells in (Cells(grid, pages) for grid in reading.grids)
    ]


def tables(reading: Reading):
    return [stored.table for stored in typed_tables("d" * 64, reading)]


def column(stored: StoredTable, number: int) -> list[object]:
    return [value for block in stored.blocks for value in block_values(block.values, number)]


_CELL = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=30)
_ROWS = st.lists(st.lists(_CELL, max_size=6), max_size=60)


@given(_ROWS)
def test_every_cell_of_a_table_stands_where_the_grid_says(rows):
    sections = PageBuilder(LIMITS, most=200)
    sections.paragraph("Before.")
    sections.table(rows)
    written = [row_words(row) for row in rows if any(row_words(row))]
    reading = sections.reading()
    found = grids(reading)
    cut = any(len(" | ".join(words)) > 200 for words in written)
    if not cut:
        assert (found[0] if found else []) == written
    elif found:
        for row, words in zip(found[0], written, strict=True):
            assert len(row) == len(words)
            assert all(said.startswith(cell) for cell, said in zip(row, words, strict=True))


@given(st.lists(st.lists(st.text("ab 1", max_size=700), max_size=4), max_size=30))
def test_the_names_of_columns_that_a_page_repeats_are_one_row_of_the_grid(rows):
    from rag_app.reading.sheets import add_rows, row_pages

    sections = PageBuilder(LIMITS, 1_000_000)
    sections.row("first")
    grid = sections.grid("Sheet")
    for _, _, page in row_pages(list(enumerate(rows, 1))):
        sections.new_page()
        add_rows(page, sections, grid)
    reading = sections.reading()
    written = [row_words(row) for row in rows if row_words(row)]
    assert (grids(reading)[0] if reading.grids else []) == written


def test_a_grid_crosses_to_the_parent_as_it_was(file):
    reading = read_sheets(file(xlsx(Stock=[["Item", "Count"], ["Bolt", 3]])), limits=LIMITS)
    assert unpack(pack(reading)) == reading
    assert grids(reading) == [[["Item", "Count"], ["Bolt", "3"]]]
    assert reading.grids[0].name == "Stock"


def test_the_rows_of_a_csv_keep_their_numbers(file):
    reading = read_delimited(file(b"a;b\n\n1;2\n\n\n3;4\n"), limits=LIMITS)
    assert list(reading.grids[0].rows) == [1, 3, 6]
    assert grids(reading) == [[["a", "b"], ["1", "2"], ["3", "4"]]]


def test_a_web_table_knows_its_header_its_caption_and_what_spans_rows(file):
    page = (
        "<h1>Report</h1><table><caption>Sales by region</caption>"
        "<tr><th>Region</th><th>Year</th><th>Sales</th></tr>"
        "<tr><td rowspan=2>North</td><td>2020</td><td>5</td></tr>"
        "<tr><td>2021</td><td>7</td></tr><tr><td>South</td><td>2020</td><td>9</td></tr></table>"
    )
    reading = read_html(file(page.encode()), limits=LIMITS)
    grid = reading.grids[0]
    assert (grid.name, grid.header_rows, grid.merged) == (
        "Sales by region",
        2,
        (Merged(3, 0, 4, 0),),
    )
    assert grids(reading)[0][3] == ["", "2021", "7"]
    (found,) = typed_tables("d" * 64, reading)
    assert [c.name for c in found.table.columns] == ["Region", "Year", "Sales"]
    assert (found.table.name, found.table.rows) == ("Sales by region", 3)


def _raised(text: str) -> str:
    sup = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
    return "".join(f"<w:r>{sup}<w:t>{figure}</w:t></w:r>" for figure in text)


def test_the_figure_of_a_note_is_no_part_of_the_number_before_it(file):
    cells = ["1,234<sup>1</sup>", "2,345", "3,456<sup><a href='#n'>14</a></sup>", "4,567"]
    rows = "".join(f"<tr><td>Town {n}<td>{cell}" for n, cell in enumerate(cells))
    said = "<p>Of 19<sup>th</sup> May 2020<sup>3</sup>, 5 m<sup>2</sup>."
    page = f"{said}<table><tr><th>Town<th>People{rows}</table>"
    body = "".join(
        f"<w:tr><w:tc>{paragraph(town)}</w:tc>"
        f"<w:tc><w:p><w:r><w:t>{people}</w:t></w:r>{note}</w:p></w:tc></w:tr>"
        for town, people, note in [
            ("Town", "People", ""), ("A", "1,234", _raised("1")), ("B", "2,345", ""),
            ("C", "3,456", _raised("14")), ("D", "4,567", ""),
        ]
    )  # fmt: skip
    web = read_html(file(page.encode()), limits=LIMITS)
    word = read_docx(file(docx(f"<w:tbl>{body}</w:tbl>")), limits=LIMITS)
    assert web.pages[0].text.startswith("Of 19th May 2020³, 5 m2.")
    for reading in (web, word):
        assert [row[1] for row in grids(reading)[0][1:]] == ["1,234¹", "2,345", "3,456¹⁴", "4,567"]
        (found,) = typed_tables("d" * 64, reading)
        assert found.table.columns[1].kind is ColumnKind.INTEGER
        assert column(found, 1) == [1_234, 2_345, 3_456, 4_567]


def test_a_word_table_has_its_caption_and_its_merged_cells(file):
    body = paragraph("Costs in May", "Caption") + (
        "<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr>"
        "<w:tc><w:p><w:r><w:t>Team</w:t></w:r></w:p></w:tc>"
        '<w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>'
        "<w:p><w:r><w:t>Cost</w:t></w:r></w:p></w:tc></w:tr>"
        '<w:tr><w:tc><w:tcPr><w:vMerge w:val="restart"/></w:tcPr>'
        "<w:p><w:r><w:t>Design</w:t></w:r></w:p></w:tc>"
        "<w:tc><w:p><w:r><w:t>5</w:t></w:r></w:p></w:tc>"
        "<w:tc><w:p><w:r><w:t>6</w:t></w:r></w:p></w:tc></w:tr>"
        "<w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc>"
        "<w:tc><w:p><w:r><w:t>7</w:t></w:r></w:p></w:tc>"
        "<w:tc><w:p><w:r><w:t>8</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    reading = read_docx(file(docx(body)), limits=LIMITS)
    grid = reading.grids[0]
    assert grid.name == "Costs in May"
    assert grid.header_rows == 1
    assert set(grid.merged) == {Merged(1, 1, 1, 2), Merged(2, 0, 3, 0)}
    assert grids(reading)[0] == [["Team", "Cost"], ["Design", "5", "6"], ["", "7", "8"]]


def test_tables_of_slides_and_of_opendocument_are_grids_too(file):
    def row(*cells: str) -> str:
        inside = "".join(
            f"<table:table-cell><text:p>{each}</text:p></table:table-cell>" for each in cells
        )
        return f"<table:table-row>{inside}</table:table-row>"

    rows = row("Item", "Price") + row("Bolt", "2")
    body = f"<text:h>Prices</text:h><table:table>{rows}</table:table>"
    reading = read_odt(file(opendocument("text", body)), limits=LIMITS)
    assert grids(reading) == [[["Item", "Price"], ["Bolt", "2"]]]
    assert reading.grids[0].name == "Prices"
    cells = "".join(f"<a:tc><a:p><a:r><a:t>{c}</a:t></a:r></a:p></a:tc>" for c in ("a", "b"))
    frame = f"<p:graphicFrame><a:tbl><a:tr>{cells}</a:tr></a:tbl></p:graphicFrame>"
    assert grids(read_pptx(file(pptx(frame)), limits=LIMITS)) == [[["a", "b"]]]
    assert grids(read_docx(file(docx(table(["x", "y"]))), limits=LIMITS)) == [[["x", "y"]]]


_STYLES = (
    '<numFmts><numFmt numFmtId="170" formatCode="#,##0.00\\ &quot;€&quot;"/></numFmts>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="9"/><xf numFmtId="170"/></cellXfs>'
)


def _cell(place: str, value: object, style: int = 0, kind: str = "n") -> str:
    inside = f"<is><t>{value}</t></is>" if kind == "inlineStr" else f"<v>{value}</v>"
    return f'<c r="{place}" s="{style}" t="{kind}">{inside}</c>'


def test_formats_of_cells_say_percents_and_money_and_hidden_rows_are_read(file):
    named = [
        _cell(f"{c}3", n, kind="inlineStr")
        for c, n in (("B", "Who"), ("C", "Share"), ("D", "Paid"))
    ]
    rows = "".join(
        f'<row r="{n}"{hidden}>{_cell(f"B{n}", who, kind="inlineStr")}{_cell(f"C{n}", share, 1)}'
        f"{_cell(f'D{n}', paid, 2)}</row>"
        for n, who, share, paid, hidden in (
            (4, "Ann", 0.25, 10.5, ""), (5, "Ben", 0.07, 3, ' hidden="1"'), (6, "Cid", 0.5, 4, ""),
        )
    )  # fmt: skip
    sheet = f'<sheetData><row r="3">{"".join(named)}</row>{rows}</sheetData>'
    reading = read_sheets(file(workbook({"May": sheet}, _STYLES)), limits=LIMITS)
    assert "Ann | 25% | 10.5" in reading.pages[0].text
    (found,) = tables(reading)
    assert [(c.name, c.kind, c.unit) for c in found.columns] == [
        ("Who", ColumnKind.TEXT, ""),
        ("Share", ColumnKind.INTEGER, "%"),
        ("Paid", ColumnKind.NUMBER, "EUR"),
    ]
    assert found.rows == 3


@pytest.mark.parametrize(
    ("code", "unit"),
    [
        ("0.0%", "%"),
        ('#,##0.00 "€"', "€"),
        ("[$USD] #,##0", "USD"),
        ("[$£-809]#,##0;[Red]-[$£-809]#,##0", "£"),
        ("$#,##0_)", "$"),
        ("00000", "00000"),
        ("0", ""),
        ("00.0", ""),
        ('0.0 "kg"', ""),
        ("yyyy-mm-dd", ""),
        ("General", ""),
    ],
)
def test_a_format_of_numbers_shows_a_unit(code, unit):
    assert unit_of_format(code) == unit


def _open_cell(kind: str, value: object, more: str = "") -> str:
    said = f'office:value="{value}"' if kind != "string" else ""
    inside = f"<text:p>{value}</text:p>"
    return f'<table:table-cell office:value-type="{kind}" {said} {more}>{inside}</table:table-cell>'


def _open_row(*cells: str, more: str = "") -> str:
    return f"<table:table-row {more}>{''.join(cells)}</table:table-row>"


def _open_style(name: str, more: str) -> str:
    return f'<style:style style:name="{name}" style:family="table-cell" {more}/>'


_POSTCODES = (
    '<number:number-style style:name="N5"><number:number number:decimal-places="0" '
    'number:min-integer-digits="5"/></number:number-style>'
)


def test_styles_of_opendocument_say_percents_money_and_leading_zeros(file):
    named = _open_row(*(_open_cell("string", n) for n in ("Who", "Share", "Paid", "Code")))
    rows = "".join(
        _open_row(
            "<table:table-cell/>",
            _open_cell("string", who),
            _open_cell("percentage", share),
            _open_cell("currency", paid, 'office:currency="EUR"'),
            _open_cell("float", code, style),
        )
        for who, share, paid, code, style in (
            ("Ann", 0.25, 10.5, 1234, ""),
            ("Ben", 0.07, 3, 20095, 'table:style-name="ce2"'),
            ("Cid", 0.5, 4, 99, 'table:style-name="ce3"'),
        )
    )
    empty = _open_row("<table:table-cell/>", more='table:number-rows-repeated="3"')
    columns = (
        '<table:table-column table:number-columns-repeated="4"/>'
        '<table:table-column table:default-cell-style-name="ce2"/>'
    )
    named = named.replace("<table:table-cell", "<table:table-cell/><table:table-cell", 1)
    body = f'<table:table table:name="May">{columns}{empty}{named}{rows}</table:table>'
    own = _open_style("ce2", 'style:parent-style-name="Codes"') + _open_style(
        "ce3", 'style:data-style-name="N1"'
    )
    styles = _POSTCODES + _open_style("Codes", 'style:data-style-name="N5"')
    data = opendocument("spreadsheet", body, own=own, styles=styles)
    reading = read_sheets(file(data), limits=LIMITS)
    assert reading.pages[0].text.split("\n")[2:] == [
        "Who | Share | Paid | Code",
        "Ann | 25% | 10.5 | 01234",
        "Ben | 7% | 3 | 20095",
        "Cid | 50% | 4 | 99",
    ]
    (found,) = tables(reading)
    assert [(c.name, c.kind, c.unit) for c in found.columns] == [
        ("Who", ColumnKind.TEXT, ""),
        ("Share", ColumnKind.INTEGER, "%"),
        ("Paid", ColumnKind.NUMBER, "EUR"),
        ("Code", ColumnKind.TEXT, ""),
    ]


def test_repeated_and_covered_cells_of_opendocument_have_their_units(file):
    money = _open_cell("currency", 5, 'office:currency="EUR" table:number-columns-repeated="2"')
    covered = "<table:covered-table-cell/>" + _open_cell("percentage", 0.5)
    first = _open_cell("float", 7, 'office:currency="" table:number-columns-spanned="2"')
    rows = _open_row(money, more='table:number-rows-repeated="2"') + _open_row(first, covered)
    body = f'<table:table table:name="S">{rows}</table:table>'
    text = read_sheets(file(opendocument("spreadsheet", body)), limits=LIMITS).pages[0].text
    assert text.split("\n")[2:] == ["5 EUR | 5", "5 EUR | 5", "7 |  | 50%"]


def test_a_cell_of_opendocument_that_repeats_without_end_has_an_end(file):
    far = 'table:number-columns-repeated="16384"'
    cell = _open_cell("percentage", 1, far)
    body = f'<table:table table:name="S">{_open_row(cell, more=_ROWS)}</table:table>'
    facts = sheet_facts(file(opendocument("spreadsheet", body)), LIMITS)["S"]
    assert len(facts.shown) <= 100_000


_ROWS = 'table:number-rows-repeated="1048576"'


def test_numbers_with_leading_zeros_are_read_as_excel_shows_them(file):
    styles = (
        '<numFmts><numFmt numFmtId="170" formatCode="00000"/></numFmts>'
        '<cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs>'
    )
    rows = "".join(
        f'<row r="{n}">{_cell(f"A{n}", value, 1)}</row>'
        for n, value in enumerate((1234, 20095, -5, 1.5), 1)
    )
    data = workbook({"S": f"<sheetData>{rows}</sheetData>"}, styles)
    text = read_sheets(file(data), limits=LIMITS).pages[0].text
    assert text.split("\n")[2:] == ["01234", "20095", "-5", "1.5"]


def test_two_far_cells_are_read_as_two_cells(file):
    sheet = (
        f'<sheetData><row r="1">{_cell("A1", 1)}</row>'
        f'<row r="1048576">{_cell("XFD1048576", 2)}</row></sheetData>'
    )
    reading = read_sheets(file(workbook({"Far": sheet})), limits=LIMITS)
    assert [page.label for page in reading.pages] == ["Far, rows 1–1048576"]
    assert list(reading.grids[0].rows) == [1, 1_048_576]
    assert [cell for row in grids(reading)[0] for cell in row if cell] == ["1", "2"]
    assert tables(reading) == []


@pytest.fixture(scope="module")
def small_child():
    """A sheet that is spread out would end it."""
    sandbox = Sandbox(Limits(memory_mb=300))
    yield sandbox
    sandbox.close()


@pytest.mark.parametrize(
    "rows",
    [
        f'<row r="1">{_cell("A1", 1)}</row><row r="2">{_cell("XFD1048576", 2)}</row>',
        f"<row>{_cell('A1', 1)}</row><row>{_cell('XFD1048576', 2)}</row>",
        f'<row r="1">{_cell("A1", 1)}{_cell("xfd1048576", 2)}</row>',
        f'<row r="1">{_cell("A1", 1)}</row><row>{"<c/>" * 9}{_cell("DZZZ9999999", 2)}</row>',
    ],
    ids=["row-says-otherwise", "row-says-nothing", "small-letters", "beyond-excel"],
)
def test_far_cells_are_drawn_together_whatever_their_rows_say(file, rows, small_child):
    data = workbook({"Far": f"<sheetData>{rows}</sheetData>"})
    reading = small_child.read(file(data), ".xlsx")
    assert [cell for row in grids(reading)[0] for cell in row if cell] == ["1", "2"]
    assert max(reading.grids[0].rows) in (1_048_576, 9_999_999)


@pytest.mark.parametrize("broken", ["\x0b", "<!DOCTYPE a [<!ENTITY b 'c'>]>"])
def test_a_sheet_that_is_no_xml_is_left_out_if_its_cells_lie_far_apart(file, broken, small_child):
    far = f'<row r="1">{_cell("A1", 1)}</row><row>{_cell("XFD1048576", 2)}</row>'
    near = f'<row r="1">{_cell("A1", 3)}{_cell("B1", 4)}</row>'
    sheets = {name: f"{broken}<sheetData>{rows}</sheetData>" for name, rows in
              (("Far", far), ("Near", near))}  # fmt: skip
    reading = small_child.read(file(workbook(sheets)), ".xlsx")
    assert [page.label for page in reading.pages] == ["Near, row 1"]
    assert reading.warnings == ("The sheet “Far” is damaged and was left out.",)


def test_columns_that_are_hidden_again_and_again_are_so_once(file):
    columns = '<col min="1" max="999999999" hidden="1"/>' * 5_000
    sheet = f'<cols>{columns}</cols><sheetData><row r="1">{_cell("A1", 1)}</row></sheetData>'
    facts = sheet_facts(file(workbook({"S": sheet})), LIMITS)["S"]
    assert len(facts.hidden_columns) < 120_000


def test_a_sheet_of_16384_columns_is_a_table_of_as_many_as_are_kept(file):
    rows = [[f"n{i}" for i in range(16_384)], [str(i) for i in range(16_384)]]
    text = "\n".join(";".join(row) for row in rows)
    reading = read_delimited(file(text.encode()), limits=LIMITS)
    (found,) = tables(reading)
    assert len(found.columns) == 2_000


def test_the_error_of_a_formula_is_text_beside_the_numbers(file):
    rows = "".join(
        f'<row r="{n}">{_cell(f"A{n}", f"Item {n}", kind="inlineStr")}{value}</row>'
        for n, value in (
            (1, _cell("B1", "Price", kind="inlineStr")), (2, _cell("B2", 1.5)), (3, _cell("B3", 2)),
            (4, _cell("B4", "#DIV/0!", kind="e")), (5, _cell("B5", 4)),
        )
    )  # fmt: skip
    reading = read_sheets(file(workbook({"S": f"<sheetData>{rows}</sheetData>"})), limits=LIMITS)
    (found,) = tables(reading)
    assert found.columns[1].kind is ColumnKind.NUMBER
    assert found.columns[1].has_text


def _words(*rows: tuple[str, ...], hidden: dict[int, str]) -> str:
    """Rows of texts; `hidden`: more that a row says of itself, by its number."""
    return "".join(
        f'<row r="{n}"{hidden.get(n, "")}>'
        + "".join(
            _cell(f"{chr(65 + at)}{n}", text, kind="inlineStr") for at, text in enumerate(row)
        )
        + "</row>"
        for n, row in enumerate(rows, 1)
    )


def test_hidden_rows_and_columns_with_something_in_them_are_said(file):
    lines = _words(
        ("Who", "Pay"), ("Ann", "5"), ("Ben", "7"), hidden={3: ' hidden="1"', 2: ' hidden="0"'}
    )
    columns = '<cols><col min="2" max="9" hidden="true"/></cols>'
    empty = '<row r="4" hidden="1"><c r="A4"/></row><row r="5" hidden="1"/>'
    plain = f"<sheetData>{_words(('a', 'b'), hidden={})}</sheetData>"
    book = {"May": f"{columns}<sheetData>{lines}{empty}</sheetData>", "June": plain}
    reading = read_sheets(file(workbook(book)), limits=LIMITS)
    assert reading.warnings == (
        "Hidden rows are read like the others, and count in figures: 1 on “May”.",
        "Hidden columns are found by their words, and not computed with: 1 on “May”.",
    )
    assert "Ben | 7" in reading.pages[0].text
    assert tables(reading)[0].hidden_columns == (1,)


def test_hidden_rows_and_columns_of_opendocument_are_said(file):
    def row(*texts: str, more: str = "") -> str:
        return _open_row(*(_open_cell("string", text) for text in texts), more=more)

    empty = _open_row(
        "<table:table-cell/>", more='table:visibility="collapse" table:number-rows-repeated="99"'
    )
    columns = (
        '<table:table-column/><table:table-column table:visibility="collapse" '
        'table:number-columns-repeated="5"/>'
    )
    rows = row("Who", "Pay") + row("Ann", "5", more='table:visibility="filter"')
    rows += row("Ben", "7", more='table:visibility="collapse" table:number-rows-repeated="2"')
    body = f'<table:table table:name="May">{columns}{rows}{empty}</table:table>'
    reading = read_sheets(file(opendocument("spreadsheet", body)), limits=LIMITS)
    assert reading.warnings == (
        "Hidden rows are read like the others, and count in figures: 3 on “May”.",
        "Hidden columns are found by their words, and not computed with: 1 on “May”.",
    )
    assert tables(reading)[0].hidden_columns == (1,)


def test_a_warning_names_some_of_many_sheets(file):
    lines = _words(("Who", "Pay"), ("Ann", "5"), hidden={2: ' hidden="1"'})
    book = {f"S{n}": f"<sheetData>{lines}</sheetData>" for n in range(8)}
    (said,) = read_sheets(file(workbook(book)), limits=LIMITS).warnings
    assert said.endswith("1 on “S0”, 1 on “S1”, 1 on “S2”, 1 on “S3”, 1 on “S4” and 3 more sheets.")


UNKNOWN = (
    "The file does not hold what these formulas give, but nothing, or 0: {} on “S”. "
    "Open it in a spreadsheet program, save it there, and add it again."
)


def test_formulas_without_their_results_are_said(file):
    cells = "".join(
        f'<c r="{place}"{kind}><f>1+1</f>{value}</c>'
        for place, kind, value in (
            ("A2", "", ""),
            ("B2", "", "<v/>"),
            ("C2", "", "<v>2</v>"),
            ("D2", ' t="str"', "<v></v>"),  # the text is empty
            ("E2", ' t="e"', "<v>#REF!</v>"),
            ("F2", "", "<v></v>"),
        )
    )
    charts = '<extLst><x:f xmlns:x="urn:of-charts">S!A1:A9</x:f></extLst>'
    sheet = (
        f'<sheetData>{_words(("a", "b"), hidden={})}<row r="2">{cells}</row></sheetData>{charts}'
    )
    reading = read_sheets(file(workbook({"S": sheet})), limits=LIMITS)
    assert reading.warnings == (UNKNOWN.format(3),)


@pytest.mark.parametrize(
    ("asks", "second", "unknown"),
    [(True, 0, 2), (True, 7, 0), (False, 0, 0)],
    ids=["waits", "computed", "saved"],
)
def test_formulas_that_all_give_0_in_a_workbook_that_waits_for_results_have_none(
    file, asks, second, unknown
):
    rows = "".join(
        f'<row r="{n}"><c r="A{n}"><f>B{n}*2</f><v>{value}</v></c>{_cell(f"B{n}", n)}</row>'
        for n, value in ((1, 0), (2, second))
    )
    data = workbook({"S": f"<sheetData>{rows}</sheetData>"}, asks_to_compute=asks)
    said = (UNKNOWN.format(unknown),) if unknown else ()
    assert read_sheets(file(data), limits=LIMITS).warnings == said


def test_formulas_of_opendocument_without_their_results_are_said(file):
    def formula(more: str = "") -> str:
        return f'<table:table-cell table:formula="of:=1+1" {more}/>'

    cells = _open_row(_open_cell("string", "a"), formula('table:number-columns-repeated="3"'))
    known = _open_row(formula('office:value-type="string"'), _open_cell("float", 2))
    body = f'<table:table table:name="S">{cells}{known}</table:table>'
    reading = read_sheets(file(opendocument("spreadsheet", body)), limits=LIMITS)
    assert reading.warnings == (UNKNOWN.format(3),)
