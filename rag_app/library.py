"""The façade: add, documents, remove, search, ask.

One library owns one data directory in one process; it is thread-safe and shared by all sessions.
Knows nothing of the UI."""

from __future__ import annotations

import dataclasses
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from rag_app.answering.ask_options import AskOptions
from rag_app.answering.chat_models import ChatModelCatalogue, ChatSettings, begin
from rag_app.answering.generation import Generator
from rag_app.answering.in_flight import InFlightRequests, ModelWarmUp
from rag_app.answering.model_spec import QUOTING, ModelSpec, parse
from rag_app.answering.overview import Makers, Overviews
from rag_app.answering.query_rewriting import Turn
from rag_app.answering.questioner import Questioner
from rag_app.errors import RagAppError, UnknownDocument
from rag_app.ingestion.service import Dependencies, DocumentService, WebDocuments
from rag_app.reading.limits import Limits
from rag_app.reading.sandbox import Sandbox
from rag_app.retrieval.embedding import Embedder, MiniLmEmbedder
from rag_app.retrieval.embedding_choice import EmbeddingChoice
from rag_app.retrieval.live_index import LiveEmbedder, LiveVectors
from rag_app.retrieval.plain_search import PlainSearch
from rag_app.retrieval.reindexing import Reindexing
from rag_app.retrieval.retriever import HybridRetriever
from rag_app.settings import Settings, origin_of, quiet_dependencies
from rag_app.storage import Conversations, Store
from rag_app.storage.collections import DocumentGroups
from rag_app.storage.conversations import title_of
from rag_app.storage.originals import Originals, Reserve, own
from rag_app.storage.overviews import KeptCheck
from rag_app.storage.preferences import PreferenceFile
from rag_app.text import languages
from rag_app.text.page_names import page_name
from rag_app.types import (
    EMBEDDED,
    Added,
    AddedAgain,
    Box,
    Chunk,
    Citation,
    Document,
    Event,
    Heading,
    Page,
    PagePicture,
    Passage,
    Progress,
    Report,
    RetrieverKind,
    SetAside,
    Watched,
)

# Documents as they are looked at: pages, pictures, places on them, passages.

log = logging.getLogger(__name__)


class PageViews:
    """Gives what there is to see; `viewer` draws pages and never waits behind one being read."""

    def __init__(self, stock: Dependencies, viewer: Sandbox) -> None:
        self._stock, self._viewer = stock, viewer

    def original(self, document_id: str) -> Path:
        """The file as it was handed in. Raises UnknownDocument."""
        return self._stock.original(self._stock.store.document(document_id))

    def page_name(self, document_id: str, number: int, name: str) -> str:
        """What a page is called, by the document's name if it is gone."""
        known = self._stock.store.page_label(document_id, number) or (name, "", 0)
        suffix, label, total = known
        return page_name(suffix, number, label, total)

    def picture(self, document_id: str, number: int, scale: float) -> PagePicture | None:
        """The page as it looks, see `Library.picture`."""
        document = self._stock.store.document(document_id)
        if self._stock.store.page(document_id, number).width is None:
            return None
        return self._viewer.render(self._stock.readable(document), number, scale)

    def boxes(self, document_id: str, page: int, start: int, end: int) -> tuple[Box, ...]:
        """Where a span of a page stands on its picture, see `Library.boxes`."""
        document = self._stock.store.document(document_id)
        if self._stock.store.page(document_id, page).width is None:
            return ()
        recognised = self._stock.store.scans.boxes(document_id, page, start, end)
        if recognised is not None:
            return recognised
        return self._viewer.boxes(self._stock.readable(document), page, start, end)

    def located(self, citation: Citation) -> Citation:
        """A citation with the boxes of its quote."""
        try:
            boxes = self.boxes(citation.document_id, citation.page, citation.start, citation.end)
        except RagAppError as error:  # the quote stands without its place on the picture
            log.warning("no boxes for a citation: %s", error)
            return citation
        return dataclasses.replace(citation, boxes=boxes)

    def vectors(self) -> list[tuple[str, list[float]]]:
        """Every passage's text and vector, of the documents that are ready."""
        found = []
        for document in self._stock.store.documents():
            if document.status in EMBEDDED:
                vectors = self._stock.vectors.vectors(document.id)
                found += [
                    (indexed.chunk.text, vectors[indexed.chunk.id])
                    for indexed in self._stock.store.indexed(document.id)
                    if indexed.chunk.id in vectors
                ]
        return found


# What became of a document, in full, from what the store knows of it.

_ENCODING = re.compile(r"it was read as (.+)\.$")  # how readers say that they had to guess


def report(store: Store, document: Document) -> Report:
    """The report of a document."""
    facts = store.queue.facts(document.id)
    origin = store.fetched.of(document.id)
    guessed = (_ENCODING.search(warning) for warning in document.warnings)
    return Report(
        document=document,
        pages_without_text=facts.pages_without_text,
        tables=facts.tables,
        encoding=next((found.group(1) for found in guessed if found), ""),
        duplicates=facts.duplicates,
        parts=facts.parts,
        inside=facts.inside,
        address=origin.address if origin else "",
        fetched_at=origin.at if origin else "",
    )


# A library's documents: kept, worked on, looked at; nothing can be asked yet.
#
# One library owns one data directory in one process, and lets go of all of it when it is closed.


class DocumentLibrary:
    """What `Library` does with documents. Raises LibraryInUse."""

    def __init__(
        self, settings: Settings, embedder: Embedder, after_step: Callable[[], None]
    ) -> None:
        self.settings, self.folder = settings, settings.folder
        with ExitStack() as undone:  # who cannot be opened holds nothing
            undone.callback(own(self.folder).release)
            reserve = Reserve(self.folder / "reserve")
            undone.callback(reserve.take)
            reserve.make_room()
            self._store = Store(self.folder / "library.sqlite3")
            undone.callback(self._store.close)
            self.conversations = Conversations(self._store.database)
            self.shelves = DocumentGroups(self._store.database)
            self.checks = KeptCheck(self._store.database)
            self.preferences = PreferenceFile(self.folder / "preferences.json")
            chosen = self.preferences.read().embedding
            self._reindexing = Reindexing(self.folder, self._store, settings, embedder, chosen)
            self.meaning = EmbeddingChoice(
                self._reindexing, self.preferences, bool(settings.embedding), self.folder / "models"
            )
            self._embedder = LiveEmbedder(self._reindexing.live)
            self._vectors = LiveVectors(self._reindexing.live)
            undone.callback(self._vectors.close)
            originals = Originals(self.folder / "files", settings.max_file_mb << 20)
            stock = Dependencies(
                self._store, originals, self._vectors, self._embedder, self.conversations
            )
            viewer = Sandbox(Limits.from_settings(settings))
            undone.callback(viewer.close)
            self._showing = PageViews(stock, viewer)
            self._keeping = DocumentService(stock, viewer, settings, reserve, after_step)
            self.web = WebDocuments(self._store, self._keeping, settings)
            self._queue, self._cleaner = self._keeping.ingestion, self._keeping.cleaner
            self._held = undone.pop_all()

    def _start(self) -> None:
        """Begin to work, once everything is put together."""
        self._keeping.start()
        self._reindexing.start()

    def close(self) -> None:
        """Let go of everything; work that is not finished goes on at the next start."""
        self.meaning.close()
        self._reindexing.stop()
        self._keeping.stop()
        self._held.close()

    def add(
        self, name: str, data: bytes | Path, *, password: str | None = None, replace: bool = False
    ) -> Added:
        """Keep a file and begin to work on it in the background.

        With `replace`, a document of the same name gives way. Raises DocumentError for a file that
        is refused at once; anything found out later stands in the document's `error`."""
        return self._keeping.add(name, data, password=password, replace=replace)

    def replace(self, older_id: str, newer_id: str) -> Document:
        """Let a document take the name of an older one, which goes. Raises UnknownDocument.

        That happens once the newer one can be searched; if it cannot be read, the older stays."""
        return self._keeping.replace(older_id, newer_id)

    def to_replace(self, document_id: str) -> list[Document]:
        """The older versions that a document is still about to replace. Raises UnknownDocument.

        They were given up when it was to replace them: none comes back because it is removed before
        it can be searched. Of one that cannot be read there are none; what it was for stays."""
        return self._keeping.to_replace(document_id)

    def documents(self) -> list[Document]:
        """All documents, in the order they were added."""
        return self._store.documents()

    def document(self, id_or_name: str) -> Document:
        """A document by id or by name. Raises UnknownDocument."""
        for document in self._store.documents([id_or_name]):
            return document
        if named := self._store.document_named(id_or_name):
            return named
        raise UnknownDocument(f"There is no document “{id_or_name}” in your library.")

    def unlock(self, document_id: str, password: str) -> None:
        """Open an encrypted document. Raises WrongPassword; the password is not kept.

        An unlocked copy is kept beside the original until the document is removed."""
        self._keeping.unlock(document_id, password)

    def remove(self, document_id: str) -> None:
        """Forget a document, and what was unpacked from it alone. Raises UnknownDocument.

        The older versions that it is still about to replace go with it, see `to_replace`.
        Nothing finds it afterwards; what is left of it in the files of the index is overwritten in
        the background, see `wait_until_clean`."""
        self._keeping.remove(document_id)

    def wait_until_clean(self, timeout: float | None = None) -> bool:
        """Until nothing of what was removed is left on disk; False if the time ran out before."""
        return self._cleaner.wait(timeout)

    def clear(self) -> None:
        """Forget everything: documents, conversations and what was chosen on the page."""
        for conversation in self.conversations.listed():
            self.conversations.delete(conversation.id)
        self._keeping.remove_all()
        self._keeping.delete_set_aside()
        self.preferences.clear()
        self.meaning.forget()
        self.checks.clear()

    def set_aside(self) -> list[SetAside]:
        """Kept files that the library knows nothing of: its database was lost, or an older copy of
        it was put back. Nothing finds what they say; offer to add them again."""
        return self._keeping.set_aside()

    def add_set_aside(
        self, told: Callable[[int, int], object] = lambda done, total: None
    ) -> AddedAgain:
        """Add again what was set aside, and begin to work on it in the background.

        Names are not known: each has one of its own until it is added under its real one."""
        return self._keeping.add_set_aside(told)

    def delete_set_aside(self) -> None:
        """Delete what was set aside, for good."""
        self._keeping.delete_set_aside()

    def size_on_disk(self) -> int:
        """Bytes that the data directory takes."""
        return sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())

    def watch(self, folder: Path) -> Watched:
        """Keep a folder in step from now on, also after a restart: what is added, changed and
        removed there is added, replaced and removed here. Raises DocumentError."""
        return self._keeping.watching.watch(folder)

    def unwatch(self, folder: Path) -> None:
        """Leave a folder alone from now on; its documents stay. Raises DocumentError."""
        self._keeping.watching.unwatch(folder)

    def watched(self) -> list[Watched]:
        """The folders that are kept in step, and what is wrong with them."""
        return self._keeping.watching.watched()

    # The queue

    def progress(self, documents: Iterable[Document] | None = None) -> dict[str, Progress]:
        """By document id: what is being worked on or waits for it.

        Who shows it beside a list gives that list: files that others add in between then count in
        both or in neither."""
        return self._queue.progress(documents)

    def wait(self, document_ids: Iterable[str], timeout: float | None = None) -> list[Document]:
        """The documents once no work on them is left, or as they are when the time is over.

        While work is paused, they are given as they are."""
        return self._keeping.wait(document_ids, timeout)

    @property
    def paused(self) -> bool:
        """Whether no work is begun until `resume`, also after a restart."""
        return self._queue.paused

    @property
    def trouble(self) -> str:
        """One sentence while work cannot go on (a full disk); empty if it can."""
        return self._queue.trouble

    def pause(self) -> None:
        """Begin no more work; files are still accepted and wait."""
        self._queue.pause(True)

    def resume(self) -> None:
        """Go on after `pause`."""
        self._queue.pause(False)

    def retry(self, document_id: str) -> None:
        """Work on a document again from the start."""
        self._keeping.retry(document_id)

    def cancel(self, document_id: str) -> bool:
        """Do not read a document: it fails with the code "cancelled"; `retry` reads it after all.

        False if it has been read already."""
        return self._queue.cancel(document_id)

    def cancel_waiting(self) -> int:
        """Cancel every document that has not been read yet. Returns how many."""
        return self._queue.cancel_all()

    # What is in them

    def report(self, document_id: str) -> Report:
        """What became of a document, in full. Raises UnknownDocument."""
        return report(self._store, self._store.document(document_id))

    def parts(self, document_id: str) -> list[str]:
        """The ids of the documents that came out of a document."""
        return self._store.queue.parts(document_id)

    def original(self, document_id: str) -> Path:
        """The file as it was handed in. Raises UnknownDocument."""
        return self._showing.original(document_id)

    def page(self, document_id: str, number: int) -> Page:
        """One page's text. Raises UnknownDocument."""
        return self._store.page(document_id, number)

    def page_name(self, document_id: str, number: int, name: str = "") -> str:
        """What a page is called, see `text.page_names`; `name` of a document that may be gone."""
        return self._showing.page_name(document_id, number, name)

    def headings(self, document_id: str) -> list[Heading]:
        """A document's headings, in order."""
        return self._store.headings(document_id)

    def picture(self, document_id: str, number: int, scale: float = 1.6) -> PagePicture | None:
        """The page as it looks, at `scale` pixels a point; None if the format has no looks."""
        return self._showing.picture(document_id, number, scale)

    def boxes(self, document_id: str, page: int, start: int, end: int) -> tuple[Box, ...]:
        """Where a span of a page stands on its picture, one box a line; empty if it has none."""
        return self._showing.boxes(document_id, page, start, end)

    def vectors(self) -> list[tuple[str, list[float]]]:
        """Every passage's text and vector, of the documents that are ready."""
        return self._showing.vectors()

    def chunks(self, document_id: str) -> list[Chunk]:
        """The passages that a document is cut into, in order."""
        return [indexed.chunk for indexed in self._store.indexed(document_id)]

    def reindexing(self) -> Progress | None:
        """How far another embedding model is that is to take over; None if there is none."""
        return self._reindexing.progress()


_CALM = 3.0  # seconds without a question after which overviews are made
_FAREWELL = 20.0  # seconds that closing waits for answers that are being made, at most


class Library(DocumentLibrary):
    """Documents, and what can be asked of them.

    Raises LibraryInUse if another process owns the data directory."""

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        generator: Generator | None = None,
    ) -> None:
        quiet_dependencies()
        by = generator or parse(settings.answers_by)
        super().__init__(
            settings,
            embedder or MiniLmEmbedder(settings.threads),
            after_step=lambda: self.overviews.wake(),
        )
        with ExitStack() as undone:
            undone.callback(self._held.close)
            self._put_together(by)
            self._start()
            undone.pop_all()

    def _put_together(self, by: Generator | ModelSpec) -> None:
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
        self.plain = PlainSearch(self._store.database)
        self._questioner = Questioner(
            self._store,
            self._vectors,
            self._embedder,
            self.settings,
            terms,
            by,
            self._showing.located,
        )
        self.overviews = Overviews(self._store, self._makers(by))
        self._underway = InFlightRequests()
        loads: list[Callable[[], object]] = [self._embedder.warm, self._questioner.warm]
        loads.append(languages.warm)
        if isinstance(by, ModelSpec):
            loads.append(partial(begin, by, terms))
        self._warming = ModelWarmUp(loads, lambda: self._reindexing.notice)

    def _key_for(self) -> str:
        """Whom the key of the settings is for."""
        if self.settings.chat_key_url:
            return origin_of(self.settings.chat_key_url)
        return parse(self.settings.answers_by).destination

    def _makers(self, generator: Generator | ModelSpec) -> Makers:
        """Overviews are checked by quoting: nothing is sent anywhere that nobody asked for."""
        quoting = not isinstance(generator, ModelSpec) or generator.kind in QUOTING
        by = None if quoting else "quotes"

        def ask(question: str, document_id: str, stop: threading.Event) -> Iterator[Event]:
            return self._questioner.ask(question, [document_id], stop, AskOptions(by))

        def busy() -> bool:
            asking = self._underway.asked_within(_CALM) or self.warm_state == "warming"
            return asking or bool(self.progress())

        who = f"{by or generator.name} {generator.name}"
        return Makers(ask, self._embedder, who, busy, self._questioner.introduce)

    def close(self) -> None:
        """Let go of everything; work that is not finished goes on at the next start.

        Answers that are being made in other threads are broken off with LibraryClosed."""
        self._underway.close(_FAREWELL)
        self.overviews.stop()
        self.models.close()
        self._warming.wait()
        super().close()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Questions

    def retriever(
        self,
        k: int,
        documents: Sequence[str] | None = None,
        kind: RetrieverKind = RetrieverKind.HYBRID,
        rerank: int | None = None,
    ) -> HybridRetriever:
        """What finds passages, for any LangChain chain; the ranker puts `rerank` of them in order,
        None: as set."""
        return self._questioner.retriever(k, documents, kind, rerank)

    def search(
        self,
        query: str,
        k: int | None = None,
        documents: Sequence[str] | None = None,
        retriever: RetrieverKind = RetrieverKind.HYBRID,
    ) -> list[Passage]:
        """The k best passages for a query. Raises QuestionError."""
        with self._underway.using():
            return self._questioner.search(query, k, documents, retriever)

    def entitle(self, conversation_id: str) -> None:
        """Give a conversation that goes by its first question a title, if the app's own writer
        answers; one that a person gave stays. Raises LibraryClosed."""
        [first_id, *_] = [*self.conversations.order(conversation_id), ""]
        first = self.conversations.exchange(first_id)
        if first is None or not self._goes_by(conversation_id, first.question):
            return
        with self._underway.using():
            title = self._questioner.entitle(first.question)
        if title and self._goes_by(conversation_id, first.question):
            self.conversations.rename(conversation_id, title)

    def _goes_by(self, conversation_id: str, question: str) -> bool:
        known = self.conversations.conversation(conversation_id)
        return known is not None and known.title == title_of(question)

    def ask(
        self,
        question: str,
        documents: Sequence[str] | None = None,
        cancelled: threading.Event | None = None,
        generator: str | None = None,
        turns: Sequence[Turn] = (),
        language: str = "",
        caution: float | None = None,
        top_k: int | None = None,
    ) -> Iterator[Event]:
        """Sources, then Deltas, then Finished; `generator`, `caution` and `top_k` instead of those
        in the settings.

        A question that leans on the `turns` before it is made standalone first. The answer is to be
        in `language` (its English name); empty: in the question's.
        Raises QuestionError, or SettingsError for a generator that makes no sense."""
        stop = cancelled or threading.Event()
        manner = AskOptions(generator, language, caution, top_k)
        made = self._questioner.ask(question, documents, stop, manner, turns)
        return self._underway.events(made, stop)

    # Models

    def warm(self, after: float = 0.0) -> None:
        """Start to load the models in the background, after so many seconds."""
        self._warming.start(after)

    @property
    def warm_state(self) -> str:
        """One of "cold", "warming" and "ready", or a sentence that says what failed."""
        return self._warming.state
