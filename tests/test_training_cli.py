"""`rag-app train` over a real library, and what comes of it in use."""

from __future__ import annotations

import json

import pytest

from rag_app import cli
from rag_app.library import Library
from rag_app.settings import Settings
from rag_app.types import Finished
from tests import toy_models as toys

TEXT = "The ferry costs four euros.\n\nThe museum is closed on Mondays.\n"
WORDS = [
    "the",
    "ferry",
    "costs",
    "four",
    "euros",
    "museum",
    "is",
    "closed",
    "on",
    "mondays",
    "what",
    "does",
    "cost",
    "when",
]


@pytest.fixture
def generator(tmp_path):
    words = toys.tokenizer(WORDS)
    return toys.save(tmp_path / "begin", toys.bart(len(words)), words)


@pytest.fixture
def run(tmp_path, capsys):
    def run(*arguments: str):
        status = cli.main([*arguments, "--data-dir", str(tmp_path / "data")])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def pairs(tmp_path, *lines: object):
    file = tmp_path / "pairs.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    return str(file)


def test_what_was_learnt_is_used_by_two_settings(run, tmp_path, generator):
    (tmp_path / "guide.txt").write_text(TEXT)
    run("add", str(tmp_path / "guide.txt"))
    out = tmp_path / "learnt"
    file = pairs(tmp_path, {"question": "what does the ferry cost", "answer": "four euros"})
    status, said, err = run(
        "train", file, "--generator", str(generator), "--out", str(out), "--steps", "2"
    )
    assert status == 0, err
    assert "step 2 of 2, loss" in err
    assert f"RAG_APP_QUESTION_ENCODER={out}" in said and "RAG_APP_GENERATOR=rag-sequence:" in said
    settings = Settings.load(
        data_dir=tmp_path / "data",
        question_encoder=str(out / "question_encoder"),
        generator=f"rag-token:{out / 'generator'}",
        chat_tokens=16,
    )
    with Library(settings) as library:
        assert len(library.vectors()) == library.documents()[0].chunks
        assert library.search("ferry price")[0].chunk.text.startswith("The ferry")
        *_, last = library.ask("what does the ferry cost")
        assert isinstance(last, Finished)


@pytest.mark.parametrize(
    ("lines", "says"),
    [([], "no question in"), ([{"question": "x"}], "Line 1 of"), (["x"], "Line 1 of")],
)
def test_pairs_that_cannot_be_learnt_from_are_named(run, tmp_path, generator, lines, says):
    file = pairs(tmp_path, *lines)
    status, _, err = run(
        "train", file, "--generator", str(generator), "--out", str(tmp_path / "new")
    )
    assert status == 2 and says in err and not (tmp_path / "new").exists()


def test_an_empty_library_teaches_nothing(run, tmp_path, generator):
    file = pairs(tmp_path, {"question": "x", "answer": "y"})
    status, _, err = run(
        "train", file, "--generator", str(generator), "--out", str(tmp_path / "new")
    )
    assert status == 1 and "Add documents first" in err
