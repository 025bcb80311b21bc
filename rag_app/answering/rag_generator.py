"""RAG-Token and RAG-Sequence as generators of the app (Lewis et al. 2020).

The answer's citations carry their passage's share of the probability: p(z|x,y), the posterior of
the document given question and answer."""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from rag_app.answering.attribution import support
from rag_app.answering.extraction import QuoteGenerator
from rag_app.answering.generation import Cancelled, Generator, Piece, instead
from rag_app.answering.model_spec import ModelSpec
from rag_app.errors import ModelUnavailable
from rag_app.research.rag_network import RagGenerator
from rag_app.retrieval.embedding import Embedder
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
    ) -> None:
        self.name = choice.name
        self._by_token = choice.kind == "rag-token"
        self._thorough = choice.kind != "rag-sequence-fast"
        self._folder = folder
        self._embedder = embedder
        self._safety = safety
        self._most_tokens = most_tokens

    def warm(self) -> None:
        """Load what answers if the model cannot. Raises ModelUnavailable."""
        self._safety.warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield pieces (of RAG-Token as they are decoded), then the draft with shares."""
        read = list(passages)[:_DOCUMENTS]
        try:
            generator = _loaded(str(self._folder))
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
        from rag_app.research.rag_decoding import Decoding, decode_sequence, decode_token

        scores = [math.log(max(passage.score, 1e-9)) for passage in read]
        texts = [passage.chunk.text for passage in read]
        told: queue.SimpleQueue[str | RagAnswer | Exception] = queue.SimpleQueue()

        def decode() -> None:
            try:
                inputs = generator.inputs(question, texts, scores, _LONGEST)
                given = {"tokenizer": generator.tokenizer, "cancelled": cancelled}
                if self._by_token:
                    plan = Decoding(self._most_tokens)
                    told.put(
                        decode_token(
                            generator.model,
                            inputs,
                            plan,
                            on_token=lambda _, text: told.put(text),
                            **given,
                        )
                    )
                else:
                    plan = Decoding(self._most_tokens, _BEAMS, self._thorough)
                    told.put(decode_sequence(generator.model, inputs, plan, **given))
            except Exception as error:  # noqa: BLE001 - whatever it is, another generator answers
                told.put(error)

        threading.Thread(target=decode, name="rag-app-rag", daemon=True).start()
        while not cancelled():
            try:
                item = told.get(timeout=_LOOK)
            except queue.Empty:
                continue
            yield item
            if not isinstance(item, str):
                return

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
def _loaded(folder: str) -> RagGenerator:
    return RagGenerator.load(Path(folder))
