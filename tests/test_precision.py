"""Networks are computed in the precision in which this processor is faster."""

from __future__ import annotations

import openvino
import pytest

from rag_app.models import convert
from rag_app.retrieval import bert
from tests import test_bert


@pytest.fixture
def anew():
    convert._fastest.cache_clear()
    yield
    convert._fastest.cache_clear()


@pytest.mark.parametrize(
    ("bf16", "f32", "chosen"),
    [(1.0, 2.0, {}), (1.0, 1.0, {}), (2.0, 1.0, {"INFERENCE_PRECISION_HINT": "f32"})],
)
def test_the_engine_chooses_where_16_bits_are_no_slower(anew, monkeypatch, bf16, f32, chosen):
    monkeypatch.setattr(openvino, "Core", lambda: Knowing(["FP32", "BF16"]))
    monkeypatch.setattr(convert, "_timed", lambda core, threads: {"bf16": bf16, "f32": f32})
    assert convert.options() == chosen


def test_a_processor_that_does_not_know_16_bits_is_not_timed(anew, monkeypatch):
    monkeypatch.setattr(openvino, "Core", lambda: Knowing(["FP32", "INT8"]))
    monkeypatch.setattr(convert, "_timed", None)
    assert convert.options() == {}
    assert convert.options(2) == {"INFERENCE_NUM_THREADS": 2}


def test_what_cannot_be_tried_is_left_to_the_engine(anew, monkeypatch):
    def fails(core, threads):
        raise RuntimeError("no such precision")

    monkeypatch.setattr(openvino, "Core", lambda: Knowing(["FP32", "BF16"]))
    monkeypatch.setattr(convert, "_timed", fails)
    assert convert.options() == {}


def test_a_network_is_timed_in_both_for_as_many_threads_as_it_will_have():
    class Watched:
        def __init__(self) -> None:
            self.core, self.asked = openvino.Core(), []

        def compile_model(self, network, device, options):
            self.asked.append(options)
            return self.core.compile_model(network, device, options)

    watched = Watched()
    seconds = convert._timed(watched, 1)
    assert set(seconds) == {"bf16", "f32"} and all(0.0 < one < 10.0 for one in seconds.values())
    assert [one["INFERENCE_PRECISION_HINT"] for one in watched.asked] == ["bf16", "f32"]
    assert all(one["INFERENCE_NUM_THREADS"] == 1 for one in watched.asked)


def test_networks_are_compiled_with_what_is_faster(monkeypatch):
    monkeypatch.setattr(bert, "options", lambda threads: {"INFERENCE_PRECISION_HINT": "f32"})
    given = []
    compiled = openvino.compile_model
    monkeypatch.setattr(openvino, "compile_model", lambda *of: given.append(of[2]) or compiled(*of))
    test_bert.ours(test_bert.bert())
    assert given[0]["INFERENCE_PRECISION_HINT"] == "f32"


class Knowing:
    """What a processor says it can."""

    def __init__(self, known: list[str]) -> None:
        self._known = known

    def get_property(self, device: str, name: str) -> list[str]:
        assert (device, name) == ("CPU", "OPTIMIZATION_CAPABILITIES")
        return self._known
