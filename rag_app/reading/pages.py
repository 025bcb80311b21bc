"""Page numbers as people write them."""

from __future__ import annotations

from collections.abc import Sequence


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in order, runs of them shortened: "3, 7–9"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("–".join(map(str, part)) for part in parts)


def named(numbers: Sequence[int]) -> str:
    """Numbers with their noun: "page 3", "pages 3, 7–9"."""
    return f"page{'s' if len(numbers) > 1 else ''} {ranges(numbers)}"
