"""The page: documents on the left, the conversation in the middle, the source beside it."""

from __future__ import annotations

import streamlit as st

from rag_app.highlighting import escape_markdown
from rag_app.library import Library
from rag_app.ui import (
    aside,
    chat,
    checking,
    choices,
    conversations,
    documents,
    folders,
    overview,
    ratings,
    searching,
    shelving,
    source,
    style,
    tasks_menu,
    texts,
    welcome,
    who,
)
from rag_app.ui.boundary import caught
from rag_app.ui.state import Session, current

_PAGES = {checking.PAGE: checking.draw, folders.PAGE: folders.draw}


def show_error(sentence: str) -> None:
    """One plain sentence on the page."""
    st.error(escape_markdown(sentence), icon=":material/info:")


@caught(show_error)
def draw(library: Library) -> None:
    """Draw everything. The source comes before the chat, so that it opens while an answer runs."""
    session = current()
    choices.restore(library)
    conversations.restore(library)
    chat.press(library)
    ratings.listen(library)
    st.sidebar.html(f"<h1 class='brand'>{texts.APP}</h1>")
    library.overviews.start()
    _back_when_asked(session)
    session.redraw = False
    conversations.draw(library)
    who.draw(library)
    with st.sidebar:
        searching.button(library)
    documents.draw(library)
    source.draw(library)
    shelving.dialog(library)
    search = str(session.search.number) if session.search.open else ""
    shown = session.page + checking.stage(library) if session.page else session.about
    aside.opened(search or shown, len(session.exchanges))
    if session.notice:
        show_error(session.notice)
        session.notice = None
    if library.warm_state not in ("cold", "warming", "ready"):
        show_error(library.warm_state)
    if session.search.open:
        searching.draw(library)
    elif session.page in _PAGES:
        _PAGES[session.page](library)
    elif session.about:
        overview.draw(library)
    if not (session.search.open or session.page or session.about):
        chat.draw(library)
        if not session.exchanges or not library.documents():
            welcome.draw(library)
    tasks_menu.draw(library)
    chat.field(library)


def _back_when_asked(session: Session) -> None:
    """A question, or another conversation, brings the conversation back."""
    state = (session.conversation, len(session.exchanges))
    if session.asked not in (None, state):
        session.show()
    session.asked = state


def prepare() -> None:
    """Title, icon and looks; before anything that takes time."""
    st.set_page_config(page_title=texts.APP, page_icon=style.icon(), layout="wide")
    st.html(style.CSS)
