"""Choosing which model finds by meaning, on the command line."""

from __future__ import annotations

import json

import pytest

from rag_app import cli
from rag_app.retrieval.embedding_choice import MANY
from tests import sentence_models
from tests.fakes import WordEmbedder
from tests.hub import hub
from tests.test_meaning import files

__all__ = ["files"]  # a fixture


@pytest.fixture
def run(monkeypatch, capsys, own_house):
    """Runs a command: its exit status, and what it wrote on standard output and error."""
    monkeypatch.setattr("rag_app.open_library.MiniLmEmbedder", lambda *_: WordEmbedder())

    def command(*words: str) -> tuple[int, str, str]:
        status = cli.main(list(words))
        return status, *capsys.readouterr()

    return command


def test_it_says_which_model_finds_by_meaning(run):
    assert run("languages")[:2] == (0, "Found by meaning with the built-in model, for English.\n")


def test_a_folder_is_chosen_and_everything_is_embedded_before_it_ends(run, tmp_path):
    (tmp_path / "ferry.txt").write_text("The ferry to the island costs four euros.\n")
    run("add", str(tmp_path / "ferry.txt"))
    folder = sentence_models.write(tmp_path / "model")
    status, out, _ = run("languages", str(folder), "--json")
    said = json.loads(out)
    assert status == 0 and said["passages"] == 1
    assert (said["languages"], said["model"]) == ("own", str(folder))
    assert said["answering"] == "own" and said["embedded"] is None and said["error"] is None
    assert str(folder) in run("languages")[1]
    status, out, _ = run("languages", "english")
    assert status == 0 and "built-in model" in out
    assert json.loads(run("languages", "--json")[1])["languages"] == "english"


def test_the_model_for_many_languages_is_fetched_first(run, files, monkeypatch):
    with hub({MANY.name: files}) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        status, out, err = run("languages", "many")
        assert status == 0 and MANY.name in out and "100 %" in err
        asked = len(served.asked)
        assert run("languages", "many")[0] == 0 and len(served.asked) == asked


def test_what_cannot_be_used_is_one_sentence(run, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    status, out, err = run("languages", "many")
    assert status == 1 and not out and "could not be reached" in err
    status, out, err = run("languages", str(tmp_path / "nothing"))
    assert status == 1 and not out and "no such folder" in err
    torn = sentence_models.write(tmp_path / "torn")
    weights = torn / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    (tmp_path / "ferry.txt").write_text("The ferry to the island costs four euros.\n")
    run("add", str(tmp_path / "ferry.txt"))
    status, out, err = run("languages", str(torn))
    assert status == 1 and not out and "damaged" in err


def test_where_the_environment_chooses_that_is_said(run, tmp_path, monkeypatch):
    folder = sentence_models.write(tmp_path / "model")
    monkeypatch.setenv("RAG_APP_EMBEDDING", str(folder))
    assert "(set by RAG_APP_EMBEDDING)" in run("languages")[1]
    for choice in ("english", "many"):
        status, _, err = run("languages", choice)
        assert status == 1 and "RAG_APP_EMBEDDING" in err
