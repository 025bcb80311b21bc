"""What a question asks for: words worth looking for, exact phrases, and whether figures. Pure."""

from __future__ import annotations

import re

from rag_app.text.any_script import WORD

STOPWORDS = frozenset(
    """
    a about am an and any are as at be been by can could did do does for from had has have how i
    if in into is it its me my of on or our please should so tell than that the their them then
    there these they this those to was we were what when where which who whom whose why will with
    would you your
    """.split()  # noqa: SIM905 - easier to read and to add to
)
_PHRASE = re.compile(r'["“”]([^"“”]{2,200})["“”]')
# Words of measuring and comparing amounts. They say nothing of any trade.
_FIGURES = re.compile(
    r"\b(?:how (?:much|many)|number of|amount|total|sum|average|mean|median|ratio|rate|margin|"
    r"percent(?:age)?|share of|growth|turnover|net|gross|million|billion|highest|lowest|largest|"
    r"smallest|increased?|decreased?|changed?)\b|%",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"\d\S*")  # once a word: what comes before the first digit is passed by


def query_words(question: str) -> tuple[list[str], list[str]]:
    """(words worth looking for, exact "phrases") of a question."""
    phrases = [phrase.strip() for phrase in _PHRASE.findall(question) if WORD.search(phrase)]
    words = list(dict.fromkeys(word.lower() for word in WORD.findall(question)))
    telling = [word for word in words if word not in STOPWORDS]
    return telling or words, phrases


def asks_for_figures(question: str) -> bool:
    """Whether a question is about amounts, so that a page of figures may answer it."""
    return _FIGURES.search(question) is not None


def figures(text: str) -> float:
    """The share of a text's words that hold a digit."""
    return len(_FIGURE.findall(text)) / (len(text.split()) or 1)
