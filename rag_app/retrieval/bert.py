"""A BERT on a CPU: token ids to hidden states, from its weights, by OpenVINO.

The network is put together here from what lies in a file of safetensors, so that neither torch nor
transformers is needed, whose import takes longer than all that is computed for a question. In
the engine's own precision, or in 32 bits where those are faster (`models/convert.py`). Measured
in benchmarks/LOG.md. Knows nothing of texts or tokenizers."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

import numpy as np

from rag_app.environment import quiet_dependencies
from rag_app.errors import ModelUnavailable
from rag_app.models.convert import STEP, options

RELATIVE = "encoder.relative_attention_bias.weight"  # (buckets of distances, heads)
_BUCKETS, _FARTHEST = 32, 128  # tokens apart from which all is one bucket, on each side
_SHUT = 1e4  # what is taken from the score of padding; far more than any score, and fit for 16 bits
# One text after the other is computed, by all threads together. These are not tied to cores: other
# processes of the app, and other programs, are busy on the same ones.
_OPTIONS = {"PERFORMANCE_HINT": "LATENCY", "ENABLE_CPU_PINNING": False}


_Network = TypeVar("_Network")


def _damaged(what: str, error: Exception) -> str:
    """What is said of a part of the app that cannot be loaded."""
    return (
        f"{what} cannot be used ({type(error).__name__}). Install the app again with: make install"
    )


class LoadedOnce(Generic[_Network]):
    """What is loaded when it is first needed; `said` where it cannot be. Thread-safe."""

    def __init__(
        self,
        what: str,
        load: Callable[[], _Network],
        said: Callable[[str, Exception], str] = _damaged,
    ) -> None:
        self._what, self._load, self._said = what, load, said
        self._loading = threading.Lock()
        self._loaded: _Network | None = None

    def __call__(self) -> _Network:
        """What was loaded. Raises ModelUnavailable."""
        with self._loading:
            if self._loaded is None:
                from safetensors import SafetensorError

                try:
                    self._loaded = self._load()
                except (
                    SafetensorError,
                    *(ImportError, OSError, RuntimeError, ValueError, MemoryError),
                    *(KeyError, TypeError, AttributeError),  # what a torn configuration raises
                ) as error:
                    raise ModelUnavailable(self._said(self._what, error)) from error
            return self._loaded


def config_of(folder: Path) -> SimpleNamespace:
    """What the model in a folder says of itself. Raises OSError and ValueError."""
    return SimpleNamespace(**json.loads((folder / "config.json").read_text("utf-8")))


class Bert:
    """Token ids to the last hidden states of a `BertModel` without dropout.

    `weights` go by the names that transformers gives them, `config` is what the model says of
    itself. Weights of 8 bits have what they count in beside them (`STEP`). With a `RELATIVE` table
    it weighs in attention how far apart tokens stand, as in MPNet (Song et al. 2020). Thread-safe:
    one text after the other."""

    def __init__(self, weights: Mapping[str, np.ndarray], config: Any, threads: int = 0) -> None:
        if config.hidden_act != "gelu":
            raise ValueError(f"a BERT with {config.hidden_act} is not made for this")
        quiet_dependencies()
        import openvino

        tables = (f"embeddings.{name}_embeddings.weight" for name in ("word", "position"))
        self._words, self._places = (weights[name] for name in tables)
        self._kinds = weights["embeddings.token_type_embeddings.weight"].astype(np.float32)
        self._relative = weights.get(RELATIVE)
        network, chosen = _Layers(weights, config).network(), _OPTIONS | options(threads)
        self._request = openvino.compile_model(network, "CPU", chosen).create_infer_request()
        self._computing = threading.Lock()

    def __call__(
        self, ids: np.ndarray, mask: np.ndarray, kinds: np.ndarray | None = None
    ) -> np.ndarray:
        """(texts, length) each -> (texts, length, width). `mask` is 0 where padding stands."""
        hidden = self._words[ids].astype(np.float32)
        hidden += self._places[: ids.shape[1]]
        hidden += self._kinds[0 if kinds is None else kinds]
        shut = ((mask - 1) * _SHUT).astype(np.float32)[:, None, None, :]
        if self._relative is not None:
            shut = shut + self._relative[_distances(ids.shape[1])].transpose(2, 0, 1)
        with self._computing:
            made: np.ndarray = self._request.infer([hidden, shut])[0]
        return made


@lru_cache(maxsize=64)
def _distances(length: int) -> np.ndarray:
    """(length, length): the bucket of how far each token stands from each, as T5 has them (Raffel
    et al. 2020, `_relative_position_bucket`): single tokens near by, then ever wider ones."""
    away = np.arange(length)[:, None] - np.arange(length)[None, :]
    half = _BUCKETS // 2
    near = half // 2
    wide = np.log(np.maximum(np.abs(away), 1) / near) / math.log(_FARTHEST / near)
    far = np.minimum(near + (wide * (half - near)).astype(np.int64), half - 1)
    bucket: np.ndarray = np.where(np.abs(away) < near, np.abs(away), far)
    return bucket + np.where(away < 0, half, 0)


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
        apart = [self._config.num_attention_heads, -1] if RELATIVE in self._weights else [1, 1]
        shut = ops.parameter([-1, *apart, -1], np.float32)
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
        kept = self._ops.convert(self._ops.constant(self._weights[name]), "f32")
        steps = self._weights.get(f"{name}{STEP}")
        return kept if steps is None else self._ops.multiply(kept, self._ops.constant(steps))
