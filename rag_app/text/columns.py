"""The names of a table's columns, for rows that stand far below them. Knows no files or chunks.

Tables are rows of cells with " | " between them, as every reader writes them."""

from __future__ import annotations

import re

_LOOKED_AT = 10  # rows in which the names are looked for
_LONGEST_TABLE, _LONGEST_CELL, _LONGEST = 20_000, 60, 120  # characters
_BETWEEN = re.compile(r"\s\|\s")
_RULE = re.compile(r"\|?(?:\s*:?-+:?\s*\|)+(?:\s*:?-+:?\s*)?")  # under the names, in Markdown
_LETTER = re.compile(r"[^\W\d_]")


def columns_above(text: str, start: int) -> str:
    """The row that names the columns of the table in which `start` stands; "" if it is not above.

    It is the first of the rows with the most cells."""
    here = text.rfind("\n", 0, start) + 1
    rows: list[str] = []
    end = here - 1
    if not _BETWEEN.search(_line(text, here)):
        return ""
    while end > max(0, here - _LONGEST_TABLE):
        begin = text.rfind("\n", 0, end) + 1
        row, end = text[begin:end], begin - 1
        if _RULE.fullmatch(row):
            continue
        if not _BETWEEN.search(row):
            break
        rows.append(row)
    first = [_cells(row) for row in rows[: -_LOOKED_AT - 1 : -1]]
    most = max(map(len, first), default=0)
    names = next((cells for cells in first if len(cells) == most), [])
    if not names or not _are_names(names):
        return ""
    line = " | ".join(names)
    return line if len(line) <= _LONGEST else line[:_LONGEST].rpartition(" | ")[0]


def _line(text: str, start: int) -> str:
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start:end]


def _cells(row: str) -> list[str]:
    cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
    return [cell for cell in cells if cell]


def _are_names(cells: list[str]) -> bool:
    """Whether most of them are words, and none is a sentence."""
    worded = sum(bool(_LETTER.search(cell)) for cell in cells)
    return 2 * worded >= len(cells) and max(map(len, cells)) <= _LONGEST_CELL
