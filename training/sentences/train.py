"""Teach the model of sentences which of them answer a question: a LoRA adapter (Hu et al. 2021).

    python -m training.sentences.train --data DATA --work WORK --base FOLDER --out OUT

`--base`: all-mpnet-base-v2 as it was published; `--data` and `--work` as for the ranker, whose
groups are used. Question and titled sentence become a vector each; of a batch's sentences, its own
is to be the nearest to each question (van den Oord et al. 2018). Half of a batch is of one library,
so that the others' sentences are near misses, and each question brings one that stands beside its
own in what the app found. Goes on from WORK where it was broken off. What the ranker keeps aside
is kept aside here."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from training.ranker.groups import Group
from training.ranker.train import drawn, held_of, keep, made
from training.writer.adapter import CONFIG, RANK, WEIGHTS, AdaptedProjection

AT_ONCE = 32  # questions of a step
LEAST = 8  # of a library, that it makes half a step
SHARPNESS = 20.0  # of the softmax over cosines, as the model was taught before
RATE, WARM, ROUNDS = 4e-4, 30, 2
LOWEST = 6  # layer that is taught, of twelve
LONGEST, ROWS, WIDTH = 72, 16, 16  # tokens; texts read together, of a multiple of so many tokens
SHARES = {"library": 0.6, "spoken": 1.0, "contexts": 0.5, "spans": 0.2}  # of each kind in a round
NEAR = 8  # passages, of which a near miss is drawn
TELLS = 25  # characters of one
_NAME = "base_model.model.{}.lora_{}.weight"  # as peft calls them
_PARTS = {"down": "A", "up": "B"}
_SHUT = 1e4


class Network(nn.Module):
    """MPNet in 16 bits with an adapter from layer `LOWEST` on: texts to unit vectors."""

    def __init__(self, base: Path) -> None:
        from tokenizers import Tokenizer
        from transformers import MPNetModel

        super().__init__()
        model = MPNetModel.from_pretrained(
            base,
            add_pooling_layer=False,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            dtype=torch.bfloat16,
        )
        self.net = model.requires_grad_(False)
        for layer in self.net.encoder.layer[LOWEST:]:
            attention = layer.attention.attn
            for name in "qkvo":
                setattr(attention, name, _adapted(getattr(attention, name)))
            layer.intermediate.dense = _adapted(layer.intermediate.dense)
            layer.output.dense = _adapted(layer.output.dense)
        self._tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(LONGEST)

    def forward(self, texts: Sequence[str]) -> Tensor:
        """(texts, width)."""
        ids = [one.ids for one in self._tokenizer.encode_batch(list(texts))]
        order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
        made: list[Tensor] = [torch.empty(0)] * len(ids)
        for at in range(0, len(order), ROWS):
            part = order[at : at + ROWS]
            length = -(-len(ids[part[0]]) // WIDTH) * WIDTH
            given = torch.full((len(part), length), 1)
            mask = torch.zeros(len(part), length)
            for row, i in enumerate(part):
                given[row, : len(ids[i])] = torch.tensor(ids[i])
                mask[row, : len(ids[i])] = 1
            hidden = self._hidden(given, mask).float()
            means = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
            for row, vector in zip(part, functional.normalize(means, dim=1), strict=True):
                made[row] = vector
        return torch.stack(made)

    def _hidden(self, ids: Tensor, mask: Tensor) -> Tensor:
        encoder = self.net.encoder
        with torch.no_grad():  # nothing below what is taught needs a slope
            hidden: Tensor = self.net.embeddings(input_ids=ids)
            bias = encoder.compute_position_bias(hidden[:1])
            bias = bias + ((mask - 1) * _SHUT)[:, None, None, :].to(hidden.dtype)
            for layer in encoder.layer[:LOWEST]:
                hidden = _through(layer, hidden, bias)
        for layer in encoder.layer[LOWEST:]:
            hidden = _through(layer, hidden, bias)
        return hidden

    def save(self, folder: Path) -> None:
        """Write the adapter, as peft would."""
        folder.mkdir(parents=True, exist_ok=True)
        held = {
            _NAME.format(product, _PARTS[part]): one.detach().half().contiguous()
            for name, one in self.net.named_parameters()
            for product, _, part in [name.rpartition(".")]
            if one.requires_grad
        }
        save_file(held, folder / WEIGHTS)
        layers = [*range(LOWEST, self.net.config.num_hidden_layers)]
        about = {"r": RANK, "lora_alpha": RANK, "peft_type": "LORA", "layers_to_transform": layers}
        (folder / CONFIG).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _adapted(base: nn.Linear) -> AdaptedProjection:
    return AdaptedProjection(base, scale=RANK)


def _through(layer: Any, hidden: Tensor, bias: Tensor) -> Tensor:
    attention, (texts, length, width) = layer.attention.attn, hidden.shape
    heads = attention.num_attention_heads
    query, key, value = (
        project(hidden).view(texts, length, heads, width // heads).transpose(1, 2)
        for project in (attention.q, attention.k, attention.v)
    )
    seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    seen = seen.transpose(1, 2).reshape(texts, length, width)
    hidden = layer.attention.LayerNorm(attention.o(seen) + hidden)
    inner = functional.gelu(layer.intermediate.dense(hidden))
    told: Tensor = layer.output.LayerNorm(layer.output.dense(inner) + hidden)
    return told


@dataclass(frozen=True, slots=True)
class Draw:
    """A question, a sentence that answers it, all that do, and a near miss, if there is one."""

    question: str
    right: str
    rights: frozenset[str]
    misses: tuple[str, ...]


def draw(group: Group, rng: random.Random) -> Draw:
    """One of the sentences that answer, and one that does not."""
    each = [
        (passage.sentence(number), gold, place)
        for place, (passage, golds) in enumerate(zip(group.passages, group.gold, strict=True))
        for number, gold in enumerate(golds)
    ]
    rights = frozenset(text for text, gold, _ in each if gold)
    near = [
        text
        for text, gold, place in each
        if not gold and place < NEAR and text not in rights and len(text.partition("; ")[2]) > TELLS
    ]
    right = rng.choice([text for text, gold, _ in each if gold])
    return Draw(group.question, right, rights, tuple(rng.sample(near, min(1, len(near)))))


def batches(parts: Sequence[Sequence[Group]], rng: random.Random) -> Iterator[list[Group]]:
    """Steps of a round; `parts`: groups of one library, or of one kind, each."""
    half = AT_ONCE // 2
    halves = []
    for part in parts:
        mixed = rng.sample(part, len(part))
        halves += [mixed[at : at + half] for at in range(0, len(mixed), half)]
    halves = [one for one in halves if len(one) >= LEAST]
    rng.shuffle(halves)
    for one, other in zip(halves[::2], halves[1::2], strict=False):
        yield [*one, *other]


def loss_of(network: Network, drawn_of: Sequence[Draw]) -> Tensor:
    """What the sentence of each question loses to the batch's other ones."""
    texts = [one.right for one in drawn_of] + [text for one in drawn_of for text in one.misses]
    asked, said = network([one.question for one in drawn_of]), network(texts)
    scores = asked @ said.T * SHARPNESS
    same = [
        [at != row and text in one.rights for at, text in enumerate(texts)]
        for row, one in enumerate(drawn_of)
    ]
    scores = scores.masked_fill(torch.tensor(same), -_SHUT)
    return functional.cross_entropy(scores, torch.arange(len(drawn_of)))


def train(network: Network, plan: Sequence[list[Group]], state: Path, seed: int) -> None:
    """Through the plan; goes on where it stood if `state` is there."""
    rng = random.Random(seed)
    learning = [one for one in network.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(learning, 0.0, (0.9, 0.99), weight_decay=0.01)
    first, losses, began = 0, list[float](), time.monotonic()
    if state.exists():
        kept = torch.load(state, weights_only=False)
        network.load_state_dict(kept["network"])
        optimizer.load_state_dict(kept["optimizer"])
        rng.setstate(kept["chance"])
        first = kept["step"]
    for step in range(first, len(plan)):
        falling = (len(plan) - step) / len(plan) * 1.2
        for part in optimizer.param_groups:
            part["lr"] = RATE * min(1.0, (step + 1) / WARM, max(0.02, falling))
        loss = loss_of(network, [draw(group, rng) for group in plan[step]])
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(loss.detach()))
        if step % 50 == 49:
            spent = time.monotonic() - began
            print(f"{step + 1}/{len(plan)} loss {np.mean(losses):.3f}, {spent:.0f} s", flush=True)
            losses = []
            keep(state, network, optimizer, chance=rng.getstate(), step=step + 1)


def taught(every: dict[str, list[Group]], rng: random.Random) -> list[list[Group]]:
    """What is gone through in a round, by library or kind."""
    held, parts = held_of(every), defaultdict[str, list[Group]](list)
    for kind, groups in every.items():
        aside = held if kind in ("library", "spoken") else set()
        able = [one for one in groups if one.document not in aside and any(map(any, one.gold))]
        for one in drawn(able, SHARES[kind], rng):
            parts[one.library or one.kind].append(one)
    return [*parts.values()]


def main(argv: Sequence[str]) -> int:
    """Teach and write the adapter; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="where the groups are kept")
    parser.add_argument("--base", type=Path, required=True, help="folder of all-mpnet-base-v2")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    torch.manual_seed(given.seed)
    rng = random.Random(given.seed)
    every = made(given.data, given.work)
    plan = [one for _ in range(ROUNDS) for one in batches(taught(every, rng), rng)]
    network = Network(given.base)
    train(network, plan, given.work / "sentences.pt", given.seed)
    network.save(given.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
