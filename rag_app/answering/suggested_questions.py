"""What a document is, and what it may be asked, as the app's own writer says it. Pure.

An introduction is title, kind, two sentences, three questions. Of the two sentences one that holds
a figure which the document does not is left out. Whether the document answers the questions has to
be tried by asking; of a piece of it the reader knows where."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile

from rag_app.answering.attribution import known_figures, pieces_of
from rag_app.answering.chat_generator import without_invented
from rag_app.answering.prompts import INTRODUCTION
from rag_app.storage.overviews import Introduction
from rag_app.text.formats import readable_name
from rag_app.text.sentences import one_line, sentences
from rag_app.types import Chunk, Page, Span

READ = 1_200  # characters of a document that are read
_TITLE_ROOM, _KIND_ROOM, _ABOUT_ROOM = 90, 60, 600  # characters that they may have
_QUESTIONS, _SENTENCES = 3, 2
_FEWEST_WORDS = 5
_BEGINNING = 4  # letters by which forms of a word are the same
_WORD = re.compile(r"[^\W\d_]+")
_ASKS = ("?", "？")
_LIST = re.compile(r"^\s*(?:[-*•]|\d[.)])\s+")

Find = Callable[[str, str], tuple[int, int] | None]
"""Where a text answers a question: offsets of its characters, None if it does not seem to."""


def opening(pages: list[Page]) -> str:
    """What of a document is read: its beginning, cut between words."""
    text = ""
    for page in pages:
        text = f"{text}\n\n{page.text.strip()}".strip()
        if len(text) > READ:
            return text[:READ].rsplit(maxsplit=1)[0]
    return text


def introduced(
    write: Callable[[str], Iterator[str]], name: str, text: str
) -> Iterator[Introduction]:
    """What `write` says of a document, as far as it is said; the file's name if nothing is.

    Its argument is how the reply is to begin; it gives the reply as far as it is written. One that
    is no introduction mostly has no title: then the file's name is one."""
    title = readable_name(name) or "Document"
    for begun in ("", f"{title}\n"):
        reply, made = "", None
        for reply in write(begun):
            lines, _, _ = reply.rpartition("\n")  # the last one is still being written
            made = understood_introduction(lines, name, text) or made
            if made:
                yield made
            if made and len(made.questions) == _QUESTIONS:  # some go on for ever
                return
        if made := understood_introduction(reply, name, text) or made:
            yield made
            return
    yield Introduction(title)


def understood_introduction(reply: str, name: str, text: str) -> Introduction | None:
    """What a writer said of a document; None: that is no introduction."""
    lines = [_LIST.sub("", one_line(line)) for line in reply.splitlines() if line.strip()]
    asked = [line for line in lines if line.endswith(_ASKS)]
    title, kind, *rest = [*(line for line in lines if line not in asked), "", ""]
    kind = _without_the_wish(kind)
    if _names_others(title, f"{name}\n{text}"):
        title = readable_name(name) or title
    if _names_others(kind, f"{name}\n{text}"):
        kind = ""
    known = known_figures(f"{name}\n{text}")
    about = next(filter(_is_sentence, (without_invented(one, known) for one in rest)), "")
    about = "".join(takewhile(_is_no_part, pieces_of(about)[:_SENTENCES])).strip()
    questions = tuple(q for q in dict.fromkeys(asked) if without_invented(q, known))
    if not (about or questions) or not title or len(title) > _TITLE_ROOM or len(kind) > _KIND_ROOM:
        return None
    return Introduction(title, "" if kind == title else kind, about, questions[:_QUESTIONS])


def _names_others(said: str, known: str) -> bool:
    """Whether a title has a word with a capital of which the document knows nothing: a writer has
    names of its own."""
    begun = {word[:_BEGINNING] for word in _WORD.findall(known.lower())}
    words = [word for word in _WORD.findall(said) if word[0].isupper() and len(word) >= _BEGINNING]
    return any(word.lower()[:_BEGINNING] not in begun for word in words)


def _without_the_wish(kind: str) -> str:
    """A kind up to where a writer goes on with what it was asked for: "minutes, two sentences"."""
    wish = set(INTRODUCTION.replace(",", "").split())
    parts = kind.split(", ")
    last = next((n for n, part in enumerate(parts) if n and set(part.split()) <= wish), len(parts))
    return ", ".join(parts[:last])


def _is_no_part(sentence: str) -> bool:
    """Whether a sentence is not begun with what a writer was asked for: "Three questions: …"."""
    return not sentence.strip().lower().startswith(tuple(INTRODUCTION.split(", ")[2:]))


def _is_sentence(text: str) -> bool:
    """What is copied from a document instead, a heading or a line of a list, is none."""
    ends = text.endswith((".", "!", "。"))
    return ends and len(text.split()) >= _FEWEST_WORDS and len(text) <= _ABOUT_ROOM


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A question, and the place that should answer it."""

    question: str
    place: Span


def placed(said: Introduction, chunk: Chunk, find: Find) -> Iterator[Suggestion]:
    """The questions of a piece's introduction that the piece answers, each with the sentence that
    does."""
    for question in said.questions:
        found = find(question, chunk.text)
        for start, end in sentences(chunk.text) if found else ():
            if found and start <= found[0] < end:
                place = chunk.start + start, chunk.start + end
                yield Suggestion(question, Span(chunk.document_id, chunk.page, *place))
