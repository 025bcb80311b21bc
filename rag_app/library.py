"""The façade: add, documents, remove, search, ask.

One library owns one data directory in one process; it is thread-safe and shared by all sessions.
What it does with documents stands in `librarian/documents.py`. Knows nothing of the UI."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial

from rag_app.answering.chat_models import Terms, begin
from rag_app.answering.choice import Choice, parse
from rag_app.answering.follow_ups import Turn
from rag_app.answering.generator import Generator
from rag_app.answering.shelf import Shelf
from rag_app.embedding import Embedder, MiniLmEmbedder
from rag_app.librarian.documents import DocumentLibrary
from rag_app.librarian.underway import Underway
from rag_app.librarian.warming import Warming
from rag_app.overview.building import Makers, Overviews
from rag_app.plain_search import PlainSearch
from rag_app.questioner import Questioner
from rag_app.questions import Manner
from rag_app.retrieval import HybridRetriever
from rag_app.settings import Settings, quiet_dependencies
from rag_app.text import languages
from rag_app.types import QUOTING, Event, Passage, RetrieverKind

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
        by = generator or parse(settings.generator)
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

    def _put_together(self, by: Generator | Choice) -> None:
        terms = Terms(
            self.settings.chat_key,
            self.settings.chat_seconds,
            self.settings.chat_tokens,
            self.folder / "models",
            self.settings.models_folder,
            self.settings.threads,
        )
        self.models = Shelf(terms)
        self.plain = PlainSearch(self._store.database)
        self._questioner = Questioner(
            self._store, self._vectors, self._embedder, self.settings, terms, by
        )
        self.overviews = Overviews(self._store, self._makers(by))
        self._underway = Underway()
        loads: list[Callable[[], object]] = [
            self._embedder.warm, self._questioner.warm, languages.warm
        ]  # fmt: skip
        if isinstance(by, Choice):
            loads.append(partial(begin, by, terms))
        self._warming = Warming(loads, lambda: self._reindexing.notice)

    def _makers(self, generator: Generator | Choice) -> Makers:
        """Overviews are checked by quoting: nothing is sent anywhere that nobody asked for."""
        quoting = not isinstance(generator, Choice) or generator.kind in QUOTING
        by = None if quoting else "quotes"

        def ask(question: str, document_id: str, stop: threading.Event) -> Iterator[Event]:
            return self._questioner.ask(question, [document_id], stop, Manner(by))

        def busy() -> bool:
            asking = self._underway.asked_within(_CALM) or self.warm_state == "warming"
            return asking or bool(self.progress())

        return Makers(ask, self._embedder, by or generator.name, busy)

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
        with self._underway.using():
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
        made = self._questioner.ask(question, documents, stop, manner, turns)
        return self._underway.events(self._showing.located(made), stop)

    # Models

    def warm(self, after: float = 0.0) -> None:
        """Start to load the models in the background, after so many seconds."""
        self._warming.start(after)

    @property
    def warm_state(self) -> str:
        """One of "cold", "warming" and "ready", or a sentence that says what failed."""
        return self._warming.state
