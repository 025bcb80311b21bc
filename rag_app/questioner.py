"""From a question to the events of its answer: which passages, which generator, which form.

Knows nothing of files and of pages as pictures."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_app import chain
from rag_app.answering.any_language import in_any_language
from rag_app.answering.build import Workshop
from rag_app.answering.chat import ChatGenerator
from rag_app.answering.chat_models import Terms
from rag_app.answering.choice import Choice, parse
from rag_app.answering.follow_ups import Turn, cleaned, rewrite_prompt, standalone
from rag_app.answering.generator import Generator
from rag_app.answering.in_language import InLanguage, language_asked, language_of_task
from rag_app.answering.reader import Reader
from rag_app.answering.span_model import SpanModel
from rag_app.answering.wishes import Task, about, wanted
from rag_app.embedding import Embedder
from rag_app.errors import ChatModelError
from rag_app.finding.catalogue import Catalogue
from rag_app.questions import AS_SET, Manner, askable, checked, coverage
from rag_app.retrieval import HybridRetriever
from rag_app.settings import Settings
from rag_app.store import Store
from rag_app.tasks import ASKED_OF, Desk
from rag_app.types import Answer, Document, Event, Finished, Passage, RetrieverKind
from rag_app.vectors import VectorIndex

FIRST_ONLY = "This is of the first {0} of {1} documents. Tick those that you mean on the left."


class Questioner:
    """Searches and asks a library's documents."""

    def __init__(
        self,
        store: Store,
        vectors: VectorIndex,
        embedder: Embedder,
        settings: Settings,
        terms: Terms,
        generator: Generator | Choice,
    ) -> None:
        self._store = store
        self._catalogue = Catalogue(store)
        self._vectors = vectors
        self._embedder = embedder
        self._settings = settings
        self._span_model = SpanModel()
        self._workshop = Workshop(
            embedder, self._span_model, settings.caution, terms, settings.chat_window
        )
        self._generator = (
            self._workshop.build(generator) if isinstance(generator, Choice) else generator
        )

    def warm(self) -> None:
        """Load what answers, and what the documents are called. Raises ModelUnavailable."""
        self._generator.warm()
        self._catalogue.names(self._store.documents())

    def search(
        self,
        query: str,
        k: int | None = None,
        documents: Sequence[str] | None = None,
        retriever: RetrieverKind = RetrieverKind.HYBRID,
    ) -> list[Passage]:
        """The k best passages for a query. Raises QuestionError."""
        return self.retriever(k or self._settings.top_k, documents, retriever).passages(
            checked(query, self._chosen(documents), self._settings.max_question_characters)
        )

    def ask(
        self,
        question: str,
        documents: Sequence[str] | None,
        stop: threading.Event,
        manner: Manner = AS_SET,
        turns: Sequence[Turn] = (),
    ) -> Iterator[Event]:
        """Sources, then Deltas, then Finished.

        A question that leans on the `turns` before it is made standalone first. The language it
        wishes for goes before that of the `manner`.
        Raises QuestionError, or SettingsError for a generator that makes no sense."""
        asked = checked(question, self._chosen(documents), self._settings.max_question_characters)
        retriever = self.retriever(manner.top_k or self._settings.top_k, documents)
        answering = self._answering(manner)
        plain, wish = language_asked(asked)
        language = wish or manner.language
        task = wanted(plain)
        if task is not None:
            task = replace(task, language=language_of_task(plain) or language)
            events = self._task(task, documents, answering, retriever, stop)
        else:
            meant = self._standalone(plain, turns, answering, stop)
            caution = self._settings.caution if manner.caution is None else manner.caution
            fit = in_any_language(answering, caution)
            by = InLanguage(fit, language) if language else fit
            events = chain.ask(plain, retriever, by, stop.is_set, meant)
        for event in events:
            if isinstance(event, Finished):
                answer = replace(event.answer, question=asked)
                yield Finished(self._covered(answer, documents))
            else:
                yield event

    def _answering(self, manner: Manner) -> Generator:
        if manner.caution is None and manner.generator is None:
            return self._generator
        caution = self._settings.caution if manner.caution is None else manner.caution
        workshop = replace(self._workshop, caution=caution)
        return workshop.build(parse(manner.generator or self._settings.generator))

    def _standalone(
        self,
        question: str,
        turns: Sequence[Turn],
        answering: Generator,
        stop: threading.Event,
    ) -> str:
        """The question as it would be asked without the turns before it."""
        if not turns:
            return question
        if isinstance(answering, ChatGenerator):
            prompt = [("human", rewrite_prompt(question, turns))]
            try:
                reply = answering.writer.whole(lambda _: prompt, stop.is_set)
            except ChatModelError:  # it will be said where the model is asked for the answer
                return standalone(question, turns)
            return cleaned(reply, question, turns)
        return standalone(question, turns)

    def _task(
        self,
        task: Task,
        documents: Sequence[str] | None,
        answering: Generator,
        retriever: HybridRetriever,
        stop: threading.Event,
    ) -> Iterator[Event]:
        readable = [d for d in self._chosen(documents) if askable(d)]
        meant = about(task.wish, readable)
        within = retriever.model_copy(update={"documents": tuple(d.id for d in meant)})
        desk = Desk(self._store, self._vectors, self._embedder)
        events = chain.carry_out(
            task.wish,
            lambda: desk.carry_out(task, meant, answering, within, stop.is_set),
            answering.name,
            stop.is_set,
        )
        for event in events:
            if isinstance(event, Finished) and len(meant) > ASKED_OF:
                notes = (*event.answer.notes, FIRST_ONLY.format(ASKED_OF, len(meant)))
                yield Finished(replace(event.answer, notes=notes))
            else:
                yield event

    def _chosen(self, documents: Sequence[str] | None) -> list[Document]:
        if documents is None:
            return self._store.documents()
        wanted = set(documents)
        return [d for d in self._store.documents() if d.id in wanted]

    def retriever(
        self,
        k: int,
        documents: Sequence[str] | None,
        kind: RetrieverKind = RetrieverKind.HYBRID,
        rerank: int | None = None,
    ) -> HybridRetriever:
        """What finds passages; `rerank` of them are put in the reader's order, None: as set."""
        reranked = self._settings.rerank if rerank is None else rerank
        return HybridRetriever(
            store=self._store,
            vectors=self._vectors,
            embedder=self._embedder,
            kind=kind,
            k=k,
            candidates=max(self._settings.candidates, k),
            documents=None if documents is None else tuple(documents),
            catalogue=self._catalogue,
            reranker=Reader(self._span_model, 0.0).relevance if reranked else None,
            reranked=reranked,
        )

    def _covered(self, answer: Answer, documents: Sequence[str] | None) -> Answer:
        """The answer with a note on what could not be searched in full."""
        notes = answer.notes + coverage(self._chosen(documents))
        return replace(answer, notes=notes)
