"""Chunk id to vector, in Chroma: a cache that can be rebuilt from the store."""

from rag_app.vectors.chroma import ChromaVectors
from rag_app.vectors.index import VectorIndex

__all__ = ["ChromaVectors", "VectorIndex"]
