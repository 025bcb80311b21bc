"""Reads spreadsheets (.xlsx, .xls, .ods): a sheet is a page, or several if it is long."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
)

from rag_app.errors import DamagedFile, PasswordNeeded
from rag_app.reading.archive import Archive
from rag_app.reading.embedded import finished
from rag_app.reading.limits import Limits
from rag_app.reading.ole import LOCKED
from rag_app.reading.rows import Row, row_pages, rows_label
from rag_app.reading.sections import OnPage, Sections
from rag_app.types import Reading

_TORN = (
    "This spreadsheet is damaged and cannot be opened. "
    "Open it in the program that made it and save it again, or ask for a fresh copy."
)
_PAGE = 1_000_000  # characters: rows are counted out here, nothing is to be cut again
_MIDNIGHT = dt.time()


def read_sheets(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """The sheets of a workbook; the names of the columns stand on each page of a long one.

    Raises DamagedFile, PasswordNeeded, NoText or LimitReached."""
    packed = _is_zip(path)
    if packed:
        with Archive(path, limits) as archive:
            archive.verify()
    sections = Sections(limits, _PAGE)
    warnings: list[str] = []
    with _panics_told(), _open(path) as book:
        names = [each.name for each in book.sheets_metadata if each.typ == SheetTypeEnum.WorkSheet]
        for done, name in enumerate(names, 1):
            try:
                _add_sheet(book.get_sheet_by_name(name), sections)
            except (CalamineError, ValueError) as error:
                warnings.append(f"The sheet “{name}” is damaged and was left out ({error}).")
            if on_page:
                on_page(done, len(names))
    if packed:
        return finished(path, sections, limits, "", warnings)
    return sections.reading(warnings=warnings)


@contextmanager
def _panics_told() -> Iterator[None]:
    """Calamine is written in Rust: where it meets what it did not expect it panics."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise DamagedFile(_TORN) from error


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def _open(path: Path) -> CalamineWorkbook:
    try:
        return CalamineWorkbook.from_path(path)
    except PasswordError as error:
        raise PasswordNeeded(LOCKED) from error
    except (CalamineError, OSError, ValueError) as error:
        if "password" in str(error).lower():
            raise PasswordNeeded(LOCKED) from error
        raise DamagedFile(_TORN) from error


def _add_sheet(sheet: CalamineSheet, sections: Sections) -> None:
    for first, last, lines in row_pages(_rows(sheet)):
        sections.new_page(f"{sheet.name}, {rows_label(first, last)}")
        sections.heading(sheet.name, 1)
        for line in lines:
            sections.row(line)


def _rows(sheet: CalamineSheet) -> Iterator[Row]:
    if sheet.start is None:
        return
    for number, cells in enumerate(sheet.iter_rows(), 1):
        yield number, [cell_text(cell) for cell in cells]


def cell_text(cell: object) -> str:
    """A cell as people write it."""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.0f}" if cell.is_integer() and abs(cell) < 1e15 else f"{cell:.12g}"
    if isinstance(cell, dt.datetime):
        return cell.isoformat(" ", "auto") if cell.time() != _MIDNIGHT else cell.date().isoformat()
    return str(cell)
