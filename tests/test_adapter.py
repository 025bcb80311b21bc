"""What a model was taught besides, put into the engine's network."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from rag_app.models import convert
from rag_app.models.catalogue import PLAIN
from rag_app.models.convert import NETWORK, adapt, put_in

pytest.importorskip("openvino")

WIDE, NARROW, RANK, SCALE = 6, 4, 2, 4
NAMES = (
    *("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"),
    *("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"),
)


@pytest.fixture(scope="module")
def weights():
    rng = np.random.default_rng(3)
    return [rng.normal(size=(WIDE, WIDE)).astype(np.float32) for _ in range(15)]


@pytest.fixture
def network(weights, tmp_path):
    """Two layers of seven products, and the head; each reads what the one before it gives."""
    import openvino
    from openvino import opset13 as ops

    flow = given = ops.parameter([-1, WIDE], np.float32, "given")
    for number, values in enumerate(weights):
        flow = ops.matmul(flow, ops.constant(values), False, True)
        flow.set_friendly_name(f"MatMul_{10 * number + 7}")
        flow = ops.tanh(flow)
    openvino.save_model(openvino.Model([flow], [given]), tmp_path / "openvino_model.xml", False)
    return tmp_path / "openvino_model.xml"


def adapter(folder, changes):
    tensors = {}
    for name, (down, up) in changes.items():
        tensors[f"base_model.model.model.layers.{name}.lora_A.weight"] = down
        tensors[f"base_model.model.model.layers.{name}.lora_B.weight"] = up
    folder.mkdir()
    save_file(tensors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"r": RANK, "lora_alpha": SCALE}))
    return folder


def change(rng, shape=(WIDE, WIDE)):
    down = rng.normal(size=(RANK, shape[1])).astype(np.float16)
    return down, rng.normal(size=(shape[0], RANK)).astype(np.float16)


def run(network, given):
    import openvino

    core = openvino.Core()
    model = core.compile_model(network, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return model(given)[0]


def expected(weights, changes, given):
    flow = given
    for number, values in enumerate(weights):
        layer, place = divmod(number, len(NAMES))
        name = f"{layer}.{NAMES[place]}" if number < 14 else ""
        if name in changes:
            down, up = (one.astype(np.float32) for one in changes[name])
            values = values + SCALE / RANK * up @ down
        flow = np.tanh(flow @ values.T)
    return flow


def test_a_product_is_what_it_was_and_the_change(network, weights, tmp_path):
    rng = np.random.default_rng(5)
    changes = {"0.self_attn.q_proj": change(rng), "1.mlp.down_proj": change(rng)}
    changes["1.self_attn.v_proj"] = change(rng)
    adapt(network, adapter(tmp_path / "taught", changes), tmp_path / "out.xml")
    given = rng.normal(size=(3, WIDE)).astype(np.float32)
    assert run(tmp_path / "out.xml", given) == pytest.approx(
        expected(weights, changes, given), abs=2e-3
    )
    assert run(network, given) == pytest.approx(expected(weights, {}, given), abs=2e-3)


def test_an_adapter_of_another_model_is_refused(network, tmp_path):
    rng = np.random.default_rng(5)
    other = adapter(tmp_path / "deeper", {"9.mlp.up_proj": change(rng)})
    with pytest.raises(ValueError, match="of another model"):
        adapt(network, other, tmp_path / "out.xml")
    narrow = adapter(tmp_path / "narrow", {"0.mlp.up_proj": change(rng, (WIDE, NARROW))})
    with pytest.raises(ValueError, match="another shape"):
        adapt(network, narrow, tmp_path / "out.xml")


@pytest.fixture
def plain(network):
    """A folder whose network has no adapter yet, as the conversion leaves it."""
    for suffix in (".xml", ".bin"):
        network.with_suffix(suffix).rename((network.parent / PLAIN).with_suffix(suffix))
    return network.parent


def test_what_an_adapter_is_put_into_stays_until_that_is_done(
    plain, weights, tmp_path, monkeypatch
):
    rng = np.random.default_rng(5)
    changes = {"1.mlp.up_proj": change(rng)}
    taught = adapter(tmp_path / "taught", changes)

    def stopped(network, taught, out):
        out.write_text("half of a network")
        raise OSError("No space left on device")

    with monkeypatch.context() as meanwhile, pytest.raises(OSError):
        meanwhile.setattr(convert, "adapt", stopped)
        put_in(plain, taught)
    convert.convert(tmp_path / "model.gguf", plain, plain=True)  # there is none any more
    put_in(plain, taught)
    given = rng.normal(size=(3, WIDE)).astype(np.float32)
    assert run(plain / NETWORK, given) == pytest.approx(expected(weights, changes, given), abs=2e-3)
    assert not list(plain.glob("plain_*"))
