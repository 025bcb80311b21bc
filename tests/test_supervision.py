"""What becomes of what is raised beside the rest."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rag_app
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


def alone(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A Python that finds the package as it is installed, and not because it starts beside it."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {"RAG_APP_DATA_DIR": str(tmp_path / "data"), "RAG_APP_WRITER": "off"}
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_a_child_finds_the_package_and_is_not_given_what_lies_beside_it(tmp_path):
    told = alone(
        tmp_path,
        "-c",
        "import json, rag_app.supervision as s; print(json.dumps(s.search_path()))",
    )
    project = Path(rag_app.__file__).resolve().parents[1]
    found = [Path(one) for one in json.loads(told.stdout)]
    assert project in found and project.parent not in found


def test_a_document_is_read_by_an_app_that_is_installed_from_elsewhere(tmp_path):
    (tmp_path / "ferry.txt").write_text("The ferry leaves at noon.")
    added = alone(tmp_path, "-m", "rag_app.cli", "add", "ferry.txt")
    assert added.returncode == 0, added.stderr


def test_what_a_provider_raises_becomes_one_sentence():
    def explain(error: Exception) -> ChatModelError:
        return ChatModelError(f"It said: {error}.")

    with pytest.raises(ChatModelError, match="It said: full") as raised, explained(explain):
        raise OSError("full")
    assert isinstance(raised.value.__cause__, OSError)
