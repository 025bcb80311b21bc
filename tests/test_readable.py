from __future__ import annotations

import re
import time
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from rag_app.export.readable import PageMarks, cells, header_row, readable
from rag_app.types import Heading

SHEET = "Boats\n\nname | built | price\nSkerry | 1987 | 1,200\nGull |  | 900"


def visible(page: str) -> str:
    """What a reader sees, without white space and what stands between cells."""
    text = unescape(re.sub(r"<[^>]*>", "", page))
    return re.sub(r"[\s|]", "", text)


def test_a_sheet_is_a_table_under_its_columns_with_the_cited_row():
    start = SHEET.index("Skerry")
    quote = (start, start + len("Skerry | 1987 | 1,200"))
    page = readable(SHEET, PageMarks(quote), [Heading(1, 0, 1, "Boats")], rows=True)
    assert "<h3>Boats</h3>" in page
    assert "<thead><tr><th scope=col>name</th>" in page
    assert "<th scope=col class='number'>built</th>" in page
    assert (
        "<tr class='cited'><td>Skerry</td><td class='number'>1987</td>"
        "<td class='number'>1,200</td></tr>" in page
    )
    assert "<tr><td>Gull</td><td class='number'></td><td class='number'>900</td></tr>" in page


def test_a_quote_inside_a_cell_is_marked_in_it():
    start = SHEET.index("kerry")
    page = readable(SHEET, PageMarks((start, start + 5)), rows=True)
    assert "<tr><td>S<mark>kerry</mark></td>" in page, "and not the row"


def test_of_a_column_that_is_added_up_its_cells_are_marked_and_no_row():
    first, other = SHEET.index("1987"), SHEET.index("900")
    page = readable(SHEET, PageMarks((first, first + 4), ((other, other + 3),)), rows=True)
    assert "<td>Skerry</td><td class='number'><mark>1987</mark></td>" in page
    assert "<td class='number'><mark class='other'>900</mark></td>" in page
    assert "<tr class" not in page


def test_a_row_whose_last_cells_are_empty_is_marked_as_a_row():
    page = readable("a | b | c\nGull | 9 | ", PageMarks((10, 18)), rows=True)
    assert "<tr class='cited'><td>Gull</td>" in page


def test_a_day_in_a_cell_is_never_broken_at_the_end_of_a_line():
    text = "what | when\nRent | at the latest on 5 March 2026, before noon\nLease | 1 May 2026"
    page = readable(text, PageMarks(), rows=True)
    assert "<td>at the latest on <span class='figure'>5 March 2026</span>, before noon</td>" in page
    assert "<td class='figure'>1 May 2026</td>" in page


def test_a_long_cell_without_spaces_or_figures_is_drawn_at_once():
    before = time.process_time()
    assert f"<td>{'GATTACA' * 3_000}</td>" in readable(
        f"name | strand\nGull | {'GATTACA' * 3_000}", PageMarks(), rows=True
    )
    assert time.process_time() - before < 1


def test_lines_above_the_names_of_the_columns_stand_above_the_table():
    page = readable("Prices of 2025\na | b | c\n1 | 2 | 3", PageMarks(), rows=True)
    assert page.startswith("<p>Prices of 2025</p><div class='rows'><table><thead><tr><th")


def test_rows_without_names_are_a_table_without_a_head():
    assert header_row([["x"], ["y"]]) is None
    assert "<thead>" not in readable("x\ny", PageMarks(), rows=True)


def test_the_head_of_a_letter_is_told_from_its_body():
    text = "Rent\n\nFrom: a@example.org\nTo: b@example.org\n\nFrom: here on it is text."
    page = readable(text, PageMarks(), [Heading(1, 0, 1, "Rent")])
    assert "<dl><dt>From:</dt><dd>a@example.org</dd><dt>To:</dt>" in page
    assert "<p>From: here on it is text.</p>" in page


def test_other_quotes_are_paler_and_give_way_to_the_one_looked_at():
    page = readable("one two three", PageMarks((4, 7), ((0, 13), (4, 7))))
    assert page == (
        "<p><mark class='other'>one </mark><mark>two</mark><mark class='other'> three</mark></p>"
    )


def test_a_window_shows_only_the_lines_around_a_quote():
    text = "\n\n".join(f"Line {n}." for n in range(100))
    start = text.index("Line 50.")
    page = readable(text, PageMarks((start, start + 8)), window=(start - 5, start + 12))
    assert "<mark>Line 50.</mark>" in page and "Line 49." in page and "Line 52." not in page
    assert page.startswith("<p class='cut'>…</p>") and page.endswith("<p class='cut'>…</p>")


def test_markup_of_a_page_is_only_text():
    page = readable("<b>x</b> | <script>1</script>\n<i>&", PageMarks((0, 5)))
    assert "<b>" not in page and "<script" not in page and "<i>" not in page


TEXTS = st.text(alphabet="ab1 <&\n|.:From", max_size=80)
SPANS = st.tuples(st.integers(-5, 90), st.integers(-5, 90))


@given(TEXTS, SPANS, st.lists(SPANS, max_size=4), st.booleans())
def test_every_character_is_shown_once_and_in_order(text, quote, others, rows):
    page = readable(text, PageMarks(quote, tuple(others)), [Heading(1, 0, 1, "a")], rows=rows)
    assert visible(page) == re.sub(r"[\s|]", "", text)


@given(TEXTS.filter(lambda line: "\n" not in line))
def test_cells_joined_are_the_row(line):
    bare = line
    while len(bare) > 3 and bare.startswith("| ") and bare.endswith(" |"):
        bare = bare[2:-2]
    assert " | ".join(line[a:b] for a, b in cells(line)) == bare


def test_a_table_of_markdown_has_no_bars_and_no_rule():
    text = "| Kind | Price |\n|---|---:|\n| Couple | £380 |\n| Junior | £65 |"
    start = text.index("| Couple")
    shown = readable(text, PageMarks((start, start + len("| Couple | £380 |"))))
    assert "|" not in shown and "---" not in shown
    assert "<th scope=col>Kind</th>" in shown
    assert "<tr class='cited'><td>Couple</td>" in shown


def test_a_piece_of_a_page_keeps_a_heading_apart_from_the_sentence_below_it():
    shown = readable("Fares\n\nThe ferry costs four euros.", PageMarks((0, 0)), whole=False)
    assert shown == "<p>Fares</p><p>The ferry costs four euros.</p>"
