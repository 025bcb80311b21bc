"""Which work on documents a plain sentence asks for, and what it is to be about. Pure; English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag_app.types import Document, Task


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """A piece of work; `wish` is what the user wrote."""

    kind: Task
    wish: str
    language: str = ""  # that it is to be written in; empty: that of the wish
    naming: frozenset[str] = frozenset()  # words of the wish that say which documents are meant
    among: int = 1  # documents that could have been meant


_FORMS = (
    (
        Task.SUMMARY,
        r"(?:summari[sz]e|sum up|give (?:me )?(?:a |an )?(?:short |brief )?(?:summary|overview)"
        r"|(?:a |short |brief )*(?:summary|overview) of|what (?:is|are) (?:this|these|the) "
        r"(?:document|file|report|paper|text|pdf)s?(?: all)? about)",
    ),
    (
        Task.COMPARISON,
        r"(?:compare|what (?:is|are) the (?:main )?differences? between|contrast)",
    ),
    (Task.DRAFT, r"(?:draft|write|compose)(?: me)? (?:a|an|the|some)?"),
    (Task.TRANSLATION, r"translate"),
)
_POLITE = r"^\W*(?:(?:please|can you|could you|would you|kindly|now)\W+)*"
_PATTERNS = tuple((kind, re.compile(rf"{_POLITE}{form}\b", re.IGNORECASE)) for kind, form in _FORMS)


def wanted(said: str) -> TaskRequest | None:
    """The task that a plain sentence asks for, if it asks for one."""
    for kind, pattern in _PATTERNS:
        if pattern.match(said):
            return TaskRequest(kind, said)
    return None


def rest(said: str) -> str:
    """What a wish says after the words that ask for it; all of it if they say what is meant."""
    for _, pattern in _PATTERNS:
        if found := pattern.match(said):
            after = said[found.end() :]
            return after if re.search(r"\w", after) else said
    return said


def objects(said: str) -> str:
    """What a wish is to be carried out on, "the lease and the offer"; empty if it does not say."""
    after = _BEGINS.sub("", rest(said))
    return "" if after == said else _GOES_ON.split(after, maxsplit=1)[0].strip(" ,;")


def subject(said: str) -> str:
    """What a wish is plainly about, "the earnings release"; empty if that cannot be told."""
    named = objects(said)
    plain = _DETERMINED.match(named) or any(letter.isupper() for letter in named)
    return named if plain and len(named.split()) <= _SUBJECT_WORDS else ""


def sentences(wish: str, usual: int) -> int:
    """How many sentences a wish asks for: "in two sentences", "short", "longer"."""
    if said := _COUNTED.search(wish):
        word = said[1].lower()
        number = _NUMBERS.index(word) if word in _NUMBERS else 1
        return max(1, min(int(word) if word.isdigit() else number, _MOST_SENTENCES))
    asked = usual // 2 if _SHORT.search(wish) else usual
    for how in _LENGTHS.findall(wish.lower()):
        asked = asked // 2 if how in ("shorter", "briefer") else asked + usual // 2 + 1
    return max(1, min(asked, _MOST_SENTENCES))


# Words of a wish that do not say what it is about.
OF_TASKS = frozenset(
    """
    again against all also and annual are article articles between book books both brief bullet
    bullets but can chapter compare comparison concise content contents contract contracts
    contrast could detail detailed differ difference different differences document documents does
    each everything few file files filing filings five for four from give have important how in it
    key kindly last lease leases letter letters main more most my now offer offers one other
    others our over overall overview page pages paper papers paragraph pdf plain please point
    points quick report reports same say says sentence sentences short shortly similar
    similarities simple some sum summarise summarize summary tell text texts that the their them
    these thing things this those three two uploaded versus was were what which whole with words
    would year years you your
    """.split()  # noqa: SIM905 - easier to read and to add to
)
_NUMBERS = "no a two three four five six seven eight nine ten".split()  # noqa: SIM905
_COUNTED = re.compile(
    rf"\b(\d{{1,3}}|one|{'|'.join(_NUMBERS[1:])}) (?:(?!few\b|couple\b)[a-z]+ )?"
    r"(?:sentences?|lines?|bullets?|(?:bullet|key|main) points?|points|facts)\b",
    re.IGNORECASE,
)
_SHORT = re.compile(r"\b(?:short|brief|briefly|concise|concisely|shortly)\b", re.IGNORECASE)
_LENGTHS = re.compile(r"\b(shorter|briefer|longer|more detail(?:s|ed)?)\b")
_MOST_SENTENCES = 20
_BEGINS = re.compile(r"^\W*(?:of|between|from|for)\b\W*", re.IGNORECASE)
_GOES_ON = re.compile(
    r"[;:?!(\n]|\.(?=\s|\Z)|, (?=in\b|shorter|longer|more)"
    r"|\b(?:about|regarding|concerning|in|into|to|for|with|as|please|again|but)\b",
    re.IGNORECASE,
)
_DETERMINED = re.compile(r"(?:the|our|my|both)\b", re.IGNORECASE)
_SUBJECT_WORDS = 6
_CUE = re.compile(r"\b(?:about|on|of|regarding|concerning|terms of|respect to)\b", re.IGNORECASE)


def topic(task: TaskRequest, documents: Sequence[Document]) -> str:
    """What a summary or a comparison is to be about; empty if it is about whole documents."""
    said = task.wish
    if task.kind is Task.SUMMARY:
        said = " ".join(_CUE.split(said)[1:])
    named = set().union(*map(_named, documents)) | task.naming
    empty = OF_TASKS | named | {task.language.lower()}
    return " ".join(w for w in re.findall(r"[^\W\d_]{3,}", said) if w.lower() not in empty)


def _named(document: Document) -> set[str]:
    stem = document.name.rsplit(".", 1)[0]
    return set(re.findall(r"[^\W_]{3,}", f"{stem} {document.title}".lower()))
