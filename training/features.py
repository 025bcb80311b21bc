"""Examples as token windows: `[CLS] question [SEP] part of the passage [SEP]`.

Position 0 stands for "no answer here", as in the SQuAD 2.0 manner.
"""

import random
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Encoding, Tokenizer

from training.data import Example
from training.mixture import Mixture


@dataclass(frozen=True, slots=True)
class Window:
    """One input of the model."""

    ids: Sequence[int]
    first: int
    """Position of the passage's first token."""
    offsets: Sequence[tuple[int, int]]
    """Character offsets in the passage of the tokens from `first` on; empty for training."""
    start: int = 0
    end: int = 0
    owner: int = 0
    """Which of the encoded examples it belongs to."""


class Encoder:
    """Tokens and windows. Knows nothing of models."""

    def __init__(self, tokenizer: Path, mixture: Mixture) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._mixture = mixture
        self._cls: int = self._tokenizer.token_to_id("[CLS]") or 0
        self._sep: int = self._tokenizer.token_to_id("[SEP]") or 0

    def windows(self, examples: Sequence[Example]) -> Iterator[Window]:
        """Every window of every example, without labels, in order."""
        for start in range(0, len(examples), 1000):
            batch = examples[start : start + 1000]
            questions = self._encode([e.question for e in batch])
            contexts = self._encode([e.context for e in batch])
            for index, pair in enumerate(zip(questions, contexts, strict=True)):
                yield from self._split(pair[0].ids, pair[1], start + index)

    def labelled(self, examples: Sequence[Example], seed: str) -> list[Window]:
        """Windows for training: each with one of its answers, or none.

        Where annotators gave several answers, one is drawn. Of the windows without an answer
        whose passage has one elsewhere, only a share is kept. They come without offsets.
        """
        rng = random.Random(seed)
        kept: list[Window] = []
        for window in self.windows(examples):
            example = examples[window.owner]
            spans = [s for a in example.answers if (s := _locate(window, a.start, a.end))]
            if spans:
                start, end = rng.choice(spans)
                kept.append(_lean(window, start, end))
            elif not example.answers or rng.random() < self._mixture.empty_windows:
                kept.append(_lean(window, 0, 0))
        return kept

    def _encode(self, texts: list[str]) -> list[Encoding]:
        return list(self._tokenizer.encode_batch(texts, add_special_tokens=False))

    def _split(self, question: list[int], context: Encoding, owner: int) -> Iterator[Window]:
        head = [self._cls, *question[: self._mixture.max_question], self._sep]
        room = self._mixture.max_tokens - len(head) - 1
        ids, offsets = context.ids, context.offsets
        start = 0
        while True:
            part = ids[start : start + room]
            places = offsets[start : start + room]
            yield Window([*head, *part, self._sep], len(head), places, owner=owner)
            if start + room >= len(ids):
                return
            start += room - self._mixture.stride


def _lean(window: Window, start: int, end: int) -> Window:
    """A labelled window in little memory: a round has tens of thousands."""
    return Window(array("H", window.ids), window.first, (), start, end, window.owner)


def _locate(window: Window, start: int, end: int) -> tuple[int, int] | None:
    """Token positions of a character span, None if the window does not hold it whole."""
    places = window.offsets
    if not places or start < places[0][0] or end > places[-1][1]:
        return None
    first = bisect_right(places, start, key=lambda place: place[1])
    last = bisect_left(places, end, key=lambda place: place[1])
    if first > last or last >= len(places):
        return None
    return window.first + first, window.first + last
