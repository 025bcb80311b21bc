"""The first minute: what to do, a sample to try, questions that can be asked of it."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files

import streamlit as st

from rag_app.answering.choice import parse
from rag_app.highlighting import escape_markdown
from rag_app.library import Library
from rag_app.types import Document, Status
from rag_app.ui import chat, texts
from rag_app.ui.boundary import caught
from rag_app.ui.state import ASKABLE, current, say


@cache
def sample() -> tuple[str, bytes] | None:
    """Name and bytes of the sample document, if this copy of the app has one."""
    folder = files("rag_app").joinpath("samples")
    if not folder.is_dir():
        return None
    found = sorted((f for f in folder.iterdir() if f.name.endswith(".pdf")), key=lambda f: f.name)
    return (found[0].name, found[0].read_bytes()) if found else None


@cache
def sample_questions() -> tuple[str, ...]:
    """Questions that the sample document answers."""
    file = files("rag_app").joinpath("samples", "questions.txt")
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return tuple(line.strip() for line in lines if line.strip())


def draw(library: Library) -> None:
    """What stands where the conversation will be."""
    documents = library.documents()
    ready = [d for d in documents if d.status in ASKABLE]
    with st.container(key="welcome"):
        if ready:
            _say(texts.READY_TITLE, texts.library_size(len(ready)))
            _questions(library, ready)
        elif any(d.status is not Status.FAILED for d in documents):
            _say(texts.READING_TITLE, texts.READING)
        else:
            _say(texts.EMPTY_TITLE, texts.EMPTY)
            if sample():
                st.button(
                    texts.SAMPLE,
                    key="sample",
                    icon=":material/description:",
                    on_click=_add_sample,
                    args=(library,),
                )
            goes = texts.where_it_goes(parse(current().generator or library.settings.generator))
            st.html(f"<p class='private'>{goes}</p>")


def _say(title: str, text: str) -> None:
    st.html(f"<h2>{escape(title)}</h2><p>{escape(text)}</p>")


def _questions(library: Library, ready: list[Document]) -> None:
    chosen = sample()
    if not chosen or not any(d.name == chosen[0] for d in ready):
        return
    st.html(f"<p class='example'>{texts.TRY_ASKING}</p>")
    for number, question in enumerate(sample_questions()):
        st.button(
            escape_markdown(question),
            key=f"example-{number}",
            on_click=_ask,
            args=(library, question),
        )


@caught(say)
def _add_sample(library: Library) -> None:
    chosen = sample()
    if chosen:
        library.add(*chosen)


@caught(say)
def _ask(library: Library, question: str) -> None:
    chat.submit(library, question)
