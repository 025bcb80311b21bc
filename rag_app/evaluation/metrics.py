"""Figures of rankings, answers and abstentions. Pure.

Recall is the share of what is wanted that is among the first k; a page counts once, however many
passages of it were found."""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence

DEPTHS = (1, 3, 5, 10, 20)

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "’‘“”–—…")


def recall(found: Sequence[Hashable], wanted: Mapping[Hashable, float], k: int) -> float:
    """The share of what is wanted among the first k of a ranking without repeats."""
    return len(set(found[:k]) & wanted.keys()) / len(wanted)


def reciprocal_rank(found: Sequence[Hashable], wanted: Mapping[Hashable, float]) -> float:
    """1 / the rank of the first that is wanted; 0 if none is."""
    return next((1.0 / rank for rank, one in enumerate(found, 1) if one in wanted), 0.0)


def ndcg(found: Sequence[Hashable], wanted: Mapping[Hashable, float], k: int = 10) -> float:
    """Discounted gain of the first k as a share of what is possible."""
    gained = _discounted([wanted.get(one, 0.0) for one in found[:k]])
    possible = _discounted(sorted(wanted.values(), reverse=True)[:k])
    return gained / possible if possible else 0.0


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def normalised(text: str) -> str:
    """An answer as SQuAD compares it: small letters, no articles, no punctuation."""
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """1 if the answer is one of the wanted ones."""
    return float(normalised(answer) in {normalised(gold) for gold in golds})


def f1(answer: str, golds: Sequence[str]) -> float:
    """The best overlap in words with one of the wanted answers."""
    return max((_f1(normalised(answer).split(), normalised(g).split()) for g in golds), default=0.0)


def _f1(said: Sequence[str], wanted: Sequence[str]) -> float:
    if not said or not wanted:
        return float(said == wanted)
    shared = (Counter(said) & Counter(wanted)).total()
    if not shared:
        return 0.0
    precision, share = shared / len(said), shared / len(wanted)
    return 2 * precision * share / (precision + share)


def auroc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """The chance that a true one scores above a false one; None if there are not both."""
    positive = [s for s, label in zip(scores, labels, strict=True) if label]
    negative = sorted(s for s, label in zip(scores, labels, strict=True) if not label)
    if not positive or not negative:
        return None
    ranks = _ranks(sorted([*positive, *negative]))
    total = sum(ranks[score] for score in positive)
    few = len(positive)
    return (total - few * (few + 1) / 2) / (few * len(negative))


def _ranks(ordered: Sequence[float]) -> dict[float, float]:
    """The rank of every value, from 1; equal values share the mean of theirs."""
    first: dict[float, int] = {}
    count: Counter[float] = Counter(ordered)
    for rank, value in enumerate(ordered, 1):
        first.setdefault(value, rank)
    return {value: first[value] + (count[value] - 1) / 2 for value in count}


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return sum(values) / len(values) if values else None


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value that `share` of the values do not exceed; None of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else None
