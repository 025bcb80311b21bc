"""Questions that rows of a table answer: what stands in a column, of the row that has a name.

Only tables whose columns have names are asked about, and rows that no other row is called as."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from rag_app.export.readable import cells, header_row
from rag_app.library import Library
from rag_app.overview.suggesting import Suggestion
from rag_app.types import Document, Page, Span

KIND = "row"
_PAGES = 12  # looked at
_NAME = re.compile(r"(?=.*[^\W\d_]{2})[^|]{3,50}")
_COLUMN = re.compile(r"(?=.*[^\W\d_]{3})[^\W\d][^|?:]{1,39}")
_APART = 7  # rows between two that are asked about, where there are many
_NUMBERING = re.compile(r"(?i)(?:index|id|no|nr|row|line|number|rank)\W?")


def row_questions(library: Library, document: Document, most: int) -> list[Suggestion]:
    """Up to `most` questions about rows of a table."""
    numbers = range(1, min(document.pages, _PAGES) + 1)
    pages = (library.page(document.id, number) for number in numbers)
    return list(islice((one for page in pages for one in _of_page(document.id, page)), most))


def _of_page(document_id: str, page: Page) -> Iterator[Suggestion]:
    lines = list(_lines(page.text))
    rows = [[page.text[a + start : a + end].strip() for start, end in cells(line)]
            for a, line in lines]  # fmt: skip
    head = header_row(rows)
    if head is None or len(rows) < head + 3:
        return
    names, below = rows[head], rows[head + 1 :]
    key = _key(names, below)
    columns = [i for i, name in enumerate(names) if i != key and _tells(name)]
    if key is None or not columns:
        return
    for turn, number in enumerate(range(0, len(below), min(_APART, len(below) // 2))):
        row, column = below[number], columns[turn % len(columns)]
        if column < len(row) and key < len(row) and 0 < len(row[column]) <= 60:
            start, line = lines[head + 1 + number]
            question = f"What is the {_small(names[column])} of {row[key]}?"
            place = Span(document_id, page.number, start, start + len(line))
            yield Suggestion(question, KIND, place)


def _tells(name: str) -> bool:
    """Whether a column is worth asking for."""
    return bool(_COLUMN.fullmatch(name)) and not _NUMBERING.fullmatch(name)


def _key(names: Sequence[str], below: Sequence[Sequence[str]]) -> int | None:
    """The first column that has another name in every row."""
    for column, name in enumerate(names):
        here = [row[column] for row in below if column < len(row) and row[column]]
        apart = len(set(here)) == len(here) >= max(3, 0.8 * len(below))
        if name and apart and all(_NAME.fullmatch(one) for one in here):
            return column
    return None


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            yield start, line.rstrip("\r\n")
        start += len(line)


def _small(name: str) -> str:
    """A column's name inside a sentence: abbreviations keep their letters."""
    return " ".join(word if word[1:] != word[1:].lower() else word.lower() for word in name.split())
