"""What of a model's words is shown: no thinking aloud, no pictures, no footnotes of its own. Pure.

Model output is untrusted. What is left is still escaped where it is shown."""

from __future__ import annotations

import re

from rag_app.answering.prompts import NOT_IN_DOCUMENTS

_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_HALF_TAG = re.compile(r"<(?:t(?:h(?:i(?:n(?:k(?:i(?:n(?:g)?)?)?)?)?)?)?)?\Z", re.IGNORECASE)
_PICTURE = re.compile(r"!\[([^\]]*)\]\([^)]*\)|!\[([^\]]*)\]\[[^\]]*\]")
_FOOTNOTE = re.compile(
    r" ?(?:\[(?:passage )?\d{1,3}(?:, ?\d{1,3})*\]|【[^】]{0,40}】)", re.IGNORECASE
)
_REPEATED = re.compile(r"(?P<unit>.{3,80}?)(?P=unit){5,}\Z", re.DOTALL)
_KEPT_REPEATS = 2


def shown(raw: str) -> str:
    """What can be shown of a reply so far; grows as the reply does."""
    text = _HALF_TAG.sub("", _THINKING.sub("", raw)).lstrip()
    return "" if says_not_found(text, whole=False) else text


def says_not_found(text: str, *, whole: bool = True) -> bool:
    """Whether a reply says that the documents do not hold the answer.

    With `whole` false: whether it may still come to say that."""
    said = text.strip().strip("*_\"'.!").upper()
    if whole:
        return said.startswith(NOT_IN_DOCUMENTS) and len(said) < 2 * len(NOT_IN_DOCUMENTS)
    return bool(said) and (NOT_IN_DOCUMENTS.startswith(said) or said == NOT_IN_DOCUMENTS)


def finished(raw: str) -> str:
    """A whole reply without thinking, pictures and footnotes of its own."""
    text = _THINKING.sub("", raw)
    text = _PICTURE.sub(lambda m: m.group(1) or m.group(2) or "", text)
    return _FOOTNOTE.sub("", text).strip()


def repeats_itself(raw: str) -> bool:
    """Whether the reply ends in the same few words over and over."""
    tail = raw[-800:]
    found = _REPEATED.search(tail)
    return found is not None and any(c.isalnum() for c in found["unit"])


def without_repeats(text: str) -> str:
    """A reply that ended in repeats, with two of them left."""
    found = _REPEATED.search(text[-8_000:])
    if found is None:
        return text
    kept = max(0, len(text) - 8_000) + found.start() + _KEPT_REPEATS * len(found["unit"])
    return text[:kept].rstrip()
