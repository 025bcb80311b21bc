"""Which sentence of the documents supports which sentence of a written answer.

Made after the answer is written, since small models cannot be trusted to cite. A sentence is
supported if a source sentence is near it in meaning and holds its telling words, names and
numbers; a number or a month that stands nowhere in the source is never supported, nor is the
opposite of what it says."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rag_app.answering.quotes import TOKEN, Candidate, candidates, rarity, stem, stems, telling
from rag_app.retrieval.embedding import Embedder
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Passage, Span

# What a written sentence says against the source that it is like. Pure.
#
# Two sentences may share nearly every word and yet say the opposite: another number, another month,
# "did not", "fell" for "rose". Embeddings hardly see that. English words; numbers in any language.

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SCALED = re.compile(
    r"(\d+(?:[.,]\d+)*)[\s-]*(%|per ?cent|thousand|million|billion|trillion|[mb]n\b)", re.IGNORECASE
)
_SCALES = {"%": "percent", "per cent": "percent", "mn": "million", "bn": "billion"}
_IN_WORDS = {
    word: str(first + at * step)
    for words, first, step in (
        ("two three four five six seven eight nine ten eleven twelve", 2, 1),
        ("twenty thirty forty fifty sixty seventy eighty ninety", 20, 10),
    )
    for at, word in enumerate(words.split())
}
_CONTRADICTIONS_WORDS = re.compile(r"[^\W\d_]+(?:[’'][^\W\d_]+)?")
_TIMES = re.compile(
    r"\b(January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Mon(?=day)|Tues(?=day)|Wednes(?=day)|Thurs(?=day)|Fri(?=day)|Satur(?=day)|Sun(?=day))"
)
_NEGATION = re.compile(
    r"\b(?:not(?! only\b)|never|neither|nor|without|cannot|fail(?:s|ed)? to|refus(?:es?|ed) to"
    r"|no)\b|n[’']t\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:.!?()—–]|\b(?:but|while|whereas|although|though|because|which|who)\b")
_SCOPE = 4  # telling words after a negation that it denies
_OPPOSITES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        (
            "increase increased increases rose rise rises risen grew grow grows grown higher up",
            "decrease decreased decreases fell fall falls fallen declined decline declines dropped "
            "drop drops lower down shrank",
        ),
        ("gain gains gained profit profits", "loss losses lost"),
        ("more above exceeded exceeds", "less fewer below"),
        ("accepted accepts approved approves allowed allows permitted permits agreed",
         "rejected rejects refused refuses forbidden forbids prohibited prohibits denied denies"),
        ("before", "after"),
        ("first", "last"),
        ("maximum", "minimum"),
        ("always", "never"),
        ("open opens opened", "closed closes"),
        ("won win wins", "lost lose loses"),
        ("bought buys acquired acquires", "sold sells divested"),
    )
)  # fmt: skip


def figures(text: str) -> set[str]:
    """The numbers of a text, in digits or in words, and the months and days of the week."""
    found = {number.replace(",", "") for number in _NUMBER.findall(text)}
    found |= {_IN_WORDS[word] for word in _words(text) if word in _IN_WORDS}
    return found | set(_TIMES.findall(text))


def contradicts(claim: str, source: str) -> bool:
    """Whether a claim says something against a source that is like it."""
    return (
        _scaled_otherwise(claim, source)
        or _opposed(claim, source)
        or _denied(claim, source)
        or _denied(source, claim)
    )


def _words(text: str) -> list[str]:
    return [word.lower() for word in _CONTRADICTIONS_WORDS.findall(text)]


def _scaled_otherwise(claim: str, source: str) -> bool:
    """61.2 billion for 61.2 million; a bare 61.2, as in a table, may be either."""
    said, known = _scales(claim), _scales(source)
    return any(known.get(number, scales) != scales for number, scales in said.items())


def _scales(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for number, scale in _SCALED.findall(text):
        name = scale.lower()
        found.setdefault(number.replace(",", ""), set()).add(
            _SCALES.get(name, "percent" if name.startswith("per") else name)
        )
    return found


def _opposed(claim: str, source: str) -> bool:
    """One says up where the other says down, and neither says both."""
    said, known = set(_words(claim)), set(_words(source))
    return any(
        (said & one and known & other and not (said & other or known & one))
        or (said & other and known & one and not (said & one or known & other))
        for one, other in _OPPOSITES
    )


def _denied(text: str, by: str) -> bool:
    """Whether `by` denies what `text` says: its "not" stands before words that `text` has so."""
    said = _bare(text)
    if _NEGATION.search(text):
        return False
    for negation in _NEGATION.finditer(by):
        rest = by[negation.end() :]
        clause = _CLAUSE.split(rest, maxsplit=1)[0]
        held = _bare(clause)
        words = [w for word in _words(clause) if (w := stem(word).rstrip("e")) in held][:_SCOPE]
        if words and sum(word in said for word in words) > 0.5 * len(words) and words[0] in said:
            return True
    return False


def _bare(text: str) -> set[str]:
    """The telling words of a text, "approve" and "approved" being one."""
    return {word.rstrip("e") for word in telling(text)}


ENOUGH = 0.5  # chance of support from which a sentence is marked
_MOST = 3  # sources of one sentence
_LOOKED_AT = 10
_SECOND = 0.15  # a second source must add this share of the sentence's telling words
_FEWEST_WORDS = 3  # "Yes." and "In short:" claim nothing by themselves

# Logistic regression; fitted by benchmarks/fit_support.py.
_BIAS, _MEANING, _WORDS, _NAMES = -7.865, 4.556, 7.835, 0.335

_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w’'-]+")
_MARKUP = re.compile(
    r"^[\s>#*+-]+|^\s*\d+[.)]\s|[*_`|]+"
    r"|</?[a-zA-Z][^<>]{0,500}>|(?<=\])\([^()\s]{0,500}\)|[\[\]]"  # tags, targets of links
)


@dataclass(frozen=True, slots=True)
class Features:
    """How a source sentence fits a written one."""

    meaning: float  # cosine
    words: float  # share of the written sentence's telling words, rare ones counting more
    names: float  # share of its names; 1 without names

    @property
    def chance(self) -> float:
        """Chance that the source says the same."""
        odds = _BIAS + _MEANING * self.meaning + _WORDS * self.words + _NAMES * self.names
        return 1.0 / (1.0 + math.exp(-odds))


@dataclass(frozen=True, slots=True)
class Supported:
    """A piece of a written answer and what supports it; `claims`: it says something to support."""

    text: str
    evidence: tuple[Span, ...] = ()
    chance: float = 0.0
    claims: bool = True


def pieces_of(text: str) -> list[str]:
    """The sentences of a text with the white space after them: joined they are the text."""
    starts = [start for start, _ in sentences(text)]
    if not starts:
        return [text] if text else []
    bounds = [0, *starts[1:], len(text)]
    return [text[a:b] for a, b in pairwise(bounds)]


def support(text: str, passages: Sequence[Passage], embedder: Embedder) -> list[Supported]:
    """Every sentence of the text with its sources. Raises ModelUnavailable."""
    pieces = pieces_of(text)
    claims = [claim_of(piece) for piece in pieces]
    to_judge = [c for c in claims if len(TOKEN.findall(c)) >= _FEWEST_WORDS]
    found = candidates(passages)
    rows: dict[str, np.ndarray] = {}
    if to_judge and found:
        rows = dict(zip(to_judge, _similarity(to_judge, found, embedder), strict=True))
    around = _around(passages)
    return [
        _judged(piece, claim, found, rows[claim], around)
        if claim in rows
        else Supported(piece, claims=claim in to_judge)
        for piece, claim in zip(pieces, claims, strict=True)
    ]


def claim_of(piece: str) -> str:
    """What a piece of Markdown says, in plain words."""
    return one_line(_MARKUP.sub(" ", piece))


def _similarity(
    claims: Sequence[str], found: Sequence[Candidate], embedder: Embedder
) -> np.ndarray:
    vectors = np.asarray(embedder.embed_documents([*claims, *(c.text for c in found)]))
    similarity: np.ndarray = vectors[: len(claims)] @ vectors[len(claims) :].T
    return similarity


def _around(passages: Sequence[Passage]) -> dict[tuple[str, int], str]:
    """What else is known of a sentence: its document's name and the heading it stands under."""
    around: dict[tuple[str, int], str] = {}
    for passage in passages:
        key = (passage.chunk.document_id, passage.chunk.page)
        around[key] = f"{around.get(key, '')} {passage.name} {passage.chunk.heading}"
    return around


def _judged(
    piece: str,
    claim: str,
    found: Sequence[Candidate],
    meaning: np.ndarray,
    around: dict[tuple[str, int], str],
) -> Supported:
    weights = rarity(telling(claim), [stems(c.text) for c in found])
    scored = [
        (features(claim, c.text, around[c.span.document_id, c.span.page], m, weights).chance, c)
        for c, m in zip(found, meaning.tolist(), strict=True)
    ]
    scored.sort(key=lambda pair: -pair[0])
    kept: list[Candidate] = []
    for chance, candidate in scored[:_LOOKED_AT]:
        if chance < ENOUGH or len(kept) == _MOST:
            break
        if contradicts(claim, candidate.text):
            if not kept:  # what is nearest says otherwise: what is less near cannot mend that
                break
        elif _adds(claim, candidate, kept, weights):
            kept.append(candidate)
    said = " ".join(f"{c.text} {around[c.span.document_id, c.span.page]}" for c in kept)
    if not kept or not figures(claim) <= figures(said):
        return Supported(piece)
    return Supported(piece, tuple(c.span for c in kept), scored[0][0])


def _adds(
    claim: str, candidate: Candidate, kept: Sequence[Candidate], weights: dict[str, float]
) -> bool:
    """Whether a source holds numbers or telling words of the claim that none before it holds."""
    before = " ".join(c.text for c in kept)
    held, here = stems(before), stems(candidate.text)
    new = sum(weight for word, weight in weights.items() if word in here and word not in held)
    missing = figures(claim) - figures(before)
    more = bool(missing & figures(candidate.text))
    return not kept or more or new >= _SECOND * sum(weights.values())


def features(
    claim: str, source: str, around: str, meaning: float, weights: dict[str, float]
) -> Features:
    """How well a source sentence fits; `around` is the name and heading it stands under."""
    said, near = stems(source), stems(around)
    total = sum(weights.values())
    held = sum(w * (1.0 if t in said else 0.5 if t in near else 0.0) for t, w in weights.items())
    names = {name.lower() for name in _NAME.findall(claim)}
    known = f"{source} {around}".lower()
    return Features(
        meaning=meaning,
        words=held / total if total else 0.0,
        names=sum(name in known for name in names) / len(names) if names else 1.0,
    )
