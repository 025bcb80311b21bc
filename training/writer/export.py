r"""A taught adapter as the app carries it: numbers of 16 bits, and no more settings than it reads.

    python -m training.writer.export --run WORK/run --out rag_app/models/adapters/NAME \
        [--mean FOLDER]

Its NAME stands in `rag_app/models/catalogue.py` beside the model that it belongs to; weights that
are made ready afterwards have it. Who was taught on forgets some of what it knew; the `--mean` with
the adapter that it began as has most of both (Wortsman et al. 2022, "Robust fine-tuning")."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from training.writer.adapter import CONFIG, WEIGHTS

KEPT = ("r", "lora_alpha", "target_modules", "layers_to_transform", "peft_type", "task_type")


def export(run: Path, out: Path, other: Path | None = None) -> None:
    """Write the adapter of a run, or its mean with another one of the same shape. Raises ValueError
    if that has other weights."""
    out.mkdir(parents=True, exist_ok=True)
    halves = _halves(run)
    if other:
        theirs = _halves(other)
        if theirs.keys() != halves.keys():
            raise ValueError(f"{other} is of another model")
        whole = {name: values.astype(np.float32) for name, values in halves.items()}
        halves = {name: ((v + theirs[name]) / 2).astype(np.float16) for name, v in whole.items()}
    save_file(halves, out / WEIGHTS)
    config = json.loads((run / CONFIG).read_text(encoding="utf-8"))
    kept = {key: config[key] for key in KEPT}
    kept["target_modules"] = sorted(kept["target_modules"])
    (out / CONFIG).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def _halves(folder: Path) -> dict[str, Any]:
    tensors = load_file(folder / WEIGHTS)
    return {name: values.astype(np.float16) for name, values in sorted(tensors.items())}


def main(argv: Sequence[str]) -> int:
    """Export; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--mean", type=Path, help="an adapter to take the mean with")
    options = parser.parse_args(argv)
    export(options.run, options.out, options.mean)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
