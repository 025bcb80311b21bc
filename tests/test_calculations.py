"""Figures worked out from lines of statements: what the writer is shown, and what is said."""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal

import pytest
from langchain_core.messages import AIMessageChunk

from rag_app.answering import calculations as calculations_module
from rag_app.answering.calculations import Calculations, understood, worked_out
from rag_app.answering.chain import AskContext, finalize
from rag_app.answering.generation import EACH, FIRST, Writer
from rag_app.export.messages import remarks
from rag_app.reading.limits import Limits
from rag_app.reading.pdf import read_pdf
from rag_app.reading.sheets import read_delimited
from rag_app.scope import OWN, WORKER
from rag_app.storage import Store
from rag_app.tables.building import typed_tables
from rag_app.tables.line_items import line_items, years_of
from rag_app.types import Basis, Chunk, Document, Draft, NoteKind, Passage, Reading, Status, Timing
from tests.fakes import WordEmbedder
from tests.pdfs import drawn

ID = "d" * 64
DOCUMENT = Document(ID, "Tellma 10K.pdf", ".pdf", 1, Status.READY, "2021")
ROWS = [
    ("", "2020", "2019"),
    ("Net revenue", "6,489", "7,500"),
    ("Cost of revenue", "(2,200)", "(2,500)"),
    ("Gross profit", "4,289", "5,000"),
    ("Property and equipment, net", "253", "282"),
    ("Stores at end of year", "12", "—"),
    ("Goodwill", "9,764", "9,762"),
    ("Earnings per share", "1.96", "2.43"),
    ("Total current assets", "7,292", "6,106"),
]


def statement(canvas) -> None:
    canvas.drawString(72, 760, "Tellma Inc. Consolidated statements (in millions)")
    for line, row in enumerate(ROWS):
        for x, text in zip((72, 330, 430), row, strict=True):
            canvas.drawString(x, 730 - 18 * line, text)


class Scripted:
    """A writer that says one thing, and is as sure of each token as it is told to be."""

    def __init__(self, reply: str, sure: float) -> None:
        self._reply, self._sure = reply, sure
        self.asked = ""

    def stream(self, messages, begun="", logs=False):
        self.asked = messages[-1][1]
        yield AIMessageChunk(self._reply.removeprefix(begun), response_metadata={FIRST: self._sure})
        yield AIMessageChunk("", response_metadata={EACH: [(self._reply, self._sure)]})


class Hesitant(Scripted):
    """A writer that first says that there is nothing, and is not sure of it."""

    def stream(self, messages, begun="", logs=False):
        if begun:
            yield from super().stream(messages, begun, logs)
        else:
            yield AIMessageChunk("None", response_metadata={FIRST: self.sure_of_nothing})


@pytest.fixture
def store(database, file):
    made = Store(database)
    reading = read_pdf(file(drawn(statement)), limits=Limits())
    made.add_document(DOCUMENT)
    made.save_reading(ID, reading, typed_tables(ID, reading))
    yield made
    made.close()


def calculations(store: Store, reply: str, sure: float = 0.95, caution: float = 0.45):
    model = Scripted(reply, sure)
    writer = Writer("w", lambda: model, lambda e: e, window=8_000, most_tokens=99)
    return Calculations(store, OWN, writer, WordEmbedder(), caution), model


def passages(store: Store) -> tuple[Passage, ...]:
    text = store.page(ID, 1, WORKER).text
    return (Passage(Chunk(ID, 1, 0, 0, len(text), text), DOCUMENT.name, 1.0),)


def answered(store: Store, question: str, reply: str, **given: float) -> Draft | None:
    asked, _ = calculations(store, reply, **given)
    return asked.answer(question, passages(store), "English", lambda: False)


TURNOVER = """a = line("Net revenue", "income statement", 2020)
b = line("Property and equipment, net", "balance sheet", 2019)
c = line("Property and equipment, net", "balance sheet", 2020)
result = a / ((b + c) / 2)
say = "The fixed asset turnover of Tellma in 2020 was {0}."
"""
ASKED = "What was the fixed asset turnover of Tellma in 2020, over the mean of 2019 and 2020?"


def test_lines_have_a_figure_for_each_year_and_stand_word_for_word_on_their_page(store):
    [table] = store.tables.of(WORKER)
    assert sorted(years_of(table)) == [2019, 2020]
    lines = {line.label: line for line in line_items(store.tables, table)}
    assert lines["Cost of revenue"].by_year[2019].value == -2500
    assert lines["Total current assets"].by_year[2020].value == 7292
    assert list(lines["Stores at end of year"].by_year) == [2020]
    text = store.page(ID, 1, WORKER).text
    for line in lines.values():
        assert text[line.place.start : line.place.end] == line.label
        for figure in line.by_year.values():
            written = text[figure.span.start : figure.span.end]
            assert Decimal(written.strip("()").replace(",", "")) == abs(figure.value)


def figures(store: Store, reading: Reading) -> dict[str, dict[int, str]]:
    """By the line of a statement and the year: its figure."""
    store.add_document(DOCUMENT)
    store.save_reading(ID, reading, typed_tables(ID, reading))
    [table] = store.tables.of(WORKER)
    text = store.page(ID, 1, WORKER).text
    lines = list(line_items(store.tables, table))
    assert all(text[line.place.start : line.place.end] == line.label for line in lines)
    return {
        line.label: {year: str(one.value) for year, one in line.by_year.items()} for line in lines
    }


def test_the_total_of_a_sheet_is_a_line(database, file):
    rows = "Line,2023,2022\nProperty,1100,1050\nInventory,2432,2160\nCash,11000,10000\n"
    sheet = read_delimited(file(f"{rows}Total assets,14532,13210\n".encode()), limits=Limits())
    with closing(Store(database)) as store:
        assert figures(store, sheet)["Total assets"] == {2023: "14532", 2022: "13210"}


@pytest.mark.parametrize(
    ("rows", "total"),
    [
        ("Land;1.100;24,3 %\nLager;2.432;53,7 %\nGeld;1.000;22,0 %\n", "4532"),
        ("Land;1.100,5;24,3 %\nLager;2.431,5;53,7 %\nGeld;1.000;22,0 %\n", "4532"),
        ("Land;1.1;24.3 %\nStores;2.4;53.7 %\nCash;1.032;22.0 %\n", "4.532"),
    ],
)
def test_the_figures_of_a_total_are_read_as_those_above_it(database, file, rows, total):
    written = f"Position;2023;Anteil\n{rows}Summe;4.532;100 %\n"
    with closing(Store(database)) as store:
        sheet = read_delimited(file(written.encode()), limits=Limits())
        assert figures(store, sheet)["Summe"] == {2023: total}


def test_a_ratio_is_worked_out_by_code_and_cites_the_lines_it_rests_on(store):
    draft = answered(store, ASKED, TURNOVER)
    assert draft.sentences == (
        "The fixed asset turnover of Tellma in 2020 was 24.26. ",
        "Net revenue: 6489 (2020); Property and equipment, net: 282 (2019), 253 (2020).",
    )
    assert draft.basis is Basis.COMPUTED
    [note] = draft.notes
    assert note.kind is NoteKind.COMPUTED
    assert note.values == ("6489 ÷ ((282 + 253) ÷ 2) = 24.26",)
    assert draft.computation.rows == (("24.26",),) and draft.computation.sql == ""
    [used] = draft.computation.used
    assert (used.name, used.columns, used.count) == (DOCUMENT.name, ("", "2020", "2019"), 2)
    assert [[cell.text for cell in row] for row in used.rows] == [
        ["Net revenue", "6,489", ""],
        ["Property and equipment, net", "253", "282"],
    ]
    answer = finalize(draft, passages(store), Timing(0, 0), AskContext(ASKED))
    text = store.page(ID, 1, WORKER).text
    assert [c.quote for c in answer.citations] == [
        *("Net revenue", "6,489", "Property and equipment, net", "253", "282"),
    ]
    assert all(text[c.start : c.end] == c.quote for c in answer.citations)
    assert answer.text.endswith("[1]") and remarks(answer)[0] == (
        "Looked up in 2 rows of Tellma 10K.pdf."
    )


@pytest.mark.parametrize(
    ("result", "said"),
    [("b / a", "0.00185"), ("percent(b / a / 10)", "0.0185%"), ("b", "0.0120 billion")],
)
def test_a_small_result_is_not_rounded_to_nothing(store, result, said):
    reply = (
        'a = line("Net revenue", "", 2020)\nb = line("Stores at end of year", "", 2020)\n'
        f'result = {result}\nsay = "It was {{0}}."'
    )
    draft = answered(store, "What was it in 2020, in USD billions?", reply, caution=0.0)
    assert draft.short_answer == said


def test_the_writer_is_asked_the_question_and_shown_no_figure(store):
    asked, model = calculations(store, "None")
    assert asked.answer(ASKED, passages(store), "English", lambda: False) is None
    assert model.asked == ASKED


def test_a_line_alone_is_said_in_the_scale_that_was_asked_for(store):
    reply = 'a = line("Net revenue", "", 2019)\nresult = a\nsay = "The revenue was {0}."'
    draft = answered(store, "What was the revenue in 2019 in USD billions?", reply)
    assert draft.sentences == ("The revenue was 7.50 billion.",)
    assert draft.notes == () and len(draft.computation.used) == 1
    draft = answered(store, "What was the revenue in 2019?", reply)
    assert draft.sentences == ("The revenue was 7500 million.",)


def test_a_figure_for_each_share_is_in_no_scale(store):
    reply = 'a = line("Earnings per share", "", 2019)\nresult = a\nsay = "It was {0}."'
    draft = answered(store, "What were the earnings per share in 2019, in dollars?", reply)
    assert draft.sentences == ("It was 2.43.",)
    mixed = reply.replace("result = a", 'b = line("Goodwill", "", 2019)\nresult = a / b')
    assert answered(store, "How many?", mixed, caution=0.0) is None


def test_a_change_is_said_in_percent(store):
    reply = (
        'a = line("Net revenue", "", 2019)\nb = line("Net revenue", "", 2020)\n'
        'result = percent((b - a) / a)\nsay = "The revenue changed by {0} %."'
    )
    draft = answered(store, "How did revenue change from 2019 to 2020?", reply)
    assert draft.sentences[0] == "The revenue changed by -13.5%. "


@pytest.mark.parametrize(
    "reply",
    [
        "None",
        "I would rather not.",
        TURNOVER.replace("Net revenue", "Free dental treatment of pets"),  # no such line
        TURNOVER.replace("2020)", "1999)"),  # no such year
        TURNOVER.replace("a / ((b + c) / 2)", "a + b / c"),  # an amount and a ratio
        TURNOVER.replace("/ 2)", "/ 17)"),  # a figure that nobody gave
        TURNOVER.replace("a / ((b + c) / 2)", "a / (b - b)"),
        TURNOVER.replace("a / ((b + c) / 2)", "__import__('os').getcwd()"),
        TURNOVER.replace("a / ((b + c) / 2)", "9 ** 9 ** 9 * a"),
        TURNOVER.replace("was {0}", "was 24.3"),
        TURNOVER.replace("was {0}", "was {0}, after 31.7 the year before"),
    ],
)
def test_what_makes_no_sense_is_not_said(store, reply):
    assert answered(store, ASKED, reply, caution=0.0) is None


def test_an_unsure_writer_is_not_believed(store):
    assert answered(store, ASKED, TURNOVER, sure=0.95) is not None
    assert answered(store, ASKED, TURNOVER, sure=0.1) is None


@pytest.mark.parametrize(("sure", "answers"), [(0.7, True), (0.99, False)])
def test_a_writer_that_is_not_sure_that_there_is_nothing_is_made_to_go_on(store, sure, answers):
    model = Hesitant(TURNOVER, 0.95)
    model.sure_of_nothing = sure
    writer = Writer("w", lambda: model, lambda e: e, window=8_000, most_tokens=99)
    asked = Calculations(store, OWN, writer, WordEmbedder(), 0.45)
    draft = asked.answer(ASKED, passages(store), "English", lambda: False)
    assert (draft is not None) is answers


@pytest.mark.parametrize(
    ("asked", "names_a_year"),
    [
        *(("margin in FY21?", True), ("revenue of Q22023", True), ("fy ’19 capex", True)),
        *(("what does membership cost?", False), ("room 4 of 19?", False)),
    ],
)
def test_a_question_without_a_year_is_not_worked_out_from_statements(store, asked, names_a_year):
    made, _ = calculations(store, "None")
    assert made.wants(asked, passages(store)) is names_a_year


def test_only_pages_with_statements_are_worth_a_question(store, monkeypatch):
    asked, _ = calculations(store, "None")
    assert asked.wants(ASKED, passages(store))
    elsewhere = Passage(Chunk(ID, 7, 0, 0, 5, "Ferry"), DOCUMENT.name, 1.0)
    assert not asked.wants(ASKED, (elsewhere,)) and not asked.wants(ASKED, ())
    monkeypatch.setattr(calculations_module, "years_of", lambda table: {2020: 1})
    assert not asked.wants(ASKED, passages(store)), "a table of one year compares nothing"


def test_amounts_keep_their_degree():
    calculation = understood(TURNOVER)
    values = {"a": Decimal(10), "b": Decimal(4), "c": Decimal(6)}
    worked = worked_out(calculation.expression, values, frozenset())
    assert (worked.value, worked.degree) == (2, 0)
