"""Questions with what is known of their answers, read from JSONL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_app.jsonl import UnfitFile, read_lines, text_of, texts_of

Place = tuple[str, int]
"""A page of a document, by the document's name."""

_EXAMPLE = '{"question": "…", "answers": ["…"], "pages": [{"document": "…", "page": 1}]}'


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
    """The questions of a file. Raises UnfitFile naming the line that cannot be used.

    A line is {"id", "question", "documents"?: [name], "answers"?: [text], "unanswerable"?: bool,
    "pages"?: [{"document", "page", "weight"?}]}."""
    asked = read_lines(path, _asked, _EXAMPLE)
    if not asked:
        raise UnfitFile(f"There is no question in {path}.")
    return asked


def _asked(row: Any, number: int) -> Asked:
    within = row.get("documents")
    return Asked(
        id=str(row.get("id", number)),
        question=text_of(row["question"]),
        answers=tuple(texts_of(row.get("answers"))),
        pages=_pages(row.get("pages") or ()),
        within=None if within is None else tuple(texts_of(within)),
        unanswerable=bool(row.get("unanswerable", False)),
    )


def _pages(rows: Sequence[Any]) -> dict[Place, float] | None:
    pages: dict[Place, float] = {}
    for row in rows:
        place = (text_of(row.get("document", row.get("name"))), int(row["page"]))
        pages[place] = float(row.get("weight", 1.0))
    return pages or None
