"""A change of the embedding model: the old one answers until the new one has seen every passage.

Each model's vectors have a folder of their own. Which of them answers stands in the store, so the
new model takes over in one step, and who is killed before goes on where he stopped."""

from __future__ import annotations

import logging
import shutil
import threading
from collections.abc import Collection
from pathlib import Path

from rag_app.embedding import Embedder
from rag_app.encoders.live_index import Live, Pair
from rag_app.encoders.other_embedding import embedder_of
from rag_app.encoders.tuned import TunedQuestions
from rag_app.errors import ModelUnavailable, UnknownDocument
from rag_app.finding.placing import Placing
from rag_app.questions import EMBEDDED
from rag_app.settings import Settings
from rag_app.store import Store
from rag_app.store.answering_model import AnsweringModel
from rag_app.types import Document, Progress, Status
from rag_app.vectors import ChromaVectors

log = logging.getLogger(__name__)

_TEXTS_PER_STEP = 64
_PAUSE = 2.0  # seconds before another look at documents that are being embedded by the old model
_FOLDER = "vectors"  # of the built-in model; others have their fingerprint behind it


class Indexes:
    """The folders of vectors under one folder."""

    def __init__(self, folder: Path, built_in: Embedder) -> None:
        self._folder, self._built_in = folder, built_in

    def pair(self, choice: str, embedder: Embedder) -> Pair:
        """A model with its vectors."""
        return Pair(choice, embedder, ChromaVectors(self._of(embedder), embedder.fingerprint))

    def keep_only(self, kept: Collection[Embedder]) -> None:
        """Delete the vectors of all other models."""
        names = {self._of(embedder).name for embedder in kept}
        for path in self._folder.glob(f"{_FOLDER}*"):
            if path.name.partition(".")[0] not in names:
                shutil.rmtree(path, ignore_errors=True)

    def _of(self, embedder: Embedder) -> Path:
        same = embedder.fingerprint == self._built_in.fingerprint
        return self._folder / (_FOLDER if same else f"{_FOLDER}-{embedder.fingerprint}")


class Reindexing:
    """Who answers at the start, and a thread that lets another model take over."""

    def __init__(self, folder: Path, store: Store, settings: Settings, built_in: Embedder) -> None:
        self.notice = ""  # one sentence, if the model of the setting cannot be used
        self._store, self._settings, self._models = store, settings, folder / "models"
        self._built_in = built_in if settings.embedding else self._tuned(built_in)
        self._model = AnsweringModel(store.database)
        self._indexes = Indexes(folder, built_in)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rag-app-reindex", daemon=True)
        self._done = self._total = 0
        self.live = self._begin(settings.embedding)

    def start(self) -> None:
        """Begin, or go on, to embed everything with the new model, if there is one."""
        if self.live.coming is not None:
            self._thread.start()

    def stop(self) -> None:
        """Let go of the work; it is taken up again at the next start."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def progress(self) -> Progress | None:
        """How far the new model is; None if none is to take over."""
        if self.live.coming is None:
            return None
        return Progress("", "embedding", self._done, self._total, "passages")

    def _begin(self, choice: str) -> Live:
        wanted = self._try(choice)
        if wanted is None:
            return self._go_on_without()
        kept = self._model.get() or self._first(choice)
        if kept[1] == wanted.fingerprint:
            self._model.set(choice, wanted.fingerprint)
            return Live(self._indexes.pair(choice, wanted))
        old = self._old(kept)
        if old is None:  # nothing can ask its vectors any more
            self._model.set(choice, wanted.fingerprint)
            self._indexes.keep_only([wanted])
            return Live(self._indexes.pair(choice, wanted))
        return Live(self._indexes.pair(kept[0], old), self._indexes.pair(choice, wanted))

    def _first(self, choice: str) -> tuple[str, str]:
        """What answers before anything was written down: what there is can be of ours only."""
        if any(document.chunks for document in self._store.documents()):
            return "", self._built_in.fingerprint
        return choice, ""

    def _go_on_without(self) -> Live:
        kept = self._model.get() or ("", self._built_in.fingerprint)
        old = self._old(kept)
        if old is not None:
            return Live(self._indexes.pair(kept[0], old))
        self._model.set("", self._built_in.fingerprint)
        return Live(self._indexes.pair("", self._built_in))

    def _old(self, kept: tuple[str, str]) -> Embedder | None:
        """The model whose vectors are there, if it still is what it was."""
        try:
            embedder = self._open(kept[0])
            return embedder if embedder.fingerprint == kept[1] else None
        except ModelUnavailable:
            return None

    def _try(self, choice: str) -> Embedder | None:
        try:
            return self._open(choice)
        except ModelUnavailable as error:
            self._give_notice(error)
            return None

    def _open(self, choice: str) -> Embedder:
        if not choice:
            return self._built_in
        embedder = embedder_of(choice, self._models, self._settings.threads)
        return self._tuned(embedder) if choice == self._settings.embedding else embedder

    def _tuned(self, embedder: Embedder) -> Embedder:
        """With the questions' encoder of the settings, which learnt beside the model of theirs."""
        folder = self._settings.question_encoder
        return TunedQuestions(embedder, Path(folder)) if folder else embedder

    def _give_notice(self, error: ModelUnavailable) -> None:
        self.notice = str(error)
        log.error("another embedding model answers than the setting says: %s", error)

    def _run(self) -> None:
        coming = self.live.coming
        assert coming is not None
        while not self._stop.is_set():
            try:
                if self._embedded_all(coming) and self._take_over(coming):
                    return
            except ModelUnavailable as error:
                self._give_notice(error)
                return
            except Exception:  # a full disk, say: it is tried again by and by
                log.exception("could not go on embedding with the new model")
            self._stop.wait(_PAUSE)

    def _take_over(self, coming: Pair) -> bool:
        """Let the new model answer, if it lacks nothing; its vectors are all that stays."""
        with self.live.alone(self._stop) as alone:
            if not alone or coming.vectors.count() < sum(d.chunks for d in self._there()):
                return False
            old, under_way = self.live.current, self._under_way()
            self._model.set(coming.choice, coming.embedder.fingerprint)
            self.live.current, self.live.coming = coming, None
            old.vectors.close()
            self._indexes.keep_only([coming.embedder])
        log.info("the new embedding model answers")
        while under_way and not self._stop.wait(_PAUSE):  # half of them went to the old vectors
            under_way &= self._under_way()
        self._embedded_all(coming)
        return True

    def _under_way(self) -> set[str]:
        return {d.id for d in self._store.documents() if d.status is Status.SEARCHABLE}

    def _embedded_all(self, pair: Pair) -> bool:
        """Embed what the model has not seen; False if that had to stop."""
        documents = self._there()
        self._done, self._total = 0, sum(d.chunks for d in documents)
        return all(self._embedded(pair, document) for document in documents)

    def _there(self) -> list[Document]:
        return [d for d in self._store.documents() if d.status in EMBEDDED]

    def _embedded(self, pair: Pair, document: Document) -> bool:
        there = pair.vectors.ids(document.id)
        indexed = self._store.indexed(document.id)
        missing = [one for one in indexed if one.chunk.id not in there]
        self._done += len(indexed) - len(missing)
        placing = Placing(pair.embedder, self._store.pages(document.id), indexed)
        for first in range(0, len(missing), _TEXTS_PER_STEP):
            if self._stop.is_set():
                return False
            step = missing[first : first + _TEXTS_PER_STEP]
            pair.vectors.upsert(document.id, [one.chunk.id for one in step], placing.embed(step))
            self._done += len(step)
            try:
                now = self._store.document(document.id)
            except UnknownDocument:  # removed while its passages were being embedded
                pair.vectors.delete(document.id)
                return True
            if now.status not in EMBEDDED:  # read anew: its passages may say other things
                pair.vectors.delete(document.id)
                return True
        return True
