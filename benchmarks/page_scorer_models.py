"""Features of pages to an order: a line, a small network, boosted trees (page_scorer.py).

All see the app's own score beside the features, each less the question's mean: only the order of
one question's pages matters. What the training sets cannot teach, since they have no tables and
none of their questions names a document, keeps the weight that it has beside the app's score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.page_scorer_look import FEATURES, Looked
from benchmarks.page_scorer_parts import LEARNT, Case, Weighing, weighing
from rag_app.retrieval.ranking import FIGURES, NAMES

_HIDDEN = 24
_ROUNDS = 300  # over all questions
# How made libraries are made shows in these, and real documents are not made so.
_ARTEFACTS = ("length", "place", "neighbour", "second", "third", "second cosine")
_SETTLED = ("figures if asked", "named")
_TABLES = ("figures",)
_FEW = ("score", "cosine", "words", "pairs", "covered by passage", "words of page")


@dataclass(frozen=True, slots=True)
class Model:
    """Which features are seen, how they are scaled, and what makes scores of them."""

    columns: tuple[int, ...]
    scale: np.ndarray
    scores: Any
    spread: float  # of the scores, beside that of the app's

    def __call__(self, looked: Looked) -> np.ndarray:
        """A score for each of the first pages."""
        features = looked.features
        made: np.ndarray = self.scores(_seen(features, self.columns) / self.scale)
        return made + self.spread * _settled(features)


@dataclass(frozen=True, slots=True)
class Line:
    """A weight for each feature."""

    weights: np.ndarray

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Scores."""
        made: np.ndarray = features @ self.weights
        return made


@dataclass(frozen=True, slots=True)
class Network:
    """One hidden layer beside a line."""

    line: np.ndarray
    inner: np.ndarray
    bias: np.ndarray
    outer: np.ndarray

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Scores."""
        hidden = np.tanh(features @ self.inner.T + self.bias)
        made: np.ndarray = features @ self.line + hidden @ self.outer
        return made


@dataclass(frozen=True, slots=True)
class Trees:
    """Boosted trees; ties, which they often leave, go by the app's score."""

    trees: Any

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Scores."""
        made: np.ndarray = self.trees.decision_function(features) + 1e-4 * features[:, 0]
        return made


Fit = Callable[[Mapping[str, Sequence[Case]]], Model | Weighing]
_Sheet = tuple[np.ndarray, np.ndarray]  # features of pages, and which are wanted


def _settled(features: np.ndarray) -> np.ndarray:
    """What the app adds for figures and for documents that are named."""
    asked, named = (features[:, FEATURES.index(name)] for name in _SETTLED)
    made: np.ndarray = FIGURES * asked + NAMES * named
    return made


def _seen(features: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    """The features less their means; the app's score, the first, without what is settled."""
    made = features[:, columns].copy()
    made[:, 0] -= _settled(features)
    centred: np.ndarray = made - made.mean(0, keepdims=True)
    return centred


def _columns(without: Sequence[str]) -> tuple[int, ...]:
    return tuple(i for i, name in enumerate(FEATURES) if name not in (*without, *_SETTLED))


def _made(usable: Sequence[_Sheet], columns: tuple[int, ...], scale: np.ndarray, by: Any) -> Model:
    seen = np.concatenate([features for features, _ in usable])
    return Model(columns, scale, by, float(by(seen / scale).std() / seen[:, 0].std()))


def _usable(cases: Mapping[str, Sequence[Case]], columns: Sequence[int]) -> list[_Sheet]:
    """Questions with something to learn."""
    return [
        (_seen(looked.features, columns), wanted[: len(looked.features)])
        for part in cases.values()
        for looked, wanted in part
        if wanted[: len(looked.features)].any() and not wanted[: len(looked.features)].all()
    ]


def _scale(usable: Sequence[_Sheet]) -> np.ndarray:
    made: np.ndarray = np.concatenate([features for features, _ in usable]).std(0) + 1e-6
    return made


def _descended(
    usable: Sequence[_Sheet], scale: np.ndarray, hidden: int, decay: float
) -> Line | Network:
    """Softmax over the pages of a question, by gradient descent."""
    import torch

    torch.manual_seed(7)
    most = max(len(right) for _, right in usable)
    given = torch.zeros(len(usable), most, len(scale))
    shut = torch.ones(len(usable), most, dtype=torch.bool)
    wanted = torch.zeros(len(usable), most)
    for row, (features, right) in enumerate(usable):
        size = len(right)
        given[row, :size] = torch.tensor(features / scale, dtype=torch.float32)
        shut[row, :size] = False
        wanted[row, :size] = torch.tensor(right / right.sum())
    line = torch.zeros(len(scale), requires_grad=True)
    inner = torch.nn.Linear(len(scale), max(1, hidden))
    outer = torch.zeros(max(1, hidden), requires_grad=True)
    learning = [line, *([outer, *inner.parameters()] if hidden else [])]
    optimizer = torch.optim.AdamW(learning, lr=0.05 if not hidden else 0.02, weight_decay=decay)
    for _ in range(_ROUNDS):
        scores = given @ line + (torch.tanh(inner(given)) @ outer if hidden else 0.0)
        chances = torch.log_softmax(scores.masked_fill(shut, -1e4), 1)
        loss = -(wanted * chances).sum(1).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
    if not hidden:
        return Line(line.detach().numpy())
    parts = (line, inner.weight, inner.bias, outer)
    return Network(*(part.detach().numpy() for part in parts))


def _line(without: Sequence[str], hidden: int = 0, decay: float = 0.01) -> Fit:
    def fit(cases: Mapping[str, Sequence[Case]]) -> Model:
        columns = _columns(without)
        usable = _usable(cases, columns)
        scale = _scale(usable)
        return _made(usable, columns, scale, _descended(usable, scale, hidden, decay))

    return fit


def _trees(without: Sequence[str]) -> Fit:
    def fit(cases: Mapping[str, Sequence[Case]]) -> Model:
        from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-untyped]

        columns = _columns(without)
        usable = _usable(cases, columns)
        scale = _scale(usable)
        trees = HistGradientBoostingClassifier(
            max_iter=200, learning_rate=0.05, max_leaf_nodes=8, min_samples_leaf=100, random_state=7
        )
        trees.fit(
            np.concatenate([features / scale for features, _ in usable]),
            np.concatenate([right for _, right in usable]),
        )
        return _made(usable, columns, scale, Trees(trees))

    return fit


def described(model: Model | Weighing) -> str:
    """The weights, where there is one for each feature, in units of the app's score."""
    if isinstance(model, Weighing):
        return model.described()
    if not isinstance(model.scores, Line):
        return ""
    shares = model.scores.weights / model.scale / model.spread
    return ", ".join(
        f"{FEATURES[column]} {share:.3f}"
        for column, share in zip(model.columns, shares, strict=True)
    )


MODELS: dict[str, Fit] = {
    "line": _line(()),
    "line, real": _line((*_ARTEFACTS, *_TABLES)),
    "weights": weighing(LEARNT[:3]),
    "weights, covered": weighing(LEARNT[:4]),
    "weights, page": weighing((*LEARNT[:3], LEARNT[4])),
    "weights, both": weighing(LEARNT),
    "line, few": _line([name for name in FEATURES if name not in _FEW]),
    "network": _line((), _HIDDEN, 0.1),
    "network, real": _line((*_ARTEFACTS, *_TABLES), _HIDDEN, 0.1),
    "trees": _trees(()),
    "trees, real": _trees((*_ARTEFACTS, *_TABLES)),
}
"""What is compared."""
