"""Reads tables in text files (.csv, .tsv): rows that fill a page, under the columns' names."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from rag_app.reading.limits import Limits
from rag_app.reading.rows import Row, row_pages, rows_label
from rag_app.reading.sections import OnPage, Sections
from rag_app.reading.text import load, with_headings
from rag_app.types import Reading

_DELIMITERS = ",;\t|"
_SAMPLE = 65_536  # characters looked at
_PAGE = 1_000_000  # characters: rows are counted out here, nothing is to be cut again
_LONGEST_CELL = 1_000_000


def read_delimited(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """The rows of a table; what is none is read as plain text. Raises NoText or LimitReached."""
    text, warnings = load(path, limits)
    delimiter = sniff(text[:_SAMPLE])
    try:
        if not delimiter:
            return with_headings(text, (), warnings, on_page)
        sections = Sections(limits, _PAGE)
        for first, last, lines in row_pages(_rows(text, delimiter)):
            sections.new_page(rows_label(first, last))
            for line in lines:
                sections.row(line)
    except csv.Error as error:
        said = f"The table in this file is broken ({error}); it was read as plain text."
        return with_headings(text, (), (*warnings, said), on_page)
    reading = sections.reading(warnings=warnings)
    if on_page:
        on_page(len(reading.pages), len(reading.pages))
    return reading


def sniff(sample: str) -> str:
    """What stands between the cells, empty if the text is no table.

    It is what cuts most of the first lines into the same number of cells, at least two."""
    best, most = "", 0.0
    lines = sample.splitlines(keepends=True)
    whole = lines[:200] if len(lines) < 3 else lines[:-1][:200]
    for delimiter in _DELIMITERS:
        try:
            widths = [len(row) for row in _reader("".join(whole), delimiter) if row]
        except csv.Error:
            continue
        common = max(set(widths), key=widths.count, default=0)
        share = widths.count(common) / max(1, len(widths))
        if common > 1 and share >= 0.5 and share * common > most:
            best, most = delimiter, share * common
    return best


def _rows(text: str, delimiter: str) -> Iterator[Row]:
    yield from enumerate(_reader(text, delimiter), 1)


def _reader(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LONGEST_CELL)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
