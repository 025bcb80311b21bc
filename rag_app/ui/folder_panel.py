"""Folders of this computer that the library is kept in step with. Only where the browser runs on
the computer that the app runs on: who sits elsewhere must not read its disk."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st

from rag_app.access.proof import IDENTITY_HEADER
from rag_app.addresses import is_loopback
from rag_app.errors import DocumentError
from rag_app.library import Library
from rag_app.types import Watched
from rag_app.ui import browser
from rag_app.ui import texts_library as words
from rag_app.ui.jobs import caught
from rag_app.ui.state import current, say
from rag_app.ui.widgets import page_head, submit_button, text_button

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


PAGE = "folders"  # its name among the pages that stand in the place of the conversation
_LOOK_AGAIN = 1.5  # seconds
_LISTED = 50  # files that could not be added


def draw(library: Library) -> None:
    """The page: a field for a folder, and how those that are kept in step are."""
    with st.container(key="folders"):
        page_head(words.FOLDERS, "folders", leave)
        if not same_computer():
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
    if not same_computer():
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
    if same_computer():
        library.unwatch(Path(folder))
