"""What stands for a document: its own passages and sentences, without any model that writes.

First the passages that stand for it, by the vectors that are there anyway; then the sentences that
stand for these. Centrality, place, headings and words speak together (summarisation.py)."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np

from rag_app.answering.extraction import Candidate, candidates
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.ranking import stems, telling
from rag_app.scope import Scope
from rag_app.storage import Store
from rag_app.storage.vectors import VectorIndex
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Chunk, Document, Passage

# What a sentence is worth in a summary, by its looks and by where it stands. Pure.
#
# The clues are those of Edmundson 1969: where it stands, what it stands under, words of the title,
# and phrases with which people say what a text is about. What is no sentence that can stand alone,
# or belongs to the page rather than to what it says, is worth nothing. Phrases are English ones;
# in other languages place and title still tell.

_WORD = re.compile(r"[^\W\d_]{2,}")
_FULL = re.compile(r"[.!?…。！？][\"'”’)\]]*(?:\[[\w ]{1,20}\])*\Z")
_FURNITURE = re.compile(
    r"://|www\.|\.{4}|\bdoi\b|©|\bcopyright\b|all rights reserved|permission to (?:make|copy)"
    r"|\b(?:archived|retrieved|accessed) (?:from|on)\b|^(?:keywords|categories and subject)"
    r"|indicate by check ?mark|\bregistrant\b|\bconstrued\b|\bunless otherwise (?:indicated|noted)"
    r"|\b(?:does|do) not create\b|\bnot intended (?:to be|as)\b"
    r"|incorporated (?:herein )?by reference|securities (?:registered|act)"
    r"|^references? to\b|table of contents|accompanying notes|forward.looking|\bthe terms? [“\"‘']"
    r"|\bet al\.,? \(?\d|\bed(?:s|itors)?\."
    r"|^\W*(?:\d{1,3}\.\s|\[\d+\]|(?:fig(?:ure)?s?|tables?|exhibit|note|page)\.? \d)"
    r"|\b(?:click|scroll|log in|sign up|subscribe|cookies)\b|\bISBN\b|\w@\w|\bvol\. \d"
    r"|\b(?:e\.g|i\.e|cf|sec|fig|eq|vol|pp?)\.\Z",
    re.IGNORECASE,
)
# A text about its own order.
_GUIDES = re.compile(
    r"\b(?:is|are) (?:structured|organi[sz]ed) as\b|\bshould be read\b|\b(?:rest|remainder) of th"
    r"|\bth(?:is|e (?:next|following|previous)) (?:section|chapter|appendix)\b"
    r"|\bsections? (?:\d|[ivx]+\b)|\bwe (?:call|refer)\b|^for (?:more|further|a|details)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\?[\"'”’)\]]*\Z")
# Words with which a sentence leans on the one before it.
_LEANS = re.compile(
    r"\W*(?:it|its|they|them|their|he|she|him|his|her|hers|such|however|but|and|or|also|therefore"
    r"|thus|hence|then|still|yet|instead|so|here|there|again|indeed|otherwise|likewise|similarly"
    r"|moreover|furthermore|additionally|consequently|accordingly|meanwhile|nevertheless"
    r"|nonetheless|finally|first(?:ly)?|second(?:ly)?|third(?:ly)?|next|lastly|some|others|both"
    r"|neither|another|few|none|see|refer|note|which|who|as (?:a result|noted|described"
    r"|discussed|mentioned|such|shown)|in (?:addition|contrast|turn|particular|this case|that case"
    r"|response|other words|fact)|for (?:example|instance|this|that|these|those)|on the other"
    r"|by (?:contrast|then)|at (?:that|this|the same)|at the time|after (?:that|this)"
    r"|the (?:above|following|former|latter|same|other|second|third|result|answer|resulting)"
    r"|the (?:increase|decrease|change|decline|rise|fall)(?= (?:was|is|were|reflect))"
    r"|(?:all|most|many|each|one|part|several) of (?:these|those|them|which)"
    r"|i|you|your|my)\b(?! of these terms)",
    re.IGNORECASE,
)
_POINTS = re.compile(
    r"\W*(?:[\w’'-]+,?\s+){0,3}(?:these|those|this|that|such|it|its|he|his|she|her|they|their)\b",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"^\W*(?:if|when|whenever|unless|should|suppose|assume)\b"
    r"|\bwe (?:also|intend|believe|expect|anticipate|may|could|might)\b",
    re.IGNORECASE,
)
_WORK = (
    "paper|study|report|document|article|work|thesis|book|chapter|guide|handbook|manual|policy"
    "|agreement|contract|letter|notice|memo|memorandum|survey|review|proposal|proposed rule|plan"
    "|annual report|filing|presentation|lease|offer|rule|ad"
)
_OF_ITSELF = re.compile(rf"\b(?:this|the present|our) (?:[\w-]+ )?(?:{_WORK})\b", re.IGNORECASE)
_SAYS_WHAT = re.compile(
    r"\bwe (?:present|propose|introduce|show|describe|investigate|study|conclude|find|found"
    r"|demonstrate|report|develop|aim)\b|\b(?:results?|findings|experiments|analysis) (?:show|"
    r"indicate|suggest|demonstrate|reveal)|\b(?:principal|main|primary|core) (?:business|activit"
    r"|purpose|aim|goal|objective|result|finding)|\b(?:is|are|was) (?:engaged in|headquartered"
    r"|founded|incorporated|proposing|one of the (?:largest|leading|world))"
    r"|\b(?:we|company|organi[sz]ation|cooperative|group|firm) (?:(?:is|are) an?|operates?"
    r"|provides?|designs?|develops?|sells?)\b"
    r"|^(?:summary|abstract|conclusions?|in (?:summary|short|conclusion|brief)|overall)\b"
    r"|\b(?:total |net )?(?:revenues?|sales|profit|income|earnings) (?:was|were|for|of|rose|fell"
    r"|increased|decreased|grew|totall?ed|reached)\b|\b(?:decided|agreed|approved|requires?)\b",
    re.IGNORECASE,
)
_IS = re.compile(r"\s(?:is|are|was|were|refers to|means)\s(?:an?|the|one|among|any)\b")
_SUM = re.compile(r"[$€£¥]\s?\d|\d\s?(?:%|percent|per cent|million|billion|thousand)\b")
_IN_SHORT = (
    r"(?:abstract|summary|zusammenfassung|résumé|resumen|sommario|executive overview|highlights"
    r"|at a glance|in brief|key (?:points|findings|facts|figures|takeaways|results))"
)
_ABSTRACT = re.compile(rf"\b{_IN_SHORT}\b", re.IGNORECASE)
_LABEL = re.compile(rf"^\W*(?:\w+ )?{_IN_SHORT}(?:\W*$|\s*[:—–.-])", re.IGNORECASE | re.MULTILINE)
_WORTH_OPENING = re.compile(
    r"\b(?:overview|introduction|conclusions?|about|purpose|scope|mission|our business|business"
    r"|general|background|letter to|results?|findings|discussion|decisions?|recommendations?"
    r"|outlook|financial performance|aims?|objectives?"
    r"|einleitung|überblick|fazit|introducción|conclusiones|fragestellung)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:references|bibliography|citations|external links|see also|further reading|notes?"
    r"|acknowledge?ments?|appendi(?:x|ces)|annex|exhibits?|signatures?|contents|index|glossary"
    r"|legal proceedings|risks?|cautionary|forward.looking|safe harbor|disclaimers?|controls"
    r"|certifications?|licen[cs]es?|contributions|competing interests|funding|availability|related"
    r"|unresolved|methods?|materials|data sources|properties|mine safety|executive officers"
    r"|available information|policies|estimates|market for|equity securities|quantitative"
    r"|pronouncements|competition|seasonality|intellectual property|trademarks?|comments invited"
    r"|raw materials|limitations|future work|examining|literatur\w*|quellen|impressum|inhalt\w*)\b",
    re.IGNORECASE,
)


def tells(sentence: str) -> float:
    """How well a sentence can stand alone, 0 to 1: rows of figures and stubs cannot."""
    words = _WORD.findall(sentence)
    if len(words) < 6 or len(words) > 60 or not _FULL.search(sentence):
        return 0.0
    letters = sum(map(len, words)) / max(1, len(sentence))
    if letters < 0.55 or not (
        sentence[0].isupper() or sentence[0] in "“\"'" or sentence[0].isdigit()
    ):
        return 0.0
    if _FURNITURE.search(sentence) or _titled(sentence):
        return 0.0
    worth = 1.0 if sentence.count("(") == sentence.count(")") else 0.4
    if _SUPPOSES.search(sentence):
        worth *= 0.6
    if _ASKS.search(sentence) or _GUIDES.search(sentence):
        worth *= 0.4
    if not _OF_ITSELF.search(sentence) and (_LEANS.match(sentence) or _POINTS.match(sentence)):
        worth *= 0.35
    return worth


def _titled(sentence: str) -> bool:
    """Whether it is a row of names or a heading: nearly every word has a capital."""
    words = [word for word in sentence.split() if word[0].isalpha()]
    return sum(word[0].isupper() for word in words) > 0.7 * len(words)


def stands_under(heading: str, text: str = "") -> float:
    """What standing under a heading is worth: under "Abstract" much, under "References" little.

    Such a label may also stand in the `text` itself."""
    last = heading.rsplit(" > ", 1)[-1]
    if _ABSTRACT.search(last) or _LABEL.search(text):
        return 2.0
    if _ASIDE.search(heading):
        return 0.25
    return 1.3 if _WORTH_OPENING.search(last) else 1.0


def speaks_of(sentence: str, title: Set[str]) -> float:
    """What its words are worth: those of the title, and phrases that say what a text is about."""
    held = stems(sentence)
    worth = 1.0 + 0.6 * len(title & held) / max(3, len(title))
    defined = _IS.search(sentence)
    if defined and title & stems(sentence[: defined.start()]):
        worth *= 1.4
    if _OF_ITSELF.search(sentence) or _SAYS_WHAT.search(sentence):
        worth *= 1.3
    return worth * (1.2 if _SUM.search(sentence) else 1.0)


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
_OPENING = 5  # chunks with which a long document opens
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
        title = _title(document)
        weights = np.array([_weight(chunk, len(chunks), title) for chunk in chunks])
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
        found, under = _found(
            [p for p in read if p.chunk.document_id == document.id], document.chunks
        )
        if not found:
            return []
        title = _title(document)
        worth = [
            tells(one.text) * speaks_of(one.text, title) * place
            for one, place in zip(found, under, strict=True)
        ]
        good = [n for n, each in enumerate(worth) if each > 0]
        if not good:  # a note, a list: better its words than none
            good, worth = list(range(len(found))), [1.0] * len(found)
        vectors = np.asarray(self.embedder.embed_documents([found[n].text for n in good]))
        places = [found[n].span.page - 1 for n in good]
        weights = np.array(
            [worth[n] * _early(at, document.pages) for n, at in zip(good, places, strict=True)]
        )
        ranked = representatives(vectors, _RANKED * k, weights * self._nearness(vectors, near))
        if not near:
            return [found[good[n]] for n in sorted(_spread(ranked, places, weights, k))]
        about = self._nearness(vectors, near)
        least = _ABOUT * about.max() if len(near) == 1 else 0.0
        return [found[good[n]] for n in sorted(n for n in ranked[:k] if about[n] >= least)]

    def _nearness(self, vectors: np.ndarray, texts: Sequence[str]) -> np.ndarray:
        """How near each of the vectors is to one of the texts."""
        if not texts:
            return np.ones(len(vectors))
        cosines = vectors @ np.asarray(self.embedder.embed_documents(list(texts))).T
        nearest: np.ndarray = np.maximum(cosines.max(axis=1), 0.02) ** (2 if len(texts) == 1 else 1)
        return nearest


def _found(read: Sequence[Passage], chunks: int) -> tuple[list[Candidate], list[float]]:
    """The sentences of passages, each once, and what the place of each is worth."""
    under: dict[str, tuple[Candidate, float]] = {}
    for passage in read:
        place = _place(passage.chunk, chunks)
        for one in candidates([passage]):
            under.setdefault(one.text, (one, place))
    return [one for one, _ in under.values()], [place for _, place in under.values()]


def _title(document: Document) -> set[str]:
    return telling(document.title or _DIGITS.sub(" ", document.name.rsplit(".", 1)[0]))


def _place(chunk: Chunk, chunks: int) -> float:
    """What standing where it does is worth; a text opens with what it is about."""
    under = stands_under(chunk.heading, chunk.text)
    return 1.3 if under == 1.0 and chunk.ordinal < min(_OPENING, chunks // 20) else under


def _weight(chunk: Chunk, chunks: int, title: set[str]) -> float:
    """What a chunk is worth: its best sentences, where it stands, and under what."""
    texts = [one_line(chunk.text[a:b]) for a, b in sentences(chunk.text)]
    best = sorted((tells(text) * speaks_of(text, title) for text in texts), reverse=True)[:_BEST]
    return (0.05 + sum(best)) * _early(chunk.ordinal, chunks) * _place(chunk, chunks)


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
