"""Wishes that lean on the wish before them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.query_rewriting import Turn, follow_up, written_out
from rag_app.answering.task_router import sentences_wanted


def knows(wish: str) -> bool:
    return any(name in wish for name in ("lease", "guide", "2018", "2022"))


def last(*said: str) -> str:
    return written_out([Turn(one, "") for one in said], knows)[-1].question


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("again", "Summarise the lease"),
        ("Once more, please!", "Summarise the lease"),
        ("again but shorter", "Summarise the lease, shorter"),
        ("make it shorter", "Summarise the lease, shorter"),
        ("Can you make it a bit longer?", "Summarise the lease, a bit longer"),
        ("more detail please", "Summarise the lease, more detail"),
        ("in two sentences", "Summarise the lease, in two sentences"),
        ("as bullet points", "Summarise the lease, as bullet points"),
        ("and in german please", "Summarise the lease, in German"),
        ("translate it into French", "Summarise the lease, in French"),
        ("and the guide?", "Summarise the guide"),
        ("What about the lighthouse guide?", "Summarise the lighthouse guide"),
        ("Summarise it in German", "Summarise the lease in German"),
        ("Please compare these.", "Please compare the lease."),
        ("compare them", "compare the lease"),
    ],
)
def test_a_wish_is_repeated_and_varied(said, expected):
    assert last("Summarise the lease", said) == expected


def test_changes_add_up_and_the_language_stays():
    said = ("Summarise the lease", "in German", "shorter", "and the guide?")
    assert last(*said[:3]) == "Summarise the lease, shorter, in German"
    assert last(*said) == "Summarise the guide, in German"
    assert last("Summarise it in German", "in French please") == "Summarise it, in French"


def test_another_year_is_asked_of_the_same_report():
    assert last("Summarise the 2018 report", "and 2022?") == "Summarise the 2022 report"
    assert last("Summarise the 2018 report", "what about the 2022 one?") == (
        "Summarise the 2022 report"
    )


@pytest.mark.parametrize(
    "said",
    [
        "And the deposit?",
        "Why is it shorter?",
        "What is the lease about the guide?",
        "Who wrote it again?",
        "in 2018",
        "",
        "?",
    ],
)
def test_what_is_no_wish_stays_as_it_is(said):
    assert last("Summarise the lease", said) == said
    assert last(said) == said


def test_a_question_between_ends_it():
    assert last("Summarise the lease", "Who signed it?", "shorter") == "shorter"


@given(st.lists(st.text(max_size=30) | st.sampled_from(["Summarise the lease", "again"])))
def test_every_turn_stays_in_its_place(said):
    turns = [Turn(one, str(n)) for n, one in enumerate(said)]
    assert [turn.answer for turn in written_out(turns, knows)] == [turn.answer for turn in turns]


@pytest.mark.parametrize(
    ("wish", "number"),
    [
        ("Summarise the lease", 6),
        ("Summarise the lease in two sentences", 2),
        ("Summarise the lease in 3 short bullet points", 3),
        ("Summarise the lease in one sentence", 1),
        ("Summarise the lease in a few sentences", 6),
        ("Give me a short summary", 3),
        ("Summarise the lease, shorter", 3),
        ("Summarise the lease, shorter, even shorter", 1),
        ("Summarise the lease, more detail", 10),
        ("Summarise the lease in 500 lines", 20),
        ("Summarise the lease in 0 sentences", 1),
    ],
)
def test_a_wish_says_how_long_it_is_to_be(wish, number):
    assert sentences_wanted(wish, 6) == number


def test_a_question_that_leans_on_the_turn_before_is_searched_with_it():
    turns = (Turn("who may use the crane", "Only Tom. [1]"), Turn("is it loud?", "Yes, very. [2]"))
    found = follow_up("and why is that?", turns)
    assert found is not None and found.text == "and why is that? is it loud? Yes, very."


def test_a_complete_question_is_searched_alone():
    turns = (Turn("who may use the crane", "Only Tom."),)
    assert follow_up("How many hours does the Lunt project have in May 2026?", turns) is None
    assert follow_up("and why is that?", ()) is None
