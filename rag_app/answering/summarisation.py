"""What stands for a document: its own passages and sentences, without any model that writes.

First the passages that stand for it, by the vectors that are there anyway; then the sentences that
stand for these. Centrality, place, headings and words of the title speak together."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from rag_app.answering.extraction import Candidate, candidates
from rag_app.retrieval.embedding import Embedder, MiniLmEmbedder
from rag_app.retrieval.ranking import stems, telling
from rag_app.scope import Scope
from rag_app.storage import Store
from rag_app.storage.vectors import VectorIndex
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Chunk, Document, Passage

# What a sentence is worth in a summary, by its looks and by the words of the title. Pure.
#
# Of the clues of Edmundson 1969 place, headings and words of the title are kept. Phrases with which
# people say what a text is about were tried and win nothing on articles that were not looked at
# (benchmarks/LOG.md, 2026-11-27).

_WORD = re.compile(r"[^\W\d_]{2,}")
_FULL = re.compile(r"[.!?…。！？][\"'”’)\]]*(?:\[[\w ]{1,20}\])*\Z")
_OPENS = "“\"'"
_FEWEST_WORDS, _MOST_WORDS = 6, 60
_LETTERS = 0.55  # of a sentence's characters, or it is a row of figures
_CAPITALS = 0.7  # of its words, from which on it is a row of names or a heading
_OF_TITLE = 0.6  # what a sentence with all words of the title is worth more


def stands_alone(sentence: str) -> bool:
    """Whether it is a whole sentence by its looks: rows of figures, stubs and headings are not."""
    words = _WORD.findall(sentence)
    if not _FEWEST_WORDS <= len(words) <= _MOST_WORDS or not _FULL.search(sentence):
        return False
    begins = sentence[0].isupper() or sentence[0].isdigit() or sentence[0] in _OPENS
    named = [word[0].isupper() for word in sentence.split() if word[0].isalpha()]
    lettered = sum(map(len, words)) >= _LETTERS * len(sentence)
    return begins and lettered and sum(named) <= _CAPITALS * len(named)


def worth(sentence: str, title: Set[str]) -> float:
    """What a sentence is worth by its looks and by the stems of the title that it holds."""
    if not stands_alone(sentence):
        return 0.0
    return 1.0 + _OF_TITLE * len(title & stems(sentence)) / max(3, len(title))


# What a text is worth that is like an example, in meaning: under "Abstract" stands what a document
# is about, under "References" nothing of it, and no form is summed up by what is printed on each.

_IN_SHORT = ("Abstract", "Summary", "Key points in brief", "Conclusions")
_ASIDE = (
    "References", "Bibliography", "Acknowledgements", "Appendix", "Table of contents",
    "Signatures and exhibits", "Legal notices",
)  # fmt: skip
_FURNITURE = (
    "Indicate by check mark whether the registrant has filed all reports required to be filed.",
    "See the definitions of large accelerated filer and smaller reporting company.",
    "This report contains forward-looking statements; see the accompanying notes.",
    "Unless otherwise indicated, all amounts are in US dollars and years are fiscal years.",
    "Copyright. All rights reserved.",
    "Click here to sign up and accept cookies.",
    "The rest of this paper is organised as follows.",
)
# Cosines of the built-in model; of other models it is not known what they say.
_SAME_HEADING = 0.56  # from which on a heading says the same as an example
_WORTH_IN_SHORT, _WORTH_ASIDE = 2.0, 0.25
_LIKE_FURNITURE, _IS_FURNITURE = 0.3, 0.4  # between which a text loses all its worth


def _nearest(vectors: np.ndarray, embedder: Embedder, examples: Sequence[str]) -> np.ndarray:
    """The cosine of each of n unit vectors (n x d) with the example that is most like it."""
    nearest: np.ndarray = (vectors @ np.asarray(embedder.embed_documents(list(examples))).T).max(1)
    return nearest


def _is_own(vectors: np.ndarray, embedder: Embedder) -> np.ndarray:
    """How little each text is like what is printed on every form, 0 to 1; 1 where all are."""
    if embedder.fingerprint != MiniLmEmbedder.fingerprint:
        return np.ones(len(vectors))
    over = _nearest(vectors, embedder, _FURNITURE) - _LIKE_FURNITURE
    left: np.ndarray = 1.0 - np.clip(over / (_IS_FURNITURE - _LIKE_FURNITURE), 0.0, 1.0)
    return left if left.any() else np.ones(len(vectors))


def _under(headings: Iterable[str], embedder: Embedder) -> dict[str, float]:
    """What standing under each of the headings is worth; 1 where it is like no example."""
    found = dict.fromkeys(headings, 1.0)
    named = [heading for heading in found if heading]
    if named and embedder.fingerprint == MiniLmEmbedder.fingerprint:
        lasts = [heading.rsplit(" > ", 1)[-1] for heading in named]
        vectors = np.asarray(embedder.embed_documents(lasts))
        short, aside = (_nearest(vectors, embedder, of) for of in (_IN_SHORT, _ASIDE))
        told = np.where(short >= aside, _WORTH_IN_SHORT, _WORTH_ASIDE)
        each = np.where(np.maximum(short, aside) >= _SAME_HEADING, told, 1.0)
        found.update(zip(named, map(float, each), strict=True))
    return found


# Which texts stand for many: central ones that differ from each other. Pure.
#
# Centrality is that of LexRank (Erkan and Radev 2004): a text is central if central texts are like
# it. What is like a text chosen before loses worth, after maximal marginal relevance (Carbonell and
# Goldstein 1998).

_DAMPING = 0.85
_ROUNDS = 30
_LIKE = 0.2  # cosine under which two texts say nothing about each other
_REDUNDANCY = 0.85  # of its worth a text loses that says what is said already
_MOST = 2_000  # texts compared with each other; of more, every n-th


def central(vectors: np.ndarray) -> np.ndarray:
    """The centrality of each of n unit vectors (n x d), from 0 to 1."""
    if not len(vectors):
        return np.zeros(0)
    step = -(-len(vectors) // _MOST)
    judges = vectors[::step]
    like = vectors @ judges.T
    like[like < _LIKE] = 0.0
    weights = np.full(len(judges), 1.0 / len(judges))
    among = like[::step]
    spread = among / np.maximum(among.sum(axis=1, keepdims=True), 1e-9)
    for _ in range(_ROUNDS):
        weights = (1 - _DAMPING) / len(judges) + _DAMPING * (spread.T @ weights)
    scores: np.ndarray = like @ weights
    return scores / max(float(scores.max()), 1e-9)


def representatives(vectors: np.ndarray, k: int, weights: np.ndarray | None = None) -> list[int]:
    """The k texts that best stand for all, the best first; `weights` scale their centrality."""
    scores = central(vectors) * (1.0 if weights is None else weights)
    chosen: list[int] = []
    nearest = np.zeros(len(vectors))
    while len(chosen) < min(k, len(vectors)):
        worth = scores * (1.0 - _REDUNDANCY * np.clip(nearest, 0.0, 1.0))
        worth[chosen] = -np.inf
        best = int(worth.argmax())
        chosen.append(best)
        nearest = np.maximum(nearest, vectors @ vectors[best])
    return chosen


_SAMPLE = 64  # chunks that are embedded of a document that has no vectors yet
_LONG = 12  # chunks or pages from which on a document is taken in stretches
_STRETCHES = 4
_NEARLY = 0.5
_ABOUT = 0.3  # of the best sentence's nearness, squared, that a sentence about a wish has
_RANKED = 12  # times as many as are wanted, to choose from
_OPENING, _WORTH_OPENING = 5, 1.3  # chunks with which a long document opens
_BEST = 2  # sentences by which a chunk is judged
_DIGITS = re.compile(r"\d+|_")


@dataclass(frozen=True, slots=True)
class Gist:
    """Finds what stands for documents."""

    store: Store
    vectors: VectorIndex
    embedder: Embedder
    scope: Scope

    def passages(self, document: Document, k: int) -> list[Passage]:
        """The k passages that stand for a document, in the order of its pages."""
        chunks, vectors = self._embedded(document)
        if not chunks:
            return []
        title, under = _title(document), _under([c.heading for c in chunks], self.embedder)
        weights = np.array(
            [_weight(c, len(chunks), title) * _place(c, len(chunks), under) for c in chunks]
        ) * _is_own(vectors, self.embedder)
        ranked = representatives(vectors, _RANKED * k, weights)
        best = sorted(_spread(ranked, [c.ordinal for c in chunks], weights, k))
        return [Passage(chunks[n], document.name, 1 / len(best)) for n in best]

    def _embedded(self, document: Document) -> tuple[list[Chunk], np.ndarray]:
        """Chunks that have a vector, and these; a sample while a document is being embedded."""
        chunks = [indexed.chunk for indexed in self.store.indexed(document.id, self.scope)]
        known = self.vectors.vectors(document.id)
        if any(chunk.id not in known for chunk in chunks):
            chunks = chunks[:: max(1, len(chunks) // _SAMPLE)]
            made = self.embedder.embed_documents([chunk.text for chunk in chunks])
            known = {c.id: v for c, v in zip(chunks, made, strict=True)}
        return chunks, np.array([known[chunk.id] for chunk in chunks])

    def sentences(
        self, document: Document, read: Sequence[Passage], k: int, near: Sequence[str] = ()
    ) -> list[Candidate]:
        """The k sentences that stand for passages of a document; those `near` one of some texts.

        With one such text, fewer where no more are about it."""
        mine = [p for p in read if p.chunk.document_id == document.id]
        found, stands = self._found(mine, document.chunks)
        if not found:
            return []
        title = _title(document)
        looks = np.array([worth(a.text, title) * b for a, b in zip(found, stands, strict=True)])
        if not looks.any():  # a note, a list: better its words than none
            looks = np.ones(len(found))
        good = np.flatnonzero(looks)
        vectors = np.asarray(self.embedder.embed_documents([found[n].text for n in good]))
        own = _is_own(vectors, self.embedder)
        good, vectors, own = good[own > 0], vectors[own > 0], own[own > 0]
        places = [found[n].span.page - 1 for n in good]
        weights = own * looks[good] * [_early(at, document.pages) for at in places]
        ranked = representatives(vectors, _RANKED * k, weights * self._nearness(vectors, near))
        if not near:
            return [found[good[n]] for n in sorted(_spread(ranked, places, weights, k))]
        about = self._nearness(vectors, near)
        least = _ABOUT * about.max() if len(near) == 1 else 0.0
        return [found[good[n]] for n in sorted(n for n in ranked[:k] if about[n] >= least)]

    def _found(self, read: Sequence[Passage], chunks: int) -> tuple[list[Candidate], list[float]]:
        """The sentences of passages, each once, and what the place of each is worth."""
        under = _under([passage.chunk.heading for passage in read], self.embedder)
        found: dict[str, tuple[Candidate, float]] = {}
        for passage in read:
            place = _place(passage.chunk, chunks, under)
            for one in candidates([passage]):
                found.setdefault(one.text, (one, place))
        return [one for one, _ in found.values()], [place for _, place in found.values()]

    def _nearness(self, vectors: np.ndarray, texts: Sequence[str]) -> np.ndarray:
        """How near each of the vectors is to one of the texts."""
        if not texts:
            return np.ones(len(vectors))
        cosines = vectors @ np.asarray(self.embedder.embed_documents(list(texts))).T
        nearest: np.ndarray = np.maximum(cosines.max(axis=1), 0.02) ** (2 if len(texts) == 1 else 1)
        return nearest


def _title(document: Document) -> set[str]:
    return telling(document.title or _DIGITS.sub(" ", document.name.rsplit(".", 1)[0]))


def _place(chunk: Chunk, chunks: int, under: Mapping[str, float]) -> float:
    """What standing where it does is worth; a text opens with what it is about."""
    place = under[chunk.heading]
    return _WORTH_OPENING if place == 1.0 and chunk.ordinal < min(_OPENING, chunks // 20) else place


def _weight(chunk: Chunk, chunks: int, title: set[str]) -> float:
    """What a chunk is worth by its best sentences and by how early it stands."""
    texts = [one_line(chunk.text[a:b]) for a, b in sentences(chunk.text)]
    best = sorted((worth(text, title) for text in texts), reverse=True)[:_BEST]
    return (0.05 + sum(best)) * _early(chunk.ordinal, chunks)


def _spread(ranked: Sequence[int], places: Sequence[int], weights: np.ndarray, k: int) -> list[int]:
    """The first k of the ranking, of a long text no more than two thirds out of one stretch.

    What is worth much less than those that it would replace is not taken for its place."""
    end = max(places) + 1
    left = Counter(dict.fromkeys(range(_STRETCHES), k if end < _LONG else -(-2 * k // 3)))
    least = _NEARLY * min(weights[n] for n in ranked[:k])
    best: list[int] = []
    for n in ranked:
        stretch = places[n] * _STRETCHES // end
        if left[stretch] and len(best) < k and weights[n] >= least:
            left[stretch] -= 1
            best.append(n)
    return (best + [n for n in ranked if n not in best])[:k]


def _early(place: int, places: int) -> float:
    """How much a place says what the whole is about: people begin with that."""
    return 0.3 + 0.7 * math.exp(-5.0 * place / max(places, 40))
