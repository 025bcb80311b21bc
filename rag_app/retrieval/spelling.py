"""Words of a question that no document holds, spelt as documents spell what they likely mean.

"what did the commitee decide" finds minutes of a committee. No dictionary knows the names in
somebody's papers, so their own words are the measure: the nearest one, a letter or two away
(optimal string alignment: letters put in, left out, changed, or two of them swapped). Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from rag_app.retrieval.ranking import STOPWORDS
from rag_app.text.languages import NOT_LATIN, is_english

_WORD = re.compile(r"[^\W\d_]+")
_SHORTEST = 5  # letters: of four, "buns" is near "bus" (benchmarks/LOG.md)
_LONG = 8  # letters of a word that may be two away


def telling_words(question: str) -> list[str]:
    """Words of a question of which it can be told whether they are misspelt, in small letters: of
    other languages than English, whose common words nobody here knows, long ones alone."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(question))
    least = _SHORTEST if is_english(question) else _LONG
    told = [word for word in words if len(word) >= least and word not in STOPWORDS]
    return [word for word in told if not NOT_LATIN.search(word)]


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


def spelt_anew(question: str, made: str) -> tuple[tuple[str, str], ...]:
    """The words that `respelled` changed, each as it was typed and as it is spelt."""
    pairs = zip(_WORD.findall(question), _WORD.findall(made), strict=True)
    changed = {typed.lower(): (typed, spelt) for typed, spelt in pairs if typed != spelt}
    return tuple(changed.values())


def _nearest(word: str, known: Sequence[str]) -> str:
    """The first of the words with the same first letter that are least far away; empty if all are
    farther than may be. Who asks what is uninsured does not mean what is insured."""
    from rapidfuzz.distance import OSA
    from rapidfuzz.process import extract

    most = 1 if len(word) < _LONG else 2
    alike = [one for one in known if one[0] == word[0]]
    near = extract(word, alike, scorer=OSA.distance, score_cutoff=most, limit=None)
    return str(min(near, key=lambda one: one[1:], default=("", 0, 0))[0])
