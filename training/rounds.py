"""One round of the mixture as batches, the same every time for the same seed and number.

That is what makes training resumable: a checkpoint only needs to say "round 2, batch 310".
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from training import noise, unanswerable
from training.data import Example, share_of
from training.features import Encoder, Window
from training.mixture import Mixture, SetPlan
from training.negatives import Mined, negative

BATCH_TOKENS = 4096
WIDTH_STEP = 16
"""Widths are padded to multiples of this: few shapes, since each new one costs a second."""
BLOCK = 2048
"""Windows are sorted by length within shuffled blocks of so many."""


@dataclass(frozen=True, slots=True)
class Source:
    """Everything a round is drawn from."""

    mixture: Mixture
    sets: dict[str, list[Example]]
    contexts: list[str]
    mined: Mined
    seed: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Windows that are padded to the same width."""

    windows: list[Window]
    width: int


def examples_of(source: Source, number: int) -> list[Example]:
    """The examples of a round: each set's share, its made unanswerables, roughened."""
    heads = [noise.heading_of(context) for context in source.contexts[::7]]
    chosen: list[Example] = []
    for plan in source.mixture.sets:
        rng = random.Random(f"{source.seed}:{number}:{plan.name}")
        rows = share_of(plan, source.sets[plan.name], number, source.seed)
        for example in [*rows, *_made(source, plan, rows, rng, number)]:
            chosen.append(
                noise.roughen(example, source.mixture.noise, heads, rng, plan.clean_questions)
            )
    return chosen


def _made(
    source: Source, plan: SetPlan, rows: Sequence[Example], rng: random.Random, number: int
) -> list[Example]:
    rates = source.mixture.made
    makers: list[tuple[float, bool, Callable[[Example], Example | None]]] = [
        (rates.mined, plan.mined, lambda e: negative(e, source.mined, source.contexts, number)),
        (rates.cut, plan.made, unanswerable.without_answer),
        (rates.swapped, plan.made, lambda e: unanswerable.swapped(e, _near(e, source), rng)),
        (rates.turned, plan.made, lambda e: unanswerable.turned(e, rng)),
        (rates.keep_cut, plan.made, lambda e: unanswerable.without_another(e, rng)),
    ]
    made: list[Example] = []
    for example in rows:
        for rate, wanted, maker in makers:
            if wanted and example.answers and rng.random() < rate:
                twin = maker(example)
                made += [twin] if twin else []
    return made


def _near(example: Example, source: Source) -> list[str]:
    return [source.contexts[index] for index in source.mined.get(example.id, [])]


def batches(windows: Sequence[Window], seed: str) -> list[Batch]:
    """Windows of like length together, batches in random order."""
    rng = random.Random(seed)
    order = list(windows)
    rng.shuffle(order)
    done: list[Batch] = []
    for start in range(0, len(order), BLOCK):
        block = sorted(order[start : start + BLOCK], key=lambda w: len(w.ids))
        done += _cut(block)
    rng.shuffle(done)
    return done


def _cut(block: Sequence[Window]) -> list[Batch]:
    done: list[Batch] = []
    rest = list(block)
    while rest:
        width = _padded(len(rest[-1].ids))
        size = max(1, BATCH_TOKENS // width)
        done.append(Batch(rest[-size:], width))
        rest = rest[:-size]
    return done


def inference_batches(windows: Sequence[Window]) -> list[Batch]:
    """Windows sorted by length, each exactly once."""
    return _cut(sorted(windows, key=lambda window: len(window.ids)))


def _padded(length: int) -> int:
    return -(-length // WIDTH_STEP) * WIDTH_STEP


def round_batches(source: Source, encoder: Encoder, number: int) -> list[Batch]:
    """All batches of round `number`."""
    seed = f"{source.seed}:{number}"
    return batches(encoder.labelled(examples_of(source, number), seed), seed)
