"""Answers in a language that is not the question's: what asks for it, and who can do it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag_app.answering.chat import ChatGenerator
from rag_app.answering.generator import Cancelled, Generator, Piece
from rag_app.text.languages import NAMES
from rag_app.types import Passage

LANGUAGES = tuple(sorted(NAMES.values()))

NEEDS_MODEL = (
    "An answer in {0} needs a language model, and none is chosen. Choose one under “Answers” at "
    "the top left; here is what your documents say, as they say it."
)

_ASKS = r"(?:please\s+)?(?:answer|reply|respond|write)(?:\s+(?:me|it))?\s+in"
_FIRST = re.compile(rf"^\W*{_ASKS}\s+(\w+)\s*[:,.\-–—]?\s+(?=\S)", re.IGNORECASE)
_LAST = re.compile(rf"[\s.?!,;(]+{_ASKS}\s+(\w+)(?:[\s,]+please)?\W*$", re.IGNORECASE)
_OF_TASK = re.compile(r"\bin\s+([A-Z]\w+)(?:[\s,]+please)?\W*$")


def language_asked(said: str) -> tuple[str, str]:
    """(the question without the wish, the language it wishes for), the language empty if none.

    English: "Answer in German: …", "… Please reply in French."."""
    for pattern in (_FIRST, _LAST):
        found = pattern.search(said)
        if found and found.group(1).capitalize() in LANGUAGES:
            rest = said[: found.start()] + said[found.end() :]
            ended = said[found.start() : found.start() + 1]
            if pattern is _LAST and ended in ".?!":
                rest += ended
            return rest.strip(), found.group(1).capitalize()
    return said, ""


def language_of_task(wish: str) -> str:
    """The language in which a summary or a draft is wished for: "… in German"; empty if none."""
    found = _OF_TASK.search(wish)
    return found.group(1) if found and found.group(1) in LANGUAGES else ""


def wished(wish: str, language: str) -> str:
    """What a chat model is told: the wish, and the language it is to be carried out in."""
    return f"{wish}\n\nWrite the answer in {language}." if language else wish


class InLanguage:
    """A generator whose answers are to be in one language.

    A chat model is told so; of the others, whose words are the documents' own, a note says that
    they cannot."""

    def __init__(self, generator: Generator, language: str) -> None:
        self.name = generator.name
        self._generator, self._language = generator, language

    def warm(self) -> None:
        """Load what it needs now. Raises ModelUnavailable."""
        self._generator.warm()

    def generate(
        self, question: str, passages: Sequence[Passage], cancelled: Cancelled
    ) -> Iterator[Piece]:
        """Yield pieces, the last one with the draft. Raises ModelUnavailable."""
        if isinstance(self._generator, ChatGenerator):
            question = wished(question, self._language)
            yield from self._generator.generate(question, passages, cancelled)
            return
        note = NEEDS_MODEL.format(self._language)
        for piece in self._generator.generate(question, passages, cancelled):
            draft = piece.draft
            if draft is not None and not draft.abstained:
                piece = replace(piece, draft=replace(draft, notes=(*draft.notes, note)))
            yield piece
