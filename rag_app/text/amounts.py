"""Numbers as people say them: with their noun, and as sizes of files."""

from __future__ import annotations


def count(number: int, one: str, many: str | None = None) -> str:
    """The number with its noun: 1 page, 1,200 pages."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def size(number: int) -> str:
    """A number of bytes as people say it."""
    amount = float(number)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit != "MB" else f"{amount:.1f} MB"
        amount /= 1000
    return f"{amount:.1f} GB"
