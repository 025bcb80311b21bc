"""Servers of chat models that run on this machine, and whether a chosen model answers.

Looks at this machine only, and only when it is asked to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from rag_app.answering.chat_models import Terms, explain, open_model
from rag_app.answering.choice import Choice
from rag_app.errors import ChatModelError

KNOWN = (
    ("Ollama", "http://127.0.0.1:11434/v1"),
    ("LM Studio", "http://127.0.0.1:1234/v1"),
    ("llama.cpp", "http://127.0.0.1:8080/v1"),
    ("vLLM", "http://127.0.0.1:8000/v1"),
)
_PATIENCE = 0.5  # seconds; a server on this machine answers at once
_MOST_MODELS = 100


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answered, and the models it offers."""

    name: str
    url: str
    models: tuple[str, ...]


def running(known: Sequence[tuple[str, str]] = KNOWN) -> list[Server]:
    """The servers of this machine that answer now, in the order of `known`."""
    with ThreadPoolExecutor(len(known) or 1) as pool:
        found = pool.map(lambda pair: Server(pair[0], pair[1], models(pair[1])), known)
    return [server for server in found if server.models]


def models(url: str) -> tuple[str, ...]:
    """The models a server offers; none if it does not answer as an OpenAI-compatible one does."""
    import httpx

    try:
        reply = httpx.get(f"{url}/models", timeout=_PATIENCE, trust_env=False)
        listed = reply.raise_for_status().json()["data"]
        names = [str(one["id"]) for one in listed[:_MOST_MODELS]]
    except (httpx.HTTPError, ValueError, KeyError, TypeError):
        return ()
    return tuple(name for name in names if name.isprintable())


def try_out(choice: Choice, terms: Terms) -> str:
    """One sentence: that it works and how fast. Raises ChatModelError with one on what is wrong."""
    began = time.perf_counter()
    try:
        model = open_model(choice, terms)
        said = str(model.invoke([("human", "Reply with the word: ready")]).text)
    except Exception as error:
        raise explain(error, choice) from error
    if not said.strip():
        raise ChatModelError(f"{choice.name} answers, but writes nothing. Choose another model.")
    return f"{choice.name} works: it answered in {time.perf_counter() - began:.1f} s."
