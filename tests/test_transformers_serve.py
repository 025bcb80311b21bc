"""`transformers serve` with a model made here, through LangChain's OpenAI client over HTTP."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from rag_app.answering.chat_models import ChatSettings, models, try_out
from rag_app.answering.generator_factory import GeneratorFactory
from rag_app.answering.model_spec import ModelSpec
from rag_app.answering.span_model import SpanModel
from rag_app.errors import ChatModelError
from rag_app.export.messages import sentence
from tests.fakes import WordEmbedder
from tests.test_chat import PASSAGES
from tests.toy_chat import make


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """(address, model, process) of a running server."""
    folder = make(tmp_path_factory.mktemp("served") / "tiny-chat", window=4_096)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("transformers")), "serve", str(folder)]
    command += ["--port", str(port), "--device", "cpu", "--log-level", "error"]
    process = subprocess.Popen(
        command,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}/v1"
    try:
        _wait(f"http://127.0.0.1:{port}/health", process)
        yield url, str(folder), process
    finally:
        process.kill()
        process.wait()


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until and process.poll() is None:
        try:
            if httpx.get(address, timeout=1, trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            time.sleep(0.2)
    pytest.fail(f"the server did not start: {process.poll()}")


def generator(url: str, model: str, tokens: int = 40):
    terms = ChatSettings(seconds=30, most_tokens=tokens)
    return GeneratorFactory(WordEmbedder(), SpanModel(), 0.2, terms, 4_000).build(
        ModelSpec("openai", model, url)
    )


def test_it_is_tried_out_and_answers(served):
    url, model, _ = served
    try:
        assert "works: it answered in" in try_out(
            ModelSpec("openai", model, url), ChatSettings(most_tokens=8)
        )
    except ChatModelError as error:  # random weights may write white space only
        assert "writes nothing" in str(error)
    assert isinstance(models(url), tuple)


def test_its_words_are_streamed(served):
    url, model, _ = served
    writer = generator(url, model, 400).writer
    said = [("human", "What does the ferry cost?")]
    grown = list(writer.write(lambda room: said, lambda: False))
    # Random weights may say what is not to be shown, but they say it word by word.
    assert len(set(grown)) > 1
    assert all(late.startswith(early) for early, late in pairwise(grown))


def test_a_stop_is_heard_while_it_writes(served):
    url, model, _ = served
    stopped = threading.Event()
    pieces = generator(url, model, 2_000).generate("What?", PASSAGES, stopped.is_set)
    next(pieces)
    stopped.set()
    began = time.monotonic()
    assert all(piece.draft is None for piece in pieces)
    assert time.monotonic() - began < 2.0


def test_a_server_killed_in_mid_answer_leaves_what_was_written_and_then_is_missed(served):
    url, model, process = served
    pieces = generator(url, model, 3_000).generate("What?", PASSAGES, lambda: False)
    said = []
    for piece in pieces:  # random weights may begin with signs alone, which are no answer
        said.append(piece)
        if any(c.isalnum() for c in piece.text):
            break
    process.kill()
    said += list(pieces)
    draft = said[-1].draft
    assert draft is not None
    notes = [*map(sentence, draft.notes)]
    assert any("stopped in the middle" in n or "repeat" in n for n in notes), (notes, draft)
    process.wait()
    *_, last = generator(url, model).generate("What does the ferry cost?", PASSAGES, lambda: False)
    assert last.draft is not None and last.draft.generator == "reader"
    assert "No server answers" in sentence(last.draft.notes[0])
