"""Answers written by a chat model and matched to their sources afterwards.

Where the model fails, another generator answers instead, and a note says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rag_app.answering.attribution import Supported, support
from rag_app.answering.generation import (
    Cancelled,
    Generator,
    Messages,
    Piece,
    TokenBudget,
    Writer,
    finished,
    instead,
    repeats_itself,
    says_not_found,
    shown,
    without_repeats,
)
from rag_app.answering.prompts import Message, fitting, question_messages
from rag_app.errors import ChatModelError, ModelUnavailable
from rag_app.retrieval.embedding import Embedder
from rag_app.types import Basis, Draft, Note, NoteKind, Passage

_AROUND = 40  # tokens for the name and the marks of one passage

Sources = Callable[[str], Sequence[Passage]]  # a written text to where its sources may stand
Otherwise = Callable[[], Iterator[Piece]]  # what is said if the model fails


class ChatGenerator:
    """A chat model as a generator."""

    def __init__(self, writer: Writer, embedder: Embedder, safety: Generator) -> None:
        self.name = writer.name
        self.writer = writer
        self._embedder = embedder
        self._safety = safety

    def warm(self) -> None:
        """Load what answers if the chat model cannot. Raises ModelUnavailable."""
        self._safety.warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield pieces as they are written, then the draft with its sources."""
        yield from self.compose(
            lambda room: self._asked(question, passages, room),
            lambda _: passages,
            lambda: self._safety.generate(question, passages, cancelled),
            cancelled,
        )

    def compose(
        self, messages: Messages, sources: Sources, otherwise: Otherwise, cancelled: Cancelled
    ) -> Iterator[Piece]:
        """The same for any messages, the sources being looked for when the text is there."""
        raw, said = "", ""
        notes: tuple[Note, ...] = ()
        try:
            for raw in self.writer.write(messages, cancelled):
                now = shown(raw)
                if len(now) > len(said):
                    yield Piece(now[len(said) :])
                    said = now
        except ChatModelError as error:
            if not said.strip():
                yield from instead(otherwise(), self._safety.name, str(error))
                return
            notes = (Note(NoteKind.BROKEN_OFF, (str(error),)),)
        if cancelled():
            return
        if repeats_itself(raw):
            raw, notes = without_repeats(raw), (*notes, Note(NoteKind.REPEATED))
        elif len(raw) >= self.writer.longest:
            notes = (*notes, Note(NoteKind.CUT))
        yield from self._closed(finished(raw), notes, sources, otherwise)

    def _closed(
        self, text: str, notes: tuple[Note, ...], sources: Sources, otherwise: Otherwise
    ) -> Iterator[Piece]:
        if says_not_found(text):
            yield Piece(draft=Draft((), (), 0.0, abstained=True, notes=notes))
        elif not any(c.isalnum() for c in text):
            yield from instead(otherwise(), self._safety.name, f"{self.name} wrote nothing.")
        else:
            yield Piece(draft=self._draft(text, sources(text), notes))

    def _asked(
        self, question: str, passages: Sequence[Passage], room: TokenBudget
    ) -> Sequence[Message]:
        """The question with as many passages as fit. Raises ChatModelError if not even one."""
        bare = question_messages(question, [])
        sizes = (room.count or self._embedder.count_tokens)(
            ["\n".join(text for _, text in bare), *(p.chunk.text for p in passages)]
        )
        left = room.tokens - sizes[0]
        if passages and left < sizes[1] + _AROUND:
            raise ChatModelError(
                f"The window of {self.name} is too small for the question and one passage. Choose "
                "a model with a larger window, or lower RAG_APP_CHAT_TOKENS."
            )
        fit = fitting(passages, left, [size + _AROUND for size in sizes[1:]])
        return question_messages(question, fit)

    def _draft(self, text: str, passages: Sequence[Passage], notes: tuple[Note, ...]) -> Draft:
        try:
            judged = support(text, passages, self._embedder)
        except ModelUnavailable as error:
            judged = [Supported(text)]
            notes = (*notes, Note(NoteKind.MODEL_FAILED, (str(error),)))
        claims = [one for one in judged if one.claims]
        held = sum(bool(one.evidence) for one in claims)
        if claims and not held:
            notes = (*notes, Note(NoteKind.UNSUPPORTED))
        elif held < len(claims):
            notes = (*notes, Note(NoteKind.PARTLY_SUPPORTED))
        return Draft(
            sentences=tuple(one.text for one in judged),
            evidence=tuple(one.evidence for one in judged),
            confidence=held / len(claims) if claims else 0.0,
            basis=Basis.WRITTEN,
            notes=notes,
        )
