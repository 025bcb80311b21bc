"""Orders of pages and their figures (page_scorer.py)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.page_scorer_look import Looked, Place
from benchmarks.page_scorer_parts import Case
from rag_app.evaluation.metrics import DEPTHS, ndcg, recall, reciprocal_rank

Score = Callable[[Looked], np.ndarray]
Order = tuple[Sequence[Hashable], Mapping[Hashable, float]]
"""Pages as found, and the pages that are wanted."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A question, what was found for it, and the pages that are wanted."""

    question: str
    looked: Looked
    wanted: Mapping[Hashable, float]

    @property
    def case(self) -> Case:
        """What was found, and which of the pages are wanted."""
        return self.looked, np.array([page in self.wanted for page in self.looked.pages])


def orders_of(seen: Sequence[Seen], model: Score | None = None) -> list[Order]:
    """Pages in the order of the app, or of a model, beside those that are wanted."""
    return [(order_of(one.looked, model), one.wanted) for one in seen]


def order_of(looked: Looked, model: Score | None) -> list[Place]:
    """The pages in the order of the app, or of a model for those that it scores."""
    if model is None or not len(looked.features):
        return looked.pages
    scores = model(looked)
    first = [looked.pages[row] for row in np.argsort(-scores, kind="stable")]
    return [*first, *looked.pages[len(first) :]]


def reranked(looked: Looked, scores: Sequence[float], share: float) -> list[Place]:
    """Pages in the order of the app's score and a share of the cross-encoder's; 1: its alone."""
    own = 0.0 if share >= 1 else 1.0
    first = looked.passages[: len(scores)]
    total = [own * p[1] + share * score for p, score in zip(first, scores, strict=True)]
    rows = [first[i][0] for i in np.argsort(-np.array(total), kind="stable")]
    return [looked.pages[row] for row in dict.fromkeys([*rows, *range(len(looked.pages))])]


def figures(orders: Sequence[Order]) -> str:
    """The figures of `rag-app evaluate`."""
    at = {k: np.mean([recall(*one, k) for one in orders]) for k in DEPTHS}
    mrr, gain = (np.mean([f(*one) for one in orders]) for f in (reciprocal_rank, ndcg))
    return " ".join(
        [*(f"@{k} {v:.3f}" for k, v in at.items()), f"MRR {mrr:.3f}", f"nDCG {gain:.3f}"]
    )


_COMPARED: dict[str, Callable[[Sequence[Hashable], Mapping[Hashable, float]], float]] = {
    "MRR": reciprocal_rank,
    "@5": lambda found, wanted: recall(found, wanted, 5),
    "@20": lambda found, wanted: recall(found, wanted, 20),
}


def against(orders: Sequence[Order], base: Sequence[Order]) -> str:
    """What an order gains, with 95 % of paired bootstraps."""
    said = []
    draws = np.random.default_rng(7).integers(0, len(base), (10_000, len(base)))
    for name, figure in _COMPARED.items():
        gains = np.array([figure(*a) - figure(*b) for a, b in zip(orders, base, strict=True)])
        low, high = np.quantile(gains[draws].mean(1), (0.025, 0.975))
        said.append(f"{name} {gains.mean():+.3f} [{low:+.3f}, {high:+.3f}]")
    return "; ".join(said)
