"""Reads e-books (.epub), web pages in a ZIP file: their chapters in the order of the book, each on
pages of its own."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from rag_app.errors import DamagedFile, UnsupportedFormat
from rag_app.reading.archive import TORN, Archive
from rag_app.reading.encodings import decode_html
from rag_app.reading.limits import Limits
from rag_app.reading.markup import outermost, tree
from rag_app.reading.sections import PageBuilder
from rag_app.reading.web import add_html
from rag_app.supervision import Told, untold
from rag_app.types import Reading

_CONTAINER = "META-INF/container.xml"
_LOCKS = "META-INF/encryption.xml"
_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_OF_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")


def read_epub(path: Path, *, limits: Limits, on_page: Told = untold) -> Reading:
    """The chapters of a book. Raises DamagedFile, UnsupportedFormat, NoText or LimitReached."""
    with Archive(path, limits) as archive:
        _refuse_locked(archive)
        title, chapters = _book(archive)
        sections = PageBuilder(limits)
        warnings: list[str] = []
        for done, chapter in enumerate(chapters, 1):
            sections.new_page()
            try:
                add_html(decode_html(archive.read(chapter))[0], sections, xhtml=True)
            except DamagedFile:
                warnings.append(f"A chapter is damaged and was left out ({chapter}).")
            on_page(done, len(chapters))
        return sections.reading(title, warnings)


def _book(archive: Archive) -> tuple[str, list[str]]:
    """The title of a book, and the paths of its chapters."""
    with archive.open(_CONTAINER) as member:
        roots = [each.get("full-path", "") for each in outermost(member, {"rootfile"})]
    if not roots:
        raise DamagedFile(TORN)
    with archive.open(roots[0]) as member:
        package = tree(member)
    named = package.find("metadata//title")
    title = "" if named is None else "".join(named.itertext())
    folder = posixpath.dirname(roots[0])
    return title, list(_chapters(archive, package, folder))


def _chapters(archive: Archive, package: Element, folder: str) -> Iterator[str]:
    """The pages of the book in reading order; what is listed and not there is passed over."""
    items = {each.get("id", ""): each for each in package.iterfind("manifest/item")}
    for place in package.iterfind("spine/itemref"):
        item = items.get(place.get("idref", ""))
        if item is None or item.get("media-type", _PAGES[0]) not in _PAGES:
            continue
        if "nav" in item.get("properties", "").split():
            continue
        path = posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
        if path in archive:
            yield path


def _refuse_locked(archive: Archive) -> None:
    if _LOCKS not in archive:
        return
    with archive.open(_LOCKS) as member:
        for each in outermost(member, {"EncryptionMethod"}):
            if each.get("Algorithm") not in _OF_FONTS:
                raise UnsupportedFormat(
                    "This e-book is locked by its seller (DRM), so it cannot be read here. "
                    "Add a copy without a lock, if you have the right to one."
                )
