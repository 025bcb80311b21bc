"""Lessons as one sequence of tokens, in which no question sees another. Pure.

    passages | question 1, reply 1 | question 2, reply 2 | …

Each part after the passages sees the passages and itself, and its positions go on where the
passages end: for the model it is as if it stood there alone. So the passages, which are most of
what is read, are read once for ten questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:  # the machine that teaches may have neither the app nor what it needs
    from rag_app.answering.local_chat import Tokens
    from training.writer.contexts import Lesson


@dataclass(frozen=True, slots=True)
class Pack:
    """Tokens (n), the part that each belongs to (n, 0: passages), positions (n), and which tokens
    are to be written: `targets[i]` is what follows token `at[i]`, `weights[i]` what it counts."""

    ids: NDArray[np.int64]
    parts: NDArray[np.int64]
    positions: NDArray[np.int64]
    at: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float32]

    def mask(self) -> Tensor:
        """Which token (row) sees which (column), (1, 1, n, n), boolean."""
        order = np.arange(len(self.ids))
        sees = (order[:, None] >= order[None, :]) & (
            (self.parts[None, :] == 0) | (self.parts[:, None] == self.parts[None, :])
        )
        return torch.from_numpy(sees)[None, None]


def pack(lessons: Sequence[Lesson], tokens: Tokens, first_weight: float, most: int) -> list[Pack]:
    """Lessons that begin alike, in as many sequences as `most` tokens each ask for.

    The first token of a reply says whether there is an answer: it counts `first_weight`, and all
    that follow it 1 together."""
    prompts = [prompt_ids(one, tokens) for one in lessons]
    shared = _shared(prompts)
    packs: list[Pack] = []
    parts: list[tuple[list[int], list[int]]] = []
    used = shared
    for prompt, one in zip(prompts, lessons, strict=True):
        end = [tokens.controls["<|im_end|>"]] if one.ends else []
        reply = [*tokens.of_text(one.reply), *end]
        part = (prompt[shared:], reply)
        size = len(part[0]) + len(part[1])
        if parts and used + size > most:
            packs.append(_packed(prompts[0][:shared], parts, first_weight))
            parts, used = [], shared
        parts.append(part)
        used += size
    return [*packs, _packed(prompts[0][:shared], parts, first_weight)]


def prompt_ids(lesson: Lesson, tokens: Tokens) -> list[int]:
    """A lesson as the model reads it, up to where its reply begins."""
    roles = {"human": "user"}
    return tokens.of_messages([(roles.get(role, role), text) for role, text in lesson.messages])


def _shared(prompts: Sequence[Sequence[int]]) -> int:
    """How many tokens all begin with, less than the shortest has."""
    least = min(len(one) for one in prompts) - 1
    same = (n for n in range(least) if any(one[n] != prompts[0][n] for one in prompts))
    return next(same, least)


def _packed(
    shared: Sequence[int], parts: Sequence[tuple[list[int], list[int]]], first_weight: float
) -> Pack:
    ids, owner, positions = list(shared), [0] * len(shared), list(range(len(shared)))
    at: list[int] = []
    targets: list[int] = []
    weights: list[float] = []
    for number, (question, reply) in enumerate(parts, start=1):
        begin = len(ids) + len(question) - 1  # the last token before the reply
        at += range(begin, begin + len(reply))
        targets += reply
        weights += [first_weight, *([1.0 / max(1, len(reply) - 1)] * (len(reply) - 1))]
        ids += [*question, *reply[:-1]]
        owner += [number] * (len(question) + len(reply) - 1)
        positions += range(len(shared), len(shared) + len(question) + len(reply) - 1)
    return Pack(
        np.array(ids, dtype=np.int64),
        np.array(owner, dtype=np.int64),
        np.array(positions, dtype=np.int64),
        np.array(at, dtype=np.int64),
        np.array(targets, dtype=np.int64),
        np.array(weights, dtype=np.float32),
    )


def save(packs: Sequence[tuple[Pack, bool]], path: Path) -> None:
    """Write packs, one after the other, and which of them are kept aside."""
    columns: dict[str, Any] = {
        one.name: np.concatenate([getattr(pack, one.name) for pack, _ in packs])
        for one in fields(Pack)
    }
    columns["tokens"] = np.array([len(pack.ids) for pack, _ in packs])
    columns["wanted"] = np.array([len(pack.at) for pack, _ in packs])
    columns["held"] = np.array([held for _, held in packs])
    np.savez_compressed(path, **columns)


def load(path: Path) -> list[tuple[Pack, bool]]:
    """The packs of a file, and which of them are kept aside."""
    with np.load(path) as stored:
        columns = {name: stored[name] for name in stored.files}
    of_tokens, of_wanted = np.cumsum(columns["tokens"])[:-1], np.cumsum(columns["wanted"])[:-1]
    inputs = [np.split(columns[name], of_tokens) for name in ("ids", "parts", "positions")]
    wanted = [np.split(columns[name], of_wanted) for name in ("at", "targets", "weights")]
    packs = [Pack(*one) for one in zip(*inputs, *wanted, strict=True)]
    return list(zip(packs, map(bool, columns["held"]), strict=True))
