from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from rag_app.errors import ModelUnavailable
from rag_app.retrieval.embedding import Embedder
from rag_app.retrieval.sentence_models import TextEncoder, TunedQuestions
from tests import toy_models as toys
from tests.fakes import WordEmbedder

WORDS = [f"word{number}" for number in range(40)]
TEXTS = ["word1 word2", "word3", " ".join(WORDS), "word7 word8 word9 word1", "unheard of", ""]


@pytest.fixture(scope="module")
def bert(tmp_path_factory) -> Path:
    from transformers import BertConfig, BertModel

    torch.manual_seed(3)
    config = toys.bert_config(len(WORDS) + 4, 16, initializer_range=0.6)
    folder = tmp_path_factory.mktemp("encoders") / "bert"
    return toys.save(folder, BertModel(BertConfig(**config)), toys.tokenizer(WORDS))


def test_a_vector_is_the_mean_of_its_tokens_and_padding_leaves_no_trace(bert):
    from transformers import BertModel

    network, words = BertModel.from_pretrained(bert), toys.tokenizer(WORDS)
    for text, vector in zip(TEXTS, TextEncoder(bert).embed(TEXTS), strict=True):
        with torch.no_grad():
            hidden = network(**words(text, return_tensors="pt")).last_hidden_state[0]
        assert torch.allclose(vector, hidden.mean(dim=0), atol=1e-4)


def test_questions_go_another_way_than_passages_and_the_index_is_still_theirs(bert):
    built_in = WordEmbedder()
    tuned = TunedQuestions(built_in, bert)
    tuned.warm()
    assert isinstance(tuned, Embedder) and tuned.fingerprint == built_in.fingerprint
    assert tuned.embed_documents(TEXTS) == built_in.embed_documents(TEXTS)
    asked = tuned.embed_query(TEXTS[0])
    raw = TextEncoder(bert).embed([TEXTS[0]])[0].numpy()
    assert np.allclose(asked, raw / np.linalg.norm(raw), atol=1e-5)


def test_a_folder_without_safetensors_says_so(bert, tmp_path):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(bert / name, tmp_path / name)
    (tmp_path / "pytorch_model.bin").write_bytes(b"cbuiltins\neval\n")
    with pytest.raises(ModelUnavailable, match="safetensors"):
        TunedQuestions(WordEmbedder(), tmp_path).warm()


def test_a_folder_that_is_not_there_is_not_looked_for_elsewhere(tmp_path):
    with pytest.raises(ModelUnavailable, match="no folder"):
        TextEncoder(tmp_path / "bert-base-uncased").load()


def test_weights_of_another_model_are_not_taken_for_an_encoder(bert, tmp_path):
    from transformers import GPT2Config, GPT2Model

    mixed = shutil.copytree(bert, tmp_path / "mixed")
    config = GPT2Config(vocab_size=44, n_embd=16, n_layer=1, n_head=2)
    GPT2Model(config).save_pretrained(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "model.safetensors", mixed / "model.safetensors")
    with pytest.raises(ModelUnavailable, match="weights are missing"):
        TextEncoder(mixed).load()


def test_threads_may_ask_at_once(bert):
    tuned = TunedQuestions(WordEmbedder(), bert)
    expected = np.array([tuned.embed_query(text) for text in TEXTS])
    results: list[list[list[float]]] = []
    threads = [
        threading.Thread(target=lambda: results.append([tuned.embed_query(t) for t in TEXTS]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(np.allclose(found, expected, atol=1e-5) for found in results)
