"""A library's documents: kept, worked on, looked at; nothing can be asked yet.

One library owns one data directory in one process, and lets go of all of it when it is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path

from rag_app.disk.originals import Originals
from rag_app.disk.ownership import own
from rag_app.embedding import Embedder
from rag_app.encoders.live_index import LiveEmbedder, LiveVectors
from rag_app.encoders.meaning import Meaning
from rag_app.encoders.reindexing import Reindexing
from rag_app.errors import UnknownDocument
from rag_app.intake.report import report
from rag_app.librarian.from_web import FromWeb
from rag_app.librarian.keeping import Keeping
from rag_app.librarian.showing import Showing
from rag_app.librarian.stock import Stock
from rag_app.preferences import PreferenceFile
from rag_app.reading.limits import Limits
from rag_app.reading.sandbox import Sandbox
from rag_app.settings import Settings
from rag_app.store import Conversations, Store
from rag_app.store.checks import KeptCheck
from rag_app.store.shelves import Shelves
from rag_app.types import (
    Added,
    Box,
    Chunk,
    Document,
    Heading,
    Page,
    PagePicture,
    Progress,
    Report,
    Watched,
)


class DocumentLibrary:
    """What `Library` does with documents. Raises LibraryInUse."""

    def __init__(
        self, settings: Settings, embedder: Embedder, after_step: Callable[[], None]
    ) -> None:
        self.settings, self.folder = settings, settings.folder
        with ExitStack() as undone:  # who cannot be opened holds nothing
            undone.callback(own(self.folder).release)
            self._store = Store(self.folder / "library.sqlite3")
            undone.callback(self._store.close)
            self.conversations = Conversations(self._store.database)
            self.shelves = Shelves(self._store.database)
            self.checks = KeptCheck(self._store.database)
            self.preferences = PreferenceFile(self.folder / "preferences.json")
            chosen = self.preferences.read().embedding
            self._reindexing = Reindexing(self.folder, self._store, settings, embedder, chosen)
            self.meaning = Meaning(
                self._reindexing, self.preferences, bool(settings.embedding), self.folder / "models"
            )
            self._embedder = LiveEmbedder(self._reindexing.live)
            self._vectors = LiveVectors(self._reindexing.live)
            undone.callback(self._vectors.close)
            originals = Originals(self.folder / "files", settings.max_file_mb << 20)
            stock = Stock(self._store, originals, self._vectors, self._embedder, self.conversations)
            viewer = Sandbox(Limits.from_settings(settings))
            undone.callback(viewer.close)
            self._showing = Showing(stock, viewer)
            self._keeping = Keeping(stock, viewer, settings, after_step)
            self.web = FromWeb(self._store, self._keeping, settings)
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
        self.preferences.clear()
        self.meaning.forget()
        self.checks.clear()

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

    def progress(self) -> dict[str, Progress]:
        """By document id: what is being worked on or waits for it."""
        return self._queue.progress()

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
