"""Overviews of documents: a summary, key topics, and questions that were really tried.

Made in the background, one document after the other, when nothing is being read or embedded; one
that somebody looks at comes first. What is made is kept. Knows nothing of the page."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from rag_app.background import give_way
from rag_app.embedding import Embedder
from rag_app.errors import RagAppError
from rag_app.overview.suggesting import DRY, Suggestion, suggestions
from rag_app.overview.topics import key_topics
from rag_app.questions import EMBEDDED, askable
from rag_app.store import Store
from rag_app.store.overviews import KeptOverviews, Overview, Sentence
from rag_app.store.plain import WordSearch
from rag_app.text.headings import guess_headings
from rag_app.text.sentences import sentences
from rag_app.types import Answer, Chunk, Document, Event, Finished, Heading

__all__ = ["Overview", "Overviews", "Sentence", "outline"]

log = logging.getLogger(__name__)

Ask = Callable[[str, str, threading.Event], Iterator[Event]]
"""Question, id of the one document it is asked of, and what stops it, to events."""

_VERSION = "3"  # of what is made; a change makes all of them anew
_OUTLINE = 500  # headings kept
_QUESTIONS = 3
_TRIED = 14
_SURE = 0.65  # confidence from which an answer counts
_SUMMARISE = "Summarise this document"
_SHORT = 0.5  # seconds until a busy library is looked at again in the middle of the work
_IDLE = 3.0  # seconds after which a busy library is looked at again


@dataclass(frozen=True, slots=True)
class Makers:
    """What overviews are made with. `ask` answers by quoting; `busy`: other work goes first."""

    ask: Ask
    embedder: Embedder
    by: str  # who answers; other answers need other overviews
    busy: Callable[[], bool]


class Overviews:
    """Makes the overviews that are missing, and gives those that are there."""

    def __init__(self, store: Store, makers: Makers) -> None:
        self._store, self._makers = store, makers
        self._kept = KeptOverviews(store.database)
        self._words = WordSearch(store.database)
        self._by = f"{_VERSION} {makers.by}"
        self._changed = threading.Condition()
        self._wanted: list[str] = []
        self._given_up: set[str] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to make what is missing; to be called as often as one likes."""
        with self._changed:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="rag-app-overview", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """Let go; what is half made is made again at the next start."""
        self._stop.set()
        self.wake()
        if self._thread is not None:
            self._thread.join()

    def wake(self) -> None:
        """Something has changed in the library."""
        with self._changed:
            self._changed.notify_all()

    def of(self, document_id: str) -> Overview | None:
        """What is made of a document so far; what is missing of it is made next."""
        kept = self._kept.get(document_id, self._by)
        if kept is None or not kept.complete:
            with self._changed:
                if document_id not in self._wanted:
                    self._wanted.insert(0, document_id)
                    self._changed.notify_all()
            self.start()
        return kept

    def kept(self, document_id: str) -> Overview | None:
        """What is made of a document so far."""
        return self._kept.get(document_id, self._by)

    def given_up(self, document_id: str) -> bool:
        """Whether no more of it is coming, because something went wrong."""
        return document_id in self._given_up

    def _run(self) -> None:
        give_way()
        while (document := self._pick()) is not None:
            try:
                self.make(document)
            except RagAppError as error:
                log.warning("no overview of a document: %s", error)
                self._given_up.add(document.id)
            except Exception:  # a fault of ours in one document must not stop the others
                log.exception("could not make the overview of document %s", document.id)
                self._given_up.add(document.id)

    def _pick(self) -> Document | None:
        """The next document to look at; None when stopping."""
        with self._changed:
            while not self._stop.is_set():
                documents = {d.id: d for d in self._store.documents()}
                done = self._kept.complete(self._by) | self._given_up
                self._wanted = [i for i in self._wanted if i in documents and i not in done]
                for document_id in self._wanted:
                    if askable(documents[document_id]):
                        return documents[document_id]
                if not self._makers.busy():
                    for document in documents.values():
                        if document.status in EMBEDDED and document.id not in done:
                            return document
                self._changed.wait(_IDLE)
        return None

    def make(self, document: Document) -> None:
        """Make and keep a document's overview, the parts that are quick to make first."""
        chunks = [indexed.chunk for indexed in self._store.indexed(document.id)]
        headings = outline(self._store, document)
        made = Overview(
            tuple(headings[:_OUTLINE]), self._summary(document), self._topics(chunks, headings)
        )
        if self._stop.is_set():
            return
        self._kept.save(document.id, self._by, made, len(chunks))
        offered = [one for one in suggestions(chunks, headings) if one.kind != DRY]
        questions = self._questions(document, offered)
        if not self._stop.is_set():
            self._kept.save(document.id, self._by, replace(made, questions=questions), len(chunks))

    def _summary(self, document: Document) -> tuple[Sentence, ...]:
        answer = self._answer(_SUMMARISE, document)
        if answer is None or answer.abstained:
            return ()
        return tuple(Sentence(c.quote, c.page, c.start, c.end) for c in answer.citations)

    def _topics(self, chunks: Sequence[Chunk], headings: Sequence[Heading]) -> tuple[str, ...]:
        of_all = len(self._store.documents())

        def rare(term: str) -> float:
            held = self._words.documents_with(term) or 1
            return 1.0 + math.log((1 + of_all) / (1 + held))

        return key_topics(
            [chunk.text for chunk in chunks],
            [heading.text for heading in headings],
            self._makers.embedder.embed_documents,
            rare,
        )

    def _questions(self, document: Document, offered: Sequence[Suggestion]) -> tuple[str, ...]:
        """The first of the questions that the document really answers."""
        good: list[str] = []
        for one in offered[:_TRIED]:
            self._let_others_first()
            if len(good) == _QUESTIONS or self._stop.is_set():
                break
            answer = self._answer(one.question, document)
            if answer is not None and _is_good(answer, one):
                good.append(one.question)
        return tuple(good)

    def _let_others_first(self) -> None:
        """Wait while the library is busy, unless somebody waits for an overview."""
        with self._changed:
            while self._makers.busy() and not self._wanted and not self._stop.is_set():
                self._changed.wait(_SHORT)

    def _answer(self, question: str, document: Document) -> Answer | None:
        events = self._makers.ask(question, document.id, self._stop)
        return next((e.answer for e in events if isinstance(e, Finished)), None)


def _is_good(answer: Answer, asked: Suggestion) -> bool:
    """Whether an answer is sure and rests on the place that the question was made of."""
    if answer.abstained or answer.confidence < _SURE or not answer.citations:
        return False
    first, place = answer.citations[0], asked.place
    same_page = (first.document_id, first.page) == (place.document_id, place.page)
    return same_page and first.start < place.end and place.start < first.end


def outline(store: Store, document: Document) -> list[Heading]:
    """A document's headings: its own, or those that its pages seem to have."""
    own = store.headings(document.id)
    if own:
        return own
    pages = store.pages(document.id)
    return guess_headings(pages, [sentences(page.text) for page in pages])
