"""How much of what a CPU can multiply the embedding makes use of.

The machine's rate is that of large matrix products in the embedding's own number format. The
embedding's is the arithmetic that the network needs for the tokens of the texts, without padding,
by the time from texts to vectors."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TEXTS = 512
_SIDE, _TIMES, _ROUNDS = 2_048, 8, 5


def embedding_rate(paths: Sequence[Path], threads: int) -> dict[str, Any]:
    """Both rates, measured in turns; of each the best round."""
    import torch

    from benchmarks.made_library import Base
    from rag_app.retrieval.embedding import MiniLmEmbedder

    embedder = MiniLmEmbedder(threads)
    embedder.warm()
    texts = list(Base.of(paths).passages[:TEXTS])
    lengths = [min(n + 2, 256) for n in embedder.count_tokens(texts)]
    told = torch.cpu.get_capabilities()
    fast = any(told.get(name, False) for name in ("avx512_bf16", "amx_bf16"))
    dtype = torch.bfloat16 if fast else torch.float32
    torch.set_num_threads(threads)
    square = torch.randn(_SIDE, _SIDE).to(dtype)
    rates, seconds = [], []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        for _ in range(_TIMES):
            square @ square
        rates.append(_TIMES * 2 * _SIDE**3 / (time.perf_counter() - began))
        began = time.perf_counter()
        embedder.embed_documents(texts)
        seconds.append(time.perf_counter() - began)
    needed = sum(map(operations, lengths))
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "matrix_tflops": max(rates) / 1e12,
        "embedding_tflops": needed / min(seconds) / 1e12,
        "share": needed / min(seconds) / max(rates),
        "texts_per_second": len(texts) / min(seconds),
        "tokens": sum(lengths) / len(lengths),
    }


def operations(length: int, layers: int = 6, width: int = 384, inner: int = 1_536) -> int:
    """Multiplications and additions of all-MiniLM-L6-v2 for a text of so many tokens."""
    linear = 2 * length * (4 * width**2 + 2 * width * inner)
    attention = 2 * 2 * length**2 * width
    return layers * (linear + attention)
