"""Words as they are compared: lower case, without endings; rare ones weigh more. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable

from rag_app.retrieval.ranking import query_words
from rag_app.text.scripts import NOT_LATIN, compared

_TOKEN = re.compile(r"[^\W_]+")


class TOKEN:
    """What counts as a word; in scripts without spaces, overlapping grams do."""

    @staticmethod
    def findall(text: str) -> list[str]:
        """The words of a text, in order."""
        return compared(text) if NOT_LATIN.search(text) else _TOKEN.findall(text)


def stem(word: str) -> str:
    """The word without a common English ending."""
    for ending in ("ing", "ies", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def stems(text: str) -> set[str]:
    """The words of a text."""
    return {stem(word) for word in TOKEN.findall(text.lower())}


def telling(text: str) -> set[str]:
    """The words of a text that say something."""
    return {stem(word) for words in query_words(text)[0] for word in TOKEN.findall(words)}


def rarity(words: Iterable[str], held: Collection[Collection[str]]) -> dict[str, float]:
    """A weight for each word: the fewer of the `held` sets hold it, the more it weighs."""
    return {
        word: math.log(1 + len(held) / (1 + sum(word in one for one in held))) for word in words
    }
