"""Which documents a question names: by file name, title, or what stands on the first page. Pure.

A word weighs by how few documents it names; years and quarters are compared as such ("FY18", "the
2018 report", "2018Q2"). Names written together ("AMERICANEXPRESS_2022") are found, and initials."""

from __future__ import annotations

import math
import re
import threading
from bisect import bisect_left
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from rag_app.errors import UnknownDocument
from rag_app.retrieval.ranking import STOPWORDS
from rag_app.scope import Scope
from rag_app.storage import Store
from rag_app.types import Document

_OPENING = 1_500  # characters of the first page
_ON_PAGE = 0.5  # what a word of the first page counts beside one of the name
_SMALL = 0.5  # what a word in small letters counts where the question has capitals
_EARLIER = 0.3  # what a year counts beside a later one: a report covers the years before it
_BEGINNING = 0.8  # what the beginning of a name counts ("JPM" of JPMORGAN), and initials
_NEWEST = 0.3  # for the newest of the documents that are named alike, if that is asked for
_LONGEST_RUN = 4  # words of a question that may be written together in a name

_WORDS = re.compile(r"[^\W_]+")
_PARTS = re.compile(  # "BestBuy2024Q2" is three words
    r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=(?:19|20)\d\d(?!\d))|(?<=(?:19|20)\d\d)(?=[QqHh]\d)"
    r"|[\W_]+"
)
_YEAR = re.compile(
    r"(?<![\d.,$])(?:(?:FY|CY)\s?'?)?((?:19|20)\d\d)(?!\d|,\d)|\b(?:FY|CY)\s?'?(\d\d)\b", re.I
)
_QUARTER = re.compile(
    r"(?<![A-Za-z])(?:Q\s?([1-4])|([1-4])Q)(?!\d(?!\d{3}))"
    r"|\b(first|second|third|fourth)[ -]quarter",
    re.I,
)
_QUARTERS = {"first": "1", "second": "2", "third": "3", "fourth": "4"}
_ASKS_NEWEST = re.compile(r"\b(?:latest|newest|most recent)\b", re.I)


@dataclass(frozen=True, slots=True)
class Label:
    """What a document is called, and the beginning of its first page."""

    id: str
    name: str
    title: str = ""
    opening: str = ""


@dataclass(frozen=True, slots=True)
class DocumentMarks:
    """What a question may name one document by."""

    words: Mapping[str, float]  # of its name and title, and of its first page
    initials: frozenset[str]
    date: tuple[str, str]

    @classmethod
    def of(cls, label: Label) -> DocumentMarks:
        """The marks of a label."""
        words = dict.fromkeys(_marks(_named_words(label.opening[:_OPENING])), _ON_PAGE)
        initials: set[str] = set()
        for called in (_stem(label.name), label.title):
            words |= dict.fromkeys(_marks(called), 1.0)
            initials |= _initials(called)
        return cls(words, frozenset(initials), _date(f"{label.name} {label.title}"))


class Names:
    """What the documents of a library are called, ready for questions."""

    def __init__(self, known: Mapping[str, DocumentMarks]) -> None:
        self._count = len(known)
        self._dates = {document: marks.date for document, marks in known.items()}
        self._initials: dict[str, set[str]] = defaultdict(set)
        self._named: dict[str, dict[str, float]] = defaultdict(dict)
        for document, marks in known.items():
            for word, weight in marks.words.items():
                self._named[word][document] = weight
            for short in marks.initials:
                self._initials[short].add(document)
        # In order, so that the names that begin alike stand together.
        self._long = sorted(word for word in self._named if len(word) >= 6 and word.isalpha())

    def prior(self, question: str) -> dict[str, float]:
        """How well each document is named, from 0 to about 1; those that are not are left out."""
        score: dict[str, float] = defaultdict(float)
        total = 0.0
        for holders, factor in self._evidence(question):
            rarity = factor * math.log((self._count + 0.5) / (len(holders) + 0.5))
            if rarity > 0:
                total += rarity * max(holders.values())
                for document, weight in holders.items():
                    score[document] += rarity * weight
        if not score:
            return {}
        # Weak evidence stays weak: it takes about one word that names one document to be sure.
        whole = max(total, math.log(self._count + 1))
        named = {document: value / whole for document, value in score.items()}
        return self._newest(named) if _ASKS_NEWEST.search(question) else named

    def called(self, text: str) -> dict[str, Mapping[str, float]]:
        """Each word of a text that could name a document, with the documents that it names.

        Words of a name count 1, of a first page a half. A word may stand in another number: the
        letters, the letter."""
        plain = _QUARTER.sub(" ", _YEAR.sub(" ", text))
        spoken = [word for word in _WORDS.findall(plain) if word.lower() not in STOPWORDS]
        found = {word.lower(): self._holders(word) for word in spoken}
        for run, words in _joined(spoken):
            if run in self._named:
                found |= dict.fromkeys(words, self._named[run])
        for mark in dates(text):
            found[mark] = self._named.get(mark, {})
        return found

    def newest(self, documents: Sequence[str]) -> list[str]:
        """Those of the latest date in their names; all if none has one."""
        newest = max((self._dates[d] for d in documents), default=("", ""))
        return [d for d in documents if self._dates[d] == newest]

    def _holders(self, word: str) -> Mapping[str, float]:
        low = word.lower()
        numbers = {low, f"{low}s", f"{low}es", low.removesuffix("s"), low.removesuffix("es")}
        numbers |= {f"{low[:-3]}y"} if low.endswith("ies") else {f"{low.removesuffix('y')}ies"}
        held: dict[str, float] = {}
        for one in numbers:
            for document, weight in self._named.get(one, {}).items():
                held[document] = max(weight, held.get(document, 0.0))
        if held or sum(map(str.isupper, word)) < 2:
            return held
        return dict.fromkeys(self._shortened(low), _BEGINNING)

    def _evidence(self, question: str) -> Iterator[tuple[Mapping[str, float], float]]:
        """(documents a word of the question names, what the word counts)."""
        words = [word for word in _PARTS.split(question) if word]
        years = _years(question)
        marks = dict.fromkeys(years, _EARLIER) | dict.fromkeys(_quarters(question), 1.0)
        if years:
            marks[max(years)] = 1.0
        cased = any(letter.isupper() for letter in question[1:])
        for word in (*words, *_WORDS.findall(question)):
            low = word.lower()
            if low in STOPWORDS or _YEAR.fullmatch(word):
                continue
            weight = _SMALL if cased and word[0].islower() else 1.0
            marks[low] = max(weight, marks.get(low, 0.0))
        marks |= dict.fromkeys((run for run, _ in _joined(words)), 1.0)
        marks = {mark: weight for mark, weight in marks.items() if mark in self._named}
        yield from ((self._named[mark], weight) for mark, weight in marks.items())
        for word in _WORDS.findall(question):
            short = word.lower()
            capitals = sum(map(str.isupper, word))
            holders = self._shortened(short) if capitals >= 2 and short not in marks else {}
            if holders:
                yield holders, _BEGINNING

    def _shortened(self, short: str) -> dict[str, float]:
        """Documents whose name has these initials or begins so."""
        found = dict.fromkeys(self._initials.get(short, ()), 1.0)
        if len(short) >= 3:
            for place in range(bisect_left(self._long, short), len(self._long)):
                word = self._long[place]
                if not word.startswith(short):
                    break
                found |= {d: weight for d, weight in self._named[word].items() if weight == 1.0}
        return found

    def _newest(self, named: dict[str, float]) -> dict[str, float]:
        """The same, the newest of those that are named best before the others."""
        best = max(named.values())
        rivals = [d for d, value in named.items() if value >= 0.9 * best]
        newest = max(self._dates[d] for d in rivals)
        return named | {
            d: named[d] + _NEWEST for d in rivals if self._dates[d] == newest != ("", "")
        }


def _joined(words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Words that follow each other, written together in small letters, and these."""
    low = [word.lower() for word in words]
    for length in range(2, _LONGEST_RUN + 1):
        for first in range(len(low) - length + 1):
            run = "".join(low[first : first + length])
            if len(run) >= 6:
                yield run, low[first : first + length]


def _stem(name: str) -> str:
    return name.rsplit(".", 1)[0]


def _years(text: str) -> list[str]:
    return [
        found.group(1) or f"20{found.group(2)}" for found in _YEAR.finditer(text.replace("_", " "))
    ]


def _quarters(text: str) -> list[str]:
    found = _QUARTER.finditer(text.replace("_", " "))
    return [f"q{m.group(1) or m.group(2) or _QUARTERS[m.group(3).lower()]}" for m in found]


def dates(text: str) -> list[str]:
    """The years and quarters that a text names, "2022" and "q3"."""
    return [*_years(text), *_quarters(text)]


def _date(text: str) -> tuple[str, str]:
    """(year, quarter) of a name, for comparing; empty where it has none."""
    return max(_years(text), default=""), max(_quarters(text), default="")


def _marks(text: str) -> set[str]:
    """The words of a name or title that a question may name it by."""
    words = {word.lower() for word in _PARTS.split(text) if word}
    return (words - STOPWORDS).union(dates(text))


def _named_words(text: str) -> str:
    """The words of a text that stand for names: those with a capital or a digit."""
    return " ".join(w for w in text.split() if w[:1].isupper() or w[:1].isdigit())


def _initials(called: str) -> set[str]:
    """Initials of the words a name begins with: "Johnson & Johnson" to jj and jnj."""
    words = list(map(str.lower, takewhile(str.isalpha, _PARTS.split(called))))
    letters = [word[0] for word in words[:_LONGEST_RUN] if word not in STOPWORDS]
    runs = [letters[:length] for length in range(2, len(letters) + 1)]
    return {joint.join(run) for run in runs for joint in ("", "n")}


# What the documents of a library are called, kept ready from one question to the next.

_SCOPES = 32  # whose names are kept at once

_Key = tuple[str, str, str, int]  # id, name and title of a document, when its text was written


@dataclass(frozen=True, slots=True)
class _Listed:
    """The names of some documents."""

    documents: tuple[_Key, ...]
    marks: Mapping[_Key, DocumentMarks]
    names: Names


class Catalogue:
    """Names of documents, put together again when the documents have changed. Thread-safe.

    Each scope has its own: how much a name tells depends on what else there is to be seen."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._listed: OrderedDict[tuple[str, ...] | None, _Listed] = OrderedDict()

    def names(self, documents: Sequence[Document], scope: Scope) -> Names:
        """The names of these documents, all that the scope sees."""
        at = self._store.tables.written([d.id for d in documents])
        wanted = tuple((d.id, d.name, d.title, at.get(d.id, 0)) for d in documents if d.pages)
        whose = None if scope.everything else scope.collections
        with self._lock:
            known = self._listed.pop(whose, None)
            if known is None or known.documents != wanted:
                before = known.marks if known else {}
                marks = {one: before.get(one) or self._marked(*one[:3], scope) for one in wanted}
                names = Names({one[0]: mark for one, mark in marks.items()})
                known = _Listed(wanted, marks, names)
            self._listed[whose] = known
            if len(self._listed) > _SCOPES:
                self._listed.popitem(last=False)
            return known.names

    def _marked(self, document_id: str, name: str, title: str, scope: Scope) -> DocumentMarks:
        try:
            opening = self._store.page(document_id, 1, scope).text
        except UnknownDocument:  # removed since
            opening = ""
        return DocumentMarks.of(Label(document_id, name, title, opening))
