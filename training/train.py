"""Train the reader: `python -m training.train --data DIR --out DIR`.

Resumes by itself from the checkpoint in `--out`. SIGTERM and SIGINT write one and stop.
"""

import argparse
import json
import math
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training import checkpoint, evaluate, plots
from training import model as network
from training.checkpoint import Place
from training.data import describe, load_sets, pool
from training.features import Encoder
from training.mixture import Mixture
from training.negatives import mined
from training.rounds import Batch, Source, round_batches
from training.schedule import Schedule
from training.threads import Threads

AVERAGE_OVER = 1500
"""Steps over which the averaged weights look back."""
LOG_EVERY = 50


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run was asked for."""

    data: Path
    out: Path
    start: Path
    schedule: Schedule
    minutes: float
    save_minutes: float
    look_minutes: float
    answerable_weight: float
    threads: int
    seed: int


@dataclass(slots=True)
class Run:
    """A run in progress."""

    plan: Plan
    model: Any
    optimizer: Any
    average: dict[str, Tensor]
    place: Place
    stopped: bool = False

    def save(self) -> None:
        """Write a checkpoint."""
        checkpoint.save(self.plan.out, self.place, self.model, self.average, self.optimizer)

    def log(self, **values: Any) -> None:
        """One line to `log.jsonl`."""
        line = {"step": self.place.step, "tokens": self.place.tokens, **values}
        with (self.plan.out / "log.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line) + "\n")


def start(plan: Plan) -> Run:
    """A new run, or the one whose checkpoint lies in the folder."""
    torch.set_num_threads(plan.threads)
    plan.out.mkdir(parents=True, exist_ok=True)
    model = network.build(plan.start, plan.seed)
    model.train()
    learning = network.trainable(model)
    plain = [p for p in learning.values() if p.ndim < 2]
    weighed = [p for p in learning.values() if p.ndim >= 2]
    groups: list[dict[str, Any]] = [{"params": weighed}, {"params": plain, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.99), weight_decay=0.01, fused=True)
    average = {name: p.detach().clone() for name, p in learning.items()}
    file = plan.out / checkpoint.NAME
    place = checkpoint.restore(file, model, average, optimizer) if file.exists() else Place()
    return Run(plan, model, optimizer, average, place)


def open_source(plan: Plan) -> Source:
    """The training sets and their mined negatives; the first search takes minutes."""
    mixture = Mixture()
    sets = load_sets(plan.data / "train", mixture.sets)
    # Questions are searched among passages of their own kind: contracts and chats lie far away.
    contexts = pool({plan.name: sets[plan.name] for plan in mixture.sets if plan.mined})
    cache = plan.out.parent / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    print(describe(mixture, sets), flush=True)
    return Source(mixture, sets, contexts, mined(mixture, sets, contexts, cache), plan.seed)


def remaining(run: Run, source: Source, encoder: Encoder) -> Iterator[tuple[Batch, float]]:
    """Every batch from the run's place on, with the progress in rounds; moves the place along."""
    while run.place.round < run.plan.schedule.rounds:
        todo = round_batches(source, encoder, run.place.round)
        windows = sum(len(batch.windows) for batch in todo)
        run.log(round=run.place.round, batches=len(todo), windows=windows)
        while run.place.batch < len(todo):
            progress = run.place.round + run.place.batch / len(todo)
            if progress >= run.plan.schedule.rounds:
                return
            batch = todo[run.place.batch]
            run.place = replace(run.place, batch=run.place.batch + 1, step=run.place.step + 1)
            yield batch, progress
        run.place = replace(run.place, round=run.place.round + 1, batch=0)


def step(run: Run, batch: Batch, rate: float) -> float:
    """One update; the loss before it. A loss that is not a number changes nothing."""
    for group in run.optimizer.param_groups:
        group["lr"] = rate
    loss = network.loss(run.model, batch, run.plan.answerable_weight)
    torch.autograd.backward(loss)
    learning = network.trainable(run.model)
    norm = torch.nn.utils.clip_grad_norm_(learning.values(), 1.0)
    if math.isfinite(norm.item()):
        run.optimizer.step()
    run.optimizer.zero_grad(set_to_none=True)
    kept = min(1 - 1 / AVERAGE_OVER, (1 + run.place.step) / (10 + run.place.step))
    names = list(learning)
    with torch.no_grad():
        torch._foreach_lerp_(
            [run.average[name] for name in names], [learning[name] for name in names], 1 - kept
        )
    run.place.tokens += len(batch.windows) * batch.width
    return loss.item()


def train(run: Run, source: Source, encoder: Encoder) -> None:
    """The loop: steps, a log line each hundred, checkpoints and looks at dev by the clock."""
    began = last_log = last_save = last_look = time.monotonic()
    losses: list[float] = []
    tokens, progress = run.place.tokens, 0.0
    threads = Threads(run.plan.threads)
    for batch, progress in remaining(run, source, encoder):
        rate = run.plan.schedule.rate(progress)
        losses.append(step(run, batch, rate))
        threads.tick()
        now = time.monotonic()
        if len(losses) == LOG_EVERY:
            run.place.seconds += now - last_log
            speed = (run.place.tokens - tokens) / (now - last_log)
            run.log(loss=sum(losses) / LOG_EVERY, progress=progress, rate=rate, tokens_per_s=speed)
            losses, tokens, last_log = [], run.place.tokens, now
        if now - last_save > 60 * run.plan.save_minutes:
            run.save()
            last_save = now
        if now - last_look > 60 * run.plan.look_minutes:
            look(run, encoder, progress)
            last_look = time.monotonic()
        if run.stopped or now - began > 60 * run.plan.minutes:
            break
    run.save()
    if not run.stopped:
        look(run, encoder, progress)


def look(run: Run, encoder: Encoder, progress: float) -> None:
    """A short evaluation of the averaged weights on a sample of dev, and the plot."""
    learning = network.trainable(run.model)
    own = {name: p.detach().clone() for name, p in learning.items()}
    with torch.no_grad():
        for name, parameter in learning.items():
            parameter.copy_(run.average[name])
        figures = evaluate.quick(run.model, encoder, run.plan.data / "dev")
        for name, parameter in learning.items():
            parameter.copy_(own[name])
    run.log(progress=progress, dev=figures)
    print(progress, json.dumps(figures), flush=True)
    plots.training_curve(run.plan.out / "log.jsonl", run.plan.out / "training.png")


def arguments() -> Plan:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with train/ and dev/")
    parser.add_argument("--out", type=Path, required=True, help="checkpoint, log and plot go here")
    parser.add_argument("--start", type=Path, help="weights to begin with, if not all-MiniLM-L6-v2")
    parser.add_argument("--rounds", type=float, default=8.0, help="passes over the mixture")
    parser.add_argument("--descent", type=float, default=1.0, help="rounds of falling rate")
    parser.add_argument("--rate", type=float, default=1.5e-4, help="learning rate of the plateau")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after so many minutes")
    parser.add_argument("--save-minutes", type=float, default=5.0)
    parser.add_argument("--look-minutes", type=float, default=15.0)
    parser.add_argument("--answerable-weight", type=float, default=0.5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    return Plan(
        data=given.data,
        out=given.out,
        start=given.start or network.encoder_folder(),
        schedule=Schedule(peak=given.rate, rounds=given.rounds, descent=given.descent),
        minutes=given.minutes,
        save_minutes=given.save_minutes,
        look_minutes=given.look_minutes,
        answerable_weight=given.answerable_weight,
        threads=given.threads,
        seed=given.seed,
    )


def main() -> None:
    """Train as the command line says."""
    plan = arguments()
    run = start(plan)

    def stop(*_: object) -> None:
        run.stopped = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    source = open_source(plan)
    encoder = Encoder(network.encoder_folder() / "tokenizer.json", source.mixture)
    train(run, source, encoder)


if __name__ == "__main__":
    main()
