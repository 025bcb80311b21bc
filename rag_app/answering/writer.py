"""A chat model that writes: streamed, bounded in length and in patience, stoppable at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_app.answering.generator import Cancelled
from rag_app.answering.prompts import Message
from rag_app.answering.pump import Ended, pumped
from rag_app.answering.visible import repeats_itself
from rag_app.errors import ChatModelError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

OpenModel = Callable[[], "BaseChatModel"]
Explain = Callable[[Exception], ChatModelError]


@dataclass(frozen=True, slots=True)
class Room:
    """What the messages (question and passages together) may take."""

    tokens: int
    count: Callable[[Sequence[str]], list[int]] | None = None  # the model's own, where it has one


Messages = Callable[[Room], Sequence[Message]]

_EVERY = 0.07  # seconds between two pieces: smooth to the eye, cheap to draw
_CHARACTERS_PER_TOKEN = 6  # at most, so that an endless answer ends


class Writer:
    """Any LangChain chat model. Every failure is a ChatModelError with one sentence."""

    def __init__(
        self,
        name: str,
        open_model: OpenModel,
        explain: Explain,
        *,
        window: int,
        most_tokens: int,
        says_why: bool = False,
    ) -> None:
        self.name = name
        self._open = open_model
        self._explain = explain
        self._window = window
        self._most_tokens = most_tokens
        self._says_why = says_why  # whether a whole reply ends with a reason for ending

    @property
    def longest(self) -> int:
        """Characters at which a reply is cut."""
        return self._most_tokens * _CHARACTERS_PER_TOKEN

    def write(self, messages: Messages, cancelled: Cancelled) -> Iterator[str]:
        """The reply as far as it is, every 70 ms, and at its end. Raises ChatModelError."""
        try:
            model = self._open()
            window = getattr(model, "window", self._window)
            room = Room(window - self._most_tokens, getattr(model, "count_tokens", None))
            stream = self._texts(model, messages(room))
        except Exception as error:
            raise self._explain(error) from error
        raw, seen, drawn = "", "", time.monotonic()
        for item in pumped(stream, cancelled):
            if isinstance(item, Ended):
                if item.error is not None:
                    yield raw
                    raise self._explain(item.error) from item.error
                break
            raw += item
            if len(raw) >= self.longest:
                break
            if raw != seen and time.monotonic() - drawn >= _EVERY:
                yield raw
                seen, drawn = raw, time.monotonic()
                if repeats_itself(raw):
                    break
        yield raw

    def whole(self, messages: Messages, cancelled: Cancelled) -> str:
        """The whole reply; empty if cancelled. Raises ChatModelError."""
        *_, raw = self.write(messages, cancelled)
        return "" if cancelled() else raw

    def _texts(self, model: BaseChatModel, messages: Sequence[Message]) -> Iterator[str]:
        reason = None
        for chunk in model.stream(list(messages)):
            reason = chunk.response_metadata.get("finish_reason") or reason
            yield str(chunk.text)
        if self._says_why and reason is None:  # a line that is cut looks like an end otherwise
            raise ConnectionError("the reply has no end")
