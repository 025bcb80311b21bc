"""Pages of the web by their address: a field under the drop zone, and those on their way.

Nothing is fetched but what a person has just asked for."""

from __future__ import annotations

from html import escape

import streamlit as st

from rag_app.library import Library
from rag_app.storage.provenance import Origin
from rag_app.ui import browser
from rag_app.ui import texts as words
from rag_app.ui.jobs import Fetching, caught
from rag_app.ui.state import Receipt, Replaceable, Session, WebPages, current, say
from rag_app.ui.widgets import submit_button, text_button

_AT_ONCE = 5  # pages on their way in one window
_LOOK_AGAIN = 0.5  # seconds


def draw(library: Library) -> None:
    """The field, if it is wanted, and the pages that are on their way."""
    web = current().web
    if web.open:
        _field(library, web)
    if web.fetching:
        browser.fragment(_coming, "pages", _LOOK_AGAIN)(library)


def open_button() -> None:
    """What opens the field."""
    if not current().web.open:
        text_button(words.ADD_PAGE, "web_open", _open)


def origin_html(origin: Origin) -> str:
    """Where a document came from and when, with a link that opens beside the app."""
    site, fetched = words.origin(origin.address, origin.at)
    link = escape(origin.address, quote=True)
    return (
        f"<p class='facts'>{words.FROM} <a href='{link}' target='_blank' rel='noopener noreferrer'>"
        f"{escape(site)}</a>, {escape(fetched)}</p>"
    )


def _field(library: Library, web: WebPages) -> None:
    if web.again:  # what was refused can be mended
        st.session_state["web_address"], web.again = web.again, ""
    with st.form("web", border=False, clear_on_submit=False):
        st.text_input(
            words.WEB_ADDRESS, key="web_address", placeholder=words.EXAMPLE, autocomplete="url",
        )  # fmt: skip
        if web.trouble:
            st.html(f"<p class='failed' role='alert'>{escape(web.trouble)}</p>")
        st.html(f"<p class='note'>{escape(words.GOES_OUT)}</p>")
        with st.container(key="web_buttons", horizontal=True, vertical_alignment="center"):
            submit_button(words.FETCH, "web_fetch", _fetch, library, icon="language")
            submit_button(words.WEB_CANCEL, "web_cancel", _close, type="tertiary")


def _coming(library: Library) -> None:
    """How far each page is; what has come is taken over, and the page drawn anew."""
    session = current()
    if any(not one.running for one in session.web.fetching):
        with caught(say):
            _take(library, session)
        st.rerun()
    for number, one in enumerate(session.web.fetching):
        with st.container(key=f"web-{number}", horizontal=True, vertical_alignment="center"):
            left = session.pace.left(f"web {id(one)}", one.done, one.total) if one.total else None
            line = words.left(words.fetching(one.site, one.done, one.total), left)
            st.html(f"<p class='working' role='status'>{escape(line)}</p>")
            text_button(words.WEB_STOP, f"web_stop-{number}", one.stop)


def _take(library: Library, session: Session) -> None:
    """What came of the pages that are done goes where that of dropped files goes."""
    ended = [one for one in session.web.fetching if not one.running]
    session.web.fetching = [one for one in session.web.fetching if one not in ended]
    for one in ended:
        if not one.stopping:
            session.receipt = session.receipt or Receipt()
            _note(library, session, session.receipt, one)


def _note(library: Library, session: Session, receipt: Receipt, one: Fetching) -> None:
    if one.added is None:
        session.web.open, session.web.again = True, one.address
        session.web.trouble = one.error
        return
    document = one.added.document
    receipt.known += one.added.duplicate
    receipt.added += not one.added.duplicate
    receipt.notes += one.added.warnings
    earlier = None if one.added.duplicate else library.web.earlier(document.id)
    if earlier:
        receipt.replaceable.append(Replaceable(document.id, earlier.name, earlier.id))


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


def _open() -> None:
    current().web.open = True


def _close() -> None:
    current().web.open, current().web.trouble = False, ""
    st.session_state["web_address"] = ""


@caught(say)
def _fetch(library: Library) -> None:
    web = current().web
    address = str(st.session_state["web_address"] or "").strip()
    if not address or len(web.fetching) >= _AT_ONCE:
        web.trouble = words.ENOUGH if address else words.NOTHING_TYPED
    else:
        current().receipt = None
        web.fetching.append(Fetching(library, address, current().id))
        _close()
