"""A choice to the generator that carries it out."""

from __future__ import annotations

from dataclasses import dataclass

from rag_app.answering.chat import ChatGenerator
from rag_app.answering.chat_models import Terms, explain, open_model
from rag_app.answering.choice import EMBEDDED, Choice
from rag_app.answering.generator import Generator
from rag_app.answering.quotes import QuoteGenerator
from rag_app.answering.rag_answers import RagAnswers
from rag_app.answering.reader import Reader
from rag_app.answering.span_model import SpanModel
from rag_app.answering.writer import Writer
from rag_app.downloading import local_folder
from rag_app.embedding import Embedder


@dataclass(frozen=True, slots=True)
class Workshop:
    """What generators are made of."""

    embedder: Embedder
    span_model: SpanModel
    caution: float
    terms: Terms
    window: int  # tokens of a chat model whose window is not known
    safety: str = "quotes"  # answers where a model fails; needs nothing that may be missing

    def build(self, choice: Choice) -> Generator:
        """The generator of a choice; nothing is loaded or connected yet."""
        if choice.kind in EMBEDDED:
            return self._embedded(choice.kind)
        if choice.kind in ("rag-token", "rag-sequence"):
            return RagAnswers(
                choice,
                local_folder(choice.model, self.terms.models),
                self.embedder,
                self._embedded(self.safety),
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
        return ChatGenerator(writer, self.embedder, self._embedded(self.safety))

    def _embedded(self, kind: str) -> Generator:
        if kind == "quotes":
            return QuoteGenerator(self.embedder, self.caution)
        return Reader(self.span_model, self.caution)
