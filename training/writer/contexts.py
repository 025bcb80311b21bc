"""Contexts and what is asked about them, as they are taught. Pure.

A context is what a search shows; many questions are asked of each, because the passages cost most
to read (they are read once for all of their questions, see `packing`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag_app.answering.chat_generator import language_of
from rag_app.answering.prompts import (
    Message,
    ReplyStatus,
    introduction_messages,
    rewriting_messages,
    said_as,
    task_messages,
    taught_messages,
    titling_messages,
    translation_messages,
)
from training.library import questions

HERE = Path(__file__).resolve().parent / "examples"
TASKS = HERE.parent / "tasks"


@dataclass(frozen=True, slots=True)
class Lesson:
    """What the model is shown, and what it is to write; `ends`: it writes no more than that."""

    messages: list[Message]
    reply: str
    ends: bool = True


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question in a conversation, and as it would be asked without it."""

    turns: tuple[tuple[str, str], ...]  # questions and answers before it
    question: str
    standalone: str

    @property
    def lesson(self) -> Lesson:
        """As it is taught."""
        return Lesson(rewriting_messages(self.question, self.turns), self.standalone)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what is to be said; `language` is that of the answer, by its English name."""

    question: str
    language: str
    status: ReplyStatus
    answer: str
    before: tuple[str, str] | None = None  # the question and the answer that it leans on


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done with the passages, and the result."""

    wish: str
    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """Passages as (title, text), questions about them, conversations about them, and work."""

    passages: tuple[tuple[str, str], ...]
    asked: tuple[Asked, ...]
    follow_ups: tuple[FollowUp, ...] = ()
    work: tuple[Work, ...] = ()

    def lesson(self, one: Asked) -> Lesson:
        """A question as it is taught."""
        messages = taught_messages(one.question, self.passages, one.language, one.before)
        return Lesson(messages, said_as(one.status, one.answer))

    @property
    def works(self) -> list[Lesson]:
        """All that is to be done with the passages."""
        return [
            Lesson(task_messages(one.wish, self.passages, one.language), one.text)
            for one in self.work
        ]

    @property
    def lessons(self) -> list[Lesson]:
        """All questions about the passages."""
        return [self.lesson(one) for one in self.asked]


def read(path: Path) -> list[Context]:
    """The contexts of a file, one a line."""
    return [_of(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def written() -> Iterator[Context]:
    """The contexts that were written for this."""
    for path in sorted(HERE.glob("*.jsonl")):
        yield from read(path)


def tasks() -> Iterator[Context]:
    """Contexts with what people want made of them, and how it is done well."""
    for path in sorted(TASKS.glob("*.jsonl")):
        yield from read(path)


def translations() -> list[Lesson]:
    """Questions to be searched in another language."""
    lessons = [
        Lesson(translation_messages(row["question"], row["to"]), row["translation"])
        for row in _rows("translations.jsonl")
    ]
    return lessons + [
        Lesson(translation_messages(one.question, language_of(one.english)), one.english)
        for one in questions()
        if one.english
    ]


def conversations() -> list[FollowUp]:
    """Follow-ups to questions about the written libraries."""
    return [FollowUp((one.turn,), one.question, one.standalone) for one in questions() if one.turn]


def introductions() -> list[Lesson]:
    """Documents and what is said of them when they have arrived."""
    return [
        Lesson(
            introduction_messages(row["name"], row["text"]),
            "\n".join([row["title"], row["kind"], row["about"], *row["questions"]]),
        )
        for row in _rows("introductions.jsonl")
    ]


def titles() -> list[Lesson]:
    """First questions of conversations, and what these are called."""
    begun = [row["conversation"] for row in _rows("introductions.jsonl")]
    return [Lesson(titling_messages(one["question"]), one["title"]) for one in begun]


def _rows(name: str) -> list[dict[str, Any]]:
    lines = (HERE.parent / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def write(path: Path, contexts: Iterable[Context]) -> None:
    """A file of contexts, one a line."""
    lines = [
        json.dumps(
            {
                "passages": [{"title": title, "text": text} for title, text in one.passages],
                "questions": [
                    {"q": a.question, "language": a.language, "status": a.status, "a": a.answer}
                    | ({"before": a.before} if a.before else {})
                    for a in one.asked
                ],
                "work": [asdict(each) for each in one.work],
            },
            ensure_ascii=False,
        )
        for one in contexts
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _of(row: dict[str, Any]) -> Context:
    return Context(
        tuple((one["title"], one["text"]) for one in row["passages"]),
        tuple(
            Asked(
                *(one["q"], one["language"], ReplyStatus(one["status"]), one["a"]),
                (one["before"][0], one["before"][1]) if "before" in one else None,
            )
            for one in row["questions"]
        ),
        tuple(
            FollowUp(tuple((q, a) for q, a in one["history"]), one["q"], one["standalone"])
            for one in row.get("follow_ups", [])
        ),
        tuple(Work(**one) for one in row.get("work", [])),
    )
