"""Questions with the answers to learn, read from JSONL."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rag_app.jsonl import UnfitFile, read_lines, text_of

_EXAMPLE = '{"question": "…", "answer": "…"}'


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and the answer to learn."""

    question: str
    answer: str


def read_pairs(path: Path) -> list[Pair]:
    """Lines of {"question": …, "answer": …}. Raises UnfitFile naming the first bad line."""
    pairs = read_lines(
        path, lambda row, _: Pair(text_of(row["question"]), text_of(row["answer"])), _EXAMPLE
    )
    if not pairs:
        raise UnfitFile(f"There is no question in {path}.")
    return pairs
