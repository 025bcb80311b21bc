"""The truth, in one SQLite file."""

from rag_app.store.contents import Indexed
from rag_app.store.conversations import Conversation, Conversations
from rag_app.store.documents import Store
from rag_app.store.exchanges import Exchange

__all__ = ["Conversation", "Conversations", "Exchange", "Indexed", "Store"]
