"""What a document is about, as it was made once: summary, topics, questions that it can answer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from rag_app.scope import Scope
from rag_app.storage.database import AnyDatabase, InDatabase, document_seen, kept_as, seen
from rag_app.types import Heading, Status


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document and where it stands: `page.text[start:end]` is its text."""

    text: str  # on one line
    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DatedSentence:
    """A day and a sentence that names it: `said` as it is written there."""

    day: str  # ISO 8601
    said: str
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class TopicPlace:
    """Where a topic is dealt with: the number of a heading in the outline, a place under it."""

    topic: str
    heading: int
    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Introduction:
    """What a language model says of a document that has just arrived."""

    title: str
    kind: str = ""  # "tenancy agreement"
    about: str = ""  # one or two sentences
    questions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """A document in short. `questions` None: they have not been looked for yet."""

    outline: tuple[Heading, ...] = ()
    summary: tuple[Sentence, ...] = ()
    topics: tuple[str, ...] = ()
    questions: tuple[str, ...] | None = None
    introduction: Introduction | None = None  # None: there is none, or none yet
    dates: tuple[DatedSentence, ...] = ()  # in the order of time, each day once
    topic_places: tuple[TopicPlace, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing of it is left to be made."""
        return self.questions is not None


class KeptOverviews(InDatabase):
    """Every method is one transaction; an overview goes with its document."""

    def save(self, document_id: str, made_by: str, overview: Overview, chunks: int) -> None:
        """Keep an overview in place of an earlier one.

        Not if the document is gone, or has been read anew since it had so many `chunks`."""
        text = json.dumps(asdict(overview), ensure_ascii=False)
        self._run(
            "INSERT INTO overviews SELECT id, ?, ? FROM documents "
            "WHERE id = ? AND chunks = ? AND status NOT IN (?, ?) "
            "ON CONFLICT (document_id) DO UPDATE SET made_by = excluded.made_by, "
            "overview = excluded.overview",
            (made_by, text, document_id, chunks, Status.RECEIVED, Status.READ),
        )

    def get(self, document_id: str, made_by: str) -> Overview | None:
        """The overview of a document, if it was made by this."""
        row = self._row(
            "SELECT overview FROM overviews WHERE document_id = ? AND made_by = ?",
            (document_id, made_by),
        )
        return kept_as(Overview, json.loads(row[0])) if row else None

    def complete(self, made_by: str) -> set[str]:
        """Ids of the documents of which everything was made by this."""
        with self._read() as db:
            rows = db.execute(
                "SELECT document_id FROM overviews WHERE made_by = ? "
                "AND json_extract(overview, '$.questions') IS NOT NULL",
                (made_by,),
            )
            return {row[0] for row in rows}


# The last check of the library, row by row, as JSON; what was made of a document goes with it.
#
# Knows nothing of what a row means.


class KeptCheck(InDatabase):
    """The last check of what a person sees. Every method is one transaction."""

    def __init__(self, database: AnyDatabase, scope: Scope) -> None:
        super().__init__(database)
        self._scope, self._owner = scope, scope.subject

    def save(self, about: str, rows: Iterable[tuple[str | None, str]]) -> None:
        """Keep a check in place of the one before: (id of the document or None, row).

        A row of a document that is gone by now is left out."""
        only, given = seen(self._scope)
        with self._write() as db:
            db.execute("DELETE FROM checks WHERE owner = ?", (self._owner,))
            db.execute("INSERT INTO checks VALUES (?, ?)", (self._owner, about))
            for document_id, row in rows:
                db.execute(
                    "INSERT INTO checked (owner, document_id, tried) SELECT ?, ?, ? "
                    "WHERE CAST(? AS TEXT) IS NULL "
                    f"OR EXISTS (SELECT 1 FROM documents WHERE id = ? AND {only})",
                    (self._owner, document_id, row, document_id, document_id, *given),
                )

    def get(self) -> tuple[str, list[str]] | None:
        """(about the check, its rows), None if there was none."""
        only, given = document_seen(self._scope, "document_id")
        with self._read() as db:
            about = db.execute(
                "SELECT about FROM checks WHERE owner = ?", (self._owner,)
            ).fetchone()
            rows = db.execute(
                "SELECT tried FROM checked WHERE owner = ? "
                f"AND (document_id IS NULL OR {only}) ORDER BY number",
                (self._owner, *given),
            ).fetchall()
        return (about[0], [row[0] for row in rows]) if about else None

    def clear(self) -> None:
        """Forget it."""
        self._run("DELETE FROM checks WHERE owner = ?", (self._owner,))
