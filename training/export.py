"""Weights for shipping: `python -m training.export --checkpoint FILE… --out FOLDER`.

Writes the averaged weights as fp16 safetensors with configuration and tokenizer, and `reader.json`
with their hash, which the app checks. Its fits from scores to confidence are made afterwards:
`training.calibrate --into` and `benchmarks.fit_reader --into`.
"""

import argparse
import hashlib
import json
import shutil
from pathlib import Path

import torch
from safetensors.torch import save_file

from training import model as network
from training.evaluate import reader_from

ABOUT = "reader.json"
UNFITTED = {
    "passage": {"slope": 1.0, "offset": 0.0},
    "library": {"score": 1.0, "lead": 0.0, "offset": 0.0},
}
LIMIT = 50_000_000
"""Bytes that the shipped weights may take."""


def export(out: Path, *checkpoints: Path) -> str:
    """Write the folder from a checkpoint, or from the mean of several; the SHA-256 of the weights.

    Raises ValueError if the weights are larger than LIMIT."""
    reader = reader_from(*checkpoints)
    out.mkdir(parents=True, exist_ok=True)
    weights = {
        name: tensor.to(torch.float16).contiguous() for name, tensor in reader.state_dict().items()
    }
    file = out / "model.safetensors"
    save_file(weights, file, metadata={"format": "pt"})
    if file.stat().st_size > LIMIT:
        raise ValueError(f"{file.name} has {file.stat().st_size:,} bytes, {LIMIT:,} are allowed")
    reader.config.dtype = "float16"
    reader.config.save_pretrained(out)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        source = network.encoder_folder() / name
        if source.exists():
            shutil.copyfile(source, out / name)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    about = {"sha256": digest} | UNFITTED
    (out / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return digest


def main() -> None:
    """Export as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    print(export(given.out, *given.checkpoint))


if __name__ == "__main__":
    main()
