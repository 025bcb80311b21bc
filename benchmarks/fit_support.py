"""Fit the matching of written sentences to their sources.

    .venv/bin/python -m benchmarks.fit_support squad_v11_train_du44.jsonl.gz

A question and its answer make a statement; the source is the sentence that holds the answer, among
the sentences of the paragraph and seven more of its article. False statements are the same with
the answer of another question of the article. Fitted on half of the articles, judged on the other:
how many true statements are marked with the right source, how many false ones with any."""

from __future__ import annotations

import gzip
import json
import random
import re
import sys
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from rag_app.answering import attribution
from rag_app.answering.extraction import candidates
from rag_app.environment import quiet_dependencies
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.retrieval.ranking import rarity, stems, telling
from rag_app.types import Chunk, Passage

QUESTIONS = 700
_ASKS = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how(?: (?:many|much|long|old|often))?)\b"
    r"(?: (?:is|are|was|were|did|does|do|has|have|had))?",
    re.IGNORECASE,
)


def statement(question: str, answer: str) -> str:
    """A question and an answer as one statement; rough, as small models write."""
    bare = question.strip().rstrip("?").strip()
    said, times = _ASKS.subn(answer.replace("\\", ""), bare, count=1)
    return (said if times else f"{bare} {answer}") + "."


def main() -> None:
    """Fit, and print what was found."""
    quiet_dependencies()
    with gzip.open(sys.argv[1], "rt", encoding="utf-8") as file:
        rows = [row for line in file if (row := json.loads(line))["answers"]]
    by_title: dict[str, list[Any]] = {}
    for row in rows:
        by_title.setdefault(row["title"], []).append(row)
    rng = random.Random(20261121)
    chosen = rng.sample(rows, QUESTIONS)
    embedder = MiniLmEmbedder()
    cases = [case for row in chosen for case in made(row, by_title[row["title"]], rng)]
    titles = sorted(by_title)
    rng.shuffle(titles)
    first = set(titles[: len(titles) // 2])
    features, labels, _ = measured([c for c in cases if c[0] in first], embedder)
    model = LogisticRegression(C=10.0).fit(features, labels)
    print(f"bias {model.intercept_[0]:.3f}; meaning, words, names {model.coef_[0].round(3)}")
    attribution._BIAS = float(model.intercept_[0])
    attribution._MEANING, attribution._WORDS, attribution._NAMES = (
        float(c) for c in model.coef_[0]
    )
    held = [c for c in cases if c[0] not in first]
    features, labels, _ = measured(held, embedder)
    chances = model.predict_proba(features)[:, 1]
    print(f"pairs {len(labels)}, AUROC {roc_auc_score(labels, chances):.3f}")
    for enough in (0.3, 0.4, 0.5, 0.6, 0.7):
        attribution.ENOUGH = enough
        print(enough, judged(held, embedder))


def made(row: Any, others: list[Any], rng: random.Random) -> list[Any]:
    """(title, statement, sentences' passages, gold place or None) for true and false."""
    contexts = list(dict.fromkeys(r["context"] for r in others))
    near = rng.sample(contexts, min(7, len(contexts)))
    texts = [row["context"], *(c for c in near if c != row["context"])]
    passages = [
        Passage(Chunk("d", n, n, 0, len(t), t), f"{row['title']}.txt", 0.1)
        for n, t in enumerate(texts, 1)
    ]
    answer = row["answers"][0]
    wrong = rng.choice(others)["answers"][0]["text"]
    true = (row["title"], statement(row["question"], answer["text"]), passages, answer["start"])
    false = (row["title"], statement(row["question"], wrong), passages, None)
    return [true, false] if wrong not in row["context"] else [true]


def measured(cases: list[Any], embedder: MiniLmEmbedder) -> tuple[Any, Any, Any]:
    """Features and labels of each statement and its likeliest sources."""
    features, labels, owners = [], [], []
    for index, (_, said, passages, gold) in enumerate(cases):
        found = candidates(passages)
        vectors = np.asarray(embedder.embed_documents([said, *(c.text for c in found)]))
        meaning = vectors[1:] @ vectors[0]
        weights = rarity(telling(said), [stems(c.text) for c in found])
        for place in np.argsort(-meaning)[:3]:
            span = found[place].span
            fit = attribution.features(
                said, found[place].text, passages[0].name, float(meaning[place]), weights
            )
            features.append((fit.meaning, fit.words, fit.names))
            labels.append(gold is not None and span.page == 1 and span.start <= gold < span.end)
            owners.append(index)
    return np.array(features), np.array(labels, dtype=int), owners


def judged(cases: list[Any], embedder: MiniLmEmbedder) -> str:
    """What the whole matching does with true and with false statements."""
    right = wrong = marked = true = false = 0
    for _, said, passages, gold in cases:
        spans = [s for one in attribution.support(said, passages, embedder) for s in one.evidence]
        if gold is None:
            false += 1
            marked += bool(spans)
            continue
        true += 1
        hit = any(s.page == 1 and s.start <= gold < s.end for s in spans)
        right += hit
        wrong += bool(spans) and not hit
    return (
        f"true statements marked rightly {right / true:.3f}, wrongly {wrong / true:.3f}; "
        f"false ones marked {marked / false:.3f}"
    )


if __name__ == "__main__":
    main()
