"""The state of a training run in one safetensors file, replaced in one step."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from training.model import trainable

NAME = "checkpoint.safetensors"


@dataclass(slots=True)
class Place:
    """Where in the data a run is. With the seed, this is all the randomness there is."""

    round: int = 0
    batch: int = 0
    step: int = 0
    tokens: int = 0
    seconds: float = 0.0


def save(
    folder: Path, place: Place, model: Any, average: dict[str, Tensor], optimizer: Any
) -> None:
    """Write weights, averaged weights, optimizer moments and the place in the data."""
    parts: dict[str, Tensor] = {}
    for name, parameter in trainable(model).items():
        state = optimizer.state.get(parameter, {})
        parts[f"weight.{name}"] = parameter.detach()
        parts[f"average.{name}"] = average[name]
        for key in ("exp_avg", "exp_avg_sq", "step"):
            if key in state:
                parts[f"{key}.{name}"] = state[key].detach()
    part = folder / f"{NAME}.part"
    kept = {name: tensor.contiguous() for name, tensor in parts.items()}
    save_file(kept, part, metadata={"place": json.dumps(asdict(place))})
    part.replace(folder / NAME)


def restore(file: Path, model: Any, average: dict[str, Tensor], optimizer: Any) -> Place:
    """Put a saved state into a fresh model and optimizer."""
    parts = load_file(file)
    with torch.no_grad():
        for name, parameter in trainable(model).items():
            parameter.copy_(parts[f"weight.{name}"])
            average[name].copy_(parts[f"average.{name}"])
            if f"step.{name}" in parts:
                keys = ("exp_avg", "exp_avg_sq", "step")
                optimizer.state[parameter] = {key: parts[f"{key}.{name}"] for key in keys}
    with safe_open(file, framework="pt") as stream:
        return Place(**json.loads(stream.metadata()["place"]))


def put_average(file: Path, model: Any) -> Place:
    """Give a model the averaged weights of a checkpoint."""
    parts = load_file(file)
    with torch.no_grad():
        for name, parameter in trainable(model).items():
            parameter.copy_(parts[f"average.{name}"])
    with safe_open(file, framework="pt") as stream:
        return Place(**json.loads(stream.metadata()["place"]))
