"""What runs in a peer's process: an order on standard input, a line of JSON for each answer.

Runs in the environment of the peer. Knows nothing of what is right."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel

_LONGEST = 700  # tokens of an answer, as the app allows


class Pipeline(NamedTuple):
    """A peer with the documents in it: what is found for a question, and what is written of it."""

    find: Callable[[str], Sequence[Any]]
    write: Callable[[str, Sequence[Any]], Iterator[str]]


Build = Callable[[Sequence[Path], BaseChatModel], Pipeline]


def writer(folder: str) -> BaseChatModel:
    """The language model that comes with the app, loaded."""
    from rag_app.answering.local_chat import OpenVinoChatModel

    model = OpenVinoChatModel(folder=folder, most_tokens=_LONGEST)
    model.load()
    return model


def ask(pipeline: Pipeline, question: str) -> dict[str, Any]:
    """The answer, and the seconds until a source, a word and the end were there."""
    began = time.perf_counter()
    sources = first_word = None
    written, error = "", ""
    try:
        found = pipeline.find(question)
        sources = time.perf_counter() - began if found else None
        for text in pipeline.write(question, found):
            written += text
            if first_word is None and written.strip():
                first_word = time.perf_counter() - began
    except Exception as raised:  # noqa: BLE001 a peer may raise anything; the others still answer
        error = f"{type(raised).__name__}: {raised}"
    end = time.perf_counter() - began
    seconds = {"sources": sources, "first_word": first_word, "end": end}
    return {"answer": written.strip(), "seconds": seconds, "error": error}


def _builders() -> dict[str, Build]:
    from benchmarks.kitchen_table import langchain_side, llamaindex_side

    return {"langchain": langchain_side.build, "llamaindex": llamaindex_side.build}


def main() -> None:
    """Build the pipeline of the order, then answer its questions one after the other."""
    said, sys.stdout = sys.stdout, sys.stderr  # what packages print is none of the answers
    job = json.loads(sys.stdin.read())
    began = time.perf_counter()
    model = writer(job["writer"])
    pipeline = _builders()[job["peer"]]([Path(one) for one in job["documents"]], model)
    print(f"{job['peer']} ready in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    pipeline.find("a first sentence, so that nothing is loaded later")
    for identifier, question in job["questions"]:
        row = {"id": identifier, **ask(pipeline, question)}
        said.write(json.dumps(row, ensure_ascii=False) + "\n")
        said.flush()


if __name__ == "__main__":
    main()
