"""What a model was taught besides (a LoRA adapter, Hu et al. 2021), put into the engine's network.

    y = W x + B (A x)

W stays as it is: added to weights of four bits, most of so small a change would be rounded away.
Run by `convert.py`; knows nothing of where adapters come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from rag_app.models.runtime import engine_package

NETWORK = "openvino_model.xml"
# The engine's reader of GGUF makes the products of a layer in this order, and of the head last.
_OF_A_LAYER = (
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
    *("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
)


def adapt(network: Path, adapter: Path, out: Path) -> None:
    """Write a network with an adapter in it; `adapter` is a folder as `peft` saves it.

    Raises ValueError where the two do not fit each other."""
    import openvino

    engine_package()
    core = openvino.Core()
    model = core.read_model(network)
    changes = _changes(adapter)
    for name, product in _named(model).items():
        if name in changes:
            _add(product, *changes.pop(name))
    if changes:
        raise ValueError(f"{adapter} is of another model: {next(iter(changes))} is not in it")
    openvino.save_model(model, out, compress_to_fp16=False)


def _changes(adapter: Path) -> dict[str, tuple[Any, Any]]:
    """A (rank, in) and B (out, rank) by the name of the product they belong to."""
    from safetensors.numpy import load_file

    config = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    scale = config["lora_alpha"] / config["r"]
    tensors = load_file(adapter / "adapter_model.safetensors")
    found: dict[str, tuple[Any, Any]] = {}
    for name, down in tensors.items():
        if name.endswith(".lora_A.weight"):
            up = tensors[name.replace(".lora_A.", ".lora_B.")]
            key = name.removesuffix(".lora_A.weight").rpartition("model.layers.")[2]
            found[key] = down.astype(np.float16), (up * scale).astype(np.float16)
    return found


def _named(model: Any) -> dict[str, Any]:
    """The products with weights, as "3.mlp.up_proj"."""
    products = [
        node
        for node in model.get_ordered_ops()
        if node.get_type_name() == "MatMul" and _weights(node) is not None
    ]
    products.sort(key=lambda node: int(node.get_friendly_name().rpartition("_")[2]))
    return {
        f"{number // len(_OF_A_LAYER)}.{_OF_A_LAYER[number % len(_OF_A_LAYER)]}": node
        for number, node in enumerate(products[:-1])  # the last one is the head
    }


def _weights(node: Any) -> tuple[int, int] | None:
    """The shape (out, in) of what a product multiplies with, None if that is computed."""
    shape = node.input_value(1).get_partial_shape()
    if shape.is_dynamic or len(shape) != 2:
        return None
    return int(shape[0].get_length()), int(shape[1].get_length())


def _add(product: Any, down: Any, up: Any) -> None:
    """Let what reads a product read it with the change."""
    from openvino import opset13 as ops

    if _weights(product) != (up.shape[0], down.shape[1]):
        raise ValueError(f"the adapter has another shape than {product.get_friendly_name()}")
    readers = list(product.output(0).get_target_inputs())
    narrow = ops.matmul(product.input_value(0), _constant(down), False, True)
    change = ops.matmul(narrow, _constant(up), False, True)
    total = ops.add(product, change)
    for reader in readers:
        reader.replace_source_output(total.output(0))


def _constant(values: Any) -> Any:
    from openvino import opset13 as ops

    return ops.convert(ops.constant(values), "f32")
