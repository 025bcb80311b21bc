"""Small text tools shared by mining, making and scoring."""

import re
import string
from collections.abc import Iterable
from itertools import pairwise

ARTICLES = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")
_SMALL_WORDS = (
    "a about after all also an and any are as at be been before between by can could did do does "
    "during each for from had has have he her his how i in into is it its many me more most much "
    "my no not of on one or other our s she so some such t than that the their them then there "
    "these they this those to up was we were what when where which who whom whose why will with "
    "would you your name called type kind"
)
STOP_WORDS = frozenset(_SMALL_WORDS.split())


def normalise(text: str) -> str:
    """Lower case, no punctuation, no articles, single spaces: the SQuAD script's form."""
    bare = ARTICLES.sub(" ", text.lower().translate(PUNCTUATION))
    return " ".join(bare.split())


def holds(context: str, answers: Iterable[str]) -> bool:
    """Whether a context contains any answer, after normalisation, as whole words."""
    hay = f" {normalise(context)} "
    return any(f" {needle} " in hay for needle in map(normalise, answers) if needle)


def content_words(text: str) -> list[str]:
    """Lower-case words that carry meaning, in order."""
    return [w for w in re.findall(r"\w+", text.lower()) if w not in STOP_WORDS]


def sentences(text: str) -> list[tuple[int, int]]:
    """Sentence offsets that cover the text without gaps."""
    cuts = [0, *(m.end() for m in SENTENCE_END.finditer(text)), len(text)]
    return [(a, b) for a, b in pairwise(cuts) if b > a]
