"""Which kind of work an utterance asks for: by labelled examples that lie near it.

The examples are data (routes.jsonl and chitchat.jsonl): more of them, in any language, make it
better. When unsure it is a question: a question that is taken for something else gets no answer."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from rag_app.answering.labelled_examples import (
    Weights,
    counted,
    embedded,
    lettered,
    nearness,
    opening,
)
from rag_app.errors import ModelUnavailable
from rag_app.retrieval.embedding import Embedder, MiniLmEmbedder
from rag_app.text.languages import language_of_question
from rag_app.types import Document, Task

FOLDER = Path(__file__).resolve().parent
WEIGHTS = FOLDER / "routes.npz"
"""Fitted by `python -m benchmarks.routing --fit` for the built-in embedding model."""

TASKS = tuple(Task)  # in the order of the weights: a question is the first
ON_DOCUMENTS = (Task.SUMMARY, Task.COMPARISON, Task.DRAFT, Task.TRANSLATION)
"""Work on whole documents or from them."""
# By how much a task must fit better than a question; below 0: real questions were in the fit, and
# hold everything else back already. Who computes or chats in vain leaves a question unanswered.
_MARGINS = np.array([{Task.COMPUTATION: -0.1, Task.CHITCHAT: 0.0}.get(t, -0.2) for t in TASKS[1:]])
_SPOKEN = ("en", "de", "es")  # what the examples are written in
_STEEPNESS = 6.0  # of confidence over how far a task is ahead


@dataclass(frozen=True, slots=True)
class Example:
    """An utterance and what it asks for; `entry`: the chitchat that it is."""

    text: str
    task: Task
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Routed:
    """What an utterance asks for, and how likely that is."""

    task: Task
    confidence: float


@cache
def examples() -> tuple[Example, ...]:
    """All labelled examples."""
    rows = [json.loads(line) for line in _lines("routes.jsonl")]
    talk = [json.loads(line) for line in _lines("chitchat.jsonl")]
    return (
        *(Example(row["text"], Task(row["task"])) for row in rows),
        *(Example(text, Task.CHITCHAT, e["id"]) for e in talk for text in e["examples"]),
    )


def _lines(name: str) -> list[str]:
    return (FOLDER / name).read_text(encoding="utf-8").splitlines()


def digest() -> str:
    """Changes with the examples."""
    said = json.dumps([(one.text, one.task) for one in examples()])
    return hashlib.sha256(said.encode()).hexdigest()


class Router:
    """Says which task an utterance asks for. Thread-safe.

    Asks the embedding model that it was fitted for: the library's, or, where the library finds by
    another one, that which comes with the app."""

    def __init__(self, embedder: Embedder) -> None:
        self._own = embedder

    @property
    def _weights(self) -> KeptWeights:
        return kept()

    @property
    def _embedder(self) -> Embedder:
        fits = self._own.fingerprint == self._weights.fingerprint
        return self._own if fits else _built_in()

    def warm(self) -> None:
        """Make it ready. Raises ModelUnavailable."""
        self._embedder.warm()

    def route(self, text: str) -> Routed:
        """What an utterance asks for; a question when unsure. Raises ModelUnavailable."""
        if language_of_question(text) not in _SPOKEN:  # nothing is known of it
            return Routed(Task.QUESTION, 0.5)
        said = opening(text)
        scores = self._weights.fitted.scores([said], embedded(self._embedder, [said]))[0]
        ahead = scores[1:] - scores[0] - _MARGINS
        best = int(np.argmax(ahead))
        sure = float(1.0 / (1.0 + np.exp(-_STEEPNESS * abs(ahead[best]))))
        return Routed(TASKS[best + 1] if ahead[best] > 0 else Task.QUESTION, sure)

    def nearest(self, text: str, task: Task) -> list[tuple[Example, float]]:
        """The examples of a task and how near they are, in meaning and in letters, nearest first.

        Raises ModelUnavailable."""
        said, weights = opening(text), self._weights.fitted
        held = [at for at, one in enumerate(examples()) if one.task is task]
        near = nearness(embedded(self._embedder, [said]), weights.examples[held])[0]
        spelt = lettered(counted([said, *(examples()[at].text for at in held)]), weights.rarity)
        near = near + spelt[1:] @ spelt[0]
        found = [(examples()[at], float(value)) for at, value in zip(held, near, strict=True)]
        return sorted(found, key=lambda one: -one[1])


@cache
def _built_in() -> Embedder:
    return MiniLmEmbedder()


def keep(weights: Weights, fingerprint: str, path: Path = WEIGHTS) -> None:
    """Write fitted weights, with what they belong to."""
    arrays = {name: getattr(weights, name).astype(np.float16) for name in _ARRAYS}
    np.savez(path, belongs=np.array([fingerprint, digest()]), **arrays)


@dataclass(frozen=True, slots=True)
class KeptWeights:
    """Fitted weights, and the embedding model that they belong to."""

    fingerprint: str  # of the embedding model
    fitted: Weights


@cache
def kept() -> KeptWeights:
    """The weights that come with the app. Raises ModelUnavailable."""
    try:
        with np.load(WEIGHTS, allow_pickle=False) as held:
            fingerprint, made_of = map(str, held["belongs"])
            fitted = Weights(**{name: held[name].astype(np.float32) for name in _ARRAYS})
    except (OSError, ValueError, KeyError) as error:
        raise ModelUnavailable(
            f"What tells questions from wishes cannot be read ({type(error).__name__}). "
            "Install the app again with: make install"
        ) from error
    if made_of != digest():
        raise ModelUnavailable(
            "What tells questions from wishes belongs to other examples. "
            "Fit it again with: python -m benchmarks.routing --fit"
        )
    return KeptWeights(fingerprint, fitted)


_ARRAYS = ("examples", "near", "letters", "rarity")


# What a wish says of its own: how long, about what. Quoted summaries go by it, no model does.


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
    into key kindly last lease leases letter letters main more most my now offer offers one other
    others our over overall overview page pages paper papers paragraph part pdf plain please point
    points quick report reports same say says section sentence sentences short shortly similar
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
