"""What the command line takes and gives as JSON: a contract that other programs rely on."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.access.keys import KeyInfo
from rag_app.access.nouns import Collection, Grant, PeopleGroup, Person
from rag_app.access.quotas import Limited, Quota
from rag_app.errors import RagAppError
from rag_app.export.messages import headings, remarks
from rag_app.text.jsonl import read_lines, texts_of
from rag_app.types import (
    Added,
    Answer,
    Citation,
    Closest,
    Computation,
    Delta,
    Document,
    Event,
    Finished,
    Passage,
    Report,
    RowsUsed,
    SetAside,
    Sources,
    Status,
    Watched,
)

if TYPE_CHECKING:
    from rag_app.answering.span_model import PassageSpans
    from rag_app.storage.backup import Manifest
    from rag_app.storage.moving import MovedLibrary

_LOWEST = -1_000.0  # a log-probability that JSON can hold


class BadUse(RagAppError):
    """The command line makes no sense; the message says why."""


def read_questions(path: Path) -> list[dict[str, Any]]:
    """The questions of a JSONL file: {"id"?, "question", "documents"?}. Raises UnfitFile."""

    def asked(row: Any, _: int) -> dict[str, Any]:
        said = {"id": row.get("id"), "question": _text(row["question"])}
        documents = row.get("documents")
        return said if documents is None else said | {"documents": texts_of(documents)}

    return read_lines(path, asked, '{"id": 1, "question": "…", "documents": ["…"]}')


def read_contexts(path: Path) -> list[dict[str, Any]]:
    """Questions with the text to read: {"id"?, "question", "context"}. Raises UnfitFile."""

    def asked(row: Any, _: int) -> dict[str, Any]:
        texts = {key: _text(row[key]) for key in ("question", "context")}
        return {"id": row.get("id")} | texts

    return read_lines(path, asked, '{"id": 1, "question": "…", "context": "…"}')


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value


def added_json(path: Path | str, report: Report, added: Added, seconds: float) -> dict[str, Any]:
    """What became of a file that was accepted."""
    document = report.document
    status = "failed" if document.status is Status.FAILED else "ready"
    return {
        "path": str(path),
        "document_id": document.id,
        "name": document.name,
        "status": "duplicate" if added.duplicate and status == "ready" else status,
        "pages": document.pages,
        "chunks": document.chunks,
        "warnings": [*added.warnings, *document.warnings],
        "error": document.error,
        "seconds": round(seconds, 3),
        **_report_json(report),
    }


def refused_json(path: Path | str, error: str, seconds: float) -> dict[str, Any]:
    """The same of a file that never became a document, or is none any more."""
    name = path.name if isinstance(path, Path) else path
    nothing = Document(id="", name=name, suffix="", size=0, status=Status.FAILED, added_at="")
    said = added_json(path, Report(nothing), Added(nothing), seconds)
    return said | {"document_id": None, "error": error}


def document_json(report: Report) -> dict[str, Any]:
    """A document with its report."""
    document = report.document
    return {
        "document_id": document.id,
        "name": document.name,
        "status": document.status,
        "pages": document.pages,
        "chunks": document.chunks,
        "added_at": document.added_at,
        "language": document.language,
        "error": document.error,
        **_report_json(report),
        "warnings": list(document.warnings),
    }


def _report_json(report: Report) -> dict[str, Any]:
    return {
        "pages_without_text": report.pages_without_text,
        "tables": report.tables,
        "encoding": report.encoding or None,
        "duplicates": list(report.duplicates),
        "parts": list(report.parts),
        "inside": list(report.inside),
        "address": report.address or None,
        "fetched_at": report.fetched_at or None,
    }


def watched_json(watched: Watched) -> dict[str, Any]:
    """A watched folder."""
    return {
        "folder": watched.folder,
        "files": watched.files,
        "refused": [{"path": path, "error": error} for path, error in watched.refused],
        "trouble": watched.trouble or None,
    }


def set_aside_json(one: SetAside) -> dict[str, Any]:
    """A kept file that the library knows nothing of."""
    return {"document_id": one.document_id, "name": one.name}


def backup_json(manifest: Manifest, file: Path, folder: Path) -> dict[str, Any]:
    """A backup that was made of a data directory, or restored into it."""
    return {
        "file": str(file),
        "data_dir": str(folder),
        "size": file.stat().st_size,
        "created_at": manifest.created_at,
        "app_version": manifest.app_version,
        "documents": manifest.documents,
        "conversations": manifest.conversations,
        "lost": list(manifest.lost.values()),
    }


def moved_json(moved: MovedLibrary, folder: Path) -> dict[str, Any]:
    """A library that was moved from a data directory to a database server."""
    return {
        "data_dir": str(folder),
        "database": moved.database,
        "documents": moved.rows["documents"],
        "pages": moved.rows["pages"],
        "passages": moved.rows["chunks"],
        "vectors": moved.vectors,
        "tables": moved.rows["tables"],
        "conversations": moved.rows["conversations"],
        "people": moved.rows["people"],
        "log_entries": moved.rows["audit_log"],
        "originals_sent": moved.originals,
    }


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


def _citation_json(citation: Citation) -> dict[str, Any]:
    said = asdict(citation)
    if citation.share is None:
        del said["share"]
    return said | {"boxes": [[b.x0, b.y0, b.x1, b.y1] for b in citation.boxes]}


def _closest_json(citation: Citation) -> dict[str, Any]:
    said = asdict(citation)
    return {key: said[key] for key in ("document_id", "name", "page", "start", "end", "quote")}


def _computed_json(computed: Computation | None) -> dict[str, Any]:
    if computed is None:
        return {"computation": None, "result": [], "rows": []}
    return {
        "computation": {
            "sql": computed.sql,
            "operations": [asdict(one) for one in computed.operations],
            "columns": list(headings(computed)),
            "values": [list(row) for row in computed.rows],
            "cut": computed.cut,
            "chosen_by": [asdict(each) for each in computed.chosen_by],
        },
        "result": [value for row in computed.rows for value in row],
        "rows": [_used_json(used) for used in computed.used],
    }


def _used_json(used: RowsUsed) -> dict[str, Any]:
    cells = [
        [{"text": c.text, "page": c.page, "start": c.start, "end": c.end} for c in row]
        for row in used.rows
    ]
    said = {key: getattr(used, key) for key in ("document_id", "name", "table", "count", "leading")}
    return said | {"columns": list(used.columns), "cells": cells}


def answer_json(answer: Answer) -> dict[str, Any]:
    """An answer as the contract has it. Boxes are in PDF points, origin at the top left."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "short_answer": answer.short_answer,
        "abstained": answer.abstained,
        "confidence": answer.confidence,
        "generator": answer.generator,
        "task": answer.task,
        "basis": answer.basis,
        "rewritten_query": answer.rewritten_query or None,
        "citations": [_citation_json(citation) for citation in answer.citations],
        "closest": [_closest_json(near) for near in answer.closest],
        **_computed_json(answer.computation),
        "passages": [passage_json(passage) for passage in answer.passages],
        "notes": remarks(answer),
        "seconds": asdict(answer.seconds),
    }


def event_json(event: Event) -> tuple[str, dict[str, Any]]:
    """An event of an answer that is being made: what it is called, and what it says."""
    match event:
        case Sources(passages):
            return "sources", {"passages": [passage_json(passage) for passage in passages]}
        case Closest(citation):
            return "closest", _closest_json(citation)
        case Delta(text):
            return "delta", {"text": text}
        case Finished(answer):
            return "finished", answer_json(answer)


def span_json(asked: dict[str, Any], found: PassageSpans, confidence: float) -> dict[str, Any]:
    """The best span of a text as the contract has it; scores are log-probabilities.

    A text without a word gives an empty answer and the lowest score."""
    said = {"answer": "", "start": 0, "end": 0, "score": _LOWEST}
    if found.spans:
        best = found.spans[0]
        answer = asked["context"][best.start : best.end]
        said = {"answer": answer, "start": best.start, "end": best.end, "score": best.log_prob}
    chances = {"no_answer_score": found.no_answer, "confidence": confidence}
    return {"id": asked["id"]} | said | chances


def print_json(value: Any) -> None:
    """One line on standard output, at once: whoever reads it waits for it."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


# People, and what they may


def person_json(person: Person) -> dict[str, Any]:
    """Somebody who has signed in once."""
    return asdict(person)


def group_json(group: PeopleGroup) -> dict[str, Any]:
    """A group, and by subject who is in it."""
    return {
        "id": group.id,
        "name": group.name,
        "claim": group.claim,
        "members": sorted(group.members),
        "by_sign_in": sorted(group.by_claim),
    }


def collection_json(collection: Collection, grants: Sequence[Grant]) -> dict[str, Any]:
    """A collection, and who was given which role in it."""
    given = [
        {"kind": grant.to.kind.value, "id": grant.to.id, "role": grant.role.name.lower()}
        for grant in grants
    ]
    return asdict(collection) | {"grants": given}


def limits_json(
    subject: str | None, quota: Quota, own: Mapping[Limited, int | None]
) -> dict[str, Any]:
    """The most that everybody or one person may; `own`: what of it was set for that person."""
    return {"person": subject, **asdict(quota), "own": sorted(own)}


def key_json(key: KeyInfo) -> dict[str, Any]:
    """A key without its secret."""
    return asdict(key)
