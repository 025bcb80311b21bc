"""A browser session kept in step with the store: other windows ask, rate and delete, too, and the
words of a document that was removed anywhere leave every session's memory."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

import streamlit as st

from rag_app.errors import RagAppError
from rag_app.library import Library
from rag_app.storage import Exchange as Kept
from rag_app.storage import conversations
from rag_app.types import Basis, Box, PagePicture
from rag_app.ui import texts_answers
from rag_app.ui.live_answer import RUNNING, FinishedGeneration, Generation
from rag_app.ui.state import Session, ShownExchange, current

# Pictures of pages, kept for a while for all sessions.


@st.cache_data(max_entries=64, show_spinner=False)
def _picture(_library: Library, document_id: str, number: int) -> PagePicture | None:
    return _library.picture(document_id, number)


def picture(library: Library, document_id: str, number: int) -> PagePicture | None:
    """The page as it looks; None if the format has no looks. Raises UnknownDocument."""
    library.document(document_id)  # what is kept was drawn for whoever saw it first
    return _picture(library, document_id, number)


@st.cache_data(max_entries=64, show_spinner=False)
def _lines(_library: Library, document_id: str, number: int) -> tuple[tuple[str, Box], ...]:
    return _library.lines(document_id, number)


def lines(library: Library, document_id: str, number: int) -> tuple[tuple[str, Box], ...]:
    """The lines of a page and where they stand. Raises UnknownDocument."""
    library.document(document_id)
    return _lines(library, document_id, number)


def draw_ahead(library: Library, pages: Iterable[tuple[str, int]]) -> None:
    """Have pages ready, by document id and number, that somebody is about to look at."""
    for document_id, number in pages:
        with suppress(RagAppError):  # it is gone, or there is no such page: nobody waits for it
            picture(library, document_id, number)
            lines(library, document_id, number)


def forget() -> None:
    """Deleted means gone: call it when a document is removed."""
    _picture.clear()
    _lines.clear()


def look(library: Library) -> None:
    """Show what the store holds by now. Call it before anything is drawn or asked."""
    session = current()
    if session.conversation:
        changes = library.conversations.changes(session.conversation)
        if changes != session.changes:
            _catch_up(library, session, session.conversation)
            session.changes = changes
    _drop_removed(library, session)


def shown(kept: Kept) -> ShownExchange:
    """An exchange of the store as a session shows it; one that is being answered goes on."""
    running = RUNNING.get(kept.id)
    if running is None or running.now().done:  # what is kept may have lost a removed document
        running = None
    return ShownExchange(
        kept.question,
        generation=running or FinishedGeneration(kept.answer, kept.error),
        documents=None if kept.documents is None else list(kept.documents),
        id=kept.id,
        kept=True,
        seen=True,
        quoting=kept.answer is None or kept.answer.basis is not Basis.WRITTEN,
        rating=kept.rating,
    )


def _catch_up(library: Library, session: Session, conversation: str) -> None:
    order = library.conversations.order(conversation)
    if not order and library.conversations.conversation(conversation) is None:
        session.exchanges, session.conversation, session.opened = [], None, None
        session.say(texts_answers.DELETED_ELSEWHERE)
        return
    known = {exchange.id: exchange for exchange in session.exchanges}
    after: dict[str, list[ShownExchange]] = {}  # what is not in the store stays where it was
    last = ""
    for exchange in session.exchanges:
        if exchange.kept:
            last = exchange.id
        else:
            after.setdefault(last, []).append(exchange)
    session.exchanges[:] = after.get("", [])
    for exchange_id in order:
        one = known.get(exchange_id)
        if one is None or library.conversations.changes(exchange_id) > session.changes:
            kept = library.conversations.exchange(exchange_id)
            one = _renewed(one, kept) if kept else None
        session.exchanges += [*([one] if one else []), *after.get(exchange_id, [])]


def _renewed(known: ShownExchange | None, kept: Kept) -> ShownExchange:
    if known is None:
        return shown(kept)
    known.rating = kept.rating
    running = RUNNING.get(kept.id)  # perhaps begun anew in another window
    if running and not running.now().done:
        known.generation = running
    elif not known.running and (kept.answer or kept.error):
        known.generation = FinishedGeneration(kept.answer, kept.error)
        known.quoting = kept.answer is None or kept.answer.basis is not Basis.WRITTEN
    return known


def _drop_removed(library: Library, session: Session) -> None:
    present = frozenset(document.id for document in library.documents())
    if session.present - present:
        forget()
    session.present = present
    for exchange in session.exchanges:
        if exchange.generation and not exchange.running:
            exchange.generation = _without_removed(exchange.generation, present)
    opened = session.opened
    if opened and opened.place.document_id not in present:
        opened.forget()


def _without_removed(
    made: Generation | FinishedGeneration, present: frozenset[str]
) -> Generation | FinishedGeneration:
    """The same unless it holds words of a document that is gone."""
    moment = made.now()
    held = {passage.chunk.document_id for passage in moment.passages}
    held |= {c.document_id for c in moment.answer.citations if c.quote} if moment.answer else set()
    if held <= present:
        return made
    answer = moment.answer
    for document_id in held - present:
        answer = conversations.without(answer, document_id) if answer else None
    return FinishedGeneration(answer, moment.error)
