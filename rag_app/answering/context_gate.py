"""Whether a question needs the conversation before it: linear weights of its words and its shape.

Fitted by `python -m benchmarks.follow_ups --fit` on follow-up questions and on complete ones."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WEIGHTS = Path(__file__).resolve().parent / "context_gate.npz"
BUCKETS = 1 << 13  # that features are hashed to
_TOKEN = re.compile(r"\w+|[^\w\s]")
_LONG = 6  # letters of a word that says something
_MOST = 12  # words that are counted


def needs_context(question: str) -> float:
    """How likely a question cannot be understood without the turns before it."""
    weights, bias = _weights()
    found = buckets(question)
    score = sum(float(weights[at]) for at in found) / math.sqrt(len(found)) + bias
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, score))))


def buckets(question: str) -> list[int]:
    """The features of a question, each as the bucket it is hashed to."""
    return sorted({zlib.crc32(one.encode()) % BUCKETS for one in _features(question)})


def _features(question: str) -> Iterator[str]:
    spoken = _TOKEN.findall(question.lower())
    yield from (f"w:{word}" for word in spoken)
    yield from (f"b:{a} {b}" for a, b in zip(["^", *spoken], [*spoken, "$"], strict=True))
    yield f"f:{' '.join(spoken[:2])}"
    yield f"f:{' '.join(spoken[:1])}"
    yield f"n:{min(len(spoken), _MOST)}"
    named = [word for word in question.split()[1:] if word[0].isupper() or word[0].isdigit()]
    yield f"c:{min(len(named), 3)}"
    yield f"l:{min(sum(len(word) >= _LONG for word in spoken), 5)}"


@cache
def _weights() -> tuple[NDArray[np.float32], float]:
    with np.load(WEIGHTS, allow_pickle=False) as held:
        return held["weights"].astype(np.float32), float(held["bias"])


def keep(weights: NDArray[np.float64], bias: float, path: Path = WEIGHTS) -> None:
    """Write fitted weights."""
    np.savez(path, weights=weights.astype(np.float16), bias=np.array(bias))
