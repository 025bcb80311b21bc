"""The page: documents on the left, the conversation in the middle, the source beside it."""

from __future__ import annotations

import streamlit as st

from rag_app.highlighting import escape_markdown
from rag_app.library import Library
from rag_app.ui import (
    chat,
    conversations,
    documents,
    source,
    style,
    tasks_menu,
    texts,
    welcome,
    who,
)
from rag_app.ui.boundary import caught
from rag_app.ui.state import current


def show_error(sentence: str) -> None:
    """One plain sentence on the page."""
    st.error(escape_markdown(sentence), icon=":material/info:")


@caught(show_error)
def draw(library: Library) -> None:
    """Draw everything. The source comes before the chat, so that it opens while an answer runs."""
    session = current()
    conversations.restore(library)
    st.sidebar.html(f"<h1 class='brand'>{texts.APP}</h1>")
    conversations.draw(library)
    who.draw(library)
    documents.draw(library)
    source.draw(library)
    if session.notice:
        show_error(session.notice)
        session.notice = None
    if library.warm_state not in ("cold", "warming", "ready"):
        show_error(library.warm_state)
    chat.draw(library)
    if not session.exchanges or not library.documents():
        welcome.draw(library)
    tasks_menu.draw(library)
    chat.field(library)


def prepare() -> None:
    """Title, icon and looks; before anything that takes time."""
    st.set_page_config(page_title=texts.APP, page_icon=style.icon(), layout="wide")
    st.html(style.CSS)
