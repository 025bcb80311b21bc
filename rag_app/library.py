"""The façade: add, documents, remove, search, ask.

One library owns one data directory in one process; it is thread-safe and shared by all sessions.
Knows nothing of the UI."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rag_app.answering.chat_models import Terms
from rag_app.answering.choice import parse
from rag_app.answering.follow_ups import Turn
from rag_app.answering.generator import Generator
from rag_app.embedding import Embedder, MiniLmEmbedder
from rag_app.errors import RagAppError, UnknownDocument
from rag_app.ingestion import Ingestion
from rag_app.originals import Incoming, Originals, display_name, free_name
from rag_app.ownership import own
from rag_app.questioner import Questioner
from rag_app.reading import detect
from rag_app.reading.limits import Limits
from rag_app.reading.sandbox import Sandbox
from rag_app.settings import Settings, quiet_dependencies
from rag_app.shelf import Shelf
from rag_app.store import Conversations, Store
from rag_app.tuned import TunedQuestions
from rag_app.types import (
    Added,
    Answer,
    Box,
    Citation,
    Document,
    Event,
    Finished,
    Page,
    PagePicture,
    Passage,
    Progress,
    RetrieverKind,
    Status,
)
from rag_app.vectors import ChromaVectors

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
        folder = settings.data_dir.expanduser().resolve()
        self._lock = own(folder)
        self._embedder = embedder or MiniLmEmbedder(settings.threads)
        if settings.question_encoder:
            self._embedder = TunedQuestions(self._embedder, Path(settings.question_encoder))
        try:
            self._store = Store(folder / "library.sqlite3")
        except RagAppError:
            self._lock.release()
            raise
        self.conversations = Conversations(self._store.database)
        self._vectors = ChromaVectors(folder / "vectors", self._embedder.fingerprint)
        terms = Terms(
            settings.chat_key, settings.chat_seconds, settings.chat_tokens, folder / "models"
        )
        self.models = Shelf(terms)
        self._questioner = Questioner(
            self._store, self._vectors, self._embedder, settings, terms, generator or choice
        )
        self._originals = Originals(folder / "files", settings.max_file_mb << 20)
        limits = Limits.from_settings(settings)
        self._viewer = Sandbox(limits)  # for people who wait; never behind a file being read
        self._reader = Sandbox(limits)
        self._ingestion = Ingestion(
            self._store,
            self._vectors,
            self._embedder,
            self._reader,
            self._file,
            settings.chunk_tokens,
            self._carry_out_replacements,
        )
        self._adding = threading.Lock()
        self._warming: threading.Thread | None = None
        self._warm_state = "cold"
        self._recover()
        self._ingestion.start()

    def close(self) -> None:
        """Let go of everything; work that is not finished goes on at the next start."""
        self._ingestion.stop()
        self.models.close()
        if self._warming is not None:
            self._warming.join()
        self._reader.close()
        self._viewer.close()
        self._vectors.close()
        self._store.close()
        self._lock.release()

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
        shown = display_name(name)
        incoming = self._originals.receive(shown, data)
        try:
            suffix = detect(incoming.path, shown)
            with self._adding:
                older = self._store.document_named(shown)
                added = self._accept(incoming, shown, suffix)
        finally:
            incoming.path.unlink(missing_ok=True)
        if replace and older and not added.duplicate and older.id != added.document.id:
            added = Added(self.replace(older.id, added.document.id))
        if password and suffix == ".pdf" and not added.duplicate:
            added = dataclasses.replace(added, document=self._try(added.document, password))
        self._ingestion.wake()
        return added

    def _accept(self, incoming: Incoming, shown: str, suffix: str) -> Added:
        documents = self._store.documents()
        for known in documents:
            if known.id == incoming.sha256:
                kept = self._originals.path(known.id, known.suffix).is_file()
                if known.status is Status.FAILED or not kept:  # handed in to be tried again
                    self._originals.keep(incoming, known.suffix)
                    self._store.set_status(known.id, Status.RECEIVED)
                    return Added(self._store.document(known.id))
                return Added(known, True, (f"Already in your library as “{known.name}”.",))
        name = free_name(shown, (d.name for d in documents))
        warning = f"You already have another document called “{shown}”; this one is now “{name}”."
        self._originals.keep(incoming, suffix)
        document = Document(
            id=incoming.sha256,
            name=name,
            suffix=suffix,
            size=incoming.size,
            status=Status.RECEIVED,
            added_at=datetime.now(UTC).isoformat(timespec="microseconds"),
        )
        self._store.add_document(document)
        return Added(document, warnings=(warning,) if name != shown else ())

    def replace(self, older_id: str, newer_id: str) -> Document:
        """Let a document take the name of an older one, which goes. Raises UnknownDocument.

        That happens once the newer one can be searched; if it cannot be read, the older stays."""
        self._store.document(older_id)
        self._store.want_replacement(newer_id, older_id)
        self._carry_out_replacements()
        return self._store.document(newer_id)

    def _carry_out_replacements(self) -> None:
        for newer, older in self._store.replacements():
            with self._adding, self._ingestion.hold(older):
                self._store.replace(newer, older)
                self._sweep_away()

    def documents(self) -> list[Document]:
        """All documents, in the order they were added."""
        return self._store.documents()

    def document(self, id_or_name: str) -> Document:
        """A document by id or by name. Raises UnknownDocument."""
        for document in self._store.documents():
            if id_or_name in (document.id, document.name):
                return document
        raise UnknownDocument(f"There is no document “{id_or_name}” in your library.")

    def progress(self) -> dict[str, Progress]:
        """By document id: what is being worked on or waits for it."""
        return self._ingestion.progress()

    def wait(self, document_ids: Iterable[str], timeout: float | None = None) -> list[Document]:
        """The documents once no work on them is left, or as they are when the time is over."""
        ids = list(document_ids)
        self._ingestion.wait(ids, timeout)
        self._carry_out_replacements()
        return [d for d in self._store.documents() if d.id in ids]

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
            self._store.set_failed(document.id, str(error), error.code)
        return self._store.document(document.id)

    def retry(self, document_id: str) -> None:
        """Work on a document again from the start."""
        with self._ingestion.hold(document_id):
            self._store.set_status(document_id, Status.RECEIVED)

    def remove(self, document_id: str) -> None:
        """Forget a document and cancel work on it. Raises UnknownDocument."""
        self._store.document(document_id)
        with self._adding, self._ingestion.hold(document_id):
            self._store.remove(document_id)
            self._sweep_away()

    def original(self, document_id: str) -> Path:
        """The file as it was handed in. Raises UnknownDocument."""
        document = self._store.document(document_id)
        return self._originals.path(document.id, document.suffix)

    def page(self, document_id: str, number: int) -> Page:
        """One page's text. Raises UnknownDocument."""
        return self._store.page(document_id, number)

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
        return self._viewer.boxes(self._file(document), page, start, end)

    def vectors(self) -> list[tuple[str, list[float]]]:
        """Every passage's text and vector, of the documents that are ready."""
        found = []
        for document in self._store.documents():
            if document.status is Status.READY:
                vectors = self._vectors.vectors(document.id)
                found += [
                    (indexed.chunk.text, vectors[indexed.chunk.id])
                    for indexed in self._store.indexed(document.id)
                    if indexed.chunk.id in vectors
                ]
        return found

    # Questions

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
    ) -> Iterator[Event]:
        """Sources, then Deltas, then Finished; `generator` instead of the one in the settings.

        A question that leans on the `turns` before it is made standalone first. The answer is to be
        in `language` (its English name); empty: in the question's.
        Raises QuestionError, or SettingsError for a generator that makes no sense."""
        stop = cancelled or threading.Event()
        said = self._questioner.ask(question, documents, stop, generator, turns, language)
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
        except RagAppError as error:
            self._warm_state = str(error)
        else:
            self._warm_state = "ready"

    # Start

    def _recover(self) -> None:
        """Finish what a killed process left half done."""
        self._sweep_away()
        self._originals.sweep()
        self._carry_out_replacements()
        documents = self._store.documents()
        if self._vectors.count() < sum(d.chunks for d in documents if d.status is Status.READY):
            log.warning("the vectors are incomplete and are being made again")
            for document in documents:
                if document.status is Status.READY:
                    self._store.set_status(document.id, Status.SEARCHABLE)

    def _sweep_away(self) -> None:
        """Finish removals: vectors, files, and what is left of the text on disk."""
        removals = self._store.removals()
        for document_id, suffix in removals:
            self._vectors.delete(document_id)
            self._originals.forget(document_id, suffix)
            self.conversations.forget(document_id)
        if removals:
            self._store.shred()
        for document_id, _ in removals:
            self._store.finish_removal(document_id)

    def _file(self, document: Document) -> Path:
        return self._originals.readable(document.id, document.suffix)
