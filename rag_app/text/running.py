"""What runs through a document: the heads and feet of its pages, with their numbers.

Only pages that have a picture have any: other texts are not laid out. Knows nothing of files or
chunks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rag_app.types import Page

_FEWEST, _SHARE = 4, 0.25  # pages that a line stands on, and the share of all that they are
_LINES = 3  # looked at, at each end of a page
_LONGEST = 120  # characters of a line that may be one
_LINE = re.compile(r"[^\r\n]*\S[^\r\n]*")
_NUMBER = re.compile(r"\d{1,5}")
_LETTER = re.compile(r"[^\W\d_]")
_Lines = list[tuple[int, int, str]]  # start, end, and what is compared


def own_texts(pages: Sequence[Page]) -> list[tuple[int, int]]:
    """From where to where each page says something of its own.

    A line with words stays where it stands for the first time, so that it can be found; so does a
    page that says nothing else."""
    edges = [_edges(page) if page.width else ([], []) for page in pages]
    many = max(_FEWEST, _SHARE * sum(any(sides) for sides in edges))
    _number(pages, edges, many)
    running = [_running([each[side] for each in edges], many) for side in (0, 1)]
    seen: set[str] = set()
    spans = []
    for page, (top, bottom) in zip(pages, edges, strict=True):
        start = max((end for _, end in _leading(top, running[0], seen)), default=0)
        end = min((at for at, _ in _leading(bottom, running[1], seen)), default=len(page.text))
        seen.update(text for _, _, text in (*top, *bottom))
        spans.append((start, end) if page.text[start:end].strip() else (0, len(page.text)))
    return spans


def _edges(page: Page) -> tuple[_Lines, _Lines]:
    """The first lines of a page, and the last, from its end."""
    lines = [(m.start(), m.end(), " ".join(m[0].split())) for m in _LINE.finditer(page.text)]
    return lines[:_LINES], lines[: -_LINES - 1 : -1]


def _number(pages: Sequence[Page], edges: Sequence[tuple[_Lines, _Lines]], many: float) -> None:
    """Put "#" for the number of the page, which may begin to count anywhere, or its label."""
    shifts = Counter(
        shift
        for page, sides in zip(pages, edges, strict=True)
        for shift in {
            int(number) - page.number
            for side in sides
            for _, _, text in side
            for number in _NUMBER.findall(text)
        }
    )
    usual = [shift for shift, often in shifts.items() if often >= many]
    for page, sides in zip(pages, edges, strict=True):
        names = [f"0*{page.number + shift}" for shift in usual]
        if page.label:
            names.append(re.escape(page.label))
        if names:
            name = re.compile(rf"(?<![\w.,])(?:{'|'.join(names)})(?![\w%]|[.,]\d)")
            for side in sides:
                side[:] = [(start, end, name.sub("#", text)) for start, end, text in side]


def _running(edges: Sequence[_Lines], many: float) -> set[str]:
    """What stands at this end of many pages."""
    counts = Counter(text for lines in edges for text in {line[2] for line in lines})
    return {text for text, often in counts.items() if often >= many and len(text) <= _LONGEST}


def _leading(lines: _Lines, running: set[str], seen: set[str]) -> Iterator[tuple[int, int]]:
    """Where those of the outermost lines stand that run through and were said before."""
    for start, end, text in lines:
        if text not in running or (text not in seen and _LETTER.search(text)):
            return
        yield start, end
