r"""Teach a writer to answer from passages: a LoRA adapter (Hu et al. 2021) of its layers.

    python -m training.writer.train --packs WORK/packs.npz --model WORK/unpacked --gguf FILE \
        --out WORK/run

`--packs`: see `packs`; `--model`: where the weights of the GGUF are kept dequantised (made once).
Only replies are learnt. Uses a GPU, if there is one. Goes on from OUT if it was broken off; ends
with OUT/adapter_model.safetensors, and says of what was kept aside how much it costs before and
after, and how often the word with which a reply begins is the right one."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file
from torch.nn import functional

from training.writer.adapter import AdaptedModel
from training.writer.packing import Pack, load

AT_ONCE = 16_000  # tokens of a step, with what fills the shorter sequences up
POOL = 400  # sequences among which those of like length are put together
WARM = 20  # steps until the learning rate is reached
KEEP = 300.0  # seconds between two states that are kept
_EVERY = 5  # steps between two lines of the log
_UNSEEN = -30_000.0  # instead of minus infinity, of which some kernels make no number


def unpacked(gguf: Path, folder: Path) -> Path:
    """The weights of a GGUF as transformers reads them, made once."""
    from transformers import AutoModelForCausalLM

    if not (folder / "config.json").exists():
        model = AutoModelForCausalLM.from_pretrained(
            str(gguf.parent), gguf_file=gguf.name, dtype=torch.bfloat16
        )
        tensors = {name: one.contiguous() for name, one in model.state_dict().items()}
        if model.config.tie_word_embeddings:
            del tensors["lm_head.weight"]
        config = model.config.to_dict()
        config.pop("quantization_config", None)  # they are numbers of 16 bits now
        folder.mkdir(parents=True, exist_ok=True)
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def adapted(folder: Path, lowest: int, start: Path | None) -> AdaptedModel:
    """The model of a folder with an adapter; see `AdaptedModel`."""
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.bfloat16, attn_implementation="sdpa"
    )
    return AdaptedModel(model, lowest, start)


def batches(packs: Sequence[Pack], most: int, lot: random.Random) -> list[list[Pack]]:
    """Packs of like length together, no more than `most` tokens as they are filled up."""
    order = lot.sample(packs, len(packs))
    made: list[list[Pack]] = []
    for at in range(0, len(order), POOL):
        batch: list[Pack] = []
        for one in sorted(order[at : at + POOL], key=lambda pack: len(pack.ids)):
            if batch and (len(batch) + 1) * len(one.ids) > most:
                made.append(batch)
                batch = []
            batch.append(one)
        made.append(batch)
    lot.shuffle(made)
    return made


def scores_of(model: Any, batch: Sequence[Pack]) -> tuple[torch.Tensor, torch.Tensor]:
    """What the model makes of each token that is wanted (wanted, vocabulary), and what each is."""
    base = model.get_base_model()
    device, long = base.device, torch.long
    width = max(len(one.ids) for one in batch)
    ids, positions = (torch.zeros(len(batch), width, dtype=long) for _ in range(2))
    mask = torch.full((len(batch), 1, width, width), _UNSEEN, dtype=base.dtype)
    for row, one in enumerate(batch):
        size = len(one.ids)
        ids[row, :size] = torch.from_numpy(one.ids.astype(np.int64))
        positions[row, :size] = torch.from_numpy(one.positions.astype(np.int64))
        mask[row, 0, :size, :size].masked_fill_(one.mask()[0, 0], 0.0)
        mask[row, 0, size:, 0] = 0.0  # what fills up sees something, and is seen by nothing
    seen = base.model(
        input_ids=ids.to(device),
        attention_mask=mask.to(device),
        position_ids=positions.to(device),
        use_cache=False,
    ).last_hidden_state.flatten(0, 1)
    at = np.concatenate([one.at + row * width for row, one in enumerate(batch)])
    targets = np.concatenate([one.targets for one in batch])
    scores = base.lm_head(seen[torch.from_numpy(at).to(device)]).float()
    return scores, torch.from_numpy(targets.astype(np.int64)).to(device)


def loss_of(model: Any, batch: Sequence[Pack]) -> torch.Tensor:
    """What a batch costs, by reply."""
    return _loss(*scores_of(model, batch), batch)


def _loss(scores: torch.Tensor, targets: torch.Tensor, batch: Sequence[Pack]) -> torch.Tensor:
    weights = np.concatenate([one.weights for one in batch]).astype(np.float32)
    losses = functional.cross_entropy(scores, targets, reduction="none")
    replies = sum(replies_of(one) for one in batch)
    return (losses * torch.from_numpy(weights).to(losses.device)).sum() / replies


@torch.no_grad()
def judged(model: Any, packs: Sequence[Pack]) -> dict[str, float]:
    """What packs cost by reply, and how often a reply begins with the right word."""
    cost = right = replies = 0.0
    for batch in batches(packs, AT_ONCE, random.Random(0)):
        scores, targets = scores_of(model, batch)
        first = np.concatenate([_firsts(one) for one in batch])
        hit = (scores.argmax(-1) == targets)[torch.from_numpy(first).to(targets.device)]
        many = sum(replies_of(one) for one in batch)
        cost += float(_loss(scores, targets, batch)) * many
        right += float(hit.sum())
        replies += many
    return {"loss": cost / replies, "status right": right / replies}


def _firsts(one: Pack) -> np.ndarray:
    """Which of the tokens that are wanted begin a reply."""
    return np.concatenate([[True], np.diff(one.at) != 1])


def replies_of(one: Pack) -> int:
    """How many replies a sequence has."""
    return int(one.parts.max())


class Run:
    """Steps over the packs, the same after a break as without one."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.out: Path = options.out
        self.out.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(options.seed)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        folder = unpacked(options.gguf, options.model)
        self.model = adapted(folder, options.lowest, options.start).to(self.device)
        self.weights = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.weights, lr=options.rate, weight_decay=0.0)
        stored = load(options.packs)
        self.held = [pack for pack, held in stored if held]
        packs = [pack for pack, held in stored if not held]
        lot = random.Random(options.seed)
        self.plan = [b for _ in range(options.epochs) for b in batches(packs, options.at_once, lot)]
        self.step = 0
        self._restore()

    def _rate(self) -> float:
        rising = (self.step + 1) / WARM
        falling = (len(self.plan) - self.step) / len(self.plan) * 1.2
        return float(self.options.rate * min(1.0, rising, max(0.03, falling)))

    def go(self) -> None:
        """To the end."""
        if self.step == 0:
            self._judge("before")
        kept = told = time.monotonic()
        losses: list[float] = []
        tokens = 0
        while self.step < len(self.plan):
            batch = self.plan[self.step]
            with torch.autocast(self.device, dtype=torch.bfloat16):
                loss = loss_of(self.model, batch)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
            for group in self.optimizer.param_groups:
                group["lr"] = self._rate()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.step += 1
            tokens += sum(len(one.ids) for one in batch)
            losses.append(float(loss.detach()))
            if self.step % _EVERY == 0:
                row = {"step": self.step, "of": len(self.plan), "loss": sum(losses) / len(losses)}
                row |= {"tokens_per_second": tokens / (time.monotonic() - told)}
                self._say(row)
                losses, tokens, told = [], 0, time.monotonic()
            if time.monotonic() - kept > KEEP:
                self._keep()
                kept = time.monotonic()
        self._keep()
        self.model.save(self.out)
        self._judge("after")

    def _judge(self, when: str) -> None:
        if self.held:
            self._say({"when": when} | judged(self.model, self.held))

    def _say(self, row: dict[str, Any]) -> None:
        print(json.dumps(row), file=sys.stderr, flush=True)
        with (self.out / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(row) + "\n")

    def _keep(self) -> None:
        part = self.out / "state.part"
        state = {
            "step": self.step,
            "weights": [one.detach() for one in self.weights],
            "optimizer": self.optimizer.state_dict(),
        }
        torch.save(state, part)
        part.replace(self.out / "state.pt")

    def _restore(self) -> None:
        kept = self.out / "state.pt"
        if not kept.exists():
            return
        state = torch.load(kept, map_location="cpu", weights_only=True)
        with torch.no_grad():
            for mine, saved in zip(self.weights, state["weights"], strict=True):
                mine.copy_(saved)
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]


def main(argv: Sequence[str]) -> int:
    """Train; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--packs", type=Path, required=True)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="an adapter that is taught on")
    parser.add_argument("--lowest", type=int, default=0, help="the first layer that is taught")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="tokens of a step")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rate", type=float, default=2.5e-4)
    parser.add_argument("--seed", type=int, default=1)
    Run(parser.parse_args(argv)).go()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
