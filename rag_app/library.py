"""The façade: add, documents, remove, search, ask.

One library owns one data directory in one process; it is thread-safe and shared by all sessions.
What somebody may see and do of it is a view: everything here keeps to the scope of who asks.
Knows nothing of the UI."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rag_app.access.audit import Action
from rag_app.answering.ask_options import AskOptions
from rag_app.answering.generation import Generator
from rag_app.answering.overview import SeenOverviews
from rag_app.answering.query_rewriting import Turn
from rag_app.answering.suggested_questions import Suggestion
from rag_app.environment import bytes_in
from rag_app.errors import DocumentError, NotAllowed, RagAppError, UnknownDocument
from rag_app.ingestion.loading import Loading
from rag_app.ingestion.service import AddedAgain, WebDocuments
from rag_app.observing.measures import LibraryFigures, measures, observed
from rag_app.open_library import OpenLibrary, PageViews
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.retriever import HybridRetriever, PlainSearch
from rag_app.scope import HOME, OWN, WORKER, Role, Scope
from rag_app.settings import Settings
from rag_app.storage.conversations import title_of
from rag_app.storage.documents import DocumentGroups
from rag_app.storage.overviews import KeptCheck
from rag_app.storage.preferences import PreferenceFile
from rag_app.storage.queue import EditableDocument, SeenDocument
from rag_app.supervision import Told, untold
from rag_app.types import (
    Added,
    Chunk,
    Document,
    Event,
    Heading,
    Page,
    Passage,
    Progress,
    RetrieverKind,
    SetAside,
    Watched,
)


def _size(data: bytes | Path) -> int:
    """Bytes of a file that is handed in; what cannot be looked at is refused later."""
    if isinstance(data, bytes):
        return len(data)
    return data.stat().st_size if data.is_file() else 0


# What a person may do. Who may see something, but not change it, is told so in a sentence; of what
# may not be seen it is said that it is not there, in the words that are used for what is not.

_READ_ONLY = "You may read “{name}”, but not change it. Ask an owner of its collection to let you."
_NOT_THERE = "You may not add documents there. Choose a collection of which you are an editor."
_NOWHERE = "You may not add documents to any collection. Ask the owner of one to let you."
_WHERE = "You may add documents to several collections. Say which one this is for."
_APART = "A document can only take the place of another one in the same collection."
_FOR_ALL = "That concerns everybody who uses this app. Ask whoever runs it to do it."


class _View(PageViews):
    """One person's view of an open library: what all of `Library` keeps to."""

    _opened: OpenLibrary
    scope: Scope

    def _look(self, opened: OpenLibrary, scope: Scope, adds_to: str = "") -> None:
        self._opened, self.scope, self._adds_to = opened, scope, adds_to
        self.access = opened.access
        self.settings, self.folder = opened.settings, opened.folder
        self._store = opened.store
        self._keeping, self._reindexing = opened.keeping, opened.reindexing
        self._queue, self._cleaner = opened.keeping.ingestion, opened.keeping.cleaner
        self._questioner, self._underway = opened.questioner, opened.underway
        self.wait_for_sentences = opened.wait_for_sentences
        PageViews.__init__(self, opened.stock, opened.viewer, scope)
        self.models = opened.models  # writers: nothing of documents
        self.meaning = opened.meaning if scope.runs_the_app else opened.meaning.to_look_at()
        database = opened.store.database
        self.conversations = opened.conversations.seen_by(scope)
        self.shelves = DocumentGroups(database, scope)
        self.checks = KeptCheck(database, scope)
        self.preferences = PreferenceFile.of(opened.folder, scope.subject)
        self.plain = PlainSearch(opened.words, scope)
        self.overviews = SeenOverviews(opened.overviews, opened.store, scope)
        asked = self._into, self._take, self.replace, self.remove
        self.web = WebDocuments(opened.store, opened.settings, scope, *asked)
        self.loading = Loading(opened.store, opened.settings, scope, *asked)

    def _seen(self, document_id: str) -> SeenDocument:
        """A document that may be read. Raises UnknownDocument."""
        return SeenDocument(self._store.document(document_id, self.scope))

    def _editable(self, document_id: str) -> EditableDocument:
        """A document that may be changed. Raises UnknownDocument or NotAllowed."""
        document = self._seen(document_id)
        if not self.scope.may(Role.EDITOR, document.collection):
            raise NotAllowed(_READ_ONLY.format(name=document.name))
        return EditableDocument(document)

    def _into(self, collection: str) -> str:
        """Where a document is added. Raises NotAllowed, or DocumentError where that is unclear."""
        if collection:
            if self.scope.may(Role.EDITOR, collection):
                return collection
            raise NotAllowed(_NOT_THERE)
        if self.scope.runs_the_app:
            return HOME
        for usual in (self._adds_to, self.access.own_collection(self.scope.subject)):
            if self.scope.may(Role.EDITOR, usual):
                return usual
        able = self.scope.able(Role.EDITOR).collections
        if not able:
            raise NotAllowed(_NOWHERE)
        if len(able) > 1:
            raise DocumentError(_WHERE)
        return able[0]

    def _take(
        self,
        name: str,
        data: bytes | Path,
        into: str,
        *,
        password: str | None = None,
        replace: bool = False,
        added_by: str = "",
    ) -> Added:
        """Keep a file as that of who asks, which counts and is written down where people sign in.
        Raises DocumentError or QuotaReached."""
        by = self.scope.subject or added_by
        try:
            if self.scope.subject:
                self.access.quotas.check_upload(self.scope.subject, _size(data))
            added, older_id = self._keeping.add(
                name, data, into, password=password, replace=replace, added_by=by
            )
        except RagAppError as error:
            measures().upload_refused(error.code)
            raise
        self._log(Action.ADD, added.document.id)
        if older_id:
            self._log_giving_way(older_id, added.document.id)
        return added

    def replace(self, older_id: str, newer_id: str) -> Document:
        """Let a document take the name of an older one, which goes.

        That happens once the newer one can be searched; if it cannot be read, the older stays.
        Raises UnknownDocument or NotAllowed, also for documents of two collections."""
        older, newer = self._editable(older_id), self._editable(newer_id)
        if older.collection != newer.collection:
            raise NotAllowed(_APART)
        replacing = self._keeping.replace(older, newer)
        self._log_giving_way(older_id, newer_id)
        return replacing

    def remove(self, document_id: str) -> None:
        """Forget a document, and what was unpacked from it alone. Raises UnknownDocument or
        NotAllowed.

        The older versions that it is still about to replace go with it, see `to_replace`.
        Nothing finds it afterwards; what is left of it in the files of the index is overwritten in
        the background, see `wait_until_clean`."""
        self._log_removed(self._keeping.remove(self._editable(document_id)))

    def taken_away(self, about: str, what: str) -> None:
        """Something of the library leaves it as a file, which is written down where people sign in:
        `about` is the id of a document or a conversation, `what` in which form."""
        self._log(Action.EXPORT, about, what)

    def _log(self, action: Action, about: str = "", detail: str = "") -> None:
        """Who did what, where people sign in."""
        if self.scope.subject:
            self.access.log.record(self.scope.subject, action, about, detail)

    def _log_removed(self, document_ids: Iterable[str]) -> None:
        for document_id in document_ids:
            self._log(Action.REMOVE, document_id)

    def _log_giving_way(self, older_id: str, newer_id: str) -> None:
        self._log(Action.REMOVE, older_id, f"gives way to: {newer_id}")

    def _check_runs_the_app(self) -> None:
        if not self.scope.runs_the_app:
            raise NotAllowed(_FOR_ALL)


class _Documents(_View):
    """What `Library` does with documents."""

    def add(
        self,
        name: str,
        data: bytes | Path,
        *,
        password: str | None = None,
        replace: bool = False,
        collection: str = "",
        added_by: str = "",
    ) -> Added:
        """Keep a file in a collection and begin to work on it in the background.

        Without a `collection` it is the only one in which the scope may add. With `replace`, a
        document of the same name there gives way. `added_by` says whose turn it waits for, in a
        word that is never shown; of who signed in it is always theirs. Raises DocumentError for a
        file that is refused at once, or if it is not clear which collection is meant, NotAllowed,
        and QuotaReached; anything found out later stands in the document's `error`."""
        into = self._into(collection)
        return self._take(name, data, into, password=password, replace=replace, added_by=added_by)

    def to_replace(self, document_id: str) -> list[Document]:
        """The older versions that a document is still about to replace. Raises UnknownDocument.

        They were given up when it was to replace them: none comes back because it is removed before
        it can be searched. Of one that cannot be read there are none; what it was for stays."""
        return self._keeping.to_replace(self._seen(document_id))

    def documents(self) -> list[Document]:
        """All documents, in the order they were added."""
        return self._store.documents(self.scope)

    def document(self, id_or_name: str) -> Document:
        """A document by id or by name, of several of that name the first. Raises
        UnknownDocument."""
        for document in self._store.documents(self.scope, [id_or_name]):
            return document
        if named := self._store.named(id_or_name, self.scope):
            return named
        raise UnknownDocument(f"There is no document “{id_or_name}” in your library.")

    def unlock(self, document_id: str, password: str) -> None:
        """Open an encrypted document. Raises WrongPassword, UnknownDocument or NotAllowed.

        The password is not kept; an unlocked copy is kept beside the original until the document is
        removed."""
        self._keeping.unlock(self._editable(document_id), password)

    def wait_until_clean(self, timeout: float | None = None) -> bool:
        """Until nothing of what was removed is left on disk; False if the time ran out before.

        For whoever runs the app: others would learn of removals that are none of theirs. Raises
        NotAllowed."""
        self._check_runs_the_app()
        return self._cleaner.wait(timeout)

    def clear(self) -> None:
        """Forget everything that is of who asks: the documents of the collections that they own,
        their conversations and what they chose on the page."""
        for conversation in self.conversations.listed():
            self.conversations.delete(conversation.id)
        self._keeping.remove_all(self.scope, self._log_removed)
        self.preferences.clear()
        self.checks.clear()
        if self.scope.runs_the_app:
            self._keeping.delete_set_aside()
            self.meaning.forget()

    def set_aside(self) -> list[SetAside]:
        """Kept files that the library knows nothing of: its database was lost, or an older copy of
        it was put back. Nothing finds what they say; offer to add them again.

        Nobody can tell any more whose they were: there are some for whoever runs the app alone."""
        return self._keeping.set_aside() if self.scope.runs_the_app else []

    def add_set_aside(self, told: Told = untold) -> AddedAgain:
        """Add again what was set aside, and begin to work on it in the background.

        Names are not known: each has one of its own until it is added under its real one. For
        whoever runs the app. Raises NotAllowed."""
        self._check_runs_the_app()
        return self._keeping.add_set_aside(told)

    def delete_set_aside(self) -> None:
        """Delete what was set aside, for good. For whoever runs the app. Raises NotAllowed."""
        self._check_runs_the_app()
        self._keeping.delete_set_aside()

    def size_on_disk(self) -> int:
        """Bytes that the data directory takes; for others than whoever runs the app, those of the
        files that they see."""
        if not self.scope.runs_the_app:
            return sum(document.size for document in self.documents())
        return bytes_in(self.folder)

    def watch(self, folder: Path) -> Watched:
        """Keep a folder in step from now on, also after a restart: what is added, changed and
        removed there is added, replaced and removed here, at `HOME`. Raises DocumentError.

        For whoever runs the app, whose folders they are. Raises NotAllowed."""
        self._check_runs_the_app()
        return self._keeping.watching.watch(folder)

    def unwatch(self, folder: Path) -> None:
        """Leave a folder alone from now on; its documents stay. Raises DocumentError or
        NotAllowed."""
        self._check_runs_the_app()
        self._keeping.watching.unwatch(folder)

    def watched(self) -> list[Watched]:
        """The folders that are kept in step, and what is wrong with them; none for others than
        whoever runs the app."""
        return self._keeping.watching.watched() if self.scope.runs_the_app else []

    # The queue

    def progress(self, documents: Iterable[Document] | None = None) -> dict[str, Progress]:
        """By document id: what is being worked on or waits for it.

        Who shows it beside a list gives that list: files that others add in between then count in
        both or in neither."""
        return self._queue.progress(self.scope, documents)

    def work_of_everybody(self) -> list[tuple[Document, str, Progress]]:
        """What is being worked on or waits, whoever's it is: the document, who added it, how far it
        is. For administrators and whoever runs the app. Raises NotAllowed."""
        if not (self.scope.runs_the_app or self.access.is_administrator(self.scope.subject)):
            raise NotAllowed(_FOR_ALL)
        documents = self._store.documents(WORKER)
        progress = self._queue.progress(WORKER, documents)
        whose = self._store.added_by(WORKER) if progress else {}
        return [
            (one, whose.get(one.id, ""), progress[one.id])
            for one in documents
            if one.id in progress
        ]

    def wait(self, document_ids: Iterable[str], timeout: float | None = None) -> list[Document]:
        """The documents once no work on them is left, or as they are when the time is over.

        While work is paused, they are given as they are."""
        seen = self._store.documents(self.scope, document_ids)
        return self._keeping.wait([document.id for document in seen], timeout)

    @property
    def paused(self) -> bool:
        """Whether no work is begun until `resume`, also after a restart."""
        return self._queue.paused

    @property
    def trouble(self) -> str:
        """One sentence while work cannot go on (a full disk); empty if it can."""
        return self._queue.trouble

    def pause(self) -> None:
        """Begin no more work; files are still accepted and wait. For whoever runs the app. Raises
        NotAllowed."""
        self._check_runs_the_app()
        self._queue.pause(True)

    def resume(self) -> None:
        """Go on after `pause`. Raises NotAllowed."""
        self._check_runs_the_app()
        self._queue.pause(False)

    def wind_down(self, seconds: float) -> bool:
        """Begin no more work in this process, and let what is under way end; False if so many
        seconds were not enough. For whoever runs the app. Raises NotAllowed."""
        self._check_runs_the_app()
        return self._queue.wind_down(seconds)

    def retry(self, document_id: str) -> None:
        """Work on a document again from the start. Raises UnknownDocument or NotAllowed."""
        self._keeping.retry(self._editable(document_id))

    def cancel(self, document_id: str) -> bool:
        """Do not read a document: it fails with the code "cancelled"; `retry` reads it after all.

        False if it has been read already. Raises UnknownDocument or NotAllowed."""
        return self._queue.cancel(self._editable(document_id))

    def cancel_waiting(self) -> int:
        """Cancel every document that has not been read yet, of those that may be changed. Returns
        how many."""
        return self._queue.cancel_all(self.scope.able(Role.EDITOR))

    # What is in them

    def parts(self, document_id: str) -> list[str]:
        """The ids of the documents that came out of a document. Raises UnknownDocument."""
        return self._store.queue.parts(self._seen(document_id))

    def page(self, document_id: str, number: int) -> Page:
        """One page's text. Raises UnknownDocument."""
        self._seen(document_id)
        return self._store.page(document_id, number, self.scope)

    def headings(self, document_id: str) -> list[Heading]:
        """A document's headings, in order. Raises UnknownDocument."""
        self._seen(document_id)
        return self._store.headings(document_id, self.scope)

    def chunks(self, document_id: str) -> list[Chunk]:
        """The passages that a document is cut into, in order. Raises UnknownDocument."""
        self._seen(document_id)
        return [indexed.chunk for indexed in self._store.indexed(document_id, self.scope)]

    def reindexing(self) -> Progress | None:
        """How far another embedding model is that is to take over; None if there is none, and for
        others than whoever runs the app: it counts the passages of all."""
        return self._reindexing.progress() if self.scope.runs_the_app else None


class Library(_Documents):
    """Documents, and what can be asked of them: one person's view.

    What a view does not see cannot be told from what does not exist. `Library(settings)` opens the
    data directory, and is the view of whoever sits at the computer; `scoped` gives those of others.
    Raises LibraryInUse if another process owns the data directory."""

    def __init__(
        self,
        settings: Settings,
        *,
        embedder: Embedder | None = None,
        generator: Generator | None = None,
    ) -> None:
        self._look(OpenLibrary(settings, embedder, generator), OWN)
        self._opened_here = True

    def scoped(self, scope: Scope, adds_to: str = "") -> Library:
        """The view of somebody else, on the same open data directory. It costs next to nothing, so
        make one for every request: it knows nothing of roles that change later. `adds_to`: the
        collection that documents are added to where none is named."""
        if (scope, adds_to) == (self.scope, self._adds_to):
            return self
        view = Library.__new__(Library)
        view._look(self._opened, scope, adds_to)
        view._opened_here = False
        return view

    def close(self) -> None:
        """Let go of everything; work that is not finished goes on at the next start.

        Answers that are being made in other threads are broken off with LibraryClosed. Only the
        view that opened the data directory closes it; others have nothing to let go of."""
        if self._opened_here:
            self._opened.close()

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
        return self._questioner.retriever(k, self.scope, documents, kind, rerank)

    def search(
        self,
        query: str,
        k: int | None = None,
        documents: Sequence[str] | None = None,
        retriever: RetrieverKind = RetrieverKind.HYBRID,
    ) -> list[Passage]:
        """The k best passages for a query. Raises QuestionError."""
        with self._underway.using():
            return self._questioner.search(query, self.scope, k, documents, retriever)

    def suggest(
        self, document_id: str, chunks: Sequence[Chunk], stop: threading.Event
    ) -> Iterator[Suggestion]:
        """Questions that pieces of a document answer, each with its place, as the app's own writer
        makes them; none where another model answers. What it has said of a document's beginning
        already is not written again. Raises UnknownDocument, ModelUnavailable, LibraryClosed."""
        document, kept = self.document(document_id), self.overviews.kept(document_id)
        said = kept.introduction if kept else None
        with self._underway.breaking_off(stop):
            for chunk in chunks:
                if stop.is_set():
                    return
                with self._underway.using():
                    known = None if chunk.ordinal else said
                    made = list(self._questioner.suggest(document, chunk, stop, known))
                yield from made

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
        told: Told = untold,
    ) -> Iterator[Event]:
        """Sources, then Deltas, then Finished; `generator`, `caution` and `top_k` instead of those
        in the settings.

        A question that leans on the `turns` before it is made standalone first. The answer is to be
        in `language` (its English name); empty: in the question's. Of work that takes several parts
        `told` hears how many are done, of how many.
        Raises QuestionError, QuotaReached, or SettingsError for a generator that makes no sense."""
        if self.scope.subject:
            self.access.quotas.check_question(self.scope.subject)
            self._log(Action.ASK, detail=question)
        stop = cancelled or threading.Event()
        manner = AskOptions(generator, language, caution, top_k)
        made = self._questioner.ask(question, self.scope, documents, stop, manner, turns, told)
        return observed(self._underway.events(made, stop), self.scope.subject)

    def empty_deleted(self) -> None:
        """Remove what is in collections that were deleted; nobody sees it any more."""
        self._opened.empty_deleted()

    def figures(self) -> LibraryFigures:
        """How many documents are in which state, and how many answers are being made, whoever's
        they are: for whoever runs the app. Raises NotAllowed."""
        self._check_runs_the_app()
        return LibraryFigures(self._store.counted(), self._underway.answering)

    # Models

    def warm(self, after: float = 0.0) -> None:
        """Start to load the models in the background, after so many seconds."""
        self._opened.warming.start(after)

    def prepare(self) -> None:
        """Begin to load, in the background, what the first search of a person's part of the
        library would wait for: the vectors of their collections, the names of their documents."""
        if self.warm_state == "ready" and not self.scope.everything:
            self._opened.prepare(self.scope)

    @property
    def warm_state(self) -> str:
        """One of "cold", "warming" and "ready", or a sentence that says what failed."""
        return self._opened.warming.state
