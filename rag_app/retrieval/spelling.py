"""Words of a question that no document holds, spelt as documents spell what they likely mean.

"what did the commitee decide" finds minutes of a committee. No dictionary knows the names in
somebody's papers, so their own words are the measure: the nearest one, a letter or two away
(optimal string alignment: letters put in, left out, changed, or two of them swapped). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from rag_app.retrieval.ranking import STOPWORDS
from rag_app.text.languages import is_english

_WORD = re.compile(r"[^\W\d_]+")
_SHORTEST = 5  # letters: of four, "buns" is near "bus" (benchmarks/LOG.md)
_LONG = 8  # letters of a word that may be two away


def telling_words(question: str) -> list[str]:
    """Words of a question of which it can be told whether they are misspelt, in small letters: of
    other languages than English, whose common words nobody here knows, long ones alone."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(question))
    least = _SHORTEST if is_english(question) else _LONG
    return [word for word in words if len(word) >= least and word not in STOPWORDS]


def respelled(question: str, strange: Sequence[str], texts: Iterable[str]) -> str:
    """The question with its `strange` words as these texts spell them, the commonest of the nearest
    spellings first; empty if that changes nothing."""
    held = Counter(word for text in texts for word in _WORD.findall(text.lower()))
    known = [word for word, _ in held.most_common() if word not in STOPWORDS]
    meant = {word: _nearest(word, known) for word in strange}

    def spelt(found: re.Match[str]) -> str:
        return meant.get(found[0].lower()) or found[0]

    made = _WORD.sub(spelt, question)
    return "" if made == question else made


def _nearest(word: str, known: Sequence[str]) -> str:
    """The first of the words that are least far away; of these one with the same first letter goes
    before; empty if all are farther than may be."""
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    most = 1 if len(word) < _LONG else 2
    near = extract(word, known, scorer=OSA.distance, score_cutoff=most, limit=None)
    best = min(near, key=lambda one: (one[1], one[0][0] != word[0], one[2]), default=("", 0, 0))
    return str(best[0])
