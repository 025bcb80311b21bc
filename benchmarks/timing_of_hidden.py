"""Whether time tells what somebody may not see: what is hidden, beside what is nowhere.

    python -m benchmarks.timing_of_hidden [--pairs 2000] [--documents 200]

Both are asked for in turns, by somebody who may see neither, and the times compared: the AUROC is
how often a time of the one is longer than one of the other, 0.5 where nothing is told."""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.made_library import MadeEmbedder, make_collections
from rag_app.errors import RagAppError
from rag_app.library import Library
from rag_app.scope import WORKER, Role, Scope
from rag_app.settings import Settings

MINE = Scope.of("anna", {"anna": Role.OWNER})
_THEIRS = Scope.of("ben", {"ben": Role.OWNER})
_RARE, _NONE = "zyxomma", "zyxommo"  # a word of others' texts, and one of nobody's
_COMMON = ("harbour", "lighthouse", "keeper", "ferry", "island", "ticket", "winter", "boat")

Clock = Callable[[], float]
Times = tuple[list[float], list[float]]  # of what is hidden, of what is nowhere


@contextmanager
def library_of_two(folder: Path, documents: int) -> Iterator[Library]:
    """A library in which Anna and Ben have so many documents each; a word stands in Ben's alone."""
    settings = Settings.load(data_dir=folder, generator="quotes", caution=0.0)
    with Library(settings, embedder=MadeEmbedder()) as library:
        make_collections(library._store.database, "anna", "ben")
        chance, added = random.Random(1), []
        for number in range(documents):
            for scope, own in ((MINE, "reef"), (_THEIRS, _RARE)):
                words = [*chance.choices(_COMMON, k=60), own]
                text = f"{number} {' '.join(words)}.\n".encode()
                added.append(library.scoped(scope).add(f"{number}.txt", text).document.id)
        library.scoped(WORKER).wait(added)
        yield library


def timed(
    do: Callable[[str], object], hidden: Sequence[str], nowhere: Sequence[str], pairs: int,
    clock: Clock = time.thread_time,
) -> Times:  # fmt: skip
    """The times of so many pairs; which of a pair comes first is chance, and the first tenth of
    them warms up."""
    chance, times = random.Random(2), ([], [])
    for number in range(pairs + pairs // 10):
        order = [(0, hidden), (1, nowhere)]
        chance.shuffle(order)
        for which, ids in order:
            asked = ids[number % len(ids)]
            began = clock()
            with suppress(RagAppError):
                do(asked)
            if number >= pairs // 10:
                times[which].append(clock() - began)
    return times


def auroc(times: Times) -> float:
    """How often a hidden one took longer than one that is nowhere; ties are half."""
    ranks: dict[float, float] = {}
    merged = sorted(times[0] + times[1])
    for place, value in enumerate(merged):
        ranks.setdefault(value, place + (merged.count(value) + 1) / 2)
    most = len(times[0]) * len(times[1])
    least = len(times[0]) * (len(times[0]) + 1) / 2
    return (sum(ranks[value] for value in times[0]) - least) / most


def doors(view: Library) -> dict[str, Callable[[str], object]]:
    """What takes an id."""
    return {
        "a document": view.report,
        "a page": lambda id_: view.page(id_, 1),
        "removing": view.remove,
        "a search in it": lambda id_: view.search("lighthouse keeper", 5, [id_]),
    }


def ids_of(library: Library) -> tuple[list[str], list[str]]:
    """Those of Ben's documents, and as many of nobody's."""
    hidden = [document.id for document in library.scoped(_THEIRS).documents()]
    chance = random.Random(3)
    return hidden, [f"{chance.getrandbits(256):064x}" for _ in hidden]


def figures(library: Library, pairs: int, clock: Clock) -> Iterator[tuple[str, Times]]:
    """For each door the times at it."""
    view, (hidden, nowhere) = library.scoped(MINE), ids_of(library)
    for name, do in doors(view).items():
        yield name, timed(do, hidden, nowhere, pairs, clock)
    few = max(1, pairs // 10)
    yield "a search for a word", timed(view.search, [_RARE], [_NONE], few, clock)
    yield "the same by words", timed(view.plain.find, [_RARE], [_NONE], pairs, clock)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--documents", type=int, default=200)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        library_of_two(Path(folder), asked.documents) as library,
    ):
        print("| | hidden, µs | nowhere, µs | AUROC |\n|---|---|---|---|")
        for kind, clock in (("CPU", time.thread_time), ("clock", time.perf_counter)):
            for name, times in figures(library, asked.pairs, clock):
                one, other = (statistics.median(each) * 1e6 for each in times)
                print(f"| {name}, {kind} | {one:,.0f} | {other:,.0f} | {auroc(times):.3f} |")


if __name__ == "__main__":
    main()
