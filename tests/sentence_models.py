"""Tiny random models as sentence-transformers keeps them in folders."""

from __future__ import annotations

import json
from pathlib import Path

from tests import toy_models as toys

WORDS = "the a ferry to island costs four euros dogs travel free of charge query: passage:".split()  # noqa: SIM905 - easier to read
WIDTH = 16
_OURS = "sentence_transformers.models."


def write(
    folder: Path,
    seed: int = 0,
    prompts: dict[str, str] | None = None,
    means: dict[str, str] | None = None,
    **more: str,
) -> Path:
    """A model of one layer that takes the mean over its tokens; `more`: names of other modules.

    `means`: words that it knows besides, each with the word that means the same to it."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    words = list(dict.fromkeys([*WORDS, *(means or {}).values(), *(means or {})]))
    config = BertConfig(**toys.bert_config(len(words) + 4, WIDTH, initializer_range=0.6))
    model, tokenizer = BertModel(config), toys.tokenizer(words)
    for word, same in (means or {}).items():
        places = tokenizer.convert_tokens_to_ids([word, same])
        table = model.get_input_embeddings().weight.data
        table[places[0]] = table[places[1]]
    toys.save(folder, model, tokenizer)
    kinds = {"": f"{_OURS}Transformer", "1_Pooling": f"{_OURS}Pooling"} | more
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": kind}
        for n, (path, kind) in enumerate(kinds.items())
    ]
    pooling = folder / "1_Pooling"
    pooling.mkdir(exist_ok=True)
    _write(folder / "modules.json", modules)
    _write(folder / "sentence_bert_config.json", {"max_seq_length": 32, "do_lower_case": False})
    _write(folder / "config_sentence_transformers.json", {"prompts": prompts or {}})
    _write(
        pooling / "config.json",
        {"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": True},
    )
    return folder


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), "utf-8")
