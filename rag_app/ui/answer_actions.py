"""The row of buttons under an answer: plain HTML, and two listeners for all of them.

Copying and reading aloud happen in the browser; every other press is reported and carried out by
the page. Thumbs have a listener of their own, so that a small part of the page can take them
without the rest being drawn anew. The other one also says it when the browser has lost the
network."""

from __future__ import annotations

import re
from html import escape

import streamlit as st

from rag_app.answering.chain import MARKER
from rag_app.export.conversation import as_text, where_in
from rag_app.library import Library
from rag_app.text.languages import language
from rag_app.types import Answer
from rag_app.ui import browser
from rag_app.ui import texts_answers as words
from rag_app.ui.browser import asset
from rag_app.ui.jobs import caught
from rag_app.ui.state import ShownExchange, current, say
from rag_app.ui.widgets import submit_button

KEY, THUMBS = "actions", "thumbs"

_KINDS = {KEY: ("copy", "say", "again", "edit", "why"), THUMBS: ("up", "down")}
_ACT = re.compile(r"([a-z]+):([0-9a-f]{16})")

_HTML = '<div id="said" role="status"></div><div id="lost" role="alert" popover="manual"></div>'

_listener = st.components.v2.component(
    "rag_app_actions", html=_HTML, css=asset("answer_actions.css"), js=asset("answer_actions.js")
)


def pressed(key: str = KEY) -> tuple[str, ShownExchange] | None:
    """Which button was just pressed, and under which answer. Call it before answers are drawn.

    It comes from the browser, so it may be anything."""
    with st.container(key=f"{key}_listener"):
        said = _listener(
            key=key,
            data={
                "kinds": _KINDS[key],
                "copied": words.COPIED,
                "failed": words.NOT_COPIED,
                "offline": words.OFFLINE,
            },
            on_act_change=lambda: None,
        ).act
    found = _ACT.fullmatch(said) if isinstance(said, str) else None
    exchange = current().exchange(found[2]) if found else None
    if found is None or exchange is None or exchange.running or found[1] not in _KINDS[key]:
        return None
    return found[1], exchange


def row(library: Library, exchange: ShownExchange, why: bool) -> None:
    """The buttons that make sense under an answer; `why`: that it says why is on."""
    answer = exchange.answer
    buttons = []
    if answer and exchange.kept:
        buttons += [
            _button("up", exchange, words.GOOD, pressed=exchange.rating > 0),
            _button("down", exchange, words.BAD, pressed=exchange.rating < 0),
        ]
    if answer:
        buttons.append(_button("copy", exchange, words.COPY))
        buttons.append(_aloud(library, exchange, answer))
    buttons.append(_button("again", exchange, words.ANSWER_AGAIN))
    buttons.append(_button("edit", exchange, words.EDIT))
    if answer:
        buttons.append(_button("why", exchange, words.WHY, expanded=why))
    copied = ""
    if answer:
        text = as_text(answer, where_in(library))
        copied = f"<span class='to-copy' hidden>{escape(text)}</span>"
    label = escape(words.ABOUT_ANSWER, quote=True)
    st.html(f"<div class='acts' role='group' aria-label='{label}'>{''.join(buttons)}{copied}</div>")


_MARKUP = re.compile(r"[*_`#|>]+")


def _aloud(library: Library, exchange: ShownExchange, answer: Answer) -> str:
    """Reads the answer with a voice of the browser, which shows the button if it has one."""
    said = _MARKUP.sub(" ", MARKER.sub("", answer.text))
    known = library.warm_state == "ready"  # or the page would wait for what tells languages
    spoken = f" data-lang='{language(said) if known else ''}' data-said='{escape(said)}'"
    return _button("say", exchange, words.READ_ALOUD, pressed=False, more=spoken)


def _button(
    act: str,
    exchange: ShownExchange,
    label: str,
    *,
    pressed: bool | None = None,
    expanded: bool | None = None,
    more: str = "",
) -> str:
    state = more + ("" if pressed is None else f" aria-pressed='{str(pressed).lower()}'")
    state += "" if expanded is None else f" aria-expanded='{str(expanded).lower()}'"
    return (
        f"<button type='button' data-act='{act}:{exchange.id}' aria-label='{escape(label)}'{state}>"
        f"<span>{escape(label)}</span></button>"
    )


# Thumbs: an answer is good or bad, and if it is bad, why. Kept with the answer in the store.
#
# A thumb is shown by the browser at once and taken by a part of the page that is only that: a
# conversation of any length is not drawn anew for it.


def listen(library: Library) -> None:
    """Take a thumb that was pressed. Call it before anything else is drawn: whatever has the page
    drawn anew from the start would lose it."""
    session = current()
    session.drawing = True
    try:
        browser.fragment(_take, "thumbs")(library)
    finally:
        session.drawing = False


def _take(library: Library) -> None:
    session = current()
    reasoning = session.reasoning
    with caught(say):
        found = pressed(THUMBS)
        if found is not None:
            rate(library, found[1], 1 if found[0] == "up" else -1)
    if (session.reasoning != reasoning or session.notice) and not session.drawing:
        session.redraw = True
        st.rerun()  # what was asked under the answer, or what is to be said, is elsewhere


def rate(library: Library, exchange: ShownExchange, rating: int) -> None:
    """1 good, -1 bad; the same again takes it back."""
    session = current()
    exchange.rating = 0 if exchange.rating == rating else rating
    library.conversations.rate(exchange.id, exchange.rating)
    session.reasoning = exchange.id if exchange.rating < 0 else None


def draw(library: Library, exchange: ShownExchange) -> None:
    """Asks for the reason of a bad rating, right after it was given."""
    if current().reasoning != exchange.id:
        return
    with st.form("reason", border=False), st.container(key="reason_box"):
        st.pills(
            words.WHAT_WAS_WRONG,
            list(words.REASONS),
            format_func=lambda reason: words.REASONS[reason],
            key="reason_kind",
        )
        st.text_input(
            words.REASON_TEXT,
            key="reason_text",
            placeholder=words.REASON_TEXT,
            label_visibility="collapsed",
            max_chars=1_000,
        )
        st.html(f"<p class='note'>{words.RATING_KEPT}</p>")
        with st.container(horizontal=True):
            submit_button(words.SEND, "reason_send", _send, library, exchange.id)
            submit_button(words.SKIP, "reason_skip", _skip, type="tertiary")


@caught(say)
def _send(library: Library, exchange_id: str) -> None:
    kind, said = st.session_state["reason_kind"], st.session_state["reason_text"]
    reason = ": ".join(part.strip() for part in (kind, said) if part and part.strip())
    library.conversations.rate(exchange_id, -1, reason)
    current().reasoning = None


def _skip() -> None:
    current().reasoning = None
