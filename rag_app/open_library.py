"""What is opened once: one data directory in one process, shared by everybody's view of it.

Answers that are being made, in whatever threads, end before the library is closed: who asks takes
one event after the other, and between two of them nothing of the library is in use. Knows nothing
of who asks, and nothing of the UI."""

from __future__ import annotations

import dataclasses
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Generator as EventGenerator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path

from rag_app.access.access import Access
from rag_app.access.quotas import Usage
from rag_app.addresses import origin_of
from rag_app.answering.ask_options import AskOptions
from rag_app.answering.chat_models import ChatModelCatalogue, ChatSettings, begin
from rag_app.answering.generation import Generator
from rag_app.answering.model_spec import QUOTING, ModelSpec, parse
from rag_app.answering.overview import Makers, Overviews
from rag_app.answering.questioner import Questioner
from rag_app.answering.sentence_ranker import similar
from rag_app.environment import quiet_dependencies
from rag_app.errors import LibraryClosed, ModelAway, RagAppError
from rag_app.ingestion.service import Dependencies, DocumentService
from rag_app.models.catalogue import SENTENCES, has_room
from rag_app.reading.confinement import available
from rag_app.reading.limits import Limits
from rag_app.reading.sandbox import Sandbox, swept
from rag_app.retrieval.embedding import Embedder, MiniLmEmbedder
from rag_app.retrieval.embedding_choice import EmbeddingChoice
from rag_app.retrieval.reindexing import LiveEmbedder, LiveVectors, Reindexing
from rag_app.retrieval.sentence_index import SentenceIndex
from rag_app.scope import OWN, WORKER, Role, Scope, readers_of
from rag_app.settings import Settings
from rag_app.storage import Conversations, Store
from rag_app.storage.contents import boxes_of
from rag_app.storage.engines import open_database
from rag_app.storage.object_store import originals_of
from rag_app.storage.originals import Reserve, own
from rag_app.storage.preferences import PreferenceFile
from rag_app.storage.queue import SeenDocument
from rag_app.text import languages
from rag_app.text.formats import page_name, section_name
from rag_app.types import EMBEDDED, Box, Citation, Document, Event, Finished, PagePicture, Report


class InFlightRequests:
    """Knows what is being answered and searched for now."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0  # threads that use the library right now
        self._stops: list[threading.Event] = []  # of the answers that are not finished
        self._broken_off: list[threading.Event] = []
        self._closed = False
        self._asked = -math.inf  # when the last question was asked, or answered

    def asked_within(self, seconds: float) -> bool:
        """Whether somebody is waiting for an answer, or was so many seconds ago."""
        with self._changed:
            return bool(self._stops) or time.monotonic() < self._asked + seconds

    @property
    def answering(self) -> int:
        """How many answers are being made."""
        return len(self._stops)

    def events(
        self, made: EventGenerator[Event, None, None], stop: threading.Event
    ) -> Iterator[Event]:
        """The same events. Raises LibraryClosed if it was closed before the answer was there."""
        finished = False
        with closing(made), self.breaking_off(stop):
            while True:
                with self.using():
                    event = next(made, None)
                if event is None:
                    break
                finished |= isinstance(event, Finished)
                yield event
            if not finished and stop in self._broken_off:
                raise LibraryClosed.now()

    @contextmanager
    def using(self) -> Iterator[None]:
        """The library is not closed inside the block. Raises LibraryClosed if it is already."""
        with self._changed:
            if self._closed:
                raise LibraryClosed.now()
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def breaking_off(self, stop: threading.Event) -> Iterator[None]:
        """Closing the library sets `stop` inside the block; it counts as an answer."""
        with self._changed:
            self._stops.append(stop)
        try:
            yield
        finally:
            with self._changed:
                self._stops.remove(stop)
                self._asked = time.monotonic()

    def close(self, seconds: float) -> bool:
        """Break off what is being answered, and wait for it. False if the time ran out before."""
        with self._changed:
            self._closed = True
            self._broken_off = [stop for stop in self._stops if not stop.is_set()]
            for stop in self._broken_off:
                stop.set()
            return self._changed.wait_for(lambda: not self._inside, seconds)


# Loads the models in the background, so that the first question need not wait for them.


class ModelWarmUp:
    """Calls each of `loads` once, in a thread; `notice` may be a sentence on what they lack."""

    def __init__(self, loads: Sequence[Callable[[], object]], notice: Callable[[], str]) -> None:
        self._loads, self._notice = loads, notice
        self._beginning = threading.Lock()
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self.state = "cold"  # or "warming" or "ready", or a sentence that says what failed

    def start(self, after: float = 0.0) -> None:
        """Begin after so many seconds, if it has not been begun."""
        with self._beginning:
            if self._thread is None:
                self.state = "warming"
                self._thread = threading.Thread(
                    target=self._run, args=(after,), name="rag-app-warm", daemon=True
                )
                self._thread.start()

    def wait(self) -> None:
        """Until it is done, if it was begun."""
        self._hurry.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, after: float) -> None:
        self._hurry.wait(after)
        failed = ""
        for load in self._loads:  # one that fails holds up none of the others
            try:
                load()
            except ModelAway:  # said with every answer until it is back
                continue
            except RagAppError as error:
                failed = failed or str(error)
        self.state = failed or self._notice() or "ready"


# Documents as they are looked at: pages, pictures, places on them, passages.

log = logging.getLogger(__name__)

_LINE = re.compile(r"\S[^\r\n]*")


class PageViews:
    """Gives what there is to see for a scope; `viewer` draws pages and never waits behind one being
    read."""

    def __init__(self, stock: Dependencies, viewer: Sandbox, scope: Scope) -> None:
        self._stock, self._viewer, self._scope = stock, viewer, scope

    def original(self, document_id: str) -> Path:
        """The file as it was handed in. Raises UnknownDocument, FilesError."""
        with self._stock.original(self._document(document_id)) as path:
            return path  # a copy that was just used stays for a while

    def report(self, document_id: str) -> Report:
        """What became of a document, in full. Raises UnknownDocument."""
        document, store = self._document(document_id), self._stock.store
        report, origin = store.queue.report(document), store.fetched.of(document.id)
        if origin is None:
            return report
        return dataclasses.replace(report, address=origin.address, fetched_at=origin.at)

    def page_name(self, document_id: str, number: int, name: str = "", start: int = 0) -> str:
        """What a page is called, see `text.formats`, or the section of a text without pages that
        `start` stands in; `name` of a document that may be gone."""
        known, store = None, self._stock.store
        if store.documents(self._scope, [document_id]):
            known = store.page_label(document_id, number, self._scope)
        suffix, label, total = known or (name, "", 0)
        called = page_name(suffix, number, label, total)
        return called or (
            section_name(store.section(document_id, number, start, self._scope)) if known else ""
        )

    def picture(self, document_id: str, number: int, scale: float = 1.6) -> PagePicture | None:
        """The page as it looks, at `scale` pixels a point; None if the format has no looks.
        Raises UnknownDocument."""
        document = self._document(document_id)
        if self._stock.store.page(document_id, number, self._scope).width is None:
            return None
        with self._stock.reading(document) as path:
            return self._viewer.render(path, number, scale)

    def boxes(self, document_id: str, page: int, start: int, end: int) -> tuple[Box, ...]:
        """Where a span of a page stands on its picture, one box a line; empty if it has none.
        Raises UnknownDocument."""
        document = self._document(document_id)
        if self._stock.store.page(document_id, page, self._scope).width is None:
            return ()
        recognised = self._stock.store.scans.boxes(document_id, page, start, end, self._scope)
        if recognised is not None:
            return recognised
        with self._stock.reading(document) as path:
            return self._viewer.boxes(path, page, start, end)

    def lines(self, document_id: str, page: int) -> tuple[tuple[str, Box], ...]:
        """The lines of a page and where each stands on its picture; none if it has no picture.
        Raises UnknownDocument."""
        document = self._document(document_id)
        kept = self._stock.store.page(document_id, page, self._scope)
        if kept.width is None or not kept.text.strip():
            return ()
        spans = [line.span() for line in _LINE.finditer(kept.text)]
        words = self._stock.store.scans.words(document_id, page, self._scope)
        if words is not None:
            each = [boxes_of(words, *span) for span in spans]
        else:
            with self._stock.reading(document) as path:
                each = self._viewer.boxes_of_spans(path, page, spans)
        return tuple(
            (kept.text[start:end], boxes[0])
            for (start, end), boxes in zip(spans, each, strict=True)
            if len(boxes) == 1
        )

    def vectors(self) -> list[tuple[str, list[float]]]:
        """Every passage's text and vector, of the documents that are ready."""
        found = []
        for document in self._stock.store.documents(self._scope):
            if document.status in EMBEDDED:
                vectors = self._stock.vectors.vectors(document.id)
                found += [
                    (indexed.chunk.text, vectors[indexed.chunk.id])
                    for indexed in self._stock.store.indexed(document.id, self._scope)
                    if indexed.chunk.id in vectors
                ]
        return found

    def _document(self, document_id: str) -> SeenDocument:
        return SeenDocument(self._stock.store.document(document_id, self._scope))


def located(views: PageViews, citation: Citation) -> Citation:
    """A citation with the boxes of its quote."""
    try:
        boxes = views.boxes(citation.document_id, citation.page, citation.start, citation.end)
    except RagAppError as error:  # the quote stands without its place on the picture
        log.warning("no boxes for a citation: %s", error)
        return citation
    return dataclasses.replace(citation, boxes=boxes)


_CALM = 3.0  # seconds without a question or a page that is drawn after which overviews are made
_FAREWELL = 20.0  # seconds that closing waits for answers that are being made, at most


class OpenLibrary:
    """A data directory that is open: its files and threads, and what answers.

    One process owns it, and lets go of all of it when it is closed. Raises LibraryInUse."""

    def __init__(
        self, settings: Settings, embedder: Embedder | None, generator: Generator | None
    ) -> None:
        quiet_dependencies()
        self.settings, self.folder = settings, settings.folder
        by = generator or parse(settings.answers_by)
        with ExitStack() as undone:  # who cannot be opened holds nothing
            self._open_documents(embedder or MiniLmEmbedder(settings.threads), undone)
            self._open_answering(by)
            self.keeping.start()
            self.reindexing.start()
            if self.sentences:
                self.sentences.start()
            self.empty_deleted()
            self._held = undone.pop_all()
        log.info(available().in_words())

    def empty_deleted(self) -> None:
        """Remove what is in collections that were deleted, also before this process was started."""
        for deleted in self.access.to_be_emptied():
            self.keeping.remove_all(Scope.of("", {deleted.collection: Role.OWNER}))
            self.access.emptied(deleted)

    def _open_documents(self, embedder: Embedder, undone: ExitStack) -> None:
        settings = self.settings
        undone.callback(own(self.folder).release)
        reserve = Reserve(self.folder / "reserve")
        undone.callback(reserve.take)
        reserve.make_room()
        self.store = Store(open_database(settings))
        undone.callback(self.store.close)
        self.words = self.store.words
        self.conversations = Conversations(self.store.database, WORKER)
        self.access = Access(self.store.database, settings)
        self.access.quotas.used = lambda subject: Usage(*self.store.kept_of(subject))
        self._open_finding(embedder)
        undone.callback(self.vectors.close)
        self.viewer = Sandbox(Limits.from_settings(settings), swept(self.folder))
        undone.callback(self.viewer.close)
        originals = originals_of(settings)
        undone.callback(originals.close)
        self.stock = Dependencies(
            self.store, originals, self.vectors, self.embedder, self.conversations
        )
        self.keeping = DocumentService(
            self.stock,
            self.viewer,
            settings,
            reserve,
            self.access.quotas,
            lambda: self.overviews.wake(),
        )

    def _open_finding(self, embedder: Embedder) -> None:
        """What finds by meaning: passages, and sentences where their model was brought."""
        settings, preferences = self.settings, PreferenceFile.of(self.folder, OWN.subject)
        chosen = preferences.read().embedding
        # Where many processes share a database each would embed what the others do.
        beside = None if settings.database_address else similar(settings)
        self.reindexing = Reindexing(self.folder, self.store, settings, embedder, chosen, beside)
        held = self.reindexing.live.beside
        self.sentences: SentenceIndex | None = None
        if held and has_room(SENTENCES):
            self.sentences = SentenceIndex(
                self.store, held.vectors, held.embedder, self._waited_for
            )
        self.meaning = EmbeddingChoice(
            self.reindexing, preferences, bool(settings.embedding), self.folder / "models"
        )
        self.embedder = LiveEmbedder(self.reindexing.live)
        self.vectors = LiveVectors(self.reindexing.live)

    def wait_for_sentences(self, seconds: float) -> bool:
        """Until each sentence of what can be found is found by itself, too, as far as it ever will
        be; False if the time runs out before."""
        return self.sentences is None or self.sentences.wait(seconds)

    def _open_answering(self, by: Generator | ModelSpec) -> None:
        terms = ChatSettings(
            self.settings.chat_key,
            self._key_for(),
            self.settings.chat_seconds,
            self.settings.chat_tokens,
            self.folder / "models",
            self.settings.models_folder,
            self.settings.threads,
        )
        self.models = ChatModelCatalogue(terms)
        self.questioner = Questioner(
            self.store,
            self.vectors,
            self.embedder,
            self.settings,
            terms,
            by,
            partial(located, PageViews(self.stock, self.viewer, WORKER)),
            self.sentences,
        )
        self.overviews = Overviews(self.store, self._makers(by))
        self.underway = InFlightRequests()
        loads: list[Callable[[], object]] = [self.embedder.warm, self.questioner.warm]
        loads += [languages.warm, self.viewer.start]
        if isinstance(by, ModelSpec):
            loads.append(partial(begin, by, terms))
        self.warming = ModelWarmUp(loads, lambda: self.reindexing.notice)

    def _key_for(self) -> str:
        """Whom the key of the settings is for."""
        if self.settings.chat_key_url:
            return origin_of(self.settings.chat_key_url)
        return parse(self.settings.answers_by).destination

    def _makers(self, generator: Generator | ModelSpec) -> Makers:
        """Overviews are checked by quoting: nothing is sent anywhere that nobody asked for."""
        quoting = not isinstance(generator, ModelSpec) or generator.kind in QUOTING
        by = None if quoting else "reader"

        def ask(question: str, document: Document, stop: threading.Event) -> Iterator[Event]:
            scope = readers_of(document.collection)
            return self.questioner.ask(question, scope, [document.id], stop, AskOptions(by))

        def busy() -> bool:
            soon = self.sentences is not None and self.sentences.nearly_done
            return self._busy() or soon or self.overviews.looked_within(_CALM)

        who = f"{by or generator.name} {generator.name}"
        introduce = self.questioner.introduce if self.questioner.introduces else None
        return Makers(ask, self.embedder, who, busy, introduce, self._warms)

    def _warms(self) -> bool:
        return self.warming.state == "warming"

    def _busy(self) -> bool:
        """Whether what nobody waits for should wait."""
        asking = self.underway.asked_within(_CALM) or self._warms()
        return asking or bool(self.keeping.ingestion.progress(WORKER))

    def _waited_for(self) -> bool:
        """Whether somebody waits for an answer or a document just now. Sentences wait for nothing
        else, not for the writer either: without them the first questions are answered worse."""
        return bool(self.underway.answering or self.keeping.ingestion.progress(WORKER))

    def prepare(self, scope: Scope) -> None:
        """Search a part of the library in the background, for what is kept of it afterwards."""
        target = partial(self._prepare, scope)
        threading.Thread(target=target, name="rag-app-prepare", daemon=True).start()

    def _prepare(self, scope: Scope) -> None:
        with suppress(RagAppError), self.underway.using():  # nothing is there, or it closes
            self.questioner.search("anything", scope, 1)

    def close(self) -> None:
        """Let go of everything; work that is not finished goes on at the next start.

        Answers that are being made in other threads are broken off with LibraryClosed."""
        self.underway.close(_FAREWELL)
        self.questioner.close()
        self.overviews.stop()
        self.models.close()
        self.warming.wait()
        self.meaning.close()
        if self.sentences:
            self.sentences.stop()
        self.reindexing.stop()
        self.keeping.stop()
        self._held.close()
