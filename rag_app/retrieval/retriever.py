"""Question to passages: meaning and words weighed together, documents that are named before others.

A LangChain `BaseRetriever`, so that it fits into any chain; `passages` gives our own type.

Plain search asks nothing and needs no model: all of the words must stand near each other (if
nothing holds them all, any of them will do), and "phrases in quotation marks" exactly as they are
written. Knows nothing of how hits are shown."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document as LangChainDocument
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from rag_app.errors import ModelUnavailable, UnknownDocument
from rag_app.retrieval.document_names import Catalogue
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.ranking import (
    WORDS,
    WORDS_ABROAD,
    Pool,
    RankingFeatures,
    asks_for_figures,
    chances,
    figures,
    query_words,
    ranked,
    respelled,
    shares,
    telling_words,
    together,
)
from rag_app.retrieval.sentence_index import SentenceIndex
from rag_app.scope import Scope
from rag_app.storage import Store
from rag_app.storage.vectors import VectorIndex
from rag_app.storage.words import WordHit, WordSearch
from rag_app.supervision import surviving
from rag_app.text.highlighting import merge_spans
from rag_app.text.languages import RUN, SIGNS, UNSPACED, is_english
from rag_app.text.sentences import sentences
from rag_app.types import Chunk, Document, Passage, RetrieverKind, of_documents

log = logging.getLogger(__name__)

_WELL_NAMED = (
    0.25  # of the prior: a question names a document so well that it is searched by itself
)
_TRUST = 0.2  # exponent of a reranker's odds beside p(z|x) (benchmarks/LOG.md)
_MOST_ODDS = 30.0
_LARGE = 50_000  # passages of a library
_WIDE = 10  # times the candidates, of which those of named documents are picked
_MOST_NAMED = 16  # documents that are searched by themselves
_LIKELIEST = 20  # passages whose sentences are embedded while somebody waits
_BESIDE = ThreadPoolExecutor(2, "rag-app-words")  # models stay in the thread that asks

Reranker = Callable[[str, Sequence[Passage]], Sequence[float]]
"""Question and passages to log-odds that each of them answers. Raises ModelUnavailable."""
MOST = 2_000  # passages looked at; with more, the least fitting are left out
_AROUND = 140  # characters shown on both sides of a hit in a sentence that is very long
_LONGEST = 420
_STOPS = (".", "!", "?", "。", "！", "？")
_AFTER_STOP = " \t\r\n”\"')»]"  # what may follow the full stop of a sentence
_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(rf"[{UNSPACED}{SIGNS}]+|(?:(?![{UNSPACED}])[\w{SIGNS}])+")
_GAP = r"(?:[-\u00ad\u2010]?\s+|\u00ad)?"  # a line end, and the hyphen it put into a word


class HybridRetriever(BaseRetriever):
    """Finds passages in the store and the vectors, of what the scope sees; in `documents` only if
    those are given."""

    model_config = ConfigDict(arbitrary_types_allowed=True, frozen=True)

    store: Store
    vectors: VectorIndex
    embedder: Embedder
    scope: Scope
    kind: RetrieverKind = RetrieverKind.HYBRID
    k: int = 8
    candidates: int = 60
    documents: tuple[str, ...] | None = None
    catalogue: Catalogue | None = None  # kept by whoever asks more than once
    reranker: Reranker | None = None
    reranked: int = 20  # of the ranked passages are put in the reranker's order
    sentences: SentenceIndex | None = None  # of the library, where there is one
    hurries: bool = False  # embeds sentences of the likeliest passages that have no vector yet

    def passages(self, question: str) -> list[Passage]:
        """The k best passages, best first, their scores adding up to 1.

        Raises ModelUnavailable if only meaning may be searched and the model is not there."""
        if self.documents == () or self.k < 1:
            return []
        documents = self.store.documents(self.scope)
        named = self._named(question, documents)
        choices = self._choices(named)
        # Where that takes long, words are looked for once, and those of named documents picked out.
        once = sum(document.chunks for document in documents) > _LARGE
        meaning, words, found = self._pools(question, choices, once)
        index, covered = self._knowing(question, documents)
        sentences = self._by_sentence(index, question, choices) if index and covered else Pool()
        found |= self.store.chunks([i for i in sentences.scores if i not in found], self.scope)
        names = {d.id: d.name for d in documents}
        # Of a document that was added while we searched nothing is known: whose it is, neither.
        chunks = {id_: chunk for id_, chunk in found.items() if chunk.document_id in names}
        pages = self._figures(question, chunks.values())
        known = not self.embedder.english or is_english(question)
        weight = WORDS if known else WORDS_ABROAD
        evidence = RankingFeatures(
            *(meaning, words, named, pages, weight, self._pairs(question, chunks)),
            sentences=sentences,
        )
        most = self.unread.k
        best = ranked(list(chunks.values()), evidence.score, max(most, _LIKELIEST))
        if index and not covered:  # those of the likeliest passages are nearly as good till then
            likely = [chunk for chunk, _ in best]
            sentences = _of_these(index, question, likely[:_LIKELIEST], names)
            best = ranked(likely, replace(evidence, sentences=sentences).score, len(likely))
        best = best[:most]
        shared = chances([score for _, score in best])
        passages = [
            Passage(chunk, names[chunk.document_id], chance)
            for (chunk, _), chance in zip(best, shared, strict=True)
        ]
        return self.read([question], passages)

    def respelled(self, question: str) -> str:
        """The question with its words that no document holds as what is found with the others
        spells them; empty: it has none, or nothing is near. Words that the embedding model knows
        as one piece are spelt rightly. Raises ModelUnavailable as `passages` does."""
        words = telling_words(question)
        if not words:
            return ""
        pieces = zip(words, self.embedder.count_tokens(words), strict=True)
        rare = [word for word, count in pieces if count > 1]
        strange = [w for w in rare if not self.store.words.documents_with(w, self.scope)]
        if not strange:
            return ""
        wide = self.model_copy(update={"k": self.candidates, "reranker": None, "hurries": False})
        return respelled(question, strange, [p.chunk.text for p in wide.passages(question)])

    @property
    def unread(self) -> HybridRetriever:
        """The same without the reranker: it gives all that the reranker would be given."""
        if self.reranker is None:
            return self
        return self.model_copy(update={"reranker": None, "k": max(self.k, self.reranked)})

    def read(self, wordings: Sequence[str], found: Sequence[Passage]) -> list[Passage]:
        """The k best of what was found in the reranker's order, if there is one, for the wording
        of the question that suits each passage best; a reranker knows English only."""
        known = [wording for wording in wordings if is_english(wording)]
        if self.reranker is not None and known:
            found = rerank(known, found, self.reranker)
        return shares(found[: self.k])

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[LangChainDocument]:
        return [as_langchain(passage) for passage in self.passages(query)]

    def _named(self, question: str, documents: Sequence[Document]) -> Mapping[str, float]:
        """How well the question names each of the documents that may be searched."""
        if self.kind is not RetrieverKind.HYBRID:
            return {}
        names = (self.catalogue or Catalogue(self.store)).names(documents, self.scope)
        prior = names.prior(question)
        chosen = prior.keys() if self.documents is None else {*self.documents}
        return {d: p for d, p in prior.items() if d in chosen}

    def _choices(self, named: Mapping[str, float]) -> list[tuple[str, ...] | None]:
        """What is searched: all that may be, and the documents that are named, by themselves."""
        enough = max(_WELL_NAMED, max(named.values(), default=0.0) / 2)
        well = sorted((d for d, p in named.items() if p >= enough), key=lambda d: (-named[d], d))
        if not well or (self.documents is not None and len(well) == len(self.documents)):
            return [self.documents]
        return [self.documents, tuple(well[:_MOST_NAMED])]

    def _pools(
        self, question: str, choices: Sequence[tuple[str, ...] | None], once: bool
    ) -> tuple[Pool, Pool, dict[str, Chunk]]:
        """What is found by meaning and by words, looked for side by side, and the chunks of both
        that are there."""
        if self.kind is RetrieverKind.DENSE:
            meaning = self._by_meaning(question, choices)
            return meaning, Pool(), self.store.chunks([*meaning.scores], self.scope)
        if self.kind is RetrieverKind.BM25:
            words = self._by_words(question, choices)
            return Pool(), words, self.store.chunks([*words.scores], self.scope)
        parts = [choices] if once else [[choice] for choice in choices]
        beside = [_BESIDE.submit(self._by_words, question, part) for part in parts]
        try:
            meaning = self._by_meaning(question, choices)
        except ModelUnavailable:  # words are better than nothing
            meaning = Pool()
        chunks = self.store.chunks(
            [*meaning.scores], self.scope
        )  # while words are still looked for
        words = _joined([found.result() for found in beside])
        chunks |= self.store.chunks([one for one in words.scores if one not in chunks], self.scope)
        return meaning, words, chunks

    def _by_meaning(self, question: str, choices: Sequence[tuple[str, ...] | None]) -> Pool:
        vector = self.embedder.embed_query(question)
        scope = self.store.reach.widest(self.scope)
        found = [self.vectors.search(vector, self.candidates, scope, one) for one in choices]
        return _joined([Pool.of(one, self.candidates) for one in found])

    def _knowing(
        self, question: str, documents: Sequence[Document]
    ) -> tuple[SentenceIndex | None, bool]:
        """What knows single sentences, where it has the languages, and those of all that is
        searched or soon will; and whether it has: else those of some documents would win."""
        index = self.sentences if self.kind is RetrieverKind.HYBRID else None
        if index is None or not is_english(question):
            return None, False
        able = [d for d in documents if self.documents is None or d.id in self.documents]
        # An English model knows these as well as any does.
        if not (self.embedder.english or all(one.language in ("", "en") for one in able)):
            return None, False
        covered = index.covers(able)
        soon = self.hurries and index.will_cover(documents)
        return (index, covered) if covered or soon else (None, False)

    def _by_sentence(
        self, index: SentenceIndex, question: str, choices: Sequence[tuple[str, ...] | None]
    ) -> Pool:
        """What is found by single sentences."""
        scope = self.store.reach.widest(self.scope)
        with surviving(log, "sentences were not searched") as attempt:
            found = [index.nearest(question, self.candidates, scope, one) for one in choices]
        # Of what the first search left out, the second says nothing.
        return Pool() if attempt.failed else Pool(_joined(found).scores, found[0].floor)

    def _by_words(self, question: str, choices: Sequence[tuple[str, ...] | None]) -> Pool:
        words, phrases = query_words(question)
        endings = not is_english(question)
        wide = self.candidates if len(choices) == 1 else _WIDE * self.candidates
        found = self.store.search_words(words, phrases, wide, self.scope, choices[0], endings)
        kept = found[: self.candidates]
        if len(choices) > 1:  # a search of its own would take as long again
            chosen = of_documents(choices[1] or ())
            kept += [one for one in found if chosen(one[0])][: self.candidates]
        return Pool(dict(kept), found[-1][1] if len(found) >= wide else 0.0)

    def _pairs(self, question: str, chunks: Mapping[str, Chunk]) -> Mapping[str, float]:
        """How well the words of each chunk stand together as they do in the question."""
        if self.kind is not RetrieverKind.HYBRID:
            return {}
        return together(question, {chunk_id: chunk.text for chunk_id, chunk in chunks.items()})

    def _figures(self, question: str, chunks: Collection[Chunk]) -> Mapping[tuple[str, int], float]:
        """How much of each page is figures, if those are asked for."""
        if self.kind is not RetrieverKind.HYBRID or not asks_for_figures(question):
            return {}
        shares = {}
        for document_id, number in {(c.document_id, c.page) for c in chunks}:
            try:
                shares[document_id, number] = figures(
                    self.store.page(document_id, number, self.scope).text
                )
            except UnknownDocument:  # removed since
                continue
        return shares


def _of_these(
    index: SentenceIndex, question: str, chunks: Sequence[Chunk], names: Mapping[str, str]
) -> Pool:
    """The nearest sentence of each of a few chunks, while those of others have no vectors yet."""
    try:
        with surviving(log, "sentences were not compared", but=(ModelUnavailable,)) as attempt:
            found = index.among(question, [(names[one.document_id], one) for one in chunks])
    except ModelUnavailable:  # the index says so itself
        return Pool()
    return Pool() if attempt.failed else found


def _joined(pools: Sequence[Pool]) -> Pool:
    return reduce(Pool.joined, pools)


def as_langchain(passage: Passage) -> LangChainDocument:
    """A passage as LangChain knows it; `metadata["passage"]` is the passage itself."""
    chunk = passage.chunk
    return LangChainDocument(
        id=chunk.id,
        page_content=chunk.text,
        metadata={
            "document_id": chunk.document_id,
            "name": passage.name,
            "page": chunk.page,
            "start": chunk.start,
            "end": chunk.end,
            "score": passage.score,
            "passage": passage,
        },
    )


def rerank(wordings: Sequence[str], found: Sequence[Passage], reranker: Reranker) -> list[Passage]:
    """The passages in the order of the odds; a reranker whose model is not there changes
    nothing."""
    try:
        odds = [reranker(wording, found) for wording in wordings]
    except ModelUnavailable:
        return list(found)
    best = [max(those) for those in zip(*odds, strict=True)]
    return in_order_of(best, found) if best else list(found)


def in_order_of(odds: Sequence[float], found: Sequence[Passage]) -> list[Passage]:
    """The passages with their chances weighed by log-odds of answering, best first."""
    told = [-_MOST_ODDS if math.isnan(one) else one for one in odds]
    bounded = [max(-_MOST_ODDS, min(_MOST_ODDS, one)) for one in told]
    scored = [
        replace(p, score=p.score * math.exp(_TRUST * o))
        for p, o in zip(found, bounded, strict=True)
    ]
    return sorted(scored, key=lambda passage: -passage.score)


@dataclass(frozen=True, slots=True)
class Hit:
    """A place on a page that holds the words; `marks` are spans of the page's text, too."""

    document_id: str
    page: int
    start: int
    end: int
    text: str
    marks: tuple[tuple[int, int], ...]

    @property
    def inside(self) -> list[tuple[int, int]]:
        """The marks as spans of `text`."""
        return [(start - self.start, end - self.start) for start, end in self.marks]


@dataclass(frozen=True, slots=True)
class TextMatches:
    """What a search found, document by document, the best first.

    `loose`: nothing holds all of the words, these places hold some. `more`: some are left out."""

    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()  # document id, ids of chunks
    terms: tuple[str, ...] = ()
    loose: bool = False
    more: bool = False

    @property
    def places(self) -> int:
        """How many passages hold the words."""
        return sum(len(ids) for _, ids in self.groups)


class PlainSearch:
    """Finds words in the documents of a library that a scope sees."""

    def __init__(self, words: WordSearch, scope: Scope) -> None:
        self._words, self._scope = words, scope

    def find(self, query: str, documents: Sequence[str] | None = None) -> TextMatches:
        """Where the words of a query stand; in `documents` only if they are given."""
        telling, phrases = query_words(query)
        quoted = set(_plain(" ".join(phrases)).split())
        terms = [*phrases, *(word for word in telling if _plain(word).strip() not in quoted)]
        if not terms or documents == ():
            return TextMatches()
        hits = _exact(self._words.hits(terms, self._scope, documents, MOST), phrases)
        loose = not hits and not phrases and len(terms) > 1
        if loose:
            hits = self._words.hits(terms, self._scope, documents, MOST, any_of_them=True)
        groups: dict[str, list[str]] = {}
        for hit in hits:
            groups.setdefault(hit.document_id, []).append(hit.id)
        return TextMatches(
            tuple((document, tuple(ids)) for document, ids in groups.items()),
            tuple(terms),
            loose and bool(hits),
            len(hits) == MOST,
        )

    def places(self, found: TextMatches, ids: Sequence[str]) -> list[Hit]:
        """The sentences of these chunks that hold the words, in the order of `ids`."""
        forms = self._words.forms(found.terms, self._scope, ids)
        asked = frozenset(found.terms)
        return [_place(forms[one][0], forms[one][1] | asked) for one in ids if one in forms]


def _exact(hits: Iterable[WordHit], phrases: Sequence[str]) -> list[WordHit]:
    """The hits that hold every phrase word for word; the index knows the stems of words only."""
    wanted = [_plain(phrase) for phrase in phrases]
    if not wanted:
        return list(hits)
    return [hit for hit in hits if all(phrase in _plain(hit.words) for phrase in wanted)]


def _plain(text: str) -> str:
    """The words of a text alone, each between two spaces; scripts without spaces as they are."""
    parts = _WORD.findall(text.casefold())
    return "".join(part if _UNSPACED.search(part) else f" {part} " for part in parts)


def _place(chunk: Chunk, forms: frozenset[str]) -> Hit:
    marks = _marks(chunk.text, forms)
    start, end = _best(chunk.text, marks)
    own = [mark for mark in marks if start <= mark[0] and mark[1] <= end]
    if end - start > _LONGEST and own:
        start = _word_end(chunk.text, max(start, own[0][0] - _AROUND), own[0][0])
        end = min(end, max(own[0][1] + _AROUND, start + _LONGEST))
        end = _word_end(chunk.text, end, end + 40)
        own = [mark for mark in own if mark[1] <= end]
    text, shift = chunk.text[start:end], chunk.start
    return Hit(
        chunk.document_id,
        chunk.page,
        shift + start,
        shift + end,
        text,
        tuple((shift + a, shift + b) for a, b in own),
    )


def _best(text: str, marks: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The sentences that hold most of the words, as many of them as can be shown as one place.

    What is no sentence, as a heading, is the place only where no sentence holds as many."""
    cuts = sentences(text) or [(0, len(text))]
    held = [_held(text, marks, cut) for cut in cuts]
    best = [cut for cut, number in zip(cuts, held, strict=True) if number == max(held)]
    said = [(a, b) for a, b in best if text[a:b].rstrip(_AFTER_STOP).endswith(_STOPS)]
    start, end = (said or best)[0]
    return start, max([end, *(b for _, b in said if b - start <= _LONGEST)])


def _word_end(text: str, at: int, limit: int) -> int:
    """The first place from `at` on that is not inside a word, `limit` at most."""
    limit = min(limit, len(text))
    while 0 < at < limit and not text[at - 1].isspace() and not text[at].isspace():
        at += 1
    return min(at, limit)


def _held(text: str, marks: Sequence[tuple[int, int]], cut: tuple[int, int]) -> int:
    """How many different words are marked in one sentence."""
    start, end = cut
    return len({text[a:b].casefold() for a, b in marks if start <= a and b <= end})


def _marks(text: str, forms: frozenset[str]) -> list[tuple[int, int]]:
    """Where the forms stand in the text, over line ends and hyphens that the index has healed."""
    found: list[tuple[int, int]] = []
    for form in sorted(forms, key=len, reverse=True):
        words = re.findall(rf"[\w{SIGNS}]+|[^\w\s{SIGNS}]", form)
        if not words or RUN in form:
            continue
        pattern = r"\s*".join(_GAP.join(map(re.escape, word)) for word in words)
        if not _UNSPACED.search(form):
            pattern = rf"(?<!\w){pattern}(?![\w{SIGNS}])"
        found += [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
    return merge_spans(found, len(text))
