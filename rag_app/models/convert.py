"""Weights in GGUF to what the engine loads at once: a folder of OpenVINO IR and the model's traits.

Run by `weights.py` in a process of its own, since it takes three times the file in memory. What a
model was taught besides (a LoRA adapter, Hu et al. 2021) is put into the engine's network:

    y = W x + B (A x)

W stays as it is: added to weights of four bits, most of so small a change would be rounded away.
all-mpnet-base-v2 is made what the app's own network reads (`retrieval/bert.py`). Knows nothing of
where weights and adapters come from. The engine's package itself is imported here, so that it tells
nobody; and in which precision a processor computes faster is found out here."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rag_app.environment import quiet_dependencies
from rag_app.models.catalogue import PLAIN, TRAITS

# Kinds of tensors that the engine's own reader takes; the others are made Q8_0, which loses least.
_READABLE = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q4_K", "Q6_K", "Q8_0")
_CONTROL, _USER_DEFINED = 3, 4  # kinds of tokens in GGUF that stand for themselves wherever seen
NETWORK = "openvino_model.xml"
# The engine's reader of GGUF makes the products of a layer in this order, and of the head last.
_OF_A_LAYER = (
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
    *("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
)


def engine_package() -> Any:
    """`openvino_genai`; to be imported in this way only."""
    quiet_dependencies()
    import openvino_genai

    return openvino_genai


def adapt(network: Path, adapter: Path, out: Path) -> None:
    """Write a network with an adapter in it; `adapter` is a folder as `peft` saves it.

    Raises ValueError where the two do not fit each other."""
    import openvino

    engine_package()
    core = openvino.Core()
    model = core.read_model(network)
    changes = changes_of(adapter, "model.layers.")
    for name, product in _named(model).items():
        if name in changes:
            _add(product, *changes.pop(name))
    if changes:
        raise ValueError(f"{adapter} is of another model: {next(iter(changes))} is not in it")
    openvino.save_model(model, out, compress_to_fp16=False)


def changes_of(adapter: Path, before: str) -> dict[str, tuple[Any, Any]]:
    """A (rank, in) and B (out, rank) by the name of the product they belong to, as it stands
    behind `before`."""
    from safetensors.numpy import load_file

    config = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))
    scale = config["lora_alpha"] / config["r"]
    tensors = load_file(adapter / "adapter_model.safetensors")
    found: dict[str, tuple[Any, Any]] = {}
    for name, down in tensors.items():
        if name.endswith(".lora_A.weight"):
            up = tensors[name.replace(".lora_A.", ".lora_B.")]
            key = name.removesuffix(".lora_A.weight").rpartition(before)[2]
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


def main(kind: str, weights: str, folder: str, adapter: str = "") -> int:
    """Convert weights of a `Model.kind`; the exit status."""
    if kind == "mpnet":
        write_bert(Path(weights), Path(folder), adapter)
        return 0
    convert(Path(weights), Path(folder), plain=bool(adapter))
    if adapter:
        put_in(Path(folder), Path(adapter))
    return 0


def put_in(folder: Path, adapter: Path) -> None:
    """Put an adapter into the plain network of a folder, which stays until that is done: a stop, or
    a full disk, takes nothing along that would have to be fetched again."""
    plain = folder / PLAIN
    adapt(plain, adapter, folder / NETWORK)
    for suffix in (".xml", ".bin"):
        plain.with_suffix(suffix).unlink()


def convert(gguf: Path, folder: Path, *, plain: bool = False) -> None:
    """Write what the engine loads into a folder. Uses the GGUF up; goes on if it was broken off.

    `plain`: the network is called `PLAIN`, for an adapter is to be put in."""
    folder.mkdir(parents=True, exist_ok=True)
    readable = folder / "model.gguf"  # the engine writes beside the file that it reads
    if gguf.exists() or readable.exists() or not (folder / PLAIN).exists():
        _convert(gguf, readable, PLAIN if plain else NETWORK)


def _convert(gguf: Path, readable: Path, name: str) -> None:
    from gguf import GGUFReader

    if not readable.exists():
        _make_readable(gguf, readable)
    traits = json.dumps(_traits(GGUFReader(readable)))
    readable.with_name(TRAITS).write_text(traits, encoding="utf-8")
    engine_package().LLMPipeline(str(readable), "CPU", enable_save_ov_model=True)
    made = readable.with_name(NETWORK)
    for suffix in (".xml", ".bin"):
        made.with_suffix(suffix).replace(readable.with_name(name).with_suffix(suffix))
    readable.unlink()


def _make_readable(gguf: Path, readable: Path) -> None:
    """Put a file that the engine can read at `readable`, in place of `gguf`."""
    from gguf import GGUFReader

    reader = GGUFReader(gguf)
    if all(tensor.tensor_type.name in _READABLE for tensor in reader.tensors):
        del reader  # it holds the file open
        gguf.replace(readable)
        return
    half = readable.with_suffix(".half")
    _requantise(reader, half)
    del reader
    half.replace(readable)
    gguf.unlink()


def _traits(reader: Any) -> dict[str, Any]:
    """What the app needs to know of a model besides its network."""
    architecture = str(_value(reader, "general.architecture"))
    kinds = _value(reader, "tokenizer.ggml.token_type")
    tokens = _value(reader, "tokenizer.ggml.tokens")
    return {
        "window": int(_value(reader, f"{architecture}.context_length")),
        "end": int(_value(reader, "tokenizer.ggml.eos_token_id")),
        "controls": {
            token: number
            for number, (token, kind) in enumerate(zip(tokens, kinds, strict=True))
            if kind in (_CONTROL, _USER_DEFINED)
        },
    }


def _value(reader: Any, name: str) -> Any:
    return reader.fields[name].contents()


def _requantise(reader: Any, path: Path) -> None:
    """A copy in which every tensor is of a kind that the engine reads."""
    from gguf import GGMLQuantizationType, GGUFWriter, dequantize, quantize
    from gguf.constants import GGML_QUANT_SIZES

    eight = GGMLQuantizationType.Q8_0
    block, size = GGML_QUANT_SIZES[eight]
    writer = GGUFWriter(path, str(_value(reader, "general.architecture")))
    _copy_fields(reader, writer)
    for tensor in reader.tensors:
        shape, kind, length = list(tensor.data.shape), tensor.tensor_type, tensor.n_bytes
        if kind.name not in _READABLE:
            kind, length = eight, tensor.n_elements // block * size
            shape = [int(n) for n in reversed(tensor.shape)]
            shape[-1] = shape[-1] // block * size
        writer.add_tensor_info(tensor.name, shape, tensor.data.dtype, length, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for tensor in reader.tensors:  # one after the other: all of them would not fit a small machine
        data = tensor.data
        if tensor.tensor_type.name not in _READABLE:
            data = quantize(dequantize(data, tensor.tensor_type), eight)
        writer.write_tensor_data(data)
    writer.close()


def _copy_fields(reader: Any, writer: Any) -> None:
    from gguf import GGUFValueType

    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        inner = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=inner)


# all-mpnet-base-v2 as the app's own network reads it: named like a BERT, in 8 and 16 bits.
#
# MPNet (Song et al. 2020) is a BERT whose attention weighs distances besides, without kinds of
# tokens. Its vocabulary is BERT's with other numbers; here its rows stand where BERT's tokenizer
# looks for them, so that the app needs no second one.

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


def write_bert(file: Path, folder: Path, adapter: str = "") -> None:
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
    made = (name.replace(theirs, ours) for theirs, ours in _PARTS if f".{theirs}." in name)
    return next(made, name)


# In which precision this processor computes a network faster: 16 bits, or 32.
#
# OpenVINO takes bf16 wherever a processor knows it. One that has tiles for it (AMX) is several
# times as fast then, one that has no more than instructions may be half as slow again as in 32
# bits, and what it can do does not say which. So a small network is timed in both
# (benchmarks/LOG.md).

_WIDTH, _INNER, _TOKENS = 384, 1_536, 128  # of a layer of MiniLM, and a passage
_ROUNDS = 5  # of both in turn; the fastest counts, for others use the processor, too
_PRECISION, _BF16, _F32 = "INFERENCE_PRECISION_HINT", "bf16", "f32"
_TRYING = threading.Lock()


def options(threads: int = 0) -> dict[str, Any]:
    """Options for whoever compiles a network: so many threads (0: the engine's own choice), and the
    precision, if the engine's own is slower."""
    with _TRYING:  # two at once would disturb each other
        return _limit(threads) | _fastest(threads)


def _limit(threads: int) -> dict[str, Any]:
    return {"INFERENCE_NUM_THREADS": threads} if threads else {}


@lru_cache(maxsize=4)
def _fastest(threads: int) -> dict[str, Any]:
    quiet_dependencies()
    import openvino

    with suppress(RuntimeError):  # what cannot be tried is left to the engine
        core = openvino.Core()
        if "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
            seconds = _timed(core, threads)
            return {} if seconds[_BF16] <= seconds[_F32] else {_PRECISION: _F32}
    return {}


def _timed(core: Any, threads: int) -> dict[str, float]:
    """Seconds that the network takes in each precision."""
    network, given = _network(), np.ones((_TOKENS, _WIDTH), np.float32)
    shared = _limit(threads) | {"ENABLE_CPU_PINNING": False}
    requests = {
        one: core.compile_model(network, "CPU", shared | {_PRECISION: one}).create_infer_request()
        for one in (_BF16, _F32)
    }
    seconds = dict.fromkeys(requests, float("inf"))
    for _ in range(_ROUNDS):
        for one, request in requests.items():
            began = time.perf_counter()
            request.infer([given])
            seconds[one] = min(seconds[one], time.perf_counter() - began)
    return seconds


def _network() -> Any:
    """What most of a layer's time goes into: two products, and a curve between them."""
    import openvino
    from openvino import opset13 as ops

    numbers = np.random.default_rng(0)
    given = ops.parameter([-1, _WIDTH], np.float32)
    up, down = (
        ops.constant(numbers.normal(0.0, 0.05, shape).astype(np.float32))
        for shape in ((_INNER, _WIDTH), (_WIDTH, _INNER))
    )
    inner = ops.gelu(ops.matmul(given, up, False, True), "erf")
    return openvino.Model([ops.matmul(inner, down, False, True)], [given])
