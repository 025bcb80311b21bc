"""The words around an answer say what is so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.model_spec import QUOTING
from rag_app.types import Answer, Basis, Note, NoteKind, Task, Timing
from rag_app.ui import texts_answers
from rag_app.ui.answers import around


def answer(generator: str, confidence: float, abstained: bool = False) -> Answer:
    basis = Basis.EXTRACTED if generator in QUOTING else Basis.WRITTEN
    nothing = Answer("q", "t", "", abstained, confidence, generator, (), (), Timing(0.2, 0.3))
    return replace(nothing, basis=Basis.NONE if abstained else basis)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (answer("quotes", 0.9), "Very sure, 90 %: of 100 answers with this figure, about 90"),
        (answer("quotes", 0.31, True), "The best place reached 31 %; under 50 %"),
        (answer("quotes", 0.78, True), "Your documents seemed to hold an answer, 78 %, but none"),
        (answer("llama", 0.75), "Fairly sure, 75 %: of 100 answers with this figure, about 75"),
        (replace(answer("app", 0.0, True), task=Task.CHITCHAT), "Nothing in your documents was"),
        (
            replace(answer("reader", 0.5), notes=(Note(NoteKind.NOT_ENGLISH),)),
            "That could not be judged",
        ),
        (replace(answer("reader", 0.9), task=Task.COMPARISON), "That is not judged"),
    ],
)
def test_what_a_figure_means_depends_on_who_answered(made, said):
    assert texts_answers.how_sure(made, 0.5).startswith(said)


@pytest.mark.parametrize(
    ("words", "meaning", "said"),
    [
        (1, 3, "found by its words and its meaning"),
        (None, 12, "found by its meaning"),
        (22, None, "found by its words"),
        (None, None, "not found by the same search now"),
    ],
)
def test_places_are_said_as_people_say_them(words, meaning, said):
    assert texts_answers.found_by(words, meaning) == said


@pytest.mark.parametrize(
    ("of_best", "words", "meaning", "said"),
    [
        (1.0, 1, 2, "good match"),
        (0.95, 9, 2, "fair match"),
        (0.02, 2, 3, "weak match"),
        (0.9, 30, None, "weak match"),
    ],
)
def test_a_passage_fits_well_only_if_score_and_both_searches_say_so(of_best, words, meaning, said):
    assert texts_answers.strength(of_best, words, meaning) == said


@pytest.mark.parametrize(("score", "said"), [(0.62, "62 %"), (0.006, "1 %"), (0.004, ""), (0, "")])
def test_a_share_of_nothing_is_not_said(score, said):
    assert texts_answers.share(score) == said


def test_what_a_changed_question_costs_is_counted():
    assert texts_answers.drops(0) == ""
    assert texts_answers.drops(1).startswith("1 later question of this conversation")
    assert "with their answers" in texts_answers.drops(3)


@given(
    st.text("ab \n.", max_size=900),
    st.text("qQ", min_size=1, max_size=30),
    st.text("cd \n", max_size=900),
)
def test_a_quote_stands_where_it_is_said_to_in_the_passage_around_it(before, quote, behind):
    shown, (start, end) = around(before + quote + behind, len(before), len(before + quote))
    assert shown[start:end] == quote
    assert shown.removeprefix("… ").removesuffix(" …") in before + quote + behind


def test_of_a_long_passage_what_stands_around_the_quote_is_shown():
    shown, (start, end) = around("word " * 200 + "the quote " + "more " * 200, 1_000, 1_009)
    assert shown.startswith("… word") and shown.endswith("more …") and len(shown) < 700
    assert shown[start:end] == "the quote" and start < 240


ROWS = [f"{n} May | Ann {n} | {n}" for n in range(40)]
HEAD, RULE = "Date | Who | Sum", "--- | --- | ---"


def rows_around(text: str, quote: str, *given, **more) -> list[str]:
    start = text.index(quote)
    shown, (begin, end) = around(text, start, start + len(quote), *given, **more)
    assert shown[begin:end] == quote
    return shown.split("\n")


def test_of_a_long_table_some_rows_stand_around_the_quote_under_the_names_of_the_columns():
    long = "\n".join([HEAD, *ROWS])
    assert rows_around(long, "Ann 30") == [HEAD, RULE, *ROWS[28:35]]
    assert rows_around(long, ROWS[0]) == [HEAD, RULE, *ROWS[:5]]
    assert rows_around(long, ROWS[-1], rows=(0, 0)) == [HEAD, RULE, ROWS[-1]]
    assert rows_around(long, "Who") == [HEAD, *ROWS[:4]]


def test_a_table_that_a_passage_begins_in_the_middle_of_has_the_names_that_are_known():
    middle = "\n".join(ROWS)
    assert rows_around(middle, "Ann 3 ", HEAD) == [HEAD, RULE, *ROWS[1:8]]
    assert rows_around(middle, "Ann 3 ", "Only | Two") == ROWS[1:8]
    assert rows_around(middle, "Ann 3 ", "") == ROWS[1:8]


def test_rows_and_sentences_in_one_passage_stand_for_themselves():
    both = "\n".join(["What was paid:", HEAD, *ROWS[:9], "That is all."])
    assert rows_around(both, "Ann 8") == [HEAD, RULE, *ROWS[6:9]]
    assert "\n".join(rows_around(both, "That is all.")) == both


@given(st.lists(st.sampled_from(["a | b", "c | d | e", "f", "", " | "]), max_size=12), st.data())
def test_a_quote_among_rows_stands_where_it_is_said_to(lines, data):
    text = "\n".join([*lines, "q | r", *lines])
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    names = data.draw(st.sampled_from([None, "", "x | y"]))
    shown, (begin, ending) = around(text, start, end, names)
    assert shown[begin:ending].strip("\n") == text[start:end].strip("\n")
