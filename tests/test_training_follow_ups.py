"""Whether a question leans on the one before it is learnt from questions of both kinds."""

from __future__ import annotations

import gzip
import json

import pytest

from training import follow_ups
from training.follow_ups import Source, chance, fitted, sources

LEANS = ["and in 2021?", "why is that", "does it cost more", "and for children?", "is it the same"]
STANDS = [
    "who chairs the committee of the club",
    "what does a day ticket for the ferry cost",
    "when was the lighthouse built",
    "how many bicycles were sold in may",
]


def test_questions_like_those_that_lean_are_told_from_those_that_stand_alone():
    weights, bias = fitted([Source("a", LEANS, True), Source("b", STANDS, False)])
    assert chance("and for dogs?", weights, bias) > 0.3
    assert chance("who chairs the club", weights, bias) < 0.1


@pytest.fixture
def data(tmp_path):
    histories = [[f"Article {n}", "Its section", "Who?", "Somebody."] for n in range(40)]
    rows = [
        {"history": one, "question": f"and {n}?", "rewrite": f"Who is person {n}?"}
        for n, one in enumerate(histories)
    ]
    for name, lines in (
        ("followups/canard_dev", rows),
        ("reader/train/squad_v11_train_du44", [{"question": "When was it built?"}]),
        ("reader/train/nq_part", [{"question": "who won the cup"}]),
    ):
        file = tmp_path / f"{name}.jsonl.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    return tmp_path


def test_nothing_that_is_kept_aside_is_learnt_from(data):
    taught, aside = sources(data)
    learnt = {text for source in taught for text in source.texts}
    kept = {text for source in aside if "spoken" not in source.name for text in source.texts}
    assert learnt and kept and not learnt & kept


def test_every_everyday_question_is_of_a_known_kind():
    rows = [json.loads(line) for line in follow_ups.EVERYDAY.read_text("utf-8").splitlines()]
    assert {row["kind"] for row in rows} == {"follow_up", "complete", "form"}
    assert len({row["text"] for row in rows}) == len(rows)
