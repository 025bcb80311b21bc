from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.retrieval.ranking import (
    Pool,
    RankingFeatures,
    asks_for_figures,
    chances,
    figures,
    ranked,
    respelled,
    spelt_anew,
    telling_words,
)
from rag_app.types import Chunk


def chunk(ordinal: int, page: int = 0, text: str = "", document: str = "d") -> Chunk:
    said = text or f"words number {ordinal}"
    return Chunk(document.ljust(64, "0"), page or ordinal, ordinal, 0, len(said), said)


def test_meaning_and_words_add_up():
    both, one, other = chunk(1), chunk(2), chunk(3)
    evidence = RankingFeatures(
        Pool({both.id: 0.5, one.id: 0.5, other.id: 0.2}), Pool({both.id: 8.0, other.id: 16.0})
    )
    assert evidence.score(both) > evidence.score(other) > evidence.score(one)


def test_what_a_full_search_left_out_is_no_better_than_its_last():
    assert Pool.of([("a", 0.9), ("b", 0.4)], 2).get("c") == 0.4
    assert Pool.of([("a", 0.9), ("b", 0.4)], 3).get("c") == 0.0
    assert Pool.of([], 3).get("c") == 0.0


def test_two_searches_are_one():
    joined = Pool({"a": 0.9}, 0.5).joined(Pool({"b": 0.7}, 0.3))
    assert (joined.get("a"), joined.get("b"), joined.get("c")) == (0.9, 0.7, 0.3)


def test_a_named_document_and_a_page_of_figures_go_up():
    here = chunk(1)
    plain = RankingFeatures(Pool({here.id: 0.5}), Pool())
    named = RankingFeatures(Pool({here.id: 0.5}), Pool(), names={here.document_id: 1.0})
    table = RankingFeatures(Pool({here.id: 0.5}), Pool(), figures={(here.document_id, 1): 0.4})
    assert named.score(here) > table.score(here) > plain.score(here)


def test_words_that_stand_together_go_up():
    here, there = chunk(1), chunk(2)
    evidence = RankingFeatures(Pool({here.id: 0.5, there.id: 0.5}), Pool(), pairs={there.id: 1.0})
    assert evidence.score(there) > evidence.score(here)


def test_another_page_goes_before_a_second_passage_that_is_hardly_better():
    scores = {1: 0.60, 2: 0.58, 3: 0.55, 4: 0.30}
    chunks = [chunk(1, page=1), chunk(2, page=1), chunk(3, page=2), chunk(4, page=3)]
    found = ranked(chunks, lambda c: scores[c.ordinal], 4)
    assert [c.ordinal for c, _ in found] == [1, 3, 2, 4]


def test_what_says_the_same_is_there_once():
    chunks = [chunk(1, text="Same  words."), chunk(2, text="same words"), chunk(3)]
    assert [c.ordinal for c, _ in ranked(chunks, lambda c: -c.ordinal, 3)] == [1, 3]


def test_ties_go_by_document_and_place():
    chunks = [chunk(2, document="b"), chunk(1, document="b"), chunk(3, document="a")]
    order = [(c.document_id[0], c.ordinal) for c, _ in ranked(chunks, lambda c: 0.5, 3)]
    assert order == [("a", 3), ("b", 1), ("b", 2)]


places = st.lists(
    st.tuples(st.integers(1, 4), st.floats(0, 1, allow_nan=False)), min_size=1, max_size=12
)


@given(places, st.integers(1, 14))
def test_a_ranking_falls_and_repeats_nothing(places, most):
    scores = {n: score for n, (_, score) in enumerate(places)}
    chunks = [chunk(n, page=page) for n, (page, _) in enumerate(places)]
    found = ranked(chunks, lambda c: scores[c.ordinal], most)
    values = [value for _, value in found]
    assert values == sorted(values, reverse=True)
    assert len({c.id for c, _ in found}) == len(found) == min(most, len(chunks))
    assert found[0][1] == max(scores.values())


@given(st.lists(st.floats(-1, 3, allow_nan=False), min_size=1, max_size=20))
def test_chances_add_up_and_keep_the_order(scores):
    shared = chances(scores)
    assert sum(shared) == pytest.approx(1.0)
    assert all(chance >= 0.099 / len(scores) for chance in shared)
    assert all(
        shared[i] >= shared[j] - 1e-12
        for i in range(len(scores))
        for j in range(len(scores))
        if scores[i] > scores[j]
    )
    assert chances([]) == []


def test_amounts_are_asked_for_in_words_of_measuring():
    assert asks_for_figures("How much did the ferry cost?")
    assert asks_for_figures("What is the inventory turnover ratio?")
    assert not asks_for_figures("Who signed the lease?")
    assert figures("Boats 12 14") == pytest.approx(2 / 3)
    assert figures("") == 0.0


SPELT_RIGHTLY = (
    "The committee met in Brookhollow.",
    "The committee and its committees; a comity.",
    "A match.",
)


@pytest.mark.parametrize(
    ("question", "strange", "spelt"),
    [
        ("Which Commitee?", ["commitee"], "Which committee?"),  # the commonest of what is as near
        ("in brokhollow, commitee", ["brokhollow"], "in brookhollow, commitee"),
        ("the comitty", ["comitty"], "the comity"),
        ("the comute", ["comute"], ""),  # of seven letters one may differ
        ("the brohollw", ["brohollw"], ""),
        ("the incommittee", ["incommittee"], ""),  # it may mean the contrary
        ("how mutch is it", ["mutch"], ""),  # no match
    ],
)
def test_the_nearest_word_of_the_texts_is_meant(question, strange, spelt):
    assert respelled(question, strange, SPELT_RIGHTLY) == spelt


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
    assert spelt_anew(typed, respelled(typed, ["commitee"], SPELT_RIGHTLY)) == (
        ("commitee", "committee"),
    )
    assert spelt_anew(typed, typed) == ()
