from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from rag_app.encoders.other_embedding import FolderEmbedder, embedder_of
from rag_app.errors import ModelUnavailable
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
    from rag_app.encoders import other_embedding

    monkeypatch.setattr(other_embedding, "_BLOCK", 8)
    monkeypatch.setattr(other_embedding, "_BLOCKS", 4)
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
