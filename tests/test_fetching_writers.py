"""The language models that come with the app, chosen and fetched from the page."""

from __future__ import annotations

import json

import pytest

from rag_app.answering import chat_models
from rag_app.answering.chat_models import ChatModelCatalogue, ChatSettings
from rag_app.answering.model_spec import parse
from rag_app.errors import ModelUnavailable
from rag_app.models.catalogue import DEFAULT, SENTENCES, SMALL
from rag_app.models.weights import folder_of
from rag_app.ui import texts


def make_ready(model, cache):
    folder = folder_of(model, cache)
    folder.mkdir(parents=True)
    (folder / "ready.json").write_text(json.dumps({"sha256": model.sha256, "files": {}}))


@pytest.fixture
def models(tmp_path):
    found = ChatModelCatalogue(ChatSettings(models=tmp_path / "hub", writers=tmp_path / "writers"))
    yield found
    found.close()


def test_a_writer_that_is_not_here_is_missing_until_it_is(models, tmp_path):
    assert models.missing("writer:small") == "small"
    make_ready(SMALL, tmp_path / "writers")
    assert models.missing("writer:small") == "" == models.missing("reader")
    assert "writer:small" in models.writers()


def test_what_does_not_fit_into_memory_is_not_offered(models, monkeypatch):
    monkeypatch.setattr(chat_models, "has_room", lambda model: False)
    assert models.writers() == []


def test_a_fetch_tells_how_far_it_is_and_why_it_failed(models, monkeypatch, tmp_path):
    def ensure(model, cache, progress, cancelled):
        progress("fetching", 3, 10)
        raise ModelUnavailable(f"{model.name} could not be fetched to {cache.name}.")

    monkeypatch.setattr(chat_models, "ensure", ensure)
    fetch = models.fetch("small")
    fetch.end()
    assert (fetch.done, fetch.total) == (3, SMALL.bytes + SENTENCES.bytes)
    assert fetch.error == f"{SMALL.name} could not be fetched to writers."
    assert not folder_of(SMALL, tmp_path / "writers").exists()


def test_what_finds_sentences_comes_along_and_is_not_insisted_on(models, monkeypatch, tmp_path):
    asked = []

    def ensure(model, cache, progress, cancelled):
        asked.append(model.key)
        progress("fetching", 3, model.bytes)
        progress("checking", 0, 0)
        if not model.writes:
            raise ModelUnavailable("It could not be fetched.")

    monkeypatch.setattr(chat_models, "ensure", ensure)
    fetch = models.fetch("small")
    fetch.end()
    assert asked == ["small", "sentences"] and not fetch.error
    assert (fetch.done, fetch.total) == (SMALL.bytes + 3, SMALL.bytes + SENTENCES.bytes)


def test_what_is_here_already_is_not_counted(models, monkeypatch, tmp_path):
    make_ready(SENTENCES, tmp_path / "writers")

    def ensure(model, cache, progress, cancelled):
        if model.writes:
            progress("fetching", model.bytes, model.bytes)

    monkeypatch.setattr(chat_models, "ensure", ensure)
    fetch = models.fetch("small")
    fetch.end()
    assert fetch.done == fetch.total == SMALL.bytes


def test_a_choice_says_what_it_is_and_how_large():
    assert texts.choice("writer:small").startswith("Qwen2.5 Coder 0.5B: writes answers")
    assert "MB" in texts.choice("writer:small")


def reads(monkeypatch, speed):
    monkeypatch.setattr(chat_models, "reading_speed", lambda choice, terms: speed)
    monkeypatch.setattr(chat_models, "has_room", lambda model: True)


@pytest.mark.parametrize(("speed", "offered"), [(40.0, "writer:small"), (150.0, ""), (None, "")])
def test_a_quicker_writer_is_offered_where_the_default_reads_slowly(
    models, monkeypatch, tmp_path, speed, offered
):
    make_ready(DEFAULT, tmp_path / "writers")
    reads(monkeypatch, speed)
    assert models.quicker("writer:default") == offered


@pytest.mark.parametrize("choice", ["reader", "writer:small", "openai:x@http://localhost:1/v1"])
def test_no_quicker_writer_is_offered_to_who_has_chosen_another(
    models, monkeypatch, tmp_path, choice
):
    make_ready(DEFAULT, tmp_path / "writers")
    make_ready(SMALL, tmp_path / "writers")
    reads(monkeypatch, 40.0)
    assert models.quicker(choice) == ""


def test_no_quicker_writer_is_offered_that_does_not_fit(models, monkeypatch, tmp_path):
    make_ready(DEFAULT, tmp_path / "writers")
    reads(monkeypatch, 40.0)
    monkeypatch.setattr(chat_models, "has_room", lambda model: False)
    assert models.quicker("writer:default") == ""


def test_a_writer_that_is_not_loaded_has_no_speed_yet(tmp_path):
    terms = ChatSettings(writers=tmp_path)
    assert chat_models.reading_speed(parse("writer:default"), terms) is None
