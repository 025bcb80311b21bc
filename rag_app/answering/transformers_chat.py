"""A transformers chat model from a folder on this machine, as a LangChain chat model.

safetensors only: a checkpoint that is a pickle could run anything. Code that lies beside weights is
never run."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import ConfigDict, PrivateAttr

from rag_app.answering.chatml import TextTokens
from rag_app.errors import ChatModelError
from rag_app.retrieval.embedding import has_fast_bf16

_ROLES = {"system": "system", "human": "user", "ai": "assistant"}


class LocalChatModel(BaseChatModel):
    """One model in memory; one answer at a time."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    folder: str
    most_tokens: int
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
                self._tokenizer, self._network = _load(Path(self.folder))
                self._tokens = tokens_of(self._tokenizer)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = "".join(
            str(chunk.text) for chunk in self._stream(messages, stop, run_manager, **kwargs)
        )
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content=text))])

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
            try:
                with self._lock:
                    self._network.generate(
                        **given,
                        streamer=streamer,
                        max_new_tokens=self.most_tokens,
                        do_sample=False,
                        stopping_criteria=StoppingCriteriaList([_Stop(let_go)]),
                    )
            except Exception as error:  # noqa: BLE001 - raised again where the stream is read
                failed.append(error)
                streamer.end()

        thread = threading.Thread(target=write, name="rag-app-local-model", daemon=True)
        thread.start()
        try:
            for text in streamer:
                if text:
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


def tokens_of(tokenizer: Any) -> TextTokens:
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
def open_local(folder: str, most_tokens: int) -> LocalChatModel:
    """The model of a folder; only the last one is kept in memory. Raises ChatModelError."""
    path = Path(folder).expanduser()
    check_folder(path)
    return LocalChatModel(folder=str(path), most_tokens=most_tokens)


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
    return torch.bfloat16 if has_fast_bf16() else torch.float32
