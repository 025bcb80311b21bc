from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.span_model import (
    Calibration,
    LibraryFit,
    Logistic,
    PassageSpans,
    ScoredSpan,
    log_sum,
    marginal,
    normalised,
)

TEXTS = ["It is Paris.", "In the Paris, of course", "Lyon it is"]


def seen(text: str, words: str, chance: float, no_answer: float) -> PassageSpans:
    start = text.index(words)
    span = ScoredSpan(start, start + len(words), math.log(chance))
    return PassageSpans((span,), math.log(no_answer))


def test_passages_that_agree_beat_one_that_is_surer():
    found = [
        seen(TEXTS[0], "Paris", 0.5, 0.5),
        seen(TEXTS[1], "the Paris", 0.5, 0.5),
        seen(TEXTS[2], "Lyon", 0.6, 0.4),
    ]
    best, other = marginal(TEXTS, found, [1 / 3] * 3)
    assert [vote.passage for vote in best.votes] == [0, 1]
    assert best.log_odds == pytest.approx(math.log(2 / 3))
    assert other.log_odds == pytest.approx(math.log(0.5))


def test_a_passage_counts_by_how_near_it_is_to_the_question():
    found = [seen(TEXTS[0], "Paris", 0.5, 0.5), seen(TEXTS[2], "Lyon", 0.5, 0.5)]
    texts = [TEXTS[0], TEXTS[2]]
    assert marginal(texts, found, [0.9, 0.1])[0].votes[0].passage == 0
    assert marginal(texts, found, [0.1, 0.9])[0].votes[0].passage == 1
    assert len(marginal(texts, found, [1.0, 0.0])) == 1


def test_overlapping_spans_that_say_the_same_vote_once():
    spans = (ScoredSpan(6, 11, -1.0), ScoredSpan(6, 12, -1.1))  # "Paris" and "Paris."
    [answer] = marginal(TEXTS[:1], [PassageSpans(spans, 0.0)], [1.0])
    assert len(answer.votes) == 1 and answer.log_odds == -1.0


def test_nothing_seen_is_no_answer():
    assert marginal([], [], []) == []
    assert marginal(["…"], [PassageSpans((), 0.0)], [1.0]) == []
    assert marginal(["…"], [PassageSpans((ScoredSpan(0, 1, -1.0),), 0.0)], [1.0]) == []
    assert PassageSpans((), 0.0).margin == -math.inf


@pytest.mark.parametrize(
    ("text", "same"),
    [("The  Beatles!", "beatles"), ("“a” cat", "cat"), ("U.S.", "us"), ("…", ""), ("", "")],
)
def test_answers_are_compared_as_squad_compares_them(text, same):
    assert normalised(text) == same


@given(st.lists(st.floats(-700, 700), max_size=8))
def test_log_sum_is_the_log_of_the_sum(values):
    exact = math.fsum(math.exp(v - max(values)) for v in values) if values else 0.0
    expected = max(values) + math.log(exact) if values else -math.inf
    assert log_sum(values) == pytest.approx(expected)


@given(st.floats(), st.floats())
def test_confidence_is_a_chance_whatever_the_scores_are(score, lead):
    fits = Calibration(Logistic(0.3, -0.5), LibraryFit(0.3, 0.1, -1.0))
    assert 0.0 <= fits.of_passage(score) <= 1.0
    assert 0.0 <= fits.of_library(score, lead) <= 1.0
