"""One question and what came of it, as a row of the file.

Knows nothing of who asks for it."""

from __future__ import annotations

import json
import secrets
import sqlite3
from dataclasses import dataclass

from rag_app.store import frozen
from rag_app.types import Answer

COLUMNS = "id, question, asked_at, documents, answer, error, rating, reason"
"""What `exchange_of` takes, in this order."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question and what came of it; `documents` None: all were asked."""

    id: str
    question: str
    asked_at: str
    documents: tuple[str, ...] | None = None
    answer: Answer | None = None
    error: str | None = None
    rating: int = 0  # 1: good, -1: bad
    reason: str = ""


def exchange_of(row: tuple[object, ...]) -> Exchange:
    """The exchange of a row of `COLUMNS`."""
    id_, question, asked_at, documents, answer, error, rating, reason = row
    return Exchange(
        id=str(id_),
        question=str(question),
        asked_at=str(asked_at),
        documents=None if documents is None else tuple(json.loads(str(documents))),
        answer=None if answer is None else frozen.from_json(str(answer)),
        error=None if error is None else str(error),
        rating=int(str(rating)),
        reason=str(reason),
    )


def place(db: sqlite3.Connection, exchange_id: str) -> tuple[str, int]:
    """(its conversation, its place in it); ("", 0) of an exchange that is not there any more."""
    row = db.execute(
        "SELECT conversation_id, ordinal FROM exchanges WHERE id = ?", (exchange_id,)
    ).fetchone()
    return (str(row[0]), int(row[1])) if row else ("", 0)


def copy(db: sqlite3.Connection, exchange_id: str, conversation_id: str) -> None:
    """An exchange once more, in another conversation; what was thought of it stays behind."""
    new_id = secrets.token_hex(8)
    db.execute(
        "INSERT INTO exchanges (id, conversation_id, ordinal, question, asked_at, documents, "
        "answer, error) SELECT ?, ?, ordinal, question, asked_at, documents, answer, error "
        "FROM exchanges WHERE id = ?",
        (new_id, conversation_id, exchange_id),
    )
    db.execute(
        "INSERT INTO exchange_documents SELECT ?, document_id FROM exchange_documents "
        "WHERE exchange_id = ?",
        (new_id, exchange_id),
    )
