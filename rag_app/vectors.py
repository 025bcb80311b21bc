"""Chunk id to vector, in Chroma: a cache that can be rebuilt from the store.

Holds ids, vectors and the document ids needed for filtering; no text. Knows nothing of models."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection

_WRITE_BATCH = 1_000  # Chroma takes 5,461 at once
_HNSW: Any = {"space": "cosine", "ef_construction": 100, "ef_search": 100, "max_neighbors": 16}


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

    def close(self) -> None:
        """Let go of files and threads."""


class ChromaVectors:
    """A `VectorIndex` in an embedded Chroma, in a folder of its own.

    The collection's name carries the embedder's fingerprint, so vectors of two models never mix.
    A folder that Chroma cannot open is set aside and begun anew: the store can fill it again."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self._folder = folder.resolve()
        self._lock = threading.Lock()  # guards opening; Chroma's client is thread-safe
        self._client: Client | None = None
        self._name = f"chunks-{fingerprint}"
        self._collection: Collection | None = None

    def upsert(
        self, document_id: str, ids: Sequence[str], vectors: Sequence[Sequence[float]]
    ) -> None:
        """Write vectors; writing twice is writing once."""
        collection = self._open()
        for first in range(0, len(ids), _WRITE_BATCH):
            part = list(ids[first : first + _WRITE_BATCH])
            collection.upsert(
                ids=part,
                embeddings=list(vectors[first : first + _WRITE_BATCH]),
                metadatas=[{"document": document_id}] * len(part),
            )

    def search(
        self, vector: Sequence[float], k: int, documents: Sequence[str] | None = None
    ) -> list[tuple[str, float]]:
        """The k nearest chunk ids with their cosine similarity, best first."""
        found = self._open().query(
            query_embeddings=list(vector),
            n_results=k,
            where=_only(documents),
            include=["distances"],
        )
        distances = found["distances"]
        assert distances is not None  # it was asked for
        return [(i, 1.0 - d) for i, d in zip(found["ids"][0], distances[0], strict=True)]

    def ids(self, document_id: str) -> set[str]:
        """The chunk ids that a document has vectors for."""
        return set(self._open().get(where={"document": document_id}, include=[])["ids"])

    def vectors(self, document_id: str) -> dict[str, list[float]]:
        """The vectors of a document's chunks, by chunk id."""
        found = self._open().get(where={"document": document_id}, include=["embeddings"])
        embeddings = found["embeddings"]
        assert embeddings is not None  # they were asked for
        return {i: list(map(float, v)) for i, v in zip(found["ids"], embeddings, strict=True)}

    def delete(self, document_id: str) -> None:
        """Forget a document."""
        self._open().delete(where={"document": document_id})

    def count(self) -> int:
        """How many vectors there are."""
        return self._open().count()

    def close(self) -> None:
        """Let go of files and threads."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = self._collection = None

    def _open(self) -> Collection:
        with self._lock:
            if self._collection is None:
                self._client, self._collection = _open_or_begin_anew(self._folder, self._name)
            return self._collection


def _only(documents: Sequence[str] | None) -> Any:
    return None if documents is None else {"document": {"$in": list(documents)}}


def _open_or_begin_anew(folder: Path, name: str) -> tuple[Client, Collection]:
    from chromadb.api.shared_system_client import SharedSystemClient

    _forget_set_aside(folder)
    try:
        return _open_chroma(folder, name)
    except Exception:  # noqa: BLE001 - Chroma raises what its parts raise; a cache may be begun anew
        SharedSystemClient.clear_system_cache()
        # Renamed, not deleted: something of the broken client may still hold its files open.
        folder.rename(folder.with_name(f"{folder.name}.torn"))
        return _open_chroma(folder, name)


def _forget_set_aside(folder: Path) -> None:
    shutil.rmtree(folder.with_name(f"{folder.name}.torn"), ignore_errors=True)


def _open_chroma(folder: Path, name: str) -> tuple[Client, Collection]:
    import chromadb
    from chromadb.config import Settings

    folder.mkdir(parents=True, exist_ok=True)
    client: Any = chromadb.PersistentClient(
        path=str(folder), settings=Settings(anonymized_telemetry=False)
    )
    collection = client.get_or_create_collection(
        name,
        embedding_function=None,
        configuration={"hnsw": _HNSW},
    )
    collection.count()  # a torn index shows here, not at the first question
    return client, collection
