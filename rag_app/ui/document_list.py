"""The documents panel: drop files in, see how far each is, tick which to ask, remove."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from rag_app.library import Library
from rag_app.reading import NAMES
from rag_app.scope import Role
from rag_app.storage.originals import INSIDE
from rag_app.text.highlighting import escape_markdown
from rag_app.types import Document, Progress, Status, askable
from rag_app.ui import (
    browser,
    check_panel,
    composer,
    document_page,
    folder_panel,
    groups_panel,
    settings_panel,
    state,
    texts,
    uploads,
    who,
)
from rag_app.ui import texts_library as words
from rag_app.ui.jobs import Pace, caught
from rag_app.ui.state import Emptied, Opened, Place, Receipt, Session, current, open_page, say
from rag_app.ui.widgets import button, complain, progress_bar, text_button

# One document of the panel: tick, name, how far it is, and what can be done with it.


def _row(library: Library, document: Document, work: Progress | None, session: Session) -> None:
    """Everything about one document. `work`: what is being done with it right now."""
    failed = document.status is Status.FAILED
    with st.container(key=f"row-{document.id[:16]}", horizontal=True, vertical_alignment="center"):
        _tick_box(document, session)
        _name(document)
        _menu(library, document, work)
    _how_far(document, work)
    for warning in document.warnings:
        st.html(f"<p class='facts'>{escape(warning)}</p>")
    if failed and _locked(document) and _may_change(library, document):
        _password(library, document, session)
    if session.removing == document.id:
        _confirm(library, document)


def _tick_box(document: Document, session: Session) -> None:
    """Whether the document is asked."""
    failed = document.status is Status.FAILED
    key = f"tick-{session.ticks}-{failed:d}-{document.id}"
    # Only once: what a browser ticks meanwhile stays.
    if key not in st.session_state or key not in session.at_first:
        session.at_first[key] = not failed and document.id not in session.unticked
    st.checkbox(
        escape_markdown(_own_name(document)),
        label_visibility="collapsed",
        # Not set by way of the session state: that is told to the browser once, and a run that
        # is broken off may never tell it; the browser would then say "not ticked".
        value=session.at_first[key],
        key=key,
        disabled=failed,
        on_change=_tick,
        args=(document.id, key, session.ticks),
    )


def _name(document: Document) -> None:
    text_button(
        escape_markdown(_own_name(document)),
        f"name-{document.id}",
        _open,
        document,
        disabled=not document.pages,
        width="stretch",
    )


def _own_name(document: Document) -> str:
    """Without that of the file that it came in."""
    return document.name.rpartition(INSIDE)[2]


def _how_far(document: Document, work: Progress | None) -> None:
    """What it came in, how far it is, or why it cannot be read."""
    said = f"{texts.status(document)} · {texts.facts(document)}"
    if work is not None:
        waits = work.stage == "waiting" and askable(document)
        said = texts.status(document) if waits else texts.progress(work, document.suffix)
    outer = document.name.rpartition(INSIDE)[0]
    if outer:
        st.html(f"<p class='facts'>{escape(words.CAME_IN.format(outer))}</p>")
    if document.status is Status.FAILED and document.error:
        st.html(f"<p class='failed'>{escape(document.error)}</p>")
    else:
        st.html(f"<p class='facts'>{escape(said)}</p>")
    if work and work.total and work.stage != "waiting":
        with st.container(key=f"share-{document.id[:16]}"):
            st.progress(texts.share(work.done, work.total))


def _menu(library: Library, document: Document, work: Progress | None) -> None:
    changing = _may_change(library, document)
    remove = [texts.CANCEL if work else texts.REMOVE] if changing else []
    options = remove
    if document.status is Status.FAILED:
        options = [*([texts.RETRY] if changing else []), words.ABOUT, *remove]
    elif document.status is Status.RECEIVED:
        options = [*([words.CANCEL_READING] if changing else []), *remove]
    elif document.pages:
        options = [words.ABOUT, texts.OPEN, texts.SUMMARISE, texts.ONLY_THIS]
        options += [words.FOLDER_AND_TAGS, *remove]
    st.menu_button(
        escape_markdown(texts.menu(document.name)),
        options or [words.ABOUT],
        key=f"menu-{document.id}",
        icon=":material/more_vert:",
        type="tertiary",
        on_click=_row_chosen,
        args=(library, document),
    )


def _password(library: Library, document: Document, session: Session) -> None:
    box = st.container(key=f"unlocking-{document.id[:16]}")
    with box.form(f"unlock-{document.id}", border=False):
        st.text_input(
            texts.PASSWORD, type="password", key=f"password-{document.id}", autocomplete="off"
        )
        st.html(f"<p class='note'>{texts.NOT_STORED}</p>")
        st.form_submit_button(texts.UNLOCK, on_click=_unlock, args=(library, document.id))
    if document.id in session.wrong_password:
        st.html(f"<p class='failed'>{escape(session.wrong_password[document.id])}</p>")


def _confirm(library: Library, document: Document) -> None:
    older = [each.name for each in library.to_replace(document.id)]
    st.html(f"<p class='failed'>{escape(texts.confirm_removal(document.name, older))}</p>")
    with st.container(key=f"confirm-{document.id[:16]}", horizontal=True):
        button(
            texts.REMOVE_NOW, f"remove-{document.id}", _remove, library, document.id, type="primary"
        )
        button(texts.KEEP, f"keep-{document.id}", _keep)


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


def _open(document: Document) -> None:
    """Show its first page beside the conversation."""
    session = current()
    session.opened, session.redraw = Opened(Place(document.id, document.name, 1), 1), True


@caught(say)
def _row_chosen(library: Library, document: Document) -> None:
    session, choice = current(), st.session_state[f"menu-{document.id}"]
    session.redraw = True
    if choice == words.ABOUT:
        document_page.open_page(document.id)
    elif choice == words.FOLDER_AND_TAGS:
        groups_panel.ask_for(document.id)
    elif choice == texts.OPEN:
        _open(document)
    elif choice == texts.ONLY_THIS:
        session.untick({d.id for d in library.documents()} - {document.id})
    elif choice == texts.SUMMARISE:
        composer.submit(library, texts.summarise(document.name), only=[document.id])
    elif choice == words.CANCEL_READING:
        library.cancel(document.id)
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
    state.forget_pictures()
    state.sync(library)  # the conversation as it is kept now


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


_SHOWN = 30
_FILTER_FROM = 8
_IDLE = 3.0  # seconds between looks while there is no work
# Seconds that an uploader is kept after it was replaced, and after any file. What it held was let
# go of, so it costs nothing; a busy machine needs some to begin to send what was dropped on it.
_LINGERS = 120.0
_WORK_LEFT = (Status.RECEIVED, Status.READ, Status.SEARCHABLE, Status.SCANNED)


def draw(library: Library) -> None:
    """The whole panel, in the sidebar."""
    with st.sidebar:
        # In places of their own: what is drawn alone is known by where it stands, and if the list
        # moved, what is clicked in it just then would be lost.
        with st.container(key="before_documents"):
            _drop_zone(library, current())
        with st.container(key="before_list"):
            _set_aside(library, current())
            composer.draw_pages(library)
            composer.note_refused(current())
            composer.draw_receipt(library, current())
            settings_panel.languages_hint(library)
        working, drawn = _working(library), _state(library, current())
        browser.fragment(_list, "documents", 0.7 if working else None)(library, drawn)
        if not working:  # an idle page draws nothing; it only looks what others add and remove
            browser.fragment(_look, "look", _IDLE)(library, drawn)


def _working(library: Library) -> bool:
    work = library.progress() or settings_panel.languages_working(library)
    return bool(work) or any(d.status in _WORK_LEFT for d in library.documents())


def _drop_zone(library: Library, session: Session) -> None:
    with st.container(key="uploaders"):
        files = _dropped(session)
    if not library.documents():
        limits = texts.limits(NAMES, library.settings.max_file_mb)
        st.html(f"<p class='limits'>{escape(limits)}</p>")
    with st.container(key="limits", horizontal=True, horizontal_alignment="center"):
        text_button(
            words.SINGLE_FILES if session.whole_folder else words.WHOLE_FOLDER,
            "drop_mode",
            _other_mode,
        )
        composer.open_web_button()
    added = bool(files or session.adding)
    if added:
        bar = st.progress(0.0, texts.ADDING)
        pace = Pace()
        composer.add(
            library,
            session,
            files,
            lambda share: bar.progress(share, texts.left(texts.ADDING, pace.left("", share, 1.0))),
        )
        session.emptying = True
    if emptied := session.emptying and uploads.quiet() > 0:
        session.drops += 1
        session.emptying = False
    if added or emptied:
        st.rerun()


def _dropped(session: Session) -> list[UploadedFile]:
    """What was dropped and is not in the library yet. An uploader that is emptied is gone with all
    that is on its way in it: so none is while a file is, and those before stay, out of sight, for
    what was dropped in the moment in which they were replaced."""
    key, now = f"drop-{session.drops}-{session.whole_folder}", time.monotonic()
    if session.uploader not in ("", key):
        session.emptied.append(Emptied(session.uploader, now))
    session.uploader = key
    if uploads.quiet() > _LINGERS:  # the page hears of a file after it has arrived
        session.emptied = [one for one in session.emptied if now - one.at < _LINGERS]
    keys = [key, *(one.key for one in session.emptied if one.key != key)]
    files = [one for each in keys for one in _uploader(each)]
    return [one for one in files if one.file_id not in session.handled]


def _uploader(key: str) -> Sequence[UploadedFile]:
    return st.file_uploader(
        texts.DROP,
        accept_multiple_files="directory" if key.endswith("True") else True,
        key=key,
        label_visibility="collapsed",
    )


def _set_aside(library: Library, session: Session) -> None:
    """Offers to add again what lies here and the library does not know."""
    number = 0 if session.not_again else len(library.set_aside())
    if not number:
        return
    asked = session.asked_to_delete
    said = words.delete_set_aside(number) if asked else words.set_aside(number)
    with st.container(key="set_aside"):
        st.html(f"<p class='note' role='status'>{escape(said)}</p>")
        with st.container(key="set_aside_buttons", horizontal=True):
            labels = (
                ((words.DELETE_ASIDE_NOW, _delete_aside), (words.KEEP_ASIDE, _keep_aside))
                if asked
                else ((words.LEAVE_ASIDE, _leave_aside), (words.DELETE_ASIDE, _ask_to_delete))
            )
            again = not asked and text_button(words.ADD_AGAIN, "set_aside_add")
            for label, do in labels:
                text_button(label, f"set_aside{do.__name__}", do, library)
        if again:
            _add_again(library, session)
            st.rerun()


def _add_again(library: Library, session: Session) -> None:
    bar, pace = st.progress(0.0, texts.ADDING), Pace()

    def show(done: int, total: int) -> None:
        said = texts.left(texts.ADDING, pace.left("", done, total))
        bar.progress(texts.share(done, total), said)

    with caught(session.say):
        again = library.add_set_aside(show)
        known = sum(one.duplicate for one in again.added)
        refused = [f"{name}: {why}" for name, why in again.refused]
        session.receipt = Receipt(len(again.added) - known, known, refused)
        session.not_again = bool(refused)  # the others are not offered again and again


def _list(library: Library, drawn: tuple[object, ...]) -> None:
    """`drawn`: what the rest of the page was drawn for. A wish to draw it anew may be lost among
    others, so it is made again at every look until that is done."""
    with caught(complain):
        if current().redraw or _is_outdated(library, drawn):
            st.rerun()
        session, documents = current(), library.documents()
        progress = library.progress(documents)
        listed = _listed(documents, groups_panel.chosen(library), session)
        _heading(library, listed, session)
        if documents:
            groups_panel.draw(library, documents)
        else:
            st.html(f"<p class='note'>{texts.NO_DOCUMENTS}</p>")
        settings_panel.languages_under_way(library)
        _queue(library, documents, progress)
        rows = _shown(listed, progress)
        for document in rows if session.show_all else rows[:_SHOWN]:
            with st.container(key=f"doc-{document.id[:16]}"):
                _row(library, document, progress.get(document.id), session)
        if len(rows) > _SHOWN and not session.show_all:
            label = f"{texts.SHOW_ALL} ({len(rows):,})"
            text_button(label, "show_all", _show_all)


def _listed(documents: list[Document], picked: set[str] | None, session: Session) -> list[Document]:
    """The documents of the chips that are picked, and what is asked besides: what came later, or
    was ticked elsewhere."""
    if picked is None:
        return documents
    return [d for d in documents if d.id in picked or d.id not in session.unticked]


def _look(library: Library, drawn: tuple[object, ...]) -> None:
    """Another window or a watched folder may have brought documents."""
    with caught(lambda sentence: None):
        if _is_outdated(library, drawn):
            st.rerun()


def _is_outdated(library: Library, drawn: tuple[object, ...]) -> bool:
    """Whether there is something that the page does not show yet."""
    session = current()
    return session.overdue or uploads.not_told() or _state(library, session) != drawn


def _state(library: Library, session: Session) -> tuple[object, ...]:
    """What can be asked decides what the rest of the page says, and what may be done what it
    offers."""
    documents = library.documents()
    chosen = session.chosen(documents)
    return (
        (library.scope, who.manages(library)),
        _working(library),
        None if chosen is None else tuple(chosen),
        *((d.id, askable(d), d.status is Status.FAILED) for d in documents),
    )


def _heading(library: Library, documents: list[Document], session: Session) -> None:
    with st.container(key="documents_head", horizontal=True, vertical_alignment="center"):
        st.html(f"<h2>{texts.DOCUMENTS} <span>{len(documents) or ''}</span></h2>")
        if len(documents) > 1:
            ids = [d.id for d in documents]
            text_button(
                texts.ALL, "tick_all", lambda: session.untick(session.unticked.difference(ids))
            )
            text_button(
                texts.NONE, "tick_none", lambda: session.untick(session.unticked.union(ids))
            )
        st.menu_button(
            words.MORE,
            [words.CHECK_MENU, *_watchable(library)],
            key="menu-documents",
            icon=":material/more_vert:",
            type="tertiary",
            on_click=_chosen,
        )


def _watchable(library: Library) -> list[str]:
    may = library.scope.runs_the_app and who.same_computer()
    return [words.FOLDERS_MENU] if may else []


def _shown(documents: list[Document], progress: dict[str, Progress]) -> list[Document]:
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
def _chosen() -> None:
    choice = st.session_state["menu-documents"]
    if choice == words.CHECK_MENU:
        open_page(check_panel.PAGE)
    elif choice == words.FOLDERS_MENU:
        open_page(folder_panel.PAGE)
    current().redraw = True


@caught(say)
def _delete_aside(library: Library) -> None:
    current().asked_to_delete = False
    library.delete_set_aside()


def _keep_aside(_: Library) -> None:
    current().asked_to_delete = False


def _leave_aside(_: Library) -> None:
    current().not_again = True


def _ask_to_delete(_: Library) -> None:
    current().asked_to_delete = True


def _other_mode() -> None:
    session = current()
    session.whole_folder = not session.whole_folder


def _show_all() -> None:
    current().show_all = True


# The queue: what waits, pausing, going on, not reading what waits, trying again.

_SMALLEST = 20_000  # bytes: what a small file costs is not its bytes
_READ, _FOUND = 0.3, 0.4  # of the work on a document: it is read, it is found by its words
_MANY = 3  # documents being worked on from which all of them together get a bar


def _queue(library: Library, documents: list[Document], progress: dict[str, Progress]) -> None:
    """One line of buttons while there is work, and what holds it up."""
    if library.trouble:
        st.html(f"<p class='failed' role='alert'>{escape(library.trouble)}</p>")
    mine = [d for d in documents if _may_change(library, d)]
    waiting = [d for d in mine if d.id in progress and d.status is Status.RECEIVED]
    failed = [d for d in mine if d.status is Status.FAILED and not _locked(d)]
    if len(progress) > _MANY:
        done = len(documents) - len(progress)
        asked = sum(map(askable, documents))
        said = texts.overall(done, len(documents), asked)
        worked, total = share_of_work(documents, progress)
        progress_bar(current().pace, "documents", worked, total, said)
    if not progress and not library.paused and len(failed) < 2:
        return
    with st.container(key="queue", horizontal=True, vertical_alignment="center"):
        if library.paused:
            st.html(f"<p class='facts' role='status'>{words.PAUSED}</p>")
        elif 0 < len(progress) <= _MANY:  # else the bar says it
            said = words.working_on(len(progress))
            st.html(f"<p class='facts' role='status'>{said}</p>")
        if library.scope.runs_the_app:
            _pausing(library, bool(progress))
        if len(waiting) > 1:
            text_button(
                words.CANCEL_WAITING, "queue_cancel", _cancel_waiting, library, icon="close"
            )
        if len(failed) > 1 and not progress:
            text_button(
                words.RETRY_ALL, "queue_retry", _retry, library, [d.id for d in failed],
                icon="refresh",
            )  # fmt: skip


def share_of_work(
    documents: Iterable[Document], progress: Mapping[str, Progress]
) -> tuple[float, float]:
    """How much of the work on all of them is done, and of how much."""
    done, total = 0.0, 0.0
    for document in documents:
        weight = max(document.size, _SMALLEST)  # of the work on it beside others
        done += weight * _worked(document, progress.get(document.id))
        total += weight
    return done, total


def _worked(document: Document, work: Progress | None) -> float:
    """How much of the work on a document is done, from 0 to 1."""
    if work is None:
        return 1.0
    part = texts.share(work.done, work.total) if work.stage != "waiting" else 0.0
    if document.status is Status.RECEIVED:
        return _READ * part
    return _READ if document.status is Status.READ else _FOUND + (1 - _FOUND) * part


def _pausing(library: Library, working: bool) -> None:
    """Concerns everybody's work, and so is for whoever runs the app."""
    if library.paused:
        going_on = caught(say)(lambda: library.resume())
        text_button(words.RESUME, "queue_resume", going_on, icon="play_arrow")
    elif working:
        pausing = caught(say)(lambda: library.pause())
        text_button(words.PAUSE, "queue_pause", pausing, icon="pause")


def _may_change(library: Library, document: Document) -> bool:
    """Whether who looks may also remove it, read it again and so on."""
    return library.scope.may(Role.EDITOR, document.collection)


def _locked(document: Document) -> bool:
    """Whether it needs a password: trying again alone does not help."""
    return document.error_code in ("password_needed", "wrong_password")


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def _cancel_waiting(library: Library) -> None:
    library.cancel_waiting()
    current().redraw = True


@caught(say)
def _retry(library: Library, document_ids: list[str]) -> None:
    for document_id in document_ids:
        library.retry(document_id)
    current().redraw = True
