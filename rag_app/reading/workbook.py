"""What a workbook says of its cells besides their values.

Of Excel (.xlsx) and OpenDocument (.ods): which rows and columns are hidden, which cells are
percents, money or codes with leading zeros, and which hold a formula without its result. Of Excel:
whether cells lie so far apart that the space between fills the memory. Knows nothing of pages."""

from __future__ import annotations

import io
import re
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import groupby, islice
from pathlib import Path
from xml.etree.ElementTree import Element
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from rag_app.errors import DamagedFile
from rag_app.reading.archive import Archive
from rag_app.reading.limits import Limits
from rag_app.reading.markup import (
    BROKEN,
    Stream,
    main_part,
    outermost,
    refuse_entity,
    related,
    relations,
    tree,
)

_CONTENT, _STYLES = "content.xml", "styles.xml"  # of OpenDocument
_BLOCK = 65_536
_ROOMY = 2_000_000  # cells that a sheet may be wide, times tall, whatever is in it
_SPARSE = 20  # times the cells that are there
_MOST_HIDDEN = 100_000
_COLUMNS = 16_384  # that a sheet may have
_MOSTLY = 0.7
_PERCENT = "%"
_ZEROS = re.compile("0{2,18}")
_BUILT_IN = {"9": _PERCENT, "10": _PERCENT}
_ROW_OR_CELL = re.compile(
    rb"""<(?:\w+:)?(row|c)\b(?:[^<>]*?\br\s*=\s*["']([A-Za-z]{0,6}[0-9]{1,9}))?"""
)
_QUOTED = re.compile(r'"([^"]*)"|\[\$([^\]-]*)[^\]]*\]|\\(.)')


@dataclass(slots=True)
class SheetFacts:
    """What was found out about one sheet; rows count from 1, columns from 0."""

    cells: int = 0
    last_row: int = 0
    last_column: int = 0
    hidden_rows: int = 0  # with something in them
    hidden_columns: list[int] = field(default_factory=list)
    filled: set[int] = field(default_factory=set)  # of the hidden columns
    unknown: int = 0  # cells with a formula whose result is not in the file
    zeros: int = 0  # cells with a formula whose result is said to be 0
    is_computed: bool = False  # a formula has another result
    shown: dict[tuple[int, int], str] = field(default_factory=dict)  # units to be written, errors
    units: list[str] = field(default_factory=list)  # by column
    is_broken: bool = False  # it is no XML, and only looked over

    def reach(self, row: int, column: int) -> None:
        """There is a cell here."""
        self.cells += 1
        self.last_row = max(self.last_row, row)
        self.last_column = max(self.last_column, column)

    def hide(self, first: int, last: int) -> None:
        """These columns are hidden."""
        if len(self.hidden_columns) < _MOST_HIDDEN:
            self.hidden_columns += range(first, min(last + 1, _COLUMNS))

    @property
    def is_scattered(self) -> bool:
        """Whether its cells lie so far apart that the sheet cannot be spread out."""
        return self.last_row * (self.last_column + 1) > _ROOMY + _SPARSE * self.cells


def sheet_facts(path: Path, limits: Limits) -> dict[str, SheetFacts]:
    """The facts of each sheet by its name; of a workbook that says it in another way, none."""
    try:
        with Archive(path, limits) as archive:
            return dict(_facts(archive))
    except DamagedFile:
        return {}


def _facts(archive: Archive) -> Iterator[tuple[str, SheetFacts]]:
    if _CONTENT in archive:
        scan = _OpenScan()
        for part in filter(archive.__contains__, (_STYLES, _CONTENT)):
            with archive.open(part) as member:
                scan.read(iter(partial(member.read, _BLOCK), b""))
        yield from scan.finish()
        return
    main = main_part(archive, "xl/workbook.xml")
    if not main.endswith(".xml"):
        return
    units = _unit_of_styles(archive, main)
    found = [(name, _facts_of(archive, part, units)) for name, part in _sheets(archive, main)]
    if _waits_for_results(archive, main) and not any(each.is_computed for _, each in found):
        for _, each in found:  # a library writes 0 where it does not compute
            each.unknown += each.zeros
    yield from found


def _waits_for_results(archive: Archive, main: str) -> bool:
    """Whether a workbook asks whoever opens it to compute all of its formulas first."""
    with archive.open(main) as member:
        return any(
            each.get("fullCalcOnLoad") in ("1", "true") for each in outermost(member, {"calcPr"})
        )


def _facts_of(archive: Archive, part: str, units: list[str]) -> SheetFacts:
    scan = _Scan(units)
    try:
        with archive.open(part) as member:
            scan.read(iter(partial(member.read, _BLOCK), b""))
    except DamagedFile:
        with archive.open(part) as member:
            return _looked_over(iter(partial(member.read, _BLOCK), b""))
    return scan.finish()


def _looked_over(blocks: Iterator[bytes]) -> SheetFacts:
    """How far the cells of a sheet reach that is no XML: what spreads them out may take it."""
    facts = SheetFacts(is_broken=True)
    row, column, rest = 0, -1, b""
    for block in blocks:
        whole, mark, rest = (rest + block).rpartition(b"<")
        rest = mark + rest
        for tag, said in _ROW_OR_CELL.findall(whole):
            if tag == b"row":
                (row, _), column = _place(said.decode(), row + 1, 0), -1
            else:
                number, column = _place(said.decode(), row, column + 1)
                facts.reach(number, column)
    return facts


def _sheets(archive: Archive, main: str) -> Iterator[tuple[str, str]]:
    targets = {each.id: each.target for each in relations(archive, main)}
    with archive.open(main) as member:
        for each in outermost(member, {"sheet"}):
            part = targets.get(each.get("r:id", ""), "")
            if part in archive:
                yield each.get("name", ""), part


def _unit_of_styles(archive: Archive, main: str) -> list[str]:
    """The unit that each style of cells shows."""
    for part in related(archive, main, "styles"):
        with archive.open(part) as member:
            styles = tree(member)
        codes = {
            each.get("numFmtId", ""): each.get("formatCode", "") for each in styles.iter("numFmt")
        }
        formats = styles.find("cellXfs")
        ids = [each.get("numFmtId", "") for each in (() if formats is None else formats)]
        return [_BUILT_IN.get(each) or unit_of_format(codes.get(each, "")) for each in ids]
    return []


def unit_of_format(code: str) -> str:
    """What a format of numbers shows besides: "%", the sign or code of a currency, or "00000" for
    so many figures at least."""
    positive = code.split(";", 1)[0]
    if _ZEROS.fullmatch(positive):
        return positive
    if "%" in _QUOTED.sub("", positive):
        return _PERCENT
    said = ["".join(filter(None, found)).strip() for found in _QUOTED.findall(positive)]
    said += [c for c in _QUOTED.sub("", positive) if unicodedata.category(c) == "Sc"]
    return next((each for each in said if _is_money(each)), "")


def _is_money(text: str) -> bool:
    code = len(text) == 3 and text.isascii() and text.isalpha() and text.isupper()
    return code or (0 < len(text) < 4 and unicodedata.category(text[-1]) == "Sc")


class _Units:
    """The units that the cells of one sheet show."""

    def __init__(self) -> None:
        self._counts: dict[int, Counter[str]] = defaultdict(Counter)
        self._marked: dict[tuple[int, int], str] = {}

    def add(self, row: int, column: int, unit: str) -> None:
        """Take in the unit of a number, "" if it has none."""
        self._counts[column][unit] += 1
        if unit:
            self._marked[row, column] = unit

    def tell(self, facts: SheetFacts) -> None:
        """Say what was found: units of a column by most of its cells, others cell by cell."""
        facts.units = [""] * (max(self._counts, default=-1) + 1)
        for column, counts in self._counts.items():
            unit, count = counts.most_common(1)[0]
            others = sum(1 for each in counts if each)
            mostly = others == 1 and count >= _MOSTLY * sum(counts.values())
            if mostly and not _is_of_cells(unit):
                facts.units[column] = unit
        facts.shown = {
            place: unit
            for place, unit in self._marked.items()
            if _is_of_cells(unit) or not facts.units[place[1]]
        }


def _is_of_cells(unit: str) -> bool:
    """Whether it changes how a number is written, so that no column can say it for its cells."""
    return unit == _PERCENT or _ZEROS.fullmatch(unit) is not None


def _parse(parser: expat.XMLParserType, blocks: Iterator[bytes]) -> None:
    parser.EntityDeclHandler = refuse_entity
    try:
        for block in blocks:
            parser.Parse(block, False)
        parser.Parse(b"", True)
    except BROKEN as error:
        raise DamagedFile("A sheet of this workbook is damaged.") from error


class _Scan:
    """Reads the marks of one sheet, not its values."""

    def __init__(self, units: list[str]) -> None:
        self._units = units
        self._parser = expat.ParserCreate(namespace_separator="}")
        self._errors: dict[tuple[int, int], str] = {}
        self._facts = SheetFacts()
        self._row = self._column = 0
        self._at = 0, 0  # of the cell that is being read
        self._space = ""  # that its name is of
        self._is_unknown = False  # it has a formula, and so far no result
        self._is_text = False  # its result is, which may be empty
        self._is_hidden = False  # its row is, and nothing was found in it yet
        self._shown = _Units()

    def read(self, blocks: Iterator[bytes]) -> None:
        self._parser.StartElementHandler = self._start
        _parse(self._parser, blocks)

    def finish(self) -> SheetFacts:
        """What was found."""
        self._facts.unknown += self._is_unknown
        self._facts.filled &= {*self._facts.hidden_columns}
        self._shown.tell(self._facts)
        self._facts.shown.update(self._errors)
        return self._facts

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        space, _, tag = name.rpartition("}")
        if tag == "c":
            self._space = space
            self._cell(attributes)
        if tag in ("c", "v", "f"):
            self._inside(tag, space)
        elif tag == "is":
            self._fill()
        elif tag == "row":
            said = attributes.get("r", "")
            self._row = int(said) if said.isdecimal() else self._row + 1
            self._column = -1
            self._is_hidden = attributes.get("hidden") in ("1", "true")
        elif tag == "col" and attributes.get("hidden") in ("1", "true"):
            first, last = (int(attributes.get(each, "1")) for each in ("min", "max"))
            self._facts.hide(first - 1, last - 1)

    def _inside(self, tag: str, space: str) -> None:
        """Begin a cell, its formula, or its value, which is the name of an error if it is one."""
        if tag == "f" and space == self._space:  # those of charts in a cell are of another
            self._is_unknown = not self._is_text
            self._facts.is_computed |= self._is_text
        wanted = tag == "v" and (self._is_unknown or self._at in self._errors)
        self._parser.CharacterDataHandler = self._text if wanted else None
        if tag == "v":
            self._fill()

    def _fill(self) -> None:
        """There is something in the cell that is being read."""
        self._facts.hidden_rows += self._is_hidden
        self._is_hidden = False
        if self._facts.hidden_columns:
            self._facts.filled.add(self._at[1])

    def _text(self, text: str) -> None:
        if self._is_unknown:
            self._facts.zeros += text == "0"
            self._facts.is_computed |= text != "0"
        self._is_unknown = False
        if self._at in self._errors:
            self._errors[self._at] += text

    def _cell(self, attributes: dict[str, str]) -> None:
        row, column = _place(attributes.get("r", ""), self._row, self._column + 1)
        self._column = column
        self._facts.reach(row, column)
        self._at = row, column
        self._facts.unknown += self._is_unknown
        self._is_unknown, self._is_text = False, attributes.get("t") == "str"
        if attributes.get("t") == "e":
            self._errors[row, column] = ""
        style = attributes.get("s", "0")
        numeric = attributes.get("t", "n") == "n" and style.isdecimal()
        if self._units and numeric and column < _COLUMNS:
            unit = self._units[int(style)] if int(style) < len(self._units) else ""
            self._shown.add(row, column, unit)


_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_MARKS = ("table:1.0", "style:1.0", "datastyle:1.0")
_VALUE_TYPE = f"{_ODF}office:1.0}}value-type"  # another has the same local name
_MOST_REPEATED = 100_000  # cells that one says it stands for


class _OpenScan:
    """Reads the styles of an OpenDocument workbook, then the marks of its sheets."""

    def __init__(self) -> None:
        self._format = ""  # of numbers, which is being read
        self._zeros: dict[str, str] = {}  # by format
        self._styles: dict[str, tuple[str, str]] = {}  # of cells: format, style that it is based on
        self._columns: list[str] = []  # styles of the sheet's columns
        self._row = self._next_row = self._column = 0
        self._row_style = ""
        self._sheets: dict[str, tuple[_Units, SheetFacts]] = {}
        self._sheet, self._facts = _Units(), SheetFacts()
        self._hidden: set[int] = set()  # columns of the sheet in which nothing was found yet
        self._is_hidden = False  # the row is, and nothing was found in it yet
        self._depth = 0  # of tables

    def read(self, blocks: Iterator[bytes]) -> None:
        """Read a part. Raises DamagedFile."""
        parser = expat.ParserCreate(namespace_separator="}")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        _parse(parser, blocks)

    def finish(self) -> Iterator[tuple[str, SheetFacts]]:
        """What was found, by sheet."""
        for name, (units, facts) in self._sheets.items():
            units.tell(facts)
            yield name, facts

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        space, _, tag = name.removeprefix(_ODF).rpartition("}")
        if space not in _MARKS:
            return
        own = {key.rpartition("}")[2]: value for key, value in attributes.items()}
        if space == _MARKS[0]:
            self._depth += tag == "table"
            if self._depth == 1:
                self._of_table(tag, own, attributes.get(_VALUE_TYPE, ""))
        elif tag == "number-style":
            self._format = own.get("name", "")
        elif tag == "number" and self._format and own.get("grouping") != "true":
            digits = own.get("min-integer-digits", "")
            zeros = "0" * min(int(digits), _COLUMNS) if digits.isdecimal() else ""
            whole = own.get("decimal-places", "0") == "0"
            self._zeros[self._format] = zeros if whole and _ZEROS.fullmatch(zeros) else ""
        elif tag == "style" and own.get("family") == "table-cell":
            based = own.get("data-style-name", ""), own.get("parent-style-name", "")
            self._styles[own.get("name", "")] = based

    def _end(self, name: str) -> None:
        tag = name.rpartition("}")[2]
        self._depth -= name == f"{_ODF}table:1.0}}table"
        self._format = "" if tag == "number-style" else self._format

    def _of_table(self, tag: str, own: dict[str, str], kind: str) -> None:
        style = own.get("default-cell-style-name", "")
        hidden = own.get("visibility") in ("collapse", "filter")
        if tag == "table":
            new = _Units(), SheetFacts()
            self._sheet, self._facts = self._sheets.setdefault(own.get("name", ""), new)
            self._columns, self._hidden = [], set()
            self._next_row = 1
        elif tag == "table-column":
            first = len(self._columns)
            self._columns += [style] * min(_repeated(own, "columns"), _COLUMNS - first)
            if hidden:
                self._facts.hide(first, len(self._columns) - 1)
                self._hidden.update(range(first, len(self._columns)))
        elif tag == "table-row":
            self._row, self._column, self._row_style = self._next_row, 0, style
            self._next_row += _repeated(own, "rows")
            self._is_hidden = hidden
        elif tag in ("table-cell", "covered-table-cell"):
            column = self._column
            self._column += _repeated(own, "columns")
            self._fill(column, own, kind)
            if kind in ("float", "percentage", "currency"):
                self._cell(column, own, kind)

    def _fill(self, first: int, own: dict[str, str], kind: str) -> None:
        """Note what is in a cell, and in those that it stands for."""
        rows, columns = self._next_row - self._row, range(first, self._column)
        if kind:
            self._facts.hidden_rows += rows * self._is_hidden
            self._is_hidden = False
            if found := {column for column in self._hidden if column in columns}:
                self._facts.filled |= found
                self._hidden -= found
        elif own.get("formula"):
            self._facts.unknown += rows * len(columns)

    def _cell(self, first: int, own: dict[str, str], kind: str) -> None:
        of_column = self._columns[first] if first < len(self._columns) else ""
        style = own.get("style-name") or self._row_style or of_column
        money = own.get("currency", "")
        unit = _PERCENT if kind == "percentage" else money if _is_money(money) else ""
        unit = unit if unit or kind != "float" else self._zeros_of(style)
        places = (
            (row, column)
            for row in range(self._row, self._next_row)
            for column in range(first, min(self._column, _COLUMNS))
        )
        for row, column in islice(places, _MOST_REPEATED):
            self._sheet.add(row, column, unit)

    def _zeros_of(self, style: str) -> str:
        """What the format of a style shows, or that of the first below it that has one."""
        seen: set[str] = set()
        while style in self._styles and style not in seen:
            seen.add(style)
            form, style = self._styles[style][0], self._styles[style][1]
            if form:
                return self._zeros.get(form, "")
        return ""


def _repeated(own: dict[str, str], what: str) -> int:
    said = own.get(f"number-{what}-repeated", "1")
    return max(1, int(said)) if said.isdecimal() and len(said) < 9 else 1


def _place(said: str, row: int, column: int) -> tuple[int, int]:
    """Where a cell stands: where it says, whatever its row says, else at `row` and `column`."""
    letters = said.rstrip("0123456789")
    number = said[len(letters) :]
    return int(number) if number else row, _column(letters) if letters else column


@lru_cache(_COLUMNS)
def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


@dataclass(frozen=True, slots=True)
class Drawn:
    """A workbook whose scattered sheets are drawn together, and where their cells really stand."""

    data: io.BytesIO
    rows: Mapping[str, list[int]]  # by sheet: the real numbers of its rows


def drawn_together(path: Path, facts: Mapping[str, SheetFacts], limits: Limits) -> Drawn:
    """The workbook with the empty rows and columns of its scattered sheets taken out.

    One column stays empty where some were: what stands apart is still apart."""
    numbers: dict[str, list[int]] = {}
    written: dict[str, bytes] = {}
    with Archive(path, limits) as archive:
        main = main_part(archive, "xl/workbook.xml")
        for name, part in _sheets(archive, main):
            if facts[name].is_scattered and not facts[name].is_broken:
                written[part.lower()], numbers[name] = _rewritten(archive, part)
    data = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(data, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, written.get(entry.filename.lower()) or old.read(entry))
    data.seek(0)
    return Drawn(data, numbers)


def _rewritten(archive: Archive, part: str) -> tuple[bytes, list[int]]:
    """A sheet without the empty rows and columns, and the real numbers of its rows."""
    rows: list[int] = []
    used: set[int] = set()
    for pass_ in (0, 1):
        columns = _closer(used)
        lines: list[str] = []
        with archive.open(part) as member:
            for number, cells in _rows(member):
                if not pass_:
                    used.update(column for column, _ in cells)
                    continue
                rows.append(number)
                inside = "".join(
                    _written(cell, _letters(columns[column]), len(rows)) for column, cell in cells
                )
                lines.append(f'<row r="{len(rows)}">{inside}</row>')
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    text = f'<worksheet xmlns="{space}"><sheetData>{"".join(lines)}</sheetData></worksheet>'
    return text.encode(), rows


def _rows(stream: Stream) -> Iterator[tuple[int, list[tuple[int, Element]]]]:
    """The number of each row, and its cells with their columns."""
    row = 0
    for each in outermost(stream, {"row"}):
        said = each.get("r", "")
        row = int(said) if said.isdecimal() else row + 1
        column, placed = -1, []
        for cell in each:
            if cell.tag == "c":
                number, column = _place(cell.get("r", ""), row, column + 1)
                placed.append((number, column, cell))
        for number, same in groupby(placed, lambda one: one[0]):
            yield number, [(column, cell) for _, column, cell in same]


def _closer(used: set[int]) -> dict[int, int]:
    """The new places of columns: those that follow each other still do, others are one apart."""
    places: dict[int, int] = {}
    at, before = -1, -1
    for column in sorted(used):
        at += 1 if column == before + 1 else 2
        places[column] = at
        before = column
    return places


def _written(cell: Element, letters: str, row: int) -> str:
    kept = "".join(
        f" {name}={quoteattr(cell.get(name, ''))}" for name in ("s", "t") if cell.get(name)
    )
    value = "".join(f"<v>{escape(each.text or '')}</v>" for each in cell if each.tag == "v")
    inline = "".join(
        f"<t>{escape(each.text or '')}</t>"
        for part in cell
        if part.tag == "is"
        for each in part.iter("t")
    )
    inside = value + (f"<is>{inline}</is>" if inline else "")
    return f'<c r="{letters}{row}"{kept}>{inside}</c>'


def _letters(column: int) -> str:
    letters, rest = "", column + 1
    while rest:
        rest, digit = divmod(rest - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters
