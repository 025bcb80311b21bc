"""Reads ZIP archives: a page that lists the files, and the files themselves for whoever wants them.

Links, the leavings of operating systems and what goes over a limit stay inside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from rag_app.errors import NoText
from rag_app.reading.archive import Archive, Entry
from rag_app.reading.limits import Limits
from rag_app.reading.sections import OnPage, Sections
from rag_app.reading.unpacking import LINK, LOCKED, TOO_DEEP, Unpacking, inner_name
from rag_app.text.amounts import size
from rag_app.types import Reading

_BLOCK = 65_536
_LEAVINGS = re.compile(r"(^|/)(__MACOSX/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)", re.I)


def read_zip(
    path: Path,
    *,
    limits: Limits,
    password: str | None = None,
    on_page: OnPage | None = None,
) -> Reading:
    """A list of what is packed, and the files. Raises DamagedFile, NoText or LimitReached."""
    sections, unpacking = Sections(limits), Unpacking(limits)
    with Archive(path, limits) as archive:
        entries = [each for each in archive.entries() if not _LEAVINGS.search(each.name)]
        if not entries:
            raise NoText("There are no files in this archive.")
        sections.heading("Files in this archive", 1)
        for done, entry in enumerate(entries, 1):
            sections.row(f"{inner_name(entry.name)} ({size(entry.size)})")
            if unpacking.wanted:
                _take(archive, entry, unpacking)
            else:
                unpacking.leave(entry.name, TOO_DEEP)
            if on_page:
                on_page(done, len(entries))
    reading = sections.reading("", unpacking.warnings())
    return Reading(
        reading.pages, headings=reading.headings, warnings=reading.warnings, parts=unpacking.parts
    )


def _take(archive: Archive, entry: Entry, unpacking: Unpacking) -> None:
    if entry.is_link:
        unpacking.leave(entry.name, LINK)
    elif entry.is_locked:
        unpacking.leave(entry.name, LOCKED)
    else:
        unpacking.take(entry.name, _pieces(archive, entry))


def _pieces(archive: Archive, entry: Entry) -> Iterator[bytes]:
    with archive.stream(entry) as member:
        while piece := member.read(_BLOCK):
            yield piece
