"""A query that names what is not there is mended where only one thing can be meant."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest

from rag_app.errors import QueryError
from rag_app.reading.limits import Limits
from rag_app.reading.sheets import read_delimited
from rag_app.scope import WORKER
from rag_app.storage import Store
from rag_app.tables.building import typed_tables
from rag_app.tables.mending import (
    belongs_to,
    left_out,
    mended,
    of_month,
    unfounded,
    with_column_beside,
)
from rag_app.tables.querying import TableDatabase
from rag_app.types import Document, Status

DOCUMENT = Document("one", "one.csv", ".csv", 1, "2021", Status.READY)
SHEET = b"""day;who;hours;final mark;Categor\xc3\xada;price in sale;price in purchase;quiz 1;quiz 2
2024-10-01;Ann;2.5;12;x;1;2;3;4
2024-11-03;Ben;4;abs;y;1;2;3;4
2024-12-20;Ann;1;14;y;1;2;3;4
2024-12-21;Ann;1;15;y;1;2;3;4
"""


@pytest.fixture
def database_of(database, file):
    store = Store(database)
    store.add_document(DOCUMENT)

    def opened(data: bytes = SHEET) -> TableDatabase:
        reading = read_delimited(file(data), limits=Limits())
        store.save_reading("one", reading, typed_tables("one", reading))
        return TableDatabase(store.tables.of(WORKER), store.tables)

    yield opened
    store.close()


@pytest.mark.parametrize(
    ("sql", "founded"),
    [
        ("SELECT 42", False),
        ("SELECT 12 + 9 FROM t1 LIMIT 1", False),
        ("SELECT sum(7) FROM t1", False),
        ("SELECT count(*) FROM t1", True),
        ("SELECT count(*) FROM t1 WHERE who = 'Ann'", True),
        ("SELECT CASE WHEN EXISTS (SELECT 1 FROM t1 WHERE who = 'Ann') THEN 1 ELSE 0 END", True),
        ("SELECT hours FROM t1 ORDER BY hours LIMIT 1", True),
    ],
)
def test_a_figure_that_no_column_gave_is_none(database_of, sql, founded):
    with database_of() as database:
        assert (unfounded(sql, database) == "") is founded


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT sum(hours) FROM t1 WHERE month(date) = 11", ((4,),)),
        ("SELECT sum(hour) FROM t1", ((Decimal("8.5"),),)),
        ("SELECT sum(hours) FROM t1 WHERE who_text = 'Ben'", ((4,),)),
        ("SELECT x.who FROM t1 AS x WHERE x.date = '2024-11-03'", (("Ben",),)),
        ("SELECT (SELECT max(hours) FROM t1) - (SELECT min(hours) FROM t1) FROM dual", ((3,),)),
        (
            "SELECT who, sum(hours) AS total FROM t1 GROUP BY who ORDER BY total LIMIT 1",
            (("Ben", 4),),
        ),
        ("WITH each_one AS (SELECT who AS a FROM t1) SELECT count(a) FROM each_one", ((4,),)),
        ("SELECT count(*) FROM t1 WHERE categoria = 'y'", ((3,),)),
        ("SELECT count(*) FROM t1 WHERE day_text ILIKE '2024-12%'", ((2,),)),
        ("SELECT count(*) FROM t1 WHERE day = '2024' AND hours > 2", ((2,),)),
        ("SELECT count(*) FROM t1 AS x WHERE x.day = '2024-12'", ((2,),)),
        ("SELECT max(day) FROM t1 WHERE day = '2024-11-03'", ((dt.date(2024, 11, 3),),)),
    ],
)
def test_a_column_is_known_by_a_name_that_is_nearly_its_own_or_its_kind(database_of, sql, rows):
    with database_of() as database:
        assert database.run(mended(sql, "", database)).rows == rows


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT paid FROM t1",
        "SELECT sum(number) FROM t1",
        "SELECT max(rank) FROM t1",
        "SELECT sum(price_in_store) FROM t1",
        "SELECT max(quiz_3) FROM t1",
        "SELECT sum(price) FROM t1",
    ],
)
def test_what_could_be_none_or_several_is_left_as_it_is(database_of, sql):
    with database_of() as database:
        assert mended(sql, "", database) == sql
        with pytest.raises(QueryError):
            database.run(sql)


@pytest.mark.parametrize(
    ("question", "where", "missing"),
    [
        ("Hours from 8 October to 3 May?", "day > '2024-10-08' AND day < '2025-05-03'", ""),
        ("How many hours in 2024?", "1 = 1", ""),
        ("How many hours in 2023?", "1 = 1", "2023"),
        ("How many hours in room 12?", "1 = 1", ""),
        ("Whose mark is over 1,500.5?", "final_mark > 1500.5", ""),
        ("Wer hat mehr als 2,5 Stunden?", "hours > 2.5", ""),
        ("Who is under 18?", "hours < 16", "18"),
        ("How many hours in november", "month(day) = 10", "November"),
        ("How many hours in november", "month(day) = 11", ""),
        ("How many hours in November", "day LIKE '2024-11%'", ""),
        ("How many hours in November", "strftime(day, '%b') = 'Nov'", ""),
        ("How much may Ann claim?", "who = 'Ann'", ""),
        ("How much did Ann claim in May?", "who = 'Ann'", "May"),
        ("how much did ann claim in may", "who = 'Ann'", "May"),
        ("how much may ann claim", "who = 'Ann'", ""),
    ],
)  # fmt: skip
def test_a_figure_or_month_of_the_question_is_in_the_query_or_goes_without_saying(
    database_of, question, where, missing
):
    with database_of() as database:
        sql = f"SELECT sum(hours) FROM t1 WHERE {where}"
        assert left_out(sql, question, {"t1": "Time sheet, room 12"}, database) == missing


@pytest.mark.parametrize(
    ("title", "missing"),
    [("Hours, June 2024", ""), ("Hours, May and June", "June"), ("Hours", "June")],
)
def test_a_month_goes_without_saying_where_the_title_names_no_other(database_of, title, missing):
    with database_of() as database:
        titles = {"t1": title, "t2": "Hours, July"}
        assert left_out("SELECT sum(hours) FROM t1", "in june?", titles, database) == missing
        both = left_out("SELECT sum(hours) FROM t1", "in may and june?", titles, database)
        assert (both == "") is (title == "Hours, May and June")


@pytest.mark.parametrize(
    ("question", "sql", "missing"),
    [
        ("Which of the 3 days?", "SELECT day FROM t1 WHERE day > DATE '2025-12-01'", ""),
        ("Which of the 7 days?", "SELECT day FROM t1 WHERE day > DATE '2025-12-01'", "7"),
        ("Who is in room 4?", "SELECT day FROM t1", "4"),
        ("How much in week 4?", "SELECT day, count(*) FROM t1 GROUP BY day", "4"),
    ],
)
def test_so_many_rows_as_a_query_lists_go_without_saying(database_of, question, sql, missing):
    with database_of(BOOK) as database:
        assert left_out(sql, question, {}, database) == missing


def test_a_year_that_nobody_named_is_that_of_the_sheet(database_of):
    asked = "SELECT sum(hours) FROM t1 WHERE day < '2025-11-01'"
    with database_of() as database:
        assert "'2024-11-01'" in mended(asked, "how many hours before 1 november", database)
        assert mended(asked, "how many hours before 1 november 2025", database) == asked
        leap = asked.replace("2025-11-01", "2023-02-28")
        assert "'2024-02-28'" in mended(leap, "before the end of february", database)
    with database_of(SHEET.replace(b"2024-10", b"2023-10")) as database:
        assert mended(asked, "how many hours before 1 november", database) == asked


@pytest.mark.parametrize(
    ("question", "condition", "count"),
    [
        ("shifts in 2024?", "day >= '2024-01-01' AND day < '2025-01-01'", 4),
        ("shifts in December?", "day >= '2024-12-01' AND day < DATE '2025-01-01'", 2),
        ("shifts in December?", "day >= '2022-12-01' AND day < DATE '2023-01-01'", 2),
        ("shifts before the new year?", "day < CAST('2025-01-01' AS DATE)", 4),
        ("shifts before 2025?", "day < '2025-01-01'", 4),
        ("shifts before 2024?", "day < '2024-01-01'", 0),
        ("shifts from November to March?", "day BETWEEN '2022-11-01' AND '2023-03-31'", 3),
        ("shifts from November to March?", "day BETWEEN '2024-11-01' AND '2025-03-31'", 3),
        ("shifts up to 1 January?", "day <= '2025-01-01'", 0),  # of the only year there is
    ],
)
def test_both_ends_of_a_time_are_moved_together(database_of, question, condition, count):
    with database_of() as database:
        sql = mended(f"SELECT count(*) FROM t1 WHERE {condition}", question, database)
        assert database.run(sql).rows == ((count,),)


CAFE = b"""day;what;euros
2026-01-01;Coffee and tea;4
2026-01-02;Membership fee;20
2026-01-03;Late-fees;5
2026-01-04;B\xc3\xbcromiete;300
2026-01-05;Guarantee;7
"""


@pytest.mark.parametrize(
    ("condition", "total"),
    [
        ("lower(what) LIKE '%fee%'", 25),
        ("what ILIKE '%FEE%'", 25),
        ("lower(t1.what) NOT LIKE '%fee%'", 311),
        ("lower(what) LIKE '%miete%'", 300),  # no word begins with it
        ("lower(what) LIKE '%tee%'", None),  # too short to be a part of a compound
        ("lower(what) LIKE '%ate fee%' OR lower(what) LIKE '%ship_fee%'", 20),
        ("lower(what) LIKE '%fee'", 20),
    ],
)
def test_what_is_looked_for_inside_of_texts_is_found_where_words_begin(
    database_of, condition, total
):
    with database_of(CAFE) as database:
        sql = mended(f"SELECT sum(euros) FROM t1 WHERE {condition}", "", database)
        assert database.run(sql).rows == ((total,),)


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("lower(what) LIKE '%fee%'", [("what", "like", "%fee%")]),
        ("NOT (what = 'x')", [("what", "<>", "x")]),
        ("what NOT LIKE '%xyz%'", [("what", "not like", "%xyz%")]),
        ("what IN ('x', 'y')", [("what", "=", "x"), ("what", "=", "y")]),
        ("what NOT IN ('x')", [("what", "<>", "x")]),
        ("year(day) = 2025", [("day", "=", "2025")]),
        ("month(day) = 6", [("day", "=", "June")]),
        ("strftime(day, '%m') IN ('06')", [("day", "=", "June")]),
        ("CAST(day AS DATE) >= DATE '2026-01-01'", [("day", ">=", "2026-01-01")]),
        ("DATE '2026-01-01' > day", [("day", "<", "2026-01-01")]),
        ("NOT (day > DATE '2026-01-01')", [("day", "<=", "2026-01-01")]),
        (
            "day BETWEEN '2026-01-01' AND DATE '2026-01-31'",
            [("day", ">=", "2026-01-01"), ("day", "<=", "2026-01-31")],
        ),
        ("day NOT BETWEEN '2026-01-01' AND '2026-01-31'", []),
        ("euros < -3.5", [("euros", "<", "-3.5")]),
        ("coalesce(euros, 0) = 0", [("euros", "=", "0")]),
        ("euros IS NULL AND day IS NOT NULL", [("euros", "empty", "")]),
        ("euros = (SELECT max(euros) FROM t1)", []),
        ("length(what) > 3 AND euros - 2 > 1", []),
    ],
)
def test_what_rows_are_chosen_by_is_told(database_of, condition, said):
    with database_of(CAFE) as database:
        sql = mended(f"SELECT sum(euros) FROM t1 WHERE {condition}", "", database)
        filters = database.run(sql).filters
        assert [(one.column, one.comparison, one.text) for one in filters] == said


def test_what_figures_of_groups_are_held_against_chooses_no_rows(database_of):
    with database_of() as database:
        sql = "SELECT who FROM t1 GROUP BY who HAVING sum(hours) > 4 OR count(*) > 9"
        assert database.run(sql).filters == ()


BOOK = b"""day;in;out
2025-11-03;5;1
2025-12-31;7;9
2026-01-05;1;2
2026-11-20;2;4
"""
MONTHS = (("November 2025", 1), ("December 2025", 9), ("January 2026", 2), ("November 2026", 4))


def test_what_is_no_month_at_all_is_left(database_of):
    with database_of(BOOK) as database, pytest.raises(QueryError):
        database.run(mended("SELECT strftime(day), sum(out) FROM t1 GROUP BY 1", "", database))


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT month(day) AS m, sum(out) FROM t1 GROUP BY m ORDER BY m", MONTHS),
        ("SELECT month(x.day), sum(out) FROM t1 AS x GROUP BY 1", MONTHS),
        ("SELECT extract(month FROM day), sum(out) FROM t1 GROUP BY ALL ORDER BY ALL", MONTHS),
        ("SELECT strftime(day, '%Y-%m'), sum(out) FROM t1 GROUP BY strftime(day, '%Y-%m')", MONTHS),
        ("SELECT date_trunc('month', day) m, sum(out) FROM t1 GROUP BY 1 ORDER BY 1", MONTHS),
        (
            "SELECT monthname(day) FROM t1 GROUP BY monthname(day) ORDER BY sum(out) DESC LIMIT 1",
            (("December 2025",),),
        ),
        ("SELECT year(day), sum(out) FROM t1 GROUP BY 1 ORDER BY 1", ((2025, 10), (2026, 6))),
        ("SELECT month(day) FROM t1 ORDER BY day LIMIT 1", ((11,),)),
        (
            "SELECT sum(out) FROM t1 WHERE day > '2026-02-01' UNION ALL SELECT 1 WHERE 'a' = 'a'",
            ((4,), (1,)),
        ),
    ],
)
def test_months_are_those_of_a_year_and_follow_each_other(database_of, sql, rows):
    with database_of(BOOK) as database:
        assert database.run(mended(sql, "", database)).rows == rows


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        (
            "SELECT m, s FROM (SELECT month(day) AS m, sum(out) AS s FROM t1 GROUP BY m) "
            "ORDER BY s DESC LIMIT 1",
            ((12, 9),),
        ),
        ("SELECT month(day) AS m, sum(out) FROM t1 GROUP BY m HAVING m > 11", ((12, 9),)),
        (
            "SELECT month(day), sum(out) FROM t1 GROUP BY month(day) HAVING month(day) > 11",
            ((12, 9),),
        ),
        ("SELECT month(day) m, sum(out) FROM t1 GROUP BY 1 ORDER BY m % 12 LIMIT 1", ((12, 9),)),
    ],
)
def test_a_month_whose_number_a_query_needs_stays_a_number(database_of, sql, rows):
    with database_of(BOOK) as database:
        assert database.run(mended(sql, "", database)).rows == rows


def test_a_month_is_called_as_its_query_calls_it(database_of):
    with database_of(BOOK) as database:
        sql = "SELECT month(day) AS monat, sum(out) FROM t1 GROUP BY monat"
        assert database.run(mended(sql, "", database)).columns[0] == "monat"


@pytest.mark.parametrize(
    ("question", "condition", "total"),
    [
        ("spent in 2026?", "day = DATE '2026-01-01'", 6),
        ("spent in 2026?", "t1.day = '2026-01-01'", 6),
        ("spent in November 2025?", "day = DATE '2025-11-01'", 1),
        ("wer zahlte 2026, und was kaufen sie?", "day = DATE '2026-01-01'", 6),
        ("spent in 11/2025?", "day = DATE '2025-11-01'", 1),
        ("spent on 1 November 2025?", "day = DATE '2025-11-01'", None),
        ("spent on New Year's Day?", "day = DATE '2026-01-01'", None),
        ("spent since 2026?", "day >= DATE '2026-01-01'", 6),
        ("spent on the first of November 2025?", "day = DATE '2025-11-01'", None),
        ("spent on November first, 2025?", "day = DATE '2025-11-01'", None),
        ("am ersten November 2025 bezahlt?", "day = DATE '2025-11-01'", None),
        ("what went out of November 2025?", "day = DATE '2025-11-01'", 1),
    ],
)
def test_a_year_that_is_named_is_not_its_first_day(database_of, question, condition, total):
    with database_of(BOOK) as database:
        sql = mended(f"SELECT sum(out) FROM t1 WHERE {condition}", question, database)
        assert database.run(sql).rows == ((total,),)


@pytest.fixture
def together(database, file):
    """Several sheets, by their names, in one database."""
    store = Store(database)

    def opened(**sheets: bytes) -> TableDatabase:
        for name, data in sheets.items():
            store.add_document(Document(name, f"{name}.csv", ".csv", 1, "2021", Status.READY))
            reading = read_delimited(file(data), limits=Limits())
            store.save_reading(name, reading, typed_tables(name, reading))
        return TableDatabase(store.tables.of(WORKER), store.tables)

    yield opened
    store.close()


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT sum(euros) FROM t1", ((336,),)),
        ("SELECT max(t1.euros) FROM t1 WHERE t1.day > '2026-01-04'", ((7,),)),
        ("SELECT who AS a FROM t2 GROUP BY who HAVING sum(hours) > 4 ORDER BY a", (("Ann",),)),
    ],
)
def test_a_query_reads_the_table_that_has_its_columns(together, sql, rows):
    with together(one=SHEET, two=CAFE) as database:
        assert database.run(mended(sql, "", database)).rows == rows


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("SELECT who, sum(euros) FROM t1 GROUP BY who", "t2"),
        ("SELECT who, sum(hours) FROM t1 GROUP BY who", ""),
        ("SELECT what FROM t2 WHERE rowid = 1", ""),
        ("SELECT nothing FROM t1", ""),
        ("SELECT who, what FROM t1, t2", ""),
    ],
)
def test_the_table_is_known_that_has_what_a_query_lacks(together, sql, table):
    with together(one=SHEET, two=CAFE) as database:
        assert belongs_to(sql, database) == table


TITLED = b"""Spring concert, Saturday 18 April 2026;;
Kind;Sold;Price
Adult;74;13
Child at the concert;20;6
"""


@pytest.mark.parametrize(
    ("condition", "sold"),
    [
        ("lower(who) = 'spring concert'", 94),
        ("lower(t1.kind) = 'spring concert' AND t1.sold > 20", 74),
        ("kind LIKE '%spring concert%'", 94),
        ("lower(kind) LIKE '%concert%'", 20),  # a row says so
        ("lower(kind) = 'winter concert'", None),
    ],
)
def test_no_row_is_held_against_what_its_table_is_called(database_of, condition, sold):
    with database_of(TITLED) as database:
        sql = mended(f"SELECT sum(sold) FROM t1 WHERE {condition}", "", database)
        assert database.run(sql).rows == ((sold,),)


@pytest.mark.parametrize(
    ("sql", "beside"),
    [
        ("SELECT month(day), sum(c_in) FROM t1 GROUP BY 1", True),
        ("SELECT month(day), sum(c_in) FROM t1 WHERE c_in > 0 GROUP BY 1", False),
        ("SELECT c_in, count(*) FROM t1 GROUP BY c_in", False),
    ],
)
def test_two_columns_stand_beside_each_other_unless_rows_are_chosen_by_one(
    database_of, sql, beside
):
    with database_of(BOOK) as database:
        own, other = (c for c in database.tables[0].table.columns if c.name in ("in", "out"))
        made = with_column_beside(sql, own, other, database)
        assert bool(made) is beside
        if made:
            rows = database.run(made).rows
            assert sorted(rows) == [(1, 1, 2), (11, 7, 5), (12, 7, 9)]


NORTH = b"Plot;Size\nN0;0\nN1;1\nN2;2\n"


@pytest.mark.parametrize(
    ("question", "condition", "count"),
    [
        ("how many plots are there", "plot LIKE '%n%'", 3),
        ("how many plots of n", "lower(plot) LIKE '%n%'", 3),
        ("how many plots are there", "lower(plot) LIKE '%n1%'", 1),  # a word
        ("how many of x", "plot LIKE '%x%'", 0),
        ("how many plots are there", "plot NOT LIKE '%x%'", 3),
        ("how many of n", "lower(plot) LIKE '%z%'", 0),  # which no row has anywhere
        ("how many are there", "lower(plot) LIKE '%n%' OR size = 9", 3),
        ("how many plots are there", "lower(plot) LIKE '%plot%'", 0),
        ("how many are there", "lower(plot) = 'n1'", 1),
    ],
)
def test_letters_that_nobody_typed_choose_no_rows(together, question, condition, count):
    with together(north=NORTH) as database:
        sql = mended(f"SELECT count(*) FROM t1 WHERE {condition}", question, database)
        assert database.run(sql).rows == ((count,),)


PAID = b"Plot;Due;Paid\na;5;0\nb;5;5\nc;;0\n"


@pytest.mark.parametrize(
    ("condition", "count"),
    [
        ("paid IS NULL", 2),
        ("due > 1 AND t1.paid IS NULL", 1),
        ("due IS NULL", 1),
        ("paid IS NOT NULL", 3),
        ("NOT (paid IS NULL)", 1),
        ("plot IS NULL", 0),
    ],
)
def test_who_paid_nothing_has_a_zero_where_no_figure_is_missing(database_of, condition, count):
    with database_of(PAID) as database:
        sql = mended(f"SELECT count(*) FROM t1 WHERE {condition}", "", database)
        assert database.run(sql).rows == ((count,),)


@pytest.mark.parametrize(
    ("question", "where", "total"),
    [
        ("how many hours in november", "1 = 1", 4),
        ("how many hours since november", "1 = 1", None),
        ("how many hours in november", "month(day) > 1", None),
    ],
)
def test_a_query_without_days_is_of_the_month_that_the_question_names(
    database_of, question, where, total
):
    with database_of() as database:
        sql = f"SELECT sum(hours) FROM t1 WHERE {where}"
        made = of_month(sql, "November", question, database)
        assert (made == sql) is (total is None)
        assert of_month(sql, "18", question, database) == sql  # a figure is no month
        if total is not None:
            assert database.run(made).rows == ((total,),)
