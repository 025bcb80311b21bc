"""Reads PDFs: PDFium for the text, pypdf for what it knows about the document."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from rag_app.errors import DamagedFile, DocumentError, LimitReached, NoText
from rag_app.reading.hyphens import resolve_hyphens
from rag_app.reading.limits import Limits, over_ocr_pages
from rag_app.reading.pages import named
from rag_app.reading.pdf_about import About, Entry
from rag_app.reading.pdf_file import TORN, open_page, open_pdf
from rag_app.reading.pdf_text import HYPHEN, characters, open_text
from rag_app.reading.unpacking import DAMAGED, Unpacking
from rag_app.types import Heading, Page, Reading

_SECOND_OPINIONS = 50  # pages without text that are shown to pypdf, too


@dataclass(frozen=True, slots=True)
class _Read:
    """What PDFium found on one page."""

    text: str
    size: tuple[float, float] | None  # None: the page could not be opened
    drawn: bool  # something is drawn on it


def read_pdf(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: Callable[[int, int], None] | None = None,
) -> Reading:
    """The pages, title and headings of a PDF.

    Raises DamagedFile, PasswordNeeded, WrongPassword, UnsupportedFormat, NoText or LimitReached."""
    with open_pdf(path, password) as document:
        found = _read_pages(document, limits, on_page)
        attached = _attached(document, limits)
    about = About(path, password)
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
    headings = _headings(about.outline(), pages)
    warnings = (*_warnings(found, texts, limits.ocr_pages), *attached.warnings())
    return Reading(
        pages,
        about.title(),
        headings,
        warnings,
        parts=attached.parts,
        scans=scans[: limits.ocr_pages],
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


def _read_pages(
    document: pdfium.PdfDocument, limits: Limits, on_page: Callable[[int, int], None] | None
) -> list[_Read]:
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
        if on_page:
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
                return _Read(characters(text), size, raw.FPDFPage_CountObjects(page) > 0)
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


def _headings(outline: Sequence[Entry], pages: Sequence[Page]) -> tuple[Heading, ...]:
    """The outline as headings, each at its own words on the page if they are there."""
    return tuple(
        Heading(
            entry.page, _find(entry.title, pages[entry.page - 1].text), entry.level, entry.title
        )
        for entry in outline
        if entry.page <= len(pages)
    )


def _find(title: str, text: str) -> int:
    words = re.compile(r"\s+".join(map(re.escape, title.split())), re.IGNORECASE)
    found = words.search(text)
    return found.start() if found else 0
