"""Do the rules for follow-up questions make them standalone? Compared with what people wrote.

    .venv/bin/python -m benchmarks.follow_ups canard_dev.jsonl.gz [--tune] [--untitled]
        [--writer FOLDER] [--most N]

Lines are {"history": [title, section, question, answer, ...], "question", "rewrite"}. Articles are
split by a hash of their title; rules are tuned on the one half (--tune) and reported on the other.
The title and section count as the first turn; --untitled leaves them out, as in a chat that nobody
introduces. MRR and hit@5 stand for a retriever: BM25 over every answer in the half measured, each
with its title and section before it, and the one to find is what the conversation went on with."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rag_app.answering.coreference import names, standalone, years
from rag_app.answering.local_chat import OpenVinoChatModel
from rag_app.answering.prompts import Message, rewriting_messages
from rag_app.answering.query_rewriting import Rewriter, Turn, cleaned
from rag_app.text.languages import STOP

Row = dict[str, Any]
Method = Callable[[str, Sequence[Turn]], str]
_WORD = re.compile(r"\w+")


def main() -> None:
    """Measure every method and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--tune", action="store_true", help="the half that rules are tuned on")
    parser.add_argument("--untitled", action="store_true", help="without title and section")
    parser.add_argument("--writer", type=Path, help="the folder of a taught writer's weights")
    parser.add_argument("--most", type=int, default=10_000, help="questions that are asked")
    arguments = parser.parse_args()
    with gzip.open(arguments.path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    rows = [row for row in rows if is_tuning(row) == arguments.tune][: arguments.most]
    skip = 2 if arguments.untitled else 0
    asked = [(row, turns_of(row["history"][skip:])) for row in rows]
    index = Answers(rows)
    print(f"{len(rows)} questions, {len(index.wanted)} of them with a next answer to find")
    print("| method | F1 | words recovered | missing ones | words added | MRR | hit@5 | ms |")
    print("|---|---|---|---|---|---|---|---|")
    methods = METHODS | (by_writer(arguments.writer) if arguments.writer else {})
    for name, method in methods.items():
        began = time.perf_counter()
        made = [method(row["question"], turns) for row, turns in asked]
        spent = (time.perf_counter() - began) / len(rows)
        print(_line(name, rows, made, index) + f" {spent * 1000:.2f} |")
    print(_line("what people wrote", rows, [row["rewrite"] for row in rows], index) + " |")
    print(_elsewhere(asked))


def is_tuning(row: Row) -> bool:
    """Whether it is of the half of the articles that rules are tuned on."""
    return hashlib.sha256(row["history"][0].encode()).digest()[0] % 2 == 0


def turns_of(history: Sequence[str]) -> list[Turn]:
    """Question and answer by turns; an answer that says nothing is empty."""
    pairs = zip(history[::2], history[1::2], strict=True)
    return [
        Turn(question, "" if answer == "I don't know." else answer) for question, answer in pairs
    ]


def tokens(text: str) -> list[str]:
    """Words as they are compared: lower case, no possessive."""
    return _WORD.findall(re.sub(r"['’]s\b", "", text.lower()))


def f1(made: str, gold: str) -> float:
    """Harmonic mean of the shares of words that both have."""
    left, right = tokens(made), tokens(gold)
    both = sum((Counter(left) & Counter(right)).values())
    return 2 * both / (len(left) + len(right)) if both else 0.0


def _line(name: str, rows: Sequence[Row], made: Sequence[str], index: Answers) -> str:
    pairs = list(zip(rows, made, strict=True))
    gold = [set(tokens(row["rewrite"])) - STOP for row in rows]
    missing = [one - set(tokens(row["question"])) for one, row in zip(gold, rows, strict=True)]
    figures = [
        _mean(f1(one, row["rewrite"]) for row, one in pairs),
        _mean(_share(one, words) for one, words in zip(made, gold, strict=True) if words),
        _mean(_share(one, words) for one, words in zip(made, missing, strict=True) if words),
        _mean(len(tokens(one)) - len(tokens(row["question"])) for row, one in pairs),
        *index.found(made),
    ]
    return f"| {name} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |"


def _elsewhere(asked: Sequence[tuple[Row, list[Turn]]]) -> str:
    """How often the rules touch what stands alone: rewrites, asked in another conversation."""
    moved = [
        (row["rewrite"], turns)
        for (row, _), (other, turns) in zip(asked, [*asked[97:], *asked[:97]], strict=True)
        if turns and row["history"][0] != other["history"][0]
    ]
    touched = sum(standalone(question, turns) != question for question, turns in moved)
    return f"{len(moved)} rewrites asked in another conversation: {touched} changed by our rules"


def _share(made: str, wanted: set[str]) -> float:
    return len(wanted & set(tokens(made))) / len(wanted)


def _mean(figures: Iterator[float]) -> float:
    values = list(figures)
    return sum(values) / len(values) if values else math.nan


class Answers:
    """BM25 over the answers of the conversations, and which of them each question wants."""

    def __init__(self, rows: Sequence[Row]) -> None:
        ids: dict[str, int] = {}
        self.wanted: dict[int, int] = {}
        for at, row in enumerate(rows):
            history = row["history"]
            for answer in history[3::2]:
                self._add(ids, history, answer)
            following = rows[at + 1]["history"] if at + 1 < len(rows) else []
            goes_on = following[: len(history)] == history and len(following) > len(history)
            if goes_on and following[-1] != "I don't know.":
                self.wanted[at] = self._add(ids, history, following[-1])
        counted = [Counter(tokens(text)) for text in ids]
        self.lengths = [sum(words.values()) for words in counted]
        self.average = sum(self.lengths) / max(len(counted), 1)
        self.postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for at, words in enumerate(counted):
            for word, count in words.items():
                self.postings[word].append((at, count))

    @staticmethod
    def _add(ids: dict[str, int], history: Sequence[str], answer: str) -> int:
        return ids.setdefault(f"{history[0]} {history[1]} {answer}", len(ids))

    def found(self, queries: Sequence[str]) -> tuple[float, float]:
        """Mean reciprocal rank of the wanted answer, and how often it is among the first five."""
        ranks = [self._rank(queries[at], wanted) for at, wanted in self.wanted.items()]
        return _mean(1 / r for r in ranks), _mean(float(r <= 5) for r in ranks)

    def _rank(self, query: str, wanted: int) -> float:
        scores: dict[int, float] = defaultdict(float)
        for word in set(tokens(query)) - STOP:
            held = self.postings.get(word, [])
            rarity = math.log(1 + (len(self.lengths) - len(held) + 0.5) / (len(held) + 0.5))
            for at, count in held:
                norm = 1.2 * (0.25 + 0.75 * self.lengths[at] / self.average)
                scores[at] += rarity * count * 2.2 / (count + norm)
        mine = scores.get(wanted, 0.0)
        if not mine:
            return math.inf
        better = sum(score > mine for score in scores.values())
        ties = sum(score == mine for score in scores.values())
        return better + (ties + 1) / 2


def _as_it_is(question: str, turns: Sequence[Turn]) -> str:
    return question


def _all(question: str, turns: Sequence[Turn]) -> str:
    return " ".join([question, *(f"{turn.question} {turn.answer}" for turn in turns)])


def _last(question: str, turns: Sequence[Turn]) -> str:
    return _all(question, turns[-1:])


def _with_names(question: str, turns: Sequence[Turn], last: int = 2) -> str:
    said = [text for turn in [*turns[:1], *turns[-last:]] for text in (turn.question, turn.answer)]
    telling = [one for text in said for one in [*(n.text for n in names(text)), *years(text)]]
    new = [one for one in dict.fromkeys(telling) if one.lower() not in question.lower()]
    return " ".join([question, *new])


def by_writer(folder: Path) -> dict[str, Method]:
    """The writer that was taught to, alone, and in the app: behind the gate, then the rules."""
    model = OpenVinoChatModel(folder=str(folder), most_tokens=80)
    model.load()

    def ask(messages: Sequence[Message], cancelled: Callable[[], bool]) -> str:
        return str(model.invoke(list(messages)).text)

    def alone(question: str, turns: Sequence[Turn]) -> str:
        said = [(turn.question, turn.answer) for turn in turns]
        return cleaned(ask(rewriting_messages(question, said), bool), question, turns)

    return {"taught writer": alone, "in the app": Rewriter(ask, taught=True).rewrite}


METHODS: dict[str, Method] = {
    "question as it is": _as_it_is,
    "with the last question and answer": _last,
    "with the whole history": _all,
    "with names and years of the first and last two turns": _with_names,
    "our rules": standalone,
    "our rules, with names and years of the first turn": lambda q, t: _with_names(
        standalone(q, t), t[:1]
    ),
    "our rules, with those of the first and last turn": lambda q, t: _with_names(
        standalone(q, t), t, 1
    ),
    "our rules, with those of the first and last two turns": lambda q, t: _with_names(
        standalone(q, t), t
    ),
}

if __name__ == "__main__":
    main()
