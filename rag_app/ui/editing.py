"""A question changed in place and asked again: it takes the place of the old one and of all that
came after it, once that has been said, or begins a new conversation with what came before."""

from __future__ import annotations

import streamlit as st

from rag_app.library import Library
from rag_app.store.conversations import title_of
from rag_app.ui import asking, in_step, texts_answers
from rag_app.ui.boundary import caught
from rag_app.ui.generation import RUNNING
from rag_app.ui.state import Exchange, Session, current, say


def draw(library: Library, exchange: Exchange) -> None:
    """The field that stands where the question stood."""
    later = _after(current(), exchange)
    with st.form("editing", border=False):
        st.text_area(
            texts_answers.EDITED_QUESTION,
            value=exchange.question,
            key=f"edited-{exchange.id}",
            label_visibility="collapsed",
            height="content",
        )
        if later:
            st.html(f"<p class='note'>{texts_answers.drops(len(later))}</p>")
        with st.container(horizontal=True, horizontal_alignment="right"):
            st.form_submit_button(
                texts_answers.CANCEL_EDIT, key="edit_cancel", type="tertiary", on_click=_cancel
            )
            if later:
                st.form_submit_button(
                    texts_answers.ASK_ELSEWHERE,
                    key="edit_elsewhere",
                    on_click=_ask,
                    args=(library, exchange.id, True),
                )
            st.form_submit_button(
                texts_answers.ASK_AGAIN,
                key="edit_ask",
                type="primary",
                on_click=_ask,
                args=(library, exchange.id, False),
            )


def _after(session: Session, exchange: Exchange) -> list[Exchange]:
    """What was asked later."""
    rest = session.exchanges[session.exchanges.index(exchange) + 1 :]
    return [one for one in rest if one.question.strip()]


@caught(say)
def _ask(library: Library, exchange_id: str, elsewhere: bool) -> None:
    session = current()
    in_step.look(library)
    exchange = session.exchange(exchange_id)
    question = str(st.session_state[f"edited-{exchange_id}"]).strip()
    if exchange is None or not question:
        return
    session.editing = session.opened = None
    session.redraw = True  # the source beside it, and the address
    if elsewhere:
        _branch(library, session, exchange, question)
    else:
        _cut(library, session, exchange, question)
    asking.submit(library, question)


def _cut(library: Library, session: Session, exchange: Exchange, question: str) -> None:
    """Forget the exchange and what came after it."""
    at = session.exchanges.index(exchange)
    for gone in session.exchanges[at:]:
        if running := RUNNING.get(gone.id):
            running.stop()
    if exchange.kept:
        _retitle(library, session, at, exchange, question)
        library.conversations.cut(exchange.id)
    del session.exchanges[at:]


def _retitle(
    library: Library, session: Session, at: int, exchange: Exchange, question: str
) -> None:
    """A conversation that is called by its first question goes by the changed one."""
    known = library.conversations.conversation(session.conversation or "")
    first = not any(one.kept for one in session.exchanges[:at])
    if known and first and known.title == title_of(exchange.question):
        library.conversations.rename(known.id, question)


def _branch(library: Library, session: Session, exchange: Exchange, question: str) -> None:
    """Go on in a new conversation that begins with what came before."""
    new = library.conversations.branch(exchange.id, question) if exchange.kept else None
    session.conversation, session.changes = new, 0
    session.exchanges = []
    if new:
        session.exchanges = [in_step.shown(one) for one in library.conversations.exchanges(new)]
        session.changes = library.conversations.changes(new)


def _cancel() -> None:
    current().editing = None
