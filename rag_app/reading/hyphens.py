"""Tells hyphens that a line end put into a word from those that belong to it.

The document is its own dictionary: it has "information" elsewhere, or "forward-looking"."""

from __future__ import annotations

import re
from collections.abc import Sequence

SOFT = "\u00ad"  # shown only where a line ends, left out when a text is searched

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def resolve_hyphens(texts: Sequence[str], mark: str) -> list[str]:
    """The texts with every `mark` replaced by "-" or a soft hyphen; lengths stay as they are."""
    if not any(mark in text for text in texts):
        return list(texts)
    joint = re.compile(rf"(?<![\w-])([^\W\d_]+){mark}([^\W\d_]+)(?![\w-])")
    words = {word.lower() for text in texts for word in _WORD.findall(joint.sub(" ", text))}
    pairs: set[tuple[str, str]] = {pair for text in texts for pair in joint.findall(text)}
    broken = {pair for pair in pairs if _is_broken(*pair, words)}
    if 3 * len(broken) > len(pairs):  # a text that is set so breaks words it has nowhere else, too
        broken |= {pair for pair in pairs if _may_be_broken(*pair, words)}

    def resolve(match: re.Match[str]) -> str:
        left, right = match.groups()
        return f"{left}{SOFT if match.groups() in broken else '-'}{right}"

    return [joint.sub(resolve, text).replace(mark, "-") if mark in text else text for text in texts]


def _is_broken(left: str, right: str, words: set[str]) -> bool:
    """Whether the document has both parts as one word, and not with a hyphen."""
    first, second = left.lower(), right.lower()
    return right.islower() and first + second in words and f"{first}-{second}" not in words


def _may_be_broken(left: str, right: str, words: set[str]) -> bool:
    """Whether the parts can be one word, since they are not two."""
    first, second = left.lower(), right.lower()
    two = first in words and second in words
    return right.islower() and not two and f"{first}-{second}" not in words
