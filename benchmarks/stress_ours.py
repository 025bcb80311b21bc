"""Adds files to a library one by one and notes what became of each; can be interrupted.

The library is the real one, with its sandbox, its worker and its limits. What it knows stays in
its own folder; what it does not (times, memory, faults) is noted in a journal, a line a file."""

from __future__ import annotations

import json
import logging
import time
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.processes import family, memory
from benchmarks.stress_files import File
from rag_app.errors import RagAppError
from rag_app.library import Library
from rag_app.retrieval.embedding import Embedder
from rag_app.types import Document, Status

Note = dict[str, Any]

_POLL = 0.05
_UNREAD = (Status.RECEIVED, Status.READ)
_SAID_EVERY = 60.0  # seconds


class Nowhere(Embedder):
    """Stands in for the model where only reading is to be measured: all texts are alike."""

    @property
    def fingerprint(self) -> str:
        """What its vectors are called."""
        return "nowhere"

    def warm(self) -> None:
        """Nothing to load."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The same vector for every text."""
        return [[1.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        """The same vector."""
        return [1.0, 0.0]


class Faults(logging.Handler):
    """What the app logs as an error: reasons that no user is told."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self._heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what was logged, the last line of it first.

        What is recognised in the background belongs to another file, whose error says it."""
        if "(recognise)" in record.getMessage():
            return
        lines = self.format(record).strip().splitlines()
        self._heard.append(f"{lines[-1]} ({record.name}: {lines[0]})"[:500])

    def taken(self) -> list[str]:
        """What was logged since the last call."""
        heard, self._heard = self._heard, []
        return heard


class Journal:
    """A line for every file that was begun, and one for every file that came to an end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path.is_file() else []
        notes = [json.loads(line) for line in lines if line.endswith("}")]
        self.done = {note["file"]: note for note in notes if "seconds" in note}
        self.begun = {note["file"] for note in notes} - set(self.done)

    def begin(self, file: File) -> None:
        """Note that a file is about to be added."""
        self._write({"file": file.name})

    def end(self, note: Note) -> None:
        """Note what became of it."""
        self.done[note["file"]] = note
        self._write(note)

    def _write(self, note: Note) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(note, ensure_ascii=False) + "\n")


def add_all(library: Library, files: Sequence[File], journal: Journal, again: bool = False) -> None:
    """Add the files that the journal does not know.

    One that was begun and not ended took the process with it, or was interrupted: with `again` it
    is tried once more, without it counts as a crash."""
    faults = Faults()
    ours = logging.getLogger("rag_app")
    ours.addHandler(faults)
    try:
        for number, file in enumerate(files, 1):
            if file.name in journal.done:
                continue
            if file.name in journal.begun and not again:
                journal.end(_note(file, 0.0) | {"crashed": "the process ended while it was added"})
                continue
            journal.begin(file)
            journal.end(_add(library, file, faults))
            if number % 50 == 0:
                print(f"{number} of {len(files)} files are read", flush=True)
    finally:
        ours.removeHandler(faults)


def _note(file: File, seconds: float) -> Note:
    return {"file": file.name, "seconds": round(seconds, 3)}


def _add(library: Library, file: File, faults: Faults) -> Note:
    faults.taken()
    begun = time.monotonic()
    said: Note = {}
    try:
        added = library.add(file.path.name, file.path)
        _until_read(library, added.document.id)
        said = {"document": added.document.id}
    except RagAppError as error:
        said = {"code": error.code, "error": str(error)}
    except Exception:  # noqa: BLE001  # what is looked for here
        said = {"crashed": traceback.format_exc()[-500:]}
    seconds = time.monotonic() - begun
    grown = max((memory(pid)[0] for pid in family(_own_pid())[1:]), default=0) // 1024
    heard = faults.taken()
    return _note(file, seconds) | said | {"child_mib": grown} | ({"faults": heard} if heard else {})


def _own_pid() -> int:
    return int(Path("/proc/self").readlink().name) if Path("/proc/self").exists() else 0


def _until_read(library: Library, document_id: str) -> None:
    """Wait until the document, and what came out of it, can be searched or have failed."""
    while library.document(document_id).status in _UNREAD:
        time.sleep(_POLL)
    while any(each.status in _UNREAD for each in library.documents()):
        time.sleep(_POLL)


def finish(library: Library, ids: Iterable[str], seconds: float) -> None:
    """Wait until scanned pages are recognised and all is embedded, or the time is over."""
    until, wanted = time.monotonic() + seconds, sorted(set(ids))
    while (left := until - time.monotonic()) > 0:
        library.wait(wanted, timeout=min(left, _SAID_EVERY))
        waiting = len(library.progress())
        if not waiting:
            return
        print(f"{waiting} documents are still being recognised or embedded", flush=True)


def text_of(library: Library, document: Document) -> str:
    """All that can be found of a document and of what came out of it."""
    # A list of the files in an archive is ours; only what stands in them is the archive's.
    numbers = range(1, document.pages + 1 if document.suffix != ".zip" else 1)
    texts = [library.page(document.id, number).text for number in numbers]
    for name in library.report(document.id).parts:
        try:
            texts.append(text_of(library, library.document(name)))
        except RagAppError:  # removed meanwhile
            continue
    return "\n".join(texts)
