"""Does the router tell the tasks apart, and does it leave real questions alone?

    .venv/bin/python -m benchmarks.routing --questions squad_v2_dev.jsonl.gz … --utterances FILE …

--questions ({"question"} a line) counts how many real ones are routed away; of lines with a "kind"
those that compute are left out; those with a "sql" that computes are computations. The libraries
that the router was not taught are always counted. --utterances are {"text", "task"}; those that are
next to the same as one of its examples are left out. How it is taught: training/router/train.py."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rag_app.answering.task_router import FOLDER, Router
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.types import Task
from training.router.train import Asked, examples, of_libraries, questions

_MOST = 2_000  # questions of one file that are measured
_ALIKE = 0.95  # cosine from which an utterance counts as one of the examples
_SHOWN = 12  # of those that are led astray


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=Path, nargs="*", default=[])
    parser.add_argument("--utterances", type=Path, nargs="*", default=[])
    parser.add_argument("--router", type=Path, default=FOLDER, help="folder of its weights")
    arguments = parser.parse_args()
    router = Router(arguments.router)
    router.warm()
    led_astray(router, "libraries held back", [q for f in of_libraries(held=True) for q in f])
    for path in arguments.questions:
        led_astray(router, path.name, questions(path, _MOST))
    for path in arguments.utterances:
        utterances(router, path)


def _task(label: str) -> Task:
    return Task(label.partition("/")[0])


def led_astray(router: Router, name: str, asked: Sequence[Asked]) -> None:
    """Print which questions are taken for something else."""
    began = time.perf_counter()
    routed = [router.route(question) for question, _ in asked]
    spent = (time.perf_counter() - began) / len(asked)
    away = [
        (question, one)
        for (question, label), one in zip(asked, routed, strict=True)
        if one.task not in (_task(label), Task.QUESTION)
    ]
    print(f"{name}: {len(asked)} questions, {len(away)} away: {len(away) / len(asked):.4f}")
    print(f"   {spent * 1e3:.1f} ms each", dict(Counter(str(one.task) for _, one in away)))
    for question, one in away[:_SHOWN]:
        print(f"   {one.task} {one.confidence:.2f}: {question[:110]}")


def utterances(router: Router, path: Path) -> None:
    """Print how many utterances are right, and what the others are taken for."""
    embedder, rows = MiniLmEmbedder(), examples(path)
    taught, asked = (
        np.array(embedder.embed_documents([text for text, _ in some]))
        for some in (examples(), rows)
    )
    near = (asked @ taught.T).max(axis=1)
    new = [row for row, close in zip(rows, near, strict=True) if close < _ALIKE]
    told = [(_task(label), router.route(text).task) for text, label in new]
    wrong = Counter(f"{one} as {other}" for one, other in told if one is not other)
    right = 1 - wrong.total() / len(new)
    print(f"{path.name}: {len(new)} of {len(rows)} utterances: {right:.3f} right", dict(wrong))


if __name__ == "__main__":
    main()
