"""The embedding model and the vectors that answer now, and those that are to take over.

To everybody else they are one embedder and one index. What one model made is remembered with its
texts: after another has taken over it is made again, so that no vector meets the wrong index.

The old model answers until the new one has seen every passage. Each model's vectors have a folder
of their own. Which of them answers stands in the store, so the new model takes over in one step,
and who is killed before goes on where he stopped. Another choice may be made at any time; what an
unfinished one has made by then is deleted."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_app.errors import ModelAway, ModelUnavailable
from rag_app.retrieval.chunking import Placing
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.sentence_models import TunedQuestions, embedder_of
from rag_app.retrieval.served_embedding import SERVED, served
from rag_app.scope import WORKER, Scope
from rag_app.settings import Settings
from rag_app.storage import Store
from rag_app.storage.database import AnsweringModel
from rag_app.storage.engines import vectors_of
from rag_app.storage.vectors import VectorIndex
from rag_app.supervision import surviving
from rag_app.types import EMBEDDED, Document, Progress, Status

# One model embeds what another has embedded before: all that is in the store, less what it has.

_TEXTS_PER_STEP = 32  # that long it takes to stop, and for the page to hear how far it is


@dataclass(frozen=True, slots=True, eq=False)
class ModelIndex:
    """A model, and the vectors that it made."""

    choice: str  # as the setting names the model; "" is the built-in one
    embedder: Embedder
    vectors: VectorIndex


class Live:
    """Who answers, and who is to take over."""

    def __init__(
        self,
        current: ModelIndex,
        coming: ModelIndex | None = None,
        beside: ModelIndex | None = None,
    ) -> None:
        """`beside`: who knows single sentences, whoever answers."""
        self.current, self.coming, self.beside = current, coming, beside
        self._changed = threading.Condition()
        self._inside = 0

    @contextmanager
    def using(self) -> Iterator[ModelIndex]:
        """Who answers; nobody takes over inside the block."""
        with self._changed:
            self._inside += 1
        try:
            yield self.current
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self, stop: threading.Event) -> Iterator[bool]:
        """Nobody uses who answers inside the block; False where `stop` was set before."""
        with self._changed:
            while self._inside and not stop.is_set():
                self._changed.wait(0.1)
            yield not stop.is_set()


class _MadeVectors(list[Any]):
    """What a model made of texts."""

    def __init__(self, made: Sequence[Any], by: ModelIndex, texts: Sequence[str]) -> None:
        super().__init__(made)
        self.by, self.texts = by, texts


class LiveEmbedder(Embedder):
    """The model that answers now."""

    def __init__(self, live: Live) -> None:
        self._live = live

    @property
    def fingerprint(self) -> str:
        """Of the model that answers now."""
        return self._live.current.embedder.fingerprint

    @property
    def english(self) -> bool:  # type: ignore[override]  # another model may take over
        """Whether the model that answers now was made for English alone."""
        return self._live.current.embedder.english

    @property
    def trouble(self) -> str:
        """One sentence while the model that answers now cannot be asked."""
        return self._live.current.embedder.trouble

    def warm(self) -> None:
        """Load the model now. Raises ModelUnavailable."""
        self._live.current.embedder.warm()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, rather too many than too few."""
        return self._live.current.embedder.count_tokens(texts)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text, in the order of `texts`. Raises ModelUnavailable."""
        pair = self._live.current
        return _MadeVectors(pair.embedder.embed_documents(texts), pair, texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question. Raises ModelUnavailable."""
        pair = self._live.current
        return _MadeVectors(pair.embedder.embed_query(text), pair, [text])


class LiveVectors:
    """The index that answers now; what is deleted goes from the coming one, too."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def upsert(
        self,
        document_id: str,
        ids: Sequence[str],
        vectors: Sequence[Sequence[float]],
        collection: str,
    ) -> None:
        """Write vectors of a document of a collection; writing twice is writing once."""
        with self._live.using() as pair:
            if isinstance(vectors, _MadeVectors) and vectors.by is not pair:
                vectors = pair.embedder.embed_documents(list(vectors.texts))
            pair.vectors.upsert(document_id, ids, list(vectors), collection)

    def search(
        self,
        vector: Sequence[float],
        k: int,
        scope: Scope,
        documents: Sequence[str] | None = None,
    ) -> list[tuple[str, float]]:
        """The k nearest chunk ids with their cosine similarity, best first: of what the scope
        sees, and of these documents if they are given."""
        with self._live.using() as pair:
            if isinstance(vector, _MadeVectors) and vector.by is not pair:
                vector = pair.embedder.embed_query(vector.texts[0])
            return pair.vectors.search(list(vector), k, scope, documents)

    def ids(self, document_id: str) -> set[str]:
        """The chunk ids that a document has vectors for."""
        with self._live.using() as pair:
            return pair.vectors.ids(document_id)

    def vectors(self, document_id: str) -> dict[str, list[float]]:
        """The vectors of a document's chunks, by chunk id."""
        with self._live.using() as pair:
            return pair.vectors.vectors(document_id)

    def of_chunks(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """The vectors of these chunks, by chunk id, as far as there are any."""
        with self._live.using() as pair:
            return pair.vectors.of_chunks(ids)

    def delete(self, document_id: str) -> None:
        """Forget a document."""
        with self._live.using():
            for pair in self._pairs():
                pair.vectors.delete(document_id)

    def count(self) -> int:
        """How many vectors there are."""
        with self._live.using() as pair:
            return pair.vectors.count()

    def compact(self, documents: Iterable[str], stop: threading.Event) -> bool:
        """Leave nothing on disk but vectors of these documents; False if `stop` was set before."""
        kept = list(documents)
        with self._live.using():
            return all(pair.vectors.compact(kept, stop) for pair in self._pairs())

    def close(self) -> None:
        """Let go of files and threads."""
        for pair in self._pairs():
            pair.vectors.close()

    def _pairs(self) -> list[ModelIndex]:
        every = (self._live.current, self._live.coming, self._live.beside)
        return [pair for pair in every if pair is not None]


class CatchingUp:
    """Embeds, and says how far it is; `stopped` is asked between two steps."""

    def __init__(self, store: Store, stopped: Callable[[], bool]) -> None:
        self._store, self._stopped = store, stopped
        self.done = self.total = 0  # passages

    def documents(self) -> list[Document]:
        """What there is to be embedded."""
        return [d for d in self._store.documents(WORKER) if d.status in EMBEDDED]

    def lacks_nothing(self, pair: ModelIndex) -> bool:
        """Whether a model has a vector for every passage."""
        return pair.vectors.count() >= sum(d.chunks for d in self.documents())

    def embed(self, pair: ModelIndex) -> bool:
        """Embed what the model has not seen; False if that had to stop. Raises ModelUnavailable."""
        documents = self.documents()
        self.done, self.total = 0, sum(d.chunks for d in documents)
        return all(self._embedded(pair, document) for document in documents)

    def _embedded(self, pair: ModelIndex, document: Document) -> bool:
        there = pair.vectors.ids(document.id)
        indexed = self._store.indexed(document.id, WORKER)
        missing = [one for one in indexed if one.chunk.id not in there]
        self.done += len(indexed) - len(missing)
        placing = Placing(pair.embedder, self._store.pages(document.id, WORKER), indexed)
        for first in range(0, len(missing), _TEXTS_PER_STEP):
            if self._stopped():
                return False
            step = missing[first : first + _TEXTS_PER_STEP]
            pair.vectors.upsert(
                document.id, [c.chunk.id for c in step], placing.embed(step), document.collection
            )
            self.done += len(step)
            now = self._store.documents(WORKER, [document.id])
            # Removed meanwhile, or read anew: its passages may say other things.
            if not now or now[0].status not in EMBEDDED:
                pair.vectors.delete(document.id)
                return True
        return True


# From a choice of an embedding model to its embedder, and who answers at the start.

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
        embedder: Embedder
        if choice.startswith(SERVED):
            embedder = served(choice, self._folder, self._settings, set_so)
        else:
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
        threads = self._settings.threads
        return TunedQuestions(embedder, Path(folder), threads) if folder else embedder


log = logging.getLogger(__name__)

_PAUSE = 2.0  # seconds before another look at documents that are being embedded by the old model


@dataclass(frozen=True, slots=True, eq=False)
class _ModelRequest:
    """A model that was chosen; without an embedder it cannot be used."""

    choice: str
    embedder: Embedder | None


class Reindexing:
    """Who answers at the start, and a thread that lets another model take over.

    `chosen` is what was chosen on the page or the command line; the settings go before it.
    `sentences`: what embeds single sentences beside whoever answers."""

    def __init__(
        self,
        folder: Path,
        store: Store,
        settings: Settings,
        built_in: Embedder,
        chosen: str = "",
        sentences: Embedder | None = None,
    ) -> None:
        self.notice = ""  # one sentence, if the model that was chosen cannot be used
        self._store = store
        self._models = Models(settings, folder / "models", built_in)
        self._model = AnsweringModel(store.database)
        self._vectors = vectors_of(store.database, folder, built_in.fingerprint, store.chunk_ids)
        self._beside = self._pair("", sentences, parts=True) if sentences else None
        self._stop, self._changed = threading.Event(), threading.Event()
        self._choosing = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="rag-app-reindex", daemon=True)
        self._catching_up = CatchingUp(store, self._interrupted)
        self.live = self._begin(settings.embedding or chosen)
        self._pending = self.live.coming is not None

    @property
    def choice(self) -> str:
        """What was chosen, whether or not it answers yet."""
        return self._wish.choice

    def start(self) -> None:
        """Begin, or go on, to embed everything with the new model, if there is one."""
        if self._pending:
            self._changed.set()
        self._thread.start()

    def stop(self) -> None:
        """Let go of the work; it is taken up again at the next start."""
        self._stop.set()
        self._changed.set()
        if self._thread.is_alive():
            self._thread.join()

    def check(self, choice: str) -> None:
        """Raises ModelUnavailable, in one sentence, if a model cannot be used."""
        self._models.open(choice)

    def choose(self, choice: str) -> None:
        """Let another model take over in the background, or leave it at the one that answers.

        Raises ModelUnavailable."""
        embedder = self._models.open(choice)
        with self._choosing:
            self.notice = ""
            self._wish = _ModelRequest(choice, embedder)
            self._pending = embedder.fingerprint != self.live.current.embedder.fingerprint
            self._catching_up.done = self._catching_up.total = 0  # nothing is known yet
            self._changed.set()

    def progress(self) -> Progress | None:
        """How far the new model is; None if none is to take over."""
        if not self._pending:
            return None
        work = self._catching_up
        return Progress("", "embedding", work.done, work.total, "passages")

    def _pair(self, choice: str, embedder: Embedder, parts: bool = False) -> ModelIndex:
        return ModelIndex(choice, embedder, self._vectors.open(embedder.fingerprint, parts))

    def _keep_only(self, kept: Collection[Embedder]) -> None:
        beside = [self._beside.embedder] if self._beside else []
        self._vectors.keep_only([embedder.fingerprint for embedder in [*kept, *beside]])

    def _begin(self, choice: str) -> Live:
        begun = self._models.begin(choice, self._model.get() or self._first(choice))
        current = self._pair(begun.choice, begun.embedder)
        if begun.notice:
            self._wish = _ModelRequest(choice, None)
            self._give_notice(begun.notice)
        else:
            self._wish = _ModelRequest(choice, begun.coming or begun.embedder)
        if begun.coming is None:
            self._model.set(begun.choice, begun.embedder.fingerprint)
            self._keep_only([begun.embedder])
            return Live(current, beside=self._beside)
        self._keep_only([begun.embedder, begun.coming])
        return Live(current, self._pair(choice, begun.coming), self._beside)

    def _first(self, choice: str) -> tuple[str, str]:
        """What answers before anything was written down: what there is can be of ours only."""
        if any(document.chunks for document in self._store.documents(WORKER)):
            return "", self._models.built_in.fingerprint
        return choice, ""

    def _give_notice(self, sentence: str) -> None:
        self.notice = sentence
        log.error("another embedding model answers than the one that was chosen: %s", sentence)

    def _run(self) -> None:
        self._changed.wait()
        while not self._stop.is_set():
            self._changed.clear()
            wish = self._wish
            pause: float | None = _PAUSE
            try:
                with surviving(log, "could not go on with the new model", but=(ModelUnavailable,)):
                    pause = None if self._carried_out(wish) else _PAUSE
            except ModelAway as error:  # it goes on when its server is back
                log.warning("the new embedding model waits: %s", error)
            except ModelUnavailable as error:
                self._give_up(wish, error)
                pause = None
            self._changed.wait(pause)

    def _carried_out(self, wish: _ModelRequest) -> bool:
        if wish.embedder is None:
            return True
        if wish.embedder.fingerprint == self.live.current.embedder.fingerprint:
            return self._stay(wish)
        coming = self._coming(wish.choice, wish.embedder)
        return (
            coming is not None and self._catching_up.embed(coming) and self._take_over(coming, wish)
        )

    def _stay(self, wish: _ModelRequest) -> bool:
        """Leave it at the model that answers, with nothing left of another."""
        with self.live.alone(self._stop) as alone:
            if not alone:
                return False
            self._drop_coming()
            self._model.set(wish.choice, self.live.current.embedder.fingerprint)
        return self._catching_up.embed(self.live.current)

    def _coming(self, choice: str, embedder: Embedder) -> ModelIndex | None:
        """The model that is to take over; None if that had to stop."""
        with self.live.alone(self._stop) as alone:
            coming = self.live.coming
            if not alone:
                return None
            if coming is None or coming.embedder.fingerprint != embedder.fingerprint:
                self._drop_coming()
                coming = self.live.coming = self._pair(choice, embedder)
            return coming

    def _drop_coming(self) -> None:
        if self.live.coming is not None:
            self.live.coming.vectors.close()
            self.live.coming = None
            self._keep_only([self.live.current.embedder])

    def _give_up(self, wish: _ModelRequest, error: ModelUnavailable) -> None:
        """What it has made stays for another try; what is removed is removed from it, too."""
        with self._choosing:
            if wish is self._wish:
                self._pending = False
                self._give_notice(str(error))

    def _take_over(self, coming: ModelIndex, wish: _ModelRequest) -> bool:
        """Let the new model answer, if it lacks nothing; its vectors are all that stays."""
        with self.live.alone(self._stop) as alone, self._choosing:
            wanted = alone and wish is self._wish
            if not wanted or not self._catching_up.lacks_nothing(coming):
                return False
            old, under_way = self.live.current, self._under_way()
            self._model.set(wish.choice, coming.embedder.fingerprint)
            self.live.current, self.live.coming = coming, None
            old.vectors.close()
            self._keep_only([coming.embedder])
            self._pending = False
        log.info("the new embedding model answers")
        while under_way and not self._changed.wait(_PAUSE):  # half of them went to the old vectors
            under_way &= self._under_way()
        return self._catching_up.embed(coming)

    def _interrupted(self) -> bool:
        return self._stop.is_set() or self._changed.is_set()

    def _under_way(self) -> set[str]:
        return {d.id for d in self._store.documents(WORKER) if d.status is Status.SEARCHABLE}
