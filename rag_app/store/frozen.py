"""Answers as JSON and back, and without what stood in a removed document. Pure."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from typing import Any

from rag_app.questions import UNDERSTOOD
from rag_app.text.sentences import sentences
from rag_app.types import QUOTING, Answer, Box, Chunk, Citation, Passage, Timing

REMOVED = "(This stood in a document that has been removed.)"
_MARKERS = re.compile(r"(?: ?\[\d+\])+")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+")
_TELLING = 20  # characters from which a piece of text is a document's and not just words
_UNDERSTOOD = UNDERSTOOD.split("{0}")[0]


def to_json(answer: Answer) -> str:
    """Everything an answer says and shows."""
    return json.dumps(dataclasses.asdict(answer), ensure_ascii=False)


def from_json(text: str) -> Answer:
    """The answer that `to_json` wrote."""
    row: dict[str, Any] = json.loads(text)
    return Answer(
        **row
        | {
            "citations": tuple(_citation(one) for one in row["citations"]),
            "passages": tuple(_passage(one) for one in row["passages"]),
            "seconds": Timing(**row["seconds"]),
            "notes": tuple(row["notes"]),
        }
    )


def _citation(row: dict[str, Any]) -> Citation:
    return Citation(**row | {"boxes": tuple(Box(**box) for box in row["boxes"])})


def _passage(row: dict[str, Any]) -> Passage:
    return Passage(Chunk(**row["chunk"]), row["name"], row["score"])


def documents_of(answer: Answer) -> set[str]:
    """The documents whose text an answer holds."""
    cited = {citation.document_id for citation in answer.citations}
    return cited | {passage.chunk.document_id for passage in answer.passages}


def without(answer: Answer, document_id: str) -> Answer:
    """The answer with nothing of a document's text: removed means gone.

    Which document and page it cited stays, so that a reader sees why something is missing."""
    if document_id not in documents_of(answer):
        return answer
    gone = {c.number for c in answer.citations if c.document_id == document_id}
    text = _blanked(answer.text, gone)
    if answer.generator not in QUOTING:  # what a model wrote unmarked may be this document's, too
        text = REMOVED if gone else _only_marked(answer.text)
    return dataclasses.replace(
        answer,
        text=text,
        notes=tuple(note for note in answer.notes if not note.startswith(_UNDERSTOOD)),
        short_answer="" if gone else answer.short_answer,
        citations=tuple(
            dataclasses.replace(c, quote="", boxes=()) if c.number in gone else c
            for c in answer.citations
        ),
        passages=tuple(p for p in answer.passages if p.chunk.document_id != document_id),
    )


def blanked(question: str, pieces: Sequence[str]) -> str:
    """A question without the pieces of a removed document that it repeats."""
    for piece in pieces:
        question = question.replace(piece, REMOVED)
    return question


def _only_marked(text: str) -> str:
    """The sentences that end in a marker: they are known to come from somewhere else."""
    kept, done = [], 0
    for markers in _MARKERS.finditer(text):
        kept.append(_SENTENCE_END.split(text[done : markers.start()])[-1] + markers.group())
        done = markers.end()
    return " ".join([*(sentence.strip() for sentence in kept), REMOVED])


def words_of(answer: Answer, document_id: str) -> list[str]:
    """What of a document's text an answer holds, in pieces that a question may repeat."""
    held = [c.quote for c in answer.citations if c.document_id == document_id]
    for passage in answer.passages:
        if passage.chunk.document_id == document_id:
            text = passage.chunk.text
            held += [text[start:end] for start, end in sentences(text)]
    return sorted({quote for quote in held if len(quote) >= _TELLING}, key=len, reverse=True)


def _blanked(text: str, gone: set[int]) -> str:
    """The text without the sentences that end in a marker of what is gone."""
    kept, done = [], 0
    for markers in _MARKERS.finditer(text):
        numbers = {int(n) for n in re.findall(r"\d+", markers.group())}
        before = text[done : markers.start()]
        if numbers & gone:
            lead = before[: len(before) - len(before.lstrip())]
            kept.append(f"{lead}{REMOVED}{markers.group()}")
        else:
            kept.append(before + markers.group())
        done = markers.end()
    return "".join([*kept, text[done:]])
