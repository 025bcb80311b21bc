"""What every generator is: question and passages to a draft, in pieces.

The embedded reader and chat models have this one interface, so that the chain need not know which
of them answers."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from rag_app.answering.prompts import NOT_IN_DOCUMENTS, Message
from rag_app.errors import ChatModelError
from rag_app.supervision import held
from rag_app.types import Draft, Note, NoteKind, Passage

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessageChunk


Cancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Piece:
    """The next piece of an answer's text; the last piece carries the draft.

    Pieces add up, as LangChain expects of what is streamed."""

    text: str = ""
    draft: Draft | None = None

    def __add__(self, later: Piece) -> Piece:
        return Piece(self.text + later.text, later.draft or self.draft)


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A question as it was typed, and what it leans on: the question and the answer before it."""

    typed: str
    asked: str
    said: str

    @property
    def text(self) -> str:
        """All of it, to be searched for."""
        return " ".join(filter(None, (self.typed, self.asked, self.said)))


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
    note = Note(NoteKind.QUOTED_INSTEAD, (why,))
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


# A slow stream read in a thread of its own, so that whoever waits for it can stop at once.

_LOOK = 0.05  # seconds between two looks at `cancelled`


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """The stream is over, or broke with an error."""

    error: Exception | None = None


def pumped(stream: Iterable[str], cancelled: Cancelled) -> Iterator[str | StreamEnd]:
    """The items of `stream`, then `Ended`; nothing more once `cancelled()` is true.

    While nothing comes, an empty item every 50 ms: time to show what was kept back.
    When the caller lets go, the thread reads one more item at most and closes the stream."""
    items: queue.SimpleQueue[str | StreamEnd] = queue.SimpleQueue()
    left = threading.Event()

    def read() -> None:
        source = iter(stream)
        with held() as attempt:  # what it raises is for the caller, who knows the source
            for item in source:
                if left.is_set():
                    break
                items.put(item)
        items.put(StreamEnd(attempt.error))
        close = getattr(source, "close", None)
        if close is not None:
            close()

    threading.Thread(target=read, name="rag-app-stream", daemon=True).start()
    try:
        while not cancelled():
            try:
                item = items.get(timeout=_LOOK)
            except queue.Empty:
                item = ""
            yield item
            if isinstance(item, StreamEnd):
                return
    finally:
        left.set()


# What of a model's words is shown: no thinking aloud, no pictures, no footnotes of its own. Pure.
#
# Model output is untrusted. What is left is still escaped where it is shown.

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_HALF_TAG = re.compile(r"<(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?\Z", re.IGNORECASE)
_PICTURE = re.compile(r"!\[([^\]]{0,1000})\](?:\([^)]{0,2000}\)|\[[^\]]{0,2000}\])")
_FOOTNOTE = re.compile(
    r" ?(?:\[(?:passage )?\d{1,3}(?:, ?\d{1,3})*\]|【[^】]{0,40}】)", re.IGNORECASE
)
_REPEATED = re.compile(r"(?P<unit>.{3,80}?)(?P=unit){5,}\Z", re.DOTALL)
_KEPT_REPEATS = 2


def shown(raw: str) -> str:
    """What can be shown of a reply so far; grows as the reply does."""
    text = _HALF_TAG.sub("", _THINKING.sub("", raw)).lstrip()
    return "" if says_not_found(text, whole=False) else text


def says_not_found(text: str, *, whole: bool = True) -> bool:
    """Whether a reply says that the documents do not hold the answer.

    With `whole` false: whether it may still come to say that."""
    said = text.strip().strip("*_\"'.!").upper()
    if whole:
        return said.startswith(NOT_IN_DOCUMENTS) and len(said) < 2 * len(NOT_IN_DOCUMENTS)
    return bool(said) and (NOT_IN_DOCUMENTS.startswith(said) or said == NOT_IN_DOCUMENTS)


def finished(raw: str) -> str:
    """A whole reply without thinking, pictures and footnotes of its own."""
    text = _THINKING.sub("", raw)
    text = _PICTURE.sub(r"\1", text)
    return _FOOTNOTE.sub("", text).strip()


def repeats_itself(raw: str) -> bool:
    """Whether the reply ends in the same few words over and over."""
    tail = raw[-800:]
    found = _REPEATED.search(tail)
    return found is not None and any(c.isalnum() for c in found["unit"])


def without_repeats(text: str) -> str:
    """A reply that ended in repeats, with two of them left; of its lines each is said once."""
    found = _REPEATED.search(text[-8_000:])
    if found is None:
        return text
    end = max(0, len(text) - 8_000) + found.start() + _KEPT_REPEATS * len(found["unit"])
    lines = text[:end].rstrip().split("\n")
    said: list[str] = []
    for at, line in enumerate(lines):
        broken_off = at == len(lines) - 1 and any(one.startswith(line) for one in said)
        if not line.strip() or (line not in said and not broken_off):
            said.append(line)
    return "\n".join(said).rstrip()


# A chat model that writes: streamed, bounded in length and in patience, stoppable at once.

OpenModel = Callable[[], "BaseChatModel"]
Explain = Callable[[Exception], ChatModelError]


@contextmanager
def explained(explain: Explain) -> Iterator[None]:
    """What a chat model raises in one sentence: a provider raises whatever its parts raise."""
    with held() as attempt:
        yield
    if attempt.error is not None:
        raise explain(attempt.error) from attempt.error


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """What the messages (question and passages together) may take."""

    tokens: int
    count: Callable[[Sequence[str]], list[int]] | None = None  # the model's own, where it has one


Messages = Callable[[TokenBudget], Sequence[Message]]
Tokens = Sequence[tuple[str, float]]  # their texts, and how likely each was
_StreamOf = Callable[["BaseChatModel", list[Message]], Iterator["BaseMessageChunk"]]

FIRST = "first_probability"
"""In the metadata of a writer's first chunk: how likely its first token was."""
EACH = "probabilities"
"""In those of its last one: the text of each token, and how likely it was."""
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
        yield from self._written(messages, cancelled, lambda model, said: model.stream(said))

    def write_on(
        self,
        begun: str,
        messages: Messages,
        hear: Callable[[float], None],
        cancelled: Cancelled,
        hear_each: Callable[[Tokens], None] | None = None,
    ) -> Iterator[str]:
        """The same, `begun` being what it has said already; only for the writer of the app.

        `hear` is told how likely the first token was, before the first text comes; `hear_each`,
        after the last, how likely each was."""

        def stream(model: BaseChatModel, said: list[Message]) -> Iterator[BaseMessageChunk]:
            for chunk in model.stream(said, begun=begun, logs=True):
                if FIRST in chunk.response_metadata:
                    hear(chunk.response_metadata[FIRST])
                if hear_each and EACH in chunk.response_metadata:
                    hear_each(chunk.response_metadata[EACH])
                yield chunk

        yield from self._written(messages, cancelled, stream)

    def _written(
        self, messages: Messages, cancelled: Cancelled, stream_of: _StreamOf
    ) -> Iterator[str]:
        with explained(self._explain):
            model = self._open()
            window = getattr(model, "window", self._window)
            room = TokenBudget(window - self._most_tokens, getattr(model, "count_tokens", None))
            stream = self._texts(stream_of(model, list(messages(room))))
        raw, seen, drawn = "", "", time.monotonic()
        for item in pumped(stream, cancelled):
            if isinstance(item, StreamEnd):
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

    def write_when_idle(
        self, messages: Messages, cancelled: Cancelled, begun: str = ""
    ) -> Iterator[str]:
        """Yield the reply as far as it is, computed only while nobody waits for it; only for the
        writer of the app. `begun`: how it begins. Raises ChatModelError."""
        for raw in self._written(
            messages, cancelled, lambda model, m: model.stream(m, idle=True, begun=begun)
        ):
            yield begun + raw

    def _texts(self, chunks: Iterator[BaseMessageChunk]) -> Iterator[str]:
        reason = None
        for chunk in chunks:
            reason = chunk.response_metadata.get("finish_reason") or reason
            yield str(chunk.text)
        if self._says_why and reason is None:  # a line that is cut looks like an end otherwise
            raise ConnectionError("the reply has no end")
