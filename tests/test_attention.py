from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from rag_app.retrieval import fast_bert


def inputs(scale: float, dtype: torch.dtype) -> tuple[list[torch.Tensor], torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    parts = [torch.randn((3, 4, 20, 8), generator=generator) for _ in range(3)]
    mask = torch.ones((3, 20), dtype=torch.long)
    mask[1, 12:] = 0
    mask[2, 1:] = 0
    return [(part * scale).to(dtype) for part in parts], mask


@pytest.mark.parametrize(("scale", "dtype", "near"), [
    (1.0, torch.float32, 1e-5),
    (3.0, torch.float32, 1e-4),
    (1.0, torch.bfloat16, 4e-2),
])  # fmt: skip
def test_it_is_the_attention_of_pytorch(scale, dtype, near):
    (query, key, value), mask = inputs(scale, dtype)
    scaled = query * query.shape[-1] ** -0.5
    ours = fast_bert.attend(scaled, key, value, mask)
    shut = mask[:, None, None, :].bool()
    theirs = scaled_dot_product_attention(
        query.float(), key.float(), value.float(), attn_mask=shut
    ).transpose(1, 2)
    assert ours.shape == (3, 20, 4, 8) and ours.dtype == dtype
    assert (ours.float() - theirs).abs().max() < near
    whole = fast_bert.attend(scaled, key, value, torch.ones_like(mask))
    plain = scaled_dot_product_attention(query.float(), key.float(), value.float())
    assert (whole.float() - plain.transpose(1, 2)).abs().max() < near


@pytest.mark.parametrize("scale", [10.0, 100.0])
def test_scores_too_large_for_exp_give_numbers_all_the_same(scale):
    (query, key, value), mask = inputs(scale, torch.bfloat16)
    ours = fast_bert.attend(query, key, value, mask)
    assert torch.isfinite(ours).all()
