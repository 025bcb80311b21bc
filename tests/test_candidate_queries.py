"""Queries that a question over a table may mean, and which of them is taken to be meant."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from rag_app.answering.prompts import sure_of_columns
from rag_app.answering.query_ranking import (
    QueryRanker,
    _weights,
    agreement,
    features,
    said_of,
    values_of,
)
from rag_app.answering.query_reading import READ, Interpretation, QueryReader, as_read
from rag_app.answering.sentence_ranker import Titled
from rag_app.errors import QueryError
from rag_app.reading.limits import Limits
from rag_app.reading.sheets import read_delimited
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.scope import WORKER
from rag_app.storage import Store
from rag_app.tables.building import typed_tables
from rag_app.tables.candidates import (
    CandidateQuery,
    Operator,
    TableQuestion,
    candidates,
)
from rag_app.tables.computing import sentence
from rag_app.tables.conditions import ConditionKind, fields_of, figures
from rag_app.tables.querying import Result, TableDatabase
from rag_app.types import Document, Status
from tests.fakes import WordEmbedder
from training.tables.denotations import OF_COLUMNS, denotation

ORDERS = """Ordered;Customer;Item;Qty;Least;Price;Paid?
2025-02-03;Anna Berg;rye loaf;12;10;3,50;yes
2025-02-17;Bruno;bun;40;50;0,60;no
2025-03-04;anna berg;bun;25;30;0,60;NO
2025-03-21;Café Ost;rye loaf;;5;3,50;yes
2025-04-02;Bruno;tart;2;1;-18,00;yes
2025-04-30;Café Ost;seed roll;60;20;0,75;no
"""
COSTS = """What;2021;2022;2023
Rent;12000;12600;13100
Wages;50100;48000;51250
Grants;-2000;0;-500
"""
CASH = """Day;Text;In;Out
2025-01-03;Hall rent January, St Anne's;;180
2025-01-09;Ticket sales, first night;540;
2025-02-03;Hall rent February, St Anne's;;180
2025-02-11;Raffle ticket printing;;24
2025-02-14;Sales of cakes;61;
2025-03-03;Hall rent March, St Anne's;;195
2025-03-21;Tickets, last night;675;
"""
LOANS = """Book;Lent;Returned;Reader;Pages;Fee;Fine
Emma;2025-01-03;2025-01-24;Lea Kurz;474;1,00;
Middlemarch;2025-01-09;2025-03-01;Tom Berg;880;1,50;4,00
Emma;2025-02-03;;Ida Falk;474;1,00;0
Persuasion;2025-02-11;2025-02-20;Lea Kurz;249;0,50;
"""
ON_THE_DAY = "CAST(ordered AS DATE) = DATE '2025-02-{}'"
ASKED = (
    "how many orders are not paid",
    "how much did anna berg pay",
    "what share of the buns went to bruno",
    "who ordered the most on 4 march",
    "orders from 10 february to 5 april",
    "which month had the largest quantity",
    "items with a quantity below the least",
    "top 2 customers, more than 20 pieces in 2025",
    "rent in 2022 and 2023",
    "did anna berg or bruno order the larger quantity",
    "which customers but bruno ordered",
    "what else had the same price as anna berg's",
    "in which year were wages the highest",
    "how much hall rent in february and march",
    "what did tickets bring in",
)


@contextmanager
def table(tmp_path: Path, file: Callable[[bytes], Path], *texts: str) -> Iterator[TableDatabase]:
    with closing(Store(tmp_path / "library.sqlite3")) as store:
        for letter, text in zip("fedc", texts, strict=False):
            reading = read_delimited(file(text.encode()), limits=Limits())
            key = letter * 64
            store.add_document(Document(key, f"{letter}.csv", ".csv", 1, Status.READY, "2026"))
            store.save_reading(key, reading, typed_tables(key, reading))
        with TableDatabase(store.tables.of(WORKER), store.tables) as database:
            yield database


@pytest.fixture(params=[ORDERS, COSTS, CASH, LOANS], ids=["orders", "costs", "cash", "loans"])
def opened(request, tmp_path, file):
    with table(tmp_path, file, request.param) as database:
        yield database


@pytest.fixture
def orders(tmp_path, file):
    with table(tmp_path, file, ORDERS) as database:
        yield database


def over(database: TableDatabase, question: str) -> TableQuestion:
    first = database.tables[0]
    return candidates(question, first, fields_of(database, first))


def plain(rows) -> list[tuple[str, ...]]:
    """Rows to compare: figures to six places, days alone, in the order of their texts."""

    def value(one) -> str:
        if isinstance(one, float | int | Decimal):
            return f"{float(one):.6f}"
        return str(one)[:10].lower() if hasattr(one, "year") else str(one).lower()

    return sorted(tuple(map(value, row)) for row in rows if None not in row)


def some_of_each(asked: TableQuestion) -> list[CandidateQuery]:
    """One of the candidates made alike, another by another question: there are thousands."""
    alike: dict[object, list[CandidateQuery]] = {}
    for one in asked.candidates:
        kinds = tuple(condition.kind for condition in one.conditions)
        fields = [field is not None and field.is_measure for field in (one.field, one.by)]
        alike.setdefault((one.operator, kinds, *fields), []).append(one)
    turn = len(asked.parsed.words)
    return [made[turn % len(made)] for made in alike.values()]


@pytest.mark.parametrize("question", ASKED)
def test_the_sql_of_each_candidate_gives_what_is_taught_that_it_gives(opened, question):
    columns_of = opened.tables[0].table.columns
    names = ", ".join(column.sql_name for column in columns_of)
    rows = opened.fetch(f"SELECT {names} FROM t1 ORDER BY rowid").rows
    columns = list(zip(*rows, strict=True))
    ties = (Operator.GROUP_OF_MOST, Operator.GROUP_OF_LEAST, Operator.TOP_GROUPS)
    ties += (Operator.TOP, Operator.BOTTOM)  # which of the equal is first is nobody's to say
    asked = over(opened, question)
    assert asked.candidates
    for one in some_of_each(asked):
        found = opened.fetch(one.sql).rows
        if one.operator not in OF_COLUMNS:
            told = denotation(one, columns)
            if one.operator in ties:
                assert len(plain(told)) == len(plain(found)), one.sql
            else:
                assert plain(told) == plain(found), one.sql


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("who came 2 times or more", "reader FROM t1 WHERE reader IS NOT NULL GROUP BY reader"
         " HAVING count(*) >= 2"),
        ("who came more than 2 times", "reader FROM t1 WHERE reader IS NOT NULL GROUP BY reader"
         " HAVING count(*) > 2"),
        ("how long was middlemarch away", "abs(date_diff('day', lent, returned)) FROM t1 WHERE"
         " lower(book) = 'middlemarch'"),
        ("how long is a book away on average",
         "avg(abs(date_diff('day', lent, returned))) FROM t1"),
        ("what did lea kurz pay with fines", "sum(coalesce(fine, 0) + coalesce(fee, 0)) FROM t1"
         " WHERE lower(reader) = 'lea kurz'"),
        ("fee by the page", "sum(fee) / nullif(sum(pages), 0) FROM t1"),
    ],
)  # fmt: skip
def test_what_two_columns_give_and_what_is_often_there_is_tried(tmp_path, file, question, sql):
    with table(tmp_path, file, LOANS) as database:
        tried = {one.sql for one in over(database, question).candidates}
    assert f"SELECT {sql}" in tried


def test_figures_far_to_the_right_in_a_wide_table_are_tried(tmp_path, file):
    wide = f"{';'.join('ABCDEFGHI')};Total\n" + f"{';'.join('abcdefghi')};7\n" * 3
    with table(tmp_path, file, wide) as database:
        tried = {one.sql for one in over(database, "what does it come to").candidates}
    assert "SELECT sum(total) FROM t1" in tried


def chosen(database: TableDatabase, question: str, kind: ConditionKind) -> set[str]:
    return {c.sql for c in over(database, question).parsed.conditions if c.kind is kind}


@pytest.mark.parametrize(
    ("question", "kind", "sql"),
    [
        ("did anna berg pay", ConditionKind.IS, "lower(customer) = 'anna berg'"),
        ("what did ana berg order", ConditionKind.IS, "lower(customer) = 'anna berg'"),
        ("all but anna berg", ConditionKind.IS_NOT, "lower(customer) <> 'anna berg'"),
        ("orders over 20", ConditionKind.MORE, "qty > 20"),
        ("orders in march", ConditionKind.MONTH, "month(ordered) = 3"),
        ("what is still open", ConditionKind.ONE_OF_FEW, "lower(paid) = 'no'"),
        ("which has no quantity", ConditionKind.GAP, "qty IS NULL"),
        ("is the price below zero", ConditionKind.NEGATIVE, "price < 0"),
        ("what came on 2025-02-17", ConditionKind.DAY, ON_THE_DAY.format("17")),
        ("what came on 17.2.25", ConditionKind.DAY, ON_THE_DAY.format("17")),
        ("what came on 2/17/2025", ConditionKind.DAY, ON_THE_DAY.format("17")),
        ("what came on 3/2/2025", ConditionKind.DAY, ON_THE_DAY.format("03")),
        ("what came on 2/3/2025", ConditionKind.DAY, ON_THE_DAY.format("03")),  # not 2 March
        (
            "from 10 february to 5 april",
            ConditionKind.BETWEEN,
            "CAST(ordered AS DATE) BETWEEN DATE '2025-02-10' AND DATE '2025-04-05'",
        ),
        (
            "from 3 to 17 february",
            ConditionKind.BETWEEN,
            "CAST(ordered AS DATE) BETWEEN DATE '2025-02-03' AND DATE '2025-02-17'",
        ),
        (
            "february to march 2025",
            ConditionKind.BETWEEN,
            "CAST(ordered AS DATE) BETWEEN DATE '2025-02-01' AND DATE '2025-03-31'",
        ),
        ("quantity under the least", ConditionKind.BELOW, "qty < least"),
    ],
)
def test_rows_are_chosen_by_what_a_question_names(orders, question, kind, sql):
    assert sql in chosen(orders, question, kind)


def test_from_a_month_to_another_is_a_time_of_two_years_and_neither_month_alone(tmp_path, file):
    rows = "".join(f"2025-{month}-03;{month}\n" for month in ("10", "11", "12"))
    with table(tmp_path, file, f"Day;Out\n{rows}2026-01-09;40\n2026-03-30;50\n") as database:
        asked = "how much went out from oct to march"
        spans = chosen(database, asked, ConditionKind.BETWEEN)
        assert spans == {"CAST(day AS DATE) BETWEEN DATE '2025-10-01' AND DATE '2026-03-31'"}
        assert not chosen(database, asked, ConditionKind.MONTH)
        assert chosen(database, "what went out oct-march", ConditionKind.BETWEEN) == spans
        assert len(chosen(database, "in oct and march", ConditionKind.MONTH)) == 2
        assert not chosen(database, "in oct and march", ConditionKind.BETWEEN)


def test_words_are_found_wherever_they_stand_in_a_text(tmp_path, file):
    with table(tmp_path, file, CASH) as database:
        rent = chosen(database, "total hall rent", ConditionKind.HAS)
        tickets = chosen(database, "what came in from tickets", ConditionKind.HAS)
        found = over(database, "total hall rent").candidates
    assert "lower(text) LIKE '%hall%' AND lower(text) LIKE '%rent%'" in rent
    assert "lower(text) LIKE '%ticket%'" in tickets
    assert any(c.operator is Operator.SUM and c.mask.sum() == 3 for c in found)


def test_a_day_that_no_month_has_chooses_nothing(orders):
    assert not chosen(orders, "orders on 31 february", ConditionKind.DAY)


def test_a_text_with_a_quotation_mark_stays_a_text(tmp_path, file):
    with table(tmp_path, file, "Name;Sum\nO'Hara's;3\nBo;4\nCy;5\n") as database:
        for one in over(database, "what is the sum of o'hara's").candidates:
            database.fetch(one.sql)


def test_a_table_of_no_rows_means_nothing(orders):
    orders_of_none = candidates("how many", orders.tables[0], ())
    assert orders_of_none.candidates == ()


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    return MiniLmEmbedder(1)


@pytest.fixture(scope="module")
def ranker(embedder) -> QueryRanker:
    return QueryRanker(embedder, QueryReader(threads=1))


def test_what_a_question_plainly_asks_for_is_taken_to_be_meant(orders, ranker):
    first = ranker.interpretations("how many orders did Bruno make?", orders)[0]
    assert first.values == (("2.00",),)
    assert said_of(first.candidate).startswith("Customer: Bruno")


@pytest.mark.parametrize(
    ("question", "kind", "operator", "text"),
    [
        ("who but Bruno?", ConditionKind.IS_NOT, Operator.COUNT, "Customer ≠ Bruno – 4"),
        ("what share is Bruno's?", ConditionKind.IS, Operator.SHARE, "Customer: Bruno – 33.33%"),
    ],
)  # fmt: skip
def test_what_others_have_is_said_of_others_and_a_share_in_percent(
    orders, question, kind, operator, text
):
    asked = over(orders, question).candidates
    one = next(
        c
        for c in asked
        if c.operator is operator and [(e.kind, e.said) for e in c.conditions] == [(kind, "bruno")]
    )
    assert sentence(said_of(one), orders.run(one.sql), "English") == text


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("Wer hat mehr als 12,5 bestellt?", 12.5),
        ("mehr als 1.234,50 €", 1234.5),
        ("more than 1,234.50", 1234.5),
        ("more than 1,234", 1234),
        ("more than 12, please", 12),
    ],
)
def test_a_number_is_read_with_a_comma_before_its_decimals_too(orders, question, number):
    assert [one for one, _ in over(orders, question).parsed.numbers] == [number]


def test_chances_are_shared_with_that_of_nothing(orders, ranker):
    found = ranker.interpretations("what is the capital of Mongolia?", orders)
    assert sum(one.chance for one in found) < 1.0
    assert [one.chance for one in found] == sorted((one.chance for one in found), reverse=True)


def ways(found: list[Interpretation]) -> list[str]:
    return [way.told for one in found for way in one.ways]


def test_a_query_is_read_by_the_names_of_its_columns_with_what_it_gives(orders, ranker):
    counted = ways(ranker.interpretations("how many orders did Bruno make?", orders))
    assert "count(*) WHERE Customer = bruno => 2" in counted
    shared = ways(ranker.interpretations("what share of the orders are Bruno's", orders))
    assert "percent count(*) (where Customer = bruno ) / count(*) => 33.3333" in shared


def test_what_reads_puts_right_how_likely_each_query_is(orders, embedder, ranker):
    question = "which customer ordered the most in a single order"
    alone = QueryRanker(embedder, None).interpretations(question, orders)[:READ]
    read = ranker.interpretations(question, orders)
    assert {one.values for one in read} == {one.values for one in alone}
    assert {one.chance for one in read} != {one.chance for one in alone}
    assert sum(one.chance for one in read) < 1.0


def test_of_the_ways_to_a_result_the_one_that_reads_likeliest_stands_for_it(orders, embedder):
    class Sums:
        def score(self, _: str, given: list[Titled]) -> list[list[float]]:
            return [[3.0 if "sum(Qty)" in one.text else 0.0] for one in given]

    reader = QueryReader()
    reader._network = Sums()
    question = "who ordered the most?"
    [first, *_] = QueryRanker(embedder, reader).interpretations(question, orders)
    assert len(first.ways) > 1
    assert "sum(Qty)" in first.ways[0].told


def test_a_month_that_a_query_does_not_know_is_left_out(orders, ranker):
    def leaves_out(question: str) -> bool:
        return ranker.interpretations(question, orders)[0].leaves_out

    assert leaves_out("how many orders did Bruno make in August?")
    assert not leaves_out("how many orders did Bruno make in April?")


def test_there_is_one_more_candidate_and_no_feature_is_missing(orders, embedder):
    asked = over(orders, ASKED[3])
    seen = features(asked, embedder)
    assert len(seen.dense) == len(asked.candidates) + 1 == len(seen.operators)
    assert seen.dense.shape[1] == len(_weights()[1]["mean"])
    assert np.isfinite(seen.dense).all()


def test_of_another_embedding_model_nothing_is_said(orders):
    assert QueryRanker(WordEmbedder(), None).interpretations("how many orders?", orders) == []


def test_who_is_named_with_the_figure_agrees_with_who_is_named(orders, ranker):
    found = ranker.interpretations("who bought the most buns?", orders)
    bruno = values_of(orders.run("SELECT customer, qty FROM t1 WHERE qty = 40"))
    alone = values_of(orders.run("SELECT customer FROM t1 WHERE qty = 40"))
    assert 0.0 < agreement(alone, found) <= agreement(bruno, found)
    nobody = values_of(orders.run("SELECT DATE '1999-01-01'"))
    assert math.isclose(agreement(nobody, found), 0.0)
    assert date(1999, 1, 1).isoformat() == nobody[0][0]


def test_a_candidate_that_cannot_be_run_takes_no_other_with_it(orders, ranker, monkeypatch):
    fetch = orders.fetch

    def refuses(sql: str, most: int = 0) -> Result:
        if "count(" in sql:
            raise QueryError("The query divides by zero.")
        return fetch(sql, most)

    monkeypatch.setattr(orders, "fetch", refuses)
    found = ranker.interpretations("how many orders did Bruno make?", orders)
    assert found
    assert not any("count(" in one.candidate.sql for one in found)


def test_who_has_the_same_is_asked_only_of_a_column_that_is_named(orders):
    def sqls(question: str) -> list[str]:
        return [c.sql for c in over(orders, question).candidates if c.operator is Operator.SAME]

    found = sqls("what else had the same price as anna berg's")
    assert any("WHERE price = (SELECT min(price)" in sql for sql in found)
    assert not sqls("who is like anna berg")


def test_which_of_two_has_more_may_be_asked(orders):
    sqls = {c.sql for c in over(orders, "did anna berg or bruno order the larger qty").candidates}
    either = "(lower(customer) = 'anna berg' OR lower(customer) = 'bruno')"
    most = f"SELECT max(qty) FROM t1 WHERE {either}"
    assert f"SELECT customer FROM t1 WHERE {either} AND qty = ({most})" in sqls


def test_of_tables_that_could_both_be_meant_neither_is_as_likely_as_alone(tmp_path, file, ranker):
    question = "how many orders did Bruno make?"
    with table(tmp_path, file, ORDERS, ORDERS) as database:
        found = ranker.interpretations(question, database)
    first, second = (one for one in found if one.values == (("2.00",),))
    assert first.chance == pytest.approx(second.chance) and first.chance < 0.5
    assert first.of_table == pytest.approx(second.of_table) and first.of_table > first.chance
    assert sum(one.chance for one in found) < 1.0


def test_numbers_of_rows_are_never_added_up_and_may_be_asked_for(tmp_path, file):
    jobs = "Job;Who;Paid\n" + "\n".join(f"{101 + n};{w};{9 * n}" for n, w in enumerate("abcab"))
    with table(tmp_path, file, jobs) as database:
        sqls = {c.sql for c in over(database, "which job paid the most").candidates}
        assert figures(database) == {"paid"}
    assert not any("sum(job" in sql or "avg(job" in sql for sql in sqls)
    assert "SELECT job FROM t1 WHERE paid = (SELECT max(paid) FROM t1)" in sqls


def test_a_text_that_is_looked_for_is_read_as_it_is_though_a_column_is_called_so(tmp_path, file):
    members = "No.;Name;Paid\n1;Ann;no\n2;Ben;yes\n3;Cy;no\n"
    with table(tmp_path, file, members) as database:
        [one] = [
            c
            for c in over(database, "which names have not paid, no").candidates
            if c.sql == "SELECT name FROM t1 WHERE lower(paid) = 'no'"
        ]
        read = as_read(one, database.tables[0].table, database.fetch(one.sql))
    assert read.split(" => ")[0].split() == ["Name", "WHERE", "Paid", "=", "no"]


def test_how_sure_a_writer_is_of_what_names_rows_is_no_matter():
    tokens = [("SQL: SELECT ", 1.0), ("no", 0.4), (", ", 1.0), ("paid", 0.7), (" FROM t1", 1.0)]
    assert sure_of_columns(tokens, {"paid"}) == 0.7
    assert sure_of_columns(tokens, {"no", "paid"}) == 0.4
    assert sure_of_columns(tokens, set()) == 1.0
