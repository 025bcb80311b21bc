"""Conversations: what was asked, what was answered, and what people thought of it.

Answers are kept whole, with their quotes, so that nothing that happens later changes them; only a
document that is removed takes its words along."""

from __future__ import annotations

import dataclasses
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any

from rag_app.errors import UnknownConversation
from rag_app.scope import Scope
from rag_app.storage.database import AnyDatabase, Connection, InDatabase, kept_as, seen
from rag_app.text.sentences import sentences
from rag_app.types import Answer, Basis, NoteKind

# Answers as JSON and back, and without what stood in a removed document. Pure.

REMOVED = "(This stood in a document that has been removed.)"
_MARKERS = re.compile(r"(?: ?\[\d+\])+")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+")
# Notes that hold words of documents.
_OF_TEXT = (
    NoteKind.COMPUTED,
    NoteKind.SEVERAL_UNITS,
    NoteKind.RESPELLED,
    NoteKind.OTHERWISE,
)
_NOTES = frozenset(NoteKind)  # an older version may have written others
_TELLING = 20  # characters from which a piece of text is a document's and not just words


def to_json(answer: Answer) -> str:
    """Everything an answer says and shows."""
    return json.dumps(dataclasses.asdict(answer), ensure_ascii=False)


def from_json(text: str) -> Answer:
    """The answer that `to_json` wrote."""
    row: dict[str, Any] = json.loads(text)
    row["notes"] = [one for one in row["notes"] if one["kind"] in _NOTES]
    if not isinstance(row["closest"], list):  # it was one thing or nothing
        row["closest"] = [row["closest"]] if row["closest"] else []
    if row["computation"]:
        chosen = row["computation"].get("chosen_by", ())
        row["computation"]["chosen_by"] = [_filter(one) for one in chosen]
    return kept_as(Answer, row)


def _filter(row: dict[str, str] | list[str]) -> dict[str, str]:
    if isinstance(row, dict):
        return row
    column, text = row  # as an earlier version kept it
    return {"column": column, "comparison": "like" if "%" in text else "=", "text": text}


def documents_of(answer: Answer) -> set[str]:
    """The documents whose text an answer holds."""
    cited = {citation.document_id for citation in answer.citations}
    cited |= {near.document_id for near in answer.closest}
    cited |= {used.document_id for used in answer.computation.used} if answer.computation else set()
    return cited | {passage.chunk.document_id for passage in answer.passages}


def without(answer: Answer, document_id: str) -> Answer:
    """The answer with nothing of a document's text: removed means gone.

    Which document and page it cited stays, so that a reader sees why something is missing."""
    if document_id not in documents_of(answer):
        return answer
    computed = answer.computation
    gone = {c.number for c in answer.citations if c.document_id == document_id}
    text = _blanked(answer.text, gone)
    if computed:
        if document_id in {used.document_id for used in computed.used}:
            text, computed = REMOVED, None
    elif answer.basis in (Basis.WRITTEN, Basis.COMPUTED):
        # What a model wrote unmarked may be this document's, too.
        text = REMOVED if gone else _only_marked(answer.text)
    left = tuple(p for p in answer.passages if p.chunk.document_id != document_id)
    closest = tuple(near for near in answer.closest if near.document_id != document_id)
    return dataclasses.replace(
        answer,
        text=text,
        rewritten_query="",
        short_answer="" if gone or text == REMOVED else answer.short_answer,
        citations=tuple(
            dataclasses.replace(c, quote="", boxes=()) if c.number in gone else c
            for c in answer.citations
        ),
        passages=() if answer.closest and not closest else left,  # they were never the nearest
        notes=tuple(note for note in answer.notes if note.kind not in _OF_TEXT),
        closest=closest,
        computation=computed,
        stressed="",
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


def exchange_of(row: Sequence[Any]) -> Exchange:
    """The exchange of a row of `COLUMNS`."""
    id_, question, asked_at, documents, answer, *rest = row
    chosen = None if documents is None else tuple(json.loads(documents))
    said = None if answer is None else from_json(answer)
    return Exchange(id_, question, asked_at, chosen, said, *rest)


def copy(db: Connection, exchange_id: str, conversation_id: str) -> None:
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
    questions: int = 0
    last_question: str = ""


class Changes:
    """When conversations and exchanges changed last, by a clock that starts with the program."""

    def __init__(self) -> None:
        self._at: dict[tuple[str, str], int] = {}  # by owner and id
        self._clock = count(1)

    def last(self, owner: str, id_: str) -> int:
        """A larger number after every change; 0: none since the program began."""
        return self._at.get((owner, id_), 0)

    def note(self, owner: str, *ids: str) -> None:
        """These have changed."""
        self._at |= dict.fromkeys(((owner, id_) for id_ in ids), next(self._clock))


_SHOWN = (  # of a conversation
    "c.id, c.title, c.started_at, c.changed_at, "
    "(SELECT count(*) FROM exchanges e WHERE e.conversation_id = c.id AND e.question <> ''), "
    "coalesce((SELECT e.question FROM exchanges e WHERE e.conversation_id = c.id "
    "AND e.question <> '' ORDER BY e.ordinal DESC LIMIT 1), '')"
)
_MINE = "conversation_id IN (SELECT id FROM conversations WHERE owner = ?)"


class Conversations(InDatabase):
    """One person's conversations, as they may see them now. Every method is one transaction.

    Nobody else's can be found, read or changed: they are as if they were not there. What an answer
    says of a document that its owner may not see any more is left out; it is there again once they
    may. The `WORKER` does nothing here but `forget`, in everybody's."""

    def __init__(self, database: AnyDatabase, scope: Scope, changes: Changes | None = None) -> None:
        self._database, self._scope, self._owner = database, scope, scope.subject
        super().__init__(database)
        self._log = Changes() if changes is None else changes

    def seen_by(self, scope: Scope) -> Conversations:
        """Those of somebody else, in the same file."""
        return Conversations(self._database, scope, self._log)

    def changes(self, id_: str) -> int:
        """Of a conversation or an exchange: a larger number after every change of it.

        Who shows it sees when to look again. It begins at 0 with the program; where others write,
        too, every change of the library is one, whatever is asked for."""
        if self._database.shared:
            return self._database.commits
        return self._log.last(self._owner, id_)

    def start(self, question: str) -> str:
        """Begin a conversation, titled by its first question; its id."""
        conversation_id, now = secrets.token_hex(8), _now()
        self._run(
            "INSERT INTO conversations (id, title, started_at, changed_at, owner) "
            "VALUES (?, ?, ?, ?, ?)",
            (conversation_id, title_of(question), now, now, self._owner),
        )
        return conversation_id

    def listed(self, words: str = "") -> list[Conversation]:
        """The conversations, the last changed first; with `words`, those that hold all of them."""
        hidden, given = self._hidden("e.id")
        only, arguments = "", [self._owner]
        for word in words.split():
            likes = _holding(word)
            title, question, text = (
                " OR ".join([f"{each} LIKE ? ESCAPE '\\'"] * len(likes))
                for each in ("c.title", "e.question", "json_extract(e.answer, '$.text')")
            )
            only += (
                f" AND ({title} OR EXISTS (SELECT 1 FROM exchanges e WHERE "
                f"e.conversation_id = c.id AND ({question} OR (({text}) "
                f"AND NOT EXISTS (SELECT 1 {hidden})))))"
            )
            arguments += [*likes, *likes, *likes, *given]
        rows = self._rows(
            f"SELECT {_SHOWN} FROM conversations c WHERE owner = ?{only} "
            "ORDER BY changed_at DESC, rowid DESC",
            arguments,
        )
        return [Conversation(*row) for row in rows]

    def conversation(self, conversation_id: str) -> Conversation | None:
        """One conversation, if it is (still) there."""
        row = self._row(
            f"SELECT {_SHOWN} FROM conversations c WHERE id = ? AND owner = ?",
            (conversation_id, self._owner),
        )
        return None if row is None else Conversation(*row)

    def rename(self, conversation_id: str, title: str) -> None:
        """Give it another title; an empty one changes nothing."""
        if title.strip():
            self._run(
                "UPDATE conversations SET title = ? WHERE id = ? AND owner = ?",
                (title_of(title), conversation_id, self._owner),
            )

    def delete(self, conversation_id: str) -> None:
        """Forget a conversation with everything in it."""
        self._run(
            "DELETE FROM conversations WHERE id = ? AND owner = ?", (conversation_id, self._owner)
        )
        self._changed(conversation_id)

    def cut(self, exchange_id: str) -> None:
        """Forget an exchange and every later one of its conversation."""
        with self._write() as db:
            conversation_id, ordinal = self._place(db, exchange_id)
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
            before, ordinal = self._place(db, exchange_id)
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
        return self._selected("conversation_id = ?", "ordinal", conversation_id)

    def order(self, conversation_id: str) -> list[str]:
        """The ids of its exchanges, as they were asked: much cheaper than all that they say."""
        rows = self._rows(
            f"SELECT id FROM exchanges WHERE conversation_id = ? AND {_MINE} ORDER BY ordinal",
            (conversation_id, self._owner),
        )
        return [str(row[0]) for row in rows]

    def exchange(self, exchange_id: str) -> Exchange | None:
        """One exchange, if it is (still) there."""
        return next(iter(self._selected("id = ?", "ordinal", exchange_id)), None)

    def ask(
        self, conversation_id: str, question: str, documents: Sequence[str] | None = None
    ) -> str:
        """Keep a question before it is answered; the id of the exchange.

        Raises UnknownConversation."""
        exchange_id, now = secrets.token_hex(8), _now()
        with self._write() as db:
            known = db.execute(
                "UPDATE conversations SET changed_at = ? WHERE id = ? AND owner = ?",
                (now, conversation_id, self._owner),
            ).rowcount
            if not known:
                raise UnknownConversation(
                    "That conversation is not there any more. Begin a new one and ask again."
                )
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
        self._changed(conversation_id)
        return exchange_id

    def answer(self, exchange_id: str, answer: Answer) -> None:
        """Keep the answer of an exchange, in place of one it had."""
        with self._write() as db:
            changed, _ = self._place(db, exchange_id)
            if changed:
                _keep_answer(db, exchange_id, answer)
        self._changed(changed, exchange_id)

    def fail(self, exchange_id: str, sentence: str) -> None:
        """Keep why there is no answer."""
        with self._write() as db:
            changed, _ = self._place(db, exchange_id)
            if changed:
                db.execute("UPDATE exchanges SET error = ? WHERE id = ?", (sentence, exchange_id))
        self._changed(changed, exchange_id)

    def rate(self, exchange_id: str, rating: int, reason: str = "") -> None:
        """What a person thought of the answer: 1 good, -1 bad, 0 nothing."""
        with self._write() as db:
            changed, _ = self._place(db, exchange_id)
            if changed:
                db.execute(
                    "UPDATE exchanges SET rating = ?, reason = ? WHERE id = ?",
                    (max(-1, min(1, rating)), reason.strip(), exchange_id),
                )
        self._changed(changed, exchange_id)

    def rated(self, rating: int = 1) -> list[Exchange]:
        """All answered exchanges with this rating, the oldest first: what can be learnt from."""
        return self._selected("rating = ? AND answer IS NOT NULL", "asked_at, rowid", rating)

    def forget(self, document_id: str) -> None:
        """Take a document's words out of every answer, and out of questions that repeat them."""
        whose = "TRUE" if self._scope.everything else "c.owner = ?"
        given = [] if self._scope.everything else [self._owner]
        with self._write() as db:
            rows = db.execute(
                "SELECT e.id, c.id, c.owner, e.question, e.answer FROM exchange_documents d "
                "JOIN exchanges e ON e.id = d.exchange_id "
                "JOIN conversations c ON c.id = e.conversation_id "
                f"WHERE d.document_id = ? AND e.answer IS NOT NULL AND {whose}",
                (document_id, *given),
            ).fetchall()
            for exchange_id, _, owner, question, text in rows:
                answer = from_json(text)
                asked = blanked(question, words_of(answer, document_id))
                left = replace(without(answer, document_id), question=asked)
                db.execute(
                    "UPDATE exchanges SET question = ?, answer = ? WHERE id = ?",
                    (asked, to_json(left), exchange_id),
                )
                if asked != question:
                    db.execute(
                        "UPDATE conversations SET title = ? WHERE title = ? AND owner = ?",
                        (title_of(asked), title_of(question), owner),
                    )
                db.execute(
                    "DELETE FROM exchange_documents WHERE document_id = ? AND exchange_id = ?",
                    (document_id, exchange_id),
                )
        for exchange_id, conversation_id, owner, *_ in rows:
            self._log.note(owner, conversation_id, exchange_id)

    def _selected(self, which: str, order: str, *arguments: str | int) -> list[Exchange]:
        """Exchanges, each without the words of what may not be seen."""
        hidden, given = self._hidden("e.id")
        rows = self._rows(
            f"SELECT {COLUMNS}, (SELECT json_group_array(x.document_id) {hidden}) "
            f"FROM exchanges e WHERE {which} AND {_MINE} ORDER BY {order}",
            (*given, *arguments, self._owner),
        )
        return [_without_hidden(exchange_of(row[:-1]), json.loads(row[-1])) for row in rows]

    def _hidden(self, exchange: str) -> tuple[str, list[str]]:
        """What an exchange holds that may not be seen, `x`: of other collections, or just removed;
        and arguments."""
        only, given = seen(self._scope, "d.collection")
        return (
            f"FROM exchange_documents x WHERE x.exchange_id = {exchange} AND (EXISTS "
            f"(SELECT 1 FROM documents d WHERE d.id = x.document_id AND NOT ({only})) OR "
            "x.document_id IN (SELECT document_id FROM removals))"
        ), given

    def _place(self, db: Connection, exchange_id: str) -> tuple[str, int]:
        """(its conversation, its place in it); ("", 0) of an exchange that is not there."""
        row = db.execute(
            f"SELECT conversation_id, ordinal FROM exchanges WHERE id = ? AND {_MINE}",
            (exchange_id, self._owner),
        ).fetchone()
        return (str(row[0]), int(row[1])) if row else ("", 0)

    def _changed(self, conversation_id: str, *exchanges: str) -> None:
        if conversation_id:
            self._log.note(self._owner, conversation_id, *exchanges)


def _holding(word: str) -> list[str]:
    """Patterns of LIKE, escaped by backslashes, for texts that hold a word as it stands, in small
    or capital letters: of those beyond a–z a database knows no case."""
    ways = [word] if word.isascii() else [word, word.lower(), word.capitalize(), word.upper()]
    escaped = (way.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for way in ways)
    return [f"%{way}%" for way in dict.fromkeys(escaped)]


def _keep_answer(db: Connection, exchange_id: str, answer: Answer) -> None:
    db.execute(
        "UPDATE exchanges SET answer = ?, error = NULL, rating = 0, reason = '' WHERE id = ?",
        (to_json(answer), exchange_id),
    )
    db.execute("DELETE FROM exchange_documents WHERE exchange_id = ?", (exchange_id,))
    db.executemany(
        "INSERT INTO exchange_documents VALUES (?, ?)",
        [(exchange_id, document) for document in documents_of(answer)],
    )


def _without_hidden(exchange: Exchange, hidden: Sequence[str]) -> Exchange:
    answer = exchange.answer
    for document_id in hidden:
        answer = without(answer, document_id) if answer else None
    return replace(exchange, answer=answer)


def title_of(question: str) -> str:
    """The first line's words, shortened between words."""
    line = " ".join(question.split()) or "…"
    return line if len(line) <= _TITLE else line[: _TITLE - 1].rsplit(" ", 1)[0] + "…"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")
