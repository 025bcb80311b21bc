"""Questions over tables with their candidates, and which of those give the right answer.

    python -m training.tables.examples sheets OUT.pkl
    python -m training.tables.examples wikitables OUT.pkl --data FOLDER --most 2000 --part 0/2

`sheets`: our own, beside this file, whose answers come of queries that were written with them.
`wikitables`: WikiTableQuestions (Pasupat and Liang 2015), which has answers only: every candidate
that gives them counts. Tables whose number ends in 7 are left to the benchmark."""

from __future__ import annotations

import argparse
import datetime as dt
import gzip
import json
import pickle
import random
import re
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.table_questions import kept, plain, same
from rag_app.answering.query_ranking import QueryFeatures, features
from rag_app.errors import QueryError
from rag_app.retrieval.embedding import MiniLmEmbedder
from rag_app.scope import WORKER
from rag_app.storage import Store
from rag_app.tables.candidates import CandidateQuery, Operator, TableQuestion, candidates
from rag_app.tables.computing import said
from rag_app.tables.conditions import fields_of
from rag_app.tables.joining import OpenTable
from rag_app.tables.querying import QueryLimits, TableDatabase
from rag_app.types import Table
from training.tables.denotations import OF_COLUMNS, Rows, denotation
from training.writer import queries

HERE = Path(__file__).resolve().parent / "sheets"
_LIMITS = QueryLimits(seconds=60.0, threads=1)
_MONTHS = ("%B %Y", "%Y-%m", "%m/%Y", "%B", "%b %Y")
_MOST = 60  # values of an answer


class RememberingEmbedder(MiniLmEmbedder):
    """Names of columns come again with every question over a table."""

    def __init__(self) -> None:
        super().__init__(1)
        self._known: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts. Raises ModelUnavailable."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known |= dict(zip(new, super().embed_documents(new), strict=True))
        return [self._known[text] for text in texts]


@dataclass(frozen=True, slots=True)
class Example:
    """A question: what is known of its candidates, and which of them are right; the last, none of
    them, is right if no other is."""

    id: str
    seen: QueryFeatures
    right: np.ndarray
    answerable: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """A question over one of the tables of a database, and the rows or texts that are right; none:
    nothing answers it."""

    id: str
    question: str
    database: TableDatabase
    over: OpenTable
    gold: Sequence[Any]

    def with_candidates(self) -> TableQuestion:
        """The question with the queries that it may mean."""
        return candidates(self.question, self.over, fields_of(self.database, self.over))


def of_sheets() -> Iterator[Asked]:
    """Our own questions, each over its sheet."""
    asked = [json.loads(line) for line in (HERE / "questions.jsonl").read_text().splitlines()]
    with tempfile.TemporaryDirectory() as place, closing(Store(Path(place) / "t.sqlite")) as store:
        for name in sorted({one["sheet"] for one in asked}):
            table = _table(store, name, (HERE / name).read_bytes(), Path(place))
            if table is None:
                continue
            with TableDatabase([table], store.tables, _LIMITS) as database:
                gold = columns_as_headed(database)
                for number, one in enumerate(asked):
                    if one["sheet"] != name:
                        continue
                    rows = _answer(gold, one["sql"]) if one["sql"] else []
                    if rows is not None:
                        key, over = f"{name}-{number}", database.tables[0]
                        yield Asked(key, one["question"], database, over, rows)


def of_writer() -> Iterator[Asked]:
    """The questions over sheets that the writer is taught with, each over the table it reads."""
    for lot, sheets in enumerate(queries.written()):
        with queries.opened(sheets) as database:
            for number, one in enumerate(sheets.queries):
                named = set(re.findall(r"\bt\d+\b", one.sql)) or {"t1"}
                opened = [table for table in database.tables if table.sql_name in named]
                if len(opened) == 1:
                    with suppress(QueryError):  # `training.writer.queries` says which
                        gold = list(database.run(one.sql).rows) if one.sql else []
                        key = f"lot {lot}-{number}"
                        yield Asked(key, one.question, database, opened[0], gold)


def of_wikitables(
    data: Path, most: int | None = None, part: tuple[int, int] = (0, 1)
) -> Iterator[Asked]:
    """Questions over tables of Wikipedia: a part of the `most` that are drawn, or all."""
    with gzip.open(data / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
        asked = [json.loads(line) for line in lines]
    asked = [one for one in asked if not re.search(r"7\.csv$", one["documents"][0])]
    asked = random.Random(3).sample(asked, len(asked) if most is None else most)
    asked = asked[part[0] :: part[1]]
    with (
        tarfile.open(data / "tables.tar.gz") as tar,
        tempfile.TemporaryDirectory() as place,
        closing(Store(Path(place) / "t.sqlite")) as store,
    ):
        members = {Path(m.name).name: m for m in tar.getmembers() if m.isfile()}
        for one in asked:
            name = one["documents"][0]
            file = tar.extractfile(members[name])
            table = _table(store, name, file.read() if file else b"", Path(place))
            if table is None:
                continue
            with TableDatabase([table], store.tables, _LIMITS) as database:
                key, over = f"{name}-{one['id']}", database.tables[0]
                yield Asked(key, one["question"], database, over, one["answers"])


def _table(store: Store, name: str, content: bytes, folder: Path) -> Table | None:
    document = kept(store, name, content, folder)
    return next(iter(store.tables.of(WORKER, [document.id])), None)


def columns_as_headed(database: TableDatabase) -> duckdb.DuckDBPyConnection:
    """The table once more, its columns called as its header has them."""
    opened = database.tables[0]
    columns = ", ".join(
        f'{c.sql_name} AS "{c.name}"' for c in opened.table.columns if '"' not in c.name
    )
    rows = database.fetch(f"SELECT {columns} FROM {opened.sql_name} ORDER BY rowid", 100_000)
    connection = duckdb.connect(":memory:")
    kinds = ", ".join(
        f'"{name}" {kind}' for name, kind in zip(rows.columns, rows.types, strict=True)
    )
    connection.execute(f"CREATE TABLE t ({kinds})")
    holes = ", ".join("?" * len(rows.columns))
    connection.executemany(f"INSERT INTO t VALUES ({holes})", list(rows.rows))
    return connection


def _answer(connection: duckdb.DuckDBPyConnection, sql: str) -> Rows | None:
    try:
        return connection.execute(sql).fetchall() or None
    except duckdb.Error as error:
        print(f"left out: {error}"[:160].replace("\n", " "), file=sys.stderr)
        return None


def example(asked: Asked, embedder: RememberingEmbedder) -> Example:
    """What is known of a question's candidates, and which are right."""
    question, opened, database = asked.with_candidates(), asked.over, asked.database
    names = ", ".join(column.sql_name for column in opened.table.columns)
    table = database.fetch(f"SELECT {names} FROM {opened.sql_name} ORDER BY rowid", 100_000).rows
    columns, gold = list(zip(*table, strict=True)), asked.gold
    right = [bool(gold) and _is_right(one, columns, database, gold) for one in question.candidates]
    right.append(not any(right))
    return Example(asked.id, features(question, embedder), np.array(right), bool(gold))


def _is_right(
    one: CandidateQuery,
    columns: Sequence[Sequence[Any]],
    database: TableDatabase,
    gold: Sequence[Any],
) -> bool:
    if one.operator in OF_COLUMNS:
        rows = list(database.fetch(one.sql).rows)
    else:
        rows = denotation(one, columns)
    rows = [row for row in rows if None not in row]
    if one.operator is Operator.LIST and not isinstance(gold[0], str):
        rows, gold = list(dict.fromkeys(rows)), list(dict.fromkeys(gold))  # as they are said
    if not rows or len(rows) > _MOST:
        return False
    if isinstance(gold[0], str):
        return same([said(value, "English") for row in rows for value in row], [*gold])
    if len(rows) != len(gold):
        return False
    told = [gold] if len(rows[0]) == len(gold[0]) else []
    if len(rows[0]) == 1:  # of a name with its figure, each alone is an answer, too
        told = [[(row[at],) for row in gold] for at in range(len(gold[0]))]
    return any(sorted(map(_row, rows)) == sorted(map(_row, one)) for one in told)


def _row(row: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(map(_value, row))


def _value(value: Any) -> str:
    """Of a month its number, of a figure what rounding at either end leaves the same."""
    with suppress(TypeError, ValueError):
        return f"{round(abs(float(value)) + 1e-9, 2) + 1e-6:.1f}"
    for form in _MONTHS:
        with suppress(TypeError, ValueError):
            return f"{dt.datetime.strptime(value, form).month:.1f}"
    return plain(str(value)[:10] if hasattr(value, "year") else str(value)).strip()


def main(argv: Sequence[str]) -> int:
    """Write the examples; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kind", choices=("sheets", "writer", "wikitables"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--most", type=int, default=2_000)
    parser.add_argument("--part", default="0/1")
    options = parser.parse_args(argv)
    embedder = RememberingEmbedder()
    first, parts = map(int, options.part.split("/"))
    if options.kind == "wikitables":
        found = of_wikitables(options.data, options.most, (first, parts))
    else:
        found = of_sheets() if options.kind == "sheets" else of_writer()
    made: list[Example] = []
    for asked in found:
        made.append(example(asked, embedder))
        if len(made) % 100 == 0:
            able = [one for one in made if one.answerable]
            reached = sum(not one.right[-1] for one in able) / max(1, len(able))
            print(f"{len(made)} questions, {reached:.2f} of the answerable reached", flush=True)
    options.out.write_bytes(pickle.dumps(made))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
