"""The figures of an evaluation, as types. Pure."""

from __future__ import annotations

import math
import re
import string
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag_app.text.jsonl import UnfitFile, read_lines, text_of, texts_of
from rag_app.types import Answer

# Figures of rankings, answers and abstentions. Pure.
#
# Recall is the share of what is wanted that is among the first k; a page counts once, however many
# passages of it were found.

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
    # Of as many as are equal, half are above.
    above = sum(bisect_left(negative, one) + bisect_right(negative, one) for one in positive) / 2
    return above / (len(positive) * len(negative))


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return sum(values) / len(values) if values else None


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value that `share` of the values do not exceed; None of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)] if ordered else None


# Questions with what is known of their answers, read from JSONL.

Place = tuple[str, int]
"""A page of a document, by the document's name."""

_EXAMPLE = '{"question": "…", "answers": ["…"], "pages": [{"document": "…", "page": 1}]}'


@dataclass(frozen=True, slots=True)
class EvaluationQuestion:
    """A question, and what is known of its answer.

    `pages` weigh by how much they matter; `within` are the documents that are asked, None for
    all."""

    id: str
    question: str
    answers: tuple[str, ...] = ()
    pages: Mapping[Place, float] | None = None
    within: tuple[str, ...] | None = None
    unanswerable: bool = False

    @property
    def documents(self) -> frozenset[str]:
        """Names of the documents that hold the wanted pages."""
        return frozenset(name for name, _ in self.pages or ())


def read_asked(path: Path) -> list[EvaluationQuestion]:
    """The questions of a file. Raises UnfitFile naming the line that cannot be used.

    A line is {"id", "question", "documents"?: [name], "answers"?: [text], "unanswerable"?: bool,
    "pages"?: [{"document", "page", "weight"?}]}."""
    asked = read_lines(path, _asked, _EXAMPLE)
    if not asked:
        raise UnfitFile(f"There is no question in {path}.")
    return asked


def _asked(row: Any, number: int) -> EvaluationQuestion:
    within = row.get("documents")
    return EvaluationQuestion(
        id=str(row.get("id", number)),
        question=text_of(row["question"]),
        answers=tuple(texts_of(row.get("answers"))),
        pages=_asked_pages(row.get("pages") or ()),
        within=None if within is None else tuple(texts_of(within)),
        unanswerable=bool(row.get("unanswerable", False)),
    )


def _asked_pages(rows: Sequence[Any]) -> dict[Place, float] | None:
    pages: dict[Place, float] = {}
    for row in rows:
        place = (text_of(row.get("document", row.get("name"))), int(row["page"]))
        pages[place] = float(row.get("weight", 1.0))
    return pages or None


def as_figure(value: float | None) -> str:
    """A figure for people; a dash where nothing was asked that it needs."""
    return "–" if value is None else f"{value:.3f}"


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one retriever found for one question: distinct pages in order, and how long it took."""

    asked: EvaluationQuestion
    pages: tuple[Place, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds."""

    median: float
    p95: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Latency:
        """Of at least one measurement."""
        return cls(quantile(seconds, 0.5) or 0.0, quantile(seconds, 0.95) or 0.0)


@dataclass(frozen=True, slots=True)
class Finding:
    """How well one retriever finds pages and documents."""

    retriever: str
    questions: int
    page_recall: Mapping[int, float]
    document_recall: Mapping[int, float]
    mrr: float
    ndcg10: float
    seconds: Latency


def finding(retriever: str, rankings: Sequence[Ranking]) -> Finding:
    """The figures of one retriever over questions whose pages are known."""
    pages: list[tuple[Sequence[Hashable], Mapping[Hashable, float]]] = []
    documents: list[tuple[Sequence[Hashable], Mapping[Hashable, float]]] = []
    for one in rankings:
        pages.append((one.pages, dict(one.asked.pages or {})))
        order = tuple(dict.fromkeys(name for name, _ in one.pages))
        documents.append((order, dict.fromkeys(one.asked.documents, 1.0)))
    return Finding(
        retriever=retriever,
        questions=len(rankings),
        page_recall={k: _mean([recall(*p, k) for p in pages]) for k in DEPTHS},
        document_recall={k: _mean([recall(*d, k) for d in documents]) for k in DEPTHS},
        mrr=_mean([reciprocal_rank(*p) for p in pages]),
        ndcg10=_mean([ndcg(*p) for p in pages]),
        seconds=Latency.of([one.seconds for one in rankings]),
    )


def _mean(values: Sequence[float]) -> float:
    return mean(values) or 0.0


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer and what it is worth."""

    asked: EvaluationQuestion
    answer: Answer
    quotes: int
    verbatim: int  # quotes that stand so in their page
    supporting: int  # verbatim quotes that hold a wanted answer or stand on a wanted page


@dataclass(frozen=True, slots=True)
class Answering:
    """How well the library answers. A figure is None where nothing was asked that it needs."""

    questions: int
    answered: int
    exact_match: float | None  # over questions that have an answer; silence is wrong
    f1: float | None
    abstention_precision: float | None  # of the questions it kept silent on: nothing was to be said
    abstention_recall: float | None  # of the questions nothing was to be said on: it kept silent
    auroc: float | None  # confidence, questions with an answer against those without
    quotes: int
    verbatim: float | None  # share of the quotes
    supporting: float | None
    retrieve: Latency
    answer: Latency


def answering(judged: Sequence[Judged]) -> Answering:
    """The figures of answers."""
    known = [j for j in judged if j.asked.answers and not j.asked.unanswerable]
    silent = [j for j in judged if j.answer.abstained]
    empty = [j for j in judged if j.asked.unanswerable]
    quotes = sum(j.quotes for j in judged)
    return Answering(
        questions=len(judged),
        answered=len(judged) - len(silent),
        exact_match=mean([exact_match(_said(j), j.asked.answers) for j in known]),
        f1=mean([f1(_said(j), j.asked.answers) for j in known]),
        abstention_precision=mean([float(j.asked.unanswerable) for j in silent]),
        abstention_recall=mean([float(j.answer.abstained) for j in empty]),
        auroc=auroc(
            [j.answer.confidence for j in judged], [not j.asked.unanswerable for j in judged]
        ),
        quotes=quotes,
        verbatim=sum(j.verbatim for j in judged) / quotes if quotes else None,
        supporting=_supporting(judged),
        retrieve=Latency.of([j.answer.seconds.retrieve for j in judged]),
        answer=Latency.of([j.answer.seconds.answer for j in judged]),
    )


def _said(judged: Judged) -> str:
    if judged.answer.abstained:
        return ""
    return judged.answer.short_answer or judged.answer.text


def _supporting(judged: Sequence[Judged]) -> float | None:
    able = [j for j in judged if j.asked.answers or j.asked.pages]
    quotes = sum(j.quotes for j in able)
    return sum(j.supporting for j in able) / quotes if quotes else None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All that was measured, beside what it was measured on."""

    questions: int
    documents: int
    pages: int
    findings: tuple[Finding, ...]
    answering: Answering | None

    def as_json(self) -> dict[str, Any]:
        """As the contract of the command line has it."""
        found = asdict(self)
        for one in found["findings"]:
            for name in ("page_recall", "document_recall"):
                one[name] = {str(k): value for k, value in one[name].items()}
        return found
