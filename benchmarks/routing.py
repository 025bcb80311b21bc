"""Does the router tell the tasks apart, and does it leave real questions alone?

    .venv/bin/python -m benchmarks.routing --fit squad_v11_train_du44.jsonl.gz:1500 sheets.jsonl …
    .venv/bin/python -m benchmarks.routing --questions squad_v2_dev.jsonl.gz … --utterances FILE

--fit writes the weights that come with the app; its files hold questions ({"question"} a line), of
which all or so many are the background: those with a "sql" that computes are computations, all
others questions.
--questions counts how many real ones are routed away; of lines with a "kind" those that compute are
left out. --utterances are {"text", "task"}."""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag_app.answering.task_router import (
    TASKS,
    Router,
    embedded,
    examples,
    fitted,
    keep,
    kept,
    left_out,
    opening,
)
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.types import Task

_MOST = 2_000  # questions of one file that are measured
_COMPUTES = re.compile(r"\b(?:count|sum|avg|min|max)\(|\bORDER BY\b", re.IGNORECASE)
_FEW = 3  # times as many questions as computations: else every "how many" would be one
_ALIKE = 0.95  # cosine from which an utterance counts as one of the examples


def main() -> None:
    """Fit, or measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fit", nargs="+", default=[], metavar="FILE[:MOST]")
    parser.add_argument("--questions", type=Path, nargs="+", default=[])
    parser.add_argument("--utterances", type=Path)
    arguments = parser.parse_args()
    embedder = MiniLmEmbedder()
    if arguments.fit:
        _fit(embedder, arguments.fit)
    router = Router(embedder)
    router.warm()
    for path in arguments.questions:
        _questions(router, path)
    if arguments.utterances:
        _utterances(router, embedder, arguments.utterances)


def _rows(path: Path) -> list[dict[str, Any]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _asked(path: Path, most: int | None) -> list[tuple[str, Task]]:
    """Different questions of a file and what they ask for, drawn by chance but the same every
    time."""
    rows = [row for row in _rows(path) if row.get("kind") != "arithmetic"]
    found = list({row["question"].strip(): _task(row) for row in rows}.items())
    random.Random(3).shuffle(found)
    return found[:most]


def _task(row: dict[str, Any]) -> Task:
    return Task.COMPUTATION if _COMPUTES.search(row.get("sql") or "") else Task.QUESTION


def _fit(embedder: MiniLmEmbedder, files: Sequence[str]) -> None:
    said = [one.text for one in examples()]
    labels = [TASKS.index(one.task) for one in examples()]
    vectors = embedded(embedder, said)
    scores = left_out(said, vectors, labels)
    right = float(np.mean(scores.argmax(axis=1) == np.array(labels)))
    print(f"{len(said)} examples; each left out of the fit, {right:.3f} are right")
    asked: list[tuple[str, Task]] = []
    for file in files:
        name, _, most = file.partition(":")
        found = _asked(Path(name), int(most) if most else None)
        plain = [one for one in found if one[1] is Task.QUESTION]
        computing = [one for one in found if one[1] is Task.COMPUTATION]
        asked += [*plain, *computing[: len(plain) // _FEW]]
    background = [opening(question) for question, _ in asked]
    kinds = [TASKS.index(task) for _, task in asked]
    weights = fitted(said, vectors, labels, (background, embedded(embedder, background), kinds))
    keep(weights, embedder.fingerprint)


def _questions(router: Router, path: Path) -> None:
    asked = _asked(path, _MOST)
    began = time.perf_counter()
    routed = [router.route(question) for question, _ in asked]
    spent = (time.perf_counter() - began) / len(asked)
    away = [
        (question, one)
        for (question, task), one in zip(asked, routed, strict=True)
        if one.task not in (task, Task.QUESTION)
    ]
    share = len(away) / len(asked)
    print(f"{path.name}: {len(asked)} questions, {len(away)} away: {share:.4f}")
    print(f"   {spent * 1e3:.1f} ms each")
    print("  ", dict(Counter(str(r.task) for _, r in away)))
    for question, one in away[:12]:
        print(f"   {one.task} {one.confidence:.2f}: {question[:110]}")


def _utterances(router: Router, embedder: MiniLmEmbedder, path: Path) -> None:
    rows = _rows(path)
    known = kept().fitted.examples
    near = (embedded(embedder, [row["text"] for row in rows]) @ known.T).max(axis=1)
    counted_in = [row for row, close in zip(rows, near, strict=True) if close < _ALIKE]
    wrong = Counter[tuple[str, str]]()
    for row in counted_in:
        task = router.route(row["text"]).task
        wrong[row["task"], str(task)] += task != row["task"]
    missed = sum(wrong.values())
    print(f"{len(counted_in)} of {len(rows)} utterances: {1 - missed / len(counted_in):.3f} right")
    print("  ", {f"{a} as {b}": n for (a, b), n in wrong.items() if n})


if __name__ == "__main__":
    main()
