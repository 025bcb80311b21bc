"""Which format a file is in, and its reader; what is known of each stands in `text/formats.py`."""

from __future__ import annotations

import codecs
import re
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from rag_app.errors import DamagedFile, EmptyFile, UnsupportedFormat
from rag_app.reading.archive import Archive
from rag_app.reading.encodings import is_text
from rag_app.reading.limits import Limits
from rag_app.supervision import Told, untold
from rag_app.text.formats import FORMATS, all_that, format_of
from rag_app.types import Reading

# What a file is, told from its bytes: its name may lie.
#
# Runs where the library runs, so it looks at little and follows nothing.

A_ZIP = "a ZIP archive"
_LOOKED_AT = 1 << 20  # bytes of a part that says what the file is
_TYPES = "[Content_Types].xml"
_MANIFEST = "META-INF/manifest.xml"
# Of files worth offering.
NAMES = tuple(name for each in FORMATS.values() for name in (each.suffix, *each.aliases))
_PHOTOS = {
    **dict.fromkeys([b"heic", b"heix", b"heim", b"heis", b"hevc", b"mif1", b"msf1"], "HEIC"),
    **dict.fromkeys([b"avif", b"avis"], "AVIF"),
}
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"%!PS", "a PostScript file"),
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
    (b"\xffWPC", "a WordPerfect document"),
)
_HEADER = re.compile(rb"[A-Za-z][A-Za-z0-9-]{0,60}:|[ \t]+\S")
_OF_MAIL = re.compile(
    rb"^(message-id|mime-version|received|return-path|delivered-to|x-mailer):", re.I | re.M
)
_SAVED_PAGE = re.compile(rb"^(snapshot-content-location|x-snapshot)|from: <saved by", re.I | re.M)
_RELATED = re.compile(rb"^content-type:\s*multipart/related", re.I | re.M)
_SENT = re.compile(rb"^(to|received|message-id):", re.I | re.M)
_MBOX = re.compile(rb"From \S[^\r\n]{0,200}\d{2}:\d{2}[^\r\n]{0,40}\r?\n[A-Za-z-]{1,60}:")
_HTML = re.compile(rb"<!doctype\s+html|<html[\s>]", re.I)


def zip_kind(path: Path) -> str:
    """The suffix of what a ZIP file really is, empty if it is only an archive.

    Raises DamagedFile if it cannot be opened, or LimitReached."""
    with Archive(path, Limits()) as archive:
        found = _by_types(archive) or _by_mime(archive)
        named = ((each, part) for each in FORMATS.values() for part in each.parts)
        return found or next((each.suffix for each, part in named if part in archive), "")


def zip_guess(path: Path) -> str:
    """What a ZIP file that cannot be read seems to be."""
    with Archive(path, Limits()) as archive:
        names = archive.names
    if any(name.endswith(".iwa") or name == "index.apxl" for name in names):
        return "a document of Apple Pages, Numbers or Keynote"
    if "visio/document.xml" in names:
        return "a Visio drawing"
    if "androidmanifest.xml" in names or any(name.endswith(".class") for name in names):
        return "a program"
    return A_ZIP


def _part(archive: Archive, name: str) -> bytes:
    if name not in archive:
        return b""
    try:
        with archive.open(name) as member:
            return member.read(_LOOKED_AT)
    except (DamagedFile, UnsupportedFormat):
        return b""


def _by_types(archive: Archive) -> str:
    kinds = {kind: each.suffix for each in FORMATS.values() for kind in each.types}
    main = re.compile(rb'(%s)\.[\w.]{1,60}\.main(?:\+xml)?"' % b"|".join(map(re.escape, kinds)))
    found = main.search(_part(archive, _TYPES))
    return kinds[found.group(1)] if found else ""


def _by_mime(archive: Archive) -> str:
    kinds = {kind: each.suffix for each in FORMATS.values() for kind in each.media}
    said = _part(archive, "mimetype").strip().removesuffix(b"-template")
    if said not in kinds:
        manifest = _part(archive, _MANIFEST)
        ordered = sorted(kinds, key=lambda kind: b".sun." in kind)  # what is outdated, last
        said = next((kind for kind in ordered if b'"' + kind in manifest), b"")
    return kinds.get(said, "")


def torn_zip_kind(head: bytes) -> str:
    """What the beginning of a ZIP file without its end seems to be, empty if nothing known."""
    return next((each.suffix for each in FORMATS.values() if each.torn and each.torn in head), "")


def text_kind(head: bytes, suffix: str) -> str:
    """The suffix of a text that says itself what it is, empty if it is just text.

    `suffix` is that of its name; it counts where the text leaves a doubt."""
    opening = _as_ascii(head).lstrip(b"\xef\xbb\xbf \r\n\t")
    if opening.startswith(b"{\\rtf"):
        return ".rtf"
    if opening.startswith(b"<?xml") or _HTML.match(opening):
        return ".html" if _HTML.search(opening[:4_096]) else ".xml"
    if suffix in (".html", ".xml") and b"<" in opening[:1_024]:
        return suffix
    if _MBOX.match(opening):
        return ".mbox"
    return _mail_kind(opening, suffix)


def _mail_kind(opening: bytes, suffix: str) -> str:
    """The kind of message that a text is: it begins with lines of headers."""
    headers: list[bytes] = []
    named = suffix in (".eml", ".mhtml")
    ended = False
    for line in opening.splitlines():
        if not _HEADER.match(line):
            ended = not line.strip()  # an empty line has to follow
            break
        headers.append(line)
    block = b"\n".join(headers) if ended or named else b""
    if _RELATED.search(block) and (_SAVED_PAGE.search(block) or not _SENT.search(block)):
        return ".mhtml"
    enough = len(headers) > (1 if named else 2)
    return ".eml" if enough and (named or _OF_MAIL.search(block)) else ""


def _as_ascii(head: bytes) -> bytes:
    """The beginning of a file without the zeros of UTF-16, so that marks can be found in it."""
    for bom, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(bom):
            return head[2:].decode(codec, "replace").encode("ascii", "replace")
    return head


def guess(head: bytes) -> str:
    """What a file that cannot be read seems to be, empty if nothing known."""
    if head[4:8] == b"ftyp":
        photo = _PHOTOS.get(head[8:12])
        return f"a photo ({photo})" if photo else "a film or sound (MP4)"
    if head.startswith(b"RIFF"):
        return "a film or sound (RIFF)"
    return next((what for mark, what in _MAGIC if head.startswith(mark)), "")


class FormatReader(Protocol):
    """What every reader looks like; `on_page` hears of pages done, of how many,
    while they are read one by one."""

    def __call__(self, path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
        """The pages of the file. Raises DocumentError."""


_TAKEN = (
    "PDF, Word, Excel, PowerPoint, OpenDocument, RTF, EPUB, web page, e-mail, table, picture and "
    "text files can be added, and ZIP archives of them."
)
_HEAD = 65_536  # bytes looked at
_ZIP = b"PK\x03\x04"


def reader(suffix: str) -> FormatReader:
    """The reader for a suffix of FORMATS; its parser is loaded now."""
    module, function = FORMATS[suffix].reader.split(":")
    return cast(FormatReader, getattr(import_module(f"rag_app.reading.{module}"), function))


def detect(path: Path, name: str) -> str:
    """The suffix in FORMATS that the file at `path` is to be read as; `name` is the user's for it.

    Raises EmptyFile, DamagedFile, UnsupportedFormat or LimitReached."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head:
        raise EmptyFile(
            f"“{name}” is empty (0 bytes). Check that it was saved or copied completely."
        )
    given = Path(name).suffix.lower()
    known = format_of(given)
    suffix = known.suffix if known else given
    text = is_text(head, whole=len(head) < _HEAD)
    if _is_pdf(head, suffix, text):
        return ".pdf"
    kind = _kind(path, head, suffix, text)
    if suffix == ".pdf" and kind not in all_that(lambda each: each.packed or each.picture):
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
            named = suffix in (*all_that(lambda each: each.packed), ".zip")
            return "" if suffix == ".pdf" else suffix if named else torn_zip_kind(head)
    if begun := all_that(lambda each: each.begins(head)):
        return suffix if suffix in begun else begun[0]
    told = text_kind(head, suffix)
    if told and (text or told != ".xml"):
        return told
    if not text or head.startswith(b"%!PS"):
        return ""
    return suffix if suffix in all_that(lambda each: each.by_name) else ".txt"


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
