"""Tags on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rag_app.library
from rag_app import cli
from rag_app.library import Library
from tests.fakes import WordEmbedder


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys, tmp_path: Path):
    monkeypatch.setattr(
        rag_app.library, "Library", lambda settings: Library(settings, embedder=WordEmbedder())
    )
    for name, text in (("ferry.txt", "The ferry is blue."), ("van.txt", "The van is blue.")):
        (tmp_path / name).write_text(text, "utf-8")
    assert cli.main(["add", str(tmp_path / "ferry.txt"), str(tmp_path / "van.txt")]) == 0
    capsys.readouterr()

    def run(*words: str) -> tuple[int, str, str]:
        status = cli.main(list(words))
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_a_tag_is_given_shown_and_taken(run):
    assert run("tag", "ferry.txt", "boats") == (0, "ferry.txt  (#boats)\n", "")
    assert "ferry.txt  (#boats)" in run("documents")[1]
    listed = {d["name"]: d for d in json.loads(run("documents", "--json")[1])}
    assert listed["ferry.txt"]["tags"] == ["boats"] and listed["van.txt"]["folder"] is None
    assert run("tag", "ferry.txt", "Boats", "--remove") == (0, "ferry.txt\n", "")


def test_only_documents_with_the_tag_are_searched_and_asked(run):
    run("tag", "van.txt", "Cars")
    found = json.loads(run("search", "blue", "--tag", "cars", "--json")[1])
    assert {passage["name"] for passage in found} == {"van.txt"}
    answer = json.loads(run("ask", "What is blue?", "--tag", "#cars", "--json")[1])
    assert {passage["name"] for passage in answer["passages"]} == {"van.txt"}


def test_a_tag_that_no_document_has_is_said(run):
    status, _, error = run("search", "blue", "--tag", "planes")
    assert (status, error) == (1, "rag-app: No document has the tag “planes”.\n")


def test_an_empty_tag_is_bad_use(run):
    assert run("tag", "van.txt", " # ")[0] == 2
