"""Rows of tables as text in which each cell stands with the name of its column.

What a cell is stands above it, and far above it in a long table; in a PDF or on a scan a row is a
line of values besides, torn where a cell has several lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rag_app.scope import WORKER
from rag_app.storage.contents import Tables
from rag_app.tables.columnar import unpack_places
from rag_app.text.sentences import one_line
from rag_app.types import Chunk, RowRole, SideRow, Table

LARGEST = 5_000  # rows of a table that is looked through
_LONGEST_NAME = 60  # characters; more is what stands above the table
_JOINED = "; "
_PAIR = 2  # cells


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A row of a table, or rows whose cells stand among each other: `page.text[start:end]`, and
    what it says with the names of its columns, a line for each row."""

    start: int
    end: int
    text: str


def rows_in(tables: Tables, page: str, chunk: Chunk) -> list[LabelledRow]:
    """The rows of tables that a chunk holds cells of, in their order on its `page`; one that says
    nothing for the names of columns, which the others say."""
    found: list[LabelledRow] = []
    for table in tables.of(WORKER, [chunk.document_id]):
        if table.first_page <= chunk.page <= table.last_page and table.rows <= LARGEST:
            found += _rows(tables, table, page, chunk)
    return _apart(sorted(found, key=lambda row: (row.start, row.end)))


def _rows(tables: Tables, table: Table, page: str, chunk: Chunk) -> Iterator[LabelledRow]:
    names = [
        "" if len(column.name) > _LONGEST_NAME or column.name == f"Column {number}" else column.name
        for number, column in enumerate(table.columns, start=1)
    ]
    paired = len(names) == _PAIR and not any(names)
    for _, block in tables.blocks_with(table, range(table.rows)):
        pages, starts, ends = unpack_places(block.places, block.rows)
        there = (pages == chunk.page) & (ends > starts)
        inside = there & (ends > chunk.start) & (starts < chunk.end)
        for row in map(int, np.flatnonzero(inside.any(axis=1))):
            yield _labelled(
                page,
                [
                    (int(starts[row, column]), int(ends[row, column]), names[column])
                    for column in map(int, np.flatnonzero(there[row]))
                ],
                paired,
            )
    for side in table.side_rows:
        if side.role is RowRole.HEADER and side.page == chunk.page and _meets(side, chunk):
            yield LabelledRow(side.start, side.end, "")


def _meets(side: SideRow, chunk: Chunk) -> bool:
    return side.end > chunk.start and side.start < chunk.end


def _labelled(page: str, cells: Sequence[tuple[int, int, str]], paired: bool) -> LabelledRow:
    """A row of (start, end, name of the column); what stands between its cells comes last.

    `paired`: the first of two is a label, the second what it is."""
    said = [f"{name}: {page[a:b]}" if name else page[a:b] for a, b, name in cells]
    if paired and len(cells) == _PAIR and any(map(str.isalpha, said[0])):
        said = [f"{said[0].rstrip().rstrip(':')}: {said[1]}"]
    first, last = min(a for a, _, _ in cells), max(b for _, b, _ in cells)
    at = first
    for a, b, _ in sorted(cells):
        said.append(page[at:a])
        at = max(at, b)
    lines = map(one_line, said)
    return LabelledRow(first, last, _JOINED.join(s for s in lines if any(map(str.isalnum, s))))


def _apart(rows: Sequence[LabelledRow]) -> list[LabelledRow]:
    """Rows that stand among each other on the page as one."""
    found: list[LabelledRow] = []
    for row in rows:
        if found and row.start < found[-1].end:
            before = found.pop()
            text = "\n".join(filter(None, (before.text, row.text)))
            row = LabelledRow(before.start, max(before.end, row.end), text)
        found.append(row)
    return found
