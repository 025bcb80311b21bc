"""The web app: one shared library, who comes in, the page."""

from __future__ import annotations

import streamlit as st

from rag_app.access.access import Access
from rag_app.access.identity import IsActive
from rag_app.library import Library
from rag_app.observing import logs
from rag_app.settings import Settings
from rag_app.ui import health, page, sign_in, texts
from rag_app.ui.app_settings import settings
from rag_app.ui.jobs import caught
from rag_app.ui.state import library_of_session

_PAGE_FIRST = 1.0  # seconds: loading models takes from whatever runs beside it


def run(is_active: IsActive | None = None) -> None:
    """Draw the page once: what Streamlit's script has to do.

    `is_active`: who of those that signed in may come in, asked at every click; None: who was not
    removed. The library is opened for nobody who has not signed in."""
    logs.begin(request=str(st.context.headers.get("X-Request-ID", "")))
    page.prepare()
    with caught(page.show_error):
        chosen = settings()
        if sign_in.enter(chosen, is_active or (lambda who: _access(chosen).admits(who))):
            page.draw(library_of_session(open_library(chosen)))
            sign_in.draw_person(chosen, lambda who: _access(chosen).sign_out(who))


def _access(chosen: Settings) -> Access:
    return open_library(chosen).access


@st.cache_resource(show_spinner=texts.OPENING, on_release=lambda library: library.close())
def open_library(chosen: Settings) -> Library:
    """The one library of this process, shared by all browser sessions."""
    library = Library(chosen)
    library.warm(after=_PAGE_FIRST)
    health.standing().library = library
    return library
