"""How a writer answers the contexts that were kept aside, as the app runs it.

    python -m training.writer.evaluate --writer FOLDER [--spans WORK/spans.jsonl] [--out rows.jsonl]

By kind of context: how often it says that there is an answer where there is one, and none where
there is none; how well its chance of an answer tells the two apart (area under the curve); and of
what it answers the F1 of words with what was to be said, and whether all its figures are there."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

from rag_app.answering.generation import FIRST
from rag_app.answering.local_chat import OpenVinoChatModel
from rag_app.answering.prompts import ReplyStatus, understood
from training.writer.contexts import HERE, Asked, Context, read
from training.writer.packs import HELD, HELD_OF_MANY, is_held

AT_ONCE = 4
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Row:
    """A question, what was to be said and what was."""

    kind: str
    question: str
    status: str
    target: str
    reply: str
    chance: float  # of an answer

    @property
    def said(self) -> ReplyStatus | None:
        """The status that was said."""
        found = understood(self.reply)
        return found[0] if found else None

    @property
    def text(self) -> str:
        """The reply without its status."""
        found = understood(self.reply)
        return found[1] if found else self.reply


def held(contexts: Iterable[tuple[str, Context]], of: int) -> Iterator[tuple[str, Context, Asked]]:
    """What was kept aside of contexts, each with its kind."""
    for number, (kind, context) in enumerate(contexts):
        if is_held(number, of):
            yield from ((kind, context, one) for one in context.asked)


def row_of(model: OpenVinoChatModel, kind: str, context: Context, one: Asked) -> Row:
    """Ask one question."""
    messages = context.lesson(one).messages
    reply = model.invoke(messages, max_tokens=120, logs=True)
    first = float(reply.response_metadata.get(FIRST, 0.0))  # it may say nothing at all
    said = understood(str(reply.text))
    chance = 1 - first if said and said[0] is ReplyStatus.ABSENT else first
    return Row(kind, one.question, one.status, one.answer, str(reply.text), chance)


def f1(said: str, target: str) -> float:
    """Of the words of two texts."""
    a, b = (Counter(re.findall(r"\w+", text.lower())) for text in (said, target))
    same = sum((a & b).values())
    return 2 * same / max(1, sum(a.values()) + sum(b.values()))


def has_figures(said: str, target: str) -> bool:
    """Whether a text holds all figures of another."""
    return set(_FIGURE.findall(target)) <= set(_FIGURE.findall(said))


def report(rows: Sequence[Row]) -> None:
    """Print the table."""
    kinds = defaultdict(list)
    for row in rows:
        kinds[row.kind].append(row)
    print("| kind | asked | answered | refused | AUROC | F1 | figures |")
    print("|---|---|---|---|---|---|---|")
    for kind, some in [*kinds.items(), ("all", list(rows))]:
        there = [r for r in some if r.status != ReplyStatus.ABSENT]
        none = [r for r in some if r.status == ReplyStatus.ABSENT]
        answered = np.mean([r.said not in (None, ReplyStatus.ABSENT) for r in there])
        refused = np.mean([r.said == ReplyStatus.ABSENT for r in none]) if none else float("nan")
        curve = roc_auc_score(
            [r.status != ReplyStatus.ABSENT for r in some], [r.chance for r in some]
        )
        words = np.mean([f1(r.text, r.target) for r in there])
        figures = np.mean([has_figures(r.text, r.target) for r in there])
        print(
            f"| {kind} | {len(some)} | {answered:.3f} | {refused:.3f} | {curve:.3f} "
            f"| {words:.3f} | {figures:.3f} |"
        )


def main(argv: Sequence[str]) -> int:
    """Ask and report; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--writer", type=Path, required=True, help="folder of its weights")
    parser.add_argument("--spans", type=Path, nargs="*", default=[], help="as to packs")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(argv)
    model = OpenVinoChatModel(folder=str(options.writer))
    model.load()
    files = sorted(HERE.glob("*.jsonl"))
    asked = list(held(((path.stem, one) for path in files for one in read(path)), HELD))
    for path in options.spans:
        asked += held((("spans", one) for one in read(path)), HELD_OF_MANY)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        rows = list(pool.map(lambda one: row_of(model, *one), asked))
    if options.out:
        lines = [json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows]
        options.out.write_text("".join(lines), encoding="utf-8")
    report(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
