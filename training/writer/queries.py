"""Questions about sheets with the SQL that answers them, as they were written for teaching.

    python -m training.writer.queries

Reads every sheet as the app does, runs every query and says which do not hold: a sheet whose
columns are read otherwise than before makes its queries wrong."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rag_app.answering.prompts import query_messages, query_said_as
from rag_app.errors import RagAppError
from rag_app.reading.limits import Limits
from rag_app.reading.sheets import read_delimited
from rag_app.scope import WORKER
from rag_app.storage import Store
from rag_app.tables.building import typed_tables
from rag_app.tables.describing import describe
from rag_app.tables.querying import QueryLimits, TableDatabase
from rag_app.types import Document, Status
from training.writer.contexts import Lesson

HERE = Path(__file__).resolve().parent / "queries"
_TABLE = re.compile(r"\bt(\d+)\b")
_HOLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Query:
    """A question, the SQL that answers it and how that is said; both empty: nothing answers it."""

    question: str
    language: str
    sql: str
    say: str


@dataclass(frozen=True, slots=True)
class Sheets:
    """Sheets as (name, text), and questions about them."""

    files: tuple[tuple[str, str], ...]
    queries: tuple[Query, ...]


def written() -> Iterator[Sheets]:
    """All that was written."""
    for path in sorted(HERE.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield Sheets(
                tuple((one["name"], one["text"]) for one in row["files"]),
                tuple(
                    Query(one["q"], one["language"], one["sql"], one["say"])
                    for one in row["questions"]
                ),
            )


@contextmanager
def opened(sheets: Sheets) -> Iterator[TableDatabase]:
    """The sheets as the app reads and opens them."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "library.sqlite")
        for number, (name, text) in enumerate(sheets.files):
            key = f"{number:064x}"
            path = Path(folder) / f"{number} {name}"
            path.write_text(text, encoding="utf-8")
            reading = read_delimited(path, limits=Limits())
            store.add_document(Document(key, name, path.suffix, 1, Status.RECEIVED, "2026"))
            store.save_reading(key, reading, typed_tables(key, reading))
        with TableDatabase(store.tables.of(WORKER), store.tables, QueryLimits()) as database:
            yield database
        store.close()


def lessons(sheets: Sheets, before: Sheets | None = None) -> list[Lesson]:
    """The questions about some sheets, as they are taught; `before`: others that stand there too,
    because a search shows more than is needed."""
    first = before.files if before else ()
    together = Sheets((*first, *sheets.files), sheets.queries)
    with opened(together) as database:
        keys = [f"{number:064x}" for number in range(len(together.files))]
        names = dict(zip(keys, (name for name, _ in together.files), strict=True))
        moved = sum(one.table.document_id in keys[: len(first)] for one in database.tables)
        tables = describe(database, names)
        return [
            Lesson(
                query_messages(one.question, tables.text, tables.named(one.question), one.language),
                query_said_as(_renamed(one.sql, moved), one.say),
            )
            for one in sheets.queries
        ]


def _renamed(sql: str, moved: int) -> str:
    """SQL whose tables stand so many places later."""
    return _TABLE.sub(lambda match: f"t{int(match[1]) + moved}", sql)


def faults(sheets: Sheets) -> Iterator[str]:
    """What does not hold, a sentence each."""
    with opened(sheets) as database:
        for one in sheets.queries:
            if not one.sql:
                continue
            try:
                result = database.run(one.sql)
            except RagAppError as error:
                yield f"{one.question}: {error}"
                continue
            if not result.rows:
                yield f"{one.question}: nothing comes of it"
            holes = {hole for hole in _HOLE.findall(one.say) if hole != "rows"}
            if any(int(hole) >= len(result.columns) for hole in holes):
                yield f"{one.question}: “{one.say}” asks for a column that is not there"


def main() -> int:
    """Look at all of them; the exit status."""
    found = [fault for sheets in written() for fault in faults(sheets)]
    print("\n".join([*found, f"{len(found)} faults"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
