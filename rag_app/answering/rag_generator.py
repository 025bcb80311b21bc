"""A generator of transformers with its tokenizer: folder to model, words to tensors.

Seq2seq or causal; safetensors, no code of the folder's own, nothing from the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.answering.rag import IGNORED, RagInputs, joined
from rag_app.answering.rag_network import Network, target_log_probs
from rag_app.errors import ModelUnavailable

if TYPE_CHECKING:
    from torch import Tensor

Join = Callable[[str, str], str]  # (question, passage) -> what the generator reads


def plain_join(question: str, passage: str) -> str:
    """What a generator reads unless told otherwise."""
    return f"{question} // {passage}"


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
        join: Join = plain_join,
    ) -> RagInputs:
        """Each passage beside the question, shortened where both are over `longest` tokens.

        p(z|x) is the softmax of the scores; the scores of probabilities are their logarithms."""
        texts = [self.joined(question, passage, join, longest) for passage in passages]
        return RagInputs.from_texts(texts, scores, self.tokenizer, longest)

    def joined(self, question: str, passage: str, join: Join, longest: int) -> str:
        """Question and passage, the passage shortened so that it is at most `longest` tokens."""
        return joined(question, passage, join, self.tokenizer, longest)

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
