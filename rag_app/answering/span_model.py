"""The reader's network: a question and texts to scored spans.

`BertForQuestionAnswering` in the manner of SQuAD 2.0 (Devlin et al. 2019, section 4.3): the start
and the end of an answer are two distributions over the tokens of a window, and position 0 stands
for "no answer here". How it was trained: training/README.md."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_app.answering.calibration import Calibration, LibraryFit, Logistic
from rag_app.answering.spans import PassageSpans, ScoredSpan
from rag_app.embedding import batches, check_sha256
from rag_app.errors import ModelUnavailable
from rag_app.fast_bert import FastBert, has_fast_bf16

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

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
class _Network:
    """Hidden states, and what makes scores of them."""

    bert: FastBert
    head: Any


@dataclass(frozen=True, slots=True)
class _Window:
    """`[CLS] question [SEP] part of the text [SEP]`."""

    owner: int  # which of the texts
    ids: list[int]
    first: int  # position of the text's first token
    offsets: list[tuple[int, int]]  # in the text, of the tokens from `first` on


class SpanModel:
    """The network, loaded once when it is first needed. Thread-safe."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._loading = threading.Lock()
        self._computing = threading.Lock()
        self._network: _Network | None = None
        self._tokenizer: Tokenizer | None = None
        self._calibration: Calibration | None = None

    def warm(self) -> None:
        """Load the weights now. Raises ModelUnavailable."""
        with self._loading:
            if self._network is None:
                try:
                    self._calibration = check(self._folder)
                    self._tokenizer, self._network = _load(self._folder)
                except (ImportError, OSError, RuntimeError, ValueError, KeyError) as error:
                    raise ModelUnavailable(
                        f"The reader's files cannot be used ({type(error).__name__}). "
                        "Install the app again with: make install"
                    ) from error

    @property
    def calibration(self) -> Calibration:
        """How scores become confidence. Raises ModelUnavailable."""
        self.warm()
        assert self._calibration is not None
        return self._calibration

    def read(self, question: str, texts: Sequence[str]) -> list[PassageSpans]:
        """The best spans of each text. Raises ModelUnavailable."""
        return self.read_pairs([(question, text) for text in texts])

    def read_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[PassageSpans]:
        """For each (question, text) the best spans and the log-probability of "no answer here".

        Long texts are read in windows that overlap; the window with the largest margin speaks for
        its text. Raises ModelUnavailable."""
        self.warm()
        network = self._network
        assert network is not None
        windows = self._windows(pairs)
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

    def _windows(self, pairs: Sequence[tuple[str, str]]) -> list[_Window]:
        assert self._tokenizer is not None
        questions = list(dict.fromkeys(question for question, _ in pairs))
        with self._computing:  # a tokenizer must not be entered twice
            encoded = self._tokenizer.encode_batch(
                [*questions, *(text for _, text in pairs)], add_special_tokens=False
            )
        cls, sep = (self._tokenizer.token_to_id(token) or 0 for token in ("[CLS]", "[SEP]"))
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


def _log_probs(network: _Network, windows: Sequence[_Window], length: int) -> tuple[Any, Any]:
    """Log-probabilities (windows x length) of an answer's first and last token."""
    import torch

    ids = torch.zeros((len(windows), length), dtype=torch.long)
    mask, kinds = torch.zeros_like(ids), torch.zeros_like(ids)
    shut = torch.ones((len(windows), length), dtype=torch.bool)
    shut[:, 0] = False
    for row, window in enumerate(windows):
        size = len(window.ids)
        ids[row, :size] = torch.tensor(window.ids)
        mask[row, :size] = 1
        kinds[row, window.first : size] = 1
        shut[row, window.first : size - 1] = False
    with torch.inference_mode():
        hidden = network.bert(ids, mask, kinds)
        scores = network.head(hidden.float()).masked_fill(shut[..., None], _FORBIDDEN)
        log_probs = torch.log_softmax(scores, dim=1).numpy()
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


def _load(folder: Path) -> tuple[Tokenizer, _Network]:
    import torch
    from tokenizers import Tokenizer
    from transformers import BertForQuestionAnswering
    from transformers.utils import logging

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    logging.disable_progress_bar()
    network = BertForQuestionAnswering.from_pretrained(
        folder,
        local_files_only=True,
        use_safetensors=True,
        dtype=torch.bfloat16 if has_fast_bf16() else torch.float32,
    ).eval()
    # Eight bits of mantissa are few for a score.
    return tokenizer, _Network(FastBert(network.bert), network.qa_outputs.float())
