"""Which documents a wish means: by their names, titles, kinds, and who or what they begin with.

"Compare the two emails" means mails, "the 2018 report" one by its year. A wish is taken apart where
it counts up ("the lease and the offer"), and each part names its own. Pure; English."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import ge

from rag_app.answering.task_router import OF_TASKS, TaskRequest, rest
from rag_app.retrieval.document_names import Names, dates
from rag_app.retrieval.ranking import STOPWORDS
from rag_app.text.formats import NOUNS
from rag_app.text.languages import NAMES as LANGUAGES
from rag_app.types import Document, Task


def singular(word: str) -> str:
    """A noun of which there is one; one for files that ends with s stays."""
    return word if word in NOUNS else word.removesuffix("s")


_GENERAL = frozenset(  # say of a document that it is one; names hold them, too
    "article book chapter letter paper report release statement filing study".split()  # noqa: SIM905
)
_FILES = frozenset("document file text doc scan page library folder upload".split())  # noqa: SIM905

_AND = re.compile(r",|;|&|\b(?:and|or|with|to|versus|vs|against|between|than)\b", re.IGNORECASE)
_TOPIC = r"\b(?:about|regarding|concerning|on the subject|with (?:regard|respect) to|in terms of"
_ABOUT = re.compile(rf"{_TOPIC})\b.*|:\s.*", re.IGNORECASE | re.DOTALL)
_ABOUT_BOTH = re.compile(
    rf"{_TOPIC}|on)\b(?:(?!\b(?:with|to|versus|vs|against)\b).)*", re.IGNORECASE | re.DOTALL
)
_PASTED = re.compile(r":\s.*", re.DOTALL)
_WRITTEN = re.compile(  # "an e-mail to the landlord": what is to be written is not there yet
    r"\A(?:(?!\b(?:to|about|on|of|for|from|with|using|in|based)\b).)*|:\s.*",
    re.IGNORECASE | re.DOTALL,
)
_CUTS = {  # of a wish, what names no documents
    Task.SUMMARY: _ABOUT,
    Task.COMPARISON: _ABOUT_BOTH,
    Task.DRAFT: _WRITTEN,
    Task.TRANSLATION: _PASTED,
}
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)?")
_OWNER = re.compile(r"['’]s\b")
_BEFORE_MESSAGES = frozenset("all both few last latest my our the these two three your".split())  # noqa: SIM905
_WHOSE = ("from", "by", "of")
_NEWEST = re.compile(r"\b(?:latest|newest|most recent|last)\b", re.IGNORECASE)
_LONGEST = 400  # characters of a wish that may name documents: what is pasted names none
_LEAST = 0.25  # of the words of a part that must name a document
_ON_PAGE = 0.5  # what a word of a first page counts
_NEAR = 0.8  # of the best named, that others are meant, too


@dataclass(frozen=True, slots=True)
class ResolvedDocuments:
    """The documents that a wish names, in its order, and the words that do; empty: none."""

    documents: tuple[Document, ...] = ()
    words: frozenset[str] = frozenset()


def resolve_documents(
    task: TaskRequest, documents: Sequence[Document], names: Names, openings: bool = True
) -> ResolvedDocuments:
    """What a wish names of these documents, which `names` knows (and others).

    Without `openings`, words of their first pages name none."""
    exact = _written_out({document.name for document in documents}, task.wish)
    if exact:
        return ResolvedDocuments(tuple(d for d in documents if d.name in exact), frozenset())
    said = _CUTS[task.kind].sub(" ", rest(task.wish[:_LONGEST]))
    texts = _shared(_AND.split(said))
    parts = [_Mention(part, names, documents, openings) for part in texts]
    found: dict[str, Document] = {}
    for part in parts:
        found |= {document.id: document for document in part.documents()}
    words = frozenset().union(*(part.used for part in parts))
    if task.kind is Task.COMPARISON and len(found) == 1:  # with the others
        found |= {document.id: document for document in documents if document.id not in found}
    return ResolvedDocuments(tuple(found.values()), words)


def _written_out(names: Collection[str], wish: str) -> set[str]:
    """The names that stand in a wish as they are: “notes”, or notes.txt; none in a longer one."""
    found: set[str] = set()
    for name in sorted((name for name in names if name in wish), key=len, reverse=True):
        plain = rf"|(?<!\w){re.escape(name)}(?!\w)" if "." in name else ""
        left = re.sub(f"“{re.escape(name)}”{plain}", " ", wish)
        found |= {name} if left != wish else set()
        wish = left
    return found


def _shared(parts: Sequence[str]) -> list[str]:
    """Parts with what the last one says for all: "the 2018 | and 2022 Acme reports"."""
    said = [[word for word in map(str.lower, _WORD.findall(p)) if _may_name(word)] for p in parts]
    last = parts[-1]
    when = dates(last)
    name = " ".join(w for w in said[-1] if w not in when and singular(w) not in _GENERAL)
    made = []
    for part, words in zip(parts, said, strict=True):
        only_dated = words and set(words) <= set(dates(part))
        several = set(map(singular, said[-1])) & _GENERAL and not set(words) & _GENERAL
        if only_dated and part is not last:
            part = f"{part} {name}"
        elif words and when and several and not dates(part):
            part = f"{part} {' '.join(when)}"
        made.append(part)
    return made


class _Mention:
    """A part of a wish that may name documents: "the 2018 report"."""

    def __init__(
        self, text: str, names: Names, documents: Sequence[Document], openings: bool
    ) -> None:
        text = _OWNER.sub("", text)
        self._text, self._names, self._documents = text, names, documents
        self._words = [word.lower() for word in _WORD.findall(text)]
        kinds = filter(self._says_kind, range(len(self._words)))
        self._kind = next(kinds, -1)  # where the noun stands that says a kind of file
        known = {d.id for d in documents}
        self._called = {
            word: {d: w for d, w in held.items() if d in known and (openings or w > _ON_PAGE)}
            for word, held in names.called(text).items()
            if _may_name(word)
        }
        self.used = frozenset(self._words[self._kind : self._kind + 1] if self._kind >= 0 else ())

    def documents(self) -> list[Document]:
        """Those it names, best first where words of names do."""
        pool = self._pool()
        if self._kind >= 0 and pool and self._means_all_of_a_kind():
            return self._dated(pool)
        named = self._best(pool or self._documents)
        if pool and not named and self._follows_whose():  # "the tables of the annual report"
            named = self._best(self._documents)
        return self._dated(named or pool or self._general())

    def _says_kind(self, at: int) -> bool:
        """Whether a word is a noun for a kind of files; not "slide 4", "the word deposit" or
        "the key messages"."""
        noun, after = singular(self._words[at]), "".join(self._words[at + 1 : at + 2])
        if noun == "word":
            return singular(after) in _FILES
        if noun == "message":
            return not at or self._words[at - 1] in _BEFORE_MESSAGES
        return noun in NOUNS and not after.isdigit()

    def _follows_whose(self) -> bool:
        after = self._words[self._kind + 1 : self._kind + 2]
        return bool(after) and after[0] in _WHOSE

    def _pool(self) -> list[Document]:
        """The documents of the kind that it says; none if it says none."""
        if self._kind < 0:
            return []
        suffixes = NOUNS[singular(self._words[self._kind])]
        return [d for d in self._documents if d.suffix.lower() in suffixes]

    def _means_all_of_a_kind(self) -> bool:
        """Whether "the two emails", "the spreadsheets"; not "Ann's emails", "the emails of Ann"."""
        whose = self._modifiers(self._kind) or self._follows_whose()
        return self._words[self._kind].endswith("s") and not whose

    def _means_several(self) -> bool:
        nouns = _GENERAL | NOUNS.keys()
        return any(word not in nouns and singular(word) in nouns for word in self._words)

    def _modifiers(self, noun: int) -> list[str]:
        """The words right before a noun that may name documents."""
        kept: list[str] = []
        for word in reversed(self._words[:noun]):
            if not _may_name(word):
                break
            kept.append(word)
        return kept

    def _best(self, pool: Sequence[Document]) -> list[Document]:
        """Those of the pool that its own words name best."""
        telling = {w: held for w, held in self._called.items() if singular(w) not in _GENERAL}
        if self._means_several():  # "the Acme reports": also those that only begin with the name
            few = (w for w, held in telling.items() if 2 * len(held) <= len(pool))
            telling |= {word: dict.fromkeys(telling[word], 1.0) for word in few}
        scores = self._scores(telling, pool)
        least = _NEAR * max(scores.values(), default=0.0)
        kept = _undominated([d for d in pool if scores.get(d.id, -1.0) >= least], telling)
        general = [held for w, held in self._called.items() if w not in telling]
        exact = [d for d in kept if any(held.get(d.id) == 1.0 for held in general)]
        self._use({w for w, held in self._called.items() if any(d.id in held for d in kept)})
        return exact or kept

    def _use(self, words: Collection[str]) -> None:
        """Note words that name documents, with those around them: "the lease agreement"."""
        runs: list[list[str]] = [[]]
        for word in self._words:
            if _may_name(word):
                runs[-1].append(word)
            else:
                runs.append([])
        told = (word for run in runs if not set(words).isdisjoint(run) for word in run)
        self.used |= {*words, *told}

    def _scores(
        self, telling: Mapping[str, Mapping[str, float]], pool: Sequence[Document]
    ) -> dict[str, float]:
        """How well words name each of the pool; those that they do not name are left out."""
        named: dict[str, float] = defaultdict(float)
        scores: dict[str, float] = defaultdict(float)
        inside = {document.id for document in pool}
        for of in telling.values():
            held = {d: weight for d, weight in of.items() if d in inside}
            rarity = math.log((len(pool) + 0.5) / (len(held) + 0.5))
            for document, weight in held.items():
                named[document] += weight
                if weight == 1.0 or 2 * len(held) <= len(
                    pool
                ):  # many begin with a word of no weight
                    scores[document] += weight * rarity
        least = _LEAST * len(telling)
        return {d: score for d, score in scores.items() if score and named[d] >= least}

    def _general(self) -> list[Document]:
        """Those whose name holds the noun: "the reports"; not if that is another kind of them."""
        for at, word in enumerate(self._words):
            if singular(word) in _GENERAL and not self._modifiers(at):
                held = self._called.get(word, {})
                if found := [d for d in self._documents if held.get(d.id) == 1.0]:
                    self.used |= {word}
                    return found
        return []

    def _dated(self, found: Sequence[Document]) -> list[Document]:
        if not _NEWEST.search(self._text):
            return list(found)
        newest = set(self._names.newest([d.id for d in found]))
        return [d for d in found if d.id in newest]


def _undominated(
    found: Sequence[Document], telling: Mapping[str, Mapping[str, float]]
) -> list[Document]:
    """Without those of which another is named by the same words and by more."""
    held = {d.id: tuple(of.get(d.id, 0.0) for of in telling.values()) for d in found}
    ways = set(held.values())  # few, however many documents there are
    less = {one for one in ways if any(other != one and all(map(ge, other, one)) for other in ways)}
    return [d for d in found if held[d.id] not in less]


_NOUNS = _GENERAL | {"annual", "contract", "lease", "offer"}
_EMPTY = (
    STOPWORDS
    | (OF_TASKS - _NOUNS - {f"{noun}s" for noun in _NOUNS})
    | {language.lower() for language in LANGUAGES.values()}
    | {"latest", "newest", "recent"}
)


def _may_name(word: str) -> bool:
    """Whether a word can say which document is meant."""
    if word.isdigit() and len(word) != 4:
        return False
    single = singular(word)
    return word not in _EMPTY and single not in NOUNS and single not in _FILES and len(word) > 1
