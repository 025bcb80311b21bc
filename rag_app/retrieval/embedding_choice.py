"""Which model finds by meaning, as a person chooses it: by the languages of the documents.

The one for many languages is fetched when somebody asks for it, never by itself."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path

from rag_app.errors import NotAllowed, SettingsError
from rag_app.models.download import Fetch, arrived, discard, folder_of, hub_download
from rag_app.retrieval.reindexing import Reindexing
from rag_app.storage.preferences import PreferenceFile
from rag_app.types import Document, Status

ENGLISH = ""  # the choice of the built-in model


@dataclass(frozen=True, slots=True)
class Offered:
    """A model that can be fetched."""

    name: str  # at the hub, which is how it is chosen
    size: int  # bytes, about
    languages: int  # about


MANY = Offered("intfloat/multilingual-e5-small", 493_000_000, 100)
"""MIT licence; 384 numbers a passage, 512 tokens, 118 million parameters (Wang et al. 2024)."""


class EmbeddingChoice:
    """The choice of a model, and how far it is. `fixed`: the settings choose, nobody else can."""

    def __init__(
        self, reindexing: Reindexing, preferences: PreferenceFile, fixed: bool, models: Path
    ) -> None:
        self.fixed = fixed
        self._reindexing, self._preferences, self._models = reindexing, preferences, models
        self._fetching = threading.Lock()
        self._fetch: Fetch | None = None
        self._may_choose = True

    def to_look_at(self) -> EmbeddingChoice:
        """The same, for somebody who may not choose: what finds by meaning is one for all."""
        shown = copy(self)
        shown._may_choose = False
        return shown

    @property
    def choice(self) -> str:
        """The model that is chosen: ENGLISH, a folder, or the name of one that was fetched."""
        return self._reindexing.choice

    @property
    def answering(self) -> str:
        """The one that answers, which is another one while the chosen one is to take over."""
        return self._reindexing.live.current.choice

    @property
    def english(self) -> bool:
        """Whether the one that answers was made for English alone."""
        return self._reindexing.live.current.embedder.english

    @property
    def under_way(self) -> bool:
        """Whether the chosen one is to take over."""
        return self._reindexing.progress() is not None

    @property
    def notice(self) -> str:
        """One sentence if the chosen one cannot be used; else empty."""
        return self._reindexing.notice

    def choose(self, choice: str) -> None:
        """Let a model take over in the background, now and at every start; others answer till then.

        Raises ModelUnavailable, or SettingsError where the settings choose, or NotAllowed."""
        self._check_allowed()
        if self.fixed:
            raise SettingsError(
                "The model is set by RAG_APP_EMBEDDING. Remove that setting, then choose here."
            )
        folder = Path(choice).expanduser()
        chosen = str(folder.resolve()) if choice and folder.is_dir() else choice
        self._reindexing.check(chosen)
        self._preferences.change(embedding=chosen, languages_settled=True)
        self._reindexing.choose(chosen)

    def forget(self) -> None:
        """Back to the built-in model, where the settings do not choose another one."""
        self._check_allowed()
        if not self.fixed:
            self._reindexing.choose(ENGLISH)

    # The one for many languages

    @property
    def here(self) -> bool:
        """Whether the model for many languages has been fetched."""
        return folder_of(MANY.name, self._models).is_dir()

    @property
    def arrived(self) -> int:
        """Bytes that are there of it, of a download that was broken off."""
        return arrived(MANY.name, self._models)

    @property
    def fetching(self) -> Fetch | None:
        """The last download that was begun."""
        return self._fetch

    def fetch(self) -> Fetch:
        """Download it, or go on with that, and choose it when it is here. Raises NotAllowed."""
        self._check_allowed()
        with self._fetching:
            if self._fetch is None or not self._fetch.running:
                self._fetch = Fetch(
                    MANY.name,
                    hub_download(MANY.name, self._models),
                    lambda _: self.choose(MANY.name),
                )
            return self._fetch

    def fetch_again(self) -> Fetch:
        """Download it anew: what is here of it is damaged. Raises NotAllowed."""
        self._check_allowed()
        if self._fetch is None or not self._fetch.running:
            discard(MANY.name, self._models)
        return self.fetch()

    def close(self) -> None:
        """Stop a download that is under way; what has arrived is kept."""
        if self._fetch is not None:
            self._fetch.end()

    # The hint

    def worth_a_hint(self, documents: Sequence[Document]) -> bool:
        """Whether a person should hear that another model can be chosen, who has not yet."""
        busy = self.fixed or self.under_way or (self._fetch is not None and self._fetch.running)
        if busy or not self._may_choose or not self.english or not mostly_foreign(documents):
            return False
        if any(one.status is Status.RECEIVED for one in documents):  # the first ones read are few
            return False
        return not self._preferences.read().languages_settled

    def settle(self) -> None:
        """Do not bring the languages of the documents up again."""
        self._check_allowed()
        self._preferences.change(languages_settled=True)

    def _check_allowed(self) -> None:
        if not self._may_choose:
            raise NotAllowed(
                "Which model finds by meaning is one choice for everybody. "
                "Ask whoever runs this app to make it."
            )


def mostly_foreign(documents: Sequence[Document]) -> bool:
    """Whether more than half of what is known to be in some language is not in English."""
    known = [d for d in documents if d.language and d.chunks]
    foreign = sum(d.chunks for d in known if d.language != "en")
    return 2 * foreign > sum(d.chunks for d in known)
