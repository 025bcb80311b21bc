"""Which work on documents a plain sentence asks for, and on which of them. Pure; English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from rag_app.types import Document


class Kind(StrEnum):
    """What is to be done with documents."""

    SUMMARY = "summary"
    COMPARISON = "comparison"
    DRAFT = "draft"
    TRANSLATION = "translation"


@dataclass(frozen=True, slots=True)
class Task:
    """A piece of work; `wish` is what the user wrote."""

    kind: Kind
    wish: str
    language: str = ""  # that it is to be written in; empty: that of the wish


_FORMS = (
    (
        Kind.SUMMARY,
        r"(?:summari[sz]e|sum up|give (?:me )?(?:a |an )?(?:short |brief )?(?:summary|overview)"
        r"|(?:a |short |brief )*(?:summary|overview) of|what (?:is|are) (?:this|these|the) "
        r"(?:document|file|report|paper|text|pdf)s?(?: all)? about)",
    ),
    (Kind.COMPARISON, r"(?:compare|what (?:is|are) the (?:main )?differences? between|contrast)"),
    (Kind.DRAFT, r"(?:draft|write|compose)(?: me)? (?:a|an|the|some)?"),
    (Kind.TRANSLATION, r"translate"),
)
_POLITE = r"^\W*(?:(?:please|can you|could you|would you|kindly|now)\W+)*"
_PATTERNS = tuple((kind, re.compile(rf"{_POLITE}{form}\b", re.IGNORECASE)) for kind, form in _FORMS)


def wanted(said: str) -> Task | None:
    """The task that a plain sentence asks for, if it asks for one."""
    for kind, pattern in _PATTERNS:
        if pattern.match(said):
            return Task(kind, said)
    return None


def about(said: str, documents: Sequence[Document]) -> list[Document]:
    """The documents that a sentence names by the words of their names; all if it names none."""
    words = set(re.findall(r"[^\W_]{3,}", said.lower()))
    scored = [(len(words & _named(d)) / max(1, len(_named(d))), d) for d in documents]
    best = max((score for score, _ in scored), default=0.0)
    if best < 0.34:
        return list(documents)
    return [d for score, d in scored if score >= max(0.34, 0.5 * best)]


# Words of a wish that do not say what it is about.
_OF_TASKS = frozenset(
    """
    again against all also and annual are article articles between book books both brief bullet
    bullets but can chapter compare comparison concise content contents contract contracts contrast
    could detail detailed differ difference different differences document documents does each
    everything few file files filing filings five for four from give have important how in it key
    kindly last lease leases letter letters main more most my now offer offers one other our over
    overall overview page pages paper papers paragraph pdf plain please point points quick report
    reports same say says sentence sentences short shortly similar similarities simple some sum
    summarise summarize summary tell text texts that the their them these thing things this those
    three two uploaded versus was were what which whole with words would year years you your
    """.split()  # noqa: SIM905 - easier to read and to add to
)
_CUE = re.compile(r"\b(?:about|on|of|regarding|concerning|terms of|respect to)\b", re.IGNORECASE)


def topic(task: Task, documents: Sequence[Document]) -> str:
    """What a summary or a comparison is to be about; empty if it is about whole documents."""
    said = task.wish
    if task.kind is Kind.SUMMARY:
        said = " ".join(_CUE.split(said)[1:])
    named = set().union(*map(_named, documents))
    empty = _OF_TASKS | named | {task.language.lower()}
    return " ".join(w for w in re.findall(r"[^\W\d_]{3,}", said) if w.lower() not in empty)


def _named(document: Document) -> set[str]:
    stem = document.name.rsplit(".", 1)[0]
    return set(re.findall(r"[^\W_]{3,}", f"{stem} {document.title}".lower()))
