"""The queue in the panel: what waits, pausing, going on, not reading what waits, trying again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

import streamlit as st

from rag_app.library import Library
from rag_app.scope import Role
from rag_app.types import Document, Progress, Status, askable
from rag_app.ui import texts
from rag_app.ui import texts_library as words
from rag_app.ui.jobs import caught
from rag_app.ui.state import current, say
from rag_app.ui.widgets import progress_bar, text_button

_SMALLEST = 20_000  # bytes: what a small file costs is not its bytes
_READ, _FOUND = 0.3, 0.4  # of the work on a document: it is read, it is found by its words
_MANY = 3  # documents being worked on from which all of them together get a bar


def draw(library: Library, documents: list[Document], progress: dict[str, Progress]) -> None:
    """One line of buttons while there is work, and what holds it up."""
    if library.trouble:
        st.html(f"<p class='failed' role='alert'>{escape(library.trouble)}</p>")
    mine = [d for d in documents if may_change(library, d)]
    waiting = [d for d in mine if d.id in progress and d.status is Status.RECEIVED]
    failed = [d for d in mine if d.status is Status.FAILED and not locked(d)]
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
    each = [
        (_weight(document), _worked(document, progress.get(document.id))) for document in documents
    ]
    return sum(weight * done for weight, done in each), sum(weight for weight, _ in each)


def _weight(document: Document) -> float:
    """How much work a document is beside others, as far as its size says so."""
    return float(max(document.size, _SMALLEST))


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
        text_button(words.RESUME, "queue_resume", _resume, library, icon="play_arrow")
    elif working:
        text_button(words.PAUSE, "queue_pause", _pause, library, icon="pause")


def may_change(library: Library, document: Document) -> bool:
    """Whether who looks may also remove it, read it again and so on."""
    return library.scope.may(Role.EDITOR, document.collection)


def locked(document: Document) -> bool:
    """Whether it needs a password: trying again alone does not help."""
    return document.error_code in ("password_needed", "wrong_password")


def can_cancel(document: Document) -> bool:
    """Whether it has not been read yet."""
    return document.status is Status.RECEIVED


# Callbacks: they run before the page is drawn, so what fails in them is said in the next run.


@caught(say)
def cancel(library: Library, document_id: str) -> None:
    """Do not read a document."""
    library.cancel(document_id)


@caught(say)
def _pause(library: Library) -> None:
    library.pause()


@caught(say)
def _resume(library: Library) -> None:
    library.resume()


@caught(say)
def _cancel_waiting(library: Library) -> None:
    library.cancel_waiting()
    current().redraw = True


@caught(say)
def _retry(library: Library, document_ids: list[str]) -> None:
    for document_id in document_ids:
        library.retry(document_id)
    current().redraw = True
