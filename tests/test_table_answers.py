"""Questions that are computed from tables: what the writer is told, and what is said."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest
from langchain_core.messages import AIMessageChunk

from rag_app.answering.calculations import Calculations
from rag_app.answering.chain import AskContext, cite_cells, finalize
from rag_app.answering.generation import EACH, FIRST, Piece, Writer
from rag_app.answering.prompts import query_said_as, understood_query
from rag_app.answering.query_ranking import QueryRanker
from rag_app.answering.query_reading import QueryReader
from rag_app.answering.source_choice import WithTables
from rag_app.answering.table_answers import TableAnswers
from rag_app.errors import ChatModelError
from rag_app.export.json_contract import answer_json
from rag_app.export.messages import how_computed, remarks
from rag_app.reading.limits import Limits
from rag_app.reading.sheets import read_delimited
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.scope import OWN, WORKER
from rag_app.storage import Store
from rag_app.storage.conversations import REMOVED, from_json, to_json, without
from rag_app.tables.building import typed_tables
from rag_app.tables.computing import computation, said, sentence, told_alone
from rag_app.tables.describing import alike, describe
from rag_app.tables.explaining import TextCondition
from rag_app.tables.querying import Result, TableDatabase
from rag_app.types import (
    Basis,
    Chunk,
    Column,
    ColumnKind,
    Computation,
    Document,
    Draft,
    NoteKind,
    Passage,
    RowFilter,
    Status,
    Table,
    Timing,
)
from tests.fakes import WordEmbedder
from tests.ferries import PASSAGE

ID = "f" * 64
SHEET = b"""Date;Person;Amount (EUR);Paid
01.05.2021;Ann Lee;1.234,50;yes
13.05.2021;Ben Okoro;20,00;no
14.05.2021;Ann Lee;-5,25;YES
15.05.2021;Cid;7,00;no
"""
DOCUMENT = Document(ID, "may.csv", ".csv", 1, Status.READY, "2021")


class Scripted:
    """A writer that says one thing, and is as sure of it as it is told to be."""

    def __init__(self, reply: str, sure: float = 0.97) -> None:
        self._reply, self._sure = reply, sure
        self.asked = ""

    def stream(self, messages, begun="", logs=False):
        self.asked = messages[-1][1]
        first = {FIRST: self._sure} if logs else {}
        yield AIMessageChunk(self._reply[:4], response_metadata=first)
        yield AIMessageChunk(self._reply[4:])


@pytest.fixture
def store(database, file):
    made = Store(database)
    reading = read_delimited(file(SHEET), limits=Limits())
    made.add_document(DOCUMENT)
    made.save_reading(ID, reading, typed_tables(ID, reading))
    yield made
    made.close()


def passage(store: Store) -> Passage:
    text = store.page(ID, 1, WORKER).text
    return Passage(Chunk(ID, 1, 0, 0, len(text), text), "may.csv", 1.0)


ANN = "How much did Ann spend?"


def answered(
    store: Store, reply: str, sure: float = 0.97, caution: float = 0.5, question: str = ANN
) -> Draft | None:
    model = Scripted(reply, sure)
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    answers = TableAnswers(store, OWN, writer, caution, taught=True)
    return answers.answer(question, (passage(store),), (DOCUMENT,), "English", lambda: False)


def beside(
    store: Store,
    question: str,
    model: Scripted | None,
    caution: float = 0.0,
    taught: bool = True,
    least: float = 0.0,
) -> Draft | None:
    """An answer with the ranker's second opinion; by it alone, where there is no model."""
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    ranker = QueryRanker(MiniLmEmbedder(1), QueryReader(threads=1))
    by = writer if model else None
    answers = TableAnswers(store, OWN, by, caution, taught and bool(model), ranker=ranker)
    given = (question, (passage(store),), (DOCUMENT,), "English", lambda: False)
    return answers.answer(*given, least=least)


PAYMENTS = "How many payments did Ann Lee make?"  # of which the ranker is sure


@pytest.mark.parametrize(
    ("say", "kept"),
    [
        ("There are {0} boats, which is 55 in all.", "There are {0} boats."),
        ("{0} boats (of 55) sailed.", "{0} boats sailed."),
        ("In May 2024 the first three cost {0}.", "In May 2024 the first three cost {0}."),
        ("They cost 55 more than {0}.", ""),
    ],
)
def test_a_sentence_has_no_figure_that_nobody_spoke_of(say, kept):
    assert told_alone(say, "What did the first 3 cost in May? date 2024-05-31") == kept


def test_a_query_that_the_ranker_agrees_with_is_surer_than_one_that_it_does_not(store):
    question = "Tell me of the payments that Ann made"
    right, other = (
        Scripted(query_said_as(f"SELECT sum(amount_eur) FROM t1 WHERE {which}", "{0} EUR."))
        for which in ("lower(person) = 'ann lee'", "date < DATE '2021-05-14'")
    )
    agreed, doubted = beside(store, question, right), beside(store, question, other)
    assert agreed.sentences == ("1229.25 EUR.",)
    assert agreed.confidence > doubted.confidence + 0.2


def test_where_another_writer_finds_no_query_the_rankers_is_said_with_its_rows(store):
    silent = Scripted(query_said_as("", ""))
    draft = beside(store, "How much did Ann Lee pay?", silent, 0.3, taught=False)
    assert draft.sentences == ("Person: Ann Lee – Amount (EUR): 1229.25",)
    assert draft.basis is Basis.COMPUTED
    assert {cell.row for row in draft.computation.used[0].rows for cell in row} == {0, 2}


def test_where_the_apps_own_writer_finds_no_query_there_is_none(store):
    assert beside(store, PAYMENTS, Scripted(query_said_as("", "")), 0.45) is None


def test_the_apps_own_writer_says_what_is_meant_though_the_ranker_is_sure_of_something_else(store):
    paid = query_said_as("SELECT sum(amount_eur) FROM t1 WHERE lower(person) = 'ann lee'", "{0}.")
    assert beside(store, PAYMENTS, Scripted(paid)).sentences == ("1229.25.",)


ABOUT_ELSE = "when do the staples come out of my hip"


def test_a_question_of_which_the_ranker_makes_no_query_costs_no_reading_of_the_tables(store):
    model = Scripted(query_said_as("SELECT count(*) FROM t1", "{0}."))
    assert beside(store, ABOUT_ELSE, model, least=0.1) is None and model.asked == ""
    assert beside(store, PAYMENTS, model, least=0.1) is not None and model.asked


def test_where_something_is_to_be_computed_the_writer_is_asked_whatever_the_ranker_makes_of_it(
    store,
):
    model = Scripted(query_said_as("SELECT count(*) FROM t1", "{0}."))
    assert beside(store, ABOUT_ELSE, model) is not None


def test_without_a_writer_what_the_ranker_is_sure_of_is_said_and_nothing_else(store):
    draft = beside(store, PAYMENTS, None, 0.45)
    assert (draft.sentences, draft.basis) == (("Person: Ann Lee – 2",), Basis.COMPUTED)
    assert beside(store, "Ann Lee?", None, 0.45) is None
    assert beside(store, "Was Ann Lee paid?", None) is None


@pytest.mark.parametrize("worded", ["{0} pounds.", "{0} quid.", "£ {0}."])
def test_a_currency_that_nobody_spoke_of_is_not_said(store, worded):
    sql = "SELECT count(*) FROM t1 WHERE lower(person) = 'ann lee'"
    made = Scripted(query_said_as(sql, f"Ann Lee made {worded}"))
    assert beside(store, PAYMENTS, made).sentences == ("Ann Lee made 2.",)


def test_a_currency_of_which_the_question_speaks_is_said(store):
    sql = "SELECT count(*) FROM t1 WHERE lower(person) = 'ann lee'"
    made = Scripted(query_said_as(sql, "{0} payments in pounds."))
    question = "How many payments did Ann Lee make in pounds?"
    assert beside(store, question, made).sentences == ("2 payments in pounds.",)


def test_of_a_writer_that_the_app_did_not_teach_nothing_is_doubted(store):
    paid = query_said_as("SELECT sum(amount_eur) FROM t1 WHERE lower(person) = 'ann lee'", "{0}.")
    told = beside(store, PAYMENTS, Scripted(paid), 0.45, taught=False)
    assert told.sentences == ("1229.25.",)


def test_what_neither_is_sure_of_is_not_said(store):
    assert (
        beside(store, "What is the capital of Mongolia?", Scripted(query_said_as("", "")), 0.45)
        is None
    )


ANN = query_said_as(
    "SELECT sum(amount_eur) FROM t1 WHERE lower(person) = 'ann lee'", "Ann Lee spent {0} EUR."
)


def test_a_model_is_told_columns_kinds_and_values(store):
    with TableDatabase(store.tables.of(WORKER), store.tables) as database:
        told = describe(database, {ID: "may.csv"})
    assert told.text.splitlines() == [
        "t1: may.csv (4 rows)",
        "date date 2021-05-01 to 2021-05-15",
        "person text 'Ann Lee', 'Ben Okoro', 'Cid'",
        'amount_eur "Amount (EUR)" number EUR -5.25 to 1234.50',
        "paid text 'yes', 'no'",
    ]


@pytest.mark.parametrize(
    ("question", "conditions"),
    [
        ("How much did Ann spend?", ["lower(t1.person) = 'ann lee'"]),
        ("what did ben okorro pay", ["lower(t1.person) = 'ben okoro'"]),
        ("how many are there", []),
    ],
)
def test_values_that_a_question_names_are_found_though_misspelt(store, question, conditions):
    with TableDatabase(store.tables.of(WORKER), store.tables) as database:
        assert describe(database, {}).named(question) == conditions


def test_a_sign_is_named_by_what_a_line_beside_its_table_says(database, file):
    store = Store(database)
    rows = "".join(f"Guest {n};{'SF' if n % 2 else 'D'};{n}00\n" for n in range(1, 7))
    keys = "Summer;;\nSF = Stayfinder (they keep 15 %), D = direct;;\n"
    reading = read_delimited(file(f"{keys}Name;How;Total\n{rows}".encode()), limits=Limits())
    store.add_document(DOCUMENT)
    store.save_reading(ID, reading, typed_tables(ID, reading))
    with closing(store), TableDatabase(store.tables.of(WORKER), store.tables) as opened:
        told = describe(opened, {})
    assert told.named("how many came through stayfinder") == ["lower(t1.how) = 'sf'"]
    assert told.named("how many booked direct") == ["lower(t1.how) = 'd'"]


def test_a_figure_is_the_querys_and_carries_the_cells_that_it_rests_on(store):
    draft = answered(store, ANN)
    assert draft.basis is Basis.COMPUTED and draft.sentences == ("Ann Lee spent 1229.25 EUR.",)
    (used,) = draft.computation.used
    assert (used.name, used.count, used.columns) == ("may.csv", 2, ("Person", "Amount (EUR)"))
    assert [[cell.text for cell in row] for row in used.rows] == [
        ["Ann Lee", "1.234,50"],
        ["Ann Lee", "-5,25"],
    ]
    text = store.page(ID, 1, WORKER).text
    for cell in (cell for row in used.rows for cell in row):
        assert text[cell.start : cell.end] == cell.text
    assert used.leading == 0  # the query itself says whose they are


@pytest.mark.parametrize(("number", "shown"), [(12, 12), (13, 13), (14, 12)])
def test_a_row_behind_a_figure_that_alone_would_be_left_out_is_shown(database, file, number, shown):
    store = Store(database)
    store.add_document(DOCUMENT)
    rows = "".join(f"P{at},{at * 7}\n" for at in range(number))
    reading = read_delimited(file(f"Person,Amount\n{rows}".encode()), limits=Limits())
    store.save_reading(ID, reading, typed_tables(ID, reading))
    draft = answered(store, query_said_as("SELECT sum(amount) FROM t1", "{0}."), question="Total?")
    (used,) = draft.computation.used
    assert (used.count, len(used.rows)) == (number, shown)
    store.close()


@pytest.mark.parametrize(
    ("sql", "say", "text"),
    [
        ("avg(amount_eur)", "Ann paid {0} EUR.", "Ann paid 614.62 EUR (average of 2 rows)."),
        ("round(avg(amount_eur), 1)", "{0}", "614.60 (average of 2 rows)"),
        ("avg(amount_eur)", "The average is {0} EUR.", "The average is 614.62 EUR."),
        ("sum(amount_eur)", "Ann paid {0} EUR.", "Ann paid 1229.25 EUR."),
        ("avg(amount_eur) - 600", "{0} EUR more.", "14.62 EUR more."),
    ],
)
def test_the_sentence_around_an_average_of_rows_says_that_it_is_one(store, sql, say, text):
    query = f"SELECT {sql} FROM t1 WHERE lower(person) = 'ann lee'"
    assert answered(store, query_said_as(query, say)).sentences == (text,)


def test_the_average_of_one_row_is_what_stands_there(store):
    query = "SELECT avg(amount_eur) FROM t1 WHERE lower(person) = 'cid'"
    draft = answered(store, query_said_as(query, "Cid paid {0}."), question="What did Cid pay?")
    assert draft.sentences == ("Cid paid 7.",)


def test_rows_say_which_they_are_before_what_the_figure_rests_on(store):
    unpaid = "SELECT sum(amount_eur) FROM t1 WHERE lower(paid) = 'no'"
    draft = answered(store, query_said_as(unpaid, "{0} EUR are not paid."))
    (used,) = draft.computation.used
    assert (used.columns, used.leading) == (("Person", "Amount (EUR)", "Paid"), 1)
    assert {row[0].text for row in used.rows} <= {"Ann Lee", "Ben Okoro", "Cid"}
    cited = {citation.quote for citation in cite_cells(draft.computation)}
    assert cited and cited.isdisjoint(row[0].text for row in used.rows)


@pytest.mark.parametrize(
    "reply",
    [
        query_said_as("", ""),
        "I would rather not.",
        query_said_as("SELECT sum(cost) FROM t1", "{0}"),  # no such column
        query_said_as("SELECT count(*) FROM t1 WHERE lower(person) = 'zoe'", "{0} rows."),
        query_said_as("SELECT amount_eur FROM t1 WHERE amount_eur > 9999", "{0}"),
        query_said_as("SELECT person, NULL FROM t1 LIMIT 1", "{0} paid {1}."),  # half of it missing
        query_said_as("SELECT * FROM read_csv('/etc/passwd')", "{rows}"),
        query_said_as("DROP TABLE t1", "{0}"),
    ],
)
def test_what_is_not_there_is_not_answered(store, reply):
    assert answered(store, reply) is None


class Corrected:
    """A writer that says one thing after the other, and what it was told before the last."""

    def __init__(self, *replies: str) -> None:
        self._replies = list(replies)
        self.asked: list[tuple[str, str]] = []

    def stream(self, messages, begun="", logs=False):
        self.asked = messages
        yield AIMessageChunk(self._replies.pop(0), response_metadata={FIRST: 0.97})


def corrected(store: Store, model: Corrected) -> Draft | None:
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    answers = TableAnswers(store, OWN, writer, 0.5, taught=True)
    return answers.answer(
        "How much did Ann spend?", (passage(store),), (DOCUMENT,), "English", lambda: False
    )


def test_a_text_that_another_column_has_goes_back_to_who_wrote_the_query(store):
    wrong = "SELECT sum(amount_eur) FROM t1 WHERE lower(paid) LIKE '%ann%'"
    model = Corrected(query_said_as(wrong, "{0}"), ANN)
    assert corrected(store, model).sentences == ("Ann Lee spent 1229.25 EUR.",)
    told = "No row has “%ann%” in paid; rows have it in t1.person."
    assert told in model.asked[-1][1]


def test_another_name_than_the_question_has_goes_back_to_who_wrote_the_query(store):
    wrong = "SELECT sum(amount_eur) FROM t1 WHERE lower(person) = 'ben okoro'"
    model = Corrected(query_said_as(wrong, "{0}"), ANN)
    assert corrected(store, model).sentences == ("Ann Lee spent 1229.25 EUR.",)
    assert "The question names “Ann Lee”, and the query does not." in model.asked[-1][1]


ROOMS = b"""Room;Chairs
Blue;12
Green;9
"""


@pytest.mark.parametrize(
    "mixed",
    [
        "SELECT person, chairs FROM t2",
        "SELECT sum(amount_eur) FROM t2 WHERE lower(person) = 'blue'",
    ],
)
def test_who_mixes_tables_sees_the_one_that_has_what_was_looked_for(store, file, mixed):
    told, draft = of_two(store, file, "SELECT chairs FROM t1 WHERE lower(room) = 'blue'", mixed)
    assert draft.sentences == ("12 chairs.",)
    assert "t1: rooms.csv" in told and "t2:" not in told


def of_two(
    store: Store,
    file: Callable[[bytes], Path],
    right: str,
    wrong: str,
    ranker: QueryRanker | None = None,
) -> tuple[str, Draft]:
    """What a writer was told last that first writes the wrong query over two tables, and what was
    answered."""
    rooms = Document("b" * 64, "rooms.csv", ".csv", 1, Status.READY, "2021")
    reading = read_delimited(file(ROOMS), limits=Limits())
    store.add_document(rooms)
    store.save_reading(rooms.id, reading, typed_tables(rooms.id, reading))
    text = store.page(rooms.id, 1, WORKER).text
    beside = Passage(Chunk(rooms.id, 1, 0, 0, len(text), text), rooms.name, 1.0)
    model = Corrected(query_said_as(wrong, "{0}"), query_said_as(right, "{0} chairs."))
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    answers = TableAnswers(store, OWN, writer, 0.3, taught=True, ranker=ranker)
    asked = ("how many chairs has the blue room", (passage(store), beside), (DOCUMENT, rooms))
    draft = answers.answer(*asked, "English", lambda: False)
    return model.asked[-1][1], draft


def test_a_query_over_another_table_than_the_rankers_is_asked_for_once_more(store, file):
    ranker = QueryRanker(MiniLmEmbedder(1), QueryReader(threads=1))
    right = "SELECT chairs FROM t1 WHERE lower(room) = 'blue'"
    told, draft = of_two(store, file, right, "SELECT count(*) FROM t2", ranker)
    assert draft.sentences == ("12 chairs.",)
    assert "t1: rooms.csv" in told and "t2:" not in told


def test_where_nothing_is_found_the_table_that_the_ranker_holds_for_meant_is_asked(store, file):
    ranker = QueryRanker(MiniLmEmbedder(1), QueryReader(threads=1))
    right = "SELECT chairs FROM t1 WHERE lower(room) = 'blue'"
    nothing = "SELECT sum(amount_eur) FROM t2 WHERE amount_eur > 99999"
    told, draft = of_two(store, file, right, nothing, ranker)
    assert draft.sentences == ("12 chairs.",)
    assert "t1: rooms.csv" in told and "t2:" not in told


STATEMENT = b"""Income;2024
Grants;900,5
Investment income;30,5
Total income;931
"""


def test_a_total_that_no_query_sees_is_not_taken_from_another_row(database, file):
    with closing(Store(database)) as store:
        reading = read_delimited(file(STATEMENT), limits=Limits())
        store.add_document(DOCUMENT)
        store.save_reading(ID, reading, typed_tables(ID, reading))
        found = (passage(store),)

        def said(question: str, row: str) -> Draft | None:
            sql = f"SELECT c_2024 FROM t1 WHERE lower(income) = '{row}'"
            model = Scripted(query_said_as(sql, "{0}."))
            writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
            answers = TableAnswers(store, OWN, writer, 0.3, taught=True)
            return answers.answer(question, found, (DOCUMENT,), "English", lambda: False)

        with TableDatabase(store.tables.of(WORKER), store.tables) as tables:
            assert describe(tables, {}).totals == ("Total income",)
        assert said("what was total income in 2024?", "investment income") is None
        assert said("what was the investment income in 2024?", "investment income").sentences


def test_an_error_goes_back_to_who_wrote_the_query(store):
    failed = query_said_as("SELECT sum(price) FROM t1 WHERE lower(person) = 'ann lee'", "{0}")
    model = Corrected(failed, ANN)
    assert corrected(store, model).sentences == ("Ann Lee spent 1229.25 EUR.",)
    assert model.asked[-2] == ("ai", failed) and "price" in model.asked[-1][1]


def test_it_goes_back_once(store):
    failed = query_said_as("SELECT sum(price) FROM t1", "{0}")
    assert corrected(store, Corrected(failed, failed, query_said_as("SELECT 1", "{0}"))) is None


def test_a_second_query_may_not_ask_for_less(store):
    empty = query_said_as(
        "SELECT sum(amount_eur) FROM t1 WHERE person = 'Ann Lee' AND date > '2021-06-01'", "{0}"
    )
    assert corrected(store, Corrected(empty, ANN)) is None
    assert corrected(store, Corrected(empty, empty.replace("06-01", "05-10"))) is not None


VAN = b"""Start,Goal,Km
Leeds,York,40
York,Leeds,41
York,Hull,62
Hull,Hull,5
"""


OF_YORK = "SELECT sum(km) FROM t1 WHERE lower(start) = 'york'"


def travelled(
    tmp_path, file, question: str, sheet: bytes = VAN, sql: str = OF_YORK
) -> Draft | None:
    store = Store(tmp_path / "van.sqlite")
    reading = read_delimited(file(sheet), limits=Limits())
    store.add_document(DOCUMENT)
    store.save_reading(ID, reading, typed_tables(ID, reading))
    reply = query_said_as(sql, "{0} km." if sql == OF_YORK else "{0} in all.")
    writer = Writer("w", lambda: Scripted(reply), lambda e: e, window=4_000, most_tokens=99)
    answers = TableAnswers(store, OWN, writer, 0.5, taught=True)
    try:
        found = (passage(store),)
        return answers.answer(question, found, (DOCUMENT,), "English", lambda: False)
    finally:
        store.close()


COURSES = b"""Day,Start,Hours,Coach
Monday,18:00,1:30,Ana
Tuesday,9:15,0:45,Ben
Friday,20:00,1:30,Ana
"""


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT max(start) FROM t1", "20:00"),
        ("SELECT sum(hours) FROM t1 WHERE lower(coach) = 'ana'", "3:00"),
        ("SELECT max(hours) - min(hours) FROM t1", "0:45"),
        ("SELECT round(sum(hours) / 3600, 2) FROM t1", "3.75"),
        ("SELECT count(hours) FROM t1", "3"),
    ],
)
def test_a_duration_is_said_as_one_and_what_is_made_of_it_as_it_is(tmp_path, file, sql, told):
    draft = travelled(tmp_path, file, "How long?", COURSES, sql)
    assert (draft.sentences, draft.computation.rows) == ((f"{told} in all.",), ((told,),))


def test_a_duration_with_seconds_has_hours_only_where_there_are_some():
    times = [dt.timedelta(seconds=seconds) for seconds in (252, 3723, -5400)]
    assert [said(one, "English") for one in times] == ["4:12", "1:02:03", "-1:30"]


MEMBERS = b"""Name;Postcode;Phone;Steps;Paid
Ann;10115;612 345 678;1,250,000;12500
Ben;80331;612 345 679;990,000;9000
Cid;50667;655 345 670;20,500;12500
"""


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("SELECT postcode FROM t1 WHERE lower(name) = 'ann'", "10115"),
        ("SELECT phone AS p FROM t1 WHERE lower(name) = 'ann'", "612 345 678"),
        ("SELECT steps FROM t1 WHERE lower(name) = 'ann'", "1,250,000"),
        ("SELECT paid * 2 FROM t1 WHERE lower(name) = 'ann'", "25,000"),
        ("SELECT sum(paid) FROM t1", "34,000"),
    ],
)
def test_a_number_that_may_be_a_name_is_said_as_its_cell_has_it(tmp_path, file, sql, told):
    draft = travelled(tmp_path, file, "Which is it?", MEMBERS, sql)
    assert (draft.sentences, draft.computation.rows) == ((f"{told} in all.",), ((told,),))
    assert draft.computation.numbers[0][0] is not None


def test_an_amount_of_money_has_its_thousands_set_apart():
    result = Result(("paid",), ("BIGINT",), ((12500,),), written={(0, 0): "12500"})
    assert sentence("She paid {0} EUR.", result, "English") == "She paid 12,500 EUR."
    assert sentence("It is {0}.", result, "English") == "It is 12500."


def test_where_two_columns_hold_what_is_asked_for_both_readings_are_said(tmp_path, file):
    draft = travelled(tmp_path, file, "How many km of York?")
    assert "".join(draft.sentences) == "Start: york – 103 km.\n\nGoal: york – 40 km."


def test_what_a_row_is_called_is_meant(tmp_path, file):
    named = VAN.replace(b"York,Hull", b"Ripon,Hull")  # each start is there once
    draft = travelled(tmp_path, file, "How many km of York?", named)
    assert draft.sentences == ("41 km.",)


def test_a_text_that_the_question_does_not_say_is_of_the_column_that_the_query_took(tmp_path, file):
    draft = travelled(tmp_path, file, "How far did we get from the old town?")
    assert draft.sentences == ("103 km.",)


def test_a_column_that_the_question_names_is_meant(tmp_path, file):
    draft = travelled(tmp_path, file, "How many km with start in York?")
    assert draft.sentences == ("103 km.",)


FOOD = b"""Shop,Kind,Paid
Wok to Go,takeaway,12
Penn's,Take away,20
Penns,groceries,31
Penns,Grade A,5
Wok to Go,TAKE-AWAY,9
Corner,Grade A+,2
"""


@pytest.mark.parametrize(
    ("condition", "sum_of"),
    [
        ("lower(kind) = 'takeaway'", "41"),
        ("kind = 'takeaway'", "41"),
        ("lower(t1.kind) = 'take away' AND paid > 9", "32"),
        ("lower(shop) = 'penns'", "56"),
        ("lower(kind) = 'grade a'", "5"),
        ("kind LIKE 'take%'", "41"),
    ],
)
def test_what_is_spelt_with_other_spaces_marks_and_capitals_is_the_same(
    tmp_path, file, condition, sum_of
):
    sql = f"SELECT sum(paid) FROM t1 WHERE {condition}"
    draft = travelled(tmp_path, file, "How much was it?", FOOD, sql)
    assert draft.computation.rows == ((sum_of,),)


@pytest.mark.parametrize(
    ("question", "condition", "sum_of"),
    [
        ("How much was it at Penns?", "paid > 0", "56"),
        ("How much was it at the corner?", "paid > 4", None),  # no row
        ("How much was it at Penns?", "lower(shop) = 'penns' AND paid > 20", "31"),
        ("How much was it at Penns?", "lower(shop) = 'corner'", None),  # another shop
        ("How much was it of grade A?", "paid > 0", "7"),  # and A+
        ("How much was it at Penns and the Corner?", "paid > 0", "58"),
        ("What was paid for takeaway?", "paid > 0", "79"),  # no name: it may be any word
        ("How much was it?", "paid > 0", "79"),
    ],
)
def test_a_query_that_leaves_out_a_name_of_the_question_is_about_its_rows(
    tmp_path, file, question, condition, sum_of
):
    sql = f"SELECT sum(paid) FROM t1 WHERE {condition}"
    draft = travelled(tmp_path, file, question, FOOD, sql)
    assert (draft and draft.computation.rows) == (sum_of and ((sum_of,),))


def test_a_name_that_stands_in_two_columns_is_handed_back(tmp_path, file):
    sheet = b"From,To,Km\nYork,Leeds,40\nLeeds,York,41\nHull,Leeds,90\n"
    sql = "SELECT sum(km) FROM t1"
    assert travelled(tmp_path, file, "How far is it to York?", sheet, sql) is None


BOOK = b"""No.;Date;What for;In;Out;Paid by;Remark
001;02.01.2026;Carried over from the year before;2318,45;;;
002;07.01.2026;Rent of the hall;;180,00;Hedwig;standing order
003;12.01.2026;Licence for the play;;310,00;Rosa;checks the bill
004;20.01.2026;Summer party;;98,75;Hedwig;
"""


@pytest.fixture
def book(tmp_path, file):
    store = Store(tmp_path / "book.sqlite")
    reading = read_delimited(file(BOOK), limits=Limits())
    store.add_document(DOCUMENT)
    store.save_reading(ID, reading, typed_tables(ID, reading))
    yield store
    store.close()


def test_a_row_is_called_by_what_describes_it_not_by_its_number_alone(book):
    biggest = query_said_as("SELECT no, c_out FROM t1 ORDER BY c_out DESC LIMIT 1", "{0} with {1}.")
    assert answered(book, biggest).sentences == ("003 (Licence for the play) with 310.",)


def test_who_has_the_most_is_not_nobody(book):
    most = "SELECT paid_by, sum(coalesce(c_in, 0)) + sum(coalesce(c_out, 0)) AS s FROM t1 "
    reply = query_said_as(f"{most} GROUP BY paid_by ORDER BY s DESC LIMIT 1", "{0}: {1}.")
    assert answered(book, reply).sentences == ("Rosa: 310.",)


def test_a_currency_that_nobody_spoke_of_is_left_out(book):
    draft = answered(book, query_said_as("SELECT sum(c_out) FROM t1", "We spent {0} EUR."))
    assert draft.sentences == ("We spent 588.75.",)


IN_CELLS = "Who,Amount\nAnn,5 EUR\nBen,7 USD\nCid,9 EUR\nDee,4 USD\n"
BESIDE = (
    "Who,Pieces,Amount,Currency\nAnn,1,5.00,EUR\nBen,1,7.00,USD\nCid,2,9.00,€\nDee,1,4.00,USD\n"
)


@pytest.fixture(params=[IN_CELLS, BESIDE], ids=["in the cells", "in a column beside"])
def mixed(request, tmp_path, file):
    store = Store(tmp_path / "mixed.sqlite")
    reading = read_delimited(file(request.param.encode()), limits=Limits())
    store.add_document(DOCUMENT)
    store.save_reading(ID, reading, typed_tables(ID, reading))
    yield store
    store.close()


@pytest.mark.parametrize(
    ("sql", "of_eur", "of_usd"),
    [
        ("SELECT sum(amount) FROM t1", "14", "11"),
        ("SELECT who FROM t1 ORDER BY amount DESC LIMIT 1", "Cid", "Ben"),
        ("SELECT who FROM t1 ORDER BY t1.amount LIMIT 1", "Ann", "Dee"),
        ("SELECT who, amount AS a FROM t1 ORDER BY a DESC LIMIT 1", "Cid", "Ben"),
        ("SELECT who, amount FROM t1 ORDER BY 2 LIMIT 1", "Ann", "Dee"),
        ("SELECT max_by(who, amount) FROM t1", "Cid", "Ben"),
        ("SELECT who FROM t1 WHERE amount = (SELECT max(amount) FROM t1)", "Cid", "Ben"),
        ("SELECT who, sum(amount) AS s FROM t1 GROUP BY who ORDER BY s DESC LIMIT 1", "Cid", "Ben"),
        (
            "WITH x AS (SELECT * FROM t1) SELECT who FROM x ORDER BY amount DESC LIMIT 1",
            "Cid",
            "Ben",
        ),
        (
            "SELECT who FROM (SELECT who, rank() OVER (ORDER BY amount) r FROM t1) WHERE r = 1",
            "Ann",
            "Dee",
        ),
        ("SELECT who FROM t1 WHERE who <> 'Cid' ORDER BY amount DESC LIMIT 1", "Ann", "Ben"),
    ],
)
def test_what_is_in_several_currencies_is_neither_added_nor_compared(mixed, sql, of_eur, of_usd):
    draft = answered(mixed, query_said_as(sql, "It is {0} EUR."), question="How much was it?")
    first, second = draft.sentences
    assert first.startswith("Amount: EUR – ") and second.startswith("Amount: USD – ")
    assert of_eur in first and of_usd in second and "USD" not in first and "EUR" not in second
    (note,) = draft.notes
    assert note.kind is NoteKind.SEVERAL_UNITS and note.values == ("Amount", "EUR", "USD")
    assert [row[0] for row in draft.computation.rows] == ["EUR", "USD"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT who FROM t1 ORDER BY who LIMIT 1",
        "SELECT count(amount) FROM t1",
        "SELECT who, count(amount) AS n FROM t1 GROUP BY who ORDER BY n DESC, who LIMIT 1",
        "SELECT amount FROM t1 WHERE who = 'Ann'",
        "SELECT sum(amount) FROM t1 WHERE {unit} = 'EUR'",
        "SELECT {unit}, sum(amount) FROM t1 GROUP BY {unit} ORDER BY 1",
        "SELECT {unit}, sum(amount) AS s FROM t1 GROUP BY ALL ORDER BY {unit}, s",
    ],
)
def test_a_query_that_keeps_units_apart_is_left_as_it_is(mixed, sql):
    table = mixed.tables.of(WORKER)[0]
    names = {column.sql_name for column in table.columns}
    unit = "currency" if "currency" in names else "amount_unit"
    draft = answered(mixed, query_said_as(sql.format(unit=unit), "{rows}"))
    assert draft.notes == () and len(draft.sentences) == 1


def test_how_many_pieces_there_are_is_in_no_currency(tmp_path, file):
    store = Store(tmp_path / "pieces.sqlite")
    reading = read_delimited(file(BESIDE.encode()), limits=Limits())
    store.add_document(DOCUMENT)
    store.save_reading(ID, reading, typed_tables(ID, reading))
    reply = query_said_as("SELECT sum(pieces) FROM t1", "{0}.")
    assert answered(store, reply, question="How many pieces?").sentences == ("5.",)
    store.close()


def test_that_units_were_kept_apart_is_said(mixed):
    draft = answered(mixed, query_said_as("SELECT max(amount) FROM t1", "{0}"))
    answer = finalize(draft, (passage(mixed),), Timing(0.1, 0.2), AskContext("q", generator="w"))
    assert any("“Amount” is in several units (EUR, USD)" in one for one in remarks(answer))
    assert from_json(to_json(answer)) == answer


PAY = b"""Name,Hours,Paid,Paid on
Maria Lopez,22,yes,03.06.2026
Tom Reed,31,no,
Ana Silva,12,yes,04.06.2026
"""


@pytest.fixture
def pay(tmp_path, file):
    store = Store(tmp_path / "pay.sqlite")
    reading = read_delimited(file(PAY), limits=Limits())
    store.add_document(DOCUMENT)
    store.save_reading(ID, reading, typed_tables(ID, reading))
    yield store
    store.close()


def decided(store: Store, question: str, sql: str, say: str) -> Draft | None:
    model = Scripted(query_said_as(sql, say))
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    answers = TableAnswers(store, OWN, writer, 0.5, taught=True)
    found = (passage(store),)
    return answers.answer(question, found, (DOCUMENT,), "English", lambda: False)


OF_TOM = "SELECT paid, paid_on FROM t1 WHERE lower(name) = 'tom reed'"
MANY = "SELECT name, hours FROM t1 WHERE hours > 50"


@pytest.mark.parametrize(
    ("question", "sql", "say", "said"),
    [
        ("Has Tom been paid?", OF_TOM, "Tom Reed was paid {0} on {1}.", "Paid: no, Paid on: –"),
        ("Did anyone work over 50 hours?", MANY, "Over 50 hours: {rows}.", "Over 50 hours: –."),
        ("Did anyone work over 50 hours?", MANY, "{0} worked {1} hours.", "Name: –, Hours: –"),
    ],
)
def test_no_to_a_question_of_yes_or_no_is_an_answer(pay, question, sql, say, said):
    draft = decided(pay, question, sql, say)
    assert "".join(draft.sentences) == said
    assert [used.count for used in draft.computation.used] == [1 if sql == OF_TOM else 0]
    answer = finalize(draft, (passage(pay),), Timing(0.1, 0.2), AskContext("q", generator="w"))
    assert answer.text.startswith(said) and not answer.abstained
    assert from_json(to_json(answer)) == answer
    assert remarks(answer)[-1].startswith("Looked up in ")


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("Who worked more than 50 hours?", MANY),  # nobody did: it may be the wrong column
        ("Has Zoe been paid?", OF_TOM.replace("tom reed", "zoe")),  # who is that?
        ("Was anything paid in July?", "SELECT sum(hours) FROM t1 WHERE paid_on > '2026-07-01'"),
        ("Was Tom paid?", "SELECT paid_on FROM t1 WHERE lower(name) = 'tom reed'"),
    ],
)
def test_nothing_is_no_answer_to_other_questions_nor_of_what_is_not_there(pay, question, sql):
    assert decided(pay, question, sql, "{rows}") is None


def test_a_word_that_many_cells_have_names_none_of_them(book):
    with TableDatabase(book.tables.of(WORKER), book.tables) as database:
        told = describe(database, {})
    assert told.named("What was the biggest expense?") == []
    assert "lower(t1.remark) = 'checks the bill'" in told.named("who checks bills")


@pytest.mark.parametrize(("rows", "all_known"), [(4_000, True), (60_000, False)])
def test_no_value_of_many_is_said_to_be_missing_unless_all_are_known(
    tmp_path, file, rows, all_known
):
    lines = "\n".join(f"Customer {number:05d},{number}" for number in range(rows))
    reading = read_delimited(file(f"Who,Spent\n{lines}".encode()), limits=Limits())
    store = Store(tmp_path / "many.sqlite")
    store.add_document(DOCUMENT)
    store.save_reading(ID, reading, typed_tables(ID, reading))
    with TableDatabase(store.tables.of(WORKER), store.tables) as database:
        told = describe(database, {})
    store.close()
    last = f"customer {rows - 1:05d}"
    assert told.nearest(TextCondition("who", last, pattern=False)) == last
    absent = told.nearest(TextCondition("who", "nobody at all", pattern=False))
    assert (absent is None) is all_known


BOTH = ("In – The most was 2318.45.\n\n", "Out – The most was 310.")


class Hesitant(Scripted):
    """A writer that says of each word how sure it is of it."""

    def __init__(self, reply: str, sure: dict[str, float]) -> None:
        super().__init__(reply)
        self._each = [(w, sure.get(w.strip(), 0.99)) for w in re.findall(r"\s*\w+|\W+", reply)]

    def stream(self, messages, begun="", logs=False):
        yield from super().stream(messages, begun, logs)
        yield AIMessageChunk("", response_metadata={EACH: self._each})


@pytest.mark.parametrize(
    ("question", "sure", "said"),
    [
        ("the biggest expense?", {}, ("The most was 2318.45.",)),
        ("the biggest expense?", {"c_in": 0.2}, BOTH),
        ("the biggest expense?", {"no": 0.2}, ("The most was 2318.45.",)),
        ("the biggest expense?", {"most": 0.1}, ("The most was 2318.45.",)),
    ],
)
def test_only_the_column_of_figures_is_what_a_writer_hesitates_over(book, question, sure, said):
    reply = query_said_as("SELECT no, c_in FROM t1 ORDER BY c_in DESC LIMIT 1", "The most was {1}.")
    model = Hesitant(reply, sure)
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    answers = TableAnswers(book, OWN, writer, 0.45, taught=True)
    found = (passage(book),)
    assert answers.answer(question, found, (DOCUMENT,), "English", lambda: False).sentences == said


CASH = b"""Day;What;In;Out
2026-01-03;hall;;50
2026-01-05;subs;200,50;
2026-02-07;tea;;12
"""


@pytest.mark.parametrize(
    ("question", "sure", "sentences"),
    [
        ("what did we spend?", 0.6, ("In – It was 200.50.\n\n", "Out – It was 62.")),
        ("what did we spend?", 0.9, ("It was 200.50.",)),
        ("what is the spending?", 0.3, ("In – It was 200.50.\n\n", "Out – It was 62.")),
    ],
)
def test_a_writer_that_hesitates_between_two_columns_says_what_both_give(
    database, file, question, sure, sentences
):
    store = Store(database)
    store.add_document(DOCUMENT)
    reading = read_delimited(file(CASH), limits=Limits())
    store.save_reading(ID, reading, typed_tables(ID, reading))
    model = Hesitant(query_said_as("SELECT sum(c_in) FROM t1", "It was {0}."), {"c_in": sure})
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    answers = TableAnswers(store, OWN, writer, 0.45, taught=True)
    asked = (question, (passage(store),), (DOCUMENT,), "English", lambda: False)
    assert answers.answer(*asked).sentences == sentences
    store.close()


@pytest.mark.parametrize(
    ("question", "sentences"),
    [("what about money for the hall?", ("Money out: 50",)), ("what income had the hall?", None)],
)
def test_a_row_without_a_figure_in_one_of_two_columns_has_it_in_the_other(
    database, file, question, sentences
):
    store = Store(database)
    store.add_document(DOCUMENT)
    named = CASH.replace(b"In;Out", b"Money income;Money out")
    reading = read_delimited(file(named), limits=Limits())
    store.save_reading(ID, reading, typed_tables(ID, reading))
    sql = "SELECT sum(money_income) FROM t1 WHERE lower(what) = 'hall'"
    model = Scripted(query_said_as(sql, "It was {0}."))
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    answers = TableAnswers(store, OWN, writer, 0.0, taught=True)
    asked = ((passage(store),), (DOCUMENT,), "English", lambda: False)
    draft = answers.answer(question, *asked)
    assert (draft and draft.sentences) == sentences
    store.close()


WIDE = b"""Programme;Year;Budget;Jan;Feb;Mar;Dec
Warm Homes;2024;900;614;;300;222
Young Carers;2024;300;40;50;60;70
"""


@pytest.mark.parametrize(
    ("sql", "say", "text"),
    [
        (
            "SELECT programme, jan, feb, mar, c_dec FROM t1 WHERE lower(programme) = 'warm homes'",
            "Busiest in {0} with {1}.",
            "Jan, 614; Feb, –; Mar, 300; Dec, 222",
        ),
        (
            "SELECT jan, feb, mar FROM t1 WHERE programme = 'Young Carers'",
            "By month: {rows}.",
            "Jan, 40; Feb, 50; Mar, 60",
        ),
        ("SELECT jan, c_dec FROM t1 LIMIT 1", "{0} and {1}.", "614 and 222."),
    ],
)
def test_months_that_are_columns_are_said_one_below_the_other(database, file, sql, say, text):
    store = Store(database)
    store.add_document(DOCUMENT)
    reading = read_delimited(file(WIDE), limits=Limits())
    store.save_reading(ID, reading, typed_tables(ID, reading))
    draft = answered(store, query_said_as(sql, say))
    assert draft.sentences == (text,)
    if len(draft.computation.rows) > 1:
        assert draft.computation.columns == ("Month", "Value") and draft.computation.over_time
        assert draft.computation.used[0].count == 1
    store.close()


def test_months_of_two_years_that_are_columns_follow_each_other(database, file):
    store = Store(database)
    store.add_document(DOCUMENT)
    data = b"Programme;Nov 2024;Dec 2024;Jan 2025\nWarm Homes;614;300;222\nCarers;40;50;60\n"
    reading = read_delimited(file(data), limits=Limits())
    store.save_reading(ID, reading, typed_tables(ID, reading))
    names = ", ".join(column.sql_name for column in store.tables.of(WORKER)[0].columns[1:])
    draft = answered(store, query_said_as(f"SELECT {names} FROM t1 LIMIT 1", "{rows}."))
    assert draft.sentences == ("Nov 2024, 614; Dec 2024, 300; Jan 2025, 222",)
    store.close()


def test_a_name_that_is_nearly_right_is_put_right(store):
    nearly = query_said_as(
        "SELECT amount_eur FROM t1 WHERE lower(person) = 'ben okorro'", "Ben paid {0} EUR."
    )
    draft = answered(store, nearly, question="How much did Ben pay?")
    assert draft.sentences == ("Ben paid 20 EUR.",)


@pytest.mark.parametrize(
    ("known", "asked", "found"),
    [
        (("Flat 1", "Flat 2", "Flat 4"), "flat 3", None),
        (("INV-1041", "INV-1042", "INV-1044"), "inv-1043", None),
        (("Room 11", "Room 12", "Room 21"), "room 22", None),
        (("Garage 10", "Garage 1"), "garrage 1", "garage 1"),
        (("Flat 1", "Flat 2"), "flat 01", "flat 1"),
    ],
)
def test_another_number_is_no_misspelling(database, file, known, asked, found):
    store = Store(database)
    rows = "".join(f"{name},{10 * at}.50\n" for at, name in enumerate(known, 5))
    store.add_document(DOCUMENT)
    reading = read_delimited(file(f"What,Rent\n{rows}".encode()), limits=Limits())
    store.save_reading(ID, reading, typed_tables(ID, reading))
    with closing(store), TableDatabase(store.tables.of(WORKER), store.tables) as opened:
        told = describe(opened, {})
    assert told.nearest(TextCondition("what", asked, pattern=False)) == found


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is the rent of 14 Mill Lane?", ["14 Mill Lane"]),
        ("What is the rent of 9 Mill Lane?", ["9 Mill Lane"]),
        ("What is the rent of 15 Mill Lane?", []),
        ("What are the rents in Mill Lane?", ["9 Mill Lane", "12 Mill Lane", "14 Mill Lane"]),
    ],
)
def test_a_question_names_the_address_with_its_number(database, file, question, named):
    store = Store(database)
    store.add_document(DOCUMENT)
    data = b"Address;Rent\n12 Mill Lane;800\n14 Mill Lane;900\n9 Mill Lane;700\n8 High St;1\n"
    reading = read_delimited(file(data), limits=Limits())
    store.save_reading(ID, reading, typed_tables(ID, reading))
    with closing(store), TableDatabase(store.tables.of(WORKER), store.tables) as opened:
        found = " ".join(describe(opened, {}).named(question))
    all_of_them = ("9 Mill Lane", "12 Mill Lane", "14 Mill Lane")
    assert [one for one in all_of_them if one.lower() in found.lower()] == named


def test_a_long_number_names_none_that_is_nearly_it():
    assert alike(["10435", "okorro"], ["10431", "okoro"]) == {"okoro"}


def test_a_writer_that_doubts_says_nothing(store):
    assert answered(store, ANN, sure=0.3) is None


def test_the_answer_cites_cells_and_is_the_same_after_it_was_kept(store):
    draft = answered(store, ANN)
    answer = finalize(draft, (passage(store),), Timing(0.1, 0.2), AskContext("q", generator="w"))
    assert answer.text == "Ann Lee spent 1229.25 EUR. [1]"
    assert [c.quote for c in answer.citations] == ["Ann Lee", "1.234,50", "Ann Lee", "-5,25"]
    assert from_json(to_json(answer)) == answer
    kept = json.loads(to_json(answer))
    del kept["computation"]["chosen_by"]  # an earlier version kept none
    assert from_json(json.dumps(kept)).computation.chosen_by == ()
    kept["computation"]["chosen_by"] = [["Person", "ann lee"], ["Day", "2025-%"]]  # another, pairs
    assert from_json(json.dumps(kept)).computation.chosen_by == (
        RowFilter("Person", "=", "ann lee"),
        RowFilter("Day", "like", "2025-%"),
    )
    assert remarks(answer) == [
        "Sum of Amount (EUR) of 2 rows of may.csv. Chosen by Person (“ann lee”)."
    ]
    contract = answer_json(answer)
    assert contract["result"] == ["1229.25"] and contract["rows"][0]["count"] == 2
    gone = without(answer, ID)
    assert gone.computation is None and gone.text == REMOVED


def test_what_rows_were_chosen_by_is_said():
    chosen = (
        RowFilter("What", "=", "hall"),
        RowFilter("What", "like", "%choir%"),
        RowFilter("What", "<>", "tea"),
        RowFilter("Day", ">=", "1 March 2026"),
        RowFilter("Day", "<=", "31 March 2026"),
        RowFilter("Paid", "<", "Due"),
        RowFilter("Note", "not like", "%x%"),
        RowFilter("Left", "empty"),
    )
    assert how_computed(Computation("SELECT 1", (), (), chosen_by=chosen)).endswith(
        " Chosen by What (“hall” or “…choir…”, not “tea”), Day (≥ 1 March 2026, ≤ 31 March 2026), "
        "Paid (< Due), Note (not “…x…”) and Left (empty)."
    )


def test_days_that_rows_were_chosen_by_are_said_as_people_write_them(store):
    said = query_said_as("SELECT sum(amount_eur) FROM t1 WHERE date >= '2021-05-02'", "{0} EUR.")
    draft = answered(store, said)
    assert draft.computation.chosen_by == (RowFilter("Date", ">=", "2 May 2021"),)


def test_columns_of_ours_are_called_as_those_of_the_document(store):
    price = Column("Price", "price", ColumnKind.NUMBER, units=("EUR", "USD"), has_text=True)
    columns = (price, Column("Price unit", "price_unit_2", ColumnKind.TEXT))
    table = Table(ID, 0, "", "", columns, 5, 1, 1)
    names = ("price_unit", "price_text", "price_unit_2", "all_of_it")
    result = Result(
        names, ("VARCHAR",) * 4, (), filters=tuple(RowFilter(name, "=", "a") for name in names)
    )
    made = computation("SELECT 1", result, (), (), "en", [table])
    assert made.columns == ("Unit of Price", "Price", "Price unit", "All of it")
    assert [one.column for one in made.chosen_by] == ["Price", "Price", "Price unit", "all_of_it"]


class Other:
    """A generator that answers from passages, and says that it was asked."""

    name = "other"

    def warm(self):
        """Nothing."""

    def generate(self, question, passages, cancelled):
        raise ChatModelError("asked")


def test_tables_are_asked_first_where_sheets_were_found_and_passages_where_they_were_not(store):
    model = Scripted(ANN)
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    tables = TableAnswers(store, OWN, writer, 0.5, taught=True)
    lines = Calculations(store, OWN, writer, WordEmbedder(), 0.5)
    both = WithTables(Other(), lines, tables, (DOCUMENT,), "", computes=False)
    *_, last = both.generate("How much did Ann spend?", (passage(store),), lambda: False)
    assert last.draft.computation and last.draft.generator == "other"
    with pytest.raises(ChatModelError, match="asked"):
        list(both.generate("What does the ferry cost?", (PASSAGE,), lambda: False))


class Unlucky(Other):
    """A generator that finds nothing in passages, and may say something before it knows."""

    def __init__(self, first: str = "") -> None:
        self.first = first

    def generate(self, question, passages, cancelled):
        if self.first:
            yield Piece(self.first)
        yield Piece(draft=Draft((), (), 0.1, abstained=True))


def looked_again(store, question: str, by: Other, taught: bool, ranked: bool) -> tuple[bool, str]:
    """Whether tables answered, and what their writer was asked."""
    model = Scripted(query_said_as("SELECT count(*) FROM t1", "{0}."))
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    ranker = QueryRanker(MiniLmEmbedder(1), QueryReader(threads=1)) if ranked else None
    tables = TableAnswers(store, OWN, writer, 0.0, taught=taught, ranker=ranker)
    both = WithTables(by, None, tables, (DOCUMENT,), "", computes=False)
    *_, last = both.generate(question, (PASSAGE,), lambda: False)
    return last.draft.computation is not None, model.asked


def test_where_passages_do_not_answer_tables_are_asked_if_the_ranker_takes_them_for_likely(store):
    assert looked_again(store, PAYMENTS, Unlucky(), taught=True, ranked=True)[0]
    assert looked_again(store, ABOUT_ELSE, Unlucky(), taught=True, ranked=True) == (False, "")


@pytest.mark.parametrize(
    ("by", "taught", "ranked"),
    [(Unlucky("It"), True, True), (Unlucky(), False, True), (Unlucky(), True, False)],
)
def test_they_are_not_where_something_was_said_or_nobody_takes_them_for_likely(
    store, by, taught, ranked
):
    assert looked_again(store, PAYMENTS, by, taught, ranked) == (False, "")


def test_what_leans_on_a_computed_answer_is_asked_of_the_same_tables(store):
    model = Scripted(ANN)
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    tables = TableAnswers(store, OWN, writer, 0.5, taught=True)
    lines = Calculations(store, OWN, writer, WordEmbedder(), 0.5)
    both = WithTables(Other(), lines, tables, (DOCUMENT,), "", computes=False, before=(ID,))
    *_, last = both.generate("And who the least?", (PASSAGE,), lambda: False)
    assert last.draft.computation and last.draft.basis is Basis.COMPUTED


@pytest.mark.parametrize(
    ("value", "language", "written"),
    [
        (Decimal("18426.50"), "English", "18,426.50"),
        (Decimal("18426.50"), "German", "18.426,50"),
        (Decimal("20.00"), "English", "20"),
        (2024, "English", "2024"),
        (1 / 3, "English", "0.333"),
        (123.456, "Spanish", "123,46"),
        (dt.date(2026, 3, 6), "English", "6 March 2026"),
        (dt.date(2026, 3, 6), "German", "06.03.2026"),
        (None, "English", "–"),
        ([1, 2], "English", "1, 2"),
    ],
)
def test_values_are_written_as_the_language_writes_them(value, language, written):
    assert said(value, language) == written


@pytest.mark.parametrize(
    ("template", "rows", "text"),
    [
        ("It is {0}.", ((5,),), "It is 5."),
        ("They are {rows}.", ((5,), (6,)), "They are 5, 6."),
        ("It is {0}.", ((5,), (6,)), "It is 5, 6."),
        ("It is {4}.", ((5,),), "5"),
        ("{0} owe {1} EUR.", ((5,),), "5"),
        ("The {0} site has most.", (("North site",),), "The North site has most."),
        ("It is the {0}; site", (("North site",),), "It is the North site; site"),
        ("It grew by {0} %, from {1} to {2}.", ((5,),), "It grew by 5 %."),
        ("It grew, by {0} from {1} to {2}.", ((5,),), "5"),
        ("Nothing to fill in", ((5,),), "5"),
        ("They owe {0} GBP.", ((Decimal("2457.5"),),), "They owe 2457.50 GBP."),
        ("They owe £{0}.", ((Decimal("1234567.5"),),), "They owe £1,234,567.50."),
        ("It is {0} km, at £2.", ((Decimal("2457.5"),),), "It is 2457.5 km, at £2."),
        ("It is {0} EUR.", ((Decimal("0.125"),),), "It is 0.125 EUR."),
    ],
)
def test_a_sentence_says_what_came_out(template, rows, text):
    assert sentence(template, Result(("a",), ("INTEGER",), rows), "English") == text


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("The dearest costs {0} EUR: {1}.", "The dearest costs 149.90 EUR: drill."),
        ("£{0} is what {1} costs.", "£149.90 is what drill costs."),
        ("The dearest is {0} for {1} EUR.", "The dearest is drill for 149.90 EUR."),
        ("{0} EUR {1}.", "drill EUR 149.90."),
        ("The dearest is {0}, {1}.", "The dearest is drill, 149.90."),
    ],
)
def test_money_stands_beside_the_figure(template, text):
    result = Result(("article", "price"), ("VARCHAR", "DOUBLE"), (("drill", 149.9),))
    assert sentence(template, result, "English") == text


def test_a_reply_is_understood_as_it_is_taught():
    assert understood_query(query_said_as("SELECT 1", "{0}")) == ("SELECT 1", "{0}")
    assert understood_query(query_said_as("", "")) is None


def test_of_two_wordings_the_ranker_reads_the_one_that_it_is_surer_of(store):
    ranker = QueryRanker(MiniLmEmbedder(1), QueryReader(threads=1))
    answers = TableAnswers(store, OWN, None, 0.45, taught=False, ranker=ranker)

    def told(question: str, searched: str) -> Draft | None:
        found = (passage(store),)
        return answers.answer(question, found, (DOCUMENT,), "", lambda: False, searched)

    other = "Quid de rebus istis?"
    for wordings in ((PAYMENTS, other), (other, PAYMENTS)):
        assert told(*wordings).sentences == ("Person: Ann Lee – 2",)
    assert told(other, "") is None


APART = (
    "SQL: SELECT sum(amount) FILTER (WHERE lower(person) = '{0}') - "
    "sum(amount) FILTER (WHERE lower(person) = '{1}') FROM t1\n"
    "Say: Ann Lee spent {{0}} EUR more than Ben Okoro."
)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [("ben okoro", "ann lee", "1209.25"), ("ann lee", "ben okoro", "1209.25")],
)
def test_a_difference_is_as_its_sentence_has_it_whichever_way_it_was_worked_out(
    store, first, second, said
):
    question = "How much more did Ann Lee spend than Ben Okoro?"
    draft = beside(store, question, Scripted(APART.format(first, second)))
    assert draft.sentences == (f"Ann Lee spent {said} EUR more than Ben Okoro.",)


def test_a_part_of_costs_and_income_together_is_no_share(tmp_path, file):
    sheet = b"Line,Amount\nSales,900\nRent,-300\nStaff,-500\nPost,-20\n"
    part = "SELECT 100.0 * sum(amount) FILTER (WHERE lower(line) = 'rent') / sum(amount) FROM t1"
    question = "What percentage of costs was rent?"
    assert travelled(tmp_path, file, question, sheet, part) is None
    draft = travelled(tmp_path, file, question, sheet, f"{part} WHERE amount < 0")
    assert draft.computation.rows == (("36.59",),)
