"""Contexts of the written libraries, as the app shows them to the writer.

    python -m training.writer.from_library --out WORK/library.jsonl [--folders NAME …]

Every question is searched in its library, and the sentences that the app would show are the
context. Whether they answer is told by the question's evidence: where the search has lost it, it is
put among the likeliest sentences, since a context that does not answer teaches little. Other
questions of the library are asked of the same context: those whose evidence stands in it, and some
whose evidence does not, which must be told apart. What is to be
done with documents is shown their passages; a result that says more than these is left out."""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rag_app.answering.evidence import Excerpt, Ranking, gather, relevance
from rag_app.answering.prompts import TRANSLATE, ReplyStatus
from rag_app.answering.sentence_ranker import FOLDER as RANKER
from rag_app.answering.sentence_ranker import SentenceRanker, Titled
from rag_app.answering.writer_generator import TASKED
from rag_app.library import Library
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.retrieval.retriever import rerank
from rag_app.retrieval.sentence_index import title
from rag_app.types import Chunk, Passage
from training.library import (
    WRITTEN,
    LibraryQuestion,
    LibraryTask,
    folders,
    found_in,
    opened,
    plain,
    questions,
    tasks,
)
from training.ranker.groups import holds
from training.writer.contexts import Asked, Context, Work, write

FOUND, READ = 20, 8  # passages that are ranked, and that the writer's sentences are chosen from
BUDGETS = (450, 450, 450, 600)  # tokens of excerpts
_MORE = 5  # other questions that a context answers
_HELD = 3  # times as many questions that a context answers as that it does not
_UNANSWERED_FIRST = 0.5
_LOST = 0.35  # of the contexts without the evidence, that are taught as they are
_RAISED, _FALLS = 0.7, 1.2  # log-odds of evidence above all else, less an exponential of this rate
TOLD = re.compile(r"\d+(?:[.,:]\d+)*|\b[A-Z][a-zà-ÿ]{3,}")
_SAID = 0.9  # of a result's figures and names that its passages hold
_WHOLE = ("summary", "points", "comparison")
_SIMPLE = "simple"  # asked as a question

Part = tuple[str, str]  # title, text


def standing(one: LibraryQuestion, text: str) -> ReplyStatus | None:
    """Whether a text answers a question; None: it holds a part of what it takes."""
    held = one.held(text)
    if one.status is ReplyStatus.ABSENT or not any(held):
        return ReplyStatus.ABSENT
    return one.status if all(held) else None


def shown(excerpts: Sequence[Excerpt]) -> tuple[Part, ...]:
    """Excerpts as titles and texts."""
    return tuple((one.title, one.shown) for one in excerpts)


def contexts(folder: Path, seed: int, ranker: SentenceRanker, share: float) -> Iterator[Context]:
    """What the app shows for a library's questions, and what else that answers; of those that were
    put beside the documents a share, and all that were spoken.

    Where the search has lost the evidence, the context is also taught as one that does not answer,
    now and then, and always as it would be, had the ranker known what is evidence."""
    rng = random.Random(f"{seed} {folder.name}")
    shower = _Shower(ranker, MiniLmEmbedder())
    every = questions(folder) + _simple(folder)
    beside = {one.question for one in questions(folder, [WRITTEN]) if one.evidence}
    drawn = [one for one in every if one.question not in beside or rng.random() < share]
    with opened(folder) as library:
        chunks = {one.name: library.chunks(one.id) for one in library.documents()}
        for one, passages in found_in(library, drawn, FOUND):
            budget = rng.choice(BUDGETS)
            parts, text = shower.parts(one, passages, budget, ranker.score)
            stands = standing(one, text)
            if stands is one.status or (rng.random() < _LOST and stands is ReplyStatus.ABSENT):
                yield _context(parts, _lessons(one, every, text, rng))
            if stands is not one.status:
                known = _with_evidence(one, passages, chunks[one.document])
                ranking = partial(_raised, ranker.score, one, rng)
                parts, text = shower.parts(one, known, budget, ranking)
                yield _context(parts, _lessons(one, every, text, rng))


@dataclass(frozen=True, slots=True)
class _Shower:
    """Shows passages as the app does."""

    ranker: SentenceRanker
    embedder: MiniLmEmbedder

    def parts(
        self, one: LibraryQuestion, passages: Sequence[Passage], budget: int, ranking: Ranking
    ) -> tuple[tuple[Part, ...], str]:
        """The excerpts, and their text by which evidence is found."""
        ranked = rerank(one.wordings, passages, partial(relevance, ranking=ranking))[:READ]
        wordings = one.wordings[:1] if one.turn else one.wordings
        beside = one.wordings[1] if one.turn else ""
        count = self.embedder.count_tokens
        parts = shown(gather(wordings, ranked, count, budget, ranking, beside))
        return parts, plain("\n".join(f"{title}\n{body}" for title, body in parts))


def _context(
    parts: tuple[Part, ...], lessons: Sequence[tuple[LibraryQuestion, ReplyStatus]]
) -> Context:
    return Context(parts, tuple(_asked(who, status) for who, status in lessons))


def _with_evidence(
    one: LibraryQuestion, passages: Sequence[Passage], chunks: Sequence[Chunk]
) -> list[Passage]:
    """The passages and those that hold the evidence, as likely as any."""
    best = max((passage.score for passage in passages), default=1.0)
    held = [chunk for chunk in chunks if any(one.held(plain(chunk.text)))]
    ids = {chunk.id for chunk in held}
    rest = [passage for passage in passages if passage.chunk.id not in ids]
    return [*(Passage(chunk, one.document, best) for chunk in held), *rest]


def _raised(
    ranking: Ranking,
    one: LibraryQuestion,
    rng: random.Random,
    wording: str,
    passages: Sequence[Titled],
) -> list[list[float]]:
    """A ranking that knows which sentences are evidence, and puts these among the likeliest."""
    pieces = [plain(piece) for piece in one.evidence]
    odds = [list(row) for row in ranking(wording, passages)]
    top = max((max(row, default=0.0) for row in odds), default=0.0)
    for passage, row in zip(passages, odds, strict=True):
        if passage.title.startswith(one.document):
            for at, (start, end) in enumerate(passage.sentences):
                if holds(passage.text[start:end], pieces):
                    row[at] = max(row[at], top + _RAISED - rng.expovariate(_FALLS))
    return odds


def _simple(folder: Path) -> list[LibraryQuestion]:
    """What is to be explained simply: it is asked as a question."""
    files = {file.name for file in (folder / "documents").iterdir()}
    return [
        LibraryQuestion(
            *(one.documents[0], one.kind, one.wish, one.language),
            *(ReplyStatus.ANSWERED, one.text, one.evidence),
        )
        for one in tasks()
        if one.kind == _SIMPLE and one.documents[0] in files
    ]


def _lessons(
    one: LibraryQuestion, others: Sequence[LibraryQuestion], text: str, rng: random.Random
) -> list[tuple[LibraryQuestion, ReplyStatus]]:
    """What a context is asked: several times as much that it answers as that it does not."""
    first = standing(one, text)
    rest = [(who, standing(who, text)) for who in rng.sample(others, len(others))]
    rest = [pair for pair in rest if pair[0] is not one and not pair[0].turn]
    held = [(who, s) for who, s in rest if s is not None and s is not ReplyStatus.ABSENT][:_MORE]
    if first is not None and first is not ReplyStatus.ABSENT:
        held.insert(0, (one, first))
    # Those of the same document are nearest; those without any answer anywhere often come first.
    near = [(w, s) for w, s in rest if s is ReplyStatus.ABSENT and w.document == one.document]
    most = int(len(held) / _HELD + rng.random())
    if rng.random() < _UNANSWERED_FIRST:
        near.sort(key=lambda pair: pair[0].status is not ReplyStatus.ABSENT)
        most = max(1, most)
    if first is ReplyStatus.ABSENT:
        return [*held, (one, first), *near[:1]]
    return [*held, *near[:most]]


def _asked(one: LibraryQuestion, status: ReplyStatus) -> Asked:
    answer = "" if status is ReplyStatus.ABSENT else one.answer
    return Asked(one.question, one.language, status, answer, one.turn)


def works(folder: Path) -> Iterator[Context]:
    """The passages of a library's documents, and what is to be done with them."""
    embedder = MiniLmEmbedder()
    with opened(folder) as library:
        chunks = {one.name: library.chunks(one.id) for one in library.documents()}
        mine = [one for one in tasks() if {*one.documents} <= chunks.keys()]
        groups: dict[tuple[str, ...], list[LibraryTask]] = defaultdict(list)
        for one in mine:
            if one.kind in _WHOLE:
                groups[one.documents].append(one)
        for names, those in groups.items():
            share = TASKED // len(names)
            parts = tuple(
                part
                for name in names
                for part in _parts(name, _telling(chunks[name], those, share, embedder))
            )
            yield Context(parts, (), work=tuple(_work(one) for one in those if _says(one, parts)))
        for one in mine:
            if one.kind == "translation":
                parts = (("", "\n".join(one.evidence)),)
                work = Work(TRANSLATE.format(one.language), one.language, one.text)
                yield Context(parts, (), work=(work,))
            elif one.kind == "draft":
                parts = _near(one, chunks[one.documents[0]], library, embedder)
                yield Context(parts, (), work=(_work(one),))


def _work(one: LibraryTask) -> Work:
    return Work(one.wish, one.language, one.text)


def _says(one: LibraryTask, parts: Sequence[Part]) -> bool:
    """Whether the parts hold what a result tells."""
    held = " ".join(f"{title} {text}" for title, text in parts)
    told = set(TOLD.findall(one.text))
    return sum(each in held for each in told) >= _SAID * len(told)


def _telling(
    chunks: Sequence[Chunk], those: Sequence[LibraryTask], most: int, embedder: MiniLmEmbedder
) -> list[Chunk]:
    """As many chunks as there is room for, those first of which the results tell most."""
    told = {each for one in those for each in TOLD.findall(one.text)}
    order = sorted(chunks, key=lambda c: -len(told & set(TOLD.findall(c.text))))
    kept, used = set(), 0
    for chunk, size in zip(order, embedder.count_tokens([c.text for c in order]), strict=True):
        used += size
        if used <= most:
            kept.add(chunk.id)
    return [chunk for chunk in chunks if chunk.id in kept]


def _near(
    one: LibraryTask, chunks: Sequence[Chunk], library: Library, embedder: MiniLmEmbedder
) -> tuple[Part, ...]:
    """What is found for a wish, the nearest last, and what its result rests on."""
    pieces = [plain(piece)[:60] for piece in one.evidence]
    needed = [c for c in chunks if any(piece in plain(c.text) for piece in pieces)]
    document = chunks[0].document_id
    near: list[Passage] = library.search(one.wish, READ, [document])
    both = list({c.id: c for c in [*needed, *(p.chunk for p in near)]}.values())
    sizes = embedder.count_tokens([c.text for c in both])
    while sum(sizes) > TASKED and len(both) > len(needed):
        both.pop()
        sizes.pop()
    rank = {p.chunk.id: n for n, p in enumerate(near)}
    both.sort(key=lambda c: -rank.get(c.id, READ))
    return tuple(_parts(one.documents[0], both))


def _parts(name: str, chunks: Sequence[Chunk]) -> list[Part]:
    """(title, text), chunks of one section as one."""
    parts: list[Part] = []
    for chunk in chunks:
        headed = title(name, chunk.heading)
        if parts and parts[-1][0] == headed:
            parts[-1] = headed, f"{parts[-1][1]}\n{chunk.text}"
        else:
            parts.append((headed, chunk.text))
    return parts


def main(argv: Sequence[str]) -> int:
    """Write them; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--folders", nargs="*", default=[one.name for one in folders()])
    parser.add_argument("--ranker", type=Path, default=RANKER, help="folder of its weights")
    parser.add_argument("--share", type=float, default=0.25, help="of what was not spoken")
    parser.add_argument("--seed", type=int, default=11)
    given = parser.parse_args(argv)
    ranker = SentenceRanker(given.ranker)
    made: list[Context] = []
    for folder in folders():
        if folder.name in given.folders:
            made += [one for one in contexts(folder, given.seed, ranker, given.share) if one.asked]
        made += [one for one in works(folder) if one.work]
    write(given.out, made)
    asked, work = sum(len(o.asked) for o in made), sum(len(o.work) for o in made)
    print(f"{len(made)} contexts, {asked} questions, {work} pieces of work")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
