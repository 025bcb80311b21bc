"""Documents come in, give way to newer ones and go, while others are worked on.

Nothing is lost and nothing is left: what a killed process left half done is finished at the next
start. Removed means gone: what removed documents left in the files of the index goes, too, in the
background; that it is to be done stands in the store, so that a kill only puts it off. Knows
nothing of questions and of how documents look."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from rag_app.access.quotas import Quotas
from rag_app.errors import (
    DiskFull,
    DocumentError,
    FilesError,
    FilesUnreachable,
    RagAppError,
    UnknownDocument,
)
from rag_app.ingestion.attachments import Intake, Parts
from rag_app.ingestion.watching import Watching, WatchRequest
from rag_app.ingestion.web_fetch import FetchRequest, fetch
from rag_app.ingestion.worker import Ingestion, Recognition
from rag_app.reading import LOCKABLE, detect
from rag_app.reading.limits import Limits
from rag_app.reading.sandbox import FOLDER, Sandbox
from rag_app.retrieval.embedding import Embedder
from rag_app.scope import HOME, WORKER, Role, Scope, readers_of
from rag_app.settings import Settings
from rag_app.storage import Conversations, Store
from rag_app.storage.originals import Originals, Reserve, display_name
from rag_app.storage.provenance import Folders, Origin
from rag_app.storage.queue import UNCLEANED, EditableDocument, SeenDocument
from rag_app.storage.vectors import VectorIndex
from rag_app.supervision import surviving
from rag_app.types import EMBEDDED, Added, Document, SetAside, Status

_SETTLE = 15.0  # seconds without waiting: removals that follow each other are cleaned up together
_REST = 10.0  # times as long as it took: a large library is not written anew all the time
_AGAIN = 60.0  # seconds until what failed, of a full disk say, is tried again


@dataclass(frozen=True, slots=True)
class AddedAgain:
    """What became of files that were set aside."""

    added: tuple[Added, ...]
    refused: tuple[tuple[str, str], ...]  # (name, why); these stay set aside


class Cleaner:
    """One thread that makes removed text and vectors unreadable, and gives their room back.

    `finish` is called for removals that could not be finished at once."""

    def __init__(
        self, store: Store, vectors: VectorIndex, finish: Callable[[], object] = lambda: None
    ) -> None:
        self._store, self._vectors, self._finish = store, vectors, finish
        self._wanted, self._stopping = threading.Event(), threading.Event()
        self._hurried = threading.Event()  # somebody waits for it
        self._took = 0.0  # seconds, the last time
        self._alone = store.claims.lock("cleaning")
        self._thread = threading.Thread(target=self._run, name="rag-app-clean", daemon=True)

    def start(self) -> None:
        """Begin; what an earlier process did not come to is done first."""
        self._wanted.set()
        self._thread.start()

    def wake(self) -> None:
        """Something was removed."""
        self._wanted.set()

    def stop(self) -> None:
        """Let go of the work; it is begun again at the next start."""
        self._stopping.set()
        self._hurried.set()
        self._wanted.set()
        if self._thread.is_alive():
            self._thread.join()

    def wait(self, timeout: float | None = None) -> bool:
        """Until nothing is left to clean; False if the time ran out before."""
        until = None if timeout is None else time.monotonic() + timeout
        self._hurried.set()
        while self._store.queue.marked(UNCLEANED) or self._store.removals():
            if self._stopping.is_set() or (until is not None and time.monotonic() > until):
                return False
            self._stopping.wait(0.02)
        return True

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            if self._stopping.is_set():
                return
            self._wanted.clear()
            with surviving(log, "could not clean up after removals") as attempt:
                self._clean()
            if attempt.failed:
                self._stopping.wait(_AGAIN)
                self._wanted.set()

    def _clean(self) -> None:
        if self._store.removals():
            self._finish()
        removed = self._store.queue.marked(UNCLEANED)
        if not removed:
            return
        self._hurried.wait(max(_SETTLE, _REST * self._took))
        self._hurried.clear()
        if self._stopping.is_set():
            return
        if self._alone.acquire(blocking=False):  # else another process is at it
            try:
                self._overwrite()
            finally:
                self._alone.release()

    def _overwrite(self) -> None:
        removed = self._store.queue.marked(UNCLEANED)
        if not removed:
            return
        began = time.monotonic()
        self._store.shred()
        ids = [document.id for document in self._store.documents(WORKER)]
        if self._vectors.compact(ids, self._stopping):
            self._took = time.monotonic() - began
            self._store.queue.unmark(UNCLEANED, removed)
            self._wanted.set()  # what was removed meanwhile


# Where documents are kept: what is known of them, their files, their vectors.


@dataclass(frozen=True, slots=True)
class Dependencies:
    """All that is kept of a library's documents."""

    store: Store
    originals: Originals
    vectors: VectorIndex
    embedder: Embedder  # that makes the vectors
    conversations: Conversations  # which hold words of documents, too

    def original(self, document: Document) -> AbstractContextManager[Path]:
        """The file as it was handed in, while the block lasts."""
        return self.originals.original(document.id, document.suffix)

    def reading(self, document: Document) -> AbstractContextManager[Path]:
        """The file to read: as it was handed in, or unlocked."""
        return self.originals.reading(document.id, document.suffix)


log = logging.getLogger(__name__)


class DocumentService:
    """Takes documents in and lets them go; `viewer` unlocks files for people who wait; `quotas`
    say what the pages and contents of a file may come to.

    `after_step` is called, with nothing held, after every step of work on a document."""

    def __init__(
        self,
        stock: Dependencies,
        viewer: Sandbox,
        settings: Settings,
        reserve: Reserve,
        quotas: Quotas,
        after_step: Callable[[], None],
    ) -> None:
        self._stock, self._viewer, self._after_step = stock, viewer, after_step
        self._store, self._originals = stock.store, stock.originals
        self._reserve = reserve  # given up if need be while the library is opened
        self._adding = stock.store.claims.lock("adding")  # or removing
        self._adding_again = threading.Lock()
        self._intake = Intake(stock.store, stock.originals)
        limits = Limits.from_settings(settings)
        workspaces = settings.folder / FOLDER
        # Of files of any size, and of small ones.
        self._readers = Sandbox(limits, workspaces), Sandbox(limits, workspaces)
        self._recognition = Recognition(
            stock.store.scans, Sandbox(limits, workspaces), stock.reading, settings
        )
        parts = Parts(
            *(stock.store, stock.originals, self._intake, self._adding, limits),
            *(settings.folder / "unpacking", settings.max_nesting, quotas),
        )
        self.ingestion = Ingestion(
            *(stock.store, stock.vectors, stock.embedder, *self._readers, stock.reading),
            *(settings.chunk_tokens, settings.max_characters, parts, self._recognition),
            *(self._step_done, settings.works_on),
        )
        self.cleaner = Cleaner(stock.store, stock.vectors, self._finish_removals)
        asked = WatchRequest(self._take_watched, self._replace, self._withdraw)
        self.watching = Watching(Folders(stock.store.database), asked, settings.folder)
        self._checked = threading.Event()
        if "embed" not in settings.works_on:
            self._checked.set()  # others look
        self._looking = threading.Thread(target=self._look, name="rag-app-files", daemon=True)

    def start(self) -> None:
        """Finish what a killed process left half done, and begin to work."""
        self._recover()
        if self._reserve.needed:  # to open the vectors takes room, too
            with surviving(log, "the vectors could not be opened"):
                self._stock.vectors.count()
        self._reserve.take()
        self.ingestion.start(self._check_vectors)
        self.cleaner.start()
        self.watching.start()
        if self._originals.far:
            self._looking.start()

    def stop(self) -> None:
        """Let go; work that is not finished goes on at the next start."""
        self.watching.stop()
        self.ingestion.stop()
        self.cleaner.stop()
        self._originals.close()
        if self._looking.is_alive():
            self._looking.join()
        for reader in self._readers:
            reader.close()
        self._recognition.close()

    def _step_done(self) -> None:
        self._carry_out_replacements()
        self._after_step()

    # In

    def add(
        self,
        name: str,
        data: bytes | Path,
        collection: str,
        *,
        password: str | None = None,
        replace: bool = False,
        added_by: str = "",
    ) -> tuple[Added, str]:
        """Keep a file, see `Library.add`, and the id of the document that gives way to it, if one
        does."""
        added, older, suffix = self._take(display_name(name), data, collection, added_by=added_by)
        older_id = ""
        if replace and older and not added.duplicate and older.id != added.document.id:
            added, older_id = Added(self._replace(older.id, added.document.id)), older.id
        if password and suffix in LOCKABLE and not added.duplicate:
            added = dataclasses.replace(added, document=self._try(added.document, password))
        self.ingestion.wake()
        return added, older_id

    def _take(
        self,
        shown: str,
        data: bytes | Path,
        collection: str,
        handed_in: bool = True,
        added_by: str = "",
    ) -> tuple[Added, Document | None, str]:
        """What became of a file, the document that had its name before, and its format."""
        incoming = self._originals.receive(shown, data, collection)
        try:
            suffix = detect(incoming.path, shown)
            if not self._store.documents(WORKER, [incoming.content_id]):
                incoming = self._originals.send(incoming, suffix)
            with self._adding:
                older = self._store.named(shown, readers_of(collection))
                added = self._intake.accept(
                    incoming, shown, suffix, collection, handed_in=handed_in, added_by=added_by
                )
        finally:
            incoming.path.unlink(missing_ok=True)
        return added, older, suffix

    def _take_watched(self, name: str, path: Path) -> Added:
        added, _, _ = self._take(display_name(name), path, HOME, handed_in=False)
        self.ingestion.wake()
        return added

    # Set aside: kept files that the library knows nothing of

    def set_aside(self) -> list[SetAside]:
        """Files that can be added again, see `Library.set_aside`."""
        found = self._originals.set_aside()
        there = self._store.documents(WORKER, [one.document_id for one in found]) if found else []
        known = {document.id for document in there}
        return [one for one in found if one.document_id not in known]

    def add_set_aside(self, told: Callable[[int, int], object]) -> AddedAgain:
        """Add them again, whatever becomes of the others, see `Library.add_set_aside`."""
        added: list[Added] = []
        refused: list[tuple[str, str]] = []
        with self._adding_again:  # whoever asks for it, too, finds nothing left to add
            waiting = self.set_aside()
            for number, one in enumerate(waiting):
                told(number, len(waiting))
                try:
                    added.append(self._add_again(one))
                except DocumentError as error:
                    refused.append((one.name, str(error)))
        self.ingestion.wake()
        return AddedAgain(tuple(added), tuple(refused))

    def _add_again(self, one: SetAside) -> Added:
        incoming = self._originals.taken_back(one)  # from an object store that takes long
        added = None
        try:
            suffix = detect(incoming.path, one.name)
            with self._adding:
                added = self._intake.accept(incoming, one.name, suffix, HOME, handed_in=False)
                incoming.path.unlink(missing_ok=True)  # the library had it already
                self._originals.taken(one, incoming.content_id)
        finally:
            if added is None:
                self._originals.refused(one, incoming)
        return added

    def delete_set_aside(self) -> None:
        """Delete them for good; not while one is added again, which would bring it back."""
        with self._adding_again, self._adding:
            found = [one.document_id for one in self._originals.set_aside()]
            known = self._store.documents(WORKER, found)
            self._originals.delete_set_aside({document.id for document in known})

    def unlock(self, document: EditableDocument, password: str) -> None:
        """Open an encrypted document, see `Library.unlock`."""
        which = document.id, document.suffix
        with self.ingestion.hold(document.id):
            with (
                self._originals.original(*which) as locked,
                self._originals.unlocking(*which) as copy,
            ):
                self._viewer.unlock(locked, password, copy)
            with self._adding:
                try:
                    self._store.document(document.id, WORKER)
                except UnknownDocument:  # removed while it was unlocked
                    self._originals.forget(*which)
                    raise
                self._store.set_status(document.id, Status.RECEIVED)

    def _try(self, document: Document, password: str) -> Document:
        try:
            self.unlock(EditableDocument(SeenDocument(document)), password)  # it was just added
        except RagAppError as error:
            with self.ingestion.hold(document.id):
                self._store.set_failed(document.id, str(error), error.code)
        return self._store.document(document.id, WORKER)

    # Work

    def wait(self, document_ids: Iterable[str], timeout: float | None) -> list[Document]:
        """The documents once no work on them is left, see `Library.wait`."""
        ids = list(document_ids)
        self._checked.wait(timeout)
        self.ingestion.wait(ids, timeout)
        self._carry_out_replacements()
        return self._store.documents(WORKER, ids)

    def retry(self, document: EditableDocument) -> None:
        """Work on a document again from the start."""
        with self.ingestion.hold(document.id):
            self._store.set_status(document.id, Status.RECEIVED)

    @contextmanager
    def _holding(self, *document_ids: str) -> Iterator[None]:
        """Nothing works on these documents or on what would be removed with them."""
        with ExitStack() as held:
            for document_id in document_ids:
                held.enter_context(self.ingestion.hold(document_id))
                for each in self._store.provenance.going_with(document_id)[1:]:
                    held.enter_context(self.ingestion.hold(each))
            yield

    # Out

    def replace(self, older: EditableDocument, newer: EditableDocument) -> Document:
        """Let a document take the name of an older one, see `Library.replace`."""
        return self._replace(older.id, newer.id)

    def _replace(self, older_id: str, newer_id: str) -> Document:
        self._store.document(older_id, WORKER)
        self._store.want_replacement(newer_id, older_id)
        self._carry_out_replacements()
        return self._store.document(newer_id, WORKER)

    def _carry_out_replacements(self) -> None:
        for newer, older in self._store.replacements():
            going = self._store.provenance.superseded(newer, older)
            with self._adding, self._holding(*going):
                self._store.replace(newer, older)
                self._sweep_away()

    def to_replace(self, document: SeenDocument) -> list[Document]:
        """What goes with a document if it is removed now, see `Library.to_replace`."""
        return self._to_replace(document.id)

    def _to_replace(self, document_id: str) -> list[Document]:
        if self._store.document(document_id, WORKER).status is Status.FAILED:
            return []
        return self._store.documents(WORKER, self._store.provenance.to_replace(document_id))

    def remove(self, document: EditableDocument) -> list[str]:
        """Forget a document, see `Library.remove`. Returns its id, and those of the older versions
        that go with it."""
        return self._remove(document.id)

    def _remove(self, document_id: str) -> list[str]:
        with self._adding:
            going = [document_id, *(document.id for document in self._to_replace(document_id))]
            self._forget(*going)
        return going

    def _forget(self, *document_ids: str) -> None:
        """Remove documents in one step. The caller takes care that none is added meanwhile."""
        with self._holding(*document_ids):
            try:
                self._store.remove(*document_ids)
                self._sweep_away()
            except DiskFull:
                with self._reserve.given_up():
                    self._store.remove(*document_ids)
                    self._sweep_away()
                    with contextlib.suppress(DiskFull):  # removed it is
                        self._store.database.cut_log()

    def remove_all(
        self, scope: Scope, removed: Callable[[list[str]], object] = lambda ids: None
    ) -> None:
        """Forget every document of a scope that owns them; `removed` hears of what is gone."""
        for document in self._store.documents(scope):
            if not scope.may(Role.OWNER, document.collection):
                continue
            with contextlib.suppress(UnknownDocument):  # gone with the file it was unpacked from
                removed(self._remove(document.id))

    def _withdraw(self, document_id: str) -> None:
        """Remove a document, and what it was still to replace, even if it cannot be read."""
        with self._adding:
            self._store.document(document_id, WORKER)
            self._forget(document_id, *self._store.provenance.to_replace(document_id))

    def _sweep_away(self) -> None:
        """Finish removals: vectors, files, and what is left of the text on disk. Files that an
        object store does not let go of now are the cleaner's matter; nothing finds them."""
        refused: FilesError | None = None
        for document_id, suffix in self._store.removals():
            self._stock.vectors.delete(document_id)
            self._stock.conversations.forget(document_id)
            try:
                if refused is None:  # else every one would be waited for
                    self._originals.forget(document_id, suffix)
            except FilesError as error:
                log.error("files of removed documents are still there: %s", error)
                refused = error
            if refused is None:
                self._store.finish_removal(document_id)
        self.cleaner.wake()

    def _finish_removals(self) -> None:
        """Raises FilesError if that cannot be done now either."""
        with self._adding:
            self._sweep_away()
            if self._store.removals():
                raise FilesUnreachable("Files of removed documents are still there.")

    def _look(self) -> None:
        """Find the originals that the library does not know, where that takes long."""
        with surviving(log, "not all originals could be looked at"):
            if self._originals.look({d.id for d in self._store.documents(WORKER)}):
                self._store.queue.mark(UNCLEANED, 1)  # their vectors are nobody's
                self.cleaner.wake()

    def _recover(self) -> None:
        with self._adding:  # in another process, too
            self._sweep_away()
        self._originals.sweep()
        # A disk that takes no folder, say: they lie where they lay, and the library opens.
        try:
            if self._originals.sort_out({d.id for d in self._store.documents(WORKER)}):
                self._store.queue.mark(UNCLEANED, 1)  # their vectors are nobody's
        except OSError:
            log.exception("what the library does not know could not be set aside")
        with surviving(log, "newer documents could not take the place of older ones"):
            self._carry_out_replacements()

    def _check_vectors(self) -> None:
        """Have vectors that are missing made again. Opening a million of them takes seconds."""
        # Chroma raises what its parts raise; words answer, and work goes on.
        with surviving(log, "the vectors could not be counted"):
            embedded = [d for d in self._store.documents(WORKER) if d.status in EMBEDDED]
            if self._stock.vectors.count() < sum(d.chunks for d in embedded):
                log.warning("the vectors are incomplete and are being made again")
                for document in embedded:
                    if document.chunks:
                        self._embed_again(document)
        self._checked.set()

    def _embed_again(self, document: Document) -> None:
        if not self._store.claims.shared:
            self._store.set_status(document.id, Status.SEARCHABLE)
            return
        # Others write while this is counted: it was perhaps they who are not done.
        with self.ingestion.hold(document.id):
            for now in self._store.documents(WORKER, [document.id]):
                there = len(self._stock.vectors.ids(now.id))
                if now.status in EMBEDDED and there < now.chunks:
                    self._store.set_status(now.id, Status.SEARCHABLE)


# Pages of the web become documents: fetched when a person asks for one, and at no other time.

_CHANGED = "This page has changed since you added it last; the version of then is still here."


class TakesIn(Protocol):
    """Keeps what is handed in, as far as whoever hands it in may."""

    def __call__(self, name: str, data: bytes | Path, into: str, *, added_by: str = "") -> Added:
        """What became of it. Raises DocumentError or QuotaReached."""


class HandsIn:
    """What takes documents from elsewhere, for a scope. `collection` names the collection that is
    meant, and raises what is said of somebody who may not add to it; `take` counts what is handed
    in as it does a file, `replace` lets an older document give way to a newer one."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        scope: Scope,
        collection: Callable[[str], str],
        take: TakesIn,
        replace: Callable[[str, str], Document],
        remove: Callable[[str], object],
    ) -> None:
        self._store, self._settings, self._scope = store, settings, scope
        self._collection, self._take = collection, take
        self._replace, self._remove = replace, remove


class WebDocuments(HandsIn):
    """Fetches pages and hands them in."""

    def add(
        self,
        address: str,
        *,
        replace: bool = False,
        told: Callable[[int, int], object] | None = None,
        cancelled: threading.Event | None = None,
        collection: str = "",
        added_by: str = "",
    ) -> Added:
        """Fetch the page or file at an address, keep it, and begin to work on it.

        With `replace`, the version that was fetched earlier gives way. `told` hears of bytes that
        came, of how many (0: not known). `added_by`: see `Library.add`. Raises DocumentError,
        NotAllowed or QuotaReached, see `Library.add`."""
        into = self._collection(collection)
        page = fetch(address, FetchRequest.from_settings(self._settings, told, cancelled))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        added = self._take(page.name, page.data, into, added_by=added_by)
        self._store.fetched.note(added.document.id, Origin(page.asked, page.address, now))
        earlier = self.earlier(added.document.id)
        if added.duplicate or earlier is None:
            return added
        if replace:
            return Added(self._replace(earlier.id, added.document.id))
        return dataclasses.replace(added, warnings=(_CHANGED,))

    def origins(self, document_ids: Iterable[str]) -> dict[str, Origin]:
        """Where those of these documents came from that were fetched, by id."""
        return self._store.fetched.all(document_ids, self._scope)

    def earlier(self, document_id: str) -> Document | None:
        """The version of a page that was fetched before this one, if it is still there. Raises
        UnknownDocument."""
        self._store.document(document_id, self._scope)
        older = self._store.fetched.earlier(document_id)
        return next(iter(self._store.documents(self._scope, [older])), None) if older else None
