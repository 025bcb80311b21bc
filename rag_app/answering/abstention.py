"""How likely an answer is right: one probability from what reader, retrieval and writer say. Pure.

None of them knows enough alone. The reader was taught what no answer looks like, but reads little
else; the writer knows language better and is gullible; whether the sources hold what is written is
known only afterwards. Two logistic regressions weigh them: one before a word is written, which
decides whether one is written and shown meanwhile, and one on the finished answer. Under the
caution that a person has chosen the answer is "I don't know" and the closest sentence.

Fitted by `python -m benchmarks.written_answers --fit`; figures in benchmarks/LOG.md."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

_BOUND = 20.0  # log-odds count no more when they grow
_UNBACKED = -5.0  # log-odds of the source of an answer that has none
_FARTHEST = 60.0  # log-odds: beyond them a chance is as good as 0 or 1
_EDGE = 1e-4  # chances count no more when they near 0 or 1


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of a question and its answer; None: nobody could be asked.

    The reader and the sentence model were taught English: of other questions they say nothing."""

    score: float | None = None  # the reader's log-odds of its best answer over all passages
    lead: float | None = None  # those less the log-odds of the next that says something else
    ranked: float | None = None  # the ranker's log-odds that any sentence shown holds the answer
    says_yes: float | None = None  # writer: how sure it is that they answer the question
    supported: float | None = None  # share of the answer's sentences that a source supports
    backed: float | None = None  # the ranker's log-odds of the likeliest of these sources
    agrees: float | None = None  # how much of the reader's own likeliest answers the answer says


def before(signals: Signals) -> float:
    """Chance that the answer will be right, before it is written."""
    return _chance(_BEFORE_WRITER if signals.score is None else _BEFORE, signals)


def after(signals: Signals) -> float:
    """Chance that the finished answer is right."""
    if signals.ranked is None:
        return _chance(_AFTER_UNRANKED, signals)
    return _chance(_AFTER_WRITER if signals.score is None else _AFTER, signals)


def of_query(says_yes: float, sure_of_columns: float = 1.0, agrees: float | None = None) -> float:
    """Chance that what a query computes is what was asked for. How sure the writer was that there
    is one, and of the columns that it computes with: the less sure of both decides; and what chance
    the ranker gives to the same result (None: it was not asked)."""
    odds = min(log_odds(says_yes) - _QUERY_IS_SURE, log_odds(sure_of_columns))
    weights = _QUERY if agrees is None else _QUERY_RANKED
    told = weights["bias"] + weights["odds"] * odds
    if agrees is not None:
        told += weights["agrees"] * math.sqrt(agrees)
    return chance_of(told)


def features(signals: Signals) -> dict[str, float]:
    """The signals as numbers that a regression can weigh."""
    return {
        "score": _bounded(signals.score, -_BOUND),
        "lead": _bounded(signals.lead, 0.0),
        "ranked": _bounded(signals.ranked, 0.0),
        "says_yes": log_odds(signals.says_yes),
        "supported": _bounded(signals.supported, 0.0),
        "backed": _bounded(signals.backed, _UNBACKED),
        "agrees": _bounded(signals.agrees, 0.0),
    }


def _chance(weights: Mapping[str, float], signals: Signals) -> float:
    values = features(signals) | {"bias": 1.0}
    odds = sum(weight * values[name] for name, weight in weights.items())
    return chance_of(odds)


def _bounded(value: float | None, missing: float) -> float:
    if value is None or math.isnan(value):
        return missing
    return max(-_BOUND, min(_BOUND, value))


def log_odds(chance: float | None) -> float:
    """Of a chance, within bounds; 0 where nobody could be asked."""
    if chance is None:
        return 0.0
    bounded = max(_EDGE, min(1 - _EDGE, chance))
    return math.log(bounded / (1 - bounded))


def chance_of(odds: float) -> float:
    """Of log-odds."""
    return 1.0 / (1.0 + math.exp(-max(-_FARTHEST, min(_FARTHEST, odds))))


_BEFORE = {"bias": -1.247, "score": 0.035, "says_yes": 0.376}
_BEFORE_WRITER = {"bias": -1.348, "says_yes": 0.388}
# Once it is known whether the reader says the same, how sure that was of itself counts no more.
# What counts of a source is how likely it is beside all that was shown: hence less than nothing for
# how likely anything shown is.
_AFTER = {"bias": -1.176, "says_yes": 0.338, "backed": 0.145, "ranked": -0.116, "agrees": 1.191}
_AFTER_WRITER = {"bias": -0.707, "says_yes": 0.357, "backed": 0.19, "ranked": -0.152}
# Where the ranker cannot be used; fitted before there was one.
_AFTER_UNRANKED = {"bias": -2.82, "says_yes": 0.55, "supported": 0.78}
# Of queries over tables: a writer is surer that there is one (in log-odds) than it is of a column.
# Fitted to the 109 that two runs of `benchmarks.table_questions --sheets dev` computed.
_QUERY_IS_SURE = 1.6
_QUERY = {"bias": -0.45, "odds": 0.66}
# With the ranker's second opinion: near what fits 97 answers over sheets best, and more careful,
# since few of these were asked of other documents.
_QUERY_RANKED = {"bias": -1.0, "odds": 0.5, "agrees": 1.5}
