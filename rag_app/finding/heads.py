"""The head of a page: its first lines, without what runs through the whole document. Pure.

"CONSOLIDATED BALANCE SHEETS" stands in the first passage of a page only, and says what the others
are about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from rag_app.types import Page

_LINES = 8  # looked at, of those that hold a word
_CHARACTERS = 160
_RUNNING = 0.1  # share of the pages from which a line is a running head
_FEW = 3  # pages that may begin alike

_WORD = re.compile(r"[^\W\d_]{2}")


def page_heads(pages: Sequence[Page]) -> dict[int, str]:
    """By page number: what a page begins with; pages without a word are left out."""
    tops = {page.number: _top(page.text) for page in pages}
    often = Counter(line.lower() for top in tops.values() for line in set(top))
    most = max(_FEW, _RUNNING * len(pages))
    heads = {
        number: " ".join(line for line in top if often[line.lower()] <= most)[:_CHARACTERS].strip()
        for number, top in tops.items()
    }
    return {number: head for number, head in heads.items() if head}


def _top(text: str) -> list[str]:
    """The first lines with a word in them, their white space single."""
    top: list[str] = []
    for line in text.splitlines():
        if _WORD.search(line):
            top.append(" ".join(line.split()))
            if len(top) == _LINES:
                break
    return top
