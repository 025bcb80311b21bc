"""A LoRA adapter (Hu et al. 2021) of a causal language model, in plain torch.

To what each projection of a layer gives, x W, is added s x A B, with A and B of a low rank; only
these are learnt. They are kept under the names that the library peft gives them, which is what
`rag_app/models/convert.py` reads."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.functional import linear

RANK, SCALE = 16, 32  # what is added is scaled by SCALE / RANK
PROJECTIONS = {
    "self_attn": ("q_proj", "k_proj", "v_proj", "o_proj"),
    "mlp": ("gate_proj", "up_proj", "down_proj"),
}
WEIGHTS, CONFIG = "adapter_model.safetensors", "adapter_config.json"
_NAME = "base_model.model.model.layers.{0}.{1}.{2}.lora_{3}.weight"


class AdaptedProjection(nn.Module):
    """A projection (out, in) that stays as it is, and what is added to it: `down` (rank, in),
    `up` (out, rank)."""

    def __init__(self, base: nn.Linear, rank: int = RANK, scale: int = SCALE) -> None:
        super().__init__()
        self.base, self._scale = base, scale / rank
        self.down = nn.Parameter(torch.empty(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))  # nothing, at first
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        """`given` (…, in) to (…, out), in the numbers of the projection."""
        kind = self.base.weight.dtype
        low = linear(given, self.down.to(kind))
        added: torch.Tensor = self.base(given) + linear(low, (self.up * self._scale).to(kind))
        return added


class AdaptedModel(nn.Module):
    """A model of transformers whose layers have an adapter, learnt from layer `lowest` on; below it
    is what an adapter that is taught on has there, or nothing."""

    def __init__(self, model: Any, lowest: int = 0, start: Path | None = None) -> None:
        """Raises ValueError if the adapter to start from is of another model."""
        super().__init__()
        self.net = model.requires_grad_(False)
        self._first = 0 if start else lowest
        for layer in range(self._first, model.config.num_hidden_layers):
            for group, names in PROJECTIONS.items():
                place = getattr(model.model.layers[layer], group)
                for name in names:
                    adapted = AdaptedProjection(getattr(place, name))
                    setattr(place, name, adapted.requires_grad_(layer >= lowest))
                    adapted.base.requires_grad_(False)
        if start:
            self._load(start / WEIGHTS)

    def get_base_model(self) -> Any:
        """The model, adapted."""
        return self.net

    def save(self, folder: Path) -> None:
        """Write the adapter, as peft would."""
        held = {name: one.detach().float().contiguous() for name, one in self._named()}
        save_file(held, folder / WEIGHTS)
        config = {
            "r": RANK,
            "lora_alpha": SCALE,
            "target_modules": sorted(name for names in PROJECTIONS.values() for name in names),
            "layers_to_transform": [*range(self._first, self.net.config.num_hidden_layers)],
            "peft_type": "LORA",
            "task_type": "CAUSAL_LM",
        }
        (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")

    def _load(self, file: Path) -> None:
        saved, mine = load_file(file), dict(self._named())
        if other := saved.keys() ^ mine.keys():
            raise ValueError(f"{file} is of another model: {min(other)} is in one of them only")
        with torch.no_grad():
            for name, one in mine.items():
                one.copy_(saved[name])

    def _named(self) -> Iterator[tuple[str, nn.Parameter]]:
        for number, layer in enumerate(self.net.model.layers):
            for group, names in PROJECTIONS.items():
                for name in names:
                    one = getattr(getattr(layer, group), name)
                    if isinstance(one, AdaptedProjection):
                        yield _NAME.format(number, group, name, "A"), one.down
                        yield _NAME.format(number, group, name, "B"), one.up
