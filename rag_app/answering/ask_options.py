"""What can be asked of which documents: unfit questions get one sentence. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_app.errors import QuestionError
from rag_app.text.page_names import count
from rag_app.types import UNREAD, Document, Status, askable


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How one question is to be answered, where that is not as the settings say."""

    generator: str | None = None  # what answers, written on one line
    language: str = ""  # of the answer, its English name; empty: the question's
    caution: float | None = None  # confidence under which it says that it does not know
    top_k: int | None = None  # passages that are read


DEFAULT_OPTIONS = AskOptions()
UNDERSTOOD = "Understood as: {0}"  # a note on an answer to a follow-up
APP = "app"  # the generator of what the app says of itself, about no document
FIRST_ONLY = "This is of the first {0} of {1} documents: {2}. Tick those that you mean on the left."
ONLY_OF = "This is of what your wish names: {0}."
_MOST_LISTED = 80  # characters of a name in a sentence


def checked(question: str, chosen: Sequence[Document], most: int) -> str:
    """The question, trimmed; at most `most` characters. Raises QuestionError."""
    asked = question.strip()
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


def taken(meant: Sequence[Document], most: int, among: int) -> tuple[str, ...]:
    """Which documents a wish was carried out on, if not on all that it could have meant.

    Of those that are `meant`, the first, at most `most`; `among` could have been."""
    if len(meant) > most:
        return (FIRST_ONLY.format(most, f"{len(meant):,}", _listed(meant[:most])),)
    return (ONLY_OF.format(_listed(meant)),) if len(meant) < among else ()


def _listed(documents: Sequence[Document]) -> str:
    names = [" ".join(document.name.split()) for document in documents]
    short = [n if len(n) <= _MOST_LISTED else f"{n[: _MOST_LISTED - 1]}…" for n in names]
    return f"{', '.join(short[:-1])} and {short[-1]}" if len(short) > 1 else "".join(short)


def coverage(chosen: Sequence[Document]) -> tuple[str, ...]:
    """What of the chosen documents could not be searched in full, a sentence each."""
    notes = []
    if by_words := sum(d.status is Status.SEARCHABLE for d in chosen):
        notes.append(f"{count(by_words, 'document')} could so far be searched by words only.")
    if unread := sum(d.status in UNREAD for d in chosen):
        notes.append(f"{count(unread, 'document')} had not been read yet.")
    if scanned := sum(d.status is Status.SCANNED for d in chosen):
        notes.append(f"{count(scanned, 'document')} had scanned pages that were not read yet.")
    return tuple(notes)
