"""Score a reader on the dev sets: `python -m training.evaluate --data DIR --weights DIR`."""

import argparse
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from training import metrics, predict
from training import model as network
from training.checkpoint import put_average
from training.data import Example, load
from training.features import Encoder
from training.metrics import Outcome
from training.mixture import Mixture

SETS = {"squad": "squad_v2_dev", "nq": "nq_part_eval", "cuad": "cuad_win_eval"}
QUICK = {"squad": 600, "nq": 150, "cuad": 120}


def figures(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The table's figures of one set."""
    answerable = [o for o in outcomes if o.answerable]
    forced = metrics.at_threshold(answerable, float("-inf"))
    best = metrics.best_threshold(outcomes)
    return {
        "f1": best.f1,
        "em": best.em,
        "threshold": best.threshold,
        "answerable_f1": forced.f1,
        "answerable_em": forced.em,
        "auroc": metrics.auroc(outcomes),
    }


def sampled(rows: Sequence[Example], size: int) -> list[Example]:
    """Always the same random sample."""
    return random.Random(0).sample(list(rows), min(size, len(rows)))


def quick(reader: Any, encoder: Encoder, folder: Path) -> dict[str, float]:
    """A few figures on a fixed sample, cheap enough to take while training."""
    found: dict[str, float] = {}
    for name, size in QUICK.items():
        rows = load(folder / f"{SETS[name]}.jsonl.gz")
        sample = sampled(rows, size)
        guesses = predict.guesses(reader, encoder, sample)
        scored = figures(predict.outcomes(sample, guesses, "margin"))
        kinds = ("f1", "answerable_f1", "auroc") if name != "nq" else ("answerable_f1",)
        for kind in kinds:
            label = "f1" if name == "nq" else kind
            found[f"{name}_{label}"] = round(scored[kind], 4)
    return found


def dev_guesses(
    reader: Any, encoder: Encoder, folder: Path, limit: int
) -> dict[str, tuple[list[Example], list[predict.Guess]]]:
    """Examples and guesses of each dev set; `limit` 0 means all."""
    found = {}
    for name, file in SETS.items():
        rows = load(folder / f"{file}.jsonl.gz")
        rows = sampled(rows, limit) if limit else rows
        found[name] = (rows, predict.guesses(reader, encoder, rows))
    return found


def reader_from(weights: Path, *others: Path) -> Any:
    """A reader from a folder of weights, or from the averaged weights of a checkpoint.

    Of several it is the mean: runs from the same start with different seeds lie in one valley, and
    their mean reads better than any of them (model soups, Wortsman et al. 2022)."""
    reader = network.build(weights if weights.is_dir() else network.encoder_folder())
    if not weights.is_dir():
        put_average(weights, reader)
    if others:
        states = [reader.state_dict(), *(reader_from(other).state_dict() for other in others)]
        mean = {name: sum(s[name] for s in states) / len(states) for name in states[0]}
        reader.load_state_dict(mean)
    return reader


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--weights",
        type=Path,
        nargs="+",
        required=True,
        help="folder or checkpoint file; of several the mean",
    )
    parser.add_argument("--limit", type=int, default=0, help="questions per set; 0 means all")
    parser.add_argument("--by", choices=("margin", "log_odds"), default="margin")
    parser.add_argument("--max-tokens", type=int, default=Mixture().max_tokens)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    mixture = replace(Mixture(), max_tokens=given.max_tokens)
    encoder = Encoder(network.encoder_folder() / "tokenizer.json", mixture)
    reader = reader_from(*given.weights)
    for name, (rows, found) in dev_guesses(
        reader, encoder, given.data / "dev", given.limit
    ).items():
        scored = figures(predict.outcomes(rows, found, given.by))
        print(name, len(rows), json.dumps({k: round(v, 4) for k, v in scored.items()}), flush=True)


if __name__ == "__main__":
    main()
