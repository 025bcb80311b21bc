"""A choice to the generator that carries it out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rag_app.answering.answer_language import AnyLanguage
from rag_app.answering.chat_generator import EMBEDDED, HURRIED, ChatGenerator, Grounding
from rag_app.answering.chat_models import ChatSettings, explain, open_model
from rag_app.answering.extraction import QuoteGenerator, Reader
from rag_app.answering.generation import Cancelled, Generator, Piece, Writer
from rag_app.answering.model_spec import QUOTING, RAG, WRITER, ModelSpec
from rag_app.answering.prompts import Message
from rag_app.answering.rag_generator import RagAnswers
from rag_app.answering.sentence_ranker import SentenceRanker
from rag_app.answering.span_model import SpanModel
from rag_app.answering.writer_generator import TaughtGenerator, UntaughtGenerator
from rag_app.errors import ModelUnavailable
from rag_app.models.catalogue import is_taught
from rag_app.models.download import local_folder
from rag_app.retrieval.embedding import Embedder
from rag_app.types import Passage


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
    safety: str = "reader"  # answers where a model fails
    ranker: SentenceRanker = field(default_factory=SentenceRanker)

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
                self.terms.most_tokens,
            )
        writer = Writer(
            choice.name,
            lambda: open_model(choice, self.terms),
            lambda error: explain(error, choice),
            window=self.window,
            most_tokens=self.terms.most_tokens,
            says_why=choice.kind in ("openai", "ollama"),
        )
        reader = Reader(self.span_model, 0.0)
        parts = (writer, self.embedder, self._safety())
        if choice.kind != WRITER:
            return ChatGenerator(*parts, Grounding(ranking=self.ranker.score))
        grounding = Grounding(reader, self.caution, EMBEDDED, HURRIED, ranking=self.ranker.score)
        if is_taught(choice.model):
            return TaughtGenerator(*parts, grounding)

        def certainty(messages: Sequence[Message]) -> float:
            model = open_model(choice, self.terms)
            chance: float = model.probability(list(messages))  # type: ignore[attr-defined]
            return chance

        return UntaughtGenerator(*parts, grounding, certainty)

    def _safety(self) -> Generator:
        """What answers where a model fails."""
        quotes = self._embedded("quotes")
        if self.safety == "quotes":
            return quotes
        return AnyLanguage(Either(self._embedded("reader"), quotes), self.caution)

    def _embedded(self, kind: str) -> Generator:
        if kind == "quotes":
            return QuoteGenerator(self.embedder, self.caution)
        return Reader(self.span_model, self.caution)
