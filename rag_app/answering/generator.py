"""What every generator is: question and passages to a draft, in pieces.

The embedded reader and chat models have this one interface, so that the chain need not know which
of them answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from rag_app.types import Draft, Passage

Cancelled = Callable[[], bool]

INSTEAD = "{0} Your question was answered by quoting your documents instead."


@dataclass(frozen=True, slots=True)
class Piece:
    """The next piece of an answer's text; the last piece carries the draft.

    Pieces add up, as LangChain expects of what is streamed."""

    text: str = ""
    draft: Draft | None = None

    def __add__(self, later: Piece) -> Piece:
        return Piece(self.text + later.text, later.draft or self.draft)


def apart(quotes: Sequence[str]) -> tuple[str, ...]:
    """Quotes as the sentences of a draft, each a paragraph of its own."""
    return tuple(f"{quote}\n\n" for quote in quotes)


def pieces(draft: Draft) -> Iterator[Piece]:
    """A draft that is whole already, in pieces."""
    for sentence in draft.sentences:
        yield Piece(sentence)
    yield Piece(draft=draft)


def instead(said: Iterator[Piece], by: str, why: str) -> Iterator[Piece]:
    """What another generator says where one has failed, with a note that says why."""
    note = INSTEAD.format(why)
    for piece in said:
        draft = piece.draft
        if draft is not None:
            draft = replace(draft, generator=by, notes=(note, *draft.notes))
        yield Piece(piece.text, draft)


class Generator(Protocol):
    """Question and passages to answer."""

    @property
    def name(self) -> str:
        """Shown to users and stored with answers."""

    def warm(self) -> None:
        """Load what it needs now. Raises ModelUnavailable."""

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield pieces, the last one with the draft; stop early when `cancelled()` is true.

        Raises ModelUnavailable."""
