"""Fit the reader's confidence over a whole library, and report how it answers from one.

    .venv/bin/python -m benchmarks.fit_reader FOLDER --into rag_app/models/reader

The articles of the dev set become one library; every dev question, answerable or not, is asked of
it. An answer is right from F1 0.5 on. The figures are cross-fitted: no question is judged by a fit
that saw one of the same article."""

from __future__ import annotations

import argparse
import gzip
import json
import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from rag_app.answering.extraction import Reader
from rag_app.answering.span_model import ABOUT, LibraryFit, SpanModel
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import RetrieverKind
from training import metrics

FOLDS = 5
CAUTION = 0.5
CAUTIONS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8)  # what the setting may be moved to


@dataclass(frozen=True)
class Asked:
    """One question and what came of it, whether or not it would have been said."""

    article: str
    golds: tuple[str, ...]
    guess: str
    score: float
    lead: float

    @property
    def right(self) -> bool:
        """Whether the answer is the wanted one."""
        return any(metrics.f1(gold, self.guess) >= 0.5 for gold in self.golds)


def main() -> None:
    """Ask, fit, report; with --into, write the fit beside the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder with dev/squad_v2_dev.jsonl.gz")
    parser.add_argument("--into", type=Path, help="folder of the weights")
    parser.add_argument("--limit", type=int, default=0, help="a random sample of so many questions")
    given = parser.parse_args()
    with gzip.open(given.data / "dev" / "squad_v2_dev.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    chosen = random.Random(0).sample(rows, given.limit) if given.limit else rows
    with tempfile.TemporaryDirectory() as folder:
        asked = ask(Path(folder), rows, chosen)
    print(json.dumps(report(asked), indent=1))
    if given.into:
        about = given.into / ABOUT
        values = json.loads(about.read_text("utf-8")) | {"library": library_fit(asked)}
        about.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")


def ask(folder: Path, rows: Sequence[Any], chosen: Sequence[Any]) -> list[Asked]:
    """Every chosen question asked of a library of all articles."""
    articles: dict[str, dict[str, None]] = {}
    for row in rows:
        articles.setdefault(row["title"], {})[row["context"]] = None
    reader = Reader(SpanModel(), caution=0.0)
    done = []
    with Library(Settings.load(data_dir=folder)) as library:
        added = [
            library.add(f"{title}.txt", "\n\n".join(contexts).encode())
            for title, contexts in articles.items()
        ]
        library.wait([one.document.id for one in added])
        for row in chosen:
            passages = library.search(row["question"], retriever=RetrieverKind.HYBRID)
            found = reader.evidence(row["question"], passages)
            golds = tuple(answer["text"] for answer in row["answers"])
            if found.answers:
                vote = found.answers[0].votes[0]
                guess = passages[vote.passage].chunk.text[vote.start : vote.end]
                done.append(Asked(row["title"], golds, guess, found.score, found.lead))
            else:
                done.append(Asked(row["title"], golds, "", -20.0, 0.0))
    return done


def _fit(asked: Sequence[Asked]) -> Any:
    features = [(one.score, one.lead) for one in asked]
    return LogisticRegression(C=1e4).fit(features, [one.right for one in asked])


def library_fit(asked: Sequence[Asked]) -> dict[str, float]:
    """The coefficients of `LibraryFit`."""
    model = _fit(asked)
    score, lead = (round(float(value), 4) for value in model.coef_[0])
    return {"score": score, "lead": lead, "offset": round(float(model.intercept_[0]), 4)}


def report(asked: Sequence[Asked]) -> dict[str, Any]:
    """Figures as percentages, but for the areas and the calibration error."""
    chances = cross_fitted(asked)
    rights = np.array([one.right for one in asked])
    answerable = np.array([bool(one.golds) for one in asked])
    outcomes = [metrics.Outcome(o.golds, o.guess, o.score) for o in asked if o.golds]
    forced = metrics.at_threshold(outcomes, float("-inf"))
    return {
        "questions": len(asked),
        "answerable, never abstaining": {"em": forced.em, "f1": forced.f1},
        **_point(chances >= CAUTION, rights, answerable),
        "auroc right": round(float(roc_auc_score(rights, chances)), 4),
        "auroc answerable": round(float(roc_auc_score(answerable, chances)), 4),
        "ece": round(metrics.ece(metrics.bins(chances.tolist(), rights.astype(float).tolist())), 4),
        "at caution": {c: _point(chances >= c, rights, answerable) for c in CAUTIONS},
        "fit": library_fit(asked),
    }


def _point(said: Any, rights: Any, answerable: Any) -> dict[str, float]:
    """What comes of answering these questions and no others."""
    return {
        "answered": _percent(said),
        "right when answered": _percent(rights[said]),
        "right ones kept": _percent(said[rights]),
        "answerable answered": _percent(said[answerable]),
        "abstention precision": _percent(~answerable[~said]),
        "abstention recall": _percent(~said[~answerable]),
    }


def cross_fitted(asked: Sequence[Asked]) -> Any:
    """A chance for each question from a fit on other articles."""
    articles = sorted({one.article for one in asked})
    chances = np.zeros(len(asked))
    for fold in range(FOLDS):
        held = set(articles[fold::FOLDS])
        model = _fit([one for one in asked if one.article not in held])
        fit = LibraryFit(*model.coef_[0], model.intercept_[0])
        for index, one in enumerate(asked):
            if one.article in held:
                chances[index] = 1 / (
                    1 + np.exp(-(fit.score * one.score + fit.lead * one.lead + fit.offset))
                )
    return chances


def _percent(values: Any) -> float:
    return round(100 * float(np.mean(values)), 1) if len(values) else float("nan")


if __name__ == "__main__":
    main()
