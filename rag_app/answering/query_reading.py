"""Reads the queries that a question over a table may mean, each beside the question and with what
it gives: a cross-encoder of the sentence ranker's shape, taught by `training/tables/reading.py`.

It knows language, where the weights of `query_ranking` know words: "how much do we owe" is asked of
what was not paid."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_app.answering.sentence_ranker import ABOUT, SentenceRanker, Titled
from rag_app.tables.candidates import CandidateQuery
from rag_app.tables.querying import Result
from rag_app.types import Table

FOLDER = Path(str(files("rag_app") / "models" / "query_reader"))
READ = 16  # results of a question that are read beside it
LEAST = 1e-6  # of a chance that divides
_WAYS = 3  # to each result
_LEAST_KNOWN = 1e-12  # of a chance whose odds are weighed
_SHOWN_ROWS, _SHOWN_LETTERS = 3, 24  # of what a query gives, to whoever reads it
_SHORTER = (  # of a query: what all have in common, or what says nothing to whoever reads it
    (re.compile(r"\bFROM t\d+\b"), ""),
    (re.compile(r"^SELECT "), ""),
    (re.compile(r"lower\((\w+)\)"), r"\1"),
    (re.compile(r"100\.0 \*"), "percent"),
    (re.compile(r"FILTER \(WHERE"), "(where"),
    (re.compile(r"nullif\((.*?), 0\)"), r"\1"),
)
_MARKS = str.maketrans("'%", "  ")
_WORD = re.compile(r"'(?:[^']|'')*'|\w+")  # a text that is looked for is none of the names

Values = tuple[tuple[str, ...], ...]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Way:
    """A query, what it says and gives in words that a network reads, and its own chance."""

    candidate: CandidateQuery
    told: str
    chance: float


@dataclass(frozen=True, eq=False)
class Interpretation:
    """What a question may mean, and the chance that it does: that of all queries which give the
    same, the likeliest first. `of_table`: the chance if its table is meant; `leaves_out`: the
    question says a text of the table, or a month, of which none of these queries knows anything."""

    ways: tuple[Way, ...]
    values: Values
    chance: float
    of_table: float
    leaves_out: bool = False

    @property
    def candidate(self) -> CandidateQuery:
        """The query that stands for all."""
        return self.ways[0].candidate


class QueryReader:
    """Reads queries and what they give beside the question, by the network in `folder`."""

    def __init__(self, folder: Path = FOLDER, threads: int = 0) -> None:
        self._network = SentenceRanker(folder, threads)
        self._folder = folder

    def weighed(
        self, question: str, nothing: float, meant: Sequence[Interpretation]
    ) -> tuple[float, list[Interpretation]]:
        """The chance that nothing is meant, and the likeliest interpretations with theirs: what the
        network reads is added to the odds that there are. Raises ModelUnavailable."""
        first = sorted(meant, key=lambda one: -one.chance)[:READ]
        told = [as_passage(way.told) for one in first for way in one.ways[:_WAYS]]
        read = iter(self._network.score(question, told))
        scored = [self._read(one, read) for one in first]
        known = np.array([*map(log_chance, (*(one.chance for one in first), nothing))], np.float32)
        scores = np.array([*(score for _, score in scored), 0.0], np.float32)
        odds: Floats = self._counts * known + scores
        *chances, nothing = map(float, shares(odds))
        weighed = [
            replace(one, chance=chance, of_table=chance)
            for (one, _), chance in zip(scored, chances, strict=True)
        ]
        return max(nothing, LEAST), sorted(weighed, key=lambda one: -one.chance)

    def _read(
        self, one: Interpretation, scores: Iterator[list[float]]
    ) -> tuple[Interpretation, float]:
        """An interpretation with the way first that is likeliest now, and its score."""
        read = [
            (self._counts * log_chance(way.chance) + score, score, way)
            for way, (score,) in zip(one.ways[:_WAYS], scores, strict=False)
        ]
        read.sort(key=lambda each: -each[0])
        return replace(one, ways=tuple(way for *_, way in read)), read[0][1]

    @cached_property
    def _counts(self) -> np.float32:
        return np.float32(json.loads((self._folder / ABOUT).read_text("utf-8"))["counts"])


def as_passage(told: str) -> Titled:
    """A query as a passage of one sentence."""
    return Titled("", told, ((0, len(told)),))


def as_read(candidate: CandidateQuery, table: Table, result: Result) -> str:
    """A query by the names of its columns, and the first of what it gives."""
    text = candidate.sql
    for pattern, shorter in _SHORTER:
        text = pattern.sub(shorter, text)
    names = {column.sql_name: column.name for column in table.columns}
    text = _WORD.sub(lambda word: names.get(word[0], word[0]), text).translate(_MARKS)
    rows = [" ".join(map(_shown, row)) for row in result.rows[:_SHOWN_ROWS]]
    more = f" ({len(result.rows)})" if len(result.rows) > _SHOWN_ROWS else ""
    return f"{' '.join(text.split())} => {'; '.join(rows)}{more}"


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)[:_SHOWN_LETTERS]


def log_chance(chance: float) -> float:
    """Its logarithm; that of no chance at all, too."""
    return math.log(chance + _LEAST_KNOWN)


def shares(odds: Floats) -> Floats:
    """Chances by their log-odds: a softmax."""
    found: Floats = np.exp(odds - odds.max())
    found /= found.sum()
    return found
