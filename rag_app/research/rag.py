"""RAG-Sequence and RAG-Token as equations (Lewis et al. 2020, section 2.1), and the model of
transformers that they are computed of.

For a question x, documents z_1..z_k and an answer y of tokens y_1..y_t, the end token included:

    RAG-Sequence   p(y|x) = sum over z of p(z|x) * product over i of p(y_i | x, z, y_<i)
    RAG-Token      p(y|x) = product over i of sum over z of p(z|x) * p(y_i | x, z, y_<i)

Everything is computed from log p(y_i|x,z,y_<i), a tensor (..., k, t), and log p(z|x), a tensor
(..., k). Knows nothing of how answers are searched (rag_decoding.py).

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

import inspect
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.errors import ModelUnavailable

if TYPE_CHECKING:
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


def plain_join(question: str, passage: str) -> str:
    """What a generator reads."""
    return f"{question} // {passage}"


def joined(question: str, passage: str, tokenizer: Any, longest: int) -> str:
    """Question and passage, the passage shortened until both are at most `longest` tokens.

    Without it a tokenizer would cut whatever stands last, in many prompts the question. Neither
    holds a control token, whatever it says."""
    question, passage = spelled_out(question, tokenizer), spelled_out(passage, tokenizer)
    text = plain_join(question, passage)
    while passage and (size := len(tokenizer(text)["input_ids"])) > longest:
        passage = passage[: min(len(passage) - 1, len(passage) * longest // size)]
        text = plain_join(question, passage)
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


# Runs a transformers model over k documents at once: log p(y_i | x, z, y_<i).
#
# Seq2seq models read each document once and keep what they read; causal models continue a prompt.
# A model is expected in eval mode. What it says that is not a number counts as impossible.


@dataclass(frozen=True, slots=True)
class Network:
    """A seq2seq or causal model, and the tokens at which its texts begin and end."""

    model: Any
    ends: frozenset[int]
    start: int | None  # of the decoder; None: the model is causal

    @classmethod
    def of(cls, model: Any) -> Network:
        """As the model's own generation settings say. Raises ValueError if they do not."""
        end = _setting(model, "eos_token_id")
        if end is None:
            raise ValueError("the model does not say which token ends a text (eos_token_id)")
        ends = frozenset(end if isinstance(end, list | tuple) else [end])
        if not model.config.is_encoder_decoder:
            return cls(model, ends, None)
        start = _setting(model, "decoder_start_token_id")
        if start is None:
            raise ValueError("the model does not say which token begins a text")
        return cls(model, ends, start)

    @property
    def causal(self) -> bool:
        """Whether the model continues its input, instead of reading it first."""
        return self.start is None

    def accepts(self, argument: str) -> bool:
        """Whether the model's forward has it."""
        return argument in inspect.signature(self.model.forward).parameters


def _setting(model: Any, name: str) -> Any:
    decoder = getattr(model.config, "decoder", None)
    places = (getattr(model, "generation_config", None), model.config, decoder)
    said = (getattr(place, name, None) for place in places)
    return next((one for one in said if one is not None), None)


def log_softmax(logits: Tensor) -> Tensor:
    """The log p of the next token, never "not a number"."""
    import torch

    return logits.float().log_softmax(dim=-1).nan_to_num(nan=-torch.inf, neginf=-torch.inf)


def left_padded(ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The same tokens (rows, n) with all padding on the left, so that rows can be continued."""
    order = mask.bool().int().argsort(dim=1, stable=True)
    mask = mask.gather(1, order)
    first = int(mask.shape[1] - mask.bool().sum(dim=1).max())
    return ids.gather(1, order)[:, first:], mask[:, first:]


def target_log_probs(
    network: Network, ids: Tensor, mask: Tensor, targets: Tensor, hidden: Tensor | None = None
) -> Tensor:
    """Each row's log p(y_i | x, z, y_<i) of its own target; (rows, n), (rows, t) -> (rows, t).

    0 where a target is negative (IGNORED). `hidden` is what the encoder made of `ids`, if known."""
    import torch

    given = targets.clamp(min=0)
    if network.start is None:
        logits = _continued(network, *left_padded(ids, mask), given)
    else:
        first = given.new_full((len(given), 1), network.start)
        read = {"input_ids": ids} if hidden is None else {"encoder_outputs": _read(hidden)}
        logits = network.model(
            **read,
            attention_mask=mask,
            decoder_input_ids=torch.cat([first, given[:, :-1]], dim=1),
            use_cache=False,
        ).logits
    log_probs = log_softmax(logits).gather(-1, given[..., None]).squeeze(-1)
    return log_probs.masked_fill(targets < 0, 0.0)


def _continued(network: Network, ids: Tensor, mask: Tensor, given: Tensor) -> Tensor:
    import torch

    size = given.shape[1]
    mask = torch.cat([mask, mask.new_ones((len(mask), size - 1))], dim=1)
    options: dict[str, Any] = {"use_cache": False}
    if network.accepts("position_ids"):
        options["position_ids"] = _positions(mask)
    if network.accepts("logits_to_keep"):
        options["logits_to_keep"] = size  # the whole vocabulary at every token of a prompt is much
    fed = torch.cat([ids, given[:, :-1]], dim=1)
    logits: Tensor = network.model(input_ids=fed, attention_mask=mask, **options).logits
    return logits[:, -size:]


def _positions(mask: Tensor) -> Tensor:
    return (mask.long().cumsum(dim=1) - 1).clamp(min=0)


def _read(hidden: Tensor) -> Any:
    from transformers.modeling_outputs import BaseModelOutput

    return BaseModelOutput(last_hidden_state=hidden)


class EncodedDocuments:
    """The k documents of a question, read once."""

    def __init__(self, network: Network, inputs: RagInputs) -> None:
        self.network = network
        device = network.model.device
        self.ids, self.mask = inputs.input_ids.to(device), inputs.attention_mask.to(device)
        self.priors = inputs.log_priors.to(device)
        self.hidden: Tensor | None = None
        if network.causal:
            self.ids, self.mask = left_padded(self.ids, self.mask)
        else:
            encoder = network.model.get_encoder()
            read = encoder(input_ids=self.ids, attention_mask=self.mask, return_dict=True)
            self.hidden = read.last_hidden_state

    def __len__(self) -> int:
        return len(self.ids)

    def given(self) -> dict[str, Any]:
        """What `generate()` is given: a prompt to continue, or what the encoder made of it."""
        read = (
            {"input_ids": self.ids}
            if self.hidden is None
            else {"encoder_outputs": _read(self.hidden)}
        )
        return {**read, "attention_mask": self.mask}

    def log_probs(self, targets: Tensor) -> Tensor:
        """Every target under every document; (c, t) -> (c, k, t)."""
        import torch

        documents = len(self)
        rows = torch.arange(documents, device=self.ids.device).repeat(len(targets))
        log_probs = target_log_probs(
            self.network,
            self.ids[rows],
            self.mask[rows],
            targets.to(self.ids.device).repeat_interleave(documents, dim=0),
            None if self.hidden is None else self.hidden[rows],
        )
        return log_probs.view(len(targets), documents, -1)


# A generator of transformers with its tokenizer: folder to model, words to tensors.
#
# Seq2seq or causal; safetensors, no code of the folder's own, nothing from the network.


@dataclass(frozen=True, slots=True)
class RagGenerator:
    """A model of transformers and its tokenizer."""

    model: Any
    tokenizer: Any

    @classmethod
    def load(cls, folder: Path) -> RagGenerator:
        """From a local folder, in eval mode. Raises ModelUnavailable."""
        try:
            return cls(*_load(folder))
        except (ImportError, OSError, RuntimeError, ValueError, KeyError) as error:
            raise ModelUnavailable(
                f"The generator in {folder.name} could not be loaded: {error}"
            ) from error

    def save(self, folder: Path) -> None:
        """Write what `load` reads."""
        self.tokenizer.save_pretrained(folder)
        self.model.save_pretrained(folder)

    def inputs(
        self,
        question: str,
        passages: Sequence[str],
        scores: Sequence[float],
        longest: int,
    ) -> RagInputs:
        """Each passage beside the question, shortened where both are over `longest` tokens.

        p(z|x) is the softmax of the scores; the scores of probabilities are their logarithms."""
        texts = [joined(question, passage, self.tokenizer, longest) for passage in passages]
        return RagInputs.from_texts(texts, scores, self.tokenizer, longest)

    def answer_log_probs(
        self, texts: Sequence[str], answers: Sequence[str], longest: int, longest_answer: int
    ) -> Tensor:
        """The log p(y_i | x, z, y_<i), (b, k, t), with gradients if they are on.

        `texts` are question and passage, b * k of them, `answers` b; what is over so many tokens
        is cut off."""
        network = Network.of(self.model)
        read = self.tokenizer(
            list(texts), padding=True, truncation=True, max_length=longest, return_tensors="pt"
        ).to(self.model.device)
        k = len(texts) // len(answers)
        targets = self._targets(network, answers, longest_answer).to(self.model.device)
        rows = target_log_probs(
            network,
            read["input_ids"],
            read["attention_mask"],
            targets.repeat_interleave(k, dim=0),
        )
        return rows.view(len(answers), k, -1)

    def _targets(self, network: Network, answers: Sequence[str], longest: int) -> Tensor:
        """Answers with their end, (b, t); a causal model's do not begin anew."""
        import torch

        rows = []
        for answer in answers:
            ids = self.tokenizer(answer, add_special_tokens=not network.causal)["input_ids"]
            if not ids or ids[-1] not in network.ends:
                ids = [*ids, min(network.ends)]
            rows.append(torch.tensor(ids[:longest]))
        padded: Tensor = torch.nn.utils.rnn.pad_sequence(
            rows, batch_first=True, padding_value=IGNORED
        )
        return padded


def _load(folder: Path) -> tuple[Any, Any]:
    import transformers
    from transformers.utils import logging

    if not folder.is_dir():  # else its name would be looked up on the hub
        raise FileNotFoundError(f"there is no folder {folder}")
    local = {"local_files_only": True, "trust_remote_code": False}
    logging.disable_progress_bar()
    seq2seq = transformers.AutoConfig.from_pretrained(folder, **local).is_encoder_decoder
    kind = transformers.AutoModelForSeq2SeqLM if seq2seq else transformers.AutoModelForCausalLM
    model = kind.from_pretrained(folder, use_safetensors=True, **local)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(folder, **local)
