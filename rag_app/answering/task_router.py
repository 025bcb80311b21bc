"""Which kind of work an utterance asks for: by labelled examples that lie near it, in meaning and
in letters; and what is said to one that asks nothing of documents.

The examples are data (routes.jsonl and chitchat.jsonl): more of them, in any language, make it
better. A text's score for a label is a weighted sum of its nearness to every example, by embedding,
plus weights of its runs of letters, which carry to languages that the embedding model does not
know; both are fitted in closed form (ridge regression). When unsure it is a question: a question
that is taken for something else gets no answer."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag_app.errors import ModelUnavailable
from rag_app.retrieval.embedding import Embedder, MiniLmEmbedder
from rag_app.text.languages import language_of_question
from rag_app.types import Document, Task

Matrix = NDArray[np.float32]

_BUCKETS = 1 << 13  # that runs of letters are hashed to
_RUNS = (2, 3, 4, 5)  # letters
_FALL = 2.0  # how fast nearness falls off with the angle between embeddings
_BY_LETTERS = 1.0  # what nearness in letters counts beside nearness in meaning
_RIDGE = 0.1
_BACKGROUND = 0.3  # what one text of the background counts beside an example
_JITTER = 1e-3  # keeps examples that say nearly the same apart
_LOOKED_AT = 400  # characters: what is pasted below a wish says nothing about it


def opening(text: str) -> str:
    """What of a text is looked at: all of a short one, beginning and end of a long one."""
    said = " ".join(text.split())
    half = _LOOKED_AT // 2
    return said if len(said) <= _LOOKED_AT else f"{said[:half]} {said[-half:]}"


def embedded(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """The embeddings of texts, of unit length. Raises ModelUnavailable."""
    vectors = np.asarray(embedder.embed_documents(list(texts)), dtype=np.float32)
    unit: Matrix = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return unit


def _runs(text: str) -> Iterator[bytes]:
    for word in text.lower().split():
        padded = f" {word} "
        for length in _RUNS:
            for at in range(len(padded) - length + 1):
                yield padded[at : at + length].encode()


def counted(texts: Sequence[str]) -> Matrix:
    """How often each text has each run of letters, damped; runs are hashed to buckets."""
    made = np.zeros((len(texts), _BUCKETS), dtype=np.float32)
    for row, text in zip(made, texts, strict=True):
        for run in _runs(text):
            row[zlib.crc32(run) % _BUCKETS] += 1.0
    return np.log1p(made)


def rarity(counts: Matrix) -> Matrix:
    """What each run of letters weighs: the more, the fewer texts have it."""
    held = (counts > 0).sum(axis=0)
    weights: Matrix = (np.log((1 + len(counts)) / (1 + held)) + 1).astype(np.float32)
    return weights


@dataclass(frozen=True, slots=True)
class Weights:
    """What was fitted. `examples`: embeddings; `near`, `letters`: weights for each label."""

    examples: Matrix
    near: Matrix
    letters: Matrix
    rarity: Matrix

    def scores(self, texts: Sequence[str], vectors: Matrix) -> Matrix:
        """How well each label fits each text: about 1 where it does, about 0 where not."""
        near = nearness(vectors, self.examples)
        made: Matrix = near @ self.near + lettered(counted(texts), self.rarity) @ self.letters
        return made


def nearness(vectors: Matrix, others: Matrix) -> Matrix:
    """From 1 for the same embedding towards 0."""
    made: Matrix = np.exp(-_FALL * (1.0 - vectors @ others.T)).astype(np.float32)
    return made


def lettered(counts: Matrix, rarity: Matrix) -> Matrix:
    """Runs of letters by weight; each text has length 1, so that long ones count no more."""
    weighted = counts * rarity
    made: Matrix = weighted / np.maximum(np.linalg.norm(weighted, axis=1, keepdims=True), 1e-9)
    return made


def fitted(
    texts: Sequence[str],
    vectors: Matrix,
    labels: Sequence[int],
    background: tuple[Sequence[str], Matrix, Sequence[int]] | None = None,
) -> Weights:
    """Weights that give each text its label; `background` are more of them, which count less."""
    kinds = np.eye(max(labels) + 1, dtype=np.float32)
    counts = counted(texts)
    rare = rarity(counts)
    runs, basis = lettered(counts, rare), nearness(vectors, vectors)
    more = background or ((), vectors[:0], ())
    of = kinds[[*labels, *more[2]]]
    runs = np.vstack([runs, lettered(counted(more[0]), rare)])
    near = np.vstack([basis, nearness(more[1], vectors)])
    # Nearness to the examples is a function in the space that they span, also for the background.
    inverse = np.linalg.inv(basis.astype(np.float64) + _JITTER * np.eye(len(basis)))
    kernel = near @ inverse @ near.T + _BY_LETTERS * (runs @ runs.T)
    loose = np.repeat([_RIDGE, _RIDGE / _BACKGROUND], [len(basis), len(near) - len(basis)])
    found = np.linalg.solve(kernel + np.diag(loose), of)
    return Weights(
        examples=vectors,
        near=(inverse @ near.T @ found).astype(np.float32),
        letters=(_BY_LETTERS * runs.T @ found).astype(np.float32),
        rarity=rare,
    )


def left_out(texts: Sequence[str], vectors: Matrix, labels: Sequence[int]) -> Matrix:
    """The scores of each example as if it had been left out of the fit."""
    of = np.eye(max(labels) + 1)[list(labels)]
    counts = counted(texts)
    runs = lettered(counts, rarity(counts))
    kernel = nearness(vectors, vectors) + _BY_LETTERS * (runs @ runs.T)
    inverse = np.linalg.inv(kernel + _RIDGE * np.eye(len(kernel)))
    made: Any = of - (inverse @ of) / np.diag(inverse)[:, None]
    return np.asarray(made, dtype=np.float32)


FOLDER = Path(__file__).resolve().parent
WEIGHTS = FOLDER / "routes.npz"
"""Fitted by `python -m benchmarks.routing --fit` for the built-in embedding model."""

TASKS = tuple(Task)  # in the order of the weights: a question is the first
ON_DOCUMENTS = (Task.SUMMARY, Task.COMPARISON, Task.DRAFT, Task.TRANSLATION)
"""Work on whole documents or from them."""
# By how much a task must fit better than a question; below 0: real questions were in the fit, and
# hold everything else back already. Who computes or chats in vain leaves a question unanswered.
_MARGINS = np.array(
    [
        {Task.COMPUTATION: -0.25, Task.CHITCHAT: -0.15, Task.COMPARISON: -0.28}.get(t, -0.35)
        for t in TASKS[1:]
    ]
)
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


def sentences_wanted(wish: str, usual: int) -> int:
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


NOTHING = "nothing"
_NEAREST = 5  # examples that are asked
_SHARPNESS = 4  # how much more the nearest of them counts


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said, and to which kind of chitchat: the id of its entry."""

    kind: str
    text: str


class Chitchat:
    """Answers what the router calls chitchat. Thread-safe."""

    def __init__(self, router: Router) -> None:
        self._router = router

    def reply(self, text: str) -> Reply:
        """What is said to an utterance, in its language. Raises ModelUnavailable."""
        found: dict[str, float] = defaultdict(float)
        for example, near in self._router.nearest(text, Task.CHITCHAT)[:_NEAREST]:
            found[example.entry] += near**_SHARPNESS
        kind = max(found, key=lambda entry: found[entry])
        said = _replies()[kind]
        return Reply(kind, said.get(language_of_question(text), said["en"]))


@cache
def _replies() -> dict[str, dict[str, str]]:
    return {row["id"]: row["reply"] for row in map(json.loads, _lines("chitchat.jsonl"))}
