"""Questions with passages, of whose sentences is known which hold the answer.

Three kinds: the written library as the app searches it, the written contexts with their nearest
neighbours (which sentences hold an answer is told by the app's attribution), and paragraphs with
spans, beside paragraphs that are near the question and do not hold the span."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag_app.answering.arithmetic import SUM
from rag_app.answering.attribution import support
from rag_app.answering.evidence import LEFT_OUT
from rag_app.answering.prompts import ReplyStatus
from rag_app.answering.sentence_ranker import Titled
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.sentence_index import title
from rag_app.text.sentences import sentences
from rag_app.types import Chunk, Passage
from training.data import Example, load
from training.library import SHOWN, LibraryQuestion, found, plain
from training.writer.contexts import Context

FOUND = 20  # passages of a question of the library
_NEAR, _BESIDE = 4, 3  # passages of other contexts, and paragraphs, that are put beside
_WHOLE = 12  # characters from which a sentence that lies within the evidence is evidence
SPREAD = {
    "squad_v11_train_du44": 2600,
    "flan_squad_part": 900,
    "squad2_unans_matched": 1200,
    "nq_part": 900,
    "squadshifts_new_wiki": 500,
    "squadshifts_amazon": 700,
    "squadshifts_reddit": 700,
    "cuad_win": 500,
    "covidqa_win": 200,
    "friendsqa": 200,
}
"""Questions of each set of paragraphs and spans."""
_CONTEXTS = 2_500  # of a set among which neighbours are looked for


@dataclass(frozen=True, slots=True)
class Group:
    """A question and passages; `gold[p][s]`: sentence s of passage p holds the answer, or part."""

    kind: str
    document: str
    question: str
    passages: tuple[Titled, ...]
    gold: tuple[tuple[bool, ...], ...]
    library: str = ""


def of_library(folder: Path, asked: Sequence[LibraryQuestion]) -> Iterator[Group]:
    """What the app finds for each question; those whose evidence it does not find are left out."""
    for one, passages in found(folder, asked, FOUND):
        pieces = [plain(piece) for piece in one.evidence]
        shown = [_titled(title(p.name, p.chunk.heading), p.chunk.text) for p in passages]
        gold = [
            tuple(
                p.name == one.document and holds(text.text[a:b], pieces) for a, b in text.sentences
            )
            for p, text in zip(passages, shown, strict=True)
        ]
        if one.status is not ReplyStatus.ABSENT and not any(map(any, gold)):
            continue
        for wording in one.wordings:
            yield Group(one.kind, one.document, wording, tuple(shown), tuple(gold), folder.name)


def of_contexts(contexts: Sequence[Context], embedder: Embedder, seed: int = 5) -> Iterator[Group]:
    """The passages of a context and the nearest of all others, in no order."""
    rng = random.Random(seed)
    every = [(number, *part) for number, one in enumerate(contexts) for part in one.passages]
    vectors = np.asarray(embedder.embed_documents([f"{t}. {x}" for _, t, x in every]))
    for number, context in enumerate(contexts):
        own = [i for i, part in enumerate(every) if part[0] == number]
        made = [
            Passage(
                Chunk(str(i), 1, n, 0, len(every[i][2]), every[i][2]), every[i][1], 1 / len(own)
            )
            for n, i in enumerate(own)
        ]
        for asked in context.asked:
            spans = set()
            if asked.status is not ReplyStatus.ABSENT:
                said = support(SUM.sub("", asked.answer), made, embedder, asked.question)
                spans = {(e.document_id, e.start, e.end) for one in said for e in one.evidence}
                if not spans:
                    continue
            near = _nearest(vectors, embedder.embed_query(asked.question), set(own), _NEAR)
            chosen = [*own, *near]
            rng.shuffle(chosen)
            shown = tuple(_titled(every[i][1], every[i][2]) for i in chosen)
            gold = tuple(
                tuple(
                    any(d == str(i) and a < e and s < b for d, s, e in spans)
                    for a, b in one.sentences
                )
                for i, one in zip(chosen, shown, strict=True)
            )
            yield Group("everyday", "", asked.question, shown, gold)


def of_spans(data: Path, embedder: Embedder, seed: int = 5) -> Iterator[Group]:
    """Paragraphs and their neighbours of the same set."""
    rng = random.Random(seed)
    for name, most in SPREAD.items():
        rows = load(data / "train" / f"{name}.jsonl.gz")
        contexts = list(dict.fromkeys(row.context for row in rows))
        contexts = rng.sample(contexts, min(_CONTEXTS, len(contexts)))
        at = {context: index for index, context in enumerate(contexts)}
        rows = [row for row in rows if row.context in at]
        vectors = np.asarray(embedder.embed_documents(contexts))
        for row in rng.sample(rows, min(most, len(rows))):
            yield _spanned(name, row, contexts, at[row.context], vectors, embedder, rng)


def _spanned(
    name: str,
    row: Example,
    contexts: Sequence[str],
    own: int,
    vectors: np.ndarray,
    embedder: Embedder,
    rng: random.Random,
) -> Group:
    near = _nearest(vectors, embedder.embed_query(row.question), {own}, 2 * _NEAR)
    beside = [
        i for i in near if not any(a.text.lower() in contexts[i].lower() for a in row.answers)
    ]
    chosen = [own, *beside[:_BESIDE]]
    rng.shuffle(chosen)
    shown = tuple(_titled("", contexts[i]) for i in chosen)
    answers = row.answers[:1]
    gold = tuple(
        tuple(
            i == own and any(x.start < b and a < x.end for x in answers) for a, b in one.sentences
        )
        for i, one in zip(chosen, shown, strict=True)
    )
    return Group(name, "", row.question, shown, gold)


def _titled(name: str, text: str) -> Titled:
    return Titled(name, text, tuple((a, b) for a, b in sentences(text) if text[a:b] != LEFT_OUT))


def holds(sentence: str, pieces: Sequence[str]) -> bool:
    """Whether a sentence holds a piece of evidence, or lies within it."""
    said = plain(sentence)
    whole = len(said) > _WHOLE
    return any(
        piece[:40] in said
        or (whole and said in piece)
        or (len(piece) > SHOWN and piece[20:60] in said)
        for piece in pieces
    )


def _nearest(vectors: np.ndarray, query: Sequence[float], but: set[int], most: int) -> list[int]:
    order = np.argsort(-(vectors @ np.asarray(query)), kind="stable")
    return [int(i) for i in order[: most + len(but)] if int(i) not in but][:most]
