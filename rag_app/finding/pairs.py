"""Words that stand together in a question and in a passage: "gross margin", "cost of sales". Pure.

BM25 takes a text for a bag of words. Here only what was found anyway is looked at, so there is no
further index, and it takes a few milliseconds (benchmarks/LOG.md, 2026-11-21)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from itertools import pairwise

from rag_app.finding.asked import STOPWORDS
from rag_app.text.any_script import WORD

_MOST = 12  # pairs of a question that are looked for
_ENDING = 3  # letters that a word may have more: "margin" and "margins"
_STEM = 4  # letters of a word that may end otherwise
# Up to two short words may stand between the two, but no row of dots.
_BETWEEN = r"(?:\W{1,9}\w{1,3}){0,2}\W{1,9}"


def word_pairs(question: str) -> list[tuple[str, str]]:
    """The telling words of a question that follow each other, in small letters."""
    words = [word.lower() for word in WORD.findall(question)]
    telling = [word for word in words if word not in STOPWORDS]
    pairs = dict.fromkeys(pair for pair in pairwise(telling) if pair[0] != pair[1])
    return list(pairs)[:_MOST]


def together(question: str, texts: Mapping[str, str]) -> dict[str, float]:
    """By key, the share of the question's pairs that a text holds, from 0 to 1; no zeros.

    A pair weighs by how few of the texts hold it."""
    low = {key: text.lower() for key, text in texts.items()}
    shares = dict.fromkeys(texts, 0.0)
    total = 0.0
    for first, second in word_pairs(question):
        holders = _holders(_stem(first), _stem(second), low)
        rarity = math.log(1 + (len(low) - len(holders) + 0.5) / (len(holders) + 0.5))
        total += rarity
        for key in holders:
            shares[key] += rarity
    return {key: share / total for key, share in shares.items() if share}


def _holders(first: str, second: str, texts: Mapping[str, str]) -> list[str]:
    """The texts in which two words follow each other."""
    near = re.compile(rf"(?<!\w){_forms(first)}{_BETWEEN}{_forms(second)}(?!\w)")
    return [
        key
        for key, text in texts.items()
        if first in text and second in text and near.search(text)  # most are told without a search
    ]


def _forms(stem: str) -> str:
    return re.escape(stem) + (rf"\w{{0,{_ENDING}}}" if len(stem) >= _STEM else "")


def _stem(word: str) -> str:
    """A word without the ending of a plural, and without what may become one."""
    if word.endswith(("ies", "y")) and len(word) > _STEM:
        return word.removesuffix("ies").removesuffix("y")
    plural = word.endswith("s") and not word.endswith("ss") and len(word) >= _STEM
    return word[:-1] if plural else word
