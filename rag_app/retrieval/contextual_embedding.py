"""Chunks to vectors: each leans a little to the head of its page.

A table's rows say nothing of which table they are in. The head is embedded once a page and mixed
in, which costs a fraction of embedding it with every chunk (benchmarks/LOG.md, 2026-11-21)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from rag_app.retrieval.embedding import Embedder
from rag_app.storage import Indexed
from rag_app.types import Page

# The head of a page: its first lines, without what runs through the whole document. Pure.
#
# "CONSOLIDATED BALANCE SHEETS" stands in the first passage of a page only, and says what the others
# are about.

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


_LEANING = 0.3  # length of the head's part beside the chunk's own


class Placing:
    """Makes the vectors of one document's chunks."""

    def __init__(
        self, embedder: Embedder, pages: Sequence[Page], indexed: Sequence[Indexed]
    ) -> None:
        self._embedder = embedder
        shared = Counter(one.chunk.page for one in indexed)
        # What is alone on its page holds the head already.
        self._heads = {n: head for n, head in page_heads(pages).items() if shared[n] > 1}

    def embed(self, step: Sequence[Indexed]) -> list[list[float]]:
        """One vector a chunk, in their order. Raises ModelUnavailable."""
        model = self._embedder.fingerprint
        numbers = [n for n in dict.fromkeys(one.chunk.page for one in step) if n in self._heads]
        made = self._embedder.embed_documents([self._heads[n] for n in numbers]) if numbers else []
        heads = dict(zip(numbers, made, strict=True))
        vectors = self._embedder.embed_documents([one.for_embedding for one in step])
        if self._embedder.fingerprint == model:  # else another model has taken over in between
            for place, one in enumerate(step):
                if one.chunk.page in heads:
                    vectors[place] = leaning(vectors[place], heads[one.chunk.page])
        return vectors


def leaning(vector: Sequence[float], head: Sequence[float]) -> list[float]:
    """A unit vector between a chunk's and its page head's, nearer to the chunk's."""
    mixed = [x + _LEANING * y for x, y in zip(vector, head, strict=True)]
    length = math.sqrt(sum(x * x for x in mixed))
    return [x / length for x in mixed] if length else list(vector)
