"""Question files: load them and check every span."""

import gzip
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.mixture import Mixture, SetPlan


@dataclass(frozen=True, slots=True)
class Span:
    """An answer: `context[start:start + len(text)] == text`."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Position after the last character."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Example:
    """A question about a passage; no answers means that the passage does not answer it."""

    id: str
    question: str
    context: str
    answers: tuple[Span, ...]


class DataError(ValueError):
    """A question file that breaks its contract."""


def load(path: Path) -> list[Example]:
    """All examples of one `.jsonl.gz` file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [_example(json.loads(line), path) for line in lines if line.strip()]


def _example(row: dict[str, object], path: Path) -> Example:
    answers = row["answers"]
    if not isinstance(answers, list):
        raise DataError(f"{path.name}: {row.get('id')}: answers must be a list")
    example = Example(
        id=str(row["id"]),
        question=str(row["question"]).strip(),
        context=str(row["context"]),
        answers=tuple(Span(str(a["text"]), int(a["start"])) for a in answers if a["text"].strip()),
    )
    check(example)
    return example


def check(example: Example) -> None:
    """Raise DataError unless every answer is a slice of its context."""
    for span in example.answers:
        if example.context[span.start : span.end] != span.text:
            raise DataError(f"{example.id}: {span.text!r} is not at {span.start}")


def load_sets(folder: Path, plans: Iterable[SetPlan]) -> dict[str, list[Example]]:
    """The examples of each planned set, in file order."""
    return {plan.name: load(folder / f"{plan.name}.jsonl.gz") for plan in plans}


def pool(sets: dict[str, list[Example]]) -> list[str]:
    """Every distinct context, in a stable order."""
    return list(dict.fromkeys(example.context for rows in sets.values() for example in rows))


def share_of(plan: SetPlan, rows: Sequence[Example], number: int, seed: int) -> list[Example]:
    """The part of a set that round `number` sees.

    The set is shuffled once per seed and walked through, so that parts follow on from each other.
    """
    order = list(range(len(rows)))
    random.Random(f"{seed}:{plan.name}").shuffle(order)
    size = round(plan.share * len(rows))
    first = number * size
    chosen = [rows[order[index % len(rows)]] for index in range(first, first + size)]
    if not plan.per_context:
        return chosen
    return list(_capped(chosen, plan.per_context))


def _capped(rows: Iterable[Example], limit: int) -> Iterator[Example]:
    seen: dict[str, int] = {}
    for row in rows:
        seen[row.context] = seen.get(row.context, 0) + 1
        if seen[row.context] <= limit:
            yield row


def describe(mixture: Mixture, sets: dict[str, list[Example]]) -> str:
    """One line per set, for the log."""
    return "\n".join(
        f"{plan.name}: {len(sets[plan.name])} examples, share {plan.share}" for plan in mixture.sets
    )
