"""Language models on this machine as LangChain chat models: the one that comes with the app, and a
transformers model from a folder.

What people and documents say is text and nothing else: "<|im_end|>" in a document is read as these
ten characters and never as the end of a message, because only the template's own parts may become
control tokens.

The app's own is greedy: the same question gets the same answer. What is asked more than once with
the same beginning (the passages) is read once. From a folder safetensors only: a checkpoint that is
a pickle could run anything; code that lies beside weights is never run."""

from __future__ import annotations

import codecs
import json
import math
import re
import threading
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel, generate_from_stream
from langchain_core.messages import (
    AIMessageChunk,
    BaseMessage,
)
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import ConfigDict, PrivateAttr

from rag_app.answering.engine import Asked, Engine, Ticket, engine_of
from rag_app.answering.generation import EACH, FIRST
from rag_app.environment import limit_torch
from rag_app.errors import ChatModelError
from rag_app.models.catalogue import CATALOGUE, TRAITS, lacks
from rag_app.models.convert import engine_package
from rag_app.models.weights import folder_of, is_ready, used
from rag_app.supervision import held

_MARK = re.compile("\ue000([0-9]+)\ue001")  # stands for a text while the template is filled in

Said = tuple[str, str]  # role, text
Encode = Callable[[str], list[int]]
"""A text to ids, nothing added."""
Fill = Callable[[list[dict[str, str]]], str]
"""The messages of a conversation in the model's template."""


class TextTokens:
    """Conversations to ids, in which no text is more than text. For any number of threads."""

    def __init__(self, encode: Encode, fill: Fill, controls: Mapping[str, int]) -> None:
        self._encoded, self._fill = encode, fill
        longest_first = sorted(filter(None, controls), key=len, reverse=True)
        self._control = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        self._numbers = frozenset(controls.values())
        self._templates: dict[tuple[str, ...], list[str]] = {}
        self._lock = threading.Lock()

    def of_text(self, text: str) -> list[int]:
        """The ids of a text, none of them a control token, whatever it says."""
        ids: list[int] = []
        for piece in self._pieces(_clean(text)):
            ids += self._encode(piece)
        return [number for number in ids if number not in self._numbers]

    def of_messages(self, messages: Sequence[Said]) -> list[int]:
        """The ids of a conversation, up to where the model is to go on."""
        ids: list[int] = []
        for part in self._template(tuple(role for role, _ in messages)):
            mark = _MARK.fullmatch(part)
            ids += self.of_text(messages[int(mark[1])][1]) if mark else self._encode(part)
        return ids

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has."""
        return [len(self.of_text(text)) for text in texts]

    def _pieces(self, text: str) -> Iterator[str]:
        """The text in pieces that hold no control token: each is cut after its first letter."""
        begin = 0
        while found := self._control.search(text, begin):
            yield text[begin : found.start() + 1]
            begin = found.start() + 1
        yield text[begin:]

    def _encode(self, text: str) -> list[int]:
        return self._encoded(text) if text else []

    def _template(self, roles: tuple[str, ...]) -> list[str]:
        """The model's template filled in with marks, in parts: its own, and the marks."""
        with self._lock:
            if roles not in self._templates:
                said = [
                    {"role": role, "content": f"\ue000{place}\ue001"}
                    for place, role in enumerate(roles)
                ]
                parts = re.split("(\ue000[0-9]+\ue001)", self._fill(said))
                self._templates[roles] = [part for part in parts if part]
            return self._templates[roles]


class Tokens(TextTokens):
    """The tokens of one model of the catalogue."""

    def __init__(self, folder: Path) -> None:
        traits = json.loads((folder / TRAITS).read_text(encoding="utf-8"))
        tokenizer: Any = engine_package().Tokenizer(str(folder))

        def encode(text: str) -> list[int]:
            encoded = tokenizer.encode(text, add_special_tokens=False)
            ids: list[int] = encoded.input_ids.data[0].tolist()
            return ids

        def fill(said: list[dict[str, str]]) -> str:
            more = {"enable_thinking": False}
            return str(tokenizer.apply_chat_template(said, True, extra_context=more))

        self.controls: dict[str, int] = traits["controls"]
        super().__init__(encode, fill, self.controls)
        self._tokenizer = tokenizer
        self.window: int = traits["window"]
        self.end: int = traits["end"]
        self._bytes: dict[int, bytes] = {}

    @property
    def ends(self) -> list[int]:
        """Tokens after which an answer is over: the end of a message, of a text, a new message."""
        names = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
        return sorted({self.end, *(self.controls[n] for n in names if n in self.controls)})

    def text_of(self, ids: Sequence[int]) -> str:
        """Ids as text, without control tokens."""
        return self.bytes_of(ids).decode("utf-8", "ignore")

    def bytes_of(self, ids: Sequence[int]) -> bytes:
        """Ids as bytes, of which a letter may lack some at the end.

        Not by the engine's own way back to text, which drops letters that are not whole."""
        with self._lock:
            if not self._bytes:
                self._bytes = {n: word for word, n in self._tokenizer.get_vocab().items()}
        return b"".join(self._bytes.get(n, b"") for n in ids if n not in self._numbers)


def _clean(text: str) -> str:
    """As the tokenizer would make it, so that what is looked for cannot appear afterwards."""
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode("utf-8"))


class Decoder:
    """Tokens to text as they come: a letter of several tokens is held back until it is whole."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._letters = codecs.getincrementaldecoder("utf-8")("replace")

    def take(self, ids: Sequence[int]) -> str:
        """The text that these tokens complete."""
        return self._letters.decode(self._tokens.bytes_of(ids))


@lru_cache(maxsize=4)
def tokens_of(folder: str) -> Tokens:
    """The tokens of the model in a folder, read once."""
    return Tokens(Path(folder))


_ROLES = {"system": "system", "human": "user", "ai": "assistant"}
_WINDOW = 4_096  # tokens: what a processor reads in bearable time, and a quarter of what is kept


class _Streamed(BaseChatModel):
    """What answers piece by piece, and as a whole when it is asked for that."""

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))


class OpenVinoChatModel(_Streamed):
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

    def _ids(self, messages: Sequence[BaseMessage]) -> list[int]:
        said = [(_ROLES.get(m.type, "user"), str(m.text)) for m in messages]
        ids = self._tokens.of_messages(said)
        if len(ids) >= self.window:
            raise ChatModelError(
                f"The question and its passages have {len(ids):,} tokens, and the language model "
                f"sees {self.window:,}. Ask for less at once."
            )
        return ids

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
        logs, idle = kwargs.get("logs", False), kwargs.get("idle", False)
        ticket = self._engine.ask(Asked(ids, most, tokens.ends, logs=logs, idle=idle))
        try:
            for number, text in enumerate(_until(stop or [], _texts(ticket, tokens))):
                first = [] if number else ticket.tokens[:1]
                about = {FIRST: math.exp(first[0][1])} if first else {}
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
    if not opened.running:
        if lack := lacks(model):
            raise ChatModelError(lack)
        used(model, models)
    return opened


def _texts(ticket: Ticket, tokens: Tokens) -> Iterator[str]:
    """What is written, as text, in pieces as they come."""
    decoder = Decoder(tokens)
    for ids in ticket.steps():
        if text := decoder.take(ids):
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


class LocalChatModel(_Streamed):
    """One model in memory; one answer at a time."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    folder: str
    most_tokens: int
    threads: int = 0  # 0: all cores
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)
    _network: Any = PrivateAttr(default=None)
    _tokenizer: Any = PrivateAttr(default=None)
    _tokens: TextTokens = PrivateAttr()

    @property
    def _llm_type(self) -> str:
        return "transformers"

    @property
    def window(self) -> int:
        """Tokens that the model can see at once."""
        self.load()
        return int(getattr(self._network.config, "max_position_embeddings", 0) or 4_096)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has for this model."""
        self.load()
        return self._tokens.count(texts)

    def load(self) -> None:
        """Read the weights now. Raises ChatModelError."""
        with self._lock:
            if self._network is None:
                limit_torch(self.threads)
                self._tokenizer, self._network = _load(Path(self.folder))
                self._tokens = text_tokens(self._tokenizer)

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        from transformers import StoppingCriteriaList, TextIteratorStreamer

        self.load()
        given = self._encoded(messages)
        streamer = TextIteratorStreamer(self._tokenizer, skip_prompt=True, skip_special_tokens=True)
        let_go = threading.Event()
        failed: list[Exception] = []

        def write() -> None:
            with held() as attempt, self._lock:
                self._network.generate(
                    **given,
                    streamer=streamer,
                    max_new_tokens=self.most_tokens,
                    do_sample=False,
                    stopping_criteria=StoppingCriteriaList([_Stop(let_go)]),
                )
            if attempt.error is not None:  # raised again where the stream is read
                failed.append(attempt.error)
                streamer.end()

        thread = threading.Thread(target=write, name="rag-app-local-model", daemon=True)
        thread.start()
        try:
            for text in streamer:
                yield ChatGenerationChunk(message=AIMessageChunk(content=text))
        finally:
            let_go.set()
            thread.join()
        if failed:
            raise failed[0]

    def _encoded(self, messages: list[BaseMessage]) -> dict[str, Any]:
        import torch

        said = [(_ROLES.get(m.type, "user"), str(m.text)) for m in messages]
        ids = torch.tensor([self._tokens.of_messages(said)], device=self._network.device)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def text_tokens(tokenizer: Any) -> TextTokens:
    """What a tokenizer of transformers makes of conversations, its control tokens out of reach."""

    def encode(text: str) -> list[int]:
        ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def fill(said: list[dict[str, str]]) -> str:
        if tokenizer.chat_template:
            return str(
                tokenizer.apply_chat_template(said, add_generation_prompt=True, tokenize=False)
            )
        begins = tokenizer.bos_token_id in tokenizer("")["input_ids"]
        plain = "\n\n".join(f"{one['role']}: {one['content']}" for one in said)
        return f"{tokenizer.bos_token if begins else ''}{plain}\n\nassistant:"

    # A tokenizer may also have been given words and runs of spaces: they command nothing.
    controls = {
        one.content: number
        for number, one in tokenizer.added_tokens_decoder.items()
        if one.special or not (one.content.isspace() or one.content.isalnum())
    }
    named = zip(tokenizer.all_special_tokens, tokenizer.all_special_ids, strict=True)
    return TextTokens(encode, fill, {**controls, **dict(named)})


class _Stop:
    """Ends the generation of every row once an event is set."""

    def __init__(self, event: threading.Event) -> None:
        self._event = event

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        import torch

        return torch.full(
            (input_ids.shape[0],), self._event.is_set(), dtype=torch.bool, device=input_ids.device
        )


@lru_cache(maxsize=1)
def open_local(folder: str, most_tokens: int, threads: int = 0) -> LocalChatModel:
    """The model of a folder; only the last one is kept in memory. Raises ChatModelError."""
    path = Path(folder).expanduser()
    check_folder(path)
    return LocalChatModel(folder=str(path), most_tokens=most_tokens, threads=threads)


def check_folder(path: Path) -> None:
    """Whether a folder holds a model that may be loaded. Raises ChatModelError."""
    if not path.is_dir():
        raise ChatModelError(f"There is no folder {path}. Give the folder of a downloaded model.")
    if not (path / "config.json").is_file():
        raise ChatModelError(f"The folder {path} holds no model: config.json is missing.")
    if not any(path.glob("*.safetensors")):
        pickles = any(path.glob("*.bin")) or any(path.glob("*.pt")) or any(path.glob("*.pth"))
        why = "its weights are pickles, which can run code" if pickles else "it has no weights"
        raise ChatModelError(
            f"The model in {path} cannot be used: {why}. Get it in the safetensors format."
        )


def _load(path: Path) -> tuple[Any, Any]:
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    check_folder(path)
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
        network = AutoModelForCausalLM.from_pretrained(
            path,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=_dtype(),
        )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise ChatModelError(
            f"The model in {path} cannot be loaded ({type(error).__name__}). It may be damaged, or "
            "of a kind that writes no text."
        ) from error
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return tokenizer, network.to(device).eval()


def _dtype() -> Any:
    import torch

    if torch.cuda.is_available():
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    told = torch.cpu.get_capabilities()  # without its own products for it bf16 is slower
    fast = any(told.get(name, False) for name in ("avx512_bf16", "amx_bf16"))
    return torch.bfloat16 if fast else torch.float32
