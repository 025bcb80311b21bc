"""The reader's network: a question and texts to scored spans.

`BertForQuestionAnswering` in the manner of SQuAD 2.0 (Devlin et al. 2019, section 4.3): the start
and the end of an answer are two distributions over the tokens of a window, and position 0 stands
for "no answer here". How it was trained: training/README.md."""

from __future__ import annotations

import json
import math
import re
import string
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rag_app.answering.abstention import chance_of
from rag_app.retrieval.bert import Bert, LoadedOnce, config_of
from rag_app.retrieval.embedding import batches, check_sha256

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


# Spans of several passages -> answers, added up as RAG-Sequence says. Pure.
#
# p(y|x) = sum over z of p(z|x) p(y|x,z) (Lewis et al. 2020): passages that agree add up. The
# retriever knows which passages are near the question, the reader which of them answer; so the
# retriever's p(z|x) is divided by the reader's p(no answer|x,z) and normalised again, which turns
# p(y|x,z) into odds against "no answer here". Two spans are the same answer y if they are the same
# words after normalisation.

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation + "“”‘’–—…•")


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """A piece of a text that may answer; `log_prob` is log p(y|x,z)."""

    start: int
    end: int
    log_prob: float


@dataclass(frozen=True, slots=True)
class PassageSpans:
    """What the reader sees in one text: its best spans, the best first, and "no answer here".

    The log-probabilities are those of the text's most telling window."""

    spans: tuple[ScoredSpan, ...]
    no_answer: float

    @property
    def margin(self) -> float:
        """Log-odds of the best span against "no answer"; minus infinity without a span."""
        return self.spans[0].log_prob - self.no_answer if self.spans else -math.inf


@dataclass(frozen=True, slots=True)
class Vote:
    """One passage's span for an answer; `log_odds` is log of p(z|x) p(y|x,z) / p(no answer|x,z)."""

    passage: int
    start: int
    end: int
    log_odds: float


@dataclass(frozen=True, slots=True)
class SpanAnswer:
    """An answer y with all the spans that say it, the strongest first; `log_odds` is their sum."""

    votes: tuple[Vote, ...]
    log_odds: float


def normalised(text: str) -> str:
    """Lower case, without punctuation and articles: what two answers are compared by (SQuAD)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def marginal(
    texts: Sequence[str], seen: Sequence[PassageSpans], priors: Sequence[float]
) -> list[SpanAnswer]:
    """All answers, the most probable first; `priors` are p(z|x) of the texts.

    Of overlapping spans of a passage that say the same only the best votes."""
    votes: dict[str, list[Vote]] = {}
    for index, (text, found, prior) in enumerate(zip(texts, seen, priors, strict=True)):
        for span in found.spans:
            words = normalised(text[span.start : span.end])
            if words and prior > 0:
                odds = math.log(prior) + span.log_prob - found.no_answer
                vote = Vote(index, span.start, span.end, odds)
                if not any(overlap(vote, other) for other in votes.get(words, ())):
                    votes.setdefault(words, []).append(vote)
    answers = [
        SpanAnswer(
            tuple(sorted(agreeing, key=lambda v: -v.log_odds)),
            log_sum([v.log_odds for v in agreeing]),
        )
        for agreeing in votes.values()
    ]
    return sorted(answers, key=lambda answer: -answer.log_odds)


def overlap(a: Vote, b: Vote) -> bool:
    """Whether two votes are cuts of the same words."""
    return a.passage == b.passage and a.start < b.end and b.start < a.end


def log_sum(values: Sequence[float]) -> float:
    """Log of the sum of exp(values)."""
    top = max(values, default=-math.inf)
    if top == -math.inf:
        return top
    return top + math.log(sum(math.exp(value - top) for value in values))


# Scores to confidence: the chance that an answer is right. Pure.
#
# Both fits are logistic regressions on held-out questions (training/calibrate.py, and
# benchmarks/fit_reader.py for a whole library).


@dataclass(frozen=True, slots=True)
class Logistic:
    """Chance = 1 / (1 + exp(-(slope * margin + offset))), for one passage."""

    slope: float
    offset: float


@dataclass(frozen=True, slots=True)
class LibraryFit:
    """The same for the best of many passages, and how far it leads the next answer."""

    score: float
    lead: float
    offset: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the reader's scores become confidence."""

    passage: Logistic
    library: LibraryFit

    def of_passage(self, margin: float) -> float:
        """Chance that the best span of one passage answers the question; 0 without a span."""
        return _chance(self.passage.slope * margin + self.passage.offset)

    def of_library(self, score: float, lead: float) -> float:
        """Chance that the best answer over all passages is right."""
        fit = self.library
        return _chance(fit.score * score + fit.lead * lead + fit.offset)


def _chance(log_odds: float) -> float:
    if math.isnan(log_odds) or log_odds == -math.inf:
        return 0.0
    return chance_of(log_odds)


ABOUT = "reader.json"  # beside the weights: their hash, and the fits that turn scores into chances
FOLDER = Path(str(files("rag_app") / "models" / "reader"))

# As in training (training/mixture.py), since positions and lengths are learnt.
WINDOW = 256  # tokens
OVERLAP = 96  # tokens that neighbouring windows share
LONGEST_QUESTION = 64  # tokens
LONGEST_ANSWER = 100  # tokens; contract clauses run long (training/README.md)
# A prior on length: of spans that score alike the shorter one is meant (benchmarks/LOG.md).
FREE_TOKENS, TOKEN_COST = 10, 0.1  # log-probability that each token beyond the free ones costs
# What stands in two cells of a table is hardly ever one answer.
CELLS, CELLS_COST = " | ", 3.0

SPANS = 20  # kept of each text
NOTHING = PassageSpans((), 0.0)
_FORBIDDEN = -1e4


@dataclass(frozen=True, slots=True)
class _SpanNetwork:
    """Hidden states, and what makes scores of them: with all digits, whatever the rest has."""

    tokenizer: Tokenizer
    bert: Bert
    weight: np.ndarray
    bias: np.ndarray


@dataclass(frozen=True, slots=True)
class _Window:
    """`[CLS] question [SEP] part of the text [SEP]`."""

    owner: int  # which of the texts
    ids: list[int]
    first: int  # position of the text's first token
    offsets: list[tuple[int, int]]  # in the text, of the tokens from `first` on


class SpanModel:
    """The network, loaded once when it is first needed. Thread-safe."""

    def __init__(self, folder: Path = FOLDER, threads: int = 0) -> None:
        self._loaded = LoadedOnce("The reader's files", lambda: _load(folder, threads))
        self._computing = threading.Lock()

    def warm(self) -> None:
        """Load the weights now. Raises ModelUnavailable."""
        self._loaded()

    @property
    def calibration(self) -> Calibration:
        """How scores become confidence. Raises ModelUnavailable."""
        return self._loaded()[0]

    def read(self, question: str, texts: Sequence[str]) -> list[PassageSpans]:
        """The best spans of each text. Raises ModelUnavailable."""
        return self.read_pairs([(question, text) for text in texts])

    def read_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[PassageSpans]:
        """For each (question, text) the best spans and the log-probability of "no answer here".

        Long texts are read in windows that overlap; the window with the largest margin speaks for
        its text. Raises ModelUnavailable."""
        _, network = self._loaded()
        windows = self._windows(network.tokenizer, pairs)
        best = [NOTHING] * len(pairs)
        sizes = batches([len(w.ids) for w in windows])
        with self._computing:  # one question after the other: taking turns makes all of them late
            read = [(b, _log_probs(network, [windows[i] for i in b], size)) for b, size in sizes]
        for batch, (start, end) in read:
            for row, window in enumerate(windows[i] for i in batch):
                found = _spans(window, pairs[window.owner][1], start[row], end[row])
                if found.margin > best[window.owner].margin:
                    best[window.owner] = found
        return best

    def _windows(self, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> list[_Window]:
        questions = list(dict.fromkeys(question for question, _ in pairs))
        with self._computing:  # a tokenizer must not be entered twice
            encoded = tokenizer.encode_batch(
                [*questions, *(text for _, text in pairs)], add_special_tokens=False
            )
        cls, sep = (tokenizer.token_to_id(token) or 0 for token in ("[CLS]", "[SEP]"))
        heads = {
            question: [cls, *found.ids[:LONGEST_QUESTION], sep]
            for question, found in zip(questions, encoded, strict=False)
        }
        texts = encoded[len(questions) :]
        return [
            window
            for owner, (pair, text) in enumerate(zip(pairs, texts, strict=True))
            for window in _split(heads[pair[0]], sep, text, owner)
        ]


def _split(head: list[int], sep: int, text: Encoding, owner: int) -> Iterator[_Window]:
    ids, offsets = text.ids, text.offsets
    room = WINDOW - len(head) - 1
    start = 0
    while True:
        part = slice(start, start + room)
        yield _Window(owner, [*head, *ids[part], sep], len(head), offsets[part])
        if start + room >= len(ids):
            return
        start += room - OVERLAP


def _log_probs(
    network: _SpanNetwork, windows: Sequence[_Window], length: int
) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities (windows x length) of an answer's first and last token."""
    ids = np.zeros((len(windows), length), dtype=np.int64)
    mask, kinds = np.zeros_like(ids), np.zeros_like(ids)
    shut = np.ones((len(windows), length), dtype=bool)
    shut[:, 0] = False
    for row, window in enumerate(windows):
        size = len(window.ids)
        ids[row, :size] = window.ids
        mask[row, :size] = 1
        kinds[row, window.first : size] = 1
        shut[row, window.first : size - 1] = False
    scores = network.bert(ids, mask, kinds) @ network.weight.T + network.bias
    scores[shut] = _FORBIDDEN
    scores -= scores.max(axis=1, keepdims=True)
    log_probs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    return log_probs[..., 0], log_probs[..., 1]


def _spans(window: _Window, text: str, start: np.ndarray, end: np.ndarray) -> PassageSpans:
    """The best spans of one window, none that is not a number."""
    no_answer = float(start[0] + end[0])
    size = len(window.offsets)
    inside = slice(window.first, window.first + size)
    pairs = start[inside, None] + end[None, inside] + length_prior(size)
    flat = pairs.ravel()
    kept = min(SPANS, flat.size)
    places = np.argpartition(-flat, kept - 1)[:kept] if kept else np.empty(0, int)
    found: dict[tuple[int, int], ScoredSpan] = {}
    for place in places[np.argsort(-flat[places], kind="stable")]:
        log_prob = float(flat[place])
        if np.isfinite(log_prob):
            first, last = divmod(int(place), size)
            span = _whole_words(text, window.offsets[first][0], window.offsets[last][1])
            log_prob -= CELLS_COST * (CELLS in text[slice(*span)])
            found.setdefault(span, ScoredSpan(*span, log_prob))
    spans = sorted(found.values(), key=lambda s: -s.log_prob)
    return PassageSpans(tuple(spans), no_answer if np.isfinite(no_answer) else 0.0)


def length_prior(size: int) -> np.ndarray:
    """For each (first, last) what its length costs; minus infinity if it is no span."""
    rows = np.arange(size)
    tokens = rows[None, :] - rows[:, None] + 1
    cost = TOKEN_COST * np.maximum(tokens - FREE_TOKENS, 0)
    prior: np.ndarray = np.where((tokens >= 1) & (tokens <= LONGEST_ANSWER), -cost, -np.inf)
    return prior


def _whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """A span that does not begin or end inside a word, as pieces of words do."""
    while 0 < start < len(text) and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while 0 < end < len(text) and text[end - 1].isalnum() and text[end].isalnum():
        end += 1
    return start, end


def check(folder: Path) -> Calibration:
    """The calibration that belongs to the weights. Raises ModelUnavailable if they are torn."""
    about = json.loads((folder / ABOUT).read_text("utf-8"))
    check_sha256(folder / "model.safetensors", about["sha256"])
    return Calibration(Logistic(**about["passage"]), LibraryFit(**about["library"]))


def _load(folder: Path, threads: int) -> tuple[Calibration, _SpanNetwork]:
    weights = folder / "model.safetensors"
    written = weights.stat().st_mtime_ns if weights.exists() else 0  # which is said by `check`
    return check(folder), _network(folder, written, threads)


@lru_cache(maxsize=2)
def _network(folder: Path, _written: int, threads: int) -> _SpanNetwork:
    """Put together once in a process: that takes half a second of it."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    found = load_file(folder / "model.safetensors")
    weights = {name.removeprefix("bert."): one for name, one in found.items()}
    head = (weights.pop(f"qa_outputs.{name}").astype(np.float32) for name in ("weight", "bias"))
    return _SpanNetwork(tokenizer, Bert(weights, config_of(folder), threads), *head)
