"""What is said to utterances that ask nothing of documents: greetings, thanks, who is there.

Replies are data (chitchat.jsonl), chosen by the examples that lie nearest; one of them, NOTHING, is
for what holds no question at all."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from functools import cache

from rag_app.answering.task_router import FOLDER, Router
from rag_app.text.languages import language_of_question
from rag_app.types import Task

NOTHING = "nothing"
_NEAREST = 5  # examples that are asked
_SHARPNESS = 4  # how much more the nearest of them counts


@dataclass(frozen=True, slots=True)
class Reply:
    """What is said, and to which kind of chitchat: the id of its entry."""

    kind: str
    text: str


class Chitchat:
    """Answers what the router calls chitchat. Thread-safe."""

    def __init__(self, router: Router) -> None:
        self._router = router

    def reply(self, text: str) -> Reply:
        """What is said to an utterance, in its language. Raises ModelUnavailable."""
        found: dict[str, float] = defaultdict(float)
        for example, near in self._router.nearest(text, Task.CHITCHAT)[:_NEAREST]:
            found[example.entry] += near**_SHARPNESS
        kind = max(found, key=lambda entry: found[entry])
        said = _replies()[kind]
        return Reply(kind, said.get(language_of_question(text), said["en"]))


@cache
def _replies() -> dict[str, dict[str, str]]:
    lines = (FOLDER / "chitchat.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["id"]: row["reply"] for row in map(json.loads, lines)}
