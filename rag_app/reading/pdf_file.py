"""Opens PDF files with PDFium, and says in plain words why one cannot be opened.

PDFium is not thread-safe: only the child process, which does one thing at a time, calls it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from rag_app.errors import (
    DamagedFile,
    PasswordNeeded,
    RagAppError,
    UnsupportedFormat,
    WrongPassword,
)

TORN = (
    "This PDF is damaged: its contents cannot be found. "
    "Ask for a fresh copy, or save it again from the program that made it."
)


@contextmanager
def open_pdf(path: Path, password: str | None = None) -> Iterator[pdfium.PdfDocument]:
    """The document, closed at the end of the block.

    Raises DamagedFile, PasswordNeeded, WrongPassword or UnsupportedFormat."""
    try:
        document = pdfium.PdfDocument(path, password=password or None)
    except pdfium.PdfiumError as error:
        raise _refusal(error.err_code, password) from error
    except FileNotFoundError as error:
        raise DamagedFile("The file of this document is gone. Add it again.") from error
    with closing(document):
        yield document


def unlock(path: Path, password: str, target: Path) -> None:
    """Write a copy that opens without a password. Raises WrongPassword; then nothing is written."""
    unfinished = target.with_name(target.name + ".part")
    try:
        with open_pdf(path, password) as document:
            document.save(unfinished, flags=raw.FPDF_REMOVE_SECURITY)
        unfinished.replace(target)
    finally:
        unfinished.unlink(missing_ok=True)


def _refusal(code: int | None, password: str | None) -> RagAppError:
    if code == raw.FPDF_ERR_PASSWORD:
        if password:
            return WrongPassword("This password does not open the PDF. Try another one.")
        return PasswordNeeded("This PDF is locked. Enter its password to read it.")
    if code == raw.FPDF_ERR_SECURITY:
        return UnsupportedFormat(
            "This PDF is locked in a way that cannot be opened here. "
            "Save a copy without protection and add that."
        )
    return DamagedFile(TORN)


@contextmanager
def open_page(document: pdfium.PdfDocument, number: int) -> Iterator[pdfium.PdfPage]:
    """A page by its number from 1, closed at the end of the block. Raises DamagedFile.

    What was typed into its form fields and onto it is part of it, for reading and for showing."""
    try:
        page = document[number - 1]
        if _is_filled_in(page):
            raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
            page.close()
            page = document[number - 1]
    except (pdfium.PdfiumError, IndexError) as error:
        raise DamagedFile(
            f"Page {number} of this PDF is damaged and cannot be shown. Ask for a fresh copy."
        ) from error
    with closing(page):
        yield page


def _is_filled_in(page: pdfium.PdfPage) -> bool:
    """Whether the page has form fields or typed notes."""
    for index in range(raw.FPDFPage_GetAnnotCount(page)):
        note = raw.FPDFPage_GetAnnot(page, index)
        if not note:
            continue
        kind = raw.FPDFAnnot_GetSubtype(note)
        raw.FPDFPage_CloseAnnot(note)
        if kind in (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT):
            return True
    return False
