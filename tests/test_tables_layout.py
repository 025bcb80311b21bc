"""Where tables stand on a sheet, and what their rows are for."""

from __future__ import annotations

import time

import pytest

from rag_app.reading.limits import Limits
from rag_app.reading.sections import PageBuilder
from rag_app.tables import regions
from rag_app.tables.building import sql_names, typed_tables, unit_in_name
from rag_app.tables.columnar import block_values
from rag_app.tables.regions import shape
from rag_app.types import ColumnKind, Merged, RowRole, Table


def tables(text: str, merged: tuple[Merged, ...] = ()) -> list[Table]:
    """The tables of a sheet, a line a row, its cells between bars; an empty line an empty row."""
    sections = PageBuilder(Limits())
    rows = [[cell.strip() for cell in line.split("|")] for line in text.strip("\n").split("\n")]
    sections.table(rows, sections.grid("Sheet", merged=merged))
    return [stored.table for stored in typed_tables("d" * 64, sections.reading())]


def names(table: Table) -> list[str]:
    return [column.name for column in table.columns]


def roles(table: Table) -> list[tuple[RowRole, str]]:
    return [(row.role, row.text) for row in table.side_rows]


def test_a_title_above_the_names_is_the_title():
    (found,) = tables("Expenses of May\nWho | Paid\nAnn | 5\nBen | 7")
    assert (found.title, names(found), found.rows) == ("Expenses of May", ["Who", "Paid"], 2)


def test_names_may_stand_in_two_rows():
    (found,) = tables(
        "Item | 2020 |  | 2021 | \n | Q1 | Q2 | Q1 | Q2\nBolt | 1 | 2 | 3 | 4\nNut | 5 | 6 | 7 | 8"
    )
    assert names(found) == ["Item", "2020 Q1", "2020 Q2", "2021 Q1", "2021 Q2"]
    assert found.rows == 2


def test_years_above_numbers_are_names():
    (found,) = tables("Line | 2019 | 2020\nSales | 1,500 | 1,700\nCosts | 900 | 950\nStaff | 3 | 4")
    assert names(found) == ["Line", "2019", "2020"]


@pytest.mark.parametrize(
    "rows",
    [
        "Line | 2023 | 2024\nRent | 1200 | 1300\nPower | 1100 | 1150\nWater | 1010 | 1020",
        "Line | 2024 | 2023\nRent | 1950 | 1980\nPower | 2000 | 1990\nWater | 1970 | 2050",
    ],
)
def test_years_above_amounts_of_four_figures_are_names(rows):
    (found,) = tables(rows)
    assert (names(found)[0], found.rows) == ("Line", 3)
    assert [column.kind for column in found.columns[1:]] == [ColumnKind.INTEGER] * 2


def test_a_first_row_of_years_that_do_not_follow_each_other_is_data():
    (found,) = tables("Ann | 2001 | 2009\nBen | 2003 | 2011\nCid | 2004 | 2006")
    assert found.rows == 3


def test_amounts_keep_the_unit_and_the_month_that_their_column_is_called_after():
    (found,) = tables(
        "Flat | Rent (EUR) | May | Built\nA | 1950 | 1980 | 1962\nB | 2000 | 1990 | 1978"
    )
    kinds = [ColumnKind.INTEGER, ColumnKind.INTEGER, ColumnKind.YEAR]
    assert ([c.kind for c in found.columns[1:]], found.columns[1].unit) == (kinds, "EUR")


def test_a_table_without_names_loses_no_row():
    (found,) = tables("Ann | 5\nBen | 7\nCid | 9")
    assert (names(found), found.rows) == (["Column 1", "Column 2"], 3)


def test_a_sheet_of_text_only_is_a_table_of_texts():
    (found,) = tables("Name | Role\nAnn | cook\nBen | waiter\nCid | cook")
    assert (names(found), found.rows) == (["Name", "Role"], 3)
    assert {column.kind for column in found.columns} == {ColumnKind.TEXT}


def test_a_label_and_what_it_is_are_no_names_of_columns():
    (found,) = tables("Patient | Ann Ellwood, 71\nAdmitted | 9 May, by ambulance\nWard | Elm")
    assert (names(found), found.rows) == (["Column 1", "Column 2"], 3)
    (found,) = tables("Word | Meaning\nBaker | who bakes bread\nWard | part of a hospital, or Elm")
    assert (names(found), found.rows) == (["Word", "Meaning"], 2)


@pytest.mark.parametrize("said", ["Key holder 2025", "Who (1st choice)", "Antwort?", "Role:"])
def test_a_name_may_hold_a_year_or_a_mark(said):
    (found,) = tables(f"Room | {said}\nAttic | Ann and Ben\nHall | Cid")
    assert (names(found), found.rows) == (["Room", said], 2)


def test_a_totals_row_is_told_by_its_sum_whatever_it_is_called():
    (found,) = tables(
        "Who | Team | Paid | Hours\nAnn | A | 5 | 1\nBen | B | 7 | 2\nAltogether |  | 12 | 3"
    )
    assert found.rows == 2
    assert roles(found)[-1] == (RowRole.TOTAL, "Altogether |  | 12 | 3")


@pytest.mark.parametrize(
    ("rows", "last"),
    [
        ("Bolt | 5.49\nNut | 7.20\nPeg | 8.99\n", "Overall | 21.68"),
        ("Bolt | 512\nNut | 725\nPeg | 831\n", "Σ | 2068"),
        ("2021 | 5\n2022 | 7\n2023 | 8\n", "All | 20"),
        ("1 May 2026 | 5\n2 May 2026 | 7\n3 May 2026 | 8\n", "Every day | 20"),
        ("Bolt | 5\nNut | 7\nPeg | 8\n\n", "All | 20"),
    ],
    ids=["pence", "large", "years", "days", "apart"],
)
def test_a_last_row_of_one_measure_is_a_total_where_it_is_no_sum_by_chance(rows, last):
    (found,) = tables(f"What | Paid\n{rows}{last}")
    assert found.rows == 3 and roles(found)[-1] == (RowRole.TOTAL, last)
    (found,) = tables(f"What | Paid\n{rows}{last}1")  # ten times as much
    assert found.rows == 4


def test_totals_below_empty_rows_are_no_data():
    first = "Ann | 5 | 2\nBen | 7 | 2\nCid | 8 | 3\n\nAll | 20 | 7\n\n"
    second = "Dee | 5 | 1\nEve | 5 | 3\nFay | 5 | 6\n\nAll | 15 | 10"
    (found,) = tables(f"Who | Paid | Hours\n{first}{second}")
    assert found.rows == 6
    assert [role for role, _ in roles(found)].count(RowRole.TOTAL) == 2


@pytest.mark.parametrize(
    "rows",
    [
        "Bolt | 10\nNut | 20\nPeg | 30\nGear | 60",
        "Ann | 20\nBen | 20\nCid | 20\nDee | 20\nEve | 20\nDonation | 100",
        "Bolt | 0\nNut | 0\nPeg | 512.75\nGear | 512.75",
        "Food | 12.50\nRent | 512.25\nFuel | 7.30\nRent | 532.05",
        "1 May 2026 | 5.49\n2 May 2026 | 7.20\n3 May 2026 | 8.99\n4 May 2026 | 21.68",
        "Ann | 5\n\nBen | 7\n\nCid | 8\n\nDee | 20",
        "Ann | 5.49\nBen | 16.19\nCid | 21.68",
    ],
    ids=["round", "equal", "zeros", "name-again", "day", "all-apart", "two"],
)
def test_a_last_entry_of_one_measure_may_be_a_sum_by_chance(rows):
    (found,) = tables(f"What | Paid\n{rows}")
    assert found.rows == rows.count("|")


def test_a_last_entry_with_a_text_of_its_own_is_data():
    rows = "Ann | tea | 5.49\nBen | milk | 7.20\nCid | ham | 8.99\nDee | wine | 21.68"
    (found,) = tables(f"Who | What | Paid\n{rows}")
    assert found.rows == 4


def test_a_total_may_stand_above_what_it_adds_up():
    rows = "North | 10 | 100\nSouth | 20 | 200\nEast | 30 | 300"
    (found,) = tables(f"Region | Sales | Costs\nTotal | 60 | 600\n{rows}")
    assert found.rows == 3 and roles(found)[-1] == (RowRole.TOTAL, "Total | 60 | 600")


@pytest.mark.parametrize("first", ["Total Wine | 70 | 5", "Earned | 60 | 600"])
def test_a_first_row_that_is_only_called_a_total_or_only_adds_up_is_data(first):
    rows = "Food | 10 | 100\nRent | 20 | 200\nRest | 30 | 300"
    (found,) = tables(f"Item | 2024 | 2025\n{first}\n{rows}")
    assert found.rows == 4


def test_subtotals_and_the_total_of_all_are_no_data():
    (found,) = tables(
        "Who | Team | Paid\nAnn | A | 5\nBen | A | 7\nTotal |  | 12\n"
        "Cid | B | 1\nDee | B | 2\nTotal |  | 3\nTotal |  | 15"
    )
    assert found.rows == 4
    assert [role for role, _ in roles(found)].count(RowRole.TOTAL) == 3


def test_a_row_that_happens_to_be_a_sum_is_data():
    (found,) = tables("Item | Count\nBolt | 1\nNut | 2\nScrew | 3\nGear | 6")
    assert found.rows == 4


def test_an_entry_with_an_empty_cell_that_happens_to_be_a_sum_is_data():
    (found,) = tables(
        "What | Count | Note\nApples | 1 | red\nPears | 1 | green\nPlums | 2 | \nFigs | 4 | x"
    )
    assert found.rows == 4


@pytest.mark.parametrize("said", ["", "Fruit total", "Total fruit"])
def test_a_subtotal_of_one_measure_has_no_name_or_that_of_a_total(said):
    rows = f"Apples | 1 | red\nPears | 1 | green\n{said} | 2 | \nFigs | 5 | x\nDates | 6 | x"
    (found,) = tables(f"What | Count | Note\n{rows}")
    assert found.rows == 4
    (found,) = tables(
        f"What | Count | Note\n{rows.replace(said + ' | 2 | ', 'Plum | 2 | a')}\nTo pay | 15 |"
    )
    assert found.rows == 5


@pytest.mark.parametrize("said", ["Week {} total", "Zwischensumme", "Sous-total {}", "Total {}"])
def test_a_subtotal_may_have_words_before_that_for_a_total(said):
    rows = f"Mon | 100\nTue | 120\n{said} | 220\nWed | 90\nThu | 80\n{said} | 170"
    (found,) = tables(f"Day | Takings\n{rows.format(1, 2)}\nGrand total | 390")
    assert found.rows == 4
    assert [role for role, _ in roles(found)].count(RowRole.TOTAL) == 3


@pytest.mark.parametrize("entry", ["Lump sum | 230 | x", "Chairs | 220 | a total loss"])
def test_an_entry_that_has_a_word_for_a_total_in_it_is_data(entry):
    (found,) = tables(f"What | Paid | Note\nRent | 100 | a\nInk | 120 | b\n{entry}\nTea | 5 | c")
    assert found.rows == 4


@pytest.mark.parametrize(
    "rows",
    [
        "Day | What | Spent | Receipt\n1 May 2026 | Paint | 12.50 | 4\n"
        "2 May 2026 | Brushes | 7.50 | 5\n9 May 2026 | Timber | 20.00 |",
        "Member | Fee | Paid on\nAnn | 20 | 1 May 2026\nBen | 20 | 2 May 2026\nCole family | 40 |",
    ],
)
def test_a_last_entry_with_an_empty_cell_may_be_the_sum_of_two_others(rows):
    (found,) = tables(rows)
    assert found.rows == 3


@pytest.mark.parametrize("last", ["Summer party", "Total Wine", "Sum Restaurant"])
def test_a_last_entry_that_is_called_like_a_total_is_data(last):
    rows = "No. | Date | What | Spent\n1 | 1 May 2026 | Rent | 180\n2 | 3 May 2026 | Paint | 20\n"
    (found,) = tables(f"{rows}3 | 9 May 2026 | {last} | 98")
    assert found.rows == 3


def test_a_last_row_with_the_word_and_numbers_alone_is_a_total():
    (found,) = tables("Item | Count | Price\nBolt | 1 | 2\nNut | 2 | 3\nPeg | 3 | 4\nTotal | 7 | 5")
    assert found.rows == 3 and roles(found)[-1][0] is RowRole.TOTAL


def test_numbers_of_rows_are_no_measures():
    (found,) = tables(
        "No. | Name | Place\n1 | Ann | Rome\n2 | Ben | Oslo\n3 | Cid | \n4 | Dee | Bonn"
    )
    assert found.rows == 4


def test_names_may_begin_with_figures():
    (found,) = tables("Place | 5 Hoops | 2011 rank\n1 | 19.8 | 4\n2 | 19.7 | 3\n3 | 18.2 | 9")
    assert names(found) == ["Place", "5 Hoops", "2011 rank"]


def test_lines_between_the_rows_are_notes():
    (found,) = tables("Item | Count | Price\nMetal\nBolt | 1 | 2\nNut | 2 | 3\nWood\nPeg | 3 | 4")
    assert found.rows == 3
    assert [text for role, text in roles(found) if role is RowRole.NOTE] == ["Metal", "Wood"]


def test_two_tables_below_each_other_are_two():
    first, second = tables("Who | Paid\nAnn | 5\nBen | 7\n\nItem | Weight\nBolt | 2\nNut | 3")
    assert (names(first), names(second)) == (["Who", "Paid"], ["Item", "Weight"])
    assert (first.ordinal, second.ordinal) == (0, 1)


def test_an_empty_row_inside_a_table_parts_nothing():
    (found,) = tables("Who | Paid\nAnn | 5\n\nBen | 7\n\nCid | 8")
    assert found.rows == 3


def test_a_cell_of_thousands_of_dashes_is_told_from_a_total_at_once():
    began = time.perf_counter()
    (found,) = tables(f"Who | Paid\nAnn | 5\n{'-' * 3_000}x | 7\nCid | 8")
    assert found.rows == 3
    assert time.perf_counter() - began < 1  # about 10 ms on an idle machine


LEDGER = "Date | What | Amount\n1 April 2026 | Fees | 50\n13 April 2026 | Rent | -80\n"


@pytest.mark.parametrize(
    "below",
    [
        " | Bank balance | 490",
        "Opening balance |  | 500\nClosing balance |  | 470",
        " | Total | -30\n | Bank balance | 490",
        "Altogether |  | -30\n\n | Bank balance | 490",
    ],
)
def test_what_stands_below_days_without_one_is_no_entry(below):
    (found, *others) = tables(f"{LEDGER}\n{below}")
    assert (found.rows, found.columns[0].kind) == (2, ColumnKind.DATE)
    assert sum(other.rows for other in others) in (0, 2)


@pytest.mark.parametrize(
    "between",
    [" | Total | -30", "Altogether |  | -30", "May", " | Bank balance | 490", "May | |\n"],
)
def test_days_go_on_below_what_has_none(between):
    (found,) = tables(f"{LEDGER}\n{between}\n\n2 May 2026 | Ink | 3\n | Pens | 4\n")
    assert found.rows == 4 and names(found) == ["Date", "What", "Amount"]
    (found,) = tables(f"{LEDGER}\n | Brought forward | 3\n2 May 2026 | Ink | 3\n")
    assert found.rows == 4


@pytest.mark.parametrize("end", ["", "\nTotal |  | -13"])
def test_rows_below_days_that_leave_the_day_empty_are_entries(end):
    (found,) = tables(f"{LEDGER}\n | Ink | 8\n | Pens | 9{end}")
    assert found.rows == 4


def test_a_row_of_a_table_whose_rows_begin_with_no_days_may_lack_one():
    (found,) = tables(
        "Who | Fee | Paid on\nAnn | 5 | 1 May 2026\nBen | 7 | 2 May 2026\n\nCid | 9 |"
    )
    assert found.rows == 3


def test_empty_rows_cost_no_more_than_rows(monkeypatch):
    seen = []
    monkeypatch.setattr(regions, "shape", lambda text: seen.append(text) or shape(text))
    rows = "\n\n".join(f"{at % 28 + 1} May 2026 | thing {at} | {at * 1.5}" for at in range(300))
    (found,) = tables(f"Day | What | Price\n{rows}")
    assert found.rows == 300
    assert len(seen) < 300 * 3 * 3


MONTHS = """
Jobs of autumn
Day | Who | Paid
3 May | Ann | 5
4 May | Ben | 7
TOTAL May | | 12

Day | Who | Paid
1 June | Cid | 6
2 June | Dee | 2
TOTAL June | | 8
"""


def test_blocks_that_say_the_same_names_again_are_one_table():
    (found,) = tables(MONTHS)
    assert (found.title, found.rows) == ("Jobs of autumn", 4)
    header, again = (text for role, text in roles(found) if role is RowRole.HEADER)
    assert header == again and "Day" in header
    assert [text[:5] for role, text in roles(found) if role is RowRole.TOTAL] == ["TOTAL"] * 2


def test_blocks_with_a_line_of_their_own_above_the_same_names_are_tables_apart():
    north, south = tables(
        MONTHS.replace("\nDay | Who | Paid\n1 June", "\nSouth\nDay | Who | Paid\n1 June")
    )
    assert (north.rows, south.rows, south.title) == (2, 2, "South")


def test_names_that_are_said_again_among_the_rows_are_no_data():
    (found,) = tables("Who | Paid\nAnn | 5\nBen | 7\nCid | 8\nWho | Paid\nDee | 7\nEve | 1")
    assert found.rows == 5 and found.columns[1].kind is ColumnKind.INTEGER


def test_two_tables_beside_each_other_are_two():
    first, second = tables(
        "Who | Paid |  | Item | Count\nAnn | 5 |  | Bolt | 3\nBen | 7 |  | Nut | 4"
    )
    assert (names(first), names(second)) == (["Who", "Paid"], ["Item", "Count"])


def test_a_merged_cell_is_the_value_of_all_its_rows():
    sections = PageBuilder(Limits())
    rows = [["Region", "Year"], ["North", "2020"], ["", "2021"], ["South", "2021"]]
    sections.table(rows, sections.grid("S", merged=[Merged(2, 0, 3, 0)]))
    (found,) = typed_tables("d" * 64, sections.reading())
    assert found.table.rows == 3
    assert found.table.side_rows[0].role is RowRole.HEADER


def test_an_amount_that_is_merged_over_rows_is_counted_once():
    sections = PageBuilder(Limits())
    rows = [["Order", "Who", "Team", "Paid"], ["17", "Ann", "A", "300"]]
    rows += [["", "Ben", "A", ""], ["", "Cid", "B", ""], ["18", "Dee", "B", "50"]]
    merged = [Merged(2, 0, 4, 0), Merged(2, 3, 4, 3)]
    sections.table(rows, sections.grid("S", merged=merged))
    (found,) = typed_tables("d" * 64, sections.reading())
    (block,) = found.blocks
    assert block_values(block.values, 0) == [17, 17, 17, 18]
    assert block_values(block.values, 3) == [300, None, None, 50]


def test_a_column_name_is_safe_in_a_query_whatever_it_says():
    hostile = [
        '"; drop table',
        "select",
        "2019",
        "",
        "Größe (m)",
        "A B",
        "a-b",
        "%",
        "rowid",
        "x" * 99,
    ]
    found = sql_names(hostile)
    assert found[:7] == ["drop_table", "c_select", "c_2019", "c", "große_m", "a_b", "a_b_2"]
    assert len(set(found)) == len(hostile)
    assert all(name.replace("_", "a").isalnum() for name in found)


def test_the_name_of_a_column_may_say_its_unit():
    assert [unit_in_name(n) for n in ("Amount (EUR)", "Price in €", "Weight [kg]", "Item")] == [
        "EUR", "EUR", "kg", "",
    ]  # fmt: skip
    of_millions = "Revenue EUR m", "Revenue (EUR million)", "Sales USD bn", "Net profit, GBP k"
    assert [unit_in_name(n) for n in of_millions] == ["EUR m", "EUR million", "USD bn", "GBP k"]
    assert unit_in_name("Price EUR per m") == "EUR"
