"""Who looks at the page, where people sign in: the one place that says so.

On one's own computer nobody signs in, and what is drawn for a visitor does not exist."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from rag_app.access.access import Access
from rag_app.access.nouns import Identity
from rag_app.library import Library
from rag_app.scope import Role
from rag_app.ui import sign_in, texts, texts_access
from rag_app.ui.jobs import caught
from rag_app.ui.state import ADDS_TO, adds_to

_TROUBLE = "access_trouble"


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
    identity = sign_in.current()
    return Visitor(library.access, identity) if identity and identity.subject else None


def manages(library: Library) -> bool:
    """Whether somebody may fetch what is for everybody: who runs the app, or an administrator."""
    scope = library.scope
    return scope.runs_the_app or library.access.is_administrator(scope.subject)


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


@dataclass(frozen=True, slots=True)
class QueuedWork:
    """A document that is worked on or waits; `subject`: who added it, empty: this computer."""

    subject: str
    collection: str
    name: str
    stage: str


Work = Callable[[], Sequence[QueuedWork]]


def work_of(library: Library) -> Sequence[QueuedWork]:
    """What is in the queue, whoever's it is; what a document is called is its readers' to know."""
    return [
        QueuedWork(
            subject,
            document.collection,
            texts_access.some_file(document.suffix, document.size),
            texts.progress(how_far, document.suffix),
        )
        for document, subject, how_far in library.work_of_everybody()
    ]


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
