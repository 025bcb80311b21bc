"""Real classes with the app's own interfaces, deterministic and small enough for every test."""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rag_app.errors import ModelAway
from rag_app.retrieval.embedding import Embedder
from rag_app.scope import Scope
from rag_app.storage.overviews import Introduction

DIMENSIONS = 256
_WORD = re.compile(r"\w+")


class WordEmbedder(Embedder):
    """Shared words make near vectors: a hashed bag of words of unit length."""

    def __init__(self) -> None:
        self.embedded: list[str] = []  # every text that was asked for
        self.gate = threading.Event()  # while it is cleared, documents wait to be embedded
        self.gate.set()

    @property
    def fingerprint(self) -> str:
        return "words"

    def warm(self) -> None:
        """Nothing to load."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.gate.wait()
        self.embedded.extend(texts)
        return [_vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return _vector(text)


def _vector(text: str) -> list[float]:
    vector = [0.0] * DIMENSIONS
    for word in _WORD.findall(text.lower()):
        vector[_bucket(word)] += 1.0
    length = math.sqrt(sum(x * x for x in vector)) or 1.0
    return [x / length for x in vector] if any(vector) else [1.0] + [0.0] * (DIMENSIONS - 1)


def _bucket(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest()) % DIMENSIONS


class ListVectors:
    """A `VectorIndex` in a dictionary: the exact oracle for any other."""

    def __init__(self) -> None:
        self._vectors: dict[str, tuple[str, list[float]]] = {}
        self._collections: dict[str, str] = {}  # by document

    def upsert(
        self,
        document_id: str,
        ids: Sequence[str],
        vectors: Sequence[Sequence[float]],
        collection: str,
    ) -> None:
        self._collections[document_id] = collection
        for chunk_id, vector in zip(ids, vectors, strict=True):
            self._vectors[chunk_id] = (document_id, list(vector))

    def search(
        self,
        vector: Sequence[float],
        k: int,
        scope: Scope,
        documents: Sequence[str] | None = None,
    ) -> list[tuple[str, float]]:
        found = [
            (chunk_id, _cosine(vector, other))
            for chunk_id, (document_id, other) in self._vectors.items()
            if (documents is None or document_id in documents)
            and scope.sees(self._collections[document_id])
        ]
        return sorted(found, key=lambda pair: -pair[1])[:k]

    def ids(self, document_id: str) -> set[str]:
        return {i for i, (document, _) in self._vectors.items() if document == document_id}

    def vectors(self, document_id: str) -> dict[str, list[float]]:
        return {i: v for i, (document, v) in self._vectors.items() if document == document_id}

    def of_chunks(self, ids: Sequence[str]) -> dict[str, list[float]]:
        return {i: self._vectors[i][1] for i in ids if i in self._vectors}

    def delete(self, document_id: str) -> None:
        for chunk_id in self.ids(document_id):
            del self._vectors[chunk_id]

    def compact(self, documents: Iterable[str], stop: threading.Event) -> bool:
        return True

    def count(self) -> int:
        return len(self._vectors)

    def close(self) -> None:
        """Nothing to let go of."""


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    return dot / (math.hypot(*a) * math.hypot(*b))


def asking_what(made: Mapping[str, str]) -> Callable[..., Iterator[Introduction]]:
    """A writer's part in introducing a document: of a text that holds a phrase it asks the question
    that goes with it. In the place of `Questioner.introduce`."""

    def introduce(
        _self: object, name: str, text: str, _stop: threading.Event
    ) -> Iterator[Introduction]:
        asked = tuple(question for phrase, question in made.items() if phrase in text)
        yield Introduction(name, "text", "", asked)

    return introduce


class GoesAway(WordEmbedder):
    """Its server answers so many questions, and then no more."""

    trouble = ""

    def __init__(self, answers: int) -> None:
        super().__init__()
        self.left = answers

    def warm(self):
        self.embed_query("")

    def embed_query(self, text):
        self.left -= 1
        if self.left < 0:
            self.trouble = "The embedding server does not answer."
            raise ModelAway(self.trouble)
        return super().embed_query(text)
