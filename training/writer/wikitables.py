"""Questions over tables of Wikipedia as lessons for the writer: the query alone.

    python -m training.writer.wikitables WORK/wiki.pkl … --data FOLDER --out WORK/queries.pkl

`WORK/wiki.pkl`: examples of `training.tables.examples wikitables`; `FOLDER` holds questions and
tables of WikiTableQuestions (Pasupat and Liang 2015). Of a question only the answer is known; what
is taught is the query that gives it and that the ranker of queries thinks likeliest, if it is among
the first few (weak supervision, as in Liang et al. 2018, "Memory Augmented Policy Optimization").
Tables whose number ends in 7 are left to the benchmark."""

from __future__ import annotations

import argparse
import pickle
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag_app.answering.prompts import query_messages, query_said_as
from rag_app.answering.query_ranking import chances_of
from rag_app.tables.describing import describe
from training.tables.examples import Asked, Example, of_wikitables
from training.writer.contexts import Lesson
from training.writer.packs import HELD_OF_MANY, is_held

FIRST = 8  # candidates among which the one that is taught must be


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which of a question's candidates is taught, and of how many."""

    at: int
    of: int


def chosen(example: Example) -> Chosen | None:
    """The likeliest candidate that gives the answer; None: it is not among the first few."""
    right = np.flatnonzero(example.right[:-1])
    if example.right[-1] or not len(right):
        return None
    likely = chances_of(example.seen)[:-1]
    best = right[likely[right].argmax()]
    if (likely > likely[best]).sum() >= FIRST:
        return None
    return Chosen(int(best), len(likely))


def lessons(asked: Iterator[Asked], taught: dict[str, Chosen]) -> Iterator[tuple[str, Lesson]]:
    """The table's name and the lesson of each question that is taught."""
    for one in asked:
        wanted = taught.get(one.id)
        if wanted is None:
            continue
        candidates = one.with_candidates().candidates
        if len(candidates) != wanted.of:  # the table is read otherwise than it was
            continue
        name = one.id.partition(".csv")[0] + ".csv"
        tables = describe(one.database, {one.over.table.document_id: name})
        named = tables.named(one.question)
        reply = query_said_as(candidates[wanted.at].sql, "").rstrip()
        messages = query_messages(one.question, tables.text, named, "English")
        yield name, Lesson(messages, reply, ends=False)


def main(argv: Sequence[str]) -> int:
    """Write them, those of a table together; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("examples", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(argv)
    taught: dict[str, Chosen] = {}
    for path in given.examples:
        examples: list[Example] = pickle.loads(path.read_bytes())
        taught |= {one.id: known for one in examples if (known := chosen(one))}
    groups: dict[str, list[Lesson]] = defaultdict(list)
    for name, lesson in lessons(of_wikitables(given.data), taught):
        groups[name].append(lesson)
    made = [(some, is_held(number, HELD_OF_MANY)) for number, some in enumerate(groups.values())]
    given.out.write_bytes(pickle.dumps(made))
    print(f"{sum(map(len, groups.values()))} queries over {len(made)} tables")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
