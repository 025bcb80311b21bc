"""Who looks at the page: whom it is drawn for, or nobody, who is shown the sign-in; whether they
sit at the computer that the app runs on; and where people sign in, a visitor. The one place that
says so.

On one's own computer nobody signs in, and what is drawn for a visitor does not exist."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from urllib.parse import urlsplit

import streamlit as st

from rag_app.access.access import Access
from rag_app.access.nouns import Identity, IsActive, everybody
from rag_app.access.proof import IDENTITY_HEADER, read
from rag_app.addresses import is_loopback
from rag_app.library import Library
from rag_app.scope import Role
from rag_app.settings import Settings
from rag_app.ui import live_answer, texts, texts_access
from rag_app.ui.jobs import caught
from rag_app.ui.web_authentication import DOORKEEPER, REFUSAL_HEADER, Refusal
from rag_app.ui.widgets import button, text_button

_WHO = "identity"  # in the session's state
_OWN_COMPUTER = Identity("")
_TROUBLE = "access_trouble"
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


def signed_in() -> Identity | None:
    """Who this page is drawn for, as its callbacks know, too; None: nobody is signed in."""
    who: Identity | None = st.session_state.get(_WHO)
    if who is None or (who.expires is not None and who.expires <= time.time()):
        return None
    return who


def subject() -> str:
    """Whom an answer is made for, see `Identity.subject`."""
    who = signed_in()
    return who.subject if who else ""


def draw_person(settings: Settings, end: Callable[[Identity], object]) -> None:
    """At the end of the side panel: who is signed in, and the way out if it is ours; `end` ends the
    sign-in itself, which may be in other hands, too."""
    who = signed_in()
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


# Whether the browser runs on the computer that the app runs on, as far as can be told.
#
# Where it may not, nothing on the page reaches the disk of the app's computer.

_FORWARDED = (
    *("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"),
    IDENTITY_HEADER,  # where people sign in, nobody sits at the app's computer
)


def same_computer() -> bool:
    """Whether only this computer can reach the app, and this browser does so directly."""
    return all(map(is_loopback, _ends())) and not is_forwarded(st.context.headers)


def _ends() -> tuple[str | None, str | None]:
    """The address that the app listens on (None: all there are), and that of the browser."""
    listens: str | None = st.get_option("server.address")
    return listens, st.context.ip_address or "localhost"  # Streamlit says None for this computer


def is_forwarded(headers: Mapping[str, str]) -> bool:
    """Whether a request came through another server, or by a name that is not this computer's."""
    origin = headers.get("Origin")
    called = [f"//{headers['Host']}"] if headers.get("Host") else []
    called += [origin] if origin else []  # by the page: a proxy may change the host and not this
    named = (urlsplit(one).hostname for one in called)
    return any(name in headers for name in _FORWARDED) or not all(map(is_loopback, named))


# A visitor: somebody who has signed in.


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who has signed in, and what they may is asked of."""

    access: Access
    identity: Identity

    @property
    def subject(self) -> str:
        """As `Access` knows them."""
        return self.identity.subject

    @property
    def administrator(self) -> bool:
        """Whether they manage people, now."""
        return self.access.is_administrator(self.subject)


def visitor(library: Library) -> Visitor | None:
    """Who has signed in; None on one's own computer, where nobody does."""
    identity = signed_in()
    return Visitor(library.access, identity) if identity and identity.subject else None


def manages(library: Library) -> bool:
    """Whether somebody may fetch what is for everybody: who runs the app, or an administrator."""
    scope = library.scope
    return scope.runs_the_app or library.access.is_administrator(scope.subject)


ADDS_TO = "adds_to"  # key of the field that says to which collection documents are added


def adds_to(access: Access, subject: str) -> str:
    """The collection that somebody adds documents to: the one that they chose, else their own."""
    able = [one.id for one, role in access.collections_of(subject) if role >= Role.EDITOR]
    chosen = st.session_state.get(ADDS_TO)
    return chosen if chosen in able else access.own_collection(subject)


def choose_collection(visitor: Visitor) -> None:
    """Where documents are added, for who may add them to more than one collection."""
    held = visitor.access.collections_of(visitor.subject)
    able = {one.id: one.name for one, role in held if role >= Role.EDITOR}
    if len(able) > 1:
        st.sidebar.selectbox(
            texts_access.ADD_TO,
            list(able),
            list(able).index(adds_to(visitor.access, visitor.subject)),
            format_func=lambda one: able[one],
            key=ADDS_TO,
        )


# What is done in dialogs and on pages about people: it fails in a sentence there, not behind them.


def doing(step: Callable[..., object], *of: object) -> None:
    """A callback's work; what goes wrong is told by `trouble` in the next run."""
    st.session_state.pop(_TROUBLE, None)
    with caught(_keep):
        step(*of)


def trouble() -> None:
    """Draw what went wrong in the last callback, once."""
    said = st.session_state.pop(_TROUBLE, "")
    if said:
        st.html(f"<p class='failed' role='alert'>{escape(said)}</p>")


def _keep(sentence: str) -> None:
    st.session_state[_TROUBLE] = sentence


def widget_key(what: str, *of: str) -> str:
    """The key of a widget about something whose name is anybody's."""
    return f"{what}-{hashlib.sha256(chr(0).join(of).encode()).hexdigest()[:16]}"
