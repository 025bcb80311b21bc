"""Which texts stand for many: central ones that differ from each other. Pure.

Centrality is that of LexRank (Erkan and Radev 2004): a text is central if central texts are like
it. What is like a text chosen before loses worth, after maximal marginal relevance (Carbonell and
Goldstein 1998)."""

from __future__ import annotations

import numpy as np

_DAMPING = 0.85
_ROUNDS = 30
_LIKE = 0.2  # cosine under which two texts say nothing about each other
_REDUNDANCY = 0.85  # of its worth a text loses that says what is said already
_MOST = 2_000  # texts compared with each other; of more, every n-th


def central(vectors: np.ndarray) -> np.ndarray:
    """The centrality of each of n unit vectors (n x d), from 0 to 1."""
    if not len(vectors):
        return np.zeros(0)
    step = -(-len(vectors) // _MOST)
    judges = vectors[::step]
    like = vectors @ judges.T
    like[like < _LIKE] = 0.0
    weights = np.full(len(judges), 1.0 / len(judges))
    among = like[::step]
    spread = among / np.maximum(among.sum(axis=1, keepdims=True), 1e-9)
    for _ in range(_ROUNDS):
        weights = (1 - _DAMPING) / len(judges) + _DAMPING * (spread.T @ weights)
    scores: np.ndarray = like @ weights
    return scores / max(float(scores.max()), 1e-9)


def representatives(vectors: np.ndarray, k: int, weights: np.ndarray | None = None) -> list[int]:
    """The k texts that best stand for all, the best first; `weights` scale their centrality."""
    scores = central(vectors) * (1.0 if weights is None else weights)
    chosen: list[int] = []
    nearest = np.zeros(len(vectors))
    while len(chosen) < min(k, len(vectors)):
        worth = scores * (1.0 - _REDUNDANCY * np.clip(nearest, 0.0, 1.0))
        worth[chosen] = -np.inf
        best = int(worth.argmax())
        chosen.append(best)
        nearest = np.maximum(nearest, vectors @ vectors[best])
    return chosen
