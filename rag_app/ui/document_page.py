"""A document's own page, in the place of the conversation: what it is and what it can answer."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from rag_app.answering.overview import Overview, Sentence
from rag_app.errors import UnknownDocument
from rag_app.library import Library
from rag_app.text.highlighting import escape_markdown
from rag_app.text.page_names import TABLES, section_name
from rag_app.text.sentences import one_line
from rag_app.types import Document, Heading, Status, askable
from rag_app.ui import browser, composer, groups_panel, search_panel, texts, web_pages
from rag_app.ui import texts_library as words
from rag_app.ui.jobs import caught
from rag_app.ui.state import Opened, Place, current, say

_LOOK_AGAIN = 0.7  # seconds


def draw(library: Library) -> None:
    """The page of the document that was chosen, or nothing if it is gone."""
    session = current()
    try:
        document = library.document(session.about)
    except UnknownDocument:
        session.about = ""
        return
    with st.container(key="about"):
        st.button(
            words.BACK, key="about_back", icon=":material/arrow_back:", type="tertiary",
            on_click=leave,
        )  # fmt: skip
        _head(library, document)
        made = library.overviews.of(document.id) if askable(document) else None
        _body(library, document, made)
        if not (made and made.complete) and not library.overviews.given_up(document.id):
            st.fragment(_watch, run_every=_LOOK_AGAIN)(library, document, made)


def _watch(library: Library, document: Document, drawn: Overview | None) -> None:
    """Draw the page anew as soon as there is more to show."""
    now = next((d for d in library.documents() if d.id == document.id), None)
    news = library.overviews.kept(document.id) != drawn
    if now != document or news or library.overviews.given_up(document.id):
        st.rerun()


def open_page(document_id: str) -> None:
    """Show a document's own page."""
    current().show(about=document_id)


def leave() -> None:
    """Back to the conversation."""
    current().about = ""


def _head(library: Library, document: Document) -> None:
    st.html(f"<h2 class='about'>{escape(document.name)}</h2>")
    written_in = str(getattr(document, "language", ""))
    st.html(f"<p class='facts'>{escape(words.about(document, written_in))}</p>")
    for origin in library.web.origins([document.id]).values():
        st.html(web_pages.origin_html(origin))
    shelved = library.shelves.all().of(document.id)
    line = words.tagged(shelved.folder, shelved.tags)
    if line:
        st.html(f"<p class='facts'>{escape(line)}</p>")
    with st.container(key="about_tools", horizontal=True):
        st.button(
            texts.OPEN, key="about_open", icon=":material/menu_book:",
            on_click=_open, args=(document, 1), disabled=not document.pages,
        )  # fmt: skip
        st.button(
            texts.ONLY_THIS, key="about_only", icon=":material/chat:",
            on_click=_only, args=(library, document), disabled=not askable(document),
        )  # fmt: skip
        st.button(
            words.SEARCH_IN, key="about_search", icon=":material/search:",
            on_click=_search, args=(document.id, ""), disabled=not askable(document),
        )  # fmt: skip
        st.button(
            words.FOLDER_AND_TAGS, key="about_shelve", icon=":material/label:",
            on_click=groups_panel.ask_for, args=(document.id,),
        )  # fmt: skip
    error = [document.error] if document.error else []
    notes = [*error, *document.warnings, *words.report(library.report(document.id))]
    if notes:
        items = "".join(f"<li>{escape(note)}</li>" for note in notes)
        st.html(f"<h3>{words.NOTES}</h3><ul class='notes'>{items}</ul>")


def _body(library: Library, document: Document, made: Overview | None) -> None:
    """What was made of it so far."""
    if document.status is Status.FAILED:
        return
    if not askable(document):
        _working(words.NOT_READ_YET)
        return
    given_up = library.overviews.given_up(document.id)
    if made is None and given_up:
        st.html(f"<p class='note'>{words.NOT_MADE}</p>")
    elif made is None:
        _working(words.BEING_MADE)
        st.html("<div class='skeleton'><i></i><i></i><i></i></div>")
    else:
        _summary(library, document, made.summary)
        _topics(document, made.topics)
        _questions(library, document, made, not given_up)
        _outline(library, document, made.outline)


def _working(sentence: str) -> None:
    st.html(f"<p class='working' role='status'>{sentence}</p>")


def _summary(library: Library, document: Document, summary: Sequence[Sentence]) -> None:
    if not summary or document.suffix in TABLES:  # rows out of their table say nothing
        return
    st.html(f"<h3>{words.SUMMARY}</h3>")
    rows = [
        browser.Row(one_line(s.text), _where(library, document, s.page, s.start)) for s in summary
    ]

    def opened(number: int) -> None:
        s = summary[number]
        place = Place(document.id, document.name, s.page, s.start, s.end, s.text)
        _show(Opened(place, s.page))

    browser.show_list("about_summary", words.SUMMARY, rows, opened)


def _topics(document: Document, topics: Sequence[str]) -> None:
    if not topics:
        return
    st.html(f"<h3>{words.TOPICS}</h3>")
    with st.container(key="about_topics", horizontal=True):
        for number, topic in enumerate(topics):
            st.button(
                escape_markdown(topic), key=f"topic-{number}", help=words.TOPICS_HINT,
                on_click=_search, args=(document.id, f'"{topic}"' if " " in topic else topic),
            )  # fmt: skip


def _questions(library: Library, document: Document, made: Overview, waiting: bool) -> None:
    st.html(f"<h3>{words.CAN_ANSWER}</h3>")
    for number, question in enumerate(made.questions or ()):
        st.button(
            escape_markdown(question), key=f"suggested-{number}",
            on_click=ask, args=(library, question, document.id),
        )  # fmt: skip
    if made.questions is None and waiting:
        _working(words.TRYING)
    elif not made.questions:
        st.html(f"<p class='note'>{words.NO_DOCUMENT_QUESTIONS}</p>")


def _outline(library: Library, document: Document, outline: Sequence[Heading]) -> None:
    st.html(f"<h3>{words.OUTLINE}</h3>")
    if not outline:
        st.html(f"<p class='note'>{words.NO_OUTLINE}</p>")
        return
    levels = sorted({heading.level for heading in outline})
    rows = [
        browser.Row(
            one_line(h.text),
            _where(library, document, h.page, h.start, h.text),
            level=levels.index(h.level) + 1,
        )
        for h in outline
    ]

    @caught(say)
    def opened(number: int) -> None:
        h = outline[number]
        line = library.page(document.id, h.page).text[h.start :].splitlines()[:1]
        text = line[0] if line else ""
        place = Place(document.id, document.name, h.page, h.start, h.start + len(text), text)
        _show(Opened(place, h.page))

    browser.show_list("about_outline", words.OUTLINE, rows, opened, small=True)


def _where(library: Library, document: Document, page: int, start: int, beside: str = "") -> str:
    """Which page or section; without the name of it that stands `beside` it."""
    name = library.page_name(document.id, page, start=start)
    return "" if name == section_name(beside) else texts.page(name.removeprefix(f"{beside}, "))


def _show(opened: Opened) -> None:
    current().opened = opened


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def ask(library: Library, question: str, document_id: str) -> None:
    """Ask one document a question that it is known to answer."""
    composer.submit(library, question, only=[document_id])


def _open(document: Document, page: int) -> None:
    _show(Opened(Place(document.id, document.name, page), page))


@caught(say)
def _only(library: Library, document: Document) -> None:
    session = current()
    session.untick({d.id for d in library.documents()} - {document.id})
    session.about = ""


def _search(document_id: str, query: str) -> None:
    search_panel.begin(query, document_id)
