"""A BERT on a CPU: token ids to hidden states, from its weights, by OpenVINO.

The network is put together here from what lies in a file of safetensors, so that neither torch nor
transformers is needed, whose import takes longer than all that is computed for a question. As exact
as the CPU is fast: bf16 where it multiplies that in hardware, else 32 bits. Measured in
benchmarks/LOG.md. Knows nothing of texts or tokenizers."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rag_app.environment import quiet_dependencies

_SHUT = 1e4  # what is taken from the score of padding; far more than any score, and fit for 16 bits
# One text after the other is computed, by all threads together. These are not tied to cores: other
# processes of the app, and other programs, are busy on the same ones.
_OPTIONS = {"PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False}


def config_of(folder: Path) -> SimpleNamespace:
    """What the model in a folder says of itself. Raises OSError and ValueError."""
    return SimpleNamespace(**json.loads((folder / "config.json").read_text("utf-8")))


class Bert:
    """Token ids to the last hidden states of a `BertModel` without dropout.

    `weights` go by the names that transformers gives them, `config` is what the model says of
    itself. Thread-safe: one text after the other."""

    def __init__(self, weights: Mapping[str, np.ndarray], config: Any, threads: int = 0) -> None:
        if config.hidden_act != "gelu":
            raise ValueError(f"a BERT with {config.hidden_act} is not made for this")
        quiet_dependencies()
        import openvino

        tables = (f"embeddings.{name}_embeddings.weight" for name in ("word", "position"))
        self._words, self._places = (weights[name] for name in tables)
        self._kinds = weights["embeddings.token_type_embeddings.weight"].astype(np.float32)
        options = _OPTIONS | ({"INFERENCE_NUM_THREADS": threads} if threads else {})
        network = _Layers(weights, config).network()
        self._request = openvino.compile_model(network, "CPU", options).create_infer_request()
        self._computing = threading.Lock()

    def __call__(
        self, ids: np.ndarray, mask: np.ndarray, kinds: np.ndarray | None = None
    ) -> np.ndarray:
        """(texts, length) each -> (texts, length, width). `mask` is 0 where padding stands."""
        hidden = self._words[ids].astype(np.float32)
        hidden += self._places[: ids.shape[1]]
        hidden += self._kinds[0 if kinds is None else kinds]
        shut = ((mask - 1) * _SHUT).astype(np.float32)[:, None, None, :]
        with self._computing:
            made: np.ndarray = self._request.infer([hidden, shut])[0]
        return made


class _Layers:
    """The layers of a network as OpenVINO is told of them."""

    def __init__(self, weights: Mapping[str, np.ndarray], config: Any) -> None:
        from openvino import opset13

        self._ops, self._weights, self._config = opset13, weights, config

    def network(self) -> Any:
        """What texts' embeddings, and what is shut in each, become."""
        import openvino

        ops, width = self._ops, self._config.hidden_size
        given = ops.parameter([-1, -1, width], np.float32)
        shut = ops.parameter([-1, 1, 1, -1], np.float32)
        hidden = self._norm(given, "embeddings.LayerNorm")
        for number in range(self._config.num_hidden_layers):
            layer = f"encoder.layer.{number}"
            seen = self._attention(hidden, shut, f"{layer}.attention.self")
            seen = self._linear(seen, f"{layer}.attention.output.dense")
            hidden = self._norm(ops.add(hidden, seen), f"{layer}.attention.output.LayerNorm")
            inner = ops.gelu(self._linear(hidden, f"{layer}.intermediate.dense"), "erf")
            outer = self._linear(inner, f"{layer}.output.dense")
            hidden = self._norm(ops.add(hidden, outer), f"{layer}.output.LayerNorm")
        return openvino.Model([hidden], [given, shut])

    def _attention(self, hidden: Any, shut: Any, name: str) -> Any:
        ops, heads = self._ops, self._config.num_attention_heads
        width = self._config.hidden_size
        apart, order = [0, 0, heads, width // heads], [0, 2, 1, 3]  # 0: as it is
        three = (
            ops.transpose(ops.reshape(self._linear(hidden, f"{name}.{part}"), apart, True), order)
            for part in ("query", "key", "value")
        )
        seen = ops.scaled_dot_product_attention(*three, shut)
        return ops.reshape(ops.transpose(seen, order), [0, 0, width], True)

    def _linear(self, given: Any, name: str) -> Any:
        product = self._ops.matmul(given, self._numbers(f"{name}.weight"), False, True)
        return self._ops.add(product, self._numbers(f"{name}.bias"))

    def _norm(self, given: Any, name: str) -> Any:
        eps = self._config.layer_norm_eps
        even = self._ops.mvn(given, [-1], True, eps, "inside_sqrt")
        scaled = self._ops.multiply(even, self._numbers(f"{name}.weight"))
        return self._ops.add(scaled, self._numbers(f"{name}.bias"))

    def _numbers(self, name: str) -> Any:
        # Copied: what is shared with Python is let go of in threads without Python's lock.
        kept = self._ops.constant(self._weights[name])
        return self._ops.convert(kept, "f32")
