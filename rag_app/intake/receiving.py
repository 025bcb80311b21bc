"""A received file becomes a document: its identity, its name, and what came before it.

The same bytes are the same document, whoever brings them and under whatever name."""

from __future__ import annotations

from datetime import UTC, datetime

from rag_app.disk.originals import Incoming, Originals, free_name, split_name
from rag_app.store import Store
from rag_app.store.family import Inside
from rag_app.types import Added, Document, Status


class Intake:
    """Takes received files in. Its caller sees to it that this happens one by one."""

    def __init__(self, store: Store, originals: Originals) -> None:
        self._store, self._originals = store, originals

    def accept(
        self,
        incoming: Incoming,
        shown: str,
        suffix: str,
        *,
        handed_in: bool = True,
        inside: Inside | None = None,
    ) -> Added:
        """Keep a file as a document, or say which document it is already.

        It was `handed_in` by a person, came out of another, or lies in a watched folder."""
        for known in self._store.documents([incoming.sha256]):
            return self._known(known, incoming, shown, handed_in, inside)
        name = free_name(shown, self._store.queue.taken_names(shown, split_name(shown)[0]))
        self._originals.keep(incoming, suffix)
        document = Document(
            id=incoming.sha256,
            name=name,
            suffix=suffix,
            size=incoming.size,
            status=Status.RECEIVED,
            added_at=datetime.now(UTC).isoformat(timespec="microseconds"),
        )
        self._store.add_document(document, handed_in=handed_in, inside=inside)
        warning = f"You already have another document called “{shown}”; this one is now “{name}”."
        return Added(document, warnings=(warning,) if name != shown else ())

    def _known(
        self,
        known: Document,
        incoming: Incoming,
        shown: str,
        handed_in: bool,
        inside: Inside | None,
    ) -> Added:
        if inside:
            self._store.queue.add_part(inside, known.id)
        elif handed_in:
            self._store.queue.handed_in(known.id)
            self._store.keep(known.id)  # whoever hands it in again wants it to stay
        lost = not self._originals.path(known.id, known.suffix).is_file()
        tried_again = known.status is Status.FAILED and handed_in and not inside
        if lost or tried_again:
            self._originals.keep(incoming, known.suffix)
            self._store.set_status(known.id, Status.RECEIVED)
            return Added(self._store.document(known.id))
        self._store.queue.came_again(known.id, shown)
        return Added(known, True, (f"Already in your library as “{known.name}”.",))
