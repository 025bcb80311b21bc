"""The documents panel: drop files in, see how far each is, tick which to ask, remove."""

from __future__ import annotations

from html import escape

import streamlit as st

from rag_app.highlighting import escape_markdown
from rag_app.library import Library
from rag_app.questions import askable
from rag_app.reading import NAMES
from rag_app.types import Document, Progress, Status
from rag_app.ui import (
    adding,
    checking,
    folders,
    languages,
    nearby,
    queue,
    row,
    settings_panel,
    shelving,
    texts,
    texts_library,
    web_pages,
)
from rag_app.ui import texts_documents as words
from rag_app.ui.boundary import caught
from rag_app.ui.state import Replaceable, Session, current, say

_SHOWN = 30
_FILTER_FROM = 8
_IDLE = 3.0  # seconds between looks while there is no work
_WORK_LEFT = (Status.RECEIVED, Status.READ, Status.SEARCHABLE, Status.SCANNED)


def draw(library: Library) -> None:
    """The whole panel, in the sidebar."""
    with st.sidebar:
        _drop_zone(library, current())
        # In a place of their own: if the list moved, what is clicked in it just then would be lost.
        with st.container(key="before_list"):
            web_pages.draw(library)
            if current().receipt:
                _receipt(library, current())
            languages.hint(library, settings_panel.OPEN)
        working, drawn = _working(library), _state(library, current())
        st.fragment(_list, run_every=0.7 if working else None)(library, drawn)
        if not working:  # an idle page draws nothing; it only looks what others add and remove
            st.fragment(_look, run_every=_IDLE)(library, drawn)


def _working(library: Library) -> bool:
    work = library.progress() or languages.working(library)
    return bool(work) or any(d.status in _WORK_LEFT for d in library.documents())


def _drop_zone(library: Library, session: Session) -> None:
    files = st.file_uploader(
        texts.DROP,
        accept_multiple_files="directory" if session.whole_folder else True,
        key=f"drop-{session.drops}-{session.whole_folder}",
        label_visibility="hidden",
    )
    limits = texts.limits(NAMES, library.settings.max_file_mb)
    with st.container(key="limits"):
        st.html(f"<p class='limits'>{escape(limits)}</p>")
        st.button(
            words.SINGLE_FILES if session.whole_folder else words.WHOLE_FOLDER,
            key="drop_mode",
            type="tertiary",
            on_click=_other_mode,
        )
        web_pages.button()
    if files:
        bar = st.progress(0.0, texts.ADDING)
        adding.add(library, session, files, lambda share: bar.progress(share, texts.ADDING))
        session.drops += 1
        st.rerun()


def _receipt(library: Library, session: Session) -> None:
    receipt = session.receipt
    if receipt is None or not (receipt.refused or receipt.notes or receipt.total > 1):
        return
    brief = not (receipt.refused or receipt.notes)
    with st.container(key="receipt", horizontal=brief, vertical_alignment="center"):
        line = texts.receipt(receipt.added, receipt.known, len(receipt.refused))
        items = "".join(f"<li>{escape(text)}</li>" for text in (*receipt.refused, *receipt.notes))
        st.html(f"<p><b>{escape(line)}</b></p><ul>{items}</ul>")
        for choice in receipt.replaceable:
            st.button(
                f"{texts.REPLACE}: {escape_markdown(choice.name)}",
                key=f"replace-{choice.document_id}",
                on_click=_replace,
                args=(library, choice),
            )
        st.button(texts.DISMISS, key="receipt_ok", on_click=_dismiss)


def _list(library: Library, drawn: tuple[object, ...]) -> None:
    """`drawn`: what the rest of the page was drawn for. A wish to draw it anew may be lost among
    others, so it is made again at every look until that is done."""
    with caught(lambda sentence: st.error(escape_markdown(sentence))):
        if current().redraw or current().overdue or _state(library, current()) != drawn:
            st.rerun()
        session, documents, progress = current(), library.documents(), library.progress()
        only = shelving.chosen(library)
        _heading([d for d in documents if only is None or d.id in only], session)
        if documents:
            shelving.draw(library, documents)
        else:
            st.html(f"<p class='note'>{texts.NO_DOCUMENTS}</p>")
        languages.under_way(library)
        queue.draw(library, documents, progress)
        rows = _shown([d for d in documents if only is None or d.id in only], progress, session)
        for document in rows if session.show_all else rows[:_SHOWN]:
            with st.container(key=f"doc-{document.id[:16]}"):
                row.draw(library, document, progress.get(document.id), session)
        if len(rows) > _SHOWN and not session.show_all:
            label = f"{texts.SHOW_ALL} ({len(rows):,})"
            st.button(label, key="show_all", type="tertiary", on_click=_show_all)


def _look(library: Library, drawn: tuple[object, ...]) -> None:
    """Another window or a watched folder may have brought documents."""
    with caught(lambda sentence: None):
        if current().overdue or _state(library, current()) != drawn:
            st.rerun()


def _state(library: Library, session: Session) -> tuple[object, ...]:
    """What can be asked decides what the rest of the page says."""
    documents = library.documents()
    chosen = session.chosen(documents)
    return (
        _working(library),
        None if chosen is None else tuple(chosen),
        *((d.id, askable(d), d.status is Status.FAILED) for d in documents),
    )


def _heading(documents: list[Document], session: Session) -> None:
    with st.container(key="documents_head", horizontal=True, vertical_alignment="center"):
        st.html(f"<h2>{texts.DOCUMENTS} <span>{len(documents) or ''}</span></h2>")
        if len(documents) > 1:
            ids = [d.id for d in documents]
            st.button(
                texts.ALL,
                key="tick_all",
                type="tertiary",
                on_click=lambda: session.untick(session.unticked.difference(ids)),
            )
            st.button(
                texts.NONE,
                key="tick_none",
                type="tertiary",
                on_click=lambda: session.untick(session.unticked.union(ids)),
            )
        st.menu_button(
            texts_library.MORE,
            [texts_library.CHECK_MENU, *_watchable()],
            key="menu-documents",
            icon=":material/more_vert:",
            type="tertiary",
            on_click=_chosen,
        )


def _watchable() -> list[str]:
    return [texts_library.FOLDERS_MENU] if nearby.same_computer() else []


def _shown(
    documents: list[Document], progress: dict[str, Progress], session: Session
) -> list[Document]:
    """The rows to draw: what failed first, then the newest; where not all have room, what is being
    worked on comes before them. Otherwise every row keeps its place under the pointer."""
    wanted = documents
    if len(documents) > _FILTER_FROM:
        typed = st.text_input(
            texts.FILTER, key="filter", placeholder=texts.FILTER, label_visibility="collapsed"
        )
        wanted = [d for d in documents if (typed or "").casefold() in d.name.casefold()]
        if not wanted:
            st.html(f"<p class='note'>{texts.NO_MATCH}</p>")
    moving = progress if len(wanted) > _SHOWN else {}
    return sorted(reversed(wanted), key=lambda d: _urgency(d, moving.get(d.id)))


def _urgency(document: Document, work: Progress | None) -> int:
    if document.status is Status.FAILED:
        return 0
    if work is None:
        return 2
    return 3 if work.stage == "waiting" else 1


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def _replace(library: Library, choice: Replaceable) -> None:
    adding.replace(library, choice)
    current().receipt = None


@caught(say)
def _chosen() -> None:
    choice = st.session_state["menu-documents"]
    if choice == texts_library.CHECK_MENU:
        checking.open_page()
    elif choice == texts_library.FOLDERS_MENU:
        folders.open_page()
    current().redraw = True


def _other_mode() -> None:
    session = current()
    session.whole_folder = not session.whole_folder


def _dismiss() -> None:
    current().receipt = None


def _show_all() -> None:
    current().show_all = True
