"""The truth, in one SQLite file."""

from rag_app.store.documents import Indexed, Store

__all__ = ["Indexed", "Store"]
