"""Which sheets a question may be meant of, where there are several."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from langchain_core.messages import AIMessageChunk

from rag_app.answering.generation import FIRST, Piece, Writer, pieces
from rag_app.answering.prompts import query_said_as
from rag_app.answering.source_choice import WithTables
from rag_app.answering.table_answers import TableAnswers
from rag_app.answering.table_choice import TableChoice
from rag_app.export.messages import sentence
from rag_app.reading.limits import Limits
from rag_app.reading.sheets import read_delimited
from rag_app.scope import OWN, WORKER
from rag_app.storage import Store
from rag_app.tables.building import typed_tables
from rag_app.types import Basis, Chunk, Document, Draft, Note, NoteKind, Passage, Span, Status

FUEL = b"Date;Driver;Litres;Cost\n01.05.2024;Ann Lee;40;61\n02.05.2024;Ben Okoro;38;58\n"
MEALS = b"Date;Guest;Cost\n01.05.2024;Ann Lee;14\n03.05.2024;Cid;11\n"
STOCK = b"Item;Pieces\nBolt;900\nNut;850\n"
SHEETS = {"fuel.csv": FUEL, "meals.csv": MEALS, "stock.csv": STOCK}
DOCUMENTS = [
    Document(name[0] * 64, name, ".csv", 1, Status.READY, f"202{n}")
    for n, name in enumerate(SHEETS)
]
COST = "What did Ann cost?"
OF_BOTH = ("fuel.csv", "meals.csv")


class Scripted:
    """A writer that says one thing."""

    def __init__(self, reply: str) -> None:
        self._reply = reply

    def stream(self, messages, begun="", logs=False):
        yield AIMessageChunk(self._reply, response_metadata={FIRST: 0.97} if logs else {})


class Silent:
    """A generator that finds nothing in passages."""

    name = "silent"

    def generate(self, question, passages, cancelled):
        yield Piece(draft=Draft((), (), 0.1, abstained=True, notes=(Note(NoteKind.CUT),)))


class Quoting:
    """A generator that quotes a place."""

    name = "quoting"

    def __init__(self, span: Span, text: str) -> None:
        self.span, self._text = span, text

    def generate(self, question, passages, cancelled):
        yield from pieces(Draft((self._text,), ((self.span,),), 0.6))


@pytest.fixture
def store(database, file):
    with closing(Store(database)) as made:
        for document in DOCUMENTS:
            reading = read_delimited(file(SHEETS[document.name]), limits=Limits())
            made.add_document(document)
            made.save_reading(document.id, reading, typed_tables(document.id, reading))
        yield made


def found(store: Store, *names: str) -> tuple[Passage, ...]:
    """The pages of documents, as a search finds them."""
    chosen = [one for name in names for one in DOCUMENTS if one.name == name]
    texts = [(one, store.page(one.id, 1, WORKER).text) for one in chosen]
    return tuple(Passage(Chunk(d.id, 1, 0, 0, len(t), t), d.name, 1.0) for d, t in texts)


def answers(store: Store, sql: str) -> TableAnswers:
    model = Scripted(query_said_as(sql, "{0}." if sql else ""))
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    return TableAnswers(store, OWN, writer, 0.3, taught=True)


def others(draft: Draft | None) -> tuple[str, ...]:
    notes = draft.notes if draft else ()
    return next((note.values for note in notes if note.kind is NoteKind.OTHER_SHEETS), ())


def test_a_figure_of_one_sheet_goes_with_the_names_of_those_that_fit_about_as_well(store):
    asked = (COST, found(store, *OF_BOTH), DOCUMENTS, "English", lambda: False)
    of_fuel = answers(store, "SELECT cost FROM t1 WHERE lower(driver) = 'ann lee'").answer(*asked)
    assert of_fuel.sentences == ("61.",) and others(of_fuel) == ("meals.csv",)


def test_a_figure_of_the_only_sheet_that_fits_goes_with_no_names(store):
    only = ("How many pieces of bolt are in stock?", found(store, "stock.csv"), DOCUMENTS, "")
    draft = answers(store, "SELECT pieces FROM t1 WHERE lower(item) = 'bolt'")
    assert others(draft.answer(*only, lambda: False)) == ()


def test_where_no_query_answers_it_is_said_which_sheets_may_be_meant(store):
    asked = (COST, found(store, *OF_BOTH), DOCUMENTS, "English", lambda: False)
    nothing = answers(store, "").answer(*asked)
    assert nothing.abstained and others(nothing) == (*OF_BOTH, "stock.csv")  # the likeliest first


def test_of_one_sheet_alone_nothing_is_offered_it_was_asked(store):
    asked = (COST, found(store, "fuel.csv"), DOCUMENTS[:1], "English", lambda: False)
    assert answers(store, "").answer(*asked) is None


def test_where_the_passages_do_not_answer_either_the_sheets_stand_beside_what_else_is_to_be_said(
    store,
):
    both = WithTables(Silent(), None, answers(store, ""), DOCUMENTS, "", computes=True)
    *_, last = both.generate(COST, found(store, *OF_BOTH), lambda: False)
    assert [note.kind for note in last.draft.notes] == [NoteKind.CUT, NoteKind.OTHER_SHEETS]


@pytest.mark.parametrize(("computes", "said"), [(True, ""), (False, "01.05.2024 | Ann Lee | 14")])
def test_without_a_writer_a_row_is_no_answer_where_something_is_to_be_computed(
    computes, said, store
):
    tables = TableAnswers(store, OWN, None, 0.3, taught=False)
    meals = found(store, "meals.csv")
    row = Quoting(Span(DOCUMENTS[1].id, 1, 0, 5), "01.05.2024 | Ann Lee | 14")
    both = WithTables(row, None, tables, DOCUMENTS[1:2], "", computes=computes)
    parts = list(both.generate("What is the sum of cost?", meals, lambda: False))
    draft = parts[-1].draft
    assert "".join(piece.text for piece in parts) == "".join(draft.sentences) == said
    assert draft.abstained is computes and draft.closest == ((row.span,) if computes else ())


def test_who_stops_before_a_row_is_quoted_gets_nothing(store):
    class Stopped(Silent):
        def generate(self, question, passages, cancelled):
            yield from ()

    tables = TableAnswers(store, OWN, None, 0.3, taught=False)
    both = WithTables(Stopped(), None, tables, DOCUMENTS, "", computes=True)
    assert list(both.generate(COST, found(store, *OF_BOTH), lambda: True)) == []


RENT = "The rent is 61 euros."
TEXT = Document("t" * 64, "agreement.txt", ".txt", 1, Status.READY, "2024")
IN_TEXT = Span(TEXT.id, 1, 0, len(RENT))
IN_SHEET = Span(DOCUMENTS[0].id, 1, 0, 5)


@pytest.mark.parametrize(
    ("span", "computes", "text_is_found", "computed"),
    [
        (IN_TEXT, False, True, False),
        (IN_TEXT, True, True, True),
        (IN_SHEET, False, True, True),
        (IN_TEXT, False, False, True),
    ],
)
def test_a_text_that_answers_goes_before_tables_unless_something_is_to_be_computed(
    store, span, computes, text_is_found, computed
):
    tables = answers(store, "SELECT cost FROM t1 WHERE lower(driver) = 'ann lee'")
    by = Quoting(span, RENT)
    both = WithTables(by, None, tables, (*DOCUMENTS, TEXT), "English", computes=computes)
    passage = Passage(Chunk(TEXT.id, 1, 0, 0, len(RENT), RENT), TEXT.name, 1.0)
    passages = (*found(store, *OF_BOTH), *([passage] if text_is_found else []))
    parts = list(both.generate(COST, passages, lambda: False))
    said = "61." if computed else RENT
    assert "".join(piece.text for piece in parts) == "".join(parts[-1].draft.sentences) == said


@pytest.mark.parametrize(("sure", "said"), [(0.2, "61."), (0.99, RENT)])
def test_of_a_sum_made_of_texts_and_a_figure_of_a_sheet_the_surer_is_said(store, sure, said):
    class Summing(Quoting):
        def generate(self, question, passages, cancelled):
            for piece in super().generate(question, passages, cancelled):
                draft = piece.draft
                summed = draft and replace(draft, confidence=sure, basis=Basis.COMPUTED)
                yield Piece(piece.text, summed)

    tables = answers(store, "SELECT cost FROM t1 WHERE lower(driver) = 'ann lee'")
    both = WithTables(Summing(IN_TEXT, RENT), None, tables, (*DOCUMENTS, TEXT), "English", False)
    passage = Passage(Chunk(TEXT.id, 1, 0, 0, len(RENT), RENT), TEXT.name, 1.0)
    parts = list(both.generate(COST, (*found(store, *OF_BOTH), passage), lambda: False))
    assert "".join(piece.text for piece in parts) == "".join(parts[-1].draft.sentences) == said


def test_who_stops_while_a_text_is_read_waits_neither_for_a_table_nor_for_it_again(store):
    asked = []

    class Stopped(Silent):
        def generate(self, question, passages, cancelled):
            asked.append(question)
            yield from ()

    class Closed(TableAnswers):
        def answer(self, *_, **__):
            raise AssertionError("tables were opened")

    writer = Writer("w", lambda: Scripted(""), lambda e: e, window=4_000, most_tokens=99)
    tables = Closed(store, OWN, writer, 0.3, taught=True)
    both = WithTables(Stopped(), None, tables, (*DOCUMENTS, TEXT), "", computes=False)
    passage = Passage(Chunk(TEXT.id, 1, 0, 0, len(RENT), RENT), TEXT.name, 1.0)
    passages = (*found(store, *OF_BOTH), passage)
    assert list(both.generate(COST, passages, lambda: True)) == [] and asked == [COST]


@pytest.mark.parametrize(("taught", "notes"), [(False, ()), (True, (NoteKind.QUOTED_INSTEAD,))])
def test_tables_go_first_beside_another_writer_and_beside_what_is_quoted_since_it_failed(
    store, taught, notes
):
    class Failed(Quoting):
        def generate(self, question, passages, cancelled):
            (piece,) = (p for p in super().generate(question, passages, cancelled) if p.draft)
            yield Piece(draft=replace(piece.draft, notes=tuple(Note(kind) for kind in notes)))

    model = Scripted(query_said_as("SELECT cost FROM t1 WHERE lower(driver) = 'ann lee'", "{0}."))
    writer = Writer("w", lambda: model, lambda e: e, window=4_000, most_tokens=99)
    tables = TableAnswers(store, OWN, writer, 0.3, taught=taught)
    both = WithTables(Failed(IN_TEXT, RENT), None, tables, (*DOCUMENTS, TEXT), "", computes=False)
    passage = Passage(Chunk(TEXT.id, 1, 0, 0, len(RENT), RENT), TEXT.name, 1.0)
    *_, last = both.generate(COST, (*found(store, *OF_BOTH), passage), lambda: False)
    assert last.draft.sentences == ("61.",)


def test_where_a_sheet_is_likely_all_are_offered_where_there_are_few(store):
    choice = TableChoice(store, OWN, DOCUMENTS)
    draft = choice.which("How many pieces are there?", found(store, "stock.csv"))
    assert draft is not None
    [note] = draft.notes
    assert note.values[0] == "stock.csv" and {*note.values} == {*SHEETS}
    assert choice.which("Why is the sky blue?", []) is None


def test_a_document_that_is_more_than_its_tables_is_not_offered(store):
    choice = TableChoice(store, OWN, [DOCUMENTS[0], replace(DOCUMENTS[1], suffix=".docx")])
    assert choice.which(COST, found(store, *OF_BOTH)) is None


def test_the_names_are_said_in_a_sentence_where_there_are_no_buttons():
    note = Note(NoteKind.OTHER_SHEETS, ("fuel.csv", "meals.csv"))
    assert sentence(note) == "You may have meant another sheet: fuel.csv and meals.csv."
