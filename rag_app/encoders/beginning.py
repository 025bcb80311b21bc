"""From a choice of an embedding model to its embedder, and who answers at the start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rag_app.embedding import Embedder
from rag_app.encoders.other_embedding import embedder_of
from rag_app.encoders.tuned import TunedQuestions
from rag_app.errors import ModelUnavailable
from rag_app.settings import Settings

Kept = tuple[str, str]  # a choice, and the fingerprint of the model that it was


@dataclass(frozen=True, slots=True)
class Beginning:
    """Who answers, and who is to take over (None: nobody). A choice of "" is the built-in one."""

    choice: str
    embedder: Embedder
    coming: Embedder | None = None
    notice: str = ""  # one sentence, if what was chosen cannot be used


class Models:
    """The models that can be chosen. Raises nothing until one is opened."""

    def __init__(self, settings: Settings, models: Path, built_in: Embedder) -> None:
        self._settings, self._folder = settings, models
        self.built_in = built_in if settings.embedding else self._tuned(built_in)

    def open(self, choice: str) -> Embedder:
        """The embedder of a choice, checked. Raises ModelUnavailable."""
        if not choice:
            return self.built_in
        set_so = choice == self._settings.embedding
        embedder = embedder_of(choice, self._folder, self._settings.threads, set_so)
        return self._tuned(embedder) if set_so else embedder

    def still(self, kept: Kept) -> Embedder | None:
        """The model whose vectors are there, if it still is what it was."""
        try:
            embedder = self.open(kept[0])
            return embedder if embedder.fingerprint == kept[1] else None
        except ModelUnavailable:
            return None

    def begin(self, choice: str, kept: Kept) -> Beginning:
        """Who answers if this is chosen, and that is whose vectors are there."""
        try:
            wanted = self.open(choice)
        except ModelUnavailable as error:
            return self._without(kept, str(error))
        if kept[1] == wanted.fingerprint:
            return Beginning(choice, wanted)
        old = self.still(kept)
        if old is None:  # nothing can ask its vectors any more
            return Beginning(choice, wanted)
        return Beginning(kept[0], old, wanted)

    def _without(self, kept: Kept, notice: str) -> Beginning:
        old = self.still(kept)
        if old is None:
            return Beginning("", self.built_in, notice=notice)
        return Beginning(kept[0], old, notice=notice)

    def _tuned(self, embedder: Embedder) -> Embedder:
        """With the questions' encoder of the settings, which learnt beside the model of theirs."""
        folder = self._settings.question_encoder
        return TunedQuestions(embedder, Path(folder)) if folder else embedder
