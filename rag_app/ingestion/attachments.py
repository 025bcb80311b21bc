"""Files inside files become documents of their own: of archives, and attached to messages.

They are unpacked by the reading process into a scratch folder, and taken in like files that are
handed in: what a kill interrupts is done again from the start, and nothing is there twice."""

from __future__ import annotations

import dataclasses
import re
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rag_app.access.quotas import Quotas, Usage
from rag_app.errors import CollectionGone, DocumentError, UnsupportedFormat
from rag_app.ingestion.job_queue import place
from rag_app.reading import detect
from rag_app.reading.limits import TOO_LARGE, TOO_MANY, Limits, left_inside
from rag_app.reading.sandbox import Cancelled
from rag_app.scope import WORKER
from rag_app.storage import Store
from rag_app.storage.originals import Incoming, Originals, free_name, inside_name, split_name
from rag_app.storage.provenance import Inside
from rag_app.storage.queue import Lock, SeenDocument
from rag_app.types import Added, Document, Part, Reading, Status

# A received file becomes a document: its identity, its name, and what came before it.
#
# In one collection the same bytes are the same document, whoever brings them and under whatever
# name.


class Intake:
    """Takes received files in. Its caller sees to it that this happens one by one."""

    def __init__(self, store: Store, originals: Originals) -> None:
        self._store, self._originals = store, originals

    def accept(
        self,
        incoming: Incoming,
        shown: str,
        suffix: str,
        collection: str,
        *,
        handed_in: bool = True,
        inside: Inside | None = None,
        added_by: str = "",
    ) -> Added:
        """Keep a file as a document of a collection, or say which of its documents it is already.

        It was `handed_in` by a person, came out of another, lies in a watched folder, or was set
        aside: then nobody claims it until one of the others brings it and its name. It waits for
        its turn with what is `added_by` the same person. Raises CollectionGone."""
        for known in self._store.documents(WORKER, [incoming.content_id]):
            return self._known(known, incoming, shown, handed_in, inside)
        taken = self._store.provenance.taken_names(shown, split_name(shown)[0], collection)
        name = free_name(shown, taken)
        self._originals.keep(incoming, suffix)
        now = datetime.now(UTC)
        document = Document(
            id=incoming.content_id,
            name=name,
            suffix=suffix,
            size=incoming.size,
            status=Status.RECEIVED,
            added_at=now.isoformat(timespec="microseconds"),
            collection=collection,
        )
        with self._kept(document):
            turn = place(now.timestamp(), incoming.size)
            self._store.add_document(
                document, handed_in=handed_in, inside=inside, added_by=added_by, place=turn
            )
        warning = f"You already have another document called “{shown}”; this one is now “{name}”."
        return Added(document, warnings=(warning,) if name != shown else ())

    @contextmanager
    def _kept(self, document: Document) -> Iterator[None]:
        """The original goes again where there is no place for its document."""
        try:
            yield
        except CollectionGone:
            self._originals.forget(document.id, document.suffix)
            raise

    def _known(
        self,
        known: Document,
        incoming: Incoming,
        shown: str,
        handed_in: bool,
        inside: Inside | None,
    ) -> Added:
        self._store.provenance.name_unclaimed(known.id, shown)
        known = self._store.document(known.id, WORKER)
        if inside:
            self._store.provenance.add_part(inside, known.id)
        else:
            if handed_in:
                self._store.provenance.handed_in(known.id)
            self._store.keep(known.id)  # whoever brings it again wants it to stay
        lost = not self._originals.has(known.id, known.suffix)
        tried_again = known.status is Status.FAILED and handed_in and not inside
        if lost or tried_again:
            self._originals.keep(incoming, known.suffix)
            self._store.set_status(known.id, Status.RECEIVED)
            return Added(self._store.document(known.id, WORKER))
        self._store.provenance.came_again(known.id, shown)
        return Added(known, True, (f"Already in your library as “{known.name}”.",))


_POLL = 0.05  # seconds between looks at `cancelled`
_FILE = re.compile(r"\d{1,9}")
_SELF = "the archive itself again"
_NO_READER = "of a kind that cannot be read"
_ODD = "empty, damaged or over a limit"


@dataclasses.dataclass
class _Room:
    """What may still come out of a file."""

    parts: int
    size: int  # in bytes

    def take(self, size: int) -> str:
        """Why there is no room for another part of so many bytes; empty if it has been given."""
        if self.parts < 1:
            return TOO_MANY
        if size > self.size:
            return TOO_LARGE
        self.parts, self.size = self.parts - 1, self.size - size
        return ""


class Parts:
    """Gives the reader room to unpack to, and takes in what it unpacked."""

    def __init__(
        self,
        store: Store,
        originals: Originals,
        intake: Intake,
        taking_in: Lock,
        limits: Limits,
        folder: Path,
        max_nesting: int,
        quotas: Quotas,
    ) -> None:
        self._store, self._originals, self._intake = store, originals, intake
        self._quotas = quotas
        self._taking_in, self._limits, self._max_nesting = taking_in, limits, max_nesting
        self._folder = folder
        self._counting = threading.Lock()  # held while what comes out of one document is taken in
        shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed

    @contextmanager
    def unpacking(self, document: Document) -> Iterator[Limits]:
        """The limits to read a document under, with a scratch folder that is gone afterwards."""
        room = self._store.provenance.room(document.id)
        if room.depth >= self._max_nesting:
            yield self._limits
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.mkdtemp(dir=self._folder)
        try:
            yield dataclasses.replace(
                self._limits,
                parts_folder=scratch,
                parts_left=max(0, self._limits.parts_left - room.parts),
                unpacked_left=max(0, self._limits.unpacked_left - room.size),
            )
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def take_in(
        self, document: Document, reading: Reading, limits: Limits, cancelled: threading.Event
    ) -> Reading:
        """Make documents of what was unpacked; the reading then says what stayed inside.

        Raises Cancelled, DiskFull, FilesError, or QuotaReached where it is more than who added the
        document may keep: then nothing of it is taken in. Doing it again is doing it once."""
        with _alone(self._counting, cancelled):
            self._check_quota(document, reading, limits)
            return self._take_in(document, reading, limits, cancelled)

    def _take_in(
        self, document: Document, reading: Reading, limits: Limits, cancelled: threading.Event
    ) -> Reading:
        # Counted anew: more may have come out of what it is in while it was unpacked.
        before = self._store.provenance.room(document.id)
        room = _Room(
            self._limits.parts_left - before.parts, self._limits.unpacked_left - before.size
        )
        above = self._store.provenance.containers(document.id)
        circle = {document.id, *(each for each, _ in above)}
        left: dict[str, list[str]] = {}
        for part in reading.parts:
            try:
                received, suffix = self._received(document, Path(limits.parts_folder), part)
            except UnsupportedFormat:
                left.setdefault(_NO_READER, []).append(part.name)
                continue
            except DocumentError:
                left.setdefault(_ODD, []).append(part.name)
                continue
            if refused := _SELF if received.content_id in circle else room.take(received.size):
                left.setdefault(refused, []).append(part.name)
                continue
            received = self._originals.send(received, suffix)
            with _alone(self._taking_in, cancelled):
                shown = inside_name(document.name, part.name)
                inside = Inside(document.id, part.name)
                self._intake.accept(received, shown, suffix, document.collection, inside=inside)
        said = [left_inside(names, reason) for reason, names in left.items()]
        return dataclasses.replace(reading, warnings=(*reading.warnings, *said))

    def _check_quota(self, document: Document, reading: Reading, limits: Limits) -> None:
        """What an earlier reading of it left here is counted already."""
        size = 0
        if reading.parts:
            unpacked = sum(path.lstat().st_size for path in Path(limits.parts_folder).iterdir())
            known = self._store.queue.parts(SeenDocument(document))
            parts = self._store.documents(WORKER, known)
            size = unpacked - sum(part.size for part in parts)
        more = Usage(size, len(reading.pages) - document.pages)
        self._quotas.check_reading(self._store.who_added(document.id), more)

    def _received(self, document: Document, scratch: Path, part: Part) -> tuple[Incoming, str]:
        """A file that was unpacked from a document, and its format. Raises DocumentError."""
        path = scratch / part.file
        # The child has read somebody else's file: what it says is not believed.
        if not _FILE.fullmatch(part.file) or path.is_symlink() or not path.is_file():
            raise UnsupportedFormat("This part was not unpacked.")
        name = re.split(r"[\\/]", part.name)[-1]
        suffix = detect(path, name)
        return self._originals.adopt(name, path, document.collection), suffix


@contextmanager
def _alone(lock: Lock, cancelled: threading.Event) -> Iterator[None]:
    """One at a time; who removes the document waits for us, so give way. Raises Cancelled."""
    while not lock.acquire(timeout=_POLL):
        if cancelled.is_set():
            raise Cancelled
    try:
        if cancelled.is_set():
            raise Cancelled
        yield
    finally:
        lock.release()
