"""Weights in GGUF to what the engine loads at once: a folder of OpenVINO IR and the model's traits.

Run by `weights.py` in a process of its own, since it takes three times the file in memory. Knows
nothing of where weights come from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rag_app.models.adapter import NETWORK, adapt
from rag_app.models.catalogue import TRAITS
from rag_app.models.runtime import engine_package

# Kinds of tensors that the engine's own reader takes; the others are made Q8_0, which loses least.
_READABLE = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q4_K", "Q6_K", "Q8_0")
_CONTROL, _USER_DEFINED = 3, 4  # kinds of tokens in GGUF that stand for themselves wherever seen


def main(gguf: str, folder: str, adapter: str = "") -> int:
    """Convert; the exit status."""
    convert(Path(gguf), Path(folder))
    if adapter:
        put_in(Path(folder), Path(adapter))
    return 0


def put_in(folder: Path, adapter: Path) -> None:
    """Put an adapter into the network of a folder."""
    network, adapted = folder / NETWORK, folder / f"adapted_{NETWORK}"
    adapt(network, adapter, adapted)
    for suffix in (".bin", ".xml"):
        adapted.with_suffix(suffix).replace(network.with_suffix(suffix))


def convert(gguf: Path, folder: Path) -> None:
    """Write what the engine loads into a folder. Uses the GGUF up; goes on if it was broken off."""
    from gguf import GGUFReader

    folder.mkdir(parents=True, exist_ok=True)
    readable = folder / "model.gguf"  # the engine writes beside the file that it reads
    if not readable.exists():
        _make_readable(gguf, readable)
    (folder / TRAITS).write_text(json.dumps(_traits(GGUFReader(readable))), encoding="utf-8")
    engine_package().LLMPipeline(str(readable), "CPU", enable_save_ov_model=True)
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
