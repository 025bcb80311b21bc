"""Answers written by a chat model: streamed, bounded, and matched to their sources afterwards.

Any LangChain chat model will do. Where it fails, another generator (the embedded reader) answers
instead, and a note says why."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_app.answering.generator import Cancelled, Generator, Piece
from rag_app.answering.prompts import Message, fitting, question_messages
from rag_app.answering.pump import Ended, pumped
from rag_app.answering.support import Supported, support
from rag_app.answering.visible import (
    finished,
    repeats_itself,
    says_not_found,
    shown,
    without_repeats,
)
from rag_app.embedding import Embedder
from rag_app.errors import ChatModelError, ModelUnavailable
from rag_app.types import Draft, Passage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

UNSUPPORTED = "Nothing in your documents says this. Check it before you rely on it."
PARTLY = "Sentences without a number could not be found in your documents."
CUT = "The answer was cut at the limit for its length."
REPEATED = "The model began to repeat itself and was stopped."
BROKEN_OFF = "The model stopped in the middle of its answer: {0}"
INSTEAD = "{0} Your question was answered by the embedded reader instead."

_EVERY = 0.07  # seconds between two pieces: smooth to the eye, cheap to draw
_CHARACTERS_PER_TOKEN = 6  # at most, so that an endless answer ends

OpenModel = Callable[[], "BaseChatModel"]
Explain = Callable[[Exception], ChatModelError]
Messages = Callable[[str, Sequence[Passage]], list[Message]]


class ChatGenerator:
    """A chat model as a generator."""

    def __init__(
        self,
        name: str,
        open_model: OpenModel,
        explain: Explain,
        embedder: Embedder,
        safety: Generator,
        *,
        window: int,
        most_tokens: int,
        says_why: bool = False,
        messages: Messages = question_messages,
    ) -> None:
        self.name = name
        self._open = open_model
        self._explain = explain
        self._embedder = embedder
        self._safety = safety
        self._window = window
        self._most_tokens = most_tokens
        self._says_why = says_why  # whether a whole reply ends with a reason for ending
        self._messages = messages

    def warm(self) -> None:
        """Load what answers if the chat model cannot. Raises ModelUnavailable."""
        self._safety.warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield pieces as they are written, then the draft with its sources."""
        raw, said = "", ""
        notes: tuple[str, ...] = ()
        try:
            for raw in self._written(question, passages, cancelled):
                now = shown(raw)
                if len(now) > len(said):
                    yield Piece(now[len(said) :])
                    said = now
        except ChatModelError as error:
            if not said.strip():
                yield from self._instead(question, passages, cancelled, str(error))
                return
            notes = (BROKEN_OFF.format(error),)
        if cancelled():
            return
        yield from self._closed(question, passages, cancelled, raw, notes)

    def _closed(
        self,
        question: str,
        passages: Sequence[Passage],
        cancelled: Cancelled,
        raw: str,
        notes: tuple[str, ...],
    ) -> Iterator[Piece]:
        if repeats_itself(raw):
            raw, notes = without_repeats(raw), (*notes, REPEATED)
        elif len(raw) >= self._longest:
            notes = (*notes, CUT)
        text = finished(raw)
        if says_not_found(text):
            yield Piece(draft=Draft((), (), 0.0, abstained=True, notes=notes))
        elif not any(c.isalnum() for c in text):
            sentence = f"{self.name} wrote nothing."
            yield from self._instead(question, passages, cancelled, sentence)
        else:
            yield Piece(draft=self._draft(text, passages, notes))

    @property
    def _longest(self) -> int:
        return self._most_tokens * _CHARACTERS_PER_TOKEN

    def _written(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[str]:
        """The reply as far as it is, every 70 ms. Raises ChatModelError."""
        try:
            model = self._open()
            window = getattr(model, "window", self._window)
            messages = self._messages(question, self._fitting(question, passages, window))
            stream = self._texts(model, messages)
        except Exception as error:
            raise self._explain(error) from error
        raw, drawn = "", time.monotonic()
        for item in pumped(stream, cancelled):
            if isinstance(item, Ended):
                if item.error is not None:
                    yield raw
                    raise self._explain(item.error) from item.error
                break
            raw += item
            if len(raw) >= self._longest:
                break
            if time.monotonic() - drawn >= _EVERY:
                yield raw
                drawn = time.monotonic()
                if repeats_itself(raw):
                    break
        yield raw

    def _texts(self, model: BaseChatModel, messages: Sequence[Message]) -> Iterator[str]:
        reason = None
        for chunk in model.stream(list(messages)):
            reason = chunk.response_metadata.get("finish_reason") or reason
            yield str(chunk.text)
        if self._says_why and reason is None:  # a line that is cut looks like an end otherwise
            raise ConnectionError("the reply has no end")

    def _fitting(
        self, question: str, passages: Sequence[Passage], window: int
    ) -> list[Passage]:
        """As many passages as the model's window holds. Raises ChatModelError if not even one."""
        bare = self._messages(question, [])
        sizes = self._embedder.count_tokens(
            ["\n".join(text for _, text in bare), *(p.chunk.text for p in passages)]
        )
        around = 40  # tokens for the name and the marks of one passage
        room = window - self._most_tokens - sizes[0]
        if passages and room < sizes[1] + around:
            raise ChatModelError(
                f"The window of {self.name} ({window:,} tokens) is too small for the "
                "question and one passage. Choose a model with a larger window, or lower "
                "RAG_APP_CHAT_TOKENS."
            )
        return fitting(passages, room, [size + around for size in sizes[1:]])

    def _draft(self, text: str, passages: Sequence[Passage], notes: tuple[str, ...]) -> Draft:
        try:
            judged = support(text, passages, self._embedder)
        except ModelUnavailable as error:
            judged = [Supported(text)]
            notes = (*notes, str(error))
        claims = [one for one in judged if one.claims]
        held = sum(bool(one.evidence) for one in claims)
        if claims and not held:
            notes = (*notes, UNSUPPORTED)
        elif held < len(claims):
            notes = (*notes, PARTLY)
        return Draft(
            sentences=tuple(one.text for one in judged),
            evidence=tuple(one.evidence for one in judged),
            confidence=held / len(claims) if claims else 0.0,
            notes=notes,
        )

    def _instead(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled, why: str
    ) -> Iterator[Piece]:
        note = INSTEAD.format(why)
        for piece in self._safety.generate(question, passages, cancelled):
            if piece.draft is None:
                yield piece
            else:
                draft = replace(
                    piece.draft, generator=self._safety.name, notes=(note, *piece.draft.notes)
                )
                yield Piece(piece.text, draft)
