"""What a writer makes of wishes for drafts, summaries, comparisons and translations.

    python -m benchmarks.written_tasks WRITER rows.jsonl [--wishes FILE]
    python -m benchmarks.written_tasks --report rows.jsonl

WRITER is the folder of the writer's weights. Each wish of `benchmarks/wishes` comes with passages
and with what a reader must be able to say yes to. Only people can judge that: they add `holds`, a
list of true and false, to the rows. What code can tell is told for all rows: figures that neither
the passages nor the wish hold, the language, a reply that goes round."""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.written_answers import rows_of
from rag_app.answering.chat_generator import language_of
from rag_app.answering.generation import repeats_itself
from rag_app.answering.prompts import says_nothing, task_messages

WISHES = Path(__file__).resolve().parent / "wishes" / "wishes.jsonl"
_FIGURE = re.compile(r"\d+")
_TOKENS = 350


def written(writer: Path, wishes: Path, into: Path) -> None:
    """A row for each wish that has none yet."""
    from rag_app.answering.local_chat import OpenVinoChatModel

    model = OpenVinoChatModel(folder=str(writer), most_tokens=_TOKENS)
    known = {row["id"] for row in rows_of([into])} if into.exists() else set()
    with into.open("a", encoding="utf-8") as file:
        for number, context in enumerate(rows_of([wishes])):
            parts = [(one["title"], one["text"]) for one in context["passages"]]
            for place, work in enumerate(context["work"]):
                if (name := f"{number}-{place}") in known:
                    continue
                began = time.perf_counter()
                messages = task_messages(work["wish"], parts, work["language"])
                text = str(model.invoke(messages).content)
                seconds = round(time.perf_counter() - began, 1)
                row = {"id": name, "wish": work["wish"], "language": work["language"]}
                row |= {"check": work["check"], "text": text, "seconds": seconds}
                row |= told(text, work, parts)
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                file.flush()


def told(text: str, work: dict[str, Any], parts: Sequence[tuple[str, str]]) -> dict[str, bool]:
    """What code can tell of a reply."""
    held = set(_FIGURE.findall(" ".join([work["wish"], *(one for part in parts for one in part)])))
    return {
        "invents figures": not set(_FIGURE.findall(text)) <= held,
        "in its language": says_nothing(text) or language_of(text) == work["language"],
        "goes round": repeats_itself(text),
        "says nothing": says_nothing(text),
    }


def report(rows: Sequence[dict[str, Any]]) -> None:
    """How many of each, and how much of what was to hold does."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(key for key, value in row.items() if value is True)
    for key, number in sorted(counts.items()):
        print(f"{key}: {number} of {len(rows)}")
    judged = [row["holds"] for row in rows if "holds" in row]
    if judged:
        holds = [one for some in judged for one in some]
        print(f"holds: {sum(holds) / len(holds):.3f} of {len(holds)}")
        print(f"all of a wish: {sum(map(all, judged)) / len(judged):.3f} of {len(judged)}")


def main() -> None:
    """Write, or report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("writer", type=Path, nargs="?", help="folder of the writer's weights")
    parser.add_argument("rows", type=Path, nargs="?", help="file of rows to add to")
    parser.add_argument("--wishes", type=Path, default=WISHES)
    parser.add_argument("--report", type=Path)
    given = parser.parse_args()
    if given.writer and given.rows:
        written(given.writer, given.wishes, given.rows)
    if given.report:
        report(rows_of([given.report]))


if __name__ == "__main__":
    main()
