"""How much one document may cost to read, and files taken out of a file under these limits.

Each goes into a folder of the parent's, under a name of our own. What is taken is counted while it
is written down; what is left inside is told with the reason. Knows nothing of formats."""

from __future__ import annotations

import errno
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from rag_app.errors import DamagedFile, DiskFull, LimitReached, UnsupportedFormat
from rag_app.types import Page, Part

if TYPE_CHECKING:
    from rag_app.settings import Settings
MAX_MEMBERS = 20_000  # files packed in one file; also what the parent looks through to tell formats
MAX_DEPTH = 200  # elements or groups inside each other
LOCKED = "locked with a password"
DAMAGED = "damaged, or packed in an unusual way"
BOMB = "grows to more than 500 times its size"
LINK = "a link to another file"
TOO_DEEP = "over the depth set by RAG_APP_MAX_NESTING"
TOO_MANY = "over the number set by RAG_APP_MAX_PARTS for everything inside one file"
TOO_LARGE = "over the size set by RAG_APP_MAX_UNPACKED_MB for everything inside one file"
_EMPTY = "empty"
_NAMED = 5  # files that a warning names
_LONGEST = 200  # characters of a name inside
_DRIVE = re.compile(r"^[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits a reader keeps; each is a setting of the same meaning."""

    max_pages: int = 10_000
    max_characters: int = 50_000_000
    seconds: float = 300.0
    memory_mb: int = 2_048
    max_unpacked_mb: int = 512  # what the parts of a packed file (.docx, .epub) may grow to
    parts_folder: str = ""  # where files inside the file are unpacked to; empty: they stay inside
    parts_left: int = 2_000  # how many of them, and how many bytes in all
    unpacked_left: int = 512 << 20
    ocr_pages: int = 0  # pictures of text whose text will be recognised; 0: they stay pictures
    max_table_characters: int = 400_000_000  # of delimited text, which is data more than text

    @classmethod
    def from_settings(cls, settings: Settings) -> Limits:
        """The limits that the settings ask for."""
        return cls(
            max_pages=settings.max_pages,
            max_characters=settings.max_characters,
            seconds=settings.read_seconds,
            memory_mb=settings.read_memory_mb,
            max_unpacked_mb=settings.max_unpacked_mb,
            parts_left=settings.max_parts,
            unpacked_left=settings.max_unpacked_mb << 20,
            ocr_pages=settings.ocr_pages if settings.ocr else 0,
            max_table_characters=settings.max_table_characters,
        )


def over_ocr_pages(count: int, most: int) -> tuple[str, ...]:
    """What is to be said of `count` scanned pages if they are more than will be recognised."""
    if count <= most:
        return ()
    return (
        f"Text is recognised on the first {most:,} of {count:,} scanned pages, the limit set by "
        "RAG_APP_OCR_PAGES.",
    )


def pages_searched(pages: Sequence[Page], most: int) -> int:
    """How many of the first pages are found by what they say: those within so many characters.

    A table may have more, which is kept and computed with: a million rows make some 300,000
    passages, and embedding these takes hours."""
    within = list(accumulate(len(page.text) for page in pages))
    return max(1, bisect_right(within, most))


def not_searched(pages: Sequence[Page], limits: Limits) -> tuple[str, ...]:
    """What is to be said of a table that is not searched as a whole."""
    count = pages_searched(pages, limits.max_characters)
    if count >= len(pages):
        return ()
    return (
        f"This table is searched up to {pages[count - 1].label}, the {limits.max_characters:,} "
        "characters set by RAG_APP_MAX_CHARACTERS. What stands below is not found by its words; "
        "counts, sums and other computations take in all rows.",
    )


class Unpacking:
    """The files taken out of one file so far."""

    def __init__(self, limits: Limits) -> None:
        self._folder = Path(limits.parts_folder)
        self.wanted = bool(limits.parts_folder)
        self._left, self._bytes = limits.parts_left, limits.unpacked_left
        self._parts: list[Part] = []
        self._refused: dict[str, list[str]] = {}

    @property
    def parts(self) -> tuple[Part, ...]:
        """What was taken."""
        return tuple(self._parts)

    def take(self, name: str, pieces: Iterable[bytes]) -> None:
        """Write a file down; if that cannot be, it is left inside. Raises DiskFull."""
        inside = inner_name(name)
        if len(self._parts) >= self._left:
            self.leave(inside, TOO_MANY)
            return
        path = self._folder / f"{len(self._parts) + 1}"
        reason = self._write(path, pieces)
        if reason:
            path.unlink(missing_ok=True)
            self.leave(inside, reason)
        else:
            self._parts.append(Part(inside, path.name))

    def leave(self, name: str, reason: str) -> None:
        """Note a file that stays inside."""
        self._refused.setdefault(reason, []).append(inner_name(name))

    def warnings(self) -> list[str]:
        """One sentence for each reason why files were left inside."""
        return [left_inside(names, reason) for reason, names in self._refused.items()]

    def _write(self, path: Path, pieces: Iterable[bytes]) -> str:
        """Write the pieces; why that cannot be, empty if all is well."""
        size = 0
        try:
            with path.open("wb") as file:
                for piece in pieces:
                    size += len(piece)
                    if size > self._bytes:
                        return TOO_LARGE
                    file.write(piece)
        except LimitReached:
            return BOMB
        except UnsupportedFormat:
            return LOCKED
        except DamagedFile:
            return DAMAGED
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise DiskFull.now() from error
            raise
        self._bytes -= size
        return "" if size else _EMPTY


def left_inside(names: list[str], reason: str) -> str:
    """A sentence about files that were not taken out of the file they are in."""
    shown = ", ".join(names[:_NAMED])
    if len(names) > _NAMED:
        shown += f" and {len(names) - _NAMED:,} more"
    return f"Left inside ({reason}): {shown}."


def inner_name(name: str) -> str:
    """A name inside a file as it is shown: no drive, no way up or out, no odd characters."""
    clean = "".join(c if c.isprintable() else " " for c in name)
    steps = [step.strip() for step in re.split(r"[\\/]", _DRIVE.sub("", clean))]
    kept = "/".join(step for step in steps if step.strip(". "))
    if len(kept) > _LONGEST:
        kept = "…" + kept[-_LONGEST:]
    return kept or "file"
