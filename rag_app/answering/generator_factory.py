"""A choice to the generator that carries it out; RAG-Token and RAG-Sequence as generators (Lewis et
al. 2020).

The citations of those two carry their passage's share of the probability: p(z|x,y), the posterior
of the document given question and answer."""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rag_app.answering.answer_language import AnyLanguage
from rag_app.answering.attribution import support
from rag_app.answering.chat_generator import OWN_CONTEXT, ChatGenerator, Grounding
from rag_app.answering.chat_models import ChatSettings, explain, open_model
from rag_app.answering.evidence import RowsOf, SectionsOf
from rag_app.answering.extraction import QuoteGenerator, Reader
from rag_app.answering.generation import Cancelled, Generator, Piece, Writer, instead
from rag_app.answering.model_spec import QUOTING, RAG, WRITER, ModelSpec
from rag_app.answering.sentence_ranker import SentenceRanker
from rag_app.answering.span_model import SpanModel
from rag_app.answering.writer_generator import TaughtGenerator
from rag_app.environment import limit_torch
from rag_app.errors import ModelUnavailable
from rag_app.models.catalogue import is_taught
from rag_app.models.download import local_folder
from rag_app.research.rag import RagGenerator
from rag_app.retrieval.embedding import Embedder
from rag_app.supervision import held
from rag_app.types import Basis, Draft, Note, NoteKind, Passage, Span

if TYPE_CHECKING:
    from rag_app.research.rag import RagAnswer

_DOCUMENTS = 5  # decoded as one batch
_LONGEST = 400  # tokens of question and passage
_LEAST_SHARE = 0.1  # of a passage that is cited
_BEAMS = 4  # of RAG-Sequence; RAG-Token is streamed, and so greedy
_LOOK = 0.05  # seconds between two looks at `cancelled`


class RagAnswers:
    """A transformers seq2seq or causal model, its documents mixed as the paper has it."""

    def __init__(
        self,
        choice: ModelSpec,
        folder: Path,
        embedder: Embedder,
        safety: Generator,
        most_tokens: int,
        threads: int = 0,
    ) -> None:
        self.name = choice.name
        self._by_token = choice.kind == "rag-token"
        self._thorough = choice.kind != "rag-sequence-fast"
        self._folder = folder
        self._embedder = embedder
        self._safety = safety
        self._most_tokens, self._threads = most_tokens, threads

    def warm(self) -> None:
        """Load what answers if the model cannot. Raises ModelUnavailable."""
        self._safety.warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield pieces (of RAG-Token as they are decoded), then the draft with shares."""
        read = list(passages)[:_DOCUMENTS]
        try:
            generator = _loaded(str(self._folder), self._threads)
        except ModelUnavailable as error:
            said = self._safety.generate(question, passages, cancelled)
            yield from instead(said, self._safety.name, str(error))
            return
        answer: RagAnswer | None = None
        why = f"{self.name} wrote nothing."
        for item in self._decoded(generator, question, read, cancelled) if read else ():
            if isinstance(item, str):
                yield Piece(item)
            elif isinstance(item, Exception):
                why = f"{self.name} could not answer ({type(item).__name__})."
            else:
                answer = item
        if cancelled():
            return
        if answer is None or not any(c.isalnum() for c in answer.text):
            said = self._safety.generate(question, passages, cancelled)
            yield from instead(said, self._safety.name, why)
            return
        if not self._by_token:
            yield Piece(answer.text)
        yield Piece(draft=self._draft(question, answer, read))

    def _decoded(
        self,
        generator: RagGenerator,
        question: str,
        read: Sequence[Passage],
        cancelled: Cancelled,
    ) -> Iterator[str | RagAnswer | Exception]:
        """Texts as they are decoded, then the answer or what went wrong."""
        told: queue.SimpleQueue[str | RagAnswer | Exception] = queue.SimpleQueue()
        given = generator, question, read, cancelled, told.put
        threading.Thread(target=self._decode, args=given, name="rag-app-rag", daemon=True).start()
        while not cancelled():
            try:
                item = told.get(timeout=_LOOK)
            except queue.Empty:
                continue
            yield item
            if not isinstance(item, str):
                return

    def _decode(
        self,
        generator: RagGenerator,
        question: str,
        read: Sequence[Passage],
        cancelled: Cancelled,
        tell: Callable[[str | RagAnswer | Exception], None],
    ) -> None:
        from rag_app.research.rag_decoding import Decoding, decode_sequence, decode_token

        scores = [math.log(max(passage.score, 1e-9)) for passage in read]
        texts = [passage.chunk.text for passage in read]
        with held() as attempt:
            asked = generator.model, generator.inputs(question, texts, scores, _LONGEST)
            given = {"tokenizer": generator.tokenizer, "cancelled": cancelled}
            if self._by_token:
                plan = Decoding(self._most_tokens)
                tell(decode_token(*asked, plan, on_token=lambda _, text: tell(text), **given))
            else:
                plan = Decoding(self._most_tokens, _BEAMS, self._thorough)
                tell(decode_sequence(*asked, plan, **given))
        if attempt.error is not None:  # whatever it is, another generator answers
            tell(attempt.error)

    def _draft(self, question: str, answer: RagAnswer, read: Sequence[Passage]) -> Draft:
        judged = support(answer.text, read, self._embedder)
        claims = [one for one in judged if one.claims]
        held = sum(bool(one.evidence) for one in claims)
        notes = (
            *((Note(NoteKind.CUT),) if answer.cut else ()),
            *((Note(NoteKind.UNSUPPORTED),) if claims and not held else ()),
        )
        return Draft(
            sentences=(answer.text,),
            evidence=(tuple(self._cited(question, answer, read)),),
            confidence=held / len(claims) if claims else 0.0,
            basis=Basis.WRITTEN,
            short_answer=answer.text if len(answer.text) < 80 else "",
            notes=notes,
            shares=answer.shares,
        )

    def _cited(self, question: str, answer: RagAnswer, read: Sequence[Passage]) -> list[Span]:
        """Of each passage with a share worth naming the sentence nearest to the answer."""
        quoter = QuoteGenerator(self._embedder, 0.0)
        spans = []
        for index in sorted(range(len(read)), key=lambda i: -answer.shares[i]):
            if answer.shares[index] >= _LEAST_SHARE:
                ranked = quoter.rank(f"{question} {answer.text}", [read[index]])
                spans += [ranked[0].span] if ranked else []
        return spans


@lru_cache(maxsize=1)
def _loaded(folder: str, threads: int) -> RagGenerator:
    limit_torch(threads)
    return RagGenerator.load(Path(folder))


class Either:
    """The first generator, or the second where the files of the first cannot be used."""

    def __init__(self, first: Generator, second: Generator) -> None:
        self._first, self._second = first, second

    @property
    def name(self) -> str:
        """Of the one that answers."""
        return self._usable().name

    def _usable(self) -> Generator:
        try:
            self._first.warm()
        except ModelUnavailable:
            return self._second
        return self._first

    def warm(self) -> None:
        """Load what it needs now. Raises ModelUnavailable."""
        self._usable().warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield pieces, the last one with the draft. Raises ModelUnavailable."""
        yield from self._usable().generate(question, passages, cancelled)


@dataclass(frozen=True, slots=True)
class GeneratorFactory:
    """What generators are made of."""

    embedder: Embedder
    span_model: SpanModel
    caution: float
    terms: ChatSettings
    window: int  # tokens of a chat model whose window is not known
    ranker: SentenceRanker = field(default_factory=SentenceRanker)
    rows: RowsOf | None = None  # of tables in what a writer is shown
    sections: SectionsOf | None = None  # of what it is shown

    def build(self, choice: ModelSpec) -> Generator:
        """The generator of a choice; nothing is loaded or connected yet."""
        if choice.kind in QUOTING:
            return self._embedded(choice.kind)
        if choice.kind in RAG:
            return RagAnswers(
                choice,
                local_folder(choice.model, self.terms.models),
                self.embedder,
                self._safety(),
                *(self.terms.most_tokens, self.terms.threads),
            )
        writer = Writer(
            choice.name,
            lambda: open_model(choice, self.terms),
            lambda error: explain(error, choice),
            window=self.window,
            most_tokens=self.terms.most_tokens,
            says_why=choice.kind in ("openai", "ollama"),
        )
        parts = (writer, self.embedder, self._safety())
        grounding = Grounding(ranking=self.ranker.score, rows=self.rows, sections=self.sections)
        if choice.kind != WRITER:
            return ChatGenerator(*parts, grounding)
        grounding = replace(grounding, context=OWN_CONTEXT)
        if not is_taught(choice.model):
            return ChatGenerator(*parts, grounding)
        reader = Reader(self.span_model, 0.0)
        return TaughtGenerator(*parts, replace(grounding, reader=reader, caution=self.caution))

    def _safety(self) -> Generator:
        """What answers where a model fails."""
        either = Either(self._embedded("reader"), self._embedded("quotes"))
        return AnyLanguage(either, self.caution)

    def _embedded(self, kind: str) -> Generator:
        if kind == "quotes":
            return QuoteGenerator(self.embedder, self.caution)
        return Reader(self.span_model, self.caution)
