"""Beam search in which a text may be written beside several documents at once.

Texts come in groups that are searched apart. Beside each text of a group stand the same documents,
and the next token's distribution is their mixture, log sum over z of p(z|x) p(y_i|x,z,y_<i). With
one group of k documents that is RAG-Token; with k groups of one document each it is the search for
candidates of RAG-Sequence. One beam is greedy search.

Scores are log-probabilities, with no reward for length. A text that reaches the limit stands for
all that begins with it, so that the probabilities of what can come out add up to 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_app.answering.rag import token_log_probs
from rag_app.answering.rag_network import Documents, Rows

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Limits:
    """How far and how wide to search, and when to stop."""

    tokens: int
    beams: int
    cancelled: Callable[[], bool]
    on_token: Callable[[int], None] | None = None  # of the first group's best text


@dataclass(frozen=True, slots=True)
class Text:
    """A text that was found or is being written; `parts[i]` is log p(y_i|x,z,y_<i), by document."""

    tokens: tuple[int, ...] = ()
    log_prob: float = 0.0
    parts: tuple[tuple[float, ...], ...] = ()
    cut: bool = False


@dataclass(slots=True)
class _Group:
    """One search, whose rows in the batch begin at `first_row`."""

    first_row: int
    writing: list[Text]
    done: list[Text]

    def finish(self, beams: int) -> None:
        """Stop, keeping the best of what is there."""
        cut = [Text(text.tokens, text.log_prob, text.parts, cut=True) for text in self.writing]
        self.done = _best(self.done + cut, beams)
        self.writing = []

    def settle(self, beams: int) -> None:
        """Stop if nothing that is being written can become better than what is done."""
        self.done = _best(self.done, beams)
        full = len(self.done) == beams
        if full and self.writing and self.done[-1].log_prob >= self.writing[0].log_prob:
            self.writing = []


def _best(texts: list[Text], count: int) -> list[Text]:
    return sorted(texts, key=lambda text: text.log_prob, reverse=True)[:count]


def search(documents: Documents, priors: Tensor, limits: Limits) -> tuple[list[list[Text]], bool]:
    """(the best texts of each group, best first; whether it was cancelled).

    `priors` is log p(z|x) of the documents in a group, (m,); there are k / m groups."""
    rows = Rows(documents)
    width = len(priors)
    groups = [_Group(row, [Text()], []) for row in range(0, len(documents), width)]
    cancelled = False
    for step in range(limits.tokens):
        active = [group for group in groups if group.writing]
        if not active:
            break
        if cancelled := limits.cancelled():
            break
        origin = _step(rows.next_log_probs(), active, priors, limits, documents.network.ends)
        if limits.on_token and groups[0].writing:
            limits.on_token(groups[0].writing[0].tokens[-1])
        if origin and step + 1 < limits.tokens:
            _extend(rows, groups, origin, width)
    for group in groups:
        if group.writing or not group.done:
            group.finish(limits.beams)
    return [group.done for group in groups], cancelled


def _step(
    log_probs: Tensor, active: list[_Group], priors: Tensor, limits: Limits, ends: frozenset[int]
) -> list[int]:
    """Write one more token in every group; the first row that each text being written came from."""
    origin: list[int] = []
    for group in active:
        size = len(group.writing) * len(priors)
        part = log_probs[group.first_row : group.first_row + size]
        parts = part.view(len(group.writing), len(priors), -1)
        before = parts.new_tensor([text.log_prob for text in group.writing])
        totals = before[:, None] + token_log_probs(parts, priors)
        beams = _advance(group, parts, totals, limits.beams, ends)
        origin += [group.first_row + beam * len(priors) for beam in beams]
    return origin


def _advance(
    group: _Group, parts: Tensor, totals: Tensor, beams: int, ends: frozenset[int]
) -> list[int]:
    """The group's best continuations; the beams that those being written came from.

    An end counts only among the best `beams`, so that one beam is greedy search. Where no token
    has a probability, the group ends with texts of none."""
    vocabulary = totals.shape[1]
    scores, places = totals.flatten().topk(min(totals.numel(), beams * (1 + len(ends))))
    before, group.writing, origin = group.writing, [], []
    for rank, (score, place) in enumerate(zip(scores.tolist(), places.tolist(), strict=True)):
        beam, token = divmod(place, vocabulary)
        if score == -math.inf or len(group.writing) == beams:
            break
        if token in ends and rank >= beams:
            continue
        text = before[beam]
        by_document = tuple(parts[beam, :, token].tolist())
        longer = Text((*text.tokens, token), score, (*text.parts, by_document))
        if token in ends:
            group.done.append(longer)
        else:
            group.writing.append(longer)
            origin.append(beam)
    if not group.writing and not group.done:
        group.done = [Text(text.tokens, -math.inf, text.parts, cut=True) for text in before]
    group.settle(beams)
    return origin if group.writing else []


def _extend(rows: Rows, groups: list[_Group], origin: list[int], width: int) -> None:
    import torch

    tokens: list[int] = []
    place = 0
    for group in groups:
        group.first_row = place
        tokens += [text.tokens[-1] for text in group.writing]
        place += len(group.writing) * width
    chosen = torch.tensor(origin)[:, None] + torch.arange(width)
    device = rows.device
    rows.extend(
        chosen.flatten().to(device), torch.tensor(tokens, device=device).repeat_interleave(width)
    )
