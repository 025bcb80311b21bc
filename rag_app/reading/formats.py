"""Which formats can be read, and which one a file is in.

A new format is one line in READERS and one function with the signature of `Reader`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from rag_app.errors import DamagedFile, EmptyFile, UnsupportedFormat
from rag_app.reading.limits import Limits
from rag_app.reading.text import is_text
from rag_app.types import Reading

OnPage = Callable[[int, int], None]  # pages done, pages in all


class Reader(Protocol):
    """What every reader looks like."""

    def __call__(
        self, path: Path, *, limits: Limits, password: str | None, on_page: OnPage | None
    ) -> Reading:
        """The pages of the file. Raises DocumentError."""
        ...


READERS = {
    ".pdf": "rag_app.reading.pdf:read_pdf",
    ".txt": "rag_app.reading.text:read_text",
    ".md": "rag_app.reading.text:read_markdown",
}

_TAKEN = "PDF, .txt and .md files can be added."
_HEAD = 65_536  # bytes looked at
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an older Microsoft Office file (.doc, .xls or .ppt)"),
    (b"{\\rtf", "an RTF document"),
    (b"%!PS", "a PostScript file"),
    (b"\x89PNG", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
    (b"II*\x00", "a picture (TIFF)"),
    (b"MM\x00*", "a picture (TIFF)"),
    (b"MZ", "a Windows program"),
    (b"\x7fELF", "a program"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"ID3", "a sound file (MP3)"),
    (b"OggS", "a sound file (Ogg)"),
    (b"SQLite format 3\x00", "an SQLite database"),
)
_IN_ZIP: tuple[tuple[bytes, str], ...] = (
    (b"word/", "a Word document (.docx)"),
    (b"xl/", "an Excel workbook (.xlsx)"),
    (b"ppt/", "a PowerPoint presentation (.pptx)"),
    (b"application/epub+zip", "an e-book (.epub)"),
    (b"opendocument", "an OpenDocument file (.odt, .ods or .odp)"),
)
_MARKUP = (b"<!doctype html", b"<html")
_WEB = frozenset([".html", ".htm", ".xhtml", ".mht", ".mhtml"])
_MARKDOWN = frozenset([".md", ".markdown", ".mdown", ".mkd"])


def reader(suffix: str) -> Reader:
    """The reader for a suffix of READERS; its parser is loaded now."""
    module, function = READERS[suffix].split(":")
    return cast(Reader, getattr(import_module(module), function))


def detect(path: Path, name: str) -> str:
    """The suffix in READERS that the file at `path` is to be read as; `name` is the user's for it.

    Raises EmptyFile, DamagedFile or UnsupportedFormat."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise EmptyFile(
            f"“{name}” is empty (0 bytes). Check that it was saved or copied completely."
        )
    suffix = Path(name).suffix.lower()
    text = is_text(head, whole=len(head) < _HEAD)
    if _is_pdf(head, suffix, text):
        return ".pdf"
    guess = _guess(head, suffix)
    if suffix == ".pdf":
        what = (
            f" It seems to be {guess}." if guess else " It seems to be plain text." if text else ""
        )
        raise DamagedFile(
            f"“{name}” is called .pdf but is not a PDF: it has no PDF header.{what} "
            "Ask for a fresh copy, or give the file its right name."
        )
    if guess or not text:
        raise UnsupportedFormat(
            f"“{name}” seems to be {guess or 'a binary file'}, which cannot be read. {_TAKEN} "
            "Saving or printing it as a PDF from the program that made it will do."
        )
    return ".md" if suffix in _MARKDOWN else ".txt"


def _is_pdf(head: bytes, suffix: str, text: bool) -> bool:
    """Whether the header stands where PDF viewers look for it; a text may quote one."""
    at = head[:1029].find(b"%PDF-")
    return at >= 0 and (suffix == ".pdf" or not text or not head[:at].strip(b"\xef\xbb\xbf \r\n\t"))


def _guess(head: bytes, suffix: str) -> str:
    """What the first bytes seem to be, empty if nothing known."""
    if head.startswith(b"PK\x03\x04"):
        return next((what for mark, what in _IN_ZIP if mark in head), "a ZIP archive")
    if head[4:8] == b"ftyp":
        return "a film, sound or picture (MP4 or HEIC)"
    if head.startswith(b"RIFF"):
        return "a film, sound or picture (RIFF)"
    opening = head[:1024].lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    if opening.startswith(_MARKUP) or (suffix in _WEB and b"<" in opening):
        return "a web page (HTML)"
    return next((what for mark, what in _MAGIC if head.startswith(mark)), "")
