"""What became of each question, a line of JSON each, so that a run can be broken off and gone on.

Knows neither the app nor its peers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.kitchen_table.judging import verdict
from benchmarks.kitchen_table.questions import Question


@dataclass(frozen=True, slots=True)
class Seconds:
    """From the question on; None: that never came."""

    sources: float | None  # until the first source
    first_word: float | None
    end: float


@dataclass(frozen=True, slots=True)
class Said:
    """What a side answered. `abstained`: it says that it does not know."""

    answer: str
    abstained: bool
    seconds: Seconds
    confidence: float | None = None  # 0..1; None: the side has none
    error: str = ""  # a sentence instead of an answer


@dataclass(frozen=True, slots=True)
class Row:
    """One question to one side (`by`), judged."""

    by: str
    id: str
    kind: str
    verdict: str
    answer: str
    abstained: bool
    confidence: float | None
    seconds: Seconds
    error: str = ""

    @classmethod
    def of(cls, by: str, question: Question, said: Said) -> Row:
        """The judged row; an error is no refusal, and no answer either."""
        refused = said.abstained and not said.error
        return cls(
            by,
            question.id,
            question.kind,
            verdict(question, said.answer, refused),
            said.answer,
            said.abstained,
            said.confidence,
            said.seconds,
            said.error,
        )

    @classmethod
    def read(cls, row: dict[str, Any]) -> Row:
        """The row of a line that was kept."""
        return cls(**{**row, "seconds": Seconds(**row["seconds"])})


class Kept:
    """The rows of a run, and where they are kept; without a path they are only remembered."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._rows: dict[tuple[str, str], Row] = {}
        if path and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                self._remember(Row.read(json.loads(line)))

    def _remember(self, row: Row) -> None:
        self._rows[row.by, row.id] = row

    def add(self, row: Row) -> None:
        """Keep a row at once."""
        self._remember(row)
        if self._path:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")

    def missing(self, by: str, questions: Sequence[Question]) -> list[Question]:
        """The questions that a side has not been asked."""
        return [one for one in questions if (by, one.id) not in self._rows]

    def of(self, by: str, questions: Sequence[Question]) -> list[Row]:
        """A side's rows on these questions."""
        return [self._rows[by, one.id] for one in questions if (by, one.id) in self._rows]
