"""Libraries of any size: real text repeated with changes, made vectors, no model.

Written straight through the store's and the index's own methods, as ingestion writes. Words are
exchanged for others as often as they occur, and each document has a word of its own; vectors stand
around centres, one for each base passage, as passages on one subject do."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pypdfium2

from rag_app.retrieval.chunking import chunk_pages, search_text
from rag_app.retrieval.embedding import Embedder
from rag_app.scope import HOME, WORKER
from rag_app.storage import Indexed, Store
from rag_app.storage.chroma import ChromaVectors
from rag_app.storage.database import AnyDatabase
from rag_app.types import Chunk, Document, Page, Reading, Status

SIZE = 384
CHUNKS_PER_DOCUMENT = 200
_DOCUMENTS = 10  # of a collection, where there are several
_BASE = 2_000  # passages that all others are made of
_EXCHANGED = 0.15  # share of the words
_SPREAD = 0.7  # length of what is added to a centre of length 1
_AT_ONCE = 5_000  # vectors written together


class MadeEmbedder(Embedder):
    """Vectors around a centre that a text's words choose: it costs nothing, and says as much."""

    def __init__(self) -> None:
        self._centres = _unit(np.random.default_rng(1).standard_normal((_BASE, SIZE)))

    @property
    def fingerprint(self) -> str:
        """Never that of a real model."""
        return "made"

    def warm(self) -> None:
        """Nothing to load."""

    def around(self, places: Sequence[int], seed: int) -> np.ndarray:
        """One vector for each base passage that is named."""
        noise = np.random.default_rng(seed).standard_normal((len(places), SIZE))
        centres: np.ndarray = self._centres[np.asarray(places) % _BASE]
        return _unit(centres + _SPREAD * _unit(noise))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector a text."""
        seeds = [_number(text) for text in texts]
        found: list[list[float]] = [self.around([s], s)[0].tolist() for s in seeds]
        return found

    def embed_query(self, text: str) -> list[float]:
        """The vector of a question."""
        return self.embed_documents([text])[0]


def _unit(vectors: np.ndarray) -> np.ndarray:
    made: np.ndarray = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return made


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest())


@dataclass(frozen=True, slots=True)
class Base:
    """The passages of real files, and their words as often as they occur."""

    passages: tuple[str, ...]
    words: tuple[str, ...]

    @classmethod
    def of(cls, paths: Sequence[Path]) -> Base:
        """Passages of PDFs, until there are enough."""
        passages: list[str] = []
        for path in paths:
            with pypdfium2.PdfDocument(path) as file:
                pages = [
                    Page(n, file[n - 1].get_textpage().get_text_range() or " ")
                    for n in range(1, len(file) + 1)
                ]
            passages += [search_text(chunk.text) for chunk in chunk_pages("0" * 64, pages)]
            if len(passages) >= _BASE:
                break
        words = [word for passage in passages for word in passage.split()]
        return cls(tuple(passages[:_BASE]), tuple(words))

    def document(self, number: int, chunks: int) -> tuple[Document, Reading, list[Indexed]]:
        """A document of so many chunks, four to a page."""
        chance = random.Random(number)
        first = number * chunks
        texts = [
            self._changed(self.passages[(first + i) % len(self.passages)], chance, number)
            for i in range(chunks)
        ]
        made = f"{number:064x}"
        title = f"Report {number} of Company{number // 4}"
        pages, indexed = [], []
        for page, start in enumerate(range(0, chunks, 4), start=1):
            at, parts = 0, texts[start : start + 4]
            for ordinal, text in enumerate(parts, start=start):
                chunk = Chunk(made[::-1], page, ordinal, at, at + len(text), text)
                indexed.append(Indexed(chunk, title, text))
                at += len(text) + 1
            pages.append(Page(page, "\n".join(parts)))
        name, size = f"Company{number // 4}_{1990 + number % 30}_{number}.pdf", 1 << 20
        document = Document(made[::-1], name, ".pdf", size, Status.RECEIVED, "2026-01-01T00:00:00")
        return document, Reading(tuple(pages), title), indexed

    def _changed(self, passage: str, chance: random.Random, number: int) -> str:
        words = [
            self.words[chance.randrange(len(self.words))] if chance.random() < _EXCHANGED else word
            for word in passage.split()
        ]
        return " ".join([*words, f"Company{number // 4}", f"item{chance.randrange(10**7)}"])


def collection_name(number: int) -> str:
    """What the collections of a made library are called; the first is `HOME`."""
    return f"c{number}" if number else HOME


def fill(folder: Path, base: Base, chunks: int, collections: int = 1) -> int:
    """Make a library of so many chunks in a folder; returns the number of its documents.

    They are dealt out to the collections one by one, so that no collection stands together; of
    several, each has ten documents at least. One that was broken off is gone on with."""
    each = min(CHUNKS_PER_DOCUMENT, chunks)
    if collections > 1:
        each = max(1, min(each, chunks // collections // _DOCUMENTS))
    embedder = MadeEmbedder()
    store = Store(folder / "library.sqlite3")
    vectors = ChromaVectors(folder / "vectors", embedder.fingerprint)
    left = range(max(0, len(store.documents(WORKER)) - 1), chunks // each)  # the last may be half
    try:
        for number, document, indexed in _written(store, base, left, each, collections):
            places = range(number * each, (number + 1) * each)
            made = embedder.around(places, number)
            for first in range(0, each, _AT_ONCE):
                part = slice(first, first + _AT_ONCE)
                ids = [one.chunk.id for one in indexed[part]]
                vectors.upsert(document.id, ids, list(made[part]), document.collection)
            store.set_status(document.id, Status.READY)
    finally:
        vectors.close()
        store.close()
    return chunks // each


def make_collections(database: AnyDatabase, *ids: str) -> None:
    """Collections of these ids, of nobody."""
    with database.write() as db:
        for one in ids:
            db.execute(
                "INSERT INTO access_collections (id, name, created) VALUES (?, ?, '') "
                "ON CONFLICT DO NOTHING",
                (one, one),
            )


def _written(
    store: Store, base: Base, numbers: range, each: int, collections: int
) -> Iterator[tuple[int, Document, list[Indexed]]]:
    for number in numbers:
        document, reading, indexed = base.document(number, each)
        document = replace(document, collection=collection_name(number % collections))
        make_collections(store.database, document.collection)
        store.add_document(document)
        store.save_reading(document.id, reading)
        store.save_chunks(document.id, indexed, "en")
        yield number, document, indexed
