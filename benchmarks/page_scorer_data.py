"""Questions on pages, made of the sets that the reader was trained on (page_scorer.py).

A page is the context of a question; its neighbours are contexts of the same article, contract or
story. Texts are cut into passages by the app's own chunking."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from rag_app.retrieval.chunking import chunk_pages
from rag_app.types import Page
from training.data import Example, load, load_sets, pool
from training.mixture import Mixture
from training.negatives import mined
from training.text import content_words, holds

WRONG = 3  # wrong passages beside the right one
_PART = 12  # contexts that make a document where a set does not say which belong together
_LONGEST = 40  # pages of a document
_LONG_ANSWER = 20  # characters that two pages do not share by chance

# How many questions a cross-encoder sees of each set; the others lack questions that stand alone.
SHARES = {
    "squad_v11_train_du44": 4_000,
    "squadshifts_new_wiki": 2_000,
    "nq_part": 2_500,
    "flan_squad_part": 800,
    "covidqa_win": 700,
    "quoref_part": 200,
}
WITHIN = {"cuad_win": 2_200, "fairytaleqa": 900}  # wrong ones come from the same document


@dataclass(frozen=True, slots=True)
class Group:
    """A question, the passage that answers it, and passages that do not."""

    question: str
    texts: tuple[str, ...]  # the right one first


def groups(data: Path, cache: Path, seed: int = 7) -> list[Group]:
    """What a cross-encoder is trained on, shuffled."""
    rng = random.Random(seed)
    mixture = Mixture()
    near = [plan for plan in mixture.sets if plan.mined]
    sets = load_sets(data / "train", mixture.sets)
    contexts = pool({plan.name: sets[plan.name] for plan in near})
    found = mined(mixture, sets, contexts, cache)
    made: list[Group] = []
    for name, most in SHARES.items():
        rows = [example for example in sets[name] if example.id in found]
        for example in rng.sample(rows, min(most, len(rows))):
            wrong = rng.sample(found[example.id], min(WRONG, len(found[example.id])))
            made += _group(example, [contexts[index] for index in wrong])
    for name, most in WITHIN.items():
        made += _within(load(data / "train" / f"{name}.jsonl.gz"), most, rng)
    rng.shuffle(made)
    return made


def _within(rows: Sequence[Example], most: int, rng: random.Random) -> Iterator[Group]:
    documents = _by_document(rows)
    able = [row for row in rows if row.answers]
    for example in rng.sample(able, min(most, len(able))):
        golds = [answer.text for answer in example.answers]
        others = [c for c in documents[_document(example)] if c != example.context]
        wrong = [text for text in others if not holds(text, golds)]
        yield from _group(example, rng.sample(wrong, min(WRONG, len(wrong))))


def _group(example: Example, wrong: Sequence[str]) -> Iterator[Group]:
    if len(wrong) == WRONG:
        start = example.answers[0].start
        right = next((p for at, p in passages(example.context) if at <= start < at + len(p)), "")
        if right:
            asked = set(content_words(example.question))
            yield Group(example.question, (right, *(_nearest(asked, text) for text in wrong)))


def _nearest(asked: set[str], text: str) -> str:
    """The passage of a text that shares most words with the question."""
    parts = [part for _, part in passages(text)]
    return max(parts, key=lambda part: len(asked & set(content_words(part))), default=text)


@lru_cache(maxsize=50_000)
def passages(text: str) -> tuple[tuple[int, str], ...]:
    """(offset, passage) of a text."""
    return tuple((chunk.start, chunk.text) for chunk in chunk_pages("-", [Page(1, text)]))


def _by_document(rows: Sequence[Example]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        found[_document(row)][row.context] = None
    return {name: list(contexts) for name, contexts in found.items()}


def _document(row: Example) -> str:
    """What a contract's windows and a story's parts have in common: the beginning of their ids."""
    return "-".join(row.id.split("-")[:2]) if row.id[:4] == "cuad" else row.id.rsplit("-", 1)[0]


@dataclass(frozen=True, slots=True)
class Case:
    """A question, and the pages of a document that answer it."""

    question: str
    document: str
    pages: frozenset[int]


@dataclass(frozen=True, slots=True)
class Shelf:
    """A made library: the pages of each document, and what is asked of it."""

    name: str
    documents: dict[str, list[str]]
    cases: list[Case]
    inside: bool = False  # questions are asked of their document only ("Who are the parties?")


def shelf(path: Path, most_contexts: int, most_cases: int, seed: int = 7) -> Shelf:
    """A library of one set. Contexts that no name keeps together are neighbours in the file."""
    rng = random.Random(seed)
    rows = load(path)
    named = path.name.startswith(("cuad", "fairy"))
    documents = _limited(_by_document(rows) if named else _parts(rows), most_contexts, rng)
    place = {text: name for name, texts in documents.items() for text in texts}
    able = [row for row in rows if row.answers and row.context in place]
    cases = [
        Case(row.question, place[row.context], _wanted(row, documents[place[row.context]]))
        for row in rng.sample(able, min(most_cases, len(able)))
    ]
    return Shelf(path.name.split(".")[0], documents, cases, named)


def _wanted(row: Example, texts: Sequence[str]) -> frozenset[int]:
    """The page of a question, and others with the same long answer: windows overlap."""
    long = [answer.text for answer in row.answers if len(answer.text) >= _LONG_ANSWER]
    return frozenset(
        number
        for number, text in enumerate(texts, 1)
        if text == row.context or any(answer in text for answer in long)
    )


def _parts(rows: Sequence[Example]) -> dict[str, list[str]]:
    contexts = list(dict.fromkeys(row.context for row in rows))
    return {f"shelf{i:05d}": contexts[i : i + _PART] for i in range(0, len(contexts), _PART)}


def _limited(
    documents: dict[str, list[str]], most: int, rng: random.Random
) -> dict[str, list[str]]:
    """Whole documents up to so many contexts."""
    names = list(documents)
    rng.shuffle(names)
    kept: dict[str, list[str]] = {}
    for name in names:
        if sum(map(len, kept.values())) >= most:
            break
        kept[name] = documents[name][:_LONGEST]
    return kept
