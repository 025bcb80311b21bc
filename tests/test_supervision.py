"""What becomes of what is raised beside the rest."""

from __future__ import annotations

import logging

import pytest

from rag_app.answering.generation import explained
from rag_app.errors import ChatModelError
from rag_app.supervision import held, surviving


def test_what_is_raised_is_held_for_somebody_else():
    with held() as attempt:
        raise OSError("full")
    assert attempt.failed and str(attempt.error) == "full"
    with held() as attempt:
        pass
    assert not attempt.failed and attempt.error is None


def test_what_is_not_to_be_held_is_raised():
    with pytest.raises(ValueError, match="no number"), held(but=(ValueError,)):
        raise ValueError("no number")
    with pytest.raises(KeyboardInterrupt), held():
        raise KeyboardInterrupt


def test_a_thread_goes_on_and_the_log_has_the_traceback(caplog):
    with surviving(logging.getLogger("worker"), "could not read %s", "a.pdf") as attempt:
        raise OSError("full")
    (record,) = caplog.records
    assert attempt.failed and record.getMessage() == "could not read a.pdf"
    assert record.levelname == "ERROR" and "OSError: full" in caplog.text


def test_what_a_provider_raises_becomes_one_sentence():
    def explain(error: Exception) -> ChatModelError:
        return ChatModelError(f"It said: {error}.")

    with pytest.raises(ChatModelError, match="It said: full") as raised, explained(explain):
        raise OSError("full")
    assert isinstance(raised.value.__cause__, OSError)
