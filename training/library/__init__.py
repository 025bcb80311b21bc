"""Libraries that were written for teaching: everyday documents, what people would ask of them, and
what they want done with them.

Each folder is the library of one household or office. Every question has the verbatim pieces of
the documents that answer it; those in `spoken.jsonl` were put by people who had not got the
documents' words in their heads. What the app finds in the library is what ranker and writer are
taught with."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_app.answering.prompts import ReplyStatus
from rag_app.library import Library
from rag_app.retrieval.ranking import fused
from rag_app.settings import Settings
from rag_app.types import Passage

HERE = Path(__file__).resolve().parent
SHOWN = 60  # characters of a piece of evidence that must stand in a text that holds it
WRITTEN, SPOKEN = "questions.jsonl", "spoken.jsonl"
"""Questions put beside the documents, and by people who had not got their words in mind."""
_LONGEST = 3_600.0  # seconds that making vectors of sentences takes
_TAG = re.compile(r"<[^>]{1,80}>")
_MARKS = re.compile(r'[\s|,;"*_#>`…]+')


@dataclass(frozen=True, slots=True)
class LibraryQuestion:
    """A question of one of the documents; `english` is empty where that is its language."""

    document: str
    kind: str
    question: str
    language: str
    status: ReplyStatus
    answer: str
    evidence: tuple[str, ...]
    english: str = ""
    turn: tuple[str, str] | None = None  # the question and the answer that it leans on
    standalone: str = ""  # as it would be asked without them

    @property
    def wordings(self) -> tuple[str, ...]:
        """What is searched for."""
        if self.turn:
            return self.standalone, " ".join([self.question, *self.turn])
        return (self.question, self.english) if self.english else (self.question,)

    def held(self, text: str) -> list[bool]:
        """Which pieces of the evidence a text (as `plain` has it) holds."""
        return [plain(piece)[:SHOWN] in text for piece in self.evidence]


def plain(text: str) -> str:
    """A text without marks of tables and markup, by which two readings of it are compared."""
    return _MARKS.sub(" ", _TAG.sub(" ", text).replace("&amp;", "&")).strip().lower()


@dataclass(frozen=True, slots=True)
class LibraryTask:
    """What is to be done with one or two of the documents, and the result; `evidence`: what it
    rests on, empty for what rests on whole documents."""

    documents: tuple[str, ...]
    kind: str
    wish: str
    language: str
    text: str
    evidence: tuple[str, ...]


def folders() -> list[Path]:
    """All libraries."""
    return sorted(path.parent for path in HERE.glob("*/documents"))


def questions(
    folder: Path | None = None, files: Sequence[str] = (WRITTEN, SPOKEN)
) -> list[LibraryQuestion]:
    """All that were written, or those of one library."""
    return [
        LibraryQuestion(
            *(row["document"], row["kind"], row["question"], row["language"]),
            *(ReplyStatus(row["status"]), row["answer"], tuple(row["evidence"])),
            row.get("english", ""),
            (row["turn"]["question"], row["turn"]["answer"]) if "turn" in row else None,
            row.get("standalone", ""),
        )
        for name in files
        for row in _rows(name, folder)
    ]


def tasks() -> list[LibraryTask]:
    """All that were written."""
    return [
        LibraryTask(
            *(tuple(row["documents"]), row["kind"], row["wish"], row["language"], row["text"]),
            tuple(row.get("evidence", ())),
        )
        for row in _rows("tasks.jsonl")
    ]


def _rows(name: str, folder: Path | None = None) -> Iterator[dict[str, Any]]:
    for one in folders() if folder is None else [folder]:
        if (one / name).exists():
            yield from map(json.loads, (one / name).read_text(encoding="utf-8").splitlines())


@contextmanager
def opened(folder: Path) -> Iterator[Library]:
    """The app's library of a folder's documents, all of them read."""
    with (
        tempfile.TemporaryDirectory() as place,
        Library(Settings.load(data_dir=Path(place))) as library,
    ):
        files = sorted((folder / "documents").iterdir())
        added = [library.add(file.name, file.read_bytes()) for file in files]
        library.wait([one.document.id for one in added])
        library.wait_for_sentences(_LONGEST)
        yield library


def found(
    folder: Path, asked: Iterable[LibraryQuestion], most: int
) -> Iterator[tuple[LibraryQuestion, list[Passage]]]:
    """What the app finds for each question in a library, before the ranker puts it in order."""
    with opened(folder) as library:
        yield from found_in(library, asked, most)


def found_in(
    library: Library, asked: Iterable[LibraryQuestion], most: int
) -> Iterator[tuple[LibraryQuestion, list[Passage]]]:
    """The same in a library that is open."""
    for one in asked:
        lists = [library.search(wording, most) for wording in one.wordings]
        yield one, fused(lists, [1.0] * len(lists), most)
