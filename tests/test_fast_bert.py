"""Another way through the same network gives the same numbers."""

from __future__ import annotations

import pytest
import torch
from transformers import BertConfig, BertModel

from rag_app.retrieval import fast_bert
from rag_app.retrieval.fast_bert import FastBert, has_fast_bf16


def bert(**changes):
    torch.manual_seed(7)
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
    shape = {"vocab_size": 50, "num_hidden_layers": 2, "max_position_embeddings": 24}
    return BertModel(BertConfig(**{**sizes, **shape, **changes}), add_pooling_layer=False).eval()


def texts():
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(1, 50, (3, 16), generator=generator)
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    mask[2, 1:] = 0
    kinds = torch.zeros_like(ids)
    kinds[0, 5:] = 1
    return ids, mask, kinds


def difference(model, ours, ids, mask, kinds=None):
    with torch.inference_mode():
        theirs = model(input_ids=ids, attention_mask=mask, token_type_ids=kinds)[0].float()
        made = ours(ids, mask, kinds).float()
    assert made.shape == theirs.shape
    return ((made - theirs).abs() * mask[..., None]).max()


def test_the_hidden_states_are_those_of_transformers():
    ids, mask, kinds = texts()
    model = bert()
    ours = FastBert(model)
    assert difference(model, ours, ids, mask) < 1e-4
    assert difference(model, ours, ids, mask, kinds) < 1e-4


@pytest.mark.skipif(not has_fast_bf16(), reason="bf16 is not for this CPU")
def test_in_bf16_they_differ_by_its_rounding_only():
    ids, mask, kinds = texts()
    model = bert()
    assert difference(model, FastBert(model.bfloat16()), ids, mask, kinds) < 0.1


def test_without_the_products_of_onednn_it_works_all_the_same(monkeypatch):
    def gone(self, weight):
        raise AttributeError("another version of PyTorch")

    monkeypatch.setattr(fast_bert, "has_fast_bf16", lambda: True)
    monkeypatch.setattr(fast_bert._OneDnn, "packed", gone)
    ids, mask, _ = texts()
    model = bert().bfloat16()
    assert difference(model, FastBert(model), ids, mask) < 0.1


def test_a_network_with_another_activation_is_refused():
    with pytest.raises(ValueError, match="relu"):
        FastBert(bert(hidden_act="relu"))
