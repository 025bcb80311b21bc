"""Contexts of the written library, as the app shows them to the writer.

    python -m training.writer.from_library --out WORK/library.jsonl

Every question is searched among all documents, and the sentences that the app would show are the
context. Whether they answer is told by the question's evidence: where the search has lost it, there
is none. Other questions of the same document are asked of the same context: those whose
evidence stands in it, and some whose evidence does not, which must be told apart."""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rag_app.answering.chat_generator import EMBEDDED
from rag_app.answering.evidence import Excerpt, gather, relevance
from rag_app.answering.prompts import Status
from rag_app.answering.sentence_ranker import SentenceRanker
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.retrieval.retriever import rerank
from training.library import LibraryQuestion, found, plain, questions
from training.writer.contexts import Asked, Context, write

FOUND, READ = 20, 8  # passages that are ranked, and that the writer's sentences are chosen from
_MORE = 5  # other questions that a context answers


def standing(one: LibraryQuestion, text: str) -> Status | None:
    """Whether a text answers a question; None: it holds a part of what it takes."""
    held = one.held(text)
    if one.status is Status.ABSENT or not any(held):
        return Status.ABSENT
    return one.status if all(held) else None


def shown(excerpts: Sequence[Excerpt]) -> tuple[tuple[str, str], ...]:
    """Excerpts as titles and texts."""
    return tuple((one.title, one.shown) for one in excerpts)


def contexts(budget: int, seed: int) -> list[Context]:
    """One for each question that no earlier one asks, in no order."""
    rng = random.Random(seed)
    ranker, embedder = SentenceRanker(), MiniLmEmbedder()
    every = questions()
    by_document: dict[str, list[LibraryQuestion]] = defaultdict(list)
    for one in every:
        by_document[one.document].append(one)
    asked: set[LibraryQuestion] = set()
    made = []
    for one, passages in found(rng.sample(every, len(every)), FOUND):
        if one in asked:
            continue
        best = rerank(one.wordings, passages, partial(relevance, ranking=ranker.score))[:READ]
        count = embedder.count_tokens
        parts = shown(gather(one.wordings, best, count, budget, ranker.score))
        text = plain("\n".join(f"{title}\n{body}" for title, body in parts))
        others = [other for other in by_document[one.document] if other not in asked]
        rng.shuffle(others)
        lessons = _lessons(one, others, text)
        if lessons:
            asked |= {who for who, status in lessons if status is who.status}
            made.append(Context(parts, tuple(_asked(who, status) for who, status in lessons)))
    return made


def _lessons(
    one: LibraryQuestion, others: Sequence[LibraryQuestion], text: str
) -> list[tuple[LibraryQuestion, Status]]:
    """What a context is asked: three times as much that it answers as that it does not."""
    first = standing(one, text)
    rest = [(who, standing(who, text)) for who in others if who is not one]
    held = [(who, s) for who, s in rest if s is not None and s is not Status.ABSENT][:_MORE]
    if first is not None and first is not Status.ABSENT:
        held.insert(0, (one, first))
    none = [(who, s) for who, s in rest if s is Status.ABSENT]
    none.sort(key=lambda pair: pair[0].status is not Status.ABSENT)  # without any answer first
    if first is Status.ABSENT:
        none.insert(0, (one, first))
    return [*held, *none[: max(1, round(len(held) / 3))]]


def _asked(one: LibraryQuestion, status: Status) -> Asked:
    answer = "" if status is Status.ABSENT else one.answer
    return Asked(one.question, one.language, status, answer)


def main(argv: Sequence[str]) -> int:
    """Write them; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--context", type=int, default=EMBEDDED, help="tokens of excerpts")
    parser.add_argument("--seed", type=int, default=4)
    given = parser.parse_args(argv)
    made = contexts(given.context, given.seed)
    write(given.out, made)
    print(f"{len(made)} contexts, {sum(len(one.asked) for one in made)} questions")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
