"""Follow-up questions: what is put in, what is left alone, and what never gets lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.query_rewriting import (
    Rewriter,
    Turn,
    cleaned,
)
from rag_app.errors import ChatModelError

ACME = Turn("What was the revenue of Acme Corp in 2020?", "Revenue was $5.2 million in 2020. [1]")
CHIEF = Turn("who is the ceo of acme corp", "Jane Roe has led the company since 2019.")
WARRANTY = Turn("What is the warranty?", "Two years.")


def without_a_writer(question, turns):
    return Rewriter().rewrite(question, turns)


@pytest.mark.parametrize(
    "question", ["how old is she?", "and in 2021?", "for how much?", "And when?", "in one sentence"]
)
def test_without_a_writer_the_last_question_and_what_it_leans_on_stand_beside(question):
    beside = f"{question} ({ACME.question})"
    assert without_a_writer(question, [ACME]) == beside
    assert without_a_writer(question, [CHIEF, ACME]) == beside
    leaning = [Turn("and who runs it?", "Jane Roe."), Turn("since when?", "2019")]
    assert without_a_writer(question, [CHIEF, ACME, *leaning]) == (
        f"{question} ({ACME.question} since when?)"
    )


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "How did Globex finance the purchase of Initech in 2019?",
        "What did Globex say about its debts?",
        "How high is the deposit that they want?",
        "Was kostet die Fähre?",
        "什么时候?",
        "Когда это случилось?",
        "and why did it happen " * 400,
    ],
)
def test_what_stands_alone_or_is_a_page_stays_as_it_is(question):
    assert without_a_writer(question, [ACME]) == question


@pytest.mark.parametrize("question", ["why?", "and in 2021?", "how old is he?", "", "  ", "?"])
def test_without_a_conversation_nothing_changes(question):
    assert without_a_writer(question, []) == question
    assert without_a_writer(question, [Turn("", "")]) == question


ANY = st.text(max_size=60)
TURNS = st.lists(st.builds(Turn, ANY, ANY), max_size=4)


@pytest.mark.parametrize(
    "reply",
    [
        "How old is Jane Roe?",
        '  "How old is Jane Roe?"\n',
        "Rewritten question: How old is Jane Roe?",
        "**Standalone question:** How old is Jane Roe?",
        "<think>She is\nJane Roe.</think>\nHow old is Jane Roe?",
    ],
)
def test_the_question_in_a_reply_is_taken(reply):
    assert cleaned(reply, "how old is she?", [CHIEF]) == "How old is Jane Roe?"


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "  \n ",
        "…",
        "<think>How old is Jane Roe?",
        "Sure!\nHow old is Jane Roe?",
        "How old is Jane Roe? " * 100,
        "Bananas are yellow.",
        "Is the and of?",
    ],
)
def test_a_reply_that_is_not_plainly_a_question_is_not_used(reply):
    assert cleaned(reply, "how old is she?", [CHIEF]) == "how old is she?"


def test_quotation_marks_inside_a_reply_stay():
    assert cleaned('"Blue" or "Green" album?', "which album?") == '"Blue" or "Green" album?'


def test_a_reply_in_another_script_is_taken():
    turns = [Turn("公司的收入是多少?", "五百万。")]
    assert cleaned("2021年公司的收入是多少?", "2021年呢?", turns) == "2021年公司的收入是多少?"


@given(ANY, ANY, TURNS)
def test_a_cleaned_reply_is_never_empty_where_the_question_is_not(reply, question, turns):
    made = cleaned(reply, question, turns)
    assert made == question or made.strip()


def test_what_a_model_writes_is_taken_unless_it_leaves_open_what_is_asked():
    asked = "how old is she?"
    made = {
        written: Rewriter(lambda messages, cancelled, said=written: said, True).rewrite(
            asked, [CHIEF]
        )
        for written in (
            "What age is Jane Roe?",
            "How old is SHE",
            "And she?",
            "How old is Mary Smith?",
            "",
        )
    }
    assert made.pop("What age is Jane Roe?") == "What age is Jane Roe?"
    assert set(made.values()) == {f"{asked} ({CHIEF.question})"}


def test_a_model_that_does_not_reply_is_as_none_and_one_that_repeats_is_believed():
    def broken(messages, cancelled):
        raise ChatModelError("It is not there.")

    asked = "What is the warranty?"  # the likelihood that it leans is 0.78
    assert Rewriter(broken).rewrite(asked, [ACME]) == f"{asked} ({ACME.question})"
    assert Rewriter(lambda messages, cancelled: asked).rewrite(asked, [ACME]) == asked


def test_a_model_sees_the_last_turn_alone_and_all_of_them_where_that_is_not_enough():
    shown = []

    def ask(messages, cancelled):
        shown.append(CHIEF.question in str(messages))
        return "How old is Jane Roe?" if shown[-1] else "how old is she?"

    assert Rewriter(ask, taught=True).rewrite("how old is she?", [CHIEF, WARRANTY]) == (
        "How old is Jane Roe?"
    )
    assert shown == [False, True]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Key box code for Porto flat: 123456", "key box code porto flat?"),
        ("Key box code for the Porto flat?", "Key box code for the Porto flat?"),
    ],
)
def test_no_figure_comes_into_a_question_that_nobody_said(written, expected):
    flight = Turn("When does our flight from Porto leave?", "At 13:25 on Tuesday 28 July. [1]")
    rewriter = Rewriter(lambda messages, cancelled: written, taught=True)
    assert rewriter.rewrite("key box code porto flat?", [flight]) == expected


def test_what_a_model_repeats_is_complete_if_it_does_not_lean():
    asked = []

    def repeat(messages, cancelled):
        asked.append(messages)
        return "what was the total for the north site"

    question = "What was the total for the north site?"
    assert Rewriter(repeat, taught=True).rewrite(question, [CHIEF, ACME]) == question
    assert len(asked) == 1
