"""A library that was written for teaching: everyday documents, and what people would ask of them.

Every question has the verbatim pieces of its document that answer it. What the app finds for the
questions in all documents at once is what ranker and writer are taught with."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_app.answering.prompts import Status
from rag_app.library import Library
from rag_app.retrieval.ranking import fused
from rag_app.settings import Settings
from rag_app.types import Passage

HERE = Path(__file__).resolve().parent
SHOWN = 60  # characters of a piece of evidence that must stand in a text that holds it
_TAG = re.compile(r"<[^>]{1,80}>")
_MARKS = re.compile(r'[\s|,;"*_#>`…]+')


@dataclass(frozen=True, slots=True)
class LibraryQuestion:
    """A question of one of the documents; `english` is empty where that is its language."""

    document: str
    kind: str
    question: str
    language: str
    status: Status
    answer: str
    evidence: tuple[str, ...]
    english: str = ""

    @property
    def wordings(self) -> tuple[str, ...]:
        """What is searched for."""
        return (self.question, self.english) if self.english else (self.question,)

    def held(self, text: str) -> list[bool]:
        """Which pieces of the evidence a text (as `plain` has it) holds."""
        return [plain(piece)[:SHOWN] in text for piece in self.evidence]


def plain(text: str) -> str:
    """A text without marks of tables and markup, by which two readings of it are compared."""
    return _MARKS.sub(" ", _TAG.sub(" ", text).replace("&amp;", "&")).strip().lower()


def questions() -> list[LibraryQuestion]:
    """All that were written."""
    return [
        LibraryQuestion(
            *(row["document"], row["kind"], row["question"], row["language"]),
            *(Status(row["status"]), row["answer"], tuple(row["evidence"])),
            row.get("english", ""),
        )
        for path in sorted(HERE.glob("*/questions.jsonl"))
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    ]


def found(
    asked: Sequence[LibraryQuestion], most: int
) -> Iterator[tuple[LibraryQuestion, list[Passage]]]:
    """What the app finds for each question when all documents are in one library, before the
    ranker puts it in order."""
    with (
        tempfile.TemporaryDirectory() as place,
        Library(Settings.load(data_dir=Path(place))) as library,
    ):
        files = sorted(HERE.glob("*/documents/*"))
        added = [library.add(file.name, file.read_bytes()) for file in files]
        library.wait([one.document.id for one in added])
        for one in asked:
            lists = [library.search(wording, most) for wording in one.wordings]
            yield one, fused(lists, [1.0] * len(lists), most)
