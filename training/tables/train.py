"""Teaches the weights by which queries over tables are ranked: some minutes on one core.

    python -m training.tables.train s.pkl w0.pkl … --out rag_app/answering/query_ranking.npz

Each file is one of `training.tables.examples`. The loss is the negative logarithm of the chance of
all right candidates together (maximum marginal likelihood, as in Pasupat and Liang 2015): which of
those that give the right answer was meant is left open. A fifth of the tables is held back, by
name; `--all` teaches with them, too, for the weights that are kept."""

from __future__ import annotations

import argparse
import pickle
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from rag_app.answering.query_ranking import (
    BUCKETS,
    CONDITIONS,
    DENSE,
    KINDS,
    OPERATORS,
    VALUES,
)
from rag_app.retrieval.embedding import MiniLmEmbedder
from training.tables.examples import Example

_EMBEDDED = {"operator": 12, "kind": 4, "condition": 8}
_HIDDEN = 64
_OF_VALUES = 4  # dimensions in which words and texts of few are held against each other
_SEEN = 320  # candidates of a question in one step, and all that are right
_STEP = 8  # questions
_RATE = 2e-3
_SAID = len(OPERATORS) + len(KINDS) + len(CONDITIONS)
_CAUTIONS = (0.0, 0.3, 0.5, 0.7, 0.9)


class Network(nn.Module):
    """As `rag_app.answering.query_ranking` computes it."""

    def __init__(self) -> None:
        super().__init__()
        self.operator = nn.Embedding(len(OPERATORS), _EMBEDDED["operator"])
        self.kind = nn.Embedding(len(KINDS), _EMBEDDED["kind"])
        self.condition = nn.Embedding(len(CONDITIONS), _EMBEDDED["condition"])
        self.first = nn.Linear(DENSE + sum(_EMBEDDED.values()), _HIDDEN)
        self.second = nn.Linear(_HIDDEN, _HIDDEN)
        self.last = nn.Linear(_HIDDEN, 1, bias=False)
        self.of_vector = nn.Linear(384, _SAID, bias=False)
        self.of_grams = nn.EmbeddingBag(BUCKETS, _SAID, mode="sum")
        self.of_names = nn.Linear(384, len(OPERATORS), bias=False)
        self.value = nn.Embedding(VALUES, _OF_VALUES, padding_idx=0)
        self.of_grams_values = nn.EmbeddingBag(BUCKETS, _OF_VALUES, mode="sum")
        self.drop = nn.Dropout(0.1)
        for zero in (self.of_grams, self.of_grams_values, self.of_names):
            nn.init.zeros_(zero.weight)
        self.register_buffer("mean", torch.zeros(DENSE))
        self.register_buffer("spread", torch.ones(DENSE))

    def forward(self, one: Example, kept: np.ndarray) -> torch.Tensor:
        """(kept,) scores."""
        seen = one.seen
        dense = (torch.from_numpy(seen.dense[kept]) - self.mean) / self.spread
        operators = torch.from_numpy(seen.operators[kept])
        kinds = torch.from_numpy(seen.kinds[kept])
        conditions = torch.from_numpy(seen.conditions[kept])
        embedded = [
            dense,
            self.operator(operators),
            self.kind(kinds),
            self.condition(conditions).sum(1),
        ]
        hidden = torch.relu(self.first(torch.cat(embedded, 1)))
        hidden = torch.relu(self.second(self.drop(hidden)))
        grams = torch.from_numpy(seen.grams)[None]
        said = self.of_vector(torch.from_numpy(seen.question)) * 4 + self.of_grams(grams)[0]
        of_operators, of_kinds, of_conditions = said.split(
            [len(OPERATORS), len(KINDS), len(CONDITIONS)]
        )
        of_names = self.of_names(torch.from_numpy(seen.names)) * 4
        of_values = self.value(torch.from_numpy(seen.values[kept])).sum(1)
        scores: torch.Tensor = (
            self.last(hidden)[:, 0]
            + of_operators[operators]
            + of_kinds[kinds]
            + of_conditions[conditions].sum(1)
            + of_names[torch.from_numpy(seen.columns[kept]), operators]
            + of_values @ self.of_grams_values(grams)[0]
        )
        return scores

    def weights(self) -> dict[str, np.ndarray]:
        """By the names that `query_ranking` knows."""
        named = {
            "mean": self.mean,
            "spread": self.spread,
            "operator": self.operator.weight,
            "kind": self.kind.weight,
            "condition": self.condition.weight,
            "w0": self.first.weight,
            "b0": self.first.bias,
            "w1": self.second.weight,
            "b1": self.second.bias,
            "w2": self.last.weight[0],
            "of_vector": self.of_vector.weight * 4,
            "of_grams": self.of_grams.weight,
            "of_names": self.of_names.weight * 4,
            "value": self.value.weight,
            "of_grams_values": self.of_grams_values.weight,
        }
        return {name: one.detach().numpy().astype(np.float16) for name, one in named.items()}


def held_back(one: Example) -> bool:
    """Whether its table is of the fifth that is not taught from."""
    return zlib.crc32(one.id.rpartition("-")[0].encode()) % 5 == 0


def judged(network: Network, examples: Sequence[Example]) -> str:
    """The share of the questions whose likeliest answer is right, and wrong, by caution."""
    network.eval()
    found: list[tuple[float, bool]] = []
    for one in examples:
        with torch.no_grad():
            chances = torch.softmax(network(one, np.arange(len(one.right))), 0).numpy()[:-1]
        best = int(chances.argmax()) if len(chances) else -1
        found.append((float(chances.max(initial=0.0)), best >= 0 and bool(one.right[best])))
    shares = []
    for caution in _CAUTIONS:
        said = [right for chance, right in found if chance >= caution]
        good, bad = sum(said) / len(found), (len(said) - sum(said)) / len(found)
        shares.append(f"{caution}: {good:.3f} right, {bad:.3f} wrong")
    return "; ".join(shares)


def taught(examples: Sequence[Example], rounds: int, seed: int) -> Network:
    """A network taught with examples."""
    torch.manual_seed(seed)
    chance = np.random.default_rng(seed)
    network = Network()
    dense = np.concatenate([one.seen.dense for one in examples[:400]])
    network.mean.copy_(torch.from_numpy(dense.mean(0)))
    network.spread.copy_(torch.from_numpy(dense.std(0) + 1e-3))
    optimizer = torch.optim.AdamW(network.parameters(), lr=_RATE, weight_decay=0.05)
    steps = rounds * -(-len(examples) // _STEP)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=steps + 1)
    began = time.monotonic()
    for number in range(rounds):
        network.train()
        total = 0.0
        order = chance.permutation(len(examples))
        for first in range(0, len(order), _STEP):
            batch = [examples[i] for i in order[first : first + _STEP]]
            loss = torch.stack([_loss(network, one, chance) for one in batch]).mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            total += float(loss.detach()) * len(batch)
        seconds = time.monotonic() - began
        print(f"round {number}: {total / len(order):.3f}, {seconds:.0f} s", flush=True)
    return network


def _loss(network: Network, one: Example, chance: np.random.Generator) -> torch.Tensor:
    count = len(one.right)
    kept = np.arange(count)
    if count > _SEEN:
        some = chance.choice(count, _SEEN, replace=False)
        kept = np.union1d(np.union1d(some, np.flatnonzero(one.right)), [count - 1])
    scores = network(one, kept)
    right = torch.from_numpy(one.right[kept])
    return torch.logsumexp(scores, 0) - torch.logsumexp(scores[right], 0)


def main(argv: Sequence[str]) -> int:
    """Teach, judge and write; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--weigh", type=int, default=2, help="how often the first file is seen")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    parts: list[list[Example]] = [pickle.loads(file.read_bytes()) for file in options.files]
    examples = [one for place, part in enumerate(parts) for one in part]
    if not options.all:
        examples = [one for one in examples if not held_back(one)]
    again = [one for one in parts[0] if options.all or not held_back(one)]
    network = taught(examples + again * (options.weigh - 1), options.rounds, 0)
    for file, part in zip(options.files, parts, strict=True):
        held = [one for one in part if held_back(one)]
        if held and not options.all:
            print(file.name, judged(network, held))
    if options.out:
        belongs = np.array(MiniLmEmbedder(1).fingerprint)
        np.savez_compressed(options.out, belongs=belongs, **network.weights())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
