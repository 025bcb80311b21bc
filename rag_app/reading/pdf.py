"""Reads PDFs: PDFium for the text, pypdf for what it knows about the document."""

from __future__ import annotations

import ctypes
import logging
import re
import signal
import struct
import threading
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pypdf
import pypdfium2 as pdfium
import pypdfium2.raw as raw
from pypdf.errors import DependencyError, PyPdfError

from rag_app.errors import DamagedFile, DocumentError, LimitReached, NoText
from rag_app.reading.limits import DAMAGED, Limits, Unpacking, over_ocr_pages
from rag_app.reading.pdf_page import (
    HYPHEN,
    TORN,
    characters,
    named,
    open_page,
    open_pdf,
    open_text,
    words,
)
from rag_app.reading.spaced_tables import PlacedWord, grids
from rag_app.supervision import Told, untold
from rag_app.types import Grid, Heading, Page, Reading

# Tells hyphens that a line end put into a word from those that belong to it.
#
# The document is its own dictionary: it has "information" elsewhere, or "forward-looking".

SOFT = "\u00ad"  # shown only where a line ends, left out when a text is searched

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def resolve_hyphens(texts: Sequence[str], mark: str) -> list[str]:
    """The texts with every `mark` replaced by "-" or a soft hyphen; lengths stay as they are."""
    if not any(mark in text for text in texts):
        return list(texts)
    joint = re.compile(rf"(?<![\w-])([^\W\d_]+){mark}([^\W\d_]+)(?![\w-])")
    words = {word.lower() for text in texts for word in _WORD.findall(joint.sub(" ", text))}
    pairs: set[tuple[str, str]] = {pair for text in texts for pair in joint.findall(text)}
    broken = {pair for pair in pairs if _is_broken(*pair, words)}
    if 3 * len(broken) > len(pairs):  # a text that is set so breaks words it has nowhere else, too
        broken |= {pair for pair in pairs if _may_be_broken(*pair, words)}

    def resolve(match: re.Match[str]) -> str:
        left, right = match.groups()
        return f"{left}{SOFT if match.groups() in broken else '-'}{right}"

    return [joint.sub(resolve, text).replace(mark, "-") if mark in text else text for text in texts]


def _is_broken(left: str, right: str, words: set[str]) -> bool:
    """Whether the document has both parts as one word, and not with a hyphen."""
    first, second = left.lower(), right.lower()
    return right.islower() and first + second in words and f"{first}-{second}" not in words


def _may_be_broken(left: str, right: str, words: set[str]) -> bool:
    """Whether the parts can be one word, since they are not two."""
    first, second = left.lower(), right.lower()
    two = first in words and second in words
    return right.islower() and not two and f"{first}-{second}" not in words


# What pypdf knows about a PDF: title, outline, page labels, and a second opinion on its text.
#
# PDFium's text is what counts: whatever goes wrong in here is an answer less, never an error.

T = TypeVar("T")
log = logging.getLogger(__name__)
logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells the console about every odd font

_SECONDS = 20.0  # for one question; asking for text is cut off sooner
_SECONDS_FOR_TEXT = 5.0
_MOST_ENTRIES = 5_000
_DEEPEST = 8
_NO_TITLE = re.compile(
    r"(?:untitled|document|title|slide|page|book|sheet|presentation)?[\s\d._-]*\Z"
    r"|microsoft (?:word|powerpoint|excel)\b|(?:[a-z]:)?[\\/]|(?:https?|file):"
    r"|.*\.(?:docx?|xlsx?|pptx?|pdf|tex|dvi|indd|rtf|html?|qxd|p65)\Z",
    re.IGNORECASE | re.DOTALL,
)


# What pypdf raises on broken files: errors of its own, and those of Python where it took what
# stands in a file for what should stand there.
_UNANSWERED = (
    *(PyPdfError, DependencyError, ArithmeticError, AssertionError, AttributeError, EOFError),
    *(LookupError, OSError, RuntimeError, TypeError, ValueError, struct.error, zlib.error),
)


class _TooSlow(BaseException):
    """Not an Exception, so that no handler inside pypdf swallows it."""


class About:
    """Answers questions about one PDF; an empty answer where pypdf does not know."""

    def __init__(self, path: Path) -> None:
        self._reader = _ask(lambda: _open(path), None)

    def title(self) -> str:
        """The title in the metadata if it is one that a person would give."""
        raw = self._asked(lambda r: r.metadata.title if r.metadata else "", "")
        title = " ".join(_clean(raw).split())
        letters = sum(map(str.isalpha, title))
        in_brackets = title.startswith("(") and title.endswith(")")  # a program's "(anonymous)"
        if in_brackets or _NO_TITLE.match(title) or letters < 3 or letters * 3 < len(title):
            return ""
        return title[:300]

    def labels(self) -> list[str]:
        """What the document calls its pages, empty if nothing special."""
        nothing: list[str] = []
        return [_clean(label) for label in self._asked(lambda r: list(r.page_labels), nothing)]

    def outline(self) -> list[Heading]:
        """The entries that lead to a page, in order; where they stand on it is not known yet."""
        return self._asked(lambda r: list(_entries(r, r.outline, 1))[:_MOST_ENTRIES], [])

    def text(self, number: int) -> str:
        """What pypdf reads on a page."""
        return _clean(
            self._asked(lambda r: r.pages[number - 1].extract_text(), "", _SECONDS_FOR_TEXT)
        )

    def _asked(
        self,
        question: Callable[[pypdf.PdfReader], T | None],
        otherwise: T,
        seconds: float = _SECONDS,
    ) -> T:
        reader = self._reader
        return otherwise if reader is None else _ask(lambda: question(reader), otherwise, seconds)


def _open(path: Path) -> pypdf.PdfReader | None:
    reader = pypdf.PdfReader(path, strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        return None
    return reader


def _ask(question: Callable[[], T | None], otherwise: T, seconds: float = _SECONDS) -> T:
    try:
        with _at_most(seconds):
            answer = question()
    except (*_UNANSWERED, _TooSlow):
        log.debug("pypdf could not say", exc_info=True)
        return otherwise
    return otherwise if answer is None else answer


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Stop the block after some seconds, where the system has an alarm for that."""
    if (
        not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise _TooSlow

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _entries(reader: pypdf.PdfReader, outline: list[Any], level: int) -> Iterator[Heading]:
    for item in outline:
        if isinstance(item, list):
            if level < _DEEPEST:
                yield from _entries(reader, item, level + 1)
            continue
        page = reader.get_destination_page_number(item)
        title = " ".join(_clean(item.title).split())[:200]
        if page is not None and page >= 0 and title:
            yield Heading(page + 1, 0, level, title)


def _clean(text: object) -> str:
    """Text that can be stored and shown."""
    kept = "".join(c if c.isprintable() or c in "\r\n\t" else " " for c in str(text or ""))
    return kept.encode("utf-8", "replace").decode("utf-8")


_SECOND_OPINIONS = 50  # pages without text that are shown to pypdf, too


@dataclass(frozen=True, slots=True)
class _Read:
    """What PDFium found on one page."""

    text: str
    size: tuple[float, float] | None  # None: the page could not be opened
    drawn: bool  # something is drawn on it
    grids: tuple[Grid, ...] = ()  # its tables
    lines: tuple[SetLine, ...] = ()  # how it is set


def read_pdf(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The pages, title and headings of a PDF.

    Raises DamagedFile, PasswordNeeded, UnsupportedFormat, NoText or LimitReached."""
    with open_pdf(path) as document:
        found = _read_pages(document, limits, on_page)
        attached = _attached(document, limits)
    about = About(path)
    texts = _with_second_opinions([each.text for each in found], about)
    scans = _scans(found, texts)
    silent = not any(text.strip() for text in texts) and not (scans and limits.ocr_pages)
    if silent and not attached.parts:
        raise _no_text(found)
    labels = about.labels()
    pages = tuple(
        Page(number, text, _label(labels, number), *(each.size or (None, None)))
        for number, (text, each) in enumerate(zip(texts, found, strict=True), 1)
    )
    outline = _headings(about.outline(), pages) or _by_type(found, texts)
    warnings = (*_warnings(found, texts, limits.ocr_pages), *attached.warnings())
    return Reading(
        pages,
        about.title(),
        outline,
        warnings,
        parts=attached.parts,
        scans=scans[: limits.ocr_pages],
        tables=sum(len(each.grids) for each in found) or None,
        grids=tuple(grid for each in found for grid in each.grids),
    )


def _attached(document: pdfium.PdfDocument, limits: Limits) -> Unpacking:
    """The files that are attached to a PDF, taken out of it where that is wanted."""
    unpacking = Unpacking(limits)
    count = document.count_attachments() if unpacking.wanted else 0
    for index in range(count):
        try:
            attachment = document.get_attachment(index)
            name, data = attachment.get_name(), bytes(attachment.get_data())
        except pdfium.PdfiumError:
            unpacking.leave(f"attachment {index + 1}", DAMAGED)
        else:
            unpacking.take(name or f"attachment {index + 1}", iter((data,)))
    return unpacking


def _read_pages(document: pdfium.PdfDocument, limits: Limits, on_page: Told) -> list[_Read]:
    count = len(document)
    if not count:
        raise DamagedFile(TORN)
    if count > limits.max_pages:
        raise LimitReached(
            f"This PDF has {count:,} pages, more than the {limits.max_pages:,} set by "
            "RAG_APP_MAX_PAGES. Split it, or raise the limit."
        )
    found: list[_Read] = []
    left = limits.max_characters
    for number in range(1, count + 1):
        found.append(_read_page(document, number, left))
        left -= len(found[-1].text)
        on_page(number, count)
    return found


def _read_page(document: pdfium.PdfDocument, number: int, most: int) -> _Read:
    try:
        with open_page(document, number) as page:
            size = page.get_size()
            with open_text(page) as text:
                if text.count_chars() > most:
                    raise LimitReached(
                        f"The text of this PDF is over the limit on page {number}: it is more than "
                        "RAG_APP_MAX_CHARACTERS allows. Split it, or raise the limit."
                    )
                found = characters(text)
                drawn = raw.FPDFPage_CountObjects(page) > 0
                placed = words(text, found)
                tables = tuple(grids(placed, number))
                given = (text, found, placed, tables, number)
                lines = set_lines(*given) if len(document) <= SHORT else ()
                return _Read(found, size, drawn, tables, lines)
    except (DamagedFile, pdfium.PdfiumError):
        return _Read("", None, False)


def _with_second_opinions(texts: Sequence[str], about: About) -> list[str]:
    """The texts, hyphens resolved; where PDFium found none, what pypdf finds."""
    resolved = resolve_hyphens(texts, HYPHEN)
    silent = [index for index, text in enumerate(texts) if not text.strip()]
    for index in silent[:_SECOND_OPINIONS]:
        resolved[index] = about.text(index + 1)
    return resolved


def _no_text(found: Sequence[_Read]) -> DocumentError:
    if not any(each.size for each in found):
        return DamagedFile(TORN)
    drawn = [number for number, each in enumerate(found, 1) if each.drawn]
    if drawn:
        return NoText(
            f"There is no text in this PDF: {named(drawn)} may be scanned, a picture of text. "
            "Run it through text recognition (OCR) and add the result."
        )
    empty = named(range(1, len(found) + 1))
    return NoText(
        f"There is no text in this PDF: nothing stands on {empty}. Check that it is the right file."
    )


def _scans(found: Sequence[_Read], texts: Sequence[str]) -> tuple[int, ...]:
    """The pages that show something and have no text."""
    pages = enumerate(zip(found, texts, strict=True), 1)
    return tuple(number for number, (each, text) in pages if each.drawn and not text.strip())


def _warnings(found: Sequence[_Read], texts: Sequence[str], ocr_pages: int) -> list[str]:
    warnings = []
    silent = [n for n, text in enumerate(texts, 1) if not text.strip()]
    if damaged := [n for n in silent if found[n - 1].size is None]:
        warnings.append(f"Damaged and left out: {named(damaged)}.")
    scans = _scans(found, texts)
    if scans and ocr_pages:  # of those that will be recognised, what is missing is said then
        warnings += over_ocr_pages(len(scans), ocr_pages)
    elif scans:
        what = "they may be scans" if len(scans) > 1 else "it may be a scan"
        warnings.append(f"No text on {named(scans)} ({what}).")
    return warnings


def _label(labels: Sequence[str], number: int) -> str:
    label = labels[number - 1].strip() if number <= len(labels) else ""
    return "" if label == str(number) else label


def _headings(outline: Sequence[Heading], pages: Sequence[Page]) -> tuple[Heading, ...]:
    """The outline as headings, each at its own words on the page if they are there."""
    return tuple(
        replace(entry, start=_find(entry.text, pages[entry.page - 1].text))
        for entry in outline
        if entry.page <= len(pages)
    )


def _by_type(found: Sequence[_Read], texts: Sequence[str]) -> tuple[Heading, ...]:
    """The headings as they are set; none on a page whose text is not PDFium's. Hyphens of line
    ends are resolved by now, which moves nothing."""
    lines = [
        replace(line, text=text[line.start : line.end])
        for each, text in zip(found, texts, strict=True)
        if len(each.text) == len(text)
        for line in each.lines
    ]
    return headings(lines, len(found))


def _find(title: str, text: str) -> int:
    words = re.compile(r"\s+".join(map(re.escape, title.split())), re.IGNORECASE)
    found = words.search(text)
    return found.start() if found else 0


# The headings of a PDF without an outline, by how they are set: larger than most of its text, or
# bold where that is not.

_LARGER = 1.12  # than most of the text, in heights of letters
_BOLD = 600  # weight of letters from which they are
_LONGEST = 120  # characters of a heading, over all its lines
_APART = 1.5  # heights between two words of a line that belong to two columns
_MOST = 0.25  # of the text that is set so, beyond which it tells nothing
_SAME = 4  # points between the places of a running title on two pages, at most
_FEWEST = 2  # headings that make a structure, and one for each page
_DEEPEST_LEVEL = 6
_LINE_END = 3  # characters between two lines that follow each other, at most
_NAME = 128  # bytes of a font's name
SHORT = 60
"""Pages of a document of which it is known what they are worth (benchmarks/LOG.md)."""

_NUMBER = re.compile(r"\W?(?:\d[\d.]*|[^\W\d_]|[ivxIVX]{1,5})[.):]?")  # before a heading


@dataclass(frozen=True, slots=True)
class SetLine:
    """A line of a page, `start` to `end` in its text, and how it is set: the height of its letters
    in half points, whether they are bold, and how far up it stands, in steps of `_SAME` points."""

    page: int
    start: int
    end: int
    text: str
    height: int
    bold: bool
    up: int


def set_lines(
    text: pdfium.PdfTextPage,
    found: str,
    placed: Sequence[PlacedWord],
    tables: Sequence[Grid],
    number: int,
) -> tuple[SetLine, ...]:
    """The lines of an opened text and how they are set, but those of tables; `found`: its
    characters, `placed`: its words."""
    cells = {
        start
        for grid in tables
        for start, end in zip(grid.starts, grid.ends, strict=True)
        if end > start
    }
    breaks = [0, *(one.end() for one in re.finditer(r"[\r\n]+", found)), len(found)]
    words = iter([*placed, None])
    word = next(words)
    lines: list[SetLine] = []
    for _, end in pairwise(breaks):
        own: list[PlacedWord] = []
        while word is not None and word.start < end:
            own.append(word)
            word = next(words)
        if own and own[0].start not in cells and not _is_parted(own):
            start, stop = own[0].start, own[-1].end
            bold = all(_is_bold(text, one.start) for one in (own[0], own[-1]))
            height, up = min(_height(one) for one in own), round(own[0].box.y1 / _SAME)
            lines.append(SetLine(number, start, stop, found[start:stop], height, bold, up))
    return tuple(lines)


def _height(word: PlacedWord) -> int:
    return round(2 * (word.box.y1 - word.box.y0))


def _is_parted(words: Sequence[PlacedWord]) -> bool:
    """Whether the words of a line, without its number, stand as far apart as two columns."""
    bare = words[1:] if _NUMBER.fullmatch(words[0].text) else words
    return any(2 * (b.box.x0 - a.box.x1) > _APART * _height(a) for a, b in pairwise(bare))


def _is_bold(text: pdfium.PdfTextPage, index: int) -> bool:
    if raw.FPDFText_GetFontWeight(text, index) >= _BOLD:
        return True
    name = ctypes.create_string_buffer(_NAME)
    raw.FPDFText_GetFontInfo(text, index, name, _NAME, ctypes.c_int())
    return b"bold" in name.value.lower()


def headings(lines: Sequence[SetLine], pages: int) -> tuple[Heading, ...]:
    """The headings among the lines of a document of so many pages, outermost the largest; none if
    they are too few, or too many, to be its structure."""
    sizes, bold = Counter[int](), 0
    for line in lines:
        sizes[line.height] += len(line.text)
        bold += len(line.text) * line.bold
    total = sizes.total()
    if not total:
        return ()
    usual = sizes.most_common(1)[0][0]
    tells = 2 * bold < total
    standing_out = [
        line
        for line in lines
        if line.height >= _LARGER * usual or (tells and line.bold and line.height >= usual)
    ]
    if sum(len(line.text) for line in standing_out) > _MOST * total:
        return ()
    found = _without_running(list(_whole(standing_out)))
    if len(found) < max(_FEWEST, pages):
        return ()
    looks = sorted({(-line.height, not line.bold) for line in found})
    return tuple(
        Heading(
            line.page,
            line.start,
            min(_DEEPEST_LEVEL, looks.index((-line.height, not line.bold)) + 1),
            " ".join(line.text.split()),
        )
        for line in found
    )


def _whole(standing_out: Sequence[SetLine]) -> Iterator[SetLine]:
    """Those that can be headings, one over several lines as one."""
    runs: list[list[SetLine]] = []
    for line in standing_out:
        if runs and _goes_on(runs[-1][-1], line):
            runs[-1].append(line)
        else:
            runs.append([line])
    for run in runs:
        whole = replace(run[0], end=run[-1].end, text="\n".join(line.text for line in run))
        lettered = sum(map(str.isalpha, whole.text)) > 2
        if lettered and len(whole.text) <= _LONGEST and whole.text[-1] not in ".,;:":
            yield whole


def _goes_on(above: SetLine, line: SetLine) -> bool:
    """Whether a line is set as the one right above it."""
    alike = (above.page, above.height, above.bold) == (line.page, line.height, line.bold)
    return alike and line.start - above.end <= _LINE_END


def _without_running(found: Sequence[SetLine]) -> list[SetLine]:
    """Each that stands at the same place of several pages once, whatever its numbers."""
    seen = dict[tuple[str, int], SetLine]()
    for line in found:
        seen.setdefault((re.sub(r"[\d\W]+", "", line.text.lower()), line.up), line)
    return list(seen.values())
