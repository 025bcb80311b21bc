"""Run a reader over question files."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from rag_app.answering.span_model import length_prior
from training import model as network
from training.data import Example
from training.features import Encoder, Window
from training.metrics import Outcome
from training.rounds import inference_batches


@dataclass(frozen=True, slots=True)
class Guess:
    """The best span of a passage over its windows."""

    text: str = ""
    start: int = 0
    margin: float = -math.inf
    """Best span minus "no answer", in logits."""
    log_odds: float = -math.inf
    """All spans against "no answer"."""


def guesses(reader: Any, encoder: Encoder, examples: Sequence[Example]) -> list[Guess]:
    """One guess per example: the window with the largest margin speaks for its passage."""
    best = [Guess() for _ in examples]
    reader.eval()
    with torch.inference_mode():
        for batch in inference_batches(list(encoder.windows(examples))):
            start, end = network.logits(reader, network.tensors(batch.windows, batch.width))
            odds = network.answer_log_odds(start, end).tolist()
            for window, span, odd in zip(batch.windows, _spans(start, end), odds, strict=True):
                guess = _guess(window, span, odd, examples[window.owner].context)
                if guess.margin > best[window.owner].margin:
                    best[window.owner] = guess
    reader.train()
    return best


def _spans(start: Tensor, end: Tensor) -> list[tuple[int, int, float]]:
    """First and last token of each row's best span, and its margin."""
    size = start.shape[1] - 1
    prior = torch.from_numpy(length_prior(size)).float()
    flat = (start[:, 1:, None] + end[:, None, 1:] + prior).flatten(1)
    scores, places = flat.max(1)
    margins = scores - start[:, 0] - end[:, 0]
    return [
        (place // size + 1, place % size + 1, margin)
        for place, margin in zip(places.tolist(), margins.tolist(), strict=True)
    ]


def _guess(window: Window, span: tuple[int, int, float], odds: float, context: str) -> Guess:
    first, last = span[0] - window.first, span[1] - window.first
    if not 0 <= first <= last < len(window.offsets):
        return Guess(margin=span[2], log_odds=odds)
    start, end = window.offsets[first][0], window.offsets[last][1]
    return Guess(context[start:end], start, span[2], odds)


def outcomes(examples: Sequence[Example], found: Sequence[Guess], by: str) -> list[Outcome]:
    """Guesses beside the truth, scored by `margin` or `log_odds`."""
    return [
        Outcome(tuple(s.text for s in example.answers), guess.text, getattr(guess, by))
        for example, guess in zip(examples, found, strict=True)
    ]
