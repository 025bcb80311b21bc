"""The formats that can be read: one record each. A new one is a record here, and a function.

Knows no reader but by its name, and opens nothing: that is for the package `reading`. And what a
page is called where it is named: only some formats have pages. Slides are slides, tables have rows;
what a text is cut into for reading are parts, since its own program turns its pages elsewhere.
Numbers and sizes as people say them stand here, too."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath

_OLE = rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # four formats: which one, the name or the reader says
_OPEN, _SUN = b"application/vnd.oasis.opendocument.", b"application/vnd.sun.xml."
_IMAGE, _SHEETS = "ocr:read_image", "sheets:read_sheets"
# What people call files of a kind, "the spreadsheet".
_MAIL, _SHEET = "email e-mail mail message", "spreadsheet workbook excel sheet"
_SLIDES, _WORD = "presentation slide powerpoint deck", "word"
_WEB, _PICTURE = "webpage website", "picture image photo screenshot"
# Read as plain text.
_SOURCES = (
    ".bat", ".c", ".cc", ".cfg", ".clj", ".conf", ".cpp", ".cs", ".css", ".cxx", ".dart", ".erl",
    ".ex", ".f90", ".go", ".gradle", ".groovy", ".h", ".hpp", ".hs", ".ics", ".ini", ".java",
    ".jl", ".js", ".jsx", ".kt", ".lisp", ".lua", ".m", ".ml", ".nim", ".php", ".pl",
    ".properties", ".proto", ".ps1", ".py", ".r", ".rb", ".rs", ".scala", ".scss", ".sh", ".sql",
    ".srt", ".swift", ".tcl", ".tf", ".toml", ".ts", ".tsx", ".vb", ".vcf", ".vim", ".vtt",
    ".yaml", ".yml", ".zig",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Format:
    """What is known of a format. Where a file fits several, the first in the table is taken.

    Texts that say in words what they are (HTML, mail …) are told apart in
    `reading/detection.py`."""

    suffix: str
    reader: str  # "module:function" of the package `reading`, see FormatReader
    aliases: tuple[str, ...] = ()  # other suffixes of the same kind
    unit: str = "part"  # what a page of it is called
    table: bool = False  # nothing but tables
    picture: bool = False
    lockable: bool = False  # may ask for a password
    by_name: bool = False  # a text of which nothing but its name says how it is to be read
    start: bytes = b""  # a regular expression for its first bytes
    # Of those packed in a ZIP: names in its list of content types, its media types, parts of which
    # it has one, and what its first bytes hold, should its end be missing.
    types: tuple[bytes, ...] = ()
    media: tuple[bytes, ...] = ()
    parts: tuple[str, ...] = ()
    torn: bytes = b""
    nouns: str = ""  # what people call it, English

    @property
    def packed(self) -> bool:
        """Whether its files are ZIP files."""
        return bool(self.types or self.media or self.parts)

    def begins(self, head: bytes) -> bool:
        """Whether a file with these first bytes is in it."""
        return bool(self.start and re.match(self.start, head, re.DOTALL))


_LIST = (
    Format(".pdf", "pdf:read_pdf", unit="page", lockable=True, nouns="pdf"),
    Format(".png", _IMAGE, (), "picture", picture=True, start=rb"\x89PNG\r\n\x1a\n",
           nouns=_PICTURE),
    Format(".jpg", _IMAGE, (".jpeg", ".jpe", ".jfif"), "picture", picture=True,
           start=rb"\xff\xd8\xff", nouns=_PICTURE),
    Format(".tiff", _IMAGE, (".tif",), "page", picture=True,
           start=rb"II\*\0|MM\0\*|II\+\0\x08\0\0\0|MM\0\+\0\x08\0\0", nouns=_PICTURE),
    Format(".gif", _IMAGE, (), "picture", picture=True, start=rb"GIF8[79]a", nouns=_PICTURE),
    # The length of its header is one of seven: "BM" alone begins many a text.
    Format(".bmp", _IMAGE, (), "picture", picture=True,
           start=rb"BM.{12}[\x0c\x28\x34\x38\x40\x6c\x7c](?:\0{3}|\0{0,2}\Z)", nouns=_PICTURE),
    Format(".webp", _IMAGE, (), "picture", picture=True, start=rb"RIFF.{4}WEBP", nouns=_PICTURE),
    Format(".docx", "ooxml:read_docx", (".docm", ".dotx", ".dotm"), torn=b"word/",
           types=(b"wordprocessingml", b"ms-word"), parts=("word/document.xml",), nouns=_WORD),
    Format(".xlsx", _SHEETS, (".xlsm", ".xltx", ".xltm", ".xlsb"), table=True, torn=b"xl/",
           types=(b"spreadsheetml", b"ms-excel"), parts=("xl/workbook.xml", "xl/workbook.bin"),
           nouns=_SHEET),
    Format(".pptx", "ooxml:read_pptx", (".pptm", ".ppsx", ".ppsm", ".potx", ".potm"), "slide",
           types=(b"presentationml", b"ms-powerpoint"), parts=("ppt/presentation.xml",),
           torn=b"ppt/", nouns=_SLIDES),
    Format(".epub", "ebooks:read_epub", media=(b"application/epub+zip",),
           parts=("META-INF/container.xml",), torn=b"application/epub+zip",
           nouns="ebook e-book epub"),
    Format(".odt", "opendocument:read_odt", (".ott",), torn=b"opendocument.text",
           media=(_OPEN + b"text", _OPEN + b"text-master", _OPEN + b"text-web", _SUN + b"writer"),
           nouns=_WORD),
    Format(".ods", _SHEETS, (".ots",), table=True, torn=b"opendocument.spreadsheet",
           media=(_OPEN + b"spreadsheet",), nouns=_SHEET),
    Format(".odp", "opendocument:read_odp", (".otp",), "slide", torn=b"opendocument.presentation",
           media=(_OPEN + b"presentation", _OPEN + b"graphics", _SUN + b"impress"), nouns=_SLIDES),
    Format(".doc", "ole:read_ole", (".dot",), lockable=True, start=_OLE, nouns=_WORD),
    Format(".xls", "ole:read_ole", (".xlt",), table=True, lockable=True, start=_OLE, nouns=_SHEET),
    Format(".ppt", "ole:read_ole", (".pps", ".pot"), "slide", lockable=True, start=_OLE,
           nouns=_SLIDES),
    Format(".msg", "ole:read_ole", start=_OLE, nouns=_MAIL),
    Format(".rtf", "rtf:read_rtf", nouns=_WORD),
    Format(".html", "web:read_html", (".htm", ".xhtml", ".xht"), nouns=_WEB),
    Format(".mhtml", "mail:read_mhtml", (".mht",), nouns=_WEB),
    Format(".eml", "mail:read_eml", nouns=_MAIL),
    Format(".mbox", "mail:read_mbox", nouns=_MAIL),
    Format(".zip", "archive:read_zip"),
    Format(".txt", "plain_text:read_text", (".text", ".log", *_SOURCES)),
    Format(".md", "plain_text:read_markdown", (".markdown", ".mdown", ".mkd"), by_name=True,
           nouns="markdown"),
    Format(".rst", "plain_text:read_rst", (".rest",), by_name=True),
    Format(".tex", "plain_text:read_latex", (".latex",), by_name=True),
    Format(".adoc", "plain_text:read_asciidoc", (".asciidoc", ".asc"), by_name=True),
    Format(".org", "plain_text:read_org", by_name=True),
    Format(".csv", "sheets:read_delimited", table=True, by_name=True, nouns=f"csv {_SHEET}"),
    Format(".tsv", "sheets:read_delimited", (".tab",), table=True, by_name=True,
           nouns=f"csv {_SHEET}"),
    Format(".json", "structured:read_json", (".geojson",), by_name=True),
    Format(".jsonl", "structured:read_json", (".ndjson",), by_name=True),
    Format(".ipynb", "structured:read_json", by_name=True),
    Format(".xml", "structured:read_xml", (".nxml",)),
)  # fmt: skip
FORMATS = {each.suffix: each for each in _LIST}


NOUNS = {
    noun: frozenset(each.suffix for each in _LIST if noun in each.nouns.split())
    for noun in " ".join(each.nouns for each in _LIST).split()
}
"""The suffixes of the formats that a noun stands for."""


def all_that(holds: Callable[[Format], object]) -> tuple[str, ...]:
    """The suffixes of the formats of which it holds."""
    return tuple(each.suffix for each in FORMATS.values() if holds(each))


def format_of(suffix: str) -> Format | None:
    """The format that a suffix stands for, its own or another."""
    also = (each for each in FORMATS.values() if suffix in each.aliases)
    return FORMATS.get(suffix) or next(also, None)


LOCKABLE = all_that(lambda each: each.lockable)
PICTURES = all_that(lambda each: each.picture)
TABLES = all_that(lambda each: each.table)
"""Suffixes of documents that are nothing but tables."""


def readable_name(name: str) -> str:
    """A file's name as a title: without its suffix, in words, on one line."""
    return " ".join(PurePath(name).stem.replace("_", " ").split())


# Numbers as people say them: with their noun, and as sizes of files.


def count(number: int, one: str, many: str | None = None) -> str:
    """The number with its noun: 1 page, 1,200 pages."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shown_of(number: int, most: int) -> int:
    """How many of a number of rows are shown, if no more than `most` are as a rule: "and 1 more"
    takes the room of that one."""
    return min(number, most + (number == most + 1))


def size(number: int) -> str:
    """A number of bytes as people say it."""
    amount = float(number)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit != "MB" else f"{amount:.1f} MB"
        amount /= 1000
    return f"{amount:.1f} GB"


_PART = "part"
_ALONE = (_PART, "picture")  # need no number where there is one only
_LONGEST = 60  # characters of a section's name


def unit(name: str) -> str:
    """What a page of a document is; `name`: the document's, or only its suffix."""
    known = format_of("." + name.rpartition(".")[2].lower())
    return known.unit if known else _PART


def has_pages(name: str) -> bool:
    """Whether people know what a page of it is: a text is cut into parts only to be read."""
    return unit(name) != _PART


def page_name(name: str, number: int, label: str = "", total: int = 0) -> str:
    """Which page: "page 3", "slide 3", "Prices, rows 41–80"; `label`: what the document calls it.

    Nothing for what is the only one of `total` (0: not known) and has no name of its own, nor for a
    part: where a text was cut for reading says nothing to anybody. The numbers that a PDF prints on
    its pages are left to who shows the page itself."""
    own = unit(name)
    if label and own != "page":
        return label
    return "" if not has_pages(name) or (total == 1 and own in _ALONE) else f"{own} {number:,}"


def section_name(heading: str) -> str:
    """What a section is called where it is named: its heading, on one line and short."""
    line = " ".join(heading.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rsplit(' ', 1)[0]}…"


def beside(name: str, where: str) -> str:
    """A document's name, and which page of it, if that has to be said."""
    return f"{name}, {where}" if where else name


def which_of(name: str, number: int, total: int, label: str = "") -> str:
    """Which page of how many, and what the document itself calls it; nothing for the only part."""
    own = unit(name)
    if total == 1 and own in _ALONE and not label:
        return ""
    if not label or label == str(number):
        return f"{own} {number:,} of {total:,}"
    if own == "page":
        return f"{own} {number:,} of {total:,} (“{label}”)"
    return f"{label} · {number:,} of {total:,}" if total > 1 else label


def how_many(name: str, number: int) -> str:
    """So many pages: "12 slides"."""
    return count(number, unit(name))


def at_the_beginning(said: str) -> str:
    """The name of a page with a capital; what a document calls it stays as it is."""
    ours = {"message", "row", "rows", *(each.unit for each in FORMATS.values())}
    return said[:1].upper() + said[1:] if said.split(" ", 1)[0] in ours else said
