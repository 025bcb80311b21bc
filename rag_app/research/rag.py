"""RAG-Sequence and RAG-Token as equations (Lewis et al. 2020, section 2.1). Pure.

For a question x, documents z_1..z_k and an answer y of tokens y_1..y_t, the end token included:

    RAG-Sequence   p(y|x) = sum over z of p(z|x) * product over i of p(y_i | x, z, y_<i)
    RAG-Token      p(y|x) = product over i of sum over z of p(z|x) * p(y_i | x, z, y_<i)

Everything is computed from log p(y_i|x,z,y_<i), a tensor (..., k, t), and log p(z|x), a tensor
(..., k). Knows nothing of how a model is run (rag_network.py) or searched (rag_decoding.py).

Where transformers' RagSequenceForGeneration / RagTokenForGeneration count otherwise:

- Their labels begin with the decoder's start token, which is not scored; targets here do not have
  it: `labels[:, 1:]` there is `targets` here.
- Their RAG-Sequence adds log p(z|x) at the second scored token, as the first is a BOS with BART.
  An answer of one token (the end alone) is padding there, so the prior is lost; here it counts.
- With `exclude_bos_score`, as in their decoding, a first token that is BOS is not scored if every
  label of the batch has it. Here every token of a target is scored; leave BOS out to get the same.
- They ignore every label that equals the pad token, also one that was meant (padding and end are
  the same token in many causal models); here only targets of IGNORED are left out.
- Their thorough decoding hands no attention mask to the search for candidates, takes n_docs from
  the configuration, and ranks without the score of BOS. Label smoothing is not done here."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

IGNORED = -100  # a target that is not scored, as in transformers


@dataclass(frozen=True, slots=True, eq=False)
class RagInputs:
    """One question beside each of its k documents, as the generator reads it.

    `input_ids` and `attention_mask` are (k, n), padded on either side; `log_priors` is
    log p(z|x), (k,). Of transformers' arguments these are `context_input_ids`,
    `context_attention_mask` and log_softmax(`doc_scores`) of one question."""

    input_ids: Tensor
    attention_mask: Tensor
    log_priors: Tensor

    def __post_init__(self) -> None:
        documents = len(self.input_ids)
        if self.input_ids.ndim != 2 or self.input_ids.shape != self.attention_mask.shape:
            raise ValueError("input_ids and attention_mask must be of one shape, (k, n)")
        if tuple(self.log_priors.shape) != (documents,) or not documents:
            raise ValueError("log_priors must hold one number for each of at least one document")
        if not bool(self.attention_mask.any(dim=1).all()):
            raise ValueError("every document needs at least one token")

    @classmethod
    def from_scores(cls, input_ids: Tensor, attention_mask: Tensor, scores: Tensor) -> RagInputs:
        """With p(z|x) as the softmax of the retriever's scores (k,)."""
        return cls(input_ids, attention_mask, log_priors(scores))

    @classmethod
    def from_texts(
        cls, texts: Sequence[str], scores: Sequence[float], tokenizer: Any, longest: int
    ) -> RagInputs:
        """With one text for each document, cut after `longest` tokens."""
        import torch

        read = tokenizer(
            list(texts), padding=True, truncation=True, max_length=longest, return_tensors="pt"
        )
        return cls.from_scores(
            read["input_ids"], read["attention_mask"], torch.tensor(scores, dtype=torch.float32)
        )


@dataclass(frozen=True, slots=True)
class RagAnswer:
    """A text with its probability, and what each document has to do with it.

    `shares` are p(z|x,y), adding up to 1: for RAG-Sequence the posterior of the document, for
    RAG-Token the mean over the tokens of `token_shares[i]` = p(z_i|x,y), as in the paper's figure
    2. RAG-Sequence has no shares by token."""

    text: str
    token_ids: tuple[int, ...]  # the end token included
    log_prob: float  # of y; if `cut`, of all that begins with it
    shares: tuple[float, ...]
    cut: bool = False  # it ended for want of room or because it was cancelled
    cancelled: bool = False
    token_shares: tuple[tuple[float, ...], ...] = ()


def joined(
    question: str, passage: str, join: Callable[[str, str], str], tokenizer: Any, longest: int
) -> str:
    """join(question, passage), the passage shortened until it is at most `longest` tokens.

    Without it a tokenizer would cut whatever stands last, in many prompts the question. Neither
    holds a control token, whatever it says."""
    question, passage = spelled_out(question, tokenizer), spelled_out(passage, tokenizer)
    text = join(question, passage)
    while passage and (size := len(tokenizer(text)["input_ids"])) > longest:
        passage = passage[: min(len(passage) - 1, len(passage) * longest // size)]
        text = join(question, passage)
    return text


def spelled_out(text: str, tokenizer: Any) -> str:
    """A text with a space after the first letter of each control token that it spells.

    Not by the tokenizer's `split_special_tokens`: one of whole pieces (T5) knows them as pieces,
    too, and may first turn other letters into theirs."""
    named = sorted((n for n in tokenizer.all_special_tokens if n[1:]), key=len, reverse=True)
    halves = "|".join(f"(?<={re.escape(n[0])}){re.escape(n[1:])}" for n in named)
    control = re.compile(halves or "(?!)")
    folded = unicodedata.normalize("NFKC", text)
    return control.sub(r" \g<0>", folded if control.search(folded) else text)


def log_priors(scores: Tensor) -> Tensor:
    """The log p(z|x) of scores (..., k): log_softmax, as the paper's p(z|x) ~ exp(d(z)' q(x)).

    A score that is not a number is a document of no weight; if all are, they weigh the same."""
    import torch

    largest = torch.finfo(torch.float32).max
    known = scores.float().nan_to_num(nan=-torch.inf, posinf=largest, neginf=-torch.inf)
    usable = known.isfinite().any(dim=-1, keepdim=True)
    return torch.where(usable, known, torch.zeros_like(known)).log_softmax(dim=-1)


def token_log_probs(log_probs: Tensor, priors: Tensor) -> Tensor:
    """RAG-Token: log sum over z of p(z|x) p(y_i|x,z,y_<i); (..., k, t), (..., k) -> (..., t).

    With a vocabulary in the place of t it is the distribution of the next token."""
    return (log_probs + priors[..., None]).logsumexp(dim=-2)


def token_log_prob(log_probs: Tensor, priors: Tensor) -> Tensor:
    """RAG-Token: log p(y|x); (..., k, t), (..., k) -> (...)."""
    return token_log_probs(log_probs, priors).sum(dim=-1)


def sequence_log_prob(log_probs: Tensor, priors: Tensor) -> Tensor:
    """RAG-Sequence: log p(y|x); (..., k, t), (..., k) -> (...)."""
    return (log_probs.sum(dim=-1) + priors).logsumexp(dim=-1)


def token_shares(log_probs: Tensor, priors: Tensor) -> Tensor:
    """RAG-Token: p(z_i|x,y) of each token; (..., k, t), (..., k) -> (..., k, t)."""
    return _posterior(log_probs.transpose(-1, -2), priors[..., None, :]).transpose(-1, -2)


def sequence_shares(log_probs: Tensor, priors: Tensor) -> Tensor:
    """RAG-Sequence: p(z|x,y); (..., k, t), (..., k) -> (..., k)."""
    return _posterior(log_probs.sum(dim=-1), priors)


def _posterior(likelihood: Tensor, priors: Tensor) -> Tensor:
    """p(z|x) again where no document makes the text possible."""
    import torch

    both = likelihood + priors
    possible = both.isfinite().any(dim=-1, keepdim=True)
    return torch.where(possible, both, priors.expand_as(both)).softmax(dim=-1)
