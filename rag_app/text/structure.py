"""Headings of a document: guessed from lines that look like one, and the path a place stands under.

Knows pages and sentences, nothing of files or chunks."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from rag_app.text.languages import month_called
from rag_app.types import Heading, Page

Spans = Sequence[tuple[int, int]]

_LONGEST = 90  # characters of a line that can be a heading
_LONGEST_PATH = 160
_OFTEN = 3  # a line on more pages than this is a running title
_MARKDOWN = re.compile(r"(#{1,6})\s+(.*?)[\s#]*\Z")
_NAMED = re.compile(
    r"(?:(part)\s+(?:\d{1,2}|[ivx]{1,5})|(item|chapter|article)\s+\d{1,3}[a-z]?"
    r"|(note|section|appendix|exhibit|schedule)\s+(?:\d{1,3}|[a-z]))\b(?!,)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})[.)]?\s+[^\W\d_]")
# Sums, ticks, page numbers, columns.
_OF_TABLES = re.compile(
    r"[$€£¥%☐☒☑]|\d{3,}(?!\d).*\s\S*\d|\s\d+\Z|\S {3,}\S.* {3,}\S|\S {3,}.*\d[.,]\d\d\Z"
)
_PLAIN = (3, 4)  # levels of lines that are numbered, or in capitals
_JOINS = frozenset(["and", "or", "of", "by", "with", "from"])
_SMALL = frozenset(
    ["and", "or", "of", "the", "a", "an", "to", "in", "for", "by", "with", "from", "on", "at", "as"]
)


_FIELD = re.compile(
    r"[ \t>*]*(from|to|cc|bcc|date|sent|subject|reply-to|von|an|datum|gesendet|betreff)\**:(.*)",
    re.IGNORECASE,
)  # of the head of a message (RFC 5322), and as mail programs call it in German
_ADDRESS = re.compile(r"<[^<>\s@]*@[^<>\s]*>")
_SENDERS, _WHEN = ("from", "von"), ("date", "sent", "datum", "gesendet")
_SUBJECTS = ("subject", "betreff")
_VALUE = 120  # characters of a field that are heeded
_LINE, _FIGURE, _QUOTE = re.compile(r".+"), re.compile(r"\d"), ">"  # what quoted lines begin with
_GAP = 4  # characters of line ends between a heading and what stands right under it
_OUTER, _INNER = 2, 6  # levels of a message: where a text begins with one, and under other headings


class SectionPaths:
    """The section path at every place of a document."""

    def __init__(self, headings: Sequence[Heading]) -> None:
        self._places: list[tuple[int, int]] = []
        self._paths: list[str] = []
        above: list[Heading] = []
        for heading in sorted(headings, key=lambda each: (each.page, each.start)):
            while above and above[-1].level >= heading.level:
                above.pop()
            above.append(heading)
            self._places.append((heading.page, heading.start))
            self._paths.append(_path([each.text for each in above]))

    def path(self, page: int, end: int) -> str:
        """The path of the last heading that begins before offset `end` of a page."""
        index = bisect_left(self._places, (page, end))
        return self._paths[index - 1] if index else ""


def _path(titles: list[str]) -> str:
    """Titles joined, the outermost dropped while the path is too long to be read."""
    named = [" ".join(title.split()) for title in titles if title.strip()]
    while len(named) > 1 and len(" > ".join(named)) > _LONGEST_PATH:
        named.pop(0)
    return " > ".join(named)[:_LONGEST_PATH]


def outline(
    pages: Sequence[Page], spans: Sequence[Spans], headings: Sequence[Heading]
) -> list[Heading]:
    """The headings that a reader found, with those of messages that were pasted into the text or
    are quoted at its end; without any, those that are guessed. Below a title alone, as the subject
    of an e-mail, lines that are numbered or in capitals are headings, too."""
    if not headings:
        return guess_headings(pages, spans)
    messages = [heading for page in pages for heading, _ in _message_heads(page)]
    if len(headings) == 1 and headings[0].level == 1:
        guessed = guess_headings(pages, spans)
        plain = [each for each in guessed if each.level in _PLAIN and each.text != headings[0].text]
        return _with_messages([*headings, *plain], [*messages, *_quoted(pages)], outer=True)
    return _with_messages(headings, [*messages, *_quoted(pages)])


def guess_headings(pages: Sequence[Page], spans: Sequence[Spans]) -> list[Heading]:
    """The lines that look like headings; `spans` are the sentences of each page."""
    found: list[Heading] = []
    messages: list[Heading] = []
    for page, units in zip(pages, spans, strict=True):
        heads = list(_message_heads(page))
        messages += (heading for heading, _ in heads)
        around = [u for u in units if not any(h.start <= u[0] < end for h, end in heads)]
        found += _on_page(page, around)
    seen = Counter(_shape(text) for text in {(each.page, each.text) for each in found})
    usual = [each for each in found if seen[_shape((each.page, each.text))] <= _OFTEN]
    return _with_messages(usual, [*messages, *_quoted(pages)])


def _quoted(pages: Sequence[Page]) -> Iterator[Heading]:
    """Where pages end with a message that is quoted, line by line, below the one that answers it:
    the line that says when it was written, and by whom, heads what was said before."""
    for page in pages:
        lines = [(found.start(), found[0].strip()) for found in _LINE.finditer(page.text)]
        body = [line for line in lines if line[1]]
        tail = list(takewhile(lambda line: line[1].startswith(_QUOTE), reversed(body)))[::-1]
        before = body[: len(body) - len(tail)]
        inside = tail[0][1].strip("> ") if len(tail) > 1 else ""
        head = tail[:1] if inside.endswith(":") else before[-1:]
        if len(tail) > 1 and head and head[0][1].endswith(":"):
            if not _FIGURE.search(head[0][1]):  # it goes over two lines
                head = before[-2:]
            said = " ".join(text.strip("> ") for _, text in head)
            if len(said) <= _LONGEST_PATH and _FIGURE.search(said):
                yield Heading(page.number, head[0][0], _INNER, _ADDRESS.sub("", said).rstrip(": "))


def _with_messages(
    headings: Sequence[Heading], messages: Sequence[Heading], outer: bool = False
) -> list[Heading]:
    """All headings in order. Messages that make up a whole text are what it is divided into, and
    `outer` ones, too; among other headings they end with the next of those. One that stands right
    under its own subject has a heading already."""

    def place(heading: Heading) -> tuple[int, int]:
        return heading.page, heading.start

    first = min(map(place, headings), default=None)
    outer = outer or (bool(messages) and (first is None or place(messages[0]) < first))
    ends = {(one.page, one.start + len(one.text)): one.text for one in headings}

    def is_named(message: Heading) -> bool:
        above = (ends.get((message.page, message.start - gap)) for gap in range(1, _GAP + 1))
        return any(text and message.text.startswith(text) for text in above)

    apart = [one for one in messages if not is_named(one)]
    level = _OUTER if outer else _INNER
    return sorted([*(replace(one, level=level) for one in apart), *headings], key=place)


def _message_heads(page: Page) -> Iterator[tuple[Heading, int]]:
    """The heads of messages that were pasted into a text, each as the heading of what it says, and
    where it ends."""
    fields: dict[str, str] = {}
    last = ""  # the field that the next line may go on with
    start = end = at = 0
    for line in [*page.text.splitlines(keepends=True), "."]:
        found, bare = _FIELD.match(line), line.strip()
        if found:
            start = start if fields else at
            last = found[1].lower()
            fields.setdefault(last, found[2].strip(" \t*\r")[:_VALUE])
        elif bare and not (last and (line[0] in " \t" or fields[last].endswith((",", ";")))):
            if text := _headed(fields):
                yield Heading(page.number, start, _OUTER, text), end
            fields, last = {}, ""
        elif not bare:
            last = ""
        at += len(line)
        end = at if found or (bare and last) else end


def _headed(fields: Mapping[str, str]) -> str:
    """What a message is about, who wrote it and when; empty: these fields are no head of one."""
    subject, sender, when = (
        next((fields[name] for name in names if fields.get(name)), "")
        for names in (_SUBJECTS, _SENDERS, _WHEN)
    )
    sender = " ".join(_ADDRESS.sub("", sender).split()) or sender
    written = sender and when and not sender[0].isdigit()
    if len(fields) < 2 or not (subject or written):
        return ""
    return ", ".join(filter(None, (subject, sender, when)))


def _shape(found: tuple[int, str]) -> str:
    """A heading's text without digits, so that page numbers do not hide a running title."""
    return re.sub(r"\d+|continued|[\s().]+", "", found[1].lower())


def _on_page(page: Page, units: Spans) -> Iterator[Heading]:
    for index, (start, end) in enumerate(units):
        if end - start > _LONGEST:
            continue
        line = page.text[start:end]
        level = _level(line)
        if level and (level < 5 or _opens_prose(page.text, units[index + 1 : index + 2])):
            marked = _MARKDOWN.match(line)
            yield Heading(page.number, start, level, marked.group(2) if marked else line)


def _opens_prose(text: str, following: Spans) -> bool:
    """Whether running text comes next: in title case a heading and a table's cell look alike."""
    return any(end - start > 60 and text[end - 1] in ".:;" for start, end in following)


def _level(line: str) -> int:
    """How deep a heading this line is, 0 if none. Only a guess, so few levels."""
    marked = _MARKDOWN.match(line)
    if marked:
        return len(marked.group(1))
    if line[-1] in ".,;:?!" or line[0].islower() or sum(map(str.isalpha, line)) < 3:
        return 0
    words = line.split()
    if len(words) > 14 or words[0].lower() in _JOINS or ";" in line or _OF_TABLES.search(line):
        return 0
    named = _NAMED.match(line)
    if named and _is_title(words):
        return 1 if named.group(1) else 2 if named.group(2) else 3
    numbered = _NUMBERED.match(line)
    if numbered and _is_title(words[1:2]):
        return min(4, 3 + numbered.group(1).count("."))
    if line.isupper() and len(words) > 1:
        return 4
    return 5 if len(words) > 1 and _is_title(words) else 0


def _is_title(words: list[str]) -> bool:
    """Whether every word of weight begins with a capital."""
    heavy = [word for word in words if word.lower() not in _SMALL and word[0].isalpha()]
    return bool(heavy) and all(word[0].isupper() for word in heavy)


# The names of a table's columns, for rows that stand far below them. Knows no files or chunks.
#
# Tables are rows of cells with " | " between them, as every reader writes them.

_LOOKED_AT = 10  # rows in which the names are looked for
_LONGEST_TABLE, _LONGEST_CELL, _COLUMNS_LONGEST = 20_000, 60, 120  # characters
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
    return line if len(line) <= _COLUMNS_LONGEST else line[:_COLUMNS_LONGEST].rpartition(" | ")[0]


def named_cells(text: str, start: int, columns: str = "") -> str:
    """The row that begins there, each of its cells with the name of its column; "" where nothing
    names them. In Markdown a rule stands below the names; `columns`: those that a heading says."""
    cells = _in_order(_line(text, start))
    names = _in_order(columns or _names_above(text, start))
    if len(names) != len(cells) or len(cells) < 2 or names == cells:
        return ""
    named = zip(names, cells, strict=True)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def _names_above(text: str, start: int) -> str:
    """The names of a table's columns in Markdown, above the rule; "" if the row is not below."""
    above = text[max(0, start - _LONGEST_TABLE) : start].splitlines()
    rows = list(takewhile(lambda line: "|" in line, reversed(above)))
    rule = next((at for at, row in enumerate(rows) if _RULE.fullmatch(row.strip())), len(rows))
    return rows[rule + 1] if rule + 1 < len(rows) else ""


def _line(text: str, start: int) -> str:
    """The line that begins there; of an endless one its beginning: each chunk asks for it."""
    last = start + _LONGEST_TABLE
    end = text.find("\n", start, last)
    return text[start : last if end < 0 else end]


def _cells(row: str) -> list[str]:
    return list(filter(None, _in_order(row)))


def _in_order(row: str) -> list[str]:
    """The cells of a row, the empty ones among them."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def _are_names(cells: list[str]) -> bool:
    """Whether most of them are words, and none is a sentence."""
    worded = sum(bool(_LETTER.search(cell)) for cell in cells)
    return 2 * worded >= len(cells) and max(map(len, cells)) <= _LONGEST_CELL


# Clauses by their numbers, and what refers to them. Knows no documents.

_DOTTED = r"[1-9]\d?(?:\.[1-9]\d?){1,2}"
_PART = rf"(?:{_DOTTED}|[1-9]\d?)(?![\d.]?\d)"
_CALLED = (
    r"(?:§§?|\b(?:clause|paragraph|section|article|art|condition|absatz|abschnitt|artikel|ziffer"
    r"|punkt|cl[áa]usula|art[íi]culo)s?\b\.?(?:\s(?:no|nr)\b\.?)?)\s?"
)
_OPENS = re.compile(
    rf"\W{{0,3}}(?:{_CALLED}({_PART})|({_DOTTED}|[1-9]\d?(?=[.):]))[.):]?\s+\S)", re.IGNORECASE
)
_REFERS = re.compile(rf"{_CALLED}({_PART}(?:[^\d.:;()]{{1,5}}{_PART})*)", re.IGNORECASE)
_NUMBERS = re.compile(_PART)
_CHANGES = re.compile(  # a row of a table of changes: its own name, the clause, a few words
    rf"^[^|\n]+\|[ ]?({_DOTTED})[ ]?\|[ ]*[^\W\d_]+[ ]\S+[ ]\S[^|\n]*$", re.MULTILINE
)


def clauses(lines: Sequence[str], heading: str) -> frozenset[str]:
    """The numbers of the clauses that the last of some lines is in: "3.4", and "3" of its heading.

    `heading`: a path of headings, as of a chunk."""
    opened = [found[1] or found[2] for line in lines if (found := _OPENS.match(line))]
    parts = heading.split(" > ")
    headed = [found[1] or found[2] for part in parts if (found := _OPENS.match(part))]
    return frozenset([*opened[-1:], *headed])


def referred_to(text: str) -> frozenset[str]:
    """The numbers of the clauses that a text refers to: "in place of what clause 3.4 says", or a
    row of a table of changes, "A1 | 3.4 | For 31 May read 30 June"."""
    named = (n for found in _REFERS.findall(text) for n in _NUMBERS.findall(found))
    return frozenset([*named, *_CHANGES.findall(text)])


# When something was written, as its name or its headings say. Knows no documents.

_MONTHS = 12
_DATE = re.compile(
    r"(?<![^\W_])(?:(\d{1,2})[^\W\d_]{0,2}[\W_]{1,2})?(?:([^\W\d_]{3,})[\W_]{1,2})?((?:19|20)\d\d)"
    r"(?:-(\d\d)(?:-(\d\d))?)?(?!\d)"
)  # "14 Sept 2026", "summer 2026", "2026", "2026-03-11"


def dated(title: str) -> tuple[int, ...]:
    """The last of the dates in a title: its year, with month and day where they are told; empty if
    there is none. Of "2026-27" the first year counts."""
    return max(map(_date, _DATE.finditer(title)), default=())


def _date(found: re.Match[str]) -> tuple[int, ...]:
    day, word, year, month, of_month = found.groups()
    named = month_called(word or "")
    number, told = (named, day) if named else (int(month or 0), of_month)
    if not 1 <= number <= _MONTHS:
        return (int(year),)
    return (int(year), number, int(told)) if told else (int(year), number)


def is_older(date: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether one date is before another, as far as both are told."""
    told = min(len(date), len(other))
    return date[:told] < other[:told]


# What runs through a document: the heads and feet of its pages, with their numbers.
#
# Only pages that have a picture have any: other texts are not laid out. Knows nothing of files or
# chunks.

_FEWEST, _SHARE = 4, 0.25  # pages that a line stands on, and the share of all that they are
_LINES = 3  # looked at, at each end of a page
_RUNNING_LONGEST = 120  # characters of a line that may be one
_WHOLE_LINE = re.compile(r"[^\r\n]+")
_NUMBER = re.compile(r"\d{1,5}")
_RUNNING_LETTER = re.compile(r"[^\W\d_]")
_Lines = list[tuple[int, int, str]]  # start, end, and what is compared


def own_texts(pages: Sequence[Page]) -> list[tuple[int, int]]:
    """From where to where each page says something of its own.

    A line with words stays where it stands for the first time, so that it can be found; so does a
    page that says nothing else."""
    edges = [_edges(page) if page.width else ([], []) for page in pages]
    many = max(_FEWEST, _SHARE * sum(any(sides) for sides in edges))
    _number(pages, edges, many)
    running = [_running([each[side] for each in edges], many) for side in (0, 1)]
    seen: set[str] = set()
    spans = []
    for page, (top, bottom) in zip(pages, edges, strict=True):
        start = max((end for _, end in _leading(top, running[0], seen)), default=0)
        end = min((at for at, _ in _leading(bottom, running[1], seen)), default=len(page.text))
        seen.update(text for _, _, text in (*top, *bottom))
        spans.append((start, end) if page.text[start:end].strip() else (0, len(page.text)))
    return spans


def _edges(page: Page) -> tuple[_Lines, _Lines]:
    """The first lines of a page, and the last, from its end."""
    lines = [
        (found.start(), found.end(), " ".join(found[0].split()))
        for found in _WHOLE_LINE.finditer(page.text)
        if found[0].strip()
    ]
    return lines[:_LINES], lines[: -_LINES - 1 : -1]


def _number(pages: Sequence[Page], edges: Sequence[tuple[_Lines, _Lines]], many: float) -> None:
    """Put "#" for the number of the page, which may begin to count anywhere, or its label."""
    shifts = Counter(
        shift
        for page, sides in zip(pages, edges, strict=True)
        for shift in {
            int(number) - page.number
            for side in sides
            for _, _, text in side
            for number in _NUMBER.findall(text)
        }
    )
    usual = [shift for shift, often in shifts.items() if often >= many]
    for page, sides in zip(pages, edges, strict=True):
        names = [f"0*{page.number + shift}" for shift in usual]
        if page.label:
            names.append(re.escape(page.label))
        if names:
            name = re.compile(rf"(?<![\w.,])(?:{'|'.join(names)})(?![\w%]|[.,]\d)")
            for side in sides:
                side[:] = [(start, end, name.sub("#", text)) for start, end, text in side]


def _running(edges: Sequence[_Lines], many: float) -> set[str]:
    """What stands at this end of many pages."""
    counts = Counter(text for lines in edges for text in {line[2] for line in lines})
    return {
        text for text, often in counts.items() if often >= many and len(text) <= _RUNNING_LONGEST
    }


def _leading(lines: _Lines, running: set[str], seen: set[str]) -> Iterator[tuple[int, int]]:
    """Where those of the outermost lines stand that run through and were said before."""
    for start, end, text in lines:
        if text not in running or (text not in seen and _RUNNING_LETTER.search(text)):
            return
        yield start, end
