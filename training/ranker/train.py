"""Teach the sentence ranker which sentences hold an answer.

    python -m training.ranker.train --data DATA --work WORK --out OUT [--start FOLDER]

`--data`: folder with `train/*.jsonl.gz`, as for the reader, from whose weights it begins, if not
from those of an earlier ranker, `--start`. Groups are made once and kept in WORK, and so is how far
it came every 50 steps. A softmax over all sentences of a question's passages and "none of them"
(score 0): each sentence that holds the answer against all that do not. Every fifth document of the
library is kept aside; how well its questions' sentences are found is printed at the end. Uses a
GPU, if there is one."""

from __future__ import annotations

import argparse
import hashlib
import json
import pickle
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]
from torch import Tensor, nn

from rag_app.answering.sentence_ranker import ABOUT, NOT_READ, READER, RankerInput, RankerTokens
from rag_app.retrieval.embedding import MiniLmEmbedder
from training.library import SPOKEN, WRITTEN, folders, questions
from training.ranker.groups import Group, of_contexts, of_library, of_spans
from training.writer.contexts import written

PASSAGES = 6  # of a group that are read in a step; those with the answer first
ROWS = 48  # passages that are read together
AT_ONCE = 24  # groups of a step
ROUNDS = 2  # that everything is gone through
SHARES = {"library": 1.0, "spoken": 1.5, "contexts": 0.6, "spans": 0.5}  # of each kind in a round
RATE, WARM = 1.5e-4, 60
HELD = 5  # of so many documents of the library one is kept aside
_WORDS = "bert.embeddings.word_embeddings.weight"
_FILE = "model.safetensors"


class Network(nn.Module):
    """The reader's encoder, whose word embeddings stay as they are, and a head for sentences."""

    def __init__(self, rows: int = ROWS, width: int = 32, start: Path | None = None) -> None:
        """Batches are of so many rows, and of a multiple of so many tokens: each new shape costs a
        second; a row that nothing fills costs as much as others."""
        from transformers import BertModel

        super().__init__()
        self._rows, self._width = rows, width
        self.bert = BertModel.from_pretrained(
            READER,
            add_pooling_layer=False,
            attn_implementation="eager",
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            dtype=torch.float32,
        )
        self.head = nn.Linear(self.bert.config.hidden_size, 1)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        self.bert.embeddings.word_embeddings.weight.requires_grad_(False)
        if start is not None:
            learnt = load_file(start / _FILE)
            own = {k if k.startswith("head.") else f"bert.{k}": v for k, v in learnt.items()}
            self.load_state_dict(own, strict=False)

    def forward(self, given: Sequence[RankerInput], sizes: Sequence[int]) -> Tensor:
        """The scores of all sentences of all inputs, in order; `sizes`: how many each has."""
        base, device = np.cumsum([0, *sizes]), self.bert.device
        sums = torch.zeros(int(base[-1]), self.bert.config.hidden_size, device=device)
        counts = torch.zeros(int(base[-1]), device=device)
        order = sorted(range(len(given)), key=lambda i: -len(given[i].ids))
        with torch.autocast(device.type, torch.bfloat16):
            for at in range(0, len(order), self._rows):
                part = order[at : at + self._rows]
                tensors = self._tensors([given[i] for i in part], base[part])
                ids, mask, kinds, owner = (one.to(device) for one in tensors)
                hidden = self.bert(ids, mask, kinds).last_hidden_state
                inside = owner >= 0
                sums = sums.index_add(0, owner[inside], hidden[inside].float())
                counts = counts.index_add(0, owner[inside], inside[inside].float())
        scores = self.head(sums / counts.clamp(min=1)[:, None])[:, 0].float()
        read: Tensor = scores.masked_fill(counts == 0, NOT_READ)
        return read

    def _tensors(self, given: Sequence[RankerInput], base: np.ndarray) -> tuple[Tensor, ...]:
        length = -(-max(len(one.ids) for one in given) // self._width) * self._width
        ids = torch.zeros(self._rows, length, dtype=torch.long)
        mask, kinds, owner = torch.zeros_like(ids), torch.zeros_like(ids), torch.full_like(ids, -1)
        mask[:, 0] = 1
        for row, (one, first) in enumerate(zip(given, base, strict=True)):
            size = len(one.ids)
            ids[row, :size] = torch.tensor(one.ids)
            mask[row, :size] = 1
            kinds[row, one.first : size] = 1
            own = torch.tensor(one.owner)
            owner[row, :size] = torch.where(own >= 0, own + int(first), own)
        return ids, mask, kinds, owner


def loss_of(scores: Tensor, gold: Tensor) -> Tensor:
    """What each sentence with the answer loses to all without it and to "none"; without any such
    sentence, what "none" loses to them."""
    rest = torch.logsumexp(torch.cat([scores.new_zeros(1), scores[~gold]]), 0)
    if not gold.any():
        return rest
    right = scores[gold]
    return (torch.logaddexp(right, rest) - right).mean()


def some_of(group: Group, rng: random.Random) -> list[int]:
    """The passages that are read in a step: those with the answer, and of the first others."""
    right = [i for i, gold in enumerate(group.gold) if any(gold)]
    others = [i for i, gold in enumerate(group.gold) if not any(gold)][: 2 * PASSAGES]
    rng.shuffle(others)
    chosen = right[:PASSAGES] + others[: max(1, PASSAGES - len(right))]
    rng.shuffle(chosen)
    return [i for i in chosen if group.passages[i].sentences]


def train(
    groups: Sequence[Group], tokens: RankerTokens, seed: int, state: Path, start: Path | None
) -> Network:
    """One way through the groups; goes on where it stood if `state` is there."""
    torch.manual_seed(seed)
    rng = random.Random(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    network = Network(start=start).to(device)
    learning = [p for p in network.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learning, 0.0, (0.9, 0.99), weight_decay=0.01, fused=True)
    order = rng.sample(range(len(groups)), len(groups))
    steps = len(order) // AT_ONCE
    losses: list[float] = []
    read, began, first = 0, time.monotonic(), 0
    if state.exists():
        kept = torch.load(state, map_location="cpu", weights_only=False)
        network.load_state_dict(kept["network"])
        optimizer.load_state_dict(kept["optimizer"])
        rng.setstate(kept["chance"])
        first = kept["step"]
    for step in range(first, steps):
        falling = (steps - step) / steps * 1.2
        for part in optimizer.param_groups:
            part["lr"] = RATE * min(1.0, (step + 1) / WARM, max(0.02, falling))
        batch = [groups[index] for index in order[step * AT_ONCE : (step + 1) * AT_ONCE]]
        chosen = [some_of(group, rng) for group in batch]
        given, sizes, parts = [], [], []
        for group, some in zip(batch, chosen, strict=True):
            passages = [group.passages[i] for i in some]
            given += tokens.inputs(group.question, passages)
            sizes += [len(one.sentences) for one in passages]
            parts.append(sum(len(one.sentences) for one in passages))
        scores = network(given, sizes).split(parts)
        total = torch.zeros((), device=device)
        for group, some, each in zip(batch, chosen, scores, strict=True):
            right = [gold for i in some for gold in group.gold[i]]
            gold = torch.tensor(right, dtype=torch.bool, device=device)
            total = total + loss_of(each, gold) / AT_ONCE
        read += sum(len(one.ids) for one in given)
        torch.autograd.backward(total)
        torch.nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(float(total.detach()))
        if step % 50 == 49:
            speed = read / (time.monotonic() - began)
            print(
                f"{step + 1}/{steps} loss {np.mean(losses):.3f}, {speed:.0f} tokens/s", flush=True
            )
            losses = []
            keep(state, network, optimizer, chance=rng.getstate(), step=step + 1)
    state.unlink(missing_ok=True)  # what is taught next begins anew
    return network


def keep(
    state: Path, network: nn.Module, optimizer: torch.optim.Optimizer, **place: object
) -> None:
    """Write how far teaching came, in one step."""
    parts = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
    half = state.with_suffix(".half")
    torch.save(parts | place, half)
    half.replace(state)


@torch.no_grad()
def judge(network: Network, groups: Sequence[Group], tokens: RankerTokens) -> dict[str, float]:
    """How often all that is wanted is among the first k, and how well "none" is told apart."""
    hits: Counter[int] = Counter()
    right: list[bool] = []
    best: list[float] = []
    for group in groups:
        given = tokens.inputs(group.question, group.passages)
        scores = network(given, [len(one.sentences) for one in group.passages])
        known = [gold for one in group.gold for gold in one]
        gold = torch.tensor(known, dtype=torch.bool, device=scores.device)
        right.append(bool(gold.any()))
        best.append(float(torch.logsumexp(scores, 0)))
        if right[-1]:
            place = torch.argsort(torch.argsort(-scores))[gold]
            hits.update(k for k in (1, 3, 5, 8, 12) if int(place.max()) < k)
    answered = max(1, sum(right))
    found = {f"all among {k}": hits[k] / answered for k in (1, 3, 5, 8, 12)}
    return found | {"told apart (AUROC)": float(roc_auc_score(right, best))}


def export(network: Network, folder: Path) -> None:
    """Weights in 16 bits, without the word embeddings, which are the reader's."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        name.removeprefix("bert."): one.detach().half().cpu().contiguous()
        for name, one in network.state_dict().items()
        if name != _WORDS
    }
    file = folder / _FILE
    save_file(state, file)
    about = {"sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    (folder / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def made(data: Path, work: Path) -> dict[str, list[Group]]:
    """The groups by kind, made once."""
    kept = work / "groups.pickle"
    if not kept.exists():
        work.mkdir(parents=True, exist_ok=True)
        embedder = MiniLmEmbedder()
        groups = {
            kind: [g for one in folders() for g in of_library(one, questions(one, [file]))]
            for kind, file in (("library", WRITTEN), ("spoken", SPOKEN))
        }
        groups |= {
            "contexts": list(of_contexts(list(written()), embedder)),
            "spans": list(of_spans(data, embedder)),
        }
        kept.write_bytes(pickle.dumps(groups))
    found: dict[str, list[Group]] = pickle.loads(kept.read_bytes())
    return found


def held_of(every: dict[str, list[Group]]) -> set[str]:
    """The documents that are kept aside."""
    names = sorted({one.document for one in every["library"]})
    return set(names[HELD - 1 :: HELD])


def drawn(groups: Sequence[Group], share: float, rng: random.Random) -> list[Group]:
    """All as often as `share` is whole, and of what is left of it so many."""
    whole, rest = divmod(share, 1)
    return [*groups] * int(whole) + rng.sample(groups, int(rest * len(groups)))


def main(argv: Sequence[str]) -> Any:
    """Train and export; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="where the groups are kept")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="folder of weights to go on from")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(argv)
    every = made(given.data, given.work)
    held = held_of(every)
    mine = {
        kind: [one for one in every[kind] if one.document not in held]
        for kind in ("library", "spoken")
    }
    groups = every | mine
    rng = random.Random(given.seed)
    taught = [
        one
        for _ in range(ROUNDS)
        for kind in SHARES
        for one in drawn(groups[kind], SHARES[kind], rng)
    ]
    tokens = RankerTokens()
    network = train(taught, tokens, given.seed, given.work / "state.pt", given.start)
    export(network, given.out)
    for kind in mine:
        aside = [one for one in every[kind] if one.document in held]
        print(kind, json.dumps(judge(network, aside, tokens), indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
