"""A page without a picture as HTML that reads well: headings, the head of a letter, paragraphs,
tables with their columns' names, and the quotes marked where they stand.

Pure. Every character of the page is escaped; the only markup is ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from rag_app.reading.sheets import LOOKED_AT, names_columns
from rag_app.text.highlighting import WRITTEN_DAY, merge_spans
from rag_app.types import Heading

Span = tuple[int, int]

CELLS = " | "
_OUTER = re.compile(r"\| (.*) \|", re.DOTALL)  # a row with bars around it
_RULE = re.compile(r"[|:\s-]*-\s*\|[|:\s-]*")  # what parts the names of columns from the rows
_FIELD = re.compile(r"(From|To|Cc|Date|Subject|Attachment): ")
_LONGEST_FIGURE = 24  # characters
# A date or an amount: never broken.
_FIGURE = re.compile(rf"(?=\S*\s?\S*\d)(?=\w+[\s/-]).{{3,{_LONGEST_FIGURE}}}")
_DAY_INSIDE = re.compile(rf"(?<!\w)(?:{WRITTEN_DAY})(?!\w)")  # of a longer cell
_NUMBER = re.compile(r"[-+(]{0,2}[$€£¥]?\s?\d[\d.,'\u00a0 ]*\s?[%)€]{0,2}")


@dataclass(frozen=True, slots=True)
class PageMarks:
    """What is marked on a page: the quote that is looked at, and paler the answer's others. What
    touches the passage has a line beside it."""

    quote: Span = (0, 0)
    others: tuple[Span, ...] = ()
    passage: Span = (0, 0)


def readable(
    text: str,
    marks: PageMarks,
    headings: Iterable[Heading] = (),
    *,
    rows: bool = False,
    window: Span | None = None,
    whole: bool = True,
) -> str:
    """The page as HTML, or only the lines of it that touch `window`.

    `headings` are those of this page. With `rows` every line is a row of a table. Of a piece that
    is not the `whole` page, the first row of a table names its columns only above a rule."""
    page = _PageRenderer(text, marks, {h.start: h for h in headings}, whole)
    low, high = window or (0, len(text))
    lines = [(a, b) for a, b in _lines(text) if b >= low and a <= high]
    body = "".join(page.block(kind, block) for kind, block in page.blocks(lines, rows))
    before = "<p class='cut'>…</p>" if lines and lines[0][0] > 0 else ""
    after = "<p class='cut'>…</p>" if lines and lines[-1][1] < len(text.rstrip()) else ""
    return f"{before}{body}{after}"


def cells(line: str) -> list[Span]:
    """Where the cells of a row "a | b | c" stand in it; of Markdown's "| a | b |", too."""
    outer = _OUTER.fullmatch(line)
    if outer is not None:
        return [(a + 2, b + 2) for a, b in cells(outer[1])]
    found, start = [], 0
    for cell in line.split(CELLS):
        found.append((start, start + len(cell)))
        start += len(cell) + len(CELLS)
    return found


def header_row(rows: Sequence[Sequence[str]]) -> int | None:
    """Which row names the columns: the first, early on, that fills most of them; None: none does.

    The same rule by which the rows were cut into pages."""
    filled = [sum(1 for cell in row if cell.strip()) for row in rows[:LOOKED_AT]]
    most = max(filled, default=0)
    return next((i for i, n in enumerate(filled) if names_columns(n, most)), None)


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


class _PageRenderer:
    def __init__(
        self, text: str, marks: PageMarks, headings: dict[int, Heading], whole: bool
    ) -> None:
        self._text, self._whole = text, whole
        self._headings = headings
        quote = merge_spans([marks.quote], len(text))
        others = merge_spans(marks.others, len(text))
        self._quote, self._others = quote, list(_without(others, quote))
        self._passage = marks.passage

    def blocks(self, lines: Sequence[Span], rows: bool) -> Iterator[tuple[str, list[Span]]]:
        """Lines that belong together, and what they are."""
        kind, on_top = "", True
        block: list[Span] = []
        for line in lines:
            found = self._kind(line, rows, on_top)
            if found != kind or found in ("", "heading"):
                yield kind, block
                on_top = on_top and kind in ("", "heading")
                kind, block = found, []
            block.append(line)
        yield kind, block

    def _kind(self, line: Span, rows: bool, on_top: bool) -> str:
        start, end = line
        text = self._text[start:end]
        heading = self._headings.get(start)
        if not text.strip():
            return ""
        if heading and text.startswith(heading.text):
            return "heading"
        if rows or CELLS in text or _RULE.fullmatch(text):
            return "table"
        return "fields" if on_top and _FIELD.match(text) else "text"

    def block(self, kind: str, lines: list[Span]) -> str:
        """The HTML of lines that belong together."""
        if not lines or not kind:
            return ""
        if kind == "heading":
            level = min(6, self._headings[lines[0][0]].level + 2)
            return f"<h{level}{self._beside(*lines[0])}>{self._marked(*lines[0])}</h{level}>"
        if kind == "fields":
            beside = self._beside(lines[0][0], lines[-1][1])
            return f"<dl{beside}>{''.join(self._field(line) for line in lines)}</dl>"
        if kind == "table" and (len(lines) > 1 or CELLS in self._text[slice(*lines[0])]):
            return self._table(lines)
        start, end = lines[0][0], lines[-1][1]
        return f"<p{self._beside(start, end)}>{self._marked(start, end)}</p>"

    def _beside(self, start: int, end: int) -> str:
        return " class='beside'" if _meet([self._passage], start, end) else ""

    def _field(self, line: Span) -> str:
        middle = line[0] + self._text[slice(*line)].index(":") + 1
        name, value = self._marked(line[0], middle), self._marked(middle + 1, line[1])
        return f"<dt>{name}</dt><dd>{value}</dd>"

    def _table(self, lines: list[Span]) -> str:
        kept = [(a, b) for a, b in lines if not _RULE.fullmatch(self._text[a:b])] or lines
        spans = [[(a + x, a + y) for x, y in cells(self._text[a:b])] for a, b in kept]
        written = [[self._text[a:b] for a, b in row] for row in spans]
        at = header_row(written) if self._whole or len(kept) < len(lines) else None
        width = max(map(len, spans))
        right = {n for n in range(width) if _is_number_column(written, n, at)}
        above = "".join(f"<p>{self._filled(row)}</p>" for row in spans[: at or 0])
        head = "" if at is None else f"<thead>{self._row(spans[at], width, right, True)}</thead>"
        first = 0 if at is None else at + 1
        body = "".join(self._row(row, width, right) for row in spans[first:])
        return f"{above}<div class='rows'><table>{head}<tbody>{body}</tbody></table></div>"

    def _filled(self, row: list[Span]) -> str:
        """A row above the columns' names: what is written in it."""
        cells = (self._marked(a, b) for a, b in row if self._text[a:b].strip())
        return " · ".join(cells)

    def _row(self, row: list[Span], width: int, right: set[int], head: bool = False) -> str:
        start, end = self._filling(row)
        kind = "cited" if _holds(self._quote, start, end) else ""
        kind = kind or ("other" if _holds(self._others, start, end) else "")
        whole = bool(kind)  # then the row says it all; else the cells that are quoted
        kind = kind or ("beside" if _meet([self._passage], start, end) else "")
        tag, scope = ("th", " scope=col") if head else ("td", "")
        written = []
        for n, (a, b) in enumerate(row):
            number = " class='number'" if n in right else ""
            # a long cell is none, and looking for the figure in it would take its length squared
            if not number and b - a <= _LONGEST_FIGURE and _FIGURE.fullmatch(self._text[a:b]):
                number = " class='figure'"
            inner = self._unbroken(a, b) if whole else self._marked(a, b, self._unbroken)
            written.append(f"<{tag}{scope}{number}>{inner}</{tag}>")
        written += [f"<{tag}></{tag}>"] * (width - len(row))
        return f"<tr{f' class={kind!r}' if kind else ''}>{''.join(written)}</tr>"

    def _filling(self, row: list[Span]) -> Span:
        """From the first letter of a row to its last."""
        low, high = row[0][0], row[-1][1]
        said = self._text[low:high].strip(" |\t") or self._text[low:high]
        start = self._text.index(said, low)
        return start, start + len(said)

    def _unbroken(self, start: int, end: int) -> str:
        """A slice of the text as it is, in which no day is broken at the end of a line."""
        pieces, done = [], start
        for day in _DAY_INSIDE.finditer(self._text, start, end):
            if (day.start(), day.end()) != (start, end):
                pieces += [escape(self._text[done : day.start()]), "<span class='figure'>"]
                pieces += [escape(day.group()), "</span>"]
                done = day.end()
        return "".join([*pieces, escape(self._text[done:end])])

    def _as_it_is(self, start: int, end: int) -> str:
        return escape(self._text[start:end])

    def _marked(self, start: int, end: int, plain: Callable[[int, int], str] | None = None) -> str:
        """A slice of the text, with the marks that fall into it; `plain` writes what is between."""
        plain = plain or self._as_it_is
        pieces, done = [], start
        marks = [(a, b, "") for a, b in self._quote] + [(a, b, "other") for a, b in self._others]
        for a, b, kind in sorted(marks):
            low, high = max(a, done), min(b, end)
            if low < high:
                tag = f"<mark class='{kind}'>" if kind else "<mark>"
                pieces += [plain(done, low), tag, plain(low, high), "</mark>"]
                done = high
        return "".join([*pieces, plain(done, end)])


def _is_number_column(rows: Sequence[Sequence[str]], column: int, head: int | None) -> bool:
    below = rows[0 if head is None else head + 1 :]
    filled = [row[column] for row in below if column < len(row) and row[column].strip()]
    return bool(filled) and all(_NUMBER.fullmatch(cell) for cell in filled)


def _meet(spans: Iterable[Span], start: int, end: int) -> bool:
    return any(a < end and start < b for a, b in spans)


def _holds(spans: Iterable[Span], start: int, end: int) -> bool:
    return any(a <= start and end <= b for a, b in spans)


def _without(spans: Iterable[Span], taken: Sequence[Span]) -> Iterator[Span]:
    """What is left of the spans outside those that are taken."""
    for start, end in spans:
        for a, b in taken:
            if a < end and start < b:
                if start < a:
                    yield start, a
                start = b
        if start < end:
            yield start, end
