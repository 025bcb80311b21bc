"""RAG-Token and RAG-Sequence decoding (Lewis et al. 2020, section 2.5), greedy or with beams.

The search is `generate()` of transformers, over a seq2seq or causal model in eval mode; the k
documents go through it as one batch. Nothing is drawn, and nothing of a model's generation settings
is applied but its first and last tokens (no forced or forbidden tokens, no reward for length):
probabilities are its own."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag_app.research.rag import (
    IGNORED,
    EncodedDocuments,
    Network,
    RagAnswer,
    RagInputs,
    log_softmax,
    sequence_log_prob,
    sequence_shares,
    token_log_probs,
    token_shares,
)

if TYPE_CHECKING:
    from torch import Tensor


# A text may be written beside several documents at once: the rows of `generate()` come in groups of
# m documents, and each group's next token comes from their mixture, log sum over z of p(z|x)
# p(y_i|x,z,y_<i), which a logits processor puts into all of its rows; so they write the same.
# One group of k documents is RAG-Token; k groups of one document each is the search for candidates
# of RAG-Sequence. A text that reaches the limit stands for all that begins with it, so that the
# probabilities of what can come out add up to 1.


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
    cut: bool = True


Tokens = tuple[int, ...]


class _Mixture:
    """What `generate()` asks at every step: the next token's distribution, and whether to stop.

    Keeps what each text's tokens cost beside each document, which is known nowhere else."""

    def __init__(
        self, groups: int, priors: Tensor, limits: BeamLimits, ends: frozenset[int]
    ) -> None:
        self._priors, self._limits, self._ends = priors, limits, ends
        self._begin = 0  # where the texts begin: after the prompt, or the decoder's first token
        self._beams: list[dict[Tokens, int]] = []  # of each group the texts that go on
        self._parts = self._mixed = priors  # by group, document, beam and token
        self.texts: list[dict[Tokens, Text]] = [{(): Text()} for _ in range(groups)]
        self.cancelled = limits.cancelled()

    def mix(self, ids: Tensor, scores: Tensor) -> Tensor:
        """A logits processor: (rows, vocabulary) -> the same, mixed in each group."""
        if not self._beams:
            self._begin = ids.shape[1]
        rows = log_softmax(scores)
        self._parts = rows.view(len(self.texts), len(self._priors), -1, rows.shape[1])
        mixed = token_log_probs(self._parts.flatten(2), self._priors)
        self._mixed = mixed.view(len(self.texts), -1, rows.shape[1])
        self._beams = [{text: n for n, text in enumerate(row)} for row in self.written(ids)]
        return self._mixed[:, None].expand_as(self._parts).reshape(rows.shape)

    def written(self, ids: Tensor) -> list[list[Tokens]]:
        """Of each group its texts; the same stands beside all of its documents."""
        rows = ids.view(len(self.texts), len(self._priors), -1, ids.shape[1])
        return [[tuple(row) for row in group] for group in rows[:, 0, :, self._begin :].tolist()]

    def stops(self, ids: Tensor, *_: Any, **__: Any) -> Tensor:
        """A stopping criterion, told of every text that may go on: whether to stop them all."""
        written = self.written(ids)
        going_on = 0
        for group, known in enumerate(self.texts):
            longer = [self._longer(group, text) for text in written[group]]
            kept = {text.tokens: text for text in longer if text}
            going_on += sum(text.cut for text in kept.values())
            self.texts[group] = {at: text for at, text in known.items() if not text.cut} | kept
        newest = self.texts[0].get(written[0][0])
        if self._limits.on_token and newest and newest.cut:
            self._limits.on_token(newest.tokens[-1])
        if going_on and ids.shape[1] - self._begin < self._limits.tokens:
            self.cancelled = self._limits.cancelled()
        return ids.new_full((len(ids),), self.cancelled).bool()

    def _longer(self, group: int, tokens: Tokens) -> Text | None:
        """The text with one more token; None where it had ended before."""
        before, beam = self.texts[group].get(tokens[:-1]), self._beams[group].get(tokens[:-1])
        if before is None or beam is None or not before.cut:
            return None
        token = tokens[-1]
        return Text(
            tokens,
            before.log_prob + float(self._mixed[group, beam, token]),
            (*before.parts, tuple(self._parts[group, :, beam, token].tolist())),
            cut=token not in self._ends,
        )


def search(
    documents: EncodedDocuments, priors: Tensor, limits: BeamLimits
) -> tuple[list[list[Text]], bool]:
    """(the best texts of each group, best first; whether it was cancelled).

    `priors` is log p(z|x) of the documents in a group, (m,); there are k / m groups. Where no
    token has a probability, a group has one text of none."""
    from transformers import LogitsProcessorList, StoppingCriteriaList

    groups = len(documents) // len(priors)
    mixture = _Mixture(groups, priors, limits, documents.network.ends)
    if mixture.cancelled:
        return [[Text()] for _ in range(groups)], True
    model, settings = _only_searching(documents.network, limits)
    ids = model.generate(
        **documents.given(),
        generation_config=settings,
        logits_processor=LogitsProcessorList([mixture.mix]),
        stopping_criteria=StoppingCriteriaList([mixture.stops]),
    )
    found = []
    for known, rows in zip(mixture.texts, mixture.written(ids), strict=True):
        ended = [_without_padding(row, documents.network.ends) for row in rows]
        texts = {row: known[row] for row in ended if row in known}
        possible = [text for text in texts.values() if text.log_prob > -math.inf]
        possible.sort(key=lambda text: text.log_prob, reverse=True)
        found.append(possible or [Text(log_prob=-math.inf)])
    return found, mixture.cancelled


def _only_searching(network: Network, limits: BeamLimits) -> tuple[Any, Any]:
    """The model with none of its own generation settings, and what to generate by.

    `generate()` takes from the model's what it is not told, so a shallow copy has settings anew."""
    from transformers import GenerationConfig

    settings = GenerationConfig(
        max_new_tokens=limits.tokens,
        num_beams=limits.beams,
        num_return_sequences=limits.beams,
        length_penalty=0.0 if limits.beams > 1 else None,
        do_sample=False,
        eos_token_id=sorted(network.ends),
        pad_token_id=min(network.ends),  # what comes after an end is cut off
        decoder_start_token_id=network.start,
    )
    model = copy.copy(network.model)
    model.generation_config = settings
    return model, settings


def _without_padding(tokens: Tokens, ends: frozenset[int]) -> Tokens:
    """Up to the first token that ends a text, and with it."""
    size = next((n for n, token in enumerate(tokens, 1) if token in ends), len(tokens))
    return tokens[:size]


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


def decode_token(
    model: Any,
    inputs: RagInputs,
    decoding: Decoding = Decoding(),
    *,
    tokenizer: Any = None,
    cancelled: Callable[[], bool] = lambda: False,
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
        documents = EncodedDocuments(Network.of(model), inputs)
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
    cancelled: Callable[[], bool] = lambda: False,
) -> RagAnswer:
    """The answer of RAG-Sequence: the best of `sequence_answers`."""
    return sequence_answers(model, inputs, decoding, tokenizer=tokenizer, cancelled=cancelled)[0]


def sequence_answers(
    model: Any,
    inputs: RagInputs,
    decoding: Decoding = Decoding(),
    *,
    tokenizer: Any = None,
    cancelled: Callable[[], bool] = lambda: False,
) -> tuple[RagAnswer, ...]:
    """All candidates of RAG-Sequence, the most probable first; at least one.

    Every document's own search gives up to `beams` candidates; each candidate y then has
    p(y|x) = sum over z of p(z|x) p(y|x,z). One that was cancelled is ranked without the thorough
    scores."""
    import torch

    with torch.inference_mode():
        documents = EncodedDocuments(Network.of(model), inputs)
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
    documents: EncodedDocuments, candidates: list[tuple[int, ...]], cancelled: Callable[[], bool]
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
