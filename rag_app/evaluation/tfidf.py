"""The oldest retriever, to compare with: cosine of tf-idf vectors over the same passages."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from rag_app.finding.asked import query_words
from rag_app.text.any_script import WORD
from rag_app.types import Chunk


class TfIdf:
    """Passages by their words, all in memory."""

    def __init__(self, chunks: Sequence[Chunk], texts: Sequence[str]) -> None:
        self._chunks = list(chunks)
        counts = [Counter(_words(text)) for text in texts]
        held = Counter(word for count in counts for word in count)
        self._rarity = {w: math.log((1 + len(counts)) / (1 + n)) + 1 for w, n in held.items()}
        self._holders: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, count in enumerate(counts):
            weights = {w: (1 + math.log(n)) * self._rarity[w] for w, n in count.items()}
            length = math.sqrt(sum(x * x for x in weights.values())) or 1.0
            for word, weight in weights.items():
                self._holders[word].append((place, weight / length))

    def search(
        self, question: str, k: int, documents: Iterable[str] | None = None
    ) -> list[tuple[Chunk, float]]:
        """The k best passages and their scores, best first."""
        allowed = None if documents is None else set(documents)
        scores: dict[int, float] = defaultdict(float)
        for word in {word for asked in query_words(question)[0] for word in _words(asked)}:
            for place, weight in self._holders.get(word, ()):
                scores[place] += weight * self._rarity[word]
        places = (
            place
            for place in sorted(scores, key=lambda place: (-scores[place], place))
            if allowed is None or self._chunks[place].document_id in allowed
        )
        best = itertools.islice(places, k)
        return [(self._chunks[place], scores[place]) for place in best]


def _words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]
