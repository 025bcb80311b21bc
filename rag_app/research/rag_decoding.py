"""RAG-Token and RAG-Sequence decoding (Lewis et al. 2020, section 2.5), greedy or with beams.

Takes a transformers model, seq2seq or causal, in eval mode. The k documents go through it as one
batch. Nothing is drawn, and nothing of a model's generation settings is applied but its first and
last tokens (no forced or forbidden tokens, no reward for length): probabilities are its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag_app.research.rag import (
    IGNORED,
    RagAnswer,
    RagInputs,
    sequence_log_prob,
    sequence_shares,
    token_log_probs,
    token_shares,
)
from rag_app.research.rag_network import DecodingRows, Documents, Network

if TYPE_CHECKING:
    from torch import Tensor


# Beam search in which a text may be written beside several documents at once.
#
# Texts come in groups that are searched apart. Beside each text of a group stand the same
# documents, and the next token's distribution is their mixture, log sum over z of p(z|x)
# p(y_i|x,z,y_<i). With one group of k documents that is RAG-Token; with k groups of one document
# each it is the search for candidates of RAG-Sequence. One beam is greedy search.
#
# Scores are log-probabilities, with no reward for length. A text that reaches the limit stands for
# all that begins with it, so that the probabilities of what can come out add up to 1.


@dataclass(frozen=True, slots=True)
class BeamLimits:
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
class _BeamSearch:
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


def search(
    documents: Documents, priors: Tensor, limits: BeamLimits
) -> tuple[list[list[Text]], bool]:
    """(the best texts of each group, best first; whether it was cancelled).

    `priors` is log p(z|x) of the documents in a group, (m,); there are k / m groups."""
    rows = DecodingRows(documents)
    width = len(priors)
    groups = [_BeamSearch(row, [Text()], []) for row in range(0, len(documents), width)]
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
    log_probs: Tensor,
    active: list[_BeamSearch],
    priors: Tensor,
    limits: BeamLimits,
    ends: frozenset[int],
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
    group: _BeamSearch, parts: Tensor, totals: Tensor, beams: int, ends: frozenset[int]
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


def _extend(rows: DecodingRows, groups: list[_BeamSearch], origin: list[int], width: int) -> None:
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


_ROWS = 64  # (candidate, document) pairs scored at once

OnToken = Callable[[int, str], None]  # the token, and the text that it completes


@dataclass(frozen=True, slots=True)
class Decoding:
    """How an answer is searched for.

    `thorough` (RAG-Sequence only): every candidate is scored under every document; if not ("fast
    decoding"), a candidate counts only under the documents whose own search came upon it."""

    max_new_tokens: int = 64
    beams: int = 1
    thorough: bool = True

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1 or self.beams < 1:
            raise ValueError("max_new_tokens and beams must be at least 1")


def _never() -> bool:
    return False


def decode_token(
    model: Any,
    inputs: RagInputs,
    decoding: Decoding = Decoding(),
    *,
    tokenizer: Any = None,
    cancelled: Callable[[], bool] = _never,
    on_token: OnToken | None = None,
) -> RagAnswer:
    """The answer of RAG-Token: the documents' distributions of each next token are mixed.

    p'(y_i | x, y_<i) = sum over z of p(z|x) p(y_i | x, z, y_<i), searched as if it were one model.
    `on_token`, with one beam only, is told of every token but the end. Without a `tokenizer` the
    answer has no text."""
    import torch

    if on_token and decoding.beams > 1:
        raise ValueError("tokens can be streamed with one beam only: with more, they may change")
    with torch.inference_mode():
        documents = Documents(Network.of(model), inputs)
        stream = _TokenStream(tokenizer, on_token).push if on_token else None
        limits = BeamLimits(decoding.max_new_tokens, decoding.beams, cancelled, stream)
        (texts,), stopped = search(documents, documents.priors, limits)
        return _token_answer(texts[0], documents.priors, tokenizer, stopped)


def _token_answer(text: Text, priors: Tensor, tokenizer: Any, stopped: bool) -> RagAnswer:
    priors = priors.cpu()
    parts = priors.new_tensor(text.parts).view(len(text.tokens), len(priors))
    by_token = token_shares(parts.T, priors).T
    shares = by_token.mean(dim=0) if len(by_token) else priors.exp()
    return RagAnswer(
        text=_text_of(tokenizer, text.tokens),
        token_ids=text.tokens,
        log_prob=text.log_prob,
        shares=tuple(shares.tolist()),
        cut=text.cut,
        cancelled=stopped,
        token_shares=tuple(tuple(row) for row in by_token.tolist()),
    )


def decode_sequence(
    model: Any,
    inputs: RagInputs,
    decoding: Decoding = Decoding(),
    *,
    tokenizer: Any = None,
    cancelled: Callable[[], bool] = _never,
) -> RagAnswer:
    """The answer of RAG-Sequence: the best of `sequence_answers`."""
    return sequence_answers(model, inputs, decoding, tokenizer=tokenizer, cancelled=cancelled)[0]


def sequence_answers(
    model: Any,
    inputs: RagInputs,
    decoding: Decoding = Decoding(),
    *,
    tokenizer: Any = None,
    cancelled: Callable[[], bool] = _never,
) -> tuple[RagAnswer, ...]:
    """All candidates of RAG-Sequence, the most probable first; at least one.

    Every document's own search gives up to `beams` candidates; each candidate y then has
    p(y|x) = sum over z of p(z|x) p(y|x,z). One that was cancelled is ranked without the thorough
    scores."""
    import torch

    with torch.inference_mode():
        documents = Documents(Network.of(model), inputs)
        limits = BeamLimits(decoding.max_new_tokens, decoding.beams, cancelled)
        found, stopped = search(documents, documents.priors.new_zeros(1), limits)
        texts = [text for texts in found for text in texts]
        possible = [text for text in texts if text.log_prob > -math.inf]
        candidates = {text.tokens: text for text in possible or texts[:1]}
        scores = None
        if decoding.thorough and possible and not stopped:
            scores = _thorough_scores(documents, list(candidates), cancelled)
            stopped = scores is None
        if scores is None:
            scores = _own_scores(found, list(candidates))
        return _ranked(candidates, scores.cpu(), documents.priors.cpu(), tokenizer, stopped)


def _thorough_scores(
    documents: Documents, candidates: list[tuple[int, ...]], cancelled: Callable[[], bool]
) -> Tensor | None:
    """The log p(y|x,z), (c, k), of every candidate beside every document; None: cancelled."""
    import torch

    at_once = max(1, _ROWS // len(documents))
    scores = []
    for first in range(0, len(candidates), at_once):
        if cancelled():
            return None
        targets = _padded(candidates[first : first + at_once])
        scores.append(documents.log_probs(targets).sum(dim=-1))
    return torch.cat(scores)


def _own_scores(found: list[list[Text]], candidates: list[tuple[int, ...]]) -> Tensor:
    """The log p(y|x,z), (c, k), where z's own search came upon y, and log 0 where it did not."""
    import torch

    place = {tokens: row for row, tokens in enumerate(candidates)}
    scores = torch.full((len(candidates), len(found)), -torch.inf)
    for document, texts in enumerate(found):
        for text in texts:
            if text.tokens in place:
                scores[place[text.tokens], document] = text.log_prob
    return scores


def _padded(candidates: list[tuple[int, ...]]) -> Tensor:
    """(c, t), IGNORED after a candidate's end."""
    import torch

    targets = torch.full((len(candidates), max(map(len, candidates))), IGNORED)
    for row, tokens in enumerate(candidates):
        targets[row, : len(tokens)] = torch.tensor(tokens)
    return targets


def _ranked(
    candidates: dict[tuple[int, ...], Text],
    scores: Tensor,
    priors: Tensor,
    tokenizer: Any,
    stopped: bool,
) -> tuple[RagAnswer, ...]:
    log_probs = sequence_log_prob(scores[..., None], priors).tolist()
    shares = sequence_shares(scores[..., None], priors).tolist()
    answers = [
        RagAnswer(
            text=_text_of(tokenizer, text.tokens),
            token_ids=text.tokens,
            log_prob=log_probs[row],
            shares=tuple(shares[row]),
            cut=text.cut,
            cancelled=stopped,
        )
        for row, text in enumerate(candidates.values())
    ]
    return tuple(sorted(answers, key=lambda answer: answer.log_prob, reverse=True))


def _text_of(tokenizer: Any, tokens: Sequence[int]) -> str:
    if tokenizer is None:
        return ""
    text: str = tokenizer.decode(
        list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    return text


class _TokenStream:
    """Tokens to text that can be shown: a token may be half a character, which waits."""

    def __init__(self, tokenizer: Any, on_token: OnToken) -> None:
        self._tokenizer = tokenizer
        self._on_token = on_token
        self._tokens: list[int] = []
        self._shown = ""

    def push(self, token: int) -> None:
        """Tell of a token, and of the text that is certain now."""
        self._tokens.append(token)
        text = _text_of(self._tokenizer, self._tokens)
        piece = ""
        if text.startswith(self._shown) and not text.endswith("\ufffd"):
            piece, self._shown = text[len(self._shown) :], text
        self._on_token(token, piece)
