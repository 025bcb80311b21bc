"""The language models that come with the app, chosen and fetched from the page."""

from __future__ import annotations

import json

import pytest

from rag_app.answering import chat_models
from rag_app.answering.chat_models import ChatModelCatalogue, ChatSettings
from rag_app.errors import ModelUnavailable
from rag_app.models.catalogue import SMALL
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
    fetch.stop()
    assert (fetch.done, fetch.total) == (3, 10)
    assert fetch.error == f"{SMALL.name} could not be fetched to writers."
    assert not folder_of(SMALL, tmp_path / "writers").exists()


def test_a_choice_says_what_it_is_and_how_large():
    assert texts.choice("writer:small").startswith("Qwen2.5 Coder 0.5B: writes answers")
    assert "MB" in texts.choice("writer:small")
