"""The truth, in one SQLite file."""

from rag_app.storage.contents import Indexed
from rag_app.storage.conversations import Conversation, Conversations, Exchange
from rag_app.storage.documents import Store

__all__ = ["Conversation", "Conversations", "Exchange", "Indexed", "Store"]
