"""Plain search: where words stand in the documents, without asking anything and without a model.

All of the words must stand near each other (if nothing holds them all, any of them will do), and
"phrases in quotation marks" exactly as they are written. Knows nothing of how hits are shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_app.retrieval.retriever import query_words
from rag_app.scope import Scope
from rag_app.storage.words import WordHit, WordSearch
from rag_app.text.highlighting import merge_spans
from rag_app.text.scripts import RUN, SIGNS, UNSPACED
from rag_app.text.sentences import sentences
from rag_app.types import Chunk

MOST = 2_000  # passages looked at; with more, the least fitting are left out
_AROUND = 140  # characters shown on both sides of a hit in a sentence that is very long
_LONGEST = 420
_UNSPACED = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(rf"[{UNSPACED}{SIGNS}]+|(?:(?![{UNSPACED}])[\w{SIGNS}])+")
_GAP = r"(?:[-\u00ad\u2010]?\s+|\u00ad)?"  # a line end, and the hyphen it put into a word


@dataclass(frozen=True, slots=True)
class Hit:
    """A place on a page that holds the words; `marks` are spans of the page's text, too."""

    document_id: str
    page: int
    start: int
    end: int
    text: str
    marks: tuple[tuple[int, int], ...]
    heading: str = ""

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
    cuts = sentences(chunk.text) or [(0, len(chunk.text))]
    start, end = max(cuts, key=lambda cut: (_held(chunk.text, marks, cut), -cut[0]))
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
        chunk.heading,
    )


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
