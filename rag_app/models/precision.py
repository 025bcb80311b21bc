"""In which precision this processor computes a network faster: 16 bits, or 32.

OpenVINO takes bf16 wherever a processor knows it. One that has tiles for it (AMX) is several times
as fast then, one that has no more than instructions may be half as slow again as in 32 bits, and
what it can do does not say which. So a small network is timed in both (benchmarks/LOG.md)."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from rag_app.environment import quiet_dependencies

_WIDTH, _INNER, _TOKENS = 384, 1_536, 128  # of a layer of MiniLM, and a passage
_ROUNDS = 5  # of both in turn; the fastest counts, for others use the processor, too
_BF16, _F32 = "bf16", "f32"
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
            return {} if seconds[_BF16] <= seconds[_F32] else _option(_F32)
    return {}


def _option(precision: str) -> dict[str, Any]:
    return {"INFERENCE_PRECISION_HINT": precision}


def _timed(core: Any, threads: int) -> dict[str, float]:
    """Seconds that the network takes in each precision."""
    network, given = _network(), np.ones((_TOKENS, _WIDTH), np.float32)
    shared = _limit(threads) | {"ENABLE_CPU_PINNING": False}
    requests = {
        one: core.compile_model(network, "CPU", shared | _option(one)).create_infer_request()
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
