"""Each sentence of a library by what it means: a question in other words than its answer is nearer
to the one sentence that holds it than to a passage about five things.

The larger model of sentences reads slowly, so their vectors are made in the background once a
document can be found without them, and only of a library that is small enough; of what is likeliest
to answer they are made ahead, where a question cannot wait for all. They are a cache beside those
of passages: what is removed there is removed here."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from rag_app.errors import ModelUnavailable
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.ranking import Pool
from rag_app.scope import WORKER, Scope
from rag_app.storage import Store
from rag_app.storage.vectors import VectorIndex
from rag_app.supervision import give_way, surviving
from rag_app.text.sentences import one_line, sentences
from rag_app.types import EMBEDDED, Chunk, Document, Status

MOST_PASSAGES = 3_000
"""Of a library that is small enough: some twelve hundred pages, whose sentences take a laptop half
an hour."""
_TEXTS_PER_STEP = 32  # embedded at once: so long a question waits, and stopping takes
_EACH = 4  # sentences that are looked for, for every passage that is wanted
_HEADINGS = 2  # innermost of a path of headings that are shown
_PAUSE = 2.0  # seconds before another look at what there is
_BREATH = 0.3  # seconds before another look at whether somebody waits
_LONGEST_PAUSE = 60.0  # after failures, it doubles
_LOOK = 0.05  # seconds between two looks at how far it is
_USUAL, _SOON = 0.03, 90.0  # seconds that a sentence takes; that others may wait
_QUESTIONS = 64  # whose vectors are kept: each is asked for twice
_AHEAD = 1_024  # sentences whose vectors are kept while their document has none yet
_AT_ONCE = 160  # sentences that are embedded while somebody waits: some four seconds
_APART = "."  # between the id of a chunk and the digest of a sentence
_Contents = tuple[int, str]  # when its chunks were written, and its name

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
        self._done: dict[str, _Contents] = {}  # documents all of whose sentences have a vector
        self._held: dict[str, dict[str, str]] = {}  # by document: its sentences by their ids
        self._ids: dict[str, str] = {}  # by sentence
        self._query = lru_cache(_QUESTIONS)(lambda question: embedder.embed_query(question))
        self._making = threading.Lock()
        self._ahead: dict[str, np.ndarray] = {}  # by sentence: its vector, for who could not wait
        self._none = False  # the library is too large, or the model torn: none will have a vector
        self._seen = -1  # changes of the library after which nothing was left to embed
        self._left, self._each = 0, 0.0  # sentences without a vector; seconds that one takes
        self._failed = False
        self._hurried = 0  # who waits for it: then it is not for others to go first
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
        """Until what is there now is embedded, or never will be; False if the time ran out, or
        will by the look of it."""
        wanted, end = self._store.database.commits, time.monotonic() + seconds
        self._hurried += 1
        self._woken.set()
        try:
            while self._seen < wanted and self._thread.is_alive():
                left = end - time.monotonic()
                if self._failed or left <= 0 or self._left * self._each > left:
                    return False
                time.sleep(_LOOK)
            return True
        finally:
            self._hurried -= 1

    @property
    def nearly_done(self) -> bool:
        """Whether it is at work and will be done soon, so that what nobody waits for may wait."""
        works = self._left > 0 and not self._failed and self._thread.is_alive()
        return works and self._left * (self._each or _USUAL) <= _SOON

    def covers(self, documents: Iterable[Document]) -> bool:
        """Whether all sentences of these documents can be found: else those of others would win."""
        done = self._done
        able = (one for one in documents if one.chunks and one.status is not Status.FAILED)
        return all(one.id in done for one in able)

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

    def will_cover(self, documents: Sequence[Document]) -> bool:
        """Whether all their sentences will have a vector."""
        return not self._none and sum(one.chunks for one in documents) <= MOST_PASSAGES

    def among(self, question: str, chunks: Sequence[tuple[str, Chunk]]) -> Pool:
        """Of these chunks, with the names of their documents and the likeliest first, the cosine
        of the sentence that is nearest to the question; what lacks a vector is embedded now, as far
        as somebody can wait for it. Raises ModelUnavailable."""
        held = [[(chunk.id, *one) for one in _sentences(name, chunk)] for name, chunk in chunks]
        with self._making:  # wordings of one question find much the same
            there = self._vectors.of_chunks([*{one for of in held for _, one, _ in of}])
            known, new = self._ahead, dict[str, None]()
            read = []
            for of in held:
                lacking = [t for _, one, t in of if one not in there and t not in known]
                if len({*new, *lacking}) > _AT_ONCE:
                    break
                new |= dict.fromkeys(lacking)
                read += of
            made = np.asarray(self._embedder.embed_documents([*new]), np.float32) if new else ()
            known = known | dict(zip(new, made, strict=True))
            self._ahead = dict([*known.items()][-_AHEAD:])
        if not read:
            return Pool()
        vectors = [there[one] if one in there else known[text] for _, one, text in read]
        cosines = np.asarray(vectors, np.float32) @ np.asarray(self._query(question), np.float32)
        best: dict[str, float] = {}
        for (chunk_id, _, _), cosine in zip(read, cosines.tolist(), strict=True):
            best[chunk_id] = max(cosine, best.get(chunk_id, -1.0))
        return Pool(best, min(best.values()))

    def warm(self) -> None:
        """Load the model now. Raises ModelUnavailable."""
        self._embedder.warm()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of sentences under their titles, and of other texts; those that are there
        are not made again. Raises ModelUnavailable."""
        ids = {text: at for text in texts if (at := self._ids.get(text))}
        kept = self._vectors.of_chunks([*dict.fromkeys(ids.values())]) if ids else {}
        known = {text: kept[at] for text, at in ids.items() if at in kept}
        ahead = self._ahead
        known |= {t: ahead[t].tolist() for t in texts if t not in known and t in ahead}
        new = [text for text in dict.fromkeys(texts) if text not in known]
        known |= zip(new, self._embedder.embed_documents(new), strict=True)
        return [known[text] for text in texts]

    def holds(self, text: str) -> bool:
        """Whether the vector of a sentence under its title is there."""
        return text in self._ids or text in self._ahead

    def catch_up(self) -> None:
        """Embed what lacks a vector. Raises ModelUnavailable, and DiskFull."""
        began = self._store.database.commits
        documents = [d for d in self._store.documents(WORKER) if d.status in EMBEDDED]
        self._none = sum(d.chunks for d in documents) > MOST_PASSAGES
        written = {} if self._none else self._store.tables.written([d.id for d in documents])
        now = {d.id: (written[d.id], d.name) for d in documents if d.id in written}
        if self._vectors.count() < sum(map(len, self._held.values())):
            self._done = {}  # some were lost while the files were written anew
        self._done = {d: what for d, what in self._done.items() if now.get(d) == what}
        for gone in self._held.keys() - self._done.keys():
            self._forget(gone)
        lack = (d for d in documents if d.id in now and d.id not in self._done)
        left = sorted(lack, key=lambda one: one.chunks)
        missing: dict[str, dict[str, str]] = {}
        for document in left:
            if self._stop.is_set():
                return
            missing[document.id] = self._missing(document)
        self._left = sum(map(len, missing.values()))
        for document in left:
            if self._embedded(document, now[document.id], missing[document.id]):
                self._done = {**self._done, document.id: now[document.id]}
        self._left = 0
        if self._store.database.commits == began:
            with self._making:
                self._ahead = {}  # they are where all are, or their document is gone

    def _missing(self, document: Document) -> dict[str, str]:
        """The sentences of a document that lack a vector, by their ids."""
        indexed = self._store.indexed(document.id, WORKER)
        held = dict(pair for one in indexed for pair in _sentences(document.name, one.chunk))
        there = self._vectors.ids(document.id)
        if there - held.keys():  # of an earlier reading or name, or cut otherwise
            self._vectors.delete(document.id)
            there = set()
        self._keep(document.id, {one: text for one, text in held.items() if one in there})
        return {one: text for one, text in held.items() if one not in there}

    def _embedded(self, document: Document, contents: _Contents, missing: dict[str, str]) -> bool:
        """Whether all sentences of a document have a vector now."""
        ids = [*missing]
        for first in range(0, len(ids), _TEXTS_PER_STEP):
            while self._busy() and not self._hurried and not self._stop.is_set():
                self._woken.wait(_BREATH)
                self._woken.clear()
            if self._stop.is_set():
                return False
            step, began = ids[first : first + _TEXTS_PER_STEP], time.monotonic()
            texts = [missing[one] for one in step]
            new = sum(text not in self._ahead for text in texts)
            made = self.embed_documents(texts)
            self._each = (time.monotonic() - began) / new if new else self._each
            if self._changed(document, contents):
                return False
            self._vectors.upsert(document.id, step, made, document.collection)
            if self._changed(document, contents):  # removed meanwhile, or read anew
                self._vectors.delete(document.id)
                self._store.queue.mark_uncleaned()
                self._forget(document.id)
                return False
            self._keep(document.id, {one: missing[one] for one in step})
            self._left -= len(step)
        return True

    def _changed(self, document: Document, contents: _Contents) -> bool:
        written = self._store.tables.written([document.id]).get(document.id)
        return written != contents[0]

    def _keep(self, document_id: str, sentences_of: dict[str, str]) -> None:
        self._held.setdefault(document_id, {}).update(sentences_of)
        self._ids.update((text, one) for one, text in sentences_of.items())

    def _forget(self, document_id: str) -> None:
        for text in self._held.pop(document_id, {}).values():
            self._ids.pop(text, None)

    def _run(self) -> None:
        give_way()
        pause = _PAUSE
        self._woken.wait(pause)  # who opens a library for a moment pays nothing for it
        while not self._stop.is_set():
            self._woken.clear()
            now = self._store.database.commits
            try:
                with surviving(log, "sentences wait", but=(ModelUnavailable,)) as attempt:
                    if now != self._seen:
                        self.catch_up()
            except ModelUnavailable as error:
                log.warning("sentences are not searched: %s", error)
                self._none = True
                return
            self._failed = attempt.failed
            self._seen = self._seen if attempt.failed else now
            pause = min(2 * pause, _LONGEST_PAUSE) if attempt.failed else _PAUSE
            self._woken.wait(pause)


def _sentences(name: str, chunk: Chunk) -> Iterator[tuple[str, str]]:
    """The id and the text, as it is embedded, of each sentence of a chunk. The id tells the text,
    so that a vector is never taken for that of another."""
    heading = title(name, chunk.heading)
    for start, end in sentences(chunk.text):
        text = titled(heading, chunk.text[start:end])
        digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=6).hexdigest()
        yield f"{chunk.id}{_APART}{digest}", text
