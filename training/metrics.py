"""Scores of extractive readers: EM and F1 as the SQuAD script has them, thresholds, calibration."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from training.text import normalise


@dataclass(frozen=True, slots=True)
class Outcome:
    """A prediction beside the truth."""

    golds: tuple[str, ...]
    """Empty: the passage does not answer."""
    guess: str
    """The best span, whatever its score."""
    score: float
    """The higher, the surer that the passage answers."""

    @property
    def answerable(self) -> bool:
        """Whether there is an answer to find."""
        return bool(self.golds)


def exact(gold: str, guess: str) -> float:
    """1 if equal after normalisation."""
    return float(normalise(gold) == normalise(guess))


def f1(gold: str, guess: str) -> float:
    """Harmonic mean of the precision and recall of words."""
    wanted, given = normalise(gold).split(), normalise(guess).split()
    if not wanted or not given:
        return float(wanted == given)
    same = sum((Counter(wanted) & Counter(given)).values())
    return 2 * same / (len(wanted) + len(given)) if same else 0.0


def best_of(measure: Callable[[str, str], float], outcome: Outcome) -> float:
    """A measure of the best span against the kindest gold answer; 0 if nothing is to be found."""
    return max((measure(gold, outcome.guess) for gold in outcome.golds), default=0.0)


@dataclass(frozen=True, slots=True)
class Operating:
    """Mean F1 and EM when everything under a threshold abstains."""

    threshold: float
    f1: float
    em: float


def at_threshold(outcomes: Sequence[Outcome], threshold: float) -> Operating:
    """Mean scores with abstention at or under `threshold`."""
    f1s = [_gain(o, best_of(f1, o), threshold) for o in outcomes]
    ems = [_gain(o, best_of(exact, o), threshold) for o in outcomes]
    return Operating(threshold, 100 * _mean(f1s), 100 * _mean(ems))


def _gain(outcome: Outcome, value: float, threshold: float) -> float:
    if outcome.score > threshold:
        return value
    return 0.0 if outcome.answerable else 1.0


def best_threshold(outcomes: Sequence[Outcome]) -> Operating:
    """The single threshold with the highest mean F1."""
    ranked = sorted(outcomes, key=lambda o: -o.score)
    total = float(sum(not o.answerable for o in outcomes))
    best, where = total, math.inf
    for index, outcome in enumerate(ranked):
        total += best_of(f1, outcome) if outcome.answerable else -1.0
        following = ranked[index + 1].score if index + 1 < len(ranked) else -math.inf
        if total > best and following < outcome.score:
            best = total
            where = (outcome.score + following) / 2 if following > -math.inf else following
    return at_threshold(outcomes, where)


def auroc(outcomes: Sequence[Outcome]) -> float:
    """Chance that an answerable question scores above an unanswerable one; ties count half."""
    ranked = sorted(outcomes, key=lambda o: o.score)
    positives = sum(o.answerable for o in outcomes)
    negatives = len(outcomes) - positives
    if not positives or not negatives:
        return math.nan
    rank_sum, at = 0.0, 0
    while at < len(ranked):
        to = at
        while to < len(ranked) and ranked[to].score == ranked[at].score:
            to += 1
        rank_sum += sum(o.answerable for o in ranked[at:to]) * (at + 1 + to) / 2
        at = to
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of like confidence: what was promised and what was kept."""

    promised: float
    kept: float
    count: int


def bins(chances: Sequence[float], right: Sequence[float], number: int = 15) -> list[Bin]:
    """Bins of equal width; empty ones are left out."""
    groups: dict[int, list[tuple[float, float]]] = {}
    for pair in zip(chances, right, strict=True):
        groups.setdefault(min(int(pair[0] * number), number - 1), []).append(pair)
    return [
        Bin(_mean([p for p, _ in rows]), _mean([r for _, r in rows]), len(rows))
        for _, rows in sorted(groups.items())
    ]


def ece(found: Sequence[Bin]) -> float:
    """Expected calibration error: the mean gap between promised and kept, weighted by count."""
    total = sum(b.count for b in found)
    return sum(b.count * abs(b.promised - b.kept) for b in found) / total if total else math.nan


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan
