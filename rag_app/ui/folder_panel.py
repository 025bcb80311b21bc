"""Folders of this computer that the library is kept in step with. Only where the browser runs on
the computer that the app runs on: who sits elsewhere must not read its disk."""

from __future__ import annotations

from html import escape
from pathlib import Path

import streamlit as st

from rag_app.errors import DocumentError
from rag_app.library import Library
from rag_app.types import Watched
from rag_app.ui import browser, who
from rag_app.ui import texts_library as words
from rag_app.ui.jobs import caught
from rag_app.ui.state import current, say
from rag_app.ui.widgets import page_head, submit_button, text_button

PAGE = "folders"  # its name among the pages that stand in the place of the conversation
_LOOK_AGAIN = 1.5  # seconds
_LISTED = 50  # files that could not be added


def draw(library: Library) -> None:
    """The page: a field for a folder, and how those that are kept in step are."""
    with st.container(key="folders"):
        page_head(words.FOLDERS, "folders", leave)
        if not who.same_computer():
            st.html(f"<p class='note'>{words.NOT_FROM_HERE}</p>")
            return
        st.html(f"<p class='note'>{words.FOLDERS_WHAT}</p>")
        with st.form("watch", border=False, clear_on_submit=False):
            st.text_input(words.FOLDER_PATH, key="watch_path", placeholder=words.FOLDER_EXAMPLE)
            submit_button(words.FOLDER_ADD, "watch_add", _watch, library, icon="sync")
        if current().refused_folder:
            st.html(f"<p class='failed' role='alert'>{escape(current().refused_folder)}</p>")
        browser.fragment(_list, "folders", _LOOK_AGAIN)(library)


def leave() -> None:
    """Back to the conversation."""
    session = current()
    session.refused_folder = ""
    session.show()


def _list(library: Library) -> None:
    if current().redraw:
        st.rerun()
    watched = library.watched()
    if not watched:
        st.html(f"<p class='note'>{words.NO_FOLDERS}</p>")
    for number, one in enumerate(watched):
        _folder(library, number, one)


def _folder(library: Library, number: int, one: Watched) -> None:
    with st.container(key=f"folder-{number}"):
        st.html(f"<h3>{escape(one.folder)}</h3>")
        st.html(f"<p class='facts'>{escape(words.folder_state(one))}</p>")
        if one.trouble:
            st.html(f"<p class='failed' role='alert'>{escape(one.trouble)}</p>")
        if one.refused:
            with st.expander(words.FOLDER_REFUSED):
                items = "".join(
                    f"<li><b>{escape(path)}</b>: {escape(why)}</li>"
                    for path, why in one.refused[:_LISTED]
                )
                st.html(f"<ul class='notes'>{items}</ul>")
        text_button(
            words.LEAVE_ALONE, f"unwatch-{number}", _unwatch, library, one.folder,
            help=words.LEFT_ALONE, icon="sync_disabled",
        )  # fmt: skip


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def _watch(library: Library) -> None:
    session = current()
    session.refused_folder = ""
    given = str(st.session_state["watch_path"] or "").strip().strip("\"'")
    with caught(_refuse):
        library.watch(_path(given))
        st.session_state["watch_path"] = ""
        session.redraw = True


def _path(given: str) -> Path:
    """The folder that was typed. Raises DocumentError."""
    if not who.same_computer():
        raise DocumentError(words.NOT_FROM_HERE)
    if not given:
        raise DocumentError(words.FOLDER_EMPTY)
    path = Path(given)
    if not path.is_absolute() and not given.startswith("~"):
        raise DocumentError(words.FOLDER_RELATIVE)
    if path.expanduser().is_file():
        raise DocumentError(words.FOLDER_IS_FILE)
    if not path.expanduser().is_dir():
        raise DocumentError(words.no_folder(given))
    return path


def _refuse(sentence: str) -> None:
    current().refused_folder = sentence


@caught(say)
def _unwatch(library: Library, folder: str) -> None:
    if who.same_computer():
        library.unwatch(Path(folder))
