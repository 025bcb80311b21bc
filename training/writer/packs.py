r"""All that the writer is taught, as sequences of tokens in one file.

    python -m training.writer.packs --tokens FOLDER --contexts A.jsonl … [--queries Q.pkl …] \
        --out WORK/packs.npz

`--tokens`: the folder of the model as the app has it, whose tokenizer and template are used;
`--contexts`: files of `from_library` and `from_spans`; `--queries`: files of `wikitables`. With
them go what is written in this folder and the questions over our own sheets. So the machine that
teaches needs neither the app nor what the app needs."""

from __future__ import annotations

import argparse
import pickle
import random
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from rag_app.answering.local_chat import tokens_of
from training.writer import queries, sheets
from training.writer.contexts import (
    Lesson,
    conversations,
    introductions,
    read,
    tasks,
    titles,
    translations,
    written,
)
from training.writer.packing import pack, save

FIRST_WEIGHT = 1.0  # of a reply's first token against all others together
FIRST_OF_WORK = 0.05  # the same where a reply begins with no status: a letter begins in many ways
MOST_TOKENS = 1_900  # of a sequence
TALKS = 8  # conversations of a sequence
HELD = 10  # of so many contexts one is not taught
HELD_OF_MANY = 40  # of those that were made, and not written

_Held = tuple[list[Lesson], bool]  # lessons that begin alike, and whether they are kept aside


def is_held(number: int, of: int = HELD) -> bool:
    """Whether a context of a file is kept aside, to choose by."""
    return number % of == of - 1


def small_jobs() -> Iterator[_Held]:
    """What was written: contexts, conversations, translations, titles, introductions, queries."""
    contexts = list(written())
    yield from ((one.lessons, is_held(number)) for number, one in enumerate(contexts))
    told = (one for number, one in enumerate(contexts) if not is_held(number))
    talks = [talk.lesson for one in told for talk in one.follow_ups]
    talks += [talk.lesson for talk in conversations()]
    for some in (talks, translations(), titles()):
        yield from ((some[at : at + TALKS], False) for at in range(0, len(some), TALKS))
    yield from (([one], False) for one in introductions())
    lots = list(queries.written())
    yield from ((queries.lessons(one), is_held(number)) for number, one in enumerate(lots))
    taught = [one for number, one in enumerate(lots) if not is_held(number)]
    others = [*taught[1:], *taught[:1]]  # of every second one behind another
    yield from (
        (queries.lessons(*pair), False) for pair in zip(taught[::2], others[::2], strict=False)
    )


def works() -> Iterator[_Held]:
    """What was written to be made of documents: drafts, summaries, comparisons, translations."""
    yield from ((one.works, is_held(number)) for number, one in enumerate(tasks()))


def over_sheets(share: float, left_out: Collection[str], seed: int) -> Iterator[_Held]:
    """The questions over our own sheets; of those that are `left_out` half, kept aside. Raises
    ValueError if there is no such sheet."""
    names = {*sheets.asked()}
    if unknown := {*left_out} - names:
        raise ValueError(f"there are no sheets of these names: {', '.join(sorted(unknown))}")
    taught = list(sheets.written(left_out))
    aside = list(sheets.written(names - {*left_out}))
    yield from ((some, False) for some in sheets.lessons(taught, taught, seed, share))
    yield from ((some, True) for some in sheets.lessons(aside, [*taught, *aside], seed, 0.5))


def of_contexts(path: Path) -> Iterator[_Held]:
    """The questions about the contexts of a file, and what is to be done with them."""
    for number, one in enumerate(read(path)):
        yield one.lessons, is_held(number, HELD_OF_MANY)
        yield one.works, False


def main(argv: Sequence[str]) -> int:
    """Gather and write them; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tokens", type=Path, required=True)
    parser.add_argument("--contexts", type=Path, nargs="*", default=[])
    parser.add_argument("--queries", type=Path, nargs="*", default=[])
    parser.add_argument("--sheets", type=float, default=0.6, help="share of their questions")
    parser.add_argument("--leave-out", nargs="*", default=[], help="sheets that are not taught")
    parser.add_argument("--share", type=float, default=1.0, help="of all but what `works` has")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(argv)
    groups = [*small_jobs(), *over_sheets(given.sheets, given.leave_out, given.seed)]
    for path in given.contexts:
        groups += of_contexts(path)
    for path in given.queries:
        groups += pickle.loads(path.read_bytes())
    lot = random.Random(given.seed)
    groups = lot.sample(groups, round(given.share * len(groups)))
    tokens = tokens_of(str(given.tokens))
    packs = [
        (one, held)
        for some, first in ((groups, FIRST_WEIGHT), ([*works()], FIRST_OF_WORK))
        for lessons, held in some
        if lessons
        for one in pack(lessons, tokens, first, MOST_TOKENS)
    ]
    lot.shuffle(packs)
    save(packs, given.out)
    print(f"{len(packs)} sequences, {sum(len(one.ids) for one, _ in packs)} tokens")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
