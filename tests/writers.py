"""The real writers, where they were installed: tests that need one are skipped, saying why."""

from __future__ import annotations

import pytest

from rag_app.answering.engine import engine_of
from rag_app.answering.local_chat import OpenVinoChatModel
from rag_app.models.catalogue import DEFAULT, SMALL, Model, has_room
from rag_app.models.weights import folder_of, is_ready
from rag_app.settings import Settings

MODELS = Settings.load().models_folder  # read before a test gets an environment of its own


def real(model: Model, most_tokens: int = 60) -> OpenVinoChatModel:
    """A writer, or the test is skipped."""
    if not is_ready(model, MODELS):
        pytest.skip(f"{model.name} is not installed (python -m rag_app.models.weights {model.key})")
    opened = OpenVinoChatModel(folder=str(folder_of(model, MODELS)), most_tokens=most_tokens)
    if not opened.running and not has_room(model):
        pytest.skip(f"there is too little memory for {model.name}")
    return opened


def either() -> Model:
    """The one that tests of the engine use: the small one is quicker."""
    return SMALL if is_ready(SMALL, MODELS) else DEFAULT


def let_go() -> None:
    """End the engines: their memory counts for whoever measures this process and its children."""
    for model in (SMALL, DEFAULT):
        engine_of(str(folder_of(model, MODELS)), 0).close()
