"""What is on its way to the library: dropped files, pages of the web by their address, and
questions, which are kept in the conversation and answered in the background."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from html import escape

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from rag_app.answering.ask_options import AskOptions
from rag_app.answering.model_spec import QUOTING, parse
from rag_app.library import Library
from rag_app.text.highlighting import escape_markdown
from rag_app.types import Added, askable
from rag_app.ui import browser, live_answer, state, texts, uploads, who
from rag_app.ui.jobs import Fetching, caught
from rag_app.ui.state import (
    Receipt,
    Replaceable,
    Session,
    ShownExchange,
    WebPages,
    current,
    say,
    turns_of,
)
from rag_app.ui.widgets import button, submit_button, text_button

_DRAWN_AHEAD = 2  # pages of an answer's sources
_FEW = 4  # answers in the making; more leave no time for what may not be looked at
# Streamlit's page keeps what was typed until a timer sends it. Whatever else is sent before that
# carries it, too, so on a busy machine one press of a key arrives as two, a moment apart.
_ONE_PRESS = 3.0  # seconds

# Dropped files go to the library, one by one; what became of them is remembered as a receipt.


def add(
    library: Library,
    session: Session,
    files: Sequence[UploadedFile],
    progress: Callable[[float], object] = lambda share: None,
) -> list[str]:
    """Add every file, whatever becomes of the others. Returns the ids of their documents.

    Each is let go of as soon as the library has it. A run that was stopped half way and comes again
    goes on where it was."""
    note_refused(session)
    receipt = _receipt(session)
    session.adding = True
    ids = []
    for index, upload in enumerate(files):
        progress(index / len(files))
        if upload.file_id not in session.handled and not _is_hidden(upload.name):
            with caught(receipt.refused.append):
                ids.append(_add(library, session, receipt, upload))
            session.handled.add(upload.file_id)
        uploads.let_go(upload)
    session.adding = receipt.open = False
    return ids


def note_refused(session: Session) -> None:
    """Put on the receipt which files the server did not take; those of their drop that it took come
    after them."""
    if sentences := uploads.told():
        receipt = _receipt(session)
        receipt.refused += sentences
        receipt.open = not session.adding


def _receipt(session: Session) -> Receipt:
    """The receipt of the drop that is being added, a new one if none is."""
    before = session.receipt
    if before is None or not (session.adding or before.open):
        session.receipt = before = Receipt()
    return before


def _add(library: Library, session: Session, receipt: Receipt, upload: UploadedFile) -> str:
    folder, _, name = upload.name.replace("\\", "/").rpartition("/")
    added = library.add(name, upload.getvalue(), added_by=session.id)
    if folder and not added.duplicate:
        library.shelves.put(added.document.id, folder)
    receipt.note(added)
    receipt.replaceable += _replaceable(library, added, name)
    return added.document.id


def _is_hidden(name: str) -> bool:
    """Whether a file is one that systems put into folders unasked."""
    inside, _, last = name.replace("\\", "/").rpartition("/")
    return bool(inside) and (last.startswith(".") or last in ("Thumbs.db", "desktop.ini"))


def _replaceable(library: Library, added: Added, offered: str) -> list[Replaceable]:
    """The older document whose name the new one wanted, if there is one."""
    new = added.document
    if added.duplicate or new.name == offered:
        return []
    return [
        Replaceable(new.id, older.name, older.id)
        for older in library.documents()
        if (older.name, older.collection) == (offered, new.collection) and older.id != new.id
    ][:1]


def draw_receipt(library: Library, session: Session) -> None:
    """What became of the files of a drop; good news alone goes by itself."""
    receipt = session.receipt
    if receipt is None:
        return
    line = texts.receipt(receipt.added, receipt.known, len(receipt.refused))
    if not (receipt.refused or receipt.notes or receipt.replaceable):
        if receipt.total > 1:
            st.toast(line, icon=":material/check:")
        session.receipt = None
        return
    with st.container(key="receipt"):
        items = "".join(f"<li>{escape(text)}</li>" for text in (*receipt.refused, *receipt.notes))
        st.html(f"<p><b>{escape(line)}</b></p><ul tabindex='0'>{items}</ul>")
        for choice in receipt.replaceable:
            button(
                f"{texts.REPLACE}: {escape_markdown(choice.name)}",
                f"replace-{choice.document_id}",
                _replace,
                library,
                choice,
            )
        button(texts.DISMISS, "receipt_ok", _dismiss)


@caught(say)
def _replace(library: Library, choice: Replaceable) -> None:
    library.replace(choice.older_id, choice.document_id)
    if receipt := current().receipt:  # what else became of the drop is still to be seen
        receipt.replaceable = [one for one in receipt.replaceable if one != choice]
        if not (receipt.refused or receipt.notes or receipt.replaceable):
            current().receipt = None


def _dismiss() -> None:
    current().receipt = None


# A question goes to the conversation, and its answer is made.


def submit(
    library: Library,
    question: str,
    files: Sequence[UploadedFile] = (),
    only: list[str] | None = None,
    came_with: tuple[str, ...] = (),
) -> None:
    """Take files and a question, or either; the answer is made in the background.

    Of `only` these documents if they are given, else of those that are ticked. `came_with`: the
    names of files that came with it when it was asked in other words. The same question
    once more in the same moment, to be answered alike, is the same press, and asked once."""
    state.sync(library)
    session = current()
    if _is_same_press(session, question, files, only or session.chosen(library.documents())):
        return
    session.removing = None  # who asks on does not answer whether it is to be removed
    first = add(library, session, files) if files else []
    # Whoever looks at the session's state may be broken off there, and come again: this is the last
    # look at it, after which a question is asked once.
    subject = who.subject()
    names = _names(files) or came_with
    exchange = ShownExchange(question, names, first=tuple(first), asked_at=time.monotonic())
    session.exchanges.append(exchange)
    if not question.strip() and files:
        return
    exchange.documents = only or session.chosen(library.documents())
    if exchange.documents == []:
        exchange.error = texts.NONE_CHOSEN
        return
    exchange.first = exchange.first or _not_read_yet(library, exchange.documents)
    with caught(partial(_not_asked, exchange)):
        begin(library, session, exchange, subject)


def _not_asked(exchange: ShownExchange, sentence: str) -> None:
    """What could not be kept says so where its answer would stand, and can be asked again."""
    exchange.error, exchange.asked_at = sentence, -math.inf


def _not_read_yet(library: Library, documents: list[str] | None) -> tuple[str, ...]:
    """The documents that are asked, if none of them can be yet: who asks at once waits for them."""
    asked = [d for d in library.documents() if documents is None or d.id in documents]
    if library.paused or any(map(askable, asked)):
        return ()
    return tuple(d.id for d in asked)


def _names(files: Sequence[UploadedFile]) -> tuple[str, ...]:
    return tuple(upload.name for upload in files)


def _is_same_press(
    session: Session, question: str, files: Sequence[UploadedFile], documents: list[str] | None
) -> bool:
    """Whether the last question is this one and was asked just now."""
    if not session.exchanges:
        return False
    last = session.exchanges[-1]
    same = (last.question, last.files) == (question, _names(files))
    same &= bool(files) or last.documents == documents  # files change which there are
    same &= last.manner in (None, _manner(session))
    return same and time.monotonic() - last.asked_at < _ONE_PRESS


def _manner(session: Session) -> AskOptions:
    return AskOptions(session.generator, session.language, session.caution, session.top_k)


def begin(library: Library, session: Session, exchange: ShownExchange, subject: str) -> None:
    """Have the answer made by who answers now, for who is looking (`who.subject`)."""
    by = session.generator
    exchange.quoting = parse(by or library.settings.answers_by).kind in QUOTING
    exchange.manner = _manner(session)
    exchange.seen, exchange.drawn, exchange.rating = False, False, 0
    session.explained.discard(exchange.id)
    if not exchange.kept:
        if session.conversation is None:
            session.conversation = library.conversations.start(exchange.question)
        exchange.id = library.conversations.ask(
            session.conversation, exchange.question, exchange.documents
        )
        exchange.kept = True
    before = session.before(exchange)
    exchange.generation = live_answer.ask(
        library,
        exchange.id,
        exchange.question,
        exchange.documents,
        exchange.first,
        exchange.manner,
        lambda: turns_of(before),
        exchange.quoting,
        after=[earlier.generation for earlier in before if earlier.generation],
        afterwards=partial(_afterwards, library, exchange, session.conversation or ""),
        subject=subject,
    )


def _afterwards(library: Library, exchange: ShownExchange, conversation: str) -> None:
    """What can wait until an answer is shown: its first sources as pictures, a title."""
    answer = exchange.answer
    if answer and live_answer.running() < _FEW:
        cited = answer.citations or answer.closest
        places = dict.fromkeys((one.document_id, one.page) for one in cited if one.quote)
        state.draw_ahead(library, list(places)[:_DRAWN_AHEAD])
    library.entitle(conversation)


# Pages of the web by their address: a field under the drop zone, and those on their way. Nothing is
# fetched but what a person has just asked for.

_AT_ONCE = 5  # pages on their way in one window
_LOOK_AGAIN = 0.5  # seconds


def draw_pages(library: Library) -> None:
    """The field, if it is wanted, and the pages that are on their way."""
    web = current().web
    if web.open:
        _field(library, web)
    if web.fetching:
        browser.fragment(_coming, "pages", _LOOK_AGAIN)(library)


def open_web_button() -> None:
    """What opens the field."""
    if not current().web.open:
        text_button(texts.ADD_PAGE, "web_open", _open)


def _field(library: Library, web: WebPages) -> None:
    if web.again:  # what was refused can be mended
        st.session_state["web_address"], web.again = web.again, ""
    with st.form("web", border=False, clear_on_submit=False):
        st.text_input(
            texts.WEB_ADDRESS, key="web_address", placeholder=texts.EXAMPLE, autocomplete="url",
        )  # fmt: skip
        if web.trouble:
            st.html(f"<p class='failed' role='alert'>{escape(web.trouble)}</p>")
        st.html(f"<p class='note'>{escape(texts.GOES_OUT)}</p>")
        with st.container(key="web_buttons", horizontal=True, vertical_alignment="center"):
            submit_button(texts.FETCH, "web_fetch", _fetch, library, icon="language")
            submit_button(texts.WEB_CANCEL, "web_cancel", _close, type="tertiary")


def _coming(library: Library) -> None:
    """How far each page is; what has come is taken over, and the page drawn anew."""
    session = current()
    if any(not one.running for one in session.web.fetching):
        with caught(say):
            _take(library, session)
        st.rerun()
    for number, one in enumerate(session.web.fetching):
        with st.container(key=f"web-{number}", horizontal=True, vertical_alignment="center"):
            left = session.pace.left(f"web {id(one)}", one.done, one.total) if one.total else None
            line = texts.left(texts.fetching(one.site, one.done, one.total), left)
            st.html(f"<p class='working' role='status'>{escape(line)}</p>")
            text_button(texts.WEB_STOP, f"web_stop-{number}", one.stop)


def _take(library: Library, session: Session) -> None:
    """What came of the pages that are done goes where that of dropped files goes."""
    ended = [one for one in session.web.fetching if not one.running]
    session.web.fetching = [one for one in session.web.fetching if one not in ended]
    for one in ended:
        if not one.stopping:
            session.receipt = session.receipt or Receipt()
            _note(library, session, session.receipt, one)


def _note(library: Library, session: Session, receipt: Receipt, one: Fetching) -> None:
    if one.added is None:
        if session.web.open:  # what is in the field is somebody's, or was refused before this one
            receipt.refused.append(texts.not_fetched(one.address, one.error))
        else:
            session.web.open, session.web.again = True, one.address
            session.web.trouble = one.error
        return
    document = one.added.document
    receipt.note(one.added)
    earlier = None if one.added.duplicate else library.web.earlier(document.id)
    if earlier:
        receipt.replaceable.append(Replaceable(document.id, earlier.name, earlier.id))


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


def _open() -> None:
    current().web.open = True


def _close() -> None:
    current().web.open, current().web.trouble = False, ""
    st.session_state["web_address"] = ""


@caught(say)
def _fetch(library: Library) -> None:
    web = current().web
    address = str(st.session_state["web_address"] or "").strip()
    if not address or len(web.fetching) >= _AT_ONCE:
        web.trouble = texts.ENOUGH if address else texts.NOTHING_TYPED
    else:
        current().receipt = None
        web.fetching.append(Fetching(library, address, current().id))
        _close()
