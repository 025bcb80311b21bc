"""Fit the confidence of the quoting generator: how likely is it that its best sentence answers?

    .venv/bin/python -m benchmarks.fit_quotes squad_v11_train_du44.jsonl.gz

Half of the paragraphs go into a library, then questions on both halves are asked. A question counts
as answered when the best sentence holds a gold answer, so questions on the other half never are.
Prints the coefficients for rag_app/answering/extraction.py, fitted on one half of the questions,
and how well they do on the other."""

from __future__ import annotations

import gzip
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from rag_app.answering.extraction import QuoteGenerator
from rag_app.environment import quiet_dependencies
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.retrieval.retriever import HybridRetriever
from rag_app.scope import HOME, OWN
from rag_app.storage import Indexed, Store
from rag_app.storage.chroma import ChromaVectors
from rag_app.types import Chunk, Document, Page, Reading, Status

QUESTIONS = 1_000


def main() -> None:
    """Fit, and print what was found."""
    quiet_dependencies()
    with gzip.open(sys.argv[1], "rt", encoding="utf-8") as file:
        examples = [json.loads(line) for line in file]
    contexts = list(dict.fromkeys(example["context"] for example in examples))
    held = set(contexts[: len(contexts) // 2])  # whole articles: they stand one after the other
    random.Random(20261121).shuffle(examples)
    with tempfile.TemporaryDirectory() as folder:
        features, labels = _ask(Path(folder), sorted(held), examples[:QUESTIONS])
    half = len(labels) // 2
    model = LogisticRegression(C=10.0).fit(features[:half], labels[:half])
    held_out = model.predict_proba(features[half:])[:, 1]
    print(f"bias {model.intercept_[0]:.3f}, meaning and words {model.coef_[0].round(3)}")
    print(f"questions {len(labels)}, answered {labels.mean():.3f}")
    print(f"held out: AUROC {roc_auc_score(labels[half:], held_out):.3f}")
    for threshold in (0.2, 0.3, 0.4, 0.5, 0.6):
        said = held_out >= threshold
        right = labels[half:][said].mean() if said.any() else float("nan")
        kept = said[labels[half:] == 1].mean()
        print(f"caution {threshold}: speaks {said.mean():.2f}, right {right:.2f}, kept {kept:.2f}")


def _ask(folder: Path, held: list[str], asked: list[dict[str, Any]]) -> tuple[Any, Any]:
    embedder = MiniLmEmbedder()
    store = Store(folder / "s.sqlite3")
    vectors = ChromaVectors(folder / "v", embedder.fingerprint)
    _index(store, vectors, embedder, held)
    retriever = HybridRetriever(store=store, vectors=vectors, embedder=embedder, scope=OWN)
    generator = QuoteGenerator(embedder, 0.0)
    features, labels = [], []
    for example in asked:
        passages = retriever.passages(example["question"])
        best = generator.rank(example["question"], passages)[0]
        features.append((best.meaning, best.words))
        labels.append(any(answer["text"] in best.text for answer in example["answers"]))
    vectors.close()
    store.close()
    return np.array(features), np.array(labels, dtype=int)


def _index(store: Store, vectors: Any, embedder: MiniLmEmbedder, held: list[str]) -> None:
    document = Document("d" * 64, "paragraphs", ".txt", 1, Status.RECEIVED, "2026-01-01")
    store.add_document(document)
    store.save_reading(document.id, Reading(tuple(Page(n, t) for n, t in enumerate(held, 1))))
    chunks = [
        Indexed(Chunk(document.id, n, n - 1, 0, len(text), text), "", text)
        for n, text in enumerate(held, 1)
    ]
    store.save_chunks(document.id, chunks)
    found = embedder.embed_documents([c.for_embedding for c in chunks])
    vectors.upsert(document.id, [c.chunk.id for c in chunks], found, HOME)


if __name__ == "__main__":
    main()
