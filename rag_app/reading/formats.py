"""Which formats can be read, and which one a file is in.

A new format is one line in READERS and one function with the signature of `Reader`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from rag_app.errors import DamagedFile, EmptyFile, UnsupportedFormat
from rag_app.reading.kinds import (
    A_ZIP,
    PICTURES,
    guess,
    picture_kind,
    text_kind,
    torn_zip_kind,
    zip_guess,
    zip_kind,
)
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


_PACKAGE = "rag_app.reading"
READERS = {
    ".pdf": f"{_PACKAGE}.pdf:read_pdf",
    **{suffix: f"{_PACKAGE}.images:read_image" for suffix in PICTURES},
    ".docx": f"{_PACKAGE}.docx:read_docx",
    ".xlsx": f"{_PACKAGE}.sheets:read_sheets",
    ".pptx": f"{_PACKAGE}.pptx:read_pptx",
    ".odt": f"{_PACKAGE}.opendocument:read_odt",
    ".ods": f"{_PACKAGE}.sheets:read_sheets",
    ".odp": f"{_PACKAGE}.opendocument:read_odp",
    ".doc": f"{_PACKAGE}.ole:read_ole",
    ".xls": f"{_PACKAGE}.ole:read_ole",
    ".ppt": f"{_PACKAGE}.ole:read_ole",
    ".rtf": f"{_PACKAGE}.rtf:read_rtf",
    ".epub": f"{_PACKAGE}.epub:read_epub",
    ".html": f"{_PACKAGE}.web:read_html",
    ".mhtml": f"{_PACKAGE}.mail:read_mhtml",
    ".eml": f"{_PACKAGE}.mail:read_eml",
    ".msg": f"{_PACKAGE}.ole:read_ole",
    ".mbox": f"{_PACKAGE}.mail:read_mbox",
    ".zip": f"{_PACKAGE}.zipped:read_zip",
    ".txt": f"{_PACKAGE}.text:read_text",
    ".md": f"{_PACKAGE}.text:read_markdown",
    ".rst": f"{_PACKAGE}.sources:read_rst",
    ".tex": f"{_PACKAGE}.sources:read_latex",
    ".adoc": f"{_PACKAGE}.sources:read_asciidoc",
    ".org": f"{_PACKAGE}.sources:read_org",
    ".csv": f"{_PACKAGE}.delimited:read_delimited",
    ".tsv": f"{_PACKAGE}.delimited:read_delimited",
    ".json": f"{_PACKAGE}.structured:read_json",
    ".jsonl": f"{_PACKAGE}.structured:read_json",
    ".ipynb": f"{_PACKAGE}.structured:read_json",
    ".xml": f"{_PACKAGE}.structured:read_xml",
}

_ALIASES = {
    ".docm": ".docx", ".dotx": ".docx", ".dotm": ".docx",
    ".xlsm": ".xlsx", ".xltx": ".xlsx", ".xltm": ".xlsx", ".xlsb": ".xlsx",
    ".pptm": ".pptx", ".ppsx": ".pptx", ".ppsm": ".pptx", ".potx": ".pptx", ".potm": ".pptx",
    ".ott": ".odt", ".ots": ".ods", ".otp": ".odp",
    ".dot": ".doc", ".xlt": ".xls", ".pps": ".ppt", ".pot": ".ppt",
    ".htm": ".html", ".xhtml": ".html", ".xht": ".html", ".mht": ".mhtml",
    ".markdown": ".md", ".mdown": ".md", ".mkd": ".md", ".rest": ".rst", ".latex": ".tex",
    ".asciidoc": ".adoc", ".asc": ".adoc", ".tab": ".tsv", ".ndjson": ".jsonl",
    ".jpeg": ".jpg", ".jpe": ".jpg", ".jfif": ".jpg", ".tif": ".tiff", ".geojson": ".json",
    ".nxml": ".xml", ".text": ".txt", ".log": ".txt",
}  # fmt: skip
# Texts of which nothing but their names says how they are to be read.
_BY_NAME = frozenset(
    [".md", ".rst", ".tex", ".adoc", ".org", ".csv", ".tsv", ".json", ".jsonl", ".ipynb"]
)
_SOURCES = (
    ".bat", ".c", ".cc", ".cfg", ".clj", ".conf", ".cpp", ".cs", ".css", ".cxx", ".dart", ".erl",
    ".ex", ".f90", ".go", ".gradle", ".groovy", ".h", ".hpp", ".hs", ".ics", ".ini", ".java",
    ".jl", ".js", ".jsx", ".kt", ".lisp", ".lua", ".m", ".ml", ".nim", ".php", ".pl",
    ".properties", ".proto", ".ps1", ".py", ".r", ".rb", ".rs", ".scala", ".scss", ".sh", ".sql",
    ".srt", ".swift", ".tcl", ".tf", ".toml", ".ts", ".tsx", ".vb", ".vcf", ".vim", ".vtt",
    ".yaml", ".yml", ".zig",
)  # fmt: skip
NAMES = tuple(dict.fromkeys([*READERS, *_ALIASES, *_SOURCES]))  # of files worth offering

_TAKEN = (
    "PDF, Word, Excel, PowerPoint, OpenDocument, RTF, EPUB, web page, e-mail, table, picture and "
    "text files can be added, and ZIP archives of them."
)
_HEAD = 65_536  # bytes looked at
LOCKABLE = (".pdf", ".doc", ".xls", ".ppt")  # what may ask for a password; suffixes of READERS
_IN_A_ZIP = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp", ".epub")
_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLD_OFFICE = (".doc", ".xls", ".ppt", ".msg")  # one reader for all: it looks into the file


def reader(suffix: str) -> Reader:
    """The reader for a suffix of READERS; its parser is loaded now."""
    module, function = READERS[suffix].split(":")
    return cast(Reader, getattr(import_module(module), function))


def detect(path: Path, name: str) -> str:
    """The suffix in READERS that the file at `path` is to be read as; `name` is the user's for it.

    Raises EmptyFile, DamagedFile, UnsupportedFormat or LimitReached."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise EmptyFile(
            f"“{name}” is empty (0 bytes). Check that it was saved or copied completely."
        )
    given = Path(name).suffix.lower()
    suffix = _ALIASES.get(given, given)
    text = is_text(head, whole=len(head) < _HEAD)
    if _is_pdf(head, suffix, text):
        return ".pdf"
    kind = _kind(path, head, suffix, text)
    if suffix == ".pdf" and kind not in (*_IN_A_ZIP, *PICTURES):
        raise _no_pdf(name, guess(head), text)
    if not kind:
        raise _refusal(name, _guess(path, head))
    return kind


def _kind(path: Path, head: bytes, suffix: str, text: bool) -> str:
    """What the file is, empty if it is nothing that can be read."""
    if head.startswith(_ZIP):
        try:
            return zip_kind(path) or (".zip" if zip_guess(path) == A_ZIP else "")
        except DamagedFile:  # its reader will say so
            named = suffix if suffix in (*_IN_A_ZIP, ".zip") else torn_zip_kind(head)
            return "" if suffix == ".pdf" else named
    if head.startswith(_OLE):
        return suffix if suffix in _OLD_OFFICE else ".doc"
    if picture := picture_kind(head):
        return picture
    told = text_kind(head, suffix)
    if told and (text or told in (".rtf", ".eml", ".mbox", ".mhtml", ".html")):
        return told
    if not text or head.startswith(b"%!PS"):
        return ""
    return suffix if suffix in _BY_NAME else ".txt"


def _guess(path: Path, head: bytes) -> str:
    """What a file that cannot be read seems to be."""
    try:
        return zip_guess(path) if head.startswith(_ZIP) else guess(head)
    except DamagedFile:
        return guess(head)


def _is_pdf(head: bytes, suffix: str, text: bool) -> bool:
    """Whether the header stands where PDF viewers look for it; a text may quote one."""
    at = head[:1029].find(b"%PDF-")
    return at >= 0 and (suffix == ".pdf" or not text or not head[:at].strip(b"\xef\xbb\xbf \r\n\t"))


def _no_pdf(name: str, guessed: str, text: bool) -> DamagedFile:
    what = (
        f" It seems to be {guessed}." if guessed else " It seems to be plain text." if text else ""
    )
    return DamagedFile(
        f"“{name}” is called .pdf but is not a PDF: it has no PDF header.{what} "
        "Ask for a fresh copy, or give the file its right name."
    )


def _refusal(name: str, guessed: str) -> UnsupportedFormat:
    advice = (
        "Unpack it, and add the files that are in it."
        if "archive" in guessed
        else "Save it as a JPEG or PNG picture in the program that shows it, and add that."
        if guessed.startswith("a photo")
        else "Saving or printing it as a PDF from the program that made it will do."
    )
    return UnsupportedFormat(
        f"“{name}” seems to be {guessed or 'a binary file'}, which cannot be read. "
        f"{_TAKEN} {advice}"
    )
