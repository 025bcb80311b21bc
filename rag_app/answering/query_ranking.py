"""Which of the queries that a question over a table may mean is meant: a small network over what
the question and each query have in common, taught by `training/tables`.

The words of the question weigh what is asked for and how rows are chosen; how well names, values
and numbers of the question are accounted for weighs the rest. One more candidate stands for none of
them. In numpy: thousands of candidates are weighed in some milliseconds. The likeliest are then
read, each beside the question and with what it gives, by a network that knows language (a
cross-encoder, as `sentence_ranker` has it)."""

from __future__ import annotations

import math
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_app.answering.query_reading import (
    LEAST,
    Floats,
    Interpretation,
    QueryReader,
    Values,
    Way,
    as_read,
    shares,
)
from rag_app.errors import QueryError
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.ranking import STOPWORDS
from rag_app.tables.candidates import GROUPED, CandidateQuery, Operator, TableQuestion, candidates
from rag_app.tables.conditions import (
    MOST_ROWS,
    Condition,
    ConditionKind,
    Field,
    ParsedQuestion,
    fields_of,
)
from rag_app.tables.explaining import tables_read
from rag_app.tables.querying import Result, TableDatabase
from rag_app.types import ColumnKind, Table

BUCKETS = 1 << 13  # that one, two or three words of a question fall into
OPERATORS = (*Operator, *(f"{one} by month" for one in GROUPED), "none")
VALUES = 1 << 9  # that a text falls into which a column of few has; 0 is none
KINDS = ("-", *ColumnKind)
CONDITIONS = ("-", *ConditionKind)
_BRACES = str.maketrans("{}", "()")  # which stand for values in a template
_RUN = 30  # of the candidates of a table
_NEARLY_ALL = 0.8  # of the chance of all queries
_HEAD = 5  # words in which a question says what it asks for, as a rule
_SAID_BY = {ConditionKind.IS_NOT: " ≠"}  # between a column and its text; else a colon
_BETWEEN = {  # two columns that a figure is of
    Operator.PRODUCT: "×",
    Operator.PLUS: "+",
    Operator.PER: "/",
    Operator.BETWEEN_COLUMNS: "–",
    Operator.DAYS: "–",
    Operator.MEAN_DAYS: "–",
}
_EXACT = 0.8  # of a text that is said, for it to be meant
Indices = npt.NDArray[np.int64]

_TEXT = re.compile(r"'((?:[^']|'')*)'")  # in a query


@dataclass(frozen=True, eq=False)
class QueryFeatures:
    """What is known of the candidates of a question, none of them the last.

    `dense` (candidates, features); `operators` and `kinds` (candidates,); `conditions`
    (candidates, 2); `question`: its vector (384,); `grams`: its words, as buckets; `names`: the
    vectors of what columns are called, and none (columns + 1, 384); `columns`: which of them a
    candidate is about (candidates,); `values`: texts that rows are chosen by without being named,
    as buckets (candidates, 2)."""

    dense: Floats
    operators: Indices
    kinds: Indices
    conditions: Indices
    question: Floats
    grams: Indices
    names: Floats
    columns: Indices
    values: Indices


def features(question: TableQuestion, embedder: Embedder) -> QueryFeatures:
    """What the network sees of a question's candidates."""
    return _Seen(question, embedder).features()


@dataclass(frozen=True, eq=False)
class _Choice:
    used: frozenset[int]  # words of the question that its conditions say
    columns: frozenset[int]  # words of it that name their columns
    of_conditions: list[float]
    lost: float
    of_rows: tuple[float, float, float]


class _Seen:
    def __init__(self, question: TableQuestion, embedder: Embedder) -> None:
        self._question, self._asked = question, question.parsed
        self._words = question.parsed.words
        self._content = {
            i for i, w in enumerate(self._words) if w not in STOPWORDS and len(w) > 1
        } or set(range(len(self._words)))
        self._letters = max(1, self._length(self._content))
        self._numbers = {i for i, w in enumerate(self._words) if w[0].isdigit()}
        self._said = [
            c
            for c in question.parsed.conditions
            if c.kind is ConditionKind.IS and c.named >= _EXACT
        ]
        self._head = " ".join(question.parsed.words[:_HEAD])
        self._measures = [f for f in question.parsed.fields if f.column.kind.is_measure]
        self._texts = [f for f in question.parsed.fields if f.is_text]
        self._first_text = next((f for f in question.parsed.fields if f.is_text), None)
        self._many = math.log1p(question.parsed.rows)
        self._choices: dict[tuple[Condition, ...], _Choice] = {}
        self._vectors(embedder)
        self._of_field = {field: self._seen(field) for field in question.parsed.fields}

    def _vectors(self, embedder: Embedder) -> None:
        valued = [c for c in self._asked.conditions if c.said]
        names = [field.column.name for field in self._asked.fields]
        texts = [f"{c.field.column.name}: {c.said}" for c in valued]
        asked = [self._asked.text, self._head]
        found = np.asarray(embedder.embed_documents([*asked, *names, *texts]))
        self._vector = found[0].astype(np.float32)
        self._names = found[2 : 2 + len(names)].astype(np.float32)
        near, near_head = found[2:] @ found[0], found[2:] @ found[1]
        self._near = dict(zip(self._asked.fields, map(float, near), strict=False))
        self._near_head = dict(zip(self._asked.fields, map(float, near_head), strict=False))
        self._near_text = dict(zip(valued, map(float, near[len(names) :]), strict=True))
        order = sorted(self._near.values(), reverse=True)
        self._rank = {f: order.index(v) / max(1, len(order) - 1) for f, v in self._near.items()}

    def _seen(self, field: Field) -> tuple[float, float, float, frozenset[int]]:
        places = self._asked.places(field)
        letters = sum(map(len, field.words)) or 1
        said = {self._words[place] for place in places}
        share = min(1.0, sum(map(len, said)) / letters)
        return share, self._near[field], self._rank[field], places

    def _length(self, places: set[int] | frozenset[int]) -> int:
        return sum(len(self._words[place]) for place in places)

    def features(self) -> QueryFeatures:
        candidates = self._question.candidates
        rows = [self._dense(one) for one in candidates]
        dense = np.array([*rows, self._of_none(rows)], np.float32)
        fields = [one.field for one in candidates]
        kinds = [KINDS.index(f.column.kind if f else "-") for f in fields]
        chosen = [[CONDITIONS.index(c.kind) for c in one.conditions[:2]] for one in candidates]
        places = {field: at for at, field in enumerate(self._asked.fields)}
        no_column = len(places)
        about = [places[field] if field else no_column for field in fields]
        values = [[_value_bucket(c) for c in one.conditions[:2]] for one in candidates]
        return QueryFeatures(
            dense,
            np.array([*(_operator(one) for one in candidates), len(OPERATORS) - 1]),
            np.array([*kinds, 0]),
            np.array([*(([*one, 0, 0])[:2] for one in chosen), [0, 0]]),
            self._vector,
            _grams(self._words),
            np.vstack([self._names, np.zeros((1, self._vector.shape[0]), np.float32)]),
            np.array([*about, no_column]),
            np.array([*(([*one, 0, 0])[:2] for one in values), [0, 0]]),
        )

    def _dense(self, one: CandidateQuery) -> list[float]:
        chosen = self._choice(one)
        target = self._of_field[one.field] if one.field else _NO_FIELD
        by = self._of_field[one.by] if one.by else _NO_FIELD
        explained = chosen.used | chosen.columns | target[3] | by[3]
        if one.takes_number:
            explained |= self._numbers
        left = self._content - explained
        return [
            *target[:3],
            float(bool(target[3] - chosen.used)),
            float(one.field is not None and one.field.place == 0),
            float(one.field is not None and one.field is self._first_text),
            *by[:3],
            float(bool(by[3] - chosen.used)),
            *chosen.of_conditions,
            self._length(left) / self._letters,
            len(left) / len(self._content),
            chosen.lost,
            float(len(self._numbers - explained)),
            self._length(target[3] & chosen.columns) / self._letters,
            *chosen.of_rows,
            float(one.takes_number),
            self._many,
            *self._where_said(target[3] - chosen.used, by[3] - chosen.used, chosen.used),
            self._near_head[one.field] if one.field else 0.0,
            self._near_head[one.by] if one.by else 0.0,
            *self._missed(one, chosen.used),
            float(one.field in self._measures) / max(1, len(self._measures)),
            0.0,
        ]

    def _missed(self, one: CandidateQuery, used: frozenset[int]) -> tuple[float, ...]:
        """How far the question speaks of a column that is not made use of: rows are counted where
        "how many hours" asks for their sum, or "how many suppliers" for the different ones."""
        made_use_of = {one.field, one.by, *(f for c in one.conditions for f in (c.field, c.other))}
        missed = [field for field in self._measures if field not in made_use_of]
        texts = [field for field in self._texts if field not in made_use_of]
        return (
            *self._named_beside(missed, used),
            max((self._near_head[field] for field in missed), default=0.0),
            *self._named_beside(texts, used),
        )

    def _named_beside(self, fields: Sequence[Field], used: frozenset[int]) -> tuple[float, float]:
        """How far the question names one of some columns, beside what rows are chosen by, and
        whether it does so where it says what it asks for."""
        named = [field for field in fields if self._of_field[field][3] - used]
        return (
            max((self._of_field[field][0] for field in named), default=0.0),
            float(any(min(self._of_field[field][3] - used) < _HEAD for field in named)),
        )

    def _where_said(
        self, target: frozenset[int], by: frozenset[int], used: frozenset[int]
    ) -> tuple[float, ...]:
        """What is asked for is said early in a question, what it is chosen by later."""
        begins, follows = min(target, default=-1), min(by, default=-1)
        last = max(1, len(self._words) - 1)
        return (
            begins / last if target else 0.0,
            float(0 <= begins < _HEAD),
            follows / last if by else 0.0,
            float(0 <= follows < begins),
            sum(used) / len(used) / last if used else 0.0,
            float(bool(target) and bool(used) and begins > max(used)),
        )

    def _choice(self, one: CandidateQuery) -> _Choice:
        """What is known of the rows that a candidate is about: the same for many of them."""
        if one.conditions not in self._choices:
            conditions = one.conditions
            used = frozenset().union(*(c.used for c in conditions))
            fields = {f for c in conditions for f in (c.field, c.other) if f}
            columns = frozenset().union(*(self._of_field[f][3] for f in fields))
            rows = int(one.mask.sum())
            self._choices[conditions] = _Choice(
                used,
                columns,
                self._of_conditions(conditions, used, columns),
                self._lost(used),
                (math.log1p(rows), rows / self._asked.rows, float(rows == 1)),
            )
        return self._choices[one.conditions]

    def _of_conditions(
        self, conditions: Sequence[Condition], used: frozenset[int], named: frozenset[int]
    ) -> list[float]:
        fields = [self._of_field[c.field] for c in conditions]
        held = self._length(used & self._content) / self._letters
        least = min((c.named for c in conditions), default=0.0)
        near = [self._near_text[c] for c in conditions if c in self._near_text]
        return [
            float(len(conditions)),
            sum(c.named for c in conditions),
            least,
            held,
            held if least >= _EXACT else 0.0,
            max((seen[0] for seen in fields), default=0.0),
            max((seen[1] for seen in fields), default=0.0),
            max(near, default=0.0),
            min((self._before_others(c) for c in conditions), default=0.0),
            float(bool(named - used)),
            float(len({c.field for c in conditions}) < len(conditions)),
        ]

    def _before_others(self, condition: Condition) -> float:
        """How much nearer its text is to the question than any other of the column."""
        if condition not in self._near_text:
            return 0.0
        others = [
            near
            for one, near in self._near_text.items()
            if one.field is condition.field and one.said != condition.said
        ]
        return self._near_text[condition] - max(others) if others else 0.0

    def _lost(self, used: frozenset[int]) -> float:
        """The most of the question that says a text of the table which is not made use of."""
        lost = (self._length(one.used - used) for one in self._said if not one.used <= used)
        return max(lost, default=0) / self._letters

    def _of_none(self, rows: Sequence[Sequence[float]]) -> list[float]:
        """What is best in any candidate: nothing is meant if that is little."""
        if not rows:
            return [0.0] * DENSE
        values = np.array(rows)
        least = {_LEFT, _LEFT + 1, _LOST, _LOST + 1, *range(_MISSED, _MISSED + 5)}
        best = [
            float(values[:, at].min() if at in least else values[:, at].max())
            for at in range(DENSE)
        ]
        return [*best[:-1], 1.0]


_NO_FIELD: tuple[float, float, float, frozenset[int]] = (0.0, 0.0, 0.0, frozenset())
_LEFT, _LOST, _MISSED = 21, 23, 39  # where in the features stands what is not accounted for
DENSE = 46


def _operator(one: CandidateQuery) -> int:
    """Its place among OPERATORS; groups of months are asked for by other words than groups of
    texts."""
    by_month = one.operator in GROUPED and one.field is not None and one.field.is_time
    return OPERATORS.index(f"{one.operator} by month" if by_month else one.operator)


def _value_bucket(condition: Condition) -> int:
    if condition.kind is not ConditionKind.ONE_OF_FEW or not condition.said:
        return 0
    return 1 + zlib.crc32(condition.said.encode()) % (VALUES - 1)


def _grams(words: Sequence[str]) -> Indices:
    """One, two and three words that follow each other, as buckets."""
    line = ["<", *words, ">"]
    found = [
        " ".join(line[at : at + size]) for size in (1, 2, 3) for at in range(len(line) - size + 1)
    ]
    return np.array([zlib.crc32(one.encode()) % BUCKETS for one in found])


def first_chances(question: TableQuestion, embedder: Embedder) -> Floats:
    """How likely each candidate is meant by what was taught first; nothing last."""
    return chances_of(features(question, embedder))


def chances_of(seen: QueryFeatures) -> Floats:
    """The same of what is known of candidates, (candidates + 1,)."""
    return shares(_scores(_weights()[1], seen))


class QueryRanker:
    """Weighs the candidates of a question by the weights that come with the package; thread-safe.

    `reader`: what reads the likeliest of them, None: nothing does."""

    def __init__(self, embedder: Embedder, reader: QueryReader | None) -> None:
        self._embedder, self._reader = embedder, reader

    def interpretations(self, question: str, database: TableDatabase) -> list[Interpretation]:
        """What a question may mean over any table that is open and not too long, the likeliest
        first; none by an embedding model that it was not taught with. Raises QueryError and
        ModelUnavailable.

        Of several tables at most one is meant: the odds of each against that nothing of it is are
        held against each other."""
        if self._embedder.fingerprint != _weights()[0]:
            return []
        found: list[tuple[Interpretation, float]] = []  # and the chance of nothing of its table
        total = 1.0
        for opened in database.tables:
            if opened.table.rows <= MOST_ROWS:
                meant = candidates(question, opened, fields_of(database, opened))
                nothing, each = self._over(meant, opened.table, database)
                total += (1.0 - nothing) / nothing
                found += ((one, nothing) for one in each)
        shared = [replace(one, chance=one.of_table / nothing / total) for one, nothing in found]
        return sorted(shared, key=lambda one: -one.chance)

    def _over(
        self, question: TableQuestion, table: Table, database: TableDatabase
    ) -> tuple[float, list[Interpretation]]:
        """The chance that nothing of a table is meant, and what may be."""
        if not question.candidates:
            return 1.0, []
        likely = first_chances(question, self._embedder)
        nothing = max(float(likely[-1]), LEAST)
        meant = list(given(question, likely[:-1], table, database))
        if self._reader is None or not meant:
            return nothing, meant
        return self._reader.weighed(question.parsed.text, nothing, meant)


def given(
    question: TableQuestion, chances: Floats, table: Table, database: TableDatabase
) -> Iterator[Interpretation]:
    """Those of the likeliest candidates that give something, by what they give; `chances`
    (candidates,)."""
    found: dict[Values, list[Way]] = {}
    for at in np.argsort(-chances)[:_RUN]:
        candidate = question.candidates[at]
        try:
            result = database.fetch(candidate.sql)
        except QueryError:  # too large a figure, say: it is not what is meant
            continue
        if result.says_something:
            way = Way(candidate, as_read(candidate, table, result), float(chances[at]))
            found.setdefault(values_of(result), []).append(way)
    for values, ways in found.items():
        chance = sum(way.chance for way in ways)
        leaves_out = all(_leaves_out(way.candidate, question.parsed) for way in ways)
        yield Interpretation(tuple(ways), values, chance, chance, leaves_out)


def _leaves_out(one: CandidateQuery, asked: ParsedQuestion) -> bool:
    fields = [one.field, one.by, *(f for c in one.conditions for f in (c.field, c.other))]
    made_use_of = frozenset().union(
        *(c.used for c in one.conditions), *(asked.places(field) for field in fields if field)
    )
    return any(place not in made_use_of for place, _ in asked.months()) or any(
        c.kind is ConditionKind.IS and c.named >= _EXACT and not c.used <= made_use_of
        for c in asked.conditions
    )


def values_of(result: Result) -> Values:
    """The rows of a result in any order, to compare results by."""
    return tuple(sorted(tuple(map(_value, row)) for row in result.rows))


def said_of(candidate: CandidateQuery) -> str:
    """A template for what a candidate gives: what rows were chosen by, and the column that its
    values are of. In no language but the table's."""
    texts = [
        f"{c.field.column.name}{_SAID_BY.get(c.kind, ':')} {c.field.as_written(c.said)}"
        for c in candidate.conditions
        if c.said
    ]
    field, by = candidate.field, candidate.by
    named = f"{field.column.name}: " if field and not candidate.operator.counts else ""
    if field and by and candidate.operator in _BETWEEN:
        named = f"{field.column.name} {_BETWEEN[candidate.operator]} {by.column.name}: "
    begun = f"{', '.join(texts)} – " if texts else ""
    percent = "%" if candidate.operator is Operator.SHARE else ""
    return f"{begun}{named}".translate(_BRACES) + "{rows}" + percent


def agreement(values: Values, interpretations: Sequence[Interpretation]) -> float:
    """The chance of what gives the same as another query; who is asked for may be named with the
    figure that tells."""
    return sum(one.of_table for one in interpretations if _same(values, one.values))


def likeliest_table(interpretations: Sequence[Interpretation], database: TableDatabase) -> str:
    """The one of several tables, as queries call it, to which nearly all chance is given; empty:
    there is none. Raises QueryError."""
    chances: dict[str, float] = defaultdict(float)
    for one in interpretations if len(database.tables) > 1 else ():
        for name in tables_read(database.tree(one.candidate.sql)):
            chances[name] += one.chance
    whole = _NEARLY_ALL * sum(chances.values())
    return next((name for name, chance in chances.items() if chance >= whole), "")


def other_way_round(
    sql: str, say: str, values: Values, interpretations: Sequence[Interpretation]
) -> str:
    """The query that gives as much more as another gives less, if the sentence around that has the
    two things that it compares in the other order; empty: there is none."""
    if len(values) != 1 or len(values[0]) != 1 or not values[0][0].startswith("-"):
        return ""
    texts = [text.replace("''", "'").lower() for text in dict.fromkeys(_TEXT.findall(sql))]
    places = [say.lower().find(text) for text in texts]
    if len(places) != 2 or not -1 < places[1] < places[0]:
        return ""
    more = ((values[0][0].removeprefix("-"),),)
    return next((one.candidate.sql for one in interpretations if one.values == more), "")


def _same(told: Values, values: Values) -> bool:
    if len(told) != len(values):
        return False
    width, least = len(told[0]) if told else 0, len(values[0]) if values else 0
    if least == 1 and width > 1:
        return any(tuple(sorted((row[at],) for row in told)) == values for at in range(width))
    return told == values


def _value(value: Any) -> str:
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return f"{float(value):.2f}"
    return str(value).strip().lower()


@cache
def _weights() -> tuple[str, dict[str, Floats]]:
    """The fingerprint of the embedding model that they were taught with, and the weights."""
    place = files("rag_app.answering") / "query_ranking.npz"
    with place.open("rb") as file, np.load(file) as held:
        weights = {name: held[name] for name in held.files}
    fingerprint = str(weights.pop("belongs"))
    return fingerprint, {name: one.astype(np.float32) for name, one in weights.items()}


def _scores(weights: dict[str, Floats], seen: QueryFeatures) -> Floats:
    """(candidates,): the sum of a network over what is seen and of linear weights of the words."""
    dense = (seen.dense - weights["mean"]) / weights["spread"]
    embedded = [
        dense,
        weights["operator"][seen.operators],
        weights["kind"][seen.kinds],
        weights["condition"][seen.conditions].sum(1),
    ]
    hidden = np.concatenate(embedded, 1)
    for layer in ("0", "1"):
        hidden = np.maximum(hidden @ weights[f"w{layer}"].T + weights[f"b{layer}"], 0.0)
    said = weights["of_vector"] @ seen.question + weights["of_grams"][seen.grams].sum(0)
    operators, kinds, conditions = np.split(said, [len(OPERATORS), len(OPERATORS) + len(KINDS)])
    of_names = weights["of_names"] @ seen.names.T
    of_values = weights["value"] @ weights["of_grams_values"][seen.grams].sum(0)
    scores: Floats = (
        hidden @ weights["w2"]
        + operators[seen.operators]
        + kinds[seen.kinds]
        + conditions[seen.conditions].sum(1)
        + of_names[seen.operators, seen.columns]
        + of_values[seen.values].sum(1)
    )
    return scores
