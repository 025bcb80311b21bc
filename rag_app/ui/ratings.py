"""Thumbs: an answer is good or bad, and if it is bad, why. Kept with the answer in the store.

A thumb is shown by the browser at once and taken by a part of the page that is only that: a
conversation of any length is not drawn anew for it."""

from __future__ import annotations

import streamlit as st

from rag_app.library import Library
from rag_app.ui import actions, texts_answers
from rag_app.ui.boundary import caught
from rag_app.ui.state import Exchange, current, say


def listen(library: Library) -> None:
    """Take a thumb that was pressed. Call it before anything else is drawn: whatever has the page
    drawn anew from the start would lose it."""
    session = current()
    session.drawing = True
    try:
        _take(library)
    finally:
        session.drawing = False


@st.fragment
def _take(library: Library) -> None:
    session = current()
    reasoning = session.reasoning
    with caught(say):
        found = actions.pressed(actions.THUMBS)
        if found is not None:
            rate(library, found[1], 1 if found[0] == "up" else -1)
    if (session.reasoning != reasoning or session.notice) and not session.drawing:
        session.redraw = True
        st.rerun()  # what was asked under the answer, or what is to be said, is elsewhere


def rate(library: Library, exchange: Exchange, rating: int) -> None:
    """1 good, -1 bad; the same again takes it back."""
    session = current()
    exchange.rating = 0 if exchange.rating == rating else rating
    library.conversations.rate(exchange.id, exchange.rating)
    session.reasoning = exchange.id if exchange.rating < 0 else None


def draw(library: Library, exchange: Exchange) -> None:
    """Asks for the reason of a bad rating, right after it was given."""
    if current().reasoning != exchange.id:
        return
    with st.form("reason", border=False):
        st.pills(
            texts_answers.WHAT_WAS_WRONG,
            list(texts_answers.REASONS),
            format_func=lambda reason: texts_answers.REASONS[reason],
            key="reason_kind",
        )
        st.text_input(
            texts_answers.REASON_TEXT,
            key="reason_text",
            placeholder=texts_answers.REASON_TEXT,
            label_visibility="collapsed",
            max_chars=1_000,
        )
        st.html(f"<p class='note'>{texts_answers.RATING_KEPT}</p>")
        with st.container(horizontal=True):
            st.form_submit_button(
                texts_answers.SEND, key="reason_send", on_click=_send, args=(library, exchange.id)
            )
            st.form_submit_button(
                texts_answers.SKIP, key="reason_skip", type="tertiary", on_click=_skip
            )


@caught(say)
def _send(library: Library, exchange_id: str) -> None:
    kind, said = st.session_state["reason_kind"], st.session_state["reason_text"]
    reason = ": ".join(part.strip() for part in (kind, said) if part and part.strip())
    library.conversations.rate(exchange_id, -1, reason)
    current().reasoning = None


def _skip() -> None:
    current().reasoning = None
