from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rag_app.answering.summarisation import central, representatives


def unit(*rows: list[float]) -> np.ndarray:
    vectors = np.array(rows, dtype=float)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_what_many_texts_are_like_is_central():
    scores = central(unit([1, 0.1, 0], [1, 0, 0.1], [1, 0.1, 0.1], [0, 0, 1]))
    assert scores.argmin() == 3 and scores.max() == 1.0


def test_a_second_choice_says_something_else():
    vectors = unit([1, 0, 0], [1, 0.01, 0], [1, 0, 0.01], [0.3, 1, 0], [0.3, 1, 0.01])
    first, second = representatives(vectors, 2)
    assert first in (0, 1, 2) and second in (3, 4)


@given(st.integers(0, 40), st.integers(0, 50))
def test_each_is_chosen_once_and_no_more_than_there_are(n, k):
    vectors = np.random.default_rng(n).normal(size=(n, 5))
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    chosen = representatives(vectors, k)
    assert len(chosen) == len(set(chosen)) == min(n, k)


def test_thousands_of_texts_are_no_matter():
    vectors = np.random.default_rng(1).normal(size=(9_000, 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert len(representatives(vectors, 8)) == 8
