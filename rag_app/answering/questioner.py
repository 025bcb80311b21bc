"""From a question to the events of its answer: which passages, which generator, which form.

Knows nothing of files and of pages as pictures."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Generator as EventGenerator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from rag_app.answering import answer_language, chain, query_rewriting
from rag_app.answering.answer_language import (
    InLanguage,
    in_any_language,
    language_asked,
    language_before,
    language_of_task,
    language_to_search_in,
)
from rag_app.answering.ask_options import (
    DEFAULT_OPTIONS,
    AskOptions,
    checked,
    coverage,
    taken,
)
from rag_app.answering.attribution import invented, known_figures
from rag_app.answering.calculations import Calculations
from rag_app.answering.chain import AskContext, Locate
from rag_app.answering.chat_generator import ChatGenerator
from rag_app.answering.chat_models import ChatSettings
from rag_app.answering.document_resolution import ResolvedDocuments, resolve_documents
from rag_app.answering.evidence import in_sections, likeliest, nearest, relevance
from rag_app.answering.extraction import Reader
from rag_app.answering.generation import Cancelled, Generator
from rag_app.answering.generator_factory import GeneratorFactory
from rag_app.answering.model_spec import ModelSpec, parse
from rag_app.answering.prompts import (
    Message,
    introduction_messages,
    titling_messages,
    translation_messages,
)
from rag_app.answering.query_ranking import QueryRanker
from rag_app.answering.query_reading import QueryReader
from rag_app.answering.query_rewriting import Rewriter, Turn
from rag_app.answering.sentence_ranker import SentenceRanker, similar
from rag_app.answering.source_choice import WithTables
from rag_app.answering.span_model import SpanModel
from rag_app.answering.suggested_questions import Suggestion, introduced, placed
from rag_app.answering.table_answers import TableAnswers
from rag_app.answering.task_router import (
    NOTHING,
    ON_ANSWER,
    ON_DOCUMENTS,
    Routed,
    Router,
    TaskRequest,
    chitchat,
    topic,
    wanted,
)
from rag_app.answering.tasks import ASKED_OF, WHOLE, TaskRunner
from rag_app.answering.writer_generator import TaughtGenerator
from rag_app.errors import ChatModelError, ModelUnavailable, UnknownDocument
from rag_app.models.catalogue import SENTENCES, has_room
from rag_app.retrieval.chunking import sections_of
from rag_app.retrieval.document_names import Catalogue
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.ranking import query_words, spelt_anew
from rag_app.retrieval.retriever import HybridRetriever
from rag_app.retrieval.sentence_index import SentenceIndex
from rag_app.scope import OWN, WORKER, Scope
from rag_app.settings import Settings
from rag_app.storage import Store
from rag_app.storage.overviews import Introduction
from rag_app.storage.vectors import VectorIndex
from rag_app.supervision import Told, untold
from rag_app.tables.opening import TableOpener
from rag_app.tables.rows import LabelledRow, rows_in
from rag_app.text.languages import is_english
from rag_app.text.sentences import one_line
from rag_app.types import (
    Basis,
    Chunk,
    Document,
    Draft,
    Event,
    Note,
    NoteKind,
    Passage,
    RetrieverKind,
    Span,
    Task,
    askable,
)

_LESS = 0.3  # of what the best document says about a thing, another says something about it, too
_LONGEST_TITLE = 60  # characters
_OFFERED = 8  # documents that are named where it is asked which are meant


@dataclass(frozen=True, slots=True)
class _Request:
    """One question, and all that answers it."""

    scope: Scope  # of who asks
    said: str  # as it was typed
    plain: str  # without the language that it wishes for
    readable: tuple[Document, ...]
    turns: tuple[Turn, ...]
    retriever: HybridRetriever
    by: Generator
    caution: float
    language: str  # of the answer; empty: the question's
    stop: threading.Event
    coverage: Callable[[], tuple[Note, ...]]  # what could not be searched in full
    told: Told = untold  # how far a task on documents is


class Questioner:
    """Searches and asks a library's documents."""

    def __init__(
        self,
        store: Store,
        vectors: VectorIndex,
        embedder: Embedder,
        settings: Settings,
        terms: ChatSettings,
        generator: Generator | ModelSpec,
        locate: Locate,
        sentences: SentenceIndex | None = None,
    ) -> None:
        self._store = store
        self._sentences = sentences
        self._locate = locate
        self._catalogue = Catalogue(store)
        self._vectors = vectors
        self._embedder = embedder
        self._settings = settings
        self._router = Router(threads=settings.threads)
        compares = sentences or (similar(settings) if has_room(SENTENCES) else None)
        self._ranker = SentenceRanker(threads=settings.threads, similar=compares)
        self._tables = TableOpener()
        self._query_reader = QueryReader(threads=settings.threads)
        spans = SpanModel(threads=settings.threads)
        self._reader = Reader(spans, settings.caution)
        self._workshop = GeneratorFactory(
            embedder,
            spans,
            *(settings.caution, terms, settings.chat_window),
            ranker=self._ranker,
            rows=self._rows,
            sections=self._sections,
        )
        self._generator = (
            self._workshop.build(generator) if isinstance(generator, ModelSpec) else generator
        )

    def warm(self) -> None:
        """Load what answers, and what the documents are called. Raises ModelUnavailable."""
        self._generator.warm()
        self._router.warm()
        with suppress(ModelUnavailable):  # then the words decide what is shown
            self._ranker.warm()
        self._catalogue.names(self._store.documents(OWN), OWN)

    def close(self) -> None:
        """Forget the tables that are kept open."""
        self._tables.close()

    @property
    def introduces(self) -> bool:
        """Whether the app's own writer answers, which knows how to introduce documents."""
        return isinstance(self._generator, TaughtGenerator)

    def introduce(self, name: str, text: str, stop: threading.Event) -> Iterator[Introduction]:
        """What a document is, as far as it is known, if the app's own writer answers; nothing is
        sent anywhere."""
        if not isinstance(self._generator, TaughtGenerator):
            return
        idle, messages = self._generator.writer.write_when_idle, introduction_messages(name, text)
        with suppress(ChatModelError):
            yield from introduced(
                lambda begun: idle(lambda _: messages, stop.is_set, begun), name, text
            )

    def suggest(
        self,
        document: Document,
        chunk: Chunk,
        stop: threading.Event,
        said: Introduction | None = None,
    ) -> Iterator[Suggestion]:
        """Questions that a piece of a document answers, if the app's own writer answers; of those
        that it has `said` already where that is given. Raises ModelUnavailable."""
        if said is None:
            *_, said = Introduction(""), *self.introduce(document.name, chunk.text, stop)
        yield from placed(said, chunk, self._reader.find)

    def entitle(self, question: str) -> str:
        """What a conversation that begins with a question is called, if the app's own writer
        answers; else empty."""
        if not isinstance(self._generator, TaughtGenerator):
            return ""
        messages = titling_messages(question)
        said = ""
        with suppress(ChatModelError):
            *_, said = self._generator.writer.write_when_idle(lambda _: messages, lambda: False)
        title = one_line(said)
        known = known_figures(question)
        return title if len(title) <= _LONGEST_TITLE and not invented(title, known) else ""

    def search(
        self,
        query: str,
        scope: Scope,
        k: int | None = None,
        documents: Sequence[str] | None = None,
        retriever: RetrieverKind = RetrieverKind.HYBRID,
    ) -> list[Passage]:
        """The k best passages for a query. Raises QuestionError."""
        most = self._settings.max_question_characters
        asked = checked(query, self._chosen(scope, documents), most)
        by = self.retriever(k or self._settings.top_k, scope, documents, retriever, 0)
        return by.passages(asked)

    def ask(
        self,
        question: str,
        scope: Scope,
        documents: Sequence[str] | None,
        stop: threading.Event,
        manner: AskOptions = DEFAULT_OPTIONS,
        turns: Sequence[Turn] = (),
        told: Told = untold,
    ) -> EventGenerator[Event, None, None]:
        """Sources, then Deltas, then Finished.

        A question that leans on the `turns` before it is made standalone first. The language it
        wishes for goes before that of the `manner`.
        Raises QuestionError, or SettingsError for a generator that makes no sense."""
        known = self._chosen(scope, documents)
        said = checked(question, known, self._settings.max_question_characters)
        plain, wish = language_asked(said)
        asked = _Request(
            scope,
            said,
            plain,
            tuple(d for d in known if askable(d)),
            tuple(t for t in turns if self._routed(t.question).task is not Task.CHITCHAT),
            self.retriever(manner.top_k or self._settings.top_k, scope, documents),
            self._answering(manner),
            self._settings.caution if manner.caution is None else manner.caution,
            wish or manner.language,
            stop,
            lambda: coverage(self._chosen(scope, documents), self._embedder.trouble),
            told,
        )
        yield from self._events(asked)

    def _events(self, asked: _Request) -> Iterator[Event]:
        """The events of chitchat, of a task on documents, or of a question."""
        *turns, now = query_rewriting.written_out(
            (*asked.turns, Turn(asked.plain, "")), lambda wish: self._names_some(wish, asked)
        )
        routed = self._routed(now.question)
        kind = routed.task
        if kind is Task.CHITCHAT and (routed.entry != NOTHING or not self._stands_in(asked)):
            return chain.say(asked.said, chitchat(routed.entry, now.question))
        if kind in ON_DOCUMENTS and (task := self._wish(routed, now.question, turns, asked)):
            return self._task(task, asked, of_answer=routed.entry == ON_ANSWER)
        plain, language = language_before(asked.plain)
        if routed.entry == ON_ANSWER and turns and not turns[-1].answer:
            plain = query_rewriting.varied(turns[-1].question, plain)  # there is none to be changed
        asked = replace(asked, plain=plain, language=language or asked.language)
        return self._question(replace(asked, turns=tuple(turns)), kind is Task.COMPUTATION)

    def _wish(
        self, routed: Routed, said: str, turns: Sequence[Turn], asked: _Request
    ) -> TaskRequest | None:
        """What is to be done; with the last answer, if it is to be made of that. None for another
        form of a question's answer, or where it had none: it is answered again, in that form."""
        kind, last = routed.task, turns[-1] if turns else None
        if last and routed.entry == ON_ANSWER and (kind is Task.SUMMARY or not last.answer):
            kind = self._routed(last.question).task
            if kind not in ON_DOCUMENTS:
                return None
            said = query_rewriting.varied(last.question, said)
        language = language_of_task(said) or asked.language
        if last and routed.entry == ON_ANSWER and routed.task is not Task.SUMMARY:
            said = query_rewriting.with_answer(said, last.answer)
        return TaskRequest(kind, said, language)

    def _routed(self, text: str) -> Routed:
        """What is asked for; a question if the model that could tell cannot be used."""
        try:
            return self._router.route(text)
        except ModelUnavailable:
            return Routed(Task.QUESTION, 0.5)

    def _stands_in(self, asked: _Request) -> bool:
        """Whether a document holds what was typed, though it looks like keys struck at random."""
        ids = [document.id for document in asked.readable]
        words, phrases = query_words(asked.plain)
        return bool(words and self._store.search_words(words, phrases, 1, asked.scope, ids))

    def _names_some(self, wish: str, asked: _Request) -> bool:
        task = wanted(wish)
        return task is not None and bool(self._meant(task, asked, openings=False).documents)

    def _meant(
        self, task: TaskRequest, asked: _Request, openings: bool = True
    ) -> ResolvedDocuments:
        names = self._catalogue.names(self._store.documents(asked.scope), asked.scope)
        return resolve_documents(task, asked.readable, names, openings)

    def _question(self, asked: _Request, computes: bool) -> Iterator[Event]:
        whole = self._standalone(asked.plain, asked.turns, asked.by, asked.stop)
        translated = self._in_documents_language(whole, asked)
        spelt = "" if translated else self._respelled(whole, asked)
        searched = translated or spelt
        leaning = query_rewriting.follow_up(asked.plain, asked.turns)
        by: Generator = InLanguage(
            in_any_language(asked.by, asked.caution), asked.language, searched, leaning
        )
        if isinstance(asked.by, ChatGenerator | Reader):
            before = asked.turns[-1].computed_from if leaning else ()
            by = WithTables(
                by,
                *self._computing(asked),
                asked.readable,
                asked.language,
                computes,
                searched,
                before,
            )
        english = self._embedder.english
        apart = answer_language.documents_in_other_language(asked.plain, asked.readable, english)
        wordings = tuple(filter(None, (whole, searched)))
        context = AskContext(
            asked.said,
            rewritten_query=whole if whole != asked.said else "",
            translated_query=translated,
            respelled_query=spelt,
            follow_up=leaning,
            generator=by.name,
            remarks=lambda draft: (
                *_read_as(whole, spelt),
                *answer_language.said_so(draft, apart).notes,
                *asked.coverage(),
            ),
            locate=self._locate,
            likeliest=partial(self._likeliest, wordings, asked.by),
            nearest=partial(self._nearest, wordings, asked.by),
        )
        return chain.ask(context, asked.retriever, by, asked.stop.is_set)

    def _computing(self, asked: _Request) -> tuple[Calculations | None, TableAnswers]:
        """What works figures out from statements and tables: by the writer, where one answers."""
        writer = asked.by.writer if isinstance(asked.by, ChatGenerator) else None
        taught = isinstance(asked.by, TaughtGenerator)
        tables = TableAnswers(
            *(self._store, asked.scope, writer, asked.caution, taught),
            opener=self._tables,
            ranker=QueryRanker(self._embedder, self._query_reader),
        )
        if writer is None:
            return None, tables
        parts = (self._store, asked.scope, writer, self._embedder, asked.caution, taught)
        return Calculations(*parts), tables

    def _answering(self, manner: AskOptions) -> Generator:
        if manner.caution is None and manner.generator is None:
            return self._generator
        caution = self._settings.caution if manner.caution is None else manner.caution
        workshop = replace(self._workshop, caution=caution)
        return workshop.build(parse(manner.generator or self._settings.answers_by))

    def _standalone(
        self,
        question: str,
        turns: Sequence[Turn],
        answering: Generator,
        stop: threading.Event,
    ) -> str:
        """The question as it would be asked without the turns before it."""
        if not isinstance(answering, ChatGenerator):
            return Rewriter().rewrite(question, turns, stop.is_set)
        writer = answering.writer

        def ask(messages: Sequence[Message], cancelled: Cancelled) -> str:
            return writer.whole(lambda _: messages, cancelled)

        taught = isinstance(answering, TaughtGenerator)
        return Rewriter(ask, taught).rewrite(question, turns, stop.is_set)

    def _in_documents_language(self, question: str, asked: _Request) -> str:
        """The question in the language of most documents, if that is not its own; else empty."""
        if not isinstance(asked.by, ChatGenerator):
            return ""
        tongue = language_to_search_in(question, asked.readable)
        if not tongue:
            return ""
        messages = translation_messages(question, tongue)
        try:
            said = asked.by.writer.whole(lambda _: messages, asked.stop.is_set)
        except ChatModelError:
            return ""
        return query_rewriting.cleaned_translation(said, question)

    @staticmethod
    def _respelled(question: str, asked: _Request) -> str:
        """The question in the documents' spelling, if it has words of none; else empty."""
        try:
            return asked.retriever.respelled(question)
        except ModelUnavailable:  # the search itself will say so
            return ""

    def _task(self, task: TaskRequest, asked: _Request, of_answer: bool) -> Iterator[Event]:
        """Work on documents, or with the last answer; what is to be translated if nothing was
        answered yet, nobody knows."""
        named = self._meant(task, asked)
        documents: Sequence[Document] = named.documents or asked.readable
        of_nothing = of_answer and task.kind is Task.TRANSLATION and not asked.turns
        many = len(documents) > (1 if of_nothing else ASKED_OF)
        if many and (of_nothing or task.kind in WHOLE) and not named.documents:
            about = topic(task, ())
            if of_nothing or not about:
                return self._asked_back(task, asked)
            if task.kind is Task.COMPARISON:  # of things, wherever they stand
                return self._question(asked, computes=False)
            documents = self._holding(about, asked)
        task = replace(task, naming=named.words, among=len(asked.readable))
        ids = tuple(document.id for document in documents)
        within = asked.retriever.model_copy(
            update={"documents": ids, "reranker": None, "hurries": False}
        )
        desk = TaskRunner(self._store, self._vectors, self._embedder, asked.scope, asked.told)
        context = AskContext(
            asked.said,
            task.kind,
            rewritten_query="" if task.wish.startswith(asked.said.rstrip(" .!?")) else task.wish,
            generator=asked.by.name,
            remarks=lambda draft: (
                *draft.notes,
                *_taken(task, documents, draft),
                *asked.coverage(),
            ),
            locate=self._locate,
        )
        return chain.carry_out(
            context,
            lambda: desk.carry_out(task, documents, asked.by, within, asked.stop.is_set),
            asked.stop.is_set,
        )

    def _asked_back(self, task: TaskRequest, asked: _Request) -> Iterator[Event]:
        """Which documents are meant."""
        newest = [document.name for document in asked.readable[::-1]]
        return chain.ask_back(AskContext(asked.said, task.kind), newest[:_OFFERED])

    def _holding(self, about: str, asked: _Request) -> list[Document]:
        """The documents that say most about something, the best first."""
        says: dict[str, float] = defaultdict(float)
        for passage in asked.retriever.passages(about):
            says[passage.chunk.document_id] += passage.score
        least = max(says.values(), default=0.0) * _LESS
        held = [document for document in asked.readable if says[document.id] >= least > 0]
        return sorted(held, key=lambda d: -says[d.id])[:ASKED_OF] or list(asked.readable)

    def _rows(self, chunk: Chunk) -> list[LabelledRow]:
        """The rows of tables in a chunk that was found for who asks; none once its document was
        removed."""
        with suppress(UnknownDocument):
            page = self._store.page(chunk.document_id, chunk.page, WORKER)
            return rows_in(self._store.tables, page.text, chunk)
        return []

    def _sections(self, chunk: Chunk) -> list[Chunk]:
        """A chunk that was found for who asks, in pieces that stand under one heading each."""
        with suppress(UnknownDocument):
            page = self._store.page(chunk.document_id, chunk.page, WORKER)
            return sections_of(chunk, page, self._store.headings(chunk.document_id, WORKER))
        return [chunk]

    def _relevance(self, question: str, passages: Sequence[Passage]) -> list[float]:
        return relevance(question, passages, self._ranker.score, self._sections)

    def _likeliest(
        self, wordings: Sequence[str], by: Generator, passages: Sequence[Passage]
    ) -> Span | None:
        """What stands there while a model writes; the ranker remembers what it reads for that."""
        if not isinstance(by, ChatGenerator):
            return None
        try:
            within = in_sections(passages, self._sections)
            return likeliest(wordings, within, self._ranker.score, self._rows)
        except ModelUnavailable:  # the answer comes without it
            return None

    def _nearest(
        self, wordings: Sequence[str], by: Generator, passages: Sequence[Passage]
    ) -> tuple[Span, ...]:
        """What stands there where nothing answers; a chat model has said that of what it read, and
        of another language than English the ranker knows nothing."""
        if isinstance(by, ChatGenerator) or not is_english(wordings[-1]):
            return ()
        try:
            within = in_sections(passages, self._sections)
            return nearest(wordings, within, self._ranker.score, self._rows)
        except ModelUnavailable:
            return ()

    def _chosen(self, scope: Scope, documents: Sequence[str] | None) -> list[Document]:
        if documents is None:
            return self._store.documents(scope)
        wanted = set(documents)
        return [d for d in self._store.documents(scope) if d.id in wanted]

    def retriever(
        self,
        k: int,
        scope: Scope,
        documents: Sequence[str] | None,
        kind: RetrieverKind = RetrieverKind.HYBRID,
        rerank: int | None = None,
    ) -> HybridRetriever:
        """What finds passages; `rerank` of them are put in the ranker's order, None: as set."""
        reranked = self._settings.rerank if rerank is None else rerank
        return HybridRetriever(
            store=self._store,
            vectors=self._vectors,
            embedder=self._embedder,
            scope=scope,
            kind=kind,
            k=k,
            candidates=max(self._settings.candidates, k),
            documents=None if documents is None else tuple(documents),
            catalogue=self._catalogue,
            reranker=self._relevance if reranked else None,
            reranked=reranked,
            sentences=self._sentences,
            hurries=True,
        )


def _read_as(question: str, spelt: str) -> tuple[Note, ...]:
    """Which words of a question were also read as the documents spell them."""
    pairs = spelt_anew(question, spelt) if spelt else ()
    return (Note(NoteKind.RESPELLED, tuple(w for pair in pairs for w in pair)),) if pairs else ()


def _taken(task: TaskRequest, documents: Sequence[Document], draft: Draft) -> tuple[Note, ...]:
    """Which documents a task was done on; quotes of several say themselves whose they are."""
    if task.kind not in WHOLE:
        return ()
    quoted = draft.basis is Basis.EXTRACTED
    return taken(documents, ASKED_OF, len(documents) if quoted else task.among)
