"""Each sentence of a library by what it means: a question in other words than its answer is nearer
to the one sentence that holds it than to a passage about five things.

The larger model of sentences reads slowly, so their vectors are made in the background once a
document can be found without them, and only of a library that is small enough. They are a cache
beside those of passages: what is removed there is removed here. They are at hand in memory, too:
whoever ranks sentences of a library need not embed them while somebody waits."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from rag_app.errors import ModelUnavailable
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.ranking import Pool
from rag_app.scope import WORKER, Scope
from rag_app.storage import Store
from rag_app.storage.vectors import VectorIndex
from rag_app.supervision import give_way, surviving
from rag_app.text.sentences import one_line, sentences
from rag_app.types import EMBEDDED, Chunk, Document

MOST_PASSAGES = 3_000
"""Of a library that is small enough: some twelve hundred pages, whose sentences take a laptop half
an hour."""
_TEXTS_PER_STEP = 32  # embedded at once: so long a question waits, and stopping takes
_EACH = 4  # sentences that are looked for, for every passage that is wanted
_HEADINGS = 2  # innermost of a path of headings that are shown
_PAUSE = 2.0  # seconds before another look at what there is
_LOOK = 0.05  # seconds between two looks at how far it is
_QUESTIONS = 64  # whose vectors are kept: each is asked for twice
_APART = "."  # between the id of a chunk and the number of a sentence

log = logging.getLogger(__name__)


def title(name: str, heading: str) -> str:
    """What a sentence is read under: its document, and the section or the columns it is of."""
    inner = [one_line(part) for part in heading.split(" > ")][-_HEADINGS:]
    return " – ".join(part for part in (one_line(name), *inner) if part)


def titled(heading: str, sentence: str) -> str:
    """A sentence as the model was taught to read it."""
    return f"{heading}; {sentence}"


class SentenceIndex:
    """The sentences of a library, and a thread that makes the vectors of those that lack one.

    `busy`: whether somebody waits for something else just now. Thread-safe."""

    def __init__(
        self,
        store: Store,
        vectors: VectorIndex,
        embedder: Embedder,
        busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store, self._vectors, self._embedder, self._busy = store, vectors, embedder, busy
        self._done: dict[str, int] = {}  # documents, and when the chunks were written
        self._texts: dict[str, list[str]] = {}  # by document: its sentences
        self._known: dict[str, np.ndarray] = {}  # by sentence: its vector
        self._asking = threading.Lock()
        self._asked: OrderedDict[str, list[float]] = OrderedDict()  # by question: its vector
        self._seen = -1  # changes of the library after which nothing was left to embed
        self._stop, self._woken = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="rag-app-sentences", daemon=True)

    def start(self) -> None:
        """Begin, or go on, to embed what lacks a vector."""
        self._thread.start()

    def stop(self) -> None:
        """Let go of the work; it is taken up again at the next start."""
        self._stop.set()
        self._woken.set()
        if self._thread.is_alive():
            self._thread.join()

    def wait(self, seconds: float) -> bool:
        """Until what is there now is embedded, or never will be; False if the time ran out."""
        wanted, end = self._store.database.commits, time.monotonic() + seconds
        self._woken.set()
        while self._seen < wanted and self._thread.is_alive():
            if time.monotonic() >= end:
                return False
            time.sleep(_LOOK)
        return True

    def covers(self, documents: Iterable[Document]) -> bool:
        """Whether all sentences of these documents can be found: else those of others would win."""
        done = self._done
        return all(one.id in done for one in documents if one.chunks)

    def nearest(
        self, question: str, k: int, scope: Scope, documents: Sequence[str] | None = None
    ) -> Pool:
        """About k chunks, each with the cosine of the sentence in it that is nearest to the
        question: of what the scope sees, and of these documents if they are given.
        Raises ModelUnavailable."""
        found = self._vectors.search(self._query(question), _EACH * k, scope, documents)
        best: dict[str, float] = {}
        for one, cosine in found:
            best.setdefault(one.partition(_APART)[0], cosine)
        return Pool(best, found[-1][1] if len(found) >= _EACH * k else 0.0)

    def warm(self) -> None:
        """Load the model now. Raises ModelUnavailable."""
        self._embedder.warm()

    def embed_documents(self, texts: list[str]) -> list[Sequence[float] | np.ndarray]:
        """The vectors of sentences under their titles, and of other texts; those that are there
        are not made again. Raises ModelUnavailable."""
        known = {text: self._known.get(text) for text in texts}
        new = [text for text, vector in known.items() if vector is None]
        made = dict(zip(new, self._embedder.embed_documents(new), strict=True))
        return [made[text] if (held := known[text]) is None else held for text in texts]

    def holds(self, text: str) -> bool:
        """Whether the vector of a sentence under its title is there."""
        return text in self._known

    def _query(self, question: str) -> list[float]:
        with self._asking:
            vector = self._asked.pop(question, None) or self._embedder.embed_query(question)
            self._asked[question] = vector
            while len(self._asked) > _QUESTIONS:
                self._asked.popitem(last=False)
        return vector

    def catch_up(self) -> None:
        """Embed what lacks a vector. Raises ModelUnavailable, and DiskFull."""
        documents = [d for d in self._store.documents(WORKER) if d.status in EMBEDDED]
        if sum(d.chunks for d in documents) > MOST_PASSAGES:
            self._done, self._texts, self._known = {}, {}, {}
            return
        written = self._store.tables.written([d.id for d in documents])
        self._done = {d: at for d, at in self._done.items() if written.get(d) == at}
        for gone in self._texts.keys() - self._done.keys():
            self._forget(gone)
        for document in sorted(documents, key=lambda one: one.chunks):
            at = written.get(document.id)
            if document.id in self._done or at is None:
                continue
            if self._embedded(document, at):
                self._done = {**self._done, document.id: at}
            if self._stop.is_set():
                return

    def _embedded(self, document: Document, written: int) -> bool:
        """Whether all sentences of a document have a vector now."""
        there = self._vectors.vectors(document.id)
        indexed = self._store.indexed(document.id, WORKER)
        held = dict(pair for one in indexed for pair in _sentences(document.name, one.chunk))
        self._texts[document.id] = [*held.values()]
        for one in there.keys() & held.keys():
            self._known[held[one]] = np.asarray(there[one], np.float16)
        missing = [pair for pair in held.items() if pair[0] not in there]
        for first in range(0, len(missing), _TEXTS_PER_STEP):
            while self._busy() and not self._stop.is_set():
                self._stop.wait(_PAUSE)
            if self._stop.is_set():
                return False
            step = missing[first : first + _TEXTS_PER_STEP]
            made = self._embedder.embed_documents([text for _, text in step])
            ids = [one for one, _ in step]
            self._vectors.upsert(document.id, ids, made, document.collection)
            for (_, text), vector in zip(step, made, strict=True):
                self._known[text] = np.asarray(vector, np.float16)
            if self._store.tables.written([document.id]).get(document.id) != written:
                self._vectors.delete(document.id)  # removed meanwhile, or read anew
                self._forget(document.id)
                return False
        return True

    def _forget(self, document_id: str) -> None:
        for text in self._texts.pop(document_id, ()):
            self._known.pop(text, None)

    def _run(self) -> None:
        give_way()
        while not self._stop.is_set():
            self._woken.clear()
            now = self._store.database.commits
            try:
                with surviving(log, "sentences wait", but=(ModelUnavailable,)) as attempt:
                    if now != self._seen:
                        self.catch_up()
                self._seen = self._seen if attempt.failed else now
            except ModelUnavailable as error:
                log.warning("sentences are not searched: %s", error)
                return
            self._woken.wait(_PAUSE)


def _sentences(name: str, chunk: Chunk) -> Iterator[tuple[str, str]]:
    """The id and the text, as it is embedded, of each sentence of a chunk."""
    heading = title(name, chunk.heading)
    for number, (start, end) in enumerate(sentences(chunk.text)):
        yield f"{chunk.id}{_APART}{number}", titled(heading, chunk.text[start:end])
