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
from rag_app.tables.mending import left_out, mended
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
    ],
)  # fmt: skip
def test_a_figure_or_month_of_the_question_is_in_the_query_or_goes_without_saying(
    database_of, question, where, missing
):
    with database_of() as database:
        sql = f"SELECT sum(hours) FROM t1 WHERE {where}"
        assert left_out(sql, question, "Time sheet, room 12", database) == missing


def test_a_year_that_nobody_named_is_that_of_the_sheet(database_of):
    asked = "SELECT sum(hours) FROM t1 WHERE day < '2025-11-01'"
    with database_of() as database:
        assert "'2024-11-01'" in mended(asked, "how many hours before 1 november", database)
        assert mended(asked, "how many hours before 1 november 2025", database) == asked
        leap = asked.replace("2025-11-01", "2023-02-28")
        assert "'2024-02-28'" in mended(leap, "before the end of february", database)
    with database_of(SHEET.replace(b"2024-10", b"2023-10")) as database:
        assert mended(asked, "how many hours before 1 november", database) == asked
