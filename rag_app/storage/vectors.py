"""What the library asks of a vector database."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from rag_app.scope import HOME, Scope
from rag_app.types import of_documents

if TYPE_CHECKING:
    from chromadb import Collection as Chroma


@runtime_checkable
class VectorIndex(Protocol):
    """What the library asks of a vector database."""

    def upsert(
        self,
        document_id: str,
        ids: Sequence[str],
        vectors: Sequence[Sequence[float]],
        collection: str,
    ) -> None:
        """Write vectors of a document of a collection; writing twice is writing once."""

    def search(
        self,
        vector: Sequence[float],
        k: int,
        scope: Scope,
        documents: Sequence[str] | None = None,
    ) -> list[tuple[str, float]]:
        """The k nearest chunk ids with their cosine similarity, best first: of what the scope
        sees, and of these documents if they are given."""

    def ids(self, document_id: str) -> set[str]:
        """The chunk ids that a document has vectors for."""

    def vectors(self, document_id: str) -> dict[str, list[float]]:
        """The vectors of a document's chunks, by chunk id."""

    def of_chunks(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """The vectors of these chunks, by chunk id, as far as there are any."""

    def delete(self, document_id: str) -> None:
        """Forget a document."""

    def count(self) -> int:
        """How many vectors there are."""

    def compact(self, documents: Iterable[str], stop: threading.Event) -> bool:
        """Leave nothing on disk but vectors of these documents; False if `stop` was set before."""

    def close(self) -> None:
        """Let go of files and threads."""


class VectorIndexes(Protocol):
    """The vectors of a library: an index for each embedding model, told by its fingerprint."""

    def open(self, fingerprint: str, parts: bool = False) -> VectorIndex:
        """The index of a model; an empty one if there is none. `parts`: of parts of chunks, whose
        ids begin as theirs do."""

    def keep_only(self, fingerprints: Collection[str]) -> None:
        """Delete the vectors of all other models."""


# Exact search by meaning in a few documents, or in small collections.
#
# A graph of all vectors is slow where only a few of them may be found: it is walked until enough of
# these have been met, which in a large library is most of it (benchmarks/LOG.md). The vectors of
# what is asked for are kept here instead, as many as fit. Knows nothing of Chroma.

LARGEST = 2_000  # chunks of a document that is small
LARGEST_COLLECTION = 5_000  # of a collection that is
FEW, FEW_COLLECTIONS = 128, 32  # parts that are searched so at once
_FETCHED = 10_000  # vectors for one search
_KEPT = 40_000  # vectors, of 1.5 KB
_MOST_KEPT = 10_000  # parts, however small
_AT_ONCE = 250  # vectors asked of Chroma: it makes a number of Python's of each of their places


@dataclass(frozen=True, slots=True)
class Loaded:
    """Vectors of chunks, and the collection that they are of."""

    ids: Sequence[str]
    vectors: Sequence[Sequence[float]] | np.ndarray
    collection: str


Found = list[tuple[str, float]]
Load = Callable[[str], Loaded]
ChunkIds = Callable[[Scope, Sequence[str] | None, int], list[str]]
"""The ids of chunks that a scope sees, of some documents if they are given, so many at most."""


class ExactIndex:
    """The vectors of parts of the library that were asked for last: of documents, or of
    collections. Thread-safe."""

    def __init__(self, largest: int, few: int) -> None:
        self.largest, self._few = largest, few
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Loaded | None] = OrderedDict()
        self._changes = 0

    def search(
        self,
        vector: Sequence[float],
        k: int,
        scope: Scope,
        parts: Sequence[str],
        load: Load,
        chosen: Callable[[str], bool] | None = None,
    ) -> Found | None:
        """The k nearest chunks with their cosine; None where this is not the way to find them.

        `load` gives ids and vectors of a part; of a large one, more than `largest`. `chosen`: which
        chunks of the parts are searched, by their ids; all of them if it is not given."""
        known = self._parts(list(dict.fromkeys(parts)), load)
        if known is None:
            return None
        asked = unit(np.asarray([vector], dtype=np.float32))[0]
        found: Found = []
        for part in known:
            if not scope.sees(part.collection):
                continue
            ids, vectors = part.ids, np.asarray(part.vectors)
            if chosen:
                rows = [n for n, one in enumerate(ids) if chosen(one)]
                ids, vectors = [ids[n] for n in rows], vectors[rows]
            if len(ids):
                cosines = vectors @ asked
                best = np.argsort(-cosines, kind="stable")[:k]
                # Those that are as near as the last of them may come first by their ids.
                best = np.flatnonzero(cosines >= cosines[best[-1]])
                found += [(ids[n], float(cosines[n])) for n in map(int, best)]
        return sorted(found, key=lambda one: (-one[1], one[0]))[:k]

    def holds(self, parts: Sequence[str]) -> bool:
        """Whether the vectors of all these parts are at hand."""
        with self._lock:
            return all(self._kept.get(part) is not None for part in parts)

    def _parts(self, names: Sequence[str], load: Load) -> list[Loaded] | None:
        """The vectors of all of them; None if one is large, or too much is missing."""
        if len(names) > self._few:
            return None
        parts, fetched = [], 0
        for name in names:
            with self._lock:
                kept = name in self._kept
            if not kept and fetched >= _FETCHED:  # the next search goes on from here
                return None
            part = self._part(name, load)
            if part is None:
                return None
            fetched += 0 if kept else len(part.ids)
            parts.append(part)
        return parts

    def forget(self, name: str) -> None:
        """Vectors of a part are changing, or have changed."""
        with self._lock:
            self._changes += 1
            self._kept.pop(name, None)

    def grown(self, name: str) -> None:
        """A part has got more vectors: one that was too large still is."""
        with self._lock:
            self._changes += 1
            if self._kept.get(name) is not None:
                del self._kept[name]

    def shrunk(self, document: str) -> None:
        """The vectors of a document are gone, from whichever parts they were in."""
        inside = of_documents([document])
        with self._lock:
            self._changes += 1
            for name, part in list(self._kept.items()):
                if part is None or any(map(inside, part.ids)):
                    del self._kept[name]

    def _part(self, name: str, load: Load) -> Loaded | None:
        """Ids and unit vectors of a part; None if it is large."""
        with self._lock:
            before = self._changes
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
        loaded = load(name)
        part = None
        if len(loaded.ids) <= self.largest:
            rows = unit(np.asarray(loaded.vectors, dtype=np.float32))
            part = Loaded(list(loaded.ids), rows, loaded.collection)
        with self._lock:
            if before == self._changes:  # else it may be out of date by now
                self._kept[name] = part
                self._make_room()
        return part

    def _make_room(self) -> None:
        total = sum(len(part.ids) for part in self._kept.values() if part)
        while total > _KEPT or len(self._kept) > _MOST_KEPT:
            _, oldest = self._kept.popitem(last=False)
            total -= len(oldest.ids) if oldest else 0


def unit(vectors: np.ndarray) -> np.ndarray:
    """The same of length 1, each row by itself; one of zeros stays as it is."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    made: np.ndarray = vectors / np.maximum(lengths, 1e-12)
    return made


# Questions to a Chroma collection: the nearest, the nearest among some, the vectors.
#
# A document is known by what Chroma keeps beside each vector, `{"document": its id}`, and where it
# is not at `HOME`, `"collection"` and `"away"`. Filters name collections and documents that a
# person chose; never the documents of a collection.

_WIDE, _WIDER = 5, 50  # times as many as are asked for, to be chosen from
_AWAY = "away"  # not at `HOME`


def metadata_of(document_id: str, collection: str) -> dict[str, str | bool]:
    """What is kept beside the vectors of a document."""
    if collection == HOME:
        return {"document": document_id}
    return {"document": document_id, "collection": collection, _AWAY: True}


def collection_of(metadata: Mapping[str, Any] | None) -> str:
    """The collection of a vector."""
    return str((metadata or {}).get("collection", HOME))


def where(scope: Scope, documents: Collection[str] | None = None) -> Any:
    """The filter of a scope, and of these documents if they are given; None if there is none."""
    only: list[Any] = []
    if documents is not None:
        only.append({"document": {"$in": sorted(documents)}})
    if not scope.everything:
        away = [one for one in scope.collections if one != HOME]
        seen: list[Any] = [{"collection": {"$in": away}}] if away else []
        if scope.sees(HOME):
            seen.append({_AWAY: {"$ne": True}})
        only.append(seen[0] if len(seen) == 1 else {"$or": seen})
    return None if not only else only[0] if len(only) == 1 else {"$and": only}


def nearest(collection: Chroma, vector: Sequence[float], k: int, only: Any = None) -> Found:
    """The k nearest chunk ids with their cosine similarity, best first."""
    found = collection.query(
        query_embeddings=list(vector), n_results=k, where=only, include=["distances"]
    )
    distances = found["distances"]
    assert distances is not None  # it was asked for
    return [(i, 1.0 - d) for i, d in zip(found["ids"][0], distances[0], strict=True)]


def among(
    collection: Chroma,
    vector: Sequence[float],
    k: int,
    scope: Scope,
    documents: Collection[str] | None = None,
) -> Found:
    """The k nearest chunks of what a scope sees, and of these documents if they are given.

    Chroma gathers all chunks that a filter lets through before it looks at one: a second for
    250,000 of them. Where many are let through, the nearest of all are soon enough of these."""
    chosen = None if documents is None else of_documents(documents)
    for wide in (_WIDE * k, _WIDER * k):
        found = collection.query(
            query_embeddings=list(vector), n_results=wide, include=["distances", "metadatas"]
        )
        distances, metadatas = found["distances"], found["metadatas"]
        assert distances is not None and metadatas is not None  # they were asked for
        kept = [
            (i, 1.0 - d)
            for i, d, about in zip(found["ids"][0], distances[0], metadatas[0], strict=True)
            if scope.sees(collection_of(about)) and (chosen is None or chosen(i))
        ]
        if len(kept) >= k or len(distances[0]) < wide:
            return kept[:k]
    return nearest(collection, vector, k, where(scope, documents))


def vectors_of(
    collection: Chroma, only: Any, limit: int | None = None
) -> tuple[list[str], Sequence[Any], list[Any]]:
    """Ids, vectors and what is kept beside them, `limit` of them at most."""
    found = collection.get(where=only, limit=limit, include=["embeddings", "metadatas"])
    embeddings: Any = found["embeddings"]
    metadatas: Any = found["metadatas"]
    assert embeddings is not None and metadatas is not None  # they were asked for
    return found["ids"], embeddings, metadatas


def loaded(
    chroma: Chroma, scope: Scope, documents: Sequence[str] | None, most: int, known: ChunkIds | None
) -> Loaded:
    """The same for exact search: of one collection, `most` of them at most.

    What Chroma finds by a filter takes as long as there is anything: 17 ms of CPU for 200 vectors
    among 123,000, where those of known ids take 5 (benchmarks/LOG.md)."""
    if known is None:
        ids, vectors, metadatas = vectors_of(chroma, where(scope, documents), most)
        return Loaded(ids, vectors, collection_of(metadatas[0] if metadatas else None))
    wanted = known(scope, documents, most)
    if not wanted:  # Chroma would give all that there is
        return Loaded([], (), HOME)
    if len(wanted) == most:  # it is large, however many of these have vectors by now
        return Loaded(wanted, (), HOME)
    ids, held = list[str](), list[np.ndarray]()
    for first in range(0, len(wanted), _AT_ONCE):
        found = chroma.get(wanted[first : first + _AT_ONCE], include=["embeddings"])
        assert found["embeddings"] is not None  # they were asked for
        if found["ids"]:
            ids += found["ids"]
            held.append(np.asarray(found["embeddings"], dtype=np.float32))
    if not ids:
        return Loaded([], (), HOME)
    metadatas = chroma.get(ids[:1], include=["metadatas"])["metadatas"] or []
    return Loaded(ids, np.concatenate(held), collection_of(next(iter(metadatas), None)))
