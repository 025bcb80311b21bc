"""Spans of several passages -> answers, added up as RAG-Sequence says. Pure.

p(y|x) = sum over z of p(z|x) p(y|x,z) (Lewis et al. 2020): passages that agree add up. The
retriever knows which passages are near the question, the reader which of them answer; so the
retriever's p(z|x) is divided by the reader's p(no answer|x,z) and normalised again, which turns
p(y|x,z) into odds against "no answer here". Two spans are the same answer y if they are the same
words after normalisation."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Sequence
from dataclasses import dataclass

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "“”‘’–—…•")


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """A piece of a text that may answer; `log_prob` is log p(y|x,z)."""

    start: int
    end: int
    log_prob: float


@dataclass(frozen=True, slots=True)
class PassageSpans:
    """What the reader sees in one text: its best spans, the best first, and "no answer here".

    The log-probabilities are those of the text's most telling window."""

    spans: tuple[ScoredSpan, ...]
    no_answer: float

    @property
    def margin(self) -> float:
        """Log-odds of the best span against "no answer"; minus infinity without a span."""
        return self.spans[0].log_prob - self.no_answer if self.spans else -math.inf


@dataclass(frozen=True, slots=True)
class Vote:
    """One passage's span for an answer; `log_odds` is log of p(z|x) p(y|x,z) / p(no answer|x,z)."""

    passage: int
    start: int
    end: int
    log_odds: float


@dataclass(frozen=True, slots=True)
class SpanAnswer:
    """An answer y with all the spans that say it, the strongest first; `log_odds` is their sum."""

    votes: tuple[Vote, ...]
    log_odds: float


def normalised(text: str) -> str:
    """Lower case, without punctuation and articles: what two answers are compared by (SQuAD)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def marginal(
    texts: Sequence[str], seen: Sequence[PassageSpans], priors: Sequence[float]
) -> list[SpanAnswer]:
    """All answers, the most probable first; `priors` are p(z|x) of the texts.

    Of overlapping spans of a passage that say the same only the best votes."""
    votes: dict[str, list[Vote]] = {}
    for index, (text, found, prior) in enumerate(zip(texts, seen, priors, strict=True)):
        for span in found.spans:
            words = normalised(text[span.start : span.end])
            if words and prior > 0:
                odds = math.log(prior) + span.log_prob - found.no_answer
                vote = Vote(index, span.start, span.end, odds)
                if not any(overlap(vote, other) for other in votes.get(words, ())):
                    votes.setdefault(words, []).append(vote)
    answers = [
        SpanAnswer(
            tuple(sorted(agreeing, key=lambda v: -v.log_odds)),
            log_sum([v.log_odds for v in agreeing]),
        )
        for agreeing in votes.values()
    ]
    return sorted(answers, key=lambda answer: -answer.log_odds)


def overlap(a: Vote, b: Vote) -> bool:
    """Whether two votes are cuts of the same words."""
    return a.passage == b.passage and a.start < b.end and b.start < a.end


def log_sum(values: Sequence[float]) -> float:
    """Log of the sum of exp(values)."""
    top = max(values, default=-math.inf)
    if top == -math.inf:
        return top
    return top + math.log(sum(math.exp(value - top) for value in values))
