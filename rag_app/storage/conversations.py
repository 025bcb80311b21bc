"""Conversations: what was asked, what was answered, and what people thought of it.

Answers are kept whole, with their quotes, so that nothing that happens later changes them; only a
document that is removed takes its words along."""

from __future__ import annotations

import dataclasses
import json
import re
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

from rag_app.storage.database import Database
from rag_app.storage.words import holding
from rag_app.text.sentences import sentences
from rag_app.types import (
    Answer,
    Basis,
    Box,
    Cell,
    Chunk,
    Citation,
    Computation,
    Note,
    NoteKind,
    Operation,
    Passage,
    RowsUsed,
    Task,
    Timing,
)

# Answers as JSON and back, and without what stood in a removed document. Pure.

REMOVED = "(This stood in a document that has been removed.)"
_MARKERS = re.compile(r"(?: ?\[\d+\])+")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+")
_TELLING = 20  # characters from which a piece of text is a document's and not just words


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
            "task": Task(row["task"]),
            "basis": Basis(row["basis"]),
            "notes": tuple(_note(one) for one in row["notes"]),
            "closest": _citation(row["closest"]) if row["closest"] else None,
            "computation": _computation(row["computation"]) if row["computation"] else None,
        }
    )


def _note(row: dict[str, Any]) -> Note:
    return Note(NoteKind(row["kind"]), tuple(row["values"]))


def _citation(row: dict[str, Any]) -> Citation:
    return Citation(**row | {"boxes": tuple(Box(**box) for box in row["boxes"])})


def _passage(row: dict[str, Any]) -> Passage:
    return Passage(Chunk(**row["chunk"]), row["name"], row["score"])


def _computation(row: dict[str, Any]) -> Computation:
    return Computation(
        **row
        | {
            "columns": tuple(row["columns"]),
            "rows": tuple(tuple(one) for one in row["rows"]),
            "used": tuple(_used(one) for one in row["used"]),
            "operations": tuple(Operation(**one) for one in row["operations"]),
            "numbers": tuple(tuple(one) for one in row["numbers"]),
        }
    )


def _used(row: dict[str, Any]) -> RowsUsed:
    rows = tuple(tuple(Cell(**cell) for cell in one) for one in row["rows"])
    return RowsUsed(**row | {"columns": tuple(row["columns"]), "rows": rows})


def documents_of(answer: Answer) -> set[str]:
    """The documents whose text an answer holds."""
    cited = {citation.document_id for citation in answer.citations}
    cited |= {answer.closest.document_id} if answer.closest else set()
    cited |= {used.document_id for used in answer.computation.used} if answer.computation else set()
    return cited | {passage.chunk.document_id for passage in answer.passages}


def without(answer: Answer, document_id: str) -> Answer:
    """The answer with nothing of a document's text: removed means gone.

    Which document and page it cited stays, so that a reader sees why something is missing."""
    if document_id not in documents_of(answer):
        return answer
    near, computed = answer.closest, answer.computation
    gone = {c.number for c in answer.citations if c.document_id == document_id}
    text = _blanked(answer.text, gone)
    if computed:
        if document_id in {used.document_id for used in computed.used}:
            text, computed = REMOVED, None
    elif answer.basis in (Basis.WRITTEN, Basis.COMPUTED):
        # What a model wrote unmarked may be this document's, too.
        text = REMOVED if gone else _only_marked(answer.text)
    return dataclasses.replace(
        answer,
        text=text,
        rewritten_query="",
        short_answer="" if gone else answer.short_answer,
        citations=tuple(
            dataclasses.replace(c, quote="", boxes=()) if c.number in gone else c
            for c in answer.citations
        ),
        passages=tuple(p for p in answer.passages if p.chunk.document_id != document_id),
        closest=None if near and near.document_id == document_id else near,
        computation=computed,
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


# One question and what came of it, as a row of the file.
#
# Knows nothing of who asks for it.

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
        answer=None if answer is None else from_json(str(answer)),
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


_TITLE = 80  # characters


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation in the list."""

    id: str
    title: str
    started_at: str  # ISO 8601, UTC
    changed_at: str


class Conversations:
    """Every method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._read, self._write = database.read, database.write
        self._changes: dict[str, int] = {}
        self._clock = count(1)

    def changes(self, id_: str) -> int:
        """Of a conversation or an exchange: a larger number after every change of it.

        Who shows it sees when to look again. It begins at 0 with the program."""
        return self._changes.get(id_, 0)

    def start(self, question: str) -> str:
        """Begin a conversation, titled by its first question; its id."""
        conversation_id, now = secrets.token_hex(8), _now()
        with self._write() as db:
            db.execute(
                "INSERT INTO conversations VALUES (?, ?, ?, ?)",
                (conversation_id, title_of(question), now, now),
            )
        return conversation_id

    def listed(self, words: str = "") -> list[Conversation]:
        """The conversations, the last changed first; with `words`, those that hold all of them."""
        only = "".join(
            " AND (c.title LIKE ? ESCAPE '\\' OR EXISTS (SELECT 1 FROM exchanges e WHERE "
            "e.conversation_id = c.id AND (e.question LIKE ? ESCAPE '\\' OR "
            "json_extract(e.answer, '$.text') LIKE ? ESCAPE '\\')))"
            for _ in words.split()
        )
        given = [like for word in words.split() for like in [holding(word)] * 3]
        with self._read() as db:
            rows = db.execute(
                f"SELECT * FROM conversations c WHERE 1{only} ORDER BY changed_at DESC, rowid DESC",
                given,
            ).fetchall()
        return [Conversation(*row) for row in rows]

    def conversation(self, conversation_id: str) -> Conversation | None:
        """One conversation, if it is (still) there."""
        with self._read() as db:
            row = db.execute(
                "SELECT * FROM conversations WHERE id = ?", (conversation_id,)
            ).fetchone()
        return None if row is None else Conversation(*row)

    def rename(self, conversation_id: str, title: str) -> None:
        """Give it another title; an empty one changes nothing."""
        if title.strip():
            with self._write() as db:
                db.execute(
                    "UPDATE conversations SET title = ? WHERE id = ?",
                    (title_of(title), conversation_id),
                )

    def delete(self, conversation_id: str) -> None:
        """Forget a conversation with everything in it."""
        with self._write() as db:
            db.execute("DELETE FROM conversations WHERE id = ?", (conversation_id,))
        self._changed(conversation_id)

    def cut(self, exchange_id: str) -> None:
        """Forget an exchange and every later one of its conversation."""
        with self._write() as db:
            conversation_id, ordinal = place(db, exchange_id)
            db.execute(
                "DELETE FROM exchanges WHERE conversation_id = ? AND ordinal >= ?",
                (conversation_id, ordinal),
            )
        self._changed(conversation_id)

    def branch(self, exchange_id: str, question: str) -> str:
        """A new conversation with copies of what was said before an exchange; its id.

        It is titled by `question`, with which it is to go on."""
        conversation_id = self.start(question)
        with self._write() as db:
            before, ordinal = place(db, exchange_id)
            rows = db.execute(
                "SELECT id FROM exchanges WHERE conversation_id = ? AND ordinal < ? "
                "ORDER BY ordinal",
                (before, ordinal),
            ).fetchall()
            for (old_id,) in rows:
                copy(db, old_id, conversation_id)
        return conversation_id

    def exchanges(self, conversation_id: str) -> list[Exchange]:
        """What was asked, in order."""
        with self._read() as db:
            rows = db.execute(
                f"SELECT {COLUMNS} FROM exchanges WHERE conversation_id = ? ORDER BY ordinal",
                (conversation_id,),
            ).fetchall()
        return [exchange_of(row) for row in rows]

    def order(self, conversation_id: str) -> list[str]:
        """The ids of its exchanges, as they were asked: much cheaper than all that they say."""
        with self._read() as db:
            rows = db.execute(
                "SELECT id FROM exchanges WHERE conversation_id = ? ORDER BY ordinal",
                (conversation_id,),
            ).fetchall()
        return [str(row[0]) for row in rows]

    def exchange(self, exchange_id: str) -> Exchange | None:
        """One exchange, if it is (still) there."""
        with self._read() as db:
            row = db.execute(
                f"SELECT {COLUMNS} FROM exchanges WHERE id = ?", (exchange_id,)
            ).fetchone()
        return None if row is None else exchange_of(row)

    def ask(
        self, conversation_id: str, question: str, documents: Sequence[str] | None = None
    ) -> str:
        """Keep a question before it is answered; the id of the exchange."""
        exchange_id, now = secrets.token_hex(8), _now()
        with self._write() as db:
            db.execute(
                "INSERT INTO exchanges "
                "(id, conversation_id, ordinal, question, asked_at, documents) "
                "SELECT ?, ?, coalesce(max(ordinal), 0) + 1, ?, ?, ? FROM exchanges "
                "WHERE conversation_id = ?",
                (
                    *(exchange_id, conversation_id, question, now),
                    *(None if documents is None else json.dumps(list(documents)), conversation_id),
                ),
            )
            db.execute(
                "UPDATE conversations SET changed_at = ? WHERE id = ?", (now, conversation_id)
            )
        self._changed(conversation_id)
        return exchange_id

    def answer(self, exchange_id: str, answer: Answer) -> None:
        """Keep the answer of an exchange, in place of one it had."""
        with self._write() as db:
            db.execute(
                "UPDATE exchanges SET answer = ?, error = NULL, rating = 0, reason = '' "
                "WHERE id = ?",
                (to_json(answer), exchange_id),
            )
            db.execute("DELETE FROM exchange_documents WHERE exchange_id = ?", (exchange_id,))
            db.executemany(
                "INSERT INTO exchange_documents SELECT id, ? FROM exchanges WHERE id = ?",
                [(document, exchange_id) for document in documents_of(answer)],
            )
            changed, _ = place(db, exchange_id)
        self._changed(changed, exchange_id)

    def fail(self, exchange_id: str, sentence: str) -> None:
        """Keep why there is no answer."""
        with self._write() as db:
            db.execute("UPDATE exchanges SET error = ? WHERE id = ?", (sentence, exchange_id))
            changed, _ = place(db, exchange_id)
        self._changed(changed, exchange_id)

    def rate(self, exchange_id: str, rating: int, reason: str = "") -> None:
        """What a person thought of the answer: 1 good, -1 bad, 0 nothing."""
        with self._write() as db:
            db.execute(
                "UPDATE exchanges SET rating = ?, reason = ? WHERE id = ?",
                (max(-1, min(1, rating)), reason.strip(), exchange_id),
            )
            changed, _ = place(db, exchange_id)
        self._changed(changed, exchange_id)

    def rated(self, rating: int = 1) -> list[Exchange]:
        """All answered exchanges with this rating, the oldest first: what can be learnt from."""
        with self._read() as db:
            rows = db.execute(
                f"SELECT {COLUMNS} FROM exchanges "
                "WHERE rating = ? AND answer IS NOT NULL ORDER BY asked_at, rowid",
                (rating,),
            ).fetchall()
        return [exchange_of(row) for row in rows]

    def forget(self, document_id: str) -> None:
        """Take a document's words out of every answer, and out of questions that repeat them."""
        with self._write() as db:
            rows = db.execute(
                "SELECT e.id, e.question, e.answer FROM exchanges e JOIN exchange_documents d "
                "ON d.exchange_id = e.id WHERE d.document_id = ? AND e.answer IS NOT NULL",
                (document_id,),
            ).fetchall()
            for exchange_id, question, text in rows:
                answer = from_json(text)
                asked = blanked(question, words_of(answer, document_id))
                left = replace(without(answer, document_id), question=asked)
                db.execute(
                    "UPDATE exchanges SET question = ?, answer = ? WHERE id = ?",
                    (asked, to_json(left), exchange_id),
                )
                if asked != question:
                    db.execute(
                        "UPDATE conversations SET title = ? WHERE title = ?",
                        (title_of(asked), title_of(question)),
                    )
            changed = {exchange_id: place(db, exchange_id)[0] for exchange_id, *_ in rows}
            db.execute("DELETE FROM exchange_documents WHERE document_id = ?", (document_id,))
        for exchange_id, conversation_id in changed.items():
            self._changed(conversation_id, exchange_id)

    def _changed(self, conversation_id: str, *exchanges: str) -> None:
        self._changes |= dict.fromkeys((conversation_id, *exchanges), next(self._clock))


def title_of(question: str) -> str:
    """The first line's words, shortened between words."""
    line = " ".join(question.split()) or "…"
    return line if len(line) <= _TITLE else line[: _TITLE - 1].rsplit(" ", 1)[0] + "…"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
