"""The chat models that can be chosen: what runs on this machine, and what can be fetched."""

from __future__ import annotations

import threading

from rag_app.answering.chat_models import Terms
from rag_app.answering.choice import LOCAL, parse
from rag_app.answering.servers import Server, running, try_out
from rag_app.downloads.downloading import Fetch, discard, folder_of, is_hub_id, local_folder


class Shelf:
    """One download at a time; everything else is looked up when it is asked for."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._lock = threading.Lock()
        self._fetch: Fetch | None = None

    def close(self) -> None:
        """Stop a download that is under way; what has arrived is kept."""
        if self._fetch is not None:
            self._fetch.stop()

    def servers(self) -> list[Server]:
        """The servers of chat models that run on this machine now."""
        return running()

    def try_out(self, generator: str) -> str:
        """One sentence that a chat model works. Raises ChatModelError with one on what is wrong."""
        return try_out(parse(generator), self._terms)

    def missing(self, generator: str) -> str:
        """The hub's name of a model that is chosen and not here yet; else empty."""
        choice = parse(generator)
        here = local_folder(choice.model, self._terms.models).is_dir()
        return choice.model if choice.kind in LOCAL and is_hub_id(choice.model) and not here else ""

    def fetched(self, generator: str) -> str:
        """The hub's name of a model that is chosen and was downloaded; else empty."""
        model = parse(generator).model
        return model if is_hub_id(model) and folder_of(model, self._terms.models).is_dir() else ""

    def fetch_again(self, model: str) -> Fetch:
        """Download a model anew: what is here of it is damaged."""
        if self._fetch is None or not self._fetch.running:
            discard(model, self._terms.models)
        return self.fetch(model)

    def fetch(self, model: str) -> Fetch:
        """Begin to download a model, or the download that is under way."""
        with self._lock:
            if self._fetch is None or not self._fetch.running:
                self._fetch = Fetch(model, self._terms.models)
            return self._fetch

    @property
    def fetching(self) -> Fetch | None:
        """The last download that was begun."""
        return self._fetch
