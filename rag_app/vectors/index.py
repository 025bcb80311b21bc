"""What the library asks of a vector database."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable


@runtime_checkable
class VectorIndex(Protocol):
    """What the library asks of a vector database."""

    def upsert(
        self, document_id: str, ids: Sequence[str], vectors: Sequence[Sequence[float]]
    ) -> None:
        """Write vectors; writing twice is writing once."""

    def search(
        self, vector: Sequence[float], k: int, documents: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """The k nearest chunk ids with their cosine similarity, best first."""

    def ids(self, document_id: str) -> set[str]:
        """The chunk ids that a document has vectors for."""

    def vectors(self, document_id: str) -> dict[str, list[float]]:
        """The vectors of a document's chunks, by chunk id."""

    def delete(self, document_id: str) -> None:
        """Forget a document."""

    def count(self) -> int:
        """How many vectors there are."""

    def compact(self, documents: Iterable[str], stop: threading.Event) -> bool:
        """Leave nothing on disk but vectors of these documents; False if `stop` was set before."""

    def close(self) -> None:
        """Let go of files and threads."""
