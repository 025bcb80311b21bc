"""One document of the panel: tick, name, how far it is, and what can be done with it."""

from __future__ import annotations

from html import escape

import streamlit as st

from rag_app.disk.originals import INSIDE
from rag_app.highlighting import escape_markdown
from rag_app.library import Library
from rag_app.types import Document, Progress, Status
from rag_app.ui import asking, conversations, overview, queue, shelving, source, texts
from rag_app.ui import texts_documents as words
from rag_app.ui.boundary import caught
from rag_app.ui.state import Opened, Place, Session, current, say

_LOCKED = ("password_needed", "wrong_password")


def draw(library: Library, document: Document, work: Progress | None, session: Session) -> None:
    """Everything about one document. `work`: what is being done with it right now."""
    failed = document.status is Status.FAILED
    outer, _, own = document.name.rpartition(INSIDE)
    key = f"tick-{session.ticks}-{failed:d}-{document.id}"
    # Only once: what a browser ticks meanwhile stays.
    if key not in st.session_state or key not in session.at_first:
        session.at_first[key] = not failed and document.id not in session.unticked
    with st.container(key=f"row-{document.id[:16]}", horizontal=True, vertical_alignment="center"):
        st.checkbox(
            escape_markdown(own),
            # Not set by way of the session state: that is told to the browser once, and a run that
            # is broken off may never tell it; the browser would then say "not ticked".
            value=session.at_first[key],
            key=key,
            disabled=failed,
            on_change=_tick,
            args=(document.id, key, session.ticks),
            width="stretch",
        )
        _menu(library, document, work)
    about = f"{texts.status(document)} · {texts.facts(document)}"
    said = texts.progress(work, document.suffix) if work else about
    if outer:
        st.html(f"<p class='facts'>{escape(words.CAME_IN.format(outer))}</p>")
    if failed and document.error:
        st.html(f"<p class='failed'>{escape(document.error)}</p>")
    else:
        st.html(f"<p class='facts'>{escape(said)}</p>")
    if work and work.total and work.stage != "waiting":
        st.progress(min(work.done / work.total, 1.0))
    for warning in document.warnings:
        st.html(f"<p class='facts'>{escape(warning)}</p>")
    if failed and document.error_code in _LOCKED:
        _password(library, document, session)
    if session.removing == document.id:
        _confirm(library, document)


def _menu(library: Library, document: Document, work: Progress | None) -> None:
    remove = texts.CANCEL if work else texts.REMOVE
    options = [remove]
    if document.status is Status.FAILED:
        options = [texts.RETRY, words.ABOUT, remove]
    elif queue.can_cancel(document):
        options.insert(0, words.CANCEL_READING)
    elif document.pages:
        options = [words.ABOUT, texts.OPEN, texts.SUMMARISE, texts.ONLY_THIS]
        options += [words.FOLDER_AND_TAGS, remove]
    st.menu_button(
        escape_markdown(texts.menu(document.name)),
        options,
        key=f"menu-{document.id}",
        icon=":material/more_vert:",
        type="tertiary",
        on_click=_chosen,
        args=(library, document),
    )


def _password(library: Library, document: Document, session: Session) -> None:
    with st.form(f"unlock-{document.id}", border=False):
        st.text_input(
            texts.PASSWORD,
            type="password",
            key=f"password-{document.id}",
            autocomplete="off",
        )
        st.html(f"<p class='note'>{texts.NOT_STORED}</p>")
        st.form_submit_button(texts.UNLOCK, on_click=_unlock, args=(library, document.id))
    if document.id in session.wrong_password:
        st.html(f"<p class='failed'>{escape(session.wrong_password[document.id])}</p>")


def _confirm(library: Library, document: Document) -> None:
    st.html(f"<p class='failed'>{escape(texts.confirm_removal(document.name))}</p>")
    with st.container(key=f"confirm-{document.id[:16]}", horizontal=True):
        st.button(
            texts.REMOVE_NOW,
            key=f"remove-{document.id}",
            type="primary",
            on_click=_remove,
            args=(library, document.id),
        )
        st.button(texts.KEEP, key=f"keep-{document.id}", on_click=_keep)


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def _chosen(library: Library, document: Document) -> None:
    session, choice = current(), st.session_state[f"menu-{document.id}"]
    session.redraw = True
    if choice == words.ABOUT:
        overview.open_page(document.id)
    elif choice == words.FOLDER_AND_TAGS:
        shelving.ask_for(document.id)
    elif choice == texts.OPEN:
        session.opened = Opened(Place(document.id, document.name, 1), 1)
    elif choice == texts.ONLY_THIS:
        session.untick({d.id for d in library.documents()} - {document.id})
    elif choice == texts.SUMMARISE:
        asking.submit(library, texts.summarise(document.name), only=[document.id])
    elif choice == words.CANCEL_READING:
        queue.cancel(library, document.id)
    elif choice == texts.RETRY:
        library.retry(document.id)
    elif choice in (texts.REMOVE, texts.CANCEL):
        session.removing = document.id


@caught(say)
def _remove(library: Library, document_id: str) -> None:
    session = current()
    session.removing, session.redraw = None, True
    if session.about == document_id:
        session.about = ""
    if session.opened and session.opened.place.document_id == document_id:
        session.opened = None
    library.remove(document_id)
    source.forget_pictures()
    conversations.refresh(library)


@caught(say)
def _unlock(library: Library, document_id: str) -> None:
    wrong = current().wrong_password
    wrong.pop(document_id, None)
    with caught(lambda sentence: wrong.__setitem__(document_id, sentence)):
        library.unlock(document_id, st.session_state[f"password-{document_id}"])


def _tick(document_id: str, key: str, ticks: int) -> None:
    session = current()
    if ticks != session.ticks:  # a browser that has not heard of the new boxes yet sends the old
        return
    unticked = session.unticked
    (unticked.discard if st.session_state[key] else unticked.add)(document_id)


def _keep() -> None:
    current().removing = None
