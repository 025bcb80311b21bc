"""The truth, in one SQLite file."""

from rag_app.store.conversations import Conversation, Conversations, Exchange
from rag_app.store.documents import Indexed, Store

__all__ = ["Conversation", "Conversations", "Exchange", "Indexed", "Store"]
