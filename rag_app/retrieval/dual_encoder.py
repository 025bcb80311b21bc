"""Questions through an encoder of their own, which learnt from answers (`rag-app train`).

Passages, and the index of their vectors, stay as they are: only the question's side was trained
(Lewis et al. 2020, section 2.4). An encoder comes from a local folder in the format of
transformers, as safetensors, with no code of its own; the mean over its tokens is the vector."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.errors import ModelUnavailable
from rag_app.retrieval.embedding import Embedder

if TYPE_CHECKING:
    from torch import Tensor


_LONGEST_QUESTION = 256  # tokens; what comes after is not read


class TextEncoder:
    """One encoder, loaded when it is first needed. Thread-safe, except for training."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._loading = threading.Lock()
        self._computing = threading.Lock()
        self._loaded: tuple[Any, Any] | None = None

    def load(self) -> tuple[Any, Any]:
        """(tokenizer, network). Raises ModelUnavailable."""
        with self._loading:
            if self._loaded is None:
                try:
                    self._loaded = _load(self.folder)
                except (ImportError, OSError, RuntimeError, ValueError, KeyError) as error:
                    raise ModelUnavailable(
                        f"The encoder in {self.folder.name} could not be loaded: {error}"
                    ) from error
            return self._loaded

    def vectors(self, texts: Sequence[str]) -> Tensor:
        """One row for each text, (n, d); gradients flow if they are on."""
        tokenizer, network = self.load()
        read = tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=min(_LONGEST_QUESTION, tokenizer.model_max_length),
            return_tensors="pt",
        ).to(network.device)
        mask: Tensor = read["attention_mask"]
        out = network(input_ids=read["input_ids"], attention_mask=mask)
        hidden: Tensor = out.last_hidden_state.float()
        weights = mask[..., None].to(hidden.dtype)
        return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)

    def embed(self, texts: Sequence[str]) -> Tensor:
        """The same without gradients, by one thread at a time: a tokenizer is not entered twice."""
        import torch

        with self._computing, torch.inference_mode():
            return self.vectors(texts)


def _load(folder: Path) -> tuple[Any, Any]:
    import transformers
    from transformers.utils import logging

    local = {"local_files_only": True, "trust_remote_code": False}
    logging.disable_progress_bar()
    if not folder.is_dir():  # else its name would be looked up on the hub
        raise FileNotFoundError(f"there is no folder {folder}")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **local)
    network, told = transformers.AutoModel.from_pretrained(
        folder, use_safetensors=True, output_loading_info=True, **local
    )
    missing = [name for name in told["missing_keys"] if "pooler" not in name]  # not used
    if missing:
        raise ValueError(f"weights are missing, {sorted(missing)[0]} among them")
    return tokenizer, network.eval()


class TunedQuestions(Embedder):
    """An embedder whose questions go another way. Both sides are of unit length."""

    def __init__(self, passages: Embedder, folder: Path) -> None:
        self._passages = passages
        self.english = passages.english
        self._questions = TextEncoder(folder)

    @property
    def fingerprint(self) -> str:
        """That of the passages: their vectors are the index."""
        return self._passages.fingerprint

    def warm(self) -> None:
        """Load both models now. Raises ModelUnavailable."""
        self._passages.warm()
        self._questions.load()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Passages, and every text that is compared with passages."""
        return self._passages.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question. Raises ModelUnavailable."""
        import torch

        vector = torch.nn.functional.normalize(self._questions.embed([text])[0], dim=0)
        found: list[float] = vector.tolist()
        return found

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """As the passages' model counts them."""
        return self._passages.count_tokens(texts)
