"""Questions through an encoder that learnt from answers; passages as before.

The index stays as it is: only the question's side was trained (Lewis et al. 2020, section 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rag_app.embedding import Embedder
from rag_app.encoders.two_encoders import EncoderSource, TextEncoder


class TunedQuestions(Embedder):
    """An embedder whose questions go another way. Both sides are of unit length."""

    def __init__(self, passages: Embedder, folder: Path) -> None:
        self._passages = passages
        self.english = passages.english
        self._questions = TextEncoder(EncoderSource(folder, pooling="mean"))

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
