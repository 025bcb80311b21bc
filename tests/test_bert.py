"""A network made of a model's weights gives the numbers of transformers' own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel

from rag_app.models.convert import CONFIG, STEP, WEIGHTS, adapted, as_bert, in_bytes, write_bert
from rag_app.retrieval.bert import Bert


def bert(**changes):
    torch.manual_seed(7)
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
    shape = {"vocab_size": 50, "num_hidden_layers": 2, "max_position_embeddings": 24}
    return BertModel(BertConfig(**{**sizes, **shape, **changes}), add_pooling_layer=False).eval()


def ours(model, scale=1.0, dtype=np.float32):
    weights = {name: one.numpy().astype(dtype) for name, one in model.state_dict().items()}
    for name, one in weights.items():
        if "self.query" in name:
            weights[name] = one * dtype(scale)
    return Bert(weights, model.config, threads=1)


def texts():
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(1, 50, (3, 16), generator=generator)
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    mask[2, 1:] = 0
    kinds = torch.zeros_like(ids)
    kinds[0, 5:] = 1
    return ids, mask, kinds


def difference(model, network, ids, mask, kinds=None):
    with torch.inference_mode():
        theirs = model(input_ids=ids, attention_mask=mask, token_type_ids=kinds)[0].numpy()
    given = (ids, mask) if kinds is None else (ids, mask, kinds)
    made = network(*(one.numpy() for one in given))
    assert made.shape == theirs.shape and made.dtype == np.float32
    return np.abs((made - theirs) * mask.numpy()[..., None]).max()


# A CPU that multiplies bf16 in hardware rounds to it, and others do not.
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_hidden_states_are_those_of_transformers(dtype):
    ids, mask, kinds = texts()
    model = bert()
    network = ours(model, dtype=dtype)
    assert difference(model, network, ids, mask) < 0.1
    assert difference(model, network, ids, mask, kinds) < 0.1


def mpnet():
    torch.manual_seed(7)
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
    shape = {"vocab_size": 30_527, "num_hidden_layers": 2, "max_position_embeddings": 302}
    model = MPNetModel(MPNetConfig(**sizes, **shape), add_pooling_layer=False).eval()
    for one in model.parameters():  # as they come, distances would hardly weigh
        torch.nn.init.normal_(one, std=0.3)
    return model


def test_an_mpnet_by_the_names_and_numbers_of_a_bert_is_the_mpnet():
    model = mpnet()
    weights = as_bert({name: one.numpy() for name, one in model.state_dict().items()})
    network = Bert(weights, model.config, threads=1)
    generator = torch.Generator().manual_seed(3)
    theirs = torch.randint(5, 30_526, (2, 290), generator=generator)  # past the widest bucket
    theirs[:, 0], mask = 0, torch.ones_like(theirs)
    theirs[0, -1] = theirs[1, 200] = 2
    theirs[1, 201:], mask[1, 201:] = 1, 0
    own = torch.tensor([101, 0, 102, -1])
    ours = torch.where(theirs >= 4, theirs - 4, own[theirs.clamp(max=3)])
    with torch.inference_mode():
        wanted = model(input_ids=theirs, attention_mask=mask)[0].numpy()
    made = network(ours.numpy(), mask.numpy())
    off = (made - wanted)[mask.numpy() == 1]
    assert np.sqrt((off**2).mean()) < 0.05 * wanted.std()


def test_what_is_made_of_an_mpnet_may_be_read_by_others_and_leaves_nothing_beside(tmp_path):
    save_file(
        {name: one.contiguous() for name, one in mpnet().state_dict().items()}, tmp_path / "x"
    )
    write_bert(tmp_path / "x", tmp_path / "made")
    assert {one.name for one in (tmp_path / "made").iterdir()} == {WEIGHTS, CONFIG}
    modes = {one.stat().st_mode & 0o044 for one in (tmp_path / "made").iterdir()}
    (tmp_path / "plain").touch()
    assert modes == {(tmp_path / "plain").stat().st_mode & 0o044}


def test_weights_of_eight_bits_make_nearly_the_same():
    ids, mask, _ = (one.numpy() for one in texts())
    model = bert()
    weights = {name: one.numpy() for name, one in model.state_dict().items()}
    small = in_bytes(weights)
    whole = [one for one in weights if small[one].dtype == np.int8]
    assert len(whole) == 12 and all(f"{one}{STEP}" in small for one in whole)
    made = Bert(small, model.config, threads=1)(ids, mask)
    wanted = ours(model)(ids, mask)
    off = (made - wanted)[mask == 1]
    assert np.sqrt((off**2).mean()) < 0.05 * wanted.std()


def lora(folder, product, width=32):
    folder.mkdir()
    generator = torch.Generator().manual_seed(5)
    name = f"base_model.model.{product}"
    parts = {
        f"{name}.lora_A.weight": torch.randn(2, width, generator=generator),
        f"{name}.lora_B.weight": torch.randn(width, 2, generator=generator),
    }
    save_file(parts, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text('{"r": 2, "lora_alpha": 4}')
    return 2.0 * parts[f"{name}.lora_B.weight"] @ parts[f"{name}.lora_A.weight"]


def test_what_an_mpnet_was_taught_besides_is_added_to_its_weights(tmp_path):
    product = "encoder.layer.1.attention.attn.q"
    change = lora(tmp_path / "taught", product).numpy()
    weights = {name: one.numpy() for name, one in mpnet().state_dict().items()}
    made = adapted(weights, tmp_path / "taught")
    differ = [name for name in weights if not np.array_equal(made[name], weights[name])]
    assert differ == [f"{product}.weight"]
    off = made[differ[0]] - weights[differ[0]] - change
    assert np.abs(off).max() < 0.01 * np.abs(change).max()
    lora(tmp_path / "other", "encoder.layer.9.attention.attn.q")
    with pytest.raises(KeyError):
        adapted(weights, tmp_path / "other")


def test_weights_of_another_model_are_no_mpnet():
    with pytest.raises((KeyError, IndexError)):
        as_bert({name: one.numpy() for name, one in bert().state_dict().items()})


def test_what_is_padding_changes_nothing():
    ids, mask, kinds = (one.numpy() for one in texts())
    network = ours(bert())
    whole = network(ids, mask, kinds)
    alone = network(ids[1:2, :9], mask[1:2, :9], kinds[1:2, :9])
    assert np.abs(whole[1, :9] - alone[0]).max() < 0.05
    other = np.where(mask == 1, ids, 7)
    assert np.abs((network(other, mask, kinds) - whole) * mask[..., None]).max() < 0.05


@pytest.mark.parametrize("scale", [100.0, 10_000.0])
def test_scores_too_large_for_exp_give_numbers_all_the_same(scale):
    ids, mask, kinds = (one.numpy() for one in texts())
    assert np.isfinite(ours(bert(), scale)(ids, mask, kinds)).all()


def test_a_network_with_another_activation_is_refused():
    with pytest.raises(ValueError, match="relu"):
        ours(bert(hidden_act="relu"))
