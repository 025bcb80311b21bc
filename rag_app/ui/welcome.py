"""The first minute: what to do, a sample to try, questions that can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files

import streamlit as st

from rag_app.answering.model_spec import parse
from rag_app.answering.overview import Overview
from rag_app.library import Library
from rag_app.storage.overviews import Introduction
from rag_app.text.formats import readable_name
from rag_app.text.highlighting import escape_markdown
from rag_app.types import Document, Status, askable
from rag_app.ui import browser, composer, document_page, texts, who
from rag_app.ui.jobs import caught
from rag_app.ui.state import current, say
from rag_app.ui.widgets import button

_OFFERED = 4  # questions
_INTRODUCED = 2  # documents, the newest
_LOOKED_AT = 12  # documents, the newest
_LOOK_AGAIN = 1.5  # seconds


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
    ready = [d for d in documents if askable(d)]
    with st.container(key="welcome"):
        if ready:
            if not _introductions(library, ready):
                _say(texts.READY_TITLE, texts.library_size(len(ready)))
                _questions(library, ready)
        elif any(d.status is not Status.FAILED for d in documents):
            _say(texts.READING_TITLE, texts.READING)
        else:
            _say(texts.EMPTY_TITLE, texts.EMPTY, texts.EMPTY_TOUCH)
            if sample():
                button(texts.SAMPLE, "sample", _add_sample, library, icon="description")
            now = parse(current().generator or library.settings.answers_by)
            goes = texts.where_it_goes(now, who.same_computer())
            st.html(f"<p class='private'>{goes}</p>")


def _say(title: str, text: str, on_a_phone: str = "") -> None:
    narrow = f"<p class='narrow'>{escape(on_a_phone)}</p>" if on_a_phone else ""
    wide = " class='wide'" if on_a_phone else ""
    st.html(f"<h2>{escape(title)}</h2><p{wide}>{escape(text)}</p>{narrow}")


def _introductions(library: Library, ready: list[Document]) -> bool:
    """What the newest documents are, with questions; whether that is known of any of them."""
    newest = [d for d in ready if d.id not in current().unticked][: -_INTRODUCED - 1 : -1]
    # What is asked for last is made next.
    made = {d.id: library.overviews.of(d.id) or Overview() for d in reversed(newest)}
    shown = {i: _shown(library, i, one) for i, one in made.items()}
    coming = _coming(library, made)
    if coming:
        browser.fragment(_watch, "introductions", _LOOK_AGAIN)(library, coming)
    known = [d for d in newest if shown[d.id][1] or library.overviews.introduces(d.id)]
    if not known:
        return False
    if len(ready) > 1:
        st.html(f"<p class='example'>{escape(texts.library_size(len(ready)))}</p>")
    for document in known:
        questions, told = shown[document.id]
        with st.container(key=f"introduced-{document.id[:12]}"):
            _introduction(document, told)
            _asked_of(library, document, (questions or ())[: _OFFERED // len(known)])
    return True


def _introduction(document: Document, told: Introduction | None) -> None:
    """What a document is, as far as it is `told`."""
    said = told or Introduction(
        document.title or readable_name(document.name), about=texts.INTRODUCING
    )
    facts = " · ".join(filter(None, (said.kind, texts.facts(document), document.name)))
    st.html(
        f"<h3>{escape(said.title)}</h3><p class='facts'>{escape(facts)}</p>"
        + (f"<p>{escape(said.about)}</p>" if said.about else "")
    )


def _asked_of(library: Library, document: Document, questions: Sequence[str]) -> None:
    for number, question in enumerate(questions):
        button(
            escape_markdown(question),
            f"asks-{document.id[:12]}-{number}",
            document_page.ask,
            library,
            question,
            document.id,
        )


def _questions(library: Library, ready: list[Document]) -> None:
    """Questions that were tried: of the user's own documents, or of the sample."""
    chosen = sample()
    name = chosen[0] if chosen else ""
    own = [d for d in ready if d.name != name and d.id not in current().unticked]
    if not (own and _suggested(library, own)) and any(d.name == name for d in ready):
        _of_sample(library)


def _suggested(library: Library, documents: list[Document]) -> bool:
    """Questions that were tried of these documents; whether there are any yet."""
    newest = documents[: -_LOOKED_AT - 1 : -1]
    made = {d.id: library.overviews.kept(d.id) or Overview() for d in newest}
    offered = [
        (question, document)
        for turn in range(_OFFERED)
        for document in newest
        for question in (made[document.id].questions or ())[turn : turn + 1]
    ]
    if offered:
        st.html(f"<p class='example'>{texts.TRY_ASKING}</p>")
    for number, (question, document) in enumerate(offered[:_OFFERED]):
        button(
            f"{escape_markdown(question)} :gray[:small[{escape_markdown(document.name)}]]",
            f"suggestion-{number}",
            document_page.ask,
            library,
            question,
            document.id,
        )
    coming = _coming(library, made)
    if len(offered) < _OFFERED and coming:
        browser.fragment(_watch, "suggestions", _LOOK_AGAIN)(library, coming)
    return bool(offered)


_Shown = tuple[Sequence[str] | None, Introduction | None]
"""The questions that were tried of a document, and what it is, as far as that is said."""


def _shown(library: Library, document_id: str, made: Overview) -> _Shown:
    return made.questions, made.introduction or library.overviews.said(document_id)


def _coming(library: Library, made: Mapping[str, Overview]) -> dict[str, _Shown]:
    """What is shown of those documents of which there will be more."""
    return {
        document_id: _shown(library, document_id, one)
        for document_id, one in made.items()
        if not one.complete and not library.overviews.given_up(document_id)
    }


def _watch(library: Library, drawn: Mapping[str, _Shown]) -> None:
    """Draw the page anew as soon as more is said of a document, there is another question to
    offer, or nothing more is coming."""
    for document_id, before in drawn.items():
        now = library.overviews.kept(document_id) or Overview()
        told = _shown(library, document_id, now)
        if told != before or library.overviews.given_up(document_id):
            st.rerun()


def _of_sample(library: Library) -> None:
    st.html(f"<p class='example'>{texts.TRY_ASKING}</p>")
    for number, question in enumerate(sample_questions()):
        button(escape_markdown(question), f"example-{number}", _ask, library, question)


@caught(say)
def _add_sample(library: Library) -> None:
    chosen = sample()
    if chosen:
        library.add(*chosen, added_by=current().id)


@caught(say)
def _ask(library: Library, question: str) -> None:
    composer.submit(library, question)
