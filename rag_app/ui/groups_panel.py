"""Folders, tags and sets: choosing documents by them, and putting documents under them."""

from __future__ import annotations

from html import escape

import streamlit as st

from rag_app.errors import UnknownDocument
from rag_app.library import Library
from rag_app.storage.documents import GroupListing
from rag_app.text.highlighting import escape_markdown
from rag_app.types import Document
from rag_app.ui import texts_library as words
from rag_app.ui.jobs import caught
from rag_app.ui.state import current, say
from rag_app.ui.widgets import button, text_button

OPEN = "shelving"  # the name of its dialog
_CHOICE = "shelf_choice"


def choices(shelf: GroupListing) -> dict[str, frozenset[str]]:
    """What documents can be chosen by, and the documents that it stands for."""
    folders = {
        f"{name}/": ids
        for name, ids in shelf.folders.items()
        # A folder that holds nothing but one other folder says no more than that.
        if not any(n.startswith(f"{name}/") and i == ids for n, i in shelf.folders.items())
    }
    tags = {f"{words.TAG_MARK}{name}": ids for name, ids in shelf.tags.items()}
    kept = {f"{words.SET_MARK}{name}": ids for name, ids in shelf.sets.items()}
    return kept | folders | tags


def chosen(library: Library) -> set[str] | None:
    """Ids of the documents of the chips that are picked, None if none is."""
    offered = choices(library.shelves.all())
    picked = [one for one in st.session_state.get(_CHOICE) or () if one in offered]
    return set().union(*(offered[one] for one in picked)) if picked else None


def draw(library: Library, documents: list[Document]) -> None:
    """Chips for folders, tags and sets: picking one ticks exactly its documents."""
    offered = choices(library.shelves.all())
    picked: list[str] = []
    if offered:
        kept = [one for one in st.session_state.get(_CHOICE, []) if one in offered]
        if _CHOICE in st.session_state and kept != st.session_state[_CHOICE]:
            st.session_state[_CHOICE] = kept
        picked = st.pills(
            words.CHOOSE,
            list(offered),
            selection_mode="multi",
            format_func=lambda one: escape_markdown(words.shelf(one, len(offered[one]))),
            key=_CHOICE,
            on_change=_picked,
            args=(library,),
        )
    _sets(library, documents, picked)


def _sets(library: Library, documents: list[Document], picked: list[str]) -> None:
    """Keep the ticked documents under a name, or forget the set that is picked."""
    ticked = current().chosen(documents)
    if len(picked) == 1 and picked[0].startswith(words.SET_MARK):
        name = picked[0].removeprefix(words.SET_MARK)
        text_button(escape_markdown(words.DROP_SET.format(name)), "set_drop", _drop, library, name)
    elif ticked and not picked:
        with st.popover(words.SAVE_CHOICE, type="tertiary"), st.form("collect", border=False):
            st.text_input(words.SET, key="set_name", max_chars=80)
            st.form_submit_button(words.SAVE, on_click=_collect, args=(library, ticked))


def ask_for(document_id: str) -> None:
    """Open the dialog for a document's folder and tags."""
    session = current()
    session.dialog, session.shelving = OPEN, document_id


def dialog(library: Library) -> None:
    """The dialog, if it was asked for."""
    session = current()
    if session.dialog != OPEN:
        return
    document_id = session.shelving
    try:
        document = library.document(document_id)
    except UnknownDocument:
        _dismiss()
        return
    st.dialog(words.FOLDER_AND_TAGS.rstrip("…"), on_dismiss=_dismiss)(_form)(library, document)


def _form(library: Library, document: Document) -> None:
    shelf = library.shelves.all()
    now = shelf.of(document.id)
    st.html(f"<p class='note'>{escape(document.name)}</p>")
    folder = st.selectbox(
        words.FOLDER,
        list(shelf.folders),
        index=list(shelf.folders).index(now.folder) if now.folder else None,
        placeholder=words.FOLDER_HINT,
        accept_new_options=True,
        key=f"folder-{document.id}",
    )
    tags: list[str] = []
    if shelf.tags:
        tags = st.pills(
            words.TAGS,
            list(shelf.tags),
            selection_mode="multi",
            default=list(now.tags),
            format_func=escape_markdown,
            key=f"tags-{document.id}",
        )
    new = st.text_input(words.NEW_TAGS, placeholder=words.TAGS_HINT, key=f"new-{document.id}")
    with st.container(horizontal=True):
        save = button(words.SAVE, "shelve_save", type="primary")
        close = button(words.CLOSE, "shelve_close")
    if save:
        with caught(say):
            library.shelves.put(document.id, folder or "")
            library.shelves.retag(document.id, [*tags, *(new or "").split(",")])
    if save or close:
        _dismiss()
        st.rerun()


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def _picked(library: Library) -> None:
    session, documents = current(), library.documents()
    offered = choices(library.shelves.all())
    picked = st.session_state[_CHOICE]
    ticked = set().union(*(offered.get(one, frozenset()) for one in picked))
    session.untick({d.id for d in documents} - ticked if picked else ())


@caught(say)
def _collect(library: Library, ticked: list[str]) -> None:
    name = library.shelves.collect(st.session_state["set_name"], ticked)
    if name:
        st.session_state[_CHOICE] = [f"{words.SET_MARK}{name}"]


@caught(say)
def _drop(library: Library, name: str) -> None:
    library.shelves.drop(name)
    current().untick(())


def _dismiss() -> None:
    session = current()
    session.dialog, session.shelving = "", ""
