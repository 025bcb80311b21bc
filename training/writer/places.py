"""Single places of the written libraries, much as the app has the writer read them one by one.

    python -m training.writer.places --data DATA --work WORK --out WORK/places.jsonl

The app has the writer read place after place until one answers, so what it has to tell is whether
the one in front of it does. Of each question that one place answers this place is taught, and those
which the model of sentences takes to be nearest and which do not answer. A row of a table is taught
with its neighbours, which the app may leave out. `--data` and `--work` are those of the ranker,
whose groups are used; what that keeps aside is kept aside here."""

from __future__ import annotations

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from rag_app.answering.prompts import ReplyStatus
from rag_app.answering.sentence_ranker import Titled, similar
from rag_app.retrieval.embedding import Embedder
from rag_app.settings import Settings
from rag_app.text.sentences import one_line
from training.library import LibraryQuestion, folders, plain, questions
from training.ranker.groups import Group
from training.ranker.train import held_of, made
from training.writer.contexts import Asked, Context, write

_NEIGHBOURS = 3  # sentences on each side of the nearest one, as the app shows them
_NEAR = 4  # places that the app reads at most, of which
_MISSES = 2  # that do not answer are taught
_KINDS = ("library", "spoken")

Place = tuple[str, str]  # title, text


class Nearness:
    """How near sentences are to a question, by the app's own model of them."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, np.ndarray] = {}

    def of(self, question: str, passages: Sequence[Titled]) -> list[np.ndarray]:
        """For each passage the cosines of its sentences."""
        asked = np.asarray(self._embedder.embed_query(question))
        texts = [one.sentence(n) for one in passages for n in range(len(one.sentences))]
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known |= zip(
            new, np.asarray(self._embedder.embed_documents(new), np.float32), strict=True
        )
        return [
            np.array([self._known[one.sentence(n)] @ asked for n in range(len(one.sentences))])
            for one in passages
        ]


def place_of(passage: Titled, sentence: int) -> Place:
    """A sentence with its neighbours, under its title."""
    first, last = max(0, sentence - _NEIGHBOURS), sentence + _NEIGHBOURS + 1
    lines = [one_line(passage.text[a:b]) for a, b in passage.sentences[first:last]]
    return passage.title, "\n".join(filter(None, lines))


def taught_by(
    group: Group,
    one: LibraryQuestion,
    near: Sequence[np.ndarray],
    rng: random.Random,
    aside: Collection[str] = (),
) -> Iterator[tuple[Place, ReplyStatus]]:
    """The places that a question is asked of, and what each makes of it; none of the documents that
    are kept `aside`."""
    order = sorted(range(len(near)), key=lambda p: -max(near[p], default=-1.0))
    order = [p for p in order if len(near[p])]
    golds = [p for p in order if any(group.gold[p])]
    answered = False
    for p in golds:
        place = place_of(group.passages[p], int(np.argmax(np.where(group.gold[p], near[p], -2.0))))
        if all(one.held(plain("\n".join(place)))) and not answered:
            answered = True
            yield place, one.status
    if not answered and one.status is not ReplyStatus.ABSENT:
        return
    misses = [
        p for p in order if p not in golds and not group.passages[p].title.startswith(tuple(aside))
    ][:_NEAR]
    for p in rng.sample(misses, min(_MISSES, len(misses))):
        place = place_of(group.passages[p], int(np.argmax(near[p])))
        if not any(one.held(plain("\n".join(place)))):
            yield place, ReplyStatus.ABSENT


def contexts(
    groups: Sequence[Group], nearness: Nearness, aside: Collection[str], seed: int
) -> Iterator[Context]:
    """Each place once, with all that it is asked; `groups` of one library."""
    rng = random.Random(seed)
    folder = next(one for one in folders() if one.name == groups[0].library)
    by_wording = {wording: one for one in questions(folder) for wording in one.wordings}
    asked: dict[Place, dict[str, Asked]] = defaultdict(dict)
    for group in groups:
        one = by_wording.get(group.question)
        if one is None or one.turn or group.question != one.question:
            continue
        near = nearness.of(one.wordings[-1], group.passages)
        for place, status in taught_by(group, one, near, rng, aside):
            answer = "" if status is ReplyStatus.ABSENT else one.answer
            asked[place][one.question] = Asked(one.question, one.language, status, answer)
    for place, those in asked.items():
        yield Context((place,), tuple(those.values()))


def main(argv: Sequence[str]) -> int:
    """Gather and write them; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="where the groups are kept")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    embedder = similar(Settings.load())
    if embedder is None:
        raise SystemExit("The model of sentences is not here: python -m rag_app.models.weights")
    every = made(given.data, given.work)
    aside = held_of(every)
    libraries: dict[str, list[Group]] = defaultdict(list)
    for kind in _KINDS:
        for group in every[kind]:
            if group.document not in aside:
                libraries[group.library].append(group)
    nearness = Nearness(embedder)
    write(
        given.out,
        (one for some in libraries.values() for one in contexts(some, nearness, aside, given.seed)),
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
