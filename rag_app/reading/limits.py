"""How much one document may cost to read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_app.settings import Settings


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits a reader keeps; each is a setting of the same meaning."""

    max_pages: int = 10_000
    max_characters: int = 50_000_000
    seconds: float = 300.0
    memory_mb: int = 2_048

    @classmethod
    def from_settings(cls, settings: Settings) -> Limits:
        """The limits that the settings ask for."""
        return cls(
            max_pages=settings.max_pages,
            max_characters=settings.max_characters,
            seconds=settings.read_seconds,
            memory_mb=settings.read_memory_mb,
        )
