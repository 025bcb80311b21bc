"""Single places of the written libraries, as the app has the writer read them one by one.

    python -m training.writer.places --out WORK/places.jsonl [--folders NAME …] [--most 18]

The app has the writer read place after place until one answers, so what it has to tell is whether
the one in front of it does. Some questions of each library are asked of all places that the app
would have read for them. A place is asked more besides, since reading it is what costs: what its
text answers, and some of what is nearest to it and is not answered there."""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rag_app.answering.evidence import FAR, Excerpt, gather, in_sections, odds_of, places, relevance
from rag_app.answering.prompts import ReplyStatus
from rag_app.answering.sentence_ranker import FOLDER as RANKER
from rag_app.answering.sentence_ranker import SentenceRanker
from rag_app.library import Library
from rag_app.retrieval.chunking import sections_of
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.retrieval.retriever import rerank
from rag_app.types import Chunk, Passage
from training.library import SPOKEN, LibraryQuestion, folders, found_in, opened, plain, questions
from training.writer.contexts import Asked, Context, write
from training.writer.from_library import FOUND, READ, TOLD, shown, standing

_BUDGETS = (450, 450, 800)  # tokens of excerpts, without AMX and with it
_PLACES = 4  # that the app reads at most
_ANSWERED, _UNANSWERED, _NEAREST = 3, 1, 10  # other questions of a place; among so many near ones
_BESIDE, _FOREIGN, _NOWHERE = 0.35, 0.5, 1.5
"""How likely questions are drawn that were put beside the documents, that are not in English, and
that nothing answers, against one that was spoken."""
_ELSEWHERE_TOO = ("change", "list", "summary")
"""Kinds of questions of which another place may give an answer, too, that is not the whole one."""


@dataclass(frozen=True, slots=True)
class _Asker:
    """Asks the places of one library what its questions ask."""

    every: Sequence[LibraryQuestion]
    spoken: frozenset[str]
    vectors: np.ndarray  # (questions, n)
    embedder: MiniLmEmbedder
    rng: random.Random

    def of(self, place: Sequence[Excerpt], one: LibraryQuestion) -> tuple[Asked, ...]:
        """What a place is asked, which was read for a question."""
        text = text_of(place)
        lessons = [(one, first)] if (first := told(one, text)) is not None else []
        rest = [(n, who, told(who, text)) for n, who in enumerate(self.every) if who is not one]
        rest = [(n, who, status) for n, who, status in rest if not who.turn]
        held = [
            (who, status) for _, who, status in rest if status not in (None, ReplyStatus.ABSENT)
        ]
        held = sorted(
            self.rng.sample(held, len(held)), key=lambda p: p[0].question not in self.spoken
        )
        lessons += [(who, status) for who, status in held[:_ANSWERED] if status is not None]
        unanswered = [n for n, _, status in rest if status is ReplyStatus.ABSENT]
        parts = [f"{title}. {body}" for title, body in shown(place)]
        near = (self.vectors[unanswered] @ np.asarray(self.embedder.embed_documents(parts)).T).max(
            1
        )
        nearest = [unanswered[at] for at in np.argsort(-near)[:_NEAREST]]
        drawn = self.rng.sample(nearest, min(_UNANSWERED, len(nearest)))
        lessons += [(self.every[n], ReplyStatus.ABSENT) for n in drawn]
        return tuple(_asked(who, status) for who, status in lessons)


def text_of(place: Sequence[Excerpt]) -> str:
    """What a place says, as evidence is looked for in it: verbatim, and as it is shown."""
    lines = [line for one in place for line in (one.title, *one.texts, one.shown)]
    return plain("\n".join(lines))


def told(one: LibraryQuestion, text: str) -> ReplyStatus | None:
    """Whether a text answers a question; None: it holds a part of what it takes, or all that an
    answer from another place says, or may be an answer that another place changes."""
    status = standing(one, text)
    if status is not ReplyStatus.ABSENT or one.status is ReplyStatus.ABSENT:
        return status
    said = {*TOLD.findall(one.answer)} - {*TOLD.findall(one.question)}
    too = bool(said) and all(word.lower() in text for word in said)
    return None if too or one.kind in _ELSEWHERE_TOO else status


def _asked(one: LibraryQuestion, status: ReplyStatus) -> Asked:
    answer = "" if status is ReplyStatus.ABSENT else one.answer
    return Asked(one.question, one.language, status, answer, one.turn)


def _sections(library: Library, chunk: Chunk) -> list[Chunk]:
    page = library.page(chunk.document_id, chunk.page)
    return sections_of(chunk, page, library.headings(chunk.document_id))


def read_for(
    library: Library,
    one: LibraryQuestion,
    passages: Sequence[Passage],
    ranker: SentenceRanker,
    embedder: MiniLmEmbedder,
    budget: int,
) -> list[tuple[Excerpt, ...]]:
    """The places that the app would have read for a question, the likeliest first."""
    sections = partial(_sections, library)
    ranking = partial(relevance, ranking=ranker.score, sections=sections)
    within = in_sections(rerank(one.wordings, passages, ranking)[:READ], sections)
    wordings, beside = (one.wordings[:1], one.wordings[1]) if one.turn else (one.wordings, "")
    given = (wordings, within, embedder.count_tokens, budget, ranker.score, beside)
    found = places(gather(*given), one.question)
    return [place for place in found[:_PLACES] if place is found[0] or odds_of(place) >= FAR]


def contexts(
    folder: Path, ranker: SentenceRanker, embedder: MiniLmEmbedder, seed: int, most: int
) -> Iterator[Context]:
    """The places that some of a library's questions are read from, each once."""
    rng = random.Random(f"{seed} {folder.name}")
    every = questions(folder)
    spoken = frozenset(one.question for one in questions(folder, (SPOKEN,)))
    vectors = np.asarray(embedder.embed_documents([one.question for one in every]), np.float32)
    asker = _Asker(every, spoken, vectors, embedder, rng)
    read: set[str] = set()
    with opened(folder) as library:
        for one, passages in found_in(library, _drawn(every, spoken, rng, most), FOUND):
            budget = rng.choice(_BUDGETS)
            for place in read_for(library, one, passages, ranker, embedder, budget):
                asked = asker.of(place, one)
                if asked and text_of(place) not in read:
                    read.add(text_of(place))
                    yield Context(shown(place), asked)


def _drawn(
    every: Sequence[LibraryQuestion], spoken: Set[str], rng: random.Random, most: int
) -> list[LibraryQuestion]:
    """So many questions, the better they are the likelier (Efraimidis and Spirakis 2006)."""
    keys = {one: rng.random() ** (1 / _worth(one, spoken)) for one in every}
    return sorted(every, key=lambda one: -keys[one])[:most]


def _worth(one: LibraryQuestion, spoken: Set[str]) -> float:
    beside = 1.0 if one.question in spoken else _BESIDE
    foreign = 1.0 if one.language == "English" else _FOREIGN
    return beside * foreign * (_NOWHERE if one.status is ReplyStatus.ABSENT else 1.0)


def main(argv: Sequence[str]) -> int:
    """Gather and write them; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folders", nargs="*", default=[one.name for one in folders()])
    parser.add_argument("--most", type=int, default=18, help="questions of a library")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    ranker, embedder = SentenceRanker(RANKER), MiniLmEmbedder()
    made: list[Context] = []
    for folder in folders():
        if folder.name in given.folders:
            made += contexts(folder, ranker, embedder, given.seed, given.most)
            write(given.out, made)
            print(f"{folder.name}: {len(made)} places", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
