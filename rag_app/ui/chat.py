"""The conversation: questions, answers as they come, and under each what can be done with it."""

from __future__ import annotations

import time
from html import escape

import streamlit as st

from rag_app.highlighting import link_citations, mark
from rag_app.library import Library
from rag_app.ui import (
    actions,
    answers,
    asking,
    editing,
    generation,
    ratings,
    texts,
    texts_answers,
    why,
)
from rag_app.ui.asking import submit as submit
from rag_app.ui.boundary import caught
from rag_app.ui.state import EARLIER, Exchange, Session, current, say

_AT_ONCE = 0.4  # seconds an answer may take and be drawn without a word about waiting
_LOOK_AGAIN = 0.3  # seconds
_FEW = 4  # answers in the making; more are a crowd
_PATIENCE = 15.0  # seconds, in a crowd


def draw(library: Library) -> None:
    """The conversation so far, the last exchanges of it: drawing costs what is shown."""
    session = current()
    if not session.exchanges:
        return
    hidden = len(session.exchanges) - session.shown
    if hidden > 0:
        st.button(
            texts_answers.earlier(hidden), key="earlier", type="tertiary", on_click=_show_earlier
        )
    for exchange in session.exchanges[-session.shown :]:
        _exchange(library, session, exchange)


@caught(say)
def press(library: Library) -> None:
    """Carry out what was pressed under an answer. Call it before anything else is drawn:

    whatever has the page drawn anew from the start would lose the press."""
    session, found = current(), actions.pressed()
    if found is None:
        return
    act, exchange = found
    if act == "again":
        asking.begin(library, session, exchange)
    elif act == "edit":
        session.editing = exchange.id
    elif act == "why":
        session.explained ^= {exchange.id}


def field(library: Library) -> None:
    """The field for the next question; files can be dropped on it, too."""
    session, documents = current(), library.documents()
    chosen = session.chosen(documents)
    hint = texts.ASK if chosen is None else texts.ask_some(len(chosen), len(documents))
    with st.bottom:
        st.chat_input(
            hint if documents else texts.ASK_NOTHING_YET,
            key="question",
            accept_file="multiple",
            disabled=any(exchange.running for exchange in session.exchanges[-1:]),
            on_submit=_submitted,
        )


@caught(say)
def take(library: Library) -> None:
    """Ask what was typed into the field. Call it before anything that speaks of questions is drawn.

    Not a callback's work: those of clicks that arrive together are called in any order, and the
    tick that was set before the question has to count."""
    session = current()
    while session.typed:
        given = session.typed[0]  # a run that is broken off while files are added comes again
        # What else is on the page speaks of the first question, of files, of another page.
        session.redraw |= bool(given.files) or not session.conversation or not session.talking
        try:
            submit(library, given.text, given.files)
        except Exception:
            session.typed.pop(0)
            raise
        session.typed.pop(0)


def _submitted() -> None:
    if given := st.session_state["question"]:
        current().typed.append(given)


def _show_earlier() -> None:
    current().shown += EARLIER


def _exchange(library: Library, session: Session, exchange: Exchange) -> None:
    with st.chat_message("user"):
        if session.editing == exchange.id:
            editing.draw(library, exchange)
        else:
            _question(exchange)
    with st.chat_message("assistant"):
        if exchange.error or exchange.generation is None:
            answers.sentence(exchange.error or texts.ATTACHED)
            return
        at_once = exchange.seen or _soon(library, exchange, exchange.generation)
        exchange.seen = True
        if exchange.running or not at_once:
            st.fragment(_live, run_every=_LOOK_AGAIN)(library, exchange)
            return
        exchange.drawn = True
        answers.draw(library, exchange, exchange.generation.now())
        explained = exchange.id in session.explained
        actions.row(library, exchange, explained)
        ratings.draw(library, exchange)
        if explained:
            why.draw(library, exchange)


def _soon(
    library: Library, exchange: Exchange, made: generation.Generation | generation.Ended
) -> bool:
    """Whether an answer came while this run of the script waited for it.

    In a crowd the run waits long: pages that look again and again take from the answers. What a
    language model writes is shown as it comes, in a crowd, too."""
    if made.wait(_AT_ONCE) or not exchange.quoting:
        return made.now().done
    place, came, end = st.empty(), False, time.monotonic() + _PATIENCE
    while not came and generation.running() > _FEW and time.monotonic() < end:
        place.html(_waiting(library))  # a newer click may end this run here
        came = made.wait(_AT_ONCE)
    place.empty()
    return came


def _waiting(library: Library) -> str:
    said = texts.WARMING if library.warm_state == "warming" else texts.SEARCHING
    return f"<p class='working' role='status'>{said}</p>"


def _question(exchange: Exchange) -> None:
    files = "".join(f"<div class='attached'>{escape(f)}</div>" for f in exchange.files[:8])
    more = len(exchange.files) - 8
    files += f"<div class='attached'>{texts.waiting_more(more)}</div>" if more > 0 else ""
    st.html(f"<div class='question'>{mark(exchange.question, ())}</div>{files}")


def _live(library: Library, exchange: Exchange) -> None:
    """An answer in the making. It looks again and again, and has the page drawn when it is done."""
    running = exchange.generation
    if running is None or running.now().done:
        st.rerun()
        return
    moment = running.now()
    reading = set(exchange.first) & library.progress().keys() and not moment.passages
    if moment.text:
        st.markdown(link_citations(moment.text, (), exchange.id, plain=exchange.quoting))
    with st.container(key="working", horizontal=True, vertical_alignment="center"):
        waiting = texts.WARMING if library.warm_state == "warming" else texts.SEARCHING
        waiting = texts.READING_FIRST if reading else waiting
        st.html(f"<p class='working' role='status'>{'' if moment.text else waiting}</p>")
        st.button(texts.STOP, key="stop", icon=":material/stop:", on_click=running.stop)
