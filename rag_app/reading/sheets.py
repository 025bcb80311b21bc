"""Reads spreadsheets (.xlsx, .xls, .ods): a sheet is a page, or several if it is long."""

from __future__ import annotations

import csv
import datetime as dt
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from decimal import Decimal
from io import BytesIO
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
from rag_app.reading.limits import Limits, not_searched
from rag_app.reading.markup import finished
from rag_app.reading.ole import LOCKED
from rag_app.reading.plain_text import check_length, load_any, with_headings
from rag_app.reading.sections import SECTION, PageBuilder, placed, row_words
from rag_app.reading.workbook import SheetFacts, drawn_together, sheet_facts
from rag_app.supervision import Told, untold
from rag_app.types import Grid, Merged, Reading

# Pages of long tables: as many rows as fill a page, under the row that names the columns.
#
# Knows nothing of files.

Row = tuple[int, Sequence[str]]  # its number in the sheet, from 1, and its cells

LOOKED_AT = 10  # rows in which the names of the columns are looked for
_MANY = 1_000  # pages, after which they are twice as long, and again: a book has an end


@dataclass(frozen=True, slots=True)
class PageRow:
    """A row as it is written on a page; `repeated`: the names of the columns, said once more."""

    number: int
    words: list[str]
    size: int
    is_header: bool = False
    repeated: bool = False


def row_pages(rows: Iterable[Row]) -> Iterator[tuple[int, int, list[PageRow]]]:
    """(first row, last row, rows) of each page; the names of the columns begin every page.

    Rows without text are left out."""
    header: PageRow | None = None
    before: list[PageRow] = []
    page: list[PageRow] = []
    first = last = size = done = 0
    for row in _with_header(rows):
        header = row if row.is_header else header
        most = SECTION << min(8, done // _MANY)
        if page and size + row.size > most and row is not header:
            yield first, last, [*before, *page]
            done += 1
            before = [replace(header, repeated=True)] if header else []
            page, size = [], header.size if header else 0
        first, last = first if page else row.number, row.number
        page.append(row)
        size += row.size + 1
    if page:
        yield first, last, [*before, *page]


def _with_header(rows: Iterable[Row]) -> Iterator[PageRow]:
    """Each row with text; the one with the names of the columns is told from the others."""
    waiting: list[PageRow] = []
    decided = False
    for number, cells in rows:
        words = row_words(cells)
        if not words:
            continue
        row = PageRow(number, words, sum(map(len, words)) + 3 * (len(words) - 1))
        if decided:
            yield row
            continue
        waiting.append(row)
        if len(waiting) == LOOKED_AT:
            yield from _decide(waiting)
            decided = True
    if not decided:
        yield from _decide(waiting)


def _decide(waiting: list[PageRow]) -> Iterator[PageRow]:
    """The first rows: the names stand in the first that has most of the columns filled."""
    filled = [sum(map(bool, row.words)) for row in waiting]
    most = max(filled, default=0)
    found = False
    for row, cells in zip(waiting, filled, strict=True):
        fits = names_columns(cells, most) and row.size < SECTION / 3
        is_header = fits and not found
        found = found or is_header
        yield replace(row, is_header=is_header)


def add_rows(page: Iterable[PageRow], sections: PageBuilder, grid: Grid) -> None:
    """Add the rows of one page; each stands in the grid once."""
    for row in page:
        line, place = placed(row.words, grid, row.number)
        sections.row(line, None if row.repeated else place)


def names_columns(filled: int, most: int) -> bool:
    """Whether a row with so many cells filled may name the columns; `most`: of the rows beside."""
    return filled >= 2 and filled * 3 >= most * 2


def rows_label(first: int, last: int) -> str:
    """What a page of rows is called."""
    return f"row {first}" if first == last else f"rows {first}–{last}"


_TORN = (
    "This spreadsheet is damaged and cannot be opened. "
    "Open it in the program that made it and save it again, or ask for a fresh copy."
)
_PAGE = 1_000_000  # characters: rows are counted out here, nothing is to be cut again
_MIDNIGHT = dt.time()
_NAMED = 5  # sheets that a warning names


def read_sheets(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The sheets of a workbook; the names of the columns stand on each page of a long one.

    Raises DamagedFile, PasswordNeeded, NoText or LimitReached."""
    packed = _is_zip(path)
    if packed:
        with Archive(path, limits) as archive:
            archive.verify()
    facts = sheet_facts(path, limits) if packed else {}
    sections = PageBuilder(limits, _PAGE)
    warnings: list[str] = []
    # What can neither be drawn together nor be spread out.
    lost = [name for name, each in facts.items() if each.is_scattered and each.is_broken]
    warnings += [f"The sheet “{name}” is damaged and was left out." for name in lost]
    scattered = any(each.is_scattered for each in facts.values())
    drawn = drawn_together(path, facts, limits) if scattered else None
    with _PanicsTold(), _open(drawn.data if drawn else path) as book:
        sheets = [e.name for e in book.sheets_metadata if e.typ == SheetTypeEnum.WorkSheet]
        names = [name for name in sheets if name not in lost]
        for done, name in enumerate(names, 1):
            try:
                rows = drawn.rows.get(name, ()) if drawn else ()
                _add_sheet(book.get_sheet_by_name(name), sections, facts.get(name), rows)
            except (CalamineError, ValueError) as error:
                warnings.append(f"The sheet “{name}” is damaged and was left out ({error}).")
            on_page(done, len(names))
    warnings += _hints({name: facts[name] for name in names if name in facts})
    if packed:
        return finished(path, sections, limits, "", warnings)
    return sections.reading(warnings=warnings)


def _hints(facts: Mapping[str, SheetFacts]) -> Iterator[str]:
    """What a person would not see, or miss, in the sheets of a workbook, a sentence each."""
    if rows := _by_sheet({name: each.hidden_rows for name, each in facts.items()}):
        yield f"Hidden rows are read like the others, and count in figures: {rows}."
    if columns := _by_sheet({name: len(each.filled) for name, each in facts.items()}):
        yield f"Hidden columns are found by their words, and not computed with: {columns}."
    if cells := _by_sheet({name: each.unknown for name, each in facts.items()}):
        yield (
            f"The file does not hold what these formulas give, but nothing, or 0: {cells}. "
            "Open it in a spreadsheet program, save it there, and add it again."
        )


def _by_sheet(counts: Mapping[str, int]) -> str:
    """How many there are on which sheets, empty if there are none."""
    found = [f"{count:,} on “{name}”" for name, count in counts.items() if count]
    more = f" and {len(found) - _NAMED:,} more sheets"
    return ", ".join(found[:_NAMED]) + (more if len(found) > _NAMED else "")


class _PanicsTold(AbstractContextManager[None]):
    """Calamine is written in Rust: where it meets what it did not expect it panics.

    What it raises then has a name, but no module to import it from."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if kind is not None and kind.__name__ == "PanicException":
            raise DamagedFile(_TORN) from error


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"PK"


def _open(source: Path | BytesIO) -> CalamineWorkbook:
    try:
        if isinstance(source, BytesIO):
            return CalamineWorkbook.from_filelike(source)
        return CalamineWorkbook.from_path(source)
    except PasswordError as error:
        raise PasswordNeeded(LOCKED) from error
    except (CalamineError, OSError, ValueError) as error:
        if "password" in str(error).lower():
            raise PasswordNeeded(LOCKED) from error
        raise DamagedFile(_TORN) from error


def _add_sheet(
    sheet: CalamineSheet,
    sections: PageBuilder,
    facts: SheetFacts | None,
    numbers: Sequence[int] = (),
) -> None:
    """Add a sheet; `numbers` are the real ones of the rows of a sheet that was drawn together."""
    facts = facts or SheetFacts()
    left = sheet.start[1] if sheet.start else 0  # empty columns before the first are left out
    apart = len(numbers) > 0  # its columns are not those of the facts
    grid = sections.grid(
        sheet.name,
        merged=() if apart else _merged(sheet, left),
        hidden_columns=() if apart else (each - left for each in facts.hidden_columns),
        units=() if apart else facts.units[left:],
    )
    shown = {} if apart else facts.shown
    for first, last, rows in row_pages(_rows(sheet, shown, numbers)):
        sections.new_page(f"{sheet.name}, {rows_label(first, last)}")
        sections.heading(sheet.name, 1)
        add_rows(rows, sections, grid)


def _merged(sheet: CalamineSheet, first: int) -> Iterator[Merged]:
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        if left >= first:
            yield Merged(top + 1, left - first, bottom + 1, right - first)


def _rows(
    sheet: CalamineSheet, shown: Mapping[tuple[int, int], str], numbers: Sequence[int]
) -> Iterator[Row]:
    if sheet.start is None:
        return
    left = sheet.start[1]
    for number, cells in enumerate(sheet.iter_rows(), 1):
        texts = [cell_text(cell) for cell in cells]
        if shown:
            for column, cell in enumerate(cells):
                unit = shown.get((number, column + left))
                texts[column] = with_unit(cell, unit) if unit else texts[column]
        yield (numbers[number - 1] if number <= len(numbers) else number), texts


def with_unit(cell: object, unit: str) -> str:
    """A number as its format shows it: 0.25 may be 25%, 1234 may be 01234. An error stands for
    itself."""
    if unit.startswith("#"):
        return unit
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return cell_text(cell)
    if unit.isdigit():
        figures = cell_text(cell)
        return figures.zfill(len(unit)) if figures.isdigit() else figures
    return f"{cell_text(round(cell * 100.0, 10))}%" if unit == "%" else f"{cell_text(cell)} {unit}"


def cell_text(cell: object) -> str:
    """A cell as people write it."""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        shown = f"{cell:.15g}"  # as many figures as a spreadsheet keeps
        return f"{Decimal(shown):f}" if 1e-15 < abs(cell) < 1e21 else shown
    if isinstance(cell, dt.timedelta):
        minutes, rest = divmod(abs(cell), dt.timedelta(minutes=1))
        sign = "-" if cell < dt.timedelta() else ""
        return f"{sign}{minutes // 60}:{minutes % 60:02}:{str(rest)[5:]}"
    if isinstance(cell, dt.datetime):
        return cell.isoformat(" ", "auto") if cell.time() != _MIDNIGHT else cell.date().isoformat()
    return str(cell)


# Reads tables in text files (.csv, .tsv): rows that fill a page, under the columns' names.

_DELIMITERS = ",;\t|"
_SAMPLE = 65_536  # characters looked at
_LONGEST_CELL = 1_000_000
_NO_END = sys.maxsize  # characters: they are counted before
_WISH = re.compile(r"\"?sep=([^\w\s\"]|\t)\"?(?:\r\n|\r|\n)", re.IGNORECASE)  # Excel's, no row
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def read_delimited(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The rows of a table; what is none is read as plain text. Raises NoText or LimitReached."""
    text, encoding = load_any(path)
    wish = _WISH.match(text)
    text = text[wish.end() :] if wish else text
    delimiter = wish[1] if wish else sniff(text[:_SAMPLE])
    try:
        if not delimiter:
            return _as_text(text, encoding, limits)
        check_length(text, limits.max_table_characters, "RAG_APP_MAX_TABLE_CHARACTERS")
        # Signs between cells and names said once more on every page count for nothing here.
        sections = PageBuilder(replace(limits, max_characters=_NO_END), _PAGE)
        grid = sections.grid()
        for first, last, rows in row_pages(enumerate(_reader(text, delimiter), 1)):
            sections.new_page(rows_label(first, last))
            add_rows(rows, sections, grid)
    except csv.Error as error:
        said = f"The table in this file is broken ({error}); it was read as plain text."
        return replace(_as_text(text, encoding, limits), warnings=(said,))
    reading = sections.reading()
    return replace(reading, warnings=not_searched(reading.pages, limits), encoding=encoding)


def _as_text(text: str, encoding: str, limits: Limits) -> Reading:
    check_length(text, limits.max_characters, "RAG_APP_MAX_CHARACTERS")
    return with_headings(text, (), encoding)


def sniff(sample: str) -> str:
    """What stands between the cells, empty if the text is no table.

    It is what cuts all of the first lines into the same number of cells, at least two, or else most
    of them: decimal commas and addresses cut rows into more, but not the line of the names."""
    best, most = "", (False, 0.0)
    lines = sample.splitlines(keepends=True)
    whole = lines[:200] if len(lines) < 3 else lines[:-1][:200]
    for delimiter in _DELIMITERS:
        try:
            widths = [len(row) for row in _reader("".join(whole), delimiter) if row]
        except csv.Error:
            continue
        common = max(set(widths), key=widths.count, default=0)
        share = widths.count(common) / max(1, len(widths))
        fits = (share == 1, share * common)
        if common > 1 and share >= 0.5 and fits > most:
            best, most = delimiter, fits
    return best


def _reader(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LONGEST_CELL)
    lines = (match[0] for match in _LINE.finditer(text))  # io.StringIO takes four times the room
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
