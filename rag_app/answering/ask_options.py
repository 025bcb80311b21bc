"""What can be asked of which documents: unfit questions get one sentence. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rag_app.errors import QuestionError
from rag_app.types import UNREAD, Document, Note, NoteKind, Status, askable


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How one question is to be answered, where that is not as the settings say."""

    generator: str | None = None  # what answers, written on one line
    language: str = ""  # of the answer, its English name; empty: the question's
    caution: float | None = None  # confidence under which it says that it does not know
    top_k: int | None = None  # passages that are read


DEFAULT_OPTIONS = AskOptions()


def checked(question: str, chosen: Sequence[Document], most: int) -> str:
    """The question, trimmed; at most `most` characters. What a terminal or a file could not say in
    letters (half a pair, a byte of another encoding) is none. Raises QuestionError."""
    asked = question.encode("utf-8", "replace").decode().strip()
    if not asked:
        raise QuestionError("The question is empty. Type what you want to know.")
    if len(asked) > most:
        raise QuestionError(
            f"The question has {len(asked):,} characters; the limit is {most:,}. Shorten it, "
            "or add the long text as a document and ask about that."
        )
    if not chosen:
        raise QuestionError("There is nothing to ask yet. Add a document first.")
    if not any(map(askable, chosen)):
        if any(d.status in (*UNREAD, Status.SCANNED) for d in chosen):
            raise QuestionError("Your documents are still being read. Ask again in a moment.")
        raise QuestionError(
            "None of the chosen documents could be read. Add another document first."
        )
    return asked


def taken(meant: Sequence[Document], most: int, among: int) -> tuple[Note, ...]:
    """Which documents a wish was carried out on, if not on all that it could have meant.

    Of those that are `meant`, the first, at most `most`; `among` could have been."""
    names = [document.name for document in meant]
    if len(meant) > most:
        first = (str(most), str(len(meant)), *names[:most])
        return (Note(NoteKind.FIRST_DOCUMENTS_ONLY, first),)
    return (Note(NoteKind.NAMED_DOCUMENTS_ONLY, tuple(names)),) if len(meant) < among else ()


def coverage(chosen: Sequence[Document], trouble: str = "") -> tuple[Note, ...]:
    """What of the chosen documents could not be searched in full; `trouble`: why nothing could be
    searched by meaning."""
    held = Counter(document.status for document in chosen)
    unread = sum(held[status] for status in UNREAD)
    counted = (
        (NoteKind.SEARCHED_BY_WORDS_ONLY, held[Status.SEARCHABLE]),
        (NoteKind.NOT_READ_YET, unread),
        (NoteKind.SCANS_NOT_READ_YET, held[Status.SCANNED]),
    )
    away = (Note(NoteKind.MEANING_AWAY, (trouble,)),) if trouble else ()
    return away + tuple(Note(kind, (str(number),)) for kind, number in counted if number)
