"""Candidates to a ranking: meaning and words weighed together, figures, names; and what a
question's words are, misspelt ones, too. Pure.

Words are compared in lower case and without endings; rare ones weigh more. How the weights were
found, and on what, stands in benchmarks/LOG.md (2026-11-21)."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from rag_app.text.languages import NOT_LATIN, WORD, compared, is_english
from rag_app.types import Chunk, Passage

WORDS = 0.4  # the best BM25 score, in cosine
WORDS_ABROAD = 1.5  # the same where the embedding model does not know the question's language
FIGURES = 0.6  # a page of nothing but figures, where those are asked for
_MOST_FIGURES = 0.5  # a share that pages of tables reach
NAMES = 0.5  # a document that the question names
SENTENCES = 2.0  # the cosine of the sentence that is nearest to the question
PAIRS = 0.2  # a passage in which the question's words stand together as they do there
_SAME_PAGE = 0.08  # off for every passage of the same page that stands before
_TEMPERATURE = 0.1  # of p(z|x)
_DOUBT = 0.2  # share of p(z|x) that is spread evenly: retrieval may be wrong


@dataclass(frozen=True, slots=True)
class Pool:
    """What one index found: scores by chunk id, and a bound for the chunks that it left out."""

    scores: Mapping[str, float] = field(default_factory=dict)
    floor: float = 0.0
    best: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "best", max(self.scores.values(), default=0.0))

    @classmethod
    def of(cls, found: Sequence[tuple[str, float]], most: int) -> Pool:
        """A search for the `most` best: if it found fewer, the others have nothing of it."""
        scores = dict(found)
        return cls(scores, min(scores.values()) if len(scores) >= most else 0.0)

    def get(self, chunk_id: str) -> float:
        """The score of a chunk, or the bound."""
        return self.scores.get(chunk_id, self.floor)

    def joined(self, other: Pool) -> Pool:
        """Both together; a chunk has one score, whichever search found it."""
        return Pool({**self.scores, **other.scores}, min(self.floor, other.floor))


@dataclass(frozen=True, slots=True)
class RankingFeatures:
    """All that is known of how candidates fit a question."""

    meaning: Pool
    words: Pool
    names: Mapping[str, float] = field(default_factory=dict)  # by document, from 0 to about 1
    figures: Mapping[tuple[str, int], float] = field(default_factory=dict)  # by document and page
    weight: float = WORDS  # of the words
    pairs: Mapping[str, float] = field(default_factory=dict)  # by chunk id, from 0 to 1
    sentences: Pool = field(default_factory=Pool)  # the nearest sentence of each chunk

    def score(self, chunk: Chunk) -> float:
        """How well a chunk fits, in units of cosine."""
        best = self.words.best
        words = self.words.get(chunk.id) / best if best > 0 else 0.0
        figures = min(self.figures.get((chunk.document_id, chunk.page), 0.0), _MOST_FIGURES)
        named = self.names.get(chunk.document_id, 0.0)
        rest = self.weight * words + FIGURES * figures + NAMES * named
        rest += PAIRS * self.pairs.get(chunk.id, 0.0) + SENTENCES * self.sentences.get(chunk.id)
        return self.meaning.get(chunk.id) + rest


@dataclass(frozen=True, slots=True, order=True)
class _Waiting:
    """A candidate in the queue; `behind` so many passages of its page."""

    cost: float
    document: str
    ordinal: int
    chunk: Chunk = field(compare=False)
    behind: int = field(default=0, compare=False)


def ranked(
    chunks: Sequence[Chunk], score: Callable[[Chunk], float], most: int
) -> list[tuple[Chunk, float]]:
    """The best chunks and their scores, best first: many pages before many chunks of one page.

    Chunks that say the same words as a better one are left out; ties go by document and place."""
    waiting = [_Waiting(-score(chunk), chunk.document_id, chunk.ordinal, chunk) for chunk in chunks]
    heapq.heapify(waiting)
    kept: list[tuple[Chunk, float]] = []
    before: Counter[tuple[str, int]] = Counter()  # passages of a page that stand before
    said: set[str] = set()
    while waiting and len(kept) < most:
        first = heapq.heappop(waiting)
        page = (first.document, first.chunk.page)
        if first.behind < before[page]:
            off = _SAME_PAGE * (before[page] - first.behind)
            heapq.heappush(waiting, replace(first, cost=first.cost + off, behind=before[page]))
            continue
        words = " ".join(WORD.findall(first.chunk.text.lower()))
        if words not in said:
            said.add(words)
            kept.append((first.chunk, -first.cost))
            before[page] += 1
    return kept


def chances(scores: Sequence[float]) -> list[float]:
    """p(z|x) of passages from their scores: never zero, adding up to 1."""
    if not scores:
        return []
    best = max(scores)
    weights = [math.exp((score - best) / _TEMPERATURE) for score in scores]
    total, even = sum(weights), 1.0 / len(weights)
    return [(1 - _DOUBT) * weight / total + _DOUBT * even for weight in weights]


def shares(found: Sequence[Passage]) -> list[Passage]:
    """The same passages with scores that add up to 1: p(z|x) over what was found."""
    total = sum(passage.score for passage in found)
    return [replace(passage, score=passage.score / total) for passage in found]


def fused(found: Sequence[Sequence[Passage]], weights: Sequence[float], most: int) -> list[Passage]:
    """The best of what several wordings of a question found, weighed by wording."""
    if len(found) == 1:
        return list(found[0])
    scores: dict[str, float] = {}
    passages: dict[str, Passage] = {}
    for one, weight in zip(found, weights, strict=True):
        for passage in one:
            key = passage.chunk.id
            passages.setdefault(key, passage)
            scores[key] = scores.get(key, 0.0) + weight * passage.score
    best = sorted(passages, key=lambda key: -scores[key])[:most]
    return shares([replace(passages[key], score=scores[key]) for key in best])


# What a question asks for: words worth looking for, exact phrases, and whether figures. Pure.

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


# Words that stand together in a question and in a passage: "gross margin", "cost of sales". Pure.
#
# BM25 takes a text for a bag of words. Here only what was found anyway is looked at, so there is no
# further index, and it takes a few milliseconds (benchmarks/LOG.md, 2026-11-21).

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


_GRAM = 4  # letters of a piece of a word (McNamee and Mayfield 2004)
_TITLE = 0.5  # what a piece counts that only the title holds


def words_held(question: str, texts: Iterable[tuple[str, Sequence[str]]]) -> list[list[float]]:
    """How much of a question's words each sentence holds, of texts given by title and sentences:
    from 0 to 1, rare pieces of words counting more. Pieces, because endings differ between
    languages, and some put words together of others."""
    titled = [(_grams(title), [_grams(one) for one in sentences]) for title, sentences in texts]
    weight = rarity(_grams(question), [held for _, sentences in titled for held in sentences])
    total = sum(weight.values()) or 1.0
    return [
        [
            sum(w * (1.0 if k in held else _TITLE * (k in title)) for k, w in weight.items())
            / total
            for held in sentences
        ]
        for title, sentences in titled
    ]


def _grams(text: str) -> set[str]:
    """The pieces of its words, whose first and last letters are marked as such."""
    words = [f"_{word}_" for word in TOKEN.findall(text.lower())]
    return {w[at : at + _GRAM] for w in words for at in range(max(1, len(w) - _GRAM + 1))}


# Words of a question that no document holds, spelt as documents spell what they likely mean. Pure.
#
# "what did the commitee decide" finds minutes of a committee. No dictionary knows the names in
# somebody's papers, so their own words are the measure: the nearest one, a letter or two away
# (optimal string alignment: letters put in, left out, changed, or two of them swapped).

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
    spellings first; empty if that changes nothing. What is as near to one of the commonest English
    words is that one, and stays: "how mutch" is no match."""
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
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    most = 1 if len(word) < _LONG else 2
    alike = [one for one in known if one[0] == word[0]]
    near = extract(word, alike, scorer=OSA.distance, score_cutoff=most, limit=None)
    nearest, far, _ = min(near, key=lambda one: one[1:], default=("", 0, 0))
    common = extract(word, ENGLISH_STOP_WORDS, scorer=OSA.distance, score_cutoff=far, limit=1)
    return "" if common else nearest
