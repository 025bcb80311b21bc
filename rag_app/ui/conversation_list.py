"""The conversations: begin a new one, find, continue, rename and delete the earlier ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from html import escape

import streamlit as st

from rag_app.export.conversation import export, file_name
from rag_app.library import Library
from rag_app.storage import Conversation
from rag_app.text.highlighting import escape_markdown
from rag_app.types import Answer
from rag_app.ui import browser, live_answer, state, texts, texts_answers
from rag_app.ui.jobs import Exporting, caught
from rag_app.ui.state import SHOWN, current, say
from rag_app.ui.widgets import button, complain, progress_bar, submit_button, text_button

# A conversation as a file: as a web page with the highlighted pages, as Markdown, as JSON.

_AT_ONCE = 6  # quoted pages that are drawn while whoever wants the file waits for it
_LOOK_AGAIN = 0.5  # seconds


def draw_export(library: Library) -> None:
    """What saves the conversation that is shown. A file is made when its button is pressed; one
    with many pages to be drawn in a thread of its own, and it says how far it is."""
    one = library.conversations.conversation(current().conversation or "")
    if one is None:
        return
    session = current()
    now = session.exporting
    if now is not None and not now.running and now.of != _made_of(library, one.id):
        session.exporting = None
    with st.popover(
        texts_answers.EXPORT, key="export", icon=":material/download:", type="tertiary"
    ):
        st.html(f"<p class='note'>{texts_answers.EXPORT_AS}</p>")
        for form, label in texts_answers.EXPORT_FORMATS.items():
            if form == "html" and _pages() > _AT_ONCE:
                _with_pages(library, one, label)
            else:
                _file(one, form, label, partial(_exported, library, one.id, form))


def _answers() -> tuple[Answer | None, ...]:
    return tuple(one.answer for one in current().exchanges if one.generation)


def _pages() -> int:
    """How many pages the answers quote."""
    quotes = [c for answer in _answers() if answer for c in answer.citations if c.quote]
    return len({(c.document_id, c.page) for c in quotes})


def _made_of(library: Library, conversation_id: str) -> tuple[object, ...]:
    """What a web page of a conversation is made of: of a removed document nothing may be left."""
    return conversation_id, _answers(), frozenset(d.id for d in library.documents())


def _with_pages(library: Library, one: Conversation, label: str) -> None:
    now = current().exporting
    if now is None or now.error:
        if now is not None:
            st.html(f"<p class='failed' role='alert'>{escape(now.error)}</p>")
        button(label, "export-html", _export, library, one.id, width="stretch")
    elif now.running:
        browser.fragment(_exporting, "exporting", _LOOK_AGAIN)(now)
    else:
        made_of = _made_of(library, one.id)
        made = partial(_taken, library, one.id, now, made_of)
        _file(one, "html", texts_answers.EXPORT_READY, made, ready=True)


def _export(library: Library, conversation_id: str) -> None:
    session = current()
    session.exporting = Exporting(library, conversation_id, _made_of(library, conversation_id))


def _exporting(now: Exporting) -> None:
    """How far it is; the page is drawn anew when it is done."""
    if not now.running:
        st.rerun()
    said = texts_answers.export_progress(now.done, now.total)
    progress_bar(current().pace, f"export {id(now)}", now.done, now.total, said)


def _file(
    one: Conversation, form: str, label: str, made: Callable[[], bytes], ready: bool = False
) -> None:
    st.download_button(
        label,
        key=f"export-{form}",
        data=made,
        file_name=file_name(one.title, form),
        on_click="ignore",
        width="stretch",
        mime=current().file_type,
        type="primary" if ready else "secondary",  # it took a while: what was waited for is seen
    )


def _exported(library: Library, conversation_id: str, form: str) -> bytes:
    """A conversation as a file. Raises UnknownConversation."""
    made = export(library, conversation_id, form)
    library.taken_away(conversation_id, form)
    return made


def _taken(
    library: Library, conversation_id: str, now: Exporting, made_of: tuple[object, ...]
) -> bytes:
    """The file that was made, anew if a document has gone since the page was drawn."""
    if made_of[-1] != frozenset(d.id for d in library.documents()):
        return _exported(library, conversation_id, "html")
    library.taken_away(conversation_id, "html")
    return now.made


_PARAMETER = "c"  # of the page's address, so that a reload finds the conversation again
LISTED = 40
"""Conversations that are shown before somebody searches."""
SEEN = "conversations_seen"
"""The state of the list: whether it is open."""
LIST = "conversations_list"


def restore(library: Library) -> None:
    """The conversation of the page's address, in a session that has none, or where the browser
    went back or forward to it; where it went to none, a new one."""
    session, wanted = current(), st.query_params.get(_PARAMETER, "")
    fresh = session.conversation is None and not session.exchanges
    if fresh or (browser.moved() and wanted != (session.conversation or "")):
        if wanted and library.conversations.conversation(wanted):
            _open(library, wanted)
        elif not fresh:
            _new()
    state.sync(library)


def address() -> None:
    """Have the page's address say which conversation this is."""
    conversation = current().conversation
    if conversation and st.query_params.get(_PARAMETER) != conversation:
        st.query_params[_PARAMETER] = conversation


def draw(library: Library) -> None:
    """Two buttons at the top of the panel."""
    text_button(
        texts.NEW_CONVERSATION,
        "new_conversation",
        _new,
        icon="add",
        disabled=not current().exchanges,
    )
    with st.popover(texts.CONVERSATIONS, key=LIST, icon=":material/history:", type="tertiary"):
        browser.fragment(_opened, "conversations")(library)


def _opened(library: Library) -> None:
    with caught(complain):
        if current().redraw:
            st.rerun()
        if browser.in_sight(SEEN, LIST, current().conversation or ""):
            _list(library)


def _list(library: Library) -> None:
    words = st.text_input(
        texts.SEARCH_CONVERSATIONS,
        key="conversation_words",
        placeholder=texts.SEARCH_CONVERSATIONS,
        label_visibility="collapsed",
    )
    found = library.conversations.listed(words or "")
    if not found:
        st.html(f"<p class='note'>{texts.NO_CONVERSATIONS}</p>")
    day = ""
    for one in found[:LISTED]:
        if (now := texts.day(one.changed_at)) != day:
            day = now
            st.html(f"<h3 class='day'>{escape(day)}</h3>")
        with st.container(key=f"row-c{one.id}", horizontal=True, vertical_alignment="center"):
            _row(library, one)
        st.html(f"<p class='facts'>{escape(texts.last_asked(one))}</p>")
        if current().deleting == one.id:
            _confirm(library, one)
    if len(found) > LISTED:
        st.html(f"<p class='note'>{texts.older_conversations(len(found) - LISTED)}</p>")


def _row(library: Library, one: Conversation) -> None:
    session = current()
    if session.renaming == one.id:
        _title(library, one)
        return
    text_button(
        escape_markdown(one.title),
        f"open-{one.id}",
        _open,
        library,
        one.id,
        disabled=one.id == session.conversation,
        width="stretch",
    )
    st.menu_button(
        escape_markdown(texts.menu(one.title)),
        [texts.RENAME, texts.DELETE],
        key=f"menu-c{one.id}",
        icon=":material/more_vert:",
        type="tertiary",
        on_click=_chosen,
        args=(library, one.id),
    )


def _title(library: Library, one: Conversation) -> None:
    """A field for another title."""
    with st.form(f"renaming-{one.id}", border=False):
        st.text_input(
            texts.TITLE, value=one.title, key=f"title-{one.id}", label_visibility="collapsed"
        )
        with st.container(horizontal=True, gap="small"):
            submit_button(texts.SAVE_TITLE, "title_save", _renamed, library, one.id, type="primary")
            submit_button(texts.LEAVE_TITLE, "title_leave", _let_be, type="tertiary")


def _confirm(library: Library, one: Conversation) -> None:
    with st.container(key=f"deleting-{one.id}"):
        st.html(f"<p class='failed' role='alert'>{escape(texts.confirm_deletion(one.title))}</p>")
        with st.container(horizontal=True, gap="small"):
            button(
                texts.DELETE_CONVERSATION, f"delete-{one.id}", _delete, library, one.id,
                type="primary",
            )  # fmt: skip
            text_button(texts.KEEP_CONVERSATION, "delete_keep", _let_be)


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


def _new() -> None:
    _leave()
    st.query_params.pop(_PARAMETER, None)


def _leave() -> None:
    """The conversation that is shown. What the address says is for what comes instead: every
    change of it is a step of the browser's Back."""
    session = current()
    session.exchanges, session.conversation, session.opened = [], None, None
    session.shown, session.editing, session.reasoning = SHOWN, None, None
    session.removing = None


@caught(say)
def _open(library: Library, conversation: str) -> None:
    _leave()
    session = current()
    session.changes = library.conversations.changes(conversation)
    session.exchanges = state.exchanges_of(library, conversation)
    session.conversation, session.redraw = conversation, True


@caught(say)
def _chosen(library: Library, conversation: str) -> None:
    session, choice = current(), st.session_state[f"menu-c{conversation}"]
    _let_be()
    if choice == texts.RENAME:
        session.renaming = conversation
    elif choice == texts.DELETE:
        session.deleting = conversation


@caught(say)
def _delete(library: Library, conversation: str) -> None:
    _let_be()
    live_answer.stop(library.conversations.order(conversation))
    library.conversations.delete(conversation)
    if current().conversation == conversation:
        _new()
        current().redraw = True


@caught(say)
def _renamed(library: Library, conversation: str) -> None:
    library.conversations.rename(conversation, st.session_state[f"title-{conversation}"])
    _let_be()


def _let_be() -> None:
    """Nothing is done with any of them just now."""
    session = current()
    session.renaming = session.deleting = None
