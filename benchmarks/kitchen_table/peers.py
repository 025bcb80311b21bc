"""The other projects' side: each in a process and an environment of its own.

They get the documents by their usual loaders, and write with the language model of the app, so that
only what is around the model differs. Neither has a conversation: a question is asked without its
turns, as their tutorials ask it. Their pipelines stand in `langchain_side.py` and
`llamaindex_side.py`; this module only orders and listens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.environments import python_of
from benchmarks.kitchen_table.environments import PEERS, folder_of
from benchmarks.kitchen_table.judging import sounds_refused
from benchmarks.kitchen_table.questions import Question
from benchmarks.kitchen_table.rows import Said, Seconds
from benchmarks.processes import ROOT

KEYS = tuple(PEERS)
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "ANONYMIZED_TELEMETRY": "False",
    "LANGSMITH_TRACING": "false",
    "TOKENIZERS_PARALLELISM": "false",
}


def name(key: str) -> str:
    """What a peer is called in the rows."""
    return PEERS[key].name


def answers(
    key: str, paths: Sequence[Path], questions: Sequence[Question], writer: Path
) -> Iterator[tuple[str, Said]]:
    """What a peer says to each question, by its id, as it comes; nothing if it cannot be had."""
    python = python_of(folder_of(key), PEERS[key])
    if python is None:
        print(f"{name(key)} could not be installed and is left out", file=sys.stderr)
        return
    job = {
        "peer": key,
        "documents": [str(path) for path in paths],
        "writer": str(writer.expanduser().resolve()),
        "questions": [[question.id, question.text] for question in questions],
    }
    asked = {question.id: question for question in questions}
    for line in _lines(python, json.dumps(job)):
        row = json.loads(line)
        question = asked[row["id"]]
        refused = sounds_refused(question, row["answer"]) and not row["error"]
        seconds = Seconds(**row["seconds"])
        yield question.id, Said(row["answer"], refused, seconds, error=row["error"])


def _lines(python: Path, job: str) -> Iterator[str]:
    command = [str(python), "-m", "benchmarks.kitchen_table.peer_process"]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **_ENVIRONMENT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(job)
        process.stdin.close()
        yield from process.stdout
    if process.returncode:
        raise SystemExit(f"{command[-1]} ended with status {process.returncode}")
