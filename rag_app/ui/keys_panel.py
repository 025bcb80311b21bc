"""“Keys”: a person's keys for programs, each shown once when it is made."""

from __future__ import annotations

from html import escape

import streamlit as st

from rag_app.access.keys import KeyInfo
from rag_app.ui import texts_access as words
from rag_app.ui.state import current, open_dialog
from rag_app.ui.who import Visitor, doing, trouble
from rag_app.ui.widgets import button, submit_button, text_button

OPEN = "keys"  # the name of its dialog
_SECRET = "key_secret"  # one that was just made, until the person has copied it or closes this
_DAY = 86_400.0  # seconds


def open_button() -> None:
    """Opens it."""
    text_button(words.KEYS, "keys", open_dialog, OPEN, icon="key")


def draw(visitor: Visitor) -> None:
    """The dialog, if it is open."""
    if current().dialog != OPEN:
        st.session_state.pop(_SECRET, None)
        return

    @st.dialog(words.KEYS, on_dismiss=close)
    def show() -> None:
        trouble()
        st.html(f"<p class='note'>{words.KEYS_WHAT}</p>")
        secret = st.session_state.get(_SECRET)
        if secret:
            st.html(f"<p class='note' role='status'>{words.KEY_ONCE}</p>")
            st.code(secret, language=None, wrap_lines=True)
            button(words.KEY_COPIED, "key_copied", _forget)
        else:
            _make(visitor)
        keys = visitor.access.api_keys.keys(visitor.subject)
        if not keys:
            st.html(f"<p class='note'>{words.NO_KEYS}</p>")
        for key in keys:
            _listed(visitor, key)

    show()


def _make(visitor: Visitor) -> None:
    with st.form("make_key", border=False, clear_on_submit=True):
        st.text_input(words.KEY_NAME, key="key_name", max_chars=120)
        st.selectbox(
            words.KEY_LASTS, list(words.KEY_LIFETIMES), index=1, key="key_lasts",
            format_func=words.KEY_LIFETIMES.__getitem__,
        )  # fmt: skip
        submit_button(words.MAKE_KEY, "key_make", doing, _made, visitor, icon="add")


def _made(visitor: Visitor) -> None:
    days = st.session_state["key_lasts"]
    lasting = None if days is None else float(days) * _DAY
    name = str(st.session_state["key_name"] or "")
    _, secret = visitor.access.api_keys.create_key(visitor.subject, name, lasting)
    st.session_state[_SECRET] = secret


def _listed(visitor: Visitor, key: KeyInfo) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        said = escape(words.key_line(key))
        st.html(f"<p>{escape(key.name)}</p><p class='facts'>{said}</p>")
        text_button(
            words.REVOKE_KEY, f"key_revoke-{key.id}", doing, visitor.access.api_keys.revoke_key,
            visitor.subject, key.id, icon="block",
        )  # fmt: skip


def close() -> None:
    """The dialog was closed: a key that was just made is shown no more."""
    current().dialog = ""
    _forget()


def _forget() -> None:
    st.session_state.pop(_SECRET, None)
