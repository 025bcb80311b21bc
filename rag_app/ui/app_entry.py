"""The web app: one shared library, who comes in, the page."""

from __future__ import annotations

import time

import streamlit as st

from rag_app.access.access import Access
from rag_app.access.nouns import IsActive
from rag_app.library import Library
from rag_app.observing import logs
from rag_app.settings import Settings
from rag_app.text.highlighting import escape_markdown
from rag_app.ui import (
    administration,
    browser,
    chat,
    check_panel,
    conversation_list,
    document_list,
    document_page,
    folder_panel,
    groups_panel,
    health,
    model_picker,
    search_panel,
    settings_panel,
    sharing,
    source,
    tasks_menu,
    texts,
    texts_answers,
    welcome,
    who,
)
from rag_app.ui.jobs import caught
from rag_app.ui.state import Session, current, library_of_session
from rag_app.ui.web_guard import settings

_READABLE = 8.0  # seconds in which a sentence can be read
_PAGE_FIRST = 1.0  # seconds: loading models takes from whatever runs beside it


def run(is_active: IsActive | None = None) -> None:
    """Draw the page once: what Streamlit's script has to do.

    `is_active`: who of those that signed in may come in, asked at every click; None: who was not
    removed. The library is opened for nobody who has not signed in."""
    logs.begin(request=str(st.context.headers.get("X-Request-ID", "")))
    prepare()
    with caught(show_error):
        chosen = settings()
        if who.enter(chosen, is_active or (lambda one: _access(chosen).admits(one))):
            draw(library_of_session(open_library(chosen)))
            who.draw_person(chosen, lambda one: _access(chosen).sign_out(one))


def _access(chosen: Settings) -> Access:
    return open_library(chosen).access


@st.cache_resource(show_spinner=texts.OPENING, on_release=lambda library: library.close())
def open_library(chosen: Settings) -> Library:
    """The one library of this process, shared by all browser sessions."""
    library = Library(chosen)
    library.warm(after=_PAGE_FIRST)
    health.standing().library = library
    return library


# The page: documents on the left, the conversation in the middle, the source beside it.

_PAGES = {check_panel.PAGE: check_panel.draw, folder_panel.PAGE: folder_panel.draw}


def show_error(sentence: str) -> None:
    """One plain sentence on the page."""
    st.error(escape_markdown(sentence), icon=":material/info:")


@caught(show_error)
def draw(library: Library) -> None:
    """Draw everything. The source comes before the chat, so that it opens while an answer runs."""
    session = current()
    if not session.restored:
        library.prepare()
    model_picker.restore(library)
    conversation_list.restore(library)
    chat.press(library)
    chat.take(library)
    conversation_list.address()
    chat.listen(library)
    st.sidebar.html(f"<h1 class='brand'>{texts.APP}</h1>")
    library.overviews.start()
    _back_when_asked(session)
    session.redraw = False
    for exchange in session.exchanges:
        exchange.drawn = exchange.drawn or not exchange.running  # what this run is about to do
    _tools(library)
    _head_of_a_phone()
    visitor = who.visitor(library)
    if visitor:
        _visitor_buttons(visitor)
    settings_panel.draw(library)
    model_picker.draw(library)
    if visitor:
        sharing.draw_sharing(visitor)
        sharing.draw_keys(visitor)
        who.choose_collection(visitor)
    document_list.draw(library)
    source.draw(library)
    groups_panel.dialog(library)
    # In a place of its own: what follows keeps its place, and what is typed there.
    with st.container(key="before_talk"):
        _instead(library, session, visitor)
    tasks_menu.draw(library)
    _talk(library, session)
    if session.talking and (not session.exchanges or not library.documents()):
        welcome.draw(library)


def _tools(library: Library) -> None:
    """What is there for everybody, below the app's name."""
    with st.sidebar, st.container(key="tools", horizontal=True, vertical_alignment="center"):
        conversation_list.draw(library)
        search_panel.open_button(library)
        settings_panel.open_button()
        st.html(f"<button data-key='?' aria-label='{texts_answers.HELP_TITLE}'>?</button>")


def _head_of_a_phone() -> None:
    """Where the panel on the left is put away: what the app is called, and how files get in."""
    browser.keys()
    browser.take_drops()
    with st.container(key="head"):
        st.html(f"<b>{texts.APP}</b><button type='button' data-key='u'>{texts.ADD_FILES}</button>")


def _visitor_buttons(visitor: who.Visitor) -> None:
    """What is there for somebody who has signed in, and for administrators."""
    with st.sidebar, st.container(key="visitor", horizontal=True, vertical_alignment="center"):
        sharing.share_button()
        sharing.keys_button()
        if visitor.administrator:
            administration.open_button()


def _instead(library: Library, session: Session, visitor: who.Visitor | None) -> None:
    """What is to be said, and the page that stands in the place of the conversation."""
    _notice(session)
    if library.warm_state not in ("cold", "warming", "ready"):
        show_error(library.warm_state)
    if session.search.open:
        search_panel.draw(library)
    elif session.page == administration.PAGE:
        administration.draw(library, visitor)
    elif session.page in _PAGES:
        _PAGES[session.page](library)
    elif session.about:
        document_page.draw(library)


def _notice(session: Session) -> None:
    """What is to be said. It stays for a while: runs of the page come unasked, too."""
    now = time.monotonic()
    session.noticed = min(session.noticed, now)
    if now - session.noticed > _READABLE:
        session.notice = None
    if session.notice:
        show_error(session.notice)


def _talk(library: Library, session: Session) -> None:
    """The conversation and the field for the next question.

    No fragment: an answer in the making is one, and Streamlit forgets what a fragment drew just
    before it is run again while it keeps what was drawn by the fragments inside it, which then
    belong nowhere ("Bad delta path index")."""
    with caught(show_error):
        search = str(session.search.number) if session.search.open else ""
        shown = session.page + check_panel.stage(library) if session.page else session.about
        browser.opened(search or shown, len(session.exchanges))
        browser.end(len(session.exchanges) if session.talking else 0)
        if session.talking:
            chat.draw(library)
            model_picker.slow_hint(library)
        chat.field(library)


def _back_when_asked(session: Session) -> None:
    """A question, or another conversation, brings the conversation back."""
    if session.asked not in (None, _asked(session)):
        session.show()
    session.asked = _asked(session)


def _asked(session: Session) -> tuple[object, ...]:
    return session.conversation, len(session.exchanges)


def prepare() -> None:
    """Title, icon and looks; before anything that takes time."""
    st.set_page_config(page_title=texts.APP, page_icon=browser.icon(), layout="wide")
    st.html(browser.css())
