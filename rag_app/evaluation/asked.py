"""Questions with what is known of their answers, read from JSONL."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_app.errors import RagAppError

Place = tuple[str, int]
"""A page of a document, by the document's name."""


class UnfitQuestions(RagAppError):
    """A file of questions cannot be used; the message names the line."""

    code = "unfit_questions"


@dataclass(frozen=True, slots=True)
class Asked:
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


def read_asked(path: Path) -> list[Asked]:
    """The questions of a file. Raises UnfitQuestions naming the line that cannot be used.

    A line is {"id", "question", "documents"?: [name], "answers"?: [text], "unanswerable"?: bool,
    "pages"?: [{"document", "page", "weight"?}]}."""
    try:
        lines = path.read_text("utf-8").split("\n")
    except FileNotFoundError as error:
        raise UnfitQuestions(f"There is no file {path}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UnfitQuestions(f"{path} is not a text in UTF-8.") from error
    asked = [_asked(text, n, path) for n, text in enumerate(lines, 1) if text.strip()]
    if not asked:
        raise UnfitQuestions(f"There is no question in {path}.")
    return asked


def _asked(text: str, number: int, path: Path) -> Asked:
    try:
        row = json.loads(text)
        question = row["question"]
        if not isinstance(question, str) or not question.strip():
            raise TypeError
        within = row.get("documents")
        return Asked(
            id=str(row.get("id", number)),
            question=question,
            answers=tuple(map(_text, row.get("answers") or ())),
            pages=_pages(row.get("pages") or ()),
            within=None if within is None else tuple(map(_text, within)),
            unanswerable=bool(row.get("unanswerable", False)),
        )
    except ValueError as error:
        raise UnfitQuestions(f"Line {number} of {path} is not JSON: {error}.") from error
    except (AttributeError, KeyError, TypeError) as error:
        raise UnfitQuestions(
            f"Line {number} of {path} is not a question. It takes "
            '{"question": "…", "answers": ["…"], "pages": [{"document": "…", "page": 1}]}.'
        ) from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _pages(rows: Sequence[Any]) -> dict[Place, float] | None:
    pages: dict[Place, float] = {}
    for row in rows:
        place = (_text(row.get("document", row.get("name"))), int(row["page"]))
        pages[place] = float(row.get("weight", 1.0))
    return pages or None
