"""What the library asks of a vector database."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from rag_app.types import of_documents

if TYPE_CHECKING:
    from chromadb import Collection


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


# Exact search by meaning in a few documents.
#
# A graph of all vectors is slow where only a few of them may be found: it is walked until enough of
# these have been met, which in a large library is most of it (benchmarks/LOG.md). The vectors of
# documents that are asked for are kept here instead, as many as fit. Knows nothing of Chroma.

LARGEST = 2_000  # chunks of a document that is small
_FEW = 128  # documents
_FETCHED = 10_000  # vectors for one search
_KEPT = 40_000  # vectors, of 1.5 KB

Loaded = tuple[Sequence[str], Sequence[Sequence[float]] | np.ndarray]
Found = list[tuple[str, float]]


class SmallDocuments:
    """The vectors of documents that were asked for last. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[list[str], np.ndarray] | None] = OrderedDict()
        self._changes = 0

    def search(
        self,
        vector: Sequence[float],
        k: int,
        documents: Sequence[str],
        load: Callable[[str], Loaded],
    ) -> Found | None:
        """The k nearest chunks with their cosine; None where this is not the way to find them.

        `load` gives ids and vectors of a document; of a large one, more than `LARGEST`."""
        known = self._parts(list(dict.fromkeys(documents)), load)
        if known is None:
            return None
        asked = _unit(np.asarray([vector], dtype=np.float32))[0]
        found = [
            (chunk_id, float(cosine))
            for ids, vectors in known
            if ids
            for chunk_id, cosine in zip(ids, vectors @ asked, strict=True)
        ]
        return sorted(found, key=lambda one: (-one[1], one[0]))[:k]

    def _parts(
        self, documents: Sequence[str], load: Callable[[str], Loaded]
    ) -> list[tuple[list[str], np.ndarray]] | None:
        """The vectors of all of them; None if one is large, or too much is missing."""
        if len(documents) > _FEW:
            return None
        parts, fetched = [], 0
        for document in documents:
            with self._lock:
                kept = document in self._kept
            if not kept and fetched >= _FETCHED:  # the next search goes on from here
                return None
            part = self._part(document, load)
            if part is None:
                return None
            fetched += 0 if kept else len(part[0])
            parts.append(part)
        return parts

    def forget(self, document: str) -> None:
        """Its vectors are changing, or have changed."""
        with self._lock:
            self._changes += 1
            self._kept.pop(document, None)

    def _part(
        self, document: str, load: Callable[[str], Loaded]
    ) -> tuple[list[str], np.ndarray] | None:
        """Ids and unit vectors of a document; None if it is large."""
        with self._lock:
            before = self._changes
            if document in self._kept:
                self._kept.move_to_end(document)
                return self._kept[document]
        ids, vectors = load(document)
        part = None
        if len(ids) <= LARGEST:
            part = list(ids), _unit(np.asarray(vectors, dtype=np.float32))
        with self._lock:
            if before == self._changes:  # else it may be out of date by now
                self._kept[document] = part
                self._make_room()
        return part

    def _make_room(self) -> None:
        total = sum(len(part[0]) for part in self._kept.values() if part)
        while total > _KEPT:
            _, oldest = self._kept.popitem(last=False)
            total -= len(oldest[0]) if oldest else 0


def _unit(vectors: np.ndarray) -> np.ndarray:
    if not vectors.size:
        return vectors
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    made: np.ndarray = vectors / np.maximum(lengths, 1e-12)
    return made


# Questions to a Chroma collection: the nearest, the nearest among some documents, the vectors.
#
# A document is known by what Chroma keeps beside each vector: `{"document": its id}`.

_WIDE, _WIDER = 5, 50  # times as many as are asked for, to be chosen from


def nearest(collection: Collection, vector: Sequence[float], k: int, where: Any = None) -> Found:
    """The k nearest chunk ids with their cosine similarity, best first."""
    found = collection.query(
        query_embeddings=list(vector), n_results=k, where=where, include=["distances"]
    )
    distances = found["distances"]
    assert distances is not None  # it was asked for
    return [(i, 1.0 - d) for i, d in zip(found["ids"][0], distances[0], strict=True)]


def among(collection: Collection, vector: Sequence[float], k: int, documents: set[str]) -> Found:
    """The k nearest chunks of these documents.

    Chroma gathers all chunks that a filter lets through before it looks at one: a second for
    250,000 of them. Where many are let through, the nearest of all are soon enough of these."""
    if not documents:
        return []
    chosen = of_documents(documents)
    for wide in (_WIDE * k, _WIDER * k):
        found = nearest(collection, vector, wide)
        kept = [one for one in found if chosen(one[0])]
        if len(kept) >= k or len(found) < wide:
            return kept[:k]
    return nearest(collection, vector, k, {"document": {"$in": sorted(documents)}})


def vectors_of(
    collection: Collection, document_id: str, limit: int | None = None
) -> tuple[list[str], Sequence[Any]]:
    """Ids and vectors of a document's chunks, `limit` of them at most."""
    found = collection.get(where={"document": document_id}, limit=limit, include=["embeddings"])
    embeddings: Any = found["embeddings"]
    assert embeddings is not None  # they were asked for
    return found["ids"], embeddings
