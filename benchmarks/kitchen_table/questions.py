"""The documents and questions of a part, as they lie beside this file. Knows no app."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PARTS = ("dev", "aside")
UNANSWERABLE = "unanswerable"
KINDS = (
    "fact",
    "who_when_howmuch_can",
    "paraphrase",
    "two_facts",
    "list",
    "arithmetic",
    "comparison",
    "why",
    "style",
    "follow_up",
    "typo",
    "german",
    "spanish",
    UNANSWERABLE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where the answer stands: a document's name, and words of it."""

    document: str
    quote: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question, what was said before it, and what its answer must and must not hold."""

    id: str
    kind: str
    text: str
    turns: tuple[tuple[str, str], ...]  # questions and answers before it
    must: tuple[re.Pattern[str], ...]
    must_not: tuple[re.Pattern[str], ...]
    evidence: tuple[Evidence, ...]
    note: str  # the answer, or why there is none, for people

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Question:
        """A question from its line; `re.error` where a pattern is none."""
        return cls(
            row["id"],
            row["kind"],
            row["question"],
            tuple((turn["question"], turn["answer"]) for turn in row["turns"]),
            tuple(re.compile(one, re.IGNORECASE) for one in row["must"]),
            tuple(re.compile(one, re.IGNORECASE) for one in row["must_not"]),
            tuple(Evidence(one["document"], one["quote"]) for one in row["evidence"]),
            row["note"],
        )


def documents(folder: Path) -> list[Path]:
    """The files of a part, or of another folder like it, by name."""
    return sorted((folder / "documents").iterdir())


def questions(folder: Path) -> list[Question]:
    """All its questions, in order."""
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [Question.of(json.loads(line)) for line in lines]


def chosen(
    given: Sequence[Question], kinds: Collection[str] = (), every: int = 1
) -> list[Question]:
    """Every n-th of the questions of these kinds; no kinds: of all."""
    return [one for one in given if not kinds or one.kind in kinds][::every]
