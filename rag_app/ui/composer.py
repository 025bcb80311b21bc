"""A question on its way: kept in the conversation, then answered in the background."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from rag_app.answering.ask_options import AskOptions
from rag_app.answering.model_spec import QUOTING, parse
from rag_app.library import Library
from rag_app.types import Added, askable
from rag_app.ui import live_answer, session_sync, sign_in, texts, uploads
from rag_app.ui.jobs import caught
from rag_app.ui.state import Receipt, Replaceable, Session, ShownExchange, current, turns_of
from rag_app.ui.uploads import Upload

_DRAWN_AHEAD = 2  # pages of an answer's sources
_FEW = 4  # answers in the making; more leave no time for what may not be looked at
# Streamlit's page keeps what was typed until a timer sends it. Whatever else is sent before that
# carries it, too, so on a busy machine one press of a key arrives as two, a moment apart.
_ONE_PRESS = 3.0  # seconds

# Dropped files go to the library, one by one; what became of them is remembered as a receipt.


def add(
    library: Library,
    session: Session,
    files: Sequence[Upload],
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


def _add(library: Library, session: Session, receipt: Receipt, upload: Upload) -> str:
    folder, _, name = upload.name.replace("\\", "/").rpartition("/")
    added = library.add(name, upload.getvalue(), added_by=session.id)
    if folder and not added.duplicate:
        library.shelves.put(added.document.id, folder)
    receipt.known += added.duplicate
    receipt.added += not added.duplicate
    receipt.notes += added.warnings
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


def submit(
    library: Library,
    question: str,
    files: Sequence[Upload] = (),
    only: list[str] | None = None,
) -> None:
    """Take files and a question, or either; the answer is made in the background.

    Of `only` these documents if they are given, else of those that are ticked. The same question
    once more in the same moment, to be answered alike, is the same press, and asked once."""
    session_sync.look(library)
    session = current()
    if _is_same_press(session, question, files, only or session.chosen(library.documents())):
        return
    session.removing = None  # who asks on does not answer whether it is to be removed
    first = add(library, session, files) if files else []
    # Whoever looks at the session's state may be broken off there, and come again: this is the last
    # look at it, after which a question is asked once.
    subject = sign_in.subject()
    exchange = ShownExchange(question, _names(files), first=tuple(first), asked_at=time.monotonic())
    session.exchanges.append(exchange)
    if not question.strip() and files:
        return
    exchange.documents = only or session.chosen(library.documents())
    if exchange.documents == []:
        exchange.error = texts.NONE_CHOSEN
        return
    exchange.first = exchange.first or _not_read_yet(library, exchange.documents)
    begin(library, session, exchange, subject)


def _not_read_yet(library: Library, documents: list[str] | None) -> tuple[str, ...]:
    """The documents that are asked, if none of them can be yet: who asks at once waits for them."""
    asked = [d for d in library.documents() if documents is None or d.id in documents]
    if library.paused or any(map(askable, asked)):
        return ()
    return tuple(d.id for d in asked)


def _names(files: Sequence[Upload]) -> tuple[str, ...]:
    return tuple(upload.name for upload in files)


def _is_same_press(
    session: Session, question: str, files: Sequence[Upload], documents: list[str] | None
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
    """Have the answer made by who answers now, for who is looking (`sign_in.subject`)."""
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
    answer = exchange.generation.now().answer if exchange.generation else None
    if answer and live_answer.running() < _FEW:
        cited = answer.citations or answer.closest
        places = dict.fromkeys((one.document_id, one.page) for one in cited if one.quote)
        session_sync.draw_ahead(library, list(places)[:_DRAWN_AHEAD])
    library.entitle(conversation)
