"""How much one document may cost to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_app.settings import Settings

MAX_MEMBERS = 20_000  # files packed in one file; also what the parent looks through to tell formats
MAX_DEPTH = 200  # elements or groups inside each other


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
        )


def over_ocr_pages(count: int, most: int) -> tuple[str, ...]:
    """What is to be said of `count` scanned pages if they are more than will be recognised."""
    if count <= most:
        return ()
    return (
        f"Text is recognised on the first {most:,} of {count:,} scanned pages, the limit set by "
        "RAG_APP_OCR_PAGES.",
    )
