"""Work on whole documents: summaries, comparisons, drafts, translations; all with citations.

A chat model reads the documents part by part and writes (map and reduce). Without one the summary
is made of the documents' own central sentences, and what cannot be done is said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby

from rag_app.answering import answer_language, prompts
from rag_app.answering.attribution import pieces_of
from rag_app.answering.chat_generator import ChatGenerator, language_of
from rag_app.answering.extraction import Candidate
from rag_app.answering.generation import (
    Cancelled,
    Generator,
    Messages,
    Piece,
    TokenBudget,
    apart,
    finished,
    pieces,
)
from rag_app.answering.prompts import Message
from rag_app.answering.summarisation import Gist
from rag_app.answering.task_router import TaskRequest, rest, sentences_wanted, topic
from rag_app.errors import ChatModelError
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.retriever import HybridRetriever
from rag_app.retrieval.sentence_index import title
from rag_app.scope import Scope
from rag_app.storage import Store
from rag_app.storage.vectors import VectorIndex
from rag_app.supervision import Told, untold
from rag_app.text.sentences import one_line
from rag_app.types import Chunk, Document, Draft, Note, NoteKind, Passage, Span, Task

_SENTENCES = 6  # of a summary, if the wish does not say
_PARTS = 14  # chunks that an extractive summary is made from
_READ = 400  # chunks of one document that a chat model reads; of more, the most central
_PER_CLAIM = 4  # passages looked up for each written sentence
ASKED_OF = 5  # documents of one task, at most
_NEAREST = 3  # documents that are quoted for what cannot be written
_ROUNDS = 4  # of notes on notes
_LEAST_ROOM = 200  # tokens of a part
_MOST_SECTIONS, _SECTION = 4, 500  # that are summed up one by one; characters of each at least
_SAID, _DRAFTED = 8, 25  # sentences of a written summary, if the wish does not say, and of a draft
_BROUGHT = 4  # words behind a colon from which they are the text that is to be translated
_USUAL = "English"  # what is translated into if nothing is said

SAYS = "{0} says:"
_WRITTEN_ONLY = (Task.COMPARISON, Task.DRAFT, Task.TRANSLATION)
WHOLE = (Task.SUMMARY, Task.COMPARISON)
"""Work on whole documents; the other kinds look for what is near the wish."""


@dataclass(frozen=True, slots=True)
class TaskRunner:
    """Where tasks are done: the library's parts that they need."""

    store: Store
    vectors: VectorIndex
    embedder: Embedder
    scope: Scope
    told: Told = untold  # how many parts are read or written, of how many

    def carry_out(
        self,
        task: TaskRequest,
        documents: Sequence[Document],
        generator: Generator,
        retriever: HybridRetriever,
        cancelled: Cancelled,
    ) -> tuple[list[Passage], Iterator[Piece]]:
        """What is read for the task, and the pieces of its answer."""
        chosen = list(documents)[:ASKED_OF]
        by_model = isinstance(generator, ChatGenerator)
        reads = generator.reads if isinstance(generator, ChatGenerator) else None
        if task.kind not in WHOLE:
            read = retriever.passages(task.wish)
            found = list(dict.fromkeys(passage.chunk.document_id for passage in read))
            held = [document for document in documents if document.id in found]
            chosen = sorted(held, key=lambda d: found.index(d.id))[:_NEAREST]
        elif (reads or not by_model) and topic(task, chosen):
            read = self._about(task, chosen, retriever)
        elif reads:
            read = self._standing_for(chosen, reads)
        else:
            read = self._central(chosen, cancelled)
        if isinstance(generator, ChatGenerator):
            written = self._written(task, chosen, read, generator, retriever, cancelled)
            return read, written
        return read, pieces(self._quoted(task, chosen, read))

    # Without a chat model

    @property
    def _gist(self) -> Gist:
        return Gist(self.store, self.vectors, self.embedder, self.scope)

    def _central(self, documents: Sequence[Document], cancelled: Cancelled) -> list[Passage]:
        """Passages that stand for each document, in the order of its pages."""
        found: list[Passage] = []
        for document in documents:
            if not cancelled():
                found += self._gist.passages(document, max(4, _PARTS // len(documents)))
        return found

    def _about(
        self, task: TaskRequest, documents: Sequence[Document], retriever: HybridRetriever
    ) -> list[Passage]:
        """Passages of each document that are near what the wish is about."""
        asked, k = topic(task, documents), max(4, _PARTS // len(documents))
        scopes = [{"documents": (document.id,), "k": k} for document in documents]
        alone = [retriever.model_copy(update=scope) for scope in scopes]
        return [passage for one in alone for passage in one.passages(asked)]

    def _quoted(
        self, task: TaskRequest, documents: Sequence[Document], read: list[Passage]
    ) -> Draft:
        said: list[str] = []
        spans: list[tuple[Span, ...]] = []
        for document, quoted in self._sentences(task, documents, read):
            if task.among > 1 or len(documents) > 1:
                said.append(SAYS.format(one_line(document.name)))
                spans.append(())
            said += [one.text for one in quoted]
            spans += [(one.span,) for one in quoted]
        return Draft(
            sentences=apart(said),
            evidence=tuple(spans),
            confidence=1.0 if spans else 0.0,  # quotes are what they are
            abstained=not spans,
            notes=_needed(task),
        )

    def _sentences(
        self, task: TaskRequest, documents: Sequence[Document], read: list[Passage]
    ) -> list[tuple[Document, list[Candidate]]]:
        """Sentences near what the wish is about, if it says so, else near the first document's."""
        share, wish = max(1, len(documents)), task.wish
        about = topic(task, documents) if task.kind in WHOLE else wish

        def found(each: int) -> list[tuple[Document, list[Candidate]]]:
            kept: list[tuple[Document, list[Candidate]]] = []
            for document in documents:
                near = [about] if about else [one.text for _, said in kept for one in said]
                quoted = self._gist.sentences(document, read, each, near)
                kept += [(document, quoted)] if quoted else []
            return kept

        most = max(_SENTENCES, sentences_wanted(wish, _SENTENCES)) / share
        quoted = found(math.ceil(most) + (share > 1))
        held = sum(len(said) for _, said in quoted)
        asked = sentences_wanted(wish, min(held, _SENTENCES))  # "shorter" than what there is
        return found(max(1, asked // share)) if asked < min(held, _SENTENCES) else quoted

    # With a chat model

    def _written(
        self,
        task: TaskRequest,
        documents: Sequence[Document],
        read: list[Passage],
        generator: ChatGenerator,
        retriever: HybridRetriever,
        cancelled: Cancelled,
    ) -> Iterator[Piece]:
        found = {p.chunk.id: p for p in read}

        def in_parts(room: TokenBudget) -> Sequence[Message]:
            notes = self._notes(task, documents, read, generator, room, cancelled)
            return prompts.final(task.wish, notes, task.language)

        asked: Sequence[Messages] = [in_parts]
        rests_on: Sequence[Span] = ()
        if generator.reads is not None and task.kind is Task.TRANSLATION:
            asked, rests_on = self._translated(task, documents, read)
        elif generator.reads is not None:
            asked = self._at_once(task, documents, read, generator.reads)

        def sources(text: str) -> list[Passage]:
            narrowed = retriever.model_copy(update={"k": _PER_CLAIM})
            for piece in pieces_of(text)[:40]:
                if piece.strip() and not cancelled():
                    found.update((p.chunk.id, p) for p in narrowed.passages(piece))
            read[:] = list(found.values())
            return read

        composed = generator.compose(
            asked,
            sources,
            lambda: pieces(self._quoted(task, documents, read)),
            cancelled,
            rests_on,
            self._most(task, generator, len(asked)),
        )
        brought = generator.reads is not None and task.kind is Task.TRANSLATION and not rests_on
        yield from map(_claiming_nothing, composed) if brought else composed

    def _most(self, task: TaskRequest, generator: ChatGenerator, parts: int) -> list[int] | None:
        """Sentences after which a small model has said enough of each part: it finds no end by
        itself. All parts together say as many as are wanted."""
        if generator.reads is None or task.kind is Task.TRANSLATION:
            return None
        share, left = divmod(_wanted(task), parts)
        return [share + (part < left) for part in range(parts)]

    def _at_once(
        self,
        task: TaskRequest,
        documents: Sequence[Document],
        read: Sequence[Passage],
        tokens: int,
    ) -> list[Messages]:
        """What a writer that reads `tokens` in one go is asked; of a document in a few sections it
        is asked section by section: a small model mixes them, and ends before the last."""
        if task.kind is Task.DRAFT:  # the nearest last: a small model heeds most what it read last
            chosen = self._first(read, tokens)[::-1]
        else:
            each = [[p for p in read if p.chunk.document_id == d.id] for d in documents]
            chosen = [p for one in each for p in self._first(one, tokens // len(documents))]
        language = task.language or language_of(task.wish)
        alone = task.kind is Task.SUMMARY and len(documents) == 1
        parts = _sections(chosen) if alone else [chosen]
        if len(parts) > _wanted(task):  # there is not a sentence for each
            parts = [chosen]
        asked = [prompts.task_messages(task.wish, _titled(part), language) for part in parts]
        return [self._telling(one, at, len(asked)) for at, one in enumerate(asked)]

    def _telling(self, messages: Sequence[Message], at: int, of: int) -> Messages:
        """Messages that ask for no more than there is; how many were asked before is told."""

        def begun(room: TokenBudget) -> Sequence[Message]:
            if of > 1:
                self.told(at, of)
            return messages

        return begun

    def _translated(
        self, task: TaskRequest, documents: Sequence[Document], read: list[Passage]
    ) -> tuple[list[Messages], list[Span]]:
        """What a writer is asked for a translation, passage by passage, and where each stands: the
        section that the wish is about, else the whole document; or a text that the wish brings."""
        into = answer_language.language_into(task.wish) or task.language or _USUAL
        wish = prompts.TRANSLATE.format(into)

        def messages(text: str, at: int = 0, of: int = 1) -> Messages:
            return self._telling(prompts.task_messages(wish, [("", text)], into), at, of)

        _, _, brought = task.wish.partition(": ")
        if len(brought.split()) >= _BROUGHT or not read:
            return [messages(brought or task.wish)], []
        read[:] = self._section(replace(task, language=into), documents, read[0])
        chunks = [passage.chunk for passage in read]
        spans = [Span(c.document_id, c.page, c.start, c.end) for c in chunks]
        return [messages(c.text, at, len(chunks)) for at, c in enumerate(chunks)], spans

    def _section(
        self, task: TaskRequest, documents: Sequence[Document], best: Passage
    ) -> list[Passage]:
        """What stands under the same heading as the best passage, if the wish is about something;
        else its whole document."""
        document = next(d for d in documents if d.id == best.chunk.document_id)
        whole = [Passage(chunk, document.name, best.score) for chunk in self._whole(document)]
        if not topic(replace(task, wish=rest(task.wish)), documents):
            return whole
        headed = best.chunk.heading
        section = [p for p in whole if headed and p.chunk.heading == headed]
        return section if any(p.chunk == best.chunk for p in section) else [best]

    def _standing_for(self, documents: Sequence[Document], tokens: int) -> list[Passage]:
        """Passages that stand for documents, as many tokens of each: all where they are few."""
        share = tokens // max(1, len(documents))
        found: list[Passage] = []
        for document in documents:
            whole = [Passage(chunk, document.name, 0.0) for chunk in self._whole(document)]
            size = sum(self.embedder.count_tokens([p.chunk.text for p in whole]))
            if size > share:
                whole = self._gist.passages(document, max(1, len(whole) * share // size))
            found += whole
        return found

    def _first(self, passages: Sequence[Passage], tokens: int) -> list[Passage]:
        """As many of the first passages as there is room for, one at least."""
        sizes = self.embedder.count_tokens([p.chunk.text for p in passages])
        held = [p for p, used in zip(passages, accumulate(sizes), strict=True) if used <= tokens]
        return held or list(passages[:1])

    def _notes(
        self,
        task: TaskRequest,
        documents: Sequence[Document],
        read: Sequence[Passage],
        generator: ChatGenerator,
        room: TokenBudget,
        cancelled: Cancelled,
    ) -> list[tuple[str, str]]:
        """(document, text) to write from: the passages, or what the model noted of each part.

        Raises ChatModelError."""
        left = replace(room, tokens=room.tokens - prompts.AROUND)
        if left.tokens < _LEAST_ROOM:
            raise ChatModelError(
                f"The window of {generator.name} is too small to read documents with. Choose a "
                "model with a larger window, or lower RAG_APP_CHAT_TOKENS."
            )
        if task.kind in (Task.DRAFT, Task.TRANSLATION):
            texts = [(p.name, p.chunk.text) for p in read]
            return self._fitting(texts, left)
        texts = [
            (document.name, chunk.text) for document in documents for chunk in self._whole(document)
        ]
        for _ in range(_ROUNDS):
            groups = self._groups(texts, left)
            if len(groups) < 2 or cancelled():
                break
            noted: list[tuple[str, str]] = []
            for at, group in enumerate(groups):
                self.told(at, len(groups) + 1)  # and what is written of the notes
                noted.append((group[0][0], self._noted(task, group, generator, cancelled)))
            texts = noted
            self.told(len(groups), len(groups) + 1)
        return self._fitting(texts, left)

    def _noted(
        self,
        task: TaskRequest,
        part: Sequence[tuple[str, str]],
        generator: ChatGenerator,
        cancelled: Cancelled,
    ) -> str:
        if cancelled():
            return ""
        said = generator.writer.whole(lambda _: prompts.note(task.wish, part), cancelled)
        return finished(said)

    def _whole(self, document: Document) -> list[Chunk]:
        chunks = [i.chunk for i in self.store.indexed(document.id, self.scope)]
        if len(chunks) <= _READ:
            return chunks
        kept = {p.chunk.id for p in self._gist.passages(document, _READ)}
        return [c for c in chunks if c.id in kept]

    def _groups(
        self, texts: list[tuple[str, str]], room: TokenBudget
    ) -> list[list[tuple[str, str]]]:
        """Texts in runs that fit the window, each of one document if it is not the last round."""
        sizes = (room.count or self.embedder.count_tokens)([text for _, text in texts])
        groups: list[list[tuple[str, str]]] = []
        used = 0
        for text, size in zip(texts, sizes, strict=True):
            if not groups or used + size + 8 > room.tokens:
                groups.append([])
                used = 0
            groups[-1].append(text)
            used += size + 8
        return groups

    def _fitting(self, texts: list[tuple[str, str]], room: TokenBudget) -> list[tuple[str, str]]:
        groups = self._groups(texts, room)
        return groups[0] if groups else []


def _wanted(task: TaskRequest) -> int:
    """Sentences that are written, at most."""
    return sentences_wanted(task.wish, _SAID) if task.kind in WHOLE else _DRAFTED


def _sections(passages: Sequence[Passage]) -> list[list[Passage]]:
    """Passages of one document by its outermost headings, if these are few and each says much; else
    all in one."""
    runs = groupby(passages, key=lambda p: p.chunk.heading.partition(" > ")[0])
    parts = [list(held) for _, held in runs]
    least = min(sum(len(p.chunk.text) for p in part) for part in parts) if parts else 0
    return parts if len(parts) <= _MOST_SECTIONS and least >= _SECTION else [list(passages)]


def _titled(passages: Sequence[Passage]) -> list[tuple[str, str]]:
    """(title, text), passages of one section as one."""
    runs = groupby(passages, key=lambda p: title(p.name, p.chunk.heading))
    return [(headed, "\n".join(p.chunk.text for p in held)) for headed, held in runs]


def _claiming_nothing(piece: Piece) -> Piece:
    """A piece of a translation of a text that is no document's, an answer for one: that no document
    says it in these words is no warning."""
    if piece.draft is None:
        return piece
    of_sources = (NoteKind.UNSUPPORTED, NoteKind.PARTLY_SUPPORTED)
    notes = tuple(note for note in piece.draft.notes if note.kind not in of_sources)
    return replace(piece, draft=replace(piece.draft, notes=notes))


def _needed(task: TaskRequest) -> tuple[Note, ...]:
    """What the wish needs that is not there."""
    if task.kind in _WRITTEN_ONLY:
        return (Note(NoteKind.TASK_NEEDS_MODEL, (task.kind,)),)
    return (Note(NoteKind.LANGUAGE_NEEDS_MODEL, (task.language,)),) if task.language else ()
