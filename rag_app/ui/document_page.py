"""A document's own page, in the place of the conversation: what it is and what it can answer."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import streamlit as st

from rag_app.answering.overview import Overview, Sentence
from rag_app.errors import UnknownDocument
from rag_app.library import Library
from rag_app.storage.overviews import DatedSentence
from rag_app.text.formats import TABLES, section_name
from rag_app.text.highlighting import escape_markdown
from rag_app.text.sentences import one_line
from rag_app.types import Document, Heading, Status, askable
from rag_app.ui import browser, composer, groups_panel, search_panel, source, texts
from rag_app.ui import texts_library as words
from rag_app.ui.jobs import caught
from rag_app.ui.state import Place, current, open_place, say
from rag_app.ui.widgets import button, page_head

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
        page_head(escape(document.name), "about", leave)
        _head(library, document)
        made = library.overviews.of(document.id) if askable(document) else None
        _body(library, document, made)
        if not (made and made.complete) and not library.overviews.given_up(document.id):
            browser.fragment(_watch, "overview", _LOOK_AGAIN)(library, document, made)


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
    st.html(f"<p class='facts'>{escape(words.about(document))}</p>")
    for origin in library.web.origins([document.id]).values():
        st.html(source.origin_html(origin))
    shelved = library.shelves.all().of(document.id)
    line = words.tagged(shelved.folder, shelved.tags)
    if line:
        st.html(f"<p class='facts'>{escape(line)}</p>")
    with st.container(key="about_tools", horizontal=True):
        button(
            texts.OPEN, "about_open", _open, document, icon="menu_book",
            disabled=not document.pages,
        )  # fmt: skip
        button(
            texts.ONLY_THIS, "about_only", _only, library, document, icon="chat",
            disabled=not askable(document),
        )  # fmt: skip
        button(
            words.SEARCH_IN, "about_search", search_panel.begin, "", document.id, icon="search",
            disabled=not askable(document),
        )  # fmt: skip
        button(
            words.FOLDER_AND_TAGS, "about_shelve", groups_panel.ask_for, document.id, icon="label"
        )
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
        _mind_map(library, document, made)
        _timeline(library, document, made.dates)
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
    browser.show_list(
        "about_summary", words.SUMMARY, rows, lambda number: _show(document, summary[number])
    )


def _topics(document: Document, topics: Sequence[str]) -> None:
    if not topics:
        return
    st.html(f"<h3>{words.TOPICS}</h3>")
    with st.container(key="about_topics", horizontal=True):
        for number, topic in enumerate(topics):
            query = f'"{topic}"' if " " in topic else topic
            button(
                escape_markdown(topic), f"topic-{number}", search_panel.begin, query, document.id,
                help=words.TOPICS_HINT,
            )  # fmt: skip


def _questions(library: Library, document: Document, made: Overview, waiting: bool) -> None:
    offered = made.introduction.questions if made.introduction else ()
    if not (made.questions or offered):
        return  # there are none to be tried
    st.html(f"<h3>{words.CAN_ANSWER}</h3>")
    for number, question in enumerate(made.questions or ()):
        button(
            escape_markdown(question), f"suggested-{number}", ask, library, question, document.id
        )
    if made.questions is None and waiting:
        _working(words.TRYING)
    elif not made.questions:
        st.html(f"<p class='note'>{words.NO_DOCUMENT_QUESTIONS}</p>")


def _outline(library: Library, document: Document, outline: Sequence[Heading]) -> None:
    if not outline and document.suffix in TABLES:  # nobody looks for headings in one
        return
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
    browser.show_list(
        "about_outline", words.OUTLINE, rows,
        lambda number: _show_heading(library, document, outline[number]), small=True,
    )  # fmt: skip


def _show(document: Document, s: Sentence) -> None:
    open_place(Place(document.id, document.name, s.page, s.start, s.end, s.text))


@caught(say)
def _show_heading(library: Library, document: Document, h: Heading) -> None:
    line = library.page(document.id, h.page).text[h.start :].splitlines()[:1]
    text = line[0] if line else ""
    open_place(Place(document.id, document.name, h.page, h.start, h.start + len(text), text))


# What there is to look at where a document has enough of it: a map of its outline with its topics,
# and the days that it names. Both are closed until somebody wants them.

_ENOUGH = 3  # headings, or days
_BRANCHES = 12
_HEADINGS = 4  # of a branch
_BEFORE, _BEHIND = 60, 140  # characters of a long sentence shown around its day


def _mind_map(library: Library, document: Document, made: Overview) -> None:
    top, parts = map_parts(made.outline)
    if len(parts) < _ENOUGH:
        return
    numbered = list(enumerate(made.topic_places, start=len(made.outline)))
    branches = []
    for part, end in parts[:_BRANCHES]:
        heading = made.outline[part]
        below = [(n, made.outline[n]) for n in range(part + 1, end)]
        level = min((one.level for _, one in below), default=0)
        under = [(n, one_line(one.text)) for n, one in below if one.level == level]
        topics = [(n, one.topic) for n, one in numbered if part <= one.heading < end]
        where = _where(library, document, heading.page, heading.start, heading.text)
        more = texts.waiting_more(len(under) - _HEADINGS) if len(under) > _HEADINGS else ""
        branches.append(
            browser.Branch((part, one_line(heading.text)), where, under[:_HEADINGS], topics, more)
        )

    def opened(number: int) -> None:
        if number < len(made.outline):
            _show_heading(library, document, made.outline[number])
            return
        one = made.topic_places[number - len(made.outline)]
        open_place(Place(document.id, document.name, one.page, one.start, one.end, one.topic))

    root = one_line(made.outline[top].text) if top is not None else document.name
    with st.expander(words.MIND_MAP, icon=":material/account_tree:"):
        browser.show_map("about_map", words.map_of(document.name), root, branches, opened)
        if len(parts) > _BRANCHES:
            st.html(f"<p class='note'>{texts.waiting_more(len(parts) - _BRANCHES)}</p>")


def map_parts(outline: Sequence[Heading]) -> tuple[int | None, list[tuple[int, int]]]:
    """What a document is divided into: headings by their numbers, each with that of the next one.

    The first is the heading above all of them, if there is one. What a table of contents names, and
    the document again, is there once."""
    if not outline:
        return None, []
    top = None
    levels = sorted({heading.level for heading in outline})
    begin, level = 0, levels[0]
    alone = [heading.level for heading in outline].count(level) == 1
    if len(levels) > 1 and alone and outline[0].level == level:
        top, begin, level = 0, 1, levels[1]
    starts = [n for n in range(begin, len(outline)) if outline[n].level == level]
    parts = zip(starts, [*starts[1:], len(outline)], strict=True)
    again = {one_line(outline[n].text): n for n in starts}
    return top, [
        (n, end) for n, end in parts if end > n + 1 or again[one_line(outline[n].text)] == n
    ]


def _timeline(library: Library, document: Document, dates: Sequence[DatedSentence]) -> None:
    if len(dates) < _ENOUGH:
        return
    rows = [
        browser.Row(
            _around(one.sentence.text, one.said),
            _where(library, document, one.sentence.page, one.sentence.start),
            lead=one.said,
        )
        for one in dates
    ]
    with st.expander(words.timeline(len(dates)), icon=":material/calendar_month:"):
        browser.show_list(
            "about_dates", words.TIMELINE, rows,
            lambda number: _show(document, dates[number].sentence), small=True,
        )  # fmt: skip


def _around(sentence: str, said: str) -> str:
    """As much of a sentence as can be read in a list, with its day."""
    at = sentence.find(said)
    start = sentence.rfind(" ", 0, max(0, at - _BEFORE)) + 1 if at > _BEFORE else 0
    end = at + len(said) + _BEHIND
    end = sentence.rfind(" ", 0, end) if end < len(sentence) else len(sentence)
    return f"{'…' if start else ''}{sentence[start:end]}{'…' if end < len(sentence) else ''}"


def _where(library: Library, document: Document, page: int, start: int, beside: str = "") -> str:
    """Which page or section; without the name of it that stands `beside` it."""
    name = library.page_name(document.id, page, start=start)
    return "" if name == section_name(beside) else texts.page(name.removeprefix(f"{beside}, "))


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def ask(library: Library, question: str, document_id: str) -> None:
    """Ask one document a question that it is known to answer."""
    composer.submit(library, question, only=[document_id])


def _open(document: Document) -> None:
    open_place(Place(document.id, document.name, 1))


@caught(say)
def _only(library: Library, document: Document) -> None:
    session = current()
    session.untick({d.id for d in library.documents()} - {document.id})
    session.about = ""
