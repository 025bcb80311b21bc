"""What a document is, said by the app's own writer as soon as it can be read: title, kind, two
sentences, three questions. Pure.

Of the two sentences one that holds a figure which the document does not is left out."""

from __future__ import annotations

import re

from rag_app.answering.chat_generator import without_invented
from rag_app.answering.figures import known_figures
from rag_app.storage.overviews import Introduction
from rag_app.text.sentences import one_line
from rag_app.types import Page

READ = 1_200  # characters of a document that are read
_TITLE, _KIND, _ABOUT = 90, 60, 600  # characters that they may have
_QUESTIONS = 3
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
    lines = [_LIST.sub("", line).strip() for line in reply.splitlines() if line.strip()]
    if len(lines) < 3:
        return None
    title, kind, about, *questions = map(one_line, lines)
    known = known_figures(f"{name}\n{text}")
    about = without_invented(about, known)
    asked = [q for q in questions if q.endswith(("?", "？")) and without_invented(q, known)]
    if not about or len(title) > _TITLE or len(kind) > _KIND or len(about) > _ABOUT:
        return None
    return Introduction(title, kind, about, tuple(asked[:_QUESTIONS]))
