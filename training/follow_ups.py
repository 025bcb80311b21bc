"""Teaches what tells whether a question leans on the conversation before it (context_gate.npz).

    .venv/bin/python -m training.follow_ups DATA [--out FILE]

DATA is a folder with followups/canard_dev.jsonl.gz and reader/train. Questions that lean: those of
CANARD's tuning half (benchmarks/follow_ups.py), and two thirds of the everyday ones and of the
wishes for another form ("as bullet points") in training/follow_ups.jsonl. Questions that do not:
what people rewrote CANARD's to, SQuAD's and Natural Questions', the everyday ones of two thirds of
the libraries in training/library, and two thirds of the complete ones of training/follow_ups.jsonl.
Logistic regression over hashed words, pairs of words and shape, every source with a weight of its
own. What was kept aside is reported."""

from __future__ import annotations

import argparse
import gzip
import json
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from benchmarks.follow_ups import is_tuning
from rag_app.answering.query_rewriting import CONTEXT_BUCKETS, context_buckets

EVERYDAY = Path(__file__).with_name("follow_ups.jsonl")
LIBRARIES = Path(__file__).with_name("library")
_READ = 6_000  # questions of each of the large sources
_STRENGTH = 1.0  # inverse of the regularisation
_ODDS = 5.7  # of complete questions to leaning ones, where the sources hold as many of both
_AT = (0.15, 0.3, 0.5, 0.85)  # chances at which what was kept aside is reported


@dataclass(frozen=True, slots=True)
class Source:
    """Questions of one kind; all of them together count as much as `weight` says."""

    name: str
    texts: Sequence[str]
    leans: bool
    weight: float = 1.0


def main() -> None:
    """Fit, report, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    taught, aside = sources(arguments.data)
    weights, bias = fitted(taught)
    for source in [*taught, *aside]:
        chances = np.array([chance(text, weights, bias) for text in source.texts])
        shares = ", ".join(f"{at}: {float((chances >= at).mean()):.3f}" for at in _AT)
        print(f"{source.name:40} {'leans' if source.leans else '':6} {len(chances):6}  {shares}")
    if arguments.out:
        np.savez_compressed(arguments.out, weights=weights.astype(np.float16), bias=bias)


def sources(data: Path) -> tuple[list[Source], list[Source]]:
    """What is learnt from, and what is kept aside."""
    rows = list(_rows(data / "followups" / "canard_dev.jsonl.gz"))
    tuning = [row for row in rows if is_tuning(row)]
    others = [row for row in rows if not is_tuning(row)]
    everyday = list(_rows(EVERYDAY))
    read = data / "reader" / "train"
    taught = [
        Source("CANARD", [row["question"] for row in tuning], True, 2.0),
        Source("everyday", _everyday(everyday, "follow_up", False), True, 2.0),
        Source("another form", _everyday(everyday, "form", False), True),
        Source("CANARD, rewritten", [row["rewrite"] for row in tuning], False),
        Source("SQuAD", _questions(read / "squad_v11_train_du44.jsonl.gz"), False),
        Source("Natural Questions", _questions(read / "nq_part.jsonl.gz"), False),
        Source("spoken", list(_spoken(False)), False, 2.0),
        Source("everyday, complete", _everyday(everyday, "complete", False), False),
    ]
    aside = [
        Source("CANARD, aside", [row["question"] for row in others], True),
        Source("everyday, aside", _everyday(everyday, "follow_up", True), True),
        Source("another form, aside", _everyday(everyday, "form", True), True),
        Source("CANARD, rewritten, aside", [row["rewrite"] for row in others], False),
        Source("spoken, aside", list(_spoken(True)), False),
        Source("everyday, complete, aside", _everyday(everyday, "complete", True), False),
    ]
    return taught, aside


def fitted(taught: Sequence[Source]) -> tuple[np.ndarray, float]:
    """Weights of the buckets, and the bias."""
    texts = [text for source in taught for text in source.texts]
    leans = [source.leans for source in taught for _ in source.texts]
    counts = [s.weight * _READ / len(s.texts) for s in taught for _ in s.texts]
    model = LogisticRegression(C=_STRENGTH, max_iter=2_000)
    model.fit(_matrix(texts), leans, sample_weight=counts)
    return model.coef_[0], float(model.intercept_[0]) - math.log(_ODDS)


def chance(text: str, weights: np.ndarray, bias: float) -> float:
    """How likely a question leans on what was said before."""
    return float(1.0 / (1.0 + np.exp(-(_matrix([text]) @ weights)[0] - bias)))


def _matrix(texts: Sequence[str]) -> csr_matrix:
    found = [context_buckets(text) for text in texts]
    ends = np.cumsum([0, *map(len, found)])
    values = [1.0 / math.sqrt(len(one)) for one in found for _ in one]
    at = [bucket for one in found for bucket in one]
    return csr_matrix((values, at, ends), shape=(len(texts), CONTEXT_BUCKETS))


def _rows(file: Path) -> Iterable[dict[str, Any]]:
    with (gzip.open if file.suffix == ".gz" else open)(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _questions(file: Path) -> list[str]:
    return [row["question"] for row in _rows(file)][:_READ]


def _everyday(rows: Sequence[dict[str, Any]], kind: str, aside: bool) -> list[str]:
    return [row["text"] for row in rows if row["kind"] == kind and _is_aside(row["text"]) == aside]


def _spoken(aside: bool) -> Iterable[str]:
    for file in sorted(LIBRARIES.glob("*/spoken.jsonl")):
        if _is_aside(file.parent.name) == aside:
            yield from (row["question"] for row in _rows(file))


def _is_aside(text: str) -> bool:
    return zlib.crc32(text.encode()) % 3 == 0


if __name__ == "__main__":
    main()
