"""The app's own weighing of passages with other weights and two further parts (page_scorer.py).

A page is worth its best passage, as in the app. Weights are learnt, then brought to the spread that
the app's scores have, so that figures and names, which the training sets cannot teach, keep theirs
and p(z|x) stays as sharp."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.page_scorer_look import PARTS, Looked
from rag_app.retrieval.ranking import PAIRS, WORDS

LEARNT = PARTS[1:-1]
APP = np.array([1.0, WORDS, PAIRS, 0.0, 0.0], np.float32)
_SHARPNESS = 10.0  # the temperature of p(z|x) is a tenth
_STEPS, _RATE = 300, 0.1
Case = tuple[Looked, np.ndarray]


@dataclass(frozen=True, slots=True)
class Weighing:
    """A weight for each part of a passage's score, in the app's units."""

    weights: np.ndarray

    def __call__(self, looked: Looked) -> np.ndarray:
        """A score for each page."""
        scores = looked.parts[:, 1:-1] @ self.weights + looked.parts[:, -1]
        pages = np.full(len(looked.pages), -np.inf, np.float32)
        np.maximum.at(pages, looked.parts[:, 0].astype(int), scores)
        return pages

    def described(self) -> str:
        """The weights."""
        return ", ".join(f"{n} {w:.3f}" for n, w in zip(LEARNT, self.weights, strict=True))


def weighing(parts: Sequence[str]) -> Callable[[Mapping[str, Sequence[Case]]], Weighing]:
    """What learns weights for these parts; the others have none."""

    def fit(cases: Mapping[str, Sequence[Case]]) -> Weighing:
        able = [
            (looked, wanted)
            for part in cases.values()
            for looked, wanted in part
            if wanted.any() and not wanted.all()
        ]
        return Weighing(_descended(able, np.array([part in parts for part in LEARNT])))

    return fit


def _descended(cases: Sequence[Case], open_: np.ndarray) -> np.ndarray:
    """Softmax over the pages of a question, by gradient descent from the app's weights."""
    import torch

    most = max(len(looked.parts) for looked, _ in cases)
    pages = max(len(looked.pages) for looked, _ in cases)
    given = torch.zeros(len(cases), most, len(LEARNT))
    at = torch.full((len(cases), most), pages)  # what is filled up goes to a page too many
    wanted = torch.zeros(len(cases), pages)
    there = torch.zeros(len(cases), pages + 1, dtype=torch.bool)
    for row, (looked, right) in enumerate(cases):
        size = len(looked.parts)
        given[row, :size] = torch.tensor(looked.parts[:, 1:-1])
        at[row, :size] = torch.tensor(looked.parts[:, 0].astype(np.int64))
        there[row, at[row]] = True
        wanted[row, : len(right)] = torch.tensor(right / right.sum(), dtype=torch.float32)
    learnt = torch.tensor(_SHARPNESS * APP * open_, dtype=torch.float32, requires_grad=True)
    optimizer = torch.optim.Adam([learnt], lr=_RATE)
    kept = torch.tensor(open_, dtype=torch.float32)
    for _ in range(_STEPS):
        scores = given @ (learnt * kept)
        best = torch.full((len(cases), pages + 1), -1e4)
        best = best.scatter_reduce(1, at, scores, "amax")
        best = best.masked_fill(~there, -1e4)[:, :pages]
        loss = -(wanted * torch.log_softmax(best, 1)).sum(1).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
    weights: np.ndarray = (learnt * kept).detach().numpy()
    return weights / _spread(cases, weights)


def _spread(cases: Sequence[Case], weights: np.ndarray) -> float:
    """How much further apart these weights put the passages of a question than the app's."""
    ours, apps = (
        np.mean([(looked.parts[:, 1:-1] @ one).std() for looked, _ in cases])
        for one in (weights, APP)
    )
    return float(ours / apps)
