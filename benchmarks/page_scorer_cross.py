"""A small cross-encoder: question and passage together through six layers to one score.

    nice -n 19 .venv/bin/python -m benchmarks.page_scorer_cross --data DATA --out OUT

Trained by a softmax over one right passage and three near ones. The budget is CPU time, so that a
run may be stopped and go on (SIGSTOP, SIGCONT). Starts from the reader's weights, which come from
all-MiniLM-L6-v2 and know how to hold a question against a passage, or from all-MiniLM-L6-v2's."""

from __future__ import annotations

import argparse
import math
import os
import random
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from benchmarks.page_scorer_data import Group, groups
from rag_app.answering.span_model import FOLDER as READER
from rag_app.retrieval.bert import Bert
from rag_app.retrieval.embedding import batches
from training.model import encoder_folder

_LONGEST, _LONGEST_QUESTION = 232, 48  # tokens
_GROUPS = 8  # in a batch
_NEAR = 64  # batches among which groups of like lengths are put together
_WARMUP = 40  # steps
_SAVED = 0.1  # of the budget, from one look at what is held out to the next
_HELD_OUT = 200  # groups
Pair = tuple[list[int], int]  # token ids, and where the passage begins


class CrossEncoder(nn.Module):
    """A BERT with one score for its first state and the mean of all."""

    def __init__(self, folder: Path) -> None:
        from transformers import BertModel

        super().__init__()
        options: Any = {"attention_probs_dropout_prob": 0.0, "hidden_dropout_prob": 0.0}
        self.bert: Any = BertModel.from_pretrained(
            folder,
            local_files_only=True,
            add_pooling_layer=False,
            attn_implementation="eager",
            dtype=torch.float32,
            **options,
        )
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        self.head = nn.Linear(2 * self.bert.config.hidden_size, 1)
        nn.init.normal_(self.head.weight, std=0.02)

    def forward(self, pairs: Sequence[Pair]) -> Tensor:
        """A score for each pair."""
        ids, mask, kinds = tensors(pairs, -(-max(len(i) for i, _ in pairs) // 8) * 8)
        with torch.autocast("cpu", torch.bfloat16):
            hidden = self.bert(input_ids=ids, attention_mask=mask, token_type_ids=kinds)[0]
        return pooled(self.head, hidden.float(), mask)


def pooled(head: nn.Linear, hidden: Tensor, mask: Tensor) -> Tensor:
    """Scores from hidden states."""
    weights = mask[..., None].to(hidden.dtype)
    mean = (hidden * weights).sum(1) / weights.sum(1)
    scores: Tensor = head(torch.cat([hidden[:, 0], mean], 1))[:, 0]
    return scores


def tensors(pairs: Sequence[Pair], width: int) -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask and kinds, padded."""
    ids = torch.zeros(len(pairs), width, dtype=torch.long)
    mask, kinds = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, (tokens, first) in enumerate(pairs):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        mask[row, : len(tokens)] = 1
        kinds[row, first : len(tokens)] = 1
    return ids, mask, kinds


class Pairs:
    """Texts to token ids: `[CLS] question [SEP] passage [SEP]`."""

    def __init__(self) -> None:
        self._tokenizer = Tokenizer.from_file(str(encoder_folder() / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._ends = [self._tokenizer.token_to_id(token) or 0 for token in ("[CLS]", "[SEP]")]

    def of(self, question: str, texts: Sequence[str]) -> list[Pair]:
        """The pairs of one question."""
        cls, sep = self._ends
        found = self._tokenizer.encode_batch([question, *texts], add_special_tokens=False)
        head = [cls, *found[0].ids[:_LONGEST_QUESTION], sep]
        room = _LONGEST - len(head) - 1
        return [([*head, *one.ids[:room], sep], len(head)) for one in found[1:]]


class Scorer:
    """The trained network as the app would run it, in batches of like lengths."""

    def __init__(self, file: Path) -> None:
        model = CrossEncoder(READER)
        model.load_state_dict({k: v.float() for k, v in load_file(file).items()}, strict=False)
        self._head = model.head.eval()
        weights = {name: one.numpy() for name, one in model.bert.state_dict().items()}
        self._bert = Bert(weights, model.bert.config)
        self._pairs = Pairs()

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers."""
        pairs = self._pairs.of(question, texts)
        scores = [0.0] * len(pairs)
        with torch.inference_mode():
            for rows, width in batches([len(ids) for ids, _ in pairs]):
                ids, mask, kinds = tensors([pairs[i] for i in rows], width)
                hidden = self._bert(ids.numpy(), mask.numpy(), kinds.numpy())
                found = pooled(self._head, torch.from_numpy(hidden), mask)
                for row, score in zip(rows, found.tolist(), strict=True):
                    scores[row] = score
        return scores


def ordered(made: list[Group], encoder: Pairs, rng: random.Random) -> Iterator[list[list[Pair]]]:
    """Batches of groups of like lengths, in a new order."""
    rng.shuffle(made)
    for first in range(0, len(made), _GROUPS * _NEAR):
        some = made[first : first + _GROUPS * _NEAR]
        near = [encoder.of(group.question, group.texts) for group in some]
        near.sort(key=lambda group: max(len(ids) for ids, _ in group))
        found = [near[i : i + _GROUPS] for i in range(0, len(near), _GROUPS)]
        rng.shuffle(found)
        yield from found


def loss(model: nn.Module, batch: Sequence[Sequence[Pair]]) -> Tensor:
    """Cross-entropy of the right passage, which stands first in its group."""
    scores = model([pair for group in batch for pair in group]).view(len(batch), -1)
    return nn.functional.cross_entropy(scores, torch.zeros(len(batch), dtype=torch.long))


def train(given: argparse.Namespace) -> None:
    """One run; writes weights and a log as it goes."""
    torch.manual_seed(7)
    torch.set_num_threads(1)
    (given.out / "pid").write_text(str(os.getpid()), encoding="utf-8")
    model = CrossEncoder(READER if given.start == "reader" else encoder_folder())
    learning = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=0.0, betas=(0.9, 0.99), weight_decay=0.01)
    made, encoder, rng = groups(given.data, given.cache or given.out), Pairs(), random.Random(7)
    held, made = list(ordered(made[:_HELD_OUT], encoder, rng)), made[_HELD_OUT:]
    clock, saved, losses = Clock(given.minutes, given.until), 0.0, list[float]()
    print(len(made), "groups; held out, before:", judged(model, held), flush=True)
    for step, batch in enumerate(chain.from_iterable(repeatedly(made, encoder, rng))):
        progress = clock.progress()
        if progress >= 1 or progress - saved >= _SAVED:
            keep(model, given.out)
            saved = progress
            print(
                step, f"{progress:.2f} loss {np.mean(losses):.4f}", judged(model, held), flush=True
            )
            losses = []
        if progress >= 1:
            return
        falling = 0.5 + 0.5 * math.cos(math.pi * progress)
        for part in optimizer.param_groups:
            part["lr"] = given.rate * falling * min(1.0, (step + 1) / _WARMUP)
        found = loss(model, batch)
        torch.autograd.backward(found)
        nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(found.item())


def repeatedly(
    made: list[Group], encoder: Pairs, rng: random.Random
) -> Iterator[Iterator[list[list[Pair]]]]:
    """One pass after the other."""
    while True:
        yield ordered(made, encoder, rng)


class Clock:
    """How much of the budget is spent: of CPU time, or of the time of day, whichever is more."""

    def __init__(self, minutes: float, until: float) -> None:
        self._budget, self._until = 60 * minutes, 60 * until
        self._spent, self._began = time.process_time(), time.monotonic()

    def progress(self) -> float:
        """From 0 to 1."""
        spent = (time.process_time() - self._spent) / self._budget
        return max(spent, (time.monotonic() - self._began) / self._until)


def judged(model: nn.Module, held: Sequence[Sequence[Sequence[Pair]]]) -> tuple[float, float]:
    """Mean loss on groups held out, and the share whose right passage is first."""
    total, first, count = 0.0, 0, 0
    with torch.inference_mode():
        for batch in held:
            scores = model([pair for group in batch for pair in group]).view(len(batch), -1)
            right = torch.zeros(len(batch), dtype=torch.long)
            total += float(nn.functional.cross_entropy(scores, right)) * len(batch)
            first += int((scores.argmax(1) == 0).sum())
            count += len(batch)
    return round(total / count, 4), round(first / count, 4)


def keep(model: nn.Module, out: Path) -> None:
    """The weights in 16 bits, replaced in one step."""
    part = out / "cross.part"
    kept = {name: p.detach().half().contiguous() for name, p in model.state_dict().items()}
    save_file(kept, part)
    part.replace(out / "cross.safetensors")


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with train/ and dev/")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, help="where mined passages are kept")
    parser.add_argument("--start", choices=("reader", "minilm"), default="reader")
    parser.add_argument("--minutes", type=float, default=45.0, help="of CPU time")
    parser.add_argument("--until", type=float, default=1e9, help="minutes by the clock")
    parser.add_argument("--rate", type=float, default=5e-5)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    train(given)


if __name__ == "__main__":
    main()
