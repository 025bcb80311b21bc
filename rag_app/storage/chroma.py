"""A `VectorIndex` in an embedded Chroma.

Holds ids, vectors and the document ids needed for filtering; no text. Knows nothing of models."""

from __future__ import annotations

import logging
import shutil
import struct
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_app.errors import DiskFull
from rag_app.scope import WORKER, Scope, readers_of
from rag_app.storage.vectors import (
    FEW,
    FEW_COLLECTIONS,
    LARGEST,
    LARGEST_COLLECTION,
    ChunkIds,
    ExactIndex,
    Found,
    among,
    loaded,
    metadata_of,
    nearest,
    vectors_of,
)
from rag_app.types import of_documents

if TYPE_CHECKING:
    from chromadb import Collection
    from chromadb.api.client import Client


# The folder that Chroma keeps its files in: opened, begun anew, cleared of what is left over.

_COUNT_AND_SIZE = struct.Struct("<QQ")  # of vectors, and of the bytes that each takes
_MOST_UNUSED = 64 << 20
_ROOM = 4 << 20  # bytes; with less on the disk, what fails fails for want of room
FRESH, SPENT, _TORN = ".fresh", ".spent", ".torn"  # folders beside the one in use
_HNSW: Any = {"space": "cosine", "ef_construction": 100, "ef_search": 100, "max_neighbors": 16}


def blank_unused(folder: Path) -> bool:
    """Overwrite what Chroma's graph files hold beyond their last vector.

    They begin with room for a hundred, written with whatever the memory held before: parts of texts
    and of vectors. Nothing of Chroma's own clears it before a thousand vectors have come, when the
    files are written anew without room (benchmarks/LOG.md)."""
    found = False
    for header in folder.glob("*/header.bin"):
        count, size = _COUNT_AND_SIZE.unpack_from(header.read_bytes().ljust(36, b"\0"), 20)
        for name, each in (("data_level0.bin", size), ("length.bin", 4)):
            path = header.with_name(name)
            unused = path.stat().st_size - count * each if path.is_file() else 0
            if 0 < unused < _MOST_UNUSED:
                with path.open("r+b") as file:
                    file.seek(count * each)
                    file.write(bytes(unused))
            found = True
    return found


def open_or_begin_anew(folder: Path, name: str) -> tuple[Client, Collection]:
    """A client and its collection. A folder that Chroma cannot open is renamed and begun anew.

    Raises DiskFull where that is why: then the folder is whole, as far as anybody knows."""
    from chromadb.api.shared_system_client import SharedSystemClient

    _finish_exchange(folder)
    try:
        return _open_chroma(folder, name)
    except _torn_errors() as error:  # a cache may be begun anew
        SharedSystemClient.clear_system_cache()
        if _is_full(folder):
            raise DiskFull.now() from error
        # Renamed, not deleted: something of the broken client may still hold its files open.
        folder.rename(folder.with_name(f"{folder.name}{_TORN}"))
        return _open_chroma(folder, name)


def _torn_errors() -> tuple[type[Exception], ...]:
    """What Chroma raises where it cannot open a folder: its own errors, and those of its parts
    that take what stands in a file for what should stand there."""
    from chromadb.errors import ChromaError

    return ChromaError, LookupError, OSError, RuntimeError, TypeError, ValueError


def _is_full(folder: Path) -> bool:
    return shutil.disk_usage(folder.parent).free <= _ROOM


def _finish_exchange(folder: Path) -> None:
    """Clear away what a killed process left: the folder that is whole stays."""
    fresh = folder.with_name(f"{folder.name}{FRESH}")
    if fresh.is_dir() and not folder.is_dir():  # killed between the two renames
        fresh.rename(folder)
    for left in (FRESH, SPENT, _TORN):
        shutil.rmtree(folder.with_name(f"{folder.name}{left}"), ignore_errors=True)


def _open_chroma(folder: Path, name: str) -> tuple[Client, Collection]:
    folder.mkdir(parents=True, exist_ok=True)
    client = _client(folder)
    collection = client.get_or_create_collection(
        name,
        embedding_function=None,
        configuration={"hnsw": _HNSW},
    )
    collection.count()  # a torn index shows here, not at the first question
    return client, collection


def _client(folder: Path) -> Any:
    import chromadb
    from chromadb.config import Settings

    quiet = Settings(anonymized_telemetry=False)
    return chromadb.PersistentClient(path=str(folder), settings=quiet)


log = logging.getLogger(__name__)

_PREFIX = "chunks-"  # of a collection's name
_WRITE_BATCH = 1_000  # Chroma takes 5,461 at once


class ChromaVectors:
    """A `VectorIndex` in an embedded Chroma, in a folder of its own.

    The collection's name carries the embedder's fingerprint, so vectors of two models never mix.
    A folder that Chroma cannot open is set aside and begun anew: the store can fill it again.
    `known` tells what there is of a collection or a document; without it Chroma is asked."""

    def __init__(self, folder: Path, fingerprint: str, known: ChunkIds | None = None) -> None:
        self._known = known
        self._folder = folder.resolve()
        self._lock = threading.Lock()  # guards opening; Chroma's client is thread-safe
        self._gate = threading.Condition()  # nobody is inside while the folder is exchanged
        self._inside, self._exchanging = 0, False
        self._one_by_one = threading.Lock()  # writers
        self._blanked = False
        self._documents = ExactIndex(LARGEST, FEW)
        self._collections = ExactIndex(LARGEST_COLLECTION, FEW_COLLECTIONS)
        self._written: set[str] | None = None  # documents that changed while a copy is made
        self._client: Client | None = None
        self._name = f"{_PREFIX}{fingerprint}"
        self._collection: Collection | None = None

    def upsert(
        self,
        document_id: str,
        ids: Sequence[str],
        vectors: Sequence[Sequence[float]],
        collection: str,
    ) -> None:
        """Write vectors of a document of a collection; writing twice is writing once."""
        self._write(document_id, ids, vectors, [metadata_of(document_id, collection)] * len(ids))
        self._collections.grown(collection)

    def _write(
        self,
        document_id: str,
        ids: Sequence[str],
        vectors: Sequence[Sequence[float]],
        metadatas: Sequence[Any],
    ) -> None:
        with self._writing(document_id) as collection:
            for first in range(0, len(ids), _WRITE_BATCH):
                part = slice(first, first + _WRITE_BATCH)
                collection.upsert(
                    ids=list(ids[part]),
                    embeddings=list(vectors[part]),
                    metadatas=list(metadatas[part]),
                )

    def search(
        self,
        vector: Sequence[float],
        k: int,
        scope: Scope,
        documents: Sequence[str] | None = None,
    ) -> list[tuple[str, float]]:
        """The k nearest chunk ids with their cosine similarity, best first: of what the scope
        sees, and of these documents if they are given."""
        with self._using() as collection:
            if documents is None and scope.everything:
                return nearest(collection, vector, k)
            sees = scope.everything or scope.collections
            if not sees or (documents is not None and not documents):
                return []
            exact = self._exact(collection, vector, k, scope, documents)
            if exact is not None:
                return exact
            return among(collection, vector, k, scope, documents)

    def _exact(
        self,
        chroma: Collection,
        vector: Sequence[float],
        k: int,
        scope: Scope,
        documents: Sequence[str] | None,
    ) -> Found | None:
        """The same by comparing with every vector; None where there are too many."""
        at_hand = not scope.everything and self._collections.holds(scope.collections)
        if documents is None or at_hand:
            return self._collections.search(
                *(vector, k, scope, scope.collections),
                lambda one: loaded(
                    chroma, readers_of(one), None, LARGEST_COLLECTION + 1, self._known
                ),
                None if documents is None else of_documents(documents),
            )
        return self._documents.search(
            *(vector, k, scope, documents),
            lambda one: loaded(chroma, WORKER, [one], LARGEST + 1, self._known),
        )

    def ids(self, document_id: str) -> set[str]:
        """The chunk ids that a document has vectors for."""
        with self._using() as collection:
            return set(collection.get(where={"document": document_id}, include=[])["ids"])

    def vectors(self, document_id: str) -> dict[str, list[float]]:
        """The vectors of a document's chunks, by chunk id."""
        with self._using() as collection:
            ids, embeddings, _ = vectors_of(collection, {"document": document_id})
        return {i: list(map(float, v)) for i, v in zip(ids, embeddings, strict=True)}

    def of_chunks(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """The vectors of these chunks, by chunk id, as far as there are any."""
        with self._using() as collection:
            found = collection.get(ids=list(ids), include=["embeddings"])
        embeddings = found["embeddings"]
        assert embeddings is not None  # they were asked for
        return {i: list(map(float, v)) for i, v in zip(found["ids"], embeddings, strict=True)}

    def delete(self, document_id: str) -> None:
        """Forget a document."""
        with self._writing(document_id) as collection:
            collection.delete(where={"document": document_id})
        self._collections.shrunk(document_id)

    def count(self) -> int:
        """How many vectors there are."""
        with self._using() as collection:
            return collection.count()

    def compact(self, documents: Iterable[str], stop: threading.Event) -> bool:
        """Leave nothing on disk but vectors of these documents; False if `stop` was set before.

        Chroma keeps what is deleted in its files, so the rest moves to a folder of its own. What
        is written meanwhile moves along; searches wait only while the folders are exchanged."""
        folder = self._folder.with_name(f"{self._folder.name}{FRESH}")
        fresh = ChromaVectors(folder, self._name.removeprefix(_PREFIX))
        with self._one_by_one, self._gate:  # after whoever is writing now
            self._written = set()
        try:
            self.count()  # opened, which clears away what is left of an earlier copy
            fresh.count()  # begun, even if there is nothing to move
            for document_id in documents:
                if stop.is_set():
                    return False
                with self._using() as collection:
                    found = vectors_of(collection, {"document": document_id})
                fresh._write(document_id, *found)
            self._exchange(fresh)
        finally:
            self._written = None
            fresh.close()
            shutil.rmtree(fresh._folder, ignore_errors=True)
        return True

    def _exchange(self, fresh: ChromaVectors) -> None:
        with self._gate:
            self._gate.wait_for(lambda: not self._inside)
            self._exchanging = True
        try:
            collection = self._open()
            for document_id in self._written or ():
                fresh.delete(document_id)
                fresh._write(document_id, *vectors_of(collection, {"document": document_id}))
            fresh.close()
            self.close()
            spent = self._folder.with_name(f"{self._folder.name}{SPENT}")
            self._folder.rename(spent)
            fresh._folder.rename(self._folder)
            shutil.rmtree(spent)
        finally:
            with self._gate:
                self._exchanging = False
                self._gate.notify_all()

    @contextmanager
    def _using(self) -> Iterator[Collection]:
        with self._gate:
            self._gate.wait_for(lambda: not self._exchanging)
            self._inside += 1
        try:
            yield self._open()
        finally:
            with self._gate:
                self._inside -= 1
                self._gate.notify_all()

    @contextmanager
    def _writing(self, document_id: str) -> Iterator[Collection]:
        """The collection to write to. Raises DiskFull where that is why it fails."""
        from chromadb.errors import ChromaError

        with self._one_by_one, self._using() as collection:
            if self._written is not None:
                self._written.add(document_id)
            try:
                yield collection
                if not self._blanked:
                    self._blanked = blank_unused(self._folder)
                self._documents.forget(document_id)
            except (ChromaError, OSError, RuntimeError) as error:
                if not _is_full(self._folder):
                    raise
                log.error("the vectors could not be written: %s", error)
                raise DiskFull.now() from error

    def close(self) -> None:
        """Let go of files and threads."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = self._collection = None
        blank_unused(self._folder)

    def _open(self) -> Collection:
        with self._lock:
            if self._collection is None:
                self._client, self._collection = open_or_begin_anew(self._folder, self._name)
            return self._collection


_FOLDER = "vectors"  # of the built-in model; others have their fingerprint behind it


class ChromaFolders:
    """The folders of vectors under one folder: a `VectorIndexes`."""

    def __init__(self, folder: Path, built_in: str, known: ChunkIds) -> None:
        self._folder, self._built_in, self._known = folder, built_in, known

    def open(self, fingerprint: str, parts: bool = False) -> ChromaVectors:
        """The index of a model; an empty one if there is none. `parts`: of parts of chunks."""
        known = None if parts else self._known
        return ChromaVectors(self._of(fingerprint), fingerprint, known)

    def keep_only(self, fingerprints: Iterable[str]) -> None:
        """Delete the vectors of all other models."""
        names = {self._of(fingerprint).name for fingerprint in fingerprints}
        for path in self._folder.glob(f"{_FOLDER}*"):
            if path.name.partition(".")[0] not in names:
                shutil.rmtree(path, ignore_errors=True)

    def _of(self, fingerprint: str) -> Path:
        same = fingerprint == self._built_in
        return self._folder / (_FOLDER if same else f"{_FOLDER}-{fingerprint}")


def kept_in(folder: Path) -> Iterator[tuple[str, ChromaVectors]]:
    """The indexes of all models under a folder, with the models' fingerprints; each is closed when
    the next is asked for. One that cannot be opened is left out: it would be begun anew."""
    for path in sorted(folder.glob(f"{_FOLDER}*")):
        if "." in path.name or not path.is_dir():  # what a killed process left
            continue
        for name in _collections_in(path):
            fingerprint = name.removeprefix(_PREFIX)
            with closing(ChromaVectors(path, fingerprint)) as index:
                yield fingerprint, index


def _collections_in(folder: Path) -> list[str]:
    from chromadb.api.shared_system_client import SharedSystemClient

    try:
        client = _client(folder.resolve())
        names = [one.name for one in client.list_collections()]
    except _torn_errors() as error:
        log.error("the vectors in %s cannot be read: %s", folder.name, error)
        SharedSystemClient.clear_system_cache()
        return []
    client.close()
    return [name for name in names if name.startswith(_PREFIX)]
