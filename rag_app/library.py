"""The façade: add, documents, remove, search, ask.

One library owns one data directory in one process; it is thread-safe and shared by all sessions.
Knows nothing of the UI."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rag_app.answering.chat_models import Terms
from rag_app.answering.choice import Choice, parse
from rag_app.answering.follow_ups import Turn
from rag_app.answering.generator import Generator
from rag_app.answering.shelf import Shelf
from rag_app.disk.originals import Originals, display_name
from rag_app.disk.ownership import own
from rag_app.disk.reserve import Reserve
from rag_app.embedding import Embedder, MiniLmEmbedder
from rag_app.encoders.live_index import LiveEmbedder, LiveVectors
from rag_app.encoders.reindexing import Reindexing
from rag_app.errors import DiskFull, RagAppError, UnknownDocument
from rag_app.ingestion import Ingestion
from rag_app.intake.cleaning import Cleaner
from rag_app.intake.parts import Parts
from rag_app.intake.receiving import Intake
from rag_app.intake.recognition import Recognition
from rag_app.intake.report import report
from rag_app.intake.watching import Asked, Watching
from rag_app.overview.building import Makers, Overviews
from rag_app.plain_search import PlainSearch
from rag_app.preferences import PreferenceFile
from rag_app.questioner import Questioner
from rag_app.questions import EMBEDDED, Manner
from rag_app.reading import detect
from rag_app.reading.limits import Limits
from rag_app.reading.sandbox import Sandbox
from rag_app.retrieval import HybridRetriever
from rag_app.settings import Settings, quiet_dependencies
from rag_app.store import Conversations, Store
from rag_app.store.folders import Folders
from rag_app.store.shelves import Shelves
from rag_app.text import languages
from rag_app.types import (
    Added,
    Answer,
    Box,
    Chunk,
    Citation,
    Document,
    Event,
    Finished,
    Heading,
    Page,
    PagePicture,
    Passage,
    Progress,
    Report,
    RetrieverKind,
    Status,
    Watched,
)

log = logging.getLogger(__name__)


class Library:
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
        self.settings = settings
        choice = parse(settings.generator)
        self._folder = folder = settings.data_dir.expanduser().resolve()
        self._lock = own(folder)
        built_in = embedder or MiniLmEmbedder(settings.threads)
        try:
            self._store = Store(folder / "library.sqlite3")
        except RagAppError:
            self._lock.release()
            raise
        self.conversations = Conversations(self._store.database)
        self.shelves = Shelves(self._store.database)
        self.plain = PlainSearch(self._store.database)
        self._reindexing = Reindexing(folder, self._store, settings, built_in)
        self._embedder = LiveEmbedder(self._reindexing.live)
        self._vectors = LiveVectors(self._reindexing.live)
        terms = Terms(
            settings.chat_key, settings.chat_seconds, settings.chat_tokens, folder / "models"
        )
        self.models = Shelf(terms)
        self.preferences = PreferenceFile(folder / "preferences.json")
        self._questioner = Questioner(
            self._store, self._vectors, self._embedder, settings, terms, generator or choice
        )
        self._originals = Originals(folder / "files", settings.max_file_mb << 20)
        self._reserve = Reserve(folder / "reserve")
        self._adding = threading.Lock()
        self._intake = Intake(self._store, self._originals)
        limits = Limits.from_settings(settings)
        self._viewer = Sandbox(limits)  # for people who wait; never behind a file being read
        self._reader = Sandbox(limits)
        self._recognition = Recognition(self._store.scans, Sandbox(limits), self._file, settings)
        self._ingestion = Ingestion(
            self._store,
            self._vectors,
            self._embedder,
            self._reader,
            self._file,
            settings.chunk_tokens,
            Parts(
                self._store,
                self._originals,
                self._intake,
                self._adding,
                limits,
                folder / "unpacking",
                settings.max_nesting,
            ),
            self._recognition,
            self._after_step,
        )
        self._cleaner = Cleaner(self._store, self._vectors)
        asked = Asked(self._take_watched, self.replace, self._withdraw)
        self._watching = Watching(Folders(self._store.database), asked, folder)
        self.overviews = Overviews(self._store, self._makers(generator or choice))
        self._warming: threading.Thread | None = None
        self._warm_state = "cold"
        self._recover()
        self._ingestion.start()
        self._reindexing.start()
        self._cleaner.start()
        self._watching.start()

    def close(self) -> None:
        """Let go of everything; work that is not finished goes on at the next start."""
        self.overviews.stop()
        self._watching.stop()
        self._ingestion.stop()
        self._reindexing.stop()
        self._cleaner.stop()
        self.models.close()
        if self._warming is not None:
            self._warming.join()
        self._reader.close()
        self._recognition.close()
        self._viewer.close()
        self._vectors.close()
        self._store.close()
        self._lock.release()

    def _makers(self, generator: Generator | Choice) -> Makers:
        """Overviews are checked by quoting: nothing is sent anywhere that nobody asked for."""
        quoting = not isinstance(generator, Choice) or generator.kind in ("reader", "quotes")
        by = None if quoting else "quotes"

        def ask(question: str, document_id: str, stop: threading.Event) -> Iterator[Event]:
            return self._questioner.ask(question, [document_id], stop, Manner(by))

        return Makers(ask, self._embedder, by or generator.name, lambda: bool(self.progress()))

    def _after_step(self) -> None:
        self._carry_out_replacements()
        self.overviews.wake()

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Documents

    def add(
        self, name: str, data: bytes | Path, *, password: str | None = None, replace: bool = False
    ) -> Added:
        """Keep a file and begin to work on it in the background.

        With `replace`, a document of the same name gives way. Raises DocumentError for a file that
        is refused at once; anything found out later stands in the document's `error`."""
        added, older, suffix = self._take(display_name(name), data)
        if replace and older and not added.duplicate and older.id != added.document.id:
            added = Added(self.replace(older.id, added.document.id))
        if password and suffix == ".pdf" and not added.duplicate:
            added = dataclasses.replace(added, document=self._try(added.document, password))
        self._ingestion.wake()
        return added

    def _take(
        self, shown: str, data: bytes | Path, handed_in: bool = True
    ) -> tuple[Added, Document | None, str]:
        """What became of a file, the document that had its name before, and its format."""
        incoming = self._originals.receive(shown, data)
        try:
            suffix = detect(incoming.path, shown)
            with self._adding:
                older = self._store.document_named(shown)
                added = self._intake.accept(incoming, shown, suffix, handed_in=handed_in)
        finally:
            incoming.path.unlink(missing_ok=True)
        return added, older, suffix

    def _take_watched(self, name: str, path: Path) -> Added:
        added, _, _ = self._take(display_name(name), path, handed_in=False)
        self._ingestion.wake()
        return added

    def replace(self, older_id: str, newer_id: str) -> Document:
        """Let a document take the name of an older one, which goes. Raises UnknownDocument.

        That happens once the newer one can be searched; if it cannot be read, the older stays."""
        self._store.document(older_id)
        self._store.want_replacement(newer_id, older_id)
        self._carry_out_replacements()
        return self._store.document(newer_id)

    def _carry_out_replacements(self) -> None:
        for newer, older in self._store.replacements():
            going = self._store.queue.superseded(newer, older)
            with self._adding, self._holding(*going):
                self._store.replace(newer, older)
                self._sweep_away()

    @contextmanager
    def _holding(self, *document_ids: str) -> Iterator[None]:
        """Nothing works on these documents or on what would be removed with them."""
        with ExitStack() as held:
            for document_id in document_ids:
                held.enter_context(self._ingestion.hold(document_id))
                for each in self._store.queue.going_with(document_id)[1:]:
                    held.enter_context(self._ingestion.hold(each))
            yield

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

    def progress(self) -> dict[str, Progress]:
        """By document id: what is being worked on or waits for it."""
        return self._ingestion.progress()

    def wait(self, document_ids: Iterable[str], timeout: float | None = None) -> list[Document]:
        """The documents once no work on them is left, or as they are when the time is over.

        While work is paused, they are given as they are."""
        ids = list(document_ids)
        self._ingestion.wait(ids, timeout)
        self._carry_out_replacements()
        return self._store.documents(ids)

    def unlock(self, document_id: str, password: str) -> None:
        """Open an encrypted document. Raises WrongPassword; the password is not kept.

        An unlocked copy is kept beside the original until the document is removed."""
        document = self._store.document(document_id)
        with self._ingestion.hold(document_id):
            self._viewer.unlock(
                self._originals.path(document.id, document.suffix),
                password,
                self._originals.unlocked(document.id, document.suffix),
            )
            self._store.set_status(document_id, Status.RECEIVED)

    def _try(self, document: Document, password: str) -> Document:
        try:
            self.unlock(document.id, password)
        except RagAppError as error:
            with self._ingestion.hold(document.id):
                self._store.set_failed(document.id, str(error), error.code)
        return self._store.document(document.id)

    def retry(self, document_id: str) -> None:
        """Work on a document again from the start."""
        with self._ingestion.hold(document_id):
            self._store.set_status(document_id, Status.RECEIVED)

    def remove(self, document_id: str) -> None:
        """Forget a document, and what was unpacked from it alone. Raises UnknownDocument.

        Nothing finds it afterwards; what is left of it in the files of the index is overwritten in
        the background, see `wait_until_clean`."""
        self._store.document(document_id)
        with self._adding, self._holding(document_id):
            try:
                self._store.remove(document_id)
                self._sweep_away()
            except DiskFull:
                with self._reserve.given_up():
                    self._store.remove(document_id)
                    self._sweep_away()

    def clear(self) -> None:
        """Forget everything: documents, conversations and what was chosen on the page."""
        for conversation in self.conversations.listed():
            self.conversations.delete(conversation.id)
        for document in self.documents():
            with contextlib.suppress(UnknownDocument):  # gone with the file it was unpacked from
                self.remove(document.id)
        self.preferences.clear()

    @property
    def folder(self) -> Path:
        """The data directory."""
        return self._folder

    def size_on_disk(self) -> int:
        """Bytes that the data directory takes."""
        return sum(path.stat().st_size for path in self._folder.rglob("*") if path.is_file())

    def _withdraw(self, document_id: str) -> None:
        """Remove a document, and what it was still to replace."""
        older = self._store.queue.to_replace(document_id)
        self.remove(document_id)
        for each in older:
            self.remove(each)

    def wait_until_clean(self, timeout: float | None = None) -> bool:
        """Until nothing of what was removed is left on disk; False if the time ran out before."""
        return self._cleaner.wait(timeout)

    # The queue

    @property
    def paused(self) -> bool:
        """Whether no work is begun until `resume`, also after a restart."""
        return self._ingestion.paused

    @property
    def trouble(self) -> str:
        """One sentence while work cannot go on (a full disk); empty if it can."""
        return self._ingestion.trouble

    def pause(self) -> None:
        """Begin no more work; files are still accepted and wait."""
        self._ingestion.pause(True)

    def resume(self) -> None:
        """Go on after `pause`."""
        self._ingestion.pause(False)

    def cancel(self, document_id: str) -> bool:
        """Do not read a document: it fails with the code "cancelled"; `retry` reads it after all.

        False if it has been read already."""
        return self._ingestion.cancel(document_id)

    def cancel_waiting(self) -> int:
        """Cancel every document that has not been read yet. Returns how many."""
        return self._ingestion.cancel_all()

    def watch(self, folder: Path) -> Watched:
        """Keep a folder in step from now on, also after a restart: what is added, changed and
        removed there is added, replaced and removed here. Raises DocumentError."""
        return self._watching.watch(folder)

    def unwatch(self, folder: Path) -> None:
        """Leave a folder alone from now on; its documents stay. Raises DocumentError."""
        self._watching.unwatch(folder)

    def watched(self) -> list[Watched]:
        """The folders that are kept in step, and what is wrong with them."""
        return self._watching.watched()

    def parts(self, document_id: str) -> list[str]:
        """The ids of the documents that came out of a document."""
        return self._store.queue.parts(document_id)

    def report(self, document_id: str) -> Report:
        """What became of a document, in full. Raises UnknownDocument."""
        return report(self._store, self._store.document(document_id))

    def original(self, document_id: str) -> Path:
        """The file as it was handed in. Raises UnknownDocument."""
        document = self._store.document(document_id)
        return self._originals.path(document.id, document.suffix)

    def page(self, document_id: str, number: int) -> Page:
        """One page's text. Raises UnknownDocument."""
        return self._store.page(document_id, number)

    def headings(self, document_id: str) -> list[Heading]:
        """A document's headings, in order."""
        return self._store.headings(document_id)

    def picture(self, document_id: str, number: int, scale: float = 1.6) -> PagePicture | None:
        """The page as it looks, at `scale` pixels a point; None if the format has no looks."""
        document = self._store.document(document_id)
        if self._store.page(document_id, number).width is None:
            return None
        return self._viewer.render(self._file(document), number, scale)

    def boxes(self, document_id: str, page: int, start: int, end: int) -> tuple[Box, ...]:
        """Where a span of a page stands on its picture, one box a line; empty if it has none."""
        document = self._store.document(document_id)
        if self._store.page(document_id, page).width is None:
            return ()
        recognised = self._store.scans.boxes(document_id, page, start, end)
        if recognised is not None:
            return recognised
        return self._viewer.boxes(self._file(document), page, start, end)

    def vectors(self) -> list[tuple[str, list[float]]]:
        """Every passage's text and vector, of the documents that are ready."""
        found = []
        for document in self._store.documents():
            if document.status in EMBEDDED:
                vectors = self._vectors.vectors(document.id)
                found += [
                    (indexed.chunk.text, vectors[indexed.chunk.id])
                    for indexed in self._store.indexed(document.id)
                    if indexed.chunk.id in vectors
                ]
        return found

    def chunks(self, document_id: str) -> list[Chunk]:
        """The passages that a document is cut into, in order."""
        return [indexed.chunk for indexed in self._store.indexed(document_id)]

    # Questions

    def retriever(
        self,
        k: int,
        documents: Sequence[str] | None = None,
        kind: RetrieverKind = RetrieverKind.HYBRID,
        rerank: int | None = None,
    ) -> HybridRetriever:
        """What finds passages, for any LangChain chain; the reader reorders `rerank` of them."""
        return self._questioner.retriever(k, documents, kind, rerank)

    def search(
        self,
        query: str,
        k: int | None = None,
        documents: Sequence[str] | None = None,
        retriever: RetrieverKind = RetrieverKind.HYBRID,
    ) -> list[Passage]:
        """The k best passages for a query. Raises QuestionError."""
        return self._questioner.search(query, k, documents, retriever)

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
        manner = Manner(generator, language, caution, top_k)
        said = self._questioner.ask(question, documents, stop, manner, turns)
        for event in said:
            yield Finished(self._located(event.answer)) if isinstance(event, Finished) else event

    def _located(self, answer: Answer) -> Answer:
        """The answer with the boxes of its quotes."""
        located = tuple(self._with_boxes(citation) for citation in answer.citations)
        return dataclasses.replace(answer, citations=located)

    def _with_boxes(self, citation: Citation) -> Citation:
        try:
            boxes = self.boxes(citation.document_id, citation.page, citation.start, citation.end)
        except RagAppError as error:  # the quote stands without its place on the picture
            log.warning("no boxes for a citation: %s", error)
            return citation
        return dataclasses.replace(citation, boxes=boxes)

    # Models

    def warm(self) -> None:
        """Start to load the models in the background."""
        with self._adding:
            if self._warming is None:
                self._warm_state = "warming"
                self._warming = threading.Thread(
                    target=self._load, name="rag-app-warm", daemon=True
                )
                self._warming.start()

    @property
    def warm_state(self) -> str:
        """One of "cold", "warming" and "ready", or a sentence that says what failed."""
        return self._warm_state

    def _load(self) -> None:
        try:
            self._embedder.warm()
            self._questioner.warm()
            languages.warm()
        except RagAppError as error:
            self._warm_state = str(error)
        else:
            self._warm_state = self._reindexing.notice or "ready"

    def reindexing(self) -> Progress | None:
        """How far another embedding model is that is to take over; None if there is none."""
        return self._reindexing.progress()

    # Start

    def _recover(self) -> None:
        """Finish what a killed process left half done."""
        self._sweep_away()
        self._originals.sweep({d.id for d in self._store.documents()})
        self._carry_out_replacements()
        documents = self._store.documents()
        if self._vectors.count() < sum(d.chunks for d in documents if d.status in EMBEDDED):
            log.warning("the vectors are incomplete and are being made again")
            for document in documents:
                if document.status in EMBEDDED and document.chunks:
                    self._store.set_status(document.id, Status.SEARCHABLE)

    def _sweep_away(self) -> None:
        """Finish removals: vectors, files, and what is left of the text on disk."""
        for document_id, suffix in self._store.removals():
            self._vectors.delete(document_id)
            self._originals.forget(document_id, suffix)
            self.conversations.forget(document_id)
            self._store.finish_removal(document_id)
        self._cleaner.wake()

    def _file(self, document: Document) -> Path:
        return self._originals.readable(document.id, document.suffix)
