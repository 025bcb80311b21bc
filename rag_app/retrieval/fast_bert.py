"""A BERT's forward pass on a CPU, from its weights, whoever loaded them.

The same numbers with fewer passes over memory: one product instead of three for queries, keys and
values; weights laid out once as oneDNN wants them; bias, GELU and residual inside the product; the
attention below. Measured in benchmarks/LOG.md. Knows nothing of texts or tokenizers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


# Attention for encoders on a CPU, twice as fast as PyTorch's own for short texts in bf16.
#
# softmax(s) v = (exp(s) v) / (exp(s) 1): with a column of ones beside the values, one product
# gives numerator and denominator, and padding is left out by zeros in the values instead of a
# mask over all pairs. That saves passes over the scores, which is what bf16 attention spends its
# time on (benchmarks/LOG.md). Scores are kept within ±75, where exp and its sum over a text are
# finite; only the first layer of MiniLM has ever been seen to come near that.

_LARGEST = 75.0


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """(batch, heads, length, width) each -> (batch, length, heads, width).

    Queries come divided by the root of the width. `mask` is (batch, length), 0 where padding
    stands. Not causal, no dropout."""
    import torch

    batch, heads, length, width = query.shape
    rows = (batch * heads, length, width)
    weights = torch.bmm(query.reshape(rows), key.reshape(rows).transpose(1, 2))
    weights.clamp_(-_LARGEST, _LARGEST).exp_()
    beside = value.new_ones((batch, heads, length, width + 1))
    beside[..., :width] = value
    beside *= mask[:, None, :, None].to(beside.dtype)
    both = torch.bmm(weights, beside.view(batch * heads, length, width + 1))
    both = both.view(batch, heads, length, width + 1)
    out = both[..., :width] / both[..., width:]
    return out.transpose(1, 2).contiguous()


_ROWS = 2_048  # tokens that the layout of the weights is chosen for


def has_fast_bf16() -> bool:
    """Whether this CPU multiplies bf16 in hardware (AVX-512 BF16, AMX); else bf16 is slower."""
    import torch

    told = torch.cpu.get_capabilities()
    return any(told.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


def config_of(folder: Path) -> SimpleNamespace:
    """What the model in a folder says of itself. Raises OSError and ValueError."""
    return SimpleNamespace(**json.loads((folder / "config.json").read_text("utf-8")))


class FastBert:
    """Token ids to the last hidden states of a `BertModel` without dropout.

    Keeps nothing of the model but its weights; a change of theirs does not show here."""

    def __init__(self, bert: Any) -> None:
        self._lay_out(bert.state_dict(), bert.config)

    @classmethod
    def from_weights(cls, weights: Mapping[str, Tensor], config: Any) -> FastBert:
        """Of weights by the names that a `BertModel` gives them, and what its `config` says.

        That needs nothing of transformers, which takes seconds to import."""
        made = cls.__new__(cls)
        made._lay_out(weights, config)
        return made

    def _lay_out(self, weights: Mapping[str, Tensor], config: Any) -> None:
        if config.hidden_act != "gelu":
            raise ValueError(f"a BERT with {config.hidden_act} is not made for this")
        self._heads, self._width = config.num_attention_heads, config.hidden_size
        tables = _Weights(weights, "embeddings.", config.layer_norm_eps)
        self._words = tables.weight("word_embeddings")
        self._places = tables.weight("position_embeddings")
        self._kinds = tables.weight("token_type_embeddings")
        self._norm = tables.norm("LayerNorm")
        head = self._width // self._heads
        self._layers = [
            _Layer(_Weights(weights, f"encoder.layer.{number}.", config.layer_norm_eps), head)
            for number in range(config.num_hidden_layers)
        ]

    def __call__(self, ids: Tensor, mask: Tensor, kinds: Tensor | None = None) -> Tensor:
        """(texts, length) each -> (texts, length, width). `mask` is 0 where padding stands."""
        import torch

        texts, length = ids.shape
        place = self._places[:length] + self._kinds[0] if kinds is None else self._places[:length]
        hidden = self._words[ids] + place
        if kinds is not None:
            hidden += self._kinds[kinds]
        hidden = self._norm(hidden.view(texts * length, self._width))
        for layer in self._layers:
            three = layer.three(hidden).view(texts, length, 3, self._heads, -1)
            query, key, value = three.permute(2, 0, 3, 1, 4)
            seen = attend(query, key, value, mask)
            hidden = layer.seen_norm(layer.seen.plus(hidden, seen.view_as(hidden)))
            inner = layer.inner(hidden, "gelu")
            hidden = layer.outer_norm(layer.outer.plus(hidden, inner))
        whole: Tensor = torch.reshape(hidden, (texts, length, self._width))
        return whole


class _Weights:
    """The weights whose names begin alike."""

    def __init__(self, weights: Mapping[str, Tensor], prefix: str, eps: float) -> None:
        self._weights, self._prefix, self._eps = weights, prefix, eps

    def weight(self, name: str) -> Tensor:
        """A table or the factors of a product."""
        return self._weights[f"{self._prefix}{name}.weight"].detach()

    def bias(self, name: str) -> Tensor:
        """What a product adds."""
        return self._weights[f"{self._prefix}{name}.bias"].detach()

    def norm(self, name: str) -> _Norm:
        """A layer normalisation."""
        return _Norm(self.weight(name), self.bias(name), self._eps)

    def linear(self, name: str) -> _Linear:
        """A product."""
        return _Linear(self.weight(name), self.bias(name))


class _Layer:
    """The weights of one layer; `head` is the width of an attention head."""

    def __init__(self, part: _Weights, head: int) -> None:
        import torch

        names = [f"attention.self.{name}" for name in ("query", "key", "value")]
        dtype = part.weight(names[0]).dtype
        weights = [part.weight(name).float() for name in names]
        biases = [part.bias(name).float() for name in names]
        # Scores are divided by this; done to the weights, it costs nothing.
        scale = float(head) ** -0.5
        weights[0], biases[0] = weights[0] * scale, biases[0] * scale
        self.three = _Linear(torch.cat(weights).to(dtype), torch.cat(biases).to(dtype))
        self.seen = part.linear("attention.output.dense")
        self.seen_norm = part.norm("attention.output.LayerNorm")
        self.inner = part.linear("intermediate.dense")
        self.outer = part.linear("output.dense")
        self.outer_norm = part.norm("output.LayerNorm")


class _Norm:
    """A layer normalisation."""

    def __init__(self, weight: Tensor, bias: Tensor, eps: float) -> None:
        self._weight, self._bias, self._eps = weight, bias, eps

    def __call__(self, given: Tensor) -> Tensor:
        from torch.nn.functional import layer_norm

        return layer_norm(given, self._weight.shape, self._weight, self._bias, self._eps)


class _Linear:
    """A product with weights, by oneDNN with the weights in its own layout where that is there."""

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._weight, self._bias = weight.contiguous(), bias
        self._product = _onednn(self._weight)
        if self._product is not None:
            self._weight = self._product.packed(self._weight)

    def __call__(self, given: Tensor, then: str = "none") -> Tensor:
        from torch.nn.functional import gelu, linear

        if self._product is not None:
            return self._product.linear(given, self._weight, self._bias, then)
        made = linear(given, self._weight, self._bias)
        return gelu(made) if then == "gelu" else made

    def plus(self, residual: Tensor, given: Tensor) -> Tensor:
        """The product of what is `given`, and `residual` added to it."""
        from torch.nn.functional import linear

        if self._product is not None:
            return self._product.linear_plus(given, residual, self._weight, self._bias)
        return linear(given, self._weight, self._bias).add_(residual)


class _OneDnn:
    """The products that PyTorch's compiler uses on a CPU; they may change from version to version,
    so that they are tried once before they are used."""

    def __init__(self) -> None:
        import torch

        self._ops: Any = torch.ops.mkldnn

    def packed(self, weight: Tensor) -> Tensor:
        made: Tensor = self._ops._reorder_linear_weight(weight, _ROWS)
        return made

    def linear(self, given: Tensor, weight: Tensor, bias: Tensor, then: str) -> Tensor:
        options: Sequence[Any] = []
        made: Tensor = self._ops._linear_pointwise(given, weight, bias, then, options, "none")
        return made

    def linear_plus(self, given: Tensor, other: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        made: Tensor = self._ops._linear_pointwise.binary(given, other, weight, bias, "add")
        return made


def _onednn(weight: Tensor) -> _OneDnn | None:
    """The products of oneDNN for weights like these; None where plain ones are better."""
    import torch

    if weight.dtype is not torch.bfloat16 or not has_fast_bf16():
        return None
    try:
        tried = _OneDnn()
        packed = tried.packed(weight)
        given, out = (weight.new_zeros((2, size)) for size in reversed(weight.shape))
        bias = weight.new_zeros(weight.shape[0])
        tried.linear(given, packed, bias, "gelu")
        tried.linear_plus(given, out, packed, bias)
    except (AttributeError, RuntimeError):
        return None
    return tried
