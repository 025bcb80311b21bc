"""What a language model is told of tables before it writes a query: columns, what is in them, and
which of their values a question names. Pure but for the queries it asks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from rag_app.errors import QueryError
from rag_app.retrieval.ranking import STOPWORDS
from rag_app.tables.explaining import (
    Node,
    TextCondition,
    columns,
    tables_read,
    text_conditions,
)
from rag_app.tables.joining import OpenTable, literal
from rag_app.tables.naming import name_key
from rag_app.tables.querying import TableDatabase
from rag_app.text.languages import compared
from rag_app.text.sentences import one_line
from rag_app.types import Column, ColumnKind, RowRole, Table

MOST_COLUMNS = 24  # of a table that are described
_SHOWN = 5  # values of a column
_LONGEST = 32  # characters of a value that is shown
_KNOWN = 5_000  # values of a column that a question may name
_LONG = 50_000  # rows, and different texts of a column
_NAMED = 6  # values that are said to be named by a question
_ALIKE = 0.9  # Jaro-Winkler, of words that are taken for the same
_INEXACT = 4  # letters of a word that need not be the same to the letter
_PART = 0.5  # of a value's letters that are named
_FIGURE = re.compile(r"[^\w\s]?\d")
_NUMBER = re.compile(r"\d+")
_HOLE = re.compile(r"\{[^}]*\}")  # where the result goes into a sentence
_KEY = re.compile(r"(?<!\w)(\w{1,4})\s*=\s*(\w[^\n,;=|–(]{0,40})")  # a sign, what it means
_LEAST = 3  # letters of a name
_RARE = 3  # values, of all columns, that share a word which alone names them


@dataclass(frozen=True, slots=True)
class Described:
    """Open tables as a model reads them, and the values of their columns of text."""

    texts: Mapping[OpenTable, str]
    values: Mapping[tuple[OpenTable, Column], tuple[str, ...]] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)  # by what queries call them
    keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # of tables: see `_keys`
    totals: tuple[str, ...] = ()  # what rows of totals are called, which are none of the data

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.texts.values())

    def of(self, table: str) -> Described:
        """What is said of one of them, as queries call it."""
        texts = {each: text for each, text in self.texts.items() if each.sql_name == table}
        values = {(each, c): v for (each, c), v in self.values.items() if each.sql_name == table}
        return replace(self, texts=texts, values=values)

    def named(self, question: str) -> list[str]:
        """The values that a question names, as conditions of a query, the nearest first."""
        asked = compared(question)
        words = [word for word in dict.fromkeys(asked) if len(word) > 1]
        of_values = {
            (table, column): {
                v: parts
                for v in values
                if not _is_another(parts := compared(self._meaning(table, v)), asked)
            }
            for (table, column), values in self.values.items()
        }
        shared = Counter(
            word for known in of_values.values() for parts in known.values() for word in {*parts}
        )
        same = alike(words, list(shared))
        telling = {word for word in same - STOPWORDS if shared[word] <= _RARE and len(word) > 2}
        found = [
            (score, _condition(table, column, value))
            for (table, column), known in of_values.items()
            for score, value in _named(known, same, telling)
        ]
        found.sort(key=lambda one: -one[0])
        return list(dict.fromkeys(condition for _, condition in found))[:_NAMED]

    def _meaning(self, table: OpenTable, value: str) -> str:
        """What a value stands for, if a line above or below its table says so; else the value."""
        return self.keys.get(table.sql_name, {}).get(value.lower(), value)

    def nearest(self, condition: TextCondition) -> str | None:
        """The text of a condition, or the value it is nearly; None: its column has no such value.

        A column whose values are not all known is believed to have it."""
        held = self._held(condition)
        values = [value.lower() for some in held for value in some]
        text = condition.text.lower()
        if not values or any(len(some) >= _KNOWN for some in held) or text in values:
            return condition.text
        if condition.pattern:
            parts = [part for part in text.split("%") if part]
            return condition.text if any(all(p in v for p in parts) for v in values) else None
        key = name_key(text)
        return next((v for v in values if name_key(v) == key), None) or _nearest(text, values)

    def with_known_texts(self, sql: str, conditions: Sequence[TextCondition]) -> str:
        """A query whose texts, where no row has them, are the nearest that a row has."""
        for condition in conditions:
            near = self.nearest(condition)
            if near is not None and near != condition.text:
                sql = sql.replace(literal(condition.text), literal(near))
        return sql

    def passes_over(self, question: str, conditions: Sequence[TextCondition]) -> bool:
        """Whether a question names a total, which is in no row that a query sees, and a query takes
        a row instead that it does not name: "investment income" for "total income"."""
        asked = set(compared(question))
        named = any(
            len(words := compared(one)) > 1 and asked.issuperset(words) for one in self.totals
        )
        made = {column.sql_name for opened in self.texts for column in opened.made}
        of_rows = [c for c in conditions if c.column not in made]
        return named and any(not asked.issuperset(compared(c.text)) for c in of_rows)

    def named_instead(self, question: str, conditions: Sequence[TextCondition]) -> str:
        """Of the column of a condition another value, by a name of which the question calls it,
        while it has none of the condition's own: "Colm's folks" for "Priya's parents"; or empty."""
        asked = set(compared(question))
        texts = {condition.text.lower() for condition in conditions}
        for values in (held for condition in conditions for held in self._held(condition)):
            called = Counter(word for value in values for word in _names(value))
            own = {v: {w for w in _names(v) if called[w] == 1} for v in values}
            looked_for = [names for value, names in own.items() if value.lower() in texts and names]
            if looked_for and all(names.isdisjoint(asked) for names in looked_for):
                said = (
                    v for v in values if v.lower() not in texts and not own[v].isdisjoint(asked)
                )
                if other := next(said, ""):
                    return other
        return ""

    def left_out(self, node: Node, question: str, say: str) -> list[tuple[OpenTable, str]]:
        """The condition, `{0}` in which is the table, that a name sets which the question says
        whole, or the sentence around its result for a word of the question, in a column that a
        query does not look at. `node`: what the query is made of. A name has a capital, or it may
        be any word. Raises QueryError if it stands in several columns."""
        asked, said = compared(question), compared(_HOLE.sub(" | ", say))
        looked_at, read = columns(node), tables_read(node)
        held = {word for condition in text_conditions(node) for word in compared(condition.text)}
        found: dict[tuple[OpenTable, Column], list[str]] = {}
        for (table, column), values in self.values.items():
            if table.sql_name not in read or column.sql_name in looked_at or column in table.made:
                continue
            for value in values:
                words = compared(value)
                telling = {*words} - STOPWORDS - held
                if not value[:1].isupper() or not telling or len(value) < _LEAST:
                    continue
                if _says(asked, words) or (_says(said, words) and alike(asked, [*telling])):
                    found.setdefault((table, column), []).append(value)
        if len(found) > 1:
            raise QueryError(f"The query leaves out {next(iter(found.values()))[0]}.")
        lowered = {one: [literal(value.lower()) for value in found[one]] for one in found}
        return [
            (table, f"lower({{0}}.{column.sql_name}) IN ({', '.join(values)})")
            for (table, column), values in lowered.items()
        ]

    def elsewhere(self, condition: TextCondition) -> list[str]:
        """The columns that have the text of a condition, as queries call them: "t1.supplier"."""
        parts = list(filter(None, condition.text.lower().split("%" if condition.pattern else None)))
        return [
            f"{table.sql_name}.{column.sql_name}"
            for (table, column), values in self.values.items()
            if any(parts and all(part in value.lower() for part in parts) for value in values)
        ]

    def _held(self, condition: TextCondition) -> list[tuple[str, ...]]:
        """The values of the columns that a condition may be of."""
        return [v for (_, column), v in self.values.items() if column.sql_name == condition.column]


def _names(value: str) -> set[str]:
    """The words of a value that have a capital, and may be a name."""
    capital = " ".join(word for word in value.split() if word[:1].isupper())
    return {word for word in compared(capital) if len(word) >= _LEAST} - STOPWORDS


def _says(spoken: Sequence[str], words: Sequence[str]) -> bool:
    """Whether words stand one behind the other."""
    ends = range(len(words), len(spoken) + 1)
    return any([*spoken[at - len(words) : at]] == [*words] for at in ends)


def _condition(table: OpenTable, column: Column, value: str) -> str:
    """A value as a query would say it, in whatever letters it stands."""
    return f"lower({table.sql_name}.{column.sql_name}) = {literal(value.lower())}"


def describe(database: TableDatabase, titles: Mapping[str, str]) -> Described:
    """The open tables of a database; `titles`: names of documents by their ids."""
    values: dict[tuple[OpenTable, Column], tuple[str, ...]] = {}
    texts: dict[OpenTable, str] = {}
    named: dict[str, str] = {}
    for opened in database.tables:
        table = opened.table
        names = [titles.get(table.document_id, ""), table.name, table.title]
        about = " / ".join(dict.fromkeys(one_line(name) for name in names if name.strip()))
        named[opened.sql_name] = about
        lines = [f"{opened.sql_name}: {about} ({table.rows:,} rows)"]
        hidden = frozenset(table.hidden_columns)
        shown = [c for at, c in enumerate(table.columns) if at not in hidden][:MOST_COLUMNS]
        shown += [column for column in opened.made if column not in shown]
        for column in shown:
            known = _values(database, opened, column)
            if column.kind is ColumnKind.TEXT:
                values[opened, column] = tuple(known)
            lines.append(_line(database, opened, column, known))
        texts[opened] = "\n".join(lines)
    totals = tuple(
        _called(row.text)
        for opened in database.tables
        for row in opened.table.side_rows
        if row.role is RowRole.TOTAL
    )
    keys = {opened.sql_name: _keys(opened.table) for opened in database.tables}
    return Described(texts, values, named, keys, totals)


def _keys(table: Table) -> dict[str, str]:
    """What signs stand for, by those in small letters: "SF = Stayfinder" above or below a table."""
    lines = [table.title, *(row.text for row in table.side_rows if row.role is RowRole.NOTE)]
    return {sign.lower(): meaning.strip() for line in lines for sign, meaning in _KEY.findall(line)}


def _called(row: str) -> str:
    """What a row of totals begins with, before its first figure."""
    return _FIGURE.split(row, maxsplit=1)[0].replace("|", " ").strip()


def _line(database: TableDatabase, opened: OpenTable, column: Column, values: Sequence[str]) -> str:
    name = one_line(column.name)
    said = [column.sql_name, f'"{name}"' if compared(name) != [column.sql_name] else ""]
    said += [column.kind.value, column.unit or "/".join(column.units)]
    if column.kind is ColumnKind.TEXT:
        shown = ", ".join(_quoted(value) for value in values[:_SHOWN])
        said.append(shown + (", …" if len(values) > _SHOWN else ""))
    else:
        sql = f"SELECT min({column.sql_name}), max({column.sql_name}) FROM {opened.sql_name}"
        least, most = next(iter(database.fetch(sql).rows))
        said.append(f"{least}" if least == most else f"{least} to {most}")
    if column.has_text:
        said.append(f"(as written: {column.text_name})")
    if column.units:
        said.append(f"(unit: {column.unit_name})")
    return " ".join(part for part in said if part)


def _quoted(value: str) -> str:
    line = one_line(value)
    return f"'{line if len(line) <= _LONGEST else line[:_LONGEST].rstrip() + '…'}'"


def _values(database: TableDatabase, opened: OpenTable, column: Column) -> list[str]:
    """The different texts of a column, the most frequent first; of a long table's column that
    hardly says anything twice, some of them."""
    if column.kind is not ColumnKind.TEXT:
        return []
    name, table = column.sql_name, opened.sql_name
    if opened.table.rows > _LONG:
        counted = f"SELECT approx_count_distinct({name}) FROM {table}"
        if database.fetch(counted).rows[0][0] > _LONG:
            some = f"SELECT {name} FROM {table} WHERE {name} IS NOT NULL LIMIT {_LONG}"
            sql = f"SELECT DISTINCT {name} FROM ({some}) LIMIT {_KNOWN}"
            return [str(value) for (value,) in database.fetch(sql, _KNOWN).rows]
    sql = (
        f"SELECT {name} FROM {table} WHERE {name} IS NOT NULL "
        f"GROUP BY 1 ORDER BY count(*) DESC, min(rowid) LIMIT {_KNOWN}"
    )
    return [str(value) for (value,) in database.fetch(sql, _KNOWN).rows]


def _named(
    known: Mapping[str, Sequence[str]], same: Set[str], telling: Set[str]
) -> Iterator[tuple[float, str]]:
    """(how much of it is named, the value) of each value that some words name; `known`: values with
    their words, `same`: words that the question has, `telling`: those of which one is enough."""
    for value, parts in known.items():
        letters = sum(map(len, parts))
        share = sum(len(word) for word in parts if word in same) / letters if letters else 0.0
        if share >= _PART or not telling.isdisjoint(parts):
            yield share, value


def _is_another(words: Sequence[str], asked: Sequence[str]) -> bool:
    """Whether a question says another number where a value has one: 14 Mill Lane is not 12."""
    said = {number for word in asked for number in _numbers(word)}
    before = {word for number, word in pairwise(asked) if number.isdigit()}
    behind = {word for word, number in pairwise(asked) if number.isdigit()}
    return any(
        (one.isdigit() and said.isdisjoint(_numbers(one)) and other in before)
        or (other.isdigit() and said.isdisjoint(_numbers(other)) and one in behind)
        for one, other in pairwise(words)
    )


def _nearest(text: str, values: Sequence[str]) -> str | None:
    """The value that a text is a misspelling of. Another number is none: flat 3 is not flat 1."""
    from rapidfuzz.distance import JaroWinkler
    from rapidfuzz.process import extractOne

    numbers = _numbers(text)
    same = [value for value in values if _numbers(value) == numbers]
    found = extractOne(text, same, scorer=JaroWinkler.similarity, score_cutoff=_ALIKE)
    return str(found[0]) if found else None


def _numbers(text: str) -> list[str]:
    """The numbers in a text, without the zeros before them."""
    return [number.lstrip("0") for number in _NUMBER.findall(text)]


def alike(words: Sequence[str], known: Sequence[str]) -> set[str]:
    """Those of the known words that are among some words, or nearly; none with another number."""
    from rapidfuzz.distance import JaroWinkler
    from rapidfuzz.process import cdist

    if not words or not known:
        return set()
    scores: Any = cdist(words, known, scorer=JaroWinkler.similarity, score_cutoff=_ALIKE)
    near = {
        known[j]
        for i, j in zip(*scores.nonzero(), strict=True)
        if min(len(words[i]), len(known[j])) >= _INEXACT
        and _numbers(words[i]) == _numbers(known[j])
    }
    return near | (set(words) & set(known))
