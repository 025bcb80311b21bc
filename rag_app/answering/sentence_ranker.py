"""Which sentences of passages hold the answer to a question: one network reads both together.

A cross-encoder (Nogueira and Cho 2019) that reads question, title and passage once and scores all
sentences of the passage: the mean of the hidden states of a sentence's tokens, and a linear head.
It was taught as a choice among the sentences of all passages that a search found, and "none of
them", whose score is 0; so a score is the log-odds of a sentence against "none". How it was
trained: training/README.md."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from rag_app.answering.span_model import FOLDER as READER
from rag_app.answering.span_model import check
from rag_app.errors import ModelUnavailable
from rag_app.models.catalogue import SENTENCES
from rag_app.models.weights import folder_of, is_ready, used
from rag_app.retrieval.bert import Bert, LoadedOnce, config_of
from rag_app.retrieval.embedding import WORDS, Embedder, MpnetEmbedder, batches, check_sha256
from rag_app.retrieval.sentence_index import SentenceIndex, titled
from rag_app.settings import Settings

ABOUT = "ranker.json"
FOLDER = Path(str(files("rag_app") / "models" / "sentence_ranker"))
# Tokenizer, shape and word embeddings are the reader's: both began as the same network.

WINDOW, LONGEST_QUESTION, LONGEST_TITLE = 256, 64, 40  # tokens, as in training
_KNOWN = 256  # pairs of question and passage whose scores are kept: each is asked for twice
COMPARED = 32  # of the likeliest sentences are compared with a question, and all that are at hand
# Of those tried the best for questions of documents that nothing was taught with: by how much
# log-odds count beside the cosine of sentence and question, less what is even; without it, less
# what is usual.
_ODDS, _COSINE, _EVEN, _USUAL = 0.5, 14.0, 5.0, 0.05
_VECTORS = 4_096  # of sentences that are kept
NOT_READ = -20.0  # log-odds of a sentence that lies outside of the window
_BEFORE_TEXT = ";"  # stands between title and text


@dataclass(frozen=True, slots=True)
class Titled:
    """A passage with its title, and where its sentences stand in its text."""

    title: str
    text: str
    sentences: tuple[tuple[int, int], ...]

    def sentence(self, number: int) -> str:
        """One of its sentences, behind the title."""
        start, end = self.sentences[number]
        return titled(self.title, self.text[start:end])


@dataclass(frozen=True, slots=True)
class RankerInput:
    """`[CLS] question [SEP] title ; text [SEP]`; `owner[i]`: the sentence of token i, or -1."""

    ids: list[int]
    first: int  # position of what is not the question
    owner: list[int]


@dataclass(frozen=True, slots=True)
class _RankingNetwork:
    """Hidden states, and what makes a score of each."""

    bert: Bert
    weight: np.ndarray
    bias: np.ndarray


class RankerTokens:
    """Questions and passages as the network reads them. Not for several threads at once."""

    def __init__(self) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_str((READER / "tokenizer.json").read_text("utf-8"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._cls, self._sep, self._mark = (
            self._tokenizer.token_to_id(token) or 0 for token in ("[CLS]", "[SEP]", _BEFORE_TEXT)
        )

    def inputs(self, question: str, passages: Sequence[Titled]) -> list[RankerInput]:
        """One of each passage; what does not fit the window is not read."""
        texts = [question, *(one.title for one in passages), *(one.text for one in passages)]
        encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        asked = [self._cls, *encoded[0].ids[:LONGEST_QUESTION], self._sep]
        titles, bodies = encoded[1 : len(passages) + 1], encoded[len(passages) + 1 :]
        made = []
        for one, title, body in zip(passages, titles, bodies, strict=True):
            named = [*title.ids[:LONGEST_TITLE], self._mark] if one.title else []
            head = [*asked, *named]
            room = WINDOW - len(head) - 1
            owner = [-1] * len(head) + _owners(body.offsets[:room], one.sentences) + [-1]
            made.append(RankerInput([*head, *body.ids[:room], self._sep], len(asked), owner))
        return made


class SentenceRanker:
    """The network, loaded once when it is first needed. Thread-safe."""

    def __init__(
        self,
        folder: Path = FOLDER,
        threads: int = 0,
        similar: Embedder | SentenceIndex | None = None,
        compared: int = COMPARED,
    ) -> None:
        """`similar`: the model that compares the likeliest sentences with the question, so many
        where they are not at hand."""
        what = "The sentence ranker's files"
        self._loaded = LoadedOnce(what, lambda: (RankerTokens(), _load(folder, threads)))
        self._similar, self._compares = similar, compared
        self._vectors: OrderedDict[str, np.ndarray] = OrderedDict()
        self._computing = threading.Lock()
        self._known: OrderedDict[tuple[str, Titled], tuple[float, ...]] = OrderedDict()

    def warm(self) -> None:
        """Load the weights now. Raises ModelUnavailable."""
        self._loaded()
        try:
            if (similar := self._similar) is not None:
                similar.warm()
        except ModelUnavailable:
            self._similar = None  # torn since it was brought: the ranker alone ranks, too

    def score(self, question: str, passages: Sequence[Titled]) -> list[list[float]]:
        """For each passage the log-odds of its sentences against "none of all".

        Raises ModelUnavailable."""
        self.warm()
        with self._computing:
            new = [one for one in dict.fromkeys(passages) if (question, one) not in self._known]
            for one, scores in zip(new, self._read(question, new), strict=True):
                self._known[question, one] = scores
            found = [list(self._known[question, one]) for one in passages]
            for one in passages:
                self._known.move_to_end((question, one))
            while len(self._known) > _KNOWN:
                self._known.popitem(last=False)
            if self._similar is None:
                return found
            try:
                return self._compared(question, passages, found)
            except (ModelUnavailable, RuntimeError, MemoryError):
                return found  # which is good enough to answer by

    def _compared(
        self, question: str, passages: Sequence[Titled], odds: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """The log-odds with what the likeliest sentences have in common with the question."""
        places = [
            (p, s) for p, of in enumerate(odds) for s, value in enumerate(of) if value > NOT_READ
        ]
        likeliest = sorted(places, key=lambda at: -odds[at[0]][at[1]])
        texts = [passages[p].sentence(s) for p, s in likeliest]
        index = self._similar if isinstance(self._similar, SentenceIndex) else None
        at_hand = [index is not None and index.holds(text) for text in texts]
        chosen = [n for n, held in enumerate(at_hand) if n < self._compares or held]
        asked, *vectors = self._vectors_of([question, *(texts[n] for n in chosen)])
        weighed = [[_ODDS * one + _COSINE * _USUAL - _EVEN for one in of] for of in odds]
        for n, vector in zip(chosen, vectors, strict=True):
            p, s = likeliest[n]
            weighed[p][s] += _COSINE * (float(vector @ asked) - _USUAL)
        return weighed

    def _vectors_of(self, texts: Sequence[str]) -> list[np.ndarray]:
        assert self._similar is not None
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        for text, vector in zip(new, self._similar.embed_documents(new), strict=True):
            self._vectors[text] = np.asarray(vector, np.float32)
        found = [self._vectors[text] for text in texts]
        while len(self._vectors) > _VECTORS:
            self._vectors.popitem(last=False)
        return found

    def _read(self, question: str, passages: Sequence[Titled]) -> list[tuple[float, ...]]:
        tokens, network = self._loaded()
        given = tokens.inputs(question, passages)
        scores = [[NOT_READ] * len(one.sentences) for one in passages]
        for chosen, length in batches([len(one.ids) for one in given]):
            found = _scores(network, [given[i] for i in chosen], length)
            for index, values in zip(chosen, found, strict=True):
                for sentence, value in values.items():
                    scores[index][sentence] = value
        return list(map(tuple, scores))


def similar(settings: Settings) -> Embedder | None:
    """What compares sentences with a question, if the set-up brought it."""
    if not is_ready(SENTENCES, settings.models_folder):
        return None
    used(SENTENCES, settings.models_folder)
    return MpnetEmbedder(folder_of(SENTENCES, settings.models_folder), settings.threads)


def _owners(offsets: Sequence[tuple[int, int]], sentences: Sequence[tuple[int, int]]) -> list[int]:
    """The sentence that each token lies in; -1 between them."""
    found, at = [], 0
    for start, end in offsets:
        while at < len(sentences) and sentences[at][1] <= start:
            at += 1
        found.append(at if at < len(sentences) and sentences[at][0] < end else -1)
    return found


def _scores(
    network: _RankingNetwork, given: Sequence[RankerInput], length: int
) -> list[dict[int, float]]:
    """Of each input the score of its sentences."""
    ids = np.zeros((len(given), length), dtype=np.int64)
    mask, kinds = np.zeros_like(ids), np.zeros_like(ids)
    for row, one in enumerate(given):
        size = len(one.ids)
        ids[row, :size] = one.ids
        mask[row, :size] = 1
        kinds[row, one.first : size] = 1
    values = network.bert(ids, mask, kinds) @ network.weight + network.bias
    return [_means(values[row], one.owner) for row, one in enumerate(given)]


def _means(values: np.ndarray, owner: Sequence[int]) -> dict[int, float]:
    """The mean of each owner's values; a linear head of means is the mean of what it gives."""
    owners = np.asarray(owner)
    own = owners >= 0
    sums = np.bincount(owners[own], values[: len(owners)][own])
    counts = np.bincount(owners[own])
    return {int(i): float(sums[i] / counts[i]) for i in np.flatnonzero(counts)}


def _load(folder: Path, threads: int) -> _RankingNetwork:
    about = json.loads((folder / ABOUT).read_text("utf-8"))
    check_sha256(folder / "model.safetensors", about["sha256"])
    check(READER)
    return _network(folder, about["sha256"], threads)


@lru_cache(maxsize=2)
def _network(folder: Path, _sha256: str, threads: int) -> _RankingNetwork:
    """Put together once in a process: that takes half a second of it."""
    from safetensors import safe_open
    from safetensors.numpy import load_file

    learnt = load_file(folder / "model.safetensors")
    head = [learnt.pop(f"head.{name}").astype(np.float32).ravel() for name in ("weight", "bias")]
    with safe_open(READER / "model.safetensors", "np") as reader:
        learnt[WORDS] = reader.get_tensor(f"bert.{WORDS}")
    return _RankingNetwork(Bert(learnt, config_of(READER), threads), *head)
