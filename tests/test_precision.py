"""Networks are computed in the precision in which this processor is faster."""

from __future__ import annotations

import openvino
import pytest

from rag_app.models import precision


@pytest.fixture
def anew():
    precision.fastest.cache_clear()
    yield
    precision.fastest.cache_clear()


@pytest.mark.parametrize(
    ("bf16", "f32", "chosen"),
    [(1.0, 2.0, {}), (1.0, 1.0, {}), (2.0, 1.0, {"INFERENCE_PRECISION_HINT": "f32"})],
)
def test_the_engine_chooses_where_16_bits_are_no_slower(anew, monkeypatch, bf16, f32, chosen):
    monkeypatch.setattr(openvino, "Core", lambda: Knowing(["FP32", "BF16"]))
    monkeypatch.setattr(precision, "_timed", lambda core: {"bf16": bf16, "f32": f32})
    assert precision.fastest() == chosen


def test_a_processor_that_does_not_know_16_bits_is_not_timed(anew, monkeypatch):
    monkeypatch.setattr(openvino, "Core", lambda: Knowing(["FP32", "INT8"]))
    monkeypatch.setattr(precision, "_timed", None)
    assert precision.fastest() == {}


def test_a_network_is_timed_in_both():
    seconds = precision._timed(openvino.Core())
    assert set(seconds) == {"bf16", "f32"} and all(0.0 < one < 10.0 for one in seconds.values())


class Knowing:
    """What a processor says it can."""

    def __init__(self, known: list[str]) -> None:
        self._known = known

    def get_property(self, device: str, name: str) -> list[str]:
        assert (device, name) == ("CPU", "OPTIMIZATION_CAPABILITIES")
        return self._known
