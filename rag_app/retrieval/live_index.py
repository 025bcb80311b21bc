"""The embedding model and the vectors that answer now, and those that are to take over.

To everybody else they are one embedder and one index. What one model made is remembered with its
texts: after another has taken over it is made again, so that no vector meets the wrong index."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rag_app.retrieval.embedding import Embedder
from rag_app.scope import Scope
from rag_app.storage.vectors import VectorIndex


@dataclass(frozen=True, slots=True, eq=False)
class ModelIndex:
    """A model, and the vectors that it made."""

    choice: str  # as the setting names the model; "" is the built-in one
    embedder: Embedder
    vectors: VectorIndex


class Live:
    """Who answers, and who is to take over."""

    def __init__(self, current: ModelIndex, coming: ModelIndex | None = None) -> None:
        self.current, self.coming = current, coming
        self._changed = threading.Condition()
        self._inside = 0

    @contextmanager
    def using(self) -> Iterator[ModelIndex]:
        """Who answers; nobody takes over inside the block."""
        with self._changed:
            self._inside += 1
        try:
            yield self.current
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self, stop: threading.Event) -> Iterator[bool]:
        """Nobody uses who answers inside the block; False where `stop` was set before."""
        with self._changed:
            while self._inside and not stop.is_set():
                self._changed.wait(0.1)
            yield not stop.is_set()


class _MadeVectors(list[Any]):
    """What a model made of texts."""

    def __init__(self, made: Sequence[Any], by: ModelIndex, texts: Sequence[str]) -> None:
        super().__init__(made)
        self.by, self.texts = by, texts


class LiveEmbedder(Embedder):
    """The model that answers now."""

    def __init__(self, live: Live) -> None:
        self._live = live

    @property
    def fingerprint(self) -> str:
        """Of the model that answers now."""
        return self._live.current.embedder.fingerprint

    @property
    def english(self) -> bool:  # type: ignore[override]  # another model may take over
        """Whether the model that answers now was made for English alone."""
        return self._live.current.embedder.english

    def warm(self) -> None:
        """Load the model now. Raises ModelUnavailable."""
        self._live.current.embedder.warm()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, rather too many than too few."""
        return self._live.current.embedder.count_tokens(texts)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in the order of `texts`. Raises ModelUnavailable."""
        pair = self._live.current
        return _MadeVectors(pair.embedder.embed_documents(texts), pair, texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question. Raises ModelUnavailable."""
        pair = self._live.current
        return _MadeVectors(pair.embedder.embed_query(text), pair, [text])


class LiveVectors:
    """The index that answers now; what is deleted goes from the coming one, too."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def upsert(
        self,
        document_id: str,
        ids: Sequence[str],
        vectors: Sequence[Sequence[float]],
        collection: str,
    ) -> None:
        """Write vectors of a document of a collection; writing twice is writing once."""
        with self._live.using() as pair:
            if isinstance(vectors, _MadeVectors) and vectors.by is not pair:
                vectors = pair.embedder.embed_documents(list(vectors.texts))
            pair.vectors.upsert(document_id, ids, list(vectors), collection)

    def search(
        self,
        vector: Sequence[float],
        k: int,
        scope: Scope,
        documents: Sequence[str] | None = None,
    ) -> list[tuple[str, float]]:
        """The k nearest chunk ids with their cosine similarity, best first: of what the scope
        sees, and of these documents if they are given."""
        with self._live.using() as pair:
            if isinstance(vector, _MadeVectors) and vector.by is not pair:
                vector = pair.embedder.embed_query(vector.texts[0])
            return pair.vectors.search(list(vector), k, scope, documents)

    def ids(self, document_id: str) -> set[str]:
        """The chunk ids that a document has vectors for."""
        with self._live.using() as pair:
            return pair.vectors.ids(document_id)

    def vectors(self, document_id: str) -> dict[str, list[float]]:
        """The vectors of a document's chunks, by chunk id."""
        with self._live.using() as pair:
            return pair.vectors.vectors(document_id)

    def delete(self, document_id: str) -> None:
        """Forget a document."""
        with self._live.using():
            for pair in self._pairs():
                pair.vectors.delete(document_id)

    def count(self) -> int:
        """How many vectors there are."""
        with self._live.using() as pair:
            return pair.vectors.count()

    def compact(self, documents: Iterable[str], stop: threading.Event) -> bool:
        """Leave nothing on disk but vectors of these documents; False if `stop` was set before."""
        kept = list(documents)
        with self._live.using():
            return all(pair.vectors.compact(kept, stop) for pair in self._pairs())

    def close(self) -> None:
        """Let go of files and threads."""
        for pair in self._pairs():
            pair.vectors.close()

    def _pairs(self) -> list[ModelIndex]:
        return [pair for pair in (self._live.current, self._live.coming) if pair is not None]
