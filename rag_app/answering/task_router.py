"""Which kind of work an utterance asks for, told by a small network; and what is said to one that
asks nothing of documents.

The network is the built-in embedding model, taught on with examples of each kind and with real
questions (training/router): more examples, in any language, make it better. Its labels are the
tasks; those that work on the last answer are apart, and so are the entries of chitchat.jsonl. It
was taught with a lean towards questions: a question that is taken for something else gets no
answer."""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from rag_app.answering.answer_language import language_into
from rag_app.retrieval.bert import Bert, LoadedOnce, config_of
from rag_app.retrieval.embedding import WORDS, WordPieces, check_sha256, minilm_folder, words_of
from rag_app.text.languages import NAMES, language_of_question
from rag_app.types import Document, Task

FOLDER = Path(str(files("rag_app") / "models" / "task_router"))
ABOUT = "router.json"
LONGEST = 128  # tokens that are read, as in training
ON_DOCUMENTS = (Task.SUMMARY, Task.COMPARISON, Task.DRAFT, Task.TRANSLATION)
"""Work on whole documents or from them."""
ON_ANSWER = "answer"
"""The entry of a wish for something made of the last answer: "put that in an email"."""
_SPOKEN = ("en", "de", "es")  # what the examples are written in
_LOOKED_AT = 400  # characters: what is pasted below a wish says nothing about it
_ENTRY = "/"  # stands between a task and which entry of it is meant, in a label


def opening(text: str) -> str:
    """What of a text is looked at: all of a short one, beginning and end of a long one."""
    said = " ".join(text.split())
    half = _LOOKED_AT // 2
    return said if len(said) <= _LOOKED_AT else f"{said[:half]} {said[-half:]}"


def label(task: Task, entry: str = "") -> str:
    """How a task is called in the network's labels: by its entry, too, if it has one."""
    return f"{task}{_ENTRY}{entry}" if entry else str(task)


@dataclass(frozen=True, slots=True)
class Routed:
    """What an utterance asks for, and how likely that is; `entry`: the chitchat that it is, or
    ON_ANSWER."""

    task: Task
    confidence: float
    entry: str = ""


@dataclass(frozen=True, slots=True)
class _RoutingNetwork:
    """Hidden states, and what makes a score for each label of their mean."""

    tokenizer: WordPieces
    bert: Bert
    weight: np.ndarray
    bias: np.ndarray
    labels: tuple[str, ...]


class Router:
    """Says which task an utterance asks for, by a network that is loaded when it is first needed.
    Thread-safe."""

    def __init__(self, folder: Path = FOLDER, threads: int = 0) -> None:
        what = "What tells questions from wishes"
        self._loaded = LoadedOnce(what, lambda: _load(folder, threads))
        self._reading = threading.Lock()  # a tokenizer must not be entered twice

    def warm(self) -> None:
        """Load the weights now. Raises ModelUnavailable."""
        self._loaded()

    def route(self, text: str) -> Routed:
        """What an utterance asks for. Raises ModelUnavailable."""
        if language_of_question(text) not in _SPOKEN:  # nothing is known of it
            return Routed(Task.QUESTION, 0.5)
        wish, _, brought = text.partition(": ")
        # A text that is in that language already is not to be translated into it.
        foreign = brought and NAMES.get(language_of_question(brought)) != language_into(wish)
        if foreign and (alone := self._likeliest(wish)).task is Task.TRANSLATION:
            return Routed(alone.task, alone.confidence)  # its text says nothing of what is wanted
        return self._likeliest(text)

    def _likeliest(self, text: str) -> Routed:
        chances = self.chances(text)
        of_task: dict[Task, float] = defaultdict(float)
        for name, chance in chances.items():
            of_task[Task(name.partition(_ENTRY)[0])] += chance
        task = max(of_task, key=lambda one: of_task[one])
        entries = {n: chance for n, chance in chances.items() if n.partition(_ENTRY)[0] == task}
        likeliest = max(entries, key=lambda name: entries[name])
        return Routed(task, of_task[task], likeliest.partition(_ENTRY)[2])

    def chances(self, text: str) -> dict[str, float]:
        """How likely each label is; all together 1. Raises ModelUnavailable."""
        network = self._loaded()
        with self._reading:
            asked = [opening(text)]
            ids = np.array(
                network.tokenizer(asked, truncation=True, max_length=LONGEST)["input_ids"]
            )
        hidden = network.bert(ids, np.ones_like(ids))[0].mean(axis=0)
        scores = network.weight @ hidden + network.bias
        odds = np.exp(scores - scores.max())
        return dict(zip(network.labels, (odds / odds.sum()).tolist(), strict=True))


def _load(folder: Path, threads: int) -> _RoutingNetwork:
    about = json.loads((folder / ABOUT).read_text("utf-8"))
    check_sha256(folder / "model.safetensors", about["sha256"])
    return _network(folder, about["sha256"], tuple(about["labels"]), threads)


@lru_cache(maxsize=2)
def _network(folder: Path, _sha256: str, labels: tuple[str, ...], threads: int) -> _RoutingNetwork:
    """Put together once in a process: that takes half a second of it."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    base = minilm_folder()
    learnt = load_file(folder / "model.safetensors")
    weight, bias = (learnt.pop(f"head.{name}").astype(np.float32) for name in ("weight", "bias"))
    learnt[WORDS] = words_of(base)
    tokenizer = WordPieces(Tokenizer.from_file(str(base / "tokenizer.json")))
    return _RoutingNetwork(tokenizer, Bert(learnt, config_of(base), threads), weight, bias, labels)


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


def chitchat(entry: str, text: str) -> str:
    """What is said to an utterance that is an entry of chitchat, in its language."""
    said = _replies()[entry]
    return said.get(language_of_question(text), said["en"])


@cache
def _replies() -> dict[str, dict[str, str]]:
    path = Path(__file__).resolve().parent / "chitchat.jsonl"
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["id"]: row["reply"] for row in rows}
