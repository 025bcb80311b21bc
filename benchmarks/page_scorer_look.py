"""What the app's search knows of each page that it finds for a question (page_scorer.py).

Everything here is at hand when a question is asked, or costs a look at the texts of the pages."""

from __future__ import annotations

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.page_scorer_data import Shelf
from rag_app.ingestion.worker import index
from rag_app.retrieval.chunking import Placing
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.ranking import (
    FIGURES,
    NAMES,
    WORDS,
    WORDS_ABROAD,
    RankingFeatures,
    _forms,
    _stem,
    asks_for_figures,
    figures,
    query_words,
    ranked,
)
from rag_app.retrieval.retriever import HybridRetriever
from rag_app.scope import HOME, WORKER
from rag_app.storage import Store
from rag_app.storage.chroma import ChromaVectors
from rag_app.text.languages import is_english
from rag_app.types import Chunk, Document, Page, Reading, Status

PAGES = 30  # of the best are looked at
PASSAGES = 60  # in the order that the app gives them
_ALONE = -0.3  # a second passage that was not found, beside the first
_NUMBER = re.compile(r"\d[\d.,]*")
FEATURES = (
    *("score", "second", "third", "cosine", "second cosine", "words", "pairs"),
    *("covered by page", "covered by passage", "covered by head", "words of page"),
    *("numbers", "length", "figures", "figures if asked", "place", "neighbour", "named"),
)
PARTS = ("page", "cosine", "words", "pairs", "covered", "words of page", "settled")
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found for one question: pages with features, passages in the app's order."""

    pages: list[Place]  # (document id, page), best first by the app
    features: np.ndarray  # pages x FEATURES
    passages: list[tuple[int, float, str]]  # (which of the pages, the app's score, text)
    parts: np.ndarray  # all candidates x PARTS; places of those that the app leaves out come last


class Looking(HybridRetriever):
    """The app's retriever, opened up."""

    def look(self, question: str) -> Looked:
        """Pages and passages with what is known of them."""
        documents = self.store.documents(WORKER)
        named = self._named(question, documents)
        large = sum(document.chunks for document in documents) > 50_000
        meaning, words = self._pools(question, self._scopes(named), large)
        chunks = self.store.chunks([*{**meaning.scores, **words.scores}], WORKER)
        shares = self._figures(question, chunks.values())
        known = not self.embedder.english or is_english(question)
        weight = WORDS if known else WORDS_ABROAD
        pairs = self._pairs(question, chunks)
        evidence = RankingFeatures(meaning, words, named, shares, weight, pairs)
        best = ranked(list(chunks.values()), evidence.score, PASSAGES)
        order = list(dict.fromkeys((c.document_id, c.page) for c, _ in best))
        order = list(dict.fromkeys([*order, *((c.document_id, c.page) for c in chunks.values())]))
        held: dict[Place, list[Chunk]] = defaultdict(list)
        for chunk in chunks.values():
            held[chunk.document_id, chunk.page].append(chunk)
        counts = {document.id: document.pages for document in documents}
        asked = Asking(question, {page: self.store.page(*page, WORKER).text for page in order})
        places = {page: row for row, page in enumerate(order)}
        return Looked(
            order,
            self._features(question, order[:PAGES], held, evidence, counts, asked),
            [(places[c.document_id, c.page], score, c.text) for c, score in best],
            np.array([_parts(c, places, evidence, asked) for c in chunks.values()], np.float32),
        )

    def _features(
        self,
        question: str,
        order: Sequence[Place],
        held: Mapping[Place, list[Chunk]],
        evidence: RankingFeatures,
        counts: Mapping[str, int],
        asked: Asking,
    ) -> np.ndarray:
        texts = [self.store.page(*page, WORKER).text for page in order]
        scores = {page: max(map(evidence.score, chunks)) for page, chunks in held.items()}
        rows = []
        for page, text in zip(order, texts, strict=True):
            chunks = sorted(held[page], key=evidence.score, reverse=True)
            best = [evidence.score(chunk) for chunk in chunks]
            near = sorted((evidence.meaning.get(c.id) for c in chunks), reverse=True)
            beside = [scores.get((page[0], page[1] + step), 0.0) for step in (-1, 1)]
            share = min(figures(text), 0.5)
            rows.append(
                [
                    best[0],
                    max(best[1] - best[0], _ALONE) if len(best) > 1 else _ALONE,
                    max(best[2] - best[0], _ALONE) if len(best) > 2 else _ALONE,
                    near[0],
                    max(near[1] - near[0], _ALONE) if len(near) > 1 else _ALONE,
                    max(evidence.words.get(c.id) for c in chunks) / (evidence.words.best or 1.0),
                    max(evidence.pairs.get(c.id, 0.0) for c in chunks),
                    asked.covered(text),
                    max(asked.covered(chunk.text) for chunk in chunks[:3]),
                    asked.covered(f"{text[:160]} {chunks[0].heading}"),
                    asked.weighed[page],
                    asked.numbers(text),
                    math.log1p(len(text.split())) / 5,
                    share,
                    share * asks_for_figures(question),
                    page[1] / max(1, counts.get(page[0], 1)),
                    max(beside),
                    evidence.names.get(page[0], 0.0),
                ]
            )
        return np.array(rows, np.float32)


def _parts(
    chunk: Chunk, places: Mapping[Place, int], evidence: RankingFeatures, asked: Asking
) -> list[float]:
    page = (chunk.document_id, chunk.page)
    shares = min(evidence.figures.get(page, 0.0), 0.5)
    return [
        places[page],
        evidence.meaning.get(chunk.id),
        evidence.words.get(chunk.id) / (evidence.words.best or 1.0),
        evidence.pairs.get(chunk.id, 0.0),
        asked.covered(chunk.text),
        asked.weighed[page],
        FIGURES * shares + NAMES * evidence.names.get(chunk.document_id, 0.0),
    ]


class Asking:
    """A question's words, weighed by how few of the candidates' pages hold them."""

    def __init__(self, question: str, texts: Mapping[Place, str]) -> None:
        stems = dict.fromkeys(_stem(word) for word in query_words(question)[0])
        self._words = {s: re.compile(rf"(?<!\w){_forms(s)}(?!\w)") for s in stems}
        self._digits = set(_NUMBER.findall(question))
        self._held = {page: self._counted(text) for page, text in texts.items()}
        many = len(texts)
        often = {s: sum(s in held for held in self._held.values()) for s in stems}
        self._idf = {s: math.log(1 + (many - n + 0.5) / (n + 0.5)) for s, n in often.items()}
        self._total = sum(self._idf.values()) or 1.0
        usual = sum(map(len, texts.values())) / max(1, many) or 1.0
        weighed = {page: self._weighed(page, len(text) / usual) for page, text in texts.items()}
        best = max(weighed.values(), default=0.0) or 1.0
        self.weighed = {page: score / best for page, score in weighed.items()}

    def covered(self, text: str) -> float:
        """The share of the question's words that a text holds."""
        return sum(self._idf[stem] for stem in self._counted(text)) / self._total

    def numbers(self, text: str) -> float:
        """The share of the question's numbers that a text holds."""
        if not self._digits:
            return 0.0
        return len(self._digits & set(_NUMBER.findall(text))) / len(self._digits)

    def _counted(self, text: str) -> dict[str, int]:
        low = text.lower()
        found = {s: len(word.findall(low)) for s, word in self._words.items() if s in low}
        return {stem: count for stem, count in found.items() if count}

    def _weighed(self, page: Place, length: float) -> float:
        """BM25 of a page among the candidates."""
        floor = 1.2 * (0.25 + 0.75 * length)
        return sum(self._idf[s] * 2.2 * n / (n + floor) for s, n in self._held[page].items())


def stocked(shelf: Shelf, folder: Path, embedder: Embedder) -> Looking:
    """A made library in a folder, and what searches it."""
    store = Store(folder / "library.sqlite3")
    vectors = ChromaVectors(folder / "vectors", embedder.fingerprint)
    for name, texts in shelf.documents.items():
        pages = tuple(Page(number, text) for number, text in enumerate(texts, 1))
        document = Document(key(name), f"{name}.txt", ".txt", 1, Status.RECEIVED, "2026-01-01")
        store.add_document(document)
        reading = Reading(pages)
        store.save_reading(document.id, reading)
        indexed = index(document, pages, reading, 200)
        store.save_chunks(document.id, indexed, "en")
        placed = Placing(embedder, pages, indexed).embed(indexed)
        vectors.upsert(document.id, [one.chunk.id for one in indexed], placed, HOME)
    return Looking(store=store, vectors=vectors, embedder=embedder, k=PASSAGES)


def key(name: str) -> str:
    """The id of a made document."""
    return hashlib.sha256(name.encode()).hexdigest()
