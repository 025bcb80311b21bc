"""Dropped files go to the library, one by one; what became of them is remembered as a receipt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from rag_app.library import Library
from rag_app.types import Added
from rag_app.ui.boundary import caught
from rag_app.ui.state import Receipt, Replaceable, Session


class Upload(Protocol):
    """A file as the browser handed it over; its name is untrusted."""

    file_id: str
    name: str

    def getvalue(self) -> bytes:
        """Its bytes."""
        ...


def add(
    library: Library,
    session: Session,
    uploads: Sequence[Upload],
    progress: Callable[[float], object] = lambda share: None,
) -> list[str]:
    """Add every file, whatever becomes of the others. Returns the ids of their documents.

    A run that was stopped half way and comes again goes on where it was."""
    again = any(upload.file_id in session.handled for upload in uploads)
    receipt = session.receipt = (session.receipt if again else None) or Receipt()
    ids = []
    for index, upload in enumerate(uploads):
        progress(index / len(uploads))
        if upload.file_id in session.handled or _is_hidden(upload.name):
            continue
        with caught(receipt.refused.append):
            ids.append(_add(library, receipt, upload))
        session.handled.add(upload.file_id)
    return ids


def _add(library: Library, receipt: Receipt, upload: Upload) -> str:
    folder, _, name = upload.name.replace("\\", "/").rpartition("/")
    added = library.add(name, upload.getvalue())
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
        if older.name == offered and older.id != new.id
    ][:1]


def replace(library: Library, choice: Replaceable) -> None:
    """Let the new document take the name and the place of the older one."""
    library.replace(choice.older_id, choice.document_id)
