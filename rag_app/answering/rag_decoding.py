"""RAG-Token and RAG-Sequence decoding (Lewis et al. 2020, section 2.5), greedy or with beams.

Takes a transformers model, seq2seq or causal, in eval mode. The k documents go through it as one
batch. Nothing is drawn, and nothing of a model's generation settings is applied but its first and
last tokens (no forced or forbidden tokens, no reward for length): probabilities are its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag_app.answering.rag import (
    IGNORED,
    RagAnswer,
    RagInputs,
    sequence_log_prob,
    sequence_shares,
    token_shares,
)
from rag_app.answering.rag_beams import Limits, Text, search
from rag_app.answering.rag_network import Documents, Network

if TYPE_CHECKING:
    from torch import Tensor

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
        stream = _Stream(tokenizer, on_token).push if on_token else None
        limits = Limits(decoding.max_new_tokens, decoding.beams, cancelled, stream)
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
        limits = Limits(decoding.max_new_tokens, decoding.beams, cancelled)
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


class _Stream:
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
