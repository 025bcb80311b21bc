"""Questions to a Chroma collection: the nearest, the nearest among some documents, the vectors.

A document is known by what Chroma keeps beside each vector: `{"document": its id}`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rag_app.types import of_documents
from rag_app.vectors.small_documents import Found

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection
    from chromadb.api.types import GetResult

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
    return handed_out(
        collection.get(where={"document": document_id}, limit=limit, include=["embeddings"])
    )


def handed_out(found: GetResult) -> tuple[list[str], Sequence[Any]]:
    """Ids and vectors of what Chroma found."""
    embeddings: Any = found["embeddings"]
    assert embeddings is not None  # they were asked for
    return found["ids"], embeddings
