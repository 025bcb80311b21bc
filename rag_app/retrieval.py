"""Question to passages: dense and BM25 rankings, fused.

A LangChain `BaseRetriever`, so that it fits into any chain; `passages` gives our own type."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from rag_app.embedding import Embedder
from rag_app.errors import ModelUnavailable
from rag_app.store import Store
from rag_app.types import Chunk, Passage, RetrieverKind
from rag_app.vectors import VectorIndex

# Reciprocal rank fusion with k = 60, as in Cormack, Clarke and Büttcher (SIGIR 2009).
_RRF_K = 60

_PHRASE = re.compile(r'["“”]([^"“”]{2,200})["“”]')
_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
_STOPWORDS = frozenset(
    """
    a about am an and any are as at be been by can could did do does for from had has have how i
    if in into is it its me my of on or our please should so tell than that the their them then
    there these they this those to was we were what when where which who whom whose why will with
    would you your
    """.split()  # noqa: SIM905 - easier to read and to add to
)


Reranker = Callable[[str, Sequence[Passage]], Sequence[float]]
"""Question and passages to log-odds that each of them answers. Raises ModelUnavailable."""


class HybridRetriever(BaseRetriever):
    """Finds passages in the store and the vectors, in `documents` only if those are given."""

    model_config = ConfigDict(arbitrary_types_allowed=True, frozen=True)

    store: Store
    vectors: VectorIndex
    embedder: Embedder
    kind: RetrieverKind = RetrieverKind.HYBRID
    k: int = 8
    candidates: int = 60
    documents: tuple[str, ...] | None = None
    reranker: Reranker | None = None
    reranked: int = 20  # of the fused passages are put in the reranker's order

    def passages(self, question: str) -> list[Passage]:
        """The k best passages, best first, their scores adding up to 1.

        Raises ModelUnavailable if only meaning may be searched and the model is not there."""
        if self.documents == () or self.k < 1:
            return []
        rankings = []
        if self.kind is not RetrieverKind.BM25:
            try:
                rankings.append(self._by_meaning(question))
            except ModelUnavailable:  # words are better than nothing, where they were asked for
                if self.kind is RetrieverKind.DENSE:
                    raise
        if self.kind is not RetrieverKind.DENSE:
            rankings.append(self._by_words(question))
        scores = fuse(rankings)
        chunks = self.store.chunks(list(scores))
        ranked = sorted((i for i in scores if i in chunks), key=lambda i: -scores[i])
        most = self.k if self.reranker is None else max(self.k, self.reranked)
        best = _distinct([chunks[i] for i in ranked], most)
        names = {d.id: d.name for d in self.store.documents()}
        found = [Passage(c, names.get(c.document_id, ""), scores[c.id]) for c in best]
        if self.reranker is not None:
            found = rerank(question, found, self.reranker)
        return shares(found[: self.k])

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[LangChainDocument]:
        return [as_langchain(passage) for passage in self.passages(query)]

    def _by_meaning(self, question: str) -> list[str]:
        vector = self.embedder.embed_query(question)
        return [i for i, _ in self.vectors.search(vector, self.candidates, self.documents)]

    def _by_words(self, question: str) -> list[str]:
        words, phrases = query_words(question)
        found = self.store.search_words(words, phrases, self.candidates, self.documents)
        return [i for i, _ in found]


def as_langchain(passage: Passage) -> LangChainDocument:
    """A passage as LangChain knows it; `metadata["passage"]` is the passage itself."""
    chunk = passage.chunk
    return LangChainDocument(
        id=chunk.id,
        page_content=chunk.text,
        metadata={
            "document_id": chunk.document_id,
            "name": passage.name,
            "page": chunk.page,
            "start": chunk.start,
            "end": chunk.end,
            "score": passage.score,
            "passage": passage,
        },
    )


def fuse(rankings: Sequence[Sequence[str]], k: int = _RRF_K) -> dict[str, float]:
    """Reciprocal rank fusion: sum over rankings of 1 / (k + rank), ranks from 1."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1.0 / (k + rank)
    return scores


def rerank(question: str, found: Sequence[Passage], reranker: Reranker) -> list[Passage]:
    """The passages in the order of their log-odds of answering; scores become their chances.

    A reranker whose model is not there changes nothing."""
    try:
        odds = reranker(question, found)
    except ModelUnavailable:
        return list(found)
    chances = [1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, o)))) for o in odds]
    scored = [replace(p, score=c) for p, c in zip(found, chances, strict=True)]
    return sorted(scored, key=lambda passage: -passage.score)


def shares(found: Sequence[Passage]) -> list[Passage]:
    """The same passages with scores that add up to 1: p(z|x) over what was found."""
    total = sum(passage.score for passage in found)
    return [replace(passage, score=passage.score / total) for passage in found]


def query_words(question: str) -> tuple[list[str], list[str]]:
    """(words worth looking for, exact "phrases") of a question."""
    phrases = [phrase.strip() for phrase in _PHRASE.findall(question) if _WORD.search(phrase)]
    words = list(dict.fromkeys(word.lower() for word in _WORD.findall(question)))
    telling = [word for word in words if word not in _STOPWORDS]
    return telling or words, phrases


def _distinct(chunks: Sequence[Chunk], k: int) -> list[Chunk]:
    """The first k chunks, leaving out those that say the same words as an earlier one."""
    kept: list[Chunk] = []
    seen: set[str] = set()
    for chunk in chunks:
        said = " ".join(_WORD.findall(chunk.text.lower()))
        if said not in seen:
            seen.add(said)
            kept.append(chunk)
            if len(kept) == k:
                break
    return kept
