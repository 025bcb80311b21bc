"""What the model of sentences is taught with, and what is kept of it."""

from __future__ import annotations

import json
import random
from itertools import pairwise

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from transformers import MPNetConfig, MPNetModel

from rag_app.answering.sentence_ranker import Titled
from rag_app.models.convert import adapted
from training.ranker.groups import Group
from training.sentences import train as teaching
from training.sentences.train import Draw, Network, batches, draw, loss_of

WORDS = ["<s>", "<pad>", "</s>", "<unk>", "ferry", "dog", "costs", "four", "free", "museum"]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mpnet")
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
    shape = {"vocab_size": len(WORDS), "num_hidden_layers": 7, "max_position_embeddings": 80}
    MPNetModel(MPNetConfig(**sizes, **shape), add_pooling_layer=False).save_pretrained(folder)
    known = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, "<unk>"))
    known.pre_tokenizer = Whitespace()
    known.save(str(folder / "tokenizer.json"))
    return folder


def group(question, texts, gold, library="ours"):
    passages = tuple(Titled("paper", text, ((0, len(text)),)) for text in texts)
    return Group("fact", "paper", question, passages, tuple((one,) for one in gold), library)


LONG = "It says nothing of what was asked, at some length"


def test_a_question_is_drawn_with_what_answers_it_and_with_a_near_miss():
    one = group("fare", ["The ferry costs four euros.", LONG, "short"], [True, False, False])
    drawn = draw(one, random.Random(1))
    assert drawn.right == "paper; The ferry costs four euros." and drawn.right in drawn.rights
    assert drawn.misses == (f"paper; {LONG}",), "what tells nothing is no miss"


def test_half_of_a_step_is_of_one_library():
    parts = [
        [group(f"{name} {n}", ["a"], [True], name) for n in range(20)] for name in ("a", "b", "c")
    ]
    for step in batches(parts, random.Random(1)):
        changes = sum(x.library != y.library for x, y in pairwise(step))
        assert changes <= 1 and len(step) <= teaching.AT_ONCE


def test_another_questions_sentence_that_answers_too_is_no_miss(base):
    network = Network(base)
    twice = Draw("ferry", "ferry costs four", frozenset({"ferry costs four", "dog free"}), ())
    other = Draw("dog", "dog free", frozenset({"dog free"}), ())
    strict = Draw("ferry", "ferry costs four", frozenset({"ferry costs four"}), ())
    with torch.no_grad():
        assert float(loss_of(network, [twice, other])) < float(loss_of(network, [strict, other]))


def test_what_was_learnt_is_kept_as_the_app_reads_it(base, tmp_path):
    network = Network(base)
    learning = [one for one in network.parameters() if one.requires_grad]
    optimizer = torch.optim.AdamW(learning, 0.1)
    loss_of(network, [Draw("ferry", "ferry four", frozenset(), ("museum free",))] * 2).backward()
    optimizer.step()
    network.save(tmp_path / "taught")
    about = json.loads((tmp_path / "taught" / "adapter_config.json").read_text())
    assert about["lora_alpha"] == about["r"] == 16
    weights = {
        name: one.float().numpy()
        for name, one in MPNetModel.from_pretrained(base).state_dict().items()
        if not name.startswith("pooler")
    }
    made = adapted(weights, tmp_path / "taught")
    differ = {name for name in made if not np.array_equal(made[name], weights[name])}
    assert differ and all(name.startswith("encoder.layer.6.") for name in differ)
    moved = network.net.encoder.layer[6].output.dense
    change = (moved.up.detach() @ moved.down.detach()).numpy()
    off = (
        made["encoder.layer.6.output.dense.weight"] - weights["encoder.layer.6.output.dense.weight"]
    )
    assert np.abs(off - change).max() < 0.01 * np.abs(change).max() + 1e-3
