"""The figures of an evaluation, as types. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag_app.evaluation import metrics
from rag_app.evaluation.asked import Asked, Place
from rag_app.types import Answer


def as_figure(value: float | None) -> str:
    """A figure for people; a dash where nothing was asked that it needs."""
    return "–" if value is None else f"{value:.3f}"


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one retriever found for one question: distinct pages in order, and how long it took."""

    asked: Asked
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
        return cls(metrics.quantile(seconds, 0.5) or 0.0, metrics.quantile(seconds, 0.95) or 0.0)


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
        page_recall={k: _mean([metrics.recall(*p, k) for p in pages]) for k in metrics.DEPTHS},
        document_recall={
            k: _mean([metrics.recall(*d, k) for d in documents]) for k in metrics.DEPTHS
        },
        mrr=_mean([metrics.reciprocal_rank(*p) for p in pages]),
        ndcg10=_mean([metrics.ndcg(*p) for p in pages]),
        seconds=Latency.of([one.seconds for one in rankings]),
    )


def _mean(values: Sequence[float]) -> float:
    return metrics.mean(values) or 0.0


@dataclass(frozen=True, slots=True)
class Judged:
    """One answer and what it is worth."""

    asked: Asked
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
        exact_match=metrics.mean([metrics.exact_match(_said(j), j.asked.answers) for j in known]),
        f1=metrics.mean([metrics.f1(_said(j), j.asked.answers) for j in known]),
        abstention_precision=metrics.mean([float(j.asked.unanswerable) for j in silent]),
        abstention_recall=metrics.mean([float(j.answer.abstained) for j in empty]),
        auroc=metrics.auroc(
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
