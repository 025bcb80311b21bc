"""One model embeds what another has embedded before: all that is in the store, less what it has."""

from __future__ import annotations

from collections.abc import Callable

from rag_app.encoders.live_index import Pair
from rag_app.errors import UnknownDocument
from rag_app.finding.placing import Placing
from rag_app.questions import EMBEDDED
from rag_app.store import Store
from rag_app.types import Document

_TEXTS_PER_STEP = 32  # that long it takes to stop, and for the page to hear how far it is


class CatchingUp:
    """Embeds, and says how far it is; `stopped` is asked between two steps."""

    def __init__(self, store: Store, stopped: Callable[[], bool]) -> None:
        self._store, self._stopped = store, stopped
        self.done = self.total = 0  # passages

    def begin(self) -> None:
        """Nothing is known yet of what there is to do."""
        self.done = self.total = 0

    def documents(self) -> list[Document]:
        """What there is to be embedded."""
        return [d for d in self._store.documents() if d.status in EMBEDDED]

    def lacks_nothing(self, pair: Pair) -> bool:
        """Whether a model has a vector for every passage."""
        return pair.vectors.count() >= sum(d.chunks for d in self.documents())

    def embed(self, pair: Pair) -> bool:
        """Embed what the model has not seen; False if that had to stop. Raises ModelUnavailable."""
        documents = self.documents()
        self.done, self.total = 0, sum(d.chunks for d in documents)
        return all(self._embedded(pair, document) for document in documents)

    def _embedded(self, pair: Pair, document: Document) -> bool:
        there = pair.vectors.ids(document.id)
        indexed = self._store.indexed(document.id)
        missing = [one for one in indexed if one.chunk.id not in there]
        self.done += len(indexed) - len(missing)
        placing = Placing(pair.embedder, self._store.pages(document.id), indexed)
        for first in range(0, len(missing), _TEXTS_PER_STEP):
            if self._stopped():
                return False
            step = missing[first : first + _TEXTS_PER_STEP]
            pair.vectors.upsert(document.id, [one.chunk.id for one in step], placing.embed(step))
            self.done += len(step)
            try:
                now = self._store.document(document.id)
            except UnknownDocument:  # removed while its passages were being embedded
                pair.vectors.delete(document.id)
                return True
            if now.status not in EMBEDDED:  # read anew: its passages may say other things
                pair.vectors.delete(document.id)
                return True
        return True
