"""Contexts of the written libraries, as the app shows them to the writer.

    python -m training.writer.from_library --out WORK/library.jsonl [--folders NAME …]

Every question is searched in its library, and the sentences that the app would show are the
context. Whether they answer is told by the question's evidence: where the search has lost it, there
is none. Other questions of the same document are asked of the same context: those whose
evidence stands in it, and some whose evidence does not, which must be told apart. What is to be
done with documents is shown their passages; a result that says more than these is left out."""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from rag_app.answering.chat_generator import EMBEDDED
from rag_app.answering.evidence import Excerpt, gather, relevance, title
from rag_app.answering.prompts import TRANSLATE, ReplyStatus
from rag_app.answering.sentence_ranker import SentenceRanker
from rag_app.answering.writer_generator import TASKED
from rag_app.library import Library
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.retrieval.retriever import rerank
from rag_app.types import Chunk, Passage
from training.library import (
    LibraryQuestion,
    LibraryTask,
    folders,
    found,
    opened,
    plain,
    questions,
    tasks,
)
from training.writer.contexts import Asked, Context, Work, write

FOUND, READ = 20, 8  # passages that are ranked, and that the writer's sentences are chosen from
_MORE = 7  # other questions that a context answers
_HELD = 4  # times as many questions that a context answers as that it does not
_TOLD = re.compile(r"\d+(?:[.,:]\d+)*|\b[A-Z][a-zà-ÿ]{3,}")
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


def contexts(folder: Path, budget: int, seed: int) -> list[Context]:
    """One for each question of a library that no earlier one asks, in no order."""
    rng = random.Random(seed)
    ranker, embedder = SentenceRanker(), MiniLmEmbedder()
    every = questions(folder) + _simple(folder)
    asked: set[LibraryQuestion] = set()
    made = []
    drawn = rng.sample(every, len(every))
    for one, passages in found(folder, (one for one in drawn if one not in asked), FOUND):
        wordings = one.wordings[:1] if one.turn else one.wordings
        beside = one.wordings[1] if one.turn else ""
        ranked = rerank(one.wordings, passages, partial(relevance, ranking=ranker.score))[:READ]
        count = embedder.count_tokens
        parts = shown(gather(wordings, ranked, count, budget, ranker.score, beside))
        text = plain("\n".join(f"{title}\n{body}" for title, body in parts))
        others = [other for other in every if other not in asked]
        rng.shuffle(others)
        lessons = _lessons(one, others, text, rng)
        if lessons:
            asked |= {who for who, status in lessons if status is who.status}
            made.append(Context(parts, tuple(_asked(who, status) for who, status in lessons)))
    return made


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
    rest = [(who, standing(who, text)) for who in others if who is not one]
    held = [(who, s) for who, s in rest if s is not None and s is not ReplyStatus.ABSENT][:_MORE]
    if first is not None and first is not ReplyStatus.ABSENT:
        held.insert(0, (one, first))
    none = [(who, s) for who, s in rest if s is ReplyStatus.ABSENT]
    # Those of the same document are nearest; those without any answer anywhere come first.
    near = [pair for pair in none if pair[0].document == one.document]
    near.sort(key=lambda pair: pair[0].status is not ReplyStatus.ABSENT)
    if first is ReplyStatus.ABSENT:
        near.insert(0, (one, first))
    return [*held, *near[: int(len(held) / _HELD + rng.random())]]


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
    told = set(_TOLD.findall(one.text))
    return sum(each in held for each in told) >= _SAID * len(told)


def _telling(
    chunks: Sequence[Chunk], those: Sequence[LibraryTask], most: int, embedder: MiniLmEmbedder
) -> list[Chunk]:
    """As many chunks as there is room for, those first of which the results tell most."""
    told = {each for one in those for each in _TOLD.findall(one.text)}
    order = sorted(chunks, key=lambda c: -len(told & set(_TOLD.findall(c.text))))
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
    parser.add_argument("--context", type=int, default=EMBEDDED, help="tokens of excerpts")
    parser.add_argument("--seed", type=int, default=4)
    given = parser.parse_args(argv)
    made: list[Context] = []
    for folder in folders():
        if folder.name in given.folders:
            made += contexts(folder, given.context, given.seed)
        made += [one for one in works(folder) if one.work]
    write(given.out, made)
    asked, work = sum(len(o.asked) for o in made), sum(len(o.work) for o in made)
    print(f"{len(made)} contexts, {asked} questions, {work} pieces of work")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
