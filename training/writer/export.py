"""A taught adapter as the app carries it: numbers of 16 bits, and no more settings than it reads.

    python -m training.writer.export --run WORK/run --out rag_app/models/adapters/NAME

Its NAME stands in `rag_app/models/catalogue.py` beside the model that it belongs to; weights that
are made ready afterwards have it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

KEPT = ("r", "lora_alpha", "target_modules", "layers_to_transform", "peft_type", "task_type")


def export(run: Path, out: Path) -> None:
    """Write the adapter of a run."""
    out.mkdir(parents=True, exist_ok=True)
    tensors = load_file(run / "adapter_model.safetensors")
    halves = {name: values.astype(np.float16) for name, values in sorted(tensors.items())}
    save_file(halves, out / "adapter_model.safetensors")
    config = json.loads((run / "adapter_config.json").read_text(encoding="utf-8"))
    kept = {key: config[key] for key in KEPT}
    kept["target_modules"] = sorted(kept["target_modules"])
    (out / "adapter_config.json").write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


def main(argv: Sequence[str]) -> int:
    """Export; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(argv)
    export(options.run, options.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
