"""Where documents are kept: what is known of them, their files, their vectors."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rag_app.disk.originals import Originals
from rag_app.embedding import Embedder
from rag_app.store import Conversations, Store
from rag_app.types import Document
from rag_app.vectors import VectorIndex


@dataclass(frozen=True, slots=True)
class Stock:
    """All that is kept of a library's documents."""

    store: Store
    originals: Originals
    vectors: VectorIndex
    embedder: Embedder  # that makes the vectors
    conversations: Conversations  # which hold words of documents, too

    def original(self, document: Document) -> Path:
        """The file as it was handed in."""
        return self.originals.path(document.id, document.suffix)

    def readable(self, document: Document) -> Path:
        """The file to read: as it was handed in, or unlocked."""
        return self.originals.readable(document.id, document.suffix)
