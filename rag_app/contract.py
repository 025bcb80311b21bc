"""What the command line takes and gives as JSON: a contract that other programs rely on."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rag_app.answering.spans import PassageSpans
from rag_app.errors import RagAppError
from rag_app.types import Answer, Passage

_LOWEST = -1_000.0  # a log-probability that JSON can hold


class BadUse(RagAppError):
    """The command line makes no sense; the message says why."""


def read_questions(path: Path, *needed: str) -> list[dict[str, Any]]:
    """The lines of a JSONL file, each with a "question" and what else is `needed`, as texts.

    Raises BadUse naming the line that cannot be used."""
    if not path.is_file():
        raise BadUse(f"There is no file {path}.")
    questions = []
    try:
        lines = path.read_text("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise BadUse(f"{path} is not a text in UTF-8.") from error
    for number, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            asked = json.loads(text)
        except ValueError as error:
            raise BadUse(f"Line {number} of {path} is not JSON: {error}.") from error
        for key in ("question", *needed):
            if not isinstance(asked, dict) or not isinstance(asked.get(key), str):
                raise BadUse(f'Line {number} of {path} is not an object with a "{key}".')
        if not isinstance(asked.get("documents", []), list):
            raise BadUse(f'The "documents" in line {number} of {path} are not a list.')
        questions.append(asked)
    return questions


def passage_json(passage: Passage) -> dict[str, Any]:
    """A passage as the contract has it."""
    chunk = passage.chunk
    return {
        "document_id": chunk.document_id,
        "name": passage.name,
        "page": chunk.page,
        "score": passage.score,
        "start": chunk.start,
        "end": chunk.end,
        "text": chunk.text,
    }


def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer as the contract has it. Boxes are in PDF points, origin at the top left."""
    citations = [asdict(citation) for citation in answer.citations]
    for citation in citations:
        if citation["share"] is None:
            del citation["share"]
        citation["boxes"] = [[b["x0"], b["y0"], b["x1"], b["y1"]] for b in citation["boxes"]]
    return {
        "question": answer.question,
        "answer": answer.text,
        "short_answer": answer.short_answer,
        "abstained": answer.abstained,
        "confidence": answer.confidence,
        "generator": answer.generator,
        "citations": citations,
        "passages": [passage_json(passage) for passage in answer.passages],
        "notes": list(answer.notes),
        "seconds": asdict(answer.seconds),
    }


def span_json(asked: dict[str, Any], found: PassageSpans, confidence: float) -> dict[str, Any]:
    """The best span of a text as the contract has it; scores are log-probabilities.

    A text without a word gives an empty answer and the lowest score."""
    said = {"answer": "", "start": 0, "end": 0, "score": _LOWEST}
    if found.spans:
        best = found.spans[0]
        answer = asked["context"][best.start : best.end]
        said = {"answer": answer, "start": best.start, "end": best.end, "score": best.log_prob}
    chances = {"no_answer_score": found.no_answer, "confidence": confidence}
    return {"id": asked.get("id")} | said | chances


def print_json(value: Any) -> None:
    """One line on standard output, at once: whoever reads it waits for it."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()
