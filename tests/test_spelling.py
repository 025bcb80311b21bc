"""Misspelt words of a question are spelt as the documents spell what is near."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.retrieval.ranking import respelled, spelt_anew, telling_words

TEXTS = ("The committee met in Brookhollow.", "The committee and its committees; a comity.")


@pytest.mark.parametrize(
    ("question", "strange", "spelt"),
    [
        ("Which Commitee?", ["commitee"], "Which committee?"),  # the commonest of what is as near
        ("in brokhollow, commitee", ["brokhollow"], "in brookhollow, commitee"),
        ("the comitty", ["comitty"], "the comity"),
        ("the comute", ["comute"], ""),  # of seven letters one may differ
        ("the brohollw", ["brohollw"], ""),
        ("the incommittee", ["incommittee"], ""),  # it may mean the contrary
    ],
)
def test_the_nearest_word_of_the_texts_is_meant(question, strange, spelt):
    assert respelled(question, strange, TEXTS) == spelt


def test_short_words_and_those_that_say_nothing_are_left_alone():
    assert telling_words("Which buns should we bring to Brookhollow's fayre?") == [
        "bring",
        "brookhollow",
        "fayre",
    ]
    assert telling_words("who is he? 委员会成员名单是什么呢") == []
    assert telling_words("Was kostet die Kurtaxe in Lissabon pro Nacht?") == ["lissabon"]


@given(st.text(max_size=60), st.lists(st.text(max_size=30), max_size=3))
def test_what_is_not_strange_stays_as_it_was_typed(question, texts):
    assert respelled(question, [], texts) == ""


def test_what_was_spelt_anew_is_told_as_it_was_typed_and_as_it_is_spelt():
    typed = "Commitee or comite? The commitee."
    assert spelt_anew(typed, respelled(typed, ["commitee"], TEXTS)) == (("commitee", "committee"),)
    assert spelt_anew(typed, typed) == ()
