"""The language model that comes with the app, as a LangChain chat model.

Greedy: the same question gets the same answer. What is asked more than once with the same beginning
(the passages) is read once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.base import LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from rag_app.answering.chatml import Decoder, Tokens, tokens_of
from rag_app.answering.engine import Asked, Engine, Form, Ticket, engine_of
from rag_app.answering.generation import EACH, FIRST
from rag_app.errors import ChatModelError
from rag_app.models.catalogue import CATALOGUE, TRAITS, lacks
from rag_app.models.weights import folder_of, is_ready

_ROLES = {"system": "system", "human": "user", "ai": "assistant"}
_WINDOW = 4_096  # tokens: what a processor reads in bearable time, and a quarter of what is kept


class OpenVinoChatModel(BaseChatModel):
    """One model, loaded when it is first asked; several people at once, from any thread."""

    folder: str
    most_tokens: int = 700
    threads: int = 0  # 0: all cores

    @property
    def _llm_type(self) -> str:
        return "openvino"

    @property
    def _tokens(self) -> Tokens:
        if not (Path(self.folder) / TRAITS).is_file():
            raise ChatModelError(
                f"There is no language model in {self.folder}. "
                "Fetch it with: python -m rag_app.models.weights"
            )
        return tokens_of(self.folder)

    @property
    def _engine(self) -> Engine:
        return engine_of(self.folder, self.threads)

    @property
    def running(self) -> bool:
        """Whether it is in memory."""
        return self._engine.pid is not None

    @property
    def window(self) -> int:
        """Tokens that the model sees at once, question and answer included."""
        return min(self._tokens.window, _WINDOW)

    @property
    def speed(self) -> float | None:
        """Tokens a second that it reads; None: it is not loaded."""
        return self._engine.speed

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has for this model."""
        return self._tokens.count(texts)

    def begin(self) -> None:
        """Start to load, without waiting for it."""
        self._engine.begin()

    def load(self) -> None:
        """Until it can answer at once. Raises ChatModelError."""
        self._tokens.of_text("")
        self._engine.load()

    def probability(self, messages: LanguageModelInput, yes: str = "Yes", no: str = "No") -> float:
        """How sure the model is that the answer is `yes` and not `no`, 0 to 1.

        Reads the messages once and compares the first token of both. Raises ChatModelError."""
        ids = self._ids(self._convert_input(messages).to_messages())
        logs = [self._log_of(ids, word) for word in (yes, no)]
        return 1 / (1 + math.exp(min(logs[1] - logs[0], 700)))

    def constrained(
        self,
        messages: LanguageModelInput,
        *,
        json_schema: str = "",
        regex: str = "",
        grammar: str = "",
        most_tokens: int = 0,
    ) -> str:
        """An answer in a given form: a JSON schema, a regular expression, or a grammar (EBNF).

        Cut off at `most_tokens` it may have no end. Raises ChatModelError."""
        given = {"json_schema": json_schema, "regex": regex, "grammar": grammar}
        forms = [Form(kind, shape) for kind, shape in given.items() if shape]
        if len(forms) != 1:
            raise ValueError("give one of json_schema, regex and grammar")
        forms[0].check()
        ids = self._ids(self._convert_input(messages).to_messages())
        tokens = self._tokens
        asked = Asked(ids, most_tokens or self.most_tokens, tokens.ends, forms[0])
        ticket = self._engine.ask(asked)
        try:
            written = [token for step in ticket.steps() for token in step.tokens]
        finally:
            ticket.let_go()
        return tokens.text_of(written)

    def _log_of(self, ids: Sequence[int], word: str) -> float:
        """The logarithm of the probability that the answer begins with a word."""
        asked = Asked(ids, 1, self._tokens.ends, Form("regex", re.escape(word)), logs=True)
        ticket = self._engine.ask(asked)
        try:
            return next(step.logs[0] for step in ticket.steps())
        finally:
            ticket.let_go()

    def _ids(self, messages: Sequence[BaseMessage]) -> list[int]:
        said = [(_ROLES.get(m.type, "user"), str(m.text)) for m in messages]
        ids = self._tokens.of_messages(said)
        if len(ids) >= self.window:
            raise ChatModelError(
                f"The question and its passages have {len(ids):,} tokens, and the language model "
                f"sees {self.window:,}. Ask for less at once."
            )
        return ids

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        chunks = list(self._stream(messages, stop, run_manager, **kwargs))
        text = "".join(str(chunk.text) for chunk in chunks)
        message = AIMessage(text, response_metadata=chunks[-1].message.response_metadata)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        tokens = self._tokens
        ids = [*self._ids(messages), *tokens.of_text(kwargs.get("begun", ""))]
        most = min(int(kwargs.get("max_tokens", self.most_tokens)), self.window - len(ids))
        ticket = self._engine.ask(Asked(ids, most, tokens.ends, logs=kwargs.get("logs", False)))
        try:
            for text in _until(stop or [], _texts(ticket, tokens)):
                sure, ticket.first_log = ticket.first_log, None
                about = {} if sure is None else {FIRST: math.exp(sure)}
                message = AIMessageChunk(content=text, response_metadata=about)
                chunk = ChatGenerationChunk(message=message)
                if run_manager is not None:
                    run_manager.on_llm_new_token(text, chunk=chunk)
                yield chunk
        finally:
            ticket.let_go()
        reason = "length" if ticket.ended == "length" else "stop"
        each = [(tokens.text_of([token]), math.exp(log)) for token, log in ticket.tokens]
        ended = {"finish_reason": reason} | ({EACH: each} if each else {})
        yield ChatGenerationChunk(message=AIMessageChunk(content="", response_metadata=ended))


def open_writer(key: str, models: Path, most_tokens: int, threads: int = 0) -> OpenVinoChatModel:
    """A model of the catalogue that was fetched. Raises ChatModelError."""
    model = CATALOGUE[key]
    if not is_ready(model, models):
        raise ChatModelError(
            f"{model.name} is not on this computer yet. Fetch it with: "
            f"python -m rag_app.models.weights {key}"
        )
    opened = OpenVinoChatModel(
        folder=str(folder_of(model, models)), most_tokens=most_tokens, threads=threads
    )
    if not opened.running and (lack := lacks(model)):
        raise ChatModelError(lack)
    return opened


def _texts(ticket: Ticket, tokens: Tokens) -> Iterator[str]:
    """What is written, as text, in pieces as they come."""
    decoder = Decoder(tokens)
    for step in ticket.steps():
        if text := decoder.take(step.tokens):
            yield text


def _until(stops: Sequence[str], texts: Iterator[str]) -> Iterator[str]:
    """The texts up to the first of `stops`, of which a part may stand at the end of a piece."""
    held = ""
    keep = max((len(one) for one in stops if one), default=1) - 1
    for text in texts:
        held += text
        ends = [place for one in stops if one and (place := held.find(one)) >= 0]
        if ends:
            held = held[: min(ends)]
            break
        if len(held) > keep:
            yield held[: len(held) - keep]
            held = held[len(held) - keep :]
    if held:
        yield held
