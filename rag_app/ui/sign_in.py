"""Whom this page is drawn for: who the server says it is, or nobody, who is shown the sign-in."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from html import escape

import streamlit as st

from rag_app.access.nouns import Identity, IsActive, everybody
from rag_app.access.proof import IDENTITY_HEADER, read
from rag_app.settings import Settings
from rag_app.ui import live_answer, texts
from rag_app.ui.web_authentication import DOORKEEPER, REFUSAL_HEADER, Refusal
from rag_app.ui.widgets import button, text_button

_WHO = "identity"  # in the session's state
_OWN_COMPUTER = Identity("")
_REFUSED = {Refusal.EXPIRED: texts.SIGN_IN_EXPIRED, Refusal.INACTIVE: texts.SIGN_IN_INACTIVE}


def enter(settings: Settings, is_active: IsActive = everybody) -> Identity | None:
    """Who this run of the page is for, to be asked before anything is drawn; None: nobody, and the
    sign-in was drawn.

    From here on `is_active` is asked at every message of every browser as well. Whoever is not let
    in any more has no answer made for them any longer."""
    if settings.sign_in == "none":
        st.session_state[_WHO] = _OWN_COMPUTER
        return _OWN_COMPUTER
    DOORKEEPER.is_active = _ending_answers(is_active)
    said, why = (_headers().get(name) for name in (IDENTITY_HEADER, REFUSAL_HEADER))
    who = read(said) if said else None
    refusal = DOORKEEPER.refusal(who) if who else Refusal(why) if why else None
    st.session_state[_WHO] = None if refusal else who
    if refusal or who is None:
        _draw(settings, _REFUSED.get(refusal, "") if refusal else "")
        return None
    return who


def current() -> Identity | None:
    """Who this page is drawn for, as its callbacks know, too; None: nobody is signed in."""
    who: Identity | None = st.session_state.get(_WHO)
    if who is None or (who.expires is not None and who.expires <= time.time()):
        return None
    return who


def subject() -> str:
    """Whom an answer is made for, see `Identity.subject`."""
    who = current()
    return who.subject if who else ""


def draw_person(settings: Settings, end: Callable[[Identity], object]) -> None:
    """At the end of the side panel: who is signed in, and the way out if it is ours; `end` ends the
    sign-in itself, which may be in other hands, too."""
    who = current()
    if settings.sign_in == "none" or who is None:
        return
    name = who.name or who.email or who.subject.rpartition("|")[2]
    with st.sidebar, st.container(key="person", horizontal=True, vertical_alignment="center"):
        st.html(f"<p title='{escape(who.email)}'>{escape(name)}</p>")
        if settings.sign_in == "oidc":
            text_button(texts.SIGN_OUT, "sign_out", _leave, end, who)


def _leave(end: Callable[[Identity], object], who: Identity) -> None:
    try:
        end(who)
    finally:
        st.logout()


def _headers() -> Mapping[str, str]:
    """What the server says of a connection; where it does not look, anybody could have said it."""
    return st.context.headers if DOORKEEPER.posted else {}


def _ending_answers(is_active: IsActive) -> IsActive:
    def asked(identity: Identity) -> bool:
        if is_active(identity):
            return True
        live_answer.end_of(identity.subject)
        return False

    return asked


def _draw(settings: Settings, refused: str) -> None:
    """The sign-in; nothing of the library is on it."""
    by_provider = settings.sign_in == "oidc"
    said = refused or (texts.SIGN_IN_WHAT if by_provider else texts.SIGN_IN_ELSEWHERE)
    with st.container(key="sign_in"):
        st.html(f"<h2>{escape(texts.APP)}</h2><p>{escape(said)}</p>")
        if by_provider:
            button(texts.SIGN_IN, "sign_in_now", st.login, type="primary")
