"""The sheets of a file that have the same columns are one table, and each row knows its sheet."""

from __future__ import annotations

import calendar
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.reading.limits import Limits
from rag_app.reading.sheets import read_sheets
from rag_app.scope import WORKER
from rag_app.storage import Store
from rag_app.tables.building import typed_tables
from rag_app.tables.computing import names_of_rows, naming_columns, rows_used
from rag_app.tables.describing import describe
from rag_app.tables.joining import named, with_likes
from rag_app.tables.mending import by_sheets, mended, unfounded
from rag_app.tables.querying import TableDatabase, UsedRows
from rag_app.types import Column, ColumnKind, Document, Status, Table
from tests.offices import xlsx

HEAD = ["Plot", "Holder", "Size"]
SITES = {
    "North site": [HEAD, ["N0", "Ann Lee", 0], ["N1", "Ben Okoro", 1], ["N2", "Cid Moss", 2]],
    "South site": [HEAD, ["S0", "Dee Farr", 5], ["S1", "Eve Hale", 1]],
}
MONTHS = {
    "Jan": [HEAD, ["a", "Ann Lee", 1]],
    "Feb": [HEAD, ["b", "Ben Okoro", 2]],
    "Mar": [HEAD, ["c", "Cid Moss", 3.5]],
}
MAY = {"May": [HEAD, ["a", "Ann Lee", 1]], "June": [HEAD, ["b", "Ben Okoro", 2]]}
OFFICE = {"Shop": [HEAD, ["a", "Shop", 1]], "Head office": [HEAD, ["b", "Ben Okoro", 2]]}
WEEKS = {"Week 1": [HEAD, ["a", "Ann Lee", 1]], "Week 5": [HEAD, ["b", "Ben Okoro", 2]]}
OTHER = {**SITES, "Notes": [["What", "Who"], ["Hedge", "Ann Lee"]]}


@pytest.fixture
def store(database):
    made = Store(database)
    made.add_document(Document("one", "one.xlsx", ".xlsx", 1, Status.READY, "2026"))
    yield made
    made.close()


@pytest.fixture
def opened(store, file):
    def of(sheets):
        reading = read_sheets(file(xlsx(**sheets)), limits=Limits())
        store.save_reading("one", reading, typed_tables("one", reading))
        return TableDatabase(store.tables.of(WORKER), store.tables)

    return of


def test_sheets_of_figures_that_may_be_years_and_of_others_are_one_table(opened):
    may = [["Item", "Paid"], ["Rent", 1950], ["Power", 1980]]
    june = [["Item", "Paid"], ["Rent", 2310], ["Power", 1120]]
    with opened({"May": may, "June": june}) as database:
        (table,) = (one.table for one in database.tables)
        assert table.columns[1].kind is ColumnKind.INTEGER
        assert database.run("SELECT sum(paid) FROM t1").rows == ((7360,),)


@pytest.mark.parametrize(
    ("sheets", "question", "sql", "total"),
    [
        (SITES, "How big are plots on the North site?", "SELECT sum(size) FROM t1", 3),
        (SITES, "how big is the south", "SELECT sum(x.size) FROM t1 x WHERE x.size > 1", 5),
        (SITES, "how big is the site?", "SELECT sum(size) FROM t1", 9),  # both are called so
        (SITES, "how big are north and south", "SELECT sum(size) FROM t1", 9),
        (SITES, "and north", "SELECT sum(size) FROM t1 WHERE lower(sheet) = 'south site'", 6),
        (MONTHS, "what was it in February?", "SELECT sum(size) FROM t1", 2),
        (MONTHS, "and from january until march", "SELECT sum(size) FROM t1", 6.5),
        (MONTHS, "what do we pay at the market", "SELECT sum(size) FROM t1", 6.5),
        (MONTHS, "and all year", "SELECT sum(size) FROM t1", 6.5),
        (MONTHS, "how much since March?", "SELECT sum(size) FROM t1", 6.5),
        (MAY, "How much may a member borrow?", "SELECT sum(size) FROM t1", 3),
        (MAY, "how much was it in may?", "SELECT sum(size) FROM t1", 1),
        (MAY, "How much was it, May?", "SELECT sum(size) FROM t1", 1),
        (OFFICE, "how much for office supplies", "SELECT sum(size) FROM t1", 3),
        (OFFICE, "how much at the head office", "SELECT sum(size) FROM t1", 2),
        (OFFICE, "how much", "SELECT sum(size) FROM t1 WHERE holder = 'Shop'", 1),
        (WEEKS, "who has more than 5 of them", "SELECT sum(size) FROM t1", 3),
        (WEEKS, "how many in week 5", "SELECT sum(size) FROM t1", 2),
        (WEEKS, "how many in week 1 and week 5", "SELECT sum(size) FROM t1", 3),
    ],
)
def test_a_query_over_sheets_is_about_those_that_are_named(opened, sheets, question, sql, total):
    with opened(sheets) as database:
        assert len(database.tables) == 1
        ((found,),) = database.run(mended(sql, question, database)).rows
        assert float(found) == total


def test_a_figure_of_all_sheets_is_told_for_each(opened):
    with opened(SITES) as database:
        asked = by_sheets("SELECT count(*) FROM t1 WHERE size < 2", database)
        counts = {name: database.run(sql).rows for name, sql in asked.items()}
        assert counts == {"North site": ((2,),), "South site": ((1,),)}
        assert by_sheets("SELECT count(*) FROM t1 WHERE sheet = 'North site'", database) == {}
    with opened({"Only": SITES["North site"]}) as database:
        assert by_sheets("SELECT count(*) FROM t1", database) == {}


def test_sheets_with_other_columns_are_tables_of_their_own(opened, store):
    with opened(OTHER) as database:
        assert [one.table.rows for one in database.tables] == [5, 1]
        assert "sheet text 'North site', 'South site'" in describe(database, {}).text
        north, south, notes = store.tables.of(WORKER)
        assert with_likes([south], [north, south, notes]) == [south, north]
        assert with_likes([notes], [north, south, notes]) == [notes]
    with opened(
        {"A": [["Plot", "Sheet"], ["x", "1"]], "B": [["Plot", "Sheet"], ["y", "2"]]}
    ) as two:
        assert len(two.tables) == 2  # a column is called so already


TAKINGS = ["Date", "Where", "Total"]
DIRTY = {
    "April": [TAKINGS, ["2024-04-03", "Shop", 250], ["2024-04-04", "Shop", 9]],
    "May": [TAKINGS, ["2024-05-03", "Shop", "£340.65"], ["some day", "Shop", "£2"]]
    + [["2024-05-05", "Stall", "£1"]] * 3,
}


def test_sheets_that_differ_in_what_is_beside_a_value_are_one_table(opened):
    with opened(DIRTY) as database:
        (table,) = database.tables
        date, _, total, _ = table.table.columns
        assert (total.unit, date.has_text) == ("GBP", True)
        sql = "SELECT sum(total), count(date_text) FROM t1"
        assert database.run(sql).rows == ((Decimal("604.65"), 1),)


def test_sheets_in_two_currencies_are_no_table(opened):
    euros = [TAKINGS, ["2024-06-03", "Shop", "1.20 €"], ["2024-06-04", "Shop", "3.10 €"]]
    with opened({**DIRTY, "June": euros}) as database:
        assert [len(one.parts) for one in database.tables] == [2, 1]


def test_whole_numbers_and_others_are_added_to_the_cent(opened):
    with opened(MONTHS) as database:
        assert database.run("SELECT sum(size) FROM t1").rows == ((Decimal("6.5"),),)


def test_each_row_of_a_result_rests_on_rows_of_its_sheet(opened, store):
    with opened(SITES) as database:
        north, south = store.tables.of(WORKER)
        listed = database.run("SELECT plot FROM t1 WHERE size = 1")
        assert listed.used == ((UsedRows(north, 1, (1,)),), (UsedRows(south, 1, (1,)),))
        counted = database.run("SELECT count(*) FROM t1 WHERE size < 3")
        assert counted.used == ((UsedRows(north, 3, (0, 1, 2)), UsedRows(south, 1, (1,))),)
        largest = database.run("SELECT max(size) FROM t1")
        assert [one.rows[0] for one in largest.used[0]] == [2, 0]
        nothing = database.run("SELECT plot FROM t1 WHERE size = 9")
        assert nothing.read == (UsedRows(north, 0, ()),)
        paired = database.run("SELECT a.plot FROM t1 a JOIN t1 b ON a.size < b.size - 4")
        assert {*paired.used[0]} == {UsedRows(north, 1, (0,)), UsedRows(south, 1, (0,))}
        called = names_of_rows(listed, database)
        assert called == {(0, 0): "Ben Okoro", (1, 0): "Eve Hale"}
        naming = naming_columns(listed, database)
        assert naming == {north: 1, south: 1}
        pages = {n: store.page("one", n, WORKER).text for n in (1, 2)}
        rows = rows_used(listed, {"one": "one.xlsx"}, naming, store.tables, lambda _, n: pages[n])
        assert [(one.table, one.rows[0][0].text) for one in rows] == [
            ("North site", "Ben Okoro"),
            ("South site", "Eve Hale"),
        ]


def test_so_many_sheets_and_months_can_be_asked(opened):
    months = [name for name in calendar.month_name if name]
    sheets = {f"Shop {n}": [["Kind", *months], ["Gas", *range(12)]] for n in range(40)}
    with opened(sheets) as database:
        found = database.run("SELECT kind, sum(value) FROM t1 GROUP BY kind")
        assert found.rows == (("Gas", 40 * 66),) and len(found.used[0]) == 40
        assert found.named >= {"january", "december"}


@pytest.mark.parametrize(
    "sheets",
    [
        {"Zürich": SITES["North site"], "Zurich": SITES["South site"]},
        {f"Sheet {n}": SITES["South site"] for n in range(61)},
    ],
)
def test_sheets_that_queries_cannot_tell_apart_or_too_many_stay_apart(opened, store, sheets):
    with opened(sheets) as database:
        assert len(database.tables) == len(sheets)
    first, *others = store.tables.of(WORKER)
    assert with_likes([first], [first, *others]) == [first]


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6), min_size=2, max_size=4))
def test_rows_of_all_sheets_are_counted_once(sizes):
    column = Column("Size", "size", ColumnKind.INTEGER)
    parts = [
        Table("one", at, f"s{at}", "", (column,), len(each), at + 1, at + 1)
        for at, each in enumerate(sizes)
    ]
    (joined,) = named(parts)
    assert joined.table.rows == sum(map(len, sizes))
    ends = [first + part.rows for part, first in [(p.table, p.first) for p in joined.pieces]]
    assert [p.first for p in joined.pieces] == [0, *ends[:-1]] and ends[-1] == joined.table.rows


COSTS = [["Kind", "Jan", "Feb", "Mar", "Year"], ["Gas", 3, 4, 5, 12], ["Hall", 7.5, "", 1, 8.5]]
YEARS = {"2024": COSTS, "2025": [COSTS[0], ["Gas", 30, 40, 50, 120], ["Hall", 1, 2, 3, 6]]}


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT sum(value) FROM t1 WHERE lower(kind) = 'gas'", [(132,)]),
        ("SELECT sum(value) FROM t1 WHERE lower(kind) = 'gas' AND sheet = '2025'", [(120,)]),
        (
            "SELECT value FROM t1 WHERE lower(month) = 'february' AND sheet = '2024'",
            [(4,), (None,)],
        ),
        (
            "SELECT month, sum(value) FROM t1 WHERE sheet = '2024' GROUP BY month "
            "ORDER BY sum(value) DESC LIMIT 1",
            [("January", Decimal("10.5"))],
        ),
    ],
)
def test_a_column_for_each_month_is_a_row_for_each(opened, sql, rows):
    with opened(YEARS) as database:
        (table,) = database.tables
        names = [column.name for column in table.table.columns]
        assert names == ["Kind", "Month", "Value", "Sheet"] and table.table.rows == 12
        assert [*database.run(sql).rows] == rows


@pytest.mark.parametrize(
    ("order", "asks"),
    [
        ("ORDER BY rowid LIMIT 1", True),
        ("ORDER BY rowid DESC LIMIT 1", True),
        ("ORDER BY value DESC LIMIT 1", False),
        ("ORDER BY rowid", False),
        ("LIMIT 1", False),
    ],
)
def test_the_first_of_what_has_no_order_is_not_taken(opened, order, asks):
    with opened({"2024": COSTS}) as database:
        assert bool(unfounded(f"SELECT month FROM t1 {order}", database)) is asks
    with opened({"2024": SITES["North site"]}) as database:
        assert not unfounded("SELECT plot FROM t1 ORDER BY rowid LIMIT 1", database)


def test_a_figure_of_a_month_rests_on_its_cell(opened, store):
    with opened({"2024": COSTS}) as database:
        (table,) = store.tables.of(WORKER)
        pages = {1: store.page("one", 1, WORKER).text}

        def shown(sql: str) -> list[list[str]]:
            found = database.run(sql)
            naming = naming_columns(found, database)
            used = rows_used(found, {}, naming, store.tables, lambda _, n: pages[n])
            return [[cell.text for cell in row] for one in used for row in one.rows]

        one = "SELECT value FROM t1 WHERE kind = 'Gas' AND month = 'March'"
        assert database.run(one).used == ((UsedRows(table, 1, (0,)),),)
        assert shown(one) == [["Gas", "5"]]
        assert shown("SELECT sum(value) FROM t1 WHERE kind = 'Gas'") == [["Gas", "3", "4", "5"]]
        both = database.run("SELECT sum(value) FROM t1 WHERE month = 'January'")
        assert both.used == ((UsedRows(table, 2, (0, 1)),),)


@pytest.mark.parametrize(
    "head",
    [
        ["Kind", "Jan", "Feb", "Budget", "Year"],  # two months
        ["Kind", "Jan", "Feb", "Mar", "Budget"],  # which is no sum of them
        ["Kind", "Jan 24", "Feb 24", "Mar 24", "Year"],
        ["Month", "Jan", "Feb", "Mar", "Year"],
    ],
)
def test_other_columns_stay_as_they_are(opened, head):
    rows = [["Gas", 3, 4, 5, 99], ["Hall", 7, 1, 1, 99]]
    rows = [[*row[:4], sum(row[1:4])] if head[4] == "Year" else row for row in rows]
    with opened({"2024": [head, *rows]}) as database:
        assert [column.name for column in database.tables[0].table.columns] == head


def test_figures_of_many_places_beside_others_are_added_up(opened):
    rows = [["Kind", "Jan", "Feb", "Mar", "All"], ["Gas", 171.4285714285714, 12.5, 1, 184.9285714]]
    with opened({"2024": rows}) as database:
        ((found,),) = database.run("SELECT sum(value) FROM t1").rows
        assert float(found) == pytest.approx(184.9285714)
