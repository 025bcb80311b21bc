"""What is counted while the app runs. Where nobody asked for figures, nothing is.

Who counts, and how it is shown, is in `prometheus.py`; those who have something to count call
`measures()` and know nothing of that."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class LibraryFigures:
    """How a library stands now."""

    documents: dict[str, int] = field(default_factory=dict)  # how many, by `Status`
    answering: int = 0  # questions that are being answered


class Measures:
    """Counts nothing."""

    def question(self, outcome: str) -> None:
        """A question has ended: what its answer rests on, or `refused`, `failed`, `stopped`."""

    def seconds(self, until: str, seconds: float) -> None:
        """How long somebody waited for `sources`, the `first_word` or the `end` of an answer."""

    def embedded(self, texts: int, seconds: float) -> None:
        """So many passages got their vectors."""

    def failed(self, where: str, kind: str) -> None:
        """Something failed; `kind` is the code of an error."""

    def upload_refused(self, why: str) -> None:
        """A file was not taken; `why` is a code."""


_counting = Measures()


def measures() -> Measures:
    """Who counts in this process."""
    return _counting


def count_by(made: Measures) -> None:
    """From now on this one counts."""
    global _counting
    _counting = made
