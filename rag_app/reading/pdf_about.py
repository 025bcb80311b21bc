"""What pypdf knows about a PDF: title, outline, page labels, and a second opinion on its text.

PDFium's text is what counts: whatever goes wrong in here is an answer less, never an error."""

from __future__ import annotations

import logging
import re
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pypdf

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


class _TooSlow(BaseException):
    """Not an Exception, so that no handler inside pypdf swallows it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the outline."""

    page: int
    level: int
    title: str


class About:
    """Answers questions about one PDF; an empty answer where pypdf does not know."""

    def __init__(self, path: Path, password: str | None = None) -> None:
        self._reader = _ask(lambda: _open(path, password), None)

    def title(self) -> str:
        """The title in the metadata if it is one that a person would give."""
        raw = self._asked(lambda r: r.metadata.title if r.metadata else "", "")
        title = " ".join(_clean(raw).split())
        letters = sum(map(str.isalpha, title))
        if _NO_TITLE.match(title) or letters < 3 or letters * 3 < len(title):
            return ""
        return title[:300]

    def labels(self) -> list[str]:
        """What the document calls its pages, empty if nothing special."""
        nothing: list[str] = []
        return [_clean(label) for label in self._asked(lambda r: list(r.page_labels), nothing)]

    def outline(self) -> list[Entry]:
        """The entries that lead to a page, in order."""
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


def _open(path: Path, password: str | None) -> pypdf.PdfReader | None:
    reader = pypdf.PdfReader(path, strict=False)
    if reader.is_encrypted and not reader.decrypt(password or ""):
        return None
    return reader


def _ask(question: Callable[[], T | None], otherwise: T, seconds: float = _SECONDS) -> T:
    try:
        with _at_most(seconds):
            answer = question()
    except (Exception, _TooSlow):  # pypdf raises anything on broken files
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


def _entries(reader: pypdf.PdfReader, outline: list[Any], level: int) -> Iterator[Entry]:
    for item in outline:
        if isinstance(item, list):
            if level < _DEEPEST:
                yield from _entries(reader, item, level + 1)
            continue
        page = reader.get_destination_page_number(item)
        title = " ".join(_clean(item.title).split())[:200]
        if page is not None and page >= 0 and title:
            yield Entry(page + 1, level, title)


def _clean(text: object) -> str:
    """Text that can be stored and shown."""
    kept = "".join(c if c.isprintable() or c in "\r\n\t" else " " for c in str(text or ""))
    return kept.encode("utf-8", "replace").decode("utf-8")
