"""What a document is, said by the app's own writer as soon as it can be read: title, kind, two
sentences, three questions. Pure.

Of the two sentences one that holds a figure which the document does not is left out."""

from __future__ import annotations

import re

from rag_app.answering.attribution import known_figures
from rag_app.answering.chat_generator import without_invented
from rag_app.storage.overviews import Introduction
from rag_app.text.sentences import one_line
from rag_app.types import Page

READ = 1_200  # characters of a document that are read
_TITLE_ROOM, _KIND_ROOM, _ABOUT_ROOM = 90, 60, 600  # characters that they may have
_QUESTIONS = 3
_FEWEST_WORDS = 5
_ASKS = ("?", "？")
_LIST = re.compile(r"^\s*(?:[-*•]|\d[.)])\s+")


def opening(pages: list[Page]) -> str:
    """What of a document is read: its beginning, cut between words."""
    text = ""
    for page in pages:
        text = f"{text}\n\n{page.text.strip()}".strip()
        if len(text) > READ:
            return text[:READ].rsplit(maxsplit=1)[0]
    return text


def understood_introduction(reply: str, name: str, text: str) -> Introduction | None:
    """What a writer said of a document; None: that is no introduction."""
    lines = [_LIST.sub("", one_line(line)) for line in reply.splitlines() if line.strip()]
    asked = [line for line in lines if line.endswith(_ASKS)]
    title, kind, *rest = [*(line for line in lines if line not in asked), "", ""]
    known = known_figures(f"{name}\n{text}")
    about = next(filter(_is_sentence, (without_invented(one, known) for one in rest)), "")
    questions = tuple(q for q in dict.fromkeys(asked) if without_invented(q, known))
    if not (about or questions) or not title or len(title) > _TITLE_ROOM or len(kind) > _KIND_ROOM:
        return None
    return Introduction(title, "" if kind == title else kind, about, questions[:_QUESTIONS])


def _is_sentence(text: str) -> bool:
    """What is copied from a document instead, a heading or a line of a list, is none."""
    ends = text.endswith((".", "!", "。"))
    return ends and len(text.split()) >= _FEWEST_WORDS and len(text) <= _ABOUT_ROOM
