"""The questions over the sheets of `training/tables` as lessons for the writer: the query alone.

    python -m training.writer.sheets

How a result is said the writer knows from `queries`; here it stops where that would begin. A query
is taught if it runs in the app's words and gives what it gave in those of the sheet's header; one
that asks for who has the most gives the figure beside the name. Prints how many are."""

from __future__ import annotations

import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import duckdb

from rag_app.answering.chat_generator import language_of
from rag_app.errors import RagAppError
from rag_app.tables.joining import OpenTable
from rag_app.tables.querying import TableDatabase
from training.tables.examples import HERE, columns_as_headed
from training.writer import queries
from training.writer.contexts import Lesson
from training.writer.queries import Query, Sheets

MOST = 12  # questions of a lesson's sheets: as many as are read with them at once
BEHIND = 0.3  # of the lessons, that stand behind another sheet, as a search may show it
FOREIGN = 0.1  # of a lesson's questions, so many are about something that no sheet of it has
_ROUGH = 6  # digits to which two results are the same
_NAME = re.compile(r'"([^"]+)"')
_TRIMMED = re.compile(r"lower\(trim\((\w+)\)\)", re.IGNORECASE)
_TEXT = re.compile(r"'((?:[^']|'')*)'")
_BEST = re.compile(
    r"SELECT (?P<name>\w+) FROM t1(?P<rest>.* ORDER BY (?P<by>[^,]+?)(?: (?:DESC|ASC))?"
    r"(?: NULLS LAST)? LIMIT \d+)",
    re.IGNORECASE,
)


def asked() -> dict[str, list[tuple[str, str]]]:
    """The questions over each sheet, by its name, each with its query: empty, if it has none."""
    found = defaultdict(list)
    for line in (HERE / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found[row["sheet"]].append((row["question"], row["sql"] or ""))
    return found


def written(left_out: Collection[str] = ()) -> Iterator[Sheets]:
    """Each sheet with the questions whose query holds, but for those that are `left_out`."""
    for name, rows in sorted(asked().items()):
        if name in left_out:
            continue
        text = (HERE / name).read_bytes().decode("utf-8-sig", "replace")
        sheets = Sheets(((name, text),), ())
        with queries.opened(sheets) as database:
            if len(database.tables) == 1:
                yield replace(sheets, queries=tuple(_queries(database, rows)))


def _queries(database: TableDatabase, rows: Sequence[tuple[str, str]]) -> Iterator[Query]:
    headed = columns_as_headed(database)
    for question, sql in rows:
        said = _in_our_words(sql, database.tables[0]) if sql else ""
        if said is None or (sql and not _same(sql, said, headed, database)):
            continue
        best = _BEST.fullmatch(said)
        if best and best["by"].lower() != best["name"].lower() and not best["by"].isdigit():
            with_figure = f"SELECT {best['name']}, {best['by']} FROM t1{best['rest']}"
            said = with_figure if _runs(with_figure, database) else said
        yield Query(question, language_of(question), said, "")


def _in_our_words(sql: str, opened: OpenTable) -> str | None:
    names = {column.name: column.sql_name for column in opened.table.columns}
    if any(name not in names for name in _NAME.findall(sql)):
        return None
    said = _NAME.sub(lambda found: names[found[1]], sql)
    return re.sub(r"\bt\b(?!')", opened.sql_name, _TRIMMED.sub(r"lower(\1)", said))


def _same(sql: str, said: str, headed: duckdb.DuckDBPyConnection, database: TableDatabase) -> bool:
    try:
        wanted = headed.execute(sql).fetchall()
        given = database.run(said).rows
    except (duckdb.Error, RagAppError):
        return False
    return bool(given) and sorted(map(_rough, wanted)) == sorted(map(_rough, given))


def _rough(row: Sequence[object]) -> str:
    return repr([f"{v:.{_ROUGH}g}" if isinstance(v, int | float) else str(v) for v in row])


def _runs(sql: str, database: TableDatabase) -> bool:
    try:
        return bool(database.run(sql).rows)
    except RagAppError:
        return False


def lessons(
    some_sheets: Sequence[Sheets], all_sheets: Sequence[Sheets], seed: int, share: float = 1.0
) -> list[list[Lesson]]:
    """A share of the questions over some sheets, `MOST` of one together, drawn by lot; what stands
    before them, or is asked of another sheet, is of any."""
    lot = random.Random(seed)
    groups = []
    for sheets in some_sheets:
        drawn = lot.sample(sheets.queries, round(share * len(sheets.queries)))
        for at in range(0, len(drawn), MOST):
            some = drawn[at : at + MOST]
            other = lot.choice([one for one in all_sheets if one is not sheets])
            before = other if lot.random() < BEHIND else None
            far = lot.choice([one for one in all_sheets if one not in (sheets, before)])
            some += _foreign(far, [sheets, *([before] if before else [])], lot)
            taught = queries.lessons(replace(sheets, queries=tuple(some)), before)
            groups.append([_opened(one) for one in taught])
    return groups


def _foreign(far: Sheets, held: Sequence[Sheets], lot: random.Random) -> list[Query]:
    """Questions about another sheet that name a text which none of those that are held has."""
    texts = " ".join(text for one in held for _, text in one.files).lower()
    found = []
    for one in far.queries:
        named = [text.strip("%") for text in _TEXT.findall(one.sql)]
        if any(n in one.question.lower() and n not in texts for n in named if len(n) > 3):
            found.append(replace(one, sql=""))
    return lot.sample(found, min(len(found), round(FOREIGN * MOST)))


def _opened(lesson: Lesson) -> Lesson:
    """A query goes on with how its result is said, which is not taught here."""
    reply = lesson.reply.rstrip()
    return lesson if reply == lesson.reply else replace(lesson, reply=reply, ends=False)


def main() -> int:
    """Say how many questions hold; the exit status."""
    for sheets in written():
        answered = sum(bool(one.sql) for one in sheets.queries)
        print(f"{sheets.files[0][0]}: {len(sheets.queries)} taught, {answered} with a query")
    return 0


if __name__ == "__main__":
    sys.exit(main())
