"""The vectors of each document in a file of its own, so that they are read in one go.

Chroma makes a Python number of every element that it hands out: 200 vectors take it 6 ms, and
this 0.2 ms (benchmarks/LOG.md). A file may lack rows, and hold some twice or of chunks that are no
more: a reader who knows which chunks there are can tell, and asks Chroma instead. Elements have 16
bits, which moves a cosine by less than 0.0001."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

_SIZE = struct.Struct("<I")  # how many elements a vector has, at the beginning of the file
_LONGEST = 40  # bytes of a chunk's id


class Rows:
    """Files of vectors in a folder, one for each document."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def append(
        self, document_id: str, ids: Sequence[str], vectors: Sequence[Sequence[float]]
    ) -> None:
        """Add vectors of a document; of a chunk that has one already, the new one counts."""
        if not ids or max(len(one.encode()) for one in ids) > _LONGEST:
            return
        matrix = np.asarray(vectors, dtype=np.float16)
        rows = np.zeros(len(ids), dtype=_row(matrix.shape[1]))
        rows["id"], rows["vector"] = [one.encode() for one in ids], matrix
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._file(document_id).open("ab") as file:
            if file.tell() < _SIZE.size:
                file.truncate(0)
                file.write(_SIZE.pack(matrix.shape[1]))
            torn = (file.tell() - _SIZE.size) % rows.itemsize  # by a kill, or a full disk
            file.truncate(file.tell() - torn)
            file.write(rows.tobytes())

    def read(self, document_id: str, ids: Iterable[str]) -> np.ndarray | None:
        """The vectors (chunks x elements) of exactly these chunks; None if one is missing."""
        try:
            data = self._file(document_id).read_bytes()
        except FileNotFoundError:
            return None
        if len(data) < _SIZE.size:
            return None
        row = _row(_SIZE.unpack_from(data)[0])
        whole = (len(data) - _SIZE.size) // row.itemsize
        rows = np.frombuffer(data, row, whole, _SIZE.size)
        places = {one.decode("utf-8", "replace"): n for n, one in enumerate(rows["id"].tolist())}
        wanted = [places.get(one, -1) for one in ids]
        if -1 in wanted:
            return None
        found: np.ndarray = rows["vector"][wanted].astype(np.float32)
        return found

    def forget(self, document_id: str) -> None:
        """Delete a document's vectors."""
        self._file(document_id).unlink(missing_ok=True)

    def _file(self, document_id: str) -> Path:
        return self._folder / hashlib.blake2b(document_id.encode(), digest_size=16).hexdigest()


def _row(size: int) -> np.dtype[np.void]:
    return np.dtype([("id", f"S{_LONGEST}"), ("vector", "<f2", (size,))])
