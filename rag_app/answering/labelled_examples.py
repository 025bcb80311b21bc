"""Labels for short texts, by how near they are to labelled examples: in meaning, and in letters.

A text's score for a label is a weighted sum of its nearness to every example, by embedding, plus
weights of its runs of letters, which carry to languages that the embedding model does not know.
Both sets of weights are fitted in closed form (ridge regression), in numpy."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_app.retrieval.embedding import Embedder

Matrix = NDArray[np.float32]

_BUCKETS = 1 << 13  # that runs of letters are hashed to
_RUNS = (2, 3, 4, 5)  # letters
_SHARPNESS = 2.0  # how fast nearness falls off with the angle between embeddings
_BY_LETTERS = 1.0  # what nearness in letters counts beside nearness in meaning
_RIDGE = 0.1
_BACKGROUND = 0.3  # what one text of the background counts beside an example
_JITTER = 1e-3  # keeps examples that say nearly the same apart
_LOOKED_AT = 400  # characters: what is pasted below a wish says nothing about it


def opening(text: str) -> str:
    """What of a text is looked at: all of a short one, beginning and end of a long one."""
    said = " ".join(text.split())
    half = _LOOKED_AT // 2
    return said if len(said) <= _LOOKED_AT else f"{said[:half]} {said[-half:]}"


def embedded(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """The embeddings of texts, of unit length. Raises ModelUnavailable."""
    vectors = np.asarray(embedder.embed_documents(list(texts)), dtype=np.float32)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def _runs(text: str) -> Iterator[bytes]:
    for word in text.lower().split():
        padded = f" {word} "
        for length in _RUNS:
            for at in range(len(padded) - length + 1):
                yield padded[at : at + length].encode()


def counted(texts: Sequence[str]) -> Matrix:
    """How often each text has each run of letters, damped; runs are hashed to buckets."""
    made = np.zeros((len(texts), _BUCKETS), dtype=np.float32)
    for row, text in zip(made, texts, strict=True):
        for run in _runs(text):
            row[zlib.crc32(run) % _BUCKETS] += 1.0
    return np.log1p(made)


def rarity(counts: Matrix) -> Matrix:
    """What each run of letters weighs: the more, the fewer texts have it."""
    held = (counts > 0).sum(axis=0)
    weights: Matrix = (np.log((1 + len(counts)) / (1 + held)) + 1).astype(np.float32)
    return weights


@dataclass(frozen=True, slots=True)
class Weights:
    """What was fitted. `examples`: embeddings; `near`, `letters`: weights for each label."""

    examples: Matrix
    near: Matrix
    letters: Matrix
    rarity: Matrix

    def scores(self, texts: Sequence[str], vectors: Matrix) -> Matrix:
        """How well each label fits each text: about 1 where it does, about 0 where not."""
        near = nearness(vectors, self.examples)
        made: Matrix = near @ self.near + lettered(counted(texts), self.rarity) @ self.letters
        return made


def nearness(vectors: Matrix, others: Matrix) -> Matrix:
    """From 1 for the same embedding towards 0."""
    made: Matrix = np.exp(-_SHARPNESS * (1.0 - vectors @ others.T)).astype(np.float32)
    return made


def lettered(counts: Matrix, rarity: Matrix) -> Matrix:
    """Runs of letters by weight; each text has length 1, so that long ones count no more."""
    weighted = counts * rarity
    made: Matrix = weighted / np.maximum(np.linalg.norm(weighted, axis=1, keepdims=True), 1e-9)
    return made


def fitted(
    texts: Sequence[str],
    vectors: Matrix,
    labels: Sequence[int],
    background: tuple[Sequence[str], Matrix] | None = None,
) -> Weights:
    """Weights that give each text its label; `background` are more texts, all of label 0."""
    of = np.eye(max(labels) + 1, dtype=np.float32)[list(labels)]
    counts = counted(texts)
    rare = rarity(counts)
    runs, basis = lettered(counts, rare), nearness(vectors, vectors)
    more = background or ((), vectors[:0])
    of = np.vstack([of, np.tile(np.eye(1, of.shape[1], dtype=np.float32), (len(more[0]), 1))])
    runs = np.vstack([runs, lettered(counted(more[0]), rare)])
    near = np.vstack([basis, nearness(more[1], vectors)])
    # Nearness to the examples is a function in the space that they span, also for the background.
    inverse = np.linalg.inv(basis.astype(np.float64) + _JITTER * np.eye(len(basis)))
    kernel = near @ inverse @ near.T + _BY_LETTERS * (runs @ runs.T)
    loose = np.repeat([_RIDGE, _RIDGE / _BACKGROUND], [len(basis), len(near) - len(basis)])
    found = np.linalg.solve(kernel + np.diag(loose), of)
    return Weights(
        examples=vectors,
        near=(inverse @ near.T @ found).astype(np.float32),
        letters=(_BY_LETTERS * runs.T @ found).astype(np.float32),
        rarity=rare,
    )


def left_out(texts: Sequence[str], vectors: Matrix, labels: Sequence[int]) -> Matrix:
    """The scores of each example as if it had been left out of the fit."""
    of = np.eye(max(labels) + 1)[list(labels)]
    counts = counted(texts)
    runs = lettered(counts, rarity(counts))
    kernel = nearness(vectors, vectors) + _BY_LETTERS * (runs @ runs.T)
    inverse = np.linalg.inv(kernel + _RIDGE * np.eye(len(kernel)))
    made: Any = of - (inverse @ of) / np.diag(inverse)[:, None]
    return np.asarray(made, dtype=np.float32)
