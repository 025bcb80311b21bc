"""What does a fragment before a question cost the reader? "and in 1969: when did …", "when did …".

    .venv/bin/python -m benchmarks.fragments squad_v2_dev.jsonl.gz

Questions of the dev set that name a year, each asked of its own passage with and without what a
person would have typed in a conversation."""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

from rag_app.answering.coreference import years
from rag_app.answering.span_model import SpanModel

_LONGEST = 1_500  # characters of a passage
_CAUTION = 0.4
_WAYS: dict[str, Callable[[str], str]] = {
    "as it is": lambda question: question,
    "behind a fragment": lambda question: (
        f"and in {years(question)[0]}: {question[:1].lower()}{question[1:]}"
    ),
}


def main() -> None:
    """Ask in both ways and print how sure the reader is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    with gzip.open(parser.parse_args().path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rows = [r for r in rows if years(r["question"]) and len(r["context"]) < _LONGEST]
    model = SpanModel()
    print("| questions | asked | number | mean margin | over the threshold |")
    print("|---|---|---|---|---|")
    for what, kept in (("answerable", True), ("unanswerable", False)):
        chosen = [row for row in rows if bool(row["answers"]) == kept]
        for name, way in _WAYS.items():
            margins = [_margin(model, way(row["question"]), row) for row in chosen]
            over = sum(model.calibration.of_passage(one) >= _CAUTION for one in margins)
            print(f"| {what} | {name} | {len(chosen)} | {mean(margins):.2f} | {over} |")


def _margin(model: SpanModel, question: str, row: dict[str, Any]) -> float:
    return model.read(question, [row["context"]])[0].margin


if __name__ == "__main__":
    main()
