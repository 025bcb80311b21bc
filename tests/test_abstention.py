"""One probability from what reader, retrieval and writer say."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.abstention import Signals, after, before

GOOD = Signals(
    score=6.0,
    lead=4.0,
    ranked=4.0,
    says_yes=0.97,
    supported=1.0,
    backed=4.0,
    agrees=1.0,
)
BAD = Signals(
    score=-6.0,
    lead=0.1,
    ranked=-4.0,
    says_yes=0.2,
    supported=0.0,
    backed=-4.0,
    agrees=0.0,
)


@pytest.mark.parametrize("chance", [before, after])
def test_what_all_agree_on_is_told_from_what_all_doubt(chance):
    assert chance(GOOD) > 0.55 and chance(BAD) < 0.15


def test_where_the_reader_knows_nothing_the_writer_decides():
    good = Signals(ranked=1.0, says_yes=0.9, supported=1.0, backed=2.0)
    bad = Signals(ranked=1.0, says_yes=0.2, supported=0.0, backed=-2.0)
    assert before(good) > 2 * before(bad) and after(good) > after(bad) + 0.3


def test_where_nothing_was_ranked_the_share_that_is_supported_decides():
    assert after(Signals(says_yes=0.9, supported=1.0)) > after(Signals(says_yes=0.9, supported=0.0))
    ranked = Signals(says_yes=0.9, ranked=1.0, supported=1.0, backed=6.0)
    assert after(ranked) > after(Signals(says_yes=0.9, ranked=1.0, supported=1.0))


def test_an_answer_that_the_reader_gives_as_well_is_likelier():
    signals = Signals(score=1.0, ranked=1.0, says_yes=0.9, backed=1.0)
    assert after(replace(signals, agrees=1.0)) > after(replace(signals, agrees=0.0)) + 0.1


def test_nobody_asked_is_not_certain():
    assert 0.0 < before(Signals()) < 0.7 and 0.0 < after(Signals()) < 0.7


numbers = st.none() | st.floats(allow_nan=True, allow_infinity=True)
chances = st.none() | st.floats(0, 1)


@given(st.builds(Signals, numbers, numbers, numbers, chances, chances, numbers, chances))
def test_whatever_is_known_the_chance_is_one(signals):
    for chance in (before(signals), after(signals)):
        assert 0.0 <= chance <= 1.0 and not math.isnan(chance)


@given(chances, chances)
def test_a_surer_writer_never_lowers_the_chance(a, b):
    low, high = sorted((a or 0.0, b or 0.0))
    less = Signals(score=0.0, ranked=0.5, says_yes=low, supported=1.0)
    more = Signals(score=0.0, ranked=0.5, says_yes=high, supported=1.0)
    assert after(less) <= after(more)
