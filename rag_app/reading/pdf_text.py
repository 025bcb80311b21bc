"""The text of a PDF page: one character for every PDFium character index.

Whoever asks for boxes opens the page's text by the same function as whoever read it, so an offset
in the text is an index in PDFium, always."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pypdfium2 as pdfium
import pypdfium2.raw as raw

HYPHEN = "\ufffe"  # how PDFium marks a hyphen at a line's end, which it then joins with the next

_SAMPLE = 80  # characters looked at to tell which way up a page's text stands
_LONE_BREAK = re.compile(r"(?<!\r)\n|\r(?!\n)")  # a space in fonts with strange maps
# Letters past U+FFFF take two indexes each. The letters of a run come first, and what fills its
# second half is invisible, so that a word of them stays a word.
_PAIRS = re.compile("(?:[\ud800-\udbff][\udc00-\udfff])+")
_FILLER = "\u2060"
_CLEAN = {
    **{code: " " for code in (*range(32), *range(0x7F, 0xA0), 0xFFFF) if chr(code) not in "\r\n\t"},
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
    0x02: HYPHEN,
}


@contextmanager
def open_text(page: pdfium.PdfPage) -> Iterator[pdfium.PdfTextPage]:
    """A page's text in reading order, closed at the end of the block.

    PDFium orders text as displayed. Where a page is shown turned against its text, that order is
    scrambled, so the page is turned for reading to the way that its text stands upright."""
    shown = page.get_rotation()
    text = page.get_textpage()
    turn = upright(text, 0, text.count_chars(), shown)
    if turn != shown:
        text.close()
        page.set_rotation(turn)
        try:
            text = page.get_textpage()
        finally:
            page.set_rotation(shown)
    with closing(text):
        yield text


def upright(text: pdfium.PdfTextPage, start: int, end: int, shown: int) -> int:
    """The rotation under which most of these characters stand upright; `shown` if none does."""
    turns: Counter[int] = Counter()
    for index in range(start, end, max(1, (end - start) // _SAMPLE)):
        if raw.FPDFText_IsGenerated(text, index) or raw.FPDFText_GetUnicode(text, index) <= 32:
            continue
        angle = raw.FPDFText_GetCharAngle(text, index)
        turns[round(-math.degrees(angle) / 90) % 4 * 90] += 1
    rotation, votes = turns.most_common(1)[0] if turns else (shown, 0)
    return rotation if votes * 3 > turns.total() * 2 else shown


def characters(text: pdfium.PdfTextPage) -> str:
    """The characters of an opened text, one for each PDFium index; HYPHEN where PDFium says so."""
    count = text.count_chars()
    if not count:
        return ""
    found: str = text.get_text_range()
    if len(found) != count or raw.FPDFText_GetTextIndexFromCharIndex(text, count - 1) != count - 1:
        found = "".join(_character(text, index) for index in range(count))
    found = _PAIRS.sub(_joined, found).translate(_CLEAN)
    if found.count("\n") != found.count("\r\n") or found.count("\r") != found.count("\r\n"):
        found = _LONE_BREAK.sub(" ", found)
    return found


def _joined(run: re.Match[str]) -> str:
    letters = run[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    return letters + _FILLER * len(letters)


def _character(text: pdfium.PdfTextPage, index: int) -> str:
    code = raw.FPDFText_GetUnicode(text, index)
    return chr(code) if 0 < code <= 0x10FFFF else " "
