r"""Teach a writer to answer from passages: a LoRA adapter (Hu et al. 2021) of its upper layers.

    python -m training.writer.train --model WORK/1.5b --gguf FILE --tokens FOLDER --out WORK/run \
        --spans WORK/spans.jsonl

`--model`: where the weights of the GGUF are kept dequantised (made once); `--tokens`: the folder of
the same model as the app has it, whose tokenizer and template are used. Only replies are learnt.
Goes on from OUT if it was broken off; ends with OUT/adapter_model.safetensors."""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional

from rag_app.answering.local_chat import tokens_of
from training.writer import queries, sheets
from training.writer.contexts import (
    Context,
    Lesson,
    conversations,
    introductions,
    read,
    titles,
    translations,
    written,
)
from training.writer.packing import Pack, pack

RANK, SCALE = 16, 32  # of the adapter; what it adds is scaled by SCALE / RANK
FIRST_WEIGHT = 1.0  # of a reply's first token against all others together
MOST_TOKENS = 1_900  # of a sequence
AT_ONCE = 2  # sequences of a step
TALKS = 8  # conversations of a sequence
WARM = 15  # steps until the learning rate is reached
KEEP = 300.0  # seconds between two states that are kept
HELD = 10  # of so many contexts one is not taught
_EVERY = 5  # steps between two lines of the log
_PROJECTIONS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def is_held(number: int) -> bool:
    """Whether a context of a file is kept aside, to choose by."""
    return number % HELD == HELD - 1


def taught(contexts: Sequence[Context]) -> list[Context]:
    """What is taught of a file's contexts."""
    return [one for number, one in enumerate(contexts) if not is_held(number)]


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


def adapted(folder: Path, lowest: int) -> Any:
    """The model with an adapter in its layers from `lowest` on."""
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.bfloat16, attn_implementation="sdpa"
    )
    layers = list(range(lowest, model.config.num_hidden_layers))
    config = LoraConfig(
        r=RANK,
        lora_alpha=SCALE,
        target_modules=_PROJECTIONS,
        layers_to_transform=layers,
        lora_dropout=0.0,
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)


def load_adapter(model: Any, file: Path) -> None:
    """Give an adapted model the weights of an adapter of the same shape. Raises ValueError if it is
    another's."""
    from peft import set_peft_model_state_dict

    saved = {name: one.float() for name, one in load_file(file).items()}
    unknown = set_peft_model_state_dict(model, saved).unexpected_keys
    if unknown:
        raise ValueError(f"{file} is of another model: {unknown[0]} is not in it")


def loss_of(model: Any, one: Pack) -> torch.Tensor:
    """What one sequence costs, by reply."""
    base = model.get_base_model()
    seen = base.model(
        input_ids=torch.from_numpy(one.ids)[None],
        attention_mask=one.mask(),
        position_ids=torch.from_numpy(one.positions)[None],
        use_cache=False,
    ).last_hidden_state[0]
    scores = base.lm_head(seen[torch.from_numpy(one.at)]).float()
    losses = functional.cross_entropy(scores, torch.from_numpy(one.targets), reduction="none")
    return (losses * torch.from_numpy(one.weights)).sum()


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
        self.model = adapted(unpacked(options.gguf, options.model), options.lowest)
        self.weights = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.weights, lr=options.rate, weight_decay=0.0)
        self.packs = self._packs()
        steps = -(-len(self.packs) // AT_ONCE)
        self.steps = steps * options.epochs
        self.step = 0
        self._restore()

    def _packs(self) -> list[Pack]:
        tokens = tokens_of(str(self.options.tokens))
        contexts = taught(list(written()))
        groups = [one.lessons for one in contexts]
        talks = [talk.lesson for one in contexts for talk in one.follow_ups]
        talks += [talk.lesson for talk in conversations()]
        for some in (talks, translations(), titles()):
            groups += [some[at : at + TALKS] for at in range(0, len(some), TALKS)]
        groups += [[one] for one in introductions()]
        groups += self._queries()
        most = round(self.options.share * len(groups))
        again = [one.lessons for path in self.options.again for one in taught(read(path))]
        lot = random.Random(self.options.seed)
        groups = lot.sample(groups, most)
        groups += lot.sample(again, round(self.options.again_share * len(again)))
        for path in self.options.spans:
            contexts = taught(read(path))
            groups += [one.lessons for one in contexts] + [one.works for one in contexts]
        if self.options.sheets:
            others = list(sheets.written(self.options.leave_out))
            groups += sheets.lessons(others, self.options.seed, self.options.sheets)
        groups = [one for one in groups if one]
        packs = [p for one in groups for p in pack(one, tokens, FIRST_WEIGHT, MOST_TOKENS)]
        return [one.padded() for one in packs]

    def _queries(self) -> list[list[Lesson]]:
        """Of every sheet alone, and of every second one behind another."""
        lots = [one for number, one in enumerate(queries.written()) if not is_held(number)]
        others = [*lots[1:], *lots[:1]]
        alone = [queries.lessons(one) for one in lots]
        return [*alone, *map(queries.lessons, lots[::2], others[::2])]

    def _order(self, epoch: int) -> list[int]:
        order = list(range(len(self.packs)))
        random.Random(f"{self.options.seed} {epoch}").shuffle(order)
        return order

    def _batch(self) -> list[Pack]:
        per_epoch = -(-len(self.packs) // AT_ONCE)
        epoch, at = divmod(self.step, per_epoch)
        order = self._order(epoch)
        return [self.packs[i] for i in order[at * AT_ONCE : (at + 1) * AT_ONCE]]

    def _rate(self) -> float:
        rising = (self.step + 1) / WARM
        falling = (self.steps - self.step) / self.steps
        return float(self.options.rate * min(1.0, rising, max(0.05, falling * 1.3)))

    def go(self) -> None:
        """To the end."""
        kept = told = time.monotonic()
        losses: list[float] = []
        tokens = 0
        while self.step < self.steps:
            batch = self._batch()
            replies = sum(replies_of(one) for one in batch)
            total = 0.0
            for one in batch:
                with torch.autocast("cpu", dtype=torch.bfloat16):
                    loss = loss_of(self.model, one) / replies
                loss.backward()  # type: ignore[no-untyped-call]
                total += float(loss.detach())
                tokens += len(one.ids)
            torch.nn.utils.clip_grad_norm_(self.weights, 1.0)
            for group in self.optimizer.param_groups:
                group["lr"] = self._rate()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self.step += 1
            losses.append(total)
            if self.step % _EVERY == 0:
                speed = tokens / (time.monotonic() - told)
                row = {"step": self.step, "of": self.steps, "loss": sum(losses) / len(losses)}
                row |= {"tokens_per_second": speed}
                self._say(row)
                losses, tokens, told = [], 0, time.monotonic()
            if time.monotonic() - kept > KEEP:
                self._keep()
                kept = time.monotonic()
        self._keep()
        self.model.save_pretrained(self.out)

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
            if self.options.start:
                load_adapter(self.model, self.options.start / "adapter_model.safetensors")
            return
        state = torch.load(kept, weights_only=True)
        with torch.no_grad():
            for mine, saved in zip(self.weights, state["weights"], strict=True):
                mine.copy_(saved)
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]


def main(argv: Sequence[str]) -> int:
    """Train; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokens", type=Path, required=True)
    parser.add_argument("--spans", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="an adapter that is taught on")
    parser.add_argument("--share", type=float, default=1.0, help="of all but --spans is taught")
    parser.add_argument("--again", type=Path, nargs="*", default=[], help="taught in part")
    parser.add_argument("--again-share", type=float, default=0.2)
    parser.add_argument("--sheets", type=float, default=0.0, help="share of their questions")
    parser.add_argument("--leave-out", nargs="*", default=[], help="sheets that are not taught")
    parser.add_argument("--lowest", type=int, default=0, help="the first layer that is adapted")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--seed", type=int, default=1)
    Run(parser.parse_args(argv)).go()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
